/* Input values: a pure function of (seed, tensor, element). Blocks vectorize, so that every operand can be refilled for
 * every timed sample. */
#include "verify/view.h"

#include <math.h>

#include "core/random.h"

/* How a hash becomes a stored element. `range`: number of integers; `low`: the smallest. */
typedef enum recipe {
    F32_UNIFORM,
    BF16_UNIFORM,
    F32_INTEGER,
    BF16_INTEGER,
    I32_INTEGER,
    I64_INTEGER,
    I8_INTEGER,
    E2M1_UNIFORM,
    E2M1_INTEGER,
    ANY_UNIFORM,
    ANY_INTEGER
} recipe;

typedef struct stream {
    recipe recipe;
    ridge_dtype dtype;
    uint64_t seed;
    uint64_t range;
    int64_t low;
    float scale, shift;
} stream;

/* Odd multiples of 2^-24 in (-1, 1): symmetric, never zero. */
static inline float unit_of(uint32_t hash) {
    int32_t k = (int32_t)(hash >> 8) - (1 << 23);
    return (float)(2 * k + 1) * 0x1p-24F;
}

static inline int32_t integer_of(uint32_t hash, uint32_t range, int32_t low) {
    return (int32_t)(((uint64_t)hash * range) >> 32) + low;
}

