/* Channels, selects and sets of several workers under the explorer (explorer.h): small scenarios in
 * all orders, and each of them once more for each fence and each order of an access that the code
 * has: weakened, something must fail.
 *
 * Two threads are interrupted three times at most; three of them twice, or with `explore_test all`
 * as often, which takes a minute and a half of processor time.
 *
 * `run` compiles channel.c, select.c and endpoint_set.c for it, with LEE_EXPLORE; this file stands
 * for the rest of the runtime. EXPLORE_SHOW=1 prints what was run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lee/channel.h>
#include <lee/lee.h>
#include <lee/owned.h>

#include "../src/channel.h"
#include "../src/dispose.h"
#include "../src/process.h"
#include "../src/reactor.h"
#include "../src/report.h"
#include "../src/text.h"
#include "../src/worker.h"
#include "cases.h"
#include "check.h"
#include "explorer.h"

/* --- the runtime around the code ---------------------------------------------------------------- */

_Thread_local struct lee_process *lee_process;
_Thread_local struct lee_worker lee_worker;
_Thread_local bool lee_slice_over;
bool lee_many = true;
static struct lee_process *processes; /* of the threads, and of who is alone */
static struct lee_custodian custodian;
static unsigned depths[THREADS + 1]; /* how often each has the lock */

void explore_entered(unsigned thread) {
    lee_process = &processes[thread];
}

struct lee_process *lee_process_begin(void) {
    abort();
}

struct lee_task *lee_task_self(void) {
    return lee_process->tasks.running;
}

void lee_lock_many(void) {
    if (depths[explore_thread()]++ == 0)
        explore_lock();
}

void lee_unlock_many(void) {
    if (--depths[explore_thread()] == 0)
        explore_unlock();
}

void lee_task_may_wait(void) {}
void lee_task_give_way(void) {}

void lee_task_bury(void) {}

/* What `lee_task_park` calls: another thread goes on inside of it. */
uintptr_t lee_task_parks(uintptr_t sp, void *outside, uintptr_t leave) {
    unsigned self = explore_thread(), depth = depths[self];
    struct lee_task *task = lee_task_self();
    task->outside = outside;
    task->leave = (void (*)(struct lee_task *))leave;
    depths[self] = 0;
    explore_park();
    depths[self] = depth;
    return sp;
}

/* task_switch.c names it; no scenario yields. */
uintptr_t lee_task_yields(uintptr_t sp);
uintptr_t lee_task_yields(uintptr_t sp) {
    (void)sp;
    abort();
}

static unsigned thread_of(const struct lee_process *process) {
    return (unsigned)(process - processes);
}

void lee_task_resume(struct lee_task *task) {
    task->outside = NULL;
    task->leave = NULL;
    explore_wake(thread_of(task->process));
}

/* Ends the process of a thread that waits, or is about to go on. With the lock. */
static void end_process(unsigned thread) {
    struct lee_process *victim = &processes[thread];
    struct lee_task *task = victim->tasks.running;
    if (task->leave != NULL)
        task->leave(task);
    lee_endpoint_sets_end(victim);
    lee_channels_end(victim);
    explore_end(thread);
}

static struct lee_timer *timer;

void lee_timer_set(struct lee_timer *set, int64_t at, void (*fire)(struct lee_timer *timer)) {
    (void)at;
    set->fire = fire;
    set->set = true;
    timer = set;
}

void lee_timer_unset(struct lee_timer *set) {
    set->set = false;
    timer = NULL;
}

static int64_t clock_now;

int64_t lee_clock(void) {
    return clock_now;
}

int64_t lee_deadline(int64_t nanoseconds) {
    return clock_now + nanoseconds;
}

bool lee_system_fails(void) {
    return false;
}

void lee_mark_words(struct lee_marker *marker, const void *low, const void *high) {
    (void)marker, (void)low, (void)high;
}

_Noreturn void lee_fault_null(const struct lee_site *site) {
    (void)site;
    explore_fail("null");
}

_Noreturn void lee_fault_memory(const struct lee_site *site, size_t bytes) {
    (void)site, (void)bytes;
    explore_fail("no memory");
}

