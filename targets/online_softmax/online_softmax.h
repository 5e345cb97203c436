/* Constants shared by the descriptor and the kernels of online_softmax. */
#ifndef RIDGE_TARGETS_ONLINE_SOFTMAX_H
#define RIDGE_TARGETS_ONLINE_SOFTMAX_H

#include "ridge/target.h"

enum {
    SOFTMAX_KEPT = 1 << 16, /* rows up to this length keep their exponentials in L2 for the last step */
    SOFTMAX_APART = 2304,   /* up to this length the exponentials of two rows and the row being read fit in L1 together;
                               longer rows overwrite the exponentials of the previous row while those are read */
};

/* Most by which a block's maximum may exceed its reference: e^40 times any row length is far from overflow. */
#define SOFTMAX_RISE 40.0f

const char *online_softmax_onednn_unavailable(const ridge_case *c);
ridge_status online_softmax_prepare_onednn(const ridge_case *c, int threads, void **plan);
ridge_status online_softmax_onednn(const ridge_call *call);

/* row_traits of the GPU's ways. */
#define ONLINE_SOFTMAX_ROWS \
    { 0, {8, 32, false}, {32, 32, false}, 0, 0, false, NULL }

#endif
