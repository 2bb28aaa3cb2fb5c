/* account_precise.c: the precise policy: the set of custodians that reach each object.
 *
 * Promises: an object that several custodians reach is charged in full to each of them, and once to those above them.
 *
 * Objects that one custodian reaches are most of a heap, and cost what blame-the-child costs and one store each: the marker writes the
 * custodian's number into the table, and when it comes to an object that is marked, reads it. What another custodian marked is
 * noted as *shared* once for each of the two; unless that one lies below, for then whoever is charged below charges those above
 * too, from here on. Custodians are numbered in post-order, so those below are a range of numbers. The first custodian is above
 * all: it notes nothing.
 *
 * Then each custodian is added to the sets of all that the objects that it noted reach, in a pass as fast as marking (after Wick, Flatt
 * and Hsieh, "Reachability-Based Memory Accounting", 2002). That may visit an object as often as there are custodians. When visits exceed
 * twice the objects of the heap the rest is done over strongly connected components (path-based: Gabow, "Path-based depth-first search for strong and biconnected components",
 * 2000): all members of one have the same set, and components that are taken in topological order are final when their turn
 * comes. So each object is visited five times at most after it was marked, the last two of them slowly.
 *
 * Sets are bit vectors, each kept once; those with one member have that custodian's number. */
#include "precise.h"

#ifndef LEE_NO_GC

#include "custodian.h"
#include "poison.h"
#include "small.h"
#include "system.h"

enum {
    CACHE = 1 << 10,
    NOTES_MOST = 1 << 16, /* that are sorted */
    SETS_MOST_BYTES = 64 << 20,
    ASSIGNED = UINT32_MAX /* in the upper half of an entry: the component is complete */
};

bool lee_precise_quick;

#define TABLE_BYTES ((size_t)LEE_CHUNK_BYTES / 16 * sizeof(uint64_t))

struct shared {
    uintptr_t object;
    uint32_t custodian; /* or a set of them: their numbers do not clash */
};

struct join_of {
    uint32_t a, b, result;
};

static struct {
    struct lee_vector custodians; /* by number */
    uint32_t count;
    size_t words;             /* of a set */
    struct lee_vector sets;   /* bit vectors, one behind the other */
    struct lee_vector bytes;  /* of the objects of each set */
    uint32_t *hash;           /* of sets of two and more: number, 0 for none */
    size_t hash_mask, hash_used;
    struct join_of cache[CACHE];
    struct lee_vector shared;
    struct lee_vector pending; /* objects whose set grew */
    bool lost;
    size_t visits, visits_most;
    struct lee_heap *heap;
    /* of the object that is being read */
    uint32_t set;
    struct lee_vector children;
} precise;

static size_t *bytes_of(uint32_t set) {
    return (size_t *)precise.bytes.data + set;
}

static uint64_t *members_of(uint32_t set) {
    return (uint64_t *)precise.sets.data + set * precise.words;
}

static struct lee_custodian *custodian_of(uint32_t number) {
    return ((struct lee_custodian **)precise.custodians.data)[number];
}

static void *add(struct lee_vector *vector, size_t bytes) {
    void *place = lee_vector_add(vector, bytes);
    if (place == NULL)
        precise.lost = true;
    return place;
}

/* A set with no member yet. */
static uint32_t new_set(void) {
    uint32_t number = (uint32_t)(precise.bytes.bytes / sizeof(size_t));
    uint64_t *members = precise.sets.bytes > SETS_MOST_BYTES ? NULL : add(&precise.sets, precise.words * sizeof *members);
    size_t *bytes = add(&precise.bytes, sizeof *bytes);
    if (members == NULL || bytes == NULL) {
        precise.lost = true;
        return 0;
    }
    __builtin_memset(members, 0, precise.words * sizeof *members);
    *bytes = 0;
    return number;
}

/* --- tables ------------------------------------------------------------------------------------------------------------ */

static bool tables; /* whether there are any */

/* It is kept for the next collection: each entry is written before it is read. */
static bool make_table(struct lee_chunk *chunk) {
    if (chunk->charges != NULL)
        return true;
    chunk->charges = lee_system_reserve(NULL, TABLE_BYTES);
    if (chunk->charges == NULL)
        return false;
    if (lee_heap_settings.huge)
        lee_system_huge(chunk->charges, TABLE_BYTES, true);
    return tables = true;
}

static void drop_table(struct lee_chunk *chunk) {
    if (chunk->charges != NULL)
        lee_system_release(chunk->charges, TABLE_BYTES);
    chunk->charges = NULL;
}

