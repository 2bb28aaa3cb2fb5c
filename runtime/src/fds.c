/* fds.c: see fds.h. */
#define _GNU_SOURCE
#include "fds.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "reactor.h"

enum {
    PART = 256,
    PARTS = 4096, /* more descriptors than a program has by far; what lies beyond is not known */
    KEPT = 128    /* among the kinds */
};

struct fd {
    _Atomic uint32_t generation; /* 0: not known */
    _Atomic uint32_t kind;
};

static struct fd *_Atomic parts[PARTS];
static _Atomic uint32_t last_generation;

static struct fd *find(int fd) {
    if (fd < 0 || fd >= PART * PARTS)
        return NULL;
    struct fd *part = atomic_load_explicit(&parts[fd / PART], memory_order_acquire);
    return part != NULL ? &part[fd % PART] : NULL;
}

static struct fd *place(int fd) {
    struct fd *found = find(fd);
    if (found != NULL || fd < 0 || fd >= PART * PARTS)
        return found;
    struct fd *part = calloc(PART, sizeof *part), *none = NULL;
    if (part == NULL)
        return NULL;
    if (!atomic_compare_exchange_strong(&parts[fd / PART], &none, part))
        free(part); /* another thread was first */
    return find(fd);
}

int lee_fd_made(int fd, unsigned kind) {
    int error = errno;
    struct fd *known = place(fd);
    if (known != NULL) {
        uint32_t generation;
        do
            generation = atomic_fetch_add_explicit(&last_generation, 1, memory_order_relaxed) + 1;
        while (generation == 0);
        atomic_store_explicit(&known->kind, kind, memory_order_relaxed);
        atomic_store_explicit(&known->generation, generation, memory_order_relaxed);
    }
    errno = error;
    return fd;
}

void lee_fd_closes(int fd) {
    struct fd *known = find(fd);
    lee_reactor_closes(fd);
    if (known == NULL)
        return;
    atomic_store_explicit(&known->generation, 0, memory_order_relaxed);
    atomic_store_explicit(&known->kind, 0, memory_order_relaxed);
}

int lee_fd_close(int fd) {
    lee_fd_closes(fd);
    return close(fd);
}

void lee_fd_keep(int fd) {
    lee_fd_made(fd, KEPT);
}

bool lee_fd_is_kept(int fd) {
    return (lee_fd_kind(fd) & KEPT) != 0;
}

uint32_t lee_fd_generation(int fd) {
    const struct fd *known = find(fd);
    return known != NULL ? atomic_load_explicit(&known->generation, memory_order_relaxed) : 0;
}

unsigned lee_fd_kind(int fd) {
    const struct fd *known = find(fd);
    return known != NULL ? atomic_load_explicit(&known->kind, memory_order_relaxed) : 0;
}

void lee_fd_add_kind(int fd, unsigned kind) {
    struct fd *known = find(fd);
    if (known != NULL && lee_fd_generation(fd) != 0)
        atomic_fetch_or_explicit(&known->kind, kind, memory_order_relaxed);
}

void lee_fd_forget_blocking(int fd) {
    struct fd *known = find(fd);
    if (known != NULL)
        atomic_fetch_and_explicit(&known->kind, ~(uint32_t)LEE_FD_BLOCKS, memory_order_relaxed);
}
