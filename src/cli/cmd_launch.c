/* ridge launch: runs variants in this process, once and untimed, for external profilers and debuggers. Only GPU
 * launches are between cudaProfilerStart and cudaProfilerStop: filling the operands is not profiled. */
#include <stdlib.h>

#include "cli/bench.h"
#include "cli/say.h"
#include "device/device.h"
#include "verify/on_gpu.h"

static const ridge_layout dense = {0};

/* What a launch needs on either backend. */
typedef struct place {
    ridge_backend backend;
    ridge_stream *stream;
    ridge_team *team;
    void *memory, *scratch, *plan;
    size_t bytes, scratch_bytes;
    ridge_operands ops;
    int launched; /* variants */
} place;

static ridge_status get(const place *p, size_t bytes, void **memory, ridge_error *error) {
    return p->backend == RIDGE_BACKEND_cuda ? ridge_cuda_alloc(bytes, memory, error)
                                            : ridge_memory_alloc(bytes, memory, error);
}

static void give(const place *p, void *memory, size_t bytes) {
    if (!memory) return;
    if (p->backend == RIDGE_BACKEND_cuda)
        ridge_cuda_free(memory);
    else
        ridge_memory_free(memory, bytes);
}

static ridge_status fill(place *p, const ridge_target *target, const ridge_case *c, uint64_t seed, ridge_error *error) {
    RIDGE_TRY(ridge_operands_bytes(target, c, &dense, &p->bytes, error));
    RIDGE_TRY(get(p, p->bytes, &p->memory, error));
    if (p->backend == RIDGE_BACKEND_cuda) {
        ridge_gpu_operands_place(&p->ops, target, c, &dense, p->memory);
        return ridge_gpu_fill(&p->ops, seed, p->stream, error);
    }
    ridge_operands_place(&p->ops, target, c, &dense, p->memory);
    ridge_operands_fill(&p->ops, RIDGE_RANDOM, seed, p->team);
    return RIDGE_OK;
}

static ridge_status run_there(place *p, const ridge_variant *variant, const ridge_abilities *here, int times,
                              ridge_error *error) {
    const ridge_call call = {.dim = p->ops.c.dim,
                             .dtype = p->ops.c.dtype,
                             .option = p->ops.c.option,
                             .in = p->ops.in,
                             .out = p->ops.out,
                             .scratch = p->scratch,
                             .team = p->team,
                             .stream = p->stream ? ridge_stream_handle(p->stream) : NULL,
                             .plan = p->plan};
    ridge_status status = RIDGE_OK;
    if (p->stream) RIDGE_TRY(ridge_stream_wait(p->stream, error));
    ridge_cuda_profile(p->stream != NULL);
    for (int i = 0; i < times && status == RIDGE_OK; i++)
        status = ridge_variant_run(p->ops.target, variant, here, &call);
    if (status != RIDGE_OK) return ridge_fail(error, status, "%s: %s", variant->name, ridge_status_string(status));
    if (p->stream) RIDGE_TRY(ridge_stream_wait(p->stream, error));
    ridge_cuda_profile(false);
    return RIDGE_OK;
}

static ridge_status launch_in(place *p, const ridge_lab_item *item, const ridge_variant *variant,
                              const ridge_abilities *here, const ridge_options *o, ridge_error *error) {
    const int threads = ridge_team_size(p->team);
    RIDGE_TRY(fill(p, item->target, &item->c, o->seed, error));
    if (variant->prepare && variant->prepare(&item->c, threads, &p->plan) != RIDGE_OK)
        return ridge_fail(error, RIDGE_FAILED, "%s could not be prepared", variant->name);
    p->scratch_bytes = ridge_variant_dense_scratch(item->target, variant, &item->c, here, threads);
    if (p->scratch_bytes) RIDGE_TRY(get(p, p->scratch_bytes, &p->scratch, error));
    return run_there(p, variant, here, o->iterations ? o->iterations : 1, error);
}

static ridge_status launch_one(const ridge_lab_item *item, const ridge_variant *variant, const ridge_abilities *here,
                               place *p, const ridge_options *o, ridge_error *error) {
    char name[RIDGE_CASE_NAME];
    const ridge_page said = ridge_say_page(o), *page = &said;
    ridge_case_name(item->target, &item->c, name, sizeof name);
    const char *why = ridge_variant_dense_obstacle(item->target, variant, &item->c, here);
    if (why) {
        ridge_page_say(page, "%s %s %s: skipped: %s\n", item->target->name, name, variant->name, why);
        return RIDGE_OK;
    }
    ridge_status status = launch_in(p, item, variant, here, o, error);
    if (p->plan && variant->release) variant->release(p->plan);
    give(p, p->memory, p->bytes);
    give(p, p->scratch, p->scratch_bytes);
    p->memory = p->scratch = p->plan = NULL;
    if (status != RIDGE_OK) return status;
    p->launched++;
    ridge_page_say(page, "%s %s %s: launched, not verified\n", item->target->name, name, variant->name);
    return RIDGE_OK;
}

static ridge_status launch_all(const ridge_options *o, ridge_selection *s, place *p, ridge_error *error) {
    static ridge_machine machine;
    ridge_isa isa;
    int threads;
    RIDGE_TRY(ridge_machine_detect(&machine, error));
    RIDGE_TRY(ridge_selection_fit(o, &machine, s, error));
    RIDGE_TRY(ridge_bench_isa(o, &machine, &isa, error));
    RIDGE_TRY(ridge_bench_threads(o, &machine, &threads, error));
    RIDGE_TRY(ridge_team_create(threads, machine.cpus, &p->team, error));
    const ridge_abilities here = ridge_machine_abilities(&machine, isa);
    for (int i = 0; i < s->n; i++) {
        const ridge_lab_item *item = &s->items[i];
        p->backend = item->backend;
        if (item->backend == RIDGE_BACKEND_cuda && here.sm && !p->stream) {
            ridge_gpu gpu;
            RIDGE_TRY(ridge_cuda_open(&gpu, error));
            RIDGE_TRY(ridge_stream_create(0, &p->stream, error));
        }
        for (int v = 0; v < item->n_variants; v++)
            RIDGE_TRY(launch_one(item, &item->target->variants[item->variants[v]], &here, p, o, error));
    }
    return RIDGE_OK;
}

int ridge_cmd_launch(const ridge_options *o) {
    place p = {0};
    ridge_selection selection;
    ridge_error error = {0};
    ridge_status status = ridge_select(o, false, &selection, &error);
    if (status == RIDGE_OK) status = launch_all(o, &selection, &p, &error);
    ridge_stream_destroy(p.stream);
    ridge_team_destroy(p.team);
    ridge_selection_free(&selection);
    if (status != RIDGE_OK) return ridge_complain(&error);
    if (p.launched > 0) return RIDGE_EXIT_OK;
    ridge_say("nothing was launched");
    return RIDGE_EXIT_USAGE;
}
