/* What the descriptor and the kernels of online_softmax agree on. */
#ifndef RIDGE_TARGETS_ONLINE_SOFTMAX_H
#define RIDGE_TARGETS_ONLINE_SOFTMAX_H

#include "ridge/target.h"

enum {
    SOFTMAX_BLOCK =
        2048, /* elements that share one reference value; with their exponentials within a first-level cache */
    SOFTMAX_KEPT =
        1 << 16, /* rows up to this length keep their exponentials, in a second-level cache, for the last step */
    SOFTMAX_APART = 2304, /* up to this length two rows' exponentials and the row being read fit a first-level cache
                             together; longer rows put their exponentials where the last row's are being taken from */
};

/* By how much a block may rise above its reference: e^40 times any row length is far from overflow. */
#define SOFTMAX_RISE 40.0f

const char *online_softmax_onednn_unavailable(const ridge_case *c);
ridge_status online_softmax_prepare_onednn(const ridge_case *c, int threads, void **plan);
ridge_status online_softmax_onednn(const ridge_call *call);

#endif
