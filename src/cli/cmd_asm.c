/* ridge asm: captures variants and shows what the compiler made of the kernels that they launch. */
#include <stdlib.h>
#include <string.h>

#include "cli/kernel_text.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/say.h"
#include "record/json.h"
#include "report/report.h"

typedef struct captured {
    ridge_kernel_record *kernels;
    int n, capacity, sm;
    const ridge_placed *placed; /* whose kernels are noted */
    char skipped[256];          /* why something was, the last time */
} captured;

static bool is_noted(const captured *all, const ridge_kernel_record *k) {
    for (int i = 0; i < all->n; i++) {
        const ridge_kernel_record *other = &all->kernels[i];
        if (other->target != k->target || other->variant != k->variant || other->way != k->way) continue;
        if (k->kernel.name == other->kernel.name) return true;
        if (k->kernel.name && other->kernel.name && strcmp(k->kernel.name, other->kernel.name) == 0) return true;
    }
    return false;
}

static ridge_status note(void *context, const ridge_gpu_kernel *kernel, ridge_error *error) {
    captured *all = context;
    const ridge_placed *p = all->placed;
    const ridge_kernel_record k = {.target = p->item->target,
                                   .c = &p->item->c,
                                   .variant = p->variant,
                                   .way = ridge_variant_dense_way(p->item->target, p->variant, &p->item->c, p->here),
                                   .kernel = *kernel};
    if (is_noted(all, &k)) return RIDGE_OK;
    if (all->n == all->capacity) {
        const int capacity = 2 * all->capacity + 16;
        ridge_kernel_record *more = realloc(all->kernels, (size_t)capacity * sizeof *more);
        if (!more) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d kernels", capacity);
        all->kernels = more, all->capacity = capacity;
    }
    all->kernels[all->n++] = k;
    return RIDGE_OK;
}

/* The graph of one run, which is not launched. */
static ridge_status capture(void *context, const ridge_placed *p, ridge_error *error) {
    captured *all = context;
    ridge_graph *graph = NULL;
    if (!p->obstacle && p->variant->no_graph) (void)snprintf(all->skipped, sizeof all->skipped, "not as a graph");
    if (p->obstacle) (void)snprintf(all->skipped, sizeof all->skipped, "%s", p->obstacle);
    if (p->obstacle || p->variant->no_graph) return RIDGE_OK;
    all->placed = p, all->sm = p->here->sm;
    RIDGE_TRY(ridge_graph_begin(p->stream, error));
    const ridge_status ran = ridge_variant_run(p->item->target, p->variant, p->here, &p->call);
    ridge_status status = ridge_graph_end(p->stream, &graph, error);
    if (ran != RIDGE_OK)
        status = ridge_fail(error, ran, "%s %s could not be captured: %s", p->item->target->name, p->variant->name,
                            ridge_status_string(ran));
    if (status == RIDGE_OK) status = ridge_graph_kernels(graph, note, all, error);
    ridge_graph_destroy(graph);
    return status;
}

static void print_texts(const captured *all, ridge_code code, const ridge_page *page) {
    for (int i = 0; i < all->n; i++)
        if (all->kernels[i].in[code].text) fprintf(page->tables, "\n%s", all->kernels[i].in[code].text);
}

static ridge_status show(const ridge_options *o, const captured *all, ridge_error *error) {
    const ridge_page page = ridge_say_page(o);
    if (o->json) {
        json_t *json = ridge_json_kernels(all->kernels, all->n, o->text >= 0);
        if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for JSON");
        const ridge_status status = ridge_write_json(o->json, json, error);
        json_decref(json);
        RIDGE_TRY(status);
    }
    ridge_report_asm(all->kernels, all->n, &page);
    if (o->text >= 0) print_texts(all, (ridge_code)o->text, &page);
    return RIDGE_OK;
}

static ridge_status find_and_show(const ridge_options *o, ridge_selection *selection, captured *all,
                                  ridge_error *error) {
    RIDGE_TRY(ridge_output_check(o, error));
    RIDGE_TRY(ridge_place_each(o, selection, false, capture, all, error));
    if (all->n == 0)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "no kernel is launched%s%s", all->skipped[0] ? ": " : "",
                          all->skipped);
    RIDGE_TRY(ridge_kernel_texts_find(all->kernels, all->n, all->sm, error));
    return show(o, all, error);
}

int ridge_cmd_asm(const ridge_options *typed) {
    ridge_options o = *typed;
    captured all = {0};
    ridge_selection selection = {0};
    ridge_error error = {0};
    o.backend = "cuda";
    ridge_status status = o.n_patterns ? RIDGE_OK : ridge_fail(&error, RIDGE_INVALID, "asm: name a target");
    if (status == RIDGE_OK) status = ridge_select(&o, false, &selection, &error);
    if (status == RIDGE_OK) status = find_and_show(&o, &selection, &all, &error);
    ridge_kernel_texts_free(all.kernels, all.n);
    free(all.kernels);
    ridge_selection_free(&selection);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}
