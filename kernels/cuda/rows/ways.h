/* The ways of row-wise kernels on a GPU: which threads have a row together. Of C and CUDA: rows/run.cuh runs them.
 *
 *   columns up to   64 128 256 512 | 1024 2048 4096 | 8192 16384 | 32768 65536 131072 262144 | more
 *   threads a row    8   8  16  32 |  n/E  n/E  n/E |  n/L   n/L | a cluster of 2, 4, 8, 16  | 256, and read again
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
 * Many rows of up to 2 KiB are cheaper where each thread has several of them in flight (rows_several), or where a block
 * has them in shared memory (rows_staged), or has one of up to 16 columns by itself (rows_thread). Few rows are where a
 * row has more threads (rows_warp, rows_spread).
 *
 * The list goes from the most special way to the most general one, and the cheapest that takes a problem runs, the
 * first one of several. row_way_time below has the costs. */
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
    ROW_SHIFTED_THREADS = 512,    /* of the largest block that shifts packs, two of an SM */
    ROW_SHIFTED_BYTES = 64,       /* of a thread of long rows */
    ROW_SHIFTED_BLOCK = 8192,     /* columns of such a block, if a thread has 16 */
    ROW_BLOCK_MOST = 16384,       /* likewise: the elements that a block holds */
    ROW_CUDA_HELD = 262144,       /* likewise: those that a cluster holds */
    ROW_CLUSTER_MOST = 16,        /* blocks of a cluster, at the most */
    ROW_PERSISTENT_SLICE = 32768, /* bytes of a row that a block of a persistent cluster has */
    ROW_PERSISTENT_GROUPS = 4,    /* rows that such a cluster has under way */
    ROW_SEVERAL_PACKS = 4,        /* packs of a thread in flight, where rows are many and short */
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
    ROW_WAY_SEVERAL,
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

/* Lanes of a warp that have a row of `packs` together, log2: at least four where tensor cores add 16-bit elements. */
static inline int row_several_lanes(int64_t packs, int bytes) {
    int log2 = bytes == 2 ? 2 : 0;
    while (log2 < 5 && (int64_t)1 << log2 < packs) log2++;
    return log2;
}
/* Packs of a lane: 1, 2 or 4. */
static inline int row_several_packs(int64_t packs) { return packs <= 32 ? 1 : packs <= 64 ? 2 : 4; }

/* Lanes that have a row of n elements in shared memory together. */
static inline int row_staged_lanes(int64_t n) {
    int lanes = 1;
    while (lanes < 32 && lanes * ROW_STAGED_ELEMENTS < n) lanes *= 2;
    return lanes;
}

/* Whether parameters are loaded one by one, which long rows do not have in L1. */
static inline bool row_scatters(const row_facts *f) { return f->parameters > 0 && !f->whole; }

/* Columns of rows whose packs are shifted: blocks of 1024 threads have not enough registers to store sums in fp32. */
static inline int row_shifted_most(const row_facts *f) {
    return f->matrices > 3 && f->bytes == 4 ? ROW_SHIFTED_BLOCK * ROW_CLUSTER_MOST : ROW_CUDA_HELD;
}

