/* process_spawn.c: processes that are spawned: their beginning and their end.
 *
 * Promises: what lee/process.h says. A process lies at the top of the stack of its first task, so that spawning takes one slot of
 * address space and touches one page. Its end releases all that it has without asking its own code: what is open first, then the stacks of its
 * tasks, its heap, its globals, and when somebody else runs the stack that it lies on. A process that is killed does not run; whoever kills
 * it releases it.
 *
 * What others know of a process is its record, which lies in no heap and is counted: the process holds it, and each `struct lee_pid`. */
#include "errno_here.h"
#include "process.h"

#ifndef LEE_NO_GC

#include <lee/channel.h>
#include <lee/heap.h>
#include <lee/layout.h>
#include <lee/lee.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address_table.h"
#include "collect.h"
#include "deadlock.h"
#include "dispose.h"
#include "fds.h"
#include "globals_copy.h"
#include "opened.h"
#include "poison.h"
#include "preempt.h"
#include "report.h"
#include "task_park.h"
#include "text.h"
#include "top.h"
#include "worker.h"

enum { ARGUMENTS_MOST = LEE_STACK_BYTES / 4 };

struct lee_process_record {
    size_t count;
    struct lee_process *process; /* null once it has ended */
    struct lee_task *waiting;    /* for its end; by `outside_next` */
    /* The object that the spawner has for it, so that it is found there without a table; null once
     * that is gone. With the lock. */
    struct lee_process *spawner;
    struct lee_pid *pid;
    enum lee_end_how how;
    int status;
    char *message; /* of C's heap; null: there is none, or was no memory for it */
    struct lee_process_record *next; /* of the free ones */
};

/* What one is charged, and counts for when the next collection is due: with its message, should it
 * get one. */
enum { RECORD_BYTES = sizeof(struct lee_process_record) + sizeof((struct lee_process_end *)NULL)->message };

/* Those that a process spawned are on a list of it, others in a table (`pid_of`). Neither keeps
 * anything alive: the collector drops it, or the end of the process. */
struct lee_pid {
    struct lee_process_record *record;
    struct lee_pid *next, *previous;
    bool spawned; /* it is on the list */
};

/* What lies on the stack of a new process, above what it uses. */
struct beginning {
    struct lee_process process;
    void *arguments;
    size_t bytes;
    const struct lee_owned *owned; /* what the arguments own; null: nothing, or the process has taken it */
};

/* --- records ------------------------------------------------------------------------------------------------------- */

/* As many as wait for a collection at most, so that a program that spawns all the time takes no memory
 * of C's (1.6 MB). */
enum { KEPT_MOST = 20480 };
static _Thread_local struct {
    struct lee_process_record *free;
    size_t count;
} records;

/* Not inline, as `release_record`: the caller may have gone to another thread, whose list is
 * another. */
static __attribute__((noinline)) struct lee_process_record *new_record(void) {
    struct lee_process_record *record = records.free;
    if (record != NULL) {
        records.free = record->next;
        records.count--;
        *record = (struct lee_process_record){.count = 0};
    } else {
        record = calloc(1, sizeof *record);
    }
    return record;
}

static __attribute__((noinline)) void release_record(struct lee_process_record *record) {
    if (record == NULL)
        return;
    lee_lock();
    if (--record->count > 0) {
        lee_unlock();
        return;
    }
    lee_unlock();
    free(record->message);
    record->message = NULL;
    if (records.count == KEPT_MOST) {
        free(record);
        return;
    }
    record->next = records.free;
    records.free = record;
    records.count++;
}

/* The running process spawned it. */
static void link_spawned(struct lee_pid *pid, struct lee_process_record *record) {
    struct lee_process *self = lee_process;
    record->spawner = self;
    record->pid = pid;
    pid->record = record;
    pid->spawned = true;
    pid->next = self->spawned;
    if (pid->next != NULL)
        pid->next->previous = pid;
    self->spawned = pid;
    lee_process_count(self, LEE_GROUP_BYTES, RECORD_BYTES);
}

/* The spawner's object is about to go. */
static void forget_spawner(struct lee_process_record *record) {
    lee_lock();
    record->spawner = NULL;
    record->pid = NULL;
    lee_unlock();
}

