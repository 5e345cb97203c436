#include "cli/interrupt.h"

#include <string.h>
#include <unistd.h>

#include "cli/options.h"

static volatile sig_atomic_t holding, interrupted;

static void on_signal(int number) {
    (void)number;
    if (holding && !interrupted) {
        interrupted = 1;
        return;
    }
    static const char text[] = "\nridge: interrupted: nothing was measured yet, nothing was written\n";
    static const char again[] = "\nridge: interrupted twice: ended without writing\n";
    if (interrupted)
        (void)!write(STDERR_FILENO, again, sizeof again - 1);
    else
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(RIDGE_EXIT_INTERRUPTED);
}

void ridge_interrupt_catch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

void ridge_interrupt_hold(void) { holding = 1; }

const volatile sig_atomic_t *ridge_interrupt_flag(void) { return &interrupted; }
