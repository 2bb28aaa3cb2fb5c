/* group.c: see group.h. */
#include "group.h"

#ifndef LEE_NO_GC

#include <lee/lee.h>

#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "custodian.h"
#include "poison.h"
#include "process.h"
#include "system.h"
#include "text.h"
#include "units.h"
#include "worker.h"

struct lee_group_limit {
    struct lee_group *of, *victim;
    struct lee_group_limit *next, *named_next, *named_previous;
    size_t most;
    int kind;
    unsigned by; /* of the process that set it (`depth_of`): another one below leaves it alone */
};

/* What is counted counts in all groups above, of which there may be a million. So on the way up,
 * each group whose depth is a multiple of DEEP is a *bank*: groups above it were told of more than
 * those below have, in proportion to their number, and a count or a check that finds enough there
 * ends there. What is given back stays there, too, up to twice as much. So the steps for a byte, a
 * descriptor or a process do not grow with the depth. Where somebody would be refused, and where
 * exact numbers are asked for, banks tell those above what there is. */
enum {
    DEEP = 16,
    /* Prepaid: so many bytes, or such a part of one of another kind, for each group above. */
    DEPTH_BYTES = 64, DEPTH_PART = 8,
    ROOM_PART = 16 /* of what is left to a limit: the most that is prepaid */
};

enum { COLLECTS_PART = 16 /* of what lives: what a process gets between two collections that limits cause, at least */ };

/* Of the first process's first custodian. */
static struct lee_group root = {.number = 1, .least = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}};

static uint64_t last_number = 1;

const struct lee_group *lee_group_root(void) {
    return &root;
}

/* --- the tree --------------------------------------------------------------------------------- */

static void attach(struct lee_group *group, struct lee_group *parent) {
    group->parent = parent;
    group->shut = group->shut || parent->shut;
    group->next = parent->child;
    if (parent->child != NULL)
        parent->child->previous = group;
    parent->child = group;
}

static void detach(struct lee_group *group) {
    if (group->previous != NULL)
        group->previous->next = group->next;
    else
        group->parent->child = group->next;
    if (group->next != NULL)
        group->next->previous = group->previous;
}

/* The next one below `top` that is not below `group`, in pre-order; null after the last. */
static struct lee_group *beside(struct lee_group *group, const struct lee_group *top) {
    while (group != top && group->next == NULL)
        group = group->parent;
    return group == top ? NULL : group->next;
}

/* The next one below `top`, in pre-order; null after the last. */
static struct lee_group *after(struct lee_group *group, const struct lee_group *top) {
    return group->child != NULL ? group->child : beside(group, top);
}

bool lee_group_is_inside(const struct lee_group *group, const struct lee_group *top) {
    while (group != NULL && group != top)
        group = group->parent;
    return group != NULL;
}

static void find_least(struct lee_group *group, int kind) {
    group->least[kind] = SIZE_MAX;
    for (const struct lee_group_limit *limit = group->limits; limit != NULL; limit = limit->next) {
        if (limit->kind == kind && !limit->victim->shut && limit->most < group->least[kind])
            group->least[kind] = limit->most;
    }
}

static void count(struct lee_group *group, int kind, ptrdiff_t more);

/* The process that made a group pays for it and its limits. When that is gone, or if there was none,
 * the group does, as long as something needs it. */
static void charge_maker(struct lee_group *group, ptrdiff_t bytes) {
    if (group->maker != NULL)
        lee_process_count(group->maker, LEE_GROUP_BYTES, bytes);
    else if (group->pays)
        count(group, LEE_GROUP_BYTES, bytes);
}

static void free_limit(struct lee_group_limit *limit) {
    charge_maker(limit->of, -(ptrdiff_t)sizeof *limit);
    free(limit);
}

static void unname(struct lee_group_limit *limit) {
    if (limit->named_previous != NULL)
        limit->named_previous->named_next = limit->named_next;
    else
        limit->victim->named = limit->named_next;
    if (limit->named_next != NULL)
        limit->named_next->named_previous = limit->named_previous;
}

/* A limit whose victim is gone limits nothing. */
static void drop_named(struct lee_group *victim) {
    struct lee_group_limit *next;
    for (struct lee_group_limit *limit = victim->named; limit != NULL; limit = next) {
        next = limit->named_next;
        struct lee_group_limit **link = &limit->of->limits;
        while (*link != limit)
            link = &(*link)->next;
        *link = limit->next;
        find_least(limit->of, limit->kind);
        free_limit(limit);
    }
    victim->named = NULL;
}

static void free_limits(struct lee_group *group) {
    struct lee_group_limit *next;
    for (struct lee_group_limit *limit = group->limits; limit != NULL; limit = next) {
        next = limit->next;
        unname(limit);
        free_limit(limit);
    }
    group->limits = NULL;
}

static void close_bank(struct lee_group *bank);

static bool is_unused(const struct lee_group *group) {
    return group != &root && group->held == 0 && group->names == 0 && group->custodian == NULL && group->processes == NULL &&
           group->child == NULL;
}

/* Frees it if nothing needs it, and then what only it needed. */
static void drop_unused(struct lee_group *group) {
    while (is_unused(group)) {
        struct lee_group *parent = group->parent;
        drop_named(group);
        free_limits(group);
        charge_maker(group, -(ptrdiff_t)sizeof *group);
        close_bank(group);
        detach(group);
        free(group);
        group = parent;
    }
}