/* NULL: the way takes such rows. */
static inline const char *row_way_refusal(int way, const row_facts *f) {
    const int64_t n = f->columns;
    if (way == ROW_WAY_REREAD) return NULL;
    if (way == ROW_WAY_THREAD) return n > ROW_THREAD_MOST ? "for rows of up to 16" : NULL;
    if (way == ROW_WAY_STAGED) {
        if (f->sm < 90) return "needs TMA (compute capability 9.0)";
        if (n > ROW_STAGED_MOST) return "for rows of up to 512";
        return f->piece ? NULL : "for rows without gaps, that lie alike against 16-byte boundaries";
    }
    if (way == ROW_WAY_SINGLE)
        return f->packs                             ? "for rows that cannot be moved in packs"
               : n > ROW_SINGLE_LONG                ? "for rows of up to 262144"
               : n > ROW_SINGLE_BLOCK && f->sm < 90 ? "needs clusters of blocks"
                                                    : NULL;
    if (way == ROW_WAY_SHIFTED)
        return f->packs && !(row_scatters(f) && n > ROW_BLOCK_MOST)
                   ? "for rows that cannot be moved in packs, or long ones whose parameters cannot"
               : !f->as_y                            ? "outputs do not lie alike against 16-byte boundaries"
               : n > row_shifted_most(f)             ? "for rows of up to 262144, of two outputs of 4 bytes 131072"
               : n > ROW_SHIFTED_BLOCK && f->sm < 90 ? "needs clusters of blocks"
                                                     : NULL;
    if (!f->packs) return "x and y do not lie alike against 16-byte boundaries";
    const bool beyond_block = n > ROW_BLOCK_MOST;
    switch (way) {
        case ROW_WAY_SEVERAL:
            if (!f->whole) return "for rows and parameters of whole packs";
            return n * f->bytes > 32 * ROW_SEVERAL_PACKS * ROW_PACK_BYTES ? "for rows of up to 2 KiB" : NULL;
        case ROW_WAY_LANES: return n > ROW_LANES_MOST ? "for rows of up to 256" : NULL;
        case ROW_WAY_WARP: return n > ROW_WARP_MOST ? "for rows of up to 512" : NULL;
        case ROW_WAY_FILLED:
            if (!row_fills_threads(f)) return "for rows that exactly fill their threads";
            return f->whole ? NULL : "for rows and parameters of whole packs";
        case ROW_WAY_SPREAD:
            if (f->cut.elements <= ROW_SPREAD_ELEMENTS) return "rows_block has as few elements a thread";
            return n < ROW_SPREAD_LEAST || n > ROW_SPREAD_MOST ? "for rows of 257 to 8192" : NULL;
        case ROW_WAY_BLOCK: return beyond_block ? "for rows of up to 16384" : NULL;
        default: break;
    }
    if (f->sm < 90) return "needs clusters of blocks";
    if (!beyond_block || n > ROW_CUDA_HELD) return "for rows of 16385 to 262144";
    if (way == ROW_WAY_CLUSTER) return NULL;
    if (!f->keeps) return "no kernel of this activation or type of parameters";
    if (!f->whole) return "for rows and parameters of whole packs";
    if (way == ROW_WAY_FETCH) return f->parameters == 1 && f->bytes == 2 ? NULL : "for one parameter, of 16 bits";
    const int blocks = row_persistent_blocks(f);
    if (f->parameters == 0 || blocks == 0) return "for rows with parameters, of 2, 4, 8 or 16 whole slices";
    return row_are_many(f, blocks) ? NULL : "for more rows than clusters have room, twice";
}

/* ---- what a way takes, in microseconds -------------------------------------------------------------------------- */

/* Fitted to 240 drawn shapes on an H200, all ways of each (bench/sweep_cuda.py --ways --seed 501). Few blocks start
 * while the launch before still runs: 8 x 16 in 1.1 us, where rows_several takes 2.3. */
#define ROW_H200_START 1.4   /* microseconds of a launch in a graph */
#define ROW_H200_EARLY 0.4   /* the same of few blocks */
#define ROW_H200_LATENCY 0.8 /* from the first load to the last store of a block */
#define ROW_H200_COPY 4.27e6 /* bytes a microsecond, of reads and writes: 4 GiB */
#define ROW_H200_ISSUE 2.9e7 /* instructions of single threads a microsecond: four a cycle and SM, times 32 */
#define ROW_H200_ROW 160     /* instructions of a thread for a row, however short: 262144 x 16 by rows_warp in 73 us */
#define ROW_H200_END \
    3 /* elements more that one costs by itself: layer norm of 131072 x 64 f16, moved by one, in 19 us */
