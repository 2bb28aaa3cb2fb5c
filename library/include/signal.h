/* Signals. A handler would run between any two machine instructions of the program, so none is installed from safe
 * code: <lee/signal.h> notes that a signal came, for the program to ask. */
#ifndef LEE_SIGNAL_H
#define LEE_SIGNAL_H

#include_next <signal.h>
#include <lee/signal.h>

trusted int raise(int number);
trusted int kill(pid_t process, int number);
trusted int killpg(pid_t group, int number);

#endif
