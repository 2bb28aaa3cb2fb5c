/* process.h: a process: all that the runtime knows of one and not of another.
 *
 * Promises: `lee_process` is the process that runs on this thread, null until something of it is asked for; code reads it by
 * `lee_process_self`. What is in it is touched by the thread that runs the process only. A thread that foreign code made
 * is a process of its own. */
#ifndef LEE_SRC_PROCESS_H
#define LEE_SRC_PROCESS_H

#include "custodian.h"
#include "task.h"

#include <stddef.h>

struct lee_arena;
struct lee_arena_page;
struct lee_listed;

enum { LEE_KEPT_PAGES = 4 /* arenas that are alive at once in one process seldom are more */ };

struct lee_process {
    struct lee_heap *heap; /* null until it allocates */
    struct {
        struct lee_arena *running; /* declared in the blocks of the running task, newest first */
        struct lee_arena *keys;    /* dynamic ones, newest first */
        struct lee_arena_page *kept[LEE_KEPT_PAGES]; /* first pages for the next arenas */
        unsigned kept_count;
    } arenas;
    struct lee_listed *listed; /* what `container_of` finds outside the heap (container.c); null as long as nothing was listed */
    /* Heads of lists that keep nothing alive, so no word here may look like a pointer: complements of addresses. */
    uintptr_t hidden_files, hidden_opened;
#ifndef LEE_NO_GC
    struct lee_tasks tasks;
    struct lee_accounts accounts;
#endif
};

extern _Thread_local struct lee_process *lee_process __attribute__((tls_model("initial-exec")));

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

#endif
