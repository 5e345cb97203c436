/* What a graph consists of. Lists are given as CUDA gives them: *n says how many fit, then how many there are. */
#include <string.h>

#include "runtime/graph.h"

typedef struct out {
    cudaGraphNode_t *node;
    cudaGraphEdgeData *edge;
    size_t room, n;
} out;

static void put(out *o, cudaGraphNode_t node, bool programmatic) {
    if (o->node && o->n < o->room) o->node[o->n] = node;
    if (o->edge && o->n < o->room)
        o->edge[o->n] = (cudaGraphEdgeData){
            .from_port = programmatic ? cudaGraphKernelNodePortProgrammatic : cudaGraphKernelNodePortDefault,
            .type = programmatic ? cudaGraphDependencyTypeProgrammatic : cudaGraphDependencyTypeDefault};
    o->n++;
}

static cudaError_t finish(const out *o, size_t *n) {
    for (size_t i = o->n; o->node && i < *n; i++) o->node[i] = NULL;
    *n = o->node && o->n > *n ? *n : o->n;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
    EMU_LOCKED;
    out o = {.node = nodes, .room = *n};
    for (int i = 0; i < graph->nodes.n; i++) put(&o, graph->nodes.item[i], false);
    return finish(&o, n);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
    EMU_LOCKED;
    out o = {.node = nodes, .room = *n};
    for (int i = 0; i < graph->nodes.n; i++) {
        cudaGraphNode_t node = graph->nodes.item[i];
        if (node->n_edges == 0) put(&o, node, false);
    }
    return finish(&o, n);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                                         size_t *n) {
    EMU_LOCKED;
    out o = {.node = nodes, .edge = edges, .room = *n};
    for (int e = 0; e < node->n_edges; e++) put(&o, node->edge[e].from, node->edge[e].programmatic);
    return finish(&o, n);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t from, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
                                           size_t *n) {
    EMU_LOCKED;
    out o = {.node = nodes, .edge = edges, .room = *n};
    for (int i = 0; i < from->graph->nodes.n; i++) {
        cudaGraphNode_t node = from->graph->nodes.item[i];
        for (int e = 0; e < node->n_edges; e++)
            if (node->edge[e].from == from) put(&o, node, node->edge[e].programmatic);
    }
    return finish(&o, n);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
                              size_t *n) {
    EMU_LOCKED;
    out o = {.node = from, .edge = edges, .room = *n};
    for (int i = 0; i < graph->nodes.n; i++) {
        cudaGraphNode_t node = graph->nodes.item[i];
        for (int e = 0; e < node->n_edges; e++) {
            if (to && o.n < o.room) to[o.n] = node;
            put(&o, node->edge[e].from, node->edge[e].programmatic);
        }
    }
    return finish(&o, n);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
    EMU_LOCKED;
    if (!node) return emu_told(cudaErrorInvalidValue);
    *type = node->type;
    return cudaSuccess;
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
    EMU_LOCKED;
    if (!node || !node->child) return emu_told(cudaErrorInvalidValue);
    *graph = node->child;
    return cudaSuccess;
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edges, size_t n) {
    EMU_LOCKED;
    if (!graph) return emu_told(cudaErrorInvalidValue);
    for (size_t i = 0; i < n; i++) {
        bool programmatic = edges && edges[i].type == cudaGraphDependencyTypeProgrammatic;
        emu_graph_edge(to[i], from[i], programmatic);
    }
    return cudaSuccess;
}

static bool remove_edge(cudaGraphNode_t node, cudaGraphNode_t from) {
    for (int e = 0; e < node->n_edges; e++) {
        if (node->edge[e].from != from) continue;
        node->edge[e] = node->edge[--node->n_edges];
        return true;
    }
    return false;
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edges, size_t n) {
    EMU_LOCKED;
    (void)edges;
    for (size_t i = 0; i < n; i++)
        if (!graph || !remove_edge(to[i], from[i])) return emu_told(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    EMU_LOCKED;
    if (!node) return emu_told(cudaErrorInvalidValue);
    emu_list *nodes = &node->graph->nodes;
    int at = 0;
    for (int i = 0; i < nodes->n; i++) {
        if (nodes->item[i] == node) at = i;
        while (remove_edge(nodes->item[i], node)) continue;
    }
    memmove(&nodes->item[at], &nodes->item[at + 1], (size_t)(nodes->n - at - 1) * sizeof *nodes->item);
    nodes->n--;
    emu_graph_node_free(node);
    return cudaSuccess;
}