_Noreturn void lee_fault_message(const struct lee_site *site, const char *message) {
    (void)site;
    explore_fail(message);
}

_Noreturn void lee_report(const struct lee_site *site, const struct lee_text *text, struct lee_frame frame) {
    (void)site, (void)text, (void)frame;
    explore_fail("a fault of the channel");
}

void lee_text_string(struct lee_text *text, const char *string) {
    (void)text, (void)string;
}

void lee_text_signed(struct lee_text *text, int64_t value) {
    (void)text, (void)value;
}

enum lee_walk lee_walk_of(const struct lee_work *work) {
    return work->walk;
}

void lee_walk_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned) {
    struct lee_work work;
    work.walk = walk;
    explore_access(place, bytes, false);
    owned->drop(&work, place);
}

void lee_walk_local_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned) {
    lee_walk_parts(walk, place, bytes, owned);
}

void lee_dispose_parts(void *place, size_t bytes, const struct lee_owned *owned) {
    lee_walk_parts(LEE_WALK_RELEASE, place, bytes, owned);
}

void lee_parts_lost(void *sent, size_t bytes, const struct lee_owned *owned) {
    lee_walk_parts(LEE_WALK_LOST, sent, bytes, owned);
}

void lee_parts_arrive(void *sent, void *taken, size_t bytes, const struct lee_owned *owned, void (*leave)(void *of), void *of) {
    (void)sent;
    leave(of);
    lee_walk_parts(LEE_WALK_ARRIVE, taken, bytes, owned);
}

/* --- what is sent ------------------------------------------------------------------------------- */

/* Something that a message owns: released once, or received. */
struct token {
    int released, arrived;
};

static void push_token(struct lee_work *work, void *element) {
    struct token *token;
    memcpy(&token, element, sizeof token);
    explore_access(token, sizeof *token, true);
    token->released += work->walk == LEE_WALK_RELEASE || work->walk == LEE_WALK_LOST;
    token->arrived += work->walk == LEE_WALK_ARRIVE;
}

static void push_end(struct lee_work *work, void *element) {
    struct lee_endpoint *end;
    memcpy(&end, element, sizeof end);
    lee_push_endpoint(work, end);
}

enum { NUMBER = 1, ANSWER, TOKEN, END, MESSAGES = END };

static const struct lee_owned owned_token = {.size = sizeof(struct token *), .drop = push_token};
static const struct lee_owned owned_end = {.size = sizeof(struct lee_endpoint *), .drop = push_end};
static const struct lee_owned *const owned[MESSAGES] = {[TOKEN - 1] = &owned_token, [END - 1] = &owned_end};

/* Too large for the free channels of a worker, which all threads here would share. */
static const struct lee_contract contract = {
    .name = "Any", .places = {2, 2}, .bytes = 256, .messages = MESSAGES, .owned = owned};

/* --- scenarios ---------------------------------------------------------------------------------- */

static struct lee_endpoint *ends[2][2]; /* of channels: the side of the thread with the lower number first */
static struct token *token;

/* The end is the thread's from the start. */
static void give(struct lee_endpoint *end, unsigned thread) {
    struct lee_process *from = end->owner, *to = &processes[thread];
    if (end->previous != NULL)
        end->previous->next = end->next;
    else
        from->endpoints = end->next;
    if (end->next != NULL)
        end->next->previous = end->previous;
    end->owner = to;
    end->previous = NULL;
    end->next = to->endpoints;
    if (to->endpoints != NULL)
        to->endpoints->previous = end;
    to->endpoints = end;
}

static void begin(void) {
    processes = explore_calloc(THREADS + 1, sizeof *processes);
    lee_process = &processes[THREADS];
    memset(depths, 0, sizeof depths);
    token = explore_calloc(1, sizeof *token);
    timer = NULL;
    clock_now = 0;
    for (unsigned i = 0; i <= THREADS; i++) {
        struct lee_tasks *tasks = &processes[i].tasks;
        tasks->running = &tasks->first;
        tasks->first.process = &processes[i];
        tasks->first.custodian = tasks->first.entered = &custodian;
    }
}

