/* A runtime for the tests: faults print one line and end the program with status 134. */
#include "lee/lee.h"

int printf(const char *, ...);
int fflush(void *);
void _Exit(int) __attribute__((noreturn));
void *calloc(size_t, size_t);
size_t malloc_usable_size(void *);

#define FAULT(...) do { printf("fault at %u: ", site ? site->line : 0); printf(__VA_ARGS__); printf("\n"); fflush(NULL); _Exit(134); } while (0)

void lee_fault_index(const struct lee_site *site, int64_t index, uint64_t length) {
    FAULT("index %ld length %lu", (long)index, (unsigned long)length);
}
void lee_fault_pointer(const struct lee_site *site, const void *p, const void *lo, const void *hi, size_t size) {
    if (lo == NULL)
        FAULT("null");
    FAULT("pointer %ld length %ld", (long)((const char *)p - (const char *)lo) / (long)size,
          (long)((const char *)hi - (const char *)lo) / (long)size);
}
void lee_fault_range(const struct lee_site *site, uint64_t want, uint64_t have) {
    FAULT("range %lu of %lu", (unsigned long)want, (unsigned long)have);
}
void lee_fault_string(const struct lee_site *site) { FAULT("string"); }
void lee_fault_terminator(const struct lee_site *site) { FAULT("terminator"); }
void lee_fault_null(const struct lee_site *site) { FAULT("null"); }
void lee_fault_division(const struct lee_site *site) { FAULT("division"); }
void lee_fault_overflow(const struct lee_site *site) { FAULT("overflow"); }
void lee_fault_type(const struct lee_site *site, const struct lee_type *want, const struct lee_type *have) {
    FAULT("type %s as %s", have ? have->name : "?", want->name);
}
void lee_fault_tag(const struct lee_site *site, const char *want, const char *have) {
    FAULT("tag %s, not %s", have ? have : "?", want);
}
void lee_fault_count_value(const struct lee_site *site, int64_t a, char operation, int64_t b) {
    FAULT("count %ld %c %ld", (long)a, operation, (long)b);
}
void lee_fault_count(const struct lee_site *site, int64_t want, int64_t have) {
    FAULT("count %ld of %ld", (long)want, (long)have);
}
void lee_fault_cast(const struct lee_site *site, const void *p, uint64_t bytes, uint64_t size, uint64_t align) {
    FAULT("cast %d %lu %lu %lu", p != NULL, (unsigned long)bytes, (unsigned long)size, (unsigned long)align);
}
void lee_fault_memory(const struct lee_site *site, size_t bytes) { FAULT("memory %lu", (unsigned long)bytes); }
void lee_fault_memory_array(const struct lee_site *site, int64_t count, size_t size) {
    FAULT("memory %ld of %lu", (long)count, (unsigned long)size);
}
void lee_fault_unreachable(const struct lee_site *site) { FAULT("unreachable"); }

int lee_start(int argc, char **argv) {
    return argc == 0 && argv == NULL;
}

void *lee_heap_try_alloc_array(int64_t count, size_t elem_size, size_t extra) {
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, elem_size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return calloc(1, bytes + extra);
}
void *lee_heap_alloc_array(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra) {
    void *p = lee_heap_try_alloc_array(count, elem_size, extra);
    if (p == NULL)
        lee_fault_memory_array(site, count, elem_size);
    return p;
}
void *lee_heap_alloc(const struct lee_site *site, size_t size) { return lee_heap_alloc_array(site, 1, size, 0); }
void *lee_heap_try_alloc(size_t size) { return lee_heap_try_alloc_array(1, size, 0); }
void *lee_heap_alloc_array_plain(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra) {
    return lee_heap_alloc_array(site, count, elem_size, extra);
}
void *lee_heap_try_alloc_array_plain(int64_t count, size_t elem_size, size_t extra) {
    return lee_heap_try_alloc_array(count, elem_size, extra);
}
void *lee_heap_alloc_plain(const struct lee_site *site, size_t size) { return lee_heap_alloc(site, size); }
void *lee_heap_try_alloc_plain(size_t size) { return lee_heap_try_alloc(size); }
const struct lee_layout lee_layout_plain = {.bytes = 1, .kind = LEE_LAYOUT_PLAIN};
void *lee_heap_alloc_array_typed(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra,
                                 const struct lee_layout *layout) {
    (void)layout;
    return lee_heap_alloc_array(site, count, elem_size, extra);
}
void *lee_heap_try_alloc_array_typed(int64_t count, size_t elem_size, size_t extra, const struct lee_layout *layout) {
    (void)layout;
    return lee_heap_try_alloc_array(count, elem_size, extra);
}
void *lee_heap_alloc_typed(const struct lee_site *site, size_t size, const struct lee_layout *layout) {
    (void)layout;
    return lee_heap_alloc(site, size);
}
void *lee_heap_try_alloc_typed(size_t size, const struct lee_layout *layout) {
    (void)layout;
    return lee_heap_try_alloc(size);
}
size_t lee_heap_size(const void *object) { return object ? malloc_usable_size((void *)(uintptr_t)object) : 0; }
size_t lee_heap_block_size(const void *object) { return lee_heap_size(object); }

/* Nothing collects here. */
struct lee_globals;
void lee_globals_add(struct lee_globals *unit) { (void)unit; }
void lee_globals_remove(struct lee_globals *unit) { (void)unit; }

/* Nothing asks for containers here. */
struct lee_listed;
struct lee_container;
void lee_list(struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type) {
    (void)entry, (void)object, (void)bytes, (void)type;
}

void lee_list_variable(struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type) {
    lee_list(entry, object, bytes, type);
}

/* There are no tasks here. */
_Thread_local _Bool lee_on_task_stack;
void lee_foreign_call(void (*function)(void *), void *argument) { function(argument); }
