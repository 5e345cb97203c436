/* ridge-judged: runs kernels of shared objects on the CPU. Not for use by hand. */
#include "judged/judged.h"

int main(void) {
    static const ridge_judged_host native = {.start = ridge_native_start,
                                             .load = ridge_native_load,
                                             .ready = ridge_native_ready,
                                             .run = ridge_native_run,
                                             .done = ridge_native_done,
                                             .empty = ridge_native_empty};
    return ridge_judged_serve(&native);
}
