/* units.c: see units.h. Free ranges are nodes of two skip lists, one by address (to join
 * neighbours), one by size and address (to find the best fit). The nodes lie in the description of
 * the window in which the range begins, so the allocator allocates nothing for itself and a failure
 * of the system finds it whole. */
#define _GNU_SOURCE
#include "units.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "heap_limit.h"
#include "system.h"

enum { BY_ADDRESS, BY_SIZE };

struct lee_units_settings lee_units_settings;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lee_range head = {.levels = LEE_SKIP_LEVELS};
static size_t reserved_units, free_units, dirty_units, described_windows;
static uintptr_t next_hint, lowest, highest;
static uint32_t random_state = 0x9e3779b9;
static atomic_size_t charged;
static size_t limit; /* 0: not asked for yet */

/* --- what may be resident ---------------------------------------------------------------------------------- */

void lee_heap_limit(size_t bytes) {
    limit = bytes == 0 ? 1 : bytes;
}

size_t lee_memory_limit(void) {
    if (limit == 0)
        limit = lee_system_memory();
    return limit;
}

size_t lee_memory_charged(void) {
    return atomic_load_explicit(&charged, memory_order_relaxed);
}

bool lee_memory_charge(size_t bytes) {
    size_t most = lee_memory_limit(), before = atomic_fetch_add_explicit(&charged, bytes, memory_order_relaxed);
    if (before <= most && bytes <= most - before)
        return true;
    atomic_fetch_sub_explicit(&charged, bytes, memory_order_relaxed);
    return false;
}

void lee_memory_uncharge(size_t bytes) {
    atomic_fetch_sub_explicit(&charged, bytes, memory_order_relaxed);
}

/* --- the skip lists ---------------------------------------------------------------------------------------- */

static bool before(int list, const struct lee_range *range, uintptr_t start, size_t units) {
    if (list == BY_SIZE && range->units != units)
        return range->units < units;
    return range->start < start;
}

/* The last nodes in front of the place of (start, units), one for each level. */
static void find(int list, uintptr_t start, size_t units, struct lee_range *last[LEE_SKIP_LEVELS]) {
    struct lee_range *at = &head;
    for (int level = LEE_SKIP_LEVELS - 1; level >= 0; level--) {
        while (at->next[list][level] != NULL && before(list, at->next[list][level], start, units))
            at = at->next[list][level];
        last[level] = at;
    }
}

/* A quarter of the nodes go a level higher. */
static unsigned random_levels(void) {
    unsigned levels = 1;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    for (uint32_t bits = random_state; (bits & 3) == 0 && levels < LEE_SKIP_LEVELS; bits >>= 2)
        levels++;
    return levels;
}

static void insert(uintptr_t start, size_t units) {
    struct lee_chunk *chunk = lee_chunk_at((void *)start);
    struct lee_range *range = &chunk->details[lee_unit_index(start)].range;
    struct lee_range *last[LEE_SKIP_LEVELS];
    range->start = start;
    range->units = units;
    range->levels = random_levels();
    for (int list = BY_ADDRESS; list <= BY_SIZE; list++) {
        find(list, start, units, last);
        for (unsigned level = 0; level < range->levels; level++) {
            range->next[list][level] = last[level]->next[list][level];
            last[level]->next[list][level] = range;
        }
    }
}

static void remove_range(struct lee_range *range) {
    struct lee_range *last[LEE_SKIP_LEVELS];
    for (int list = BY_ADDRESS; list <= BY_SIZE; list++) {
        find(list, range->start, range->units, last);
        for (unsigned level = 0; level < range->levels; level++)
            last[level]->next[list][level] = range->next[list][level];
    }
}

/* Adds a free range, joined with its neighbours. */
static void insert_joined(uintptr_t start, size_t units) {
    struct lee_range *last[LEE_SKIP_LEVELS];
    find(BY_ADDRESS, start, units, last);
    struct lee_range *left = last[0], *right = left->next[BY_ADDRESS][0];
    if (right != NULL && right->start == start + units * LEE_UNIT_BYTES) {
        units += right->units;
        remove_range(right);
    }
    if (left != &head && left->start + left->units * LEE_UNIT_BYTES == start) {
        start = left->start;
        units += left->units;
        remove_range(left);
    }
    insert(start, units);
}

static struct lee_range *best_fit(size_t units) {
    struct lee_range *last[LEE_SKIP_LEVELS];
    find(BY_SIZE, 0, units, last);
    return last[0]->next[BY_SIZE][0];
}

/* --- units --------------------------------------------------------------------------------------------------- */

static struct lee_unit *unit_at(uintptr_t address) {
    return lee_unit_in(lee_chunk_at((void *)address), address);
}

