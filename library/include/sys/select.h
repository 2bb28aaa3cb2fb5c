/* Waiting for several descriptors, up to FD_SETSIZE. FD_SET and its kin index an array, which is checked. */
#ifndef LEE_SYS_SELECT_H
#define LEE_SYS_SELECT_H

#include_next <sys/select.h>

trusted int select(int n, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *timeout) __asm__("lee_select");

#endif