static void hold(struct lee_group *group) {
    if (group != NULL)
        group->held++;
}

static void let_go(struct lee_group *group) {
    group->held--;
    drop_unused(group);
}

static struct lee_group *new_group(void) {
    struct lee_group *group = calloc(1, sizeof *group);
    if (group == NULL)
        return NULL;
    group->number = ++last_number;
    for (int kind = 0; kind < LEE_GROUP_KINDS; kind++)
        group->least[kind] = SIZE_MAX;
    group->share.weight = group->leaf.weight = LEE_SHARE_WEIGHT;
    return group;
}

static struct lee_group *make(struct lee_custodian *custodian, struct lee_process *maker) {
    struct lee_group *group = new_group();
    if (group == NULL)
        return NULL;
    group->shares = custodian->parent != NULL;
    group->shut = custodian->shut;
    group->custodian = custodian;
    group->maker = maker;
    group->maker_next = maker->groups;
    if (maker->groups != NULL)
        maker->groups->maker_previous = group;
    maker->groups = group;
    charge_maker(group, sizeof *group);
    custodian->group = group;
    return group;
}

static void unlink_maker(struct lee_group *group) {
    if (group->maker_previous != NULL)
        group->maker_previous->maker_next = group->maker_next;
    else
        group->maker->groups = group->maker_next;
    if (group->maker_next != NULL)
        group->maker_next->maker_previous = group->maker_previous;
    size_t bytes = sizeof *group;
    for (const struct lee_group_limit *limit = group->limits; limit != NULL; limit = limit->next)
        bytes += sizeof *limit;
    charge_maker(group, -(ptrdiff_t)bytes);
    group->maker = NULL;
    group->custodian = NULL;
    group->pays = !is_unused(group);
    charge_maker(group, (ptrdiff_t)bytes);
}

/* It is below its parent now. */
static void settle_in(struct lee_group *group) {
    group->depth = group->parent->depth + 1;
    group->bank = group->depth % DEEP == 0;
    group->watched = group->parent->watched;
    group->shares = group->shares && group->depth <= LEE_SHARES_DEEP;
}

static struct lee_group *group_of(struct lee_custodian *custodian) {
    if (custodian->remote)
        return custodian->group;
    struct lee_process *self = lee_process_self();
    struct lee_group *below = NULL;
    struct lee_custodian *at = custodian;
    for (; at != NULL && at->group == NULL; at = at->parent) {
        if (at->parent == NULL && self->group == NULL) { /* not of a process that was spawned */
            at->group = &root;
            root.maker = self;
            break;
        }
        struct lee_group *group = make(at, self);
        if (group == NULL)
            break;
        if (below != NULL)
            attach(below, group);
        below = group;
    }
    if (at != NULL && at->group == NULL) { /* no memory: those that were made go */
        for (struct lee_custodian *made = custodian; made != at; made = made->parent) {
            struct lee_group *group = made->group;
            made->group = NULL;
            unlink_maker(group);
            free(group);
        }
        return NULL;
    }
    if (below != NULL)
        attach(below, at != NULL ? at->group : self->group);
    for (; below != NULL; below = below->child) /* those that were made have no other */
        settle_in(below);
    return custodian->group;
}

struct lee_group *lee_group_of(struct lee_custodian *custodian) {
    lee_lock();
    struct lee_group *group = group_of(custodian);
    lee_unlock();
    return group;
}

void lee_group_forget(struct lee_custodian *custodian) {
    lee_lock();
    struct lee_group *group = custodian->group;
    custodian->group = NULL;
    if (group != NULL && group != &root) {
        unlink_maker(group);
        drop_unused(group);
    }
    lee_unlock();
}

void lee_groups_forget(struct lee_process *maker) {
    while (maker->groups != NULL) {
        struct lee_group *group = maker->groups;
        unlink_maker(group);
        drop_unused(group);
    }
}

/* --- for other processes -------------------------------------------------------------------------- */

struct lee_group *lee_group_below(struct lee_group *parent) {
    struct lee_group *group = new_group();
    if (group == NULL)
        return NULL;
    group->shares = group->pays = true;
    attach(group, parent);
    settle_in(group);
    charge_maker(group, sizeof *group);
    return group;
}

void lee_group_name(struct lee_group *group) {
    __atomic_store_n(&group->names, group->names + 1, __ATOMIC_RELAXED);
}

void lee_group_unname(struct lee_group *group) {
    __atomic_store_n(&group->names, group->names - 1, __ATOMIC_RELAXED); /* its maker reads it without the lock */
    drop_unused(group);
}

/* --- what is used ----------------------------------------------------------------------------- */

/* Of the tasks of its custodian's own process, too. That may run on another worker: then what its
 * tasks reach is as of some moment before. */
LEE_UNWATCHED static size_t use_of(const struct lee_group *group, int kind) {
    size_t use = group->uses[kind];
    if (group->custodian != NULL && kind == LEE_GROUP_BYTES)
        use += group->custodian->settled + group->custodian->fresh;
    if (group->custodian != NULL && kind == LEE_GROUP_TASKS)
        use += group->custodian->task_count;
    return use;
}

size_t lee_group_steps;

static void count_above(struct lee_group *group, int kind, ptrdiff_t more) {
    while ((group = group->parent) != NULL) {
        group->uses[kind] += (size_t)more;
        lee_group_steps++;
    }
}

