#include "cli/place.h"

#include "cli/bench.h"
#include "device/device.h"
#include "verify/on_gpu.h"

static const ridge_layout dense = {0};

/* What a variant needs on either backend. */
typedef struct place {
    ridge_stream *stream;
    ridge_team *team;
    void *memory, *scratch, *plan;
    size_t bytes, scratch_bytes;
    ridge_operands ops;
    uint64_t seed;
    bool fill;
} place;

static bool on_gpu(const ridge_lab_item *item) { return item->backend == RIDGE_BACKEND_cuda; }

static ridge_status get(const ridge_lab_item *item, size_t bytes, void **memory, ridge_error *error) {
    return on_gpu(item) ? ridge_cuda_alloc(bytes, memory, error) : ridge_memory_alloc(bytes, memory, error);
}

static void give(const ridge_lab_item *item, void *memory, size_t bytes) {
    if (!memory) return;
    if (on_gpu(item))
        ridge_cuda_free(memory);
    else
        ridge_memory_free(memory, bytes);
}

static ridge_status place_operands(place *p, const ridge_lab_item *item, ridge_error *error) {
    RIDGE_TRY(ridge_operands_bytes(item->target, &item->c, &dense, &p->bytes, error));
    RIDGE_TRY(get(item, p->bytes, &p->memory, error));
    if (on_gpu(item)) {
        ridge_gpu_operands_place(&p->ops, item->target, &item->c, &dense, p->memory);
        return p->fill ? ridge_gpu_fill(&p->ops, p->seed, p->stream, error) : RIDGE_OK;
    }
    ridge_operands_place(&p->ops, item->target, &item->c, &dense, p->memory);
    if (p->fill) ridge_operands_fill(&p->ops, RIDGE_RANDOM, p->seed, p->team);
    return RIDGE_OK;
}

static ridge_status place_all(place *p, ridge_placed *placed, ridge_error *error) {
    const ridge_lab_item *item = placed->item;
    const ridge_variant *variant = placed->variant;
    const int threads = ridge_team_size(p->team);
    RIDGE_TRY(place_operands(p, item, error));
    if (variant->prepare && variant->prepare(&item->c, threads, &p->plan) != RIDGE_OK)
        return ridge_fail(error, RIDGE_FAILED, "%s could not be prepared", variant->name);
    p->scratch_bytes = ridge_variant_dense_scratch(item->target, variant, &item->c, placed->here, threads);
    if (p->scratch_bytes) RIDGE_TRY(get(item, p->scratch_bytes, &p->scratch, error));
    placed->call = (ridge_call){.dim = p->ops.c.dim,
                                .dtype = p->ops.c.dtype,
                                .option = p->ops.c.option,
                                .in = p->ops.in,
                                .out = p->ops.out,
                                .scratch = p->scratch,
                                .team = p->team,
                                .stream = placed->stream ? ridge_stream_handle(placed->stream) : NULL,
                                .plan = p->plan};
    return RIDGE_OK;
}

static ridge_status place_one(place *p, ridge_placed *placed, ridge_placed_fn act, void *context, ridge_error *error) {
    const ridge_lab_item *item = placed->item;
    placed->obstacle = ridge_variant_dense_obstacle(item->target, placed->variant, &item->c, placed->here);
    if (placed->obstacle) return act(context, placed, error);
    ridge_status status = place_all(p, placed, error);
    if (status == RIDGE_OK) status = act(context, placed, error);
    if (p->plan && placed->variant->release) placed->variant->release(p->plan);
    give(item, p->memory, p->bytes);
    give(item, p->scratch, p->scratch_bytes);
    p->memory = p->scratch = p->plan = NULL;
    return status;
}

static ridge_status place_items(place *p, const ridge_selection *s, const ridge_abilities *here, ridge_placed_fn act,
                                void *context, ridge_error *error) {
    for (int i = 0; i < s->n; i++) {
        const ridge_lab_item *item = &s->items[i];
        if (on_gpu(item) && here->sm && !p->stream) {
            ridge_gpu gpu;
            RIDGE_TRY(ridge_cuda_open(&gpu, error));
            RIDGE_TRY(ridge_stream_create(0, &p->stream, error));
        }
        for (int v = 0; v < item->n_variants; v++) {
            ridge_placed placed = {.item = item,
                                   .variant = &item->target->variants[item->variants[v]],
                                   .here = here,
                                   .stream = on_gpu(item) ? p->stream : NULL};
            RIDGE_TRY(place_one(p, &placed, act, context, error));
        }
    }
    return RIDGE_OK;
}

static ridge_status place_on(place *p, const ridge_options *o, ridge_selection *s, ridge_placed_fn act, void *context,
                             ridge_error *error) {
    static ridge_machine machine;
    ridge_isa isa;
    int threads;
    RIDGE_TRY(ridge_machine_detect(&machine, error));
    RIDGE_TRY(ridge_selection_fit(o, &machine, s, error));
    RIDGE_TRY(ridge_bench_isa(o, &machine, &isa, error));
    RIDGE_TRY(ridge_bench_threads(o, &machine, &threads, error));
    RIDGE_TRY(ridge_team_create(threads, machine.cpus, &p->team, error));
    const ridge_abilities here = ridge_machine_abilities(&machine, isa);
    return place_items(p, s, &here, act, context, error);
}

ridge_status ridge_place_each(const ridge_options *o, ridge_selection *s, bool fill, ridge_placed_fn act, void *context,
                              ridge_error *error) {
    place p = {.seed = o->seed, .fill = fill};
    const ridge_status status = place_on(&p, o, s, act, context, error);
    ridge_stream_destroy(p.stream);
    ridge_team_destroy(p.team);
    return status;
}