static inline uint16_t bf16_of(float finite) {
    uint32_t bits;
    memcpy(&bits, &finite, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static inline void put_f32(char *at, int64_t i, float v) { memcpy(at + 4 * i, &v, sizeof v); }
static inline void put_bf16(char *at, int64_t i, uint16_t v) { memcpy(at + 2 * i, &v, sizeof v); }
static inline void put_i32(char *at, int64_t i, int32_t v) { memcpy(at + 4 * i, &v, sizeof v); }
static inline void put_i64(char *at, int64_t i, int64_t v) { memcpy(at + 8 * i, &v, sizeof v); }
static inline void put_i8(char *at, int64_t i, int8_t v) { memcpy(at + i, &v, sizeof v); }

/* The code of four bits that ridge_store gives: what is halfway goes to the even one. */
static inline unsigned e2m1_of(float v) {
    const float m = fabsf(v);
    const int code = (m > 0.25F) + (m >= 0.75F) + (m > 1.25F) + (m >= 1.75F) + (m > 2.5F) + (m >= 3.5F) + (m > 5);
    return (unsigned)code | (v < 0 ? 8 : 0);
}
static inline void put_two_e2m1(char *at, int64_t i, float low, float high) {
    at[i] = (char)(unsigned char)(e2m1_of(low) | e2m1_of(high) << 4);
}

/* Types of scales take magnitudes, and 1 where that is zero. */
static inline void put_any(char *at, ridge_dtype dtype, int64_t i, float v) {
    const bool is_scale = dtype == RIDGE_UE8M0 || dtype == RIDGE_UE4M3;
    if (is_scale) v = fabsf(v) > 0 ? fabsf(v) : 1;
    ridge_store(at, dtype, i, (double)v);
}

/* Elements j … j+n-1 of one block. One loop per recipe, so that each vectorizes. */
__attribute__((always_inline)) static inline void block_body(const stream *s, uint64_t key, uint32_t j, int n,
                                                             char *at) {
    const uint32_t range = (uint32_t)s->range;
    const int32_t low = (int32_t)s->low;
    const float scale = s->scale, shift = s->shift; /* the product is exact, so FMA gives the same result */
    switch (s->recipe) {
        case F32_UNIFORM:
            for (int i = 0; i < n; i++) put_f32(at, i, shift + scale * unit_of(ridge_random32(key, j + (uint32_t)i)));
            break;
        case BF16_UNIFORM:
            for (int i = 0; i < n; i++)
                put_bf16(at, i, bf16_of(shift + scale * unit_of(ridge_random32(key, j + (uint32_t)i))));
            break;
        case F32_INTEGER:
            for (int i = 0; i < n; i++)
                put_f32(at, i, shift + scale * (float)integer_of(ridge_random32(key, j + (uint32_t)i), range, low));
            break;
        case BF16_INTEGER:
            for (int i = 0; i < n; i++)
                put_bf16(at, i,
                         bf16_of(shift + scale * (float)integer_of(ridge_random32(key, j + (uint32_t)i), range, low)));
            break;
        case I32_INTEGER:
            for (int i = 0; i < n; i++) put_i32(at, i, integer_of(ridge_random32(key, j + (uint32_t)i), range, low));
            break;
        case I64_INTEGER:
            for (int i = 0; i < n; i++) put_i64(at, i, integer_of(ridge_random32(key, j + (uint32_t)i), range, low));
            break;
        case I8_INTEGER:
            for (int i = 0; i < n; i++)
                put_i8(at, i, (int8_t)integer_of(ridge_random32(key, j + (uint32_t)i), range, low));
            break;
        case E2M1_UNIFORM: /* lines of packed elements are even */
            for (int i = 0; i < n / 2; i++)
                put_two_e2m1(at, i, shift + scale * unit_of(ridge_random32(key, j + 2 * (uint32_t)i)),
                             shift + scale * unit_of(ridge_random32(key, j + 2 * (uint32_t)i + 1)));
            break;
        case E2M1_INTEGER:
            for (int i = 0; i < n / 2; i++)
                put_two_e2m1(at, i, (float)integer_of(ridge_random32(key, j + 2 * (uint32_t)i), range, low),
                             (float)integer_of(ridge_random32(key, j + 2 * (uint32_t)i + 1), range, low));
            break;
        case ANY_UNIFORM:
            for (int i = 0; i < n; i++)
                put_any(at, s->dtype, i, shift + scale * unit_of(ridge_random32(key, j + (uint32_t)i)));
            break;
        case ANY_INTEGER:
            for (int i = 0; i < n; i++)
                put_any(at, s->dtype, i,
                        shift + scale * (float)integer_of(ridge_random32(key, j + (uint32_t)i), range, low));
            break;
    }
}

static void block_plain(const stream *s, uint64_t key, uint32_t j, int n, char *at) { block_body(s, key, j, n, at); }

#if defined(__x86_64__)
/* The same code for AVX2: baseline x86-64 has no 32-bit vector multiplication. */
__attribute__((target("avx2"))) static void block_avx2(const stream *s, uint64_t key, uint32_t j, int n, char *at) {
    block_body(s, key, j, n, at);
}
static bool have_avx2(void) { return __builtin_cpu_supports("avx2") != 0; }
#else
#define block_avx2 block_plain
static bool have_avx2(void) { return false; }
#endif

static void stream_make(const stream *s, int64_t first, int64_t n, char *at) {
    void (*block)(const stream *, uint64_t, uint32_t, int, char *) = have_avx2() ? block_avx2 : block_plain;
    while (n > 0) {
        uint64_t number = (uint64_t)first / RIDGE_RANDOM_BLOCK;
        uint32_t j = (uint32_t)((uint64_t)first % RIDGE_RANDOM_BLOCK);
        int part = RIDGE_RANDOM_BLOCK - (int)j;
        if (part > n) part = (int)n;
        block(s, ridge_random32_key(s->seed, number), j, part, at);
        first += part;
        n -= part;
        at += ridge_dtype_bytes(s->dtype, part);
    }
}

enum { I8_MOST = 127 }; /* as symmetric quantizers have it */

/* The largest power of two <= min(1, 3 / sqrt(extent)). */
static float weight_scale(int64_t extent) {
    float scale = 1;
    while ((double)scale * (double)scale * (double)extent > 9) scale /= 2;
    return scale;
}

static recipe float_recipe(ridge_dtype dtype, bool integers) {
    switch (dtype) {
        case RIDGE_F32: return integers ? F32_INTEGER : F32_UNIFORM;
        case RIDGE_BF16: return integers ? BF16_INTEGER : BF16_UNIFORM;
        case RIDGE_E2M1: return integers ? E2M1_INTEGER : E2M1_UNIFORM;
        default: return integers ? ANY_INTEGER : ANY_UNIFORM;
    }
}

static stream stream_of(const ridge_operands *ops, int tensor) {
    const ridge_tensor_spec *spec = &ops->target->in[tensor];
    stream s = {.dtype = ridge_spec_dtype(spec, &ops->c), .seed = ridge_random(ops->seed, (uint64_t)tensor)};
    int64_t exact = ops->target->exact > 0 ? ops->target->exact : 4;
    const bool places = spec->fill == RIDGE_FILL_INDEX || spec->fill == RIDGE_FILL_ENDS;
    s.low = places ? 0 : -exact;
    s.range = places ? (uint64_t)ops->c.dim[spec->index_dim] : (uint64_t)(2 * exact + 1);
    if (spec->fill == RIDGE_FILL_SCALE) s.low = 1, s.range = (uint64_t)exact;
    if (s.dtype == RIDGE_I8 && ops->kind != RIDGE_EXACT) s.low = -I8_MOST, s.range = 2 * I8_MOST + 1;
    s.scale = spec->dtype == RIDGE_E2M1 && ops->kind != RIDGE_EXACT ? 8 /* all of its values, the largest more often */
              : spec->fill == RIDGE_FILL_SCALE                      ? 0x1p-8F
              : spec->fill == RIDGE_FILL_WEIGHT                     ? weight_scale(ops->c.dim[spec->index_dim])
                                                                    : 1;
    s.shift = spec->fill == RIDGE_FILL_SCALE ? 0x1p-7F
              : spec->fill == RIDGE_FILL_LOG ? (float)nearbyint(log(fmax(1, (double)ops->c.dim[spec->index_dim])))
                                             : 0;
    if (s.dtype == RIDGE_I32)
        s.recipe = I32_INTEGER;
    else if (s.dtype == RIDGE_I64)
        s.recipe = I64_INTEGER;
    else if (s.dtype == RIDGE_I8)
        s.recipe = I8_INTEGER;
    else
        s.recipe = float_recipe(s.dtype, ops->kind == RIDGE_EXACT || spec->fill == RIDGE_FILL_INDEX);
    return s;
}

ridge_recipe ridge_operands_recipe(const ridge_operands *ops, int tensor) {
    const stream s = stream_of(ops, tensor);
    const bool uniform =
        s.recipe == F32_UNIFORM || s.recipe == BF16_UNIFORM || s.recipe == E2M1_UNIFORM || s.recipe == ANY_UNIFORM;
    const bool ends = ops->target->in[tensor].fill == RIDGE_FILL_ENDS;
    return (ridge_recipe){.seed = s.seed,
                          .integer = !uniform,
                          .range = (uint32_t)s.range,
                          .low = (int32_t)s.low,
                          .scale = s.scale,
                          .shift = s.shift,
                          .ends = ends ? ops->shape[tensor][0] : 0,
                          .complete = ops->kind != RIDGE_EXACT,
                          .pattern = ops->target->in[tensor].fill == RIDGE_FILL_PATTERN};
}

/* Ends of groups, and codes. */
static void make_own(const ridge_recipe *r, int64_t first, int64_t n, char *values) {
    for (int64_t i = first; i < first + n; i++) {
        const uint64_t key = ridge_random32_key(r->seed, (uint64_t)i / RIDGE_RANDOM_BLOCK);
        const uint32_t hash = ridge_random32(key, (uint32_t)(i % RIDGE_RANDOM_BLOCK));
        put_i32(values, i - first, r->pattern ? ridge_codes_of(hash) : ridge_end_of(r, i, hash));
    }
}

/* ---- special values ------------------------------------------------------------------------ */

/* Length of a stretch with at most one NaN or infinity: a row, so that most rows stay finite and are compared. */
static int64_t stretch_of(const ridge_operands *ops, int tensor) {
    const ridge_tensor_spec *spec = &ops->target->in[tensor];
    int64_t columns = ops->shape[tensor][ops->c.column_major >> tensor & 1 ? 0 : spec->rank - 1];
    return spec->rank == 1 && spec->by_row ? 16 : columns;
}

/* One element in eight becomes a finite special value. */
static void sprinkle_finite(const stream *s, double least, double large, int64_t first, int64_t n, char *at) {
    const double most = (double)s->shift + (large > 0 ? large : (double)s->scale);
    const double odd[8] = {0.0, -0.0, least, -least, 37 * least, 0x1p-20, most, -most};
    const uint64_t seed = ridge_random(s->seed, 1);
    for (int64_t i = 0; i < n; i++) {
        uint64_t hash = ridge_random(seed, (uint64_t)(first + i));
        if ((hash & 7) == 0) ridge_store(at, s->dtype, i, odd[(hash >> 3) & 7]);
    }
}

/* Likewise of integers of 8 bits: the ends of their range, of which no random fill has the lowest. */
static void sprinkle_ends(const stream *s, int64_t first, int64_t n, char *at) {
    static const int8_t ends[4] = {INT8_MIN, INT8_MAX, 0, INT8_MIN};
    const uint64_t seed = ridge_random(s->seed, 1);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t hash = ridge_random(seed, (uint64_t)(first + i));
        if ((hash & 7) == 0) put_i8(at, i, ends[(hash >> 3) & 3]);
    }
}

/* In a quarter of the stretches, one element becomes NaN or infinity. An input that feeds every row of some output gets
 * at most one such stretch, and only for every second seed; otherwise no row would stay finite. */
static void sprinkle_hard(const ridge_operands *ops, int tensor, ridge_dtype dtype, uint64_t seed, int64_t first,
                          int64_t n, char *at) {
    static const double hard[4] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -(double)INFINITY};
    int64_t stretch = stretch_of(ops, tensor);
    if (n == 0 || stretch == 0) return;
    const unsigned leads = ridge_target_leads(ops->target);
    bool shared = !ops->target->in[tensor].by_row || (leads & (leads - 1)) != 0;
    int64_t stretches = 1;
    for (int d = 0; d < ops->target->in[tensor].rank; d++) stretches *= ops->shape[tensor][d];
    stretches /= stretch;
    if (shared && (ridge_random(seed, 0) & 1)) return;
    int64_t only = stretches > 0 ? (int64_t)(ridge_random(seed, 1) % (uint64_t)stretches) : 0;
    for (int64_t k = first / stretch; k <= (first + n - 1) / stretch; k++) {
        uint64_t hash = ridge_random(seed, 2 + (uint64_t)k);
        if (shared ? k != only : (hash & 3) != 0) continue;
        int64_t i = k * stretch + (int64_t)((hash >> 8) % (uint64_t)stretch) - first;
        if (i >= 0 && i < n) ridge_store(at, dtype, i, hard[(hash >> 2) & 3]);
    }
}

