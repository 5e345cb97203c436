/* The GPU rig: operand sets in device memory, launches timed by events on one stream and in captured graphs.
 *
 * A delay kernel precedes each batch, so that the GPU never waits for the host between two launches. A sticky CUDA
 * error makes the GPU unusable for the process: the worker names the suspected slot and ends. If the batch has several
 * slots, the next worker synchronizes after every launch to find the slot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "device/device.h"
#include "measure/python.h"
#include "measure/sampler.h"
#include "measure/stats.h"
#include "verify/on_gpu.h"

/* Upper bound of the host time to enqueue a launch and its events, on the measured machines. */
static const double enqueue_us = 25;
/* Graph time below which the start of the graph distorts the result. */
static const double graph_us = 400;
enum { FRAME_LAUNCHES = 101, FRAME_GRAPH = 200 };
static const ridge_layout dense = {0};

typedef struct cuda_rig {
    ridge_gpu gpu;
    ridge_nvml *nvml;
    ridge_stream *stream;
    void *arena, *scratch, *scan;
    ridge_operands *sets; /* rotating sets, then the lead set */
    ridge_operands mirror[2];
    void *host[2];                         /* memory of the host mirrors */
    void *elsewhere[RIDGE_IN_MANAGED + 1]; /* one set per kind of memory (ridge_where) outside the device */
} cuda_rig;

static ridge_status cuda_open(ridge_sampler *s, ridge_error *error) {
    cuda_rig *r = s->own = calloc(1, sizeof *r);
    if (!r) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a rig");
    if (!s->job->here.sm) return RIDGE_OK; /* no GPU: all slots are skipped */
    RIDGE_TRY(ridge_cuda_open(&r->gpu, error));
    ridge_cuda_reset_l2();
    (void)ridge_nvml_open(r->gpu.bus, &r->nvml);
    return RIDGE_OK;
}

static ridge_status cuda_allocate(ridge_sampler *s, ridge_error *error) {
    cuda_rig *r = s->own;
    const size_t sets = (size_t)s->rotation.sets;
    RIDGE_TRY(ridge_team_create(s->job->threads, s->job->cpus, &s->team, error));
    RIDGE_TRY(ridge_stream_create(2 * (int)sets + 2, &r->stream, error));
    RIDGE_TRY(ridge_cuda_alloc(s->rotation.stride * (sets + 1), &r->arena, error));
    if (s->scratch_bytes) RIDGE_TRY(ridge_cuda_alloc(s->scratch_bytes, &r->scratch, error));
    RIDGE_TRY(ridge_cuda_alloc(RIDGE_GPU_SCAN_BYTES, &r->scan, error));
    for (int i = 0; i < 2; i++) {
        RIDGE_TRY(ridge_memory_alloc(s->rotation.set_bytes, &r->host[i], error));
        ridge_operands_place(&r->mirror[i], s->job->target, &s->job->c, &dense, r->host[i]);
    }
    r->sets = calloc(sets + 1, sizeof *r->sets);
    return r->sets ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu operand sets", sets);
}

static void cuda_close(ridge_sampler *s) {
    cuda_rig *r = s->own;
    if (!r) return;
    ridge_team_destroy(s->team);
    ridge_nvml_close(r->nvml);
    ridge_stream_destroy(r->stream);
    for (int w = 0; w <= RIDGE_IN_MANAGED; w++)
        ridge_where_free((ridge_where)w, r->elsewhere[w], s->rotation.set_bytes);
    if (r->gpu.sm) {
        ridge_cuda_free(r->arena);
        ridge_cuda_free(r->scratch);
        ridge_cuda_free(r->scan);
    }
    for (int i = 0; i < 2; i++) ridge_memory_free(r->host[i], s->rotation.set_bytes);
    free(r->sets);
    free(r);
}