void lee_precise_release(struct lee_heap *heap) {
    for (struct lee_small *page = heap->small; page != NULL && tables; page = page->next)
        drop_table(lee_chunk_at(page));
    for (struct lee_unit *unit = heap->units; unit != NULL && tables; unit = unit->next)
        drop_table(lee_chunk_describing(unit));
    for (struct lee_unit *unit = heap->large; unit != NULL && tables; unit = unit->next)
        drop_table(lee_chunk_describing(unit));
    tables = false;
}

void lee_precise_end(void) {
    if (precise.hash != NULL)
        lee_system_release(precise.hash, (precise.hash_mask + 1) * sizeof *precise.hash);
    precise.hash = NULL;
    struct lee_vector *vectors[] = {&precise.custodians, &precise.sets, &precise.bytes, &precise.shared, &precise.pending,
                                    &precise.children};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        lee_vector_free(vectors[i]);
}

bool lee_precise_begin(struct lee_heap *heap, struct lee_custodian *first) {
    bool enough = true;
    precise.heap = heap;
    precise.count = 0;
    precise.lost = false;
    precise.visits = 0;
    __builtin_memset(precise.cache, 0, sizeof precise.cache);
    for (struct lee_custodian *at = lee_custodian_deepest(first); at != NULL; at = lee_custodian_after(at)) {
        struct lee_custodian **place = add(&precise.custodians, sizeof at);
        if (place == NULL)
            break;
        *place = at;
        at->number = precise.count++;
        at->lowest = at->child == NULL ? at->number : UINT32_MAX;
        at->stamp = UINT32_MAX;
    }
    for (uint32_t n = 0; n < precise.count; n++) {
        struct lee_custodian *at = custodian_of(n);
        if (at->parent != NULL && at->lowest < at->parent->lowest)
            at->parent->lowest = at->lowest;
    }
    precise.words = (precise.count + 63) / 64;
    for (uint32_t n = 0; n < precise.count && !precise.lost; n++) {
        uint32_t set = new_set();
        if (!precise.lost)
            members_of(set)[n / 64] |= (uint64_t)1 << n % 64;
    }
    for (struct lee_small *page = heap->small; page != NULL && enough; page = page->next)
        enough = make_table(lee_chunk_at(page));
    for (struct lee_unit *unit = heap->units; unit != NULL && enough; unit = unit->next)
        enough = make_table(lee_chunk_describing(unit));
    for (struct lee_unit *unit = heap->large; unit != NULL && enough; unit = unit->next)
        enough = make_table(lee_chunk_describing(unit));
    if (enough && !precise.lost)
        return true;
    lee_precise_end();
    lee_precise_release(heap);
    return false;
}

void lee_precise_custodian(struct lee_custodian *custodian, struct lee_marker *marker) {
    marker->set = custodian->number;
    marker->set_lowest = custodian->lowest;
}

void lee_precise_marked(struct lee_custodian *custodian, size_t bytes) {
    *bytes_of(custodian->number) += bytes;
}

void lee_precise_note(struct lee_marker *marker, uintptr_t object) {
    uint64_t *entry = lee_charge_of(object);
    struct shared *shared = add(&precise.shared, sizeof *shared);
    if (shared != NULL)
        *shared = (struct shared){object, marker->set};
    /* Once for each pair. */
    *entry = (uint32_t)*entry | (uint64_t)(marker->set + 1) << 32;
}

/* --- sets --------------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const uint64_t *members) {
    uint64_t hash = 0;
    for (size_t i = 0; i < precise.words; i++)
        hash = (hash ^ members[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;
    return hash ^ hash >> 32;
}

static bool grow_hash(void) {
    size_t entries = precise.hash == NULL ? 1024 : 2 * (precise.hash_mask + 1);
    uint32_t *old = precise.hash;
    size_t old_entries = old == NULL ? 0 : precise.hash_mask + 1;
    uint32_t *fresh = lee_system_reserve(NULL, entries * sizeof *fresh);
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
    precise.hash = fresh;
    precise.hash_mask = entries - 1;
    return true;
}

/* The number of the set that is the last in the table: another's, if there is one with the same members. */
static uint32_t intern_last(uint32_t set) {
    if ((precise.hash == NULL || precise.hash_used * 2 > precise.hash_mask) && !grow_hash()) {
        precise.lost = true;
        return 0;
    }
    size_t at = hash_of(members_of(set)) & precise.hash_mask;
    for (; precise.hash[at] != 0; at = (at + 1) & precise.hash_mask) {
        if (__builtin_memcmp(members_of(precise.hash[at]), members_of(set), precise.words * 8) == 0) {
            precise.sets.bytes -= precise.words * 8;
            precise.bytes.bytes -= sizeof(size_t);
            return precise.hash[at];
        }
    }
    precise.hash[at] = set;
    precise.hash_used++;
    return set;
}