static void drop_pid(void *object, size_t bytes) {
    struct lee_pid *pid = object;
    struct lee_process *self = lee_process_self();
    (void)bytes;
    if (pid->record == NULL)
        return;
    if (pid->spawned) {
        if (pid->previous != NULL)
            pid->previous->next = pid->next;
        else
            self->spawned = pid->next;
        if (pid->next != NULL)
            pid->next->previous = pid->previous;
        forget_spawner(pid->record);
    } else {
        lee_address_remove(&self->pids, lee_address_find(self->pids, pid->record));
    }
    lee_process_count(self, LEE_GROUP_BYTES, -(ptrdiff_t)RECORD_BYTES);
    release_record(pid->record);
    pid->record = NULL;
}

/* A process ends: the objects themselves go with its heap. */
static void drop_pids(struct lee_process *process) {
    for (struct lee_pid *pid = process->spawned; pid != NULL; pid = pid->next) {
        forget_spawner(pid->record);
        release_record(pid->record);
        pid->record = NULL;
    }
    process->spawned = NULL;
    struct lee_address_table *table = process->pids;
    process->pids = NULL;
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        struct lee_pid *pid = (struct lee_pid *)table->entries[i].value;
        if (pid == NULL)
            continue;
        release_record(pid->record);
        pid->record = NULL;
    }
    lee_address_free(table);
}

/* Not scanned: a record is in no heap. */
static const struct lee_layout pid_layout = {.bytes = sizeof(struct lee_pid), .drop = drop_pid, .name = "pid"};

/* --- names and arguments ---------------------------------------------------------------------- */

/* The object of this process for another. There is one for each, so that equal ones are equal
 * pointers. One that nothing reaches any more is found, too: as long as it is in the table, no
 * collection has ended it. */
static struct lee_pid *pid_of(struct lee_process_record *record) {
    struct lee_process *self = lee_process_self();
    lee_lock();
    struct lee_pid *spawned = record->spawner == self ? record->pid : NULL;
    lee_unlock();
    if (spawned != NULL)
        return spawned;
    const struct lee_address_entry *entry = lee_address_find(self->pids, record);
    if (entry != NULL)
        return (struct lee_pid *)entry->value;
    lee_address_ask(self->pids);
    self->names = true;
    struct lee_pid *pid = lee_heap_alloc_typed(NULL, sizeof *pid, &pid_layout);
    self->names = false;
    if (!lee_address_reserve(&self->pids))
        lee_fault_memory(NULL, sizeof *self->pids);
    pid->record = record;
    lee_address_add(self->pids, record)->value = (uintptr_t)pid;
    lee_process_count(self, LEE_GROUP_BYTES, RECORD_BYTES);
    lee_lock();
    record->count++;
    lee_unlock();
    return pid;
}

void lee_push_pid(struct lee_work *work, void *place) {
    void *word;
    memcpy(&word, place, sizeof word);
    if (word == NULL)
        return;
    switch (lee_walk_of(work)) {
    case LEE_WALK_LEAVE:
        word = ((struct lee_pid *)word)->record;
        lee_lock();
        ((struct lee_process_record *)word)->count++;
        lee_unlock();
        break;
    case LEE_WALK_NAME:
        word = pid_of(word);
        break;
    case LEE_WALK_UNNAME:
    case LEE_WALK_LOST:
        release_record(word);
        return;
    default:
        return;
    }
    memcpy(place, &word, sizeof word);
}

static void took(void *beginning) {
    ((struct beginning *)beginning)->owned = NULL;
}

/* --- the end --------------------------------------------------------------------------------------------------------- */

static void say_ended(struct lee_process *process) {
    struct lee_process_record *record = process->record;
    struct lee_task *next;
    record->process = NULL;
    for (struct lee_task *task = record->waiting; task != NULL; task = next) {
        next = task->outside_next;
        task->outside_next = NULL;
        lee_task_resume(task);
    }
    record->waiting = NULL;
    release_record(record);
    process->record = NULL;
}

/* Processes that were spawned and have not ended. */
static size_t living;

#ifdef LEE_ASAN
/* LeakSanitizer asks when the program ends. What processes that still run have is not lost, but is
 * reached from memory that it does not read. */
int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) {
    return living > 0;
}
#endif

