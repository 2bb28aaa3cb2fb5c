/* custodian.c: the tree of custodians, what they may hold, and their end.
 *
 * Promises: `settled + fresh` of a custodian never is less than what its tasks got since the last
 * accounting and what they were charged then. Nobody is shut down because of memory before an
 * accounting said so, or before it made accountings follow each other too fast (a sixteenth of its
 * limit apart). Shutting down stops tasks; their memory is found by the collector. */
#include "custodian.h"

#include <lee/heap.h>

#ifndef LEE_NO_GC

#include <lee/lee.h>

#include "collect.h"
#include "poison.h"
#include "process.h"
#include "system.h"
#include "units.h"
#include "worker.h"

/* What a task is handed counts for all custodians above it, of which there may be thousands. As in
 * group.c, each whose depth is a multiple of DEEP is a bank: those above it were told of more than
 * there is below it, in proportion to their number, and a charge or a check that finds enough there
 * ends there. What is given back stays there, up to twice as much. So what tasks cost (to start and
 * end, a stack that is noted, a switch) does not grow with the depth. Before a custodian is
 * found to be over a limit, and before one is settled, what is prepaid is taken back. */
enum {
    DEEP = 16,
    PREPAID_BYTES = 1024, PREPAID_PART = 8, /* for each custodian above: so many bytes, such a part of a task */
    ROOM_PART = 16 /* of what is left to a limit: the most that is prepaid */
};

enum {
    QUANTUM = 64 << 10,
    QUANTUM_NEAR = 4 << 10, /* when less than NEAR is left to a limit */
    NEAR = 4 << 20,
    DEPTH_BYTES = 16, /* handed out at least, for each custodian that a check looked at */
    FREED_MOST = 256 << 10, /* in free lists, when the custodian changes */
    ALONE_MOST = 4, /* custodians that are settled alone in one check, before all are */
    THRASHING = 16 /* a limit's part that lies between two accountings at least */
};

static void trace(struct lee_marker *marker, const void *object, size_t bytes) {
    const struct lee_custodian *custodian = object;
    (void)bytes;
    lee_account_handle(marker, custodian, sizeof *custodian);
    lee_account_refer(marker, (uintptr_t)custodian->parent);
    lee_account_refer(marker, (uintptr_t)custodian->limits);
    lee_account_refer(marker, (uintptr_t)custodian->requirements);
}

/* --- banks --------------------------------------------------------------------------------------------------------- */

static bool is_bank(const struct lee_custodian *custodian) {
    return custodian->depth % DEEP == 0 && custodian->depth > 0;
}

static void enlist(struct lee_accounts *accounts, struct lee_custodian *bank) {
    if (bank->prepays)
        return;
    bank->prepays = true;
    bank->prepays_previous = NULL;
    bank->prepays_next = accounts->prepaying;
    if (bank->prepays_next != NULL)
        bank->prepays_next->prepays_previous = bank;
    accounts->prepaying = bank;
}

/* Those above a bank are told of what is prepaid there no longer, without asking other banks. */
static void take_back(struct lee_accounts *accounts, struct lee_custodian *bank) {
    for (struct lee_custodian *at = bank->parent; at != NULL; at = at->parent) {
        at->fresh -= bank->prepaid_bytes;
        at->handed -= bank->prepaid_bytes;
        at->task_count -= bank->prepaid_tasks;
        accounts->steps++;
    }
    bank->prepaid_bytes = bank->prepaid_tasks = 0;
    bank->prepays = false;
    if (bank->prepays_previous != NULL)
        bank->prepays_previous->prepays_next = bank->prepays_next;
    else
        accounts->prepaying = bank->prepays_next;
    if (bank->prepays_next != NULL)
        bank->prepays_next->prepays_previous = bank->prepays_previous;
}

void lee_custodians_settle(struct lee_accounts *accounts) {
    while (accounts->prepaying != NULL)
        take_back(accounts, accounts->prepaying);
}

bool lee_custodian_has_tasks(const struct lee_custodian *custodian, size_t more) {
    return custodian->prepaid_tasks > 0 && custodian->prepaid_tasks >= more;
}

/* What a bank prepays when it has too little. */
static size_t usual_bytes(const struct lee_custodian *bank) {
    return (size_t)bank->depth * PREPAID_BYTES;
}

static size_t usual_tasks(const struct lee_custodian *bank) {
    return bank->depth / PREPAID_PART;
}

/* Of `more` that the bank counts, and of which it has `prepaid`: what those above it have to be told. */
static ptrdiff_t tell(struct lee_accounts *accounts, struct lee_custodian *bank, size_t *prepaid, size_t usual, ptrdiff_t more) {
    if (more > 0) {
        size_t taken = *prepaid < (size_t)more ? *prepaid : (size_t)more;
        *prepaid -= taken;
        return more - (ptrdiff_t)taken;
    }
    *prepaid += (size_t)-more;
    enlist(accounts, bank);
    size_t back = *prepaid > 2 * usual ? *prepaid - usual : 0;
    *prepaid -= back;
    return -(ptrdiff_t)back;
}

