#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *ridge_environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

ridge_status ridge_spawn(const char *const *arguments, pid_t *pid, int *output, ridge_error *error) {
    posix_spawn_file_actions_t actions;
    int ends[2] = {-1, -1}, failed = posix_spawn_file_actions_init(&actions);
    if (failed == 0 && output && pipe2(ends, O_CLOEXEC) != 0) failed = errno;
    if (failed == 0 && output) failed = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawnp(pid, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (output) (void)close(ends[1]), *output = ends[0];
    if (!failed) return RIDGE_OK;
    if (output) (void)close(ends[0]), *output = -1;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%s", strerror(failed));
}

ridge_status ridge_spawn_wait(pid_t pid, int *code, ridge_error *error) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return ridge_fail(error, RIDGE_FAILED, "a child was lost: %s", strerror(errno));
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return RIDGE_OK;
}
