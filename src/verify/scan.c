/* Scans of whole tensors on bit patterns, in loops that vectorize, because every timed sample is scanned. */
#include "verify/scan.h"

#include <math.h>
#include <stdatomic.h>

enum { STEP = 2048 }; /* elements per fast test; a hit is then searched element by element */

/* ---- bit tests ----------------------------------------------------------------------------- */

uint64_t ridge_scan_odd_bits(ridge_dtype dtype) {
    return ridge_dtype_is_integer(dtype) ? ridge_poison_bits(dtype) : ridge_dtype_traits_of(dtype)->exponent;
}

/* The bits of element i; of packed elements, those of the byte it is in. */
static uint64_t element_bits(const ridge_view *view, const char *at, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, at + ridge_view_bytes(view, i), view->size); /* little endian */
    return bits;
}

/* The first of eight aligned bytes that are poison, counted from `at`; -1: there are none. Fewer bytes than that may be
 * a result: the oracle decides. */
static int64_t packed_poison(const char *at, size_t bytes) {
    const uint64_t poison = RIDGE_PACKED_POISON;
    for (size_t i = (size_t)(-(uintptr_t)at % 8); i + 8 <= bytes; i += 8)
        if (memcmp(at + i, &poison, 8) == 0) return (int64_t)i; /* little endian */
    return -1;
}

static bool odd_in_1(const char *at, int64_t n, uint8_t mask, uint8_t odd) {
    uint8_t any = 0;
    for (int64_t i = 0; i < n; i++) any |= (uint8_t)(((uint8_t)at[i] & mask) == odd ? 0xff : 0);
    return any != 0;
}

static bool odd_in_2(const char *at, int64_t n, uint16_t mask, uint16_t odd) {
    uint16_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        uint16_t v;
        memcpy(&v, at + 2 * i, sizeof v);
        any |= (uint16_t)((v & mask) == odd ? 0xffff : 0);
    }
    return any != 0;
}

static bool odd_in_4(const char *at, int64_t n, uint32_t mask, uint32_t odd) {
    uint32_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t v;
        memcpy(&v, at + 4 * i, sizeof v);
        any |= (v & mask) == odd ? UINT32_MAX : 0;
    }
    return any != 0;
}

static bool odd_in_8(const char *at, int64_t n, uint64_t mask, uint64_t odd) {
    uint64_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, at + 8 * i, sizeof v);
        any |= (v & mask) == odd ? UINT64_MAX : 0;
    }
    return any != 0;
}

/* True if an element is not finite, which includes poison (integers: if an element is poison). */
static bool any_odd(ridge_dtype dtype, const char *at, int64_t n) {
    uint64_t mask = ridge_dtype_traits_of(dtype)->exponent, odd = mask;
    if (ridge_dtype_is_packed(dtype)) return packed_poison(at, ridge_dtype_bytes(dtype, n)) >= 0;
    if (ridge_dtype_is_integer(dtype)) mask = UINT64_MAX, odd = ridge_poison_bits(dtype);
    switch (ridge_dtype_size(dtype)) {
        case 1: return odd_in_1(at, n, (uint8_t)mask, (uint8_t)odd);
        case 2: return odd_in_2(at, n, (uint16_t)mask, (uint16_t)odd);
        case 4: return odd_in_4(at, n, (uint32_t)mask, (uint32_t)odd);
        default: return odd_in_8(at, n, mask, odd);
    }
}

/* ---- outputs ------------------------------------------------------------------------------- */

typedef struct scan_job {
    const ridge_operands *ops;
    ridge_scan *scan;
    atomic_flag lock;
} scan_job;

/* Keeps the poison at the lowest (output, element), independent of thread order. */
static void note_poison(ridge_scan *scan, int output, int64_t element) {
    bool first = scan->poison_output < 0 || output < scan->poison_output ||
                 (output == scan->poison_output && element < scan->poison_place);
    if (first) scan->poison_output = output, scan->poison_place = element;
}

static void merge_scan(scan_job *job, const ridge_scan *mine) {
    while (atomic_flag_test_and_set_explicit(&job->lock, memory_order_acquire)) {
    }
    if (mine->poison_output >= 0) note_poison(job->scan, (int)mine->poison_output, mine->poison_place);
    for (int i = 0; i < mine->n_odd && job->scan->n_odd < RIDGE_ODD_ROWS; i++)
        job->scan->odd[job->scan->n_odd++] = mine->odd[i];
    atomic_flag_clear_explicit(&job->lock, memory_order_release);
}