static struct lee_custodian *bank_of(struct lee_custodian *custodian) {
    while (!is_bank(custodian))
        custodian = custodian->parent;
    return custodian;
}

/* What a bank that has `prepaid` prepays, where so much is left to the nearest limit. */
static size_t to_prepay(size_t usual, size_t prepaid, size_t left) {
    size_t more = usual > prepaid ? usual - prepaid : 0;
    return left != SIZE_MAX && left / ROOM_PART < more ? left / ROOM_PART : more;
}

/* All above the custodian were looked at, and no limit of theirs is broken: so much is left to the
 * nearest. Its bank, if it is below many, prepays something. */
static void prepay(struct lee_accounts *accounts, struct lee_custodian *custodian, size_t left) {
    if (__builtin_expect(custodian->depth < DEEP, 1))
        return;
    struct lee_custodian *bank = bank_of(custodian);
    size_t more = to_prepay(usual_bytes(bank), bank->prepaid_bytes, left);
    if (more == 0)
        return;
    bank->left = left;
    bank->prepaid_bytes += more;
    enlist(accounts, bank);
    for (struct lee_custodian *at = bank->parent; at != NULL; at = at->parent) {
        at->fresh += more;
        at->handed += more;
        accounts->steps++;
    }
}

static size_t left_above(const struct lee_accounts *accounts, const struct lee_custodian *from);

/* The custodian, and all above it, got so many bytes, or gave them back. */
static void charge(struct lee_accounts *accounts, struct lee_custodian *custodian, ptrdiff_t more) {
    if (!accounts->limited)
        return; /* all is charged when that changes */
    bool gets = more > 0;
    for (struct lee_custodian *at = custodian; more != 0 && at != NULL; at = at->parent) {
        at->fresh += (size_t)more;
        at->handed += (size_t)more;
        accounts->steps++;
        if (is_bank(at))
            more = tell(accounts, at, &at->prepaid_bytes, usual_bytes(at), more);
    }
    if (gets && more > 0 && custodian->depth >= DEEP)
        prepay(accounts, custodian, left_above(accounts, custodian));
}

void lee_custodian_prepay_tasks(struct lee_custodian *custodian, size_t left) {
    if (__builtin_expect(custodian->depth < DEEP, 1))
        return;
    struct lee_accounts *accounts = &lee_process_self()->accounts;
    struct lee_custodian *bank = bank_of(custodian);
    size_t more = to_prepay(usual_tasks(bank), bank->prepaid_tasks, left);
    if (more == 0)
        return;
    bank->prepaid_tasks += more;
    enlist(accounts, bank);
    for (struct lee_custodian *at = bank->parent; at != NULL; at = at->parent) {
        at->task_count += more;
        accounts->steps++;
    }
}

static void count_tasks(struct lee_accounts *accounts, struct lee_custodian *custodian, ptrdiff_t more) {
    bool one_more = more > 0;
    accounts->task_count += (size_t)more;
    for (struct lee_custodian *at = custodian; more != 0 && at != NULL; at = at->parent) {
        at->task_count += (size_t)more;
        accounts->steps++;
        if (is_bank(at))
            more = tell(accounts, at, &at->prepaid_tasks, usual_tasks(at), more);
    }
    if (one_more && more > 0 && !lee_groups_count_tasks) /* else who asked has prepaid what it may */
        lee_custodian_prepay_tasks(custodian, SIZE_MAX);
}

static void unlink_child(struct lee_custodian *custodian) {
    struct lee_custodian *parent = custodian->parent;
    if (parent == NULL)
        return;
    if (custodian->previous != NULL)
        custodian->previous->next = custodian->next;
    else
        parent->child = custodian->next;
    if (custodian->next != NULL)
        custodian->next->previous = custodian->previous;
}

/* Dead: no task, no child that lives, no reference. Parents and neighbours that die with it are
 * still what they were. */
static void drop(void *object, size_t bytes) {
    struct lee_custodian *custodian = object;
    (void)bytes;
    if (custodian->prepays)
        take_back(&lee_process_self()->accounts, custodian);
    if (custodian->group != NULL)
        lee_group_forget(custodian);
    unlink_child(custodian);
}

static const struct lee_layout custodian_layout = {.bytes = sizeof(struct lee_custodian),
                                                   .kind = LEE_LAYOUT_TRACED,
                                                   .trace = trace,
                                                   .drop = drop,
                                                   .name = "custodian"};
bool lee_is_handle(const struct lee_layout *layout) {
    return layout->trace == trace || lee_is_task(layout);
}

