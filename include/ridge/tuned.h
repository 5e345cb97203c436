/* Ways that were measured to be faster than the predicted ones: `ridge tune` writes them, a context reads them.
 *
 * The file is text, with one line for each case. Fields are separated by blanks:
 *
 *     ridge-tuned 1
 *     DEVICE     TARGET       VARIANT        WAY       TYPE EXTENTS LAYOUT OPTIONS
 *     sm90x132   fused_l2norm cuda/optimized rows_warp f32  64x1024 0      -
 *
 * DEVICE is the compute capability and the number of SMs, or the instruction set and the number of threads (avx2x8).
 * LAYOUT is ridge_case.column_major, OPTIONS the values of the target's options, separated by commas. Lines that begin
 * with # are comments. A line whose target, variant or way this build does not have is skipped: it is of another
 * version. */
#ifndef RIDGE_TUNED_H
#define RIDGE_TUNED_H

#include "ridge/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ridge_tuned ridge_tuned;

/* NULL: no memory. Freeing NULL does nothing. */
RIDGE_API ridge_tuned *ridge_tuned_new(void);
RIDGE_API void ridge_tuned_free(ridge_tuned *tuned);

/* Adds the lines of a file's text; the last of several on one case counts. RIDGE_CORRUPT, with the line: another
 * format. name is for the error text. */
RIDGE_API ridge_status ridge_tuned_parse(ridge_tuned *tuned, const char *text, size_t size, const char *name,
                                         ridge_error *error);
/* The text of a file. The caller frees *text. */
RIDGE_API ridge_status ridge_tuned_text(const ridge_tuned *tuned, char **text, size_t *size, ridge_error *error);

/* $XDG_CONFIG_HOME/ridge/tuned or ~/.config/ridge/tuned. RIDGE_NOT_FOUND: neither variable is set. */
RIDGE_API ridge_status ridge_tuned_path(char *path, size_t size, ridge_error *error);
/* ridge_tuned_parse on a file. RIDGE_NOT_FOUND: there is none. */
RIDGE_API ridge_status ridge_tuned_read(ridge_tuned *tuned, const char *path, ridge_error *error);

/* From now on the variant takes this way for the case. way NULL: the predicted one. */
RIDGE_API ridge_status ridge_tuned_set(ridge_tuned *tuned, const struct ridge_target *target,
                                       const ridge_variant *variant, const ridge_case *c, const ridge_abilities *here,
                                       const ridge_way *way, ridge_error *error);
/* The way of the variant for this problem; NULL: none was measured. It may refuse the problem's strides or alignment.
 */
RIDGE_API const ridge_way *ridge_tuned_way(const ridge_tuned *tuned, const ridge_variant *variant,
                                           const ridge_problem *problem);
RIDGE_API int ridge_tuned_count(const ridge_tuned *tuned);
/* Another one after every change, and for every other ridge_tuned of the process; never 0. */
RIDGE_API uint64_t ridge_tuned_number(const ridge_tuned *tuned);

#ifdef __cplusplus
}
#endif
#endif
