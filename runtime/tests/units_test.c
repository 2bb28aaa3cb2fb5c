/* The page allocator and the page table: best fit, joining, giving back, failure, limits; readers without locks. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <lee/fault.h>

#include "../src/heap_limit.h"
#include "../src/huge.h"
#include "../src/system.h"
#include "../src/units.h"
#include "check.h"

/* Names only; nobody looks behind them. */
static struct lee_heap *const heap_a = (struct lee_heap *)4096, *const heap_b = (struct lee_heap *)8192;

static struct lee_heap *owner_of(const void *address) {
    struct lee_chunk *chunk = lee_chunk_of((uintptr_t)address);
    return chunk == NULL ? NULL : lee_owner_in(chunk, (uintptr_t)address);
}

static void test_fit(void) {
    bool zeroed;
    unsigned char *units[8];
    for (int i = 0; i < 8; i++) {
        units[i] = lee_units_take(heap_a, LEE_UNIT_PAGES, 1, &zeroed);
        CHECK(units[i] != NULL && zeroed && (uintptr_t)units[i] % LEE_UNIT_BYTES == 0);
        CHECK(i == 0 || units[i] == units[i - 1] + LEE_UNIT_BYTES); /* contiguous, from the lowest on */
        units[i][0] = 1;
    }
    lee_units_give(units[1], 1, true);
    lee_units_give(units[4], 2, true); /* as one */
    CHECK(lee_units_validate() == NULL);
    CHECK(lee_units_take(heap_b, LEE_UNIT_PAGES, 1, &zeroed) == units[1] && !zeroed); /* the smallest that fits */
    CHECK(lee_units_take(heap_b, LEE_UNIT_PAGES, 2, &zeroed) == units[4] && !zeroed);
    CHECK(owner_of(units[4] + 12345) == heap_b && owner_of(units[6]) == heap_a);
    lee_units_give(units[4], 1, true);
    lee_units_give(units[6], 1, true);
    lee_units_give(units[5], 1, true); /* joins both */
    CHECK(owner_of(units[5]) == NULL && lee_word_kind((uintptr_t)units[5]) == LEE_WORD_FOREIGN);
    CHECK(lee_units_take(heap_b, LEE_UNIT_PAGES, 3, &zeroed) == units[4]);
    lee_units_give(units[4], 3, true);
    CHECK(lee_units_trim() == 3 * (size_t)LEE_UNIT_BYTES);
    CHECK(lee_units_take(heap_b, LEE_UNIT_PAGES, 3, &zeroed) == units[4] && zeroed && units[4][0] == 0);
    for (int i = 0; i < 8; i++)
        lee_units_give(units[i], 1, true);
    lee_units_trim();
    struct lee_units_state state;
    lee_units_state(&state);
    CHECK(state.free == state.reserved && state.dirty == 0 && state.ranges == 1);
    CHECK(lee_units_validate() == NULL);
}

static void test_random(void) {
    enum { PIECES = 300 };
    static struct {
        unsigned char *start;
        size_t units;
    } pieces[PIECES];
    for (int i = 0; i < 30000; i++) {
        size_t at = random_number() % PIECES;
        if (pieces[at].start != NULL) {
            CHECK(owner_of(pieces[at].start + pieces[at].units * LEE_UNIT_BYTES - 1) == (at % 2 ? heap_a : heap_b));
            lee_units_give(pieces[at].start, pieces[at].units, random_number() % 2);
            pieces[at].start = NULL;
            continue;
        }
        bool zeroed;
        pieces[at].units = random_number() % 50 == 0 ? random_number() % 400 + 1 : random_number() % 6 + 1;
        pieces[at].start = lee_units_take(at % 2 ? heap_a : heap_b, LEE_UNIT_PAGES, pieces[at].units, &zeroed);
        CHECK(pieces[at].start != NULL);
        if (i % 1000 == 0) {
            lee_units_trim();
            const char *wrong = lee_units_validate();
            CHECK(wrong == NULL);
        }
    }
    for (size_t at = 0; at < PIECES; at++) {
        if (pieces[at].start != NULL)
            lee_units_give(pieces[at].start, pieces[at].units, false);
    }
    struct lee_units_state state;
    lee_units_trim();
    lee_units_state(&state);
    CHECK(state.free == state.reserved && lee_units_validate() == NULL);
}

