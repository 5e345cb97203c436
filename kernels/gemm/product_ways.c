/* Which way a product on a CPU takes, and how threads split it. */
#include "cpu/gemm_shared.h"
#include "cpu/cost.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* ---- scratch ---- */

int64_t gemm_product_thread_floats(int64_t m, int64_t n, int64_t k) {
    const int64_t depth = least(k, GEMM_BLOCK_DEPTH), columns = least(n, GEMM_BLOCK_COLUMNS) + GEMM_PRODUCT_PAD;
    const int64_t blocked = (columns + least(m, GEMM_BLOCK_ROWS)) * depth + GEMM_BLOCK_SLACK;
    const int64_t dots = least(n * k, GEMM_DOTS_FLOATS);
    return ((blocked > dots ? blocked : dots) + 3 * GEMM_PRODUCT_PAD) / GEMM_PRODUCT_PAD * GEMM_PRODUCT_PAD;
}

size_t gemm_product_scratch(int64_t m, int64_t n, int64_t k, int threads) {
    const int64_t sums = (threads - 1) * least(m * n, GEMM_DEEP_RESULTS); /* smaller products need no more */
    return sizeof(float) * (size_t)(threads * gemm_product_thread_floats(m, n, k) + sums);
}

size_t gemm_product_scratch_of_many(int64_t m, int64_t n, int64_t k, int threads) {
    const size_t together = gemm_product_scratch(m, n, k, threads);
    const size_t alone = (size_t)threads * ((gemm_product_scratch(m, n, k, 1) + 63) / 64 * 64);
    return together > alone ? together : alone;
}

/* ---- threads ---- */

/* A team pays from this many multiply-adds on, or from this many elements of the operands, which come from memory. */
static const double team_products = 3e5, team_elements = 1e5;
/* Threads split the depth of products this much deeper than the longer side of C. */
enum { DEEP = 8, DEEP_LEAST = 1024, SIDE_LEAST = 64 };

gemm_split gemm_split_of(const gemm_facts *f) {
    const double m = (double)f->m, n = (double)f->n, k = (double)f->k;
    const int64_t t = f->threads, longer = f->m > f->n ? f->m : f->n;
    if (t < 2 || (m * n * k < team_products && m * k + k * n + m * n < team_elements)) return GEMM_SPLIT_NONE;
    if (longer < SIDE_LEAST * t && f->k >= DEEP * longer && f->k >= DEEP_LEAST * t && f->m * f->n <= GEMM_DEEP_RESULTS)
        return GEMM_SPLIT_DEPTH;
    if (longer < t) return GEMM_SPLIT_NONE;
    /* Of a square C the columns: then a thread reads its part of B alone, whose rows cost more misses than A's. */
    return f->n >= f->m ? GEMM_SPLIT_COLUMNS : GEMM_SPLIT_ROWS;
}

/* ---- costs ---- */

/* Beats (cpu/cost.h), measured on a Zen 3 core with AVX2 (AMD EPYC); walk on an Emerald Rapids core with AVX-512
 * (Intel Xeon). */
static const struct {
    double latency;      /* of a multiply-add */
    double per_tile;     /* beside its multiply-adds */
    double pack;         /* an element of B into a vector panel */
    double pack_a;       /* an element of A into a broadcast panel */
    double turn;         /* an element of B into a row along the depth */
    double again, apart; /* factors of tiles that read an unpacked B again, of whole lines or not */
    double along;        /* factor of dot products, whose rows are at the mercy of strides */
    double strided;      /* an element of a B beyond the TLB's reach, that is read in blocks of columns */
    double walk;         /* a row of a panel of a C beyond the TLB's reach, that little is multiplied for */
} share = {4, 60, 0.8, 1.5, 1.5, 1.1, 1.15, 1.3, 1, 80};
enum { TLB_REACH = 1536 * 4096 }; /* bytes */

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
static double ceil_of(double n, double by) { return by > 0 ? (double)(int64_t)((n + by - 1) / by) : 0; }

/* Tiles of all rows and columns, over the whole depth in `slices` parts. */
static double tiles_beats(const gemm_facts *f, cpu_tile t, int most, double slices) {
    const double m = (double)f->m, k = (double)f->k;
    const int64_t nr = 2 * t.lanes, panels = f->n / nr, rest = f->n % nr;
    const double strips = ceil_of(m, most), rows = m / strips;
    const double two = larger(larger(rows, (rows + 2) / 2), share.latency),
                 one = larger(larger(rows / 2, (rows + 1) / 2), share.latency);
    double panel = (double)panels * (k * two + slices * share.per_tile);
    if (rest) panel += k * (rest > t.lanes ? two : one) + slices * share.per_tile;
    return strips * panel;
}

