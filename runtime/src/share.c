/* share.c: see share.h. */
#define LEE_PAIRING_STEP() ((void)lee_share_steps++)
#include <stddef.h>

extern size_t lee_share_steps;

#include "share.h"

#ifndef LEE_NO_GC

#include "preempt.h"
#include "process.h"
#include "turns_inline.h"
#include "system.h"
#include "worker.h"

enum {
    BEHIND = 200000, /* nanoseconds: who is behind by less waits until the slice ends */
    TURN = 1000000,  /* with LEE_SEED: what each turn counts as */
    SAVED = 1000000, /* the most that one saves while it does not want to run: who waits for others, and has
                      * little to do, runs at once when they come. One that begins to compute keeps the
                      * others from the processor for as long */
    AHEAD = 10000000 /* the most that one is ahead by when it wants to run again, beside what it used since
                      * it last came, which may be one long slice: anything beyond that it used on workers
                      * that would have been idle */
};

static struct lee_share root = {.weight = LEE_SHARE_WEIGHT};
/* Of processes without a share; their queue is task.c's. */
static struct lee_share own = {.parent = &root, .weight = LEE_SHARE_WEIGHT};
uint64_t (*lee_share_clock)(void) = lee_system_time;
size_t lee_share_steps;

struct lee_share *lee_share_root(void) {
    return &root;
}

/* Of those with the same time the one that came last runs last. */
static uint64_t last_order;

static void link_ready(struct lee_share *share) {
    share->node.order = ++last_order;
    lee_pairing_add(&share->parent->first, &share->node);
}

static int64_t weighted(const struct lee_share *share, uint64_t nanoseconds) {
    return (int64_t)(nanoseconds * LEE_SHARE_WEIGHT / share->weight);
}

/* It did not want to run before. */
static void join(struct lee_share *share) {
    int64_t floor = share->parent->floor;
    int64_t least = floor - weighted(share, SAVED), most = floor + weighted(share, AHEAD) + share->node.at - share->joined;
    if (share->node.at < least)
        share->node.at = least;
    if (share->node.at > most)
        share->node.at = most;
    share->joined = share->node.at;
    link_ready(share);
}

static void unlink_ready(struct lee_share *share) {
    lee_pairing_remove(&share->parent->first, &share->node);
}

/* One that has processes which can run is linked. */
static void set_time(struct lee_share *share, int64_t time) {
    bool linked = share->ready > 0;
    if (linked)
        unlink_ready(share);
    share->node.at = time;
    if (linked) {
        share->node.order = ++last_order;
        lee_pairing_add(&share->parent->first, &share->node);
    }
}

static void charge(struct lee_share *share, uint64_t nanoseconds) {
    set_time(share, share->node.at + weighted(share, nanoseconds));
    share->ran += nanoseconds;
    lee_share_steps++;
}

/* Those without a share waited when the next process was chosen last, on whichever worker: what they
 * are behind by then is theirs, and does not move on with the floor. Else a share whose process is handed
 * to this worker again and again, and whose weight is less, would come before them for ever: it may
 * be behind the floor by more each time it joins. */
static bool own_waited;

static struct lee_share *leaf_of(const struct lee_process *process) {
    return process->share != NULL ? process->share : &own;
}

/* Time goes on for those that do not want to run, also while one runs alone: who joins is not
 * before all others. What runs has used `more`, which is not noted yet. */
static void raise_floor(const struct lee_share *runs, uint64_t more) {
    struct lee_share *parent = runs->parent;
    int64_t least = runs->node.at + weighted(runs, more);
    if (parent->first != NULL && parent->first->at < least)
        least = parent->first->at;
    if (parent == &root && runs != &own && own.node.at < least && own_waited)
        least = own.node.at;
    parent->floor = least > parent->floor ? least : parent->floor;
}

/* With LEE_SEED nothing depends on the clock: all turns are of one length. */
static uint64_t since_last(void) {
    uint64_t last = lee_worker.noted, now = lee_task_is_seeded() ? last + TURN : lee_share_clock();
    lee_worker.noted = now;
    return last == 0 && !lee_task_is_seeded() ? 0 : now - last; /* 0: it ran before there were shares */
}

void lee_share_note(void) {
    uint64_t past = since_last();
    for (struct lee_share *at = leaf_of(lee_process_self()); at->parent != NULL; at = at->parent) {
        charge(at, past);
        raise_floor(at, 0);
    }
}

/* `own` is not linked while it can run. */
static bool own_waits(void) {
    return lee_many ? lee_worker_queued() : lee_worker.queue.head != NULL;
}

void lee_share_note_alone(void) {
    lee_share_note();
    own_waited = own_waits();
}

static void go_on(const struct lee_process *runs, uint64_t noted, uint64_t now) {
    if (noted == 0 || now < noted)
        return;
    for (struct lee_share *at = leaf_of(runs); at->parent != NULL; at = at->parent)
        raise_floor(at, now - noted);
}