static const struct lee_layout limit_layout = {.bytes = sizeof(struct lee_limit), .words = 3, .name = "limit"};

/* --- the tree ------------------------------------------------------------------------------------------------------ */

struct lee_custodian *lee_custodian_given(struct lee_custodian *custodian) {
    return custodian != NULL ? custodian : lee_task_self()->entered;
}

struct lee_custodian *lee_custodian_current(void) {
    return lee_task_self()->entered;
}

struct lee_custodian *lee_custodian_here(void) {
    const struct lee_task *self = lee_task_self();
    return self->entered->remote ? self->custodian : self->entered;
}

struct lee_custodian *lee_custodian_new(struct lee_custodian *above) {
    struct lee_custodian *parent = lee_custodian_given(above);
    if (parent->remote)
        return lee_remote_new(parent);
    struct lee_custodian *custodian = lee_heap_try_alloc_typed(sizeof *custodian, &custodian_layout);
    if (custodian == NULL)
        lee_fault_memory(NULL, sizeof *custodian);
    custodian->least_limit = custodian->left = SIZE_MAX;
    custodian->shut = parent->shut;
    custodian->parent = parent;
    custodian->depth = parent->depth + 1;
    custodian->next = parent->child;
    if (parent->child != NULL)
        parent->child->previous = custodian;
    parent->child = custodian;
    return custodian;
}

struct lee_custodian *lee_custodian_enter(struct lee_custodian *custodian) {
    struct lee_task *self = lee_task_self();
    struct lee_custodian *before = self->entered;
    if (custodian != NULL && custodian->remote)
        lee_remote_check_start(custodian);
    self->entered = lee_custodian_given(custodian);
    return before;
}

bool lee_custodian_is_inside(const struct lee_custodian *custodian, const struct lee_custodian *top) {
    while (custodian != NULL && custodian != top)
        custodian = custodian->parent;
    return custodian != NULL;
}

bool lee_custodian_covers(const struct lee_custodian *custodian) {
    const struct lee_task *self = lee_task_self();
    return lee_custodian_is_inside(custodian, self->custodian) || lee_custodian_is_inside(custodian, self->entered);
}

bool lee_custodian_is_shut(struct lee_custodian *of) {
    const struct lee_custodian *custodian = lee_custodian_given(of);
    return custodian->remote ? lee_remote_is_shut(custodian) : custodian->shut;
}

struct lee_custodian *lee_custodian_deepest(struct lee_custodian *from) {
    while (from->child != NULL)
        from = from->child;
    return from;
}

struct lee_custodian *lee_custodian_after(struct lee_custodian *custodian) {
    return custodian->next != NULL ? lee_custodian_deepest(custodian->next) : custodian->parent;
}

/* The next in pre-order: parents before their children. Null after the last. */
static struct lee_custodian *top_down(struct lee_custodian *at) {
    if (at->child != NULL)
        return at->child;
    while (at != NULL && at->next == NULL)
        at = at->parent;
    return at != NULL ? at->next : NULL;
}

static struct lee_accounts *accounts_self(void) {
    return &lee_process_self()->accounts;
}

void lee_custodian_begin(struct lee_accounts *accounts, struct lee_task *task) {
    struct lee_custodian *first = &accounts->first;
    first->least_limit = SIZE_MAX;
    task->custodian = task->entered = first;
    task->next = task->previous = NULL;
    first->tasks = task;
    first->task_count = accounts->task_count = 1;
}

static struct breach {
    struct lee_custodian *of;
    size_t required, left;
    size_t most;  /* that may be handed out until somebody asks again: a bank had so much */
    size_t depth; /* how many were looked at; if nothing breaks */
} find_breach(size_t bytes);

static void count_task(const struct lee_task *task, ptrdiff_t more) {
    count_tasks(&task->process->accounts, task->custodian, more);
    lee_process_count(task->process, LEE_GROUP_TASKS, more);
    lee_process_count(task->process, LEE_GROUP_BYTES, more * (ptrdiff_t)(task->high - task->touched));
}

void lee_custodian_add(struct lee_heap *heap, struct lee_task *task) {
    struct lee_custodian *custodian = task->custodian;
    task->previous = NULL;
    task->next = custodian->tasks;
    if (task->next != NULL)
        task->next->previous = task;
    custodian->tasks = task;
    charge(accounts_self(), custodian, (ptrdiff_t)(task->high - task->touched));
    count_task(task, 1);
    if (accounts_self()->limited)
        lee_custodian_check(heap, 0);
}

void lee_custodian_note_stack(struct lee_heap *heap, struct lee_task *task) {
    struct lee_accounts *accounts = &task->process->accounts;
    if (!accounts->limited || task->low == 0 || task->unseen)
        return;
    task->unseen = true;
    task->unseen_previous = NULL;
    task->unseen_next = accounts->unseen;
    if (task->unseen_next != NULL)
        task->unseen_next->unseen_previous = task;
    accounts->unseen = task;
    charge(accounts, task->custodian, (ptrdiff_t)(task->touched - task->low));
    if (find_breach(0).of != NULL)
        lee_custodian_check(heap, 0);
}