static void make(unsigned channel, unsigned first, unsigned second) {
    lee_channel_make(NULL, &contract, ends[channel]);
    give(ends[channel][0], first);
    give(ends[channel][1], second);
}

static void begin_pair(void) {
    begin();
    make(0, 0, 1);
}

static void send_number(struct lee_endpoint *end, int32_t message, int64_t number) {
    lee_channel_send(end, message, &number, sizeof number);
}

static void want_number(struct lee_endpoint *end, int32_t message, int64_t wanted) {
    int64_t number = 0;
    lee_channel_receive(NULL, end, message, &number, sizeof number);
    if (number != wanted)
        explore_fail("another number was received");
}

static void take_number(struct lee_endpoint *end, int32_t message, int64_t wanted) {
    int64_t number = 0;
    lee_channel_take(end, message, &number, sizeof number);
    if (number != wanted)
        explore_fail("another number was taken");
}

/* Two messages, an answer, and one that uses a place again. */
static void send_two(void) {
    send_number(ends[0][0], NUMBER, 1);
    send_number(ends[0][0], NUMBER, 2);
    want_number(ends[0][0], ANSWER, 3);
    send_number(ends[0][0], NUMBER, 4);
}

static void receive_two(void) {
    want_number(ends[0][1], NUMBER, 1);
    want_number(ends[0][1], NUMBER, 2);
    send_number(ends[0][1], ANSWER, 3);
    want_number(ends[0][1], NUMBER, 4);
}

/* What is sent before a close is received, then the close is seen. */
static void send_and_close(void) {
    send_number(ends[0][0], NUMBER, 1);
    lee_channel_close(ends[0][0]);
}

CASES(number_or_closed, 2, false, {NUMBER, 0}, {LEE_CLOSED, 0});

static void receive_until_closed(void) {
    if (lee_channel_select(NULL, &ends[0][1], 1, &number_or_closed) != 0)
        explore_fail("the message before the close is lost");
    take_number(ends[0][1], NUMBER, 1);
    if (lee_channel_select(NULL, &ends[0][1], 1, &number_or_closed) != 1)
        explore_fail("the close was not seen");
    lee_channel_close(ends[0][1]);
}

/* Looks without waiting: what stands at the head is never less than the truth. */
static void look_until_closed(void) {
    int32_t head = lee_channel_head(ends[0][1]);
    if (head == LEE_CLOSED)
        explore_fail("the message before the close is lost");
    if (head == NUMBER)
        take_number(ends[0][1], NUMBER, 1);
}

/* What a message owns is released once, whoever closes. */
static void send_token(void) {
    struct token *sent = token;
    lee_channel_send(ends[0][0], TOKEN, &sent, sizeof sent);
    lee_channel_close(ends[0][0]);
}

static void close_other(void) {
    lee_channel_close(ends[0][1]);
}

static void receive_token(void) {
    struct token *received;
    lee_channel_receive(NULL, ends[0][1], TOKEN, &received, sizeof received);
    explore_access(received, sizeof *received, true);
    lee_channel_close(ends[0][1]);
}

static void released_once(void) {
    if (token->released != 1)
        explore_fail("what a message owned was not released once");
}

static void received_once(void) {
    if (token->released != 0 || token->arrived != 1)
        explore_fail("what a message owned did not arrive");
}

/* A select of one thread beside two that send. */
static void begin_select(void) {
    begin();
    make(0, 0, 1);
    make(1, 0, 2);
}

static void send_first(void) {
    send_number(ends[0][1], NUMBER, 1);
}

static void send_second(void) {
    send_number(ends[1][1], NUMBER, 2);
}

CASES(either, 2, false, {NUMBER, 0}, {NUMBER, 1});
CASES(both, 1, false, {NUMBER, 0}, {NUMBER, 1 | LEE_AND});
/* So many that it is kept when it runs again. */
CASES(many, 6, false, {NUMBER, 0}, {NUMBER, 1}, {ANSWER, 0}, {ANSWER, 1}, {TOKEN, 0}, {TOKEN, 1});

