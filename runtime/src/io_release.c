/* io_release.c: closing what a program left behind, without waiting.
 *
 * Why: files are closed by the collector, in shutdowns and when a process ends, on behalf of someone who did not ask for that. A pipe that
 * nobody reads, or a socket that lingers, must not hold that someone up. What the program wanted written for sure it flushes or closes
 * itself. */
#define _GNU_SOURCE
#include "errno_here.h"
#include "fds.h"
#include "io_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether the next PIPE_BUF bytes are taken at once. */
static bool takes_more(int fd) {
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0 && (out.revents & POLLOUT) != 0;
}

/* One write that does not wait; -1 and EAGAIN if it would have to. */
static ssize_t put(int fd, mode_t kind, const unsigned char *p, size_t n) {
    if (S_ISSOCK(kind))
        return send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (S_ISREG(kind) || S_ISBLK(kind))
        return write(fd, p, n);
    if (!takes_more(fd)) {
        errno = EAGAIN;
        return -1;
    }
    struct iovec piece = {(void *)(uintptr_t)p, n < PIPE_BUF ? n : PIPE_BUF};
    ssize_t done = pwritev2(fd, &piece, 1, -1, RWF_NOWAIT);
    return done < 0 && errno == EOPNOTSUPP ? write(fd, p, piece.iov_len) : done;
}

void io_write_now(int fd, const unsigned char *p, size_t n) {
    struct stat is;
    if (n == 0 || fstat(fd, &is) != 0)
        return;
    while (n > 0) {
        ssize_t done = put(fd, is.st_mode, p, n);
        if (done < 0 && errno != EINTR)
            return;
        if (done > 0) {
            p += done;
            n -= (size_t)done;
        }
    }
}

void io_close_now(int fd) {
    struct linger none = {0, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none); /* of what is no socket, nothing */
    lee_fd_close(fd);
}
