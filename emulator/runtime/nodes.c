/* Nodes that the host adds to a graph, and their parameters, in the graph or in what was instantiated of it. */
#include <stdlib.h>
#include <string.h>

#include "runtime/graph.h"

/* ---- adding ---------------------------------------------------------------------------------------------------- */

static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                       enum cudaGraphNodeType type, const emu_action *action) {
    if (!out || !graph || (n && !after)) return cudaErrorInvalidValue;
    *out = emu_graph_add(graph, type, action, NULL);
    for (size_t i = 0; i < n; i++) emu_graph_edge(*out, after[i], false);
    return cudaSuccess;
}

static cudaError_t launch_of(const struct cudaKernelNodeParams *p, emu_action *out) {
    cudaLaunchConfig_t config = {.gridDim = p->gridDim, .blockDim = p->blockDim, .dynamicSmemBytes = p->sharedMemBytes};
    *out = (emu_action){.kind = EMU_LAUNCH};
    if (p->extra) return cudaErrorNotSupported;
    return emu_launch_of(&config, emu_kernel_of(p->func), p->kernelParams, &out->launch);
}

static emu_action set_of(const struct cudaMemsetParams *p) {
    return (emu_action){.kind = EMU_SET,
                        .set = {.to = p->dst,
                                .value = p->value,
                                .element = p->elementSize,
                                .width = p->width * p->elementSize,
                                .height = p->height,
                                .depth = 1,
                                .pitch = p->pitch}};
}

static emu_action line_of(void *to, const void *from, size_t bytes) {
    return (emu_action){.kind = EMU_COPY, .copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1}};
}

static emu_action box_of(const struct cudaMemcpy3DParms *p) {
    const struct cudaPitchedPtr *to = &p->dstPtr, *from = &p->srcPtr;
    emu_copy_box box = {.width = p->extent.width,
                        .height = p->extent.height,
                        .depth = p->extent.depth,
                        .to_pitch = to->pitch,
                        .to_slice = to->pitch * to->ysize,
                        .from_pitch = from->pitch,
                        .from_slice = from->pitch * from->ysize};
    box.to = (uint8_t *)to->ptr + p->dstPos.x + p->dstPos.y * to->pitch + p->dstPos.z * box.to_slice;
    box.from = (const uint8_t *)from->ptr + p->srcPos.x + p->srcPos.y * from->pitch + p->srcPos.z * box.from_slice;
    return (emu_action){.kind = EMU_COPY, .copy = box};
}

