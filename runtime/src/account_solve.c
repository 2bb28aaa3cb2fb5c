/* account_solve.c: who holds each object, from what marking by the precise policy wrote down.
 *
 * Promises: what account_precise.c does; however objects are shared, each is visited five times at
 * most after it was marked, the last two of them slowly.
 *
 * First segments: whoever holds one holds those whose gates it met. That needs no look at objects.
 * Then notes: if those who hold the segment from which an object was noted do not all hold the
 * object, they come to hold all that it reaches, in a pass as fast as marking (after Wick, Flatt
 * and Hsieh, "Reachability-Based Memory Accounting", 2002), which stops where they do and at gates;
 * if it stopped at a gate, all of this is done again. That may visit an object as often as there
 * are custodians. When visits exceed twice the objects of the heap the rest is done over strongly
 * connected components (path-based: Gabow, "Path-based depth-first search for strong and
 * biconnected components", 2000): all members of one have the same set, and components that are
 * taken in topological order are final when their turn comes. */
#include "account_solve.h"

#ifndef LEE_NO_GC

#include "custodian.h"
#include "system.h"

enum {
    WORK_MOST = 1 << 16, /* notes that are sorted */
    ROUNDS_MOST = 8,
    ONE_BY_ONE = 1 << 12, /* notes of a round whose visits are counted */
    GATE_VISITS = 64,     /* behind a note, that make it a gate */
    ASSIGNED = UINT32_MAX /* in `order`: the component is complete */
};

bool lee_precise_quick;

/* Those in `set` reach the object. */
struct work {
    uint64_t mark;
    uint32_t set;
};

static struct {
    struct lee_pairs widths; /* holders, by segment and `extra` */
    uint32_t set;            /* that comes to hold more */
    size_t visits, visits_most;
    struct lee_vector pending; /* marks of objects whose set grew */
    struct lee_vector children;
    struct lee_vector order; /* for each place in `lee_holders`: where the search is */
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

static uint32_t set_of(uint32_t holder) {
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
    *place = (struct lee_holder){.segment = segment, .extra = extra};
    return fresh;
}

/* Makes sets whole: whoever holds a segment holds those behind the gates that were met from there.
 * Each round goes through the edges in both directions: they are in the order in which segments
 * were found. */
static void close_segments(void) {
    size_t edges = lee_precise.edges.bytes / sizeof(struct lee_edge), words = lee_set_words();
    const struct lee_edge *edge = lee_precise.edges.data;
    uint32_t first = lee_precise.count, count = lee_segments() - first;
    struct lee_vector members = {NULL, 0, 0};
    uint64_t *all = edges == 0 ? NULL : lee_precise_add(&members, count * words * sizeof *all);
    if (all == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        __builtin_memcpy(all + i * words, lee_set_members(lee_segment(first + i)->set), words * sizeof *all);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < 2 * edges; i++) {
            struct lee_edge at = edge[i < edges ? i : 2 * edges - 1 - i];
            const uint64_t *from = at.from < first ? lee_set_members(lee_set_of(at.from)) : all + (at.from - first) * words;
            uint64_t *to = all + (at.to - first) * words;
            for (size_t k = 0; k < words; k++) {
                changed |= (from[k] & ~to[k]) != 0;
                to[k] |= from[k];
            }
        }
    }
    for (uint32_t i = 0; i < count && !lost(); i++)
        lee_segment(first + i)->set = lee_sets_number(all + i * words);
    lee_vector_free(&members);
}

/* --- notes ----------------------------------------------------------------------------------------------------------------- */

static bool comes_before(const struct work *a, const struct work *b, bool by_mark) {
    return by_mark ? a->mark < b->mark : a->set < b->set;
}

