/* image.h: a program file (ELF64), as much of it as a backtrace needs.
 *
 * Promises: works on any bytes, also damaged ones, without reading outside them; allocates nothing.
 * What is missing or damaged is found as empty. */
#ifndef LEE_IMAGE_H
#define LEE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

struct lee_image {
    struct lee_cursor file;
    uint64_t segments; /* offset of the program headers */
    unsigned segment_count;
    struct lee_cursor line, line_strings, strings; /* .debug_line, .debug_line_str, .debug_str; empty if compressed */
    struct lee_cursor symbols, symbol_names;       /* .symtab, or .dynsym where that is all there is */
};

/* What is known of one address: an address as the file has it, before it was loaded anywhere. */
struct lee_location {
    uint64_t address;
    const char *function;  /* null: not known. From the symbol table, with suffixes of the compiler (`.cold`) */
    const char *directory; /* null: `file` is complete, or relative to where the compiler ran */
    const char *file;      /* null: not known */
    unsigned line, column; /* 0: not known */
    /* Of use to the readers only. */
    uint64_t function_start, file_index;
};

/* False if these bytes are no ELF64 file of this machine's byte order. The image refers to `data`. */
bool lee_image_parse(struct lee_image *image, const uint8_t *data, size_t size);

/* The address that the byte at `offset` of the file has, before loading. False if no segment is
 * loaded from there. */
bool lee_image_address(const struct lee_image *image, uint64_t offset, uint64_t *address);

/* Whether code is loaded at `address`. */
bool lee_image_has_code(const struct lee_image *image, uint64_t address);

/* Fills in `function` of all locations, in one pass over the symbols. */
void lee_image_find_functions(const struct lee_image *image, struct lee_location *locations, size_t count);

#endif