/* All but the stack that the process lies on. It is entered, and its code never runs again. */
static void release(struct lee_process *process, bool standing) {
    if (process->asked != LEE_ASKED_NOTHING)
        lee_top_ends(process);
    if (process->heap != NULL)
        lee_heap_stop_marking(process->heap); /* the marker lies on the stack of one of its tasks */
    lee_tasks_drop(process, standing);
    process->tasks.running = &process->tasks.first; /* others lie in the heap */
    struct beginning *beginning = (struct beginning *)(void *)process;
    if (beginning->owned != NULL) /* it never began */
        lee_parts_lost(beginning->arguments, beginning->bytes, beginning->owned);
    if (lee_channels_end != NULL)
        lee_channels_end(process);
    if (lee_exchange_end != NULL)
        lee_exchange_end(process);
    if (lee_frozen_end != NULL)
        lee_frozen_end(process);
    if (lee_c_files_end != NULL) /* before their buffers are freed */
        lee_c_files_end(process);
    if (lee_c_memory_end != NULL)
        lee_c_memory_end(process);
    if (lee_files_end != NULL)
        lee_files_end(process);
    if (lee_opened_end != NULL)
        lee_opened_end();
    if (lee_fds_end != NULL)
        lee_fds_end(process);
    drop_pids(process);
    if (lee_remote_end != NULL)
        lee_remote_end(process);
    if (process->heap != NULL)
        lee_heap_delete(process->heap);
    lee_globals_release(process);
    lee_group_leave(process);
    lee_process_unlink(process);
    living--;
    say_ended(process);
}

static void give_stacks(struct lee_process *process) {
    uintptr_t high = process->high, lowest = process->tasks.first.lowest;
    if (process->last_high != 0)
        lee_stack_give(process->last_high, process->last_lowest);
    lee_stack_give(high, lowest);
}

static void note_end(struct lee_process_record *record, enum lee_end_how how, int status, const char *message, size_t length) {
    enum { MOST = sizeof((struct lee_process_end *)NULL)->message - 1 };
    record->how = how;
    record->status = status;
    if (length > MOST)
        length = MOST;
    if (length == 0 || (record->message = malloc(length + 1)) == NULL)
        return;
    memcpy(record->message, message, length);
    record->message[length] = 0;
}

/* It runs on another worker. Whether it is in a call of C there, which nothing waits for. */
static bool end_soon(struct lee_process *victim, enum lee_end_how how, const char *message) {
    if (!victim->dying)
        note_end(victim->record, how, 0, message, message != NULL ? strlen(message) : 0);
    __atomic_store_n(&victim->dying, true, __ATOMIC_RELAXED);
    return lee_worker_hurry(victim);
}

void lee_process_end_other(struct lee_process *victim, enum lee_end_how how, const char *message) {
    struct lee_process *self = lee_process;
    int error = errno;
    if (lee_process_runs_elsewhere(victim)) {
        end_soon(victim, how, message);
        return;
    }
    if (!victim->dying)
        note_end(victim->record, how, 0, message, message != NULL ? strlen(message) : 0);
    if (lee_shares_used)
        lee_share_note(); /* what follows is the victim's */
    lee_process_enter(victim);
    release(victim, false);
    give_stacks(victim);
    lee_process_enter(self);
    errno = error;
}

void lee_process_end(enum lee_end_how how, int status, const char *message, size_t length) {
    struct lee_process *process = lee_process;
    lee_lock(); /* whoever runs next gives it back */
    if (!process->dying) /* else it is to end in another way already */
        note_end(process->record, how, status, message, length);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct lee_task *running = process->tasks.running;
    if (here < running->lowest && here > running->low)
        running->lowest = here;
    if (running != &process->tasks.first) {
        process->last_high = running->high;
        process->last_lowest = running->lowest;
    }
    release(process, true);
    lee_task_leave_for_ever(process, give_stacks);
}

