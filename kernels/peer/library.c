/* dlopen with a table of symbols. */
#include "peer/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static bool resolve(void *handle, const peer_symbol *symbols, int n) {
    for (int i = 0; i < n; i++) {
        void *address = dlsym(handle, symbols[i].name); /* also searches the library's dependencies */
        if (!address && !symbols[i].optional) return false;
        memcpy(symbols[i].slot, &address, sizeof address);
    }
    return true;
}

bool peer_library_open(const char *const *sonames, const peer_symbol *symbols, int n_symbols) {
    for (; *sonames; sonames++) {
        void *handle = dlopen(*sonames, RTLD_NOW | RTLD_LOCAL);
        if (!handle) continue;
        if (resolve(handle, symbols, n_symbols)) return true;
        dlclose(handle);
    }
    return false;
}