/* Banks with something prepaid. */
static struct lee_group *prepaying;

static void enlist(struct lee_group *bank) {
    if (bank->prepays)
        return;
    bank->prepays = true;
    bank->prepays_previous = NULL;
    bank->prepays_next = prepaying;
    if (prepaying != NULL)
        prepaying->prepays_previous = bank;
    prepaying = bank;
}

static void delist(struct lee_group *bank) {
    if (bank->prepays_previous != NULL)
        bank->prepays_previous->prepays_next = bank->prepays_next;
    else
        prepaying = bank->prepays_next;
    if (bank->prepays_next != NULL)
        bank->prepays_next->prepays_previous = bank->prepays_previous;
    bank->prepays = false;
}

static size_t usual(const struct lee_group *bank, int kind) {
    return kind == LEE_GROUP_BYTES ? (size_t)bank->depth * DEPTH_BYTES : bank->depth / DEPTH_PART;
}

/* Of `more` that the bank counts: what those above it have to be told. */
static ptrdiff_t tell(struct lee_group *bank, int kind, ptrdiff_t more) {
    size_t *prepaid = &bank->prepaid[kind], most = 2 * usual(bank, kind);
    if (more > 0) {
        size_t taken = *prepaid < (size_t)more ? *prepaid : (size_t)more;
        *prepaid -= taken;
        return more - (ptrdiff_t)taken;
    }
    *prepaid += (size_t)-more;
    enlist(bank);
    size_t back = *prepaid > most ? *prepaid - most / 2 : 0;
    *prepaid -= back;
    return -(ptrdiff_t)back;
}

static void count(struct lee_group *group, int kind, ptrdiff_t more) {
    for (; group != NULL && more != 0; group = group->parent) {
        group->uses[kind] += (size_t)more;
        lee_group_steps++;
        if (group->bank)
            more = tell(group, kind, more);
    }
}

/* Whether so many more in a bank, or below it, make no difference to those above. If `more` is 0,
 * they were counted already. */
static bool has_prepaid(const struct lee_group *bank, int kind, size_t more) {
    return bank->prepaid[kind] > 0 && bank->prepaid[kind] >= more;
}

/* It is about to be freed: the next bank above has what it had. */
static void close_bank(struct lee_group *bank) {
    if (!bank->prepays)
        return;
    for (int kind = 0; kind < LEE_GROUP_KINDS; kind++)
        count(bank->parent, kind, -(ptrdiff_t)bank->prepaid[kind]);
    delist(bank);
}

/* What custodians of the group's maker prepaid, too, if that does not run on another worker. */
static void settle_inside(const struct lee_group *group) {
    struct lee_process *maker = group->custodian != NULL ? group->maker : NULL;
    if (maker != NULL && !lee_process_runs_elsewhere(maker))
        lee_custodians_settle(&maker->accounts);
}

static void settle(void) {
    while (prepaying != NULL) {
        struct lee_group *bank = prepaying;
        for (int kind = 0; kind < LEE_GROUP_KINDS; kind++) {
            if (bank->prepaid[kind] > 0)
                count_above(bank, kind, -(ptrdiff_t)bank->prepaid[kind]);
            bank->prepaid[kind] = 0;
        }
        delist(bank);
    }
}

void lee_groups_settle(void) {
    lee_lock();
    settle();
    lee_unlock();
}

/* With the lock. What is prepaid breaks no limit. */
static bool exceeds(const struct lee_group *group, int kind, size_t more) {
    size_t most = group->least[kind];
    if (most == SIZE_MAX)
        return false;
    size_t use = use_of(group, kind);
    bool exceeded = use > most || more > most - use;
    if (exceeded) {
        settle();
        settle_inside(group);
        use = use_of(group, kind);
        exceeded = use > most || more > most - use;
    }
    return exceeded;
}

/* None of the limits above the group is broken: its bank prepays something, if it is below many. */
static void prepay(struct lee_group *group, int kind) {
    if (__builtin_expect(group == NULL || group->depth < DEEP, 1))
        return;
    while (!group->bank)
        group = group->parent;
    size_t most = usual(group, kind), more = most > group->prepaid[kind] ? most - group->prepaid[kind] : 0;
    for (const struct lee_group *at = group->parent; at != NULL; at = at->parent) {
        size_t limit = at->least[kind], use = limit == SIZE_MAX ? 0 : use_of(at, kind), left = limit > use ? limit - use : 0;
        if (limit != SIZE_MAX && left / ROOM_PART < more)
            more = left / ROOM_PART;
        lee_group_steps++;
    }
    if (more == 0)
        return;
    group->prepaid[kind] += more;
    count_above(group, kind, (ptrdiff_t)more);
    enlist(group);
}

size_t lee_group_use(const struct lee_group *group) {
    settle();
    settle_inside(group);
    return use_of(group, LEE_GROUP_BYTES);
}

static inline void count_of(struct lee_process *process, int kind, ptrdiff_t more) {
    process->uses[kind] += (size_t)more;
    count(process->group, kind, more);
}

static __attribute__((noinline)) void count_locked(struct lee_process *process, int kind, ptrdiff_t more) {
    lee_lock_many();
    count_of(process, kind, more);
    lee_unlock_many();
}

void lee_group_count(struct lee_process *process, int kind, ptrdiff_t more) {
    if (__builtin_expect(lee_many, 0))
        count_locked(process, kind, more);
    else
        count_of(process, kind, more);
}

