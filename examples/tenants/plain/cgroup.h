/* Control groups for the tenants' processes, one for each: of version 2 where this program has a
 * subtree of its own (a delegated scope, or the root), else of version 1. */
#ifndef TENANTS_PLAIN_CGROUP_H
#define TENANTS_PLAIN_CGROUP_H

#include <stdbool.h>

/* Makes groups for so many. What they are ("cgroup v2", "cgroup v1"), or null: none can be made.
 * TENANTS_CGROUPS=2 or 1 tries that version only; then one of version 2 may lack controllers, and the
 * name says which. */
const char *cgroups_begin(int count);
/* Whether memory is bounded by them. */
bool cgroups_bound_memory(void);
/* The calling process is in group `which` from now on. */
void cgroup_enter(int which);
/* Kills all that is in it. */
void cgroup_kill(int which);
void cgroups_end(void);

#endif
