/* What ncu prints: any text. What is accepted must be counts of bytes; what is refused must say why in one line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/counters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16) return 0;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    double read = -1, written = -1;
    ridge_error error = {0};
    ridge_status status = ridge_counters_parse(text, &read, &written, &error);
    require(isfinite(read) && read >= 0 && isfinite(written) && written >= 0);
    if (status != RIDGE_OK) {
        require((status == RIDGE_CORRUPT || status == RIDGE_NOT_FOUND) && error.status == status);
        require(read == 0 && written == 0 && error.text[0] && !strchr(error.text, '\n'));
    }
    free(text);
    return 0;
}
