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
#include "mend.h"
#include "poison.h"
#include "process.h"
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
    SKIPPED_MOST = 1023, /* collections before the next try, when many failed */
    ASKED_MOST = 8192, /* targets of weak references at once */
    HIDE_LEAST = 8 * LEE_BLOCK_BYTES, /* what is less is sooner copied than hidden and shown again */
    SHARED_PART = 4 /* what is shared is given back when so much less would do */
};

#if defined(LEE_ASAN) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

/* What parent and child share. Behind it lie the marks of all units, a byte for each large object,
 * and the keys found. */
struct shared {
    atomic_uint done;
    atomic_uint again;       /* it is to mark what was asked for, too */
    size_t asked_count;
    uintptr_t asked[ASKED_MOST];
    uint64_t mark_time;
    size_t overflows, keys_found;
    uint64_t small[LEE_SMALL_PAGES][sizeof ((struct lee_small *)0)->marks / sizeof(uint64_t)];
    uint8_t marks[][UNIT_MARKS];
};

static struct {
    struct shared *shared;
    size_t bytes, units, large, keys; /* `bytes`: of `shared`, which is kept for the next one */
    int child;  /* 0 once it is known to have ended */
    int parent; /* who made it */
    unsigned polls, begun, skip, failures;
    bool stays; /* once it is done, it waits until it is killed: weak references may ask for more */
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

/* --- what the child does not get ------------------------------------------------------------------------------------ */

/* A free block, and one without pointers. */
static bool is_unread(struct lee_chunk *chunk, size_t number) {
    unsigned code = lee_code_at(chunk, number);
    const struct lee_block *block = &chunk->blocks[number];
    if (code == LEE_CODE_LARGE || code == LEE_CODE_UNITS)
        return lee_header_layout((block - block->behind)->header)->kind == LEE_LAYOUT_PLAIN;
    return code == LEE_CODE_NONE || (lee_cell_info[code].count > 0 && lee_cell_info[code].family == LEE_PLAIN);
}

struct range {
    uintptr_t start, end;
};

/* Adds blocks to the range if they lie beside it, else the range, which is complete, is hidden or shown. */
static void hide_range(struct range *range, uintptr_t start, uintptr_t end, bool hidden) {
    if (end == range->start) {
        range->start = start;
    } else if (start == range->end) {
        range->end = end;
    } else {
        if (range->end - range->start >= HIDE_LEAST)
            lee_system_copied((void *)range->start, range->end - range->start, !hidden);
        *range = (struct range){start, end};
    }
}

static uint32_t unread_blocks(struct lee_chunk *chunk, struct lee_unit *unit) {
    size_t first = lee_first_block(chunk, unit);
    uint32_t unread = 0;
    for (unsigned i = 0; i < LEE_BLOCKS_A_UNIT; i++)
        unread |= (uint32_t)is_unread(chunk, first + i) << i;
    return unread;
}

/* The blocks of a unit that are not read; of a huge page all or nothing, for the kernel would split it. */
static void hide_unit(struct range *range, struct lee_chunk *chunk, struct lee_unit *unit, bool hidden) {
    uint32_t unread = unread_blocks(chunk, unit);
    if (unit->huge && !unit->broken && unread != UINT32_MAX)
        return;
    for (unsigned i = LEE_BLOCKS_A_UNIT; i-- > 0;) {
        uintptr_t start = lee_block_start(chunk, lee_first_block(chunk, unit) + i);
        if ((unread >> i & 1) != 0)
            hide_range(range, start, start + LEE_BLOCK_BYTES, hidden);
    }
}

/* The child writes all of its marks and reads none of the parent's: it gets zeros. */
static void wipe(struct lee_chunk *chunk, bool hidden) {
    if (chunk->wiped != hidden && lee_system_wiped(chunk->marks, sizeof chunk->marks, hidden))
        chunk->wiped = hidden;
}

/* Makes the copy smaller, or undoes that: in between nobody else may copy this process, and nothing
 * may change. */
static void hide(struct lee_heap *heap, bool hidden) {
    struct range range = {0, 0};
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        wipe(chunk, hidden);
        hide_unit(&range, chunk, unit, hidden);
    }
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        uintptr_t start = lee_block_start(chunk, first);
        wipe(chunk, hidden);
        if (is_unread(chunk, first))
            hide_range(&range, start, start + chunk->blocks[first].span * (uintptr_t)LEE_UNIT_BYTES, hidden);
    }
    hide_range(&range, 0, 0, hidden);
}

/* Pages that are resident and that a copy does without, or has in one piece. */
static size_t spared_pages(struct lee_heap *heap) {
    size_t pages = 0;
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        uint32_t spared = unit->huge && !unit->broken ? UINT32_MAX : unread_blocks(chunk, unit) & (~unit->free | unit->free_dirty);
        pages += (size_t)__builtin_popcount(spared) * (LEE_BLOCK_BYTES / LEE_PAGE_BYTES);
    }
    return lee_system_one_thread() ? pages : 0;
}

bool lee_snapshot_wanted(struct lee_heap *heap, uint64_t rest) {
    unsigned mode = lee_heap_settings.snapshot;
    if (SANITIZED || mode == LEE_SNAPSHOT_NEVER || lee_processes_used || lee_account_due(heap))
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
    size_t most = heap->counts.mark_last / (PAGE_COPY * COPY_PART);
    return !snapshot.alone && (lee_system_most_pages() < most || lee_system_private_pages() < most + spared_pages(heap));
}

