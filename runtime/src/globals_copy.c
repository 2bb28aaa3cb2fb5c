/* globals_copy.c: the globals of processes that were spawned.
 *
 * Promises: what lee/delta.h says. Their first values are copied before the program's first constructor runs, and only in programs
 * that can spawn, since only these link this file. A process's globals lie on the page that it has anyway if they are small, else in a
 * mapping of their own, of which it pays for the pages that it touches: the two sections keep their distance in it, and what lies
 * between them is never touched. */
#define _GNU_SOURCE
#include "globals_copy.h"

#ifndef LEE_NO_GC

#include <lee/delta.h>

#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect.h"
#include "system.h"
#include "text.h"
#include "units.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

enum { GAP = LEE_GLOBALS_ALIGN, HWCAP2_FSGSBASE = 2 };

/* The linker's, of sections that need not be there. */
extern char __start_lee_globals[] __attribute__((weak)), __stop_lee_globals[] __attribute__((weak));
extern char __start_lee_globals_zero[] __attribute__((weak)), __stop_lee_globals_zero[] __attribute__((weak));
extern const struct lee_variable_address __start_lee_global_addresses[] __attribute__((weak));
extern const struct lee_variable_address __stop_lee_global_addresses[] __attribute__((weak));
/* Names of the files whose variables all processes would share. */
extern const char __start_lee_one_process[] __attribute__((weak)), __stop_lee_one_process[] __attribute__((weak));

_Thread_local intptr_t lee_delta __attribute__((tls_model("initial-exec")));

static struct {
    uintptr_t start, end; /* both sections, and what lies between them */
    size_t data;          /* bytes with first values */
    char *image;          /* the first values */
    bool fsgsbase;
} globals;

static uintptr_t address(const void *p) {
    uintptr_t word = (uintptr_t)p;
    __asm__("" : "+r"(word)); /* the compiler knows that no two objects are compared */
    return word;
}

/* Whether a linked address lies in the sections. */
static bool is_copied(uintptr_t at) {
    uintptr_t data = address(__start_lee_globals), zero = address(__start_lee_globals_zero);
    return at - data < address(__stop_lee_globals) - data || at - zero < address(__stop_lee_globals_zero) - zero;
}

void *lee_variable_find(const volatile void *linked) {
    uintptr_t at = (uintptr_t)linked;
    return (void *)(is_copied(at) ? at + (uintptr_t)lee_delta : at);
}

uintptr_t lee_globals_linked(uintptr_t at) {
    uintptr_t linked = at - (uintptr_t)lee_delta;
    return is_copied(linked) ? linked : at;
}

/* All processes would share the variables of `file`. */
_Noreturn static void refuse(const char *file) {
    struct lee_text text = {.length = 0};
    lee_text_string(&text, "error: this program spawns processes, and ");
    lee_text_string(&text, file);
    lee_text_string(&text, " was compiled for programs of one process; compile it with --processes\n");
    lee_text_write(&text);
    _exit(2);
}

