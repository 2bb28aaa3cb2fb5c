/* channel.c: channels between processes and tasks.
 *
 * Promises: what lee/channel.h says. Both ends of a channel and the places of all messages are one block outside of every heap, made once and
 * given back when both ends are closed. An end is on the list of the process that it belongs to from when it is made, so that the end of a
 * process closes it; only that process touches the list. With several workers all that is here is
 * done with the lock (worker.h).
 *
 * An end that is in a message on its way is on no list. Its own queue is empty then: contracts let an end be sent only when it is its turn to send,
 * so the release of what was not received goes no deeper.
 *
 * An end that a task waits for names the task (`waiter`). Whoever changes the head of an end's queue wakes that task, which looks at
 * all of its ends again. An end in a set tells the set (endpoint_set.c), which names the task. */
#include "process.h"

#ifndef LEE_NO_GC

#include <lee/channel.h>
#include <lee/lee.h>
#include <lee/owned.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channel.h"
#include "deadlock.h"
#include "dispose.h"
#include "report.h"
#include "system.h"
#include "text.h"
#include "worker.h"

struct channel {
    const struct lee_contract *contract;
    uint32_t stride; /* bytes from a place to the next */
    uint32_t open;   /* ends */
    size_t bytes;
    struct channel *next; /* of the free ones */
    struct lee_endpoint ends[2];
};

enum { NUMBER_BYTES = 8, KEPT_BYTES = 256, KEPT_MOST = 1024 };

/* Free channels of at most KEPT_BYTES, which have that size. */
static _Thread_local struct {
    struct channel *free;
    size_t count;
} kept;

static struct lee_endpoint *peer_of(const struct lee_endpoint *end) {
    struct channel *channel = end->channel;
    ptrdiff_t apart = end == channel->ends ? 1 : -1;
    return (struct lee_endpoint *)(uintptr_t)(end + apart);
}

static unsigned char *place_of(const struct lee_endpoint *end, uint32_t number) {
    uint32_t at = end->first + number;
    return end->places + (size_t)(at < end->most ? at : at - end->most) * end->channel->stride;
}

/* Of the head. */
static inline unsigned char *head_place(const struct lee_endpoint *end) {
    return end->places + (size_t)end->first * end->channel->stride;
}

static void leave_place(struct lee_endpoint *end) {
    end->first = end->first + 1 == end->most ? 0 : end->first + 1;
    end->held--;
}

static void leave_first(void *end) {
    leave_place(end);
}

/* --- who waits -------------------------------------------------------------------------------- */

/* The task no longer waits; it may be ended before it runs again. What it waited for is on its
 * stack, which is still there, and its ends are still open. */
static void leave(struct lee_task *task) {
    struct lee_waited *waited = task->outside;
    for (unsigned i = 0; i < waited->count; i++) {
        if (waited->ends[i]->waiter == task)
            waited->ends[i]->waiter = NULL;
    }
    for (unsigned i = 0; i < waited->set_count; i++)
        waited->sets[i]->waiter = NULL;
    lee_timer_clear(&waited->timer);
    task->outside = NULL;
    task->leave = NULL;
}

static void resume(struct lee_task *task) {
    leave(task);
    lee_task_resume(task);
}

static void end_by_time(struct lee_timer *timer) {
    resume(((struct lee_waited *)(void *)((char *)timer - offsetof(struct lee_waited, timer)))->task);
}

static void wake(const struct lee_endpoint *end) {
    struct lee_task *task = end->waiter;
    if (task == NULL)
        return;
    if (end->in_set) {
        struct lee_set *set = end->member->set;
        lee_set_notice(end->member);
        task = set->waiter;
        if (task == NULL)
            return;
    }
    resume(task);
}

/* --- making and closing ------------------------------------------------------------------------------------------------ */

/* What a block takes of C's memory, with the header that malloc puts there. */
static size_t charge_of(size_t bytes) {
    return (bytes < KEPT_BYTES ? KEPT_BYTES : bytes) + LEE_MALLOC_HEADER;
}

/* Each end stands for half of the block. */
static void count_end(const struct lee_endpoint *end, int more) {
    lee_process_count(end->owner, LEE_GROUP_ENDPOINTS, more);
    lee_process_count(end->owner, LEE_GROUP_BYTES, more * (ptrdiff_t)(charge_of(end->channel->bytes) / 2));
}

