/* snapshot.c: see snapshot.h. */
#define _GNU_SOURCE
#include "snapshot.h"

#ifndef LEE_NO_GC

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "collect.h"
#include "custodian.h"
#include "poison.h"
#include "small.h"
#include "system.h"
#include "units.h"

enum {
    UNIT_MARKS = LEE_BLOCKS_A_UNIT * LEE_BLOCK_MARK_BYTES,
    WORTH_IT = 500000,  /* nanoseconds of marking from which a copy of the process is cheaper to wait for */
    PAGE_COPY = 150,    /* nanoseconds to enter a page of 4 KB into the copy's tables */
    COPY_PART = 2,      /* of the marking the copy may take so much */
    RESTS_LEAST = 2,    /* markings that the program ran for since the last: else it would have to wait for the child */
    MEMORY_PART = 3,    /* of the limit the heap may take so much: all of it may be copied, and as much be handed out */
    POLLS_A_LOOK = 16,  /* whether it has died is asked of the system, whether it is done is not */
    BEGUN_A_LOOK = 64,  /* whether a debugger watches, and how many processors there are, takes as long to find out as a small copy */
    WAIT_MS = 20,       /* between two such questions while waiting */
    WAITS_MOST = 500,   /* then it hangs */
    SKIPPED_MOST = 1023 /* collections before the next try, when many failed */
};

/* What parent and child share. Behind it lie the marks of all units, a byte for each large object, and the keys found. */
struct shared {
    atomic_uint done;
    uint64_t mark_time;
    size_t overflows, keys_found;
    uint64_t small[LEE_SMALL_PAGES][sizeof ((struct lee_small *)0)->marks / sizeof(uint64_t)];
    uint8_t marks[][UNIT_MARKS];
};

static struct {
    struct shared *shared;
    size_t bytes, units, large, keys;
    int child;  /* 0 once it is known to have ended */
    int parent; /* who made it */
    unsigned polls, begun, skip, failures;
    bool alone; /* a debugger watches, or there is no second processor */
    struct lee_vector globals;
} snapshot;

int lee_snapshot_child(void) {
    return snapshot.child;
}

uint64_t lee_snapshot_mark_time(void) {
    return snapshot.shared->mark_time;
}

static uint8_t *large_marks(void) {
    return snapshot.shared->marks[snapshot.units];
}

static uintptr_t *found_keys(void) {
    return (uintptr_t *)(void *)(large_marks() + (snapshot.large + 7) / 8 * 8);
}

bool lee_snapshot_wanted(struct lee_heap *heap, uint64_t rest) {
#if defined(LEE_ASAN) || defined(__SANITIZE_THREAD__)
    (void)heap, (void)rest;
    return false;
#else
    unsigned mode = lee_heap_settings.snapshot;
    if (mode == LEE_SNAPSHOT_NEVER || lee_account_due(heap))
        return false; /* only a collection that stops charges custodians */
    if (mode == LEE_SNAPSHOT_ALWAYS)
        return true;
    if (heap->verify || heap->stress != LEE_STRESS_NEVER || heap->counts.mark_last < WORTH_IT ||
        rest / RESTS_LEAST < heap->counts.mark_last || lee_memory_charged() > lee_memory_limit() / MEMORY_PART)
        return false;
    if (snapshot.skip > 0) {
        snapshot.skip--;
        return false;
    }
    if (snapshot.begun++ % BEGUN_A_LOOK == 0)
        snapshot.alone = lee_system_traced() || lee_system_processors() < 2;
    return !snapshot.alone && lee_system_private_pages() < heap->counts.mark_last / (PAGE_COPY * COPY_PART);
#endif
}

/* --- the child ----------------------------------------------------------------------------------------------------- */

/* Other threads do not exist here, and what they had locked stays so: nothing may be called that takes a lock. */
static _Noreturn void mark_and_end(struct lee_heap *heap, struct lee_marker *marker) {
    struct shared *shared = snapshot.shared;
    lee_system_be_copy(snapshot.parent);
    heap->collecting = true;
    lee_marks_clear(heap);
    lee_roots_scan(heap, marker);
    lee_marker_drain(marker);
    size_t slot = 0;
    for (struct lee_small *page = heap->small; page != NULL; page = page->next)
        memcpy(shared->small[slot++], page->marks, sizeof page->marks);
    slot = 0;
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        memcpy(shared->marks[slot++], chunk->marks[lee_first_block(chunk, unit)], UNIT_MARKS);
    }
    slot = 0;
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        large_marks()[slot++] = chunk->marks[lee_first_block(chunk, unit)][0];
    }
    shared->keys_found = lee_keys_found(found_keys());
    shared->overflows = marker->overflows;
    shared->mark_time = lee_system_processor_time(); /* it has done nothing else */
    lee_system_copy_done(&shared->done);
}

/* --- the parent ---------------------------------------------------------------------------------------------------- */