static void describe(uintptr_t address, struct lee_heap *owner, enum lee_unit_kind kind, size_t behind) {
    struct lee_chunk *chunk = lee_chunk_at((void *)address);
    struct lee_unit *unit = lee_unit_in(chunk, address);
    _Atomic(struct lee_heap *) *name = &chunk->owner[lee_unit_index(address)];
    if (owner == NULL) /* first: from here on the unit is nobody's */
        atomic_store_explicit(name, NULL, memory_order_relaxed);
    unit->behind = (uint32_t)behind;
    unit->free = 0;
    unit->free_dirty = 0;
    unit->next = unit->previous = NULL;
    atomic_store_explicit(&unit->kind, (uint8_t)kind, memory_order_relaxed);
    if (owner != NULL) /* last: who finds its name here may trust the rest */
        atomic_store_explicit(name, owner, memory_order_release);
}

/* Address space for at least `bytes`: near what is there, whole windows where possible. */
static uintptr_t reserve(size_t *bytes, size_t least) {
    if (next_hint == 0) {
        /* Far from where the system puts mappings, so that the next chunk is free too; not the same
         * place in each run. */
        const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
        size_t at = random == NULL ? 0 : random[0] | (size_t)random[1] << 8 | (size_t)(random[2] & 3) << 16;
        next_hint = ((uintptr_t)1 << 44) + at * LEE_CHUNK_BYTES;
#if defined(__SANITIZE_THREAD__)
        next_hint = 0; /* it wants mappings in its own places */
#endif
    }
    for (;;) {
        unsigned char *start = lee_system_reserve((void *)next_hint, *bytes);
        if (start != NULL && (uintptr_t)start % LEE_UNIT_BYTES == 0 && (uintptr_t)start >> LEE_ADDRESS_BITS == 0) {
            next_hint = (uintptr_t)start + *bytes;
            return (uintptr_t)start;
        }
        if (start != NULL)
            lee_system_release(start, *bytes);
        start = lee_system_reserve_aligned(*bytes, *bytes >= LEE_CHUNK_BYTES ? LEE_CHUNK_BYTES : LEE_UNIT_BYTES);
        if (start != NULL) {
            if ((uintptr_t)start >> LEE_ADDRESS_BITS == 0) {
                next_hint = (uintptr_t)start + *bytes;
                return (uintptr_t)start;
            }
            lee_system_release(start, *bytes);
            return 0;
        }
        if (*bytes == least)
            return 0;
        *bytes = *bytes / 2 / LEE_UNIT_BYTES * LEE_UNIT_BYTES;
        if (*bytes < least)
            *bytes = least;
    }
}

/* Under a limit of address space, leaves room for others and for descriptions. */
static size_t usual_reservation(void) {
    if (lee_units_settings.reserve != 0)
        return lee_units_settings.reserve;
    size_t space = lee_system_address_space();
    if (space == SIZE_MAX || space / 16 >= LEE_CHUNK_BYTES)
        return LEE_CHUNK_BYTES;
    return space / 16 < LEE_UNIT_BYTES ? LEE_UNIT_BYTES : space / 16 / LEE_UNIT_BYTES * LEE_UNIT_BYTES;
}

/* Describes all windows of a reservation before any of it is used. */
static bool describe_windows(uintptr_t start, size_t bytes) {
    for (uintptr_t at = start >> LEE_CHUNK_SHIFT; at <= (start + bytes - 1) >> LEE_CHUNK_SHIFT; at++) {
        bool tainted, known = lee_page_table[at] >= LEE_WINDOW_OURS;
        if (lee_page_table_claim(at << LEE_CHUNK_SHIFT, &tainted) == NULL)
            return false;
        described_windows += !known;
        if (tainted) {
            /* A word that was called foreign is ours now: whoever holds one keeps nothing alive with it. */
            static const char message[] = "error: a foreign pointer points into memory that is being claimed (page table)\n";
            lee_system_report(message, sizeof message - 1);
        }
    }
    return true;
}

static bool grow(size_t units) {
    size_t least = units * LEE_UNIT_BYTES, bytes = usual_reservation();
    if (lee_units_settings.flat > 0 && reserved_units == 0)
        bytes = lee_units_settings.flat;
    if (!lee_page_table_start())
        return false;
    if (bytes < least)
        bytes = least <= SIZE_MAX - LEE_CHUNK_BYTES ? (least + LEE_CHUNK_BYTES - 1) & ~(size_t)(LEE_CHUNK_BYTES - 1) : least;
    uintptr_t start = reserve(&bytes, least);
    if (start == 0)
        return false;
    if (!describe_windows(start, bytes)) {
        /* Windows that were described stay so: they are ours, with no units. */
        lee_system_release((void *)start, bytes);
        return false;
    }
    for (uintptr_t at = start; at < start + bytes; at += LEE_UNIT_BYTES) {
        unit_at(at)->dirty = false;
        describe(at, NULL, LEE_UNIT_FREE, 0);
    }
    if (reserved_units == 0 || start < lowest)
        lowest = start;
    if (start + bytes > highest)
        highest = start + bytes;
    reserved_units += bytes / LEE_UNIT_BYTES;
    free_units += bytes / LEE_UNIT_BYTES;
    insert_joined(start, bytes / LEE_UNIT_BYTES);
    return true;
}

