/* process.c: see process.h. */
#include "process.h"

/* Of a thread that runs Leeward code without having been made for a process: the first one, and those that foreign code made. */
static _Thread_local struct lee_process own;
_Thread_local struct lee_process *lee_process __attribute__((tls_model("initial-exec")));

struct lee_process *lee_process_begin(void) {
    own.hidden_files = own.hidden_opened = ~(uintptr_t)0;
#ifndef LEE_NO_GC
    lee_tasks_begin(&own);
#endif
    return lee_process = &own;
}
