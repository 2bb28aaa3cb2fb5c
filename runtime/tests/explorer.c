/* explorer.c: see explorer.h. */
#include "explorer.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/task_switch.h"

enum {
    LOCATIONS = 48,
    STORES = 24,     /* at one location, in a run */
    CHOICES = 4096,  /* in a run */
    STEPS = 20000,   /* likewise: one that takes more does not end */
    STACK_BYTES = 64 << 10,
    MEMORY_BYTES = 64 << 10,
};

/* What a thread, or who reads a store, knows. */
struct view {
    uint16_t seen[LOCATIONS];  /* no older store is read */
    uint16_t clock[THREADS + 1]; /* what others did before that is ordered */
};

struct store {
    uint64_t value;
    struct view view;
};

struct location {
    uintptr_t at;
    size_t bytes;
    unsigned count;
    struct store stores[STORES];
};

enum state { READY, WANTS_LOCK, AWAITS, PARKED, ENDED };

struct thread {
    enum state state;
    uintptr_t sp;
    struct view now, read, released; /* its own; what relaxed loads read; what relaxed stores release */
    void (*entry)(void);
    unsigned awaited;
};

/* The thread that is alone before and after the others is number THREADS. */
static struct thread threads[THREADS + 1];
static unsigned char stacks[THREADS][STACK_BYTES] __attribute__((aligned(64)));
static unsigned running, thread_count, steps, preemptions, stale;
static bool alone;
static uintptr_t explorer_sp;
static struct view fences, unlocked; /* of all fences so far; of who had the lock last */
static int holder;                   /* of the lock; -1: nobody */
static struct location locations[LOCATIONS];
static unsigned location_count;
static unsigned char memory[MEMORY_BYTES] __attribute__((aligned(64)));
static size_t memory_used;
static const char *failure;
static jmp_buf alone_failed;

struct explored_site explored_sites[SITES_MOST];
unsigned explored_count;
int explore_weakened = -1;

/* --- choices ---------------------------------------------------------------------------------- */

static struct {
    uint8_t of, taken;
} choices[CHOICES];
static unsigned choice_count, choice_at;

static unsigned choose(unsigned of) {
    if (of < 2)
        return 0;
    if (choice_at == choice_count) {
        if (choice_count == CHOICES)
            explore_fail("more choices than there is room for");
        choices[choice_count].of = (uint8_t)of;
        choices[choice_count++].taken = 0;
    }
    return choices[choice_at++].taken;
}