/* One that asks again before it got a part of what lives in it would live on collections: it is not
 * refused so that it collects, but as if that had not helped. */
static bool collects_too_often(struct lee_process *process) {
    const struct lee_heap *heap = process->heap;
    if (heap == NULL)
        return false;
    size_t before = process->refused_at;
    process->refused_at = heap->counts.allocated + 1;
    return before > 0 && heap->counts.allocated + 1 - before < heap->counts.live_bytes / COLLECTS_PART;
}

static bool charge(struct lee_process *process, size_t bytes) {
    bool again = process->refused, all = true;
    for (const struct lee_group *at = process->group; at != NULL; at = at->parent) {
        lee_group_steps++;
        if (exceeds(at, LEE_GROUP_BYTES, bytes)) {
            process->refused = true;
            process->refused_bytes = bytes;
            __atomic_store_n(&lee_group_refused, true, __ATOMIC_RELAXED);
            if (!again)
                process->over = collects_too_often(process);
            return false;
        }
        if (at->bank && !again && has_prepaid(at, LEE_GROUP_BYTES, bytes)) {
            all = false;
            break;
        }
    }
    if (again && process->over)
        return false;
    process->refused = false;
    count_of(process, LEE_GROUP_BYTES, (ptrdiff_t)bytes);
    if (all)
        prepay(process->group, LEE_GROUP_BYTES);
    return true;
}

bool lee_group_charge(struct lee_process *process, size_t bytes) {
    lee_lock();
    bool charged = charge(process, bytes);
    lee_unlock();
    return charged;
}

void lee_group_uncharge(struct lee_process *process, size_t bytes) {
    lee_lock();
    count_of(process, LEE_GROUP_BYTES, -(ptrdiff_t)bytes);
    lee_unlock();
}

/* --- who goes --------------------------------------------------------------------------------- */

static void say_over(struct lee_text *text, const struct lee_group_limit *limit) {
    static const char *const names[] = {"bytes", "processes", "tasks", "descriptors", "ends of channels"};
    lee_text_string(text, "custodian: more than its limit of ");
    lee_text_unsigned(text, limit->most);
    lee_text_string(text, " ");
    lee_text_string(text, names[limit->kind]);
}

/* A limit of `group` that `more` breaks, whose victim is there. */
static const struct lee_group_limit *find_broken(const struct lee_group *group, int kind, size_t more) {
    if (!exceeds(group, kind, more))
        return NULL;
    size_t use = use_of(group, kind);
    for (const struct lee_group_limit *limit = group->limits; limit != NULL; limit = limit->next) {
        if (limit->kind == kind && !limit->victim->shut && (use > limit->most || more > limit->most - use))
            return limit;
    }
    return NULL;
}

/* The victim of the outermost limit goes first: what is below goes with it. */
static bool judge(struct lee_group *from, int kind, size_t more) {
    bool any = false;
    for (;;) {
        const struct lee_group_limit *broken = NULL;
        for (struct lee_group *at = from; at != NULL; at = at->parent) {
            const struct lee_group_limit *limit = find_broken(at, kind, more);
            if (limit != NULL)
                broken = limit;
        }
        if (broken == NULL)
            return any;
        struct lee_text text = {.length = 0};
        say_over(&text, broken);
        text.bytes[text.length] = 0;
        lee_group_shut(broken->victim, text.bytes);
        any = true;
    }
}

/* True if they fit; with 0, if what was counted already does. */
static bool fits(struct lee_group *from, int kind, size_t more) {
    for (const struct lee_group *at = from; at != NULL; at = at->parent) {
        lee_group_steps++;
        if (exceeds(at, kind, more))
            return false;
        if (at->bank && has_prepaid(at, kind, more))
            return true;
    }
    prepay(from, kind);
    return true;
}

bool lee_group_has_room(struct lee_process *process, int kind, size_t more) {
    return fits(process->group, kind, more);
}

/* Gives back what tasks that wait took of their stacks when they were deeper. */
static void trim_stacks(struct lee_process *process) {
    struct lee_custodian *at = lee_custodian_deepest(&process->accounts.first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        for (struct lee_task *task = at->tasks; task != NULL; task = task->next)
            lee_task_trim(task);
    }
}

/* Collects a process that waits. Where it was stopped in its own code, it cannot be. */
static void collect_parked(struct lee_process *process) {
    struct lee_heap *heap = process->heap;
    struct lee_process *self = lee_process_self();
    if (heap == NULL || process->stopped || process == self || heap->since_collection <= heap->live_marked / COLLECTS_PART)
        return;
    struct lee_task *ran = process->tasks.running;
    struct lee_task idle = {.process = process, .custodian = &process->accounts.first, .entered = &process->accounts.first};
    lee_process_enter(process);
    process->tasks.running = &idle; /* all its tasks wait */
    lee_heap_collect(heap);
    lee_blocks_release(heap, 0);
    process->tasks.running = ran;
    lee_process_enter(self);
    if (process->tasks.head != NULL) /* one that waits for a finalizer queue, perhaps */
        lee_process_ready(process);
}

/* There is no room below some limit for what `asks` wants, nor in its own heap: the others below
 * the outermost one give back stacks and are collected, until there is. Each only if it has
 * allocated meanwhile, so that this costs in proportion to what was allocated. */
