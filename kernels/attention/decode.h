/* The plan of attention of few queries, as in decoding: up to eight rows of heads that share keys.
 *
 * Memory is what it takes: keys and values are read once, and eight rows make 16 FLOP of a byte. So warps share nothing on the way, and
 * wait for no barrier: each has keys of its own, 16 at a time, of which 24 KiB are under way. What they have of the rows they merge
 * once, at the end. */
#ifndef RIDGE_ATTENTION_DECODE_H
#define RIDGE_ATTENTION_DECODE_H

#include "attention/problem.h"

enum {
    ATTENTION_DECODE_ROWS = 8,    /* of heads that share keys, at most */
    ATTENTION_DECODE_DEPTH = 128, /* of d and of v, at most */
    ATTENTION_DECODE_KEYS = 16,   /* of a warp, at a time */
    ATTENTION_DECODE_WARPS = 8    /* of an SM: of one block, or of two */
};

/* Parts of the keys, which blocks have side by side, and warps of a block. */
typedef struct attention_decode {
    int parts, warps;
} attention_decode;

#ifdef __cplusplus
extern "C" {
#endif

/* Of way `decode`, over keys in rows. */
ridge_plan attention_decode_plan(const ridge_way *way, const ridge_problem *p);
/* Its time and scratch: of tensors that nobody asks about. */
ridge_plan attention_decode_cost(const ridge_problem *p);
const char *attention_decode_refusal(const ridge_problem *p);
attention_decode attention_decode_of(const int64_t *dim, const double *option, int sms);

#ifdef __cplusplus
}
#endif

#endif
