/* ridge_apply on random descriptors: mostly right calls, some with one or two mistakes. The bytes choose target,
 * variant, extents, layouts and mistakes; a byte that is missing is 0, which is always the plain choice.
 *
 * All tensors lie in one arena, apart by guards that AddressSanitizer watches. After a call that succeeds, every
 * element of every output has been written and nothing else has; after one that is refused, nothing has. A call without
 * a mistake must succeed. */
#include <stdlib.h>
#include <string.h>

#include "machine/identity/machine.h"
#include "ops/context.h"

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifdef WATCHED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENSORS = RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS, RANK = 10, LEADS = 3, GUARD = 64, ARENA = 1 << 20, PADS = 4 };

static _Alignas(64) unsigned char arena[ARENA], before[ARENA];

static void require(bool holds) {
    if (!holds) abort();
}

/* ---- choices ---------------------------------------------------------------------------------------------------- */

typedef struct stream {
    const uint8_t *at, *end;
} stream;

static unsigned draw(stream *s, unsigned n) { return s->at < s->end ? *s->at++ % n : 0; }
static bool one_in(stream *s, unsigned n) { return draw(s, n) == n - 1; }

typedef struct tensor {
    const ridge_tensor_spec *spec;
    int64_t shape[RANK], strides[RANK];
    int64_t elements, span; /* span: from the first element to the end of the last */
    size_t begin, bytes;    /* its part of the arena; several tensors may share one */
} tensor;

typedef struct call {
    ridge_context *context;
    const ridge_target *target;
    const char *name, *variant;
    ridge_dtype dtype;
    int64_t dim[RIDGE_MAX_RANK], lead[LEADS];
    int n_lead, n; /* n: tensors */
    tensor tensor[TENSORS];
    DLTensor view[TENSORS];
    const DLTensor *in, *out;
    int n_in, n_out;
    double option[RIDGE_MAX_OPTIONS];
    int64_t interleaved; /* elements to the next row, where the first input and the first output share their rows */
    int in_place;        /* the input that the first output is; -1: none */
    bool wide;           /* labels and indices are i64 */
    bool right;          /* without a mistake */
    int mistakes;
    size_t used; /* of the arena */
} call;

/* One input in 256, by its hash: two threads take a hundred times as long, and a mutator would find inputs that ask for
 * them worth repeating. */
static bool has_two_threads(const stream *s) {
    uint32_t hash = 0;
    for (const uint8_t *at = s->at; at < s->end; at++) hash = (hash ^ *at) * 16777619u;
    return hash >> 24 == 1;
}

/* Contexts of one and of two threads for each instruction set, made once; of one that is not here, the best set. */
static ridge_context *context_of(stream *s, bool two) {
    static ridge_context *contexts[2][RIDGE_ISA_COUNT];
    if (!contexts[0][0])
        for (int threads = 1; threads <= 2; threads++)
            for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
                ridge_context **c = &contexts[threads - 1][isa];
                require(ridge_context_create(threads, c, NULL) == RIDGE_OK);
                if (ridge_isa_supported((ridge_isa)isa)) (*c)->isa = (ridge_isa)isa;
            }
    const unsigned isa = (RIDGE_ISA_COUNT - 1 + draw(s, RIDGE_ISA_COUNT)) % RIDGE_ISA_COUNT;
    return contexts[two ? 1 : 0][isa];
}

/* Libraries' variants have threads and plans of their own, and are no code of ridge. */
static const char *variant_of(const ridge_target *target, stream *s) {
    const unsigned k = draw(s, 8);
    if (k >= (unsigned)target->n_variants) return NULL;
    const ridge_variant *v = &target->variants[k];
    return ridge_variant_backend(v) == RIDGE_BACKEND_cpu && !v->own_threads ? v->name : NULL;
}

static int64_t extent_of(stream *s) {
    const unsigned k = draw(s, 256);
    return k < 220 ? 1 + k % 10 : k < 228 ? 0 : k < 252 ? 11 + k % 54 : 65 + 16 * (k - 252);
}

