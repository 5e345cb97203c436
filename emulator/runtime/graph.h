/* Graphs, for graph.c, nodes.c and capture.c. */
#ifndef EMULATOR_RUNTIME_GRAPH_H
#define EMULATOR_RUNTIME_GRAPH_H

#include "runtime/runtime.h"

struct CUgraphExec_st {
    cudaGraph_t graph;  /* a clone */
    cudaGraph_t source; /* as it was when it was instantiated: nodes are found by their place in it */
    unsigned long long flags;
};
void emu_graph_edge(cudaGraphNode_t, cudaGraphNode_t from, bool programmatic);
void emu_graph_node_free(cudaGraphNode_t);
cudaGraph_t emu_graph_clone(cudaGraph_t);
enum cudaStreamCaptureMode emu_capture_mode(void); /* of this thread (cudaThreadExchangeStreamCaptureMode) */
const void *emu_this_thread(void);                 /* an address of its own */
void emu_event_set(cudaEvent_t, emu_work *);       /* recorded by this work */
void emu_stream_put(cudaStream_t, emu_work *);     /* enqueues; takes the reference over */
#endif