static void test_words(void) {
    static int global;
    int local;
    bool zeroed;
    unsigned char *unit = lee_units_take(heap_a, LEE_UNIT_PAGES, 1, &zeroed);
    uintptr_t start = (uintptr_t)&global & ~(uintptr_t)4095;
    CHECK(lee_page_table_add_static(start, start + 4096) && !lee_page_table_add_static(start + 8, start + 4096));
    CHECK(lee_word_kind((uintptr_t)&global) == LEE_WORD_STATIC);
    CHECK(lee_word_kind(start + 4096) == LEE_WORD_FOREIGN && lee_word_kind((uintptr_t)&local) == LEE_WORD_FOREIGN);
    CHECK(lee_word_kind((uintptr_t)unit + 77) == LEE_WORD_OURS);
    CHECK(lee_word_kind(0) == LEE_WORD_FOREIGN && lee_word_kind(UINTPTR_MAX) == LEE_WORD_FOREIGN);
    CHECK(lee_word_kind((uintptr_t)1 << LEE_ADDRESS_BITS) == LEE_WORD_FOREIGN);
    lee_units_give(unit, 1, false);
}

static void test_failures(void) {
    for (size_t nth = 1; nth < 12; nth++) {
        bool zeroed;
        lee_system_fail(nth, true);
        void *large = lee_units_take(heap_a, LEE_UNIT_PAGES, 5000 * nth, &zeroed), *small = lee_units_take(heap_a, LEE_UNIT_PAGES, 1, &zeroed);
        lee_system_fail(0, false);
        if (large != NULL)
            lee_units_give(large, 5000 * nth, false);
        if (small != NULL)
            lee_units_give(small, 1, false);
        CHECK(lee_units_validate() == NULL);
    }
    bool zeroed;
    CHECK(lee_units_take(heap_a, LEE_UNIT_PAGES, 0, &zeroed) == NULL);
    CHECK(lee_units_take(heap_a, LEE_UNIT_PAGES, SIZE_MAX / LEE_UNIT_BYTES, &zeroed) == NULL);
    CHECK(lee_units_take(heap_a, LEE_UNIT_PAGES, (size_t)1 << 26, &zeroed) == NULL);
}

/* In a child with little address space: reservations shrink until they fit. */
static void little_space(void *unused) {
    (void)unused;
    struct rlimit limit = {(rlim_t)400 << 20, (rlim_t)400 << 20};
    setrlimit(RLIMIT_AS, &limit);
    size_t units = 0, memory = lee_system_memory();
    bool zeroed;
    while (lee_units_take(heap_a, LEE_UNIT_PAGES, 1, &zeroed) != NULL)
        units++;
    fprintf(stderr, "units %zu memory %zu valid %d\n", units, memory >> 20, lee_units_validate() == NULL);
}

static void test_address_space(void) {
#if !UNDER_ASAN && !defined(__SANITIZE_THREAD__)
    static struct child child;
    size_t units = 0, memory = 0;
    int valid = 0;
    run_child(&child, little_space, NULL);
    CHECK(sscanf(child.output, "units %zu memory %zu valid %d", &units, &memory, &valid) == 3);
    CHECK(units > 100 && units < 200 && memory == 360 && valid);
#else
    (void)little_space;
#endif
}

static void test_charge(void) {
    size_t limit = lee_memory_limit();
    CHECK(limit > 0 && lee_memory_charged() == 0);
    lee_heap_limit(1 << 20);
    CHECK(lee_memory_charge(1 << 19) && lee_memory_charge(1 << 19) && !lee_memory_charge(1));
    CHECK(!lee_memory_charge(SIZE_MAX) && lee_memory_charged() == 1 << 20);
    lee_memory_uncharge(1 << 20);
    lee_heap_limit(limit);
}

/* --- readers without locks ------------------------------------------------------------------------------------------ */

enum { SHARED = 64 };
static _Atomic(uintptr_t) published[SHARED];
static atomic_bool finished;

