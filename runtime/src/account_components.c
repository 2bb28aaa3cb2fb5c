/* account_components.c: who holds what, where so much is shared that passes would visit objects again
 * and again.
 *
 * Promises: each object that is reached from what was noted is visited once, and each of its words
 * looked at once; then each word that led to an object which was known already is gone through once
 * more, without a look at the heap.
 *
 * A search finds strongly connected components, all of whose members have the same holders
 * (path-based: Gabow, "Path-based depth-first search for strong and biconnected components", 2000).
 * A component is complete when all that it reaches is. So from the last that was completed to the
 * first, each comes behind all that lead to it, and who holds it is known when its turn comes. Of
 * the words that lead out of it the search keeps those that found nothing new; the others are what
 * objects have as their `parent`.
 *
 * Segments are closed over the gates that were met by the same search. */
#include "account_solve.h"

#ifndef LEE_NO_GC

#include "custodian.h"
#include "mark_find.h"

enum { GATE_VISITS = 64, USUAL_BYTES = 64 /* of an object */ };

/* An object, by its number in the order of the search; from 1 on. */
struct visit {
    uint32_t component; /* the number of its first member; 0: it is not complete */
    uint32_t parent;    /* from which the search came; 0: none */
    uint32_t edges;     /* that lead to it: the last one; 0: none */
    uint32_t next;      /* on the path, the one before; in a component, another member, in a circle */
    /* Of those with which a component may begin, and of the first member of one: who holds it, as
     * far as is known; the one before, or the component that was completed before; all its bytes. */
    uint32_t set, before;
    size_t bytes;
};

/* An object, and where its number is: the code of its block in the top byte, and of a cell the place in
 * `lee_holders`, of others their mark. A segment: just its number. Or what was visited, and its
 * number in the search. */
struct put_off {
    uintptr_t object;
    uint64_t where;
};
#define VISITED ((uint64_t)1 << 63)
_Static_assert(LEE_CODES <= 128, "the highest bit of a code is free");

/* A word of an object that led to one which was visited before; of a segment, such an edge. */
struct edge {
    uint32_t from, next;
};

static struct {
    struct lee_marker observer; /* for layouts that trace themselves */
    uintptr_t lowest, span;
    struct lee_vector visits, edges;
    struct lee_vector stack; /* what is still to be visited; below what it leads to, each object that was */
    struct lee_vector slots, heads; /* by segment: what `slot_of_segment` gives; one more than its first edge */
    uint32_t count, edge_count;
    uint32_t current; /* whose words are looked at */
    uint32_t path;    /* the last object of a component that is not complete */
    uint32_t first;   /* the last with which one may begin */
    uint32_t last;    /* the component that was completed last */
    uint32_t holder, holder_set; /* the last that was asked for */
    size_t moved;     /* bytes of the objects that it had */
} search;

static bool lost(void) {
    return lee_precise.lost || lee_sets_lost;
}

static __attribute__((noinline)) bool make_room(struct lee_vector *vector, size_t bytes) {
    if (lee_precise_add(vector, bytes) == NULL)
        return false;
    vector->bytes -= bytes;
    return true;
}

static inline bool has_room(struct lee_vector *vector, size_t bytes) {
    return __builtin_expect(vector->room - vector->bytes >= bytes, 1) || make_room(vector, bytes);
}

static inline struct visit *visit_of(uint32_t number) {
    return (struct visit *)search.visits.data + number;
}

/* What an object had is no holder's any more: components have it. */
static void settle(void) {
    lee_holder(search.holder)->bytes -= search.moved;
    search.moved = 0;
}

static __attribute__((noinline)) void look_up(uint32_t holder) {
    settle();
    search.holder = holder;
    search.holder_set = lee_holder_set(holder);
}

static bool is_cell(unsigned code) {
    return code < LEE_CODE_LARGE;
}

LEE_UNCHECKED_INLINE unsigned code_of(const struct put_off *put_off) {
    return (unsigned)(put_off->where >> LEE_MARK_CODE_SHIFT);
}

/* Where the search keeps an object's number, behind LEE_HOLDER_EACH; until it has one, its holder.
 * Null if there is no memory. */
