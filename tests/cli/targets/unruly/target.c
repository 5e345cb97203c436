/* y = 2 x, by variants that tamper with the connection of the process they run in, or are right only when looked at for
 * the first time. Linked into ridge-faulty for the golden tests.
 *
 * x, y: [rows, cols], f32. Least traffic: size(x) + size(y). One FLOP an element. Multiplying by two is exact. */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ridge/target.h"

static const ridge_case cases[] = {{.dim = {64, 1000}, .dtype = RIDGE_F32}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

static ridge_status twice(const ridge_call *call) {
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const float *x = (const float *)ridge_data(&call->in[0]) + i * ridge_row_stride(&call->in[0]);
        float *y = (float *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
        for (int64_t j = 0; j < call->dim[1]; j++) y[j] = 2 * x[j];
    }
    return RIDGE_OK;
}

/* The worker's socket; -1 in a process that has none. */
static int connection(void) {
    for (int fd = 3; fd < 256; fd++) {
        int type = 0;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) return fd;
    }
    return -1;
}

static ridge_status half_an_event(const ridge_call *call) {
    static const char part[100];
    int fd = connection();
    if (fd >= 0 && write(fd, part, sizeof part) < 0) return RIDGE_FAILED;
    return twice(call);
}

static void *send_for_ever(void *arg) {
    static const char packet[600];
    while (write(*(int *)arg, packet, sizeof packet) > 0) continue;
    return NULL;
}

static ridge_status events_without_end(const ridge_call *call) {
    static int fd = -1;
    pthread_t thread;
    if (fd < 0 && (fd = connection()) >= 0 && pthread_create(&thread, NULL, send_for_ever, &fd) != 0)
        return RIDGE_FAILED;
    return twice(call);
}

/* All elements of every row, once: the launch that is compared with the optimized variant's. */
static ridge_status second_launch(const ridge_call *call) {
    static int launches;
    (void)twice(call);
    if (++launches != 2) return RIDGE_OK;
    float *y = ridge_data(&call->out[0]);
    for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) y[i] += 1;
    return RIDGE_OK;
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "a loop", .run = RIDGE_ANY_ISA(twice)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "the same loop", .run = RIDGE_ANY_ISA(twice)},
    {.name = "cpu/half-event",
     .role = RIDGE_PEER,
     .idea = "writes 100 bytes to the worker's connection",
     .run = RIDGE_ANY_ISA(half_an_event)},
    {.name = "cpu/endless-events",
     .role = RIDGE_PEER,
     .idea = "a thread that writes to it for ever",
     .run = RIDGE_ANY_ISA(events_without_end)},
    {.name = "cpu/second-launch",
     .role = RIDGE_PEER,
     .idea = "wrong in its second launch alone",
     .run = RIDGE_ANY_ISA(second_launch)},
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

const ridge_target ridge_target_unruly = {
    .name = "unruly",
    .chapter = "test",
    .summary = "y = 2 x, and ways to disturb who watches",
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
