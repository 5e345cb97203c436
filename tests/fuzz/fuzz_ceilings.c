/* The cache file of ceilings: anything may be in it. What is accepted must be within the struct's own bounds, and must
 * come out of the look-ups as rates. */
#include <stdlib.h>
#include <string.h>

#include "machine/ceilings/ceilings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ridge_ceilings c;
    ridge_error error = {0};
    if (size > 1 << 16) return 0;
    ridge_status status = ridge_ceilings_parse((const char *)data, (int)size, &c, &error);
    if (status != RIDGE_OK) {
        require(error.status == status && error.text[0] != '\0' && !strchr(error.text, '\n'));
        return 0;
    }
    require(c.n_levels >= 1 && c.n_levels <= RIDGE_MAX_LEVELS);
    require(c.n_peaks >= 0 && c.n_peaks <= RIDGE_MAX_PEAKS && c.n_rungs >= 0 && c.n_rungs <= RIDGE_MAX_RUNGS);
    require(memchr(c.key, '\0', sizeof c.key) && memchr(c.date, '\0', sizeof c.date));
    require(ridge_ceilings_dram(&c) != NULL && ridge_ceilings_level(&c, 1e6) != NULL);
    (void)ridge_ceilings_peak(&c, "fp32");
    require(ridge_ceilings_last_level(&c) >= 0);
    return 0;
}