static uint32_t *slot_of_mark(uint64_t mark) {
    size_t place = lee_precise_place(mark);
    return lost() ? NULL : lee_holders + place;
}

LEE_UNCHECKED_INLINE uint32_t *slot_of(const struct put_off *put_off) {
    uint64_t place = put_off->where & (((uint64_t)1 << LEE_MARK_CODE_SHIFT) - 1);
    return __builtin_expect(is_cell(code_of(put_off)), 1) ? lee_holders + place : slot_of_mark(put_off->where);
}

/* What is not a cell in a block all of whose cells have places. */
LEE_UNCHECKED static uint32_t *find_slowly(uintptr_t word, struct put_off *found) {
    struct lee_found at;
    if (!lee_find(lee_precise.heap, lee_page_table, word, &at) || !lee_mark_is_set(at.mark))
        return NULL;
    unsigned code = lee_found_code(&at);
    uint32_t *slot = slot_of_mark(at.mark);
    if (slot != NULL)
        *found = (struct put_off){lee_found_object(&at), is_cell(code) ? (uint64_t)code << LEE_MARK_CODE_SHIFT | (uint64_t)(slot - lee_holders) : at.mark};
    return slot;
}

/* The object that the word points into, if it is marked, and where its number is; else null. As
 * `lee_find` (mark_find.h), with what is found on the way. */
LEE_UNCHECKED_INLINE uint32_t *find(uintptr_t word, struct put_off *found) {
    if (word - search.lowest >= search.span)
        return NULL;
    uintptr_t value = atomic_load_explicit(&lee_page_table[word >> LEE_CHUNK_SHIFT], LEE_DEPENDENT_LOAD);
    if (value < LEE_WINDOW_OURS)
        return NULL;
    struct lee_chunk *chunk = (struct lee_chunk *)value;
    size_t number = lee_block_index(word);
    uint64_t code = lee_code_at(chunk, number);
    const struct lee_cell_info *info = &lee_cell_info[code];
    uint32_t offset = (uint32_t)(word & (LEE_BLOCK_BYTES - 1)) - info->origin, holder = chunk->holder[number];
    uint64_t index = (uint64_t)offset * info->reciprocal >> 32;
    if (__builtin_expect(lee_owner_in(chunk, word) != lee_precise.heap || index >= info->count || holder < LEE_HOLDER_EACH, 0))
        return find_slowly(word, found);
    if ((chunk->marks[number][index >> 3] >> (index & 7) & 1) == 0)
        return NULL;
    size_t place = (size_t)(holder - LEE_HOLDER_EACH) * LEE_HOLDERS_UNIT + index;
    found->object = (word & ~(uintptr_t)(LEE_BLOCK_BYTES - 1)) + info->origin + index * info->bytes;
    found->where = code << LEE_MARK_CODE_SHIFT | place;
    return lee_holders + place;
}

static inline void widen(struct visit *visit, uint32_t set) {
    if (visit->set != set)
        visit->set = lee_sets_join(visit->set, set);
}

/* A word of the current object leads to one that was visited. */
static inline void meet(uint32_t number) {
    struct visit *at = visit_of(number);
    if (at->component != 0) {
        if (!has_room(&search.edges, sizeof(struct edge)))
            return;
        *(struct edge *)lee_vector_end(&search.edges) = (struct edge){search.current, at->edges};
        search.edges.bytes += sizeof(struct edge);
        at->edges = search.edge_count++;
        return;
    }
    /* A circle: what was found since is one component with it. */
    while (search.first > number) {
        const struct visit *joins = visit_of(search.first);
        struct visit *first = visit_of(joins->before);
        widen(first, joins->set);
        first->bytes += joins->bytes;
        search.first = joins->before;
    }
}

static inline void put_off(struct put_off what) {
    *(struct put_off *)lee_vector_end(&search.stack) = what;
    search.stack.bytes += sizeof what;
}

