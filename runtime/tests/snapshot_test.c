/* Marking in a snapshot: what happens between its beginning and the moment at which its marks are taken over. With `verify` each take-over
 * is followed by a second trace, which must find nothing that is not marked. Under AddressSanitizer all collections stop. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include <lee/arena.h>
#include <lee/lee.h>

#include "../src/arena.h"
#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/process.h"
#include "../src/snapshot.h"
#include "../src/system.h"
#include "../src/units.h"
#include "check.h"

static uint64_t below(uint64_t limit) {
    return random_number() % limit;
}

/* A heap whose only roots are these words. */
enum { ROOTS = 200 };
static void *words[ROOTS];

/* What a child waits for before it marks; shared with it. */
static volatile int *hold;
static int test_process;

static void scan_words(struct lee_root *root, struct lee_marker *marker) {
    (void)root;
    while (*hold && getpid() != test_process)
        usleep(500);
    for (size_t i = 0; i < ROOTS; i++)
        lee_mark_word(marker, (uintptr_t)words[i]);
}

static struct lee_root root = {.scan = scan_words};

static struct lee_heap *start_heap(void) {
    struct lee_heap *heap = lee_heap_new();
    if (heap == NULL)
        abort();
    heap->verify = true;
    lee_heap_use(heap);
    memset(words, 0, sizeof words);
    lee_root_add(heap, &root);
    return heap;
}

static void end_heap(struct lee_heap *heap) {
    memset(words, 0, sizeof words);
    lee_heap_collect(heap);
    CHECK(heap->counts.live_objects == 0 && heap->large == NULL);
    lee_root_remove(heap, &root);
    lee_heap_delete(heap);
    CHECK(lee_units_validate() == NULL);
}

/* --- random programs --------------------------------------------------------------------------------------------- */

struct node {
    uint64_t id, check;
    struct node *next[3];
    struct lee_weak *weak;
    unsigned char *owned; /* freed by hand when it is replaced */
    struct lee_arena *key;
    void **inside; /* in the arena of the key: the node */
    uint64_t owned_bytes;
    unsigned char tail[];
};

static const struct lee_layout node_layout = {
    .bytes = sizeof(struct node), .kind = LEE_LAYOUT_MIXED, .words = 0x1fc, .has_flexible = 1, .rest = &lee_layout_plain, .name = "node"};

/* Holds a count in a node that `counts` knows of. */
struct owner {
    struct node *volatile counted; /* volatile: compilers know that nobody reads what was just allocated and is let go */
    volatile uint64_t key;
};
static size_t owners_made, owners_dropped;

static void drop_owner(void *object, size_t bytes) {
    struct owner *owner = object;
    owners_dropped += bytes >= sizeof *owner && owner->key == 42;
    if (owner->counted != NULL && lee_is_live(owner->counted) && (owner->counted->id ^ owner->counted->check) >> 32 != UINT32_MAX)
        CHECK(!"a dead owner counted something that lives and was overwritten");
}
static const struct lee_layout owner_layout = {.bytes = sizeof(struct owner), .words = 1, .drop = drop_owner};

static size_t random_size(void) {
    switch (below(24)) {
    case 0: return below(40000);
    case 1: return below(4096);
    case 2: return below(100) == 0 ? below(3 << 20) : 100;
    default: return below(200);
    }
}

