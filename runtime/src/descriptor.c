/* descriptor.c: descriptors of the system (sockets, pipes) behind objects.
 *
 * Promises: what <lee/descriptor.lh> says. A descriptor is closed once: by hand, when nothing
 * reaches its object, or when its custodian is shut down; its use after that is a fault. So is its
 * use after the program closed its number by C's `close`: the number may be another's by then, so
 * nobody closes it here. One that is sent is in a block of the exchange heap, and goes where that
 * goes. */
#define _GNU_SOURCE
#include <lee/descriptor.h>
#include <lee/exchange.h>
#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>

#include <stddef.h>
#include <sys/socket.h>

#include "errno_here.h"
#include "dispose.h"
#include "fds.h"
#include "io_file.h"
#include "io_library.h"
#include "io_wait.h"
#include "opened.h"

/* In the heap; or in a block of the exchange heap, and then on no list of what is open. */
struct lee_descriptor {
    struct lee_opened opened;
    int fd;        /* -1: closed */
    uint32_t life; /* of that number (fds.h) */
};

/* Its number is its own no longer. Returns it; -1, and EBADF, if it was not before. */
static int take_out(struct lee_descriptor *d) {
    int fd = lee_fd_lives(d->fd, d->life) ? d->fd : -1;
    if (d->opened.shut != NULL)
        lee_opened_remove(&d->opened);
    d->opened.shut = NULL;
    d->fd = -1;
    return fd;
}

static void close_now(int fd) {
    if (fd >= 0)
        io_close_now(fd);
}

static void shut_entry(struct lee_opened *entry) {
    close_now(take_out((struct lee_descriptor *)entry));
}

/* The collector found it unreachable. */
static void drop(void *object, size_t bytes) {
    (void)bytes;
    struct lee_descriptor *d = object;
    int why = errno;
    if (d->fd >= 0)
        close_now(take_out(d));
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
    lee_fd_note(fd);
    d->fd = fd;
    d->life = lee_fd_life(fd);
    lee_opened_add(&d->opened, shut_entry);
    return d;
}

struct lee_descriptor *lee_descriptor_of(int fd) {
    return fd < 0 || !lee_fd_is_mine_to_close(fd) ? NULL : begin(make(), fd);
}

int lee_descriptor_fd(const struct lee_descriptor *d) {
    if (d == NULL)
        lee_fault_null(NULL);
    if (!lee_fd_lives(d->fd, d->life))
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

/* --- on their way ----------------------------------------------------------------------------- */

/* Whether its number still means it, and is the running process's: C's `close` takes any number. */
static bool is_own(const struct lee_descriptor *d) {
    return lee_fd_lives(d->fd, d->life) && lee_fd_is_mine_to_close(d->fd);
}

/* What becomes of the one in a block. A process that ends loses its descriptors by their table, and
 * its blocks as bytes. */
static void pass(struct lee_work *work, void *block) {
    struct lee_descriptor *d = block;
    int why = errno;
    switch (lee_walk_of(work)) {
    case LEE_WALK_LEAVE:
        if (is_own(d))
            d->life = lee_fd_send(d->fd);
        else
            d->fd = -1;
        break;
    case LEE_WALK_ARRIVE:
        if (d->fd >= 0 && !lee_fd_receive(d->fd, &d->life))
            d->fd = -1;
        break;
    case LEE_WALK_LOST:
        if (d->fd >= 0 && lee_fd_receive(d->fd, &d->life))
            io_close_now(d->fd);
        break;
    default:
        if (is_own(d))
            io_close_now(d->fd);
        break;
    }
    errno = why;
}

static const struct lee_owned in_block = {.size = sizeof(struct lee_descriptor), .drop = pass};

struct lee_descriptor *lee_descriptor_give(struct lee_descriptor *d) {
    lee_descriptor_fd(d);
    struct lee_descriptor *sent = lee_exchange_new(NULL, sizeof *sent, &in_block);
    sent->fd = lee_descriptor_fd(d); /* what was just allocated is on a list of the process */
    sent->life = d->life;
    take_out(d);
    return sent;
}

struct lee_descriptor *lee_descriptor_take(struct lee_descriptor *sent) {
    if (sent == NULL)
        return NULL;
    struct lee_descriptor *d = make();
    int fd = is_own(sent) ? sent->fd : -1;
    sent->fd = -1;
    lee_exchange_free(sent);
    if (fd < 0)
        errno = EBADF;
    return begin(d, fd);
}