/* Takes words that another thread published, whose unit may be given back and taken by others at any time: what is read must
 * be one of the names that were ever there. */
static void *read_words(void *number) {
    size_t *seen = number;
    for (size_t i = 0; !atomic_load_explicit(&finished, memory_order_relaxed); i++) {
        uintptr_t word = atomic_load_explicit(&published[i % SHARED], memory_order_relaxed);
        struct lee_chunk *chunk = lee_chunk_of(word);
        if (chunk == NULL)
            continue;
        struct lee_heap *owner = lee_owner_in(chunk, word);
        if (owner != NULL && owner != heap_a && owner != heap_b)
            return "an owner that never was";
        *seen += owner != NULL;
        lee_word_kind(word);
        lee_word_kind(random_state << (i & 31)); /* taints what is foreign */
    }
    return NULL;
}

static void *change_words(void *owner) {
    void *units[SHARED / 2] = {NULL};
    bool zeroed;
    size_t first = owner == heap_a ? 0 : SHARED / 2;
    for (size_t i = 0; i < 20000; i++) {
        size_t at = i * 7 % (SHARED / 2), count = i % 3 + 1;
        if (units[at] != NULL)
            lee_units_give(units[at], 1, false);
        units[at] = lee_units_take(owner, LEE_UNIT_PAGES, i % 5000 == 0 ? 300 : count, &zeroed);
        if (units[at] == NULL)
            return "no units";
        if (i % 5000 == 0)
            lee_units_give((char *)units[at] + LEE_UNIT_BYTES, 299, false);
        else if (count > 1)
            lee_units_give((char *)units[at] + LEE_UNIT_BYTES, count - 1, false);
        if (owner_of(units[at]) != owner)
            return "a unit is not its taker's";
        atomic_store_explicit(&published[first + at], (uintptr_t)units[at] + i % LEE_UNIT_BYTES, memory_order_relaxed);
    }
    for (size_t at = 0; at < SHARED / 2; at++)
        lee_units_give(units[at], 1, false);
    return NULL;
}

static void test_readers(bool taint) {
    pthread_t readers[2], writers[2];
    size_t seen[2] = {0, 0};
    void *wrong;
    lee_page_table_taint = taint;
    atomic_store(&finished, false);
    for (int i = 0; i < 2; i++)
        pthread_create(&readers[i], NULL, read_words, &seen[i]);
    pthread_create(&writers[0], NULL, change_words, heap_a);
    pthread_create(&writers[1], NULL, change_words, heap_b);
    for (int i = 0; i < 2; i++) {
        pthread_join(writers[i], &wrong);
        CHECK(wrong == NULL);
    }
    atomic_store(&finished, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(readers[i], &wrong);
        CHECK(wrong == NULL);
    }
    lee_page_table_taint = false;
    CHECK(lee_units_validate() == NULL);
}

/* A word that was called foreign, and then is claimed: the debugging mode says so. */
static void claim_tainted(void *unused) {
    bool zeroed;
    (void)unused;
    unsigned char *unit = lee_units_take(heap_a, LEE_UNIT_PAGES, 1, &zeroed);
    lee_page_table_taint = true;
    for (size_t i = 1; i < 8; i++)
        lee_word_kind((uintptr_t)unit + i * LEE_CHUNK_BYTES);
    lee_units_take(heap_a, LEE_UNIT_PAGES, 200, &zeroed);
}

static void test_taint(void) {
#if !defined(__SANITIZE_THREAD__)
    static struct child child;
    run_child(&child, claim_tainted, NULL);
    check_holds("taint", child.output, "a foreign pointer points into memory that is being claimed");
#else
    (void)claim_tainted;
#endif
}

