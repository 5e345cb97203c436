/* Graphs: actions with what each comes after. A launch of a graph is work for each of its nodes. */
#include <stdlib.h>

#include "check/witness.h"
#include "runtime/graph.h"

cudaGraph_t emu_graph_new(void) {
    static unsigned long long id;
    cudaGraph_t graph = emu_alloc(sizeof *graph);
    graph->id = ++id;
    return graph;
}

cudaGraphNode_t emu_graph_add(cudaGraph_t graph, enum cudaGraphNodeType type, const emu_action *action,
                              const emu_list *after) {
    cudaGraphNode_t node = emu_alloc(sizeof *node);
    node->graph = graph;
    node->type = type;
    if (action) node->action = *action;
    for (int i = 0; after && i < after->n; i++) emu_graph_edge(node, after->item[i], false);
    emu_list_add(&graph->nodes, node);
    return node;
}

void emu_graph_edge(cudaGraphNode_t node, cudaGraphNode_t from, bool programmatic) {
    node->edge = emu_grow(node->edge, (size_t)node->n_edges + 1, sizeof *node->edge);
    node->edge[node->n_edges++] = (emu_edge){.from = from, .programmatic = programmatic};
}

void emu_graph_node_free(cudaGraphNode_t node) {
    emu_action_clear(&node->action);
    if (node->child) emu_graph_free(node->child);
    free(node->edge);
    free(node->pointer);
    free(node);
}

void emu_graph_free(cudaGraph_t graph) {
    for (int i = 0; i < graph->nodes.n; i++) emu_graph_node_free(graph->nodes.item[i]);
    free(graph->nodes.item);
    free(graph);
}

static int index_in(const emu_list *list, const void *item) {
    int i = 0;
    while (i < list->n && list->item[i] != item) i++;
    return i;
}

cudaGraph_t emu_graph_clone(cudaGraph_t from) {
    cudaGraph_t graph = emu_graph_new();
    for (int i = 0; i < from->nodes.n; i++) {
        cudaGraphNode_t node = from->nodes.item[i];
        emu_action action = emu_action_clone(&node->action);
        cudaGraphNode_t copy = emu_graph_add(graph, node->type, &action, NULL);
        copy->event = node->event;
        copy->disabled = node->disabled;
        if (node->child) copy->child = emu_graph_clone(node->child);
    }
    for (int i = 0; i < from->nodes.n; i++) {
        cudaGraphNode_t node = from->nodes.item[i], copy = graph->nodes.item[i];
        for (int e = 0; e < node->n_edges; e++)
            emu_graph_edge(copy, graph->nodes.item[index_in(&from->nodes, node->edge[e].from)],
                           node->edge[e].programmatic);
    }
    return graph;
}

/* ---- launch ---------------------------------------------------------------------------------------------------- */

static emu_work *join(void) {
    emu_action nothing = {.kind = EMU_JOIN};
    return emu_work_new(&nothing);
}

static emu_work *work_of(cudaGraphNode_t node) {
    emu_action nothing = {.kind = EMU_JOIN};
    emu_action action = node->disabled ? nothing : emu_action_clone(&node->action);
    return emu_work_new(&action);
}

/* Work of all nodes, after `begin`; `end` comes after them. A child graph is work between two joins. */
static void make_work(cudaGraph_t graph, emu_work *begin, emu_work *end) {
    for (int i = 0; i < graph->nodes.n; i++) {
        cudaGraphNode_t node = graph->nodes.item[i];
        node->work = node->child ? join() : work_of(node);
        node->first = node->child ? join() : node->work;
    }
    for (int i = 0; i < graph->nodes.n; i++) {
        cudaGraphNode_t node = graph->nodes.item[i];
        if (node->n_edges == 0) emu_work_after(node->first, begin, false);
        for (int e = 0; e < node->n_edges; e++)
            emu_work_after(node->first, node->edge[e].from->work, node->edge[e].programmatic);
        if (node->child) make_work(node->child, node->first, node->work);
        emu_work_after(end, node->work, false);
    }
    for (int i = 0; i < graph->nodes.n; i++) {
        cudaGraphNode_t node = graph->nodes.item[i];
        emu_work_submit(node->first);
        if (node->child) emu_work_submit(node->work);
        if (node->type == cudaGraphNodeTypeEventRecord) emu_event_set(node->event, node->work);
        if (node->child) emu_work_release(node->first);
        emu_work_release(node->work);
        node->first = node->work = NULL;
    }
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
    EMU_LOCKED;
    cudaStream_t stream = emu_stream_of(handle);
    if (!exec || !stream) return emu_told(cudaErrorInvalidResourceHandle);
    if (stream->capture) return emu_told(cudaErrorStreamCaptureUnsupported);
    emu_work *begin = join(), *end = join();
    begin->references++;
    emu_witness_enqueued(stream);
    emu_stream_put(stream, begin);
    make_work(exec->graph, begin, end);
    emu_stream_put(stream, end);
    emu_work_release(begin);
    return cudaSuccess;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    EMU_LOCKED;
    if (flags) return emu_told(cudaErrorInvalidValue);
    *graph = emu_graph_new();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    EMU_LOCKED;
    if (!graph) return emu_told(cudaErrorInvalidValue);
    emu_graph_free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    EMU_LOCKED;
    *clone = emu_graph_clone(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    EMU_LOCKED;
    if (!graph || graph->capturing) return emu_told(cudaErrorInvalidValue);
    *exec = emu_alloc(sizeof **exec);
    (*exec)->graph = emu_graph_clone(graph);
    (*exec)->source = graph;
    (*exec)->flags = flags;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *params) {
    cudaError_t error = cudaGraphInstantiateWithFlags(exec, graph, params->flags);
    params->errNode_out = NULL;
    params->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
    return error;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    EMU_LOCKED;
    return emu_told(exec && emu_stream_of(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    EMU_LOCKED;
    if (!exec) return emu_told(cudaErrorInvalidValue);
    emu_graph_free(exec->graph);
    free(exec);
    return cudaSuccess;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
    *flags = exec->flags;
    return cudaSuccess;
}

static bool same_shape(cudaGraph_t a, cudaGraph_t b, cudaGraphNode_t *differs) {
    if (a->nodes.n != b->nodes.n) return false;
    for (int i = 0; i < a->nodes.n; i++) {
        cudaGraphNode_t x = a->nodes.item[i], y = b->nodes.item[i];
        *differs = y;
        if (x->type != y->type || x->n_edges != y->n_edges || !x->child != !y->child) return false;
        if (x->child && !same_shape(x->child, y->child, differs)) return false;
        for (int e = 0; e < x->n_edges; e++)
            if (index_in(&a->nodes, x->edge[e].from) != index_in(&b->nodes, y->edge[e].from)) return false;
    }
    *differs = NULL;
    return true;
}

/* Nodes are compared in the order in which they were added. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info) {
    EMU_LOCKED;
    cudaGraphNode_t differs = NULL;
    bool same = same_shape(exec->graph, graph, &differs);
    if (info)
        *info = (cudaGraphExecUpdateResultInfo){
            .result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged,
            .errorNode = differs};
    if (!same) return emu_told(cudaErrorGraphExecUpdateFailure);
    emu_graph_free(exec->graph);
    exec->graph = emu_graph_clone(graph);
    exec->source = graph;
    return cudaSuccess;
}
