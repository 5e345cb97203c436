/* y = 2 x, done right by a baseline and an optimized variant, and done wrong in every other: what a kernel in
 * development does to the process it runs in. Linked into the tests' own ridge-faulty only; the golden tests say what
 * becomes of each.
 *
 * x, y: [rows, cols], f32. Least traffic: size(x) + size(y). One FLOP an element. Multiplying by two is exact. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ridge/target.h"

static const ridge_case cases[] = {
    {.dim = {64, 1000}, .dtype = RIDGE_F32},
    {.dim = {3, 5}, .dtype = RIDGE_F32, .edge = true},
};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static float *row(const DLTensor *t, int64_t i) { return (float *)ridge_data(t) + i * ridge_row_stride(t); }

static ridge_status twice(const ridge_call *call) {
    for (int64_t i = 0; i < call->dim[0]; i++)
        for (int64_t j = 0; j < call->dim[1]; j++) row(&call->out[0], i)[j] = 2 * row(&call->in[0], i)[j];
    return RIDGE_OK;
}

static ridge_status segfault(const ridge_call *call) {
    (void)twice(call);
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return RIDGE_OK;
}

static ridge_status aborts(const ridge_call *call) {
    (void)call;
    abort();
}

static ridge_status quits(const ridge_call *call) {
    (void)twice(call);
    _exit(0);
}

static ridge_status spins(const ridge_call *call) {
    (void)twice(call);
    for (volatile unsigned turn = 0;; turn++) {
    }
    return RIDGE_OK;
}

/* Maps without end, and without touching, until the system or a limit says no. */
static ridge_status hoards(const ridge_call *call) {
    for (size_t gib = 0; gib < 1 << 14; gib++)
        if (mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            return RIDGE_NO_MEMORY;
    return twice(call);
}

static ridge_status gives_up(const ridge_call *call) {
    (void)twice(call);
    return RIDGE_UNSUPPORTED;
}

static ridge_status one_nan(const ridge_call *call) {
    (void)twice(call);
    row(&call->out[0], call->dim[0] - 1)[call->dim[1] - 1] = NAN;
    return RIDGE_OK;
}

static ridge_status zeros(const ridge_call *call) {
    for (int64_t i = 0; i < call->dim[0]; i++) memset(row(&call->out[0], i), 0, (size_t)call->dim[1] * sizeof(float));
    return RIDGE_OK;
}

static ridge_status last_row_missing(const ridge_call *call) {
    int64_t dim[RIDGE_MAX_RANK] = {call->dim[0] - 1, call->dim[1]};
    ridge_call shorter = *call;
    shorter.dim = dim;
    return twice(&shorter);
}

static ridge_status overruns(const ridge_call *call) {
    (void)twice(call);
    row(&call->out[0], call->dim[0] - 1)[call->dim[1]] = 1;
    return RIDGE_OK;
}

static ridge_status spoils_input(const ridge_call *call) {
    (void)twice(call);
    row(&call->in[0], 0)[0] += 1;
    return RIDGE_OK;
}

/* Right until it has been looked at often enough. */
static ridge_status rots(const ridge_call *call) {
    static int launches;
    (void)twice(call);
    if (++launches > 12) row(&call->out[0], 0)[0] += 1;
    return RIDGE_OK;
}

#define FAULTY(title, fn, what) \
    { .name = "cpu/" title, .role = RIDGE_PEER, .idea = what, .run = RIDGE_ANY_ISA(fn) }
static const ridge_variant variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "a loop", .run = RIDGE_ANY_ISA(twice)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "the same loop", .run = RIDGE_ANY_ISA(twice)},
    FAULTY("segfault", segfault, "writes through a null pointer"),
    FAULTY("abort", aborts, "calls abort"),
    FAULTY("quit", quits, "ends the process, pretending success"),
    FAULTY("spin", spins, "never returns"),
    FAULTY("hoard", hoards, "takes all memory"),
    FAULTY("unsupported", gives_up, "returns an error"),
    FAULTY("nan", one_nan, "one element is NaN"),
    FAULTY("zeros", zeros, "all zeros"),
    FAULTY("unwritten", last_row_missing, "leaves the last row as it was"),
    FAULTY("overrun", overruns, "writes one element past the end"),
    FAULTY("spoils-input", spoils_input, "changes its input"),
    FAULTY("rots", rots, "right at first, wrong later"),
};

static void work(const ridge_case *c, ridge_work *w) {
    double n = (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){.flops = n, .bytes_read = 4 * n, .bytes_written = 4 * n};
}

static void oracle(const ridge_oracle_call *call) {
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) call->out[0][i] = 2 * call->in[0][i];
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}

static const char *reject(const ridge_case *c) { return c->dtype == RIDGE_F32 ? NULL : "only f32"; }

const ridge_target ridge_target_faulty = {
    .name = "faulty",
    .chapter = "test",
    .summary = "y = 2 x, and ways to get it wrong",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