/* The set of the members of both. */
static uint32_t join(uint32_t a, uint32_t b) {
    if (a == b)
        return a;
    if (a > b) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    struct join_of *cached = &precise.cache[(a * 31 + b) % CACHE];
    if (cached->a == a && cached->b == b)
        return cached->result;
    uint32_t set = new_set();
    if (precise.lost)
        return a;
    bool only_a = true, only_b = true;
    for (size_t i = 0; i < precise.words; i++) {
        uint64_t x = members_of(a)[i], y = members_of(b)[i];
        members_of(set)[i] = x | y;
        only_a = only_a && (y & ~x) == 0;
        only_b = only_b && (x & ~y) == 0;
    }
    uint32_t result;
    if (only_a || only_b) {
        precise.sets.bytes -= precise.words * 8;
        precise.bytes.bytes -= sizeof(size_t);
        result = only_a ? a : b;
    } else {
        result = intern_last(set);
    }
    *cached = (struct join_of){a, b, result};
    return result;
}

/* The object's set becomes one with `set` too; true if that is news. */
static bool widen(uintptr_t object, size_t charge, uint32_t set) {
    uint64_t *entry = lee_charge_of(object);
    uint32_t before = (uint32_t)*entry, after = join(before, set);
    if (before == after || precise.lost)
        return false;
    *entry = (*entry & ~(uint64_t)UINT32_MAX) | after;
    *bytes_of(before) -= charge;
    *bytes_of(after) += charge;
    return true;
}

/* --- growing along pointers ------------------------------------------------------------------------------------------------ */

/* An object that a word points into, if sets go through it. */
static bool find(uintptr_t word, uintptr_t *object, size_t *charge, const struct lee_layout **layout, size_t *bytes) {
    return lee_marked_object(precise.heap, word, object, charge, layout, bytes) && !lee_is_handle(*layout);
}

static void put_off(uintptr_t object) {
    uintptr_t *next = add(&precise.pending, sizeof *next);
    if (next != NULL)
        *next = object;
}

static void each_child(uintptr_t object, void (*visit)(void *, uintptr_t)) {
    uintptr_t start;
    size_t charge, bytes;
    const struct lee_layout *layout;
    struct lee_marker observer = {.heap = precise.heap, .observe = visit, .observer = NULL};
    if (find(object, &start, &charge, &layout, &bytes))
        lee_layout_each(layout, start, start + bytes, visit, NULL, &observer);
}

static bool take_pending(uintptr_t *object) {
    if (precise.pending.bytes == 0)
        return false;
    precise.pending.bytes -= sizeof *object;
    *object = *(uintptr_t *)(void *)((unsigned char *)precise.pending.data + precise.pending.bytes);
    return true;
}

struct lee_widened lee_widened[LEE_WIDENED];

static void settle_widened(struct lee_widened *widened) {
    if (widened->after != 0 && widened->bytes > 0) {
        *bytes_of(widened->before) -= widened->bytes;
        *bytes_of(widened->after - 1) += widened->bytes;
    }
    *widened = (struct lee_widened){0, 0, 0};
}

struct lee_widened *lee_precise_widen(uint32_t before) {
    struct lee_widened *widened = &lee_widened[before % LEE_WIDENED];
    settle_widened(widened);
    /* One more, so that 0 means that there is no entry. */
    *widened = (struct lee_widened){before, join(before, precise.set) + 1, 0};
    return widened;
}

/* Adds the custodians to all that is reached from the objects that it found marked: a pass like marking, at most once through the
 * heap. */
static void spread_from(struct lee_marker *marker, const struct shared *shared, size_t count) {
    marker->counting = LEE_COUNT_SPREAD;
    precise.set = shared->custodian;
    marker->charged = 0;
    for (size_t i = 0; i < count; i++) {
        lee_mark_word(marker, shared[i].object);
        if (marker->depth > marker->room / 2)
            lee_marker_drain(marker);
    }
    lee_marker_drain(marker);
    precise.visits += marker->charged;
    if (marker->overflown)
        precise.lost = true;
    for (size_t i = 0; i < LEE_WIDENED; i++)
        settle_widened(&lee_widened[i]);
}

