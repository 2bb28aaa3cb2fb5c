/* task.c: tasks: starting, waiting, ending.
 *
 * Promises: what lee/task.h says. Tasks that can run are in a queue, first come first served; the one that runs is not in it. Switching
 * takes no lock and allocates nothing. A task that has ended gives its stack back when the next one runs, which is the first
 * moment at which nobody stands on it. */
#include "errno_here.h"
#include "task.h"

#ifndef LEE_NO_GC

#include <lee/foreign.h>
#include <lee/lee.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "custodian.h"
#include "deadlock.h"
#include "foreign_stack.h"
#include "io_wait.h"
#include "poison.h"
#include "preempt.h"
#include "process.h"
#include "turns_inline.h"
#include "reactor.h"
#include "report.h"
#include "system.h"
#include "task_park.h"
#include "units.h"

#ifdef LEE_ASAN
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);
#endif
#ifdef LEE_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

#define worker lee_worker

enum { TURNS = 64 };

/* Of a stack: what there must be for its task to be stopped where it computes. */
#ifdef LEE_ASAN
enum { STOP_BYTES = 32 << 10 };
#elif defined(__aarch64__) /* the kernel saves room for registers that few processors have */
enum { STOP_BYTES = 12 << 10 };
#else
enum { STOP_BYTES = 8 << 10 };
#endif

_Thread_local bool lee_tasks_used __attribute__((tls_model("initial-exec")));
_Thread_local bool lee_slice_over __attribute__((tls_model("initial-exec")));
_Thread_local volatile bool lee_slice_again __attribute__((tls_model("initial-exec")));

static void trace(struct lee_marker *marker, const void *object, size_t bytes) {
    const struct lee_task *task = object;
    (void)bytes;
    lee_account_handle(marker, task->custodian, sizeof *task);
    lee_account_refer(marker, (uintptr_t)task->custodian);
    lee_account_refer(marker, (uintptr_t)task->entered);
}

static const struct lee_layout task_layout = {
    .bytes = sizeof(struct lee_task), .kind = LEE_LAYOUT_TRACED, .trace = trace, .name = "task"};

bool lee_is_task(const struct lee_layout *layout) {
    return layout == &task_layout;
}

struct lee_task *lee_task_self(void) {
    return lee_process_self()->tasks.running;
}

void lee_tasks_begin(struct lee_process *process) {
    struct lee_tasks *tasks = &process->tasks;
    tasks->first.process = process;
    tasks->first.number = tasks->last_number = 1;
    tasks->running = &tasks->first;
    lee_custodian_begin(&process->accounts, &tasks->first);
}

static bool is_running(const struct lee_task *task) {
    return task == lee_process->tasks.running;
}

static bool is_first(const struct lee_task *task) {
    return task == &task->process->tasks.first;
}

/* --- processes ------------------------------------------------------------------------------------------------------ */

/* There are others again, whose turn comes when the slice ends. The handler of the timer may stop
 * it at any time while there are none: what it finds comes first. */
__attribute__((noinline)) void lee_task_arm(void) {
    atomic_signal_fence(memory_order_seq_cst);
    if (!worker.unarmed)
        return;
    worker.rests = lee_many;
    worker.unarmed = false;
    atomic_signal_fence(memory_order_seq_cst);
    lee_preempt_arm();
}

/* A custodian that is behind does not wait for the end of the slice. */
static void wake_early(const struct lee_process *process) {
    if (!lee_slice_over && process != lee_process && lee_share_is_behind(process)) {
        lee_slice_over = true;
        lee_preempt_soon();
    }
}

/* Whether another process can run. */
static inline bool has_outside(void) {
    return worker.queue.head != NULL || lee_shares_ready > 0;
}

static inline void enqueue(struct lee_process *process) {
    worker.calm = false;
    lee_turns_add(&worker.queue, process);
}

void lee_process_ready(struct lee_process *process) {
    if (process->queued)
        return;
    if (__builtin_expect(worker.rests, 0) && lee_many) {
        lee_worker_ready(process);
        return;
    }
    process->queued = true;
    if (__builtin_expect(lee_shares_used, 0))
        wake_early(process);
    if (process->share != NULL) {
        worker.calm = false;
        lee_share_ready(process);
    } else {
        enqueue(process);
    }
    atomic_signal_fence(memory_order_seq_cst); /* the handler may have stopped the timer just now */
    if (__builtin_expect(worker.rests, 0))
        lee_task_arm();
}

/* The same, mostly without a call. */
static inline void make_ready(struct lee_process *process) {
    if (__builtin_expect(worker.rests || lee_shares_used, 0)) {
        lee_process_ready(process);
    } else if (!process->queued) {
        process->queued = true;
        enqueue(process);
        atomic_signal_fence(memory_order_seq_cst);
        if (__builtin_expect(worker.rests, 0))
            lee_task_arm();
    }
}

