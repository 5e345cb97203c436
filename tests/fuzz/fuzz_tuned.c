/* Files of `ridge tune`, of any content: refused with one line, or read; then they come out as text that reads the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "ridge/tuned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ridge_error error = {0};
    ridge_tuned *tuned = ridge_tuned_new(), *again = ridge_tuned_new();
    require(tuned && again);
    if (ridge_tuned_parse(tuned, (const char *)data, size, "fuzz", &error) == RIDGE_OK) {
        char *text;
        size_t length;
        require(ridge_tuned_text(tuned, &text, &length, &error) == RIDGE_OK);
        require(ridge_tuned_parse(again, text, length, "again", &error) == RIDGE_OK);
        require(ridge_tuned_count(again) == ridge_tuned_count(tuned));
        free(text);
    } else {
        require(error.text[0] && !strchr(error.text, '\n'));
    }
    ridge_tuned_free(tuned);
    ridge_tuned_free(again);
    return 0;
}
