/* why.c: see why.h. */
#define _GNU_SOURCE
#include "why.h"

#ifndef LEE_NO_GC

#include <link.h>
#include <string.h>

#include "address_table.h"
#include "arena.h"
#include "collect.h"
#include "custodian.h"
#include "exchange.h"
#include "foreign_stack.h"
#include "globals_copy.h"
#include "poison.h"
#include "process.h"
#include "system.h"
#include "units.h"

enum {
    STEP = 250000,          /* nanoseconds of the thread's time, of a step */
    LOOK = 32,              /* words or objects between two looks at the clock */
    ROOT_WORDS = 1 << 16,   /* words of roots of one kind that are read: all in one step */
    PLACES = 2 * LEE_WHY_OBJECTS, /* of the hash table: a power of two */
    EDGES = 4 * LEE_WHY_NODES,    /* the same */
    DEPTH = 64,             /* types on a path that are compared */
    FAR = 256,              /* bytes of an object of unknown type whose words are told apart */
    BLOCKS = 4096,          /* of the exchange heap and of C that are counted */
    NODE_SHIFT = 48         /* of an object in the table: the number of its path */
};
_Static_assert(LEE_WHY_NODES < 1 << 16, "a path's number fits above an address");

/* A path that was looked up: from a node by a word to a type. */
struct edge {
    uint32_t parent, offset;
    uintptr_t key; /* a layout, or the place of a root */
    uint32_t node; /* plus 1; 0: free */
};

static struct {
    struct lee_why found;
    uint64_t *objects;  /* in the order in which they were found, which is that in which they are read */
    uint32_t *places;   /* numbers of objects, plus 1, by their addresses */
    struct edge *edges;
    uint32_t edge_count;
    uint32_t next;      /* the object that is read */
    size_t read;        /* bytes of it that were */
    int roots;          /* kinds of roots that were read */
    uint64_t until;
    unsigned looks;
    bool over; /* this step's time */
    /* While words are read: */
    struct lee_heap *heap;
    uintptr_t lowest, span; /* addresses that any heap may have */
    uint32_t node;
    uint32_t offset;
} why;

static size_t bytes_of_all(void) {
    size_t bytes = LEE_WHY_NODES * sizeof(struct lee_why_node) + LEE_WHY_OBJECTS * sizeof(uint64_t) +
                   PLACES * sizeof(uint32_t) + EDGES * sizeof(struct edge);
    return (bytes + 4095) & ~(size_t)4095;
}

bool lee_why_open(void) {
    unsigned char *memory = lee_system_reserve(NULL, bytes_of_all());
    memset(&why, 0, sizeof why);
    if (memory == NULL)
        return false;
    why.found.nodes = (struct lee_why_node *)(void *)memory;
    why.objects = (uint64_t *)(why.found.nodes + LEE_WHY_NODES);
    why.edges = (struct edge *)(void *)(why.objects + LEE_WHY_OBJECTS);
    why.places = (uint32_t *)(why.edges + EDGES);
    why.found.nodes[0] = (struct lee_why_node){.parent = LEE_WHY_PARENT_NONE, .root = LEE_WHY_REST};
    why.found.node_count = 1;
    return true;
}

void lee_why_close(void) {
    if (why.found.nodes != NULL)
        lee_system_release(why.found.nodes, bytes_of_all());
    why.found.nodes = NULL;
}

const struct lee_why *lee_why_found(void) {
    return &why.found;
}

/* --- paths ------------------------------------------------------------------------------------ */

static uint32_t hash(uint64_t word) {
    return (uint32_t)(word * 0x9e3779b97f4a7c15u >> 32);
}

/* Where the path goes on to a type: at a node of the same type above, if there is one. */
static uint32_t node_above(uint32_t parent, const struct lee_layout *layout) {
    for (int i = 0; i < DEPTH && parent != LEE_WHY_PARENT_NONE; i++) {
        const struct lee_why_node *node = &why.found.nodes[parent];
        if (node->root == LEE_WHY_HEAP && node->layout == layout)
            return parent;
        parent = node->parent;
    }
    return LEE_WHY_PARENT_NONE;
}

static uint32_t add_node(struct lee_why_node node) {
    if (why.found.node_count == LEE_WHY_NODES) {
        why.found.cut = true;
        return 0;
    }
    why.found.nodes[why.found.node_count] = node;
    return why.found.node_count++;
}

