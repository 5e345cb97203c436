/* A target's descriptor: the one list that declaration, tests, benchmark, `ridge list` and the reports all read.
 *
 * A target is one workload: named dimensions, tensors shaped by them, a work model, an fp64 oracle with its error
 * bound, and a table of variants. targets/<name>/target.c defines `const ridge_target ridge_target_<name>`; the build
 * finds the folder, and nothing else has to be edited.
 *
 * Rows. The first dimension of a tensor counts its rows: row r of an output depends on row r of the inputs that are
 * marked `by_row` and have the same first dimension, and on the whole of the others. So the oracle of a few rows is the
 * oracle of a smaller problem, and any sample can be checked on rows drawn after it ran. Most targets have one such
 * dimension, the first; a gradient of weights has another than that of the data. */
#ifndef RIDGE_TARGET_H
#define RIDGE_TARGET_H

#include <stdbool.h>

#include "ridge/status.h"
#include "ridge/team.h"
#include "ridge/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RIDGE_MAX_INPUTS = 6, RIDGE_MAX_OUTPUTS = 6, RIDGE_MAX_OPTIONS = 4 };

/* ---- instruction sets: each cpu*.c of a target is compiled once for every one of these --------------------------- */

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

/* ---- backends: where a variant runs. The part of its name before the '/' says which. ------------------------------
 */

#define RIDGE_BACKEND_LIST(X) X(cpu) X(cuda)
typedef enum ridge_backend {
#define RIDGE_BACKEND_ENUM(name) RIDGE_BACKEND_##name,
    RIDGE_BACKEND_LIST(RIDGE_BACKEND_ENUM)
#undef RIDGE_BACKEND_ENUM
        RIDGE_BACKEND_COUNT
} ridge_backend;

RIDGE_API const char *ridge_backend_name(ridge_backend backend);

/* What variants find here. */
typedef struct ridge_abilities {
    ridge_isa isa;      /* the instruction set CPU kernels are run with */
    int sm;             /* compute capability of the GPU times ten: 80, 90, 100; 0: no GPU can be used */
    const char *no_gpu; /* why sm is 0: "no NVIDIA driver is installed"; NULL when it is not */
} ridge_abilities;

/* ---- cases ---------------------------------------------------------------------------------------------------------
 */

/* One shape and one storage type. dim[i] is the extent of target->dims[i]. */
typedef struct ridge_case {
    int64_t dim[RIDGE_MAX_RANK];
    ridge_dtype dtype;
    /* Matrices that lie in memory by columns: strides {1, at least the rows}. Bit t is tensor t, counted through the
     * inputs and then the outputs; only those whose spec says takes_column_major. */
    unsigned column_major;
    double option[RIDGE_MAX_OPTIONS]; /* values of target->options; those a target does not have are 0 */
    bool edge;                        /* checked by `ridge verify` and the tests, not timed by `ridge run` */
    /* The backends it is for, a sum of 1 << RIDGE_BACKEND_…; 0: all. What fills a GPU is out of a CPU's reach, and not
     * every type is of use on both. */
    unsigned only;
} ridge_case;

#define RIDGE_ONLY_CPU (1u << RIDGE_BACKEND_cpu)
#define RIDGE_ONLY_CUDA (1u << RIDGE_BACKEND_cuda)
RIDGE_API bool ridge_case_same(const ridge_case *a, const ridge_case *b); /* shape, type, order and options */
static inline bool ridge_case_is_for(const ridge_case *c, ridge_backend backend) {
    return c->only == 0 || (c->only & (1u << backend)) != 0;
}

/* ---- tensors -------------------------------------------------------------------------------------------------------
 */

typedef enum ridge_fill {
    RIDGE_FILL_UNIFORM, /* random: uniform in [-1, 1]; exact: small integers in [-exact, exact] */
    RIDGE_FILL_INDEX,   /* i32 (callers may pass i64), uniform in [0, extent of dims[index_dim]) in both */
    /* As uniform, times the largest power of two that is at most 1 and 3 / sqrt(extent of dims[index_dim]): sums of so
     * many products with values of UNIFORM are of order one. */
    RIDGE_FILL_WEIGHT,
    RIDGE_FILL_LOG, /* as uniform, plus the integer nearest to log(extent of dims[index_dim]) */
} ridge_fill;

