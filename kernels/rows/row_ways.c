/* Which rows each way takes, what it takes for them in microseconds, and problems of targets in these terms. */
#include "cuda/rows/ways.h"

#include <math.h>

/* ---- which rows a way takes -------------------------------------------------------------------------------------- */

/* Columns of more than `over` and up to `most`, which `lengths` says; what else it needs. */
typedef struct row_limits {
    int64_t over, most;
    const char *lengths;
    bool packs, whole;
} row_limits;

static const row_limits limits[ROW_WAY_COUNT] = {
    [ROW_WAY_STAGED] = {0, ROW_STAGED_MOST, "for rows of up to 512", false, false},
    [ROW_WAY_THREAD] = {0, ROW_THREAD_MOST, "for rows of up to 16", false, false},
    [ROW_WAY_SINGLE] = {0, ROW_SINGLE_LONG, "for rows of up to 262144", false, false},
    [ROW_WAY_SHIFTED] = {ROW_SHIFTED_LEAST - 1, ROW_CUDA_HELD, "for rows of 65 to 262144", false, false},
    [ROW_WAY_LANES] = {0, ROW_LANES_MOST, "for rows of up to 256", true, false},
    [ROW_WAY_WARP] = {0, ROW_WARP_MOST, "for rows of up to 512", true, false},
    [ROW_WAY_FILLED] = {0, ROW_BLOCK_MOST, "for rows of up to 16384", true, true},
    [ROW_WAY_SPREAD] = {ROW_SPREAD_LEAST - 1, ROW_SPREAD_MOST, "for rows of 257 to 8192", true, false},
    [ROW_WAY_BLOCK] = {0, ROW_BLOCK_MOST, "for rows of up to 16384", true, false},
    [ROW_WAY_PERSISTENT] = {ROW_BLOCK_MOST, ROW_CUDA_HELD, "for rows of 16385 to 262144", true, true},
    [ROW_WAY_FETCH] = {ROW_BLOCK_MOST, ROW_CUDA_HELD, "for rows of 16385 to 262144", true, true},
    [ROW_WAY_CLUSTER] = {ROW_BLOCK_MOST, ROW_CUDA_HELD, "for rows of 16385 to 262144", true, false},
    [ROW_WAY_REREAD] = {0, INT64_MAX, NULL, false, false},
};

static bool in_clusters(int way, int64_t n) {
    const bool block_is_less = way == ROW_WAY_SINGLE || way == ROW_WAY_SHIFTED;
    return way != ROW_WAY_REREAD && n > (block_is_less ? ROW_SINGLE_BLOCK : ROW_BLOCK_MOST);
}
static bool fills_threads(const row_facts *f) {
    const int64_t n = f->columns;
    const bool length =
        n == 1024 || n == 2048 || n == ROW_SINGLE_MOST || n == ROW_BLOCK_MOST / 2 || n == ROW_BLOCK_MOST;
    return f->cut.filled && length && n / (n > ROW_SINGLE_MOST ? f->cut.long_elements : f->cut.elements) > 32;
}
/* Blocks of a persistent cluster; 0: the row is not whole slices for 2, 4, 8 or 16. */
static int persistent_blocks(const row_facts *f) {
    for (int blocks = 2; blocks <= ROW_CLUSTER_MOST; blocks *= 2)
        if (f->columns * f->bytes == (int64_t)blocks * ROW_PERSISTENT_SLICE) return blocks;
    return 0;
}
static const char *refusal_of_shifted(const row_facts *f) {
    /* Blocks of 1024 threads have not enough registers to store sums in fp32. */
    const int64_t most = f->matrices > 3 && f->bytes == 4 ? ROW_SHIFTED_BLOCK * ROW_CLUSTER_MOST : ROW_CUDA_HELD;
    const bool scatters =
        f->parameters > 0 && !f->whole; /* parameters come one by one, which long rows do not have in L1 */
    if (f->packs && !(scatters && f->columns > ROW_BLOCK_MOST))
        return "for rows that cannot be moved in packs, or long ones whose parameters cannot";
    if (!f->as_y) return "outputs do not lie alike against 16-byte boundaries";
    return f->columns > most ? "for rows of up to 131072 where there are two outputs of 4 bytes" : NULL;
}
static const char *refusal_of_persistent(const row_facts *f) {
    const int blocks = persistent_blocks(f);
    if (!f->keeps) return "no kernel of this activation or type of parameters";
    if (f->parameters == 0 || blocks == 0) return "for rows with parameters, of 2, 4, 8 or 16 whole slices";
    const bool many = f->rows >= 2 * ROW_PERSISTENT_GROUPS * (f->sm_count / blocks) && f->rows <= INT32_MAX / 2;
    return many ? NULL : "for more rows than clusters have room, twice";
}