void lee_process_unready(struct lee_process *process) {
    if (!process->queued)
        return;
    if (lee_many) {
        lee_worker_unready(process);
        return;
    }
    process->queued = false;
    if (process->share != NULL) {
        lee_share_unready(process);
        return;
    }
    lee_turns_take(&worker.queue, process);
}

/* Those of a pool are on one list. */
static struct lee_process **list_of_spawned(void) {
    return lee_many ? lee_pool_spawned() : &worker.spawned;
}

void lee_process_link(struct lee_process *process) {
    struct lee_process **list = list_of_spawned();
    process->previous = NULL;
    process->next = *list;
    if (process->next != NULL)
        process->next->previous = process;
    *list = process;
}

void lee_process_unlink(struct lee_process *process) {
    if (process->previous != NULL)
        process->previous->next = process->next;
    else
        *list_of_spawned() = process->next;
    if (process->next != NULL)
        process->next->previous = process->previous;
}

/* --- the queue --------------------------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static unsigned random_below(unsigned bound) {
    uint64_t x = worker.random += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (unsigned)((x ^ (x >> 31)) >> 32) % bound;
}

static void begin_seed(void) {
    const char *value = getenv("LEE_SEED");
    worker.seeded = value != NULL && value[0] != 0;
    worker.random = worker.seeded ? strtoull(value, NULL, 0) : 0;
    worker.turns = 0;
}

static inline void push_own(struct lee_tasks *tasks, struct lee_task *task) {
    task->state = LEE_TASK_READY;
    if (tasks->head != NULL) {
        task->queue_previous = tasks->tail;
        tasks->tail->queue_next = task;
    } else {
        tasks->head = task;
    }
    tasks->tail = task;
    tasks->asked = false;
}

static void push(struct lee_task *task) {
    push_own(&task->process->tasks, task);
    if (task->process != lee_process)
        lee_process_ready(task->process);
}

static void take_out(struct lee_task *task) {
    struct lee_tasks *tasks = &task->process->tasks;
    bool first = task == tasks->head, last = task == tasks->tail;
    if (first)
        tasks->head = last ? NULL : task->queue_next;
    else
        task->queue_previous->queue_next = task->queue_next;
    if (last)
        tasks->tail = first ? NULL : task->queue_previous;
    else
        task->queue_next->queue_previous = task->queue_previous;
    task->queue_next = task->queue_previous = NULL;
}

static void wake_joiners(struct lee_task *task) {
    struct lee_task *next;
    for (struct lee_task *waiting = task->joiners; waiting != NULL; waiting = next) {
        next = waiting->next_joiner;
        waiting->next_joiner = waiting->waits_for = NULL;
        push(waiting);
    }
    task->joiners = NULL;
}

/* --- switching --------------------------------------------------------------------------------------------------- */

/* Where a task that waits stands on its own stack; C's frames, if it is in a foreign call, are on another. */
static uintptr_t own_sp(const struct lee_task *task) {
    return task->foreign != NULL ? task->foreign->left : task->sp;
}

/* A heap that no process uses is of the thread. */
uintptr_t lee_task_stack_end(const struct lee_heap *heap) {
    const struct lee_task *task = heap->process != NULL ? heap->process->tasks.running : NULL;
    if (task != NULL && task->foreign != NULL)
        return task->foreign->high;
    return task != NULL && task->low != 0 ? task->high : heap->stack_end;
}

/* The frames of C that a task which ends stands on are forgotten. */
static void leave_foreign(struct lee_task *task) {
    if (task->foreign != NULL)
        lee_foreign_stack_give(task->foreign);
    task->foreign = NULL;
}

/* ThreadSanitizer's part of a task whose stack goes. */
static void forget_fiber(struct lee_task *task) {
#ifdef LEE_TSAN
    if (task->fake_stack != NULL)
        __tsan_destroy_fiber(task->fake_stack);
    task->fake_stack = NULL;
#else
    (void)task;
#endif
}

#ifdef LEE_ASAN
static _Thread_local bool leaves; /* a switch is under way; else its task goes on where it was */

static void leave_fiber(struct lee_task *from, struct lee_task *to, bool for_ever) {
    leaves = true;
    bool threads = to->low == 0; /* the thread's own stack */
    const void *bottom = threads ? worker.bottom : (void *)to->low;
    __sanitizer_start_switch_fiber(for_ever ? NULL : &from->fake_stack, bottom, threads ? worker.size : to->high - to->low);
}