/* Slow first touches lead to small pages, ever longer; a quick one ends that. */
static void test_huge(void) {
    struct lee_huge huge = {0};
    unsigned rests[8], small = 0;
    for (int i = 0; i < LEE_HUGE_TRIES; i++) {
        CHECK(lee_huge_wanted(&huge, 1));
        lee_huge_took(&huge, LEE_HUGE_SLOW);
    }
    for (int i = 0; i < 8; i++) {
        for (rests[i] = 0; !lee_huge_wanted(&huge, 1); rests[i]++)
            ;
        lee_huge_took(&huge, 8 * (uint64_t)LEE_HUGE_SLOW);
    }
    CHECK(rests[0] == LEE_HUGE_REST_LEAST && rests[1] == 2 * LEE_HUGE_REST_LEAST);
    CHECK(rests[6] == LEE_HUGE_REST_MOST && rests[7] == LEE_HUGE_REST_MOST);
    while (!lee_huge_wanted(&huge, 1))
        small++;
    CHECK(small == LEE_HUGE_REST_MOST);
    lee_huge_took(&huge, LEE_HUGE_SLOW - 1);
    for (int i = 0; i < LEE_HUGE_TRIES - 1; i++) { /* now and then a slow one is none to care about */
        lee_huge_took(&huge, LEE_HUGE_SLOW);
        CHECK(lee_huge_wanted(&huge, 1));
    }
    lee_huge_took(&huge, 0);
    CHECK(lee_huge_wanted(&huge, 1) && huge.slow == 0);
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_folder(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(mkdir(path, 0700) == 0);
}

/* Limits of control groups of both versions, of the program's group and those above it: the least counts. */
static void test_groups(void) {
    char folder[] = "/tmp/lee-groups-XXXXXX", list[64], command[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(list, sizeof list, "%s/list", folder);
    struct lee_system_places places = lee_system_places;
    size_t memory = lee_system_memory();
    lee_system_places = (struct lee_system_places){folder, list};
    for (const char *const *made = (const char *const[]){"a", "a/b", "memory", "memory/m", "cpu", "cpu/c", NULL}; *made != NULL; made++)
        make_folder(folder, *made);

    write_file(folder, "list", "0::/a/b\n");
    unsigned all = lee_system_processors(); /* the mask alone */
    CHECK(all >= 1);
    write_file(folder, "a/b/cpu.max", "max 100000\n");
    write_file(folder, "a/b/memory.max", "max\n");
    CHECK(lee_system_processors() == all && lee_system_memory() >= memory);
    write_file(folder, "a/b/cpu.max", "100000000 100000\n");
    CHECK(lee_system_processors() == all);
    write_file(folder, "a/cpu.max", "190000 100000\n");
    CHECK(lee_system_processors() == 1);
    write_file(folder, "a/b/cpu.max", "50000 100000\n");
    CHECK(lee_system_processors() == 0);
    write_file(folder, "a/b/memory.max", "1048576000\n");
    CHECK(lee_system_memory() == 1048576000 / 10 * 9);
    write_file(folder, "a/memory.max", "104857600\n");
    CHECK(lee_system_memory() == 104857600 / 10 * 9);
    write_file(folder, "memory.max", "99999999999999999999999999\n"); /* too large for a number */
    CHECK(lee_system_memory() == 104857600 / 10 * 9);

    write_file(folder, "list", "5:cpuset:/a\n4:memory:/m\n3:name=cpu:/a\n2:cpuacct,cpu:/c\n0::/\n");
    CHECK(lee_system_processors() == all);
    write_file(folder, "cpu/c/cpu.cfs_quota_us", "-1\n");
    write_file(folder, "cpu/c/cpu.cfs_period_us", "100000\n");
    CHECK(lee_system_processors() == all);
    write_file(folder, "cpu/c/cpu.cfs_quota_us", "100000\n");
    CHECK(lee_system_processors() == 1);
    write_file(folder, "memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(lee_system_memory() >= memory);
    write_file(folder, "memory/memory.limit_in_bytes", "209715200\n");
    CHECK(lee_system_memory() == 209715200 / 10 * 9);

    for (const char *const *text = (const char *const[]){"", "\n", ":", "4", "4:memory", "0::", "0::\n4:memory:\n", NULL}; *text != NULL; text++) {
        write_file(folder, "list", *text);
        CHECK(lee_system_processors() >= 1 && lee_system_memory() > 0);
    }
    lee_system_places = places;
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

int main(void) {
    test_groups();
    test_huge();
    test_charge();
    test_address_space();
    test_taint();
    test_fit();
    test_random();
    test_words();
    test_readers(false);
    test_readers(true);
    test_failures();
    return check_end();
}
