#include "core/shortage.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_bool noted;

void ridge_shortage_note(void) { atomic_store(&noted, true); }
bool ridge_shortage(void) { return atomic_load(&noted); }

/* fclose may succeed and leave no text. */
char *ridge_memory_text(FILE *stream, char **text) {
    const bool whole = stream && !ferror(stream);
    if (stream && fclose(stream) == 0 && whole && *text) return *text;
    free(*text);
    *text = NULL;
    ridge_shortage_note();
    return NULL;
}