static void enter_fiber(struct lee_task *task) {
    const void *bottom;
    size_t size;
    if (!leaves)
        return;
    leaves = false;
    __sanitizer_finish_switch_fiber(task->fake_stack, &bottom, &size);
    if (worker.bottom == NULL) { /* the first switch leaves the thread's own stack */
        worker.bottom = bottom;
        worker.size = size;
    }
}
#elif defined(LEE_TSAN)
static void leave_fiber(struct lee_task *from, struct lee_task *to, bool for_ever) {
    (void)for_ever;
    if (from->fake_stack == NULL)
        from->fake_stack = __tsan_get_current_fiber();
    if (to->fake_stack == NULL)
        to->fake_stack = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to->fake_stack, 0);
}
#define enter_fiber(task) ((void)(task))
#else
#define leave_fiber(from, to, for_ever) ((void)(from), (void)(to), (void)(for_ever))
#define enter_fiber(task) ((void)(task))
#endif

/* What whoever runs next does for the one before (`lee_switch_bury`). */
void lee_task_bury(void) {
    int error = errno;
    enter_fiber(lee_process->tasks.running);
    bool gives = false;
    worker.left = lee_many;
    if (lee_many) { /* the lock is held, by whoever ran before on this worker; from here on by this task */
        gives = worker.depth == 0; /* it began to wait while there was no pool */
        worker.depth += gives;
        const struct lee_task *running = lee_process->tasks.running;
        if (running->foreign != NULL || running->below_c) /* it waited in a callback, which returns to C */
            __atomic_store_n(&worker.calls, true, __ATOMIC_RELAXED);
    }
    struct lee_task *gone = worker.gone;
    if (gone != NULL) {
        leave_foreign(gone);
        forget_fiber(gone);
        lee_stack_give(gone->high, gone->lowest);
        gone->high = gone->low = 0;
        worker.gone = NULL;
    }
    struct lee_process *over = worker.over;
    if (over != NULL) {
        worker.over = NULL;
        forget_fiber(over->tasks.running);
        worker.arrived(over);
    }
    struct lee_process *deep = worker.deep;
    if (deep != NULL) {
        worker.deep = NULL;
        lee_group_stack_over(deep); /* may not return */
    }
    struct lee_process *killed = worker.killed;
    if (killed != NULL) {
        worker.killed = NULL;
        lee_process_end_other(killed, LEE_KILLED, NULL);
    }
    struct lee_process *shuts = worker.shuts;
    if (shuts != NULL) {
        worker.shuts = NULL;
        lee_groups_shut_late(shuts);
    }
    struct lee_task *deadlocked = worker.deadlocked;
    if (__builtin_expect(deadlocked != NULL, 0) && deadlocked == lee_process->tasks.running) {
        worker.deadlocked = NULL;
        lee_deadlock(deadlocked);
    }
    if (gives)
        lee_unlock_many();
    errno = error;
}

/* What a switch changes beside stacks. `from`, which is gone on with at `sp`, waits, can run or has
 * ended; `to` is of the process that runs, or has just been entered. Where `to` goes on. */
static inline __attribute__((always_inline)) void leave_task(struct lee_task *from, uintptr_t sp) {
    uintptr_t here = from->foreign != NULL ? from->foreign->left : sp;
    if (here < from->lowest)
        from->lowest = here;
    from->sp = sp;
    from->error = *worker.error;
    from->depth = worker.depth;
}

/* What `lee_on_task_stack` is for a task that is in no call of C on a stack of C's. Only a first task's
 * `low` is 0: it stands on the system's stack, but workers are told of its calls, too. */
static inline bool calls_far(const struct lee_task *task) {
    return task->low != 0 || ((lee_many || lee_pool_may_begin) && !task->below_c);
}

static inline __attribute__((always_inline)) uintptr_t enter_task(struct lee_process *process, struct lee_task *to) {
#ifndef LEE_ASAN
    lee_on_task_stack = to->foreign == NULL && calls_far(to);
#endif
    process->tasks.running = to;
    worker.depth = to->depth;
    *worker.error = to->error;
    return to->sp;
}

/* From the running task to any other. */
static inline __attribute__((always_inline)) uintptr_t change(uintptr_t sp, struct lee_task *to, bool for_ever) {
    struct lee_process *process = lee_process;
    struct lee_task *from = process->tasks.running;
    if (from == to) /* resumed before anybody else could run */
        return sp;
    leave_task(from, sp);
    if (__builtin_expect(lee_process_is_watched(process), 0) && !for_ever && (worker.deep = lee_group_note_stack(from)) != NULL)
        worker.left = true;
    if (to->process != process) {
        if (__builtin_expect(worker.rests, 0))
            lee_task_arm();
        process = to->process;
        lee_process_enter(process);
        if (__builtin_expect(process->watch > 0, 0)) {
            process->watch--;
            lee_preempt_watch();
        }
    }
    const struct lee_task *before = process->tasks.running;
    if (__builtin_expect(before->custodian != to->custodian && process->heap != NULL, 0))
        lee_custodian_switch(process->heap, before->custodian, to->custodian);
    uintptr_t at = enter_task(process, to);
#ifndef LEE_ASAN /* it is told of each switch */
    if (__builtin_expect(worker.left, 0))
#endif
        at = lee_switch_bury(at);
    leave_fiber(from, to, for_ever);
    return at;
}