/* On a worker whose timer rests no slice ends, after which its time would be noted. */
static void go_on_resting(struct lee_worker *worker) {
    if (worker != &lee_worker && worker->runs != NULL && __atomic_load_n(&worker->unarmed, __ATOMIC_RELAXED))
        go_on(worker->runs, worker->noted, lee_share_clock());
}

/* A share is about to join. What others have used until now they need not wait for: nothing wanted it. */
static void go_on_before_join(void) {
    if (!lee_worker.idles)
        go_on(lee_process_self(), lee_worker.noted, lee_share_clock());
    if (lee_many && __atomic_load_n(&lee_timers_rest, __ATOMIC_RELAXED))
        lee_pool_each(go_on_resting);
}

void lee_share_ready(struct lee_process *process) {
    struct lee_share *leaf = process->share;
    bool ran = process == lee_process_self();
    if (!ran && leaf->ready == 0 && lee_shares_used && !lee_task_is_seeded())
        go_on_before_join();
    lee_turns_add(&leaf->queue, process);
    lee_shares_ready++;
    for (struct lee_share *at = leaf; at->parent != NULL; at = at->parent) {
        if (at->ready++ == 0)
            (ran ? link_ready : join)(at);
    }
}

void lee_share_unready(struct lee_process *process) {
    struct lee_share *leaf = process->share;
    lee_turns_take(&leaf->queue, process);
    lee_shares_ready--;
    for (struct lee_share *at = leaf; at->parent != NULL; at = at->parent) {
        if (--at->ready == 0)
            unlink_ready(at);
    }
}

/* For `lee_share_ran`, with the lock. */
static struct {
    const struct lee_share *share;
    uint64_t now, more;
} asked;

static bool is_above(const struct lee_share *share, const struct lee_share *leaf) {
    while (leaf != NULL && leaf != share)
        leaf = leaf->parent;
    return leaf != NULL;
}

/* What runs on another worker is charged when it stops. */
static void add_running(struct lee_worker *worker) {
    if (worker != &lee_worker && worker->runs != NULL && is_above(asked.share, leaf_of(worker->runs)) &&
        worker->noted != 0 && asked.now > worker->noted)
        asked.more += asked.now - worker->noted;
}

uint64_t lee_share_ran(const struct lee_share *share) {
    lee_lock();
    if (lee_shares_used && !lee_task_is_seeded()) {
        lee_share_note();
        if (lee_many) {
            asked.share = share;
            asked.now = lee_share_clock();
            asked.more = 0;
            lee_pool_each(add_running);
        }
    }
    uint64_t ran = share->ran + asked.more;
    asked.more = 0;
    lee_unlock();
    return ran;
}

void lee_share_charge(struct lee_process *process, uint64_t nanoseconds) {
    for (struct lee_share *at = leaf_of(process); at->parent != NULL; at = at->parent)
        charge(at, nanoseconds);
}

void lee_share_bill(struct lee_process *process, uint64_t nanoseconds) {
    lee_share_charge(process, nanoseconds);
    lee_worker.noted += nanoseconds;
}

void lee_share_skip(void) {
    since_last();
}

/* The running one lets those pass that have as much time as it, or less. */
static void give_turns_away(void) {
    for (struct lee_share *at = leaf_of(lee_process_self()); at->parent != NULL; at = at->parent) {
        bool linked = at->ready > 0;
        if (linked)
            unlink_ready(at);
        const struct lee_pairing *other = at->parent->first;
        if (other != NULL && at->node.at < other->at)
            at->node.at = other->at;
        if (linked)
            link_ready(at);
    }
}

struct lee_process *lee_share_next(bool queue, bool yields) {
    lee_share_note();
    if (queue) {
        own.ready = 1;
        (own_waited ? link_ready : join)(&own);
    }
    own_waited = own_waits();
    if (yields)
        give_turns_away();
    struct lee_share *at = &root;
    while (at != &own && at->queue.head == NULL) {
        struct lee_share *next = (struct lee_share *)(void *)at->first;
        at->floor = next->node.at > at->floor ? next->node.at : at->floor;
        at = next;
    }
    if (queue) {
        own.ready = 0;
        unlink_ready(&own);
    }
    if (at == &own)
        return NULL;
    struct lee_process *process = at->queue.head;
    lee_process_unready(process);
    return process;
}

bool lee_share_is_behind(const struct lee_process *woken) {
    const struct lee_share *ran = leaf_of(lee_process_self()), *at = leaf_of(woken);
    while (at->parent != NULL && !is_above(at->parent, ran))
        at = at->parent;
    while (ran->parent != at->parent)
        ran = ran->parent;
    if (at == ran)
        return false;
    lee_share_note();
    return at->node.at + BEHIND < ran->node.at;
}

#endif