static bool collect_others(const struct lee_process *asks, size_t bytes) {
    struct lee_group *top = NULL;
    for (struct lee_group *at = asks->group; at != NULL; at = at->parent)
        top = exceeds(at, LEE_GROUP_BYTES, bytes) ? at : top;
    for (struct lee_group *at = top; at != NULL; at = after(at, top)) {
        for (struct lee_process *process = at->processes; process != NULL; process = process->group_next) {
            if (lee_process_runs_elsewhere(process))
                continue;
            trim_stacks(process);
            collect_parked(process);
            if (fits(asks->group, LEE_GROUP_BYTES, bytes))
                return true;
        }
    }
    return false;
}

/* Whether a stack has grown is asked of the system, which takes a microsecond: too long for each
 * switch. A stack grows by page faults, which the system counts, and each takes a quarter of a
 * microsecond at least. So tasks that gave way are only remembered, until so much time has passed
 * that all of them together can have taken a few pages; and they are looked at only if there was a
 * fault since. */
enum { UNSEEN_MOST = 64, UNSEEN_CYCLES = 16384 /* 5 to 8 microseconds */ };
static struct {
    struct {
        struct lee_task *task;
        struct lee_process *process;
    } at[UNSEEN_MOST];
    unsigned count;
    uint64_t since;
    size_t faults;
} unseen;

/* Of one task, or with null of all of the process. */
static void forget_unseen(const struct lee_process *process, const struct lee_task *task) {
    for (unsigned i = 0; i < unseen.count;) {
        if (unseen.at[i].process == process && (task == NULL || unseen.at[i].task == task))
            unseen.at[i] = unseen.at[--unseen.count];
        else
            i++;
    }
}

void lee_group_task_ends(struct lee_task *task) {
    lee_lock();
    forget_unseen(task->process, task);
    lee_unlock();
}

/* Charges what its stack took. Whether a limit is broken then. */
static bool see_stack(struct lee_task *task) {
    struct lee_process *process = task->process;
    task->noted = false;
    if (lee_process_runs_elsewhere(process))
        return false; /* it runs, and is noted again when it gives way */
    uintptr_t touched = lee_stack_touched(task->low, task->touched);
    if (touched == task->touched)
        return false;
    lee_group_count(process, LEE_GROUP_BYTES, (ptrdiff_t)(task->touched - touched));
    lee_custodian_grew(task, task->touched - touched);
    task->touched = touched;
    return !fits(process->group, LEE_GROUP_BYTES, 0);
}

struct lee_process *lee_group_note_stack(struct lee_task *task) {
    if (task->low != 0 && !task->noted) {
        task->noted = true;
        unseen.at[unseen.count].task = task;
        unseen.at[unseen.count++].process = task->process;
    }
    if (unseen.count < UNSEEN_MOST && lee_cycles() - unseen.since < UNSEEN_CYCLES)
        return NULL;
    size_t faults = lee_system_faults();
    bool any = faults != unseen.faults;
    while (unseen.count > 0) {
        struct lee_task *last = unseen.at[--unseen.count].task;
        last->noted = false;
        if (any && see_stack(last)) {
            unseen.since = 0; /* the others are looked at next time */
            return last->process;
        }
    }
    unseen.faults = faults;
    unseen.since = lee_cycles();
    return NULL;
}

void lee_group_stack_over(struct lee_process *process) {
    struct lee_group *group = process->group;
    lee_lock();
    hold(group); /* the process may run elsewhere, and end, before the others have stopped */
    lee_world_stop();
    for (struct lee_process *at = group->processes; at != NULL; at = at->group_next) {
        if (at != process)
            continue;
        if (!lee_process_runs_elsewhere(process))
            trim_stacks(process);
        if (!fits(group, LEE_GROUP_BYTES, 0) && !collect_others(process, 0))
            judge(group, LEE_GROUP_BYTES, 0);
        break;
    }
    lee_world_go();
    let_go(group);
    lee_unlock();
}

/* All others have stopped. */
static bool starved(struct lee_process *process, bool over, size_t bytes) {
    if (lee_many && !over && fits(process->group, LEE_GROUP_BYTES, bytes))
        return true; /* until they had, others gave something back */
    if (collect_others(process, bytes) || judge(process->group, LEE_GROUP_BYTES, bytes))
        return true;
    if (over) { /* it fits, but only by collecting all the time */
        for (struct lee_group *at = process->group; at != NULL; at = at->parent) {
            if (at->least[LEE_GROUP_BYTES] != SIZE_MAX && judge(at, LEE_GROUP_BYTES, at->least[LEE_GROUP_BYTES]))
                return true;
        }
        return true;
    }
    /* No limit is broken any more: what others gave back was counted meanwhile. */
    return fits(process->group, LEE_GROUP_BYTES, bytes);
}

bool lee_group_starved(void) {
    struct lee_process *process = lee_process_self();
    if (!lee_many)
        __atomic_store_n(&lee_group_refused, false, __ATOMIC_RELAXED);
    if (!process->refused)
        return false;
    process->refused = false;
    bool over = process->over;
    process->over = false;
    process->refused_at = 0;
    lee_lock();
    lee_world_stop();
    bool again = starved(process, over, process->refused_bytes);
    lee_world_go();
    lee_unlock();
    return again;
}

/* The group of the nearest custodian that has one. One that is far above is asked for once: those
 * between get groups, too. */
