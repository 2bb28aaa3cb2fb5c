/* Giving up the processor. */
#ifndef LEE_SCHED_H
#define LEE_SCHED_H

#include_next <sched.h>

trusted int sched_yield(void);

#endif
