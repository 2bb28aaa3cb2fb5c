/* Layouts: where the pointers of a type are, as the collector wants to know it.
 *
 * Promises (of whoever makes one, usually the compiler): a layout is a constant, aligned to 8
 * bytes, below 2^48. Every word of the type that can hold a pointer to the collected heap is named
 * by it, save words that only repeat what another named word keeps alive: of a `fat` pointer only
 * the lower bound is named, of a typed `void *` only the address. A named word may hold anything:
 * what is no pointer into the heap is ignored. So a union without a tag simply names the words of
 * all its members. docs/internals/abi.md has the rules of emission. */
#ifndef LEE_LAYOUT_H
#define LEE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_marker;
struct lee_layout;
struct lee_container;

enum lee_layout_kind {
    LEE_LAYOUT_WORDS,        /* those of `words`, and nothing else: elements of at most 64 words */
    LEE_LAYOUT_MIXED,        /* those of `words`, or of `more`; `variants`; `rest` */
    LEE_LAYOUT_CONSERVATIVE, /* every word */
    LEE_LAYOUT_PLAIN,        /* none */
    LEE_LAYOUT_TRACED        /* `trace` tells */
};

/* Words that are only there while a tag has a value: the named words of `layout`, from byte
 * `offset` of the element on. */
struct lee_variant {
    uint32_t tag_offset;
    uint32_t tag_bytes; /* 1, 2, 4 or 8 */
    uint64_t value;
    uint32_t offset;
    const struct lee_layout *layout;
};

struct lee_layout {
    uint32_t bytes; /* of one element, as sizeof says; an object is an array of them */
    uint8_t kind;   /* enum lee_layout_kind */
    uint8_t has_flexible; /* what follows the first element are elements of `rest` */
    uint16_t variant_count;
    uint64_t words;       /* one bit for each of the first 64 words of an element */
    const uint64_t *more; /* if not null, instead of `words`: (bytes / 8 + 63) / 64 such masks */
    const struct lee_variant *variants;
    const struct lee_layout *rest;
    void (*trace)(struct lee_marker *marker, const void *object, size_t bytes);
    /* Called once, when the collector finds the object dead (never for one that is freed), before
     * anything is swept: releases what it owns outside the heap. May not allocate, and may use what
     * the object points to in the heap only as `lee_is_marked` allows. */
    void (*drop)(void *object, size_t bytes);
    const char *name; /* for reports; may be null */
    uint32_t align; /* if more than 16: the elements begin at `lee_align` of the object */
    uint32_t front; /* bytes of the object in front of the elements: those of a count */
    const struct lee_container *container; /* what `container_of` asks (lee/container.h); may be null */
    /* For `lee top --why` (crates/emit_c/src/described.rs); may be null: where its pointers are, with
     * names, and where objects of it are allocated. */
    const char *fields, *sites;
};

extern const struct lee_layout lee_layout_conservative, lee_layout_plain;

#ifdef __cplusplus
}
#endif

#endif
