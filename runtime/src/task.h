/* task.h: tasks as the parts of the runtime know them. */
#ifndef LEE_SRC_TASK_H
#define LEE_SRC_TASK_H

#include <lee/task.h>

#include <stdint.h>

struct lee_arena;
struct lee_custodian;
struct lee_exchange_cell;
struct lee_finalizer_queue;
struct lee_heap;
struct lee_marker;
struct lee_process;

/* LEE_TASK_READY: it runs, or is in the queue of those that can. */
enum lee_task_state { LEE_TASK_READY, LEE_TASK_WAITING, LEE_TASK_ENDED };

/* An object of the heap of its process; a root while it has not ended. The first task of a process is part of the process and ends with it. */
struct lee_task {
    /* What each switch reads or writes. */
    uintptr_t sp;        /* where it goes on; while it does not run */
    uintptr_t low, high; /* its stack; 0 once it is gone. Of the first task of a thread's own process: low is 0 */
    uintptr_t lowest;    /* the least stack pointer with which it waited */
    struct lee_foreign_stack *foreign; /* on which it is in a foreign call; null: in none */
    struct lee_arena *arenas; /* declared in its blocks, newest first */
    /* Of those that can run: that of the last one, and `queue_previous` of the first, say nothing. While
     * it waits, `queue_previous` is the one before `next_joiner`. */
    struct lee_task *queue_next, *queue_previous;
    struct lee_process *process;
    struct lee_custodian *custodian, *entered;
    int error;       /* errno; while it does not run */
    uint8_t state;
    bool shut;       /* ended by a custodian */
    bool noted;      /* its stack is to be looked at (group.c) */
    bool unseen;
    /* What it waits for outside of its process; `leave` takes it off the list there. The lock is
     * held. */
    void (*leave)(struct lee_task *task);
    void *outside;
    struct lee_task *outside_next;
    uintptr_t touched;   /* its custodian pays for the stack's pages from here on */
    struct lee_task *unseen_next, *unseen_previous; /* of those that are charged for all of their stack (custodian.c) */
    struct lee_task *next, *previous;             /* of the same custodian */
    struct lee_task *joiners, *next_joiner, *waits_for;
    const struct lee_finalizer_queue *queue; /* the finalizer queue that it waits for: then `next_joiner` is the next of those that do */
    const struct lee_site *site;
    void (*entry)(void *);
    void *arguments;
    uint64_t number; /* 1 for the first */
    unsigned depth;  /* how often it took the lock; while it does not run (worker.h) */
    bool below_c;    /* C called it on the system's stack, on which the first one calls C itself: `foreign` is null */
    struct lee_exchange_cell *emptied; /* cells whose content it took, and that are empty (exchange_cell.c) */
    void *fake_stack; /* of AddressSanitizer; of ThreadSanitizer its fiber */
};

/* Those of a process. */
struct lee_tasks {
    struct lee_task *running; /* null until it is asked for; of a process that is parked: the one that ran last */
    struct lee_task *head, *tail; /* those that can run, without the one that runs */
    struct lee_task *queued, *queued_last; /* those that wait for a finalizer queue */
    uint64_t last_number;
    bool asked; /* one that waits for a finalizer queue has collected in vain, and no other could run since */
    struct lee_task first; /* runs `main`, or the function that the process was made with */
};

/* The task that runs on this thread. */
struct lee_task *lee_task_self(void);
/* A process is made, by the thread that runs it: its first task runs. */
void lee_tasks_begin(struct lee_process *process);
struct lee_layout;
bool lee_is_task(const struct lee_layout *layout);

/* There are several from here on. */
void lee_task_used(void);
/* What comes before every wait: a task whose custodian was shut down ends here. */
void lee_task_may_wait(void);
/* Wakes a task that waits by `lee_task_park` (task_park.h). The lock is held. */
void lee_task_resume(struct lee_task *task);
/* The same; `leave` is called if the task is ended before it runs. What `park` was given as `outside` stays. */
void lee_task_resume_left(struct lee_task *task, void (*leave)(struct lee_task *task));
/* The running process gives way to others, wherever it stands; its task goes on before its others.
 * It may be killed meanwhile. */
