/* account_precise.c: the precise policy: the set of custodians that reach each object.
 *
 * Promises: an object that several custodians reach is charged in full to each of them, and once to
 * those above them. Solving is in account_solve.c.
 *
 * Custodians mark in post-order. What one marks is its *segment*: it holds all of it, and whoever
 * else reaches some of it reaches what that points to. A block says who holds its objects, as a
 * number, as long as that is one segment; from the second on, each object has a number of its own.
 * So an object costs what blame-the-child costs and a comparison. An object that is marked already
 * and another segment's is *noted*, once for each segment that it was met from.
 *
 * Objects behind which much was found to be shared are *gates* in the next collections. A gate is
 * marked before marking begins, so it is met as what is shared is; when that happens first, what it
 * reaches and nobody marked yet becomes a segment of its own, before anything else is marked. All
 * who meet a gate hold its segment as a whole: that takes a note of the two segments, whatever
 * their sizes. So as long as the same objects are shared through the same gates, each object is
 * visited once. */
#include "precise.h"

#ifndef LEE_NO_GC

#include "account_solve.h"
#include "custodian.h"
#include "process.h"
#include "small.h"

enum {
    GATES_MOST = 1 << 12,
    /* So many notes at most, or such a part of the objects that lived. */
    NOTES_LEAST = 1 << 10, NOTES_PART = 32,
    PATIENCE = 8 /* collections in which a gate may be met by nobody or from one segment only */
};

struct lee_precise lee_precise;
uint32_t *lee_holders;

/* A segment that waits until all behind a gate is marked. */
struct waiting {
    uint32_t holder;
    size_t base, range_base;
};

struct met {
    uint64_t mark;
    uintptr_t word;
    uint32_t segment;
};

static struct lee_vector gates;   /* `struct lee_gate`: known from earlier collections */
static struct lee_vector holders; /* the vector behind `lee_holders`; kept between collections */

void *lee_precise_grow(struct lee_vector *vector, size_t bytes) {
    void *place = lee_vector_add(vector, bytes);
    if (place == NULL)
        lee_precise.lost = true;
    return place;
}

/* --- holders --------------------------------------------------------------------------------------------------------------- */

static uint32_t small_holders[LEE_SMALL_PAGES][LEE_SMALL_CELLS]; /* of cells in pages of 4 KB */

static uint32_t *holder_of(uint64_t mark) {
    unsigned code = (unsigned)(mark >> LEE_MARK_CODE_SHIFT);
    if (code < LEE_CODE_PAGES)
        return lee_block_holder(mark);
    uintptr_t object = lee_mark_object(mark).object;
    if (code == LEE_CODE_PAGES)
        return &((struct lee_arena *)object)->holder;
    return &small_holders[lee_small_of(object) == lee_precise.heap->small ? 0 : 1][(object & (LEE_PAGE_BYTES - 1)) / 16];
}

/* Whether no other object has the same place for its holder. */
static bool is_alone(uint64_t mark) {
    return lee_cell_info[mark >> LEE_MARK_CODE_SHIFT].count == 0;
}

static uint32_t *own_holder(uint32_t holder, uint64_t mark) {
    return lee_own_holder(holder, is_alone(mark) ? 0 : mark);
}

uint32_t lee_precise_holder(uint64_t mark) {
    uint32_t holder = *holder_of(mark);
    return holder < LEE_HOLDER_EACH ? holder : *own_holder(holder, mark);
}

/* From here on each object of the block has a number of its own. */
static bool split(uint64_t mark, uint32_t *holder) {
    size_t count = is_alone(mark) ? 1 : lee_cell_info[mark >> LEE_MARK_CODE_SHIFT].count;
    size_t places = (count + LEE_HOLDERS_UNIT - 1) / LEE_HOLDERS_UNIT * LEE_HOLDERS_UNIT;
    size_t start = holders.bytes / sizeof *holder / LEE_HOLDERS_UNIT;
    uint32_t *own = start < LEE_HOLDER_EACH ? lee_precise_add(&holders, places * sizeof *own) : NULL;
    if (own == NULL) {
        lee_precise.lost = true;
        return false;
    }
    lee_holders = holders.data;
    for (size_t i = 0; i < count; i++)
        own[i] = *holder;
    *holder = LEE_HOLDER_EACH + (uint32_t)start;
    return true;
}

