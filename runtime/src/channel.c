/* channel.c: channels between processes and tasks.
 *
 * Promises: what lee/channel.h says. Both ends of a channel and the places of all messages are one block outside of every heap, made once and
 * given back when both ends are closed. An end is on the list of the process that it belongs to from when it is made, so that the end of a
 * process closes it; only that process touches the list.
 *
 * With several workers messages are sent and received without the lock (worker.h): a queue has one
 * sender and one receiver. The sender fills a place, then stores the number of the message there;
 * the receiver reads the number, then the place, and empties it. A place is used again when an
 * answer came that its receiver sent after that: contracts say so. Ends are made and closed, what
 * messages own changes hands, and tasks wait and are woken with the lock; "Channels without the
 * lock" in PROCESSES.md says why no wake-up is lost.
 *
 * An end that is in a message on its way is on no list. Its own queue is empty then: contracts let an end be sent only when it is its turn to send,
 * so the release of what was not received goes no deeper.
 *
 * An end that a task waits for names the task (`waiter`). Whoever changes the head of an end's
 * queue wakes that task, which looks at its ends again. An end in a set tells the set
 * (endpoint_set.c), and one that a select keeps that (select.c); these name the task. */
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

enum { NUMBER_BYTES = 8, LINE = 64, LINE_REST = LINE - 16, KEPT_BYTES = 256 + LINE_REST, KEPT_MOST = 1024 };

/* Free channels of at most KEPT_BYTES, which have that size. */
static _Thread_local struct {
    struct channel *free;
    size_t count;
} kept;

/* The place after this one; `end` is the one that receives from these places. */
static inline uint32_t place_after(const struct lee_endpoint *end, uint32_t place) {
    uint32_t next = place + end->channel->stride;
    return next == end->bytes ? 0 : next;
}

static __attribute__((noinline)) void notice(const struct lee_endpoint *end) {
    lee_lock();
    lee_select_notice(end->column);
    lee_unlock();
}

/* Nobody else looks at the place until an answer has come: no order is needed. */
static void leave_place(struct lee_endpoint *end) {
    lee_atomic_store(lee_number_in(lee_head_place(end)), LEE_EMPTY, __ATOMIC_RELAXED);
    end->queue->first = place_after(end, end->queue->first);
    if (__builtin_expect(end->told == LEE_TELLS_SELECT, 0))
        notice(end);
}

static void leave_first(void *end) {
    leave_place(end);
}

size_t lee_channel_held(const struct lee_endpoint *end) {
    size_t held = 0;
    for (uint32_t at = 0; at < end->bytes; at += end->channel->stride)
        held += lee_atomic_load(lee_number_in(end->queue->places + at), __ATOMIC_RELAXED) != LEE_EMPTY;
    return held;
}

/* --- who waits -------------------------------------------------------------------------------- */

static inline void await_set(struct lee_set *set, struct lee_task *task) {
    if (set->column != NULL)
        lee_select_await(set->column, task);
    else
        set->waiter = task;
}

static inline void await_all(struct lee_waited *waited, struct lee_task *task) {
    if (waited->kept != NULL) {
        lee_select_await_all(waited->kept, task);
        return;
    }
    for (unsigned i = 0; i < waited->count; i++)
        lee_channel_await(waited->ends[i], task);
    for (unsigned i = 0; i < waited->set_count; i++)
        await_set(waited->sets[i], task);
}

/* The task no longer waits; it may be ended before it runs again. What it waited for is on its
 * stack, which is still there, and its ends are still open. */
static void leave(struct lee_task *task) {
    struct lee_waited *waited = task->outside;
    await_all(waited, NULL);
    lee_timer_clear(&waited->timer);
    task->outside = NULL;
    task->leave = NULL;
}

void lee_channel_leave_end(struct lee_task *task) {
    lee_channel_await(task->outside, NULL);
    task->outside = NULL;
    task->leave = NULL;
}

static void resume(struct lee_task *task) {
    task->leave(task);
    lee_task_resume(task);
}

static void end_by_time(struct lee_timer *timer) {
    resume(((struct lee_waited *)(void *)((char *)timer - offsetof(struct lee_waited, timer)))->task);
}

