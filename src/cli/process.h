/* Inherited state and exit of the process: standard streams, signals, a closed pipe. */
#ifndef RIDGE_CLI_PROCESS_H
#define RIDGE_CLI_PROCESS_H

#include <stdbool.h>

/* Called first in main. Opens /dev/null on closed descriptors among 0 to 2, so that no file or socket of the program
 * gets them. Resets SIGCHLD, since waitpid fails where it is ignored. Catches SIGPIPE and SIGXFSZ, so that write()
 * fails instead of ending the program. Catches Ctrl-C. False when /dev/null cannot be opened. */
bool ridge_process_begin(void);

/* Whether standard output was closed when the process began: what was printed is lost. */
bool ridge_process_mute(void);

/* Whether the process that read standard output has closed it. */
bool ridge_process_unread(void);

#endif
