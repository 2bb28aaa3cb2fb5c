/* account_solve.c: who holds each object, from what marking by the precise policy wrote down.
 *
 * Promises: what account_precise.c does; however objects are shared, to find out takes at most as
 * long as to mark them three times, as far as sets of custodians are joined in constant time.
 *
 * First segments: whoever holds one holds those whose gates it met. That needs no look at objects.
 * Then notes: if those who hold the segment from which an object was noted do not all hold the
 * object, they come to hold all that it reaches, in a pass as fast as marking (after Wick, Flatt
 * and Hsieh, "Reachability-Based Memory Accounting", 2002), which stops where they do and at gates;
 * if it stopped at a gate, all of this is done again. That may visit an object as often as there
 * are custodians; when there were too many visits, or will be, the rest is done over components
 * (account_components.c). */
#include "account_solve.h"

#ifndef LEE_NO_GC

#include "custodian.h"
#include "system.h"

enum {
    WORK_MOST = 1 << 16, /* notes that are sorted */
    ROUNDS_MOST = 8,
    FEW_SETS = 2, SOME_SETS = 8,
    VISITS_PART = 9, /* passes may visit so many eighths of the objects */
    GATE_VISITS = 64, /* behind a note, that make it a gate */
    ONE_BY_ONE = 1 << 12 /* notes of a round whose visits are counted */
};

enum lee_precise_how lee_precise_how;

static struct {
    struct lee_pairs widths; /* holders, by segment and `extra` */
    uint32_t set;            /* that comes to hold more */
    unsigned used;           /* entries of `lee_widened` */
    uint8_t in_use[LEE_WIDENED];
} solver;

/* --- tables ---------------------------------------------------------------------------------------------------------------- */

static struct lee_pair *place_of(const struct lee_pairs *pairs, uint64_t a, uint32_t b) {
    uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xc2b2ae3d27d4eb4fu;
    size_t at = (size_t)(hash >> 20) & pairs->mask;
    while (pairs->entries[at].value != 0 && (pairs->entries[at].a != a || pairs->entries[at].b != b))
        at = (at + 1) & pairs->mask;
    return &pairs->entries[at];
}

void lee_pairs_free(struct lee_pairs *pairs) {
    if (pairs->entries != NULL)
        lee_system_release(pairs->entries, (pairs->mask + 1) * sizeof *pairs->entries);
    *pairs = (struct lee_pairs){NULL, 0, 0};
}

static bool grow(struct lee_pairs *pairs) {
    size_t old = pairs->entries == NULL ? 0 : pairs->mask + 1, entries = old == 0 ? 1024 : 2 * old;
    struct lee_pairs fresh = {lee_system_reserve(NULL, entries * sizeof *pairs->entries), entries - 1, pairs->used};
    if (fresh.entries == NULL)
        return false;
    for (size_t i = 0; i < old; i++) {
        if (pairs->entries[i].value != 0)
            *place_of(&fresh, pairs->entries[i].a, pairs->entries[i].b) = pairs->entries[i];
    }
    lee_pairs_free(pairs);
    *pairs = fresh;
    return true;
}

uint32_t lee_pairs_add(struct lee_pairs *pairs, uint64_t a, uint32_t b, uint32_t value) {
    if ((pairs->entries == NULL || 2 * pairs->used > pairs->mask) && !grow(pairs)) {
        lee_precise.lost = true;
        return value;
    }
    struct lee_pair *pair = place_of(pairs, a, b);
    if (pair->value != 0)
        return pair->value;
    *pair = (struct lee_pair){a, b, value};
    pairs->used++;
    return 0;
}

/* --- who holds what ---------------------------------------------------------------------------------------------------------- */

static bool lost(void) {
    return lee_precise.lost || lee_sets_lost;
}

uint32_t lee_holder_set(uint32_t holder) {
    const struct lee_holder *held = lee_holder(holder);
    uint32_t set = lee_segment(held->segment)->set;
    return held->extra == LEE_SET_EMPTY ? set : lee_sets_join(set, held->extra);
}

