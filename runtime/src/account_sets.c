/* account_sets.c: see sets.h. Sets are bit vectors behind each other; those of two and more
 * custodians are found again by a hash of their members. */
#include "sets.h"

#ifndef LEE_NO_GC

#include "heap.h"
#include "system.h"

enum { CACHE = 1 << 10, MOST_BYTES = 64 << 20 };

struct join_of {
    uint32_t a, b, result;
};

bool lee_sets_lost;

static struct {
    struct lee_vector members; /* bit vectors, one behind the other */
    size_t words;              /* of each */
    uint32_t count;
    uint32_t *hash;            /* numbers of the others, 0 for none */
    size_t hash_mask, hash_used;
    struct join_of cache[CACHE];
} sets;

static uint64_t *members_of(uint32_t set) {
    return (uint64_t *)sets.members.data + set * sets.words;
}

const uint64_t *lee_set_members(uint32_t set) {
    return members_of(set);
}

size_t lee_set_words(void) {
    return sets.words;
}

uint32_t lee_set_of(uint32_t custodian) {
    return custodian + 1;
}

/* Without a member yet. */
static uint32_t new_set(void) {
    size_t bytes = sets.words * sizeof(uint64_t);
    uint64_t *members = sets.members.bytes > MOST_BYTES ? NULL : lee_vector_add(&sets.members, bytes);
    if (members == NULL) {
        lee_sets_lost = true;
        return LEE_SET_EMPTY;
    }
    __builtin_memset(members, 0, bytes);
    return sets.count++;
}

static void drop_last(void) {
    sets.members.bytes -= sets.words * sizeof(uint64_t);
    sets.count--;
}

void lee_sets_begin(const uint32_t *above, uint32_t count) {
    lee_sets_lost = false;
    sets.words = (count + 63) / 64;
    sets.count = 0;
    __builtin_memset(sets.cache, 0, sizeof sets.cache);
    new_set();
    for (uint32_t n = 0; n < count && !lee_sets_lost; n++) {
        uint32_t set = new_set();
        for (uint32_t at = n; at != UINT32_MAX && above[at] != UINT32_MAX && !lee_sets_lost; at = above[at])
            members_of(set)[at / 64] |= (uint64_t)1 << at % 64;
    }
}

void lee_sets_end(void) {
    if (sets.hash != NULL)
        lee_system_release(sets.hash, (sets.hash_mask + 1) * sizeof *sets.hash);
    sets.hash = NULL;
    sets.hash_used = sets.hash_mask = 0;
    lee_vector_free(&sets.members);
}

static uint64_t hash_of(const uint64_t *members) {
    uint64_t hash = 0;
    for (size_t i = 0; i < sets.words; i++)
        hash = (hash ^ members[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;
    return hash ^ hash >> 32;
}

static bool grow_hash(void) {
    size_t old_entries = sets.hash == NULL ? 0 : sets.hash_mask + 1, entries = old_entries == 0 ? 1024 : 2 * old_entries;
    uint32_t *old = sets.hash, *fresh = lee_system_reserve(NULL, entries * sizeof *fresh);
    if (fresh == NULL)
        return false;
    for (size_t i = 0; i < old_entries; i++) {
        if (old[i] == 0)
            continue;
        size_t at = hash_of(members_of(old[i])) & (entries - 1);
        while (fresh[at] != 0)
            at = (at + 1) & (entries - 1);
        fresh[at] = old[i];
    }
    if (old != NULL)
        lee_system_release(old, old_entries * sizeof *old);
    sets.hash = fresh;
    sets.hash_mask = entries - 1;
    return true;
}

/* The number of the set that is the last one: another's, if there is one with the same members. */
static uint32_t intern_last(void) {
    uint32_t set = sets.count - 1;
    if ((sets.hash == NULL || sets.hash_used * 2 > sets.hash_mask) && !grow_hash()) {
        lee_sets_lost = true;
        return LEE_SET_EMPTY;
    }
    size_t at = hash_of(members_of(set)) & sets.hash_mask;
    for (; sets.hash[at] != 0; at = (at + 1) & sets.hash_mask) {
        if (__builtin_memcmp(members_of(sets.hash[at]), members_of(set), sets.words * sizeof(uint64_t)) == 0) {
            drop_last();
            return sets.hash[at];
        }
    }
    sets.hash[at] = set;
    sets.hash_used++;
    return set;
}

uint32_t lee_sets_join(uint32_t a, uint32_t b) {
    if (a > b) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    if (a == b || a == LEE_SET_EMPTY)
        return b;
    struct join_of *cached = &sets.cache[(a * 31 + b) % CACHE];
    if (cached->a == a && cached->b == b)
        return cached->result;
    uint32_t set = new_set();
    if (lee_sets_lost)
        return a;
    bool only_a = true, only_b = true;
    for (size_t i = 0; i < sets.words; i++) {
        uint64_t x = members_of(a)[i], y = members_of(b)[i];
        members_of(set)[i] = x | y;
        only_a = only_a && (y & ~x) == 0;
        only_b = only_b && (x & ~y) == 0;
    }
    uint32_t result = only_a ? a : b;
    if (only_a || only_b)
        drop_last();
    else
        result = intern_last();
    *cached = (struct join_of){a, b, result};
    return result;
}

uint32_t lee_sets_number(const uint64_t *members) {
    size_t bytes = sets.words * sizeof(uint64_t), lowest = 0;
    while (lowest < sets.words && members[lowest] == 0)
        lowest++;
    if (lowest == sets.words)
        return LEE_SET_EMPTY;
    /* Those above have higher numbers. */
    uint32_t single = lee_set_of((uint32_t)(lowest * 64 + (size_t)__builtin_ctzll(members[lowest])));
    if (__builtin_memcmp(members_of(single), members, bytes) == 0)
        return single;
    uint32_t set = new_set();
    if (lee_sets_lost)
        return single;
    __builtin_memcpy(members_of(set), members, bytes);
    return intern_last();
}

#endif
