/* process.h: a process: all that the runtime knows of one and not of another.
 *
 * Promises: `lee_process` is the process that runs on this thread, null until something of it is asked for; code reads it by
 * `lee_process_self`. What is in it is touched by the thread that runs the process only. A thread that foreign code made
 * is a process of its own. */
#ifndef LEE_SRC_PROCESS_H
#define LEE_SRC_PROCESS_H

#include "custodian.h"
#include "exchange.h"
#include "group.h"
#include "io_file.h"
#include "share.h"
#include "task.h"
#include "worker.h"

#include <lee/process.h>

#include <errno.h>
#include <stddef.h>

struct lee_address_table;
struct lee_arena;
struct lee_arena_page;
struct lee_endpoint;
struct lee_listed;
struct lee_pid;
struct lee_process_record;
struct lee_worker;

enum { LEE_MALLOC_HEADER = 16 /* what malloc takes for itself, when a block of its is charged */ };
enum { LEE_KEPT_PAGES = 4 /* arenas that are alive at once in one process seldom are more */ };
enum { LEE_WATCHES = 8 /* times that a process is watched after it began or was stopped (preempt.c) */ };

/* What the processes of threads have in common, so that what a thread of foreign code opened is written out at the end; each one that is
 * spawned has its own. */
struct lee_process_lists {
    struct lee_listed *listed; /* what `container_of` finds outside the heap (container.c); null as long as nothing was listed */
    /* Heads of lists that keep nothing alive, so no word here may look like a pointer: complements of addresses. */
    uintptr_t hidden_files, hidden_opened;
};

struct lee_process {
    uintptr_t high; /* of the stack that it lies at the top of, if it was spawned; 0 for the process of a thread */
    struct lee_heap *heap; /* null until it allocates */
    struct {
#ifdef LEE_NO_GC
        struct lee_arena *declared; /* in blocks, newest first; else each task has its own */
#endif
        struct lee_arena *keys;    /* dynamic ones, newest first */
        struct lee_arena *exchange; /* exchange arenas, newest first (exchange.c) */
        struct lee_arena_page *kept[LEE_KEPT_PAGES]; /* first pages for the next arenas */
        unsigned kept_count;
    } arenas;
    struct lee_pid *spawned; /* its names of the processes that it spawned (process_spawn.c) */
    struct lee_address_table *pids; /* of others, by their records */
    struct lee_address_table *custodians; /* of others, by their groups (custodian_remote.c) */
    int (*entry)(void *); /* what it began with; null of a thread's own */
    struct lee_process_lists lists; /* if it was spawned */
    struct lee_file standard[3]; /* if it was spawned */
    struct {
        intptr_t delta; /* its variable of static storage is so far from the linked one */
        void *copy;     /* null: it has none */
    } globals;
    uint8_t aside;                     /* so many calls of it are under way on other threads (aside.c) */
    int first_fd;                      /* its descriptors (fds.c): the first one's number, plus 1 */
    struct lee_endpoint *endpoints;    /* its ends of channels (channel.c) */
    struct lee_set *sets;              /* its sets of them (endpoint_set.c) */
    struct lee_exchange_links blocks;  /* head of the ring of its blocks of the exchange heap (exchange.c) */
    struct lee_address_table *c_files;  /* what its C code opened as FILE and DIR (c_files.c) */
    struct lee_address_table *c_blocks; /* what its C code allocated, with what it is charged (c_memory.c) */
    struct lee_address_table *frozen;  /* how many pointers to which frozen blocks it has (frozen.c) */
    struct lee_process_record *record; /* what others know of it */
    uintptr_t last_high, last_lowest;  /* once it has ended: the stack that it ended on, if that is not its first task's */
#ifndef LEE_NO_GC
    struct lee_tasks tasks;
    struct lee_accounts accounts;
    /* Of a process that was spawned: where it is charged (group.c). */
    struct lee_group *group;
    struct lee_process *group_next, *group_previous; /* of those in the group */
    size_t uses[LEE_GROUP_KINDS];                    /* what it is charged */
    size_t refused_at; /* of `counts.allocated` of its heap, plus 1: when it last was refused memory */
    size_t refused_bytes; /* what it was refused last */
    bool refused;      /* it was refused memory, and did not get any since */
    bool over;         /* it was so too soon after it had collected */
    bool watched;      /* a custodian above has a limit of memory */
    bool dying;        /* it is ended when it gives way; its record says how */
    bool shuts_later;  /* custodians of its are shut down then (group.c) */
    uint8_t asked;     /* LEE_ASKED_... (top.h) */
    uint64_t number;   /* in the order in which processes are made; 1 for the first. 0: it is a thread of C's */
    bool yields;       /* the running one wants all others to run first (turns.h) */
    bool stopped;      /* where it computed, so it cannot be collected (preempt.c) */
    bool names;        /* it is making objects for what a message names, with the lock */
    uint8_t watch;     /* how often more, when it is entered, the reactor is looked at while it runs */
    struct lee_group *groups; /* of its custodians */
    struct lee_share *share;  /* null: it is in the queue of those without */
    struct lee_process *queue_next, *queue_previous; /* of those that can run */
    struct lee_process *next, *previous;             /* of all that were spawned */
    bool queued;
    /* Of a pool of workers (pool.c). */
    bool begun;                 /* its code has run */
    struct lee_worker *worker;  /* that runs it; null: none does */
    struct lee_worker *pinned;  /* the only one that may; null: any. The first process: but for `is_loose` */
    size_t keeps_thread;        /* not 0: from the next time that it waits, it goes on where it is */
    struct lee_worker *on;      /* in whose queue it is; null: in none, or in that of its share */
    bool handed;                /* it is in the queue because its turn came when another worker chose */
    struct lee_worker *last;    /* that ran it last */
    uint64_t ready_since;       /* in cycles */
    bool calls_long;            /* calls of C that it made took longer than `LONG_CALL` (pool.c) */
    bool wakes_and_runs;        /* the last time that it woke another, it went on for longer than that waits for it (pool.c) */
#endif
};