/* A word of the current object. The stack has room. */
LEE_UNCHECKED_INLINE void look(uintptr_t word) {
    struct put_off found;
    const uint32_t *slot = find(word, &found);
    if (slot == NULL)
        return;
    if (*slot >= LEE_HOLDER_EACH)
        meet(*slot - LEE_HOLDER_EACH);
    else
        put_off(found);
}

static void look_slowly(void *context, uintptr_t word) {
    (void)context;
    if (has_room(&search.stack, sizeof(struct put_off)))
        look(word);
}

/* What is visited gets a number. There is room for it. */
static inline void begin_visit(uint32_t *slot, uint32_t set, size_t bytes) {
    uint32_t number = search.count++;
    *slot = LEE_HOLDER_EACH + number;
    *visit_of(number) =
        (struct visit){.parent = search.current, .next = search.path, .set = set, .before = search.first, .bytes = bytes};
    search.visits.bytes += sizeof(struct visit);
    search.current = search.path = search.first = number;
    put_off((struct put_off){number, VISITED});
}

/* Gives the object a number, and looks at what it points to. Through a handle nothing is reached,
 * and it is charged to its owner. */
LEE_UNCHECKED static void enter(struct put_off found, uint32_t *slot) {
    unsigned code = code_of(&found);
    const struct lee_layout *layout;
    uintptr_t object = found.object;
    size_t charge, bytes;
    if (__builtin_expect(code - LEE_CODE_TYPED < LEE_CODE_LARGE - LEE_CODE_TYPED, 1)) {
        uintptr_t header = *(const uintptr_t *)(object - LEE_HEADER_BYTES);
        layout = lee_header_layout(header);
        charge = lee_cell_info[code].bytes;
        bytes = charge - LEE_HEADER_BYTES - (header >> 48);
    } else if (is_cell(code)) {
        layout = &lee_layout_plain;
        charge = bytes = lee_cell_info[code].bytes;
    } else {
        struct lee_marked marked = lee_mark_object(found.where);
        object = marked.object;
        layout = marked.layout;
        charge = marked.charge;
        bytes = marked.bytes;
    }
    if (layout->kind == LEE_LAYOUT_TRACED && lee_is_handle(layout))
        return;
    bool words = layout->kind == LEE_LAYOUT_WORDS;
    if (!has_room(&search.visits, sizeof(struct visit)) ||
        !has_room(&search.stack, sizeof found * (words ? 1 + bytes / sizeof(uintptr_t) : 1)))
        return;
    if (*slot != search.holder)
        look_up(*slot);
    search.moved += charge;
    begin_visit(slot, search.holder_set, charge);
    if (!words) {
        lee_layout_each(layout, object, object + bytes, look_slowly, NULL, &search.observer);
        return;
    }
    size_t element = layout->bytes;
    uint64_t pointers = layout->words;
    for (; bytes >= element; object += element, bytes -= element) {
        for (uint64_t left = pointers; left != 0; left &= left - 1)
            look(((const uintptr_t *)object)[(unsigned)__builtin_ctzll(left)]);
    }
}

/* Of a segment: its number in the search, as of an object; 0 before. */
static inline uint32_t *slot_of_segment(uint64_t segment) {
    return (uint32_t *)search.slots.data + segment;
}

static void enter_segment(uint32_t segment, uint32_t *slot) {
    const struct lee_edge *edges = lee_precise.edges.data;
    if (!has_room(&search.visits, sizeof(struct visit)) || !has_room(&search.stack, sizeof(struct put_off)))
        return;
    begin_visit(slot, lee_segment(segment)->set, 0);
    for (uint32_t at = ((const uint32_t *)search.heads.data)[segment]; at != 0; at = edges[at - 1].next) {
        uint32_t to = edges[at - 1].to, known = *slot_of_segment(to);
        if (known >= LEE_HOLDER_EACH)
            meet(known - LEE_HOLDER_EACH);
        else if (has_room(&search.stack, sizeof(struct put_off)))
            put_off((struct put_off){0, to});
    }
}

/* All that the object reaches is known. If no way leads from there to an earlier object, its
 * component is complete: it is what lies on the path from there on. */