static ridge_dtype dtype_of(const ridge_target *target, stream *s) {
    const ridge_dtype wanted = (ridge_dtype[]){RIDGE_F32, RIDGE_BF16}[draw(s, 2)];
    return ridge_target_takes(target, RIDGE_BACKEND_cpu, wanted) ? wanted : RIDGE_F32;
}

static bool folds(const call *c, int k) {
    return c->tensor[k].spec->dim[0] == 0 && (k >= c->target->n_in || c->tensor[k].spec->by_row);
}

/* Whether the target takes the options, for extents of 1; and whether it takes the extents. */
static bool takes(const call *c, bool extents) {
    ridge_case probe = {.dtype = c->dtype};
    for (int d = 0; d < RIDGE_MAX_RANK; d++) probe.dim[d] = extents ? c->dim[d] : 1;
    memcpy(probe.option, c->option, sizeof probe.option);
    return !c->target->reject || !c->target->reject(&probe);
}

static bool has_pairs(const ridge_target *target) {
    for (int k = 0; k < target->n_in + target->n_out; k++)
        if ((k < target->n_in ? target->in[k] : target->out[k - target->n_in]).dtype == RIDGE_E2M1) return true;
    return false;
}

static void choose_call(call *c, stream *s) {
    const int mistakes = (int)draw(s, 8) - 4;
    c->mistakes = mistakes > 0 ? mistakes : 0;
    c->right = c->mistakes == 0;
    c->wide = one_in(s, 3);
    c->target = ridge_targets[draw(s, (unsigned)ridge_target_count)];
    c->name = c->target->name;
    c->context = context_of(s, has_two_threads(s));
    c->variant = variant_of(c->target, s);
    c->dtype = dtype_of(c->target, s);
    c->n_in = c->target->n_in, c->n_out = c->target->n_out, c->n = c->n_in + c->n_out;
    for (int d = 0; d < RIDGE_MAX_RANK; d++) c->dim[d] = extent_of(s);
    c->n_lead = (int)(1 + draw(s, LEADS + 1)) % (LEADS + 1);
    if (c->n_lead != 1) c->dim[0] = 1;
    for (int d = 0; d < c->n_lead; d++) {
        c->lead[d] = c->n_lead == 1 ? c->dim[0] : 1 + draw(s, 4);
        if (c->n_lead > 1) c->dim[0] *= c->lead[d];
    }
    ridge_target_options(c->target, c->option);
    for (int i = 0; i < RIDGE_MAX_OPTIONS; i++)
        if (one_in(s, 4)) c->option[i] = (double)draw(s, 5) / 4;
    if (!takes(c, false)) ridge_target_options(c->target, c->option);
    if (c->target->derive) c->target->derive(c->dim);
    if (!takes(c, true)) /* extents that have to divide each other do so when they are the same */
        for (int d = 2; d < RIDGE_MAX_RANK; d++) c->dim[d] = c->dim[1];
    if (c->target->derive) c->target->derive(c->dim);
    if (!takes(c, true)) { /* and those that have to be multiples are of 32 */
        for (int d = 1; d < RIDGE_MAX_RANK; d++) c->dim[d] = c->dim[d] % 5 * 32;
        if (c->target->derive) c->target->derive(c->dim);
    }
    for (int k = 0; k < c->n; k++) c->tensor[k].spec = k < c->n_in ? &c->target->in[k] : &c->target->out[k - c->n_in];
}

/* ---- layouts ---------------------------------------------------------------------------------------------------- */

