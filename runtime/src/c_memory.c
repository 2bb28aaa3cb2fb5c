/* c_memory.c: the memory of C's `malloc` that a process has.
 *
 * In a program with processes, `.c` files that Leeward compiles call these functions in place of
 * C's of the same name (emit_c: `in_processes`). What a process that was spawned gets from them is
 * on its list, charged to its custodians, and freed when it ends, however it ends.
 *
 * Blocks are libc's own, without a header: a library may free what such a file allocated, and the
 * other way round. So the list is a table of addresses. What is not in the table (of libc's or of a
 * library's own making) is freed like any other block. Refused memory is a null result with ENOMEM,
 * as in C: C code runs on a stack that no collection may move under, and has its own way to give
 * up.
 *
 * The process of a thread, which was not spawned, has no list: the program's end is its end. */
#define _GNU_SOURCE
#include <lee/c_memory.h>

#include "address_table.h"
#include "process.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a block takes, with what malloc takes for itself. */
static size_t size_of(void *block) {
    return malloc_usable_size(block) + LEE_MALLOC_HEADER;
}

/* Lists a block of libc's; if that is refused, the block is freed, and null is the result. Its
 * bytes are charged before C code touches them. */
static void *listed(void *block) {
    if (block == NULL || !lee_process_is_spawned())
        return block;
    size_t bytes = size_of(block), growth = lee_address_growth(lee_process->c_blocks);
    if (lee_process_charge(lee_process, bytes + growth)) {
        lee_process_uncharge(lee_process, growth); /* the table counts itself */
        if (lee_address_reserve(&lee_process->c_blocks)) {
            lee_address_add(lee_process->c_blocks, block)->value = bytes;
            return block;
        }
        lee_process_uncharge(lee_process, bytes);
    }
    free(block);
    errno = ENOMEM;
    return NULL;
}

/* Takes a block off the list. Whether it was there. */
static bool unlisted(void *block) {
    if (block == NULL || !lee_process_is_spawned())
        return false;
    struct lee_address_entry *entry = lee_address_find(lee_process->c_blocks, block);
    if (entry == NULL)
        return false;
    lee_process_uncharge(lee_process, entry->value);
    lee_address_remove(&lee_process->c_blocks, entry);
    return true;
}

void *lee_c_malloc(size_t bytes) {
    return listed(malloc(bytes));
}

void *lee_c_calloc(size_t count, size_t bytes) {
    return listed(calloc(count, bytes));
}

/* In a process it never grows in place: if the larger block is refused, the old one must be as it
 * was. */
void *lee_c_realloc(void *block, size_t bytes) {
    if (!lee_process_is_spawned())
        return realloc(block, bytes);
    if (block == NULL)
        return lee_c_malloc(bytes);
    if (bytes == 0) {
        lee_c_free(block);
        return NULL;
    }
    size_t old = malloc_usable_size(block);
    /* It stays where it is if that wastes less than a half. */
    if (bytes <= old && bytes >= old / 2)
        return block;
    void *new = lee_c_malloc(bytes);
    if (new != NULL) {
        memcpy(new, block, old < bytes ? old : bytes);
        lee_c_free(block);
    }
    return new;
}

void *lee_c_reallocarray(void *block, size_t count, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return lee_c_realloc(block, all);
}

void *lee_c_aligned_alloc(size_t alignment, size_t bytes) {
    return listed(aligned_alloc(alignment, bytes));
}

int lee_c_posix_memalign(void **place, size_t alignment, size_t bytes) {
    void *block;
    int error = posix_memalign(&block, alignment, bytes);
    if (error != 0)
        return error;
    block = listed(block);
    if (block == NULL)
        return ENOMEM;
    *place = block;
    return 0;
}

char *lee_c_strdup(const char *text) {
    return listed(strdup(text));
}

char *lee_c_strndup(const char *text, size_t most) {
    return listed(strndup(text, most));
}

int lee_c_vasprintf(char **place, const char *format, va_list arguments) {
    char *text;
    int length = vasprintf(&text, format, arguments);
    if (length < 0)
        return length;
    *place = listed(text);
    return *place == NULL ? -1 : length;
}

int lee_c_asprintf(char **place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = lee_c_vasprintf(place, format, arguments);
    va_end(arguments);
    return length;
}

/* libc frees or moves the buffer, so it is not listed in between. A buffer that the list refuses
 * is gone: `*line` is null then. */
ssize_t lee_c_getdelim(char **line, size_t *room, int end, FILE *file) {
    if (line == NULL || room == NULL)
        return getdelim(line, room, end, file); /* an error */
    unlisted(*line);
    ssize_t length = getdelim(line, room, end, file);
    if (*line == NULL)
        return length;
    *line = listed(*line);
    if (*line != NULL)
        return length;
    *room = 0;
    return -1;
}

ssize_t lee_c_getline(char **line, size_t *room, FILE *file) {
    return lee_c_getdelim(line, room, '\n', file);
}

void lee_c_free(void *block) {
    unlisted(block);
    free(block);
}

void lee_c_memory_end(struct lee_process *process) {
    struct lee_address_table *table = process->c_blocks;
    process->c_blocks = NULL;
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        if (table->entries[i].key != NULL) {
            lee_process_uncharge(process, table->entries[i].value);
            free((void *)(uintptr_t)table->entries[i].key);
        }
    }
    lee_address_free(table);
}