static double stream_beats(const gemm_facts *f, cpu_tile t) {
    const double n = (double)f->n, k = (double)f->k;
    if (f->m == 1) return n * k / t.lanes / 2 + n * k / 8 / t.lanes;
    if (f->k <= 4 && n >= 64) return n * k / t.lanes / 2 * (double)f->m + n / t.lanes * (double)f->m;
    const double columns = f->m <= t.rows ? larger(4096 / (double)f->m, 16) : 1024;
    const bool whole = n <= 2 * t.lanes || (f->m > t.rows && k <= 64);
    const double depth = whole ? k : 65536 / (n < columns ? n : columns);
    const double slice = gemm_is_aliased(f->b_stride) ? GEMM_ALIASED_DEPTH
                         : whole                      ? k
                                                      : larger(16, smaller(depth, 256));
    const int tall = f->n <= t.lanes && t.rows < 12 ? 12 : t.rows;
    const int rows = gemm_strip_rows(f->a_by_depth ? f->a_stride : 1, n <= 2 * t.lanes, tall);
    const bool again = f->m > t.rows && n > 2 * t.lanes && f->k > 64;
    const double factor = !again                  ? 1
                          : f->b_stride % 16 == 0 ? share.again
                          : f->b_stride % 8       ? share.apart
                                                  : (share.again + share.apart) / 2;
    const bool strided = n > columns && columns <= 1024 &&
                         n * k * 4 > TLB_REACH; /* a piece of every row of B, on its own page, at a time */
    return tiles_beats(f, t, rows, ceil_of(k, slice)) * factor + (strided ? n * k * share.strided : 0);
}

static double dots_beats(const gemm_facts *f, cpu_tile t) {
    const double m = (double)f->m, n = (double)f->n, k = (double)f->k;
    const double rows = f->n <= 2 ? 4 : f->n == 3 ? 3 : 2, mr = m < rows ? m : rows, columns = (int)mr == 3 ? 3 : 4;
    const double nr = n < columns ? n : columns, step = larger(larger(mr * nr / 2, (mr + nr) / 2), share.latency);
    const double slices = ceil_of(k, 8192);
    return ceil_of(m, mr) * ceil_of(n, nr) * (ceil_of(k, t.lanes) * step * share.along + slices * share.per_tile) +
           (f->b_by_row ? n * k * share.turn : 0);
}

/* C is written panel by panel: each row of one is on a page of its own. */
static double walks(const gemm_facts *f, cpu_tile t) {
    const double m = (double)f->m, n = (double)f->n, slices = ceil_of((double)f->k, GEMM_BLOCK_DEPTH);
    const double depth = (double)f->k / slices, each = share.walk - depth;
    return m * n * 4 > TLB_REACH && each > 0 ? m * ceil_of(n, 2 * t.lanes) * slices * each : 0;
}

static double blocked_beats(const gemm_facts *f, cpu_tile t) {
    const double m = (double)f->m, n = (double)f->n, k = (double)f->k;
    const bool pack_a = gemm_packs_a(f->a_by_depth, f->a_stride, f->n, t.rows);
    return tiles_beats(f, t, t.rows, ceil_of(k, GEMM_BLOCK_DEPTH)) + walks(f, t) + n * k * share.pack +
           (pack_a ? m * k * share.pack_a * ceil_of(n, GEMM_BLOCK_COLUMNS) : 0);
}

/* The part of a thread. */
static gemm_facts part_of(const gemm_facts *f, gemm_split split) {
    gemm_facts part = *f;
    int64_t *const side = split == GEMM_SPLIT_ROWS      ? &part.m
                          : split == GEMM_SPLIT_COLUMNS ? &part.n
                          : split == GEMM_SPLIT_DEPTH   ? &part.k
                                                        : NULL;
    if (side) *side = parts_of(*side, f->threads);
    return part;
}

double gemm_way_beats(gemm_way way, const gemm_facts *f) {
    static double (*const beats[GEMM_WAY_COUNT])(const gemm_facts *, cpu_tile) = {stream_beats, dots_beats,
                                                                                  blocked_beats};
    const gemm_split split = gemm_split_of(f);
    const gemm_facts part = part_of(f, split);
    return beats[way](&part, cpu_tile_of(f->isa)) + (split == GEMM_SPLIT_NONE ? 0 : cpu_wake);
}

double gemm_operands(const gemm_facts *f) {
    const gemm_facts part = part_of(f, gemm_split_of(f));
    return (double)part.m * (double)part.k + (double)part.k * (double)part.n;
}
double gemm_results(const gemm_facts *f) {
    const gemm_facts part = part_of(f, gemm_split_of(f));
    return (double)part.m * (double)part.n;
}