#define ROW_H200_FLIGHT 49152. /* bytes of resident rows with which an SM copies at that rate: a guess */
#define ROW_H200_LONE 3.8      /* microseconds of few clusters that move elements one by one */
#define ROW_H200_CLUSTER 3.5   /* of a block of many, two of an SM: predicted; one of an SM took 5.3, 1056 x 112568 */
#define ROW_H200_JOINED 5.0    /* the same of two operands, one of an SM: masked 9704 x 9722 in 611 us, 4.2 */
/* Microseconds of a parameter's element that is loaded by itself, four or eight of them in flight. Predicted, not
 * measured: 0.25 when each load waited for the store before it, of 8 x 40 fp32 and 1 x 120278. */
#define ROW_H200_APART 0.06
#define ROW_H200_STAGED \
    1.15                     /* times what rows that are loaded to registers take: loads, then stores, of each block \
                              */
#define ROW_H200_CYCLES 1755 /* of an SM in a microsecond */
#define ROW_H200_THREAD 1.9  /* as STAGED, of rows that are not one pack: 65536 x 16 in 5.8 us, rows_several 4.9 */
#define ROW_H200_SECTORS 1.15e5 /* a microsecond, written in part: 380119 x 15 in f16, 18 apart, in 50 us */
#define ROW_H200_SHIFT 4        /* instructions of an element whose pack is shifted: an estimate */
#define ROW_H200_SHIFTED 1.15   /* as STAGED, of those rows: predicted, not measured */
#define ROW_H200_SPREAD 1.15    /* likewise: more threads exchange */
#define ROW_H200_FILLED 0.5     /* microseconds less without ends: layer norm of 128 x 4096 fp32 3.6, spread 3.9 */
/* Shapes that seed 64021 draws. */
#define ROW_H200_LOOSE 1.35 /* rows_block of rows that a warp has: add_rms_norm 4333 x 297 bf16 8.0 us, warp 6.8 */
#define ROW_H200_MASKED 1.3 /* one block of an SM, two operands: masked 8192 x 16384 bf16 250 us, rows_reread 236 */
#define ROW_H200_APART_JOINED 1.35 /* two operands one by one: add_rms_norm 16155 x 5883 f16 275 us, bytes 182 */
#define ROW_H200_AGAIN 0.75        /* of two matrices that L2 still has: the same rows_reread */
#define ROW_H200_L2 40e6           /* bytes of rows that it has then */
#define ROW_H200_SCATTERED 2.0     /* parameters by single loads: layer norm of 863 x 48742 bf16 85 us, bytes 41 */
#define ROW_H200_PARAMETER 0.3 /* of a row's only thread, behind its sums: layer norm of 13 x 1 in 2.1 us, warp 1.9 */
enum { ROW_SM_THREADS = 2048, ROW_SM_BLOCKS = 32 };

/* Threads and rows of a block, elements of a thread. */
typedef struct row_block_shape {
    int threads, rows, elements;
} row_block_shape;