static void select_two(const struct lee_cases *cases) {
    struct lee_endpoint *of[2] = {ends[0][0], ends[1][0]};
    for (int i = 0; i < 2; i++) {
        int found = lee_channel_select(NULL, of, 2, cases);
        take_number(of[found], NUMBER, found + 1);
    }
}

static void select_either(void) {
    select_two(&either);
}

static void select_kept(void) {
    select_two(&many);
}

static void select_both(void) {
    struct lee_endpoint *of[2] = {ends[0][0], ends[1][0]};
    if (lee_channel_select(NULL, of, 2, &both) != 0)
        explore_fail("a case that does not hold was chosen");
    take_number(of[0], NUMBER, 1);
    take_number(of[1], NUMBER, 2);
}

static void select_for(void) {
    struct lee_endpoint *of[2] = {ends[0][0], ends[1][0]};
    int found = lee_channel_select_for(NULL, of, 2, &either, 1);
    if (found < 2)
        take_number(of[found], NUMBER, found + 1);
}

static void let_time_pass(void) {
    lee_lock_many();
    clock_now = 2000000;
    struct lee_timer *due = timer;
    timer = NULL;
    if (due != NULL) {
        due->set = false;
        due->fire(due);
    }
    lee_unlock_many();
}

/* An end goes into a set while its peer sends, or closes. */
static const struct lee_set_kind kind = {.contract = &contract};
CASES(member, 2, false, {NUMBER, 0}, {LEE_CLOSED, 0});

static void select_in_set(int wanted) {
    struct lee_set *set = lee_set_make(NULL, &kind);
    lee_set_add(NULL, set, ends[0][0], NULL);
    if (lee_set_select(NULL, NULL, 0, &set, 1, &member) != wanted)
        explore_fail("another case of the set");
    struct lee_endpoint *end = lee_set_take(NULL, set, wanted == 0 ? NUMBER : LEE_CLOSED, NULL);
    if (wanted == 0)
        take_number(end, NUMBER, 1);
    lee_set_free(set);
}

static void select_message(void) {
    select_in_set(0);
}

static void select_closed(void) {
    select_in_set(1);
}

/* The first hands an end to the second, which goes on with it; the third has its peer. */
static void begin_hand_over(void) {
    begin();
    make(0, 0, 1);
    make(1, 0, 2);
}

static void hand_over(void) {
    want_number(ends[1][0], NUMBER, 1);
    lee_channel_send(ends[0][0], END, &ends[1][0], sizeof ends[1][0]);
}

static void go_on_with_it(void) {
    struct lee_endpoint *end;
    lee_channel_receive(NULL, ends[0][1], END, &end, sizeof end);
    send_number(end, ANSWER, 2);
    want_number(end, NUMBER, 3);
}

static void talk_to_both(void) {
    send_number(ends[1][1], NUMBER, 1);
    want_number(ends[1][1], ANSWER, 2);
    send_number(ends[1][1], NUMBER, 3);
}

/* The same, but its peer is closed meanwhile. */
static void close_before_it_arrives(void) {
    send_number(ends[1][1], NUMBER, 1);
    lee_channel_close(ends[1][1]);
}

static void find_it_closed(void) {
    struct lee_endpoint *end;
    lee_channel_receive(NULL, ends[0][1], END, &end, sizeof end);
    if (lee_channel_select(NULL, &end, 1, &number_or_closed) != 1)
        explore_fail("the close was not seen");
    lee_channel_close(end);
}

/* And nobody ever receives it. */
static void lose_it(void) {
    lee_channel_close(ends[0][1]);
}

static void talk_until_closed(void) {
    send_number(ends[1][1], NUMBER, 1);
    if (lee_channel_select(NULL, &ends[1][1], 1, &number_or_closed) != 1)
        explore_fail("the close was not seen");
}

static void send_token_and_stay(void) {
    struct token *sent = token;
    lee_channel_send(ends[0][0], TOKEN, &sent, sizeof sent);
}

/* A process is killed where it waits, while another sends to it. */
static void wait_for_ever(void) {
    struct token *received;
    for (;;)
        lee_channel_receive(NULL, ends[0][1], TOKEN, &received, sizeof received);
}

