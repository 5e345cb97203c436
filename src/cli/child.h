/* Programs that the command starts and waits for: compilers and interpreters. */
#ifndef RIDGE_CLI_CHILD_H
#define RIDGE_CLI_CHILD_H

#include <sys/types.h>

#include "ridge/status.h"

/* Arguments end with NULL; the first is looked up in the path. The child's standard output comes through *output, which the caller
 * closes, unless output is NULL. */
ridge_status ridge_child_start(const char *const *arguments, pid_t *pid, int *output, ridge_error *error);
/* Its exit status; -1: a signal ended it. */
ridge_status ridge_child_wait(pid_t pid, int *code, ridge_error *error);
/* The value of a variable of the environment, unless that is empty or not set. */
const char *ridge_child_variable(const char *name, const char *otherwise);

#endif