/* Takes back what a task was charged because nobody had looked at its stack. */
static void forget_stack(struct lee_task *task) {
    if (!task->unseen)
        return;
    task->unseen = false;
    if (task->unseen_previous != NULL)
        task->unseen_previous->unseen_next = task->unseen_next;
    else
        task->process->accounts.unseen = task->unseen_next;
    if (task->unseen_next != NULL)
        task->unseen_next->unseen_previous = task->unseen_previous;
    charge(&task->process->accounts, task->custodian, -(ptrdiff_t)(task->touched - task->low));
}

void lee_custodian_grew(struct lee_task *task, size_t bytes) {
    if (!task->unseen) /* else it pays for all of its stack */
        charge(&task->process->accounts, task->custodian, (ptrdiff_t)bytes);
}

bool lee_custodians_see_stacks(struct lee_accounts *accounts) {
    bool any = accounts->unseen != NULL;
    while (accounts->unseen != NULL) {
        struct lee_task *task = accounts->unseen;
        forget_stack(task);
        uintptr_t touched = lee_stack_touched(task->low, task->touched);
        charge(accounts, task->custodian, (ptrdiff_t)(task->touched - touched));
        lee_process_count(task->process, LEE_GROUP_BYTES, (ptrdiff_t)(task->touched - touched));
        task->touched = touched;
    }
    return any;
}

void lee_custodian_remove(struct lee_task *task) {
    forget_stack(task);
    if (task->noted)
        lee_group_task_ends(task);
    count_task(task, -1);
    if (task->previous != NULL)
        task->previous->next = task->next;
    else
        task->custodian->tasks = task->next;
    if (task->next != NULL)
        task->next->previous = task->previous;
    task->next = task->previous = NULL;
}

/* --- the end --------------------------------------------------------------------------------------------------------- */

/* A limit whose victim is gone limits nothing any more. */
static void find_least_limit(struct lee_custodian *custodian) {
    custodian->least_limit = SIZE_MAX;
    for (const struct lee_limit *limit = custodian->limits; limit != NULL; limit = limit->next) {
        if (!limit->victim->shut && limit->bytes < custodian->least_limit)
            custodian->least_limit = limit->bytes;
    }
}

/* A requirement of nothing, or one whose victim is gone, requires nothing. */
static size_t required_by(const struct lee_limit *need) {
    return need->victim->shut ? 0 : need->bytes;
}

void lee_custodians_count(struct lee_accounts *accounts) {
    struct lee_custodian *at;
    accounts->requirements = 0;
    accounts->stale = false;
    for (at = &accounts->first; at != NULL; at = top_down(at)) {
        at->reserve = 0;
        find_least_limit(at);
    }
    for (at = lee_custodian_deepest(&accounts->first); at != NULL; at = lee_custodian_after(at)) {
        accounts->steps++;
        for (const struct lee_limit *need = at->requirements; need != NULL; need = need->next) {
            size_t required = required_by(need);
            accounts->requirements += required > 0;
            if (required > at->reserve)
                at->reserve = required;
        }
        if (at->parent != NULL && at->reserve > at->parent->reserve)
            at->parent->reserve = at->reserve;
    }
}

/* What was shut down named limits and requirements, which are none any more. */
static void refresh(struct lee_accounts *accounts) {
    if (accounts->stale)
        lee_custodians_count(accounts);
}

/* Stops the tasks of `top` and below but the running one; true if that is among them. */
static bool stop_all(struct lee_custodian *top) {
    bool self = false;
    if (top->group != NULL)
        lee_group_end_processes(top->group);
    for (struct lee_custodian *at = lee_custodian_deepest(top);; at = lee_custodian_after(at)) {
        at->shut = true;
        lee_worker.calm = false;
        at->least_limit = SIZE_MAX;
        accounts_self()->stale |= at->named;
        struct lee_task *next;
        for (struct lee_task *task = at->tasks; task != NULL; task = next) {
            next = task->next;
            forget_stack(task);
            if (task == lee_task_self())
                self = true;
            else
                lee_task_stop(task);
        }
        if (at == top)
            break;
    }
    lee_custodians_settle(accounts_self()); /* then nothing of it is prepaid for those above */
    for (struct lee_custodian *at = lee_custodian_deepest(top); at != top; at = lee_custodian_after(at))
        at->settled = at->fresh = 0;
    top->settled = top->fresh = 0;
    return self;
}

/* After some were shut down. */
static void close_all(void) {
    if (lee_files_shut != NULL)
        lee_files_shut();
    if (lee_opened_shut != NULL)
        lee_opened_shut();
}