/* Rows of n elements and of up to `most`. */
static inline row_block_shape row_blocks_of(int most, int elements) {
    const int threads_a_row = most / elements;
    row_block_shape b;
    b.threads = threads_a_row > 32 ? threads_a_row : 128;
    b.rows = b.threads / threads_a_row;
    b.elements = elements;
    return b;
}
/* Threads a row, elements of a thread. */
typedef struct row_lane_shape {
    int threads, elements;
} row_lane_shape;
/* Of rows whose elements are moved one by one. */
static inline row_lane_shape row_single_of(int64_t n) {
    const row_lane_shape s = {n <= 64 ? 8 : n <= 512 ? 32 : n <= 1024 ? 64 : n <= 4096 ? 256 : 512, n <= 256 ? 8 : 16};
    return s;
}
/* Of rows whose packs are shifted. */
static inline row_lane_shape row_shifted_of(int64_t n, int bytes) {
    const int elements = n <= 2048 ? 16 : ROW_SHIFTED_BYTES / bytes;
    int64_t most = n <= 512 ? 512 : 2048;
    while (most < n) most *= 2;
    const row_lane_shape s = {(int)(most / elements), elements};
    return s;
}
/* Of rows_lanes: four lanes suffice where a pack has eight elements. */
static inline row_lane_shape row_lanes_of(int64_t n, int bytes) {
    const row_lane_shape s = {n <= 32 && bytes == 2 ? 4 : n <= 128 ? 8 : 16, n <= 64 ? 8 : 16};
    return s;
}
/* Of rows_warp. */
static inline row_lane_shape row_warp_of(int64_t n) {
    const row_lane_shape s = {32, n <= 256 ? 8 : 16};
    return s;
}
/* The least of the lengths that blocks are made for. */
static inline int row_block_most(int64_t n) {
    return n <= 1024              ? 1024
           : n <= 2048            ? 2048
           : n <= ROW_SINGLE_MOST ? ROW_SINGLE_MOST
           : n <= 8192            ? 8192
                                  : ROW_BLOCK_MOST;
}
/* Of rows_lanes and rows_warp; those of 16 elements have 64 registers a thread, too. */
static inline row_block_shape row_block_of_lanes(row_lane_shape lanes) {
    row_block_shape b = row_blocks_of(lanes.threads * lanes.elements, lanes.elements);
    if (lanes.elements > 8) b.threads *= 2;
    return b;
}
static inline row_block_shape row_way_block(int way, const row_facts *f) {
    const int64_t n = f->columns, packs = n * f->bytes / ROW_PACK_BYTES;
    const int most = row_block_most(n), cut = n > ROW_SINGLE_MOST ? f->cut.long_elements : f->cut.elements;
    row_block_shape b = {256, 1, 16};
    switch (way) { /* of 64 registers a thread, half the SM's: as if blocks had twice the threads */
        case ROW_WAY_STAGED:
            b.threads = 2 * ROW_STAGED_THREADS, b.rows = ROW_STAGED_THREADS / row_staged_lanes(n);
            return b;
        case ROW_WAY_SEVERAL:
            b.threads = 512, b.rows = (256 >> row_several_lanes(packs, f->bytes)) * ROW_SEVERAL_PACKS;
            b.rows /= row_several_packs(packs);
            b.elements = ROW_SEVERAL_PACKS * ROW_PACK_BYTES / f->bytes;
            return b;
        case ROW_WAY_SINGLE: {
            const row_lane_shape single = row_single_of(n);
            return row_blocks_of(single.threads * single.elements, single.elements);
        }
        case ROW_WAY_SHIFTED: {
            row_lane_shape shifted = row_shifted_of(n, f->bytes);
            if (shifted.threads > ROW_SHIFTED_THREADS) shifted.threads = ROW_SHIFTED_THREADS; /* of a cluster's block */
            return row_block_of_lanes(shifted);
        }
        case ROW_WAY_LANES: return row_block_of_lanes(row_lanes_of(n, f->bytes));
        case ROW_WAY_WARP: return row_block_of_lanes(row_warp_of(n));
        case ROW_WAY_THREAD: return row_blocks_of(ROW_THREAD_MOST, ROW_THREAD_MOST);
        case ROW_WAY_SPREAD: return row_blocks_of(most, ROW_SPREAD_ELEMENTS);
        case ROW_WAY_FILLED:
        case ROW_WAY_BLOCK: return row_blocks_of(most, cut);
        case ROW_WAY_REREAD: b.elements = (int)(n / 256) + 1; return b;
        default: return b;
    }
}