/* --- before the child is made -------------------------------------------------------------------------------------- */

/* As many bytes that are shared, of zeros or of an earlier snapshot. With some more, which nobody
 * touches, for a heap that grows. */
static bool share(size_t bytes) {
    bool fits = snapshot.shared != NULL && bytes <= snapshot.bytes && snapshot.bytes / SHARED_PART <= bytes;
    if (fits && snapshot.parent == getpid())
        return true;
    if (snapshot.shared != NULL)
        lee_system_release(snapshot.shared, snapshot.bytes);
    snapshot.bytes = (bytes + bytes / 4) & ~(size_t)(LEE_PAGE_BYTES - 1);
    snapshot.shared = lee_system_share(snapshot.bytes);
    return snapshot.shared != NULL;
}

/* --- the child ----------------------------------------------------------------------------------------------------- */

static void publish(struct lee_heap *heap, struct lee_marker *marker) {
    struct shared *shared = snapshot.shared;
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
    shared->keys_found = lee_keys_found(heap, found_keys());
    shared->overflows = marker->overflows;
    marker->overflows = 0;
    shared->mark_time = lee_system_processor_time(); /* it has done nothing else */
}

/* Other threads do not exist here, and what they had locked stays so: nothing may be called that
 * takes a lock. */
static _Noreturn void mark_and_end(struct lee_heap *heap, struct lee_marker *marker) {
    struct shared *shared = snapshot.shared;
    lee_system_be_copy(snapshot.parent);
    lee_marker_make_room(marker);
    heap->collecting = true;
    lee_marks_clear(heap);
    lee_roots_scan(heap, marker);
    for (;;) {
        lee_marker_drain(marker);
        publish(heap, marker);
        lee_system_tell(&shared->done);
        if (!snapshot.stays)
            lee_system_end_copy();
        while (atomic_load_explicit(&shared->again, memory_order_acquire) == 0)
            lee_system_await(&shared->again, WAIT_MS);
        atomic_store_explicit(&shared->again, 0, memory_order_relaxed);
        for (size_t i = 0; i < shared->asked_count; i++)
            lee_mark_word(marker, shared->asked[i]);
    }
}

/* --- the parent ---------------------------------------------------------------------------------------------------- */

/* Numbers what there is, in the order in which the child will find it. From here on blocks that are
 * taken are younger. */
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

/* Whether it has ended; `how` as for waitpid. A child of somebody who copied this process is not
 * ours to wait for. */
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
    snapshot.keys = lee_keys_unmark(heap);
    size_t bytes = sizeof *snapshot.shared + snapshot.units * UNIT_MARKS + (snapshot.large + 7) / 8 * 8 +
                   snapshot.keys * sizeof(uintptr_t);
    bytes = (bytes + LEE_PAGE_BYTES - 1) & ~(size_t)(LEE_PAGE_BYTES - 1);
    snapshot.globals.bytes = 0;
    if (heap->scans_globals && !lee_roots_find_globals(&snapshot.globals))
        return failed();
    if (!share(bytes))
        return failed();
    atomic_store_explicit(&snapshot.shared->done, 0, memory_order_relaxed);
    atomic_store_explicit(&snapshot.shared->again, 0, memory_order_relaxed);
    snapshot.stays = heap->weak != NULL;
    struct lee_marker marker;
    lee_marker_aim(&marker, heap);
    marker.globals = &snapshot.globals;
    snapshot.parent = getpid();
    snapshot.polls = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool smaller = lee_system_one_thread();
    if (smaller)
        hide(heap, true);
    snapshot.child = lee_system_copy();
    if (snapshot.child == 0)
        mark_and_end(heap, &marker);
    if (smaller)
        hide(heap, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (snapshot.child < 0) {
        snapshot.child = 0;
        return failed();
    }
    lee_mend_expect(heap);
    lee_weak_watch++;
    heap->snapshot = true;
    return true;
}

enum lee_snapshot_state lee_snapshot_state(bool wait) {
    bool waited = false;
    if (snapshot.parent != getpid())
        return LEE_SNAPSHOT_LOST; /* the program has copied itself: the marks are those of the other, or of its next snapshot */
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

/* The marks are those of the copy, as it was: what the program has taken out of an object since it
 * was given away is found by the child only. */
bool lee_snapshot_mark_asked(struct lee_heap *heap) {
    struct shared *shared = snapshot.shared;
    const struct lee_weak *from = heap->weak;
    /* Without weak references at the snapshot there is none to anything that it found dead. */
    while (snapshot.stays && (shared->asked_count = lee_weak_asked(heap, &from, shared->asked, ASKED_MOST)) > 0) {
        atomic_store_explicit(&shared->done, 0, memory_order_relaxed);
        lee_system_tell(&shared->again);
        for (unsigned waits = 0; atomic_load_explicit(&shared->done, memory_order_acquire) == 0; waits++) {
            if (waits == WAITS_MOST || ended(WNOHANG))
                return false;
            lee_system_await(&shared->done, WAIT_MS);
        }
        lee_snapshot_adopt(heap);
    }
    return true;
}

void lee_snapshot_end(struct lee_heap *heap) {
    bool done = atomic_load_explicit(&snapshot.shared->done, memory_order_relaxed) != 0;
    if (snapshot.child != 0 && (!done || snapshot.stays) && snapshot.parent == getpid())
        kill(snapshot.child, SIGKILL);
    ended(done ? WNOHANG : 0); /* it ends soon; the next one waits for that */
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
