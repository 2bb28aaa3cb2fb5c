/* report.h: the one way out of the program for a fault. */
#ifndef LEE_REPORT_H
#define LEE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <lee/fault.h>

#include "text.h"

/* Where a backtrace starts. */
struct lee_frame {
    uintptr_t pc;       /* the code that runs here */
    uintptr_t fp;       /* its frame pointer */
    uintptr_t sp;       /* nothing of the frame lies below */
    uintptr_t link;     /* aarch64: the link register, of a trap */
    bool pc_is_a_return; /* pc follows a call; else it is the instruction that trapped */
};

/* The frame that called the function in which this stands. Asking for the frame's address makes the
 * compiler keep a frame pointer in that function, whatever the flags. */
#define LEE_CALLER                                                                                                     \
    ((struct lee_frame){                                                                                               \
        .pc = (uintptr_t)__builtin_return_address(0),                                                                  \
        .fp = ((const uintptr_t *)__builtin_frame_address(0))[0],                                                      \
        .sp = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t),                                           \
        .pc_is_a_return = true,                                                                                        \
    })

/* Writes out open files, prints `FILE:LINE:COLUMN: fault: MESSAGE` and a backtrace, ends the
 * program with status
 * 134. Without a site the place is that of the first frame of the program's own code.
 *
 * Called again by the same thread, because the report itself faulted, it goes on with the next step
 * of the first report. Another thread that calls it meanwhile waits for the end. */
_Noreturn void lee_report(const struct lee_site *site, const struct lee_text *message, struct lee_frame frame);

#endif
