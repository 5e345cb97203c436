/* The version of the headers (macros) and of the library (ridge_version). CMake reads the three numbers from this file.
 * The SONAME of libridge_ops.so has the major number. */
#ifndef RIDGE_VERSION_H
#define RIDGE_VERSION_H

#include "ridge/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RIDGE_VERSION_MAJOR 0
#define RIDGE_VERSION_MINOR 1
#define RIDGE_VERSION_PATCH 0

#define RIDGE_VERSION_TEXT_OF(number) #number
#define RIDGE_VERSION_TEXT(major, minor, patch) \
    RIDGE_VERSION_TEXT_OF(major) "." RIDGE_VERSION_TEXT_OF(minor) "." RIDGE_VERSION_TEXT_OF(patch)
#define RIDGE_VERSION RIDGE_VERSION_TEXT(RIDGE_VERSION_MAJOR, RIDGE_VERSION_MINOR, RIDGE_VERSION_PATCH) /* "0.1.0" */

/* The RIDGE_VERSION that the loaded library was built with. */
RIDGE_API const char *ridge_version(void);

#ifdef __cplusplus
}
#endif
#endif
