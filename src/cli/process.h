/* What a process inherits and how it ends: standard streams, signals, a reader that has gone. */
#ifndef RIDGE_CLI_PROCESS_H
#define RIDGE_CLI_PROCESS_H

#include <stdbool.h>

/* Called first in main. Opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no file and no
 * socket of the program lands there; gives SIGCHLD its default, since waitpid fails where it is ignored; keeps SIGPIPE
 * and SIGXFSZ from ending the program, so that write() fails instead; and catches Ctrl-C. False when /dev/null cannot
 * be opened. */
bool ridge_process_begin(void);

/* Whether the process that read standard output has closed it. */
bool ridge_process_unread(void);

#endif