/* Lanes that have a row together. */
static inline int row_way_lanes(int way, const row_facts *f) {
    const int64_t n = f->columns;
    const int cut = n > ROW_SINGLE_MOST ? f->cut.long_elements : f->cut.elements;
    switch (way) {
        case ROW_WAY_STAGED: return row_staged_lanes(n);
        case ROW_WAY_SEVERAL: return 1 << row_several_lanes(n * f->bytes / ROW_PACK_BYTES, f->bytes);
        case ROW_WAY_SINGLE: return row_single_of(n).threads;
        case ROW_WAY_SHIFTED: return row_shifted_of(n, f->bytes).threads;
        case ROW_WAY_THREAD: return 1;
        case ROW_WAY_LANES: return row_lanes_of(n, f->bytes).threads;
        case ROW_WAY_WARP: return row_warp_of(n).threads;
        case ROW_WAY_SPREAD: return row_block_most(n) / ROW_SPREAD_ELEMENTS;
        case ROW_WAY_FILLED:
        case ROW_WAY_BLOCK: return row_block_most(n) / cut;
        default: return 256;
    }
}
static inline bool row_way_is_single(int way, const row_facts *f) {
    return way == ROW_WAY_SINGLE || way == ROW_WAY_STAGED || (!f->packs && way != ROW_WAY_SHIFTED) ||
           (way == ROW_WAY_THREAD && !f->whole);
}
/* Elements before and behind the packs that the busiest lane has. */
static inline int row_way_ends(int way, const row_facts *f, int lanes) {
    const int ends = (way == ROW_WAY_SHIFTED ? 4 : 2) * (ROW_PACK_BYTES / f->bytes - 1);
    return row_way_is_single(way, f) || f->whole ? 0 : (ends + lanes - 1) / lanes;
}
/* Elements of the busiest lane: whole packs, and those of the ends. */
static inline double row_way_elements(int way, const row_facts *f, int lanes) {
    const int64_t width = row_way_is_single(way, f) ? 1 : ROW_PACK_BYTES / f->bytes;
    const int64_t packs = (f->columns + width - 1) / width;
    const int64_t most = (packs + lanes - 1) / lanes * width;
    return (double)most + row_way_ends(way, f, lanes);
}
static inline int row_operands(const row_facts *f) { return f->matrices > 2 ? 2 : 1; }
/* Instructions of an element. */
static inline double row_way_instructions(int way, const row_facts *f) {
    const bool shifted = way == ROW_WAY_SHIFTED,
               single = way == ROW_WAY_SINGLE || (!f->packs && !shifted) || (way == ROW_WAY_THREAD && !f->whole);
    return 6 + 5 * f->parameters + (single ? 8 : 0) + (shifted ? ROW_H200_SHIFT * row_operands(f) : 0) +
           (f->parameters > 0 && !f->whole ? 5 : 0) + (way == ROW_WAY_STAGED ? 14 : 0);
}
/* Microseconds of a block that has nothing beside it. */
static inline double row_way_alone(int way, const row_facts *f, double elements) {
    const double element = f->parameters == 0 ? 0.03 : f->parameters == 1 ? 0.05 : 0.08;
    if (way == ROW_WAY_STAGED) return 2 * ROW_H200_LATENCY + 0.3 + elements * element;
    if (way == ROW_WAY_REREAD && !f->packs) {
        const bool in_l1 = f->columns * f->bytes <= 16384; /* parameters */
        return ROW_H200_LATENCY * 2 + elements * (0.17 + (in_l1 ? 0.05 : 0.15) * f->parameters);
    }
    if (way == ROW_WAY_SINGLE || (way == ROW_WAY_THREAD && !f->whole))
        return ROW_H200_LATENCY + elements * (0.05 + ROW_H200_APART * f->parameters);
    if (way == ROW_WAY_LANES || way == ROW_WAY_THREAD) { /* parameters of few blocks come while the row does */
        const bool few = way == ROW_WAY_LANES && f->rows <= (int64_t)ROW_EARLY_BLOCKS * row_way_block(way, f).rows;
        return ROW_H200_LATENCY + (few ? 0 : 0.25 * f->parameters) + elements * element;
    }
    return ROW_H200_LATENCY + elements * element;
}

/* Microseconds in which an SM's 32 lanes move rows of a thread each: an access of a warp touches as many lines of 128
 * bytes as 32 rows have, and takes a cycle for each; single elements are stored by sectors of 32 bytes. */