static void link_end(struct lee_endpoint *end, struct lee_process *owner) {
    end->owner = owner;
    end->previous = NULL;
    end->next = owner->endpoints;
    if (end->next != NULL)
        end->next->previous = end;
    owner->endpoints = end;
    count_end(end, 1);
}

/* It is in a message on its way: until that is received, the sender's custodians pay for it. */
static void send_end(struct lee_endpoint *end) {
    end->payer = lee_pay_sent(charge_of(end->channel->bytes) / 2);
}

static void end_of_way(struct lee_endpoint *end) {
    lee_unpay_sent(end->payer, charge_of(end->channel->bytes) / 2);
    end->payer = NULL;
}

static void unlink_end(struct lee_endpoint *end) {
    if (end->owner == NULL) {
        end_of_way(end);
        return;
    }
    if (end->previous != NULL)
        end->previous->next = end->next;
    else
        end->owner->endpoints = end->next;
    if (end->next != NULL)
        end->next->previous = end->previous;
    count_end(end, -1);
    end->owner = NULL;
    end->payer = NULL;
}

void lee_push_endpoint(struct lee_work *work, struct lee_endpoint *end) {
    if (end == NULL)
        return;
    switch (lee_walk_of(work)) {
    case LEE_WALK_RELEASE:
    case LEE_WALK_LOST:
    case LEE_WALK_DEAD:
        lee_channel_close(end);
        break;
    case LEE_WALK_LEAVE:
        unlink_end(end);
        send_end(end);
        break;
    case LEE_WALK_ARRIVE:
        end_of_way(end);
        link_end(end, lee_process_self());
        break;
    case LEE_WALK_NAME:
    case LEE_WALK_UNNAME:
        break;
    }
}

/* How the arguments of a message own something; null if they do not. */
static inline const struct lee_owned *owned_of(const struct lee_contract *contract, int32_t message) {
    return __builtin_expect(contract->owned == NULL, 1) ? NULL : contract->owned[message - 1];
}

/* Not inline, as `give_block`: the caller may have gone to another thread, with a list of its
 * own. */
static __attribute__((noinline)) struct channel *take_block(size_t bytes) {
    if (lee_system_fails())
        return NULL;
    struct channel *channel = kept.free;
    if (bytes > KEPT_BYTES || channel == NULL)
        return malloc(bytes < KEPT_BYTES ? KEPT_BYTES : bytes);
    kept.free = channel->next;
    kept.count--;
    return channel;
}

static __attribute__((noinline)) void give_block(struct channel *channel) {
    if (channel->bytes > KEPT_BYTES || kept.count == KEPT_MOST) {
        free(channel);
        return;
    }
    channel->next = kept.free;
    kept.free = channel;
    kept.count++;
}

void lee_channel_make(const struct lee_site *site, const struct lee_contract *contract, struct lee_endpoint *ends[2]) {
    size_t stride = NUMBER_BYTES + (((size_t)contract->bytes + 7) & ~(size_t)7), to_importer, bytes;
    if (stride > UINT32_MAX || __builtin_mul_overflow(stride, contract->places[LEE_IMPORTER], &to_importer) ||
        __builtin_mul_overflow(stride, contract->places[LEE_EXPORTER], &bytes) || __builtin_add_overflow(bytes, to_importer, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(struct channel), &bytes))
        lee_fault_memory(site, SIZE_MAX);
    struct lee_process *self = lee_process_self();
    lee_process_ask(LEE_GROUP_BYTES, charge_of(bytes));
    lee_process_ask(LEE_GROUP_ENDPOINTS, 2);
    lee_lock();
    struct channel *channel = take_block(bytes);
    if (channel == NULL)
        lee_fault_memory(site, bytes);
    *channel = (struct channel){.contract = contract, .stride = (uint32_t)stride, .open = 2, .bytes = bytes};
    unsigned char *places = (unsigned char *)(channel + 1);
    for (int i = 0; i < 2; i++) {
        channel->ends[i] = (struct lee_endpoint){.channel = channel, .places = places, .most = contract->places[i]};
        places += to_importer;
        link_end(&channel->ends[i], self);
        ends[i] = &channel->ends[i];
    }
    lee_unlock();
}

