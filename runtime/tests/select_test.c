/* Selects over many ends and sets: what is kept between two of them finds what looking at all would,
 * whatever happens in between. `select_test N SEED` does N rounds. */
#include <stdint.h>
#include <stdlib.h>

#include <lee/channel.h>
#include <lee/custodian.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/process.h"
#include "cases.h"
#include "check.h"

enum { MESSAGES = 3, ENDS = 70, SETS = 3, STATEMENTS = 3, MOST_CASES = 150, MOST_CONDITIONS = 300, STEPS = 400 };

static const char *const titles[] = {"One", "Two", "Three"};
static const struct lee_contract contract = {.name = "Any", .places = {4, 4}, .bytes = 8, .messages = MESSAGES, .titles = titles};
static const struct lee_set_kind kind = {.contract = &contract};

static uint64_t seed = 1;

static uint32_t below(uint32_t bound) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(seed >> 33) % bound;
}

/* --- a model ---------------------------------------------------------------------------------- */

struct round {
    unsigned count, set_count;
    struct lee_endpoint *ends[ENDS], *peers[ENDS]; /* a peer is null once it is closed */
    uint32_t held[ENDS];
    struct lee_set *sets[SETS];
    struct lee_endpoint *inside[SETS], *outside[SETS]; /* of the only member that a set may have, and its peer */
    struct lee_wanted wanted[STATEMENTS][MOST_CONDITIONS];
    struct lee_cases cases[STATEMENTS];
};

static int32_t any_head(void) {
    return below(4) == 0 ? LEE_CLOSED : (int32_t)below(MESSAGES) + 1;
}

static int32_t any_head_of_set(void) {
    uint32_t which = below(6);
    return which == 0 ? LEE_NO_MEMBER : which == 1 ? LEE_ANY_MEMBER : any_head();
}

static void make_statement(struct round *round, int statement) {
    uint32_t columns = round->count + round->set_count, conditions = 0, cases = 0;
    while (cases < 1 + below(MOST_CASES - 1) && conditions < MOST_CONDITIONS - 3) {
        uint32_t which = below(columns);
        for (uint32_t i = 0, more = below(3); i <= more && which < columns; i++, which += 1 + below(columns)) {
            int32_t head = which < round->count ? any_head() : any_head_of_set();
            round->wanted[statement][conditions++] = (struct lee_wanted){head, which | (i > 0 ? LEE_AND : 0)};
        }
        cases++;
    }
    round->cases[statement] = (struct lee_cases){round->wanted[statement], conditions, cases, true};
}

/* 0: it holds; 1: it may; 2: it never will. */
static int state_of(const struct round *round, const struct lee_wanted *wanted) {
    uint32_t which = wanted->which & ~LEE_AND;
    int32_t head;
    if (which < round->count) {
        head = lee_channel_head(round->ends[which]);
    } else {
        const struct lee_endpoint *member = round->inside[which - round->count];
        if (wanted->head == LEE_NO_MEMBER || wanted->head == LEE_ANY_MEMBER)
            return (member == NULL) == (wanted->head == LEE_NO_MEMBER) ? 0 : 2;
        if (member == NULL)
            return 2;
        head = lee_channel_head(member);
    }
    return head == wanted->head ? 0 : head == LEE_EMPTY ? 1 : 2;
}

/* As a select that does not wait. */
static int expected(const struct round *round, const struct lee_cases *cases) {
    int number = 0;
    bool possible = false;
    for (uint32_t i = 0; i < cases->conditions; number++) {
        int worst = 0;
        do {
            int state = state_of(round, &cases->wanted[i]);
            worst = state > worst ? state : worst;
        } while (++i < cases->conditions && (cases->wanted[i].which & LEE_AND) != 0);
        if (worst == 0)
            return number;
        possible = possible || worst == 1;
    }
    return possible ? (int)cases->cases : -1;
}

/* --- what happens in between ------------------------------------------------------------------ */

static void send(struct lee_endpoint *peer) {
    int64_t n = 1;
    lee_channel_send(peer, (int32_t)below(MESSAGES) + 1, &n, sizeof n);
}