/* The next run differs in the last choice that has a further possibility. */
static bool next_choices(void) {
    while (choice_count > 0 && choices[choice_count - 1].taken + 1 == choices[choice_count - 1].of)
        choice_count--;
    if (choice_count == 0)
        return false;
    choices[choice_count - 1].taken++;
    return true;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* For `lee_switch`: stores where the caller can be gone on with, and goes on elsewhere. */
static uintptr_t store(uintptr_t sp, void *from, uintptr_t to) {
    *(uintptr_t *)from = sp;
    return to;
}

static void leave_run(void) {
    uintptr_t gone;
    lee_switch(store, &gone, explorer_sp);
}

void explore_fail(const char *what) {
    failure = what;
    if (alone)
        longjmp(alone_failed, 1);
    leave_run();
    abort();
}

unsigned explore_thread(void) {
    return running;
}

static bool can_go_on(unsigned number) {
    const struct thread *thread = &threads[number];
    enum state other = threads[thread->awaited].state;
    switch (thread->state) {
    case READY:
        return true;
    case WANTS_LOCK:
        return holder < 0;
    case AWAITS:
        return other == PARKED || other == ENDED;
    default:
        return false;
    }
}

static void go_on(unsigned number) {
    uintptr_t *from = &threads[running].sp;
    if (number == running)
        return;
    running = number;
    explore_entered(number);
    lee_switch(store, from, threads[number].sp);
}

/* The running thread cannot go on, or may be interrupted. */
static void schedule(void) {
    unsigned able[THREADS], count = 0;
    bool may_stay = can_go_on(running);
    if (may_stay)
        able[count++] = running;
    for (unsigned i = 0; i < thread_count; i++) {
        if (i != running && can_go_on(i) && (!may_stay || preemptions > 0))
            able[count++] = i;
    }
    if (count == 0) {
        for (unsigned i = 0; i < thread_count; i++) {
            if (threads[i].state != ENDED)
                explore_fail("nobody can go on: a wake-up was lost");
        }
        leave_run();
    }
    unsigned taken = able[choose(count)];
    if (may_stay && taken != running)
        preemptions--;
    go_on(taken);
}

static void step(void) {
    if (alone)
        return;
    if (++steps > STEPS)
        explore_fail("it does not end");
    schedule();
}

static void begin_thread(void) {
    threads[running].entry();
    threads[running].state = ENDED;
    schedule();
    abort();
}

/* --- views ------------------------------------------------------------------------------------ */

static void join_seen(struct view *to, const struct view *from) {
    for (unsigned i = 0; i < location_count; i++)
        to->seen[i] = to->seen[i] > from->seen[i] ? to->seen[i] : from->seen[i];
}

static void join(struct view *to, const struct view *from) {
    join_seen(to, from);
    for (unsigned i = 0; i <= THREADS; i++)
        to->clock[i] = to->clock[i] > from->clock[i] ? to->clock[i] : from->clock[i];
}

/* What it does from here on is not what it has released. */
static void tick(struct thread *thread) {
    thread->now.clock[running]++;
}

static void enter_lock(void) {
    holder = (int)running;
    join(&threads[running].now, &unlocked);
}

static void leave_lock(void) {
    struct thread *self = &threads[running];
    unlocked = self->now;
    tick(self);
    holder = -1;
}

void explore_lock(void) {
    if (alone)
        return;
    step();
    if (holder >= 0) {
        threads[running].state = WANTS_LOCK;
        schedule();
        threads[running].state = READY;
    }
    enter_lock();
}

void explore_unlock(void) {
    if (alone)
        return;
    leave_lock();
}

void explore_park(void) {
    struct thread *self = &threads[running];
    leave_lock();
    self->state = PARKED;
    schedule();
    self->state = READY;
    enter_lock();
}

void explore_wake(unsigned thread) {
    if (threads[thread].state != PARKED)
        explore_fail("a task was woken that does not wait");
    threads[thread].state = WANTS_LOCK;
}

void explore_end(unsigned thread) {
    threads[thread].state = ENDED;
}

void explore_await_parked(unsigned thread) {
    struct thread *self = &threads[running];
    self->awaited = thread;
    self->state = AWAITS;
    step();
    self->state = READY;
}

/* --- atomic accesses -------------------------------------------------------------------------- */

static int site_of(const char *name, bool orders) {
    static const char *known[SITES_MOST * 4];
    static int numbers[SITES_MOST * 4];
    static unsigned known_count;
    for (unsigned i = 0; i < known_count; i++) {
        if (known[i] == name)
            return numbers[i];
    }
    unsigned number = 0;
    while (number < explored_count && strcmp(explored_sites[number].name, name) != 0)
        number++;
    if (number == explored_count) {
        if (explored_count == SITES_MOST || known_count == SITES_MOST * 4)
            abort();
        snprintf(explored_sites[number].name, sizeof explored_sites[number].name, "%s", name);
        explored_sites[explored_count++].orders = orders;
    }
    known[known_count] = name;
    numbers[known_count++] = (int)number;
    return (int)number;
}

static uint64_t read_memory(uintptr_t at, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, (const void *)at, bytes);
    return value;
}

static unsigned location_of(const volatile void *where, size_t bytes) {
    uintptr_t at = (uintptr_t)where;
    for (unsigned i = 0; i < location_count; i++) {
        if (locations[i].at == at)
            return i;
    }
    if (location_count == LOCATIONS)
        explore_fail("more locations than there is room for");
    struct location *location = &locations[location_count];
    location->at = at;
    location->bytes = bytes;
    location->count = 1;
    memset(&location->stores[0], 0, sizeof location->stores[0]);
    location->stores[0].value = read_memory(at, bytes);
    return location_count++;
}

static void note(uintptr_t at, bool writes, bool atomic);

