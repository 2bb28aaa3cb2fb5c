/* sweep.c: what marking left, made into cells again.
 *
 * After a collection a block's mark bits say which of its cells live. Nothing is swept at once: a
 * bin that needs cells looks for the next run of dead ones in its current block, zeroes it and
 * bumps through it; then goes to the next unswept block. Runs beat lists: zeroing goes at memory
 * speed, and cells are handed out side by side.
 *
 * Promises: blocks in which nothing lives are found without touching them and can be used by any
 * class at once. Before the next marking `lee_sweep_finish` clears the headers of the dead, so a
 * word that happens to point at one is dropped. */
#include "heap.h"
#include "mend.h"
#include "poison.h"
#include "small.h"
#include "units.h"

enum {
    RUN_BYTES = 1 << 14, /* zeroed at a time: fits the first cache beside other things */
    MARK_WORDS = LEE_BLOCK_MARK_BYTES / 8
};

static const struct lee_cell_info *info_of(struct lee_chunk *chunk, size_t number) {
    return &lee_cell_info[lee_code_at(chunk, number)];
}

/* Where cells begin: in front of the first header, or at the first object. */
static uintptr_t first_cell(struct lee_chunk *chunk, size_t number, const struct lee_cell_info *info) {
    return lee_block_start(chunk, number) + info->origin - (info->origin != 0 ? LEE_HEADER_BYTES : 0);
}

/* The first cell from `at` on whose mark bit is `value`; `count` if there is none. */
static unsigned find_mark(const uint64_t *marks, unsigned at, unsigned count, bool value) {
    if (at >= count)
        return count;
    uint64_t flip = value ? 0 : ~(uint64_t)0;
    unsigned word = at / 64;
    uint64_t bits = (marks[word] ^ flip) & ~(uint64_t)0 << at % 64;
    while (bits == 0) {
        if (++word * 64 >= count)
            return count;
        bits = marks[word] ^ flip;
    }
    unsigned found = word * 64 + (unsigned)__builtin_ctzll(bits);
    return found < count ? found : count;
}

static const uint64_t *marks_of(struct lee_chunk *chunk, size_t number) {
    return (const uint64_t *)(const void *)chunk->marks[number];
}

LEE_UNCHECKED void lee_cells_fill(uintptr_t start, size_t bytes, int value) {
    LEE_UNPOISON(start, bytes);
    __builtin_memset((void *)start, value, bytes);
    LEE_POISON(start, bytes);
}

/* The next run of cells of the current block, as the bin's fresh cells. */
static bool next_run(struct lee_heap *heap, unsigned family, unsigned class_) {
    struct lee_bin *bin = &heap->inline_part.bins[family][class_];
    struct lee_block *block = heap->blocks_of[family][class_].current;
    struct lee_chunk *chunk = lee_chunk_describing(block);
    size_t number = lee_block_number(chunk, block);
    const struct lee_cell_info *info = info_of(chunk, number);
    unsigned start = find_mark(marks_of(chunk, number), block->fresh, info->count, false);
    if (start == info->count) {
        block->fresh = info->count;
        return false;
    }
    unsigned end = find_mark(marks_of(chunk, number), start, info->count, true);
    if (heap->stress != LEE_STRESS_NEVER)
        end = start + 1; /* each allocation comes here */
    size_t most = block->dirty && heap->run_most > RUN_BYTES ? RUN_BYTES : heap->run_most;
    if ((size_t)(end - start) * info->bytes > most)
        end = start + (unsigned)((most + info->bytes - 1) / info->bytes);
    uintptr_t base = first_cell(chunk, number, info);
    size_t bytes = (size_t)(end - start) * info->bytes;
    bin->bump = base + (size_t)start * info->bytes;
    bin->limit = bin->bump + bytes;
    block->fresh = (uint16_t)end;
    if (block->dirty)
        lee_cells_fill(bin->bump, bytes, 0);
    heap->with_run[family] |= (uint64_t)1 << class_;
    heap->since_collection += bytes;
    heap->counts.allocated += bytes;
    return true;
}

_Static_assert(LEE_CLASSES <= 64, "a bit for each class");