/* The same when its processes may run on other workers. */
static bool stop_everywhere(struct lee_custodian *top) {
    if (top->group == NULL)
        return stop_all(top);
    lee_world_stop();
    bool self = stop_all(top);
    lee_world_go();
    return self;
}

bool lee_custodian_shut(struct lee_custodian *custodian) {
    bool self = stop_all(custodian);
    close_all();
    return self;
}

static bool shut_down(struct lee_custodian *top) {
    lee_lock();
    bool self = stop_everywhere(top);
    close_all();
    lee_unlock();
    return self;
}

void lee_custodian_shutdown(struct lee_custodian *of) {
    struct lee_custodian *custodian = lee_custodian_given(of);
    if (custodian->remote)
        lee_remote_shutdown(custodian);
    else if (shut_down(custodian))
        lee_task_end(true);
}

/* --- accounts ---------------------------------------------------------------------------------------------------------- */

/* Charges the running task's custodian with what was handed out since the last time. */
static void flush(struct lee_heap *heap) {
    size_t bytes = heap->counts.allocated - heap->flushed;
    heap->flushed = heap->counts.allocated;
    charge(accounts_self(), lee_task_self()->custodian, (ptrdiff_t)bytes);
}

LEE_UNWATCHED static size_t processes_use(const struct lee_custodian *custodian) {
    if (custodian->group == NULL)
        return 0;
    lee_groups_settle();
    return custodian->group->uses[LEE_GROUP_BYTES];
}

/* What its tasks reach, and what its processes hold. */
static size_t use_of(const struct lee_custodian *custodian) {
    return custodian->settled + custodian->fresh + processes_use(custodian);
}

bool lee_custodians_near(struct lee_heap *heap, size_t most) {
    struct lee_accounts *accounts = lee_accounts_of(heap);
    refresh(accounts);
    if (accounts->requirements > 0)
        return true;
    flush(heap);
    lee_custodians_see_stacks(accounts);
    lee_custodians_settle(accounts);
    struct lee_custodian *at = lee_custodian_deepest(&accounts->first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        if (at->least_limit != SIZE_MAX && (use_of(at) > at->least_limit / 2 || at->least_limit < most))
            return true;
    }
    return false;
}

/* What is left to the limits of a custodian itself; the first one has the program's limit. Those above it may have less. */
static size_t left_here(const struct lee_custodian *custodian) {
    size_t limit = custodian->least_limit, use = use_of(custodian);
    if (custodian->parent == NULL && limit > lee_memory_limit())
        limit = lee_memory_limit();
    return limit == SIZE_MAX ? SIZE_MAX : limit > use ? limit - use : 0;
}

/* The limit of a custodian itself; the first one has the program's while something is required. */
static size_t limit_at(const struct lee_accounts *accounts, const struct lee_custodian *at) {
    bool program = at->parent == NULL && accounts->requirements > 0 && at->least_limit > lee_memory_limit();
    return program ? lee_memory_limit() : at->least_limit;
}

/* What is left to that, with what is required, when it gets `bytes` more; false if that is too much. */
static bool has_room(const struct lee_accounts *accounts, const struct lee_custodian *at, size_t bytes, size_t *left) {
    size_t limit = limit_at(accounts, at);
    *left = SIZE_MAX;
    if (limit == SIZE_MAX)
        return true;
    size_t room = limit > at->reserve ? limit - at->reserve : 0, use = use_of(at);
    if (use > room || bytes > room - use)
        return false;
    *left = room - use - bytes;
    return true;
}

static size_t left_above(const struct lee_accounts *accounts, const struct lee_custodian *from) {
    size_t least = SIZE_MAX, left;
    for (const struct lee_custodian *at = from; at != NULL && least > 0; at = at->parent) {
        if (!has_room(accounts, at, 0, &left))
            return 0;
        least = left < least ? left : least;
    }
    return least;
}

/* What `bytes` more would break: a limit of `of` (null: nothing), or a requirement of so many bytes
 * below it. Else how much is left to the nearest limit. What is prepaid breaks nothing. */
static struct breach find_breach(size_t bytes) {
    struct breach breach = {NULL, 0, SIZE_MAX, SIZE_MAX, 0};
    struct lee_accounts *accounts = accounts_self();
    struct lee_custodian *own = lee_task_self()->custodian, *at = own;
    refresh(accounts);
    for (; at != NULL; at = at->parent) {
        size_t left;
        accounts->steps++;
        breach.depth++;
        if (!has_room(accounts, at, bytes, &left)) {
            lee_custodians_settle(accounts);
            if (!has_room(accounts, at, bytes, &left)) {
                size_t limit = limit_at(accounts, at), use = use_of(at);
                bool by_limit = use > limit || bytes > limit - use;
                return (struct breach){at, by_limit ? 0 : at->reserve, 0, 0, 0};
            }
        }
        if (left < breach.left)
            breach.left = left;
        if (is_bank(at) && at->prepaid_bytes > 0 && at->prepaid_bytes >= bytes) {
            breach.most = at->prepaid_bytes - bytes;
            if (at->left < breach.left)
                breach.left = at->left;
            return breach;
        }
    }
    prepay(accounts, own, breach.left);
    return breach;
}

