/* The ways of gemm_product.h. Threads get products of their own, which one thread then computes. */
#include "cpu/gemm_product.h"

#include "cpu/gemm_tiles.h"

enum {
    STREAM_DEPTH = 16,     /* fewest depth steps between two visits of C: rows of B that are read side by side */
    STREAM_DEEP = 256,     /* most */
    STREAM_COLUMNS = 1024, /* most columns of a block of B that several strips of rows read */
    STREAM_RESULTS = 4096, /* floats of C that stay in L1 meanwhile, with one strip */
    DOTS_CHAIN = 1024,     /* most terms that a lane adds up one after another: rounding errors grow with them */
    STREAM_B = 65536,      /* floats of B that stay in L2 */
    STREAM_A = 1 << 20,    /* floats of A up to which it is read slice by slice, where B is narrow */
    STREAM_L1 = 4096,      /* floats of such a B, which then stay in L1 */
    STREAM_AHEAD = 128,    /* floats that B is prefetched ahead */
    STREAM_SHORT = 64,     /* depth up to which C is prefetched ahead: the next strip of rows, where */
    STREAM_NARROW = 256,   /* that many columns are all, otherwise */
    STREAM_C_AHEAD = 64,   /* floats */
    LINES_DEPTH = 4,       /* products up to this depth and from so many columns on are computed row by row */
    LINES_LEAST = 64,
    LINE = 16
};
_Static_assert((int)GEMM_NR <= (int)GEMM_BLOCK_COLUMNS, "a block has a panel");

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* ---- stream ----------------------------------------------------------------------------------------------------- */

/* Most rows of a strip. */
static int64_t strip_rows(const gemm_product *p) {
    return gemm_strip_rows(p->a_row, p->n <= GEMM_NR, gemm_rows_most(p->n));
}

/* Part of the next slice of B, before it of an A with contiguous columns, for tile number `tile` of `count` to
 * prefetch. Their rows are as good as one piece of memory, and nothing else asks for all of its lines in time. */
static gemm_lines next_slice(const gemm_product *p, int64_t d1, int64_t depth, int64_t tile, int64_t count) {
    const int64_t a_lines = p->a_depth != 1 ? depth * p->a_depth / GEMM_LINE : 0;
    const int64_t lines = a_lines + depth * p->b_depth / GEMM_LINE, rounds = depth / GEMM_AHEAD_STEPS;
    const int64_t each = rounds > 0 ? parts_of(lines, count * rounds) : 0, line = tile * rounds * each;
    if (d1 + depth > p->k || line >= lines) return (gemm_lines){0};
    if (line < a_lines)
        return (gemm_lines){p->a + d1 * p->a_depth + line * GEMM_LINE, GEMM_LINE, INT64_MAX, 0, (int)each};
    return (gemm_lines){p->b + d1 * p->b_depth + (line - a_lines) * GEMM_LINE, GEMM_LINE, INT64_MAX, 0, (int)each};
}

/* Columns [j0, j1) of C, depth [d0, d1). */
static void stream_block(const gemm_product *p, int64_t j0, int64_t j1, int64_t d0, int64_t d1) {
    const int64_t strips = parts_of(p->m, strip_rows(p));
    const bool dense = (p->a_depth == 1 || p->a_depth <= 2 * p->m) && p->b_depth <= 2 * p->n && j1 - j0 == p->n &&
                       p->n > GEMM_NR && d1 - d0 < p->k;
    const int64_t count = strips * parts_of(j1 - j0, GEMM_NR);
    int64_t tile = 0;
    gemm_rows_args t = {.depth = d1 - d0,
                        .a_row = p->a_row,
                        .a_depth = p->a_depth,
                        .b_step = p->b_depth,
                        .ahead = {NULL, p->b_depth, INT64_MAX, 0, GEMM_AHEAD_STEPS},
                        .c_row = p->c_row,
                        .add = p->add || d0 > 0};
    for (int64_t s = 0, i = 0, next; s < strips; s++, i = next) {
        next = gemm_cut(p->m, strips, s + 1);
        t.mr = (int)(next - i);
        t.a = p->a + i * p->a_row + d0 * p->a_depth;
        /* the next strip; after the last one, the first of the next slice */
        t.a_next = next < p->m ? p->a + next * p->a_row + d0 : d1 < p->k ? p->a + d1 : NULL;
        if (d1 - d0 <= STREAM_SHORT) t.c_ahead = j1 - j0 <= STREAM_NARROW ? (next - i) * p->c_row : STREAM_C_AHEAD;
        for (int64_t j = j0; j < j1; j += GEMM_NR) {
            t.nr = (int)least(GEMM_NR, j1 - j);
            t.b = p->b + d0 * p->b_depth + j;
            t.ahead.from = s == 0 ? t.b + STREAM_AHEAD : NULL;
            if (dense) t.ahead = next_slice(p, d1, d1 - d0, tile++, count);
            t.c = p->c + i * p->c_row + j;
            RIDGE_ISA_FN(gemm_rows)(&t);
            t.a_next = NULL;
        }
    }
}