void lee_channel_close(struct lee_endpoint *end) {
    if (end == NULL)
        return;
    lee_lock();
    struct channel *channel = end->channel;
    unlink_end(end);
    end->closed = true;
    while (end->held > 0 && channel->contract->owned != NULL) {
        unsigned char *place = place_of(end, 0);
        const struct lee_owned *owned = owned_of(channel->contract, *(const int32_t *)(const void *)place);
        leave_place(end);
        if (owned != NULL)
            lee_parts_lost(place + NUMBER_BYTES, owned->size, owned);
    }
    end->held = 0;
    if (--channel->open == 0)
        give_block(channel);
    else
        wake(peer_of(end));
    lee_unlock();
}

void lee_channels_end(struct lee_process *process) {
    if (process->sets != NULL)
        lee_endpoint_sets_end(process);
    while (process->endpoints != NULL)
        lee_channel_close(process->endpoints);
}

void lee_channels_scan(const struct lee_process *process, struct lee_marker *marker) {
    for (const struct lee_endpoint *end = process->endpoints; end != NULL; end = end->next) {
        const struct channel *channel = end->channel;
        for (uint32_t i = 0; channel->contract->local && i < end->held; i++) {
            const unsigned char *place = place_of(end, i);
            lee_mark_words(marker, place + NUMBER_BYTES, place + channel->stride);
        }
    }
    if (process->sets != NULL) {
        lee_lock(); /* what comes moves members from list to list */
        lee_endpoint_sets_scan(process, marker);
        lee_unlock();
    }
}

void lee_channel_want(const struct lee_site *site, const struct lee_endpoint *end, const struct lee_contract *contract) {
    if (end == NULL)
        lee_fault_null(site);
    const struct lee_contract *made_with = end->channel->contract, *at = made_with;
    while (at != NULL && at->digest != contract->digest)
        at = at->base;
    if (at != NULL)
        return;
    struct lee_text text = {.length = 0};
    lee_text_string(&text, "contract: the channel is one of ");
    lee_text_string(&text, made_with->name);
    lee_text_string(&text, ", not of ");
    lee_text_string(&text, contract->name);
    lee_report(site, &text, LEE_CALLER);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Most messages are a word or two. */
static inline void copy(void *to, const void *from, size_t bytes) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (bytes > 16) {
        memcpy(to, from, bytes);
    } else if (bytes >= 8) { /* the two halves overlap */
        uint64_t low, high;
        __builtin_memcpy(&low, f, 8);
        __builtin_memcpy(&high, f + bytes - 8, 8);
        __builtin_memcpy(t, &low, 8);
        __builtin_memcpy(t + bytes - 8, &high, 8);
    } else if (bytes >= 4) {
        uint32_t low, high;
        __builtin_memcpy(&low, f, 4);
        __builtin_memcpy(&high, f + bytes - 4, 4);
        __builtin_memcpy(t, &low, 4);
        __builtin_memcpy(t + bytes - 4, &high, 4);
    } else {
        for (size_t i = 0; i < bytes; i++)
            t[i] = f[i];
    }
}

static _Noreturn void fault(const struct lee_site *site, const struct lee_endpoint *end, const char *before, int32_t message,
                            const char *behind) {
    const struct lee_contract *contract = end->channel->contract;
    struct lee_text text = {.length = 0};
    lee_text_string(&text, before);
    if (message > 0 && (uint32_t)message <= contract->messages && contract->titles != NULL) {
        lee_text_string(&text, contract->titles[message - 1]);
    } else {
        lee_text_string(&text, "message ");
        lee_text_signed(&text, message);
    }
    lee_text_string(&text, behind);
    lee_text_string(&text, contract->name);
    lee_report(site, &text, LEE_CALLER);
}

static inline __attribute__((always_inline)) void send(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes) {
    if (__builtin_expect(end == NULL, 0))
        lee_fault_null(NULL);
    struct lee_endpoint *to = peer_of(end);
    const struct lee_contract *contract = end->channel->contract;
    /* Contracts are checked so that this cannot be: a place is there for each message that can be on its way. */
    if (__builtin_expect(to->held == to->most || message <= 0 || (uint32_t)message > contract->messages || bytes > end->channel->stride - NUMBER_BYTES, 0))
        fault(NULL, end, "channel: ", message, " does not fit into a channel of ");
    const struct lee_owned *owned = owned_of(contract, message);
    unsigned char *place = place_of(to, to->held);
    if (__builtin_expect(to->closed, 0)) { /* nobody will ever receive it */
        if (owned != NULL) {
            memcpy(place + NUMBER_BYTES, arguments, bytes);
            lee_dispose_parts(place + NUMBER_BYTES, bytes, owned);
        }
        return;
    }
    *(int32_t *)(void *)place = message;
    copy(place + NUMBER_BYTES, arguments, bytes);
    if (owned != NULL && !contract->local)
        lee_walk_parts(LEE_WALK_LEAVE, place + NUMBER_BYTES, bytes, owned);
    else if (owned != NULL)
        lee_walk_local_parts(LEE_WALK_LEAVE, place + NUMBER_BYTES, bytes, owned);
    to->held++;
    if (to->waiter != NULL)
        wake(to);
}

