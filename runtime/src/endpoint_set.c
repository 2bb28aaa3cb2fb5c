/* endpoint_set.c: sets and maps of ends of channels.
 *
 * Promises: what lee/channel.h says of sets. A set has a list of its idle members, and for each
 * message and for LEE_CLOSED a list of the members at whose heads that stands, in the order in
 * which it came there. While an end is in a set nothing is taken from its queue, so its head
 * changes once: then the member moves to the list of what came (`lee_set_notice`). A select looks
 * at the first of a list for each condition; it never walks over members.
 *
 * Members are on the list of their process's ends as others are, and leave it with the set that is
 * given to a process. What a process has left of sets
 * when it ends is given back before its ends are closed. */
#include "process.h"

#ifndef LEE_NO_GC

#include <lee/channel.h>
#include <lee/lee.h>
#include <lee/owned.h>

#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "dispose.h"
#include "report.h"
#include "system.h"
#include "worker.h"

/* Lists by number: idle members, those whose peers are closed, then those with message 1 and so
 * on. */
enum { IDLE, CLOSED, MESSAGES };

static uint32_t list_count(const struct lee_set *set) {
    return MESSAGES + set->kind->contract->messages;
}

/* The list of what stands at a head; UINT32_MAX: there is none. */
static uint32_t list_of(const struct lee_set *set, int32_t head) {
    if (head == LEE_EMPTY)
        return IDLE;
    if (head == LEE_CLOSED)
        return CLOSED;
    uint32_t list = (uint32_t)head + (MESSAGES - 1);
    return head > 0 && list < list_count(set) ? list : UINT32_MAX;
}

/* --- members ---------------------------------------------------------------------------------- */

/* What conditions say of the set may be different from now on. */
static void changed(const struct lee_set *set) {
    if (set->column != NULL)
        lee_select_notice(set->column);
}

static void join(struct lee_set *set, struct lee_member *member) {
    uint32_t list = list_of(set, lee_channel_head(member->end));
    /* The contract of a member has no message that the set's does not have in the state in which
     * the end receives. */
    if (__builtin_expect(list == UINT32_MAX, 0))
        lee_fault_message(NULL, "a message came to a member of a set that its contract does not know");
    struct lee_members *members = &set->lists[list];
    member->list = list;
    member->next = NULL;
    member->previous = members->last;
    if (members->last != NULL)
        members->last->next = member;
    else
        members->first = member;
    members->last = member;
    set->idle += list == IDLE;
    changed(set);
}

static void part(struct lee_set *set, struct lee_member *member) {
    struct lee_members *members = &set->lists[member->list];
    if (member->previous != NULL)
        member->previous->next = member->next;
    else
        members->first = member->next;
    if (member->next != NULL)
        member->next->previous = member->previous;
    else
        members->last = member->previous;
    set->idle -= member->list == IDLE;
    changed(set);
}

void lee_set_notice(struct lee_member *member) {
    /* More messages behind the head, or the close after them, change nothing. */
    if (member->list != IDLE)
        return;
    part(member->set, member);
    join(member->set, member);
}

/* Takes a member out; its memory is kept for the next. */
static struct lee_endpoint *take_out(struct lee_set *set, struct lee_member *member) {
    struct lee_endpoint *end = member->end;
    part(set, member);
    set->count--;
    lee_tell(end, LEE_TELLS_TASK, NULL);
    member->end = NULL;
    member->next = set->spare;
    set->spare = member;
    return end;
}

/* --- making and ending ------------------------------------------------------------------------ */

static size_t bytes_of(const struct lee_set_kind *kind) {
    return sizeof(struct lee_set) + (MESSAGES + (size_t)kind->contract->messages) * sizeof(struct lee_members);
}

/* The process that has the set is charged for it and for the memory of its members. */
static void count_bytes(const struct lee_set *set, size_t bytes, int more) {
    if (set->owner == NULL)
        return;
    lee_process_count(set->owner, LEE_GROUP_BYTES, more * (ptrdiff_t)(bytes + LEE_MALLOC_HEADER));
}