const char *row_way_refusal(int way, const row_facts *f) {
    const row_limits *l = &limits[way];
    if (f->columns <= l->over || f->columns > l->most) return l->lengths;
    if (l->packs && !f->packs) return "x and y do not lie alike against 16-byte boundaries";
    if (l->whole && !f->whole) return "for rows and parameters of whole packs";
    if (f->sm < 90 && in_clusters(way, f->columns)) return "needs clusters of blocks";
    switch (way) {
        case ROW_WAY_STAGED:
            if (f->sm < 90) return "needs TMA (compute capability 9.0)";
            return f->piece ? NULL : "for rows without gaps, that lie alike against 16-byte boundaries";
        case ROW_WAY_SINGLE: return f->packs ? "for rows that cannot be moved in packs" : NULL;
        case ROW_WAY_SHIFTED: return refusal_of_shifted(f);
        case ROW_WAY_FILLED: return fills_threads(f) ? NULL : "for rows that exactly fill their threads";
        case ROW_WAY_SPREAD:
            return f->cut.elements > ROW_SPREAD_ELEMENTS ? NULL : "rows_block has as few elements a thread";
        case ROW_WAY_FETCH:
            if (!f->keeps) return "no kernel of this activation or type of parameters";
            return f->parameters == 1 && f->bytes == 2 ? NULL : "for one parameter, of 16 bits";
        case ROW_WAY_PERSISTENT: return refusal_of_persistent(f);
        default: return NULL;
    }
}

/* ---- what it takes ----------------------------------------------------------------------------------------------- */

/* An H200, in microseconds: what copies and instructions take at best is known, the rest is fitted to 2494 times of 704
 * drawn shapes of eight operations (bench/sweep_cuda.py --ways, seeds 90101 and 90103), none of which has a constant of its
 * own. */
static const double COPY = 4.27e6;  /* bytes, read and written: the ceiling */
static const double ISSUE = 2.2e5;  /* instructions of single threads, of an SM: four warps a cycle */
static const double CYCLES = 1755;  /* of an SM */
static const double START = 1.0;    /* of a launch in a graph, with a latency of memory */
static const double SERIAL = 0.024; /* for an element of a lane, and for 0.6 parameters, where nothing hides it */
static const double APART = 0.05;   /* for an element that is moved by itself, and for each of its parameters */
/* To exchange sums: lanes of several rows, a block, a cluster; a block that reads its row again behind that. */
static const double SHARED_WARP = 0.22, BLOCK = 0.37, CLUSTER = 2, AGAIN = 1.9;
/* Instructions: of a lane for a row; of an element: for itself, for a parameter, one by one, with its pack shifted. */
static const double ROW = 350, ELEMENT = 3, PARAMETER = 6, SINGLE = 62, SHIFT = 25;
static const double REGISTERS = 1.85;          /* of 4 bytes that a lane has of a row, besides 24 */
static const double ALONE = 1.28;              /* times the bytes, of blocks with no other on their SM */
static const double L2 = 2.5, L2_BYTES = 40e6; /* times the bandwidth of memory; what it keeps of rows under way */
/* Cycles of an SM for an access of a warp to single elements, and for each line that rows of a thread touch. */
static const double ACCESS = 1.9, LINE = 6.7;

/* How a way cuts up rows: lanes of each, blocks that an SM has at once, elements of the busiest lane, those of them that
 * are moved one by one. */
typedef struct row_plan {
    int lanes, threads, held; /* of a row, of a block; elements of a lane, at the most */
    double elements, apart, blocks, resident;
} row_plan;

