/* fds.c: see fds.h. */
#define _GNU_SOURCE
#include "errno_here.h"
#include "fds.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "io_file.h"
#include "no_pointers.h"
#include "process.h"
#include "reactor.h"
#include "worker.h"

enum {
    PART = 256,
    PARTS = 4096, /* more descriptors than a program has by far; what lies beyond is not known */
    KEPT = 128    /* among the kinds */
};
#define CLOSES 0x80000000u

struct fd {
    _Atomic uint32_t generation; /* 0: not known */
    _Atomic uint32_t life;       /* the generation that the number had when it was opened, sent or received */
    _Atomic uint32_t kind;
    struct lee_process *_Atomic owner; /* that was spawned; null: the first one */
    _Atomic uint32_t held;             /* how often; CLOSES: it is closed when this is 0 */
    int next, previous;                /* of the same owner, plus 1; 0: none */
};

/* Of a descriptor that is on its way, and of one that is held and closes later. */
static struct lee_process nobody, closing;
/* Of one that a thread of C's opened: all processes may use and close it. */
static struct lee_process threads;
bool lee_fds_guarded;

/* Other workers read it without the lock: once there are any, it is set. */
static void guard(void) {
    if (!lee_fds_guarded)
        lee_fds_guarded = true;
}

static struct fd *_Atomic parts[PARTS];
LEE_NO_POINTERS(parts)
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

static struct lee_process *owner_of(const struct fd *known) {
    return atomic_load_explicit(&known->owner, memory_order_relaxed);
}

/* It is nobody's on any list. */
static void disown(struct fd *known) {
    struct lee_process *owner = owner_of(known);
    if (owner == NULL || owner == &nobody || owner == &closing || owner == &threads)
        return;
    if (known->previous != 0)
        find(known->previous - 1)->next = known->next;
    else
        owner->first_fd = known->next;
    if (known->next != 0)
        find(known->next - 1)->previous = known->previous;
    lee_process_count(owner, LEE_GROUP_DESCRIPTORS, -1);
}

static void own(struct fd *known, int fd) {
    struct lee_process *owner = lee_process_is_spawned() ? lee_process : NULL;
    disown(known);
    atomic_store_explicit(&known->owner, owner, memory_order_relaxed);
    if (owner == NULL)
        return;
    known->previous = 0;
    known->next = owner->first_fd;
    if (known->next != 0)
        find(known->next - 1)->previous = fd + 1;
    owner->first_fd = fd + 1;
    lee_process_count(owner, LEE_GROUP_DESCRIPTORS, 1);
}

static uint32_t next_generation(void) {
    uint32_t next;
    do
        next = atomic_fetch_add_explicit(&last_generation, 1, memory_order_relaxed) + 1;
    while (next == 0);
    return next;
}

static uint32_t begin_life(struct fd *known) {
    uint32_t life = next_generation();
    atomic_store_explicit(&known->life, life, memory_order_relaxed);
    return life;
}

int lee_fd_made(int fd, unsigned kind) {
    return lee_fd_replaced(fd, kind, 0);
}

/* With the lock. */
static void begin(struct fd *known, int fd, unsigned kind, uint32_t life) {
    own(known, fd);
    uint32_t generation = next_generation();
    atomic_store_explicit(&known->kind, kind, memory_order_relaxed);
    atomic_store_explicit(&known->generation, generation, memory_order_relaxed);
    atomic_store_explicit(&known->life, life != 0 ? life : generation, memory_order_relaxed);
}

int lee_fd_replaced(int fd, unsigned kind, uint32_t life) {
    int error = errno;
    struct fd *known = place(fd);
    if (known != NULL) {
        lee_lock();
        begin(known, fd, kind, life);
        lee_unlock();
        if (lee_process_is_spawned())
            lee_process_ask(LEE_GROUP_DESCRIPTORS, 0); /* it is on a list, whoever ends */
    }
    errno = error;
    return fd;
}

bool lee_fd_own_for_c(int fd, uint32_t life) {
    int error = errno;
    bool room = true;
    struct fd *known = place(fd);
    if (known != NULL) {
        lee_lock();
        room = !lee_process_is_spawned() || lee_process_has_room(lee_process, LEE_GROUP_DESCRIPTORS, 1);
        if (room)
            begin(known, fd, 0, life);
        lee_unlock();
    }
    errno = room ? error : EMFILE;
    return room;
}

void lee_fd_of_thread(int fd) {
    struct fd *known = place(fd);
    lee_lock();
    if (known != NULL) {
        begin(known, fd, 0, 0);
        atomic_store_explicit(&known->owner, &threads, memory_order_relaxed);
    }
    lee_unlock();
}