void lee_process_kill(struct lee_pid *pid) {
    if (pid == NULL)
        lee_fault_null(NULL);
    struct lee_process_record *record = pid->record;
    struct lee_process *self = lee_process_self();
    lee_lock();
    if (record->process == self)
        lee_process_end(LEE_KILLED, 0, NULL, 0);
    bool runs = record->process != NULL && lee_process_runs_elsewhere(record->process);
    if (runs) {
        if (end_soon(record->process, LEE_KILLED, NULL)) {
            lee_unlock();
            return;
        }
        lee_world_stop(); /* after that it does not run, or has ended, or has come into a call of C */
    }
    if (record->process != NULL) {
        lee_process_end_other(record->process, LEE_KILLED, NULL);
        lee_process_unready(self); /* its own tasks may have been woken: what runs is in no queue */
    }
    if (runs)
        lee_world_go();
    lee_unlock();
    __asm__ volatile("" ::"r"(pid)); /* it holds the record until here */
}

void lee_process_keep_thread(void) {
    lee_process_self()->keeps_thread++;
}

_Noreturn void lee_exit(int status) {
    if (!lee_process_is_spawned())
        exit(status);
    if (lee_files_return != NULL)
        lee_files_return();
    lee_process_end(LEE_EXITED, status, NULL, 0);
}

_Noreturn void lee_exit_now(int status) {
    if (!lee_process_is_spawned())
        _exit(status);
    lee_process_end(LEE_EXITED, status, NULL, 0);
}

_Noreturn void lee_abort(void) {
    static const char message[] = "aborted";
    if (!lee_process_is_spawned())
        abort();
    lee_process_end(LEE_FAULTED, 0, message, sizeof message - 1);
}

/* --- waiting --------------------------------------------------------------------------------------------------------- */

static void stop_waiting(struct lee_task *task) {
    struct lee_process_record *record = task->outside;
    struct lee_task **link = &record->waiting;
    while (*link != task)
        link = &(*link)->outside_next;
    *link = task->outside_next;
    task->outside_next = NULL;
    task->outside = NULL;
    task->leave = NULL;
}

bool lee_process_awaits(const struct lee_task *task, struct lee_awaited *what) {
    if (task->leave != stop_waiting)
        return false;
    *what = (struct lee_awaited){.process = ((const struct lee_process_record *)task->outside)->process};
    return true;
}

struct lee_process_end lee_process_wait(struct lee_pid *pid) {
    if (pid == NULL)
        lee_fault_null(NULL);
    struct lee_process_record *record = pid->record;
    lee_lock();
    if (record->process != NULL) {
        struct lee_task *self = lee_task_self();
        if (self->custodian->shut)
            lee_task_end(true);
        self->outside_next = record->waiting;
        record->waiting = self;
        lee_task_park(record, stop_waiting);
    }
    lee_unlock();
    struct lee_process_end end = {.how = record->how, .status = record->status};
    if (record->message != NULL)
        strcpy(end.message, record->message);
    __asm__ volatile("" ::"r"(pid)); /* it holds the record until here */
    return end;
}

/* --- the beginning --------------------------------------------------------------------------------------------------- */

static void begin(void) {
    struct beginning *beginning = (struct beginning *)(void *)lee_process;
    lee_task_arrive();
    size_t bytes = beginning->owned != NULL ? beginning->bytes : 0;
    unsigned char taken[bytes + 1] __attribute__((aligned(16)));
    void *arguments = beginning->arguments;
    if (bytes > 0) {
        memcpy(taken, arguments, bytes);
        lee_lock(); /* the custodians that paid for it on its way do so no longer */
        lee_parts_arrive(arguments, taken, bytes, beginning->owned, took, beginning);
        lee_unlock();
        arguments = taken;
    }
    int status = lee_process->entry(arguments);
    if (lee_files_return != NULL)
        lee_files_return();
    lee_process_end(LEE_RETURNED, status, NULL, 0);
}

/* What is read before it is written lies where a new stack is zero. */
_Static_assert(16 + sizeof(struct beginning) + 64 + LEE_GLOBALS_SMALL <= LEE_STACK_ZEROS, "more of the stack is to be zero");