static inline double row_thread_accesses(const row_facts *f, double sms) {
    const double row = (double)f->columns * f->bytes,
                 accesses = f->whole ? row / (double)ROW_PACK_BYTES : (double)f->columns;
    const double lines = row < 4 ? 1 : row > 128 ? 32 : row / 4;
    const double moved = (double)f->rows / 32 * f->matrices * accesses * lines / (ROW_H200_CYCLES * sms);
    const double written = (double)f->rows * (double)f->columns * (f->matrices > 3 ? 2 : 1); /* y, and a sum */
    const double sectors = written * (row < 32 ? row / 32 : 1) / ROW_H200_SECTORS;
    return f->whole || moved > sectors ? moved : sectors;
}

/* Microseconds in which SMs move rows between shared memory and registers, twice for each matrix read or written.
 * Lanes of one row have neighbouring elements; rows that begin in the same bank wait for each other. */
static inline double row_staged_accesses(const row_facts *f, int lanes, double sms) {
    const int64_t line = f->columns * f->bytes;
    const int rows = 32 / lanes;
    int period = 128; /* bytes by which first elements differ, of all banks */
    while (line % period != 0) period /= 2;
    const int beside =
        period > lanes * f->bytes ? 128 / period : 128 / (lanes * f->bytes); /* rows in banks of their own */
    const double conflicts = rows > beside ? (double)rows / beside : 1;
    return (double)f->rows * (double)f->columns / 32 * f->matrices * conflicts / (ROW_H200_CYCLES * sms);
}

/* rows_lanes and rows_warp of more columns than they were measured with, and rows_staged since it has rows in
 * registers: where rows are whole packs, other ways were measured and are fast. */
#define ROW_H200_UNMEASURED 2
static inline bool row_way_is_unmeasured(int way, const row_facts *f) {
    return f->whole && (way == ROW_WAY_STAGED || (way == ROW_WAY_LANES && f->columns > 64) ||
                        (way == ROW_WAY_WARP && f->columns > 256));
}

/* Matrices that move once more, as if from memory. */
static inline double row_way_again(int way, const row_facts *f) {
    if (way != ROW_WAY_REREAD) return 0;
    const double resident = 3.0 * f->sm_count * (double)f->columns * f->bytes * row_operands(f);
    if (f->matrices == 3) return f->packs && resident < ROW_H200_L2 ? ROW_H200_AGAIN : 2;
    return 1;
}
/* Times what the model of a row says, measured on an H200 for shapes that seed 64021 draws. */
static inline double row_way_measured(int way, const row_facts *f) {
    if (way == ROW_WAY_BLOCK && f->columns <= ROW_WARP_MOST && (f->parameters > 0 || f->matrices > 2))
        return ROW_H200_LOOSE;
    if (way == ROW_WAY_BLOCK && f->columns > ROW_BLOCK_MOST / 2 && f->matrices == 3) return ROW_H200_MASKED;
    if (way == ROW_WAY_SINGLE && f->columns > 64 && f->matrices > 2) return ROW_H200_APART_JOINED;
    return way == ROW_WAY_CLUSTER && row_scatters(f) ? ROW_H200_SCATTERED : 1;
}