/* The notes of one custodian follow each other. */
static size_t notes_of_one(const struct shared *shared, size_t count) {
    size_t n = 1;
    while (n < count && shared[n].custodian == shared->custodian)
        n++;
    return n;
}

/* --- components -------------------------------------------------------------------------------------------------------------- */

struct frame {
    uintptr_t object;
    size_t children; /* where its children begin, in bytes of `children`; the next one is the last */
};

struct search {
    struct lee_vector frames;
    struct lee_vector path;  /* objects of components that are not complete */
    struct lee_vector firsts; /* numbers of those with which a component may begin */
    struct lee_vector order;  /* objects, by component; a 0 behind each component */
    uint32_t last_number;
};

static uint32_t number_of(uintptr_t object) {
    return (uint32_t)(*lee_charge_of(object) >> 32);
}

static void set_number(uintptr_t object, uint32_t number) {
    uint64_t *entry = lee_charge_of(object);
    *entry = (uint32_t)*entry | (uint64_t)number << 32;
}

static void add_child(void *context, uintptr_t word) {
    uintptr_t object;
    size_t charge, bytes;
    const struct lee_layout *layout;
    (void)context;
    if (!find(word, &object, &charge, &layout, &bytes) || number_of(object) == ASSIGNED)
        return;
    uintptr_t *place = add(&precise.children, sizeof *place);
    if (place != NULL)
        *place = object;
}

static void *last_of(struct lee_vector *vector, size_t bytes) {
    return (unsigned char *)vector->data + vector->bytes - bytes;
}

static void push_word(struct lee_vector *vector, uintptr_t word) {
    uintptr_t *place = add(vector, sizeof *place);
    if (place != NULL)
        *place = word;
}

static void enter(struct search *search, uintptr_t object) {
    struct frame *frame = add(&search->frames, sizeof *frame);
    if (frame == NULL)
        return;
    *frame = (struct frame){object, precise.children.bytes};
    set_number(object, ++search->last_number);
    push_word(&search->path, object);
    push_word(&search->firsts, search->last_number);
    each_child(object, add_child);
}

/* All that the object reaches is known. If no way leads from there to an earlier object, its component is complete. */
static void leave(struct search *search, uintptr_t object) {
    uintptr_t *first = last_of(&search->firsts, sizeof *first), member;
    if (*first != number_of(object))
        return;
    search->firsts.bytes -= sizeof *first;
    do {
        member = *(uintptr_t *)last_of(&search->path, sizeof member);
        search->path.bytes -= sizeof member;
        set_number(member, ASSIGNED);
        push_word(&search->order, member);
    } while (member != object && !precise.lost);
    push_word(&search->order, 0);
}

static void search_from(struct search *search, uintptr_t object) {
    if (number_of(object) != 0)
        return;
    enter(search, object);
    while (search->frames.bytes > 0 && !precise.lost) {
        struct frame *frame = last_of(&search->frames, sizeof *frame);
        if (precise.children.bytes == frame->children) {
            uintptr_t done = frame->object;
            search->frames.bytes -= sizeof *frame;
            leave(search, done);
            continue;
        }
        uintptr_t child = *(uintptr_t *)last_of(&precise.children, sizeof child);
        precise.children.bytes -= sizeof child;
        uint32_t number = number_of(child);
        if (number == 0) {
            enter(search, child);
        } else if (number != ASSIGNED) {
            /* A circle: what was found since is one component with it. */
            while (*(uintptr_t *)last_of(&search->firsts, sizeof(uintptr_t)) > number)
                search->firsts.bytes -= sizeof(uintptr_t);
        }
    }
}

static void charge_child(void *context, uintptr_t word) {
    uintptr_t object;
    size_t charge, bytes;
    const struct lee_layout *layout;
    (void)context;
    if (find(word, &object, &charge, &layout, &bytes))
        widen(object, charge, precise.set);
}

/* Components come out of the search behind all that they reach; so from the end, each is final when its turn comes. */
static void charge_components(const struct search *search) {
    const uintptr_t *order = search->order.data;
    size_t end = search->order.bytes / sizeof *order;
    while (end > 0 && !precise.lost) {
        size_t last = end - 1, first = last; /* of the 0 behind it */
        while (first > 0 && order[first - 1] != 0)
            first--;
        uint32_t set = (uint32_t)*lee_charge_of(order[first]);
        for (size_t i = first + 1; i < last; i++)
            set = join(set, (uint32_t)*lee_charge_of(order[i]));
        precise.set = set;
        for (size_t i = first; i < last; i++)
            charge_child(NULL, order[i]);
        for (size_t i = first; i < last; i++)
            each_child(order[i], charge_child);
        end = first;
    }
}

