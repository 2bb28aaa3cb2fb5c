/* preempt_leaf.c: functions of libc in which a process can be stopped.
 *
 * Promises: what preempt.h says. A loop that copies much memory is hardly ever seen outside of
 * `memcpy`, which emitted code calls on its own stack. libc's functions on bytes are written in
 * assembly; they take no lock and keep no state. Where such a function begins and ends, and that it
 * moves the stack pointer nowhere, libc's own table for unwinding says (.eh_frame, of which the
 * Linux Standard Base gives the format; DWARF 5, section 6.4.2). What cannot be read there is no
 * leaf. */
#define _GNU_SOURCE
#include "preempt.h"

#ifndef LEE_NO_GC

#include <link.h>
#include <stddef.h>
#include <string.h>

enum { LEAVES_MOST = 24 };

static struct {
    uintptr_t start, end;
} leaves[LEAVES_MOST];
static int leaf_count;

static uint32_t word_at(const unsigned char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The usual CIE: addresses are relative and of four bytes, and the caller's place is the word at
 * the stack pointer. */
static bool is_usual(const unsigned char *cie) {
    static const unsigned char augmentation[] = {1, 'z', 'R', 0};
#if defined(__x86_64__)
    static const unsigned char rest[] = {1, 0x1b, 0x0c, 7, 8, 0x90, 1};
#else
    static const unsigned char rest[] = {1, 0x1b, 0x0c, 31, 0};
#endif
    const unsigned char *at = cie + 8;
    if (memcmp(at, augmentation, sizeof augmentation) != 0)
        return false;
    at += sizeof augmentation + 3; /* two factors, and the register of the return address */
    return memcmp(at, rest, sizeof rest) == 0;
}

/* The end of the function that the FDE describes, if nothing in it moves the stack pointer; else 0. */
static uintptr_t end_of_leaf(const unsigned char *fde, uintptr_t start) {
    enum { POINTER = 4, BEGIN = 8, RANGE = 12, AUGMENTATION = 16, INSTRUCTIONS = 17 };
    uint32_t length = word_at(fde);
    if (length < INSTRUCTIONS - POINTER || length > 1 << 16 || !is_usual(fde + POINTER - word_at(fde + POINTER)) ||
        (uintptr_t)fde + BEGIN + (uintptr_t)(intptr_t)(int32_t)word_at(fde + BEGIN) != start || fde[AUGMENTATION] != 0)
        return 0;
    for (const unsigned char *at = fde + INSTRUCTIONS; at < fde + POINTER + length; at++) {
        if (*at != 0) /* DW_CFA_nop */
            return 0;
    }
    return start + word_at(fde + RANGE);
}

/* By the sorted table that linkers make of the FDEs. */
static void look(const unsigned char *table, uintptr_t start) {
    static const unsigned char usual[] = {1, 0x1b, 3, 0x3b};
    if (memcmp(table, usual, sizeof usual) != 0)
        return;
    uint32_t low = 0, high = word_at(table + 8);
    const unsigned char *entries = table + 12;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uintptr_t at = (uintptr_t)table + (uintptr_t)(intptr_t)(int32_t)word_at(entries + (size_t)middle * 8);
        if (at == start) {
            const unsigned char *fde = table + (int32_t)word_at(entries + (size_t)middle * 8 + 4);
            uintptr_t end = end_of_leaf(fde, start);
            if (end != 0) {
                leaves[leaf_count].start = start;
                leaves[leaf_count++].end = end;
            }
            return;
        }
        if (at < start)
            low = middle + 1;
        else
            high = middle;
    }
}

static int look_in(struct dl_phdr_info *info, size_t size, void *context) {
    uintptr_t start = *(const uintptr_t *)context;
    const unsigned char *table = NULL;
    bool within = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && start - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            within = true;
        if (part->p_type == PT_GNU_EH_FRAME)
            table = (const unsigned char *)(info->dlpi_addr + part->p_vaddr);
    }
    if (within && table != NULL)
        look(table, start);
    return within;
}

void lee_preempt_find_leaves(void) {
    static const void *const functions[] = {
        (const void *)memcpy, (const void *)memmove, (const void *)memset, (const void *)memcmp, (const void *)memchr,
        (const void *)strlen, (const void *)strnlen, (const void *)strchr, (const void *)strrchr, (const void *)strcmp,
        (const void *)strncmp, (const void *)strcpy, (const void *)strcat, (const void *)memrchr, (const void *)stpcpy};
    _Static_assert(sizeof functions / sizeof *functions <= LEAVES_MOST, "places");
    if (leaf_count > 0)
        return;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uintptr_t start = (uintptr_t)functions[i];
        dl_iterate_phdr(look_in, &start);
    }
}

bool lee_preempt_is_leaf(uintptr_t pc) {
    for (int i = 0; i < leaf_count; i++) {
        if (pc - leaves[i].start < leaves[i].end - leaves[i].start)
            return true;
    }
    return false;
}

#endif
