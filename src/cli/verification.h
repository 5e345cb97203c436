/* State of `ridge verify`: what it prints and counts. */
#ifndef RIDGE_CLI_VERIFICATION_H
#define RIDGE_CLI_VERIFICATION_H

#include "cli/ask.h"
#include "cli/progress.h"
#include "cli/select.h"
#include "report/report.h"

typedef struct ridge_verification {
    const ridge_options *options;
    const ridge_selection *selection;
    ridge_machine machine;
    int threads;
    ridge_progress progress;
    ridge_page page;
    ridge_table *table;
    json_t *json;
    bool incomplete; /* an entry of json is missing: memory was out */
    char why[240];   /* no process could be asked: the reason */
    int passed, failed, skipped;
    ridge_lab_item
        *spare; /* what --cases left out, one variant each, in the order drawn: for ways that no drawn case ran */
    int n_spare;
} ridge_verification;

void ridge_verification_add(ridge_verification *v, json_t *entry);
ridge_question ridge_verification_question(const ridge_verification *v, const ridge_lab_item *item, int variant,
                                           ridge_isa isa);

/* Leaves each variant at most `most` cases of each type: that with the most extents of two tiles and a tail, the cheapest of
 * these, and others that the seed draws. What is left out goes to v->spare, which the caller frees. */
ridge_status ridge_verify_draw(ridge_verification *v, ridge_selection *s, int most, ridge_error *error);

/* Verifies every variant of the selection. A way that no case of a whole target ran counts as failed. */
ridge_table *ridge_verify_table(void);
void ridge_verify_all(ridge_verification *v);

/* Corrupts a right output of each target in every way of ridge_mutants, and counts what the check does not see. */
ridge_table *ridge_mutants_table(void);
void ridge_mutate_all(ridge_verification *v);

#endif
