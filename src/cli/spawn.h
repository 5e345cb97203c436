/* Programs that the command starts for itself: compilers, and the Python that is asked what it has. */
#ifndef RIDGE_CLI_SPAWN_H
#define RIDGE_CLI_SPAWN_H

#include <sys/types.h>

#include "ridge/status.h"

/* The variable's value; `otherwise` where it is not set, or empty. */
const char *ridge_environment(const char *name, const char *otherwise);

/* Starts arguments[0], found on the path; NULL ends the arguments. Its standard output comes through *output unless that is
 * NULL; *output is -1 where it did not start. RIDGE_UNSUPPORTED, with the system's reason: it did not. */
ridge_status ridge_spawn(const char *const *arguments, pid_t *pid, int *output, ridge_error *error);

/* All that it writes, until it closes `output`, which is closed, too. The caller frees *text, which ends in a 0. RIDGE_FAILED: it
 * took longer than limit_s seconds, and is killed; RIDGE_NO_MEMORY: it is killed. Its end is still to be waited for. */
ridge_status ridge_spawn_read(pid_t pid, int output, double limit_s, char **text, ridge_error *error);

/* Its exit status; -1: a signal ended it. */
ridge_status ridge_spawn_wait(pid_t pid, int *code, ridge_error *error);

#endif