/* With the lock. */
static void forget(int fd) {
    struct fd *known = find(fd);
    if (known != NULL) {
        disown(known);
        atomic_store_explicit(&known->owner, NULL, memory_order_relaxed);
        atomic_store_explicit(&known->generation, 0, memory_order_relaxed);
        atomic_store_explicit(&known->life, 0, memory_order_relaxed);
        atomic_store_explicit(&known->kind, 0, memory_order_relaxed);
    }
}

void lee_fd_forget(int fd) {
    lee_lock();
    forget(fd);
    lee_unlock();
}

void lee_fd_closes(int fd) {
    lee_lock();
    lee_reactor_closes(fd);
    forget(fd);
    lee_unlock();
}

bool lee_fd_hold(int fd) {
    struct fd *known = place(fd);
    if (known != NULL)
        atomic_fetch_add(&known->held, 1);
    return known != NULL;
}

void lee_fd_let(int fd) {
    struct fd *known = find(fd);
    struct lee_process *owner = &closing;
    uint32_t held = atomic_load(&known->held);
    while (!atomic_compare_exchange_weak(&known->held, &held, held == (CLOSES | 1) ? 0 : held - 1))
        ;
    if (held != (CLOSES | 1))
        return;
    close(fd);
    atomic_compare_exchange_strong(&known->owner, &owner, NULL); /* unless the number was opened again */
}

/* Whether it is closed later. */
static bool closes_later(struct fd *known) {
    uint32_t held = known != NULL ? atomic_load(&known->held) : 0;
    while (held != 0 && !atomic_compare_exchange_weak(&known->held, &held, held | CLOSES))
        ;
    return held != 0;
}

int lee_fd_close(int fd) {
    struct fd *known = find(fd);
    lee_fd_closes(fd);
    if (known != NULL && atomic_load(&known->held) != 0) {
        guard();
        atomic_store(&known->owner, &closing);
        if (closes_later(known))
            return 0;
        atomic_store(&known->owner, NULL);
    }
    return close(fd);
}

void lee_fd_keep(int fd) {
    lee_fd_made(fd, KEPT);
    struct fd *known = find(fd);
    if (known != NULL) { /* whichever process was the first to wait */
        lee_lock();
        disown(known);
        atomic_store_explicit(&known->owner, NULL, memory_order_relaxed);
        lee_unlock();
    }
    guard();
}

bool lee_fd_is_mine_slowly(int fd, bool strictly) {
    const struct fd *known = find(fd);
    struct lee_process *owner = known != NULL ? owner_of(known) : NULL, *self = lee_process_is_spawned() ? lee_process : NULL;
    bool kept = (lee_fd_kind(fd) & KEPT) != 0;
    if (!kept && (owner == self || owner == &threads || (owner == NULL && !strictly && fd >= 0 && fd <= STDERR_FILENO)))
        return true;
    errno = EBADF;
    return false;
}

void lee_fd_note(int fd) {
    if (lee_fd_generation(fd) == 0 || (lee_fds_guarded && !lee_fd_is_mine_slowly(fd, true)))
        lee_fd_made(fd, 0);
}

uint32_t lee_fd_send(int fd) {
    struct fd *known = place(fd);
    if (known == NULL)
        return 0;
    if (lee_fd_generation(fd) == 0)
        lee_fd_made(fd, 0);
    lee_lock();
    lee_reactor_closes(fd); /* who waits for it here goes on */
    disown(known);
    atomic_store_explicit(&known->owner, &nobody, memory_order_relaxed);
    uint32_t life = begin_life(known);
    guard();
    lee_unlock();
    return life;
}

bool lee_fd_receive(int fd, uint32_t *life) {
    struct fd *known = find(fd);
    lee_lock();
    bool comes = known != NULL && *life != 0 && lee_fd_life(fd) == *life && owner_of(known) == &nobody;
    if (comes) {
        own(known, fd);
        *life = begin_life(known);
    }
    lee_unlock();
    return comes;
}

uint32_t lee_fd_life(int fd) {
    const struct fd *known = find(fd);
    return known != NULL ? atomic_load_explicit(&known->life, memory_order_relaxed) : 0;
}

bool lee_fd_lives(int fd, uint32_t life) {
    if (__builtin_expect(fd >= 0 && lee_fd_life(fd) == life, 1))
        return life != 0 || lee_fd_is_mine_to_close(fd);
    errno = EBADF;
    return false;
}

void lee_fds_end(struct lee_process *process) {
    while (process->first_fd != 0)
        io_close_now(process->first_fd - 1);
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

void lee_fd_drop_kind(int fd, unsigned kind) {
    struct fd *known = find(fd);
    if (known != NULL)
        atomic_fetch_and_explicit(&known->kind, ~(uint32_t)kind, memory_order_relaxed);
}