uint64_t explore_load(const volatile void *at, size_t bytes, int order, const char *site) {
    bool acquires = order != __ATOMIC_RELAXED;
    if (site_of(site, acquires) == explore_weakened)
        acquires = false;
    step();
    struct thread *self = &threads[running];
    unsigned number = location_of(at, bytes);
    const struct location *location = &locations[number];
    note((uintptr_t)at, false, true);
    unsigned older = location->count - 1 - self->now.seen[number];
    unsigned back = alone || stale == 0 ? 0 : choose(older + 1);
    stale -= back > 0;
    unsigned which = location->count - 1 - back;
    self->now.seen[number] = (uint16_t)which;
    join(acquires ? &self->now : &self->read, &location->stores[which].view);
    uint64_t value = location->stores[which].value;
    /* As the type has it, which may be signed. */
    return bytes == 4 ? (uint64_t)(int64_t)(int32_t)(uint32_t)value : value;
}

void explore_store(volatile void *at, size_t bytes, uint64_t value, int order, const char *site) {
    bool releases = order != __ATOMIC_RELAXED;
    if (site_of(site, releases) == explore_weakened)
        releases = false;
    step();
    struct thread *self = &threads[running];
    unsigned number = location_of(at, bytes);
    struct location *location = &locations[number];
    note((uintptr_t)at, true, true);
    if (location->count == STORES)
        explore_fail("more stores than there is room for");
    struct store *store = &location->stores[location->count];
    self->now.seen[number] = (uint16_t)location->count++;
    store->value = value;
    store->view = releases ? self->now : self->released;
    if (store->view.seen[number] < self->now.seen[number])
        store->view.seen[number] = self->now.seen[number];
    if (releases)
        tick(self);
    memcpy((void *)(uintptr_t)at, &value, bytes);
}

void explore_fence(const char *site) {
    if (site_of(site, true) == explore_weakened)
        return;
    step();
    struct thread *self = &threads[running];
    join(&self->now, &self->read);
    join_seen(&self->now, &fences);
    join_seen(&fences, &self->now);
    self->released = self->now;
    tick(self);
}

/* --- other accesses --------------------------------------------------------------------------- */

/* Who did what to a byte of the memory that is given out, as clocks; 0: did not. `[0]` plainly,
 * `[1]` atomically. A variable stands for itself by its first byte: it is never accessed in parts. */
static struct shadow {
    unsigned run;
    bool freed;
    uint16_t read[2][THREADS + 1], written[2][THREADS + 1];
} shadows[MEMORY_BYTES];
static unsigned run_number;

static struct shadow *shadow_of(uintptr_t at) {
    struct shadow *shadow = &shadows[at - (uintptr_t)memory];
    if (shadow->run != run_number) {
        memset(shadow, 0, sizeof *shadow);
        shadow->run = run_number;
    }
    return shadow;
}

static bool is_ordered(const uint16_t *before) {
    const struct view *now = &threads[running].now;
    for (unsigned i = 0; i <= THREADS; i++) {
        if (i != running && before[i] > now->clock[i])
            return false;
    }
    return true;
}

/* What is done alone is ordered with all else. */
static void note(uintptr_t at, bool writes, bool atomic) {
    if (alone || at - (uintptr_t)memory >= MEMORY_BYTES)
        return;
    struct shadow *shadow = shadow_of(at);
    if (shadow->freed)
        explore_fail("what was freed is used");
    if (!is_ordered(shadow->written[0]) || (!atomic && !is_ordered(shadow->written[1])) ||
        (writes && (!is_ordered(shadow->read[0]) || (!atomic && !is_ordered(shadow->read[1])))))
        explore_fail("two accesses are not ordered");
    (writes ? shadow->written : shadow->read)[atomic][running] = threads[running].now.clock[running];
}

static void note_all(const void *at, size_t bytes, bool writes) {
    for (size_t i = 0; i < bytes; i++)
        note((uintptr_t)at + i, writes, false);
}

void explore_access(const void *at, size_t bytes, bool writes) {
    note_all(at, bytes, writes);
}

/* In front of each block stands its size. No block is given out twice in a run. */
enum { FRONT = 16 };

void *explore_malloc(size_t bytes) {
    unsigned char *block = memory + memory_used + FRONT;
    if (bytes > MEMORY_BYTES - FRONT - memory_used)
        explore_fail("no memory");
    memory_used += FRONT + ((bytes + 15) & ~(size_t)15);
    memcpy(block - FRONT, &bytes, sizeof bytes);
    return memset(block, 0xa5, bytes);
}