static emu_action call_of(const struct cudaHostNodeParams *p) {
    return (emu_action){.kind = EMU_CALL, .call = {.function = p->fn, .argument = p->userData}};
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                   const struct cudaKernelNodeParams *params) {
    EMU_LOCKED;
    emu_action action;
    cudaError_t error = launch_of(params, &action);
    return emu_told(error == cudaSuccess ? add(out, graph, after, n, cudaGraphNodeTypeKernel, &action) : error);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                     void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    EMU_LOCKED;
    (void)kind;
    emu_action action = line_of(to, from, bytes);
    return emu_told(add(out, graph, after, n, cudaGraphNodeTypeMemcpy, &action));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                   const struct cudaMemcpy3DParms *params) {
    EMU_LOCKED;
    if (params->srcArray || params->dstArray) return emu_told(cudaErrorNotSupported);
    emu_action action = box_of(params);
    return emu_told(add(out, graph, after, n, cudaGraphNodeTypeMemcpy, &action));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                   const struct cudaMemsetParams *params) {
    EMU_LOCKED;
    emu_action action = set_of(params);
    return emu_told(add(out, graph, after, n, cudaGraphNodeTypeMemset, &action));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                 const struct cudaHostNodeParams *params) {
    EMU_LOCKED;
    emu_action action = call_of(params);
    return emu_told(add(out, graph, after, n, cudaGraphNodeTypeHost, &action));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n) {
    EMU_LOCKED;
    return emu_told(add(out, graph, after, n, cudaGraphNodeTypeEmpty, NULL));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                       cudaGraph_t child) {
    EMU_LOCKED;
    cudaError_t error = child ? add(out, graph, after, n, cudaGraphNodeTypeGraph, NULL) : cudaErrorInvalidValue;
    if (error == cudaSuccess) (*out)->child = emu_graph_clone(child);
    return emu_told(error);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
                                        cudaEvent_t event) {
    EMU_LOCKED;
    cudaError_t error = event ? add(out, graph, after, n, cudaGraphNodeTypeEventRecord, NULL) : cudaErrorInvalidValue;
    if (error == cudaSuccess) (*out)->event = event;
    return emu_told(error);
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

/* The pointers point into the node and live as long as it. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *out) {
    EMU_LOCKED;
    if (!node || node->action.kind != EMU_LAUNCH) return emu_told(cudaErrorInvalidValue);
    const emu_launch *l = &node->action.launch;
    const ptx_function *f = l->kernel->function;
    node->pointer = emu_grow(node->pointer, (size_t)f->n_parameters, sizeof *node->pointer);
    for (int i = 0; i < f->n_parameters; i++) node->pointer[i] = l->parameters + f->parameter[i].parameter;
    *out = (struct cudaKernelNodeParams){.func = (void *)(uintptr_t)l->kernel->host,
                                         .gridDim = {l->blocks.x, l->blocks.y, l->blocks.z},
                                         .blockDim = {l->threads.x, l->threads.y, l->threads.z},
                                         .sharedMemBytes = l->dynamic_shared,
                                         .kernelParams = node->pointer};
    return cudaSuccess;
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *out) {
    EMU_LOCKED;
    if (!node || node->action.kind != EMU_SET) return emu_told(cudaErrorInvalidValue);
    const emu_set_box *s = &node->action.set;
    *out = (struct cudaMemsetParams){.dst = s->to,
                                     .pitch = s->pitch,
                                     .value = s->value,
                                     .elementSize = s->element,
                                     .width = s->width / s->element,
                                     .height = s->height};
    return cudaSuccess;
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *out) {
    EMU_LOCKED;
    if (!node || node->action.kind != EMU_CALL) return emu_told(cudaErrorInvalidValue);
    *out = (struct cudaHostNodeParams){.fn = node->action.call.function, .userData = node->action.call.argument};
    return cudaSuccess;
}

/* A launch keeps its cluster and its other attributes. */
static cudaError_t set_action(cudaGraphNode_t node, emu_action *action) {
    if (!node || node->action.kind != action->kind) {
        emu_action_clear(action);
        return cudaErrorInvalidValue;
    }
    if (action->kind == EMU_LAUNCH) {
        action->launch.cluster = node->action.launch.cluster;
        action->launch.programmatic = node->action.launch.programmatic;
        action->launch.cooperative = node->action.launch.cooperative;
    }
    emu_action_clear(&node->action);
    node->action = *action;
    return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params) {
    EMU_LOCKED;
    emu_action action;
    cudaError_t error = launch_of(params, &action);
    return emu_told(error == cudaSuccess ? set_action(node, &action) : error);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                                           enum cudaMemcpyKind kind) {
    EMU_LOCKED;
    (void)kind;
    emu_action action = line_of(to, from, bytes);
    return emu_told(set_action(node, &action));
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params) {
    EMU_LOCKED;
    emu_action action = set_of(params);
    return emu_told(set_action(node, &action));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params) {
    EMU_LOCKED;
    emu_action action = call_of(params);
    return emu_told(set_action(node, &action));
}

/* ---- in what was instantiated ------------------------------------------------------------------------------------ */

static cudaGraphNode_t in_exec(cudaGraphExec_t exec, cudaGraphNode_t node) {
    for (int i = 0; i < exec->source->nodes.n && i < exec->graph->nodes.n; i++)
        if (exec->source->nodes.item[i] == node) return exec->graph->nodes.item[i];
    return NULL;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params) {
    EMU_LOCKED;
    return cudaGraphKernelNodeSetParams(in_exec(exec, node), params);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from,
                                               size_t bytes, enum cudaMemcpyKind kind) {
    EMU_LOCKED;
    return cudaGraphMemcpyNodeSetParams1D(in_exec(exec, node), to, from, bytes, kind);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *params) {
    EMU_LOCKED;
    return cudaGraphMemsetNodeSetParams(in_exec(exec, node), params);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *params) {
    EMU_LOCKED;
    return cudaGraphHostNodeSetParams(in_exec(exec, node), params);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
    EMU_LOCKED;
    cudaGraphNode_t found = in_exec(exec, node);
    if (!found) return emu_told(cudaErrorInvalidValue);
    found->disabled = !enabled;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled) {
    EMU_LOCKED;
    cudaGraphNode_t found = in_exec(exec, node);
    if (!found) return emu_told(cudaErrorInvalidValue);
    *enabled = !found->disabled;
    return cudaSuccess;
}