static row_lane_shape lanes_of(int way, const row_facts *f) {
    const int64_t n = f->columns;
    const int cut = n > ROW_SINGLE_MOST ? f->cut.long_elements : f->cut.elements, held = 128 / f->bytes;
    row_lane_shape s = {256, 16};
    int blocks = 2;
    switch (way) {
        case ROW_WAY_STAGED: s.threads = row_staged_lanes(n); return s;
        case ROW_WAY_THREAD: s.threads = 1; return s;
        case ROW_WAY_SHIFTED: return row_shifted_of(n, f->bytes);
        case ROW_WAY_LANES: return row_lanes_of(n);
        case ROW_WAY_WARP: return row_warp_of(n);
        case ROW_WAY_SPREAD: s.elements = ROW_SPREAD_ELEMENTS; break;
        case ROW_WAY_FILLED:
        case ROW_WAY_BLOCK: s.elements = cut; break;
        case ROW_WAY_SINGLE:
            if (n <= ROW_SINGLE_BLOCK) return row_single_of(n);
            while ((int64_t)blocks * ROW_SINGLE_BLOCK < n) blocks *= 2;
            s.threads = blocks * row_single_of(n).threads;
            return s;
        case ROW_WAY_REREAD: return s;
        default:
            while ((int64_t)blocks * ROW_BLOCK_MOST < n) blocks *= 2;
            s.elements = held, s.threads = blocks * (ROW_BLOCK_MOST / held);
            return s;
    }
    s.threads = row_block_most(n) / s.elements;
    return s;
}
static bool moves_singles(int way, const row_facts *f) {
    return way == ROW_WAY_SINGLE || way == ROW_WAY_STAGED || (!f->packs && way != ROW_WAY_SHIFTED) ||
           (way == ROW_WAY_THREAD && !f->whole);
}
/* Threads of a block. */
static int of_block(int way, const row_lane_shape *s) {
    switch (way) {
        case ROW_WAY_PERSISTENT:
        case ROW_WAY_FETCH:
        case ROW_WAY_CLUSTER: return ROW_BLOCK_MOST / s->elements;
        case ROW_WAY_SINGLE:
        case ROW_WAY_SHIFTED: return s->threads > 512 ? 512 : s->threads > 32 ? s->threads : 128;
        default: return s->threads > 32 ? s->threads : 128;
    }
}
static row_plan plan_of(int way, const row_facts *f) {
    const row_lane_shape s = lanes_of(way, f);
    const bool single = moves_singles(way, f);
    const int width = single ? 1 : ROW_PACK_BYTES / f->bytes;
    const int ends = single || f->whole ? 0 : (way == ROW_WAY_SHIFTED ? 4 : 2) * (width - 1);
    row_plan p = {.lanes = s.threads, .held = s.elements};
    p.threads = of_block(way, &s);
    p.elements = ceil(ceil((double)f->columns / width) / s.threads) * width;
    p.apart = single ? p.elements : ceil((double)ends / s.threads);
    p.elements += single ? 0 : p.apart;
    p.blocks =
        p.lanes > p.threads ? (double)f->rows * p.lanes / p.threads : ceil((double)f->rows * p.lanes / p.threads);
    const double operands = f->matrices > 2 ? 2 : 1,
                 registers = 24 + s.elements * f->bytes / 4.0 * REGISTERS * operands;
    p.resident = fmax(fmin(floor(65536 / (registers * p.threads)), 2048.0 / p.threads), 1);
    return p;
}

static double exchange_us(int way, const row_plan *p) {
    switch (way) {
        case ROW_WAY_STAGED: return (p->lanes < 32 ? SHARED_WARP : 0) + BLOCK;
        case ROW_WAY_REREAD: return AGAIN;
        case ROW_WAY_FILLED: return BLOCK / 2; /* and no ends to look at */
        case ROW_WAY_PERSISTENT: return 0;     /* behind another row's bytes */
        default: break;
    }
    if (p->lanes > p->threads) return CLUSTER;
    return p->lanes < 32 ? SHARED_WARP : p->lanes == 32 ? 0 : BLOCK;
}
/* One block, all of whose bytes come at once; rows_reread goes through its elements twice. */
static double alone_us(int way, const row_facts *f, const row_plan *p) {
    const bool kept = way == ROW_WAY_FETCH || way == ROW_WAY_PERSISTENT; /* parameters are there */
    const double element = SERIAL * (1 + (kept ? 0 : 0.6 * f->parameters)) * (way == ROW_WAY_FILLED ? 0.5 : 1);
    const int times = way == ROW_WAY_REREAD ? 2 : 1;
    return times * (p->elements * element + p->apart * APART * (1 + f->parameters)) + exchange_us(way, p);
}
static double issue_us(int way, const row_facts *f, const row_plan *p, double sms) {
    const double operands = f->matrices > 2 ? 2 : 1, parameters = PARAMETER * f->parameters * (f->whole ? 1 : 2);
    const double element =
        ELEMENT + parameters + (moves_singles(way, f) ? SINGLE : 0) + (way == ROW_WAY_SHIFTED ? SHIFT * operands : 0);
    return (double)f->rows * p->lanes * (ROW + p->elements * element * (way == ROW_WAY_REREAD ? 2 : 1)) / (ISSUE * sms);
}
/* Two operands are in registers at once (row_blocks of rows/kernels.cuh). */
static bool has_sm_alone(int way, const row_facts *f, const row_plan *p, double sms) {
    const int most = way == ROW_WAY_SHIFTED ? 1024 : f->matrices > 3 && p->held * f->bytes > 64 ? 512 : 768;
    return f->matrices > 2 && 2 * p->threads > most && p->blocks > sms;
}
/* Rows are read again from L2 where it has them, the parameters of long rows by every block. */
static double memory_us(int way, const row_facts *f, const row_plan *p, double sms) {
    const double row = (double)f->columns * f->bytes, operands = f->matrices > 2 ? 2 : 1;
    const bool kept = way == ROW_WAY_FETCH || way == ROW_WAY_PERSISTENT || f->columns <= ROW_BLOCK_MOST;
    const double again = (f->matrices > 3 ? 3 : 1) / (3 * sms * row * operands < L2_BYTES ? L2 : 1);
    const double matrices = f->matrices + (way == ROW_WAY_REREAD ? again : 0) + (kept ? 0 : f->parameters);
    return (double)f->rows * row * matrices / COPY * (has_sm_alone(way, f, p, sms) ? ALONE : 1);
}
/* Rows in shared memory that begin in the same bank wait for each other. */
static double conflicts_of(const row_facts *f, int lanes) {
    const int64_t line = f->columns * f->bytes;
    int period = 128; /* bytes by which first elements differ, of all banks */
    while (line % period != 0) period /= 2;
    const int width = lanes * f->bytes, beside = 128 / (period > width ? period : width), rows = 32 / lanes;
    return rows > beside ? (double)rows / beside : 1;
}
/* Accesses of a warp to single elements, of all matrices; of whole rows of a thread each, to packs. */
static double access_us(int way, const row_facts *f, const row_plan *p, double sms) {
    const double row = (double)f->columns * f->bytes, lines = row < 4 ? 1 : row > 128 ? 32 : row / 4;
    const double accesses = (double)f->rows / 32 * f->matrices / (CYCLES * sms);
    if (way == ROW_WAY_THREAD)
        return accesses * lines * LINE * (f->whole ? row / (double)ROW_PACK_BYTES : (double)f->columns);
    if (!moves_singles(way, f)) return 0;
    return accesses * (double)f->columns * ACCESS * (way == ROW_WAY_STAGED ? conflicts_of(f, p->lanes) : 1);
}

