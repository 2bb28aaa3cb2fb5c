/* Signals without handlers. Each function returns -1 and EINVAL for a signal that the runtime or the system keeps for
 * itself (SIGSEGV, SIGKILL ...).
 *
 *     lee_signal_catch(SIGINT);
 *     while (!lee_signal_caught(SIGINT)) serve_one_request(); */
#ifndef LEE_LEE_SIGNAL_H
#define LEE_LEE_SIGNAL_H

trusted int lee_signal_catch(int number);   /* from now on it is noted, and calls that wait end with EINTR */
trusted int lee_signal_caught(int number);  /* how often it came since the last time this was asked */
trusted int lee_signal_ignore(int number);
trusted int lee_signal_default(int number);

#endif
