/* Functions that are not supported, all of one kind. CUDA's headers are not included: the prototypes do not matter
 * here. */
#include <stdbool.h>
#include <stdio.h>

enum { NOT_SUPPORTED = 801 }; /* cudaErrorNotSupported */

static int refuse(const char *name, bool *said) {
    if (!*said) (void)fprintf(stderr, "emulator: %s is not supported\n", name);
    *said = true;
    return NOT_SUPPORTED;
}

#define UNSUPPORTED(name)            \
    int name(void);                  \
    int name(void) {                 \
        static bool said;            \
        return refuse(#name, &said); \
    }
#include "runtime/unsupported.h"