static __attribute__((noinline)) void wake_told(const struct lee_endpoint *end) {
    struct lee_column *column = NULL;
    struct lee_task *task = NULL;
    if (end->told == LEE_TELLS_SET) {
        struct lee_set *set = end->member->set;
        lee_set_notice(end->member);
        column = set->column;
        task = set->waiter;
    } else {
        column = end->column;
        lee_select_notice(column);
    }
    if (column != NULL)
        task = lee_select_waiter(column);
    if (task != NULL)
        resume(task);
}

static inline void wake(struct lee_endpoint *end) {
    struct lee_task *task = end->waiter;
    if (task == NULL)
        return;
    if (__builtin_expect(end->told != LEE_TELLS_TASK, 0)) {
        wake_told(end);
    } else if (__builtin_expect(task->leave == lee_channel_leave_end, 1)) {
        /* What `lee_channel_leave_end` does, and `lee_task_resume` the rest. */
        lee_atomic_store(&end->waiter, NULL, __ATOMIC_RELAXED);
        lee_task_resume(task);
    } else {
        resume(task);
    }
}

/* Something came to the end, without the lock. */
static __attribute__((noinline)) void wake_many(struct lee_endpoint *end) {
    lee_lock_many();
    wake(end);
    lee_unlock_many();
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
    if (__builtin_expect(end->told == LEE_TELLS_SELECT, 0))
        lee_select_forget(end->column);
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
        to_importer > UINT32_MAX || bytes - to_importer > UINT32_MAX ||
        __builtin_add_overflow(bytes, sizeof(struct channel) + LINE_REST + 2 * sizeof(struct lee_queue), &bytes))
        lee_fault_memory(site, SIZE_MAX);
    struct lee_process *self = lee_process_self();
    lee_process_ask(LEE_GROUP_BYTES, charge_of(bytes));
    lee_process_ask(LEE_GROUP_ENDPOINTS, 2);
    lee_lock();
    struct channel *channel = take_block(bytes);
    if (channel == NULL)
        lee_fault_memory(site, bytes);
    *channel = (struct channel){.contract = contract, .stride = (uint32_t)stride, .open = 2, .bytes = bytes};
    /* The queues begin on a line of the cache: small ones lie in it whole. */
    uintptr_t line = ((uintptr_t)(channel + 1) + LINE - 1) & ~(uintptr_t)(LINE - 1);
    struct lee_queue *queue = (struct lee_queue *)line;
    for (int i = 0; i < 2; i++) {
        struct lee_endpoint *end = &channel->ends[i];
        *end = (struct lee_endpoint){.channel = channel, .peer = &channel->ends[1 - i], .queue = queue, .bytes = channel->stride * contract->places[i]};
        queue->first = queue->next = 0;
        for (uint32_t at = 0; at < end->bytes; at += channel->stride)
            *lee_number_in(queue->places + at) = LEE_EMPTY;
        queue = (struct lee_queue *)(void *)(queue->places + to_importer);
        link_end(&channel->ends[i], self);
        ends[i] = &channel->ends[i];
    }
    lee_unlock();
}

/* What came and is not received is released: here what was there before the end was closed, else by
 * whoever sent it (`take_back`). What owns something was put into its place before its sender had
 * the lock for that, so its number needs no order. */
static void drain(struct lee_endpoint *end) {
    int32_t message;
    if (lee_many)
        lee_atomic_fence();
    for (unsigned char *place; (message = lee_atomic_load(lee_number_in(place = lee_head_place(end)), __ATOMIC_RELAXED)) != LEE_EMPTY;) {
        const struct lee_owned *owned = owned_of(end->channel->contract, message);
        leave_place(end);
        if (owned != NULL)
            lee_parts_lost(place + NUMBER_BYTES, owned->size, owned);
    }
}

