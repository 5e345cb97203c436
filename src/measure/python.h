/* Variants in Python, of role peer: what the table of peers has (src/peers), PyTorch above all.
 *
 * Peers run in the measuring worker itself: torch.compile starts compilers, which the process of a judged kernel
 * (foreign.h) may not. The worker opens the interpreter as a library when it prepares the first peer, so ridge is neither
 * built nor linked with Python. Operands are the lab's own memory, without copies; a peer writes its results there. */
#ifndef RIDGE_MEASURE_PYTHON_H
#define RIDGE_MEASURE_PYTHON_H

#include "ridge/target.h"

/* The interpreter that a worker becomes: one for each process. Strings are copied. */
typedef struct ridge_python_host {
    const char *library; /* libpython3.so, whole path */
    const char *program; /* python3, whole path: what Python's own child processes run */
    const char *home;    /* the interpreter's base prefix */
    const char *path;    /* its sys.path, with colons */
    const char *table;   /* the file of the table of peers */
} ridge_python_host;
void ridge_python_choose(const ridge_python_host *host);

/* An entry of the table: its variant points to it. */
typedef struct ridge_python_peer {
    const ridge_target *target;
    char name[48];    /* of the variant: cpu/torch_eager */
    char idea[160];   /* one line */
    char absent[160]; /* why it cannot run here; "": it may */
    bool graph;       /* GPU: can be captured into a graph */
} ridge_python_peer;

/* The variant of a peer, which has to live as long. */
ridge_variant ridge_python_variant(const ridge_python_peer *peer);
bool ridge_python_is(const ridge_variant *variant);

/* prepare() of these variants is told the case alone: the peer that it makes is the last one named here. Other variants count
 * for nothing. */
void ridge_python_next(const ridge_variant *variant);

/* Untimed work for the very call that run() gets next: views of its tensors. run() does it where nobody did. */
ridge_status ridge_python_bind(const ridge_call *call);

#endif