/* ---- values whose low bits matter -------------------------------------------------------------------------------- */

enum { WIDEST_ELEMENT = 12, WIDEST_ROW = 8 };         /* powers of two that magnitudes of a row, and rows, lie apart */
static const float pair_gap = 0x1p-12F;               /* two neighbours differ by less, which 11 bits do not show */
static const float below_one = 0.5F * (1 - 0x1p-11F); /* keeps the larger of a pair under 1 */

/* Neighbours in memory are a pair v, ±v (1 + d): a sum in which they meet cancels and leaves what the low bits say. Inputs with
 * even numbers have opposite signs there, those with odd ones the same, so that pairs of products cancel, too. */
static float precise(uint64_t seed, int tensor, int64_t i, int64_t row) {
    const uint64_t hash = ridge_random(seed, (uint64_t)(i >> 1)), of_row = ridge_random(~seed, (uint64_t)row);
    const float mantissa = 1 + (float)(hash >> 41) * 0x1p-23F;
    int exponent = __builtin_ctzll(hash | UINT64_C(1) << WIDEST_ELEMENT); /* 0 for a half of them, 1 for a quarter, … */
    exponent += (int)(of_row % WIDEST_ROW);
    float value = ldexpf(below_one * mantissa, -exponent);
    if (hash >> 40 & 1) value = -value;
    if ((i & 1) == 0) return value;
    value *= 1 + pair_gap * (float)(hash >> 16 & 0xffffff) * 0x1p-24F;
    return tensor % 2 == 0 ? -value : value;
}

