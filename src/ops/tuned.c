/* Measured ways from files. */
#include "ridge/tuned.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/file.h"
#include "ops/context.h"

enum { MOST_BYTES = 1 << 24, MOST_PATH = 512 };

/* As its specification says, $XDG_CONFIG_HOME counts only when it is absolute. */
ridge_status ridge_tuned_path(char *path, size_t size, ridge_error *error) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool has_config = config && config[0] == '/';
    if (!has_config && !(home && home[0] == '/'))
        return ridge_fail(error, RIDGE_NOT_FOUND, "no place for tuned ways: set XDG_CONFIG_HOME or HOME");
    const int n = has_config ? snprintf(path, size, "%s/ridge/tuned", config)
                             : snprintf(path, size, "%s/.config/ridge/tuned", home);
    if (n < 0 || (size_t)n >= size)
        return ridge_fail(error, RIDGE_INVALID, "the name of the user's directory is longer than %zu bytes", size);
    return RIDGE_OK;
}

ridge_status ridge_tuned_read(ridge_tuned *tuned, const char *path, ridge_error *error) {
    char *text;
    size_t size;
    RIDGE_TRY(ridge_file_read(path, MOST_BYTES, &text, &size, error));
    const ridge_status status = ridge_tuned_parse(tuned, text, size, path, error);
    free(text);
    return status;
}

/* Without a name, a file that does not exist is an empty one. */
static ridge_status read_named(ridge_tuned *tuned, const char *path, ridge_error *error) {
    char usual[MOST_PATH];
    if (path) return ridge_tuned_read(tuned, path, error);
    RIDGE_TRY(ridge_tuned_path(usual, sizeof usual, error));
    const ridge_status status = ridge_tuned_read(tuned, usual, error);
    return status == RIDGE_NOT_FOUND ? RIDGE_OK : status;
}

ridge_status ridge_context_use_tuned(ridge_context *context, const char *path, ridge_error *error) {
    if (!context) return ridge_fail(error, RIDGE_INVALID, "the context is NULL");
    ridge_tuned *tuned = ridge_tuned_new();
    if (!tuned) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for tuned ways");
    const ridge_status status = read_named(tuned, path, error);
    if (status != RIDGE_OK) {
        ridge_tuned_free(tuned);
        return status;
    }
    ridge_tuned_free(context->tuned);
    context->tuned = tuned;
    return RIDGE_OK;
}