/* The node of what is found; of a heap's object with its layout, of a root with its place. */
static uint32_t node_of(struct lee_why_node wanted) {
    uintptr_t key = wanted.root == LEE_WHY_HEAP ? (uintptr_t)wanted.layout : wanted.place ^ (uintptr_t)wanted.root << 56;
    uint32_t at = hash(key ^ (uint64_t)wanted.parent << 20 ^ (uint64_t)wanted.offset << 34) & (EDGES - 1);
    for (; why.edges[at].node != 0; at = (at + 1) & (EDGES - 1)) {
        const struct edge *edge = &why.edges[at];
        if (edge->key == key && edge->parent == wanted.parent && edge->offset == wanted.offset)
            return edge->node - 1;
    }
    if (why.edge_count == EDGES / 2) {
        why.found.cut = true;
        return 0;
    }
    uint32_t node = LEE_WHY_PARENT_NONE;
    /* What is known of plain and of conservative objects is only how they were reached. */
    if (wanted.root == LEE_WHY_HEAP && wanted.layout != &lee_layout_plain && wanted.layout != &lee_layout_conservative)
        node = node_above(wanted.parent, wanted.layout);
    if (node == LEE_WHY_PARENT_NONE)
        node = add_node(wanted);
    why.edges[at] = (struct edge){wanted.parent, wanted.offset, key, node + 1};
    why.edge_count++;
    return node;
}

/* --- objects ---------------------------------------------------------------------------------- */

static bool is_late(void) {
    if (++why.looks % LOOK == 0 && lee_system_processor_time() >= why.until)
        why.over = true;
    return why.over;
}

/* A word that is read now. */
static void see(void *unused, uintptr_t word) {
    struct lee_object object;
    (void)unused;
    if (word - why.lowest >= why.span || !lee_object_find(why.heap, word, &object) || object.dead)
        return;
    uint32_t at = hash(object.start >> 3) & (PLACES - 1);
    for (; why.places[at] != 0; at = (at + 1) & (PLACES - 1)) {
        if ((why.objects[why.places[at] - 1] & (((uint64_t)1 << NODE_SHIFT) - 1)) == object.start)
            return;
    }
    if (why.found.objects == LEE_WHY_OBJECTS) {
        why.found.cut = true;
        return;
    }
    uint32_t node = node_of((struct lee_why_node){
        .parent = why.node, .offset = why.offset, .layout = lee_header_layout(object.header)});
    why.found.nodes[node].objects++;
    why.found.nodes[node].bytes += object.charge;
    why.objects[why.found.objects] = object.start | (uint64_t)node << NODE_SHIFT;
    why.places[at] = (uint32_t)++why.found.objects;
}

LEE_UNCHECKED static uintptr_t word_at(uintptr_t at) {
    return *(const uintptr_t *)at;
}

/* Whether the word that lies so far in an element can be a pointer. */
static bool is_named(const struct lee_layout *layout, size_t offset) {
    uint64_t words = layout->more != NULL ? layout->more[offset / 512] : layout->words;
    return (words >> offset / 8 % 64 & 1) != 0;
}

/* Whether the layout's masks say where all pointers are. */
static bool has_masks(const struct lee_layout *layout) {
    return (layout->kind == LEE_LAYOUT_WORDS || layout->kind == LEE_LAYOUT_MIXED) && layout->variant_count == 0 &&
           !layout->has_flexible && layout->bytes >= 8 && layout->bytes % 8 == 0;
}

/* Reads on in a stretch of an object, of which `why.read` bytes were read before and `before` lie
 * elsewhere. False if the step is over. */
static bool read_stretch(const struct lee_layout *layout, uintptr_t start, uintptr_t end, size_t before) {
    bool masks = has_masks(layout);
    while (why.read - before + 8 <= end - start) {
        size_t offset = why.read - before;
        if (is_late())
            return false;
        why.read += 8;
        if (masks && !is_named(layout, offset % layout->bytes))
            continue;
        why.offset = masks                                     ? (uint32_t)(offset % layout->bytes)
                     : offset < FAR && layout != &lee_layout_key ? (uint32_t)offset
                                                                 : LEE_WHY_ANYWHERE;
        see(NULL, word_at(start + offset));
    }
    return true;
}

static bool read_key(const struct lee_arena *key) {
    size_t before = 0;
#ifndef LEE_ARENA_BY_MALLOC
    for (struct lee_arena_page *page = key->pages; page != NULL; page = page->older) {
        struct lee_arena_part part = lee_arena_part(key, page);
        if (part.end <= part.start)
            continue;
        size_t bytes = part.end - part.start;
        if (why.read < before + bytes && !read_stretch(&lee_layout_key, part.start, part.end, before))
            return false;
        before += bytes;
    }
#else
    (void)key, (void)before;
#endif
    return true;
}