void lee_bins_flush(struct lee_heap *heap) {
    for (unsigned family = 0; family < LEE_FAMILIES; family++) {
        for (; heap->with_run[family] != 0; heap->with_run[family] &= heap->with_run[family] - 1) {
            unsigned class_ = (unsigned)__builtin_ctzll(heap->with_run[family]);
            struct lee_bin *bin = &heap->inline_part.bins[family][class_];
            struct lee_block *block = heap->blocks_of[family][class_].current;
            size_t bytes = bin->limit - bin->bump;
            if (bytes == 0 || block == NULL)
                continue;
            block->fresh = (uint16_t)(block->fresh - bytes / lee_class_bytes(class_));
            bin->bump = bin->limit = 0;
            heap->since_collection -= bytes;
            heap->counts.allocated -= bytes;
        }
    }
}

/* The bin's next run, from the blocks that it has. */
static bool refill_from_blocks(struct lee_heap *heap, unsigned family, unsigned class_) {
    struct lee_bin_blocks *blocks = &heap->blocks_of[family][class_];
    for (;;) {
        if (blocks->current != NULL) {
            if (next_run(heap, family, class_))
                return true;
            blocks->current->state = BLOCK_FULL;
            blocks->current = NULL;
        }
        struct lee_block *block = blocks->unswept;
        if (block == NULL)
            return false;
        blocks->unswept = block->next;
        block->fresh = 0;
        block->state = BLOCK_CURRENT;
        blocks->current = block;
    }
}

/* The lists of blocks are made with the first of them. */
static bool has_lists(struct lee_heap *heap) {
    if (heap->blocks_of != NULL)
        return true;
    struct lee_small *page = lee_small_take(heap);
    if (page == NULL && lee_blocks_release(heap, 0) + lee_units_trim() > 0)
        page = lee_small_take(heap);
    if (page == NULL)
        return false;
    void *lists = (void *)lee_small_start(page);
    _Static_assert(sizeof(struct lee_bin_blocks[LEE_FAMILIES][LEE_CLASSES]) <= LEE_SMALL_CELLS * 16, "they fit a page");
    LEE_UNPOISON(lists, sizeof(struct lee_bin_blocks[LEE_FAMILIES][LEE_CLASSES]));
    heap->blocks_of = __builtin_memset(lists, 0, sizeof(struct lee_bin_blocks[LEE_FAMILIES][LEE_CLASSES]));
    return true;
}

static bool add_block(struct lee_heap *heap, unsigned family, unsigned class_) {
    struct lee_block *block = has_lists(heap) ? lee_blocks_take(heap, 1, lee_cell_code(family, class_)) : NULL;
    if (block == NULL)
        return false;
    block->state = BLOCK_CURRENT;
    block->fresh = 0;
    heap->blocks_of[family][class_].current = block;
    return true;
}

bool lee_bin_refill(struct lee_heap *heap, unsigned family, unsigned class_) {
    lee_custodians_ask(heap, lee_class_bytes(class_));
    struct lee_bin *bin = &heap->inline_part.bins[family][class_];
    bool collected = !heap->enabled || heap->collecting;
    lee_heap_mend(heap);
    for (;;) {
        if (bin->free != 0 || bin->bump != bin->limit)
            return true; /* a trim in between found some */
        if ((heap->blocks_of != NULL && refill_from_blocks(heap, family, class_)) || lee_small_refill(heap, family, class_))
            return true;
        if (!collected && lee_heap_poll(heap, LEE_BLOCK_BYTES)) {
            collected = true;
            continue;
        }
        if (add_block(heap, family, class_))
            continue;
        if (collected && !lee_custodians_starved(heap))
            return false;
        if (!collected)
            lee_heap_collect(heap);
        collected = true;
    }
}

/* --- between collections --------------------------------------------------------------------------------------- */

LEE_UNCHECKED static void clear_headers(struct lee_block *block, unsigned from) {
    struct lee_chunk *chunk = lee_chunk_describing(block);
    size_t number = lee_block_number(chunk, block);
    const struct lee_cell_info *info = info_of(chunk, number);
    uintptr_t base = first_cell(chunk, number, info);
    for (unsigned at = find_mark(marks_of(chunk, number), from, info->count, false); at < info->count;) {
        unsigned end = find_mark(marks_of(chunk, number), at, info->count, true);
        for (; at < end; at++)
            *(uintptr_t *)(base + (size_t)at * info->bytes) = 0;
        at = find_mark(marks_of(chunk, number), end, info->count, false);
    }
}