bool lee_precise_set_holder(uint64_t mark, uint32_t number) {
    uint32_t *holder = holder_of(mark);
    if (*holder == number)
        return true;
    bool whole = *holder < LEE_HOLDER_EACH && (is_alone(mark) || *holder == LEE_HOLDER_NONE);
    if (!whole && *holder < LEE_HOLDER_EACH && !split(mark, holder))
        return false;
    *(whole ? holder : own_holder(*holder, mark)) = number;
    return true;
}

size_t lee_precise_place(uint64_t mark) {
    uint32_t *holder = holder_of(mark);
    if (*holder < LEE_HOLDER_EACH && !split(mark, holder))
        return 0;
    return (size_t)(own_holder(*holder, mark) - lee_holders);
}

static void forget_holders(struct lee_unit *unit) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    size_t first = lee_first_block(chunk, unit);
    for (size_t i = 0; i < LEE_BLOCKS_A_UNIT; i++)
        chunk->holder[first + i] = LEE_HOLDER_NONE;
}

static uint32_t new_holder(uint32_t segment, bool gate) {
    uint32_t number = (uint32_t)(lee_precise.holders.bytes / sizeof(struct lee_holder));
    struct lee_holder *holder = lee_precise_add(&lee_precise.holders, sizeof *holder);
    if (holder != NULL)
        *holder = (struct lee_holder){.segment = segment, .extra = LEE_SET_EMPTY, .base = number, .gate = gate};
    return number;
}

static void new_segment(struct lee_segment fresh) {
    struct lee_segment *segment = lee_precise_add(&lee_precise.segments, sizeof *segment);
    if (segment != NULL) {
        *segment = fresh;
        new_holder((uint32_t)(lee_precise.segments.bytes / sizeof *segment) - 1, false);
    }
}

/* --- the beginning and the end --------------------------------------------------------------------------------------------- */

void lee_precise_end(void) {
    struct lee_vector *vectors[] = {&lee_precise.custodians, &lee_precise.segments, &lee_precise.holders, &lee_precise.edges,
                                    &lee_precise.notes, &lee_precise.met, &lee_precise.waiting, &lee_precise.behind};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        lee_vector_free(vectors[i]);
    lee_sets_end();
}

void lee_precise_release(void) {
    lee_vector_free(&gates);
    lee_vector_free(&holders);
}

/* Numbers are given in post-order. */
static void number_custodians(struct lee_custodian *first) {
    struct lee_vector above = {NULL, 0, 0};
    for (struct lee_custodian *at = lee_custodian_deepest(first); at != NULL; at = lee_custodian_after(at)) {
        struct lee_custodian **place = lee_precise_add(&lee_precise.custodians, sizeof at);
        if (place == NULL)
            break;
        *place = at;
        at->number = lee_precise.count++;
        at->lowest = at->child == NULL ? at->number : UINT32_MAX;
    }
    for (uint32_t n = 0; n < lee_precise.count && !lee_precise.lost; n++) {
        struct lee_custodian *at = ((struct lee_custodian **)lee_precise.custodians.data)[n];
        if (at->parent != NULL && at->lowest < at->parent->lowest)
            at->parent->lowest = at->lowest;
        uint32_t *place = lee_precise_add(&above, sizeof *place);
        if (place != NULL)
            *place = at->parent == NULL ? UINT32_MAX : at->parent->number;
    }
    if (!lee_precise.lost)
        lee_sets_begin(above.data, lee_precise.count);
    lee_vector_free(&above);
}

/* Marks the gates that are still objects. Each has a segment, and a holder for itself. */
static void mark_gates(void) {
    struct lee_gate *all = gates.data;
    size_t kept = 0;
    for (size_t i = 0; i < gates.bytes / sizeof *all && !lee_precise.lost; i++) {
        uint64_t mark = lee_mark_of(lee_precise.heap, all[i].object);
        if (mark == 0 || lee_mark_is_set(mark) || lee_mark_object(mark).object != all[i].object)
            continue;
        all[kept++] = all[i];
        new_segment((struct lee_segment){.gate = mark, .set = LEE_SET_EMPTY});
        if (!lee_precise.lost) /* what no segment names would stay marked, unread */
            lee_mark_set(mark, true);
    }
    gates.bytes = kept * sizeof *all;
    if (kept == 0 || lee_precise.lost)
        return;
    for (size_t i = 0; i < kept && !lee_precise.lost; i++) {
        uint32_t segment = lee_precise.count + (uint32_t)i;
        lee_precise_set_holder(lee_segment(segment)->gate, new_holder(segment, true));
    }
    /* So that going through gates needs no memory. */
    lee_precise_add(&lee_precise.met, kept * sizeof(struct met));
    lee_precise_add(&lee_precise.waiting, kept * sizeof(struct waiting));
    lee_precise.met.bytes = lee_precise.waiting.bytes = 0;
}