/* Reads the next object, or some of it. False if the step is over. */
static bool read_object(void) {
    uint64_t entry = why.objects[why.next];
    uintptr_t start = entry & (((uint64_t)1 << NODE_SHIFT) - 1);
    struct lee_object object;
    why.node = (uint32_t)(entry >> NODE_SHIFT);
    bool lives = lee_object_find(why.heap, start, &object) && object.start == start && !object.dead;
    const struct lee_layout *layout = lives ? lee_header_layout(object.header) : NULL;
    if (lives && layout == &lee_layout_key) {
        if (!read_key((const struct lee_arena *)start))
            return false;
    } else if (lives && layout->kind == LEE_LAYOUT_TRACED) { /* a handle of the runtime: it is small */
        struct lee_marker observer = {.heap = why.heap, .observe = see};
        why.offset = LEE_WHY_ANYWHERE;
        layout->trace(&observer, (const void *)start, object.bytes);
    } else if (lives && layout->kind != LEE_LAYOUT_PLAIN) {
        if (!read_stretch(layout, start, start + object.bytes, 0))
            return false;
    }
    why.next++;
    why.read = 0;
    return true;
}

/* --- roots ------------------------------------------------------------------------------------ */

extern const char __start_lee_text[] __attribute__((weak)), __stop_lee_text[] __attribute__((weak));

static bool is_code(uintptr_t word) {
    return word - (uintptr_t)__start_lee_text < (uintptr_t)__stop_lee_text - (uintptr_t)__start_lee_text;
}

static void see_root(enum lee_why_root root, uintptr_t place, uintptr_t word) {
    struct lee_object object;
    if (word - why.lowest >= why.span || !lee_object_find(why.heap, word, &object))
        return;
    why.node = node_of((struct lee_why_node){.parent = LEE_WHY_PARENT_NONE, .root = root, .place = place});
    why.offset = 0;
    see(NULL, word);
}

/* Words of one kind of root that may still be read. */
static size_t take_words(size_t *left, uintptr_t start, uintptr_t end) {
    size_t words = start < end ? (end - start) / 8 : 0;
    if (words > *left) {
        why.found.cut = true;
        words = *left;
    }
    *left -= words;
    return words;
}

/* A stack from `low` on, which is the newest. The words between two return addresses are of the
 * function that the lower one leads back to: it stands above the frame pointer of that function,
 * which points to a higher place of the stack. */
LEE_UNCHECKED static void see_stack(uintptr_t low, uintptr_t high, size_t *left) {
    uintptr_t pc = 0;
    size_t words = take_words(left, low, high);
    for (size_t i = 0; i < words; i++) {
        uintptr_t at = low + i * 8, word = *(const uintptr_t *)at;
        uintptr_t before = i > 0 ? *(const uintptr_t *)(at - 8) : 0;
        if (is_code(word) && (pc == 0 || (before > at && before <= high)))
            pc = word;
        else
            see_root(LEE_WHY_STACK, pc, word);
    }
}

LEE_UNCHECKED static void see_arenas(const struct lee_arena *list, enum lee_why_root root, uint64_t *bytes) {
    size_t left = ROOT_WORDS;
    *bytes += lee_arenas_bytes(list);
#ifndef LEE_ARENA_BY_MALLOC
    for (const struct lee_arena *arena = list; arena != NULL && left > 0; arena = arena->older) {
        for (struct lee_arena_page *page = arena->pages; page != NULL && left > 0; page = page->older) {
            struct lee_arena_part part = lee_arena_part(arena, page);
            size_t words = take_words(&left, part.start, part.end);
            for (size_t i = 0; i < words; i++)
                see_root(root, 0, *(const uintptr_t *)(part.start + i * 8));
        }
    }
#else
    (void)left, (void)root;
#endif
}

