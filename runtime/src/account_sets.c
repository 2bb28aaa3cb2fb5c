/* account_sets.c: see sets.h. Sets are bit vectors behind each other; those of two and more
 * custodians are found again by a hash of their members. */
#include "sets.h"

#ifndef LEE_NO_GC

#include "heap.h"
#include "no_pointers.h"
#include "system.h"

enum { CACHE = 1 << 12, MOST_BYTES = 64 << 20 };

struct join_of {
    uint32_t a, b, result;
};

bool lee_sets_lost;

static struct {
    struct lee_vector members; /* bit vectors, one behind the other */
    struct lee_vector gathered; /* one more, of what is gathered, ... */
    uint32_t same;              /* ... and the set that it is, if that is known; else LEE_SET_EMPTY */
    size_t words;              /* of each */
    uint32_t count;
    uint32_t *hash;            /* numbers of the others, 0 for none */
    size_t hash_mask, hash_used;
    struct join_of cache[CACHE];
} sets;
LEE_NO_POINTERS(sets)

/* Behind the members stand the bytes. */
static uint64_t *members_of(uint32_t set) {
    return (uint64_t *)sets.members.data + set * (sets.words + 1);
}

static size_t bytes_of_one(void) {
    return (sets.words + 1) * sizeof(uint64_t);
}

const uint64_t *lee_set_members(uint32_t set) {
    return members_of(set);
}

size_t lee_set_words(void) {
    return sets.words;
}

uint32_t lee_sets_count(void) {
    return sets.count;
}

uint64_t *lee_set_bytes(uint32_t set) {
    return members_of(set) + sets.words;
}

uint32_t lee_set_of(uint32_t custodian) {
    return custodian + 1;
}

/* Without a member yet. */
static uint32_t new_set(void) {
    size_t bytes = bytes_of_one();
    uint64_t *members = sets.members.bytes > MOST_BYTES ? NULL : lee_vector_add(&sets.members, bytes);
    if (members == NULL) {
        lee_sets_lost = true;
        return LEE_SET_EMPTY;
    }
    __builtin_memset(members, 0, bytes);
    return sets.count++;
}

void lee_sets_begin(const uint32_t *above, uint32_t count) {
    lee_sets_lost = false;
    sets.words = (count + 63) / 64;
    sets.count = 0;
    __builtin_memset(sets.cache, 0, sizeof sets.cache);
    lee_sets_lost = lee_vector_add(&sets.gathered, bytes_of_one()) == NULL;
    for (uint32_t n = 0; n <= count && !lee_sets_lost; n++)
        new_set();
    for (uint32_t n = count; n-- > 0 && !lee_sets_lost;) { /* those above come first */
        if (above[n] == UINT32_MAX)
            continue;
        uint64_t *members = members_of(lee_set_of(n));
        __builtin_memcpy(members, members_of(lee_set_of(above[n])), sets.words * sizeof *members);
        members[n / 64] |= (uint64_t)1 << n % 64;
    }
}

void lee_sets_end(void) {
    if (sets.hash != NULL)
        lee_system_release(sets.hash, (sets.hash_mask + 1) * sizeof *sets.hash);
    sets.hash = NULL;
    sets.hash_used = sets.hash_mask = 0;
    lee_vector_free(&sets.members);
    lee_vector_free(&sets.gathered);
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

/* The number of the set that was gathered. */
static uint32_t number_gathered(void) {
    const uint64_t *gathered = sets.gathered.data;
    size_t bytes = sets.words * sizeof *gathered;
    if ((sets.hash == NULL || sets.hash_used * 2 > sets.hash_mask) && !grow_hash()) {
        lee_sets_lost = true;
        return LEE_SET_EMPTY;
    }
    size_t at = hash_of(gathered) & sets.hash_mask;
    for (; sets.hash[at] != 0; at = (at + 1) & sets.hash_mask) {
        if (__builtin_memcmp(members_of(sets.hash[at]), gathered, bytes) == 0)
            return sets.hash[at];
    }
    uint32_t set = new_set();
    if (lee_sets_lost)
        return LEE_SET_EMPTY;
    __builtin_memcpy(members_of(set), gathered, bytes);
    sets.hash[at] = set;
    sets.hash_used++;
    return set;
}

void lee_sets_gather_first(uint32_t set) {
    __builtin_memcpy(sets.gathered.data, members_of(set), sets.words * sizeof(uint64_t));
    sets.same = set;
}

void lee_sets_gather(uint32_t set) {
    uint64_t *all = sets.gathered.data, more = 0, other = 0;
    const uint64_t *members = members_of(set);
    for (size_t i = 0; i < sets.words; i++) {
        more |= members[i] & ~all[i];
        other |= all[i] & ~members[i];
        all[i] |= members[i];
    }
    if (more != 0)
        sets.same = other == 0 ? set : LEE_SET_EMPTY;
}

uint32_t lee_sets_gathered(void) {
    return sets.same != LEE_SET_EMPTY ? sets.same : number_gathered();
}

static uint32_t make_join(uint32_t a, uint32_t b) {
    lee_sets_gather_first(a);
    lee_sets_gather(b);
    uint32_t set = lee_sets_gathered();
    return lee_sets_lost ? a : set;
}

bool lee_sets_within(uint32_t set, uint32_t other) {
    const uint64_t *x = members_of(set), *y = members_of(other), *end = x + sets.words;
    while (x != end && (*x & ~*y) == 0)
        x++, y++;
    return x == end;
}

uint32_t lee_sets_join(uint32_t a, uint32_t b) {
    if (sets.words == 1) { /* up to 64 custodians */
        uint64_t x = *members_of(a), y = *members_of(b);
        if ((x | y) == y || (x | y) == x)
            return (x | y) == y ? b : a;
    }
    if (a > b) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    struct join_of *cached = &sets.cache[(a * 0x9e3779b1u ^ b * 0x85ebca6bu) >> 16 & (CACHE - 1)];
    if (cached->a == a && cached->b == b)
        return cached->result;
    uint32_t result = make_join(a, b);
    if (!lee_sets_lost)
        *cached = (struct join_of){a, b, result};
    return result;
}

#endif