static __attribute__((noinline)) void send_locked(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes) {
    lee_lock_many();
    send(end, message, arguments, bytes);
    lee_unlock_many();
}

void lee_channel_send(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes) {
    if (__builtin_expect(lee_many, 0))
        send_locked(end, message, arguments, bytes);
    else
        send(end, message, arguments, bytes);
}

bool lee_channel_awaits(const struct lee_task *task, struct lee_awaited *what) {
    if (task->leave != leave)
        return false;
    const struct lee_waited *waited = task->outside;
    const struct lee_endpoint *peer = NULL;
    for (unsigned i = 0; i < waited->count && (peer == NULL || peer->owner == NULL); i++)
        peer = peer_of(waited->ends[i]);
    for (unsigned i = 0; i < waited->set_count && (peer == NULL || peer->owner == NULL); i++) {
        const struct lee_member *idle = waited->sets[i]->lists[0].first;
        peer = idle == NULL ? NULL : peer_of(idle->end);
    }
    if (peer != NULL)
        *what = (struct lee_awaited){.process = peer->owner, .contract = peer->channel->contract->name};
    return true;
}

static inline int32_t head_of(const struct lee_endpoint *end) {
    if (__builtin_expect(end->held > 0, 1))
        return *(const int32_t *)(const void *)head_place(end);
    return peer_of(end)->closed ? LEE_CLOSED : LEE_EMPTY;
}

int32_t lee_channel_head(const struct lee_endpoint *end) {
    lee_lock();
    int32_t head = head_of(end);
    lee_unlock();
    return head;
}

static inline void take(struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    unsigned char *place = head_place(end);
    if (end->held == 0 || *(const int32_t *)(const void *)place != message || bytes > end->channel->stride - NUMBER_BYTES)
        fault(NULL, end, "receive: ", message, " is not there, in a channel of ");
    copy(arguments, place + NUMBER_BYTES, bytes);
    const struct lee_owned *owned = owned_of(end->channel->contract, message);
    if (owned != NULL && !end->channel->contract->local) {
        lee_parts_arrive(place + NUMBER_BYTES, arguments, bytes, owned, leave_first, end);
        return;
    }
    leave_place(end);
    if (owned != NULL)
        lee_walk_local_parts(LEE_WALK_ARRIVE, arguments, bytes, owned);
}

static __attribute__((noinline)) void take_locked(struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    lee_lock_many();
    take(end, message, arguments, bytes);
    lee_unlock_many();
}

void lee_channel_take(struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    if (__builtin_expect(lee_many, 0))
        take_locked(end, message, arguments, bytes);
    else
        take(end, message, arguments, bytes);
}

/* --- waiting --------------------------------------------------------------------------------------------------------------- */

void lee_channel_wait(struct lee_waited *waited, int64_t deadline) {
    struct lee_task *self = lee_task_self();
    waited->task = self;
    waited->timer.set = false;
    lee_task_may_wait();
    for (unsigned i = 0; i < waited->count; i++)
        waited->ends[i]->waiter = self;
    for (unsigned i = 0; i < waited->set_count; i++)
        waited->sets[i]->waiter = self;
    if (deadline != LEE_FOR_EVER)
        lee_timer_set(&waited->timer, deadline, end_by_time);
    lee_task_park(waited, leave);
}

static void wait_until(struct lee_endpoint *const *ends, unsigned count, int64_t deadline) {
    struct lee_waited waited;
    waited.ends = ends;
    waited.count = count;
    waited.set_count = 0;
    lee_channel_wait(&waited, deadline);
}

static void wait_for(struct lee_endpoint *const *ends, unsigned count) {
    wait_until(ends, count, LEE_FOR_EVER);
}