void lee_sweep_finish(struct lee_heap *heap) {
    for (unsigned family = 0; family < LEE_FAMILIES; family++) {
        for (unsigned class_ = 0; class_ < LEE_CLASSES; class_++) {
            heap->inline_part.bins[family][class_] = (struct lee_bin){0, 0, 0};
            if (heap->blocks_of == NULL)
                continue;
            struct lee_bin_blocks *blocks = &heap->blocks_of[family][class_];
            if (family != LEE_PLAIN) {
                if (blocks->current != NULL && blocks->current->dirty)
                    clear_headers(blocks->current, blocks->current->fresh);
                for (struct lee_block *block = blocks->unswept; block != NULL; block = block->next)
                    clear_headers(block, 0);
            }
            blocks->current = blocks->unswept = NULL;
        }
    }
}

/* The cells of a block that live. Counted bytewise, 16 words at a time: the processor's own
 * instruction is not on every x86-64, and a call for each word is slower. */
static size_t count_marks(struct lee_chunk *chunk, size_t number) {
    const uint64_t *marks = marks_of(chunk, number), ones = 0x0101010101010101u;
    size_t count = 0;
    for (unsigned i = 0; i < MARK_WORDS; i += 16) {
        uint64_t bytes = 0;
        for (unsigned k = i; k < i + 16; k++) {
            uint64_t pairs = marks[k] - (marks[k] >> 1 & ones * 0x55);
            uint64_t fours = (pairs & ones * 0x33) + (pairs >> 2 & ones * 0x33);
            bytes += (fours + (fours >> 4)) & ones * 0x0f;
        }
        count += (bytes & 0x00ff00ff00ff00ffu) * 0x0001000100010001u >> 48;
        count += (bytes >> 8 & 0x00ff00ff00ff00ffu) * 0x0001000100010001u >> 48;
    }
    return count;
}

static void count_large(struct lee_heap *heap, const struct lee_block *block) {
    heap->counts.live_objects++;
    heap->counts.live_bytes += lee_large_charge(block->bytes);
}

/* LEE_GC_STRESS: what died is overwritten at once, so that whoever still uses it sees it.
 * Afterwards its header is that of a free cell. */
LEE_UNCHECKED static void scribble(struct lee_chunk *chunk, size_t number) {
    const struct lee_cell_info *info = info_of(chunk, number);
    uintptr_t base = first_cell(chunk, number, info);
    for (unsigned at = 0; at < info->count; at++) {
        if ((chunk->marks[number][at / 8] >> at % 8 & 1) == 0)
            lee_cells_fill(base + (size_t)at * info->bytes, info->bytes, LEE_DEAD_BYTE);
    }
}

/* Sorts a unit's blocks into the lists of their bins, last first, and lets go of the empty ones. */
static void sort_unit(struct lee_heap *heap, struct lee_unit *unit) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    size_t first = lee_first_block(chunk, unit);
    for (size_t i = LEE_BLOCKS_A_UNIT; i-- > 0;) {
        struct lee_block *block = &chunk->blocks[first + i];
        unsigned code = lee_code_at(chunk, first + i);
        if (code == LEE_CODE_LARGE && block->span > 0) {
            if (chunk->marks[first + i][0] == 0)
                lee_blocks_give(heap, block, block->span);
            else
                count_large(heap, block);
        }
        if (code < LEE_CODE_CELLS || code >= LEE_CODE_LARGE)
            continue;
        size_t live = count_marks(chunk, first + i);
        if (live == 0) {
            lee_blocks_give(heap, block, 1);
            continue;
        }
        heap->counts.live_objects += live;
        heap->counts.live_bytes += live * lee_cell_info[code].bytes;
        struct lee_bin_blocks *blocks = &heap->blocks_of[lee_cell_info[code].family][lee_cell_info[code].class_];
        block->state = BLOCK_UNSWEPT;
        block->fresh = 0;
        block->dirty = true;
        if (heap->stress != LEE_STRESS_NEVER)
            scribble(chunk, first + i);
        block->next = blocks->unswept;
        blocks->unswept = block;
    }
}

void lee_sweep_begin(struct lee_heap *heap) {
    struct lee_unit *next;
    lee_small_sweep(heap);
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next)
        sort_unit(heap, unit);
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        next = unit->next;
        if (chunk->marks[first][0] == 0)
            lee_large_free(heap, (void *)lee_block_start(chunk, first));
        else
            count_large(heap, &chunk->blocks[first]);
    }
}

/* --- trimming: memory that `free` emptied ------------------------------------------------------------------------ */

static void set_marks(struct lee_chunk *chunk, size_t number, unsigned from, unsigned to) {
    for (; from < to && from % 8 != 0; from++)
        chunk->marks[number][from / 8] |= (uint8_t)(1 << from % 8);
    if (from < to)
        __builtin_memset(&chunk->marks[number][from / 8], 0xff, (to - from) / 8);
    for (from += (to - from) / 8 * 8; from < to; from++)
        chunk->marks[number][from / 8] |= (uint8_t)(1 << from % 8);
}