/* For `lee_switch`. */
LEE_SWITCHES static uintptr_t runs(uintptr_t sp, void *to, uintptr_t for_ever) {
    return change(sp, to, for_ever != 0);
}

static __attribute__((noinline)) void run(struct lee_task *to, bool for_ever) {
    lee_switch(runs, to, for_ever);
}

/* Takes it off the list of those that wait for the same. */
static void stop_waiting(struct lee_task *task) {
    struct lee_tasks *tasks = &task->process->tasks;
    struct lee_task *next = task->next_joiner, *previous = task->queue_previous;
    if (previous != NULL)
        previous->next_joiner = next;
    else if (task->queue != NULL)
        tasks->queued = next;
    else
        task->waits_for->joiners = next;
    if (next != NULL)
        next->queue_previous = previous;
    else if (task->queue != NULL)
        tasks->queued_last = previous;
    task->next_joiner = task->queue_previous = task->waits_for = NULL;
    task->queue = NULL;
}

/* One that waits for a finalizer queue may collect, which may fill it. */
static bool wake_queued(struct lee_process *process) {
    struct lee_tasks *tasks = &process->tasks;
    if (tasks->queued == NULL || tasks->asked)
        return false;
    struct lee_task *task = tasks->queued;
    stop_waiting(task);
    push(task);
    return true;
}

bool lee_task_wake_queued(struct lee_process *process) {
    return wake_queued(process);
}

/* There is one. */
static inline struct lee_task *first_ready(struct lee_tasks *tasks) {
    struct lee_task *task = tasks->head;
    tasks->head = task == tasks->tail ? NULL : task->queue_next;
    return task;
}

struct lee_task *lee_task_first_ready(struct lee_process *process) {
    return first_ready(&process->tasks);
}

void lee_task_run(struct lee_task *to) {
    run(to, false);
}

enum { CHOICE = 8 };

/* With LEE_SEED: one of the first few. There is one. */
static __attribute__((noinline)) struct lee_task *any_ready(struct lee_tasks *tasks) {
    struct lee_task *task = tasks->head;
    for (unsigned steps = random_below(CHOICE); steps > 0 && task != tasks->tail; steps--)
        task = task->queue_next;
    take_out(task);
    return task;
}

static inline struct lee_task *next_ready(struct lee_tasks *tasks) {
    return __builtin_expect(worker.seeded, 0) ? any_ready(tasks) : first_ready(tasks);
}

/* Of another process that can run. `yields`: the running one wants others to. */
static struct lee_task *next_outside(bool yields) {
    if (__builtin_expect(lee_shares_used, 0)) {
        struct lee_process *chosen = lee_share_next(worker.queue.head != NULL, yields);
        if (chosen != NULL)
            return next_ready(&chosen->tasks);
    }
    struct lee_process *process = worker.queue.head;
    if (__builtin_expect(worker.seeded, 0)) {
        for (unsigned steps = random_below(CHOICE); steps > 0 && process->queue_next != NULL; steps--)
            process = process->queue_next;
        lee_process_unready(process);
        return any_ready(&process->tasks);
    }
    process->queued = false;
    lee_turns_take(&worker.queue, process);
    return first_ready(&process->tasks);
}

/* Those who wait in the reactor get their turn, too, while others can always run. */
static void look_in_turn(void) {
    worker.turns = worker.seeded ? 0 : TURNS; /* a seeded choice is not made quickly */
    if (lee_reactor_has_waits())
        lee_reactor_look(0);
}