/* Until then the allocator does not ask again. A check takes a step for each custodian above, of
 * which there may be thousands, so more is handed out before the next one in proportion: the steps
 * for a byte do not grow with `depth`. What is left is never exceeded by that; near a limit a
 * sixteenth of it is handed out at most, so that what processes of the same custodian take at the
 * same time is seen soon. */
static void set_allowance(struct lee_heap *heap, size_t left, size_t most_now, size_t depth) {
    bool near = left < NEAR;
    size_t quantum = near ? QUANTUM_NEAR : QUANTUM, most = near ? left / 16 : NEAR / 4;
    size_t deep = depth * DEPTH_BYTES < most ? depth * DEPTH_BYTES : most;
    if (quantum < deep)
        quantum = deep;
    heap->run_most = near ? QUANTUM_NEAR : LEE_BLOCK_BYTES;
    if (quantum > left)
        quantum = left;
    if (quantum > most_now)
        quantum = most_now;
    bool nothing = left == SIZE_MAX && most_now == SIZE_MAX;
    heap->allowance = nothing ? SIZE_MAX : heap->counts.allocated + quantum;
}

/* --- who goes ------------------------------------------------------------------------------------------------------------ */

/* In a judgement. */
enum { RUNS = 1, FAST = 2, CONDEMNED = 4 };

static void condemn(struct lee_custodian *victim) {
    if (!victim->shut)
        victim->judged |= CONDEMNED;
}

/* Shuts down all that are condemned. Whether there were any; `self`: the running task is among
 * theirs. */
static bool shut_condemned(struct lee_accounts *accounts, bool *self) {
    bool any = false;
    lee_lock();
    for (struct lee_custodian *at = &accounts->first; at != NULL; at = top_down(at)) {
        bool goes = (at->judged & CONDEMNED) != 0 && !at->shut; /* else with one above it */
        at->judged = 0;
        if (goes) {
            *self = stop_everywhere(at) || *self;
            any = true;
        }
    }
    if (any)
        close_all();
    lee_unlock();
    return any;
}

/* Shuts down every victim whose limit or requirement is broken after an accounting, and those of
 * `fast`, which made accountings follow each other too quickly (or is null). All of them: a
 * custodian that names a child as the victim does not save itself. All are judged by what was
 * accounted, before any of them goes. */
static bool judge(struct lee_accounts *accounts, size_t bytes, const struct breach *fast, bool *self) {
    refresh(accounts);
    lee_custodians_settle(accounts);
    for (struct lee_custodian *at = lee_task_self()->custodian; at != NULL; at = at->parent)
        at->judged |= RUNS;
    for (struct lee_custodian *at = &accounts->first; at != NULL; at = top_down(at)) {
        accounts->steps++;
        size_t use, more = (at->judged & RUNS) != 0 ? bytes : 0;
        if (__builtin_add_overflow(use_of(at), more, &use))
            use = SIZE_MAX;
        at->left = left_here(at);
        if (at->parent != NULL) {
            at->left = at->parent->left < at->left ? at->parent->left : at->left;
            at->judged |= at->parent->judged & FAST;
        }
        if (fast != NULL && at == fast->of)
            at->judged |= FAST;
        for (const struct lee_limit *limit = at->limits; limit != NULL; limit = limit->next) {
            bool too_fast = fast != NULL && at == fast->of && fast->required == 0 && limit->bytes == at->least_limit;
            if (use > limit->bytes || too_fast)
                condemn(limit->victim);
        }
        for (const struct lee_limit *need = at->requirements; need != NULL; need = need->next) {
            bool too_fast = fast != NULL && fast->required > 0 && need->bytes >= fast->required && (at->judged & FAST) != 0;
            if (need->bytes > at->left || bytes > at->left - need->bytes || too_fast)
                condemn(need->victim);
        }
    }
    return shut_condemned(accounts, self);
}

/* Whether so little was handed out to the custodian since it last asked for an accounting that it
 * lives on accountings. */
static bool thrashes(struct lee_custodian *custodian) {
    size_t limit = custodian->least_limit < lee_memory_limit() ? custodian->least_limit : lee_memory_limit();
    lee_custodians_settle(accounts_self());
    bool fast = custodian->was_forced && custodian->handed - custodian->forced < limit / THRASHING;
    custodian->was_forced = true;
    custodian->forced = custodian->handed;
    return fast;
}

