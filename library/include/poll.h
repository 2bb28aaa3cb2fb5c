/* Waiting for several descriptors. */
#ifndef LEE_POLL_H
#define LEE_POLL_H

#include_next <poll.h>

trusted int poll(struct pollfd *counted_by(n) fds, nfds_t n, int timeout) __asm__("lee_poll");

#endif
