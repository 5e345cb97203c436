/* Status codes and one-line error texts.
 *
 * Every function that can fail returns a ridge_status. Where the reason needs words (a file name, a size, what to do
 * about it), it also takes a ridge_error and writes them there: one line, no newline. The library never prints. */
#ifndef RIDGE_STATUS_H
#define RIDGE_STATUS_H

#include "ridge/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RIDGE_STATUS_LIST(X)             \
    X(OK, "ok")                          \
    X(INVALID, "invalid argument")       \
    X(UNSUPPORTED, "not supported here") \
    X(NO_MEMORY, "out of memory")        \
    X(IO, "input/output error")          \
    X(CORRUPT, "corrupt data")           \
    X(NOT_FOUND, "not found")            \
    X(WRONG, "wrong result")             \
    X(FAILED, "failed")                  \
    X(INTERRUPTED, "interrupted")

typedef enum ridge_status {
#define RIDGE_STATUS_ENUM(name, text) RIDGE_##name,
    RIDGE_STATUS_LIST(RIDGE_STATUS_ENUM)
#undef RIDGE_STATUS_ENUM
        RIDGE_STATUS_COUNT
} ridge_status;

/* "invalid argument" for RIDGE_INVALID; never NULL, whatever the value. */
RIDGE_API const char *ridge_status_string(ridge_status status);

typedef struct ridge_error {
    ridge_status status;
    char text[320];
} ridge_error;

/* Writes status and text into error (which may be NULL) and returns status: `return ridge_fail(e, RIDGE_IO, …);` */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
RIDGE_API ridge_status
ridge_fail(ridge_error *error, ridge_status status, const char *format, ...);

/* Static analysis sees no further than this file: tell it what comes back. */
#ifdef __clang_analyzer__
#define ridge_fail(error, status, ...) (ridge_fail((error), (status), __VA_ARGS__), (status))
#endif

/* For functions that own nothing at the point of failure. Where something is owned: one `done:` label. */
#define RIDGE_TRY(expression)                                      \
    do {                                                           \
        ridge_status ridge_try_status = (expression);              \
        if (ridge_try_status != RIDGE_OK) return ridge_try_status; \
    } while (0)

/* Beside a status that comes without a ridge_error, as a variant's: its words, kept for each thread until the next are
 * noted. ridge_why gives them in the form ": cudaMemsetAsync: invalid argument", to follow a status's own, and forgets
 * them; "" when there are none. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void
ridge_note_why(const char *format, ...);
const char *ridge_why(void);

#ifdef __cplusplus
}
#endif
#endif