static void see_task(struct lee_process *process, struct lee_task *task, size_t *left) {
    bool runs = process == lee_process && task == process->tasks.running;
    uintptr_t here = runs ? (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7 : task->sp;
    uintptr_t high = runs && task->low == 0 ? why.heap->stack_end : task->high;
    const struct lee_foreign_stack *foreign = task->foreign;
    if (foreign != NULL) {
        see_stack(here, foreign->high, left);
        here = foreign->left;
    }
    if (high != 0)
        see_stack(here, high, left);
    if (task->low != 0)
        why.found.parts.stacks += task->high - (task->touched < task->high ? task->touched : task->high);
    see_arenas(task->arenas, LEE_WHY_ARENA, &why.found.parts.arenas);
}

static void see_tasks(struct lee_process *process) {
    size_t left = ROOT_WORDS, tasks = ROOT_WORDS / 16;
    __builtin_unwind_init(); /* of the one that runs: registers that a callee keeps */
    struct lee_custodian *at = lee_custodian_deepest(&process->accounts.first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        for (struct lee_task *task = at->tasks; task != NULL; task = task->next) {
            if (tasks-- == 0) {
                why.found.cut = true;
                return;
            }
            see_task(process, task, &left);
        }
    }
}

/* Variables of the program's own sections, of this process. */
struct variables {
    uintptr_t delta;
    size_t left;
};

LEE_UNCHECKED static bool see_span(void *context, struct lee_span span) {
    struct variables *variables = context;
    uintptr_t start = (span.start + 7) & ~(uintptr_t)7;
    size_t words = take_words(&variables->left, start, span.end);
    for (size_t i = 0; i < words; i++) {
        uintptr_t linked = start + i * 8;
        if (span.layout == NULL || !has_masks(span.layout) ||
            is_named(span.layout, (linked - span.start) % span.layout->bytes))
            see_root(LEE_WHY_VARIABLE, linked, *(const uintptr_t *)(linked + variables->delta));
    }
    return variables->left > 0;
}

static int see_file(struct dl_phdr_info *file, size_t size, void *context) {
    (void)size;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = file->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0 &&
            !lee_globals_cut(start, start + part->p_memsz, see_span, context))
            return 1;
    }
    return 1; /* the first one is the program; what libraries hold is the runtime's */
}

static void see_runtime(void *unused, uintptr_t word) {
    (void)unused;
    see_root(LEE_WHY_RUNTIME, 0, word);
}

static void see_message(void *unused, uintptr_t word) {
    (void)unused;
    see_root(LEE_WHY_MESSAGE, 0, word);
}

static void see_variables(struct lee_process *process) {
    struct variables variables = {(uintptr_t)process->globals.delta, ROOT_WORDS};
    lee_globals_sort();
    if (process->high == 0)
        dl_iterate_phdr(see_file, &variables);
    else if (lee_globals_each != NULL)
        lee_globals_each(see_span, &variables);
    if (process->globals.copy != NULL)
        why.found.parts.globals += lee_globals_bytes();
}

static void see_rest(struct lee_process *process) {
    struct lee_marker observer = {.heap = why.heap, .observe = see_message};
    if (lee_channels_scan != NULL)
        lee_channels_scan(process, &observer);
    observer.observe = see_runtime;
    for (struct lee_root *root = why.heap->roots.next; root != NULL; root = root->next)
        root->scan(root, &observer);
    see_arenas(process->arenas.exchange, LEE_WHY_EXCHANGE, &why.found.parts.exchange);
}

/* What is in no heap. */
static void count_parts(struct lee_process *process) {
    size_t left = BLOCKS;
    struct lee_exchange_links *at = process->blocks.next;
    for (; at != NULL && at != &process->blocks && left > 0; at = at->next, left--)
        why.found.parts.exchange += ((struct lee_exchange_block *)(void *)at)->size;
    const struct lee_address_table *c = process->c_blocks;
    for (size_t i = 0; c != NULL && i < c->room && i < 2 * BLOCKS; i++)
        why.found.parts.c_memory += c->entries[i].key != NULL ? c->entries[i].value : 0;
    if (left == 0 || (c != NULL && c->room > 2 * BLOCKS))
        why.found.cut = true;
    why.found.parts.heap += lee_heap_held(process->heap);
}

bool lee_why_step(struct lee_process *process, bool fresh) {
    why.heap = process->heap;
    why.until = lee_system_processor_time() + STEP;
    why.over = false;
    why.lowest = lee_units_range(&why.span);
    if (fresh) {
        why.roots = 0;
        count_parts(process);
    }
    if (why.heap == NULL)
        return true;
    /* Variables come first: what a function only looks at is not its own. */
    static void (*const roots[])(struct lee_process *process) = {see_variables, see_tasks, see_rest};
    for (;;) {
        while (why.next < why.found.objects) {
            if (is_late() || !read_object())
                return false;
        }
        if (why.roots == sizeof roots / sizeof *roots)
            return true;
        roots[why.roots++](process);
    }
}

#endif