/* A trace from the custodian's own roots: what it reaches is at least what it is charged, under
 * both policies. */
static bool settle_alone(struct lee_heap *heap, struct lee_custodian *custodian, size_t bytes) {
    size_t most = custodian->least_limit, outside = processes_use(custodian);
    if (custodian->parent == NULL || most == SIZE_MAX || outside > most || bytes > most - outside)
        return false;
    most -= outside;
    size_t reached = lee_account_reached(heap, custodian, most - bytes);
    if (reached > most - bytes)
        return false;
    /* Those above and below keep what they had: somebody else there may hold what this one gave up. */
    lee_custodians_settle(accounts_self());
    custodian->settled = reached;
    custodian->fresh = 0;
    return true;
}

void lee_hold(void) {
    accounts_self()->held++;
}

void lee_unhold(void) {
    accounts_self()->held--;
}

void lee_custodian_end_if_shut(struct lee_heap *heap) {
    if (lee_accounts_of(heap)->held == 0)
        lee_task_end(true);
    heap->allowance = heap->counts.allocated; /* its next allocation */
}

void lee_custodian_check(struct lee_heap *heap, size_t bytes) {
    if (lee_task_self()->custodian->shut) {
        lee_custodian_end_if_shut(heap);
        return;
    }
    if (heap->collecting || !lee_heap_may_collect(heap)) {
        heap->allowance = SIZE_MAX; /* nobody can say who holds what: nobody is held to it */
        return;
    }
    flush(heap);
    bool self = false;
    int alone = 0;
    while (!self) {
        struct breach breach = find_breach(bytes);
        if ((breach.of != NULL || breach.left < NEAR) && lee_custodians_see_stacks(lee_accounts_of(heap)))
            continue;
        if (breach.of == NULL) {
            set_allowance(heap, breach.left, breach.most, breach.depth);
            return;
        }
        bool fast = thrashes(breach.of);
        if (!fast && alone++ < ALONE_MOST && settle_alone(heap, breach.of, bytes))
            continue;
        lee_account_collect(heap);
        if (!fast && find_breach(bytes).of != breach.of)
            continue;
        if (!judge(lee_accounts_of(heap), bytes, fast ? &breach : NULL, &self)) {
            set_allowance(heap, QUANTUM, SIZE_MAX, 0); /* whoever should go has gone already */
            return;
        }
        if (!self)
            lee_account_collect(heap); /* what the dead held is free */
    }
    lee_custodian_end_if_shut(heap);
}

bool lee_custodian_starved(struct lee_heap *heap) {
    bool self = false;
    struct lee_accounts *accounts = lee_accounts_of(heap);
    if (__atomic_load_n(&lee_group_refused, __ATOMIC_RELAXED) && lee_group_starved())
        return true;
    if (accounts->requirements == 0 || heap->collecting)
        return false;
    for (struct lee_custodian *at = &accounts->first; at != NULL; at = top_down(at)) {
        for (const struct lee_limit *need = at->requirements; need != NULL; need = need->next) {
            if (need->bytes > 0)
                condemn(need->victim);
        }
    }
    bool any = shut_condemned(accounts, &self);
    if (self)
        lee_custodian_end_if_shut(heap);
    if (any)
        lee_account_collect(heap);
    return any;
}

void lee_custodian_switch(struct lee_heap *heap, struct lee_custodian *from, struct lee_custodian *to) {
    if (!lee_accounts_of(heap)->limited)
        return;
    /* `from` is the running task's still. Cells that it was handed and did not use go back: they
     * are not `to`'s. */
    (void)from, (void)to;
    lee_bins_flush(heap);
    if (heap->credit_given - heap->inline_part.free_credit > FREED_MOST)
        lee_heap_trim(heap); /* nor are cells that it freed */
    flush(heap);
    /* `to` is asked at its first request: a task that requests nothing costs nothing, however many
     * custodians are above it. */
    heap->run_most = QUANTUM_NEAR;
    heap->allowance = heap->counts.allocated;
}

/* --- limits ---------------------------------------------------------------------------------------------------------------- */

static size_t bytes_of(int64_t bytes) {
    return bytes < 0 ? SIZE_MAX : (size_t)bytes;
}

/* The one of `list` whose victim it is, or a new one, of 0 bytes. */
static struct lee_limit *limit_of(struct lee_limit **list, struct lee_custodian *victim) {
    for (struct lee_limit *limit = *list; limit != NULL; limit = limit->next) {
        if (limit->victim == victim)
            return limit;
    }
    struct lee_limit *limit = lee_heap_try_alloc_typed(sizeof *limit, &limit_layout);
    if (limit == NULL)
        lee_fault_memory(NULL, sizeof *limit);
    limit->victim = victim;
    limit->next = *list;
    *list = limit;
    return limit;
}

