/* Signals. A handler would run between any two machine instructions of the program, so none is installed from safe
 * code: <lee/signal.h> notes that a signal came, for the program to ask. */
#ifndef LEE_SIGNAL_H
#define LEE_SIGNAL_H

#include_next <signal.h>
#include <lee/signal.h>

/* What signal takes: not a function, which could run in the middle of anything. */
enum lee_signal_way { LEE_SIGNAL_ERROR = -1, LEE_SIGNAL_DEFAULT, LEE_SIGNAL_IGNORE };
#undef SIG_DFL
#undef SIG_IGN
#undef SIG_ERR
#define SIG_DFL LEE_SIGNAL_DEFAULT
#define SIG_IGN LEE_SIGNAL_IGNORE
#define SIG_ERR LEE_SIGNAL_ERROR

/* `signal(SIGPIPE, SIG_IGN)`: what the signal did before, or SIG_ERR. A handler is refused. No
 * macro: a program may have a field of this name. */
trusted enum lee_signal_way signal(int number, int way) __asm__("lee_signal_set");

trusted int raise(int number) __asm__("lee_raise");
trusted int kill(pid_t process, int number) __asm__("lee_kill");
trusted int killpg(pid_t group, int number) __asm__("lee_killpg");

#endif