static void look_closer(const ridge_view *view, int output, int limit, int64_t first, const char *at, int64_t n,
                        ridge_scan *mine) {
    uint64_t exponent = ridge_dtype_traits_of(view->dtype)->exponent, poison = ridge_poison_bits(view->dtype);
    if (ridge_dtype_is_packed(view->dtype)) {
        note_poison(mine, output, first + 2 * packed_poison(at, ridge_view_bytes(view, n)));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = element_bits(view, at, i);
        if (bits == poison) note_poison(mine, output, first + i);
        if (exponent == 0 || (bits & exponent) != exponent) continue;
        int64_t row = ridge_view_to_rows(view, first + i) / view->row * RIDGE_MAX_RANK + view->spec->dim[0];
        if (mine->n_odd < limit && (mine->n_odd == 0 || mine->odd[mine->n_odd - 1] != row))
            mine->odd[mine->n_odd++] = row;
    }
}

static void scan_part(void *arg, int rank, int size) {
    scan_job *job = arg;
    const ridge_operands *ops = job->ops;
    ridge_scan mine = {.poison_output = -1};
    int limit = RIDGE_ODD_ROWS / size > 0 ? RIDGE_ODD_ROWS / size : 1;
    for (int o = 0; o < ops->target->n_out; o++) {
        ridge_view view = ridge_operands_view(ops, ops->target->n_in + o);
        int64_t position, end;
        ridge_share(view.elements, STEP, rank, size, &position, &end);
        for (ridge_view_run run; ridge_view_next(&view, &position, end, &run);)
            for (int64_t i = 0; i < run.n; i += STEP) {
                int64_t n = run.n - i < STEP ? run.n - i : STEP;
                const char *at = run.at + ridge_view_bytes(&view, i);
                if (any_odd(view.dtype, at, n)) look_closer(&view, o, limit, run.first + i, at, n, &mine);
            }
    }
    if (mine.poison_output >= 0 || mine.n_odd > 0) merge_scan(job, &mine);
}

void ridge_scan_outputs(const ridge_operands *ops, ridge_team *team, ridge_scan *scan) {
    *scan = (ridge_scan){.poison_output = -1};
    scan_job job = {.ops = ops, .scan = scan, .lock = ATOMIC_FLAG_INIT};
    ridge_team_run(team, scan_part, &job);
}

/* ---- guards -------------------------------------------------------------------------------- */

static const char *guard_broken(const unsigned char *pattern, const char *begin, const char *end) {
    while (begin < end) {
        size_t n = (size_t)(end - begin) < RIDGE_GUARD_PERIOD ? (size_t)(end - begin) : RIDGE_GUARD_PERIOD;
        const unsigned char *want = pattern + (uintptr_t)begin % RIDGE_GUARD_PERIOD;
        if (memcmp(begin, want, n) != 0) {
            while ((unsigned char)*begin == *want) begin++, want++;
            return begin;
        }
        begin += n;
    }
    return NULL;
}

typedef struct guard_job {
    const ridge_operands *ops;
    const char *broken; /* lowest address */
    int tensor;
    atomic_flag lock;
} guard_job;

static void note_broken(guard_job *job, int tensor, const char *at) {
    if (!at) return;
    while (atomic_flag_test_and_set_explicit(&job->lock, memory_order_acquire)) {
    }
    if (!job->broken || at < job->broken) job->broken = at, job->tensor = tensor;
    atomic_flag_clear_explicit(&job->lock, memory_order_release);
}

static void gaps_part(guard_job *job, int tensor, const ridge_view *view, const unsigned char *pattern, int rank,
                      int size) {
    if (view->rank == 0) return;
    int64_t line, end;
    ridge_share(view->elements / view->line - 1, 1, rank, size, &line, &end);
    for (; line < end; line++) {
        const char *begin = ridge_view_at(view, ridge_view_line_offset(view, line) + view->line);
        const char *next = ridge_view_at(view, ridge_view_line_offset(view, line + 1));
        note_broken(job, tensor, guard_broken(pattern, begin, next));
    }
}

static void guard_part(void *arg, int rank, int size) {
    guard_job *job = arg;
    const ridge_operands *ops = job->ops;
    unsigned char pattern[2 * RIDGE_GUARD_PERIOD];
    const char *front = ops->memory;
    for (int t = 0; t < ridge_operands_count(ops); t++) {
        ridge_view view = ridge_operands_view(ops, t);
        const char *area_end = ridge_operands_area_end(ops, t);
        ridge_guard_pattern(ops, t, pattern);
        if (rank == 0) {
            note_broken(job, t, guard_broken(pattern, front, view.base));
            note_broken(job, t, guard_broken(pattern, ridge_view_at(&view, view.span), area_end));
        }
        gaps_part(job, t, &view, pattern, rank, size);
        front = area_end;
    }
}

