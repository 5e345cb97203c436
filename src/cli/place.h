/* Variants run in this process, untimed and unverified, on dense operands: what ridge launch and ridge asm share. */
#ifndef RIDGE_CLI_PLACE_H
#define RIDGE_CLI_PLACE_H

#include "cli/select.h"
#include "device/cuda.h"

/* A variant with all that a run of it needs. Without the operands' values where they were not asked for. */
typedef struct ridge_placed {
    const ridge_lab_item *item;
    const ridge_variant *variant;
    const ridge_abilities *here;
    const char *obstacle; /* why it cannot run here, NULL: it can. With one there is no call. */
    ridge_call call;
    ridge_stream *stream; /* NULL: on a CPU */
} ridge_placed;

typedef ridge_status (*ridge_placed_fn)(void *context, const ridge_placed *placed, ridge_error *error);

/* Calls `act` for each variant of each selected case, until it fails. fill: operands get the values of --seed. */
ridge_status ridge_place_each(const ridge_options *options, ridge_selection *selection, bool fill, ridge_placed_fn act,
                              void *context, ridge_error *error);

#endif
