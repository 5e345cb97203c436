/* The ways of row-wise kernels on a GPU: which threads have a row together. Of C and CUDA: rows/run.cuh runs them.
 *
 *   columns up to     64  256 | 1024  2048  4096 | 8192  16384 | 32768  65536  131072  262144 | more
 *   threads a row      8   32 |  n/E   n/E   n/E |  n/L    n/L | a cluster of 2, 4, 8, 16      | 256, and read again
 *
 * The list goes from the most special way to the most general one, and the first that takes a problem runs: costs are
 * all alike until there are measurements that say otherwise. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_WAYS_H
#define RIDGE_KERNELS_CUDA_ROWS_WAYS_H

#include "ridge/target.h"

enum {
    ROW_PACK_BYTES = 16,
    ROW_LANES_MOST = 64,          /* columns */
    ROW_WARP_MOST = 256,          /* likewise */
    ROW_SINGLE_MOST = 4096,       /* likewise */
    ROW_BLOCK_MOST = 16384,       /* likewise: the elements that a block holds */
    ROW_CUDA_HELD = 262144,       /* likewise: those that a cluster holds */
    ROW_CLUSTER_MOST = 16,        /* blocks of a cluster, at the most */
    ROW_PERSISTENT_SLICE = 32768, /* bytes of a row that a block of a persistent cluster has */
    ROW_PERSISTENT_GROUPS = 4     /* rows that such a cluster has under way */
};

typedef enum row_way {
    ROW_WAY_SINGLE,
    ROW_WAY_LANES,
    ROW_WAY_WARP,
    ROW_WAY_FILLED,
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
    row_cut of_4, of_2; /* in types of four and of two bytes */
} row_traits;

/* A problem of rows. */
typedef struct row_facts {
    int64_t rows, columns;
    int bytes;  /* of an element of x */
    bool packs; /* x and y can be moved in packs, but for their ends */
    bool whole; /* rows and parameters are whole packs */
    int parameters;
    row_cut cut;
    int sm, sm_count;
} row_facts;

/* Rows x and y, whose first elements lie at these offsets, and whose lines are so many bytes apart. */
static inline bool row_lies_alike(uint64_t x, uint64_t y, int64_t x_line, int64_t y_line, bool one_type) {
    const uint64_t p = ROW_PACK_BYTES;
    if (one_type) return (x - y) % p == 0 && ((uint64_t)x_line - (uint64_t)y_line) % p == 0;
    return (x | y | (uint64_t)x_line | (uint64_t)y_line) % p == 0;
}

static inline bool row_fills_threads(const row_facts *f) {
    const int64_t n = f->columns;
    const bool length =
        n == 1024 || n == 2048 || n == ROW_SINGLE_MOST || n == ROW_BLOCK_MOST / 2 || n == ROW_BLOCK_MOST;
    return f->cut.filled && length && n / (n > ROW_SINGLE_MOST ? f->cut.long_elements : f->cut.elements) > 32;
}

/* Blocks of a persistent cluster; 0: the row is not whole slices for 2, 4, 8 or 16. */
static inline int row_persistent_blocks(const row_facts *f) {
    for (int blocks = 2; blocks <= ROW_CLUSTER_MOST; blocks *= 2)
        if (f->columns * f->bytes == (int64_t)blocks * ROW_PERSISTENT_SLICE) return blocks;
    return 0;
}
static inline bool row_are_many(const row_facts *f, int blocks) {
    return f->rows >= 2 * ROW_PERSISTENT_GROUPS * (f->sm_count / blocks) && f->rows <= INT32_MAX / 2;
}

/* NULL: the way takes such rows. */
static inline const char *row_way_refusal(int way, const row_facts *f) {
    const int64_t n = f->columns;
    if (way == ROW_WAY_REREAD) return NULL;
    if (way == ROW_WAY_SINGLE)
        return f->packs              ? "for rows that cannot be moved in packs"
               : n > ROW_SINGLE_MOST ? "for rows of up to 4096"
                                     : NULL;
    if (!f->packs) return "x and y do not lie alike against 16-byte boundaries";
    const bool beyond_block = n > ROW_BLOCK_MOST;
    switch (way) {
        case ROW_WAY_LANES: return n > ROW_LANES_MOST ? "for rows of up to 64" : NULL;
        case ROW_WAY_WARP: return n > ROW_WARP_MOST ? "for rows of up to 256" : NULL;
        case ROW_WAY_FILLED:
            if (!row_fills_threads(f)) return "for rows that exactly fill their threads";
            return f->whole ? NULL : "for rows and parameters of whole packs";
        case ROW_WAY_BLOCK: return beyond_block ? "for rows of up to 16384" : NULL;
        default: break;
    }
    if (f->sm < 90) return "needs clusters of blocks";
    if (!beyond_block || n > ROW_CUDA_HELD) return "for rows of 16385 to 262144";
    if (way == ROW_WAY_CLUSTER) return NULL;
    if (!f->whole) return "for rows and parameters of whole packs";
    if (way == ROW_WAY_FETCH) return f->parameters == 1 && f->bytes == 2 ? NULL : "for one parameter, of 16 bits";
    const int blocks = row_persistent_blocks(f);
    if (f->parameters == 0 || blocks == 0) return "for rows with parameters, of 2, 4, 8 or 16 whole slices";
    return row_are_many(f, blocks) ? NULL : "for more rows than clusters have room, twice";
}

/* ---- as ways of a target: x is its first input, y its output, parameters are the other inputs
 * ------------------------ */

const char *row_way_refuses(const ridge_way *way, const ridge_problem *problem);

#define ROW_WAY(number_, name_, idea_, fn, traits)                                                          \
    {                                                                                                       \
        .name = name_, .idea = idea_, .refuses = row_way_refuses, .run = RIDGE_CUDA(fn), .number = number_, \
        .own = traits                                                                                       \
    }
/* fn: its extern "C" function, which reads call->way->number. traits: const row_traits *. A target lists, in this
 * order, those that its traits allow. */
#define ROW_WAYS_SHORT(fn, traits)                                                                                    \
    ROW_WAY(ROW_WAY_SINGLE, "rows_single", "a warp or a block has a row, elements are moved one by one", fn, traits), \
        ROW_WAY(ROW_WAY_LANES, "rows_lanes", "eight lanes have a row", fn, traits),                                   \
        ROW_WAY(ROW_WAY_WARP, "rows_warp", "a warp has a row", fn, traits)
#define ROW_WAYS_FILLED(fn, traits) \
    ROW_WAY(ROW_WAY_FILLED, "rows_filled", "a block has a row that fills it: no tails", fn, traits)
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
