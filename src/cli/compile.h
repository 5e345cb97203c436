/* Compiling what a user brings: kernels (foreign_file.h) and folders of targets (target_file.h). */
#ifndef RIDGE_CLI_COMPILE_H
#define RIDGE_CLI_COMPILE_H

#include <stddef.h>

#include "ridge/status.h"

/* The folder with ridge's public headers: of the installation that this command is part of, else of the source tree. */
const char *ridge_compile_include(char *path, size_t size);
/* A folder of its own for what is compiled, in $TMPDIR or /tmp. */
ridge_status ridge_compile_folder(char *folder, size_t size, ridge_error *error);
/* Runs a compiler. `set`: the variable that names another one; `source`: what it compiles, for messages. Its own words are on standard
 * error. RIDGE_UNSUPPORTED: there is no such program; RIDGE_INVALID: it refused the source. */
ridge_status ridge_compile_run(const char *const *arguments, const char *set, const char *source, ridge_error *error);

#endif
