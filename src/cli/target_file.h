/* Targets that the command was not built with: ./mine.so, or the folder of one, which is compiled. */
#ifndef RIDGE_CLI_TARGET_FILE_H
#define RIDGE_CLI_TARGET_FILE_H

#include <stdbool.h>

#include "ridge/status.h"

/* Whether a pattern is the path of one: it has a slash. */
bool ridge_target_file_is(const char *typed);
/* The name of its target, which ridge_target_find has from now on. A path that was opened before is not opened again.
 * RIDGE_NOT_FOUND: no such file; RIDGE_INVALID: not a target of this version, or the compiler refused it (its words are on standard
 * error); RIDGE_UNSUPPORTED: no compiler. */
ridge_status ridge_target_file_open(const char *typed, const char **name, ridge_error *error);

#endif
