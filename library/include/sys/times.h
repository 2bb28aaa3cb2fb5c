/* Processor time. */
#ifndef LEE_SYS_TIMES_H
#define LEE_SYS_TIMES_H

#include_next <sys/times.h>

[[lee::leaf]] trusted clock_t times(struct tms *used);

#endif
