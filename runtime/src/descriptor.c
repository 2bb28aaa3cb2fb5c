/* descriptor.c: descriptors of the system (sockets, pipes) behind objects.
 *
 * Promises: what <lee/descriptor.lh> says. A descriptor is closed once: by hand, when nothing reaches its object, or when its custodian is
 * shut down; its use after that is a fault. */
#define _GNU_SOURCE
#include <lee/descriptor.h>
#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#include "fds.h"
#include "io_file.h"
#include "io_library.h"
#include "io_wait.h"
#include "opened.h"

struct lee_descriptor {
    struct lee_opened opened;
    int fd; /* -1: closed */
};

static int take_out(struct lee_descriptor *d) {
    int fd = d->fd;
    lee_opened_remove(&d->opened);
    d->fd = -1;
    return fd;
}

static void shut_entry(struct lee_opened *entry) {
    io_close_now(take_out((struct lee_descriptor *)entry));
}

/* The collector found it unreachable. */
static void drop(void *object, size_t bytes) {
    (void)bytes;
    struct lee_descriptor *d = object;
    int why = errno;
    if (d->fd >= 0)
        io_close_now(take_out(d));
    errno = why;
}

static const struct lee_layout layout = {.bytes = sizeof(struct lee_descriptor),
                                         .words = 1u << offsetof(struct lee_opened, custodian) / sizeof(void *),
                                         .drop = drop,
                                         .name = "descriptor"};

/* Before there is a descriptor: an allocation may end the task, and it would be lost. */
static struct lee_descriptor *make(void) {
    struct lee_descriptor *d = lee_heap_alloc_typed(NULL, sizeof *d, &layout);
    d->fd = -1;
    return d;
}

static struct lee_descriptor *begin(struct lee_descriptor *d, int fd) {
    if (fd < 0) {
        int why = errno;
        lee_heap_free(d);
        errno = why;
        return NULL;
    }
    d->fd = fd;
    lee_opened_add(&d->opened, shut_entry);
    return d;
}

struct lee_descriptor *lee_descriptor_of(int fd) {
    return fd < 0 || !lee_fd_is_mine_to_close(fd) ? NULL : begin(make(), fd);
}

int lee_descriptor_fd(const struct lee_descriptor *d) {
    if (d == NULL)
        lee_fault_null(NULL);
    if (d->fd < 0)
        lee_fault_closed(NULL);
    return d->fd;
}

int lee_descriptor_close(struct lee_descriptor *d) {
    lee_descriptor_fd(d);
    return lee_fd_close(take_out(d));
}

struct lee_descriptor *lee_descriptor_socket(int domain, int type, int protocol) {
    struct lee_descriptor *d = make();
    int fd = lee_socket(domain, type | SOCK_CLOEXEC, protocol);
    if (fd < 0 && lee_heap_close_files())
        fd = lee_socket(domain, type | SOCK_CLOEXEC, protocol);
    return begin(d, fd);
}

/* The caller may not need it any more, but it is not to be closed while the task waits. */
static void keep(const struct lee_descriptor *d) {
    __asm__ volatile("" ::"r"(d) : "memory");
}

struct lee_descriptor *lee_descriptor_accept(const struct lee_descriptor *from) {
    lee_descriptor_fd(from);
    struct lee_descriptor *d = make();
    int fd = lee_accept_waiting(lee_descriptor_fd(from), NULL, NULL, SOCK_CLOEXEC); /* `make` may have closed it */
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && lee_heap_close_files())
        fd = lee_accept_waiting(lee_descriptor_fd(from), NULL, NULL, SOCK_CLOEXEC);
    keep(from);
    return begin(d, fd);
}

ssize_t lee_descriptor_read(const struct lee_descriptor *d, void *p, size_t n) {
    ssize_t got = lee_read(lee_descriptor_fd(d), p, n);
    keep(d);
    return got;
}

ssize_t lee_descriptor_write(const struct lee_descriptor *d, const void *p, size_t n) {
    ssize_t put = lee_write(lee_descriptor_fd(d), p, n);
    keep(d);
    return put;
}

struct lee_descriptor_sent lee_descriptor_give(struct lee_descriptor *d) {
    int fd = lee_descriptor_fd(d);
    take_out(d);
    return (struct lee_descriptor_sent){fd, lee_fd_send(fd)};
}

struct lee_descriptor *lee_descriptor_take(struct lee_descriptor_sent sent) {
    struct lee_descriptor *d = make();
    bool there = lee_fd_receive(sent.fd, sent.generation);
    errno = there ? errno : EBADF;
    return begin(d, there ? sent.fd : -1);
}

void lee_descriptor_lose(struct lee_descriptor_sent sent) {
    if (lee_fd_receive(sent.fd, sent.generation))
        io_close_now(sent.fd);
}