/* The top of a stack: its highest 16 bytes are the stack's own when it is free, then the process, then the arguments. */
static struct lee_process *make(int (*entry)(void *), const void *arguments, size_t bytes) {
    uintptr_t high, low = lee_stack_take(&high);
    if (low == 0)
        return NULL;
    struct beginning *beginning = (struct beginning *)((high - 16 - sizeof *beginning) & ~(uintptr_t)63);
    size_t globals = lee_globals_on_stack();
    uintptr_t place = (uintptr_t)beginning - globals;
    struct lee_process *process = &beginning->process;
    process->high = high;
    process->lists.hidden_files = process->lists.hidden_opened = ~(uintptr_t)0;
    process->blocks.next = process->blocks.previous = &process->blocks;
    process->tasks.first.low = low;
    process->tasks.first.high = place; /* what lies above are no words of the stack */
    process->entry = entry;
    uintptr_t top = (place - bytes) & ~(uintptr_t)15;
    if (bytes > 0)
        memcpy((void *)top, arguments, bytes);
    beginning->arguments = (void *)top;
    beginning->bytes = bytes;
    if (!lee_globals_make(process, globals > 0 ? place : 0)) {
        lee_stack_give(high, top);
        return NULL;
    }
    if (lee_files_begin != NULL)
        lee_files_begin(process);
    lee_task_prepare(process, top, begin);
    return process;
}

/* With the lock. */
static uint64_t last_number = 1;

static struct lee_pid *spawn(struct lee_pid *pid, const struct lee_site *site, int (*entry)(void *), const void *arguments,
                             size_t bytes, const struct lee_owned *owned, bool question) {
    struct lee_custodian *custodian = lee_task_self()->entered;
    lee_group_ask_spawn(custodian, LEE_STACK_CHARGE + bytes + lee_globals_bytes());
    struct lee_process_record *record = pid != NULL && bytes <= ARGUMENTS_MOST ? new_record() : NULL;
    struct lee_group *group = record == NULL ? NULL : lee_group_of(custodian);
    if (group != NULL && group->shut) { /* it is over before it begins */
        if (owned != NULL)
            lee_dispose_parts((void *)(uintptr_t)arguments, bytes, owned);
        record->how = LEE_LIMIT;
        record->count = 1;
        link_spawned(pid, record);
        return pid;
    }
    struct lee_process *process = group == NULL ? NULL : make(entry, arguments, bytes);
    if (process == NULL) {
        free(record);
        if (owned != NULL)
            lee_dispose_parts((void *)(uintptr_t)arguments, bytes, owned);
        if (!question)
            lee_fault_memory(site, LEE_STACK_BYTES);
        return NULL;
    }
    if (!lee_processes_used) { /* there is one worker still */
        lee_program = getpid();
        lee_processes_used = lee_fds_guarded = true;
    }
    record->count = 2;
    record->process = process;
    process->tasks.first.site = site;
    process->record = record;
    process->number = ++last_number;
    process->watch = LEE_WATCHES;
    lee_group_join(group, process, lee_globals_bytes());
    struct beginning *beginning = (struct beginning *)(void *)process;
    beginning->owned = owned;
    if (owned != NULL)
        lee_walk_parts(LEE_WALK_LEAVE, beginning->arguments, bytes, owned);
    link_spawned(pid, record);
    lee_process_link(process);
    living++;
    lee_preempt_begin();
    /* The collector gives the record back with the object, so it counts for when that is due. */
    lee_heap_self()->since_collection += RECORD_BYTES;
    return pid;
}

struct lee_pid *lee_process_spawn_with(const struct lee_site *site, int (*entry)(void *), const void *arguments, size_t bytes,
                                       const struct lee_owned *owned, bool question) {
    if (__builtin_expect(!lee_processes_used, 0)) {
        lee_task_used(); /* with LEE_SEED there is one worker */
        lee_pool_begin();
    }
    struct lee_pid *pid = lee_heap_try_alloc_typed(sizeof *pid, &pid_layout); /* without the lock: it may collect */
    lee_lock();
    pid = spawn(pid, site, entry, arguments, bytes, owned, question);
    lee_unlock();
    return pid;
}

struct lee_pid *lee_process_try_spawn(const struct lee_site *site, int (*entry)(void *), const void *arguments, size_t bytes) {
    return lee_process_spawn_with(site, entry, arguments, bytes, NULL, true);
}

struct lee_pid *lee_process_spawn(const struct lee_site *site, int (*entry)(void *), const void *arguments, size_t bytes) {
    return lee_process_spawn_with(site, entry, arguments, bytes, NULL, false);
}

#endif