/* Row by row: for one row, and for a depth of one call. */
static void stream_lines(const gemm_product *p) {
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t d = 0; d < p->k; d += GEMM_LINE_DEPTH) RIDGE_ISA_FN(gemm_line)
    (p->n, (int)least(GEMM_LINE_DEPTH, p->k - d), p->a + i * p->a_row + d * p->a_depth, p->a_depth,
     p->b + d * p->b_depth, p->b_depth, i == 0 ? STREAM_AHEAD : 0, p->c + i * p->c_row, p->add || d > 0);
}

/* One strip of rows reads B once: its C stays in L1. Several read a block of B again from L2. */
static void stream(const gemm_product *p) {
    if (p->m == 1 || (p->k <= LINES_DEPTH && p->n >= LINES_LEAST)) {
        stream_lines(p);
        return;
    }
    const bool shallow = p->m > GEMM_MR && p->k <= STREAM_SHORT; /* one slice: C, which is large, is written once */
    const int64_t most = p->m <= GEMM_MR ? STREAM_RESULTS / p->m
                         : shallow       ? least(STREAM_B / p->k, STREAM_COLUMNS * 4)
                                         : STREAM_COLUMNS;
    const int64_t columns = up(parts_of(p->n, parts_of(p->n, most)), GEMM_NR), fit = STREAM_B / columns;
    int64_t depth = shallow ? p->k : fit < STREAM_DEPTH ? STREAM_DEPTH : least(fit, STREAM_DEEP);
    if (p->n <= GEMM_NR) depth = p->m <= strip_rows(p) ? p->k : (p->m * p->k <= STREAM_A ? STREAM_L1 : STREAM_B) / p->n;
    if (gemm_is_aliased(p->b_depth)) depth = GEMM_ALIASED_DEPTH;
    const int64_t slices = parts_of(p->k, depth);
    for (int64_t j = 0; j < p->n; j += columns)
        for (int64_t s = 0; s < slices; s++)
            stream_block(p, j, least(j + columns, p->n), gemm_cut(p->k, slices, s), gemm_cut(p->k, slices, s + 1));
}

/* ---- dots ------------------------------------------------------------------------------------------------------- */

/* A slice of the depth: a's rows and bt's rows [n] are contiguous along it. */
typedef struct dots_slice {
    const gemm_product *p;
    int64_t d0, depth;
    const float *bt;
    int64_t bt_row;
} dots_slice;

/* What a tile prefetches: the rows that come after those it reads. */
typedef struct dots_ahead {
    const float *from;
    int64_t row;
} dots_ahead;

static void dots_tile(const dots_slice *s, int64_t i, int64_t mr, int64_t j, int64_t nr, dots_ahead ahead) {
    const gemm_product *p = s->p;
    const gemm_dots_args t = {.mr = (int)mr,
                              .nr = (int)nr,
                              .depth = s->depth,
                              .a = p->a + i * p->a_row + s->d0,
                              .a_row = p->a_row,
                              .b = s->bt + j * s->bt_row,
                              .b_row = s->bt_row,
                              .ahead = ahead.from,
                              .ahead_row = ahead.row,
                              .c = p->c + i * p->c_row + j,
                              .c_row = p->c_row,
                              .add = p->add || s->d0 > 0};
    RIDGE_ISA_FN(gemm_dots)(&t);
}

/* The longer matrix is read once, from memory; the other one comes from cache again and again. */
static void dots_of(const dots_slice *s) {
    const gemm_product *p = s->p;
    const int64_t mr = least(p->m, gemm_dots_rows(p->n)), nr = gemm_dots_columns(mr);
    const dots_ahead none = {NULL, 0};
    if (p->n > p->m) {
        for (int64_t j = 0; j < p->n; j += nr) {
            const dots_ahead next = {s->bt + (j + nr) * s->bt_row, s->bt_row};
            for (int64_t i = 0; i < p->m; i += mr)
                dots_tile(s, i, least(mr, p->m - i), j, least(nr, p->n - j), i == 0 ? next : none);
        }
    } else {
        for (int64_t i = 0; i < p->m; i += mr) {
            const dots_ahead next = {p->a + (i + mr) * p->a_row + s->d0, p->a_row};
            for (int64_t j = 0; j < p->n; j += nr)
                dots_tile(s, i, least(mr, p->m - i), j, least(nr, p->n - j), j == 0 ? next : none);
        }
    }
}

