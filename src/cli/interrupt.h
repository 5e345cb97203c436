/* Ctrl-C, SIGTERM and SIGHUP. Before results exist they end the program with one line and status 130. After
 * ridge_interrupt_hold they set a flag, and the command ends with the results so far. A second signal ends it at once.
 */
#ifndef RIDGE_CLI_INTERRUPT_H
#define RIDGE_CLI_INTERRUPT_H

#include <signal.h>

void ridge_interrupt_catch(void);
/* A signal that ends the program removes this file and its folder before. Strings are not copied; NULL, NULL: nothing. */
void ridge_interrupt_remove(const char *file, const char *folder);
void ridge_interrupt_hold(void); /* results exist from here on: set the flag */
/* Between these, too, a signal sets the flag: what is begun is cleaned up by whoever began it. */
void ridge_interrupt_pause(void);
void ridge_interrupt_resume(void);
const volatile sig_atomic_t *ridge_interrupt_flag(void);

#endif
