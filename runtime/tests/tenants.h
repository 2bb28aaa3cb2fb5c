/* tenants.h: processes of custodians, whether anything is left of them, and what they reported. */
#ifndef LEE_TESTS_TENANTS_H
#define LEE_TESTS_TENANTS_H

#include <lee/custodian.h>
#include <lee/process.h>
#include <stdio.h>
#include <string.h>

#include "../src/custodian.h"
#include "../src/process.h"
#include "../src/worker.h"

static __attribute__((unused)) struct lee_pid *spawn_in(struct lee_custodian *custodian, int (*entry)(void *), const void *arguments, size_t bytes) {
    struct lee_custodian *before = lee_custodian_enter(custodian);
    struct lee_pid *pid = lee_process_spawn(NULL, entry, arguments, bytes);
    lee_custodian_enter(before);
    return pid;
}

/* The custodian's processes hold nothing any more, and there are none. */
static __attribute__((unused)) bool is_empty(const struct lee_custodian *custodian) {
    lee_lock();
    lee_groups_settle();
    bool empty = custodian->group->processes == NULL;
    for (int kind = 0; kind < LEE_GROUP_KINDS; kind++)
        empty &= custodian->group->uses[kind] == 0;
    lee_unlock();
    return empty;
}

/* How many faults the file tells of. */
static __attribute__((unused)) int reported(FILE *reports) {
    char line[1000];
    int count = 0;
    rewind(reports);
    while (fgets(line, sizeof line, reports) != NULL)
        count += strstr(line, ": fault: on purpose") != NULL;
    return count;
}

#endif