void lee_precise_close_gates(void) {
    for (uint32_t n = lee_precise.count; n < lee_segments(); n++) {
        struct lee_segment *segment = lee_segment(n);
        if (!segment->open && segment->gate != 0)
            lee_mark_set(segment->gate, false);
        if (!segment->open)
            segment->gate = 0;
    }
}

bool lee_precise_begin(struct lee_heap *heap, struct lee_custodian *first) {
    size_t notes = heap->counts.live_objects / NOTES_PART > NOTES_LEAST ? heap->counts.live_objects / NOTES_PART : NOTES_LEAST;
    lee_precise = (struct lee_precise){.heap = heap, .notes_left = lee_precise_how == LEE_PRECISE_ALL ? 0 : notes};
    holders.bytes = 0;
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next)
        forget_holders(unit);
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next)
        forget_holders(unit);
    for (struct lee_arena *key = heap->process->arenas.keys; key != NULL; key = key->older)
        key->holder = LEE_HOLDER_NONE;
    for (size_t i = 0; i < LEE_SMALL_PAGES * LEE_SMALL_CELLS; i++)
        small_holders[i / LEE_SMALL_CELLS][i % LEE_SMALL_CELLS] = LEE_HOLDER_NONE;
    number_custodians(first);
    for (uint32_t n = 0; n < lee_precise.count && !lee_precise.lost; n++)
        new_segment((struct lee_segment){.set = lee_set_of(n), .opener = n, .open = true});
    if (!lee_precise.lost)
        mark_gates();
    if (!lee_precise.lost && !lee_sets_lost)
        return true;
    lee_precise_close_gates();
    lee_precise_end();
    return false;
}

/* --- marking --------------------------------------------------------------------------------------------------------------- */

/* When there were too many notes, only gates are of interest: somebody has to mark what is behind
 * them. */
static bool must_meet(void) {
    return lee_precise.notes_left > 0 || lee_segments() > lee_precise.count;
}

void lee_precise_custodian(struct lee_custodian *custodian, struct lee_marker *marker) {
    lee_precise.custodian = custodian;
    marker->holder = custodian->number;
    marker->meets = must_meet();
}

/* What was marked since it was last asked is the segment's. */
static void settle(struct lee_marker *marker) {
    lee_holder(marker->holder)->bytes += marker->charged;
    marker->charged = 0;
}

static bool know(uintptr_t word) {
    struct lee_behind *place = lee_precise_add(&lee_precise.behind, sizeof *place);
    if (place != NULL)
        *place = (struct lee_behind){word, lee_precise.custodian->number};
    return place != NULL;
}

void lee_precise_put_off(struct lee_marker *marker, uintptr_t word) {
    if (!know(word))
        lee_mark_word(marker, word);
}

/* They are looked at once more, with what handles refer to: that costs little. */
void lee_precise_keep(const uintptr_t *words, size_t count) {
    lee_precise.runs = lee_precise.custodian;
    for (size_t i = 0; i < count; i++)
        know(words[i]);
}

void lee_precise_marked(struct lee_marker *marker) {
    while (lee_precise.behind_marked < lee_precise.behind.bytes / sizeof(struct lee_behind)) {
        lee_mark_word(marker, ((const struct lee_behind *)lee_precise.behind.data)[lee_precise.behind_marked++].word);
        lee_marker_drain(marker);
    }
    settle(marker);
}

/* Who passes the gate holds what lies behind it. */
static void pass_gate(struct lee_marker *marker, uint32_t number, uint64_t mark, uintptr_t word) {
    struct lee_segment *segment = lee_segment(number);
    if (!segment->open) {
        segment->open = true;
        segment->opener = lee_precise.custodian->number;
        segment->set = lee_set_of(segment->opener);
        *(struct met *)lee_precise_add(&lee_precise.met, sizeof(struct met)) = (struct met){mark, word, number};
        marker->gates++;
    }
    struct lee_edge *edge = lee_precise_add(&lee_precise.edges, sizeof *edge);
    if (edge != NULL)
        *edge = (struct lee_edge){marker->holder, number, 0};
    segment->met++;
}