static inline __attribute__((always_inline)) void receive(const struct lee_site *site, struct lee_endpoint *end, int32_t message,
                                                          void *arguments, size_t bytes) {
    int32_t head;
    if (end == NULL)
        lee_fault_null(site);
    while ((head = head_of(end)) == LEE_EMPTY)
        wait_for(&end, 1);
    if (head == LEE_CLOSED)
        fault(site, end, "receive: the other end was closed before ", message, " came, in a channel of ");
    if (head != message)
        fault(site, end, "receive: ", head, " came and is not what is received, in a channel of ");
    take(end, message, arguments, bytes);
}

static __attribute__((noinline)) void receive_locked(const struct lee_site *site, struct lee_endpoint *end, int32_t message,
                                                     void *arguments, size_t bytes) {
    lee_lock_many();
    receive(site, end, message, arguments, bytes);
    lee_unlock_many();
}

void lee_channel_receive(const struct lee_site *site, struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    if (__builtin_expect(lee_many, 0))
        receive_locked(site, end, message, arguments, bytes);
    else
        receive(site, end, message, arguments, bytes);
}

enum { TAKEN, POSSIBLE, GONE };

static int state_of(struct lee_endpoint *const *ends, unsigned count, const int32_t *pattern) {
    int state = TAKEN;
    for (unsigned i = 0; i < count; i++) {
        if (pattern[i] == LEE_EMPTY)
            continue;
        int32_t head = head_of(ends[i]);
        if (head == LEE_EMPTY)
            state = POSSIBLE;
        else if (head != pattern[i])
            return GONE;
    }
    return state;
}

enum { WAIT = -2, NEVER = -1 };

/* The same of one end. */
static inline int choose_of_one(const struct lee_endpoint *end, const int32_t *patterns, unsigned cases) {
    int found = NEVER;
    int32_t head = head_of(end);
    for (unsigned c = 0; c < cases; c++) {
        if (patterns[c] == head || patterns[c] == LEE_EMPTY)
            return (int)c;
        if (head == LEE_EMPTY)
            found = WAIT;
    }
    return found;
}

/* The case that can be taken; WAIT if one may be later; NEVER. */
static int choose(struct lee_endpoint *const *ends, unsigned count, const int32_t *patterns, unsigned cases) {
    int found = NEVER;
    for (unsigned c = 0; c < cases; c++) {
        int state = state_of(ends, count, &patterns[(size_t)c * count]);
        if (state == TAKEN)
            return (int)c;
        if (state == POSSIBLE)
            found = WAIT;
    }
    return found;
}

static void want_ends(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (ends[i] == NULL)
            lee_fault_null(site);
    }
}

static inline __attribute__((always_inline)) int select_from(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const int32_t *patterns,
                       unsigned cases, bool has_default) {
    want_ends(site, ends, count);
    for (;;) {
        int found = count == 1 ? choose_of_one(ends[0], patterns, cases) : choose(ends, count, patterns, cases);
        if (found == NEVER && !has_default)
            lee_fault_message(site, "receive: no case can match any more");
        if (found != WAIT)
            return found;
        wait_for(ends, count);
    }
}

static __attribute__((noinline)) int select_locked(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count,
                                                   const int32_t *patterns, unsigned cases, bool has_default) {
    lee_lock_many();
    int found = select_from(site, ends, count, patterns, cases, has_default);
    lee_unlock_many();
    return found;
}

int lee_channel_select(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const int32_t *patterns,
                       unsigned cases, bool has_default) {
    return __builtin_expect(lee_many, 0) ? select_locked(site, ends, count, patterns, cases, has_default)
                                         : select_from(site, ends, count, patterns, cases, has_default);
}

int64_t lee_channel_deadline(int64_t milliseconds) {
    int64_t time;
    return lee_deadline(__builtin_mul_overflow(milliseconds, 1000000, &time) ? milliseconds < 0 ? 0 : INT64_MAX : time);
}

int lee_channel_select_for(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const int32_t *patterns,
                           unsigned cases, bool has_default, int64_t milliseconds) {
    want_ends(site, ends, count);
    int64_t end = lee_channel_deadline(milliseconds);
    lee_lock();
    for (;;) {
        int found = choose(ends, count, patterns, cases);
        /* Nothing comes but the time. */
        bool never = found == NEVER && has_default;
        if (found < 0 && !never && lee_clock() >= end)
            found = (int)cases;
        if (found >= 0 || never) {
            lee_unlock();
            return found;
        }
        wait_until(ends, count, end);
    }
}

#endif