/* Numbers what there is, in the order in which the child will find it. From here on blocks that are taken are younger. */
static void number_units(struct lee_heap *heap) {
    size_t slot = 0;
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT; i++)
            chunk->blocks[i].young = false;
        unit->slot = (uint32_t)slot++;
    }
    snapshot.units = slot;
    slot = 0;
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        chunk->blocks[lee_first_block(chunk, unit)].young = false;
        unit->slot = (uint32_t)slot++;
    }
    snapshot.large = slot;
}

/* Whether it has ended; `how` as for waitpid. A child of somebody who copied this process is not ours to wait for. */
static bool ended(int how) {
    int status, found;
    if (snapshot.child == 0)
        return true;
    do
        found = snapshot.parent == getpid() ? waitpid(snapshot.child, &status, how | __WALL) : -1;
    while (found < 0 && errno == EINTR);
    if (found == 0)
        return false;
    snapshot.child = 0;
    return true;
}

static bool failed(void) {
    snapshot.failures = snapshot.failures * 2 + 1 < SKIPPED_MOST ? snapshot.failures * 2 + 1 : SKIPPED_MOST;
    snapshot.skip = snapshot.failures;
    return false;
}

bool lee_snapshot_begin(struct lee_heap *heap) {
    ended(0);
    number_units(heap);
    snapshot.keys = lee_keys_unmark();
    snapshot.bytes = sizeof *snapshot.shared + snapshot.units * UNIT_MARKS + (snapshot.large + 7) / 8 * 8 +
                     snapshot.keys * sizeof(uintptr_t);
    snapshot.bytes = (snapshot.bytes + LEE_PAGE_BYTES - 1) & ~(size_t)(LEE_PAGE_BYTES - 1);
    snapshot.globals.bytes = 0;
    if (heap->scans_globals && !lee_roots_find_globals(&snapshot.globals))
        return failed();
    snapshot.shared = lee_system_share(snapshot.bytes);
    if (snapshot.shared == NULL)
        return failed();
    struct lee_marker marker;
    lee_marker_start(&marker, heap);
    marker.globals = &snapshot.globals;
    snapshot.parent = getpid();
    snapshot.polls = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    snapshot.child = lee_system_copy();
    if (snapshot.child == 0)
        mark_and_end(heap, &marker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    lee_marker_end(&marker);
    if (snapshot.child < 0) {
        snapshot.child = 0;
        lee_system_release(snapshot.shared, snapshot.bytes);
        snapshot.shared = NULL;
        return failed();
    }
    lee_weak_watch++;
    heap->snapshot = true;
    return true;
}

enum lee_snapshot_state lee_snapshot_state(bool wait) {
    bool waited = false;
    for (unsigned waits = 0;; waits++) {
        if (atomic_load_explicit(&snapshot.shared->done, memory_order_acquire) != 0) {
            if (waited)
                failed(); /* to wait is no better than to mark */
            else
                snapshot.failures = 0;
            return LEE_SNAPSHOT_DONE;
        }
        bool look = wait || snapshot.polls++ % POLLS_A_LOOK == 0;
        bool dead = look && ended(WNOHANG);
        if (dead && atomic_load_explicit(&snapshot.shared->done, memory_order_acquire) != 0)
            continue;
        if (dead || waits == WAITS_MOST) {
            failed();
            return LEE_SNAPSHOT_LOST;
        }
        if (!wait)
            return LEE_SNAPSHOT_RUNS;
        lee_system_await(&snapshot.shared->done, WAIT_MS);
        waited = true;
    }
}

void lee_snapshot_adopt(struct lee_heap *heap) {
    size_t slot = 0;
    for (struct lee_small *page = heap->small; page != NULL; page = page->next) /* the list is as it was: see `lee_small_refill` */
        memcpy(page->marks, snapshot.shared->small[slot++], sizeof page->marks);
    lee_sweep_adopt(heap, snapshot.shared->marks, large_marks());
    lee_keys_adopt(heap, found_keys(), snapshot.shared->keys_found);
    heap->counts.overflows += snapshot.shared->overflows;
}

void lee_snapshot_end(struct lee_heap *heap) {
    bool done = atomic_load_explicit(&snapshot.shared->done, memory_order_relaxed) != 0;
    if (snapshot.child != 0 && !done && snapshot.parent == getpid())
        kill(snapshot.child, SIGKILL);
    ended(done ? WNOHANG : 0); /* what is done ends by itself; the next one waits for that */
    lee_system_release(snapshot.shared, snapshot.bytes);
    snapshot.shared = NULL;
    heap->snapshot = false;
}

/* Nobody shall find the program gone and its files still open. */
__attribute__((destructor)) static void end_with_program(void) {
    if (snapshot.child != 0 && snapshot.parent == getpid()) {
        kill(snapshot.child, SIGKILL);
        ended(0);
    }
}

#endif
