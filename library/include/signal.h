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

/* `signal(SIGPIPE, SIG_IGN)`: what the signal did before, or SIG_ERR. A handler is refused. */
trusted int lee_signal_set(int number, int way);
static inline enum lee_signal_way lee_signal(int number, enum lee_signal_way way) {
    return (enum lee_signal_way)lee_signal_set(number, way);
}
#define signal(number, way) _Generic((way), enum lee_signal_way: lee_signal, int: lee_signal, default: signal)(number, way)

trusted int raise(int number);
trusted int kill(pid_t process, int number);
trusted int killpg(pid_t group, int number);

#endif
