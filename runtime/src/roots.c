/* roots.c: where a program holds pointers into its heap.
 *
 * The stack of the thread that runs the process, from here to its end, and the registers, which are
 * spilled into a frame first: conservatively. The writable data of the program and its libraries,
 * and their thread-locals: word by word, save the large variables that emitted code names
 * (globals.c). And whatever was added with `lee_root_add`. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lee/heap.h>

#include "collect.h"
#include "poison.h"
#include "process.h"

extern void *__libc_stack_end __attribute__((weak)); /* glibc's: of the first thread */

uintptr_t lee_roots_stack_end(void) {
    if (&__libc_stack_end != NULL && syscall(SYS_gettid) == getpid())
        return (uintptr_t)__libc_stack_end;
    pthread_attr_t attributes;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    bool known = pthread_attr_getstack(&attributes, &start, &size) == 0;
    pthread_attr_destroy(&attributes);
    return known ? (uintptr_t)start + size : 0;
}

void lee_root_add(struct lee_heap *heap, struct lee_root *root) {
    root->previous = &heap->roots;
    root->next = heap->roots.next;
    if (root->next != NULL)
        root->next->previous = root;
    heap->roots.next = root;
}

void lee_root_remove(struct lee_heap *heap, struct lee_root *root) {
    (void)heap;
    root->previous->next = root->next;
    if (root->next != NULL)
        root->next->previous = root->previous;
}

static void mark_range(struct lee_marker *marker, uintptr_t start, uintptr_t end) {
    if (!lee_heap_unaligned)
        start = (start + 7) & ~(uintptr_t)7;
    lee_mark_words(marker, (const void *)start, (const void *)end);
}

/* A sanitizer's own tables hold no pointers into this heap that count, and are large. */
static bool is_sanitizer(const char *name) {
    return name != NULL && (strstr(name, "libasan") != NULL || strstr(name, "libtsan") != NULL ||
                            strstr(name, "libubsan") != NULL || strstr(name, "liblsan") != NULL ||
                            strstr(name, "libclang_rt.") != NULL);
}

/* What is done with a range of global data. */
struct visit {
    bool (*span)(void *context, struct lee_span span);
    void *context;
};

static int visit_object(struct dl_phdr_info *object, size_t size, void *argument) {
    const struct visit *visit = argument;
    (void)size;
    if (is_sanitizer(object->dlpi_name))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0)
            start = object->dlpi_addr + part->p_vaddr;
        else if (part->p_type == PT_TLS && object->dlpi_tls_data != NULL)
            start = (uintptr_t)object->dlpi_tls_data;
        else
            continue;
        if (!lee_globals_cut(start, start + part->p_memsz, visit->span, visit->context))
            return 1;
    }
    return 0;
}

static bool mark_span(void *context, struct lee_span span) {
    if (span.layout != NULL)
        lee_mark_root(context, (const void *)span.start, span.end - span.start, span.layout);
    else
        mark_range(context, span.start, span.end);
    return true;
}

static bool note_span(void *context, struct lee_span span) {
    struct lee_span *place = lee_vector_add(context, sizeof span);
    if (place != NULL)
        *place = span;
    return place != NULL;
}

bool lee_roots_find_globals(struct lee_vector *spans) {
    struct visit visit = {note_span, spans};
    lee_globals_sort();
    return dl_iterate_phdr(visit_object, &visit) == 0;
}

static void scan_globals(struct lee_marker *marker) {
    if (marker->globals == NULL) {
        struct visit visit = {mark_span, marker};
        lee_globals_sort();
        dl_iterate_phdr(visit_object, &visit);
        return;
    }
    const struct lee_span *spans = marker->globals->data;
    for (size_t i = 0; i < marker->globals->bytes / sizeof *spans; i++)
        mark_span(marker, spans[i]);
}

/* Not inlined: the caller's frame, with the registers that it saved, is then above this one. */
static __attribute__((noinline)) void scan_stack(struct lee_heap *heap, struct lee_marker *marker) {
    volatile uintptr_t here = 0;
    (void)here;
    lee_mark_words(marker, (const void *)((uintptr_t)&here & ~(uintptr_t)7), (const void *)lee_task_stack_end(heap));
}

static __attribute__((noinline)) void scan_registers_and_stack(struct lee_heap *heap, struct lee_marker *marker) {
    __builtin_unwind_init(); /* saves every register that a callee would have to keep */
    scan_stack(heap, marker);
    __asm__ volatile("" ::: "memory"); /* no tail call: the frame must stay */
}

void lee_roots_scan_stack(struct lee_heap *heap, struct lee_marker *marker) {
    if (heap->stack_end != 0)
        scan_registers_and_stack(heap, marker);
}

void lee_roots_scan_shared(struct lee_heap *heap, struct lee_marker *marker) {
    if (heap->scans_globals)
        scan_globals(marker);
    if (heap->process != NULL && heap->process->high != 0)
        lee_process_scan(heap->process, marker);
    if (heap->process != NULL)
        lee_process_scan_named(heap->process, marker);
    if (heap->process != NULL && lee_channels_scan != NULL)
        lee_channels_scan(heap->process, marker);
    if (heap->process != NULL)
        lee_arenas_scan(heap->process->arenas.exchange, marker);
    for (struct lee_root *root = heap->roots.next; root != NULL; root = root->next)
        root->scan(root, marker);
}

void lee_roots_scan(struct lee_heap *heap, struct lee_marker *marker) {
    lee_tasks_scan(heap, marker);
    lee_roots_scan_shared(heap, marker);
}