static __attribute__((noinline)) struct lee_task *next_slowly(struct lee_task *waiting) {
    struct lee_process *process = waiting->process;
    if (lee_many)
        return lee_worker_next(waiting, false, false);
    if (--worker.turns <= 0)
        look_in_turn();
    for (;;) {
        bool outside = worker.seeded && has_outside() && random_below(2) == 0;
        if (process->tasks.head != NULL && !outside)
            return next_ready(&process->tasks);
        if (process->tasks.head != NULL) /* the others go on later */
            lee_process_ready(process);
        if (has_outside())
            return next_outside(false);
        if (lee_reactor_has_waits()) {
            lee_reactor_look(0);
            if (process->tasks.head != NULL || has_outside())
                continue;
        }
        bool woken = wake_queued(process) || (lee_first_process != NULL && wake_queued(lee_first_process));
        for (struct lee_process *other = worker.spawned; other != NULL && !woken; other = other->next)
            woken = wake_queued(other);
        if (woken)
            continue;
        if (!lee_reactor_has_waits()) {
            if (worker.over != NULL) { /* it has ended, and cannot end again: the program does */
                lee_process_enter_own();
                waiting = &lee_process->tasks.first;
            }
            lee_deadlock(waiting);
        }
        if (lee_shares_used)
            lee_share_note();
        worker.idles = true;
        lee_reactor_look(LEE_FOR_EVER);
        worker.idles = false;
        if (lee_shares_used)
            lee_share_skip();
    }
}

/* Who runs next, after a task of the running process that does not. */
static inline struct lee_task *next_of(struct lee_task *waiting) {
    struct lee_tasks *tasks = &waiting->process->tasks;
    if (__builtin_expect(worker.turns > 1, 1)) {
        worker.turns--;
        if (tasks->head != NULL)
            return first_ready(tasks);
        if (has_outside())
            return next_outside(false);
    }
    return next_slowly(waiting);
}

/* --- preemption (preempt.c) ------------------------------------------------------------------ */

bool lee_task_is_seeded(void) {
    return worker.seeded;
}

bool lee_task_has_others(void) {
    if (lee_many)
        return lee_worker_has_others();
    return has_outside() || lee_reactor_has_waits();
}

void lee_task_call_when_others(void) {
    worker.unarmed = true;
    __atomic_store_n(&lee_timers_rest, true, __ATOMIC_RELAXED);
    worker.rests = true;
}

bool lee_task_is_watched(void) {
    const struct lee_process *process = lee_process;
    return process != NULL && process->watch > 0 && process->tasks.running->state == LEE_TASK_READY;
}

void lee_task_look_soon(void) {
    worker.looks = 0;
}

bool lee_task_may_stop(uintptr_t sp) {
    const struct lee_task *task = lee_process != NULL ? lee_process->tasks.running : NULL;
    if (task == NULL || task->foreign != NULL)
        return false;
    return task->low == 0 || (sp > task->low + STOP_BYTES && sp < task->high);
}

void lee_task_stop_here(void) {
    struct lee_task *self = lee_process->tasks.running;
    struct lee_process *process = self->process;
    /* Tasks of one process are not preempted by each other: this one goes on first. */
    struct lee_tasks *tasks = &process->tasks;
    self->queue_next = tasks->head;
    if (tasks->head != NULL)
        tasks->head->queue_previous = self;
    else
        tasks->tail = self;
    tasks->head = self;
    process->stopped = true;
    process->watch = LEE_WATCHES;
    if (lee_many) {
        run(lee_worker_next(self, true, false), false);
        lee_preempt_watch(); /* it may go on without a switch */
    } else {
        lee_process_ready(process);
        run(next_outside(false), false);
    }
    process->stopped = false;
}

void lee_task_give_way(void) {
    lee_slice_over = false;
    if (lee_process->tasks.running->foreign != NULL) /* C's frames are below */
        return;
    if (!lee_many) {
        look_in_turn();
        if (!has_outside())
            return;
    }
    lee_lock();
    if (!lee_many || lee_worker_has_others())
        lee_task_stop_here();
    lee_unlock();
}

/* --- beginning and end --------------------------------------------------------------------------------------------- */

static void lee_begin(void) {
    struct lee_task *task = lee_task_self();
    lee_task_arrive();
    task->entry(task->arguments);
    lee_task_end(false);
}

static uintptr_t page_of(uintptr_t address) {
    return address & ~(uintptr_t)(LEE_PAGE_BYTES - 1);
}

static bool give_stack(struct lee_task *task, const void *arguments, size_t bytes) {
    task->low = lee_stack_take(&task->high);
    if (task->low == 0)
        return false;
    task->lowest = task->high;
    uintptr_t most = task->high - LEE_STACK_CHARGE;
    /* It does not pay for what the one before took. */
    if (task->process->accounts.limited && lee_stack_touched(task->low, most) != most)
        lee_system_discard((void *)task->low, most - task->low);
    /* The highest 16 bytes are the runtime's, when the stack is free. */
    uintptr_t at = (task->high - 16 - bytes) & ~(uintptr_t)15;
    task->arguments = (void *)at;
    if (bytes > 0)
        memcpy(task->arguments, arguments, bytes);
    task->sp = lee_switch_prepare(at, lee_begin);
    task->depth = 1; /* lee_task_arrive */
    task->touched = page_of(task->sp) < most ? page_of(task->sp) : most;
    return true;
}