static inline void leave(uint32_t number) {
    struct visit *visit = visit_of(number);
    search.current = visit->parent;
    if (search.first != number)
        return;
    search.first = visit->before;
    visit->before = search.last;
    search.last = number;
    uint32_t member = search.path, top = member;
    for (; member != number; member = visit_of(member)->next)
        visit_of(member)->component = number;
    visit->component = number;
    search.path = visit->next;
    visit->next = top;
}

/* Segments are searched as objects are: their edges are the words. */
static inline __attribute__((always_inline)) void search_with(struct put_off root, bool segments) {
    if (!has_room(&search.stack, sizeof root))
        return;
    put_off(root);
    while (search.stack.bytes > 0 && !lost()) {
        search.stack.bytes -= sizeof root;
        struct put_off next = *(const struct put_off *)lee_vector_end(&search.stack);
        if ((next.where & VISITED) != 0) {
            leave((uint32_t)next.object);
            continue;
        }
        uint32_t *slot = segments ? slot_of_segment(next.where) : slot_of(&next);
        if (slot == NULL)
            return;
        if (*slot >= LEE_HOLDER_EACH) {
            if (search.current != 0) /* visited since it was put there */
                meet(*slot - LEE_HOLDER_EACH);
        } else if (segments) {
            enter_segment((uint32_t)next.where, slot);
        } else {
            enter(next, slot);
        }
    }
}

static void search_from(struct put_off root) {
    search_with(root, false);
}

/* Who holds the component: those that are known, and whoever holds what leads to it. All of these
 * came before. */
static uint32_t holders_of(uint32_t number) {
    const struct edge *edges = search.edges.data;
    const struct visit *first = visit_of(number);
    uint32_t set = first->set, last = set, member = number;
    bool gathers = false;
    for (uint32_t from = first->parent, edge = first->edges;;) {
        if (from != 0) {
            uint32_t more = visit_of(visit_of(from)->component)->set;
            if (more != last && more != set && gathers) {
                lee_sets_gather(more);
            } else if (more != last && more != set && !lee_sets_within(more, set)) {
                gathers = !lee_sets_within(set, more);
                if (gathers) {
                    lee_sets_gather_first(set);
                    lee_sets_gather(more);
                } else {
                    set = more;
                }
            }
            last = more;
        }
        while (edge == 0) {
            member = visit_of(member)->next;
            if (member == number) {
                set = gathers ? lee_sets_gathered() : set;
                return lee_sets_lost ? first->set : set;
            }
            edge = visit_of(member)->edges;
        }
        from = edges[edge].from;
        edge = edges[edge].next;
    }
}

/* From the last component on. */
static void spread_sets(void) {
    for (uint32_t number = search.last; number != 0; number = visit_of(number)->before) {
        struct visit *first = visit_of(number);
        first->set = holders_of(number);
        *lee_set_bytes(first->set) += first->bytes;
    }
    /* Without memory some are not complete: they keep those who are known. */
    for (uint32_t number = search.first; number != 0; number = visit_of(number)->before)
        *lee_set_bytes(visit_of(number)->set) += visit_of(number)->bytes;
}

/* Makes room for about as many as there are objects, if it can. What is not used costs nothing. */
static void reserve(struct lee_vector *vector, size_t bytes) {
    const struct lee_heap *heap = lee_precise.heap;
    size_t before = vector->bytes, blocks = heap->blocks_used * (LEE_BLOCK_BYTES / USUAL_BYTES);
    size_t count = heap->counts.live_objects > blocks ? heap->counts.live_objects : blocks;
    if (lee_vector_add(vector, count * bytes) != NULL)
        vector->bytes = before;
}

static bool begin(void) {
    search.count = search.edge_count = 1; /* none has 0 */
    search.current = search.path = search.first = search.last = 0;
    search.holder = search.moved = 0;
    search.holder_set = lee_holder_set(0);
    if (!has_room(&search.visits, sizeof(struct visit)) || !has_room(&search.edges, sizeof(struct edge)))
        return false;
    search.visits.bytes += sizeof(struct visit);
    search.edges.bytes += sizeof(struct edge);
    return true;
}

static void end(void) {
    struct lee_vector *vectors[] = {&search.visits, &search.edges, &search.stack, &search.slots, &search.heads};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        lee_vector_free(vectors[i]);
}

