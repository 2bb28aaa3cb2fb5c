/* report_out.h: where reports of faults are printed.
 *
 * Promises: the report of a process that was spawned does not wait for whoever reads standard
 * error, so that nobody else waits for it. What cannot be printed at once is kept, in the order in
 * which it came, and printed as soon as there is room, or when the program ends; beyond
 * LEE_REPORTS_KEPT bytes lines are left out, and counted. The program's own report waits: nothing
 * is left that could run meanwhile. Nothing here allocates. The caller has the lock of the workers. */
#ifndef LEE_REPORT_OUT_H
#define LEE_REPORT_OUT_H

#include "text.h"

enum { LEE_REPORTS_KEPT = 1 << 16 };

/* A line of a report. */
void lee_report_put(const struct lee_text *line);

#endif