void lee_task_give_way(void);
/* The same if others can run, also in a call of C's. With the lock. */
void lee_task_stop_here(void);
/* The process was not where it can be stopped when its slice ended (preempt.c). */
extern _Thread_local bool lee_slice_over __attribute__((tls_model("initial-exec")));
/* preempt.c: a timer was set since C was last called, to try again to stop a process. */
extern _Thread_local volatile bool lee_slice_again __attribute__((tls_model("initial-exec")));
/* Where a call might wait too, and holds nothing: loops of long calls are hardly ever seen outside
 * of them. */
static inline void lee_task_end_slice(void) {
#ifndef LEE_NO_GC
    if (__builtin_expect(lee_slice_over, 0))
        lee_task_give_way();
#endif
}
/* Makes the first task of a process that is spawned ready to run, at `entry`, on the stack whose free part ends at `top`. */
void lee_task_prepare(struct lee_process *process, uintptr_t top, void (*entry)(void));
/* What code on a new stack does first. */
void lee_task_arrive(void);
/* Gives back the stacks of all tasks of the running process but of the first one, and of the running one if somebody stands on it
 * (`standing`). None of them waits for anything any more. */
void lee_tasks_drop(struct lee_process *process, bool standing);
/* Another process runs; this one, which has been released, is given to `arrived` when nobody stands on its stack any more. */
_Noreturn void lee_task_leave_for_ever(struct lee_process *over, void (*arrived)(struct lee_process *over));
/* A process can run, or cannot any more. */
void lee_process_ready(struct lee_process *process);
void lee_process_unready(struct lee_process *process);
/* All that were spawned and live. */
void lee_process_link(struct lee_process *process);
void lee_process_unlink(struct lee_process *process);

/* The upper end of the stack that the running task of the heap's process stands on. */
uintptr_t lee_task_stack_end(const struct lee_heap *heap);

/* exchange_cell.c, if it is linked: the task ends, `shut` because its custodian did. There are
 * cells that it emptied. */
void lee_exchange_cells_left(struct lee_task *task, bool shut) __attribute__((weak));

/* Ends a task that is not running: its stack and arenas go, who waits for it goes on. */
void lee_task_stop(struct lee_task *task);
/* Ends the one that runs; `shut`: because its custodian is. */
_Noreturn void lee_task_end(bool shut);

/* Lets others run until something may have come into the finalizer queue: woken, or because nobody else can run. When nobody can, the
 * heap is collected; a fault if that wakes nobody. */
void lee_task_wait(const struct lee_finalizer_queue *queue);
/* Wakes the tasks of the heap's process that wait for a queue that holds something. */
void lee_task_wake_filled(struct lee_heap *heap);

/* Marks what the task's stack and arenas hold. The running one's registers are spilled by the caller. */
void lee_task_scan(struct lee_heap *heap, struct lee_task *task, struct lee_marker *marker);
/* The bytes of its stack and of its arenas. */
size_t lee_task_bytes(const struct lee_task *task);
/* If it waits: gives back what its stack took below where it stands. */
void lee_task_trim(struct lee_task *task);

/* task_stack.c: stacks of LEE_STACK_BYTES with a guard below. */
enum { LEE_STACK_BYTES = 256 << 10, LEE_STACK_CHARGE = 16 << 10, LEE_STACK_ZEROS = 4096 };
/* The lowest address that can be used; the stack ends LEE_STACK_BYTES above its slot's start. Its
 * highest LEE_STACK_ZEROS bytes are zero. Returns 0 if memory is exhausted. */
uintptr_t lee_stack_take(uintptr_t *high);
/* `lowest`: where the task that had it stood at its lowest when others ran. The next one finds zeros down to there. */
void lee_stack_give(uintptr_t high, uintptr_t lowest);
/* From where on the stack's pages are in memory, if they are so from `from` on. */
uintptr_t lee_stack_touched(uintptr_t low, uintptr_t from);
/* Whether the address lies in the guard of a task's stack. Safe in a signal handler. */
bool lee_stack_is_guard(uintptr_t address);
/* The stack that the address lies in. Safe in a signal handler. */
bool lee_stack_find(uintptr_t address, uintptr_t *low, uintptr_t *high);

/* arena.c: lists of the arenas that are declared in the blocks of a task, newest first. */
void lee_arenas_scan(struct lee_arena *list, struct lee_marker *marker);
size_t lee_arenas_bytes(const struct lee_arena *list);
/* Gives back the pages of a task's arenas; they lie on a stack that is still there. */
void lee_arenas_drop(struct lee_arena *list);

#endif
