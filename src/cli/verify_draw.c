/* Which cases each variant is asked about when --cases draws a few of them. */
#include <stdlib.h>

#include "cli/verification.h"
#include "core/random.h"
#include "verify/combination.h"

/* Two of the largest tiles of any kernel, and a tail. */
enum { TILED = 2 * 128 + 1 };

/* A case that a variant takes. */
typedef struct candidate {
    ridge_lab_item *item;
    int tiled;       /* extents of at least TILED */
    double cost;     /* of the oracle */
    uint64_t ticket; /* at random */
} candidate;

static bool takes(const ridge_verification *v, const ridge_lab_item *item, int variant) {
    const ridge_question q = ridge_verification_question(v, item, variant, v->machine.isa);
    if (ridge_variant_obstacle(q.variant, &q.c, &q.here)) return false;
    return q.variant->n_ways == 0 || ridge_combinations_taken(q.target, q.variant, &q.c, &q.here) > 0;
}

static int by_tiles(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->tiled != y->tiled) return x->tiled > y->tiled ? -1 : 1;
    return (x->cost > y->cost) - (x->cost < y->cost);
}

static int by_ticket(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return (x->ticket > y->ticket) - (x->ticket < y->ticket);
}

static int place_of(const ridge_lab_item *item, int variant) {
    for (int k = 0; k < item->n_variants; k++)
        if (item->variants[k] == variant) return k;
    return -1;
}

static void drop(ridge_verification *v, ridge_lab_item *item, int variant) {
    const int place = place_of(item, variant);
    ridge_lab_item *spare = &v->spare[v->n_spare++];
    *spare = *item;
    spare->variants[0] = variant, spare->n_variants = 1;
    item->n_variants--;
    for (int k = place; k < item->n_variants; k++) item->variants[k] = item->variants[k + 1];
}

/* Of n items of one target and backend: keeps the variant in `most` of those items of one type that it takes. Items that it
 * refuses stay: they cost nothing, and the reason is reported. */
static void draw(ridge_verification *v, ridge_lab_item *items, int n, int variant, ridge_dtype dtype, int most,
                 candidate *list) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        ridge_lab_item *item = &items[i];
        if (item->c.dtype != dtype || place_of(item, variant) < 0 || !takes(v, item, variant)) continue;
        candidate *one = &list[found];
        *one = (candidate){
            .item = item,
            .cost = ridge_check_full_cost(item->target, &item->c),
            .ticket = ridge_random(v->options->seed, (uint64_t)i * RIDGE_LAB_MAX_VARIANTS + (uint64_t)variant)};
        for (int d = 0; d < ridge_target_rank(item->target); d++) one->tiled += item->c.dim[d] >= TILED;
        found++;
    }
    if (found <= most) return;
    qsort(list, (size_t)found, sizeof *list, by_tiles);
    qsort(list + 1, (size_t)(found - 1), sizeof *list, by_ticket);
    for (int i = most; i < found; i++) drop(v, list[i].item, variant);
}

static void draw_target(ridge_verification *v, ridge_lab_item *items, int n, int most, candidate *list) {
    for (int variant = 0; variant < items->target->n_variants; variant++)
        for (int dtype = 0; dtype < RIDGE_DTYPE_COUNT; dtype++)
            draw(v, items, n, variant, (ridge_dtype)dtype, most, list);
}

ridge_status ridge_verify_draw(ridge_verification *v, ridge_selection *s, int most, ridge_error *error) {
    candidate *list = malloc((size_t)s->n * sizeof *list);
    int kept = 0, pairs = 0;
    for (int i = 0; i < s->n; i++) pairs += s->items[i].n_variants;
    v->spare = calloc((size_t)pairs + 1, sizeof *v->spare);
    if (!list || !v->spare) {
        free(list);
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory to draw cases");
    }
    for (int i = 0, n; i < s->n; i += n) {
        for (n = 1; i + n < s->n; n++)
            if (s->items[i + n].target != s->items[i].target || s->items[i + n].backend != s->items[i].backend) break;
        draw_target(v, &s->items[i], n, most, list);
    }
    for (int i = 0; i < s->n; i++)
        if (s->items[i].n_variants > 0) s->items[kept++] = s->items[i];
    s->n = kept;
    free(list);
    return RIDGE_OK;
}
