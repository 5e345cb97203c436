/* The ways of row-wise kernels on a GPU: which threads have a row together. Of C and CUDA: rows/run.cuh runs them.
 *
 *   columns up to   32 128 256 512 | 1024 2048 4096 | 8192 16384 | 32768 65536 131072 262144 | more
 *   threads a row    4   8  16  32 |  n/E  n/E  n/E |  n/L   n/L | a cluster of 2, 4, 8, 16  | 256, and read again
 *
 * Where x and y lie differently against 16-byte boundaries, packs of x are shifted to where y's lie (rows_shifted):
 *
 *   columns up to    512  2048  4096  8192  16384 | 262144
 *   threads a row     32   128   n/S   n/S    n/S | a cluster of blocks of 512
 *
 * S is 64 bytes, or as the operation has it. Elements that are moved one by one (rows_single) need fewer threads:
 *
 *   columns up to     64  256  512  1024  4096  8192 | 131072                     | 262144
 *   threads a row      8   32   32    64   256   512 | a cluster of blocks of 512 | 16 blocks of 1024
 *
 * Many rows of up to 512 columns may be cheaper where a block has them in shared memory (rows_staged), or a thread has one
 * of up to 16 by itself (rows_thread). Few rows are where a row has more threads (rows_warp, rows_spread).
 *
 * The list goes from the most special way to the most general one, and the cheapest that takes a problem runs, the
 * first one of several. kernels/rows/row_ways.c says who refuses what, and what each takes. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_WAYS_H
#define RIDGE_KERNELS_CUDA_ROWS_WAYS_H

#include "ridge/target.h"

enum {
    ROW_PACK_BYTES = 16,
    ROW_THREAD_MOST = 16,         /* columns of a row that one thread has */
    ROW_LANES_MOST = 256,         /* columns */
    ROW_WARP_MOST = 512,          /* likewise */
    ROW_SINGLE_MOST = 4096,       /* likewise */
    ROW_SINGLE_BLOCK = 8192,      /* columns of which elements are moved one by one: of a block */
    ROW_SINGLE_CLUSTER = 131072,  /* likewise, of a cluster */
    ROW_SINGLE_WIDE = 1024,       /* threads of a block of the largest cluster, beyond that */
    ROW_SINGLE_LONG = 262144,     /* columns of that cluster */
    ROW_SHIFTED_LEAST = 65,       /* columns: of fewer, fewer lanes move single elements sooner */
    ROW_SHIFTED_THREADS = 512,    /* of the largest block that shifts packs, two of an SM */
    ROW_SHIFTED_BYTES = 64,       /* of a thread of long rows */
    ROW_SHIFTED_BLOCK = 8192,     /* columns of such a block, if a thread has 16 */
    ROW_BLOCK_MOST = 16384,       /* likewise: the elements that a block holds */
    ROW_CUDA_HELD = 262144,       /* likewise: those that a cluster holds */
    ROW_CLUSTER_MOST = 16,        /* blocks of a cluster, at the most */
    ROW_PERSISTENT_SLICE = 32768, /* bytes of a row that a block of a persistent cluster has */
    ROW_PERSISTENT_GROUPS = 4,    /* rows that such a cluster has under way */
    ROW_SPREAD_ELEMENTS = 8,      /* of a thread, where rows are few */
    ROW_SPREAD_LEAST = 257,       /* columns there */
    ROW_SPREAD_MOST = 8192,       /* likewise: 1024 threads */
    ROW_STAGED_THREADS = 128,     /* of a block that has its rows in shared memory */
    ROW_STAGED_ELEMENTS = 16,     /* of a thread there */
    ROW_STAGED_MOST = 512,        /* columns there: 32 lanes have such a row */
    ROW_EARLY_BLOCKS = 256        /* up to which a launch is set up while the one before it still runs, where latency
                                     binds: 128 rows of 4096 fp32 save 0.3 of 3 us; many rows lose 1 % */
};

typedef enum row_way {
    ROW_WAY_STAGED,
    ROW_WAY_THREAD,
    ROW_WAY_SINGLE,
    ROW_WAY_SHIFTED,
    ROW_WAY_LANES,
    ROW_WAY_WARP,
    ROW_WAY_FILLED,
    ROW_WAY_SPREAD,
    ROW_WAY_BLOCK,
    ROW_WAY_PERSISTENT,
    ROW_WAY_FETCH,
    ROW_WAY_CLUSTER,
    ROW_WAY_REREAD,
    ROW_WAY_COUNT
} row_way;

/* What an operation brings: elements of a thread in rows of up to 4096 and in longer ones, and whether rows that
 * exactly fill their threads have a kernel of their own (row_shape of rows/kernels.cuh, which has more); parameters for
 * every column. */
typedef struct row_cut {
    int elements, long_elements;
    bool filled;
} row_cut;
typedef struct row_traits {
    int parameters;
    row_cut of_4, of_2;    /* in types of four and of two bytes */
    int more_in, more_out; /* matrices that are read beside x, and written beside y */
    bool keeps;            /* parameters can be in shared memory */
    /* NULL, or the traits of a case: a target may have several operations, and its ways are all that any of them has. */
    const struct row_traits *(*of_case)(const ridge_case *c);
} row_traits;

/* A problem of rows. */
typedef struct row_facts {
    int64_t rows, columns;
    int bytes;  /* of an element of x */
    bool packs; /* x and y can be moved in packs, but for their ends */
    bool whole; /* rows and parameters are whole packs */
    bool piece; /* every matrix is one piece of memory, and all lie alike against 16-byte boundaries; of one type */
    bool as_y;  /* what is written beside y lies as y does, and all are of one type */
    int parameters;
    bool keeps; /* see row_traits */
    row_cut cut;
    int matrices; /* that are read or written */
    int sm, sm_count;
} row_facts;

