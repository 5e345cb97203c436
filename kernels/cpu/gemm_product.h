/* fp32 products of any shape and layout: C[m, n] (+)= A[m, k] B[k, n], and the ways to compute them.
 *
 *   stream   neither operand is packed. B is read in row order, once for every GEMM_ROWS_MR rows of A. For few rows,
 * small products and shallow ones. dots     vectors along the depth: both operands have contiguous rows of depth (a
 * narrow B is transposed slice by slice). For few columns, and for few rows against a B with contiguous columns.
 *   blocked  blocks of B are packed into vector panels that stay in L1 while all rows of a block of A pass. For the
 * rest.
 *
 * Threads split the rows, the columns or, where C is small, the depth; each runs a product of its own.
 * kernels/gemm/product_ways.c says which way is cheapest. */
#ifndef RIDGE_CPU_GEMM_PRODUCT_H
#define RIDGE_CPU_GEMM_PRODUCT_H

#include "ridge/target.h"

/* Strides in elements. One stride of a and one of b is 1; c has contiguous rows. */
typedef struct gemm_product {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_depth;
    const float *b;
    int64_t b_depth, b_column;
    float *c;
    int64_t c_row;
    bool add; /* C += A B */
} gemm_product;

typedef enum gemm_way { GEMM_WAY_STREAM, GEMM_WAY_DOTS, GEMM_WAY_BLOCKED, GEMM_WAY_COUNT } gemm_way;

/* Block sizes, for all instruction sets. */
enum {
    GEMM_BLOCK_ROWS = 144,     /* rows of a packed block of A */
    GEMM_BLOCK_DEPTH = 256,    /* depth of a block */
    GEMM_BLOCK_COLUMNS = 1024, /* columns of a packed block of B */
    GEMM_PACK_A_COLUMNS = 384, /* with fewer columns, an A with contiguous rows is read where it is */
    GEMM_ALIASED_DEPTH = 8,    /* rows of B that are read side by side where they share sets of the caches */
    GEMM_ALIASED_ROWS = 7,     /* likewise of A: an L1 has 8 ways or more, and B needs one */
    GEMM_ALIASED_NARROW = 4,   /* and of an A that is read once */
    GEMM_BLOCK_SLACK = 1024,   /* floats past the ends of packed panels */
    GEMM_DOTS_FLOATS = 16384,  /* floats of the operand that dot products read again and again: a slice of the depth */
    GEMM_DOTS_DEPTH = 1024,    /* least depth of a slice */
    GEMM_DOTS_COLUMNS = 16,    /* most columns of a B that dot products transpose */
    GEMM_DEEP_RESULTS = 65536, /* most elements of a C whose depth threads split */
    GEMM_PRODUCT_PAD = 64
};

typedef enum gemm_split { GEMM_SPLIT_NONE, GEMM_SPLIT_ROWS, GEMM_SPLIT_COLUMNS, GEMM_SPLIT_DEPTH } gemm_split;

/* Rows a multiple of 4 KiB apart share a set of L1. */
static inline bool gemm_is_aliased(int64_t stride) { return stride > 0 && stride % 1024 == 0; }

/* What a choice depends on. */
typedef struct gemm_facts {
    int64_t m, n, k;
    bool a_by_depth, b_by_row;  /* A's rows are contiguous, B's rows are */
    int64_t a_stride, b_stride; /* between A's rows or columns, and B's, whichever are contiguous */
    int threads;
    ridge_isa isa;
} gemm_facts;

/* kernels/gemm/product_ways.c */
const char *gemm_way_refusal(gemm_way way, const gemm_facts *f); /* NULL: takes it */
/* A thread's work in beats (cpu/cost.h), and the elements of its operands and of its results. */
double gemm_way_beats(gemm_way way, const gemm_facts *f);
double gemm_operands(const gemm_facts *f);
double gemm_results(const gemm_facts *f);
gemm_way gemm_way_of(const gemm_facts *f); /* the cheapest */
gemm_split gemm_split_of(const gemm_facts *f);
gemm_facts gemm_facts_of(const gemm_product *p, ridge_isa isa, int threads);
int64_t gemm_product_thread_floats(int64_t m, int64_t n, int64_t k);       /* scratch of one thread */
size_t gemm_product_scratch(int64_t m, int64_t n, int64_t k, int threads); /* bytes that suffice for every way */
/* The same of many products (gemm/cpu_many.h): one a thread, or all threads on each. */
size_t gemm_product_scratch_of_many(int64_t m, int64_t n, int64_t k, int threads);

/* Whether the blocked way packs A, whose strips have up to `rows` rows. */
static inline bool gemm_packs_a(bool a_by_depth, int64_t a_stride, int64_t n, int rows) {
    return !a_by_depth || n >= GEMM_PACK_A_COLUMNS || (gemm_is_aliased(a_stride) && rows > GEMM_ALIASED_ROWS);
}

/* Rows of the stream way's strips, of the `most` that registers hold. a_row: between rows of A. */
static inline int gemm_strip_rows(int64_t a_row, bool narrow, int most) {
    if (!gemm_is_aliased(a_row)) return most;
    return narrow ? GEMM_ALIASED_NARROW : most < GEMM_ALIASED_ROWS ? most : GEMM_ALIASED_ROWS;
}

/* Runs a way that takes the product. k >= 1. */
#define GEMM_PRODUCT_DECLARE(isa) \
    void gemm_product_##isa(const gemm_product *p, gemm_way way, void *scratch, ridge_team *team);
RIDGE_ISA_LIST(GEMM_PRODUCT_DECLARE)
#undef GEMM_PRODUCT_DECLARE

#ifdef RIDGE_ISA
#define GEMM_ISA_OF2(isa) RIDGE_ISA_##isa
#define GEMM_ISA_OF(isa) GEMM_ISA_OF2(isa)

/* Runs the cheapest way. */
static inline void gemm_product_best(const gemm_product *p, void *scratch, ridge_team *team) {
    const gemm_facts facts = gemm_facts_of(p, GEMM_ISA_OF(RIDGE_ISA), ridge_team_size(team));
    RIDGE_ISA_FN(gemm_product)(p, gemm_way_of(&facts), scratch, team);
}
#endif

#endif