/* Shape and strides; `row`: elements from one row to the next at least. */
static void lay_out(call *c, int k, int64_t row, bool column_major) {
    tensor *t = &c->tensor[k];
    const int leading = folds(c, k) ? c->n_lead : 1, ndim = t->spec->rank - 1 + leading;
    int64_t below = 1;
    t->elements = 1, t->span = 1;
    for (int d = 0; d < RANK; d++) t->shape[d] = 1, t->strides[d] = 1;
    for (int d = 0; d < ndim; d++)
        t->shape[d] = d >= leading  ? c->dim[t->spec->dim[d - leading + 1]]
                      : folds(c, k) ? c->lead[d]
                                    : c->dim[t->spec->dim[0]];
    for (int i = 0; i < ndim; i++) {
        const int d = column_major ? i : ndim - 1 - i;
        if (i > 0 && i == (column_major ? 1 : t->spec->rank - 1) && below < row) below = row;
        t->strides[d] = below;
        below *= t->shape[d];
        t->elements *= t->shape[d];
        t->span += (t->shape[d] - 1) * t->strides[d];
    }
    if (t->elements == 0) t->span = 0;
    const bool wide = c->wide && t->spec->fill == RIDGE_FILL_INDEX;
    c->view[k] = (DLTensor){.device = {kDLCPU, 0},
                            .ndim = ndim,
                            .dtype = ridge_dtype_to_dlpack(wide             ? RIDGE_I64
                                                           : t->spec->dtype ? t->spec->dtype
                                                                            : c->dtype),
                            .shape = t->shape,
                            .strides = t->strides};
}

static int64_t inner_of(const call *c, int k) {
    int64_t inner = 1;
    for (int d = 1; d < c->tensor[k].spec->rank; d++) inner *= c->dim[c->tensor[k].spec->dim[d]];
    return inner;
}

/* A part of the arena for `elements`, and guards around it. */
static bool place(call *c, int k, int64_t elements, stream *s) {
    tensor *t = &c->tensor[k];
    const size_t size = c->view[k].dtype.bits / 8, shift = (one_in(s, 4) ? draw(s, 16) : 0) * size;
    t->begin = c->used + shift, t->bytes = (size_t)elements * size;
    const size_t end = (t->begin + t->bytes + GUARD - 1) / GUARD * GUARD + GUARD;
    if (end > ARENA) return false;
    c->view[k].data = arena + t->begin;
    if (one_in(s, 4)) {
        const size_t offset = GUARD * draw(s, 3);
        c->view[k].data = (char *)c->view[k].data - (offset < t->begin ? offset : 0);
        c->view[k].byte_offset = offset < t->begin ? offset : 0;
    }
    c->used = end;
    return true;
}

static bool lay_out_input(call *c, int k, stream *s) {
    const ridge_tensor_spec *spec = c->tensor[k].spec;
    const bool first = k == 0 && c->interleaved > 0, padded = one_in(s, 3);
    const bool matrix = spec->rank == 2 && (!folds(c, k) || c->n_lead == 1); /* leading dimensions fold by rows alone */
    const bool column_major = spec->takes_column_major && matrix && !first && one_in(s, 2);
    const int64_t along = column_major ? c->dim[spec->dim[0]] : inner_of(c, k);
    lay_out(c, k, first ? c->interleaved : padded ? along + draw(s, PADS) : 0, column_major);
    if (!place(c, k, first ? c->dim[0] * c->interleaved : c->tensor[k].span, s)) return false;
    if (!first && !padded && !column_major && one_in(s, 2)) c->view[k].strides = NULL;
    return true;
}

/* An output has a place of its own, or is the input it may be, or lies in the gaps of the first input's rows. */
static bool lay_out_output(call *c, int k, stream *s) {
    if (k > c->n_in || (c->in_place < 0 && c->interleaved == 0)) return lay_out_input(c, k, s);
    const int other = c->in_place >= 0 ? c->in_place : 0;
    tensor *t = &c->tensor[k];
    lay_out(c, k, c->interleaved, false);
    t->begin = c->tensor[other].begin, t->bytes = c->tensor[other].bytes;
    c->view[k].data = ridge_data(&c->view[other]);
    if (c->in_place >= 0) {
        memcpy(t->strides, c->tensor[other].strides, sizeof t->strides);
        t->span = c->tensor[other].span;
    } else {
        c->view[k].data = (char *)c->view[k].data + inner_of(c, 0) * (c->view[k].dtype.bits / 8);
    }
    return true;
}