static void renew(struct round *round, uint32_t i) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &contract, ends);
    round->ends[i] = ends[0];
    round->peers[i] = ends[1];
    round->held[i] = 0;
}

static void step_of_end(struct round *round, uint32_t i) {
    int64_t n;
    uint32_t what = below(16);
    if (what < 6 && round->peers[i] != NULL && round->held[i] < 4) {
        send(round->peers[i]);
        round->held[i]++;
    } else if (what < 13 && round->held[i] > 0) {
        lee_channel_take(round->ends[i], lee_channel_head(round->ends[i]), &n, sizeof n);
        round->held[i]--;
    } else if (what == 13) {
        lee_channel_close(round->peers[i]);
        round->peers[i] = NULL;
    } else if (what == 14) {
        lee_channel_close(round->peers[i]);
        lee_channel_close(round->ends[i]);
        renew(round, i);
    }
}

static void step_of_set(struct round *round, uint32_t i) {
    uint32_t what = below(8);
    if (round->inside[i] == NULL && what < 5) {
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &contract, ends);
        if (what < 2)
            send(ends[1]);
        lee_set_add(NULL, round->sets[i], ends[0], NULL);
        round->inside[i] = ends[0];
        round->outside[i] = ends[1];
    } else if (round->inside[i] != NULL && what < 3) {
        if (lee_channel_head(round->inside[i]) == LEE_EMPTY)
            send(round->outside[i]);
    } else if (round->inside[i] != NULL && what < 5) {
        lee_channel_close(round->outside[i]);
        round->outside[i] = NULL;
    } else if (round->inside[i] != NULL) {
        lee_channel_close(lee_set_take(NULL, round->sets[i], LEE_ANY_MEMBER, NULL));
        lee_channel_close(round->outside[i]);
        round->inside[i] = round->outside[i] = NULL;
    } else if (what == 7) {
        lee_set_free(round->sets[i]);
        round->sets[i] = lee_set_make(NULL, &kind);
    }
}

/* An end goes into a set and comes out again: what was kept with it is forgotten. */
static void detour(struct round *round, uint32_t i) {
    struct lee_set *set = lee_set_make(NULL, &kind);
    lee_set_add(NULL, set, round->ends[i], NULL);
    CHECK(lee_set_take(NULL, set, LEE_ANY_MEMBER, NULL) == round->ends[i]);
    lee_set_free(set);
}

static void test_random(void) {
    static struct round round;
    round.count = below(ENDS) + 1;
    round.set_count = below(SETS + 1);
    for (uint32_t i = 0; i < round.count; i++)
        renew(&round, i);
    for (uint32_t i = 0; i < round.set_count; i++) {
        round.sets[i] = lee_set_make(NULL, &kind);
        round.inside[i] = round.outside[i] = NULL;
    }
    for (int i = 0; i < STATEMENTS; i++)
        make_statement(&round, i);
    for (int i = 0, statement = 0; i < STEPS; i++) {
        for (uint32_t steps = below(4); steps > 0; steps--) {
            uint32_t which = below(round.count + round.set_count);
            if (which >= round.count)
                step_of_set(&round, which - round.count);
            else if (below(100) == 0)
                detour(&round, which);
            else
                step_of_end(&round, which);
        }
        if (below(8) == 0)
            statement = (int)below(STATEMENTS);
        const struct lee_cases *cases = &round.cases[statement];
        CHECK(lee_set_select_for(NULL, round.ends, round.count, round.sets, round.set_count, cases, 0) == expected(&round, cases));
    }
    for (uint32_t i = 0; i < round.set_count; i++) {
        lee_set_free(round.sets[i]);
        lee_channel_close(round.outside[i]);
    }
    for (uint32_t i = 0; i < round.count; i++) {
        lee_channel_close(round.peers[i]);
        lee_channel_close(round.ends[i]);
    }
    CHECK(lee_process_self()->endpoints == NULL && lee_process_self()->sets == NULL);
}

/* --- waiting, and what ends meanwhile --------------------------------------------------------- */

enum { CLIENTS = 8, ROUNDS = 200 };

