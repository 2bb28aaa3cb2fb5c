/* The order of turns: who waited comes before those that compute, and these are not kept waiting for ever. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "../src/turns_inline.h"
#include "check.h"

enum { MOST = 4 * LEE_PASSES };

static struct lee_process *processes;

static struct lee_process *make(int number, bool stopped, bool yields) {
    processes[number].stopped = stopped;
    processes[number].yields = yields;
    return &processes[number];
}

static int take(struct lee_turns *turns) {
    struct lee_process *process = turns->head;
    if (process == NULL)
        return -1;
    lee_turns_take(turns, process);
    return (int)(process - processes);
}

/* Both directions of the list agree. */
static void check(const struct lee_turns *turns, int count) {
    const struct lee_process *before = NULL;
    int seen = 0;
    for (const struct lee_process *at = turns->head; at != NULL; at = at->queue_next) {
        CHECK(at->queue_previous == before);
        before = at;
        seen++;
    }
    CHECK(turns->tail == before && seen == count);
}

static void test_order(void) {
    struct lee_turns turns = {0};
    lee_turns_add(&turns, make(0, false, false));
    lee_turns_add(&turns, make(1, true, false));
    lee_turns_add(&turns, make(2, true, false));
    lee_turns_add(&turns, make(3, false, false));
    lee_turns_add(&turns, make(4, false, true));
    lee_turns_add(&turns, make(5, false, false));
    check(&turns, 6);
    lee_turns_take(&turns, &processes[3]); /* from the middle */
    check(&turns, 5);
    static const int expected[] = {0, 5, 1, 2, 4, -1};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        CHECK(take(&turns) == expected[i]);
    CHECK(turns.stopped == NULL);
    lee_turns_add(&turns, make(6, true, false));
    lee_turns_add(&turns, make(7, true, false));
    lee_turns_take(&turns, &processes[6]);
    CHECK(turns.stopped == &processes[7]);
    lee_turns_take(&turns, &processes[7]);
    CHECK(turns.head == NULL && turns.tail == NULL && turns.stopped == NULL);
}

/* Of many that wait again and again, so many come before one that computes, and no more. */
static void test_passes(void) {
    struct lee_turns turns = {0};
    int before = 0;
    lee_turns_add(&turns, make(0, true, false));
    for (int i = 1; i < MOST; i++)
        lee_turns_add(&turns, make(i, false, false));
    check(&turns, MOST);
    for (int number; (number = take(&turns)) != 0; before++)
        CHECK(number == before + 1);
    CHECK(before == LEE_PASSES);
    /* Those after it are in line; the next one that is stopped may be passed again. */
    lee_turns_add(&turns, make(0, true, false));
    CHECK(take(&turns) == LEE_PASSES + 1);
    lee_turns_add(&turns, make(1, false, false));
    check(&turns, MOST - LEE_PASSES);
    int last = -1, number;
    while ((number = take(&turns)) >= 0)
        last = number;
    CHECK(last == 0);
}

/* One whose turn came is passed as often the next time. */
static void test_turns_go_round(void) {
    struct lee_turns turns = {0};
    int turns_of_one = 0;
    lee_turns_add(&turns, make(0, true, false));
    lee_turns_add(&turns, make(1, false, false));
    for (int i = 0; i < 10 * (LEE_PASSES + 1); i++) {
        int number = take(&turns);
        CHECK(number == 0 || number == 1);
        turns_of_one += number == 0;
        lee_turns_add(&turns, make(number, number == 0, false));
    }
    CHECK(turns_of_one >= 9 && turns_of_one <= 11);
}

int main(void) {
    processes = calloc(MOST, sizeof *processes);
    CHECK(processes != NULL);
    test_order();
    test_passes();
    test_turns_go_round();
    free(processes);
    return check_end();
}
