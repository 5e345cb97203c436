/* Words that options and commands take, from the library's lists: for errors, help and completion. */
#ifndef RIDGE_CLI_VALUES_H
#define RIDGE_CLI_VALUES_H

#include "cli/words.h"
#include "ridge/target.h"

void ridge_backend_words(ridge_words *words);
void ridge_isa_words(ridge_words *words);
void ridge_dtype_words(ridge_words *words); /* types that occur in a case of a target */
void ridge_chapter_words(ridge_words *words);
void ridge_target_words(ridge_words *words);
void ridge_pattern_words(ridge_words *words); /* chapters, then targets */
void ridge_variant_words(ridge_words *words); /* of all targets */

/* A target's variants: their names, then the parts after the slash. */
void ridge_variants_of(const ridge_target *target, ridge_words *words);

/* A type by its name or a common alias (fp32, float, half, bfloat16, …), ignoring case; RIDGE_DTYPE_NONE
 * when unknown. */
ridge_dtype ridge_dtype_by_any_name(const char *text);

/* The part of a variant's name after the slash: optimized. */
const char *ridge_variant_short_name(const ridge_variant *variant);

#endif
