/* Text to a file or to standard output. */
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "device/file.h"
#include "record/record.h"

/* Writes through the stream, after earlier output. A closed pipe is no error here: the stream keeps its error flag,
 * which is evaluated at exit. */
static ridge_status write_stdout(const char *text, size_t size, ridge_error *error) {
    if (fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0) return RIDGE_OK;
    int code = errno;
    __fpurge(stdout);
    if (code == EPIPE) return RIDGE_OK;
    return ridge_fail(error, RIDGE_IO, "cannot write standard output: %s%s", strerror(code),
                      code == ENOSPC ? ": free some space or choose another place" : "");
}

ridge_status ridge_write_file(const char *path, const char *text, size_t size, ridge_error *error) {
    return strcmp(path, "-") == 0 ? write_stdout(text, size, error) : ridge_file_write(path, text, size, error);
}
