/* process.c: see process.h. */
#include "process.h"

#include "worker.h"

#include <lee/collect.h>

/* Of a thread that runs Leeward code without having been made for a process: the first one, and those that foreign code made. */
static _Thread_local struct lee_process own;
_Thread_local struct lee_process *lee_process __attribute__((tls_model("initial-exec")));

struct lee_process_lists lee_thread_lists = {.hidden_files = ~(uintptr_t)0, .hidden_opened = ~(uintptr_t)0};
bool lee_processes_used;
struct lee_process *lee_first_process;
int lee_program;
bool lee_group_refused, lee_groups_count_tasks, lee_groups_limit_memory, lee_shares_used;
size_t lee_shares_ready;

void lee_process_enter(struct lee_process *process) {
    lee_worker.calm = false;
    lee_process = process;
    lee_heap_enter(process);
    if (lee_io_enter != NULL)
        lee_io_enter(process);
    if (lee_globals_enter != NULL)
        lee_globals_enter(process);
}

void lee_process_enter_own(void) {
    lee_process_enter(&own);
}

#ifndef LEE_NO_GC
void lee_process_scan(const struct lee_process *process, struct lee_marker *marker) {
    lee_mark_word(marker, (uintptr_t)process->accounts.first.limits);
    lee_mark_word(marker, (uintptr_t)process->accounts.first.requirements);
    for (unsigned i = 0; i < 3; i++)
        lee_mark_word(marker, (uintptr_t)process->standard[i].buffer);
    if (lee_globals_scan != NULL)
        lee_globals_scan(process, marker);
}

/* Only the process itself changes the list. A name that goes meanwhile is seen or not; none comes
 * of a custodian that had none and that the process does not reach. */
void lee_process_scan_named(const struct lee_process *process, struct lee_marker *marker) {
    for (const struct lee_group *at = process->groups; at != NULL; at = at->maker_next) {
        if (__atomic_load_n(&at->names, __ATOMIC_RELAXED) > 0)
            lee_mark_word(marker, (uintptr_t)at->custodian);
    }
}
#endif

#ifdef LEE_NO_GC
bool lee_process_charge(struct lee_process *process, size_t bytes) {
    (void)process, (void)bytes;
    return true;
}

void lee_process_uncharge(struct lee_process *process, size_t bytes) {
    (void)process, (void)bytes;
}
#else
bool lee_process_charge(struct lee_process *process, size_t bytes) {
    return process == NULL || process->group == NULL || lee_group_charge(process, bytes);
}

void lee_process_uncharge(struct lee_process *process, size_t bytes) {
    if (process != NULL && process->group != NULL)
        lee_group_uncharge(process, bytes);
}
#endif

struct lee_process *lee_process_begin(void) {
    own.blocks.next = own.blocks.previous = &own.blocks;
#ifndef LEE_NO_GC
    lee_tasks_begin(&own);
#endif
    return lee_process = &own;
}