static void free_member(const struct lee_set *set, struct lee_member *member) {
    count_bytes(set, sizeof *member + set->kind->bytes, -1);
    free(member);
}

static void link_set(struct lee_set *set, struct lee_process *owner) {
    set->owner = owner;
    set->previous = NULL;
    set->next = owner->sets;
    if (set->next != NULL)
        set->next->previous = set;
    owner->sets = set;
}

static void unlink_set(struct lee_set *set) {
    if (set->column != NULL)
        lee_select_forget(set->column);
    if (set->previous != NULL)
        set->previous->next = set->next;
    else
        set->owner->sets = set->next;
    if (set->next != NULL)
        set->next->previous = set->previous;
}

struct lee_set *lee_set_make(const struct lee_site *site, const struct lee_set_kind *kind) {
    struct lee_process *self = lee_process_self();
    size_t bytes = bytes_of(kind);
    lee_process_ask(LEE_GROUP_BYTES, bytes + LEE_MALLOC_HEADER);
    struct lee_set *set = lee_system_fails() ? NULL : calloc(1, bytes);
    if (set == NULL)
        lee_fault_memory(site, bytes);
    set->kind = kind;
    link_set(set, self);
    count_bytes(set, bytes, 1);
    return set;
}

static void give_back(struct lee_set *set) {
    struct lee_member *spare;
    while ((spare = set->spare) != NULL) {
        set->spare = spare->next;
        free_member(set, spare);
    }
    if (set->owner != NULL)
        unlink_set(set);
    count_bytes(set, bytes_of(set->kind), -1);
    free(set);
}

void lee_set_free(struct lee_set *set) {
    if (set == NULL)
        return;
    lee_lock();
    /* What is closed here may change the heads of other members: then they move from the first list
     * to a later one. */
    for (uint32_t i = 0; i < list_count(set); i++) {
        struct lee_member *member;
        while ((member = set->lists[i].first) != NULL) {
            lee_channel_close(take_out(set, member));
            if (set->kind->owned != NULL) {
                /* The member's memory is this loop's while its value is released. */
                set->spare = member->next;
                if (set->owner != NULL)
                    lee_dispose_parts(member->value, set->kind->bytes, set->kind->owned);
                else
                    lee_parts_lost(member->value, set->kind->bytes, set->kind->owned);
                free_member(set, member);
            }
        }
    }
    give_back(set);
    lee_unlock();
}

void lee_endpoint_sets_end(struct lee_process *process) {
    while (process->sets != NULL) {
        struct lee_set *set = process->sets;
        for (uint32_t i = 0; i < list_count(set); i++) {
            while (set->lists[i].first != NULL)
                take_out(set, set->lists[i].first);
        }
        give_back(set);
    }
}

void lee_endpoint_sets_scan(const struct lee_process *process, struct lee_marker *marker) {
    for (const struct lee_set *set = process->sets; set != NULL; set = set->next) {
        for (uint32_t i = 0; set->kind->scanned && i < list_count(set); i++) {
            for (const struct lee_member *member = set->lists[i].first; member != NULL; member = member->next)
                lee_mark_words(marker, member->value, member->value + set->kind->bytes);
        }
    }
}

/* --- given to a process that is spawned ------------------------------------------------------- */

/* All that the set takes, without its members' ends. */
static size_t all_bytes(const struct lee_set *set) {
    size_t members = set->count;
    for (const struct lee_member *spare = set->spare; spare != NULL; spare = spare->next)
        members++;
    return bytes_of(set->kind) + LEE_MALLOC_HEADER + members * (sizeof(struct lee_member) + set->kind->bytes + LEE_MALLOC_HEADER);
}

/* Its members' ends, and what the values of a map own, leave a process or join one. */
static void walk_members(struct lee_work *work, struct lee_set *set) {
    for (uint32_t i = 0; i < list_count(set); i++) {
        for (struct lee_member *member = set->lists[i].first; member != NULL; member = member->next) {
            lee_push_endpoint(work, member->end);
            if (set->kind->owned != NULL)
                lee_walk_parts(lee_walk_of(work), member->value, set->kind->bytes, set->kind->owned);
        }
    }
}

