/* mark.c: see mark.h. */
#include "mark.h"

#include <lee/heap.h>

#include "custodian.h"
#include "poison.h"
#include "arena.h"
#include "mark_find.h"
#include "precise.h"
#include "process.h"
#include "small.h"
#include "system.h"
#include "units.h"
#include "valgrind.h"

/* Functions that touch the heap that is marked and the marker, and nothing else. While `heap->marking` is
 * set, the process may be stopped in them (preempt.c). */
#define LEE_MARKING __attribute__((section("lee_marking")))

enum {
    STACK_LEAST = 1 << 14, /* words */
    RANGES = 256,
    SLICE_WORDS = 128, /* of a large object that are read before what they point to */
    CELL_WORDS = LEE_CELL_MOST / 8 /* what the loop wants room for: then no cell needs another look */
};

/* --- from a word to an object ---------------------------------------------------------------------------------- */

/* What is not a cell: a large object, a key, or nothing. */
LEE_MARKING static __attribute__((noinline)) bool locate_large(struct lee_chunk *chunk, uintptr_t word, struct lee_mark_entry *entry) {
    struct lee_block *block = lee_large_find(chunk, word);
    if (block == NULL) {
        struct lee_arena *key = lee_code_at(chunk, lee_block_index(word)) == LEE_CODE_PAGES ? lee_key_at(word) : NULL;
        if (key == NULL)
            return false;
        *entry = (struct lee_mark_entry){word, &key->mark, 0, LEE_CODE_PAGES};
        return true;
    }
    uintptr_t start = lee_large_start(block);
    if (word - start > block->bytes) /* a pointer just past the object is the object's */
        return false;
    struct lee_chunk *home = lee_chunk_describing(block);
    *entry = (struct lee_mark_entry){start, home->marks[lee_block_number(home, block)], 0, LEE_CODE_LARGE};
    return true;
}

/* What is in no unit of the heap's own: a cell in a page of 4 KB, or nothing. */
LEE_MARKING static __attribute__((noinline)) bool locate_small(struct lee_heap *heap, struct lee_chunk *chunk, uintptr_t word,
                                                   struct lee_mark_entry *entry) {
    unsigned at = lee_small_place(heap, chunk, word);
    struct lee_small *page = lee_small_of(word);
    if (at != 0)
        *entry = (struct lee_mark_entry){lee_small_start(page) + at * 16, (uint8_t *)page->marks + at / 8, at % 8, LEE_CODE_SMALL};
    return at != 0;
}

/* What kind of cell an object in such a page is in. */
static const struct lee_cell_info *small_info(uintptr_t object) {
    return &lee_cell_info[lee_small_code(object)];
}