/* The holder of what those in `set` come to hold, and who it had before. */
static uint32_t wider(uint32_t before, uint32_t set) {
    const struct lee_holder *held = lee_holder(before);
    uint32_t segment = held->segment, extra = lee_sets_join(held->extra, set);
    uint32_t fresh = (uint32_t)(lee_precise.holders.bytes / sizeof(struct lee_holder));
    uint32_t known = lee_pairs_add(&solver.widths, segment, extra, fresh);
    if (known != 0)
        return lee_precise.lost ? before : known; /* without memory nothing is known */
    struct lee_holder *place = lee_precise_add(&lee_precise.holders, sizeof *place);
    if (place == NULL)
        return before;
    *place = (struct lee_holder){.segment = segment, .extra = extra, .base = fresh};
    return fresh;
}

/* --- notes ----------------------------------------------------------------------------------------------------------------- */

static bool comes_before(const struct lee_held *a, const struct lee_held *b, bool by_mark) {
    return by_mark ? a->mark < b->mark : a->set < b->set;
}

/* Shell's sort, with gaps that are nearly Ciura's. */
static void sort(struct lee_held *work, size_t count, bool by_mark) {
    size_t gap = 1;
    while (gap < count / 3)
        gap = gap * 9 / 4 + 1;
    for (;; gap = gap * 4 / 9 > 0 ? gap * 4 / 9 : 1) {
        for (size_t i = gap; i < count; i++) {
            struct lee_held held = work[i];
            size_t at = i;
            for (; at >= gap && comes_before(&held, &work[at - gap], by_mark); at -= gap)
                work[at] = work[at - gap];
            work[at] = held;
        }
        if (gap == 1)
            return;
    }
}

/* What is still to be done: what many segments noted is there once, with all who hold them, and
 * work of the same set follows each other, so that one pass does for all. */
static void find_work(struct lee_vector *vector) {
    const struct lee_note *notes = lee_precise.notes.data;
    size_t count = lee_precise.notes.bytes / sizeof *notes, kept = 0;
    vector->bytes = 0;
    for (size_t i = 0; i < count && !lost(); i++) {
        uint32_t set = lee_segment(notes[i].from)->set;
        if (lee_sets_within(set, lee_holder_set(lee_precise_holder(notes[i].mark))))
            continue;
        struct lee_held *place = lee_precise_add(vector, sizeof *place);
        if (place != NULL)
            *place = (struct lee_held){notes[i].mark, set};
    }
    struct lee_held *work = vector->data;
    count = vector->bytes / sizeof *work;
    if (count > WORK_MOST)
        return;
    sort(work, count, true);
    for (size_t i = 0; i < count && !lost(); i++) {
        if (kept > 0 && work[kept - 1].mark == work[i].mark)
            work[kept - 1].set = lee_sets_join(work[kept - 1].set, work[i].set);
        else
            work[kept++] = work[i];
    }
    vector->bytes = kept * sizeof *work;
    sort(work, kept, false);
}

struct lee_widened lee_widened[LEE_WIDENED];

static void settle(struct lee_widened *widened) {
    lee_holder(widened->before)->bytes -= widened->bytes;
    lee_holder(widened->after - 1)->bytes += widened->bytes;
    *widened = (struct lee_widened){0, 0, 0};
}

static void settle_all(void) {
    while (solver.used > 0) {
        struct lee_widened *widened = &lee_widened[solver.in_use[--solver.used]];
        if (widened->after != 0)
            settle(widened);
    }
}

struct lee_widened *lee_precise_widen(uint32_t before) {
    unsigned entry = before % LEE_WIDENED;
    struct lee_widened *widened = &lee_widened[entry];
    const struct lee_holder *held = lee_holder(before);
    uint32_t after = before;
    bool was_used = widened->after != 0;
    if (was_used)
        settle(widened);
    if (!lee_sets_within(solver.set, lee_holder_set(before))) {
        if (held->gate) {
            lee_segment(held->segment)->set = lee_sets_join(lee_segment(held->segment)->set, solver.set);
            settle_all(); /* all of the segment has become theirs */
            was_used = false;
        } else {
            after = wider(before, solver.set);
        }
    }
    if (!was_used)
        solver.in_use[solver.used++] = (uint8_t)entry;
    *widened = (struct lee_widened){before, after + 1, 0};
    return widened;
}

/* False if there were too many visits: then what is reached from `work` is not theirs yet, as far
 * as it has not been visited. */
