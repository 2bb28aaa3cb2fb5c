/* share.c: see share.h. */
#include "share.h"

#ifndef LEE_NO_GC

#include "preempt.h"
#include "process.h"
#include "system.h"
#include "worker.h"

enum { BEHIND = 1000000 /* nanoseconds: who is behind by less waits until the slice ends */ };

static struct lee_share root = {.weight = LEE_SHARE_WEIGHT};
/* Of processes without a share; their queue is task.c's. */
static struct lee_share own = {.parent = &root, .weight = LEE_SHARE_WEIGHT};
uint64_t (*lee_share_clock)(void) = lee_system_time;

struct lee_share *lee_share_root(void) {
    return &root;
}

static void link_ready(struct lee_share *share) {
    struct lee_share *parent = share->parent;
    share->next = NULL;
    share->previous = parent->last;
    if (parent->last != NULL)
        parent->last->next = share;
    else
        parent->first = share;
    parent->last = share;
    /* One that did not want to run has not saved anything. */
    if (share->time < parent->floor)
        share->time = parent->floor;
}

static void unlink_ready(struct lee_share *share) {
    struct lee_share *parent = share->parent;
    if (share->previous != NULL)
        share->previous->next = share->next;
    else
        parent->first = share->next;
    if (share->next != NULL)
        share->next->previous = share->previous;
    else
        parent->last = share->previous;
}

void lee_share_ready(struct lee_process *process) {
    struct lee_share *leaf = process->share;
    process->queue_next = NULL;
    process->queue_previous = leaf->tail;
    if (leaf->tail != NULL)
        leaf->tail->queue_next = process;
    else
        leaf->head = process;
    leaf->tail = process;
    lee_shares_ready++;
    for (struct lee_share *at = leaf; at->parent != NULL; at = at->parent) {
        if (at->ready++ == 0)
            link_ready(at);
    }
}

void lee_share_unready(struct lee_process *process) {
    struct lee_share *leaf = process->share;
    if (process->queue_previous != NULL)
        process->queue_previous->queue_next = process->queue_next;
    else
        leaf->head = process->queue_next;
    if (process->queue_next != NULL)
        process->queue_next->queue_previous = process->queue_previous;
    else
        leaf->tail = process->queue_previous;
    lee_shares_ready--;
    for (struct lee_share *at = leaf; at->parent != NULL; at = at->parent) {
        if (--at->ready == 0)
            unlink_ready(at);
    }
}

static struct lee_share *leaf_of(const struct lee_process *process) {
    return process->share != NULL ? process->share : &own;
}

/* With LEE_SEED nothing depends on the clock: all turns are of one length. */
static uint64_t since_last(void) {
    uint64_t last = lee_worker.noted, now = lee_task_is_seeded() ? last + BEHIND : lee_share_clock();
    lee_worker.noted = now;
    return now - last;
}

void lee_share_note(void) {
    uint64_t past = since_last();
    for (struct lee_share *at = leaf_of(lee_process_self()); at->parent != NULL; at = at->parent) {
        at->time += past * LEE_SHARE_WEIGHT / at->weight;
        at->ran += past;
    }
}

void lee_share_bill(struct lee_process *process, uint64_t nanoseconds) {
    for (struct lee_share *at = leaf_of(process); at->parent != NULL; at = at->parent) {
        at->time += nanoseconds * LEE_SHARE_WEIGHT / at->weight;
        at->ran += nanoseconds;
    }
    lee_worker.noted += nanoseconds;
}

void lee_share_skip(void) {
    since_last();
}

/* Below `parent`, whoever ran least; of several, not `ran`. Null if there is none. */
static struct lee_share *least_of(const struct lee_share *parent, const struct lee_share *ran) {
    struct lee_share *least = NULL;
    for (struct lee_share *at = parent->first; at != NULL; at = at->next) {
        if (least == NULL || at->time < least->time || (at->time == least->time && least == ran))
            least = at;
    }
    return least;
}

static bool is_above(const struct lee_share *share, const struct lee_share *leaf) {
    while (leaf != NULL && leaf != share)
        leaf = leaf->parent;
    return leaf != NULL;
}

/* What runs, below `parent`; null if it is elsewhere. */
static struct lee_share *running_below(const struct lee_share *parent) {
    struct lee_share *at = leaf_of(lee_process_self());
    while (at != NULL && at->parent != parent)
        at = at->parent;
    return at;
}

/* The running one lets those pass that have as much time as it, or less. */
static void give_turns_away(void) {
    for (struct lee_share *at = leaf_of(lee_process_self()); at->parent != NULL; at = at->parent) {
        const struct lee_share *other = NULL;
        for (const struct lee_share *next = at->parent->first; next != NULL; next = next->next) {
            if (next != at && (other == NULL || next->time < other->time))
                other = next;
        }
        if (other != NULL && at->time < other->time)
            at->time = other->time;
    }
}

struct lee_process *lee_share_next(bool queue, bool yields) {
    lee_share_note();
    if (queue)
        link_ready(&own);
    if (yields)
        give_turns_away();
    struct lee_share *at = &root;
    while (at != &own && at->head == NULL) {
        struct lee_share *next = least_of(at, running_below(at));
        at->floor = next->time > at->floor ? next->time : at->floor;
        at = next;
    }
    if (queue)
        unlink_ready(&own);
    if (at == &own)
        return NULL;
    struct lee_process *process = at->head;
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
    return at->time + BEHIND < ran->time;
}

#endif