/* Read where C's functions are called that only the first process may call
 * (crates/lee/src/first_only/mod.rs). */
_Static_assert(offsetof(struct lee_process, high) == 0, "the linker's wrappers read the first word");

extern _Thread_local struct lee_process *lee_process __attribute__((tls_model("initial-exec")));

/* Of the arenas that are declared in the blocks of its running task, newest first. */
static inline struct lee_arena **lee_arenas_declared(struct lee_process *process) {
#ifdef LEE_NO_GC
    return &process->arenas.declared;
#else
    return &process->tasks.running->arenas;
#endif
}

/* Makes the process of a thread that has none yet. */
struct lee_process *lee_process_begin(void);

/* The dynamic arenas whose pages are the heap's, newest first. */
static inline struct lee_arena *lee_keys_of(const struct lee_heap *heap) {
    return heap->process != NULL ? heap->process->arenas.keys : NULL;
}

static inline struct lee_process *lee_process_self(void) {
    struct lee_process *process = lee_process;
    return __builtin_expect(process != NULL, 1) ? process : lee_process_begin();
}

/* Whether a process was ever spawned. */
extern bool lee_processes_used;
/* The process that first called for one to be spawned (pool.c), and the system's number of the program
 * once one was. */
extern struct lee_process *lee_first_process;
extern int lee_program;

/* Marks what a process that was spawned holds beside its tasks. */
void lee_process_scan(const struct lee_process *process, struct lee_marker *marker);
/* The same of any process: its custodians that others name. */
void lee_process_scan_named(const struct lee_process *process, struct lee_marker *marker);

/* From here on `process` is the one that runs on this thread; the stack is the caller's still. */
void lee_process_enter(struct lee_process *process);
/* The same for the process of this thread that was not spawned. */
void lee_process_enter_own(void);
/* cells.c: its part for the heap; io.c: its part for the standard files. */
void lee_heap_enter(struct lee_process *process);
void lee_io_enter(struct lee_process *process) __attribute__((weak));
void lee_globals_enter(struct lee_process *process) __attribute__((weak));

/* io.c, opened.c, if they are linked: the files of a new process, which are zero; and the end of the
 * running one, which closes what it has open and writes what it printed if that needs no waiting. */