/* ---- shared ---- */

/* Beside the blocked way. AVX2, a Zen 3 core: a factor. AVX-512, Emerald Rapids and Zen 5 cores: faster by a factor, but it
 * packs all of A, and has more to do beside the tiles; beats of an element. */
static const double shared_avx2 = 1.15, shared_avx512 = 0.92, shared_result = 0.1, shared_operand = 0.6;

/* Rows of one block read a panel once, just after it is packed. */
static bool has_one_block(const gemm_facts *f) { return f->m <= GEMM_SHARED_STRIPS * cpu_tile_of(f->isa).rows; }

/* Then a B larger than L2 goes to memory once less, if the tiles of a panel are enough to prefetch the next one. */
enum { SHARED_LEAST_STRIPS = 4, SHARED_LEAST_B = 1 << 18 };
static bool spares_memory(const gemm_facts *f) {
    return has_one_block(f) && f->m > (SHARED_LEAST_STRIPS - 1) * cpu_tile_of(f->isa).rows &&
           f->n * f->k > SHARED_LEAST_B;
}

double gemm_shared_beats(const gemm_facts *f) {
    const double blocked = gemm_way_beats(GEMM_WAY_BLOCKED, f), threads = f->threads, lanes = cpu_tile_of(f->isa).lanes;
    const double m = (double)f->m, n = (double)f->n, k = (double)f->k;
    if (lanes < 16) return shared_avx2 * blocked;
    const double operands = spares_memory(f) ? 0 : shared_operand * k * (m + n);
    const double more = (shared_result * m * n + operands) / threads;
    return larger(shared_avx512 * blocked, m * n * k / (2 * lanes) / threads) + more;
}

/* B is read, packed, and read once per block of rows, unless there is one block. Each slice of the depth after the first
 * reads C again. */
ridge_traffic gemm_shared_traffic(const gemm_facts *f) {
    const double m = (double)f->m, n = (double)f->n, k = (double)f->k;
    const double blocks = ceil_of(m, GEMM_SHARED_MC), packed = has_one_block(f) ? 0 : k * n,
                 slices = ceil_of(k, GEMM_SHARED_KC);
    return (ridge_traffic){.read = 4 * (m * k + k * n + packed * blocks + m * n * (slices - 1)),
                           .written = 4 * (packed + m * n * slices)};
}

size_t gemm_shared_scratch(int64_t m, int64_t n, int64_t k, int threads) {
    const int64_t b = (n + GEMM_SHARED_NR) * k + GEMM_SHARED_PAD;
    const int64_t a = least(m, GEMM_SHARED_MC) * least(k, GEMM_SHARED_KC) + GEMM_SHARED_PAD;
    const int64_t flags = (n / GEMM_SHARED_NR_LEAST + 1) * (k / GEMM_SHARED_KC_LEAST + 1);
    return sizeof(float) * (size_t)(b + a * threads) + sizeof(int) * (size_t)flags;
}

/* ---- choice ---- */

gemm_facts gemm_facts_of(const gemm_product *p, ridge_isa isa, int threads) {
    return (gemm_facts){.m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .a_by_depth = p->a_depth == 1,
                        .b_by_row = p->b_column == 1,
                        .a_stride = p->a_depth == 1 ? p->a_row : p->a_depth,
                        .b_stride = p->b_column == 1 ? p->b_depth : p->b_column,
                        .threads = threads,
                        .isa = isa};
}

const char *gemm_way_refusal(gemm_way way, const gemm_facts *f) {
    switch (way) {
        case GEMM_WAY_STREAM: return f->b_by_row || f->n == 1 ? NULL : "for a B with contiguous rows";
        case GEMM_WAY_DOTS:
            if (!f->a_by_depth) return "for an A with contiguous rows";
            return f->b_by_row && f->n > GEMM_DOTS_COLUMNS ? "for contiguous columns of B, or up to 16" : NULL;
        default: return NULL;
    }
}

/* Products up to this many multiply-adds take less time than a choice: the first way that takes them. */
static const double tiny = 8192;

gemm_way gemm_way_of(const gemm_facts *f) {
    const bool short_cut = (double)f->m * (double)f->n * (double)f->k <= tiny;
    gemm_way best = GEMM_WAY_BLOCKED;
    double least_beats = short_cut ? 0 : gemm_way_beats(best, f);
    for (gemm_way way = 0; way < GEMM_WAY_BLOCKED; way++) {
        if (gemm_way_refusal(way, f)) continue;
        if (short_cut) return way;
        const double beats = gemm_way_beats(way, f);
        if (beats < least_beats) best = way, least_beats = beats;
    }
    return best;
}