/* One segment marks after the other, so the base knows the right holder, mostly; otherwise there are
 * two for the same. */
static void note(uint64_t mark, uint32_t base, uint32_t from) {
    uint32_t number = lee_holder(base)->notes;
    if (number == 0 || lee_holder(number)->noted != from + 1) {
        number = (uint32_t)(lee_precise.holders.bytes / sizeof(struct lee_holder));
        struct lee_holder *fresh = lee_precise_add(&lee_precise.holders, sizeof *fresh);
        if (fresh == NULL)
            return;
        struct lee_holder *of = lee_holder(base);
        *fresh = (struct lee_holder){.segment = of->segment, .extra = of->extra, .base = base, .noted = from + 1};
        of->notes = number;
    }
    struct lee_note *place = lee_precise_set_holder(mark, number) ? lee_precise_add(&lee_precise.notes, sizeof *place) : NULL;
    if (place != NULL)
        *place = (struct lee_note){mark, from};
}

void lee_precise_meet(struct lee_marker *marker, uint64_t mark, uintptr_t word) {
    const struct lee_holder *holder = lee_holder(lee_precise_holder(mark));
    uint32_t from = marker->holder, number = holder->segment;
    struct lee_segment *segment = lee_segment(number);
    if (number == from || segment->covered == from + 1)
        return;
    /* Whoever is charged below a custodian charges it too. Its numbers follow each other. */
    bool below = from < lee_precise.count && segment->opener < from && segment->opener >= lee_precise.custodian->lowest && segment->open;
    if (below || holder->gate) {
        segment->covered = from + 1;
        if (holder->gate)
            pass_gate(marker, number, mark, word);
    } else if (holder->noted != from + 1 && lee_precise.notes_left > 0 && !lee_is_handle(lee_mark_object(mark).layout)) {
        if (--lee_precise.notes_left == 0)
            marker->meets = must_meet();
        note(mark, holder->base, from);
    }
}

uint64_t lee_precise_enter(struct lee_marker *marker, uintptr_t *word) {
    settle(marker);
    *(struct waiting *)lee_precise_add(&lee_precise.waiting, sizeof(struct waiting)) =
        (struct waiting){marker->holder, marker->segment_base, marker->range_base};
    lee_precise.met.bytes -= sizeof(struct met);
    const struct met *met = lee_vector_end(&lee_precise.met);
    marker->gates--;
    marker->holder = met->segment;
    marker->base = marker->segment_base = marker->depth;
    marker->range_base = marker->range_depth;
    *word = met->word;
    return met->mark;
}

bool lee_precise_leave(struct lee_marker *marker) {
    if (lee_precise.waiting.bytes == 0)
        return false;
    settle(marker);
    lee_precise.waiting.bytes -= sizeof(struct waiting);
    const struct waiting *waiting = lee_vector_end(&lee_precise.waiting);
    marker->holder = waiting->holder;
    marker->base = marker->segment_base = waiting->base;
    marker->range_base = waiting->range_base;
    return true;
}

/* --- what is learnt ---------------------------------------------------------------------------------------------------------- */

static void add_gate(struct lee_gate gate) {
    struct lee_gate *place = gates.bytes / sizeof gate < GATES_MOST ? lee_vector_add(&gates, sizeof gate) : NULL;
    if (place != NULL)
        *place = gate;
}

/* Keeps those gates that are of use, and adds what the solver found. */
static void choose_gates(const struct lee_vector *found) {
    struct lee_gate *all = gates.data;
    size_t count = gates.bytes / sizeof *all, new = found->bytes / sizeof *all;
    gates.bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct lee_gate gate = all[i];
        gate.idle = lee_segment(lee_precise.count + (uint32_t)i)->met > 1 ? 0 : gate.idle + 1;
        if (gate.idle < PATIENCE)
            add_gate(gate);
    }
    for (size_t i = 0; i < new; i++)
        add_gate(((const struct lee_gate *)found->data)[i]);
}

void lee_precise_solve(struct lee_heap *heap, struct lee_marker *marker) {
    struct lee_vector found = {NULL, 0, 0};
    lee_precise_close_gates();
    if (marker->overflows > 0)
        lee_precise.lost = true;
    lee_account_solve(heap, marker, &found);
    if (lee_precise.notes_left == 0)
        gates.bytes = 0; /* so many are of no use */
    else
        choose_gates(&found);
    lee_vector_free(&found);
}

#endif
