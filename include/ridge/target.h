/* The target descriptor. Tests, benchmark, `ridge list` and reports all read it.
 *
 * A target is one workload: named dimensions, tensors shaped by them, a work model, an fp64 oracle with its error
 * bound, and a table of variants. targets/<name>/target.c defines `const ridge_target ridge_target_<name>`. The build
 * finds the folder; no other file has to be edited.
 *
 * Rows. The first dimension of a tensor counts its rows. Row r of an output depends on row r of every `by_row` input
 * with the same first dimension, and on all of every other input. The oracle of some rows is therefore the oracle of a
 * smaller problem, and a sample can be checked on rows drawn after it ran. Most targets have one row dimension,
 * dims[0]. A weight gradient has another row dimension than a data gradient. */
#ifndef RIDGE_TARGET_H
#define RIDGE_TARGET_H

#include <stdbool.h>
#include <string.h>

#include "ridge/status.h"
#include "ridge/team.h"
#include "ridge/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RIDGE_MAX_INPUTS = 8, RIDGE_MAX_OUTPUTS = 6, RIDGE_MAX_OPTIONS = 8 };

/* ---- instruction sets: each cpu*.c of a target is compiled once per instruction set ------------------------------ */

#if defined(__x86_64__)
#define RIDGE_ISA_LIST(X) X(scalar) X(avx2) X(avx512)
#elif defined(__aarch64__)
#define RIDGE_ISA_LIST(X) X(scalar) X(neon)
#else
#define RIDGE_ISA_LIST(X) X(scalar)
#endif

typedef enum ridge_isa {
#define RIDGE_ISA_ENUM(name) RIDGE_ISA_##name,
    RIDGE_ISA_LIST(RIDGE_ISA_ENUM)
#undef RIDGE_ISA_ENUM
        RIDGE_ISA_COUNT
} ridge_isa;

RIDGE_API const char *ridge_isa_name(ridge_isa isa);

/* ---- backends: where a variant runs, the part of its name before the '/' ----------------------------------------- */

#define RIDGE_BACKEND_LIST(X) X(cpu) X(cuda)
typedef enum ridge_backend {
#define RIDGE_BACKEND_ENUM(name) RIDGE_BACKEND_##name,
    RIDGE_BACKEND_LIST(RIDGE_BACKEND_ENUM)
#undef RIDGE_BACKEND_ENUM
        RIDGE_BACKEND_COUNT
} ridge_backend;

RIDGE_API const char *ridge_backend_name(ridge_backend backend);

/* What this machine offers to variants. */
struct ridge_tuned;
/* What one thread of the CPU reaches while all of its team work: predicted costs are shares of these ceilings. */
typedef struct ridge_rates {
    double flops; /* FLOP in a microsecond, by fp32 multiply-adds in vectors of one instruction set */
    double bytes; /* bytes in a microsecond, read from memory */
} ridge_rates;
/* For callers without measured ceilings: estimated by the first call in a process, in about two milliseconds. */
RIDGE_API ridge_rates ridge_rates_estimate(ridge_isa isa);

typedef struct ridge_abilities {
    ridge_isa isa;                   /* instruction set of the CPU kernels */
    ridge_rates rates;               /* of the CPU; zero: not measured, ridge_rates_estimate has them */
    int threads;                     /* that the CPU kernels share; 0: not known, taken as 1 */
    int sm;                          /* compute capability of the GPU times ten: 80, 90, 100; 0: no GPU can be used */
    int sm_count;                    /* SMs of the GPU; 0: not known */
    const char *no_gpu;              /* why sm is 0: "no NVIDIA driver is installed"; NULL if sm > 0 */
    const struct ridge_tuned *tuned; /* measured ways (tuned.h), which come before predictions; NULL: none */
} ridge_abilities;

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* One shape and one storage type. dim[i] is the extent of target->dims[i]. */
typedef struct ridge_case {
    int64_t dim[RIDGE_MAX_RANK];
    ridge_dtype dtype;
    /* Column-major matrices (strides {1, >= rows}). Bit t stands for tensor t, inputs first, then outputs. Only tensors
     * whose spec sets takes_column_major may have their bit set. */
    unsigned column_major;
    double option[RIDGE_MAX_OPTIONS]; /* values of target->options; unused ones are 0 */
    bool edge;                        /* checked by `ridge verify` and the tests, not timed by `ridge run` */
    /* Backends that run this case, a sum of 1 << RIDGE_BACKEND_…; 0: all. Shapes that fill a GPU take too long on a
     * CPU, and some types are used on one backend only. */
    unsigned only;
} ridge_case;