/* The spawner's custodians pay until it arrives, or is lost. */
static void leave(struct lee_work *work, struct lee_set *set) {
    size_t bytes = all_bytes(set);
    walk_members(work, set);
    count_bytes(set, bytes - LEE_MALLOC_HEADER, -1);
    unlink_set(set);
    set->owner = NULL;
    set->payer = lee_pay_sent(bytes);
}

static void drop_payer(struct lee_set *set) {
    lee_unpay_sent(set->payer, all_bytes(set));
    set->payer = NULL;
}

static void arrive(struct lee_work *work, struct lee_set *set) {
    drop_payer(set);
    link_set(set, lee_process_self());
    count_bytes(set, all_bytes(set) - LEE_MALLOC_HEADER, 1);
    walk_members(work, set);
}

/* No message, block or object of the heap has a set: what is released has one, and the arguments of
 * a process. */
void lee_push_set(struct lee_work *work, struct lee_set *set) {
    if (set == NULL)
        return;
    lee_lock();
    switch (lee_walk_of(work)) {
    case LEE_WALK_RELEASE:
        lee_set_free(set);
        break;
    case LEE_WALK_LOST:
        drop_payer(set);
        lee_set_free(set);
        break;
    case LEE_WALK_LEAVE:
        leave(work, set);
        break;
    case LEE_WALK_ARRIVE:
        arrive(work, set);
        break;
    case LEE_WALK_DEAD:
    case LEE_WALK_NAME: /* values of maps that are given on name no processes */
    case LEE_WALK_UNNAME:
        break;
    }
    lee_unlock();
}

/* --- adding and taking ------------------------------------------------------------------------ */

void lee_set_add(const struct lee_site *site, struct lee_set *set, struct lee_endpoint *end, const void *value) {
    if (set == NULL || end == NULL)
        lee_fault_null(site);
    size_t bytes = sizeof(struct lee_member) + set->kind->bytes;
    lee_lock();
    struct lee_member *member = set->spare;
    if (member != NULL)
        set->spare = member->next;
    else if (bytes < set->kind->bytes || lee_system_fails() || (member = malloc(bytes)) == NULL)
        lee_fault_memory(site, bytes);
    else
        count_bytes(set, bytes, 1);
    if (end->told == LEE_TELLS_SELECT)
        lee_select_forget(end->column);
    member->end = end;
    member->set = set;
    if (set->kind->bytes > 0)
        memcpy(member->value, value, set->kind->bytes);
    lee_tell(end, LEE_TELLS_SET, member);
    if (lee_many)
        lee_atomic_fence();
    set->count++;
    join(set, member);
    lee_unlock();
}

struct lee_endpoint *lee_set_take(const struct lee_site *site, struct lee_set *set, int32_t head, void *value) {
    if (set == NULL)
        lee_fault_null(site);
    struct lee_member *member = NULL;
    lee_lock();
    if (head == LEE_ANY_MEMBER) {
        for (uint32_t i = 0; member == NULL && i < list_count(set); i++)
            member = set->lists[i].first;
    } else {
        uint32_t list = list_of(set, head);
        member = list == UINT32_MAX ? NULL : set->lists[list].first;
    }
    if (member == NULL)
        lee_fault_message(site, "receive: no member of the set has the message");
    if (set->kind->bytes > 0)
        memcpy(value, member->value, set->kind->bytes);
    struct lee_endpoint *end = take_out(set, member);
    lee_unlock();
    return end;
}

enum lee_state lee_set_state(const struct lee_set *set, int32_t wanted) {
    if (wanted == LEE_NO_MEMBER)
        return set->count == 0 ? LEE_HOLDS : LEE_GONE;
    if (wanted == LEE_ANY_MEMBER)
        return set->count > 0 ? LEE_HOLDS : LEE_GONE;
    uint32_t list = list_of(set, wanted);
    if (list != UINT32_MAX && set->lists[list].first != NULL)
        return LEE_HOLDS;
    return set->idle > 0 ? LEE_POSSIBLE : LEE_GONE;
}

#endif