void *lee_task_start(const struct lee_site *site, void (*entry)(void *), const void *arguments, size_t bytes) {
    struct lee_task *self = lee_task_self();
    struct lee_heap *heap = lee_heap_self();
    if (__builtin_expect(self->entered->remote, 0))
        lee_fault_message(site, "custodian: a task belongs to a custodian of its own process; enter such a one first, or spawn a process");
    if (__builtin_expect(lee_groups_count_tasks, 0))
        lee_group_ask(self->entered, LEE_GROUP_TASKS, 1);
    if (self->process->group != NULL)
        lee_group_ask(self->entered, LEE_GROUP_BYTES, LEE_STACK_CHARGE);
    struct lee_task *task = heap == NULL ? NULL : lee_heap_try_alloc_typed(sizeof *task, &task_layout);
    if (task == NULL || bytes > LEE_STACK_BYTES / 4)
        lee_fault_memory(site, LEE_STACK_BYTES);
    task->entry = entry;
    task->site = site;
    task->process = self->process;
    task->number = ++task->process->tasks.last_number;
    task->custodian = task->entered = self->entered;
    if (task->custodian->shut) {
        task->state = LEE_TASK_ENDED;
        task->shut = true;
        return task;
    }
    if (!give_stack(task, arguments, bytes)) {
        lee_heap_collect(heap);
        if (!give_stack(task, arguments, bytes))
            lee_fault_memory(site, LEE_STACK_BYTES);
    }
    lee_task_used();
    lee_lock();
    push(task);
    lee_custodian_add(heap, task);
    lee_unlock();
    return task;
}

/* What every end has in common. */
static void finish(struct lee_task *task, bool shut) {
    task->state = LEE_TASK_ENDED;
    task->shut = shut;
    if (task->emptied != NULL)
        lee_exchange_cells_left(task, shut);
    lee_custodian_remove(task);
    wake_joiners(task);
}

/* What the end of a process's first task is. */
static _Noreturn void end_first(void) {
    struct lee_text text = {.length = 0};
    if (lee_process_is_spawned())
        lee_process_end(LEE_LIMIT, 0, NULL, 0);
    lee_text_string(&text, "custodian: the custodian of main was shut down");
    lee_report(NULL, &text, LEE_CALLER);
}

/* The task is ended while it waits outside of its process, or before it runs again after that. */
static void leave_wait(struct lee_task *task) {
    void (*leave)(struct lee_task *task) = task->leave;
    task->leave = NULL;
    if (leave != NULL)
        leave(task);
}

void lee_task_stop(struct lee_task *task) {
    if (is_first(task))
        end_first();
    lee_lock();
    if (task->state == LEE_TASK_READY)
        take_out(task);
    else if (task->state == LEE_TASK_WAITING && task->leave == NULL)
        stop_waiting(task);
    leave_wait(task);
    finish(task, true);
    lee_arenas_drop(task->arenas);
    task->arenas = NULL;
    leave_foreign(task);
    forget_fiber(task);
    lee_stack_give(task->high, task->lowest);
    task->high = task->low = 0;
    lee_unlock();
}

void lee_task_end(bool shut) {
    struct lee_task *self = lee_task_self();
    if (is_first(self))
        end_first();
    lee_lock();
    finish(self, shut);
    struct lee_arena *arenas = self->arenas;
    self->arenas = NULL;
    lee_arenas_drop(arenas);
    worker.gone = self;
    worker.left = true;
    run(next_of(&self->process->tasks.first), true); /* main does not run, so it waits too */
    __builtin_unreachable();
}

bool lee_task_join(struct lee_task *task) {
    if (task == NULL)
        lee_fault_null(NULL);
    struct lee_task *self = lee_task_self();
    if (self->custodian->shut)
        lee_task_end(true);
    lee_custodian_note_stack(lee_heap_self(), self);
    if (task->state != LEE_TASK_ENDED) {
        lee_lock();
        self->state = LEE_TASK_WAITING;
        self->waits_for = task;
        self->queue_previous = NULL;
        self->next_joiner = task->joiners;
        if (task->joiners != NULL)
            task->joiners->queue_previous = self;
        task->joiners = self;
        run(next_of(self), false);
        lee_unlock();
    }
    return !task->shut;
}

static __attribute__((noinline)) void yield_many(struct lee_task *self) {
    lee_lock();
    if (self->process->tasks.head != NULL || lee_worker_has_others()) {
        push_own(&self->process->tasks, self);
        run(lee_worker_next(self, true, true), false);
    }
    lee_unlock();
}