void lee_files_begin(struct lee_process *process) __attribute__((weak));
void lee_files_end(struct lee_process *process) __attribute__((weak));
/* fds.c: closes the descriptors that a process has. */
void lee_fds_end(struct lee_process *process) __attribute__((weak));
/* channel.c: closes the ends of channels that a process has. */
void lee_channels_end(struct lee_process *process) __attribute__((weak));
/* c_files.c: closes what C code of a process opened as FILE and DIR. */
void lee_c_files_end(struct lee_process *process) __attribute__((weak));
/* c_memory.c: frees what C code of a process allocated. */
void lee_c_memory_end(struct lee_process *process) __attribute__((weak));
/* channel.c: marks what messages of local contracts hold that are on their way to the process. */
void lee_channels_scan(const struct lee_process *process, struct lee_marker *marker) __attribute__((weak));
/* A process returns: all that it printed is written, however long that takes. */
void lee_files_return(void) __attribute__((weak));
void lee_opened_end(void) __attribute__((weak));

/* globals_copy.c, if it is linked: marks what the globals of a process that was spawned hold. */
void lee_globals_scan(const struct lee_process *process, struct lee_marker *marker) __attribute__((weak));

/* process_spawn.c, if it is linked. Whether the running process was spawned, so that a fault ends only it. */
static inline bool lee_process_is_spawned(void) {
    return lee_process != NULL && lee_process->high != 0;
}
/* The working directory, the mask of new files, limits, alarms, users, what signals do, the program's
 * place among others and the program itself are the whole program's: only the first process sets
 * them. Sets errno if it is another one. */
static inline bool lee_process_is_first(void) {
    if (lee_process_is_spawned())
        errno = EPERM;
    return !lee_process_is_spawned();
}
extern struct lee_process_lists lee_thread_lists;

static inline struct lee_process_lists *lee_lists(void) {
    return lee_process_is_spawned() ? &lee_process->lists : &lee_thread_lists;
}

/* Whether the process, or null, gets so many bytes of pages; and when they are no longer its
 * own. */
bool lee_process_charge(struct lee_process *process, size_t bytes);
void lee_process_uncharge(struct lee_process *process, size_t bytes);
/* There are `more` of a kind of LEE_GROUP_... in the process. */
static inline void lee_process_count(struct lee_process *process, int kind, ptrdiff_t more) {
#ifdef LEE_NO_GC
    (void)process, (void)kind, (void)more;
#else
    if (process->group != NULL)
        lee_group_count(process, kind, more);
#endif
}

/* Where it is charged, if it was spawned. */
static inline struct lee_group *lee_process_group(const struct lee_process *process) {
#ifdef LEE_NO_GC
    (void)process;
    return NULL;
#else
    return process->group;
#endif
}

/* Whether it has to ask for memory that is not its heap's. */
static inline bool lee_process_is_watched(const struct lee_process *process) {
#ifdef LEE_NO_GC
    (void)process;
    return false;
#else
    return __atomic_load_n(&process->watched, __ATOMIC_RELAXED);
#endif
}

#ifndef LEE_NO_GC
/* Whether another worker runs it. With all others stopped: in a call of C, or in what that calls back.
 * With the lock. */
static inline bool lee_process_runs_elsewhere(const struct lee_process *process) {
    return process->worker != NULL && process->worker != &lee_worker;
}
#endif

/* Whether `more` of a kind break no limit of the process's custodians. With the lock. */
static inline bool lee_process_has_room(struct lee_process *process, int kind, size_t more) {
#ifdef LEE_NO_GC
    (void)process, (void)kind, (void)more;
    return true;
#else
    return process->group == NULL || lee_group_has_room(process, kind, more);
#endif
}

/* `more` of a kind are to be made, or were, by the running process. May not return. */
static inline void lee_process_ask(int kind, size_t more) {
#ifdef LEE_NO_GC
    (void)kind, (void)more;
#else
    const struct lee_task *task = lee_process->tasks.running;
    if (lee_process->group != NULL)
        lee_group_ask(task->entered->remote ? task->custodian : task->entered, kind, more);
#endif
}

/* process_spawn.c: ends a process that does not run, on the stack of the caller. */
void lee_process_end_other(struct lee_process *victim, enum lee_end_how how, const char *message) __attribute__((weak));

/* Ends the running process; it must have been spawned. */
_Noreturn void lee_process_end(enum lee_end_how how, int status, const char *message, size_t length) __attribute__((weak));

#endif