static void solve_components(void) {
    struct search search = {.last_number = 0};
    const struct shared *shared = precise.shared.data;
    for (size_t i = 0; i < precise.shared.bytes / sizeof *shared; i++)
        set_number(shared[i].object, 0);
    uintptr_t object;
    while (!precise.lost && take_pending(&object))
        search_from(&search, object);
    charge_components(&search);
    struct lee_vector *vectors[] = {&search.frames, &search.path, &search.firsts, &search.order};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        lee_vector_free(vectors[i]);
}

static bool comes_before(const struct shared *a, const struct shared *b, bool by_object) {
    return by_object ? a->object < b->object : a->custodian < b->custodian;
}

/* Shell's sort, with gaps that are nearly Ciura's. */
static void sort(struct shared *shared, size_t count, bool by_object) {
    size_t gap = 1;
    while (gap < count / 3)
        gap = gap * 9 / 4 + 1;
    for (;; gap = gap * 4 / 9 > 0 ? gap * 4 / 9 : 1) {
        for (size_t i = gap; i < count; i++) {
            struct shared held = shared[i];
            size_t at = i;
            for (; at >= gap && comes_before(&held, &shared[at - gap], by_object); at -= gap)
                shared[at] = shared[at - gap];
            shared[at] = held;
        }
        if (gap == 1)
            return;
    }
}

/* What many custodians noted is one note of all of them, and those of the same custodians follow each other: one pass does for all.
 * From here on a note has the number of a set where it had a custodian's. */
static void group_notes(void) {
    struct shared *shared = precise.shared.data;
    size_t count = precise.shared.bytes / sizeof *shared, kept = 0;
    if (count > NOTES_MOST)
        return;
    sort(shared, count, true);
    for (size_t i = 0; i < count && !precise.lost; i++) {
        if (kept > 0 && shared[kept - 1].object == shared[i].object)
            shared[kept - 1].custodian = join(shared[kept - 1].custodian, shared[i].custodian);
        else
            shared[kept++] = shared[i];
    }
    precise.shared.bytes = kept * sizeof *shared;
    sort(shared, kept, false);
}

bool lee_precise_solve(struct lee_heap *heap, struct lee_marker *marker) {
    if (marker->overflows > 0)
        precise.lost = true;
    else
        group_notes();
    const struct shared *shared = precise.shared.data;
    size_t count = precise.shared.bytes / sizeof *shared, at = 0;
    /* Before the first collection nobody knows how many objects there are. */
    size_t objects = heap->counts.live_objects > 0 ? heap->counts.live_objects : heap->blocks_used * (LEE_BLOCK_BYTES / 64);
    precise.visits_most = 2 * objects;
    while (at < count && !precise.lost && precise.visits <= precise.visits_most && !lee_precise_quick) {
        size_t notes = notes_of_one(shared + at, count - at);
        spread_from(marker, shared + at, notes);
        at += notes;
    }
    if (at < count && !precise.lost) {
        for (; at < count && !precise.lost; at++) {
            uintptr_t object;
            size_t charge, bytes;
            const struct lee_layout *layout;
            if (find(shared[at].object, &object, &charge, &layout, &bytes) && widen(object, charge, shared[at].custodian))
                put_off(object);
        }
        solve_components();
    }
    return !precise.lost;
}

/* --- charges ------------------------------------------------------------------------------------------------------------------- */

void lee_precise_charge(void) {
    uint32_t sets = (uint32_t)(precise.bytes.bytes / sizeof(size_t));
    for (uint32_t set = 0; set < sets; set++) {
        size_t bytes = *bytes_of(set);
        if (bytes == 0)
            continue;
        for (size_t i = 0; i < precise.words; i++) {
            for (uint64_t members = members_of(set)[i]; members != 0; members &= members - 1) {
                struct lee_custodian *at = custodian_of((uint32_t)(i * 64 + (size_t)__builtin_ctzll(members)));
                for (; at != NULL && at->stamp != set; at = at->parent) {
                    at->stamp = set;
                    at->settled += bytes;
                }
            }
        }
    }
}

#endif