static ridge_status cuda_fill(ridge_sampler *s, int set, uint64_t seed, ridge_error *error) {
    cuda_rig *r = s->own;
    char *memory = (char *)r->arena + (size_t)set * s->rotation.stride + ridge_sampler_shift(s, seed);
    ridge_gpu_operands_place(&r->sets[set], s->job->target, &s->job->c, &dense, memory);
    r->sets[set].user = s->job->user;
    return ridge_gpu_fill(&r->sets[set], seed, r->stream, error);
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

static ridge_call call_of(const ridge_sampler *s, int index, const ridge_operands *ops) {
    const cuda_rig *r = s->own;
    return (ridge_call){.dim = ops->c.dim,
                        .dtype = ops->c.dtype,
                        .option = ops->c.option,
                        .in = ops->in,
                        .out = ops->out,
                        .scratch = r->scratch,
                        .stream = ridge_stream_handle(r->stream),
                        .plan = s->slots[index].plan};
}

static ridge_status enqueue_on(ridge_sampler *s, int index, const ridge_operands *ops) {
    ridge_slot *slot = &s->slots[index];
    const ridge_call call = call_of(s, index, ops);
    (void)ridge_why(); /* clears the reason of earlier launches */
    return ridge_variant_run_way(s->job->target, slot->variant, &s->job->here, &call, &slot->way);
}

static ridge_status enqueue(ridge_sampler *s, int index, int set) {
    return enqueue_on(s, index, &((const cuda_rig *)s->own)->sets[set]);
}

/* What a peer in Python does before the clock. */
static ridge_status bind(ridge_sampler *s, int index, int set) {
    if (!ridge_python_is(s->slots[index].variant)) return RIDGE_OK;
    const ridge_call call = call_of(s, index, &((const cuda_rig *)s->own)->sets[set]);
    return ridge_python_bind(&call);
}

static ridge_status enqueue_bound(ridge_sampler *s, int index, int set) {
    ridge_slot *slot = &s->slots[index];
    const uint64_t begin = ridge_clock_ns();
    const ridge_status status = enqueue(s, index, set);
    const double us = (double)(ridge_clock_ns() - begin) * 1e-3;
    if (ridge_python_is(slot->variant) && (slot->host_us <= 0 || us < slot->host_us)) slot->host_us = us;
    return status;
}

/* A launch in Python whose host code takes longer than the delay of a batch allows for waits behind a delay of its own: its kernels
 * then follow each other as fast as the GPU takes them. */
static ridge_status allow_for_host(ridge_sampler *s, int index, ridge_error *error) {
    const ridge_slot *slot = &s->slots[index];
    if (!(slot->host_us > enqueue_us)) return RIDGE_OK;
    return ridge_stream_delay(((const cuda_rig *)s->own)->stream, 2 * slot->host_us, error);
}

static bool is_elsewhere(const ridge_sampler *s, int slot) {
    const ridge_variant *v = s->slots[slot].variant;
    return v && v->where != RIDGE_IN_DEVICE;
}

/* Ends the worker if a kernel left a sticky error. The error belongs to `slot`, or to some slot of the batch (-1). */
static void survive(const ridge_sampler *s, int slot) {
    const cuda_rig *r = s->own;
    bool sticky = false;
    ridge_error error = {0};
    ridge_status waited = ridge_stream_wait(r->stream, &error);
    if (waited == RIDGE_OK) waited = ridge_cuda_check(&sticky, &error);
    if (waited == RIDGE_OK) return;
    char text[240], shape[96] = "";
    for (int d = 0, n = 0; d < ridge_target_rank(s->job->target) && n < (int)sizeof shape - 24; d++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", d ? "x" : "", (long long)s->job->c.dim[d]);
    (void)snprintf(text, sizeof text, "%.120s, in %.32s of %.32s %s/%s", error.text,
                   slot < 0 ? "a batch" : s->slots[slot].variant->name, s->job->target->name, shape,
                   ridge_dtype_name(s->job->c.dtype));
    ridge_sampler_give_up(s, slot, text);
}

/* A variant whose tensors are outside device memory. The CPU writes the set to its memory before the launch. The clock
 * runs until all work that run() enqueued is done. The whole set is then copied back to device memory, where it is
 * checked like any other. */
static ridge_status launch_elsewhere(ridge_sampler *s, int slot, int set, ridge_status *status, double *time_us,
                                     ridge_error *error) {
    cuda_rig *r = s->own;
    const ridge_where where = s->slots[slot].variant->where;
    const ridge_operands *ops = &r->sets[set];
    void **memory = &r->elsewhere[where];
    ridge_operands there;
    if (!*memory) RIDGE_TRY(ridge_where_alloc(where, s->rotation.set_bytes, memory, error));
    RIDGE_TRY(ridge_stream_wait(r->stream, error));
    RIDGE_TRY(ridge_gpu_fetch(ops, &r->mirror[1], NULL, error));
    memcpy(*memory, r->mirror[1].memory, ops->bytes);
    ridge_where_place(&there, where, s->job->target, &s->job->c, &dense, *memory);
    if (s->job->hot) {
        (void)enqueue_on(s, slot, &there);
        survive(s, s->slots[slot].of);
        memcpy(*memory, r->mirror[1].memory, ops->bytes);
    }
    uint64_t begin = ridge_clock_ns();
    *status = enqueue_on(s, slot, &there);
    survive(s, s->slots[slot].of);
    *time_us = (double)(ridge_clock_ns() - begin) * 1e-3;
    memcpy(r->mirror[1].memory, *memory, ops->bytes);
    return ridge_cuda_copy(ops->memory, r->mirror[1].memory, ops->bytes, error);
}

static ridge_status cuda_launch(ridge_sampler *s, int slot, int set, ridge_status *status, double *time_us,
                                ridge_error *error) {
    cuda_rig *r = s->own;
    ridge_sampler_watch(s, slot);
    if (is_elsewhere(s, slot)) {
        RIDGE_TRY(launch_elsewhere(s, slot, set, status, time_us, error));
        ridge_sampler_watch(s, -1);
        return RIDGE_OK;
    }
    RIDGE_TRY(ridge_stream_wait(r->stream, error)); /* the fill */
    *status = bind(s, slot, set);
    RIDGE_TRY(ridge_stream_record(r->stream, 0, error));
    if (*status == RIDGE_OK) *status = enqueue_bound(s, slot, set);
    RIDGE_TRY(ridge_stream_record(r->stream, 1, error));
    survive(s, slot);
    ridge_sampler_watch(s, -1);
    return ridge_stream_elapsed(r->stream, 0, 1, time_us, error);
}

static ridge_status capture(ridge_sampler *s, ridge_launch *l, ridge_error *error) {
    cuda_rig *r = s->own;
    ridge_graph *graph = NULL;
    RIDGE_TRY(ridge_graph_begin(r->stream, error));
    for (int i = 0; i < s->slots[l->slot].sets && l->status == RIDGE_OK; i++)
        l->status = enqueue(s, l->slot, l->set + i);
    ridge_status ended = ridge_graph_end(r->stream, &graph, error);
    l->graph = graph;
    if (l->status != RIDGE_OK) return RIDGE_OK; /* an error of the variant, reported as such */
    return ended;
}

static ridge_status enqueue_timed(ridge_sampler *s, ridge_launch *l, int i, ridge_error *error) {
    cuda_rig *r = s->own;
    if (is_elsewhere(s, l->slot)) return launch_elsewhere(s, l->slot, l->set, &l->status, &l->sample.time_us, error);
    if (!l->graph) {
        l->status = l->status == RIDGE_OK ? bind(s, l->slot, l->set) : l->status;
        RIDGE_TRY(allow_for_host(s, l->slot, error));
    }
    RIDGE_TRY(ridge_stream_record(r->stream, 2 * i, error));
    if (l->graph && l->status == RIDGE_OK) RIDGE_TRY(ridge_graph_launch(l->graph, r->stream, error));
    if (!l->graph && l->status == RIDGE_OK) l->status = enqueue_bound(s, l->slot, l->set);
    RIDGE_TRY(ridge_stream_record(r->stream, 2 * i + 1, error));
    if (s->io->careful) survive(s, s->slots[l->slot].of);
    return RIDGE_OK;
}

static ridge_status read_times(ridge_sampler *s, ridge_launch *batch, int n, ridge_error *error) {
    cuda_rig *r = s->own;
    for (int i = 0; i < n; i++) {
        ridge_slot *slot = &s->slots[batch[i].slot];
        if (is_elsewhere(s, batch[i].slot)) continue;
        RIDGE_TRY(ridge_stream_elapsed(r->stream, 2 * i, 2 * i + 1, &batch[i].sample.time_us, error));
        if (slot->kind == RIDGE_SLOT_GRAPH)
            batch[i].sample.time_us /= slot->sets;
        else
            ridge_sampler_estimate(slot, batch[i].sample.time_us);
    }
    return RIDGE_OK;
}

/* --hot: an untimed launch on the timed set, which is then refilled in place. The fill leaves the operands in L2, which
 * serves all SMs. */
static ridge_status warm_up(ridge_sampler *s, ridge_launch *l, ridge_error *error) {
    cuda_rig *r = s->own;
    if (is_elsewhere(s, l->slot) || l->status != RIDGE_OK) return RIDGE_OK;
    if (l->graph)
        RIDGE_TRY(ridge_graph_launch(l->graph, r->stream, error));
    else
        l->status = enqueue(s, l->slot, l->set);
    survive(s, s->slots[l->slot].of);
    l->sample.seed = ridge_sampler_next_seed(s);
    return ridge_gpu_fill(&r->sets[l->set], l->sample.seed, r->stream, error);
}

static ridge_status time_batch(ridge_sampler *s, ridge_launch *batch, int n, ridge_error *error) {
    cuda_rig *r = s->own;
    for (int i = 0; i < n; i++)
        if (s->slots[batch[i].slot].kind == RIDGE_SLOT_GRAPH) RIDGE_TRY(capture(s, &batch[i], error));
    for (int i = 0; i < n && s->job->hot; i++) RIDGE_TRY(warm_up(s, &batch[i], error));
    RIDGE_TRY(ridge_stream_wait(r->stream, error));
    RIDGE_TRY(ridge_stream_delay(r->stream, enqueue_us * (n + 4), error));
    for (int i = 0; i < n; i++) RIDGE_TRY(enqueue_timed(s, &batch[i], i, error));
    ridge_gpu_state state = {0};
    survive(s, s->io->careful && n == 1 ? s->slots[batch[0].slot].of : -1);
    ridge_nvml_read(r->nvml, &state);
    for (int i = 0; i < n; i++) batch[i].sample.gpu = state;
    return read_times(s, batch, n, error);
}

static ridge_status cuda_time(ridge_sampler *s, ridge_launch *batch, int n, ridge_error *error) {
    ridge_sampler_watch(s, n > 0 ? s->slots[batch[0].slot].of : -1);
    ridge_status status = time_batch(s, batch, n, error);
    for (int i = 0; i < n; i++) ridge_graph_destroy(batch[i].graph);
    ridge_sampler_watch(s, -1);
    return status;
}

/* ---- verdicts --------------------------------------------------------------------------------------------------- */

static ridge_status cuda_check(ridge_sampler *s, int set, uint64_t row_seed, int64_t rows, ridge_check *check,
                               ridge_error *error) {
    cuda_rig *r = s->own;
    const ridge_operands *ops = &r->sets[set];
    if (rows >= 0)
        return ridge_gpu_check_sample(ops, &r->mirror[0], r->scan, row_seed, rows, r->stream, s->team, check, error);
    RIDGE_TRY(ridge_gpu_fetch(ops, &r->mirror[0], NULL, error));
    return ridge_check_full(&r->mirror[0], s->team, check, error);
}

static ridge_status cuda_agree(ridge_sampler *s, int a, int b, ridge_agreement *agreement, ridge_error *error) {
    cuda_rig *r = s->own;
    RIDGE_TRY(ridge_gpu_fetch(&r->sets[a], &r->mirror[0], NULL, error));
    RIDGE_TRY(ridge_gpu_fetch(&r->sets[b], &r->mirror[1], NULL, error));
    return ridge_check_agree(&r->mirror[0], &r->mirror[1], s->team, agreement, error);
}

/* Times an empty kernel between two events, and per empty kernel in a graph of many. */
static ridge_status time_empty(cuda_rig *r, double *event_us, double *graph, ridge_error *error) {
    ridge_graph *g = NULL;
    RIDGE_TRY(ridge_stream_wait(r->stream, error));
    RIDGE_TRY(ridge_graph_begin(r->stream, error));
    for (int i = 0; i < FRAME_GRAPH; i++) RIDGE_TRY(ridge_stream_empty(r->stream, error));
    ridge_status status = ridge_graph_end(r->stream, &g, error);
    if (status == RIDGE_OK) status = ridge_stream_wait(r->stream, error);
    if (status == RIDGE_OK) status = ridge_stream_delay(r->stream, 4 * enqueue_us, error);
    if (status == RIDGE_OK) status = ridge_stream_record(r->stream, 0, error);
    if (status == RIDGE_OK) status = ridge_stream_empty(r->stream, error);
    if (status == RIDGE_OK) status = ridge_stream_record(r->stream, 1, error);
    if (status == RIDGE_OK) status = ridge_graph_launch(g, r->stream, error);
    if (status == RIDGE_OK) status = ridge_stream_record(r->stream, 2, error);
    if (status == RIDGE_OK) status = ridge_stream_wait(r->stream, error);
    if (status == RIDGE_OK) status = ridge_stream_elapsed(r->stream, 0, 1, event_us, error);
    if (status == RIDGE_OK) status = ridge_stream_elapsed(r->stream, 1, 2, graph, error);
    *graph /= FRAME_GRAPH;
    ridge_graph_destroy(g);
    return status;
}

static ridge_status cuda_frame(ridge_sampler *s, ridge_error *error) {
    double events[FRAME_LAUNCHES], graphs[FRAME_LAUNCHES];
    for (int i = 0; i < FRAME_LAUNCHES; i++) RIDGE_TRY(time_empty(s->own, &events[i], &graphs[i], error));
    ridge_event frame = {.kind = RIDGE_EVENT_FRAME, .slot = -1, .value = ridge_median(events, FRAME_LAUNCHES)};
    ridge_sampler_send(s, &frame);
    ridge_event floor = {.kind = RIDGE_EVENT_GRAPH_FRAME, .slot = -1, .value = ridge_median(graphs, FRAME_LAUNCHES)};
    ridge_sampler_send(s, &floor);
    return RIDGE_OK;
}

/* One graph slot per variant. Its graph repeats short launches, each on its own set. */
static ridge_status cuda_companions(ridge_sampler *s, ridge_error *error) {
    (void)error;
    const int n = s->job->n_variants;
    for (int i = 0; i < n; i++) {
        const ridge_slot *slot = &s->slots[i];
        if (!slot->active || slot->variant->no_graph || is_elsewhere(s, i)) continue;
        double want = graph_us / (slot->estimate_us > 1 ? slot->estimate_us : 1) + 1;
        int sets = want < s->rotation.sets ? (int)want : s->rotation.sets;
        s->slots[n + 1 + i] = (ridge_slot){.kind = RIDGE_SLOT_GRAPH,
                                           .variant = slot->variant,
                                           .of = i,
                                           .plan = slot->plan,
                                           .active = true,
                                           .sets = sets};
        s->slots[n + 1 + i].times = malloc(RIDGE_MAX_SAMPLES * sizeof(double));
        if (!s->slots[n + 1 + i].times) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for samples");
    }
    return RIDGE_OK;
}

const ridge_rig ridge_rig_cuda = {
    .open = cuda_open,
    .allocate = cuda_allocate,
    .close = cuda_close,
    .frame = cuda_frame,
    .fill = cuda_fill,
    .launch = cuda_launch,
    .time = cuda_time,
    .check = cuda_check,
    .agree = cuda_agree,
    .companions = cuda_companions,
};
