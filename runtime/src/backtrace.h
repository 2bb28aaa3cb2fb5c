/* backtrace.h: which calls led to a place, with function names, files and lines.
 *
 * Promises: allocates nothing (files are mapped), reads only memory that is mapped, ends on any
 * stack, however damaged. Fit for signal handlers. Not for two threads at once: the report sees to
 * that. */
#ifndef LEE_BACKTRACE_H
#define LEE_BACKTRACE_H

#include "image.h"
#include "report.h"

enum { LEE_BACKTRACE_FRAMES = 64 };

struct lee_call {
    struct lee_location location;
    const char *object; /* the path of the program or library that holds the code; null if not known */
    bool program;       /* that is the program itself */
    bool lined;         /* that has lines for its own code */
    bool runtime;       /* a function of the runtime, which users do not want to see */
};

/* The calls from `frame` outwards, at most LEE_BACKTRACE_FRAMES. */
size_t lee_backtrace(struct lee_frame frame, struct lee_call calls[LEE_BACKTRACE_FRAMES]);

/* Whether the code that ran in `frame` is the program's or the runtime's, not a library's. */
bool lee_backtrace_is_ours(struct lee_frame frame);

#endif