static struct lee_group *nearest(struct lee_custodian *custodian) {
    if (custodian->remote)
        return custodian->group;
    if (lee_process_self()->accounts.first.group == NULL) /* who has one is below such */
        return lee_process_self()->group;
    struct lee_custodian *at = custodian;
    for (int steps = 0; at->group == NULL && steps < DEEP; steps++)
        at = at->parent;
    if (at->group == NULL)
        group_of(custodian);
    while (at->group == NULL) /* there is no memory for that */
        at = at->parent;
    return custodian->group != NULL ? custodian->group : at->group;
}

/* Whether a bank among the running process's own custodians says that those of them above it have
 * room. It says nothing of groups that the process itself is in: what it makes counts there only. */
static bool is_covered(const struct lee_group *group, int kind, size_t more) {
    if (kind == LEE_GROUP_TASKS) /* these count in the custodians (custodian.c) */
        return group->custodian != NULL && lee_custodian_has_tasks(group->custodian, more);
    return group->bank && has_prepaid(group, kind, more);
}

/* Whether the running process, in one of its custodians, gets so many. */
static bool fits_self(struct lee_custodian *custodian, int kind, size_t more) {
    struct lee_group *own = lee_process_self()->group, *from = nearest(custodian), *at = from;
    size_t left = SIZE_MAX;
    if (custodian->remote)
        return fits(from, kind, more);
    for (; at != own && !is_covered(at, kind, more); at = at->parent) {
        lee_group_steps++;
        if (exceeds(at, kind, more))
            return false;
        size_t most = at->least[kind], room = most == SIZE_MAX ? SIZE_MAX : most - use_of(at, kind) - more;
        left = room < left ? room : left;
    }
    if (at == own && from != own && kind == LEE_GROUP_TASKS)
        lee_custodian_prepay_tasks(custodian, left);
    else if (at == own && from != own)
        prepay(from, kind);
    return fits(own, kind, more);
}

void lee_group_ask(struct lee_custodian *custodian, int kind, size_t more) {
    struct lee_heap *heap = lee_process_self()->heap;
    lee_lock();
    struct lee_group *group = nearest(custodian);
    bool fit = fits_self(custodian, kind, more);
    lee_unlock();
    if (fit)
        return;
    if (kind == LEE_GROUP_BYTES && heap != NULL && lee_heap_may_collect(heap) && !heap->collecting) {
        lee_heap_collect(heap);
        lee_blocks_release(heap, 0);
    }
    lee_lock();
    lee_world_stop();
    if (kind != LEE_GROUP_BYTES || group != lee_process_self()->group || !collect_others(lee_process_self(), more))
        judge(group, kind, more);
    lee_world_go();
    lee_unlock();
}

void lee_group_ask_spawn(struct lee_custodian *custodian, size_t bytes) {
    const size_t asked[] = {[LEE_GROUP_BYTES] = bytes, [LEE_GROUP_PROCESSES] = 1, [LEE_GROUP_TASKS] = 1};
    bool fit = true, all = true;
    lee_lock();
    struct lee_group *group = nearest(custodian);
    for (const struct lee_group *at = group; at != NULL && fit && all; at = at->parent) {
        lee_group_steps++;
        for (int kind = LEE_GROUP_BYTES; at->limits != NULL && kind <= LEE_GROUP_TASKS; kind++)
            fit = fit && !exceeds(at, kind, asked[kind]);
        all = !at->bank || !has_prepaid(at, LEE_GROUP_BYTES, bytes) || !has_prepaid(at, LEE_GROUP_PROCESSES, 1) ||
              !has_prepaid(at, LEE_GROUP_TASKS, 1);
    }
    for (int kind = LEE_GROUP_BYTES; kind <= LEE_GROUP_TASKS && fit && all; kind++)
        prepay(group, kind);
    lee_unlock();
    for (int kind = LEE_GROUP_BYTES; kind <= LEE_GROUP_TASKS && !fit; kind++)
        lee_group_ask(custodian, kind, asked[kind]);
}

/* --- processes -------------------------------------------------------------------------------- */

struct lee_group *lee_group_send(struct lee_process *process, size_t bytes) {
    process->uses[LEE_GROUP_BYTES] -= bytes;
    hold(process->group);
    return process->group;
}

void lee_group_receive(struct lee_process *process, struct lee_group *payer, size_t bytes) {
    if (payer != NULL && payer == process->group) {
        process->uses[LEE_GROUP_BYTES] += bytes;
        payer->held--;
        return;
    }
    lee_group_drop_sent(payer, bytes);
    if (process->group != NULL)
        count_of(process, LEE_GROUP_BYTES, (ptrdiff_t)bytes);
}

struct lee_group *lee_group_note_sent(size_t bytes) {
    struct lee_group *group = lee_process_self()->group;
    hold(group);
    count(group, LEE_GROUP_BYTES, (ptrdiff_t)bytes);
    return group;
}

void lee_group_drop_sent(struct lee_group *group, size_t bytes) {
    if (group == NULL)
        return;
    count(group, LEE_GROUP_BYTES, -(ptrdiff_t)bytes);
    let_go(group);
}

