#include "cli/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/interrupt.h"

static _Noreturn void become_shell(const char *command, const ridge_lab_item *item) {
    char name[RIDGE_CASE_NAME];
    ridge_case_name(item->target, &item->c, name, sizeof name);
    (void)setenv("RIDGE_TARGET", item->target->name, 1);
    (void)setenv("RIDGE_CASE", name, 1);
    (void)setenv("RIDGE_BACKEND", ridge_backend_name(item->backend), 1);
    /* Standard output has tables or JSON. */
    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Ctrl-C reaches the command, too, as a member of the process group: waiting goes on until it ends. */
static ridge_status wait_for(pid_t pid, int *status, ridge_error *error) {
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR) return ridge_fail(error, RIDGE_FAILED, "lost a command: %s", strerror(errno));
    return RIDGE_OK;
}

static ridge_status run_hook(const char *option, const char *command, const ridge_lab_item *item, ridge_error *error) {
    int status = 0;
    (void)fflush(stdout);
    (void)fflush(stderr);
    const pid_t pid = fork();
    if (pid < 0) return ridge_fail(error, RIDGE_FAILED, "%s: no process for a command: %s", option, strerror(errno));
    if (pid == 0) become_shell(command, item);
    RIDGE_TRY(wait_for(pid, &status, error));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return RIDGE_OK;
    if (*ridge_interrupt_flag()) return RIDGE_INTERRUPTED;
    char name[RIDGE_CASE_NAME];
    ridge_case_name(item->target, &item->c, name, sizeof name);
    return ridge_fail(error, RIDGE_FAILED, "%s '%.60s' %s %d at %s %s: the run ends, what was finished is kept", option,
                      command, WIFEXITED(status) ? "ended with status" : "was ended by signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), item->target->name, name);
}

static ridge_status before(void *arg, const ridge_lab_item *item, ridge_error *error) {
    return run_hook("--prepare", ((const ridge_options *)arg)->prepare, item, error);
}

static ridge_status after(void *arg, const ridge_lab_item *item, ridge_error *error) {
    return run_hook("--cleanup", ((const ridge_options *)arg)->cleanup, item, error);
}

ridge_lab_hooks ridge_hooks(const ridge_options *o) {
    return (ridge_lab_hooks){.before = o->prepare ? before : NULL,
                             .after = o->cleanup ? after : NULL,
                             .arg = (void *)(uintptr_t)o,
                             .before_text = o->prepare,
                             .after_text = o->cleanup};
}