typedef struct ridge_tensor_spec {
    const char *name;        /* as in --input NAME=FILE.npy */
    int rank;                /* 1 … RIDGE_MAX_RANK */
    int dim[RIDGE_MAX_RANK]; /* indices into target->dims, outermost first */
    ridge_dtype dtype;       /* RIDGE_DTYPE_NONE: the case's */
    ridge_fill fill;
    int index_dim;           /* of fills that name an extent */
    bool by_row;             /* inputs: row r feeds only row r of the outputs with the same first dimension */
    bool plain;              /* inputs: filled as random where others have special values */
    bool takes_column_major; /* matrices: may lie in memory by columns (ridge_case.column_major) */
    /* Outputs: the oracle of other rows is given it as it was computed (ridge_oracle_call.given), because making it
     * anew would cost as much as everything else. It is checked by its own rows. */
    bool given;
    bool in_range;     /* inputs of RIDGE_FILL_INDEX: a value outside the range would be used as an address */
    unsigned in_place; /* outputs: a sum of RIDGE_IN_PLACE_OF; 0: none of the inputs */
} ridge_tensor_spec;

/* The output may be input i itself (same address, shape, strides and type): every variant of every backend reads an
 * element before it overwrites it, and the results are bit-identical to those out of place. */
#define RIDGE_IN_PLACE_OF(i) (1u << (i))

/* ---- running -------------------------------------------------------------------------------------------------------
 */

/* What a variant is given. Tensors have the rank of their spec and are as tensor.h says: last dimension contiguous
 * (matrices that may lie in either order: one of both), rows possibly strided, base possibly misaligned (by whole
 * elements). A tensor of RIDGE_FILL_INDEX may be i64 where its spec says i32. It must write every element
 * of every output and nothing else, and may use scratch freely (64-byte aligned, content undefined). It never
 * allocates, prints, or keeps state.
 *
 * On a GPU, tensors and scratch lie in its memory; run() enqueues on `stream` and returns without waiting. It can be
 * captured into a graph. A launch that CUDA refuses is RIDGE_FAILED. */
typedef struct ridge_call {
    const int64_t *dim;   /* extents in order of target->dims */
    ridge_dtype dtype;    /* the case's storage type */
    const double *option; /* in order of target->options */
    const DLTensor *in;
    const DLTensor *out;
    void *scratch;
    ridge_team *team; /* CPU */
    void *stream;     /* GPU: a cudaStream_t */
    void *plan;       /* what prepare made, else NULL */
} ridge_call;

typedef ridge_status (*ridge_run_fn)(const ridge_call *call);

/* The bytes a variant itself moves to and from memory when no operand fits in cache, temporaries included. Ordinary
 * stores make the processor read the line first (write-allocation): the harness adds that for `written`, not for
 * `streamed`. */
typedef struct ridge_traffic {
    double read;
    double written;  /* by ordinary stores */
    double streamed; /* by non-temporal stores */
} ridge_traffic;

typedef enum ridge_role { RIDGE_BASELINE, RIDGE_OPTIMIZED, RIDGE_PEER } ridge_role;
RIDGE_API const char *ridge_role_name(ridge_role role);

/* Where the harness puts a GPU variant's tensors. Scratch is device memory in any case. Variants whose tensors are not
 * in device memory move them within run(), which is timed from before its first call to after all it enqueued; the
 * inputs were last written, and the outputs are next read, by the processor. */
typedef enum ridge_where {
    RIDGE_IN_DEVICE,
    RIDGE_IN_HOST_PAGEABLE, /* ordinary memory; a copy may make run() wait */
    RIDGE_IN_HOST_PINNED,
    RIDGE_IN_MANAGED, /* all sets together at most a quarter of the device's free memory: the harness sees to it */
} ridge_where;

/* How a GPU variant makes one product of the case's values: as the sum of so many products of another type on tensor
 * cores. RIDGE_DTYPE_NONE: not so. */
typedef struct ridge_arithmetic {
    ridge_dtype type;
    int products;
} ridge_arithmetic;