static bool spread(struct lee_marker *marker, const struct lee_held *work, size_t count, struct lee_vector *gates) {
    marker->counting = LEE_COUNT_SPREAD;
    for (size_t i = 0; i < count && !lost() && marker->visits_left > 0; i++) {
        if (work[i].set != solver.set)
            settle_all();
        solver.set = work[i].set;
        uintptr_t object = lee_mark_object(work[i].mark).object;
        bool more = i + 1 < count && work[i + 1].set == work[i].set;
        lee_mark_word(marker, object);
        if (i >= ONE_BY_ONE && more && marker->depth <= marker->room / 2)
            continue;
        size_t before = marker->visits_left;
        lee_marker_drain(marker);
        lee_precise.lost |= marker->overflown;
        bool many = i < ONE_BY_ONE && before - marker->visits_left >= GATE_VISITS;
        struct lee_gate *gate = many ? lee_vector_add(gates, sizeof *gate) : NULL;
        if (gate != NULL)
            *gate = (struct lee_gate){object, 0};
    }
    settle_all();
    return marker->visits_left > 0;
}

/* --- all of it --------------------------------------------------------------------------------------------------------------- */

/* About how many are marked: nobody counted. They are as large as those of the last collection. */
static size_t count_objects(const struct lee_heap *heap) {
    size_t bytes = 0, size = heap->counts.live_objects > 0 ? heap->counts.live_bytes / heap->counts.live_objects + 1 : 64;
    for (uint32_t n = 0; n < lee_segments(); n++)
        bytes += lee_holder(n)->bytes;
    return bytes / size;
}

/* How many visits passes may make in all. Each of two sets visits an object once at most, which is
 * as quick as anything. Otherwise components have what is left in the end, which costs half as much
 * again as marking it. They do not stop at gates, as passes do; so without gates and with many sets
 * they begin at once. */
static size_t visits_most(const struct lee_heap *heap, const struct lee_held *work, size_t count) {
    bool gates = lee_segments() > lee_precise.count;
    size_t sets = 1;
    for (size_t i = 1; i < count && sets <= SOME_SETS; i++)
        sets += work[i].set != work[i - 1].set;
    if (sets <= FEW_SETS && !gates)
        return SIZE_MAX;
    return sets <= SOME_SETS ? count_objects(heap) / 8 * VISITS_PART : gates ? count_objects(heap) / 4 : 0;
}

void lee_account_solve(struct lee_heap *heap, struct lee_marker *marker, struct lee_vector *gates) {
    struct lee_vector vector = {NULL, 0, 0};
    size_t visits = 0;
    if (lee_precise.notes_left == 0 && !lost()) {
        lee_account_components(marker, NULL, 0, NULL);
        return;
    }
    for (int rounds = 0; !lost(); rounds++) {
        lee_account_close_segments();
        find_work(&vector);
        const struct lee_held *work = vector.data;
        size_t count = vector.bytes / sizeof *work, most = count == 0 ? 0 : visits_most(heap, work, count);
        if (count == 0)
            break;
        size_t left = marker->visits_left = most > visits && lee_precise_how == LEE_PRECISE_USUALLY && rounds < ROUNDS_MOST ? most - visits : 0;
        bool done = left > 0 && spread(marker, work, count, gates);
        visits += left - marker->visits_left;
        if (!done) {
            lee_account_components(marker, work, count, gates);
            break;
        }
    }
    heap->counts.steps += visits + lee_precise.notes.bytes / sizeof(struct lee_note);
    lee_vector_free(&vector);
    lee_pairs_free(&solver.widths);
}

void lee_precise_charge(void) {
    for (uint32_t n = 0; n < lee_precise.holders.bytes / sizeof(struct lee_holder); n++) {
        if (lee_holder(n)->bytes != 0)
            *lee_set_bytes(lee_holder_set(n)) += lee_holder(n)->bytes;
    }
    for (uint32_t set = 0; set < lee_sets_count(); set++) {
        size_t bytes = *lee_set_bytes(set);
        for (size_t i = 0; bytes != 0 && i < lee_set_words(); i++) {
            for (uint64_t members = lee_set_members(set)[i]; members != 0; members &= members - 1) {
                uint32_t member = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(members));
                ((struct lee_custodian **)lee_precise.custodians.data)[member]->settled += bytes;
            }
        }
    }
}

#endif