/* Whether what `calm` says is so once `to` runs, after a task of `process` which yielded. */
static inline bool is_calm(const struct lee_process *process, const struct lee_task *to) {
#ifdef LEE_ASAN /* it is told of each switch */
    (void)process, (void)to;
    return false;
#else
    return to->process == process && !worker.seeded && !lee_many && !has_outside() && !process->accounts.limited &&
           !lee_process_is_watched(process) && !to->custodian->shut;
#endif
}

/* Any yield but those of `lee_task_yields`. */
static LEE_SWITCHES __attribute__((noinline)) uintptr_t yields_slowly(uintptr_t sp) {
    struct lee_task *self = lee_task_self();
    if (self->custodian->shut)
        lee_task_end(true);
    lee_custodian_note_stack(lee_heap_self(), self); /* may end the other tasks */
    struct lee_process *process = self->process;
    if (lee_many) {
        yield_many(self);
        return sp;
    }
    if (--worker.turns <= 0 || (!has_outside() && process->tasks.head == NULL))
        look_in_turn();
    bool others = has_outside(); /* processes take turns, and in each its tasks */
    if (!others && process->tasks.head == NULL)
        return sp;
    push_own(&process->tasks, self);
    process->yields = others;
    if (others)
        lee_process_ready(process);
    struct lee_task *to = others ? next_outside(true) : next_ready(&process->tasks);
    worker.calm = is_calm(process, to);
    return change(sp, to, false);
}

/* Mostly another task of the process can run, and all is calm: then this is all that is to be done.
 * Who has switched before has left nothing to look after. */
LEE_SWITCHES uintptr_t lee_task_yields(uintptr_t sp) {
    if (__builtin_expect(!worker.calm, 0))
        return yields_slowly(sp);
    struct lee_tasks *tasks = &lee_process->tasks;
    struct lee_task *self = tasks->running, *to = tasks->head, *last = tasks->tail;
    if (__builtin_expect(to == NULL || to->custodian != self->custodian, 0))
        return yields_slowly(sp);
    bool foreign = ((uintptr_t)self->foreign | (uintptr_t)to->foreign) != 0;
    if (__builtin_expect(foreign || --worker.turns <= 0, 0))
        return yields_slowly(sp);
    /* The running one goes to the end of the queue, from which the first one goes. */
    if (to == last) {
        tasks->head = self;
    } else {
        tasks->head = to->queue_next;
        last->queue_next = self;
        self->queue_previous = last;
    }
    tasks->tail = self;
    tasks->running = to;
    int *error = worker.error;
    if (sp < self->lowest)
        self->lowest = sp;
    self->sp = sp;
    self->error = *error;
    *error = to->error;
    self->depth = 0;
    worker.depth = to->depth;
    lee_on_task_stack = calls_far(to);
    leave_fiber(self, to, false);
    return to->sp;
}

void lee_task_yield(void) {
    lee_yield();
}

void lee_task_wait(const struct lee_finalizer_queue *queue) {
    struct lee_task *self = lee_task_self();
    if (self->custodian->shut)
        lee_task_end(true);
    lee_custodian_note_stack(lee_heap_self(), self);
    if (lee_finalizer_filled(queue)) /* that may have collected */
        return;
    struct lee_tasks *tasks = &self->process->tasks;
    bool collects = tasks->head == NULL;
    if (collects) {
        lee_heap_collect(lee_heap_self());
        /* That may have woken others, or have filled the queue. */
        if (lee_finalizer_filled(queue))
            return;
        if (tasks->head == NULL && !lee_processes_used && !lee_reactor_has_waits()) {
            struct lee_text text = {.length = 0};
            lee_text_string(&text, "deadlock: every task waits; ");
            lee_task_name(&text, self);
            lee_text_string(&text, " waits for a finalizer queue, and nothing that was added to one is dead");
            lee_report(NULL, &text, LEE_CALLER);
        }
    }
    lee_lock();
    if (collects)
        tasks->asked = tasks->head == NULL; /* with the lock: another worker may wake one of its tasks now */
    self->queue_previous = tasks->queued_last;
    if (tasks->queued_last != NULL)
        tasks->queued_last->next_joiner = self;
    else
        tasks->queued = self;
    tasks->queued_last = self;
    self->state = LEE_TASK_WAITING;
    self->queue = queue;
    run(next_of(self), false);
    lee_unlock();
}

void lee_task_wake_filled(struct lee_heap *heap) {
    if (heap->process == NULL)
        return;
    lee_lock();
    for (struct lee_task *task = heap->process->tasks.queued, *next; task != NULL; task = next) {
        next = task->next_joiner;
        heap->counts.steps++;
        if (lee_finalizer_filled(task->queue)) {
            stop_waiting(task);
            push(task);
        }
    }
    lee_unlock();
}

