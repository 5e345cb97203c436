#include "cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"

/* A handler instead of SIG_IGN: exec resets it to the default, which gnuplot and ncu expect. */
static void on_failing_write(int number) { (void)number; }

static bool stdout_was_closed;

static bool open_streams(void) {
    stdout_was_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    for (;;) {
        int fd = open("/dev/null", O_RDWR); /* returns the lowest free descriptor */
        if (fd < 0) return false;
        if (fd > STDERR_FILENO) return close(fd) == 0;
    }
}

static void set_handler(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)sigaction(number, &action, NULL);
}

bool ridge_process_begin(void) {
    if (!open_streams()) return false;
    set_handler(SIGCHLD, SIG_DFL);
    set_handler(SIGPIPE, on_failing_write);
    set_handler(SIGXFSZ, on_failing_write);
    ridge_interrupt_catch();
    return true;
}

bool ridge_process_mute(void) { return stdout_was_closed; }

bool ridge_process_unread(void) {
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}