/* bt[j * depth + d] = b[d * b_depth + j] */
static void turn_slice(const gemm_product *p, int64_t d0, int64_t depth, float *bt) {
    for (int64_t d = 0; d < depth; d++)
        for (int64_t j = 0; j < p->n; j++) bt[j * depth + d] = p->b[(d0 + d) * p->b_depth + j];
}

static void dots(const gemm_product *p, float *scratch) {
    const int64_t room = GEMM_DOTS_FLOATS / (p->b_depth != 1 ? p->n : least(p->m, p->n));
    const int64_t fit = least(room, (int64_t)DOTS_CHAIN * VF_LANES);
    const int64_t slices = parts_of(p->k, fit < GEMM_DOTS_DEPTH ? GEMM_DOTS_DEPTH : fit);
    for (int64_t q = 0; q < slices; q++) {
        const int64_t d0 = gemm_cut(p->k, slices, q), depth = gemm_cut(p->k, slices, q + 1) - d0;
        dots_slice s = {p, d0, depth, p->b + d0, p->b_column};
        if (p->b_depth != 1) {
            turn_slice(p, d0, depth, scratch);
            s.bt = scratch;
            s.bt_row = depth;
        }
        dots_of(&s);
    }
}

/* ---- blocked ---------------------------------------------------------------------------------------------------- */

/* Columns [j0, j1) and depth [d0, d1), packed into panels. */
typedef struct packed_block {
    int64_t j0, j1, d0, d1;
    float *panels; /* [columns / GEMM_NR][depth][GEMM_NR] */
} packed_block;

static const float *source_of(const gemm_product *p, const packed_block *b, int64_t j) {
    return p->b + b->d0 * p->b_depth + j * p->b_column;
}

/* Panels packed at once: their rows of B are contiguous, which asks less of the TLB. */
enum { TOGETHER = 4 };

/* TOGETHER whole panels of a B with contiguous rows, depth steps [d0, d1) of the block. */
static void pack_together(const gemm_product *p, const packed_block *b, int64_t j) {
    const int64_t depth = b->d1 - b->d0;
    const float *src = source_of(p, b, j);
    float *panel = b->panels + (j - b->j0) * depth;
    for (int64_t d = 0; d < depth; d++, src += p->b_depth, panel += GEMM_NR)
        for (int q = 0; q < TOGETHER; q++) {
            vf_store(panel + q * GEMM_NR * depth, vf_load(src + q * GEMM_NR));
            vf_store(panel + q * GEMM_NR * depth + VF_LANES, vf_load(src + q * GEMM_NR + VF_LANES));
        }
}

static void pack_panel(const gemm_product *p, const packed_block *b, int64_t j) {
    const int64_t depth = b->d1 - b->d0;
    const int n = (int)least(GEMM_NR, b->j1 - j);
    float *panel = b->panels + (j - b->j0) * depth;
    if (p->b_column == 1)
        RIDGE_ISA_FN(gemm_pack_straight)(source_of(p, b, j), p->b_depth, depth, n, GEMM_NR, panel);
    else
        RIDGE_ISA_FN(gemm_pack_transposed)(source_of(p, b, j), p->b_column, depth, n, GEMM_NR, panel);
}

/* Lines of the panel at column j, packed or not, that tile number `tile` of `count` prefetches. Up to TILES tiles take
 * part: a single one would ask for more lines than memory delivers while it multiplies. */
static gemm_lines lines_of(const gemm_product *p, const packed_block *b, int64_t j, bool packed, int64_t tile,
                           int64_t count) {
    enum { TILES = GEMM_AHEAD_STEPS };
    const int64_t depth = b->d1 - b->d0, tiles = least(count, TILES), each = parts_of(TILES, tiles);
    const int64_t line = tile * (depth / GEMM_AHEAD_STEPS * each / GEMM_NR * GEMM_NR);
    packed_block at = *b;
    if (j >= b->j1 && !packed) { /* the first panels of the next slice */
        at.d0 = b->d1;
        j -= up(b->j1 - b->j0, GEMM_NR);
        if (at.d0 + depth > p->k) return (gemm_lines){0};
    }
    if (j >= b->j1 || tile >= tiles || line >= depth) return (gemm_lines){0};
    if (packed) return (gemm_lines){b->panels + (j - b->j0) * depth + line * GEMM_NR, GEMM_NR, INT64_MAX, 0, (int)each};
    const float *from = source_of(p, &at, j);
    if (p->b_column == 1) return (gemm_lines){from + line * p->b_depth, p->b_depth, INT64_MAX, 0, (int)each};
    return (gemm_lines){from + line / GEMM_NR * GEMM_LINE, p->b_column, GEMM_NR, GEMM_LINE - GEMM_NR * p->b_column,
                        (int)each};
}