static bool lay_out_all(call *c, stream *s) {
    const ridge_tensor_spec *x = &c->target->in[0], *y = &c->target->out[0];
    const unsigned how = draw(s, 8);
    c->used = GUARD, c->in_place = -1, c->interleaved = 0;
    if (how == 6 && x->rank == 2 && y->rank == 2 && folds(c, 0) && folds(c, c->n_in) && x->dtype == y->dtype)
        c->interleaved = inner_of(c, 0) + inner_of(c, c->n_in) + draw(s, PADS);
    if (how == 7)
        for (int i = 0; i < c->n_in; i++)
            if (y->in_place & RIDGE_IN_PLACE_OF(i)) c->in_place = i;
    for (int k = 0; k < c->n_in; k++)
        if (!lay_out_input(c, k, s)) return false;
    for (int k = c->n_in; k < c->n; k++)
        if (!lay_out_output(c, k, s)) return false;
    return true;
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

enum { UNWRITTEN = 0xff }; /* bytes of a NaN that no arithmetic makes */

static bool is_unwritten(const unsigned char *at, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (at[i] != UNWRITTEN) return false;
    return true;
}

typedef void (*visit_fn)(unsigned char *element, size_t size, bool right);

static void spoil_element(unsigned char *element, size_t size, bool right) {
    (void)right;
    memset(element, UNWRITTEN, size);
}

/* What a call without a mistake has written. Then it is as before, so that all else can be compared at once. */
static void check_element(unsigned char *element, size_t size, bool right) {
    require(!right || !is_unwritten(element, size));
    memcpy(element, before + (element - arena), size);
}

static void each_element(const DLTensor *v, visit_fn visit, bool right) {
    const size_t size = v->dtype.bits / 8;
    int64_t n = 1, dense[RANK], at[RANK] = {0};
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] == 0) return;
    for (int d = v->ndim - 1; d >= 0; d--) dense[d] = n, n *= v->shape[d];
    const int64_t *strides = v->strides ? v->strides : dense;
    unsigned char *element = ridge_data(v);
    for (int64_t i = 0; i < n; i++) {
        visit(element, size, right);
        for (int d = v->ndim - 1; d >= 0; d--) {
            if (v->shape[d] == 1) continue; /* whatever its stride says */
            element += strides[d] * (int64_t)size;
            if (++at[d] < v->shape[d]) break;
            element -= strides[d] * (int64_t)size * v->shape[d];
            at[d] = 0;
        }
    }
}

/* Infinities and values near overflow come rarely: they take the slow paths of kernels. */
static void fill_floats(unsigned char *at, size_t bytes, ridge_dtype dtype, uint32_t state, uint32_t kinds) {
    static const float values[] = {0.5f, -1, 2, 0, 3e38f, 1e-40f, -0.25f, __builtin_inff()};
    const size_t size = ridge_dtype_size(dtype);
    for (size_t i = 0; i < bytes; i += size) {
        state = state * 1664525 + 1013904223;
        memcpy(at + i, (const char *)&values[(state >> 24) % kinds] + (4 - size), size); /* bf16: the upper half */
    }
}

static void fill_indices(unsigned char *at, size_t bytes, ridge_dtype dtype, uint32_t state, uint32_t limit) {
    const size_t size = ridge_dtype_size(dtype);
    for (size_t i = 0; i < bytes; i += size) {
        state = state * 1664525 + 1013904223;
        const int64_t value = limit > 0 ? (state >> 8) % limit : 0;
        memcpy(at + i, &value, size); /* little endian */
    }
}

/* Codes of 2:4, each of the six. */
static void fill_codes(unsigned char *at, size_t bytes) {
    const uint32_t word = 0xed9c84edu;
    for (size_t i = 0; i < bytes; i += sizeof word) memcpy(at + i, &word, sizeof word);
}

static void fill_input(const call *c, int k, stream *s) {
    const tensor *t = &c->tensor[k];
    const ridge_dtype dtype = ridge_dtype_of(&c->view[k]);
    const uint32_t kinds = one_in(s, 8) ? 8 : 3, state = draw(s, 256);
    if (t->spec->fill == RIDGE_FILL_INDEX)
        fill_indices(arena + t->begin, t->bytes, dtype, state, (uint32_t)c->dim[t->spec->index_dim]);
    else if (t->spec->fill == RIDGE_FILL_PATTERN && kinds == 3) /* else they are of no pattern */
        fill_codes(arena + t->begin, t->bytes);
    else
        fill_floats(arena + t->begin, t->bytes, dtype, state, kinds);
}