bool ridge_scan_guards(const ridge_operands *ops, ridge_team *team, int *tensor, int64_t *where) {
    guard_job job = {.ops = ops, .lock = ATOMIC_FLAG_INIT};
    ridge_team_run(team, guard_part, &job);
    if (!job.broken) return false;
    *tensor = job.tensor;
    *where = job.broken - ridge_operands_view(ops, job.tensor).base;
    return true;
}

/* ---- inputs -------------------------------------------------------------------------------- */

int64_t ridge_scan_changed(const ridge_operands *ops, int tensor, int64_t first, int64_t n) {
    ridge_view view = ridge_operands_view(ops, tensor);
    _Alignas(64) char made[STEP * 8];
    int64_t position = first;
    for (ridge_view_run run; ridge_view_next(&view, &position, first + n, &run);)
        for (int64_t i = 0; i < run.n; i += STEP) {
            int64_t part = run.n - i < STEP ? run.n - i : STEP;
            const char *at = run.at + ridge_view_bytes(&view, i);
            ridge_operands_make(ops, tensor, run.first + i, part, made);
            if (memcmp(at, made, ridge_view_bytes(&view, part)) == 0) continue;
            for (int64_t j = 0; j < part; j++)
                if (element_bits(&view, at, j) != element_bits(&view, made, j)) return run.first + i + j;
        }
    return -1;
}

/* Bit patterns of non-negative floats have the order of the floats. */
static uint64_t largest_2(const char *at, int64_t n, int16_t exponent) {
    int16_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        int16_t v;
        memcpy(&v, at + 2 * i, sizeof v);
        v &= 0x7fff;
        v = v < exponent ? v : 0;
        largest = v > largest ? v : largest;
    }
    return (uint64_t)largest;
}

static uint64_t largest_4(const char *at, int64_t n, int32_t exponent) {
    int32_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t v;
        memcpy(&v, at + 4 * i, sizeof v);
        v &= 0x7fffffff;
        v = v < exponent ? v : 0;
        largest = v > largest ? v : largest;
    }
    return (uint64_t)largest;
}

static double largest_any(const ridge_view *view, const ridge_view_run *run) {
    double largest = 0, values[STEP];
    for (int64_t i = 0, part; i < run->n; i += part) {
        part = run->n - i < STEP ? run->n - i : STEP;
        ridge_view_load(view, run->first + i, part, values);
        for (int64_t k = 0; k < part; k++) {
            const double v = fabs(values[k]);
            if (isfinite(v) && v > largest) largest = v;
        }
    }
    return largest;
}

typedef struct max_job {
    const ridge_view *view;
    double largest;
    atomic_flag lock;
} max_job;

static double run_max(const ridge_view *view, const ridge_view_run *run) {
    uint64_t exponent = ridge_dtype_traits_of(view->dtype)->exponent, bits;
    if (view->dtype == RIDGE_F32)
        bits = largest_4(run->at, run->n, (int32_t)exponent);
    else if (view->dtype == RIDGE_BF16 || view->dtype == RIDGE_F16)
        bits = largest_2(run->at, run->n, (int16_t)exponent);
    else
        return largest_any(view, run);
    return ridge_load(&bits, view->dtype, 0); /* little endian */
}

static void max_part(void *arg, int rank, int size) {
    max_job *job = arg;
    int64_t position, end;
    double largest = 0;
    ridge_share(job->view->elements, STEP, rank, size, &position, &end);
    for (ridge_view_run run; ridge_view_next(job->view, &position, end, &run);) {
        double v = run_max(job->view, &run);
        if (v > largest) largest = v;
    }
    while (atomic_flag_test_and_set_explicit(&job->lock, memory_order_acquire)) {
    }
    if (largest > job->largest) job->largest = largest;
    atomic_flag_clear_explicit(&job->lock, memory_order_release);
}

double ridge_scan_max(const ridge_operands *ops, int tensor, ridge_team *team) {
    ridge_view view = ridge_operands_view(ops, tensor);
    max_job job = {.view = &view, .lock = ATOMIC_FLAG_INIT};
    ridge_team_run(team, max_part, &job);
    return job.largest;
}
