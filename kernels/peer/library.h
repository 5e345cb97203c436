/* Libraries opened at run time: without them ridge works, and peer variants report why they are skipped. */
#ifndef RIDGE_PEER_LIBRARY_H
#define RIDGE_PEER_LIBRARY_H

#include <stdbool.h>

/* slot points to a function pointer; optional ones may stay NULL. */
typedef struct peer_symbol {
    const char *name;
    void *slot;
    bool optional;
} peer_symbol;

/* Opens the first of the NULL-terminated sonames that loads and has every symbol. False when none does. The library
 * stays loaded: its threads may outlive any variant. */
bool peer_library_open(const char *const *sonames, const peer_symbol *symbols, int n_symbols);

#endif