static void fill(const call *c, stream *s) {
    memset(arena, UNWRITTEN, c->used);
    for (int k = 0; k < c->n_in; k++) fill_input(c, k, s);
    if (c->interleaved > 0) each_element(&c->view[c->n_in], spoil_element, true);
    memcpy(before, arena, c->used);
}

static void watch(const call *c) {
    size_t end = 0;
    for (int k = 0; k < c->n; k++) {
        const tensor *t = &c->tensor[k];
        if (t->begin < end) continue; /* shares the part of another */
        ASAN_POISON_MEMORY_REGION(arena + end, t->begin - end);
        end = t->begin + t->bytes;
    }
    ASAN_POISON_MEMORY_REGION(arena + end, c->used - end);
}

/* ---- mistakes --------------------------------------------------------------------------------------------------- */

static int64_t odd_number(stream *s) {
    static const int64_t numbers[] = {0,       -1,        1,         2,         3,         -3,        5,
                                      1 << 20, INT64_MAX, INT64_MIN, 1LL << 40, 1LL << 62, INT32_MAX, 1LL << 31};
    return numbers[draw(s, sizeof numbers / sizeof numbers[0])];
}

static int64_t near(int64_t number, stream *s) { return (number & 0xffff) + 1 - (int64_t)draw(s, 4); }
static void *moved(void *data, unsigned bytes) { return data ? (char *)data + bytes : NULL; }

static void spoil_tensor(call *c, stream *s) {
    const int k = (int)draw(s, (unsigned)c->n), d = (int)draw(s, 4);
    DLTensor *v = &c->view[k];
    tensor *t = &c->tensor[k];
    switch (draw(s, 14)) {
        case 0: t->shape[d] = odd_number(s); break;
        case 1: t->shape[d] = near(t->shape[d], s); break;
        case 2: v->strides = t->strides, t->strides[d] = odd_number(s); break;
        case 3: v->strides = t->strides, t->strides[d] = near(t->strides[d], s); break;
        case 4: v->ndim = (int)draw(s, 12) - 1; break;
        case 5: v->data = NULL; break;
        case 6: v->data = moved(v->data, 1 + draw(s, 8)); break;
        case 7: v->byte_offset = (uint64_t)odd_number(s); break;
        case 8: v->shape = NULL; break;
        case 9: v->dtype.code = (uint8_t)draw(s, 9); break;
        case 10: v->dtype.bits = (uint8_t)(8 << draw(s, 6)); break;
        case 11: v->dtype.lanes = (uint16_t)draw(s, 5); break;
        case 12: /* of a GPU that is not there: kernels must not run on this memory */
            v->device = (DLDevice){(DLDeviceType)draw(s, 20), 1000};
            break;
        default: v->device.device_id = (int)odd_number(s); break;
    }
}

static void spoil(call *c, stream *s) {
    static const double odd_options[] = {0.0 / 0.0, 1.0 / 0.0, -1.0 / 0.0, -1, 2, 1e300};
    switch (draw(s, 16)) {
        case 0: c->n_in = (int)draw(s, 9) - 1; break;
        case 1: c->n_out = (int)draw(s, 9) - 1; break;
        case 2: c->in = NULL; break;
        case 3: c->out = NULL; break;
        case 4: c->context = NULL; break;
        case 5: c->name = one_in(s, 2) ? NULL : "nothing"; break;
        case 6: c->variant = one_in(s, 2) ? "cuda/optimized" : "cpu/nothing"; break;
        case 7: c->option[draw(s, RIDGE_MAX_OPTIONS)] = odd_options[draw(s, 6)]; break;
        case 8: /* some overlap, or another tensor's place */
            c->view[draw(s, (unsigned)c->n)].data = moved(c->view[draw(s, (unsigned)c->n)].data, 4 * draw(s, 64));
            break;
        default: spoil_tensor(c, s); break;
    }
}