/* Strips [s0, s1) of the `strips` of A's rows, packed into broadcast panels, or read where they are. */
typedef struct rows_block {
    int64_t strips, s0, s1;
    float *packed; /* NULL: not packed */
} rows_block;

/* Packing may write past the end of a panel. */
static float *packed_strip(const rows_block *a, int64_t s, int64_t rows, int64_t depth) {
    return a->packed + rows * depth + (s - a->s0) * GEMM_SLACK;
}

/* A with contiguous columns: a few depth steps for all strips, then the next few. */
static void pack_a(const gemm_product *p, const rows_block *a, int64_t d0, int64_t depth) {
    enum { STEPS = 16 };
    const int64_t first = gemm_cut(p->m, a->strips, a->s0), each = p->a_depth == 1 ? depth : STEPS;
    for (int64_t d = 0; d < depth; d += each)
        for (int64_t s = a->s0; s < a->s1; s++) {
            const int64_t i = gemm_cut(p->m, a->strips, s), mr = gemm_cut(p->m, a->strips, s + 1) - i;
            const int64_t steps = least(each, depth - d);
            const float *src = p->a + i * p->a_row + (d0 + d) * p->a_depth;
            float *panel = packed_strip(a, s, i - first, depth) + d * mr;
            if (p->a_depth == 1)
                RIDGE_ISA_FN(gemm_pack_transposed)(src, p->a_row, steps, (int)mr, (int)mr, panel);
            else
                RIDGE_ISA_FN(gemm_pack_straight)(src, p->a_depth, steps, (int)mr, (int)mr, panel);
        }
}

/* One panel of B times a block of rows. */
static void multiply_panel(const gemm_product *p, const packed_block *b, const rows_block *a, int64_t j, int64_t next_j,
                           bool packed) {
    const int64_t depth = b->d1 - b->d0, first = gemm_cut(p->m, a->strips, a->s0);
    gemm_rows_args t = {.nr = (int)least(GEMM_NR, b->j1 - j),
                        .depth = depth,
                        .a_row = a->packed ? 1 : p->a_row,
                        .a_depth = p->a_depth,
                        .b = b->panels + (j - b->j0) * depth,
                        .b_step = GEMM_NR,
                        .c_row = p->c_row,
                        .add = p->add || b->d0 > 0};
    for (int64_t s = a->s0, i = first, next; s < a->s1; s++, i = next) {
        next = gemm_cut(p->m, a->strips, s + 1);
        t.mr = (int)(next - i);
        t.a = a->packed ? packed_strip(a, s, i - first, depth) : p->a + i * p->a_row + b->d0 * p->a_depth;
        if (a->packed) t.a_depth = t.mr;
        t.a_next = !a->packed && j == b->j0 && s + 1 < a->s1 ? p->a + next * p->a_row + b->d0 : NULL;
        t.ahead = lines_of(p, b, next_j, packed, s - a->s0, a->s1 - a->s0);
        t.c = p->c + i * p->c_row + j;
        RIDGE_ISA_FN(gemm_rows)(&t);
    }
}

/* The first block of rows packs panels of B just before it needs them, and prefetches the next ones. */
static void multiply_block(const gemm_product *p, const packed_block *b, const rows_block *a) {
    const bool first = a->s0 == 0;
    int64_t packed = first ? b->j0 : b->j1; /* columns before this one are */
    for (int64_t j = b->j0; j < b->j1; j += GEMM_NR) {
        if (j >= packed && p->b_column == 1 && j + TOGETHER * GEMM_NR <= b->j1) {
            pack_together(p, b, j);
            packed = j + TOGETHER * GEMM_NR;
        } else if (j >= packed) {
            pack_panel(p, b, j);
            packed = j + GEMM_NR;
        }
        multiply_panel(p, b, a, j, j + (first && p->b_column == 1 ? TOGETHER : 1) * GEMM_NR, !first);
    }
}

