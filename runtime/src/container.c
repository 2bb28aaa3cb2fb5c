/* container.c: from a member to its struct.
 *
 * Promises: what lee/container.h says. The list is a treap by address; objects on it do not
 * overlap, and an object's priority is a hash of its address, so its depth is about twice the
 * logarithm. Each process has one of its own, and all have one of variables of static storage, by
 * the addresses that these are linked at. */
#include "container.h"

#include "globals_copy.h"
#include "heap.h"
#include "process.h"
#include "worker.h"

bool lee_listed_any;
static struct lee_listed *variables; /* with the lock: constructors of a library may add some later */

static uint64_t priority(const struct lee_listed *entry) {
    uint64_t mixed = (entry->start ^ entry->start >> 33) * 0xff51afd7ed558ccdu;
    return mixed ^ mixed >> 29;
}

/* Those that begin below `at`, and the others. */
static void split(struct lee_listed *tree, uintptr_t at, struct lee_listed **low, struct lee_listed **high) {
    while (tree != NULL) {
        if (tree->start < at) {
            *low = tree;
            low = &tree->more;
            tree = tree->more;
        } else {
            *high = tree;
            high = &tree->less;
            tree = tree->less;
        }
    }
    *low = *high = NULL;
}

/* All of `low` lie below all of `high`. */
static struct lee_listed *join(struct lee_listed *low, struct lee_listed *high) {
    struct lee_listed *tree = NULL, **at = &tree;
    while (low != NULL && high != NULL) {
        if (priority(low) > priority(high)) {
            *at = low;
            at = &low->more;
            low = low->more;
        } else {
            *at = high;
            at = &high->less;
            high = high->less;
        }
    }
    *at = low != NULL ? low : high;
    return tree;
}

static void add(struct lee_listed **at, struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type) {
    *entry = (struct lee_listed){.start = (uintptr_t)object, .end = (uintptr_t)object + bytes, .type = type};
    uint64_t own = priority(entry);
    while (*at != NULL && priority(*at) >= own)
        at = entry->start < (*at)->start ? &(*at)->less : &(*at)->more;
    split(*at, entry->start, &entry->less, &entry->more);
    *at = entry;
}

void lee_list(struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type) {
    lee_listed_any = true;
    add(&lee_lists()->listed, entry, object, bytes, type);
}

void lee_list_variable(struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type) {
    lee_lock();
    add(&variables, entry, object, bytes, type);
    lee_unlock();
}

void lee_unlist(struct lee_listed *entry) {
    struct lee_listed **at = &lee_lists()->listed;
    while (*at != NULL && *at != entry)
        at = entry->start < (*at)->start ? &(*at)->less : &(*at)->more;
    if (*at != NULL)
        *at = join(entry->less, entry->more);
}

void lee_unlist_range(uintptr_t start, uintptr_t end) {
    struct lee_listed *low, *middle, *high;
    split(lee_lists()->listed, start, &low, &high);
    split(high, end, &middle, &high);
    lee_lists()->listed = join(low, high);
}

void *lee_list_in_arena(void *block, size_t bytes, const struct lee_container *type) {
    if (block != NULL)
        lee_list((struct lee_listed *)((unsigned char *)block + ((bytes + 7) & ~(size_t)7)), block, bytes, type);
    return block;
}

/* Whether one of the elements in `bytes` bytes has a `want` at the offset, itself or in one of its
 * parts, which overlap in unions. */
static bool holds(const struct lee_container *type, size_t bytes, size_t offset, const struct lee_container *want) {
    if (type->flexible && bytes > type->bytes)
        bytes = type->bytes;
    if (offset >= bytes - bytes % type->bytes)
        return false;
    offset %= type->bytes;
    if (offset == 0 && type->digest == want->digest)
        return true;
    for (const struct lee_part *part = type->parts, *behind = part + type->count; part < behind; part++) {
        size_t length = part->count * part->type->bytes;
        if (offset >= part->offset && offset - part->offset < length && holds(part->type, length, offset - part->offset, want))
            return true;
    }
    return false;
}

static bool in_heap(uintptr_t at, const struct lee_container *want) {
    struct lee_object object;
    struct lee_heap *heap = lee_heap_self();
    if (heap == NULL || !lee_object_find(heap, at, &object))
        return false;
    const struct lee_layout *layout = lee_header_layout(object.header);
    uintptr_t start = object.start + layout->front, end = object.start + object.bytes;
    if (layout->align > 16) {
        start += layout->align - (start & (layout->align - 1));
        end = object.start + object.bytes - layout->align + (start - object.start);
    }
    return layout->container != NULL && at >= start && holds(layout->container, end - start, at - start, want);
}

static bool on_list(const struct lee_listed *entry, uintptr_t at, const struct lee_container *want) {
    while (entry != NULL) {
        if (at < entry->start)
            entry = entry->less;
        else if (at >= entry->end)
            entry = entry->more;
        else
            return holds(entry->type, entry->end - entry->start, at - entry->start, want);
    }
    return false;
}

static bool is_variable(uintptr_t at, const struct lee_container *want) {
    if (lee_globals_linked != NULL)
        at = lee_globals_linked(at);
    lee_lock();
    bool is = on_list(variables, at, want);
    lee_unlock();
    return is;
}

void lee_check_container(const struct lee_site *site, const void *member, size_t offset, const struct lee_container *type) {
    if (member == NULL)
        return;
    uintptr_t at = (uintptr_t)member - offset;
    if (!in_heap(at, type) && !on_list(lee_lists()->listed, at, type) && !is_variable(at, type))
        lee_fault_container(site, type->name);
}