typedef struct ridge_variant {
    const char *name; /* "<backend>/<what>": cpu/baseline, cpu/optimized, cpu/onednn */
    ridge_role role;
    const char *idea;                  /* one line: what it does that the others do not */
    ridge_run_fn run[RIDGE_ISA_COUNT]; /* one per instruction set: RIDGE_CPU(), RIDGE_ANY_ISA(), RIDGE_CUDA() */
    int needs;                         /* GPU: least compute capability times ten; 0: 80 */
    void (*traffic)(const ridge_case *c, ridge_traffic *traffic); /* NULL: the work model's bytes, ordinary stores */
    size_t (*scratch)(const ridge_case *c, int threads);          /* bytes; NULL: none */
    /* NULL, or: why this variant cannot run this case here ("libdnnl.so not found"), NULL when it can. */
    const char *(*unavailable)(const ridge_case *c);
    /* NULL, or: costly set-up outside the timed region. */
    ridge_status (*prepare)(const ridge_case *c, int threads, void **plan);
    void (*release)(void *plan);
    /* NULL, or: the arithmetic of this case's products on a GPU of compute capability sm / 10. They are held to the
     * peak of that type over the number of products, not to that of the case's type. */
    ridge_arithmetic (*arithmetic)(const ridge_case *c, int sm);
    bool no_graph;     /* GPU: cannot be captured into a graph */
    bool own_threads;  /* brings its own thread pool: the harness lets the team sleep before it is timed */
    ridge_where where; /* GPU */
} ridge_variant;

RIDGE_API ridge_backend ridge_variant_backend(const ridge_variant *variant);

/* NULL, or: why the variant cannot run this case here. */
RIDGE_API const char *ridge_variant_obstacle(const ridge_variant *variant, const ridge_case *c,
                                             const ridge_abilities *here);

/* Declares fn_scalar, fn_avx2, … ; names them in a variant; defines one of them inside a cpu*.c (where the build sets
 * RIDGE_ISA): `ridge_status RIDGE_ISA_FN(l2norm_cpu_optimized)(const ridge_call *call)`. */
#define RIDGE_JOIN2(a, b) a##_##b
#define RIDGE_JOIN(a, b) RIDGE_JOIN2(a, b)
#define RIDGE_ISA_FN(fn) RIDGE_JOIN(fn, RIDGE_ISA)
#if defined(__x86_64__)
#define RIDGE_CPU_DECLARE(fn)                     \
    ridge_status fn##_scalar(const ridge_call *); \
    ridge_status fn##_avx2(const ridge_call *);   \
    ridge_status fn##_avx512(const ridge_call *)