void *explore_calloc(size_t count, size_t bytes) {
    return memset(explore_malloc(count * bytes), 0, count * bytes);
}

void explore_free(void *block) {
    size_t bytes;
    if (block == NULL)
        return;
    memcpy(&bytes, (unsigned char *)block - FRONT, sizeof bytes);
    for (uintptr_t at = (uintptr_t)block; !alone && at < (uintptr_t)block + bytes; at++) {
        if (shadows[at - (uintptr_t)memory].run == run_number)
            note(at, true, false);
        shadow_of(at)->freed = true;
    }
}

/* What `-fsanitize=thread` inserts. */
#define ACCESS(name, bytes, writes) \
    void __tsan_##name##bytes(const void *at); \
    void __tsan_##name##bytes(const void *at) { \
        note((uintptr_t)at, writes, false); \
    }
#define ACCESSES(name, writes) \
    ACCESS(name, 1, writes) ACCESS(name, 2, writes) ACCESS(name, 4, writes) ACCESS(name, 8, writes) ACCESS(name, 16, writes)
ACCESSES(read, false)
ACCESSES(write, true)
ACCESSES(unaligned_read, false)
ACCESSES(unaligned_write, true)
ACCESSES(read_write, true)
ACCESSES(unaligned_read_write, true)

void __tsan_read_range(const void *at, size_t bytes);
void __tsan_read_range(const void *at, size_t bytes) {
    note_all(at, bytes, false);
}
void __tsan_write_range(const void *at, size_t bytes);
void __tsan_write_range(const void *at, size_t bytes) {
    note_all(at, bytes, true);
}
void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    note_all(from, bytes, false);
    note_all(to, bytes, true);
    return memcpy(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes);
void *__tsan_memset(void *to, int value, size_t bytes) {
    note_all(to, bytes, true);
    return memset(to, value, bytes);
}
void __tsan_func_entry(const void *caller);
void __tsan_func_entry(const void *caller) {
    (void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_init(void);
void __tsan_init(void) {}

/* --- runs ------------------------------------------------------------------------------------- */

static void begin_run(const struct scenario *scenario, unsigned most_preemptions) {
    memset(threads, 0, sizeof threads);
    memset(&fences, 0, sizeof fences);
    memset(&unlocked, 0, sizeof unlocked);
    location_count = 0;
    memory_used = 0;
    holder = -1;
    steps = 0;
    preemptions = most_preemptions;
    stale = STALE;
    choice_at = 0;
    failure = NULL;
    run_number++;
    running = THREADS;
    alone = true;
    threads[THREADS].now.clock[THREADS] = 1;
    explore_entered(THREADS);
    scenario->begin();
    tick(&threads[THREADS]);
    alone = false;
    for (thread_count = 0; thread_count < THREADS && scenario->threads[thread_count] != NULL; thread_count++) {
        struct thread *thread = &threads[thread_count];
        thread->now = threads[THREADS].now;
        thread->now.clock[THREADS]--;
        thread->now.clock[thread_count] = 1;
        thread->entry = scenario->threads[thread_count];
        thread->sp = lee_switch_prepare((uintptr_t)stacks[thread_count] + STACK_BYTES, begin_thread);
        thread->state = READY;
    }
}

static void end_run(const struct scenario *scenario) {
    running = THREADS;
    alone = true;
    for (unsigned i = 0; i < thread_count; i++)
        join(&threads[THREADS].now, &threads[i].now);
    explore_entered(THREADS);
    if (scenario->end != NULL)
        scenario->end();
}

const char *explore(const struct scenario *scenario, unsigned most_preemptions, long *runs) {
    choice_count = 0;
    *runs = 0;
    do {
        if (setjmp(alone_failed) != 0)
            return failure;
        begin_run(scenario, most_preemptions);
        ++*runs;
        unsigned first = choose(thread_count);
        running = first;
        explore_entered(first);
        lee_switch(store, &explorer_sp, threads[first].sp);
        if (failure != NULL)
            return failure;
        end_run(scenario);
    } while (next_choices());
    return NULL;
}