/* Its header; of a free cell's `not allocated`. */
LEE_UNCHECKED static uintptr_t small_header(uintptr_t object) {
    return small_info(object)->family == LEE_PLAIN ? (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED
                                                   : *(const uintptr_t *)(object - LEE_HEADER_BYTES);
}

/* The header of any object: of what has none, that of plain data. */
LEE_UNCHECKED_INLINE uintptr_t header_of(uintptr_t object, unsigned code) {
    return code == LEE_CODE_SMALL                          ? small_header(object)
           : code >= LEE_CODE_TYPED && code < LEE_CODE_LARGE ? *(const uintptr_t *)(object - LEE_HEADER_BYTES)
                                                           : (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED;
}

/* What an object costs whose code is not that of a cell. */
static size_t charge_of(uintptr_t object, unsigned code) {
    return code == LEE_CODE_PAGES   ? lee_key_bytes((const struct lee_arena *)object)
           : code == LEE_CODE_SMALL ? small_info(object)->bytes
                                    : lee_large_charge(lee_large_find(lee_chunk_at((void *)object), object)->bytes);
}

/* The two loads of the page table, then one for the block's class. */
static inline __attribute__((always_inline)) bool locate(struct lee_heap *heap, _Atomic(uintptr_t) *table, uintptr_t word,
                                                         struct lee_mark_entry *entry) {
    uintptr_t window = word >> LEE_CHUNK_SHIFT;
    if (window >= LEE_WINDOWS)
        return false;
    uintptr_t value = atomic_load_explicit(&table[window], LEE_DEPENDENT_LOAD);
    if (value < LEE_WINDOW_OURS)
        return false;
    struct lee_chunk *chunk = (struct lee_chunk *)value;
    if (lee_owner_in(chunk, word) != heap)
        return locate_small(heap, chunk, word, entry);
    size_t number = lee_block_index(word);
    uint32_t code = lee_code_at(chunk, number);
    const struct lee_cell_info *info = &lee_cell_info[code];
    uint32_t offset = (uint32_t)(word & (LEE_BLOCK_BYTES - 1)) - info->origin;
    uint64_t index = (uint64_t)offset * info->reciprocal >> 32;
    if (__builtin_expect(index >= info->count, 0))
        return locate_large(chunk, word, entry);
    entry->object = (word & ~(uintptr_t)(LEE_BLOCK_BYTES - 1)) + info->origin + index * info->bytes;
    entry->mark = &chunk->marks[number][index >> 3];
    entry->bit = (uint32_t)index & 7;
    entry->code = code;
    return true;
}

bool lee_is_marked(struct lee_heap *heap, uintptr_t word) {
    struct lee_mark_entry entry;
    return !locate(heap, lee_page_table, word, &entry) || (*entry.mark >> entry.bit & 1) != 0;
}

LEE_UNCHECKED uint64_t lee_mark_of(struct lee_heap *heap, uintptr_t word) {
    struct lee_mark_entry entry;
    if (!locate(heap, lee_page_table, word, &entry))
        return 0;
    if ((header_of(entry.object, entry.code) & LEE_HEADER_ALLOCATED) == 0)
        return 0;
    return ((uint64_t)(uintptr_t)entry.mark << 3 | entry.bit) + ((uint64_t)entry.code << LEE_MARK_CODE_SHIFT);
}

static unsigned char *mark_byte(uint64_t mark) {
    return (unsigned char *)(uintptr_t)(mark << (64 - LEE_MARK_CODE_SHIFT) >> (64 - LEE_MARK_CODE_SHIFT + 3));
}

bool lee_mark_is_set(uint64_t mark) {
    return (*mark_byte(mark) >> (mark & 7) & 1) != 0;
}

void lee_mark_set(uint64_t mark, bool set) {
    unsigned char bit = (unsigned char)(1 << (mark & 7)), *byte = mark_byte(mark);
    *byte = set ? *byte | bit : *byte & (unsigned char)~bit;
}

static struct lee_marked cell_of(uintptr_t object, const struct lee_cell_info *info, uintptr_t header) {
    if (info->family == LEE_PLAIN)
        return (struct lee_marked){object, info->bytes, info->bytes, &lee_layout_plain};
    return (struct lee_marked){object, info->bytes, info->bytes - LEE_HEADER_BYTES - (header >> 48), lee_header_layout(header)};
}

LEE_UNCHECKED struct lee_marked lee_mark_object(uint64_t mark) {
    unsigned code = (unsigned)(mark >> LEE_MARK_CODE_SHIFT);
    if (code == LEE_CODE_PAGES) {
        struct lee_arena *key = (struct lee_arena *)(void *)(mark_byte(mark) - offsetof(struct lee_arena, mark));
        return (struct lee_marked){(uintptr_t)key, lee_key_bytes(key), sizeof *key, &lee_layout_key};
    }
    if (code == LEE_CODE_SMALL) {
        uintptr_t object = lee_small_object(mark_byte(mark), mark & 7);
        return cell_of(object, small_info(object), small_header(object));
    }
    struct lee_chunk *chunk = lee_chunk_describing(mark_byte(mark));
    size_t number = mark / LEE_MARK_BITS % LEE_CHUNK_BLOCKS;
    if (code == LEE_CODE_LARGE) {
        struct lee_block *block = &chunk->blocks[number];
        return (struct lee_marked){lee_large_start(block), lee_large_charge(block->bytes), block->bytes, lee_header_layout(block->header)};
    }
    const struct lee_cell_info *info = &lee_cell_info[code];
    uintptr_t object = lee_block_start(chunk, number) + info->origin + mark % LEE_MARK_BITS * info->bytes;
    return cell_of(object, info, info->family == LEE_PLAIN ? 0 : *(const uintptr_t *)(object - LEE_HEADER_BYTES));
}

/* --- the stack --------------------------------------------------------------------------------------------------- */

void lee_marker_start(struct lee_marker *marker, struct lee_heap *heap) {
    lee_marker_aim(marker, heap);
    lee_marker_make_room(marker);
}

void lee_marker_aim(struct lee_marker *marker, struct lee_heap *heap) {
    *marker = (struct lee_marker){.heap = heap};
    marker->lowest = lee_units_range(&marker->span);
}

void lee_marker_make_room(struct lee_marker *marker) {
    marker->room = STACK_LEAST;
    marker->stack = lee_system_reserve(NULL, marker->room * sizeof *marker->stack);
    if (marker->stack == NULL) {
        marker->stack = marker->spare;
        marker->room = LEE_MARK_SPARE;
    }
    marker->range_room = RANGES;
    marker->ranges = lee_system_reserve(NULL, (marker->range_room * sizeof *marker->ranges + 4095) & ~(size_t)4095);
    if (marker->ranges == NULL)
        marker->range_room = 0;
}

static void *grow(void *old, size_t bytes) {
    void *fresh = lee_system_reserve(NULL, 2 * bytes);
    if (fresh != NULL) {
        if (lee_heap_settings.huge && bytes >= LEE_UNIT_BYTES)
            lee_system_huge(fresh, 2 * bytes, true);
        __builtin_memcpy(fresh, old, bytes);
        lee_system_release(old, bytes);
    }
    return fresh;
}

/* Makes room for `words`. If there is none, says so in `overflown`. */
static __attribute__((noinline)) bool make_room(struct lee_marker *marker, size_t words) {
    while (marker->room - marker->depth < words) {
        /* The stack may take half as much as the heap, and 1 MB: a random graph needs a quarter. */
        size_t most = (marker->heap->blocks_used * LEE_BLOCK_BYTES + marker->heap->large_bytes) / 2 / sizeof(uintptr_t);
        if (most < 1 << 17)
            most = 1 << 17;
        uintptr_t *fresh = marker->stack == marker->spare || marker->room * 2 > most || marker->failed_once
                               ? NULL
                               : grow(marker->stack, marker->room * sizeof *marker->stack);
        if (fresh == NULL) {
            marker->failed_once = true; /* asks no more: each walk for what was lost is dear */
            marker->overflown = true;
            return false;
        }
        marker->stack = fresh;
        marker->room *= 2;
    }
    return true;
}

void lee_marker_end(struct lee_marker *marker) {
    if (marker->stack != marker->spare)
        lee_system_release(marker->stack, marker->room * sizeof *marker->stack);
    if (marker->ranges != NULL)
        lee_system_release(marker->ranges, (marker->range_room * sizeof *marker->ranges + 4095) & ~(size_t)4095);
}

/* --- reading objects --------------------------------------------------------------------------------------------- */

LEE_UNCHECKED_INLINE uint64_t tag_of(uintptr_t at, unsigned bytes) {
    switch (bytes) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

int lee_heap_unaligned;

typedef uintptr_t __attribute__((aligned(1), may_alias)) unaligned_word;

/* Static data may be written by other threads meanwhile. */
LEE_UNCHECKED_INLINE uintptr_t word_at(uintptr_t at) {
    return *(const unaligned_word *)at;
}

LEE_MARKING LEE_UNCHECKED static void each_word(uintptr_t start, uintptr_t end, void (*visit)(void *, uintptr_t), void *context) {
    for (size_t step = lee_heap_unaligned ? 1 : 8; start + 8 <= end; start += step)
        visit(context, word_at(start));
}

/* One element of any kind but conservative and traced. */
LEE_MARKING LEE_UNCHECKED static void each_in_element(const struct lee_layout *layout, uintptr_t start,
                                          void (*visit)(void *, uintptr_t), void *context, struct lee_marker *marker) {
    if (layout->more == NULL) {
        for (uint64_t words = layout->words; words != 0; words &= words - 1)
            visit(context, ((const uintptr_t *)start)[__builtin_ctzll(words)]);
    } else {
        for (size_t i = 0; i * 512 < layout->bytes; i++) {
            for (uint64_t words = layout->more[i]; words != 0; words &= words - 1)
                visit(context, ((const uintptr_t *)start)[i * 64 + (size_t)__builtin_ctzll(words)]);
        }
    }
    for (unsigned i = 0; i < layout->variant_count; i++) {
        const struct lee_variant *variant = &layout->variants[i];
        if (tag_of(start + variant->tag_offset, variant->tag_bytes) == variant->value)
            lee_layout_each(variant->layout, start + variant->offset, start + variant->offset + variant->layout->bytes,
                            visit, context, marker);
    }
}

LEE_MARKING void lee_layout_each(const struct lee_layout *layout, uintptr_t start, uintptr_t end, void (*visit)(void *, uintptr_t),
                     void *context, struct lee_marker *marker) {
    switch (layout->kind) {
    case LEE_LAYOUT_PLAIN:
        return;
    case LEE_LAYOUT_CONSERVATIVE:
        each_word(start, end, visit, context);
        return;
    case LEE_LAYOUT_TRACED:
        if (marker != NULL)
            layout->trace(marker, (const void *)start, end - start);
        return;
    default:
        break;
    }
    if (layout->has_flexible) {
        each_in_element(layout, start, visit, context, marker);
        lee_layout_each(layout->rest, start + layout->bytes, end, visit, context, marker);
        return;
    }
    for (; start + layout->bytes <= end; start += layout->bytes)
        each_in_element(layout, start, visit, context, marker);
}

/* Whether marking the word would do anything. */
LEE_UNCHECKED static bool is_news(struct lee_heap *heap, uintptr_t word) {
    struct lee_mark_entry entry;
    if (!locate(heap, lee_page_table, word, &entry) || (*entry.mark >> entry.bit & 1) != 0)
        return false;
    return (header_of(entry.object, entry.code) & LEE_HEADER_ALLOCATED) != 0;
}

LEE_MARKING static void push_one(void *context, uintptr_t word) {
    struct lee_marker *marker = context;
    if (marker->observe != NULL) {
        marker->observe(marker->observer, word);
        return;
    }
    /* While recovering, only what must be marked is pushed: so an overflow then means that a stack
     * full of objects was found, and the walks come to an end. */
    if (marker->recovering && !is_news(marker->heap, word))
        return;
    if (word - marker->lowest < marker->span && (marker->depth < marker->room || make_room(marker, 1)))
        marker->stack[marker->depth++] = word;
}

/* Any object; what is large is put off in slices, so that the stack holds little of it. */
static void read_slowly(struct lee_marker *marker, const struct lee_layout *layout,
                                                  uintptr_t start, uintptr_t end) {
    if (end - start > SLICE_WORDS * 8 && !lee_heap_unaligned && layout->kind != LEE_LAYOUT_TRACED && !layout->has_flexible &&
        layout->bytes <= (end - start) / 2 && marker->range_depth < marker->range_room) {
        marker->ranges[marker->range_depth++] = (struct lee_mark_range){start, end, layout};
        return;
    }
    lee_layout_each(layout, start, end, push_one, marker, marker);
}

/* Any object that the loop does not read itself. */
LEE_MARKING LEE_UNCHECKED static __attribute__((noinline)) void visit_slowly(struct lee_marker *marker, uintptr_t object,
                                                                 uintptr_t header, size_t bytes) {
    const struct lee_layout *layout = lee_header_layout(header);
    if (layout->kind == LEE_LAYOUT_PLAIN)
        return;
    if (marker->room - marker->depth < CELL_WORDS + 1 && !marker->recovering)
        make_room(marker, CELL_WORDS + 1);
    read_slowly(marker, layout, object, object + bytes);
}

LEE_MARKING static __attribute__((noinline)) void visit_large(struct lee_marker *marker, uintptr_t object, unsigned code) {
    if (code == LEE_CODE_PAGES) {
        const struct lee_arena *key = (const struct lee_arena *)object;
        for (struct lee_arena_page *page = key->pages; page != NULL; page = page->older) {
            struct lee_arena_part part = lee_arena_part(key, page);
            read_slowly(marker, &lee_layout_conservative, part.start, part.end);
        }
        return;
    }
    if (code == LEE_CODE_SMALL) {
        const struct lee_cell_info *info = small_info(object);
        uintptr_t header = small_header(object);
        visit_slowly(marker, object, header, info->bytes - LEE_HEADER_BYTES - (header >> 48));
        return;
    }
    struct lee_block *block = lee_large_find(lee_chunk_at((void *)object), object);
    visit_slowly(marker, object, block->header, block->bytes);
}

/* Pushes what an object of kind `words` points to; returns the new depth. What is no pointer into a
 * heap (null, static data, numbers) is pushed too, and overwritten: that takes no branch. */
LEE_UNCHECKED_INLINE size_t read_words(const struct lee_layout *layout, uintptr_t object, size_t bytes, uintptr_t *stack, size_t depth,
                                       uintptr_t lowest, uintptr_t span) {
    size_t element = layout->bytes;
    if (element == 8 && layout->words == 1) { /* an array of pointers */
        for (const uintptr_t *at = (const uintptr_t *)object; bytes >= 8; at++, bytes -= 8) {
            stack[depth] = *at;
            depth += *at - lowest < span;
        }
        return depth;
    }
    for (; bytes >= element; object += element, bytes -= element) {
        for (uint64_t left = layout->words; left != 0; left &= left - 1) {
            uintptr_t word = ((const uintptr_t *)object)[(unsigned)__builtin_ctzll(left)];
            stack[depth] = word;
            depth += word - lowest < span;
        }
    }
    return depth;
}

/* Puts the next slice of the last range on the stack. */
LEE_MARKING LEE_UNCHECKED static void next_slice(struct lee_marker *marker) {
    struct lee_mark_range *range = &marker->ranges[marker->range_depth - 1];
    const struct lee_layout *layout = range->layout;
    size_t elements = SLICE_WORDS * 8 / layout->bytes;
    uintptr_t start = range->start, end = start + (elements == 0 ? 1 : elements) * layout->bytes;
    if (end + layout->bytes > range->end) {
        end = range->end;
        marker->range_depth--;
    } else {
        range->start = end;
    }
    if (layout->kind == LEE_LAYOUT_WORDS && marker->room - marker->depth >= SLICE_WORDS)
        marker->depth = read_words(layout, start, end - start, marker->stack, marker->depth, marker->lowest, marker->span);
    else
        lee_layout_each(layout, start, end, push_one, marker, marker);
}

/* --- the loop ------------------------------------------------------------------------------------------------------ */

enum { CODE_SHIFT = LEE_MARK_CODE_SHIFT };

LEE_MARKING __attribute__((noinline)) bool lee_find_large(struct lee_chunk *chunk, uintptr_t word, struct lee_found *found) {
    struct lee_mark_entry entry;
    if (!locate_large(chunk, word, &entry))
        return false;
    *found = (struct lee_found){entry.object, (uint64_t)(uintptr_t)entry.mark << 3 | (uint64_t)entry.code << CODE_SHIFT};
    return true;
}

LEE_MARKING __attribute__((noinline)) bool lee_find_small(struct lee_heap *heap, struct lee_chunk *chunk, uintptr_t word,
                                              struct lee_found *found) {
    unsigned at = lee_small_place(heap, chunk, word);
    struct lee_small *page = lee_small_of(word);
    *found = (struct lee_found){lee_small_start(page) + at * 16, ((uint64_t)(uintptr_t)page->marks << 3) + at + ((uint64_t)LEE_CODE_SMALL << CODE_SHIFT)};
    return at != 0;
}

/* An object that custodians come to hold; false if they did, or the object is a handle, through
 * which nothing is reached. */
LEE_UNCHECKED_INLINE bool spread(struct lee_marker *marker, const struct lee_found *found, uintptr_t object, unsigned code) {
    uint32_t *own = lee_found_holder(found->mark);
    uint32_t before = own != NULL ? *own : lee_precise_holder(found->mark);
    struct lee_widened *widened = &lee_widened[before % LEE_WIDENED];
    if (widened->before != before || widened->after == 0)
        widened = lee_precise_widen(before);
    if (widened->after == before + 1)
        return false;
    size_t charge = code >= LEE_CODE_LARGE ? charge_of(object, code) : lee_cell_info[code].bytes;
    uintptr_t header = header_of(object, code);
    if (lee_header_layout(header)->kind == LEE_LAYOUT_TRACED && lee_is_handle(lee_header_layout(header)))
        return false;
    if (marker->visits_left == 0)
        return false;
    if (own != NULL)
        *own = widened->after - 1;
    else if (!lee_precise_set_holder(found->mark, widened->after - 1))
        return false;
    widened->bytes += charge;
    marker->visits_left--;
    return true;
}

/* Marks go in batches, in rounds of three steps, each a function of its own for the sake of
 * registers. A round takes a batch of words off the stack, classifies them and asks for their
 * marks; reads the objects that the round before found to be new; and then tests and sets the
 * marks, and asks for the objects that are new. So memory has a batch's time to come, only what is
 * new is asked for, and whether an object is new decides no branch. */

/* The first step: those of `count` words that point to something, the last one first. */
LEE_UNCHECKED_INLINE unsigned classify_each(struct lee_heap *heap, const uintptr_t *words, size_t count, struct lee_found *asked,
                                            bool prefetch) {
    _Atomic(uintptr_t) *table = lee_page_table;
    struct lee_found *next = asked;
    for (const uintptr_t *at = words + count; at != words;) {
        if (!lee_find(heap, table, *--at, next))
            continue;
        if (prefetch)
            __builtin_prefetch(lee_found_marks(next->mark), 1);
        next++;
    }
    return (unsigned)(next - asked);
}

LEE_MARKING LEE_UNCHECKED static __attribute__((noinline)) unsigned classify_batch(struct lee_heap *heap, const uintptr_t *words, size_t count,
                                                                       struct lee_found *asked) {
    return classify_each(heap, words, count, asked, true);
}

/* Of an object whose start the word is. Of what is not new, memory that is at hand: chosen so that
 * no compiler makes a branch of it, which would be guessed wrong each second time. */
LEE_UNCHECKED_INLINE void prefetch_header(const struct lee_found *found, bool is_fresh, const struct lee_found *near) {
    uintptr_t header = found->word - LEE_HEADER_BYTES, at_hand = (uintptr_t)near;
    __builtin_prefetch((const void *)(at_hand ^ ((at_hand ^ header) & -(uintptr_t)is_fresh)));
}

/* The third step: marks `count` objects; those that have to be read are put into `fresh`. */
LEE_UNCHECKED_INLINE unsigned mark_each(const struct lee_found *asked, unsigned count, struct lee_found *fresh,
                                        bool prefetch, enum lee_counting counting) {
    struct lee_found *next = fresh;
    for (const struct lee_found *end = asked + count; asked != end; asked++) {
        uint64_t mark = asked->mark, *marks = lee_found_marks(mark), before = *marks;
        bool is_fresh = (before >> (mark & 63) & 1) == 0;
        *next = *asked;
        if (counting == LEE_COUNT_SPREAD) {
            is_fresh = !is_fresh; /* what is marked is looked at, once for each word: `spread` tells what is new */
        } else {
            *marks = before | (uint64_t)1 << (mark & 63);
            /* Without pointers and without a header: there is nothing to read. */
            if (counting == LEE_COUNT_NOTHING)
                is_fresh = is_fresh & (mark >= (uint64_t)LEE_CODE_TYPED << CODE_SHIFT);
        }
        if (prefetch)
            prefetch_header(asked, is_fresh, next);
        next += is_fresh;
    }
    return (unsigned)(next - fresh);
}

LEE_MARKING LEE_UNCHECKED static __attribute__((noinline)) unsigned mark_batch(const struct lee_found *asked, unsigned count, struct lee_found *fresh) {
    return mark_each(asked, count, fresh, true, LEE_COUNT_NOTHING);
}

enum { FRESH_SHIFT = CODE_SHIFT - 1 }; /* in the mark of an object whose holder is to be looked at: it is new */

/* The same while objects get holders. Those in blocks that are not the marker's alone are put into
 * `others`: calls would cost registers here. */
LEE_UNCHECKED_INLINE unsigned mark_each_held(struct lee_marker *marker, const struct lee_found *asked, unsigned count,
                                             struct lee_found *fresh) {
    struct lee_found *next = fresh;
    const uint32_t holder = marker->holder;
    for (const struct lee_found *end = asked + count; asked != end; asked++) {
        uint64_t mark = asked->mark, *marks = lee_found_marks(mark), before = *marks;
        bool is_fresh = (before >> (mark & 63) & 1) == 0;
        *marks = before | (uint64_t)1 << (mark & 63);
        *next = *asked;
        if (mark >= (uint64_t)LEE_CODE_PAGES << CODE_SHIFT || *lee_block_holder(mark) != holder)
            marker->others[marker->other_count++] = (struct lee_found){asked->word, mark | (uint64_t)is_fresh << FRESH_SHIFT};
        prefetch_header(asked, is_fresh, next);
        next += is_fresh;
    }
    return (unsigned)(next - fresh);
}

/* What is new becomes the marker's; what is another's is noted. */
LEE_UNCHECKED static __attribute__((noinline)) void hold_batch(struct lee_marker *marker) {
    const struct lee_found *found = marker->others, *end = found + marker->other_count;
    marker->other_count = 0;
    for (; found != end; found++) {
        uint64_t mark = found->mark & ~((uint64_t)1 << FRESH_SHIFT);
        bool is_fresh = mark != found->mark;
        if (!is_fresh && !marker->meets)
            continue;
        uint32_t holder = mark < (uint64_t)LEE_CODE_PAGES << CODE_SHIFT ? *lee_block_holder(mark) : LEE_HOLDER_NONE;
        if (holder == marker->holder)
            continue;
        if (holder >= LEE_HOLDER_EACH) {
            uint32_t *own = lee_own_holder(holder, mark);
            if (is_fresh)
                *own = marker->holder;
            else if (*own != marker->holder)
                lee_precise_meet(marker, mark, found->word);
        } else if (is_fresh) {
            lee_precise_set_holder(mark, marker->holder);
        } else {
            lee_precise_meet(marker, mark, found->word);
        }
    }
}

/* The part of the stack that is gone through now: all of it, or with `parts` what lies above the base. */
LEE_UNCHECKED_INLINE uintptr_t *part(const struct lee_marker *marker, bool parts, size_t *depth, size_t *limit) {
    size_t base = parts ? marker->base : 0, room = marker->room - base;
    *depth = marker->depth - base;
    *limit = room > CELL_WORDS ? room - CELL_WORDS : 0;
    return marker->stack + base;
}

/* All of it. What the second step touches is in locals: stores to the stack could be to anything,
 * as far as the compiler knows. */
LEE_UNCHECKED_INLINE void drain_with(struct lee_marker *marker, bool batches, enum lee_counting counting) {
    const bool parts = counting == LEE_COUNT_SETS, counted = parts || counting == LEE_COUNT_MARKED;
    struct lee_found asked[LEE_MARK_BATCH], fresh[LEE_MARK_BATCH];
    struct lee_heap *heap = marker->heap;
    const uintptr_t lowest = marker->lowest, span = marker->span;
    const size_t most = batches ? LEE_MARK_BATCH : 1;
    size_t depth, limit;
    uintptr_t *stack = part(marker, parts, &depth, &limit);
    unsigned fresh_count = 0;
    size_t charged = 0;
    for (;;) {
        size_t words = depth < most ? depth : most;
        unsigned asked_count = 0;
        if (words > 0 || !counted) {
            depth -= words;
            asked_count = batches ? classify_batch(heap, stack + depth, words, asked)
                                  : classify_each(heap, stack + depth, words, asked, false);
        }
        for (const struct lee_found *found = fresh, *end = fresh + fresh_count; found != end; found++) {
            unsigned code = lee_found_code(found);
            const struct lee_cell_info *info = &lee_cell_info[code];
            uintptr_t object = lee_found_object(found);
            if (counting == LEE_COUNT_SPREAD && !spread(marker, found, object, code))
                continue;
            if (__builtin_expect(code - LEE_CODE_TYPED >= LEE_CODE_LARGE - LEE_CODE_TYPED, 0)) {
                if (code < LEE_CODE_TYPED) { /* plain */
                    charged += info->bytes;
                    continue;
                }
                if (code == LEE_CODE_SMALL && (small_header(object) & LEE_HEADER_ALLOCATED) == 0) {
                    *lee_found_marks(found->mark) &= ~((uint64_t)1 << (found->mark & 63));
                    continue;
                }
                if (counted)
                    charged += charge_of(object, code);
                marker->depth = (parts ? marker->base : 0) + depth;
                visit_large(marker, object, code);
                stack = part(marker, parts, &depth, &limit);
                continue;
            }
            uintptr_t header = *(const uintptr_t *)(object - LEE_HEADER_BYTES);
            if (__builtin_expect((header & LEE_HEADER_ALLOCATED) == 0, 0)) {
                *lee_found_marks(found->mark) &= ~((uint64_t)1 << (found->mark & 63)); /* no object: a word that looked like a pointer */
                continue;
            }
            const struct lee_layout *layout = lee_header_layout(header);
            size_t bytes = info->bytes - LEE_HEADER_BYTES - (header >> 48);
            if (counted)
                charged += info->bytes;
            if (__builtin_expect(layout->kind != LEE_LAYOUT_WORDS || depth >= limit, 0)) {
                marker->depth = (parts ? marker->base : 0) + depth;
                visit_slowly(marker, object, header, bytes);
                stack = part(marker, parts, &depth, &limit);
                continue;
            }
            depth = read_words(layout, object, bytes, stack, depth, lowest, span);
        }
        if (counted && words == 0) { /* so what was read now is all there is: along a list, each time */
            if (parts && marker->gates > 0) {
                marker->depth = marker->base + depth;
                marker->charged += charged;
                charged = 0;
                fresh[0].mark = lee_precise_enter(marker, &fresh[0].word);
                fresh_count = 1;
                stack = part(marker, parts, &depth, &limit);
                continue;
            }
            words = depth < most ? depth : most;
            depth -= words;
            if (words > 0)
                asked_count = classify_batch(heap, stack + depth, words, asked);
        }
        if (batches && counting == LEE_COUNT_NOTHING) {
            fresh_count = mark_batch(asked, asked_count, fresh);
        } else if (!parts) {
            fresh_count = mark_each(asked, asked_count, fresh, batches, counting);
        } else {
            fresh_count = mark_each_held(marker, asked, asked_count, fresh);
            if (__builtin_expect(marker->other_count > 0, 0)) {
                hold_batch(marker);
                if (marker->gates > 0) { /* the next round takes nothing off the stack, but reads */
                    marker->base = marker->depth = marker->base + depth;
                    stack = part(marker, parts, &depth, &limit);
                    continue;
                }
            }
        }
        if (depth == 0 && fresh_count == 0) {
            marker->depth = parts ? marker->base : 0;
            if (marker->range_depth > (parts ? marker->range_base : 0)) {
                next_slice(marker);
            } else if (parts) {
                marker->charged += charged;
                charged = 0;
                if (!lee_precise_leave(marker))
                    break;
            } else {
                break;
            }
            stack = part(marker, parts, &depth, &limit);
        }
    }
    if (counted)
        marker->charged += charged;
}

LEE_MARKING LEE_UNCHECKED static void drain_batches(struct lee_marker *marker) {
    drain_with(marker, true, LEE_COUNT_NOTHING);
}

/* The same with the bytes that are marked added up. */
LEE_UNCHECKED static void drain_counted(struct lee_marker *marker) {
    drain_with(marker, true, LEE_COUNT_MARKED);
}

/* And written down for whom. */
LEE_UNCHECKED static void drain_in_sets(struct lee_marker *marker) {
    drain_with(marker, true, LEE_COUNT_SETS);
}

/* For measurements: one word after the other. */
LEE_MARKING LEE_UNCHECKED static void drain_plainly(struct lee_marker *marker) {
    drain_with(marker, false, LEE_COUNT_NOTHING);
}

LEE_UNCHECKED static void drain_spreading(struct lee_marker *marker) {
    drain_with(marker, true, LEE_COUNT_SPREAD);
}

static void drain(struct lee_marker *marker) {
    if (marker->counting == LEE_COUNT_MARKED)
        drain_counted(marker);
    else if (marker->counting == LEE_COUNT_SETS)
        drain_in_sets(marker);
    else if (marker->counting == LEE_COUNT_SPREAD)
        drain_spreading(marker);
    else if (lee_heap_settings.prefetch)
        drain_batches(marker);
    else
        drain_plainly(marker);
}

/* --- overflow ------------------------------------------------------------------------------------------------------ */

/* Handles were charged when they were marked. */
static void read_marked(struct lee_marker *marker, const struct lee_layout *layout, uintptr_t start, uintptr_t end) {
    marker->again = true;
    lee_layout_each(layout, start, end, push_one, marker, marker);
    marker->again = false;
}

LEE_UNCHECKED static void read_again(struct lee_marker *marker, struct lee_chunk *chunk, size_t number) {
    unsigned code = lee_code_at(chunk, number);
    struct lee_block *block = &chunk->blocks[number];
    const struct lee_cell_info *info = &lee_cell_info[code];
    if ((code == LEE_CODE_LARGE || code == LEE_CODE_UNITS) && block->span > 0 && chunk->marks[number][0] != 0) {
        read_marked(marker, lee_header_layout(block->header), lee_large_start(block), lee_large_start(block) + block->bytes);
        drain(marker);
    }
    if (info->count == 0 || info->family == LEE_PLAIN)
        return;
    for (unsigned i = 0; i < info->count; i++) {
        if ((chunk->marks[number][i / 8] >> i % 8 & 1) == 0)
            continue;
        uintptr_t object = lee_block_start(chunk, number) + info->origin + (uintptr_t)i * info->bytes;
        uintptr_t header = *(const uintptr_t *)(object - LEE_HEADER_BYTES);
        read_marked(marker, lee_header_layout(header), object, object + info->bytes - LEE_HEADER_BYTES - (header >> 48));
        if (marker->depth > marker->room / 2)
            drain(marker);
    }
    drain(marker);
}

/* Reads all marked objects again, until none pointed to an unmarked one that did not fit. */
static void recover(struct lee_marker *marker) {
    while (marker->overflown) {
        marker->recovering = true;
        marker->overflown = false;
        marker->overflows++;
        struct lee_small_cell cell = {NULL, 0, 0, 0};
        while (lee_small_next(marker->heap, &cell)) {
            if (lee_small_marked(&cell)) {
                marker->again = true;
                visit_large(marker, cell.object, LEE_CODE_SMALL);
                marker->again = false;
                drain(marker);
            }
        }
        for (struct lee_unit *unit = marker->heap->units; unit != NULL; unit = unit->next) {
            struct lee_chunk *chunk = lee_chunk_describing(unit);
            size_t first = lee_first_block(chunk, unit);
            for (size_t i = 0; i < LEE_BLOCKS_A_UNIT; i++)
                read_again(marker, chunk, first + i);
        }
        for (struct lee_unit *unit = marker->heap->large; unit != NULL; unit = unit->next) {
            struct lee_chunk *chunk = lee_chunk_describing(unit);
            read_again(marker, chunk, lee_first_block(chunk, unit));
        }
        for (struct lee_arena *key = lee_keys_of(marker->heap); key != NULL; key = key->older) {
            if (key->mark != 0) {
                lee_layout_key.trace(marker, key, 0);
                drain(marker);
            }
        }
    }
    marker->recovering = false;
}

void lee_marker_drain(struct lee_marker *marker) {
    drain(marker);
    if (marker->counting == LEE_COUNT_SPREAD)
        return; /* what was lost is not found by looking at marks: `overflown` says so */
    if (marker->counting == LEE_COUNT_SETS && marker->overflown)
        lee_precise_close_gates();
    recover(marker);
}

/* --- what roots call --------------------------------------------------------------------------------------------------- */

void lee_mark_word(struct lee_marker *marker, uintptr_t word) {
    push_one(marker, word);
}

/* What is just past an object may be all that is left of a pointer into it. Between typed objects
 * lies a header, which counts to the one in front, and large objects have a byte to spare: only
 * plain cells touch. */
LEE_UNCHECKED_INLINE bool ends_cells(struct lee_chunk *chunk, uintptr_t word) {
    const struct lee_cell_info *info = &lee_cell_info[lee_code_at(chunk, lee_block_index(word))];
    return info->count != 0 && info->family == LEE_PLAIN;
}

static bool may_own(const struct lee_heap *heap, struct lee_chunk *chunk, uintptr_t word) {
    const struct lee_heap *owner = lee_owner_in(chunk, word);
    return owner == heap || owner == LEE_SHARED;
}

LEE_UNCHECKED static void mark_range(struct lee_marker *marker, const void *start, const void *end) {
    /* A marker that only observes has not asked for the addresses. */
    uintptr_t lowest = marker->lowest, span = marker->span != 0 ? marker->span : UINTPTR_MAX;
    for (uintptr_t at = (uintptr_t)start, step = lee_heap_unaligned ? 1 : 8; at + 8 <= (uintptr_t)end; at += step) {
        uintptr_t word = word_at(at);
        if (word - lowest > span)
            continue;
        struct lee_chunk *chunk = lee_chunk_of(word);
        struct lee_chunk *before = lee_chunk_of(word - 1);
        if (chunk != NULL && may_own(marker->heap, chunk, word))
            push_one(marker, word);
        if (before != NULL && (word & 7) == 0 && lee_owner_in(before, word - 1) == marker->heap && ends_cells(before, word - 1))
            push_one(marker, word - 1);
        if (marker->depth > marker->room / 2 && marker->observe == NULL)
            drain(marker);
    }
}

/* Memcheck would report each word that has no value yet: it is told that copies have one. The words
 * themselves stay as they are, so that it still reports what the program reads. */
static __attribute__((noinline)) void mark_copies(struct lee_marker *marker, const char *start, const char *end) {
    char copy[256 + 7] __attribute__((aligned(8)));
    for (; start + 8 <= end; start += 256) {
        size_t bytes = (size_t)(end - start) < sizeof copy ? (size_t)(end - start) : sizeof copy;
        __builtin_memcpy(copy, start, bytes);
        lee_valgrind_defined(copy, bytes);
        mark_range(marker, copy, copy + bytes);
        if (end - start <= 256)
            break;
    }
}

void lee_mark_words(struct lee_marker *marker, const void *start, const void *end) {
    if (lee_runs_on_valgrind())
        mark_copies(marker, start, end);
    else
        mark_range(marker, start, end);
}

static void push_root(void *context, uintptr_t word) {
    struct lee_marker *marker = context;
    push_one(marker, word);
    if (marker->depth > marker->room / 2 && marker->observe == NULL)
        drain(marker);
}

void lee_mark_root(struct lee_marker *marker, const void *object, size_t bytes, const struct lee_layout *layout) {
    lee_layout_each(layout, (uintptr_t)object, (uintptr_t)object + bytes, push_root, marker, marker);
}

void lee_mark_contents(struct lee_marker *marker, const void *object, size_t bytes, const struct lee_layout *layout) {
    lee_layout_each(layout, (uintptr_t)object, (uintptr_t)object + bytes, push_one, marker, marker);
}