static inline double row_way_time(int way, const row_facts *f) {
    const row_block_shape block = row_way_block(way, f);
    const int by_threads = ROW_SM_THREADS / block.threads, lanes = row_way_lanes(way, f);
    const double row = (double)f->columns * f->bytes,
                 resident = by_threads < ROW_SM_BLOCKS ? by_threads : ROW_SM_BLOCKS;
    const double asked = way != ROW_WAY_SINGLE ? 1 : f->columns <= 64 ? 1.5 : 0.5;
    const double flight = resident * block.rows * row * asked * row_operands(f) / ROW_H200_FLIGHT; /* both at once */
    const double elements = row_way_elements(way, f, lanes), blocks = (double)f->rows / block.rows;
    const double alone = row_way_alone(way, f, elements), sms = f->sm_count > 0 ? f->sm_count : 1;
    const double instructions = row_way_instructions(way, f);
    const double fixed = ROW_H200_ROW + ROW_H200_END * row_way_ends(way, f, lanes) * instructions; /* of a thread */
    const double counted = way == ROW_WAY_SHIFTED ? (double)f->columns : lanes * elements; /* warps may have no packs */
    const double issue = (double)f->rows * (lanes * fixed + counted * instructions) / ROW_H200_ISSUE;
    double move = (double)f->rows * row * (f->matrices + row_way_again(way, f)) / ROW_H200_COPY;
    const bool plain = way == ROW_WAY_SEVERAL || way == ROW_WAY_REREAD;
    if (way == ROW_WAY_SINGLE && f->columns > ROW_SINGLE_BLOCK) { /* as its cluster has */
        int cluster = 2;                                          /* a block of 1024 threads counts as two */
        while ((int64_t)cluster * ROW_SINGLE_BLOCK < f->columns) cluster *= 2;
        const double all = (double)f->rows * cluster / sms * (f->matrices > 3 ? ROW_H200_JOINED : ROW_H200_CLUSTER);
        return ROW_H200_START + (all < ROW_H200_LONE ? ROW_H200_LONE : all);
    }
    if (flight < 1) move /= flight;
    if (move < issue) move = issue;
    if (way == ROW_WAY_STAGED && move < row_staged_accesses(f, lanes, sms)) move = row_staged_accesses(f, lanes, sms);
    if (way == ROW_WAY_THREAD) {
        if (!f->whole || f->columns * f->bytes > ROW_PACK_BYTES) move *= ROW_H200_THREAD;
        const double accesses = row_thread_accesses(f, sms);
        if (move < accesses) move = accesses;
        move += 1.2 * ROW_H200_LATENCY + ROW_H200_PARAMETER * f->parameters; /* 327 x 3: 1.35 us, rows_lanes 1.22 */
    }
    if (way == ROW_WAY_REREAD && !f->packs && move < alone * blocks / (3 * sms)) move = alone * blocks / (3 * sms);
    if (move < alone) move = alone;
    if (way == ROW_WAY_REREAD) move += ROW_H200_LATENCY;
    if (way == ROW_WAY_SEVERAL) move += 2 * ROW_H200_LATENCY; /* rows one after the other */
    if (way == ROW_WAY_STAGED) move *= ROW_H200_STAGED;
    if (way == ROW_WAY_SPREAD) move *= ROW_H200_SPREAD;
    if (way == ROW_WAY_SHIFTED) move *= ROW_H200_SHIFTED;
    move *= row_way_measured(way, f);
    if (row_way_is_unmeasured(way, f) && f->matrices == 2) move *= ROW_H200_UNMEASURED;
    if (way == ROW_WAY_FILLED) move -= ROW_H200_FILLED;
    return (blocks <= (double)ROW_EARLY_BLOCKS && !plain ? ROW_H200_EARLY : ROW_H200_START) + move;
}

/* ---- as ways of a target ----------------------------------------------------------------------------------------- */

/* x is the target's first input, y its output, and parameters are the other inputs. */

const char *row_way_refuses(const ridge_way *way, const ridge_problem *problem);
double row_way_cost(const ridge_way *way, const ridge_problem *problem);

#define ROW_WAY(number_, name_, idea_, fn, traits)                                                             \
    {                                                                                                          \
        .name = name_, .idea = idea_, .refuses = row_way_refuses, .cost = row_way_cost, .run = RIDGE_CUDA(fn), \
        .number = number_, .own = traits                                                                       \
    }
/* fn: its extern "C" function, which reads call->way->number. traits: const row_traits *. A target lists, in this
 * order, those that its traits allow. */
#define ROW_WAYS_STAGED(fn, traits) \
    ROW_WAY(ROW_WAY_STAGED, "rows_staged", "a block has a piece of memory of many rows, in shared memory", fn, traits)
#define ROW_WAYS_SEVERAL(fn, traits) \
    ROW_WAY(ROW_WAY_SEVERAL, "rows_several", "lanes have several rows each, all in flight at once", fn, traits)
#define ROW_WAYS_MANY(fn, traits) ROW_WAYS_STAGED(fn, traits), ROW_WAYS_SEVERAL(fn, traits)
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