static bool is_signed(ridge_fill fill) {
    return fill == RIDGE_FILL_UNIFORM || fill == RIDGE_FILL_WEIGHT || fill == RIDGE_FILL_LOG;
}

static void make_precise(const ridge_operands *ops, int tensor, const stream *s, int64_t first, int64_t n, char *at) {
    const uint64_t seed = ridge_random(s->seed, 3);
    const int64_t length = stretch_of(ops, tensor);
    for (int64_t i = 0; i < n; i++)
        put_f32(at, i, precise(seed, tensor, first + i, (first + i) / length) * s->scale + s->shift);
}

/* Of an input that is not given: whoever reads it has NaN in his results. */
static void make_absent(ridge_dtype dtype, int64_t n, char *values) { ridge_poison_write(dtype, values, n); }

void ridge_operands_make(const ridge_operands *ops, int tensor, int64_t first, int64_t n, void *values) {
    stream s = stream_of(ops, tensor);
    if (!ridge_spec_given(&ops->target->in[tensor], &ops->c)) {
        make_absent(s.dtype, n, values);
        return;
    }
    if (ops->user && ops->user[tensor].data) {
        memcpy(values, (const char *)ops->user[tensor].data + ridge_dtype_bytes(s.dtype, first),
               ridge_dtype_bytes(s.dtype, n));
        return;
    }
    const ridge_tensor_spec *spec = &ops->target->in[tensor];
    if (spec->fill == RIDGE_FILL_ENDS || spec->fill == RIDGE_FILL_PATTERN) {
        const ridge_recipe r = ridge_operands_recipe(ops, tensor);
        make_own(&r, first, n, values);
        return;
    }
    stream_make(&s, first, n, values);
    if (ops->kind == RIDGE_PRECISION && s.dtype == RIDGE_F32 && is_signed(spec->fill) && !spec->plain && n > 0)
        make_precise(ops, tensor, &s, first, n, values);
    if (ops->kind == RIDGE_SPECIAL && s.dtype == RIDGE_I8) sprinkle_ends(&s, first, n, values);
    if (ops->kind != RIDGE_SPECIAL || ridge_dtype_is_integer(s.dtype) || spec->fill == RIDGE_FILL_INDEX || spec->plain)
        return;
    const ridge_dtype computed = spec->dtype == RIDGE_DTYPE_NONE ? ops->c.dtype : spec->dtype;
    sprinkle_finite(&s, ridge_dtype_traits_of(computed)->least, ops->target->large, first, n, values);
    sprinkle_hard(ops, tensor, s.dtype, ridge_random(s.seed, 2), first, n, values);
}