/* Those in `set` hold what the word points to. Gives how many objects were visited. */
static uint32_t hold_root(uintptr_t word, uint32_t set) {
    struct put_off root;
    const uint32_t *slot = find(word, &root);
    uint32_t before = search.count;
    if (slot != NULL && *slot < LEE_HOLDER_EACH)
        search_from(root);
    slot = slot == NULL ? NULL : slot_of(&root);
    if (slot != NULL && *slot >= LEE_HOLDER_EACH) { /* or it is a handle */
        uint32_t component = visit_of(*slot - LEE_HOLDER_EACH)->component;
        if (component != 0) /* or there was no memory */
            widen(visit_of(component), set);
    }
    return search.count - before;
}

/* A word of a custodian's tasks. */
static void hold_word(void *custodian, uintptr_t word) {
    hold_root(word, lee_set_of(*(const uint32_t *)custodian));
}

static void hold_all(void) {
    static struct lee_marker marker; /* it is large */
    marker = (struct lee_marker){.heap = lee_precise.heap, .observe = hold_word};
    for (uint32_t n = 0; n + 1 < lee_precise.count && !lost(); n++) {
        struct lee_custodian *custodian = ((struct lee_custodian **)lee_precise.custodians.data)[n];
        marker.observer = &n;
        if (custodian != lee_precise.runs)
            lee_custodian_scan(lee_precise.heap, custodian, &marker);
    }
    const struct lee_behind *behind = lee_precise.behind.data;
    for (size_t i = 0; i < lee_precise.behind.bytes / sizeof *behind && !lost(); i++)
        hold_root(behind[i].word, lee_set_of(behind[i].custodian));
}

void lee_account_components(const struct lee_marker *marker, const struct lee_held *work, size_t count, struct lee_vector *gates) {
    search.observer.heap = lee_precise.heap;
    search.observer.observe = look_slowly;
    search.lowest = marker->lowest;
    search.span = marker->span;
    bool begun = begin();
    reserve(&search.visits, sizeof(struct visit));
    reserve(&search.stack, sizeof(struct put_off));
    if (begun && work == NULL)
        hold_all();
    for (size_t i = 0; i < count && begun && !lost(); i++) {
        uintptr_t object = lee_mark_object(work[i].mark).object;
        struct lee_gate *gate = hold_root(object, work[i].set) < GATE_VISITS ? NULL : lee_vector_add(gates, sizeof *gate);
        if (gate != NULL)
            *gate = (struct lee_gate){object, 0};
    }
    if (begun) {
        settle();
        spread_sets();
        lee_precise.heap->counts.steps += search.count + search.edge_count;
    }
    end();
}

/* Links the edges of each segment. */
static bool link_edges(void) {
    size_t bytes = lee_segments() * sizeof(uint32_t);
    struct lee_edge *edges = lee_precise.edges.data;
    uint32_t *heads = lee_precise_add(&search.heads, bytes), *slots = heads == NULL ? NULL : lee_precise_add(&search.slots, bytes);
    if (slots == NULL)
        return false;
    __builtin_memset(heads, 0, bytes);
    __builtin_memset(slots, 0, bytes);
    for (uint32_t i = 0; i < lee_precise.edges.bytes / sizeof *edges; i++) {
        edges[i].next = heads[edges[i].from];
        heads[edges[i].from] = i + 1;
    }
    return true;
}

void lee_account_close_segments(void) {
    uint32_t count = lee_segments();
    if (lee_precise.edges.bytes > 0 && begin() && link_edges()) {
        for (uint32_t n = 0; n < count && !lost(); n++) {
            if (*slot_of_segment(n) == 0)
                search_with((struct put_off){0, n}, true);
        }
        spread_sets();
        for (uint32_t n = 0; n < count && !lost(); n++)
            lee_segment(n)->set = visit_of(visit_of(*slot_of_segment(n) - LEE_HOLDER_EACH)->component)->set;
        lee_precise.heap->counts.steps += search.count + search.edge_count;
    }
    end();
}

#endif