/* Shell's sort, with gaps that are nearly Ciura's. */
static void sort(struct work *work, size_t count, bool by_mark) {
    size_t gap = 1;
    while (gap < count / 3)
        gap = gap * 9 / 4 + 1;
    for (;; gap = gap * 4 / 9 > 0 ? gap * 4 / 9 : 1) {
        for (size_t i = gap; i < count; i++) {
            struct work held = work[i];
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
        if (lee_sets_within(set, set_of(lee_precise_holder(notes[i].mark))))
            continue;
        struct work *place = lee_precise_add(vector, sizeof *place);
        if (place != NULL)
            *place = (struct work){notes[i].mark, set};
    }
    struct work *work = vector->data;
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
    if (widened->after != 0) {
        lee_holder(widened->before)->bytes -= widened->bytes;
        lee_holder(widened->after - 1)->bytes += widened->bytes;
    }
    *widened = (struct lee_widened){0, 0, 0};
}

static void settle_all(void) {
    for (size_t i = 0; i < LEE_WIDENED; i++)
        settle(&lee_widened[i]);
}

struct lee_widened *lee_precise_widen(uint32_t before) {
    struct lee_widened *widened = &lee_widened[before % LEE_WIDENED];
    const struct lee_holder *held = lee_holder(before);
    uint32_t after = before;
    settle(widened);
    if (!lee_sets_within(solver.set, set_of(before))) {
        if (held->gate) {
            lee_segment(held->segment)->set = lee_sets_join(lee_segment(held->segment)->set, solver.set);
            settle_all(); /* all of the segment has become theirs */
        } else {
            after = wider(before, solver.set);
        }
    }
    *widened = (struct lee_widened){before, after + 1, 0};
    return widened;
}

static void spread(struct lee_marker *marker, const struct work *work, size_t count, struct lee_vector *gates) {
    marker->counting = LEE_COUNT_SPREAD;
    for (size_t i = 0; i < count && !lost() && solver.visits <= solver.visits_most; i++) {
        if (work[i].set != solver.set)
            settle_all();
        solver.set = work[i].set;
        uintptr_t object = lee_mark_object(work[i].mark).object;
        bool more = i + 1 < count && work[i + 1].set == work[i].set;
        lee_mark_word(marker, object);
        if (i >= ONE_BY_ONE && more && marker->depth <= marker->room / 2)
            continue;
        marker->charged = 0;
        lee_marker_drain(marker);
        solver.visits += marker->charged;
        lee_precise.lost |= marker->overflown;
        struct lee_gate *gate = i >= ONE_BY_ONE || marker->charged < GATE_VISITS ? NULL : lee_vector_add(gates, sizeof *gate);
        if (gate != NULL)
            *gate = (struct lee_gate){object, 0};
    }
    settle_all();
}

/* --- components -------------------------------------------------------------------------------------------------------------- */

struct frame {
    uint64_t mark;
    size_t children; /* where its children begin, in bytes of `children`; the next one is the last */
};

struct search {
    struct lee_vector frames;
    struct lee_vector path;   /* marks of objects of components that are not complete */
    struct lee_vector firsts; /* numbers of those with which a component may begin */
    struct lee_vector marks;  /* by component; a 0 behind each component */
    uint32_t last_number;
};

static void push(struct lee_vector *vector, uint64_t value) {
    uint64_t *place = lee_precise_add(vector, sizeof *place);
    if (place != NULL)
        *place = value;
}

static uint64_t *last_of(const struct lee_vector *vector) {
    return (uint64_t *)lee_vector_end(vector) - 1;
}

static uint64_t pop(struct lee_vector *vector) {
    uint64_t value = *last_of(vector);
    vector->bytes -= sizeof value;
    return value;
}

/* Where the search keeps an object's number; null if there is no memory. */
static uint32_t *order_of(uint64_t mark) {
    const uint32_t *found = lee_found_holder(mark);
    size_t place = found != NULL ? (size_t)(found - lee_holders) : lee_precise_place(mark);
    if (lost())
        return NULL;
    if (place >= solver.order.bytes / sizeof(uint32_t)) {
        size_t more = (place + 1) * sizeof(uint32_t) - solver.order.bytes / 2;
        void *fresh = lee_precise_add(&solver.order, more);
        if (fresh == NULL)
            return NULL;
        __builtin_memset(fresh, 0, more);
    }
    return (uint32_t *)solver.order.data + place;
}

static uint32_t number_of(uint64_t mark) {
    const uint32_t *order = order_of(mark);
    return order == NULL ? ASSIGNED : *order;
}

static void set_number(uint64_t mark, uint32_t number) {
    uint32_t *order = order_of(mark);
    if (order != NULL)
        *order = number;
}

/* The mark of the object that a word points into, if sets go through it; 0 if not. */
static uint64_t find(uintptr_t word) {
    uint64_t mark = lee_mark_of(lee_precise.heap, word);
    if (mark == 0 || !lee_mark_is_set(mark))
        return 0;
    const struct lee_layout *layout = lee_mark_object(mark).layout;
    return layout->kind == LEE_LAYOUT_TRACED && lee_is_handle(layout) ? 0 : mark;
}

static void each_child(uint64_t mark, void (*visit)(void *, uintptr_t)) {
    static struct lee_marker observer; /* it is large */
    struct lee_marked object = lee_mark_object(mark);
    observer.heap = lee_precise.heap;
    observer.observe = visit;
    lee_layout_each(object.layout, object.object, object.object + object.bytes, visit, NULL, &observer);
}

/* Those in `set` hold the object too; true if that is news. */
static bool widen(uint64_t mark, uint32_t set) {
    const uint32_t *found = lee_found_holder(mark);
    uint32_t before = found != NULL ? *found : lee_precise_holder(mark);
    if (lee_sets_within(set, set_of(before)) || lost())
        return false;
    size_t charge = lee_mark_object(mark).charge;
    uint32_t after = wider(before, set);
    lee_precise_set_holder(mark, after);
    lee_holder(before)->bytes -= charge;
    lee_holder(after)->bytes += charge;
    return true;
}

static void add_child(void *context, uintptr_t word) {
    uint64_t mark = find(word);
    (void)context;
    if (mark != 0 && number_of(mark) != ASSIGNED)
        push(&solver.children, mark);
}

static void enter(struct search *search, uint64_t mark) {
    struct frame *frame = lee_precise_add(&search->frames, sizeof *frame);
    if (frame == NULL)
        return;
    *frame = (struct frame){mark, solver.children.bytes};
    set_number(mark, ++search->last_number);
    push(&search->path, mark);
    push(&search->firsts, search->last_number);
    each_child(mark, add_child);
}

/* All that the object reaches is known. If no way leads from there to an earlier object, its
 * component is complete. */
static void leave(struct search *search, uint64_t mark) {
    if (*last_of(&search->firsts) != number_of(mark))
        return;
    pop(&search->firsts);
    uint64_t member;
    do {
        member = pop(&search->path);
        set_number(member, ASSIGNED);
        push(&search->marks, member);
    } while (member != mark && !lost());
    push(&search->marks, 0);
}

static void search_from(struct search *search, uint64_t mark) {
    if (number_of(mark) != 0)
        return;
    enter(search, mark);
    while (search->frames.bytes > 0 && !lost()) {
        const struct frame *frame = (struct frame *)lee_vector_end(&search->frames) - 1;
        if (solver.children.bytes == frame->children) {
            uint64_t done = frame->mark;
            search->frames.bytes -= sizeof *frame;
            leave(search, done);
            continue;
        }
        uint64_t child = pop(&solver.children);
        uint32_t number = number_of(child);
        if (number == 0) {
            enter(search, child);
        } else if (number != ASSIGNED) {
            /* A circle: what was found since is one component with it. */
            while (*last_of(&search->firsts) > number)
                pop(&search->firsts);
        }
    }
}

static void charge_child(void *context, uintptr_t word) {
    uint64_t mark = find(word);
    (void)context;
    if (mark != 0)
        widen(mark, solver.set);
}

/* Components come out of the search behind all that they reach; so from the end, each is final when
 * its turn comes. */
static void charge_components(const struct search *search) {
    const uint64_t *marks = search->marks.data;
    size_t end = search->marks.bytes / sizeof *marks;
    while (end > 0 && !lost()) {
        size_t last = end - 1, first = last; /* of the 0 behind it */
        while (first > 0 && marks[first - 1] != 0)
            first--;
        solver.set = LEE_SET_EMPTY;
        for (size_t i = first; i < last; i++)
            solver.set = lee_sets_join(solver.set, set_of(lee_precise_holder(marks[i])));
        for (size_t i = first; i < last; i++)
            widen(marks[i], solver.set);
        for (size_t i = first; i < last; i++)
            each_child(marks[i], charge_child);
        end = first;
    }
}

static void solve_components(const struct lee_vector *vector) {
    struct search search = {.last_number = 0};
    const struct work *work = vector->data;
    for (size_t i = 0; i < vector->bytes / sizeof *work && !lost(); i++) {
        if (find(lee_mark_object(work[i].mark).object) != 0 && widen(work[i].mark, work[i].set))
            push(&solver.pending, work[i].mark);
    }
    while (solver.pending.bytes > 0 && !lost())
        search_from(&search, pop(&solver.pending));
    charge_components(&search);
    struct lee_vector *vectors[] = {&search.frames, &search.path, &search.firsts, &search.marks};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        lee_vector_free(vectors[i]);
}

/* --- all of it --------------------------------------------------------------------------------------------------------------- */

/* About how many are marked: nobody counted. They are as large as those of the last collection. */
static size_t count_objects(const struct lee_heap *heap) {
    size_t bytes = 0, size = heap->counts.live_objects > 0 ? heap->counts.live_bytes / heap->counts.live_objects + 1 : 64;
    for (uint32_t n = 0; n < lee_segments(); n++)
        bytes += lee_holder(n)->bytes;
    return bytes / size;
}

void lee_account_solve(struct lee_heap *heap, struct lee_marker *marker, struct lee_vector *gates) {
    struct lee_vector work = {NULL, 0, 0};
    solver.visits = 0;
    solver.visits_most = 2 * count_objects(heap);
    for (int rounds = 0; !lost(); rounds++) {
        close_segments();
        find_work(&work);
        if (work.bytes == 0)
            break;
        if (lee_precise_quick || rounds == ROUNDS_MOST || solver.visits > solver.visits_most) {
            solve_components(&work);
            break;
        }
        spread(marker, work.data, work.bytes / sizeof(struct work), gates);
    }
    struct lee_vector *vectors[] = {&work, &solver.pending, &solver.children, &solver.order};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        lee_vector_free(vectors[i]);
    lee_pairs_free(&solver.widths);
}

void lee_precise_charge(void) {
    size_t holders = lee_precise.holders.bytes / sizeof(struct lee_holder);
    for (uint32_t n = 0; n < holders; n++) {
        size_t bytes = lee_holder(n)->bytes;
        uint32_t set = bytes == 0 ? LEE_SET_EMPTY : set_of(n);
        for (size_t i = 0; set != LEE_SET_EMPTY && i < lee_set_words(); i++) {
            for (uint64_t members = lee_set_members(set)[i]; members != 0; members &= members - 1) {
                uint32_t member = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(members));
                ((struct lee_custodian **)lee_precise.custodians.data)[member]->settled += bytes;
            }
        }
    }
}

#endif