static void kill_it(void) {
    for (bool gone = false; !gone;) {
        explore_await_parked(1);
        lee_lock_many();
        gone = processes[1].tasks.running->leave != NULL;
        if (gone)
            end_process(1);
        lee_unlock_many();
    }
}

static void not_lost(void) {
    if (token->released + token->arrived != 1)
        explore_fail("what a message owned is lost");
}

static const struct scenario scenarios[] = {
    {"send beside receive", begin_pair, {send_two, receive_two}, NULL},
    {"send and close beside receive", begin_pair, {send_and_close, receive_until_closed}, NULL},
    {"send and close beside a look", begin_pair, {send_and_close, look_until_closed}, NULL},
    {"send of what is owned beside close", begin_pair, {send_token, close_other}, released_once},
    {"send of what is owned beside receive", begin_pair, {send_token, receive_token}, received_once},
    {"select beside two senders", begin_select, {select_either, send_first, send_second}, NULL},
    {"select of both beside two senders", begin_select, {select_both, send_first, send_second}, NULL},
    {"kept select beside two senders", begin_select, {select_kept, send_first, send_second}, NULL},
    {"select for a time beside a sender", begin_select, {select_for, send_first, let_time_pass}, NULL},
    {"set beside send", begin_pair, {select_message, send_first}, NULL},
    {"set beside close", begin_pair, {select_closed, close_other}, NULL},
    {"hand-over of an end", begin_hand_over, {hand_over, go_on_with_it, talk_to_both}, NULL},
    {"hand-over of an end beside close", begin_hand_over, {hand_over, find_it_closed, close_before_it_arrives}, NULL},
    {"hand-over to nobody", begin_hand_over, {hand_over, lose_it, talk_until_closed}, NULL},
    {"kill beside send", begin_pair, {send_token_and_stay, wait_for_ever, kill_it}, not_lost},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* --- what is weakened --------------------------------------------------------------------------- */

/* How often the text stands in a source of the code. */
static int count_in(const char *path, const char *text) {
    char line[512];
    int count = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        printf("%s is not there\n", path);
        exit(1);
    }
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, text) != NULL;
    fclose(file);
    return count;
}

/* Of the accesses in the source that are not relaxed: a line has one at most. */
static int ordered_in_sources(void) {
    static const char *const files[] = {"../src/channel.h", "../src/channel.c", "../src/select.c", "../src/endpoint_set.c"};
    static const char *const orders[] = {"__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE", "lee_atomic_fence()"};
    int count = 0;
    for (int i = 0; i < 4; i++) {
        for (int n = 0; n < 3; n++)
            count += count_in(files[i], orders[n]);
    }
    return count;
}

static unsigned preemptions(const struct scenario *scenario, bool all) {
    return all || scenario->threads[2] == NULL ? 3 : 2;
}

int main(int argc, char **argv) {
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    bool shows = getenv("EXPLORE_SHOW") != NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    long runs;
    for (int i = 0; i < SCENARIOS; i++) {
        const char *wrong = explore(&scenarios[i], preemptions(&scenarios[i], all), &runs);
        if (shows || wrong != NULL)
            printf("%s: %s (%ld runs)\n", scenarios[i].name, wrong != NULL ? wrong : "holds", runs);
        CHECK(wrong == NULL);
    }
    int ordered = 0;
    for (unsigned site = 0; site < explored_count; site++) {
        const char *wrong = NULL;
        explore_weakened = (int)site;
        if (!explored_sites[site].orders)
            continue;
        ordered++;
        for (int i = 0; i < SCENARIOS && wrong == NULL; i++) {
            wrong = explore(&scenarios[i], preemptions(&scenarios[i], false), &runs);
            if (shows && wrong != NULL)
                printf("without %s: %s: %s (run %ld)\n", explored_sites[site].name, scenarios[i].name, wrong, runs);
        }
        if (wrong == NULL)
            printf("without %s nothing fails\n", explored_sites[site].name);
        CHECK(wrong != NULL);
    }
    CHECK(ordered == ordered_in_sources());
    return check_end();
}