static bool is_zero(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static struct node *make_node(void) {
    size_t tail = random_size();
    struct node *node = lee_heap_try_alloc_typed(sizeof *node + tail, &node_layout);
    if (node == NULL)
        return NULL;
    CHECK(is_zero((unsigned char *)node, sizeof *node + tail));
    node->id = random_number();
    node->check = ~node->id ^ tail;
    memset(node->tail, (int)(node->id & 255), tail);
    return node;
}

static void own(struct node *node) {
    if (node->owned != NULL)
        lee_heap_free(node->owned);
    node->owned = NULL;
    size_t bytes = 16 + random_size();
    node->owned_bytes = bytes;
    unsigned char *owned = below(2) ? lee_heap_try_alloc_plain(bytes) : lee_heap_try_alloc(bytes);
    if (owned == NULL)
        return;
    CHECK(is_zero(owned, bytes));
    memset(owned, (int)(node->id >> 8 & 127), bytes); /* no word of it looks like a pointer */
    node->owned = owned;
}

static void open_key(struct node *node) {
    static const struct lee_site site = {.file = "test"};
    if (node->key != NULL) {
        struct lee_arena *key = node->key;
        node->key = NULL;
        node->inside = NULL;
        lee_key_free(key);
        return;
    }
    struct lee_arena *key = node->key = lee_key_new(&site);
    for (size_t more = below(4); more > 0; more--)
        lee_arena_alloc(&site, key, below(4) == 0 ? below(100000) : below(100), 8);
    node->inside = lee_arena_alloc(&site, key, 64, 8);
    node->inside[0] = node;
}

static void check_node(const struct node *node) {
    size_t tail = ~node->id ^ node->check;
    bool good = tail <= 3 << 20 && (tail == 0 || (node->tail[0] == (node->id & 255) && node->tail[tail - 1] == (node->id & 255)));
    if (good && node->owned != NULL)
        good = node->owned[0] == (node->id >> 8 & 127) && node->owned[node->owned_bytes - 1] == (node->id >> 8 & 127);
    if (good && node->inside != NULL)
        good = node->inside[0] == node;
    if (!good) {
        printf("an object that is reached was overwritten\n");
        abort();
    }
}

static void walk(const struct node *node, int depth) {
    for (; node != NULL && depth > 0; depth--) {
        check_node(node);
        node = node->next[below(3)];
    }
}

static void step(struct lee_finalizer_queue *queue) {
    struct node **roots = (struct node **)words;
    size_t at = 1 + below(ROOTS - 1); /* the first one is the queue */
    struct node *here = roots[at];
    switch (below(12)) {
    case 0:
    case 1:
    case 2: {
        struct node *node = make_node();
        if (node == NULL)
            return;
        for (int k = 0; k < 3; k++)
            node->next[k] = below(4) == 0 ? roots[1 + below(ROOTS - 1)] : NULL;
        node->next[0] = here;
        roots[at] = node;
        break;
    }
    case 3: roots[at] = NULL; break;
    case 4:
        if (here != NULL)
            own(here);
        break;
    case 5: /* what was deep comes up, and is cut off where it was */
        if (here != NULL && here->next[0] != NULL) {
            roots[at] = here->next[0];
            here->next[below(3)] = NULL;
        }
        break;
    case 6:
        if (here != NULL)
            here->next[below(3)] = roots[1 + below(ROOTS - 1)];
        break;
    case 7:
        if (here != NULL)
            here->weak = lee_weak_new(roots[1 + below(ROOTS - 1)]);
        break;
    case 8: {
        struct node *got = here != NULL && here->weak != NULL ? lee_weak_get(here->weak) : NULL;
        if (got != NULL) {
            check_node(got);
            roots[1 + below(ROOTS - 1)] = got->next[below(3)]; /* what it reached, without itself */
            got->next[below(3)] = NULL;
        }
        break;
    }
    case 9:
        if (!UNDER_ASAN && here != NULL && below(4) == 0) /* there no key is ever dead */
            open_key(here);
        break;
    case 10:
        if (here != NULL && below(8) == 0) {
            CHECK(lee_finalizer_add(queue, here));
        } else {
            struct node *taken = lee_finalizer_try_take(queue);
            if (taken != NULL) {
                check_node(taken);
                roots[at] = taken;
            }
        }
        break;
    case 11: {
        struct owner *owner = lee_heap_try_alloc_typed(sizeof *owner, &owner_layout);
        if (owner != NULL) {
            owner->key = 42;
            owner->counted = here;
            owners_made++;
        }
        break;
    }
    }
}

static void test_random(size_t steps, size_t stress, size_t each) {
    struct lee_heap *heap = start_heap();
    struct lee_finalizer_queue *queue = words[0] = lee_finalizer_queue_new();
    heap->stress = heap->stress_left = stress;
    owners_made = owners_dropped = 0;
    for (size_t i = 0; i < steps; i++) {
        step(queue);
        if (each != 0 && below(each) == 0)
            lee_heap_step(heap);
        if (i % 512 == 0)
            walk(words[1 + below(ROOTS - 1)], 100);
    }
    for (size_t i = 1; i < ROOTS; i++)
        walk(words[i], 100);
    CHECK(UNDER_ASAN || (heap->counts.snapshots > 0 && heap->counts.snapshots_lost < heap->counts.snapshots));
    heap->stress = 0;
    memset(words, 0, sizeof words);
    lee_heap_collect(heap);
    CHECK(owners_made == owners_dropped && lee_keys_of(heap) == NULL);
    end_heap(heap);
}

/* --- one thing after the other -------------------------------------------------------------------------------------- */

/* An object that the snapshot found dead comes back through a weak reference, gives away what it reached, and forgets it. */
static void test_weak(void) {
    struct lee_heap *heap = start_heap();
    struct node *dead = make_node(), *child = dead->next[0] = make_node();
    struct lee_weak *weak = words[0] = lee_weak_new(dead), *other = words[1] = lee_weak_new(dead);
    lee_heap_step(heap);
    CHECK(heap->snapshot);
    CHECK(lee_weak_get(weak) == dead);
    words[2] = dead->next[0];
    dead->next[0] = NULL;
    lee_heap_step(heap);
    CHECK(heap->counts.snapshots_lost == 0 && heap->counts.collections == 1);
    CHECK(words[2] == child && lee_weak_get(weak) == dead && lee_weak_get(other) == dead);
    check_node(child);
    check_node(dead);
    CHECK(heap->counts.live_objects == 4);
    lee_heap_step(heap);
    lee_heap_step(heap);
    CHECK(heap->counts.snapshots_lost == 0 && lee_weak_get(weak) == NULL && lee_weak_get(other) == NULL);
    check_node(child);
    /* Looked at before the snapshot, or at what lives, it keeps nothing and stops nothing. */
    weak = words[0] = lee_weak_new(words[2]);
    CHECK(lee_weak_get(weak) == child);
    lee_heap_step(heap);
    CHECK(lee_weak_get(weak) == child);
    words[2] = NULL;
    lee_heap_step(heap);
    CHECK(heap->counts.snapshots_lost == 0 && lee_weak_get(weak) == child);
    lee_heap_step(heap);
    lee_heap_step(heap);
    CHECK(heap->counts.snapshots_lost == 0 && lee_weak_get(weak) == NULL);
    end_heap(heap);
}

/* More dead objects are asked for than the child is told at once, and each gives away what it
 * reached. `killed`: the child ends before it is told. */
static void test_many_weak(bool killed) {
    enum { MANY = 9000 };
    struct lee_heap *heap = start_heap();
    struct lee_weak **weak = words[0] = lee_heap_try_alloc(MANY * sizeof *weak);
    struct node **taken = words[1] = lee_heap_try_alloc(MANY * sizeof *taken);
    for (size_t i = 0; i < MANY; i++) {
        struct node *dead = make_node();
        taken[i] = dead;
        dead->next[0] = make_node();
        dead->next[0]->next[1] = make_node();
        weak[i] = lee_weak_new(dead);
    }
    lee_heap_collect(heap);
    memset(taken, 0, MANY * sizeof *taken);
    size_t lost = heap->counts.snapshots_lost;
    lee_heap_step(heap);
    CHECK(heap->snapshot);
    for (size_t i = 0; i < MANY; i++) {
        struct node *dead = lee_weak_get(weak[i]);
        CHECK(dead != NULL);
        taken[i] = dead->next[0];
        dead->next[0] = NULL;
    }
    if (killed) {
        lee_snapshot_state(true);
        kill(lee_snapshot_child(), SIGKILL);
    }
    lee_heap_step(heap);
    CHECK(!heap->snapshot && lost + killed == heap->counts.snapshots_lost);
    for (size_t i = 0; i < MANY; i++) {
        check_node(taken[i]);
        check_node(taken[i]->next[1]);
        CHECK((lee_weak_get(weak[i]) == NULL) == killed);
    }
    end_heap(heap);
}

/* What is made, or put where something was freed, while the child marks. */
static void test_younger(void) {
    struct lee_heap *heap = start_heap();
    for (size_t i = 0; i < 10; i++) {
        words[i] = lee_heap_try_alloc_plain(i < 5 ? 100 : 300000);
        words[10 + i] = make_node();
        words[20 + i] = lee_heap_try_alloc(i < 5 ? 5 << 20 : 40000);
    }
    lee_heap_step(heap);
    for (size_t i = 0; i < 10; i++) {
        lee_heap_free(words[i]);
        lee_heap_free(words[20 + i]);
        words[i] = words[20 + i] = NULL;
    }
    for (size_t i = 0; i < 100; i++) {
        struct node *node = make_node();
        node->next[0] = words[30 + i % 10];
        words[30 + i % 10] = node;
        own(node);
        if (i % 10 == 0)
            open_key(node);
    }
    words[0] = lee_heap_try_alloc_plain(100);
    words[1] = lee_heap_try_alloc(5 << 20);
    words[2] = lee_heap_try_alloc(300000);
    void *lost = lee_heap_try_alloc_plain(100); /* dead already, but younger */
    memset(lost, 1, 100);
    size_t before = heap->counts.collections;
    lee_heap_step(heap);
    CHECK(heap->counts.collections == before + 1 && heap->counts.snapshots_lost == 0);
    CHECK(*(unsigned char *)lost == 1);
    size_t live = heap->counts.live_objects;
    for (size_t i = 0; i < 10; i++)
        walk(words[30 + i], 20);
    lee_heap_collect(heap);
    CHECK(live > heap->counts.live_objects);
    for (size_t i = 0; i < 10; i++)
        walk(words[30 + i], 20);
    end_heap(heap);
}

/* Dropped once, and what it counted is told from what is dead. */
static void test_owners(void) {
    struct lee_heap *heap = start_heap();
    owners_dropped = 0;
    struct owner *owner = lee_heap_try_alloc_typed(sizeof *owner, &owner_layout);
    owner->key = 42;
    words[0] = owner->counted = make_node();
    words[1] = lee_heap_try_alloc_typed(sizeof *owner, &owner_layout);
    ((struct owner *)words[1])->key = 42;
    lee_heap_step(heap);
    words[1] = NULL; /* too late for this one */
    lee_heap_step(heap);
    CHECK(owners_dropped == 1);
    lee_heap_step(heap);
    CHECK(owners_dropped == 1);
    lee_heap_step(heap);
    CHECK(owners_dropped == 2 && heap->counts.snapshots_lost == 0);
    end_heap(heap);
}

/* The child ends without an answer; there is none; or the answer is not wanted any more. */
static void test_lost(void) {
    struct lee_heap *heap = start_heap();
    for (size_t i = 0; i < ROOTS; i++)
        words[i] = make_node();
    lee_heap_collect(heap); /* one may have begun */
    heap->counts.snapshots_lost = 0;
    *hold = 1;
    for (int how = 0; how < 3; how++) {
        lee_heap_step(heap);
        CHECK(heap->snapshot && lee_snapshot_child() > 0);
        if (!heap->snapshot || lee_snapshot_child() <= 0)
            break;
        words[how] = make_node();
        if (how == 0) {
            kill(lee_snapshot_child(), SIGKILL);
            lee_heap_step(heap);
        } else if (how == 1) {
            lee_heap_collect(heap);
        } else {
            lee_system_fail(1, false); /* no memory: one that stops, without any */
            for (size_t i = 0; i < 1000 && heap->snapshot; i++)
                lee_heap_try_alloc(50000);
            lee_system_fail(0, false);
        }
        CHECK(!heap->snapshot && heap->counts.snapshots_lost == (size_t)how + 1);
    }
    *hold = 0;
    for (size_t nth = 1; nth < 8; nth++) {
        lee_system_fail(nth, true);
        lee_heap_step(heap);
        lee_system_fail(0, false);
        if (heap->snapshot)
            lee_heap_step(heap);
        CHECK(!heap->snapshot);
    }
    for (size_t i = 0; i < ROOTS; i++)
        check_node(words[i]);
    end_heap(heap);
}

static volatile sig_atomic_t alarms, children;

static void go_on(int number) {
    (void)number;
    alarms = alarms + 1;
    *hold = alarms < 5;
}

static void note_child(int number) {
    (void)number;
    children = children + 1;
}

/* A program that allocates faster than the child marks waits for it, when as much was handed out as the budget. */
static void test_wait(void) {
    struct lee_heap *heap = start_heap();
    heap->verify = false;
    for (size_t i = 0; i < ROOTS; i++)
        words[i] = make_node();
    struct sigaction action = {.sa_handler = go_on};
    sigaction(SIGALRM, &action, NULL);
    lee_heap_collect(heap);
    heap->counts.snapshots_lost = 0;
    *hold = 1;
    lee_heap_step(heap);
    struct itimerval each = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &each, NULL);
    size_t most = 0, budget = heap->budget;
    for (size_t i = 0; i < 100000 && heap->snapshot; i++) {
        lee_heap_try_alloc_plain(1000);
        most = heap->since_collection > most ? heap->since_collection : most;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    *hold = 0;
    CHECK(!heap->snapshot && alarms >= 5 && heap->counts.snapshots_lost == 0);
    CHECK(most >= budget / 2 && most <= budget + 2 * LEE_BLOCK_BYTES);
    for (size_t i = 0; i < ROOTS; i++)
        check_node(words[i]);
    end_heap(heap);
}

/* Nobody but the collector sees the child: no signal, no `wait`, no descriptor that stays open. */
static void test_unseen(void) {
    struct lee_heap *heap = start_heap();
    struct sigaction action = {.sa_handler = note_child};
    sigaction(SIGCHLD, &action, NULL);
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0);
    words[0] = make_node();
    for (int early = 0; early < 2; early++) {
        *hold = early;
        lee_heap_step(heap);
        if (!early)
            CHECK(lee_snapshot_state(true) == LEE_SNAPSHOT_DONE);
        CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
        if (early) {
            close(ends[1]);
            CHECK(read(ends[0], &byte, 1) == 0);
            *hold = 0;
        }
        lee_heap_step(heap);
    }
    int again = dup(ends[0]);
    CHECK(again == ends[1]); /* the lowest that is free: the child takes none */
    close(ends[0]);
    close(again);
    CHECK(children == 0 && heap->counts.snapshots_lost == 0);
    signal(SIGCHLD, SIG_DFL);
    end_heap(heap);
}

