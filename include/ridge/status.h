/* Status codes and one-line error texts.
 *
 * Every function that can fail returns a ridge_status. Functions that can explain the failure also take a ridge_error:
 * one line, no newline, that says what is wrong and what to do. The library never prints. */
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

/* "invalid argument" for RIDGE_INVALID. Never NULL, also for unknown values. */
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

/* The static analyzer does not see the definition: this macro gives it the returned value. */
#ifdef __clang_analyzer__
#define ridge_fail(error, status, ...) (ridge_fail((error), (status), __VA_ARGS__), (status))
#endif

/* For functions that own no resource at the point of failure. Functions that do use one `done:` label. */
#define RIDGE_TRY(expression)                                      \
    do {                                                           \
        ridge_status ridge_try_status = (expression);              \
        if (ridge_try_status != RIDGE_OK) return ridge_try_status; \
    } while (0)

/* The reason for a status returned without a ridge_error, as by a variant. ridge_note_why stores it per thread and
 * replaces the last one. ridge_why returns it as a suffix to the status string (": cudaMemsetAsync: invalid argument")
 * and clears it; "" if there is none. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
RIDGE_API void
ridge_note_why(const char *format, ...);
RIDGE_API const char *ridge_why(void);

#ifdef __cplusplus
}
#endif
#endif