__attribute__((constructor(101))) static void keep_first_values(void) {
    if (address(__start_lee_one_process) != address(__stop_lee_one_process))
        refuse(__start_lee_one_process);
    uintptr_t start = address(__start_lee_globals), end = address(__stop_lee_globals);
    uintptr_t zero = address(__start_lee_globals_zero), zero_end = address(__stop_lee_globals_zero);
    if (start == end)
        start = zero, end = zero_end;
    if (start == end)
        return;
    globals.data = address(__stop_lee_globals) - address(__start_lee_globals);
    globals.start = zero != zero_end && zero < start ? zero : start;
    globals.end = zero != zero_end && zero_end > end ? zero_end : end;
    globals.start &= ~(uintptr_t)(LEE_PAGE_BYTES - 1);
#if defined(__x86_64__)
    globals.fsgsbase = (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0;
#endif
    if (globals.data == 0)
        return;
    globals.image = lee_system_reserve(NULL, (globals.data + LEE_PAGE_BYTES - 1) & ~(size_t)(LEE_PAGE_BYTES - 1));
    if (globals.image != NULL)
        memcpy(globals.image, __start_lee_globals, globals.data);
}

/* Between the linked sections and the nearest multiple of a page below them. */
static size_t span(void) {
    return globals.end - globals.start;
}

/* The variables themselves, when they lie side by side and are small. */
static uintptr_t first_variable(void) {
    uintptr_t data = address(__start_lee_globals), zero = address(__start_lee_globals_zero);
    bool no_data = globals.data == 0, no_zero = address(__stop_lee_globals_zero) == zero;
    return no_data || (!no_zero && zero < data) ? zero : data;
}

size_t lee_globals_on_stack(void) {
    if (globals.start == globals.end)
        return 0;
    size_t bytes = globals.end - (first_variable() & ~(uintptr_t)(GAP - 1));
    return bytes <= LEE_GLOBALS_SMALL ? (bytes + GAP - 1) & ~(size_t)(GAP - 1) : 0;
}

size_t lee_globals_bytes(void) {
    return globals.start == globals.end || lee_globals_on_stack() > 0 ? 0 : (span() + LEE_PAGE_BYTES - 1) & ~(size_t)(LEE_PAGE_BYTES - 1);
}

bool lee_globals_make(struct lee_process *process, uintptr_t place) {
    if (globals.start == globals.end)
        return true;
    if (globals.data > 0 && globals.image == NULL)
        return false;
    if (place != 0) {
        process->globals.delta = (intptr_t)(place - (first_variable() & ~(uintptr_t)(GAP - 1)));
    } else {
        size_t bytes = (span() + LEE_PAGE_BYTES - 1) & ~(size_t)(LEE_PAGE_BYTES - 1);
        process->globals.copy = lee_system_reserve(NULL, bytes);
        if (process->globals.copy == NULL)
            return false;
        process->globals.delta = (intptr_t)((uintptr_t)process->globals.copy - globals.start);
    }
    uintptr_t delta = (uintptr_t)process->globals.delta;
    if (globals.data > 0)
        memcpy((void *)(address(__start_lee_globals) + delta), globals.image, globals.data);
    const struct lee_variable_address *entry = __start_lee_global_addresses;
    for (; address(entry) < address(__stop_lee_global_addresses); entry++) {
        uintptr_t word = (uintptr_t)entry->word;
        /* A word may be named more than once, so its first value comes from the image. */
        if (is_copied((uintptr_t)entry->base))
            *(uintptr_t *)(word + delta) = *(uintptr_t *)(globals.image + (word - address(__start_lee_globals))) + delta;
    }
    return true;
}

void lee_globals_release(struct lee_process *process) {
    if (process->globals.copy != NULL)
        lee_system_release(process->globals.copy, (span() + LEE_PAGE_BYTES - 1) & ~(size_t)(LEE_PAGE_BYTES - 1));
    process->globals.copy = NULL;
}

struct scan {
    struct lee_marker *marker;
    uintptr_t delta;
};

static bool mark_span(void *context, struct lee_span span) {
    const struct scan *scan = context;
    uintptr_t start = span.start + scan->delta, end = span.end + scan->delta;
    if (span.layout != NULL)
        lee_mark_root(scan->marker, (const void *)start, end - start, span.layout);
    else
        lee_mark_words(scan->marker, (const void *)((start + 7) & ~(uintptr_t)7), (const void *)(end & ~(uintptr_t)7));
    return true;
}

void lee_globals_scan(const struct lee_process *process, struct lee_marker *marker) {
    struct scan scan = {marker, (uintptr_t)process->globals.delta};
    if (scan.delta == 0)
        return;
    lee_globals_sort();
    lee_globals_each(mark_span, &scan);
}

void lee_globals_each(bool (*visit)(void *context, struct lee_span span), void *context) {
    if (lee_globals_cut(address(__start_lee_globals), address(__stop_lee_globals), visit, context))
        lee_globals_cut(address(__start_lee_globals_zero), address(__stop_lee_globals_zero), visit, context);
}

void lee_globals_enter(struct lee_process *process) {
    intptr_t delta = process->globals.delta;
    if (delta == lee_delta)
        return;
    lee_delta = delta;
#if defined(__x86_64__)
    if (globals.fsgsbase)
        __asm__ volatile("wrgsbase %0" ::"r"(delta));
    else
        syscall(SYS_arch_prctl, ARCH_SET_GS, delta);
#endif
}

#endif
