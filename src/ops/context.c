#include "ops/context.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"
#include "device/device.h"
#include "machine/identity/machine.h"

static int processors(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n;
}

ridge_status ridge_context_create(int threads, ridge_context **context, ridge_error *error) {
    if (!context) return ridge_fail(error, RIDGE_INVALID, "the place for the context is NULL");
    *context = NULL;
    if (threads < 0 || threads > RIDGE_MOST_THREADS)
        return ridge_fail(error, RIDGE_INVALID, "%d threads: a context has 1 to %d, or 0 for all", threads,
                          RIDGE_MOST_THREADS);
    ridge_context *c = calloc(1, sizeof *c);
    if (!c) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a context");
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++)
        if (ridge_isa_supported((ridge_isa)isa)) c->isa = (ridge_isa)isa;
    /* Not pinned: the program controls the affinity of its threads. */
    ridge_status status = ridge_team_create(threads ? threads : processors(), NULL, &c->team, error);
    if (status != RIDGE_OK) {
        free(c);
        return status;
    }
    *context = c;
    return RIDGE_OK;
}

/* Releases a plan with its device current, then restores the caller's device. A forked child cannot free GPU memory. */
static void drop_plan(ridge_prepared *p) {
    const bool gpu = p->device >= 0;
    ridge_error ignored;
    int previous = -1, sm = 0, sm_count = 0;
    if (p->plan && p->variant->release && !(gpu && ridge_cuda_lost())) {
        if (gpu) (void)ridge_cuda_enter(p->device, &previous, &sm, &sm_count, &ignored);
        p->variant->release(p->plan);
        if (gpu) ridge_cuda_leave(previous);
    }
    *p = (ridge_prepared){0};
}

void ridge_context_destroy(ridge_context *c) {
    if (!c) return;
    for (int i = 0; i < c->n_plans; i++) drop_plan(&c->plans[i]);
    ridge_memory_free(c->host.memory, c->host.bytes);
    for (int i = 0; i < RIDGE_GPUS; i++) {
        for (int k = 0; k < c->gpu[i].n_kept; k++) ridge_cuda_free(c->gpu[i].kept[k]);
        free(c->gpu[i].kept);
        if (c->gpu[i].memory) ridge_cuda_free(c->gpu[i].memory);
    }
    ridge_team_destroy(c->team);
    ridge_tuned_free(c->tuned);
    free(c);
}

void ridge_context_set_stream(ridge_context *c, void *stream) {
    if (c) c->stream = stream;
}

const char *ridge_context_last_way(const ridge_context *c) { return c && c->ran ? c->ran->name : NULL; }

void ridge_context_allow_tf32(ridge_context *c, bool allow) {
    if (c) c->tf32 = allow;
}

/* Gives up memory that is too small. A replay of a graph would read and write what is freed here. */
static ridge_status drop_scratch(ridge_scratch *s, bool gpu, ridge_error *error) {
    if (s->captured) {
        void **kept = realloc(s->kept, sizeof *kept * (size_t)(s->n_kept + 1));
        if (!kept) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a list of scratch memory");
        s->kept = kept;
        kept[s->n_kept++] = s->memory;
    } else if (gpu) {
        ridge_cuda_free(s->memory); /* waits for pending work that uses it */
    } else {
        ridge_memory_free(s->memory, s->bytes);
    }
    s->memory = NULL, s->bytes = 0, s->captured = false;
    return RIDGE_OK;
}

ridge_status ridge_context_scratch(ridge_context *c, ridge_place place, size_t bytes, void **memory,
                                   ridge_error *error) {
    const bool gpu = place.backend == RIDGE_BACKEND_cuda;
    if (gpu && (place.device < 0 || place.device >= RIDGE_GPUS))
        return ridge_fail(error, RIDGE_UNSUPPORTED, "GPU %d: only GPUs 0 to %d are served", place.device,
                          RIDGE_GPUS - 1);
    ridge_scratch *s = gpu ? &c->gpu[place.device] : &c->host;
    if (s->memory && s->bytes < bytes) RIDGE_TRY(drop_scratch(s, gpu, error));
    if (bytes > 0 && !s->memory) {
        RIDGE_TRY(gpu ? ridge_cuda_alloc(bytes, &s->memory, error) : ridge_memory_alloc(bytes, &s->memory, error));
        s->bytes = bytes;
    }
    if (gpu && bytes > 0 && !s->captured) s->captured = ridge_cuda_captures(c->stream);
    *memory = s->memory;
    return RIDGE_OK;
}

ridge_status ridge_context_plan(ridge_context *c, ridge_place place, const ridge_variant *variant,
                                const ridge_case *wanted, void **plan, ridge_error *error) {
    const int device = place.backend == RIDGE_BACKEND_cuda ? place.device : -1;
    *plan = NULL;
    if (!variant->prepare) return RIDGE_OK;
    for (int i = 0; i < c->n_plans; i++)
        if (c->plans[i].variant == variant && c->plans[i].device == device && ridge_case_same(&c->plans[i].c, wanted))
            return *plan = c->plans[i].plan, RIDGE_OK;
    (void)ridge_why(); /* clears the reason of an earlier call */
    ridge_status status = variant->prepare(wanted, ridge_team_size(c->team), plan);
    if (status != RIDGE_OK)
        return ridge_fail(error, status, "%s could not be prepared: %s%s", variant->name, ridge_status_string(status),
                          ridge_why());
    ridge_prepared *p = &c->plans[c->next_plan];
    drop_plan(p);
    *p = (ridge_prepared){variant, *wanted, device, *plan};
    c->next_plan = (c->next_plan + 1) % RIDGE_PLANS;
    if (c->n_plans < RIDGE_PLANS) c->n_plans++;
    return RIDGE_OK;
}