static bool all_whole(void) {
    for (size_t i = 0; i < ROOTS; i++) {
        for (const struct node *node = words[i]; node != NULL; node = node->next[0])
            check_node(node);
    }
    return true;
}

/* What the child does not read is not copied for it: not even by accident does it want more. Whoever copies the process by himself gets
 * everything, before and behind it; a snapshot that runs then is not his. */
static void test_hidden(void) {
    enum { LENGTH = 40, BYTES = 4000 };
    struct lee_heap *heap = start_heap();
    for (size_t i = 0; i < ROOTS * LENGTH; i++) {
        struct node *node = make_node();
        node->next[0] = words[i % ROOTS];
        words[i % ROOTS] = node;
        node->owned = lee_heap_try_alloc_plain(i % 500 == 0 ? 3 << 20 : i % 50 == 0 ? 200000 : BYTES);
        node->owned_bytes = BYTES;
        memset(node->owned, (int)(node->id >> 8 & 127), BYTES);
    }
    lee_heap_collect(heap);
    for (size_t i = 0; i < ROOTS; i += 3)
        words[i] = ((struct node *)words[i])->next[0];
    heap->counts.snapshots = heap->counts.snapshots_lost = 0;
    for (size_t round = 0; round < 3; round++) {
        *hold = 1;
        lee_heap_step(heap);
        CHECK(heap->snapshot);
        for (size_t i = 1; i < ROOTS; i += 5)
            words[i] = ((struct node *)words[i])->next[0];
        pid_t copy = fork();
        if (copy == 0) {
            test_process = getpid();
            lee_heap_step(heap);
            CHECK(heap->counts.snapshots_lost == 1 && all_whole());
            *hold = 0;
            lee_heap_step(heap);
            words[0] = NULL;
            lee_heap_step(heap);
            CHECK(!heap->snapshot && heap->counts.snapshots_lost == 1 && all_whole());
            lee_heap_collect(heap);
            CHECK(all_whole());
            fflush(stdout);
            _exit(check_failures != 0);
        }
        int status = 1;
        CHECK(waitpid(copy, &status, 0) == copy && status == 0);
        *hold = 0;
        lee_heap_step(heap);
        CHECK(!heap->snapshot && heap->counts.snapshots == round + 1 && heap->counts.snapshots_lost == 0 && all_whole());
    }
    end_heap(heap);
}