/* Whether no task runs but those of the first custodian. */
static bool first_has_all(struct lee_custodian *first) {
    for (struct lee_custodian *at = lee_custodian_deepest(first); at != first; at = lee_custodian_after(at)) {
        if (at->tasks != NULL)
            return false;
    }
    return true;
}

/* With all there is, garbage included: to know that takes no collection. */
static void charge_first(struct lee_heap *heap, struct lee_custodian *first) {
    lee_custodians_settle(lee_accounts_of(heap));
    for (struct lee_custodian *at = lee_custodian_deepest(first); at != NULL; at = lee_custodian_after(at))
        at->settled = at->fresh = 0;
    first->settled = heap->blocks_used * LEE_BLOCK_BYTES + heap->large_bytes;
    first->fresh = lee_tasks_bytes(first);
    heap->flushed = heap->counts.allocated;
}

static void begin_accounts(void) {
    struct lee_heap *heap = lee_heap_self();
    if (heap == NULL)
        return;
    struct lee_accounts *accounts = lee_accounts_of(heap);
    if (!accounts->limited && lee_heap_settings.accounting != LEE_ACCOUNTING_NONE) {
        accounts->limited = true;
        lee_worker.calm = false;
        if (first_has_all(&accounts->first))
            charge_first(heap, &accounts->first);
        else
            lee_account_collect(heap);
    }
    heap->allowance = heap->counts.allocated;
}

/* A custodian's own tasks have no say in what it may hold. The first one has the program's limit only. */
void lee_custodian_check_authority(const struct lee_custodian *custodian) {
    if (custodian->remote) {
        lee_remote_check_authority(custodian);
        return;
    }
    const struct lee_custodian *own = lee_task_self()->custodian;
    if (custodian == own || !lee_custodian_is_inside(custodian, own))
        lee_fault_message(NULL, "custodian: a limit or requirement is set by a task of a custodian above, not by its own");
}

void lee_custodian_limit(struct lee_custodian *of, int64_t bytes, struct lee_custodian *named) {
    struct lee_custodian *custodian = lee_custodian_given(of), *victim = named != NULL ? named : custodian;
    lee_custodian_check_authority(custodian);
    if (custodian->remote) { /* there is a group */
        lee_group_set_limit(custodian, LEE_GROUP_BYTES, bytes_of(bytes), victim);
        return;
    }
    if (victim->remote)
        lee_fault_message(NULL, "custodian: the victim of a limit of bytes is a custodian that this process made, as the limited one is");
    limit_of(&custodian->limits, victim)->bytes = bytes_of(bytes);
    lee_custodians_settle(accounts_self()); /* what is prepaid was without it */
    victim->named = victim->named || !lee_custodian_is_inside(custodian, victim);
    find_least_limit(custodian);
    if (lee_group_set_limit != NULL)
        lee_group_set_limit(custodian, LEE_GROUP_BYTES, bytes_of(bytes), victim);
    begin_accounts();
}

void lee_custodian_require(struct lee_custodian *of, int64_t bytes, struct lee_custodian *victim) {
    struct lee_custodian *custodian = lee_custodian_given(of);
    lee_custodian_check_authority(custodian);
    if (custodian->remote || (victim != NULL && victim->remote))
        lee_fault_message(NULL, "custodian: a requirement is for a custodian that this process made, and so is its victim; set limits instead");
    struct lee_accounts *accounts = accounts_self();
    struct lee_limit *need = limit_of(&custodian->requirements, victim != NULL ? victim : custodian);
    refresh(accounts);
    lee_custodians_settle(accounts);
    size_t before = required_by(need);
    need->bytes = bytes_of(bytes);
    need->victim->named = true;
    size_t required = required_by(need);
    accounts->requirements += (size_t)(required > 0) - (size_t)(before > 0);
    if (required < before)
        accounts->stale = true;
    for (struct lee_custodian *at = custodian; at != NULL && at->reserve < required; at = at->parent)
        at->reserve = required;
    begin_accounts();
}

int64_t lee_custodian_use(struct lee_custodian *of) {
    struct lee_custodian *custodian = lee_custodian_given(of);
    struct lee_heap *heap = lee_heap_self();
    if (heap == NULL)
        return 0;
    lee_account_collect(heap);
    size_t use = custodian->remote ? lee_remote_use(custodian) : use_of(custodian);
    __asm__ volatile("" ::"r"(custodian)); /* it is there until here */
    return use > INT64_MAX ? INT64_MAX : (int64_t)use;
}

void lee_custodian_policy(int policy) {
    if (lee_task_self()->custodian->parent != NULL)
        lee_fault_message(NULL, "custodian: the policy is set by a task of the first custodian");
    accounts_self()->precise = policy == LEE_PRECISE && lee_heap_settings.accounting != LEE_ACCOUNTING_NONE;
}

#else

void lee_hold(void) {}

void lee_unhold(void) {}

#endif