void lee_channel_close(struct lee_endpoint *end) {
    if (end == NULL)
        return;
    lee_lock();
    struct channel *channel = end->channel;
    unlink_end(end);
    /* Behind all that it sent: each send ends with a fence. */
    lee_atomic_store(&end->closed, true, __ATOMIC_RELAXED);
    if (channel->contract->owned != NULL)
        drain(end);
    if (--channel->open == 0)
        give_block(channel);
    else
        wake(lee_peer_of(end));
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
        for (uint32_t at = 0; channel->contract->local && at < end->bytes; at += channel->stride) {
            const unsigned char *place = end->queue->places + at;
            if (*lee_number_in(place) != LEE_EMPTY)
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

/* The end is closed, so the message is never received. */
static __attribute__((noinline)) void send_nobody(unsigned char *place, const void *arguments, size_t bytes, const struct lee_owned *owned) {
    if (owned == NULL)
        return;
    lee_lock();
    memcpy(place + NUMBER_BYTES, arguments, bytes);
    lee_dispose_parts(place + NUMBER_BYTES, bytes, owned);
    lee_unlock();
}

/* The end that it was sent to is closed, and may have been so before the message was there: then it
 * is nobody's. Whoever closed it has the lock as long as it releases what it found. */
static __attribute__((noinline)) void take_back(unsigned char *place, size_t bytes, const struct lee_owned *owned) {
    lee_lock_many();
    if (lee_atomic_load(lee_number_in(place), __ATOMIC_RELAXED) != LEE_EMPTY) {
        lee_atomic_store(lee_number_in(place), LEE_EMPTY, __ATOMIC_RELAXED);
        lee_parts_lost(place + NUMBER_BYTES, bytes, owned);
    }
    lee_unlock_many();
}

/* What the message owns leaves the running process. */
static inline void leave_parts(const struct lee_contract *contract, unsigned char *place, size_t bytes, const struct lee_owned *owned) {
    lee_lock();
    if (contract->local)
        lee_walk_local_parts(LEE_WALK_LEAVE, place + NUMBER_BYTES, bytes, owned);
    else
        lee_walk_parts(LEE_WALK_LEAVE, place + NUMBER_BYTES, bytes, owned);
    lee_unlock();
}

static inline __attribute__((always_inline)) void send(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes, bool many) {
    if (__builtin_expect(end == NULL, 0))
        lee_fault_null(NULL);
    struct lee_endpoint *to = lee_peer_of(end);
    const struct lee_contract *contract = end->channel->contract;
    unsigned char *place = to->queue->places + to->queue->next;
    /* Contracts are checked so that this cannot be: a place is free for each message that can be on its way. */
    if (__builtin_expect(lee_atomic_load(lee_number_in(place), __ATOMIC_RELAXED) != LEE_EMPTY ||
                             (uint32_t)message - 1 >= contract->messages || bytes > end->channel->stride - NUMBER_BYTES, 0))
        fault(NULL, end, "channel: ", message, " does not fit into a channel of ");
    const struct lee_owned *owned = owned_of(contract, message);
    if (__builtin_expect(lee_atomic_load(&to->closed, __ATOMIC_RELAXED), 0)) {
        send_nobody(place, arguments, bytes, owned);
        return;
    }
    copy(place + NUMBER_BYTES, arguments, bytes);
    if (owned != NULL)
        leave_parts(contract, place, bytes, owned);
    to->queue->next = place_after(to, to->queue->next);
    lee_atomic_store(lee_number_in(place), message, __ATOMIC_RELEASE);
    if (many) {
        lee_atomic_fence();
        if (owned != NULL && lee_atomic_load(&to->closed, __ATOMIC_RELAXED))
            take_back(place, bytes, owned);
        else if (lee_atomic_load(&to->waiter, __ATOMIC_RELAXED) != NULL)
            wake_many(to);
    } else if (to->waiter != NULL) {
        wake(to);
    }
}

static __attribute__((noinline)) void send_many(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes) {
    send(end, message, arguments, bytes, true);
}

void lee_channel_send(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes) {
    if (__builtin_expect(lee_many, 0))
        send_many(end, message, arguments, bytes);
    else
        send(end, message, arguments, bytes, false);
}

bool lee_channel_awaits(const struct lee_task *task, struct lee_awaited *what) {
    const struct lee_waited *waited = task->leave == leave ? task->outside : NULL;
    const struct lee_endpoint *peer = task->leave == lee_channel_leave_end ? lee_peer_of(task->outside) : NULL;
    if (waited == NULL && peer == NULL)
        return false;
    for (unsigned i = 0; waited != NULL && i < waited->count && (peer == NULL || peer->owner == NULL); i++)
        peer = lee_peer_of(waited->ends[i]);
    for (unsigned i = 0; waited != NULL && i < waited->set_count && (peer == NULL || peer->owner == NULL); i++) {
        const struct lee_member *idle = waited->sets[i]->lists[0].first;
        peer = idle == NULL ? NULL : lee_peer_of(idle->end);
    }
    if (peer != NULL)
        *what = (struct lee_awaited){.process = peer->owner, .contract = peer->channel->contract->name};
    return true;
}

int32_t lee_channel_head(const struct lee_endpoint *end) {
    return lee_head_of(end);
}

/* What the message owns becomes the running process's, and the place is free. */
static __attribute__((noinline)) void take_parts(struct lee_endpoint *end, unsigned char *place, void *arguments, size_t bytes,
                                                 const struct lee_owned *owned) {
    lee_lock();
    if (!end->channel->contract->local) {
        lee_parts_arrive(place + NUMBER_BYTES, arguments, bytes, owned, leave_first, end);
    } else {
        leave_place(end);
        lee_walk_local_parts(LEE_WALK_ARRIVE, arguments, bytes, owned);
    }
    lee_unlock();
}

static _Noreturn __attribute__((noinline)) void fault_taken(const struct lee_endpoint *end, int32_t message) {
    fault(NULL, end, "receive: ", message, " is not there, in a channel of ");
}

/* It is known to stand at the head. */
static inline __attribute__((always_inline)) void take_head(struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    unsigned char *place = lee_head_place(end);
    if (__builtin_expect(bytes > end->channel->stride - NUMBER_BYTES, 0))
        fault_taken(end, message);
    copy(arguments, place + NUMBER_BYTES, bytes);
    const struct lee_owned *owned = owned_of(end->channel->contract, message);
    if (owned != NULL)
        take_parts(end, place, arguments, bytes, owned);
    else
        leave_place(end);
}

/* The caller has seen the number of the message already, in order. */
void lee_channel_take(struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    if (__builtin_expect(lee_atomic_load(lee_number_in(lee_head_place(end)), __ATOMIC_RELAXED) != message || message <= 0, 0))
        fault_taken(end, message);
    take_head(end, message, arguments, bytes);
}

/* --- waiting --------------------------------------------------------------------------------------------------------------- */

void lee_channel_await_all(struct lee_waited *waited) {
    waited->task = lee_task_self();
    waited->timer.set = false;
    lee_task_may_wait();
    await_all(waited, waited->task);
    if (lee_many)
        lee_atomic_fence();
}

void lee_channel_leave_all(struct lee_waited *waited) {
    await_all(waited, NULL);
}

void lee_channel_wait(struct lee_waited *waited, int64_t deadline) {
    if (deadline != LEE_FOR_EVER)
        lee_timer_set(&waited->timer, deadline, end_by_time);
    lee_task_park(waited, leave);
}

void lee_channel_wait_many(struct lee_endpoint *end) {
    struct lee_task *self = lee_process->tasks.running;
    if (lee_worker_linger != NULL && !self->custodian->shut &&
        lee_worker_linger(lee_number_in(lee_head_place(end)), &lee_peer_of(end)->closed))
        return;
    lee_lock_many();
    if (__builtin_expect(self->custodian->shut || self->process->accounts.limited, 0))
        lee_task_may_wait();
    lee_channel_await(end, self);
    /* Either this sees what was sent, or whoever sent it sees that it is awaited. */
    lee_atomic_fence();
    if (lee_head_of(end) != LEE_EMPTY)
        lee_channel_await(end, NULL);
    else
        lee_task_park(end, lee_channel_leave_end);
    lee_unlock_many();
}

static inline __attribute__((always_inline)) void receive(const struct lee_site *site, struct lee_endpoint *end, int32_t message,
                                                          void *arguments, size_t bytes, bool many) {
    int32_t head;
    if (end == NULL)
        lee_fault_null(site);
    while ((head = lee_head_of(end)) == LEE_EMPTY) {
        if (many)
            lee_channel_wait_many(end);
        else
            lee_channel_wait_end(end);
    }
    if (head == LEE_CLOSED)
        fault(site, end, "receive: the other end was closed before ", message, " came, in a channel of ");
    if (head != message)
        fault(site, end, "receive: ", head, " came and is not what is received, in a channel of ");
    take_head(end, message, arguments, bytes);
}

static __attribute__((noinline)) void receive_many(const struct lee_site *site, struct lee_endpoint *end, int32_t message,
                                                   void *arguments, size_t bytes) {
    lee_task_end_slice();
    receive(site, end, message, arguments, bytes, true);
}

void lee_channel_receive(const struct lee_site *site, struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes) {
    if (__builtin_expect(lee_many, 0))
        receive_many(site, end, message, arguments, bytes);
    else
        receive(site, end, message, arguments, bytes, false);
}

#endif
