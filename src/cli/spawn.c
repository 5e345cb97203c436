#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"

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

/* Until the end of what it writes, or the limit. */
static ridge_status read_until(int output, double limit_s, FILE *to, ridge_error *error) {
    const uint64_t began = ridge_clock_ns();
    char part[4096];
    for (;;) {
        struct pollfd p = {.fd = output, .events = POLLIN};
        const double left_s = limit_s - ridge_seconds_since(began);
        if (left_s <= 0) return ridge_fail(error, RIDGE_FAILED, "no end within %g s", limit_s);
        if (poll(&p, 1, (int)(1e3 * left_s) + 1) <= 0) continue;
        const ssize_t n = read(output, part, sizeof part);
        if (n == 0) return RIDGE_OK;
        if (n < 0 && errno != EINTR) return ridge_fail(error, RIDGE_FAILED, "%s", strerror(errno));
        if (n > 0 && fwrite(part, 1, (size_t)n, to) != (size_t)n) return RIDGE_NO_MEMORY;
    }
}

ridge_status ridge_spawn_read(pid_t pid, int output, double limit_s, char **text, ridge_error *error) {
    size_t size;
    *text = NULL;
    FILE *to = open_memstream(text, &size);
    ridge_status status = to ? read_until(output, limit_s, to, error) : RIDGE_NO_MEMORY;
    if (to && fclose(to) != 0 && status == RIDGE_OK) status = RIDGE_NO_MEMORY;
    (void)close(output);
    if (status == RIDGE_NO_MEMORY) (void)ridge_fail(error, status, "no memory for what a program writes");
    if (status != RIDGE_OK) (void)kill(pid, SIGKILL);
    return status;
}

ridge_status ridge_spawn_wait(pid_t pid, int *code, ridge_error *error) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return ridge_fail(error, RIDGE_FAILED, "a child was lost: %s", strerror(errno));
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return RIDGE_OK;
}
