/* Ctrl-C. Until there are results to lose it ends the program with one line; from then on it sets a flag, and the run
 * ends by itself with what it has. */
#ifndef RIDGE_CLI_INTERRUPT_H
#define RIDGE_CLI_INTERRUPT_H

#include <signal.h>

void ridge_interrupt_catch(void); /* SIGINT and SIGTERM end the program with status 130 */
void ridge_interrupt_hold(void);  /* … set the flag, from here on */
const volatile sig_atomic_t *ridge_interrupt_flag(void);

#endif
