/* io_wait.h: reading, writing and accepting by tasks, as other files of the runtime call it. */
#ifndef LEE_SRC_IO_WAIT_H
#define LEE_SRC_IO_WAIT_H

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

struct lee_left;

/* read(2) and write(2), which let other tasks run if they have to wait. If the task is ended meanwhile, `left` is run first. A write
 * takes as much as there is room for, at least a byte. */
ssize_t lee_read_left(int fd, void *p, size_t n, const struct lee_left *left);
ssize_t lee_write_left(int fd, const void *p, size_t n, const struct lee_left *left);
/* openat(2). Of a FIFO that only one end is opened of, other tasks run until there is the other
 * end; an open for reading does not wait for it, but the first read does. `path` is read before. */
int lee_open_waiting(int directory, const char *path, int flags, mode_t mode);
/* A write failed: if it was of the standard output of the first process, and nobody reads that, C's SIGPIPE ends the program. */
void lee_io_broken(int fd);
/* accept4(2) and recvfrom(2) likewise. */
int lee_accept_waiting(int fd, struct sockaddr *address, socklen_t *length, int flags);
ssize_t lee_receive(int fd, void *p, size_t n, int flags, struct sockaddr *address, socklen_t *length);

/* poll(2) that does not wait. If nothing is ready, the system says EINTR all the same when the signal
 * that ends slices is just coming, of which the program knows nothing. A signal of the program's ends
 * the wait that follows. */
static inline int lee_poll_now(struct pollfd *fds, nfds_t n) {
    int ready;
    while ((ready = poll(fds, n, 0)) < 0 && errno == EINTR)
        ;
    return ready;
}

/* A second task is started (task.c). */
void lee_io_tasks_begin(void) __attribute__((weak));

#endif