/* Where a tensor says it is: within some tensor's part of the arena, nowhere that can exist, or somewhere else. Nobody
 * can tell that the last is wrong: such a call is not made. */
typedef enum truth { TRUE, IMPOSSIBLE, LIE } truth;

static truth truth_of(const call *c, const DLTensor *v) {
    __extension__ typedef __int128 wide;
    wide low = 0, high = 0, below = 1;
    if (v->ndim < 0 || v->ndim > RIDGE_MAX_TENSOR_RANK || (v->ndim > 0 && !v->shape)) return IMPOSSIBLE;
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] < 0) return IMPOSSIBLE;
        if (v->shape[d] == 0) return TRUE;
    }
    if (!v->data) return IMPOSSIBLE;
    for (int d = v->ndim - 1; d >= 0; d--) {
        const wide reach = (wide)(v->shape[d] - 1) * (v->strides ? (wide)v->strides[d] : below);
        *(reach < 0 ? &low : &high) += reach;
        if ((below *= v->shape[d]) > INT64_MAX || reach > INT64_MAX || reach < INT64_MIN) return IMPOSSIBLE;
    }
    const wide size = (v->dtype.bits + 7) / 8 * (v->dtype.lanes > 1 ? v->dtype.lanes : 1);
    const wide at = (wide)(uintptr_t)v->data + v->byte_offset, end = at + (high + 1) * size;
    if (end > (wide)UINT64_MAX || (high + 1) * size > INT64_MAX) return IMPOSSIBLE;
    for (int k = 0; k < c->n; k++) {
        const wide begin = (wide)(uintptr_t)arena + c->tensor[k].begin;
        if (at + low * size >= begin && end <= begin + c->tensor[k].bytes) return TRUE;
    }
    return LIE;
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

/* Extents of 0 beside the rows' are what targets refuse, and some have no variant for the CPU. */
static bool may_be_refused(const call *c) {
    bool empty = !ridge_target_has(c->target, RIDGE_BACKEND_cpu);
    for (int d = 1; d < ridge_target_rank(c->target); d++) empty = empty || c->dim[d] == 0;
    return empty;
}

/* A tensor without data that the target can do without: nothing else of it is looked at. */
static bool is_absent(const call *c, int k) { return c->tensor[k].spec->given_option > 0 && !c->view[k].data; }

/* Whether an element may be what UNWRITTEN is: the one NaN of ue8m0 is. */
static bool has_marker(const call *c, int k) { return c->tensor[k].spec->dtype == RIDGE_UE8M0; }

static void check(const call *c, ridge_status status, const ridge_error *error, bool impossible) {
    if (status == RIDGE_OK) {
        require(!impossible);
        for (int k = c->target->n_in; k < c->n; k++)
            if (!is_absent(c, k)) each_element(&c->view[k], check_element, c->right && !has_marker(c, k));
    } else {
        require(!c->right || may_be_refused(c));
        require(error->status == status && error->text[0] != '\0' && !strchr(error->text, '\n'));
    }
    require(memcmp(arena, before, c->used) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    stream s = {data, data + size};
    static call c;
    ridge_error error = {0};
    bool impossible = false;
    memset(&c, 0, sizeof c);
    choose_call(&c, &s);
    if (has_pairs(c.target)) return 0; /* addresses here are of whole bytes */
    if (!lay_out_all(&c, &s)) return 0;
    fill(&c, &s);
    c.in = c.view, c.out = c.view + c.n_in;
    for (int i = 0; i < c.mistakes; i++) spoil(&c, &s);
    for (int k = 0; k < c.n; k++) {
        const truth says = is_absent(&c, k) ? TRUE : truth_of(&c, &c.view[k]);
        if (says == LIE) return 0;
        impossible = impossible || says == IMPOSSIBLE;
    }
    watch(&c);
    const ridge_status status =
        ridge_apply(c.context, c.name, c.variant, c.in, c.n_in, c.out, c.n_out, c.option, &error);
    ASAN_UNPOISON_MEMORY_REGION(arena, c.used);
    check(&c, status, &error, impossible);
    return 0;
}