void lee_task_used(void) {
    if (!lee_tasks_used) {
        lee_tasks_used = true;
        worker.error = &errno;
        begin_seed();
        if (lee_io_tasks_begin != NULL)
            lee_io_tasks_begin();
    }
}

void lee_task_may_wait(void) {
    struct lee_task *self = lee_process->tasks.running;
    if (self->custodian->shut)
        lee_task_end(true);
    if (self->process->accounts.limited)
        lee_custodian_note_stack(lee_heap_self(), self);
}

LEE_SWITCHES uintptr_t lee_task_parks(uintptr_t sp, void *outside, uintptr_t leave) {
    struct lee_task *self = lee_process->tasks.running;
    self->state = LEE_TASK_WAITING;
    self->outside = outside;
    self->leave = (void (*)(struct lee_task *))leave;
    return change(sp, next_of(self), false);
}

void lee_task_resume_left(struct lee_task *task, void (*leave)(struct lee_task *task)) {
    task->leave = leave;
    push(task);
}

void lee_task_resume(struct lee_task *task) {
    struct lee_process *process = task->process;
    task->outside = NULL;
    task->leave = NULL;
    push_own(&process->tasks, task);
    if (process != lee_process)
        make_ready(process);
}

void lee_task_arrive(void) {
    struct lee_task *self = lee_task_self();
    self->process->begun = true;
    lee_unlock();
    errno = 0;
}

void lee_task_prepare(struct lee_process *process, uintptr_t top, void (*entry)(void)) {
    struct lee_task *first = &process->tasks.first;
    lee_tasks_begin(process);
    first->sp = lee_switch_prepare(top, entry);
    first->depth = 1; /* lee_task_arrive */
    first->lowest = first->high;
    first->touched = page_of(first->sp);
    push(first);
}

void lee_tasks_drop(struct lee_process *process, bool standing) {
    struct lee_custodian *at = lee_custodian_deepest(&process->accounts.first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        for (struct lee_task *task = at->tasks; task != NULL; task = task->next) {
            leave_wait(task);
            leave_foreign(task);
            if (!(standing && is_running(task)))
                forget_fiber(task);
#ifdef LEE_ASAN
            /* Else the pages of arenas go with the heap. */
            lee_arenas_drop(task->arenas);
            task->arenas = NULL;
#endif
            if (task != &process->tasks.first && !(standing && is_running(task)) && task->high != 0)
                lee_stack_give(task->high, task->lowest);
        }
    }
    lee_process_unready(process);
}

void lee_task_leave_for_ever(struct lee_process *over, void (*arrived)(struct lee_process *over)) {
    worker.over = over;
    worker.left = true;
    worker.arrived = arrived;
    over->tasks.head = over->tasks.tail = over->tasks.queued = over->tasks.queued_last = NULL;
#ifdef LEE_TSAN
    over->tasks.first.fake_stack = __tsan_get_current_fiber(); /* it may have ended on the stack of another task */
#endif
    run(next_of(&over->tasks.first), true);
    __builtin_unreachable();
}

/* --- for the collector ------------------------------------------------------------------------------------------- */

void lee_task_scan(struct lee_heap *heap, struct lee_task *task, struct lee_marker *marker) {
    if (is_running(task)) {
        lee_roots_scan_stack(heap, marker);
        if (task->foreign != NULL)
            lee_mark_words(marker, (const void *)task->foreign->left, (const void *)task->high);
    } else {
        uintptr_t high = task->high;
        if (high != 0)
            lee_mark_words(marker, (const void *)own_sp(task), (const void *)high);
        if (task->foreign != NULL)
            lee_mark_words(marker, (const void *)task->sp, (const void *)task->foreign->high);
    }
    lee_arenas_scan(task->arenas, marker);
    lee_mark_word(marker, (uintptr_t)task);
    lee_account_refer(marker, (uintptr_t)task->entered);
    lee_mark_word(marker, (uintptr_t)task->waits_for);
    lee_mark_word(marker, (uintptr_t)task->queue);
}

size_t lee_task_bytes(const struct lee_task *task) {
    bool runs = is_running(task);
    uintptr_t from = runs || page_of(own_sp(task)) > task->touched ? task->touched : page_of(own_sp(task));
    return (task->low == 0 ? 0 : task->high - from) + lee_arenas_bytes(task->arenas);
}

void lee_task_trim(struct lee_task *task) {
    if (task->low == 0 || is_running(task))
        return;
    uintptr_t from = page_of(own_sp(task)), most = task->high - LEE_STACK_CHARGE;
    if (from > most)
        from = most;
    if (from <= task->touched)
        return;
    lee_system_discard((void *)task->touched, from - task->touched);
    lee_process_count(task->process, LEE_GROUP_BYTES, -(ptrdiff_t)(from - task->touched));
    task->touched = from;
}

#endif