/* That of the nearest group that has one; null for those below the first one's only. */
static struct lee_share *share_of(struct lee_group *group) {
    struct lee_share *leaf = NULL, **link = NULL;
    for (; group != NULL; group = group->parent) {
        if (!group->shares)
            continue;
        if (leaf == NULL)
            leaf = &group->leaf;
        else
            *link = &group->share;
        if (group->leaf.parent != NULL) /* known, and so are those above */
            return leaf;
        group->leaf.parent = &group->share;
        link = &group->share.parent;
    }
    if (link != NULL)
        *link = lee_share_root();
    return leaf;
}

void lee_group_join(struct lee_group *group, struct lee_process *process, size_t bytes) {
    process->group = group;
    process->group_previous = NULL;
    process->group_next = group->processes;
    if (process->group_next != NULL)
        process->group_next->group_previous = process;
    group->processes = process;
    process->watched = group->watched;
    count_of(process, LEE_GROUP_PROCESSES, 1);
    count_of(process, LEE_GROUP_TASKS, 1);
    /* Its stack, of which it does not pay for what another took before. */
    struct lee_task *first = &process->tasks.first;
    uintptr_t most = process->high - LEE_STACK_CHARGE;
    first->touched = first->touched < most ? first->touched : most;
    if (process->watched && lee_stack_touched(first->low, first->touched) != first->touched)
        lee_system_discard((void *)first->low, first->touched - first->low);
    lee_group_count(process, LEE_GROUP_BYTES, (ptrdiff_t)(process->high - first->touched + bytes));
    process->share = share_of(group);
    if (process->share != NULL && !lee_shares_used) {
        lee_shares_used = true;
        lee_share_skip();
    }
    if (process->queued && process->share != NULL) { /* it was, before it had one */
        struct lee_share *share = process->share;
        process->share = NULL;
        lee_process_unready(process);
        process->share = share;
        lee_process_ready(process);
    }
}

void lee_group_leave(struct lee_process *process) {
    struct lee_group *group = process->group;
    if (lee_shares_used && process == lee_process_self())
        lee_share_note();
    process->share = NULL;
    forget_unseen(process, NULL);
    lee_groups_forget(process);
    for (int kind = 0; kind < LEE_GROUP_KINDS; kind++)
        count(group, kind, -(ptrdiff_t)process->uses[kind]);
    if (process->group_previous != NULL)
        process->group_previous->group_next = process->group_next;
    else
        group->processes = process->group_next;
    if (process->group_next != NULL)
        process->group_next->group_previous = process->group_previous;
    process->group = NULL;
    drop_unused(group);
}

/* Limits with a victim that is gone limit nothing. */
static void find_least_of_namers(struct lee_group *victim) {
    for (const struct lee_group_limit *limit = victim->named; limit != NULL; limit = limit->named_next)
        find_least(limit->of, limit->kind);
}

/* While a custodian is shut down: the process on whose stack that is done, and why it is done. */
static struct {
    struct lee_process *self;
    const char *message;
} now;

static void end_processes_of(struct lee_group *group, const struct lee_process *self) {
    struct lee_process *victim = group->processes;
    while (victim != NULL) {
        if (victim == self || (victim->dying && lee_process_runs_elsewhere(victim))) {
            victim = victim->group_next;
            continue;
        }
        lee_process_end_other(victim, LEE_LIMIT, now.message);
        victim = group->processes; /* only those that run stay */
    }
}

void lee_group_end_processes(struct lee_group *top) {
    struct lee_process *entered = lee_process_self(), *self = now.self != NULL ? now.self : entered;
    for (struct lee_group *at = top; at != NULL; at = after(at, top)) {
        at->shut = true;
        find_least_of_namers(at);
    }
    hold(top);
    struct lee_group *at = top, *next;
    for (hold(at); at != NULL; at = next) {
        end_processes_of(at, self);
        next = after(at, top);
        hold(next);
        let_go(at);
    }
    let_go(top);
    if (entered == self)
        lee_process_unready(self); /* its own tasks may have been woken: what runs is in no queue */
}

/* The tasks of its custodian, which are another process's, and all processes. */
static void shut_from_outside(struct lee_group *group, struct lee_process *self) {
    struct lee_process *maker = group->maker;
    if (lee_process_runs_elsewhere(maker)) { /* the tasks when it gives way */
        lee_group_end_processes(group);
        group->shut_later = maker->shuts_later = true;
        lee_worker_hurry(maker);
        return;
    }
    struct lee_task *ran = maker->tasks.running;
    lee_process_enter(maker);
    maker->tasks.running = &maker->tasks.first; /* none of it runs */
    lee_custodian_shut(group->custodian);
    if (ran->state == LEE_TASK_ENDED) {
        ran = &maker->tasks.first;
        maker->stopped = false; /* the task that was stopped has ended */
    }
    maker->tasks.running = ran;
    lee_process_enter(self);
    lee_process_unready(self);
    if (maker->tasks.head != NULL)
        lee_process_ready(maker);
    else
        lee_process_unready(maker); /* those that could run were the custodian's */
}

void lee_groups_shut_late(struct lee_process *maker) {
    struct lee_process *self = lee_process_self();
    struct lee_group *group = maker->groups;
    maker->shuts_later = false;
    now.self = self; /* it is on this stack */
    while (group != NULL) {
        if (!group->shut_later) {
            group = group->maker_next;
            continue;
        }
        group->shut_later = false;
        shut_from_outside(group, self);
        group = maker->groups; /* others may have gone with it */
    }
    now.self = NULL;
    if (maker->tasks.head != NULL)
        lee_process_ready(maker);
}

