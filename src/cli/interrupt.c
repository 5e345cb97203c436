#include "cli/interrupt.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"

static volatile sig_atomic_t holding, paused, interrupted;

/* What the program has made and must not leave, and whose it is: a child has the same handler. */
static struct {
    pid_t owner;
    const char *file, *folder;
} left;

void ridge_interrupt_remove(const char *file, const char *folder) {
    left.owner = 0;
    left.file = file;
    left.folder = folder;
    if (folder) left.owner = getpid();
}

static void remove_left(void) {
    if (left.owner == 0 || left.owner != getpid()) return;
    (void)unlink(left.file);
    (void)rmdir(left.folder);
}

static void on_signal(int number) {
    (void)number;
    if ((holding || paused) && !interrupted) {
        interrupted = 1;
        return;
    }
    static const char text[] = "\nridge: interrupted: nothing was measured yet, nothing was written\n";
    static const char again[] = "\nridge: interrupted twice: ended without writing\n";
    if (interrupted)
        (void)!write(STDERR_FILENO, again, sizeof again - 1);
    else
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
    remove_left();
    _exit(RIDGE_EXIT_INTERRUPTED);
}

/* nohup ignores SIGHUP on purpose. */
static bool is_ignored(int number) {
    struct sigaction before;
    return sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
}

void ridge_interrupt_catch(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t mask;
    (void)sigemptyset(&mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART; /* pending output is not truncated */
        if (numbers[i] == SIGHUP && is_ignored(SIGHUP)) continue;
        (void)sigaction(numbers[i], &action, NULL);
        (void)sigaddset(&mask, numbers[i]);
    }
    (void)sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

void ridge_interrupt_hold(void) { holding = 1; }

void ridge_interrupt_pause(void) { paused = 1; }

void ridge_interrupt_resume(void) { paused = 0; }

const volatile sig_atomic_t *ridge_interrupt_flag(void) { return &interrupted; }
