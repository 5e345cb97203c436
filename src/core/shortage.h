/* Memory that ran out where the caller is told nothing: in a table that is printed, or in a figure that is derived. Whoever ends
 * the program asks here whether something is missing from what it told. */
#ifndef RIDGE_CORE_SHORTAGE_H
#define RIDGE_CORE_SHORTAGE_H

#include <stdbool.h>
#include <stdio.h>

void ridge_shortage_note(void);
bool ridge_shortage(void); /* one was noted in this process */

/* Closes a stream of open_memstream, which may be NULL, and returns *text, which the caller frees. NULL: memory ran out before
 * the text was whole, which is noted. */
char *ridge_memory_text(FILE *stream, char **text);

#endif