void lee_group_shut(struct lee_group *group, const char *message) {
    struct lee_process *self = lee_process_self(), *maker = group->maker;
    bool first = maker != NULL && group->custodian == &maker->accounts.first;
    bool inside = lee_group_is_inside(self->group, group) || (first && maker == self), task = false;
    now.self = self;
    now.message = message;
    if (group == &root || maker == NULL || first)
        lee_group_end_processes(group);
    else if (maker == self)
        task = lee_custodian_shut(group->custodian);
    else
        shut_from_outside(group, self);
    now.self = NULL;
    now.message = NULL;
    if (group == &root) { /* the end of the program */
        lee_process_enter(root.maker);
        lee_task_stop(&root.maker->tasks.first);
    }
    if (first && maker != self)
        lee_process_end_other(maker, LEE_LIMIT, message);
    if (inside)
        lee_process_end(LEE_LIMIT, 0, message, message != NULL ? strlen(message) : 0);
    if (task)
        lee_custodian_end_if_shut(self->heap);
}

/* --- limits ----------------------------------------------------------------------------------- */

/* All processes in the group and below are watched from now on. Of a group that is, all below are. */
static void watch(struct lee_group *top) {
    for (struct lee_group *at = top; at != NULL;) {
        bool was = at->watched;
        at->watched = true;
        for (struct lee_process *process = at->processes; process != NULL && !was; process = process->group_next)
            __atomic_store_n(&process->watched, true, __ATOMIC_RELAXED);
        at = was ? beside(at, top) : after(at, top);
    }
}

/* How deep the custodians of the running process begin. Of the processes that may set limits of a
 * group, which are all above it, each has another depth. */
static unsigned depth_of_self(void) {
    const struct lee_group *group = lee_process_self()->group;
    return group == NULL ? 0 : group->depth + 1;
}

static void set_limit(struct lee_custodian *custodian, int kind, size_t most, struct lee_custodian *victim) {
    unsigned by = depth_of_self();
    struct lee_group *of = lee_group_of(custodian), *named = of == NULL ? NULL : lee_group_of(victim);
    struct lee_group_limit *limit = named == NULL ? NULL : of->limits;
    while (limit != NULL && (limit->kind != kind || limit->victim != named || limit->by != by))
        limit = limit->next;
    if (limit == NULL && named != NULL && (limit = calloc(1, sizeof *limit)) != NULL) {
        limit->kind = kind;
        limit->by = by;
        limit->of = of;
        charge_maker(of, sizeof *limit);
        limit->victim = named;
        limit->next = of->limits;
        of->limits = limit;
        limit->named_next = named->named;
        if (named->named != NULL)
            named->named->named_previous = limit;
        named->named = limit;
    }
    if (limit == NULL)
        lee_fault_memory(NULL, sizeof *of);
    limit->most = most;
    find_least(of, kind);
    if (kind == LEE_GROUP_BYTES)
        __atomic_store_n(&lee_groups_limit_memory, true, __ATOMIC_RELAXED);
    lee_worker.calm = false;
    if (kind == LEE_GROUP_BYTES)
        watch(of);
}

void lee_group_set_limit(struct lee_custodian *custodian, int kind, size_t most, struct lee_custodian *victim) {
    lee_lock();
    lee_world_stop(); /* the processes below read whether they are watched */
    set_limit(custodian, kind, most, victim);
    lee_world_go();
    lee_unlock();
}

void lee_custodian_limit_count(struct lee_custodian *of, int kind, int64_t most, struct lee_custodian *named) {
    struct lee_custodian *custodian = lee_custodian_given(of);
    lee_custodian_check_authority(custodian);
    if (kind <= LEE_GROUP_BYTES || kind >= LEE_GROUP_KINDS)
        lee_fault_message(NULL, "custodian: what is counted is PROCESSES, TASKS, DESCRIPTORS or ENDPOINTS");
    lee_groups_count_tasks = lee_groups_count_tasks || kind == LEE_GROUP_TASKS;
    lee_group_set_limit(custodian, kind, most < 0 ? SIZE_MAX : (size_t)most, named != NULL ? named : custodian);
}

void lee_custodian_share(struct lee_custodian *of, int64_t weight) {
    struct lee_custodian *custodian = lee_custodian_given(of);
    lee_custodian_check_authority(custodian);
    if (weight < 1 || weight > LEE_SHARE_WEIGHT_MOST)
        lee_fault_message(NULL, "custodian: a share is from 1 to 10000; 100 is usual");
    struct lee_group *group = lee_group_of(custodian);
    if (group == NULL)
        lee_fault_memory(NULL, sizeof *group);
    lee_lock();
    group->share.weight = (unsigned)weight;
    lee_unlock();
}

int64_t lee_custodian_time(struct lee_custodian *of) {
    const struct lee_group *group = lee_custodian_given(of)->group;
    if (group == NULL)
        return 0;
    return (int64_t)(lee_share_ran != NULL ? lee_share_ran(&group->share) : group->share.ran);
}

int64_t lee_custodian_charged(struct lee_custodian *of) {
    const struct lee_group *group = lee_custodian_given(of)->group;
    if (group == NULL)
        return 0;
    lee_lock();
    settle();
    size_t use = group->uses[LEE_GROUP_BYTES];
    lee_unlock();
    return (int64_t)use;
}

#endif