double row_way_time(int way, const row_facts *f) {
    const double sms = f->sm_count > 0 ? f->sm_count : 1;
    const row_plan p = plan_of(way, f);
    const double waves = fmax(ceil(p.blocks / (sms * p.resident)), 1);
    return START + fmax(fmax(memory_us(way, f, &p, sms), access_us(way, f, &p, sms)),
                        fmax(issue_us(way, f, &p, sms), waves * alone_us(way, f, &p)));
}

/* ---- of a target's problem --------------------------------------------------------------------------------------- */

/* Inputs: x, matrices beside it, parameters. Outputs: y, matrices beside it. */
static row_facts facts_of(const row_traits *traits, const ridge_problem *p) {
    if (traits->of_case) traits = traits->of_case(&p->c);
    const int read = 1 + traits->more_in, n_in = read + traits->parameters, tensors = n_in + 1 + traits->more_out;
    const int bytes = (int)ridge_dtype_size(p->c.dtype);
    const ridge_operand *x = &p->tensor[0];
    const int64_t x_line = x->stride[0] * bytes, n = p->c.dim[1];
    bool packs = true, whole = n * bytes % ROW_PACK_BYTES == 0, dense = true, as_y = true;
    const ridge_operand *y = &p->tensor[n_in];
    for (int t = 0; t < tensors; t++) {
        const ridge_operand *one = &p->tensor[t];
        whole = whole && one->offset % ROW_PACK_BYTES == 0;
        if (t >= read && t < n_in) continue;
        const int64_t line = one->stride[0] * bytes;
        whole = whole && line % ROW_PACK_BYTES == 0;
        dense = dense && one->stride[0] == n;
        packs = packs && row_lies_alike(x->offset, one->offset, x_line, line, true);
        as_y = as_y && (t < n_in || row_lies_alike(y->offset, one->offset, y->stride[0] * bytes, line, true));
    }
    return (row_facts){.rows = p->c.dim[0],
                       .columns = n,
                       .bytes = bytes,
                       .packs = packs,
                       .whole = whole,
                       .piece = dense && packs,
                       .as_y = as_y,
                       .parameters = traits->parameters,
                       .keeps = traits->keeps,
                       .cut = bytes == 4 ? traits->of_4 : traits->of_2,
                       .matrices = read + 1 + traits->more_out,
                       .sm = p->here.sm,
                       .sm_count = p->here.sm_count};
}

ridge_plan row_way_plan(const ridge_way *way, const ridge_problem *problem) {
    const row_facts facts = facts_of(way->own, problem);
    const char *refusal = row_way_refusal(way->number, &facts);
    return (ridge_plan){.refusal = refusal, .us = refusal ? 0 : row_way_time(way->number, &facts)};
}