CASES(serve, 2 * CLIENTS, false, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}, {LEE_CLOSED, 0}, {LEE_CLOSED, 1},
      {LEE_CLOSED, 2}, {LEE_CLOSED, 3}, {LEE_CLOSED, 4}, {LEE_CLOSED, 5}, {LEE_CLOSED, 6}, {LEE_CLOSED, 7});

static void push_clients(struct lee_work *work, void *element) {
    for (int i = 0; i < CLIENTS; i++)
        lee_push_endpoint(work, ((struct lee_endpoint **)element)[i]);
}
static const struct lee_owned clients = {.size = CLIENTS * sizeof(struct lee_endpoint *), .drop = push_clients};

/* Answers each by twice what it asked, and in between asks that one back and waits for it alone. */
static int serves(void *argument) {
    struct lee_endpoint **ends = argument;
    for (;;) {
        int found = lee_channel_select(NULL, ends, CLIENTS, &serve);
        if (found >= CLIENTS)
            return 0;
        int64_t n, more;
        lee_channel_take(ends[found], 1, &n, sizeof n);
        lee_channel_send(ends[found], 3, &n, sizeof n);
        lee_channel_receive(NULL, ends[found], 2, &more, sizeof more);
        n += more;
        lee_channel_send(ends[found], 2, &n, sizeof n);
    }
}

static bool ask(struct lee_endpoint *end, int64_t n) {
    int64_t back = -1, twice = -1;
    lee_channel_send(end, 1, &n, sizeof n);
    lee_channel_receive(NULL, end, 3, &back, sizeof back);
    lee_channel_send(end, 2, &back, sizeof back);
    lee_channel_receive(NULL, end, 2, &twice, sizeof twice);
    return back == n && twice == 2 * n;
}

/* A server with a limit is asked, and killed while it waits for one (`inside`) or for all. */
static void test_served(bool inside) {
    struct lee_custodian *custodian = lee_custodian_new(lee_custodian_current()), *before;
    lee_custodian_limit(custodian, 64 << 20, NULL);
    struct lee_endpoint *ends[CLIENTS][2], *given[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        lee_channel_make(NULL, &contract, ends[i]);
        given[i] = ends[i][1];
    }
    before = lee_custodian_enter(custodian);
    struct lee_pid *pid = lee_process_spawn_with(NULL, serves, given, sizeof given, &clients, false);
    lee_custodian_enter(before);
    for (int i = 0; i < ROUNDS; i++)
        CHECK(ask(ends[below(CLIENTS)][0], i));
    if (inside) {
        int64_t n = 1;
        lee_channel_send(ends[3][0], 1, &n, sizeof n);
        lee_channel_receive(NULL, ends[3][0], 3, &n, sizeof n);
    }
    lee_process_kill(pid);
    CHECK(lee_process_wait(pid).how == LEE_KILLED);
    /* What was kept is given back; the name of the process, in this heap, is still there. */
    CHECK(lee_custodian_use(custodian) < 256);
    for (int i = 0; i < CLIENTS; i++) {
        CHECK(lee_channel_head(ends[i][0]) == LEE_CLOSED);
        lee_channel_close(ends[i][0]);
    }
}

/* A client that closes ends the server, which gives back what it kept. */
static void test_returns(void) {
    struct lee_endpoint *ends[CLIENTS][2], *given[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        lee_channel_make(NULL, &contract, ends[i]);
        given[i] = ends[i][1];
    }
    struct lee_pid *pid = lee_process_spawn_with(NULL, serves, given, sizeof given, &clients, false);
    for (int i = 0; i < ROUNDS; i++)
        CHECK(ask(ends[below(CLIENTS)][0], i));
    lee_channel_close(ends[5][0]);
    CHECK(lee_process_wait(pid).how == LEE_RETURNED);
    for (int i = 0; i < CLIENTS; i++) {
        if (i != 5)
            lee_channel_close(ends[i][0]);
    }
}

int main(int argc, char **argv) {
    lee_start(0, NULL);
    int rounds = argc > 1 ? atoi(argv[1]) : 150;
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 0);
    for (int i = 0; i < rounds; i++)
        test_random();
    test_served(false);
    test_served(true);
    test_returns();
    return check_end();
}