#define RIDGE_ONLY_CPU (1u << RIDGE_BACKEND_cpu)
#define RIDGE_ONLY_CUDA (1u << RIDGE_BACKEND_cuda)
/* Compares shape, type, memory order and options. */
RIDGE_API bool ridge_case_same(const ridge_case *a, const ridge_case *b);
static inline bool ridge_case_is_for(const ridge_case *c, ridge_backend backend) {
    return c->only == 0 || (c->only & (1u << backend)) != 0;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

typedef enum ridge_fill {
    RIDGE_FILL_UNIFORM, /* random: uniform in [-1, 1]; exact: small integers in [-exact, exact] */
    RIDGE_FILL_INDEX,   /* i32 (callers may pass i64): uniform in [0, extent of dims[index_dim]), random and exact */
    /* UNIFORM times the largest power of two <= min(1, 3 / sqrt(extent of dims[index_dim])). Sums of that many products
     * with UNIFORM values are of order one. */
    RIDGE_FILL_WEIGHT,
    RIDGE_FILL_LOG,   /* UNIFORM plus the integer nearest to log(extent of dims[index_dim]) */
    RIDGE_FILL_SCALE, /* positive: random between 2^-8 and 3 2^-8; exact: 2^-7 plus 1 to `exact` times 2^-8 */
    /* i32, of rank 1: where groups of that extent end, each at or behind the one before. Later groups are larger. The last
     * one ends at the extent, except in exact fills. Callers' values may be anything: kernels bound them. */
    RIDGE_FILL_ENDS,
    /* i32: eight 2:4 codes of 4 bits each (kernels/sparse/pattern.h), all six of them alike often, random and exact. Callers'
     * values may be anything. */
    RIDGE_FILL_PATTERN,
} ridge_fill;

typedef struct ridge_tensor_spec {
    const char *name;        /* as in --input NAME=FILE.npy */
    int rank;                /* 1 … RIDGE_MAX_RANK */
    int dim[RIDGE_MAX_RANK]; /* indices into target->dims, outermost first */
    ridge_dtype dtype;       /* RIDGE_DTYPE_NONE: the case's */
    ridge_fill fill;
    int index_dim;           /* for fills that use an extent */
    bool by_row;             /* inputs: row r feeds only row r of the outputs with the same first dimension */
    bool plain;              /* inputs: the special fill uses random values for this one */
    bool takes_column_major; /* matrices: may be column-major (ridge_case.column_major) */
    /* So many of the first dimensions may lie in a caller's memory in any order: 3 of [rows, batch, heads, depth] take
     * [batch, heads, rows, depth] and [batch, rows, heads, depth]. The harness lays them out as the spec has them. */
    int any_order;
    /* Outputs: the oracle of other rows receives this output as the variant computed it (ridge_oracle_call.given),
     * because recomputing it costs as much as the rest. Its own rows check it. */
    bool given;
    /* Index + 1 of the option that makes this one f32 in cases of 16 bits where it is not 0; 0: there is none.
     * Callers of ridge_apply need not set it: the tensor's type does. */
    int wide_option;
    /* Inputs: index + 1 of the option that says whether this one is given; 0: it always is. Callers of ridge_apply need
     * not set it: an input whose data is NULL is not given. Verification fills one that is not given with NaN. */
    int given_option;
    /* RIDGE_FILL_INDEX inputs: callers' values are range-checked, because kernels use them as addresses. */
    bool in_range;
    unsigned in_place; /* outputs: a sum of RIDGE_IN_PLACE_OF; 0: never in place */
} ridge_tensor_spec;

/* The output may be input i itself (same address, shape, strides and type). Every variant of every backend reads an
 * element before it overwrites it, and the results are bit-identical to those of an out-of-place call. */
#define RIDGE_IN_PLACE_OF(i) (1u << (i))

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The arguments of one run of a variant. Tensors have the rank of their spec and the layout of tensor.h: the last
 * dimension is contiguous (column-major matrices: the first), rows may be strided, and the base may be misaligned by
 * whole elements. A RIDGE_FILL_INDEX tensor may be i64 where its spec says i32.
 *
 * run() writes every element of every output and nothing else. It may overwrite scratch (64-byte aligned, content
 * undefined). It never allocates, prints, or keeps state.
 *
 * On a GPU, tensors and scratch are in device memory (but see ridge_where). run() enqueues on `stream`, returns without
 * waiting, and can be captured into a graph. It returns RIDGE_FAILED if CUDA rejects a launch. */
struct ridge_way;
typedef struct ridge_call {
    const int64_t *dim;   /* extents in the order of target->dims */
    ridge_dtype dtype;    /* the case's storage type */
    const double *option; /* in the order of target->options */
    const DLTensor *in;
    const DLTensor *out;
    void *scratch;
    ridge_team *team;            /* CPU */
    void *stream;                /* GPU: a cudaStream_t */
    void *plan;                  /* returned by prepare; NULL without prepare */
    const struct ridge_way *way; /* the chosen one, of a variant that has ways */
} ridge_call;

typedef ridge_status (*ridge_run_fn)(const ridge_call *call);

/* Bytes that a variant moves to and from memory when no operand is in cache, temporaries included. Ordinary stores read
 * the cache line first (write-allocation): the harness adds these bytes for `written`, not for `streamed`. */
typedef struct ridge_traffic {
    double read;
    double written;  /* by ordinary stores */
    double streamed; /* by non-temporal stores */
} ridge_traffic;

typedef enum ridge_role { RIDGE_BASELINE, RIDGE_OPTIMIZED, RIDGE_PEER } ridge_role;
RIDGE_API const char *ridge_role_name(ridge_role role);

/* Where the harness places the tensors of a GPU variant. Scratch is always device memory. A variant whose tensors are
 * outside device memory moves them within run(). Its time runs from before the call until all enqueued work is done.
 * The CPU writes the inputs before the call and reads the outputs after it. */
typedef enum ridge_where {
    RIDGE_IN_DEVICE,
    RIDGE_IN_HOST_PAGEABLE, /* ordinary memory; a copy may make run() wait */
    RIDGE_IN_HOST_PINNED,
    RIDGE_IN_MANAGED, /* the harness limits all operand sets together to a quarter of the free device memory */
} ridge_where;

/* Emulated products: a GPU variant computes one product of the case's type as the sum of `products` tensor-core
 * products of `type`. RIDGE_DTYPE_NONE: no emulation. */
typedef struct ridge_arithmetic {
    ridge_dtype type;
    int products;
} ridge_arithmetic;

/* ---- ways: the kernels among which a variant chooses ------------------------------------------------------------- */

/* A tensor as a way sees it. A dimension of extent 1 has the stride that it would have in a dense tensor. */
typedef struct ridge_operand {
    int64_t stride[RIDGE_MAX_RANK]; /* in elements */
    unsigned offset;                /* its address modulo RIDGE_OFFSETS, in bytes */
} ridge_operand;
enum { RIDGE_OFFSETS = 256 };

/* What a choice depends on, as plain data: it can be computed, and tested, without the device. */
typedef struct ridge_problem {
    ridge_case c;
    ridge_abilities here;
    ridge_operand tensor[RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS]; /* inputs first */
} ridge_problem;

/* What a way would do with a problem. */
typedef struct ridge_plan {
    const char *refusal; /* why it cannot take it ("for rows of up to 64"); NULL: it can. Else nothing below is said. */
    double us;           /* predicted microseconds: compared with the other ways of the variant */
    size_t scratch;      /* bytes */
    ridge_traffic traffic;       /* all zero: the variant's; without it, the work model's */
    ridge_arithmetic arithmetic; /* type NONE: products in the case's own type */
} ridge_plan;

/* One kernel, or one fixed sequence of launches. What its parameters are, `own` says; plan and run read the same. */
typedef struct ridge_way {
    const char *name; /* lower case and underscores: rows_warp */
    const char *idea; /* one line: what it does that the other ways do not */
    int needs;        /* GPU: minimum compute capability times ten; 0: that of the variant */
    int below;        /* GPU: and one that is too much: code for 9.0a (91) and 10.0a (101) runs there alone; 0: any */
    const char *(*lacks)(
        void); /* CPU: what this processor does not have of it ("needs AVX-512 VNNI"), or NULL. NULL: nothing */
    /* NULL: it takes all, for nothing. */
    ridge_plan (*plan)(const struct ridge_way *way, const ridge_problem *p);
    /* As in a variant; call->way is this way. RIDGE_UNSUPPORTED: the device has no room for it, or its driver refuses
     * the launch; the next cheapest way runs. */
    ridge_run_fn run[RIDGE_ISA_COUNT];
    int number;      /* for functions that serve several ways */
    const void *own; /* likewise: what they know of the variant */
} ridge_way;

typedef struct ridge_variant {
    const char *name; /* "<backend>/<what>": cpu/baseline, cpu/optimized, cpu/onednn */
    ridge_role role;
    const char *idea;                  /* one line: how it differs from the other variants */
    ridge_run_fn run[RIDGE_ISA_COUNT]; /* one per instruction set: RIDGE_CPU(), RIDGE_ANY_ISA(), RIDGE_CUDA() */
    /* Instead of run: the cheapest of these ways that takes the problem runs, the first one of several. */
    const ridge_way *ways;
    int n_ways;
    int needs;                                                    /* GPU: minimum compute capability times ten; 0: 80 */
    void (*traffic)(const ridge_case *c, ridge_traffic *traffic); /* NULL: the work model's bytes, ordinary stores */
    size_t (*scratch)(const ridge_case *c, int threads);          /* bytes; NULL: none */
    /* Returns why this variant cannot run this case here ("libdnnl.so not found"), or NULL if it can. May be NULL. */
    const char *(*unavailable)(const ridge_case *c);
    /* Costly set-up outside the timed region. May be NULL. */
    ridge_status (*prepare)(const ridge_case *c, int threads, void **plan);
    void (*release)(void *plan);
    /* The arithmetic of this case's products at compute capability sm / 10. The compute ceiling is then the peak of
     * that type divided by the number of products. May be NULL: the peak of the case's type. */
    ridge_arithmetic (*arithmetic)(const ridge_case *c, int sm);
    bool no_graph;     /* GPU: cannot be captured into a graph */
    bool own_threads;  /* has its own thread pool: the harness lets the team sleep before it times the variant */
    ridge_where where; /* GPU */
} ridge_variant;

RIDGE_API ridge_backend ridge_variant_backend(const ridge_variant *variant);

/* Returns why the variant cannot run this case here, or NULL if it can. A variant with ways may still have none that
 * takes the call's tensors: the choice of the way says so. */
RIDGE_API const char *ridge_variant_obstacle(const ridge_variant *variant, const ridge_case *c,
                                             const ridge_abilities *here);

/* ---- running and describing a variant, with or without ways ---- */

struct ridge_target;
/* The problem of a dense, aligned call, and of a call. */
RIDGE_API void ridge_problem_dense(const struct ridge_target *target, const ridge_case *c, const ridge_abilities *here,
                                   ridge_problem *problem);
RIDGE_API void ridge_problem_of(const struct ridge_target *target, const ridge_call *call, const ridge_abilities *here,
                                ridge_problem *problem);
/* Why this machine cannot run the way, whatever the problem: its processor, code, compute capability; or NULL. */
RIDGE_API const char *ridge_way_obstacle_here(const ridge_variant *variant, const ridge_way *way,
                                              const ridge_abilities *here);
/* The plan of a way, whose refusal also says what no plan looks at: compute capability, code for this machine. */
RIDGE_API ridge_plan ridge_way_plan(const ridge_variant *variant, const ridge_way *way, const ridge_problem *problem);
/* Why the way cannot take the problem, or NULL if it can. */
RIDGE_API const char *ridge_way_obstacle(const ridge_variant *variant, const ridge_way *way,
                                         const ridge_problem *problem);
/* The way that runs. NULL: the variant has no ways, or none takes the problem; *why is then the first one's reason.
 * why may be NULL. */
RIDGE_API const ridge_way *ridge_way_choose(const ridge_variant *variant, const ridge_problem *problem,
                                            const char **why);
/* The cheapest way that is not in *tried (bit i: way i), which then has it; NULL: none is left. *scratch: its bytes; may be
 * NULL. */
RIDGE_API const ridge_way *ridge_way_next(const ridge_variant *variant, const ridge_problem *problem, uint64_t *tried,
                                          size_t *scratch);
/* The way that runs dense, aligned operands, likewise. */
RIDGE_API const ridge_way *ridge_variant_dense_way(const struct ridge_target *target, const ridge_variant *variant,
                                                   const ridge_case *c, const ridge_abilities *here);
/* Why the variant cannot run this case with dense, aligned operands: its obstacle, or that of its ways. NULL if it
 * can. */
RIDGE_API const char *ridge_variant_dense_obstacle(const struct ridge_target *target, const ridge_variant *variant,
                                                   const ridge_case *c, const ridge_abilities *here);
/* Runs the variant; a variant with ways by the one that it chooses. RIDGE_UNSUPPORTED: no way takes the call. */
RIDGE_API ridge_status ridge_variant_run(const struct ridge_target *target, const ridge_variant *variant,
                                         const ridge_abilities *here, const ridge_call *call);
/* The same; *way is the one that ran. NULL: the variant has none, or failed. */
RIDGE_API ridge_status ridge_variant_run_way(const struct ridge_target *target, const ridge_variant *variant,
                                             const ridge_abilities *here, const ridge_call *call,
                                             const ridge_way **way);
/* The way by name; NULL: the variant has none of that name. */
RIDGE_API const ridge_way *ridge_way_find(const ridge_variant *variant, const char *name);
/* A variant with one of the ways alone. `name`, which must live as long: "cuda/optimized:rows_warp". */
RIDGE_API ridge_variant ridge_variant_of_way(const ridge_variant *variant, const ridge_way *way, const char *name);
RIDGE_API bool ridge_variant_forced(const ridge_variant *variant); /* made by that */
RIDGE_API bool ridge_variant_has_code(const ridge_variant *variant, ridge_isa isa);
/* Bytes of scratch that suffice for every way that takes the problem. */
RIDGE_API size_t ridge_variant_scratch(const ridge_variant *variant, const ridge_problem *problem);
/* The same for dense, aligned operands. */
RIDGE_API size_t ridge_variant_dense_scratch(const struct ridge_target *target, const ridge_variant *variant,
                                             const ridge_case *c, const ridge_abilities *here, int threads);
/* Of the way that runs dense, aligned operands. False: neither it nor the variant says; the work model applies. */
RIDGE_API bool ridge_variant_traffic(const struct ridge_target *target, const ridge_variant *variant,
                                     const ridge_case *c, const ridge_abilities *here, ridge_traffic *traffic);
RIDGE_API ridge_arithmetic ridge_variant_arithmetic(const struct ridge_target *target, const ridge_variant *variant,
                                                    const ridge_case *c, const ridge_abilities *here);

/* Declares fn_scalar, fn_avx2, … ; names them in a variant; defines one of them inside a cpu*.c (where the build sets
 * RIDGE_ISA): `ridge_status RIDGE_ISA_FN(memory_bound_cpu_optimized)(const ridge_call *call)`. */
#define RIDGE_JOIN2(a, b) a##_##b
#define RIDGE_JOIN(a, b) RIDGE_JOIN2(a, b)
#define RIDGE_ISA_FN(fn) RIDGE_JOIN(fn, RIDGE_ISA)
/* A build for one machine leaves instruction sets out (cmake/isa.cmake): a variant has NULL for each of those. */
#ifdef RIDGE_WITHOUT_scalar
#define RIDGE_CODE_scalar(fn) NULL
#else
#define RIDGE_CODE_scalar(fn) fn##_scalar
#endif
#ifdef RIDGE_WITHOUT_avx2
#define RIDGE_CODE_avx2(fn) NULL
#else
#define RIDGE_CODE_avx2(fn) fn##_avx2
#endif
#ifdef RIDGE_WITHOUT_avx512
#define RIDGE_CODE_avx512(fn) NULL
#else
#define RIDGE_CODE_avx512(fn) fn##_avx512
#endif
#ifdef RIDGE_WITHOUT_neon
#define RIDGE_CODE_neon(fn) NULL
#else
#define RIDGE_CODE_neon(fn) fn##_neon
#endif
#if defined(__x86_64__)
#define RIDGE_CPU_DECLARE(fn)                     \
    ridge_status fn##_scalar(const ridge_call *); \
    ridge_status fn##_avx2(const ridge_call *);   \
    ridge_status fn##_avx512(const ridge_call *)
#define RIDGE_CPU(fn) \
    { RIDGE_CODE_scalar(fn), RIDGE_CODE_avx2(fn), RIDGE_CODE_avx512(fn) }
#define RIDGE_CPU_AVX512(fn) /* code for that set alone */ \
    { NULL, NULL, RIDGE_CODE_avx512(fn) }
#define RIDGE_ANY_ISA(fn) \
    { fn, fn, fn }
#elif defined(__aarch64__)
#define RIDGE_CPU_DECLARE(fn)                     \
    ridge_status fn##_scalar(const ridge_call *); \
    ridge_status fn##_neon(const ridge_call *)
#define RIDGE_CPU(fn) \
    { RIDGE_CODE_scalar(fn), RIDGE_CODE_neon(fn) }
#define RIDGE_ANY_ISA(fn) \
    { fn, fn }
#else
#define RIDGE_CPU_DECLARE(fn) ridge_status fn##_scalar(const ridge_call *)
#define RIDGE_CPU(fn) \
    { RIDGE_CODE_scalar(fn) }
#define RIDGE_ANY_ISA(fn) \
    { fn }
#endif

/* The same for a GPU: `extern "C" ridge_status memory_bound_cuda_optimized(const ridge_call *call)` in a cuda*.cu. A build
 * without CUDA lists the variant as unavailable. */
#define RIDGE_CUDA_DECLARE(fn) ridge_status fn(const ridge_call *)
#ifdef RIDGE_HAVE_CUDA
#define RIDGE_CUDA(fn) RIDGE_ANY_ISA(fn)
#define RIDGE_CUDA_PLAN(fn) (fn) /* prepare and release defined in a cuda*.cu */
#else
#define RIDGE_CUDA(fn) \
    { 0 }
#define RIDGE_CUDA_PLAN(fn) NULL
#endif

/* ---- work model -------------------------------------------------------------------------------------------------- */

/* The least work of a case, independent of the variant. flops: add, multiply, divide, square root, exponential, sine,
 * error function and compare-and-select count 1 each, a fused multiply-add 2. Bytes: every input is read once and every
 * output written once, at storage size. Write-allocation and temporaries do not count. */
typedef struct ridge_work {
    double flops;
    double bytes_read;
    double bytes_written;
} ridge_work;

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* The oracle's arguments: dense row-major fp64 copies of the inputs exactly as stored. The oracle computes dim[rows]
 * rows of the outputs whose first dimension is `rows`. by_row inputs with that first dimension hold only those rows;
 * all other inputs are complete. */
typedef struct ridge_oracle_call {
    const int64_t *dim;
    const int64_t *whole; /* extents of the complete problem */
    ridge_dtype dtype;
    int rows;           /* index into dim */
    const int64_t *row; /* the dim[rows] row numbers */
    const double *option;
    const double *const *in;
    double *const *out;         /* dense, dim[rows] rows each; NULL: not wanted */
    const double *const *given; /* complete outputs with another row dimension whose spec sets `given`, as the variant
                                   computed them; else NULL */
    /* One number per row of each wanted output, initially 0: the magnitude of the summands, for bounds that scale with
     * it. It is in units of the output, of the order of the row's root mean square. */
    double *const *size;
    const double *in_max; /* largest finite |value| of each whole input, for bounds that scale with the data */
} ridge_oracle_call;

/* An element passes if |got - want| <= absolute + relative * |want| + sized * size of its row. It also passes if both
 * are the same infinity, if both are NaN, or if `want` exceeds the storage type's largest finite value and `got` is the
 * infinity of that sign. When two variants are compared with each other, the root mean square of a row replaces its
 * size.
 *
 * Underflow is no part of bound(): the check adds it, for every target alike. `absolute` grows by half of the stored
 * type's smallest subnormal, which the rounding of a result costs, and by half of fp32's, which that of one
 * intermediate value costs: 2^-149 for f32, 2^-134 for bf16, 2^-25 for f16. A kernel may flush subnormals to zero,
 * and scale by up to two behind that: zero passes where `want`, less the bound, is below 2^-125. */
typedef struct ridge_bound {
    double absolute;
    double relative;
    double sized;
} ridge_bound;

/* What an oracle writes where rounding decides the sign of what an infinity is multiplied by, or whether that is zero:
 * kernels may differ there. NaN, both infinities and zero pass, other numbers fail. It is a NaN whose payload marks
 * it. */
#define RIDGE_UNDECIDED __builtin_nan("0x51de")
static inline bool ridge_is_undecided(double want) {
    const double undecided = RIDGE_UNDECIDED;
    return memcmp(&want, &undecided, sizeof want) == 0;
}

typedef enum ridge_fill_kind {
    RIDGE_EXACT,  /* small integers: the true result is representable, or within 1 ulp if the bound says so */
    RIDGE_RANDOM, /* uniform in [-1, 1] */
    /* RANDOM with some zeros of both signs, denormals, tiny values, NaN, infinities and ±target->large. Edge cases
     * only. bound() may treat it as RANDOM: except for `large`, all finite values are in [-1, 1]. */
    RIDGE_SPECIAL,
    /* RANDOM with low bits that matter: in fp32, and in [-1, 1], with magnitudes over many powers of two. What is lost when values
     * are rounded to fp16, bf16 or tf32 adds up. bound() treats it as RANDOM. Other types: RANDOM. */
    RIDGE_PRECISION,
} ridge_fill_kind;

/* ---- the descriptor ---------------------------------------------------------------------------------------------- */

/* A scalar parameter of a target. */
typedef struct ridge_option {
    const char *name; /* as in --option NAME=VALUE */
    double fallback;  /* default value */
    /* Names of the values 0, 1, 2, … where they are a choice and not a quantity; NULL ends the list. NULL: numbers only.
     * Users write activation=gelu, and case names and lists have the words, too. */
    const char *const *words;
} ridge_option;

#define RIDGE_LIST(array) (array), (int)(sizeof(array) / sizeof((array)[0]))

typedef struct ridge_target {
    const char *name;                 /* the folder's name */
    const char *chapter;              /* "ch09" */
    const char *summary;              /* one line */
    const char *dims[RIDGE_MAX_RANK]; /* names of the dimensions, rows first; NULL ends the list */
    /* The first n_sizes extents determine the others, which derive() computes: users give these alone by --sizes.
     * derive NULL: users give all. reject() refuses extents that do not fit together. */
    int n_sizes;
    void (*derive)(int64_t dim[RIDGE_MAX_RANK]);
    const ridge_case *cases;
    int n_cases;
    const ridge_tensor_spec *in;
    int n_in;
    const ridge_tensor_spec *out;
    int n_out;
    const ridge_variant *variants;
    int n_variants;
    ridge_option options[RIDGE_MAX_OPTIONS]; /* name NULL ends the list */
    int exact;                               /* exact fill: integers in [-exact, exact]; 0 means 4 */
    /* Special fill: the largest magnitude for which this operation in fp32 stays within its bound (which may use
     * in_max). 0: magnitudes above 1 are neither supported nor tested. */
    double large;
    void (*work)(const ridge_case *c, ridge_work *work);
    void (*oracle)(const ridge_oracle_call *call);
    /* The permitted error for output `output`, derived in the target's README. */
    void (*bound)(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound);
    /* The FLOP are matrix products: on a GPU, the ceiling is the tensor-core peak of the case's type. False: the fp32
     * peak. */
    bool products;
    /* Returns why the shape is not allowed ("cols must be at least 1"), or NULL if it is. May be NULL. */
    const char *(*reject)(const ridge_case *c);
} ridge_target;

/* Every target of this build, ordered by name. */
RIDGE_API extern const ridge_target *const ridge_targets[];
RIDGE_API extern const int ridge_target_count;

RIDGE_API const ridge_target *ridge_target_find(const char *name); /* NULL if there is none */

/* ridge_spec_shape fills shape[] from the case and returns the rank. ridge_spec_elements counts the elements. */
RIDGE_API int ridge_spec_shape(const ridge_tensor_spec *spec, const ridge_case *c, int64_t shape[RIDGE_MAX_RANK]);
RIDGE_API ridge_dtype ridge_spec_dtype(const ridge_tensor_spec *spec,
                                       const ridge_case *c);                         /* as stored: f32 for tf32 */
RIDGE_API bool ridge_spec_given(const ridge_tensor_spec *spec, const ridge_case *c); /* see given_option */
RIDGE_API int64_t ridge_spec_elements(const ridge_tensor_spec *spec, const ridge_case *c);
RIDGE_API int ridge_target_rank(const ridge_target *target);       /* number of named dims */
RIDGE_API unsigned ridge_target_leads(const ridge_target *target); /* bit d: some output's first dimension is d */
RIDGE_API int ridge_target_option(const ridge_target *target, const char *name); /* index; -1 if there is none */
RIDGE_API void ridge_target_options(const ridge_target *target,
                                    double option[RIDGE_MAX_OPTIONS]);              /* the default values */
RIDGE_API bool ridge_target_has(const ridge_target *target, ridge_backend backend); /* has a variant of that backend */
RIDGE_API bool ridge_target_takes(const ridge_target *target, ridge_backend backend,
                                  ridge_dtype dtype); /* has a case of that type for the backend */

#ifdef __cplusplus
}
#endif
#endif