#define RIDGE_CPU(fn) \
    { fn##_scalar, fn##_avx2, fn##_avx512 }
#define RIDGE_ANY_ISA(fn) \
    { fn, fn, fn }
#elif defined(__aarch64__)
#define RIDGE_CPU_DECLARE(fn)                     \
    ridge_status fn##_scalar(const ridge_call *); \
    ridge_status fn##_neon(const ridge_call *)
#define RIDGE_CPU(fn) \
    { fn##_scalar, fn##_neon }
#define RIDGE_ANY_ISA(fn) \
    { fn, fn }
#else
#define RIDGE_CPU_DECLARE(fn) ridge_status fn##_scalar(const ridge_call *)
#define RIDGE_CPU(fn) \
    { fn##_scalar }
#define RIDGE_ANY_ISA(fn) \
    { fn }
#endif

/* The same for a GPU: `extern "C" ridge_status l2norm_cuda_optimized(const ridge_call *call)` in a cuda*.cu. A build
 * without CUDA lists the variant as one that has no code. */
#define RIDGE_CUDA_DECLARE(fn) ridge_status fn(const ridge_call *)
#ifdef RIDGE_HAVE_CUDA
#define RIDGE_CUDA(fn) RIDGE_ANY_ISA(fn)
#define RIDGE_CUDA_PLAN(fn) (fn) /* prepare and release defined in a cuda*.cu */
#else
#define RIDGE_CUDA(fn) \
    { 0 }
#define RIDGE_CUDA_PLAN(fn) NULL
#endif

/* ---- work model
 * ------------------------------------------------------------------------------------------------------ */

/* What a case must do at the least, whoever does it. flops: add, multiply, divide, square root, exponential, sine,
 * error function, compare-and-select each count one, a fused multiply-add two. Bytes: every input read once, every
 * output written once, at storage size; nothing for write-allocation or temporaries. */
typedef struct ridge_work {
    double flops;
    double bytes_read;
    double bytes_written;
} ridge_work;

/* ---- verification
 * ----------------------------------------------------------------------------------------------------- */

/* A problem in fp64, as the oracle sees it: dense row-major copies of the inputs exactly as stored. Asked for are rows
 * of the outputs whose first dimension is `rows`, dim[rows] of them; by_row inputs with that first dimension hold just
 * those rows, all others are whole. */
typedef struct ridge_oracle_call {
    const int64_t *dim;
    const int64_t *whole; /* extents of the whole problem */
    ridge_dtype dtype;
    int rows;           /* a place in dim */
    const int64_t *row; /* which rows: dim[rows] numbers */
    const double *option;
    const double *const *in;
    double *const *out; /* dense, dim[rows] rows each; NULL: not asked for */
    const double *const
        *given; /* outputs of other rows whose spec says so, whole, as the variant computed them; else NULL */
    /* One number a row of each output asked for, 0 unless the oracle says otherwise: the magnitude of what was summed
     * up, for bounds that scale with it; in units of the output, such that the rows' root mean square is of that order.
     */
    double *const *size;
    const double *in_max; /* largest finite |value| of each whole input, for bounds that scale with the data */
} ridge_oracle_call;

/* An element passes when |got - want| <= absolute + relative * |want| + sized * size of its row, or both are the same
 * infinity, or both NaN, or got is the infinity to which a `want` beyond the storage type's largest finite value
 * overflows. (Where two variants are compared with each other, the root mean square of a row stands for its size.) */
typedef struct ridge_bound {
    double absolute;
    double relative;
    double sized;
} ridge_bound;

typedef enum ridge_fill_kind {
    RIDGE_EXACT,  /* small integers: the true result is representable (or within 1 ulp: bound says) */
    RIDGE_RANDOM, /* uniform in [-1, 1] */
    /* As random, with zeros of both signs, denormals, tiny values, NaN, infinities and ±target->large sprinkled in.
     * Edge cases only. bound() may treat it as random: but for `large` no finite value leaves [-1, 1]. */
    RIDGE_SPECIAL,
} ridge_fill_kind;

/* ---- the descriptor
 * ------------------------------------------------------------------------------------------------------ */

/* What a target can be told beside its tensors. */
typedef struct ridge_option {
    const char *name; /* as in --option NAME=VALUE */
    double fallback;
} ridge_option;

#define RIDGE_LIST(array) (array), (int)(sizeof(array) / sizeof((array)[0]))

typedef struct ridge_target {
    const char *name;                 /* the folder's name */
    const char *chapter;              /* "ch09" */
    const char *summary;              /* one line */
    const char *dims[RIDGE_MAX_RANK]; /* names of the dimensions, rows first; NULL ends the list */
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
     * in_max); 0: nothing beyond 1 is promised, and nothing beyond 1 is tried. */
    double large;
    void (*work)(const ridge_case *c, ridge_work *work);
    void (*oracle)(const ridge_oracle_call *call);
    /* The permitted error for output `output`, derived in the target's README. */
    void (*bound)(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound);
    /* Its FLOP are those of matrix products, which a GPU's tensor cores may do in the case's type: that is what they
     * are held to. Else fp32. */
    bool products;
    /* NULL, or: why this shape is not allowed ("cols must be at least 1"). */
    const char *(*reject)(const ridge_case *c);
} ridge_target;

/* Every target of this build, ordered by name. */
RIDGE_API extern const ridge_target *const ridge_targets[];
RIDGE_API extern const int ridge_target_count;

RIDGE_API const ridge_target *ridge_target_find(const char *name); /* NULL when there is none */

/* Fills shape[] from the case and returns the rank; elements and bytes of a dense tensor of that spec. */
RIDGE_API int ridge_spec_shape(const ridge_tensor_spec *spec, const ridge_case *c, int64_t shape[RIDGE_MAX_RANK]);
RIDGE_API ridge_dtype ridge_spec_dtype(const ridge_tensor_spec *spec,
                                       const ridge_case *c); /* as stored: f32 for tf32 */
RIDGE_API int64_t ridge_spec_elements(const ridge_tensor_spec *spec, const ridge_case *c);
RIDGE_API int ridge_target_rank(const ridge_target *target);       /* number of named dims */
RIDGE_API unsigned ridge_target_leads(const ridge_target *target); /* bit d: some output's first dimension is d */
RIDGE_API int ridge_target_option(const ridge_target *target, const char *name); /* -1 when it has none of that name */
RIDGE_API void ridge_target_options(const ridge_target *target,
                                    double option[RIDGE_MAX_OPTIONS]); /* as they are unless told */
RIDGE_API bool ridge_target_has(const ridge_target *target,
                                ridge_backend backend); /* some variant is of that backend */
RIDGE_API bool ridge_target_takes(const ridge_target *target, ridge_backend backend,
                                  ridge_dtype dtype); /* some case is */

#ifdef __cplusplus
}
#endif
#endif