void *lee_units_take(struct lee_heap *owner, enum lee_unit_kind kind, size_t count, bool *zeroed) {
    if (count == 0 || count > ((size_t)1 << LEE_ADDRESS_BITS) / LEE_UNIT_BYTES || lee_system_fails())
        return NULL;
    pthread_mutex_lock(&lock);
    struct lee_range *range = best_fit(count);
    if (range == NULL) {
        if (!grow(count)) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        range = best_fit(count);
    }
    uintptr_t start = range->start;
    size_t units = range->units;
    remove_range(range);
    if (units > count)
        insert(start + count * LEE_UNIT_BYTES, units - count);
    free_units -= count;
    *zeroed = true;
    for (size_t i = 0; i < count; i++) {
        struct lee_unit *unit = unit_at(start + i * LEE_UNIT_BYTES);
        dirty_units -= unit->dirty;
        *zeroed = *zeroed && !unit->dirty;
        unit->huge = unit->broken = false;
        describe(start + i * LEE_UNIT_BYTES, owner, kind, i);
    }
    pthread_mutex_unlock(&lock);
    return (void *)start;
}

void lee_units_give(void *given, size_t count, bool dirty) {
    uintptr_t start = (uintptr_t)given;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        unit_at(start + i * LEE_UNIT_BYTES)->dirty = dirty;
        describe(start + i * LEE_UNIT_BYTES, NULL, LEE_UNIT_FREE, 0);
    }
    free_units += count;
    dirty_units += dirty ? count : 0;
    insert_joined(start, count);
    pthread_mutex_unlock(&lock);
}

uintptr_t lee_units_range(uintptr_t *span) {
    pthread_mutex_lock(&lock);
    uintptr_t start = lowest;
    *span = highest - lowest;
    pthread_mutex_unlock(&lock);
    return start;
}

size_t lee_units_trim(void) {
    size_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (struct lee_range *range = head.next[BY_ADDRESS][0]; range != NULL && dirty_units > 0;
         range = range->next[BY_ADDRESS][0]) {
        for (size_t i = 0; i < range->units;) {
            size_t end = i;
            while (end < range->units && unit_at(range->start + end * LEE_UNIT_BYTES)->dirty)
                end++;
            if (end == i) {
                i++;
                continue;
            }
            if (lee_system_discard((void *)(range->start + i * LEE_UNIT_BYTES), (end - i) * LEE_UNIT_BYTES)) {
                bytes += (end - i) * LEE_UNIT_BYTES;
                dirty_units -= end - i;
                for (size_t k = i; k < end; k++)
                    unit_at(range->start + k * LEE_UNIT_BYTES)->dirty = false;
            }
            i = end;
        }
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* --- what tests ask -------------------------------------------------------------------------------------------- */

void lee_units_state(struct lee_units_state *state) {
    pthread_mutex_lock(&lock);
    *state = (struct lee_units_state){
        .chunks = described_windows, .reserved = reserved_units, .free = free_units, .dirty = dirty_units};
    for (struct lee_range *range = head.next[BY_ADDRESS][0]; range != NULL; range = range->next[BY_ADDRESS][0]) {
        state->ranges++;
        state->largest = range->units > state->largest ? range->units : state->largest;
    }
    pthread_mutex_unlock(&lock);
}

static const char *validate(void) {
    size_t ranges[2] = {0, 0}, units = 0, dirty = 0;
    for (int list = BY_ADDRESS; list <= BY_SIZE; list++) {
        for (unsigned level = 0; level < LEE_SKIP_LEVELS; level++) {
            for (struct lee_range *range = head.next[list][level]; range != NULL; range = range->next[list][level]) {
                struct lee_range *next = range->next[list][level];
                if (range->levels <= level)
                    return "a range is on a level that it does not have";
                if (next != NULL && !before(list, range, next->start, next->units))
                    return "a list of free ranges is not in order";
                ranges[list] += level == 0;
            }
        }
    }
    if (ranges[BY_ADDRESS] != ranges[BY_SIZE])
        return "the lists of free ranges differ";
    for (struct lee_range *range = head.next[BY_ADDRESS][0]; range != NULL; range = range->next[BY_ADDRESS][0]) {
        struct lee_range *next = range->next[BY_ADDRESS][0];
        if (next != NULL && range->start + range->units * LEE_UNIT_BYTES >= next->start)
            return "free ranges touch or overlap";
        for (size_t i = 0; i < range->units; i++) {
            uintptr_t at = range->start + i * LEE_UNIT_BYTES;
            struct lee_unit *unit = unit_at(at);
            if (lee_owner_in(lee_chunk_at((void *)at), at) != NULL || unit->kind != LEE_UNIT_FREE)
                return "a unit in a free range is in use";
            dirty += unit->dirty;
        }
        units += range->units;
    }
    return units != free_units ? "the number of free units is wrong"
           : dirty != dirty_units ? "the number of dirty units is wrong"
                                  : NULL;
}

const char *lee_units_validate(void) {
    pthread_mutex_lock(&lock);
    const char *wrong = validate();
    pthread_mutex_unlock(&lock);
    return wrong;
}