static void blocked(const gemm_product *p, float *scratch) {
    const int64_t slices = parts_of(p->k, GEMM_BLOCK_DEPTH), bands = parts_of(p->n, GEMM_BLOCK_COLUMNS);
    const int64_t strips = parts_of(p->m, GEMM_MR), blocks = parts_of(strips, GEMM_BLOCK_ROWS / GEMM_MR);
    const int64_t columns = up(least(p->n, GEMM_BLOCK_COLUMNS), GEMM_NR);
    float *a_packed = scratch + up(columns * least(p->k, GEMM_BLOCK_DEPTH) + GEMM_SLACK, LINE);
    const bool pack = gemm_packs_a(p->a_depth == 1, p->a_row, p->n, GEMM_MR);
    for (int64_t band = 0; band < bands; band++)
        for (int64_t q = 0; q < slices; q++) {
            const packed_block b = {gemm_cut(parts_of(p->n, GEMM_NR), bands, band) * GEMM_NR,
                                    least(gemm_cut(parts_of(p->n, GEMM_NR), bands, band + 1) * GEMM_NR, p->n),
                                    gemm_cut(p->k, slices, q), gemm_cut(p->k, slices, q + 1), scratch};
            for (int64_t r = 0; r < blocks; r++) {
                const rows_block a = {strips, gemm_cut(strips, blocks, r), gemm_cut(strips, blocks, r + 1),
                                      pack ? a_packed : NULL};
                if (pack) pack_a(p, &a, b.d0, b.d1 - b.d0);
                multiply_block(p, &b, &a);
            }
        }
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static void alone(const gemm_product *p, gemm_way way, float *scratch) {
    if (p->m == 0 || p->n == 0) return;
    switch (way) {
        case GEMM_WAY_STREAM: stream(p); break;
        case GEMM_WAY_DOTS: dots(p, scratch); break;
        default: blocked(p, scratch);
    }
}

typedef struct team_work {
    const gemm_product *p;
    gemm_way way;
    gemm_split split;
    float *scratch;
    int64_t thread_floats;
    float *sums; /* of GEMM_SPLIT_DEPTH: a C for every thread but the first */
} team_work;

/* The part of the product that a thread computes. */
static gemm_product part_of(const team_work *w, int rank, int size) {
    gemm_product p = *w->p;
    int64_t begin, end;
    if (w->split == GEMM_SPLIT_ROWS) {
        ridge_share(p.m, GEMM_MR, rank, size, &begin, &end);
        p.m = end - begin;
        p.a += begin * p.a_row;
        p.c += begin * p.c_row;
    } else if (w->split == GEMM_SPLIT_COLUMNS) {
        ridge_share(p.n, GEMM_NR, rank, size, &begin, &end);
        p.n = end - begin;
        p.b += begin * p.b_column;
        p.c += begin;
    } else {
        ridge_share(p.k, LINE, rank, size, &begin, &end);
        p.k = end - begin;
        p.a += begin * p.a_depth;
        p.b += begin * p.b_depth;
        if (rank > 0) {
            p.c = w->sums + (rank - 1) * p.m * p.n;
            p.c_row = p.n;
            p.add = false;
        }
    }
    return p;
}

static void part_fn(void *arg, int rank, int size) {
    const team_work *w = arg;
    const gemm_product p = part_of(w, rank, size);
    if (p.k > 0) alone(&p, w->way, w->scratch + rank * w->thread_floats);
}

/* Adds the sums in the order of the threads: the same result on every run. */
static void gather_fn(void *arg, int rank, int size) {
    const team_work *w = arg;
    const gemm_product *p = w->p;
    int64_t begin, end;
    ridge_share(p->m, 1, rank, size, &begin, &end);
    for (int other = 1; other < size; other++) {
        int64_t first, last;
        ridge_share(p->k, LINE, other, size, &first, &last);
        const float *sums = w->sums + (other - 1) * p->m * p->n;
        for (int64_t i = begin; i < end && first < last; i++)
            for (int64_t j = 0; j < p->n; j++) p->c[i * p->c_row + j] += sums[i * p->n + j];
    }
}

void RIDGE_ISA_FN(gemm_product)(const gemm_product *p, gemm_way way, void *scratch, ridge_team *team) {
    const int threads = ridge_team_size(team);
    const gemm_facts facts = gemm_facts_of(p, (ridge_isa)0, threads);
    const gemm_split split = gemm_split_of(&facts);
    if (split == GEMM_SPLIT_NONE) {
        alone(p, way, scratch);
        return;
    }
    team_work w = {.p = p, .way = way, .split = split, .scratch = scratch};
    w.thread_floats = gemm_product_thread_floats(p->m, p->n, p->k);
    w.sums = w.scratch + threads * w.thread_floats;
    ridge_team_run(team, part_fn, &w);
    if (split == GEMM_SPLIT_DEPTH) ridge_team_run(team, gather_fn, &w);
}