/* The child goes with its parent, however that ends. */
static void test_orphan(void) {
    int ends[2], number = 0, status = 0;
    CHECK(pipe(ends) == 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t parent = fork();
    if (parent == 0) {
        test_process = getpid();
        *hold = 1;
        lee_heap_step(start_heap());
        number = lee_snapshot_child();
        if (write(ends[1], &number, sizeof number) != sizeof number)
            abort();
        kill(getpid(), SIGKILL);
    }
    CHECK(waitpid(parent, &status, 0) == parent && WIFSIGNALED(status));
    CHECK(read(ends[0], &number, sizeof number) == sizeof number && number > 0);
    CHECK(waitpid(number, &status, __WALL) == number && (!WIFEXITED(status) || WEXITSTATUS(status) != 0));
    *hold = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    close(ends[0]);
    close(ends[1]);
}

/* When it is worth it, if nobody asks for it. */
static void test_usual(void) {
    enum { LOOKS = 64 };
    struct lee_heap *heap = start_heap();
    uint64_t second = 1000000000;
    unsigned wanted = 0;
    lee_heap_settings.snapshot = LEE_SNAPSHOT_USUAL;
    heap->counts.mark_last = second;
    CHECK(!lee_snapshot_wanted(heap, 100 * second)); /* verify */
    heap->verify = false;
    for (unsigned n = 0; n < LOOKS; n++)
        wanted += lee_snapshot_wanted(heap, 100 * second);
    CHECK(wanted == (lee_system_processors() > 1 && !lee_system_traced() ? LOOKS : 0));
    CHECK(!lee_snapshot_wanted(heap, second));
    lee_process_self()->accounts.limited = true; /* somebody has a limit, but nobody is near it */
    CHECK(lee_snapshot_wanted(heap, 100 * second) == (wanted == LOOKS));
    lee_heap_settings.accounting = LEE_ACCOUNTING_ALWAYS;
    CHECK(!lee_snapshot_wanted(heap, 100 * second));
    lee_process_self()->accounts.limited = false;
    lee_heap_settings.accounting = LEE_ACCOUNTING_USUAL;
    heap->counts.mark_last = second / 10000; /* less than the copy takes */
    CHECK(!lee_snapshot_wanted(heap, 100 * second));
    heap->counts.mark_last = second;
    lee_heap_settings.snapshot = LEE_SNAPSHOT_NEVER;
    CHECK(!lee_snapshot_wanted(heap, 100 * second));
    lee_heap_settings.snapshot = LEE_SNAPSHOT_ALWAYS;
    heap->verify = true;
    end_heap(heap);
}

int main(int argc, char **argv) {
    size_t effort = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    if (argc > 2)
        random_state += strtoul(argv[2], NULL, 10);
    test_process = getpid();
    hold = lee_system_share(LEE_PAGE_BYTES);
    lee_heap_settings.least_budget = 1 << 20;
    lee_heap_settings.snapshot = LEE_SNAPSHOT_ALWAYS;
    if (!UNDER_ASAN) {
        test_usual();
        test_weak();
        test_many_weak(false);
        test_many_weak(true);
        test_younger();
        test_owners();
        test_lost();
        test_wait();
        test_unseen();
        test_hidden();
        test_orphan();
    }
    test_random(600 * effort, 1, 0);
    test_random(2000 * effort, 7, 0);
    test_random(8000 * effort, 0, 300);
    test_random(5000 * effort, 50, 100);
    return check_end();
}