/* Rows x and y, whose first elements lie at these offsets, and whose lines are so many bytes apart. */
static inline bool row_lies_alike(uint64_t x, uint64_t y, int64_t x_line, int64_t y_line, bool one_type) {
    const uint64_t p = ROW_PACK_BYTES;
    if (one_type) return (x - y) % p == 0 && ((uint64_t)x_line - (uint64_t)y_line) % p == 0;
    return (x | y | (uint64_t)x_line | (uint64_t)y_line) % p == 0;
}

/* Lanes of a row, and elements of each. */
typedef struct row_lane_shape {
    int threads, elements;
} row_lane_shape;

/* Rows whose elements are moved one by one; beyond ROW_SINGLE_BLOCK, a cluster's block. */
static inline row_lane_shape row_single_of(int64_t n) {
    const row_lane_shape s = {n <= 64 ? 8 : n <= 512 ? 32 : n <= 1024 ? 64 : n <= 4096 ? 256 : 512, n <= 256 ? 8 : 16};
    return s;
}
/* Rows whose packs are shifted. */
static inline row_lane_shape row_shifted_of(int64_t n, int bytes) {
    const int elements = n <= 2048 ? 16 : ROW_SHIFTED_BYTES / bytes;
    int64_t most = n <= 512 ? 512 : 2048;
    while (most < n) most *= 2;
    const row_lane_shape s = {(int)(most / elements), elements};
    return s;
}
static inline row_lane_shape row_lanes_of(int64_t n) {
    const row_lane_shape s = {n <= 32 ? 4 : n <= 128 ? 8 : 16, n <= 64 ? 8 : 16};
    return s;
}
static inline row_lane_shape row_warp_of(int64_t n) {
    const row_lane_shape s = {32, n <= 256 ? 8 : 16};
    return s;
}
/* Lanes that have a row of n elements in shared memory. */
static inline int row_staged_lanes(int64_t n) {
    int lanes = 1;
    while (lanes < 32 && lanes * ROW_STAGED_ELEMENTS < n) lanes *= 2;
    return lanes;
}
/* The least of the lengths that blocks are made for. */
static inline int row_block_most(int64_t n) {
    return n <= 1024              ? 1024
           : n <= 2048            ? 2048
           : n <= ROW_SINGLE_MOST ? ROW_SINGLE_MOST
           : n <= 8192            ? 8192
                                  : ROW_BLOCK_MOST;
}

/* NULL: the way takes such rows; otherwise why it does not. */
const char *row_way_refusal(int way, const row_facts *f);
/* Microseconds that it takes, predicted. */
double row_way_time(int way, const row_facts *f);

/* ---- as ways of a target ----------------------------------------------------------------------------------------- */

/* x is the target's first input, y its output, and parameters are the other inputs. */

ridge_plan row_way_plan(const ridge_way *way, const ridge_problem *problem);

#define ROW_WAY(number_, name_, idea_, fn, traits) \
    { .name = name_, .idea = idea_, .plan = row_way_plan, .run = RIDGE_CUDA(fn), .number = number_, .own = traits }
/* fn: its extern "C" function, which reads call->way->number. traits: const row_traits *. A target lists, in this
 * order, those that its traits allow. */
#define ROW_WAYS_STAGED(fn, traits) \
    ROW_WAY(ROW_WAY_STAGED, "rows_staged", "a block has a piece of memory of many rows, in shared memory", fn, traits)
#define ROW_WAYS_SHORT(fn, traits)                                                                                     \
    ROW_WAY(ROW_WAY_THREAD, "rows_thread", "a thread has a row, and nothing is exchanged: for many rows", fn, traits), \
        ROW_WAY(ROW_WAY_SINGLE, "rows_single",                                                                         \
                "lanes, a block or a cluster have a row, elements are moved one by one", fn, traits),                  \
        ROW_WAY(ROW_WAY_SHIFTED, "rows_shifted",                                                                       \
                "a warp, a block or a cluster have a row, packs are shifted to where y's lie", fn, traits),            \
        ROW_WAY(ROW_WAY_LANES, "rows_lanes", "some lanes of a warp have a row", fn, traits),                           \
        ROW_WAY(ROW_WAY_WARP, "rows_warp", "a warp has a row", fn, traits)
#define ROW_WAYS_FILLED(fn, traits) \
    ROW_WAY(ROW_WAY_FILLED, "rows_filled", "a block has a row that fills it: no tails", fn, traits)
#define ROW_WAYS_SPREAD(fn, traits) \
    ROW_WAY(ROW_WAY_SPREAD, "rows_spread", "a block of more threads has a row: for few rows", fn, traits)
#define ROW_WAYS_BLOCK(fn, traits) ROW_WAY(ROW_WAY_BLOCK, "rows_block", "a block has a row, in registers", fn, traits)
#define ROW_WAYS_PERSISTENT(fn, traits)                                                                                \
    ROW_WAY(ROW_WAY_PERSISTENT, "rows_persistent", "persistent clusters take row after row: parameters are read once", \
            fn, traits)
#define ROW_WAYS_FETCH(fn, traits) \
    ROW_WAY(ROW_WAY_FETCH, "rows_fetch", "a cluster has a row, its parameter comes by shared memory", fn, traits)
#define ROW_WAYS_LONG(fn, traits)                                                                               \
    ROW_WAY(ROW_WAY_CLUSTER, "rows_cluster", "a cluster of blocks has a row, in registers", fn, traits),        \
        ROW_WAY(ROW_WAY_REREAD, "rows_reread", "a block reads a row once for each reduction and once more", fn, \
                traits)

#endif