/* All cells of a block that were handed out count as live. */
static void mark_block(struct lee_chunk *chunk, size_t number) {
    unsigned code = lee_code_at(chunk, number);
    struct lee_block *block = &chunk->blocks[number];
    if ((code == LEE_CODE_LARGE || code == LEE_CODE_UNITS) && block->span > 0)
        chunk->marks[number][0] = 1;
    else if (code < LEE_CODE_CELLS || code >= LEE_CODE_LARGE)
        return;
    else if (block->state == BLOCK_FULL)
        set_marks(chunk, number, 0, lee_cell_info[code].count);
    else if (block->state == BLOCK_CURRENT)
        set_marks(chunk, number, 0, block->fresh);
}

static void mark_handed_out(struct lee_heap *heap) {
    lee_small_mark_all(heap);
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT; i++)
            mark_block(chunk, i);
    }
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        mark_block(chunk, lee_first_block(chunk, unit));
    }
}

void lee_sweep_adopt(struct lee_heap *heap, const uint8_t (*marks)[LEE_BLOCKS_A_UNIT * LEE_BLOCK_MARK_BYTES], const uint8_t *large) {
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = 0; i < LEE_BLOCKS_A_UNIT; i++) {
            if (lee_code_at(chunk, first + i) == LEE_CODE_NONE)
                continue;
            if (chunk->blocks[first + i].young)
                mark_block(chunk, first + i);
            else
                __builtin_memcpy(chunk->marks[first + i], &marks[unit->slot][i * LEE_BLOCK_MARK_BYTES], LEE_BLOCK_MARK_BYTES);
        }
    }
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        chunk->marks[first][0] = chunk->blocks[first].young ? 1 : large[unit->slot];
    }
}

static void unmark_cell(uintptr_t cell, const struct lee_cell_info *info) {
    struct lee_chunk *chunk = lee_chunk_at((void *)cell);
    size_t number = lee_block_index(cell);
    if (lee_code_at(chunk, number) == LEE_CODE_SMALL) {
        lee_small_unmark(info->family == LEE_PLAIN ? cell : cell + LEE_HEADER_BYTES);
        return;
    }
    unsigned index = (unsigned)((cell - first_cell(chunk, number, info)) / info->bytes);
    chunk->marks[number][index / 8] &= (uint8_t)~(1 << index % 8);
}

LEE_UNCHECKED static void unmark_free(struct lee_heap *heap) {
    for (unsigned family = 0; family < LEE_FAMILIES; family++) {
        for (unsigned class_ = 0; class_ < LEE_CLASSES; class_++) {
            struct lee_bin *bin = &heap->inline_part.bins[family][class_];
            const struct lee_cell_info *info = &lee_cell_info[lee_cell_code(family, class_)];
            for (uintptr_t cell = bin->free; cell != 0; cell = *(uintptr_t *)cell)
                unmark_cell(cell, info);
            for (; bin->bump != bin->limit; bin->bump += info->bytes)
                unmark_cell(bin->bump, info);
        }
    }
}

void lee_sweep_drop_free(struct lee_heap *heap) {
    unmark_free(heap);
    lee_sweep_finish(heap);
}

void lee_heap_trim(struct lee_heap *heap) {
    size_t used = heap->blocks_used * LEE_BLOCK_BYTES, before = used;
    if (!heap->collecting && !heap->snapshot) {
        mark_handed_out(heap);
        lee_sweep_drop_free(heap);
        heap->counts.live_objects = heap->counts.live_bytes = 0;
        lee_sweep_begin(heap);
        lee_pages_trim(heap);
        heap->counts.trims++;
        used = heap->blocks_used * LEE_BLOCK_BYTES;
        lee_blocks_release(heap, used / 8 > lee_heap_settings.least_budget ? used / 8 : lee_heap_settings.least_budget);
    }
    /* A program that frees and allocates in turn has no empty blocks: it is asked less and less often. */
    if (before - used >= before / 8)
        heap->trim_patience = 1;
    else if (heap->trim_patience < 16)
        heap->trim_patience = heap->trim_patience == 0 ? 1 : heap->trim_patience * 2;
    size_t credit = used / 2 > lee_heap_settings.least_budget ? used / 2 : lee_heap_settings.least_budget;
    heap->inline_part.free_credit = heap->credit_given = (intptr_t)(credit * heap->trim_patience);
}
