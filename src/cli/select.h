/* Selects cases by patterns, sizes, types and input files. */
#ifndef RIDGE_CLI_SELECT_H
#define RIDGE_CLI_SELECT_H

#include "cli/options.h"
#include "cli/peers.h"
#include "cli/ways.h"
#include "lab/lab.h"

typedef struct ridge_selection {
    ridge_lab_item *items;
    int n;
    ridge_user_input user[RIDGE_MAX_INPUTS]; /* from --input; data owned here */
    bool has_user;
    bool headlines;           /* not every case is wanted */
    ridge_expanded *expanded; /* copies of targets whose ways, or peers in Python, are variants of their own */
    int n_expanded;
    ridge_peers peers; /* of --peers */
    bool apart;        /* peers in Python are items of their own, behind the others of their backend */
} ridge_selection;

/* edges: also edge cases (verify). RIDGE_NOT_FOUND, with a message, if nothing is selected. The caller frees in every
 * case. */
ridge_status ridge_select(const ridge_options *options, bool edges, ridge_selection *selection, ridge_error *error);
/* Without a GPU, drops the GPU items unless --backend requests them. RIDGE_UNSUPPORTED if nothing is left. */
ridge_status ridge_selection_fit(const ridge_options *options, const ridge_machine *machine, ridge_selection *selection,
                                 ridge_error *error);
/* Of several targets, leaves one case for each target, backend and type (headline.c). Returns how many were left out. */
int ridge_selection_headlines(ridge_selection *selection);
void ridge_selection_free(ridge_selection *selection);
/* Whether it has peers in Python and nothing else, as those of a selection that has them apart. */
bool ridge_item_is_peers(const ridge_lab_item *item);

/* The parts of ridge_select that list needs: an empty selection, and targets replaced by copies with the peers of --peers,
 * which the selection owns. */
ridge_status ridge_selection_open(ridge_selection *selection, ridge_error *error);
ridge_status ridge_select_peers(const ridge_options *options, ridge_selection *selection, const ridge_target **targets,
                                int n, ridge_error *error);

/* Only the targets, n of them, in a list that the caller frees in every case; it must be NULL before. */
ridge_status ridge_select_targets(const ridge_options *options, const ridge_target ***targets, int *n,
                                  ridge_error *error);

/* For list: replaces targets by copies that have only the variants and cases that --variant, --backend and --dtype
 * leave, and drops those that have none. RIDGE_NOT_FOUND when none is left. The copies are in *copies, n of them; free
 * them with ridge_narrowed_free in every case. */
ridge_status ridge_narrow(const ridge_options *options, const ridge_target **targets, int *n, ridge_target **copies,
                          ridge_error *error);
void ridge_narrowed_free(ridge_target *copies);

#endif
