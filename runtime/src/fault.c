/* fault.c: the fault functions of lee/fault.h: each words its message and hands it to the report.
 *
 * They take the caller's frame themselves, so that the backtrace starts in the code whose check failed. */
#include <lee/lee.h>

#include "report.h"

static struct lee_text text_of(const char *string) {
    struct lee_text text = {.length = 0};
    lee_text_string(&text, string);
    return text;
}

static void out_of_bounds(struct lee_text *text, uint64_t length) {
    lee_text_string(text, " out of bounds for length ");
    lee_text_unsigned(text, length);
}

void lee_fault_index(const struct lee_site *site, int64_t index, uint64_t length) {
    struct lee_text text = text_of("index ");
    lee_text_signed(&text, index);
    out_of_bounds(&text, length);
    lee_report(site, &text, LEE_CALLER);
}

/* Rounded down, so that the byte before the first element is in element -1. */
static int64_t elements_between(uintptr_t from, uintptr_t to, size_t size) {
    int64_t bytes = (int64_t)(to - from), each = size == 0 || size > INT64_MAX ? 1 : (int64_t)size;
    return bytes / each - (bytes % each < 0);
}

void lee_fault_pointer(const struct lee_site *site, const void *p, const void *lo, const void *hi, size_t size) {
    if (lo == NULL) {
        struct lee_text null = text_of("null pointer");
        lee_report(site, &null, LEE_CALLER);
    }
    struct lee_text text = text_of("access at element offset ");
    lee_text_signed(&text, elements_between((uintptr_t)lo, (uintptr_t)p, size));
    out_of_bounds(&text, (uint64_t)elements_between((uintptr_t)lo, (uintptr_t)hi, size));
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_range(const struct lee_site *site, uint64_t want, uint64_t have) {
    struct lee_text text = {.length = 0};
    lee_text_unsigned(&text, want);
    lee_text_string(&text, want == 1 ? " element wanted," : " elements wanted,");
    out_of_bounds(&text, have);
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_string(const struct lee_site *site) {
    struct lee_text text = text_of("no terminating zero within bounds");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_terminator(const struct lee_site *site) {
    struct lee_text text = text_of("a string's terminator is out of bounds for writing");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_null(const struct lee_site *site) {
    struct lee_text text = text_of("null pointer");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_division(const struct lee_site *site) {
    struct lee_text text = text_of("division by zero");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_overflow(const struct lee_site *site) {
    struct lee_text text = text_of("division overflow (INT_MIN / -1)");
    lee_report(site, &text, LEE_CALLER);
}

static const char *type_name(const struct lee_type *type) {
    return type == NULL || type->name == NULL ? "an unknown type" : type->name;
}

void lee_fault_type(const struct lee_site *site, const struct lee_type *want, const struct lee_type *have) {
    struct lee_text text = text_of("type: a pointer to ");
    lee_text_string(&text, type_name(have));
    lee_text_string(&text, " is used as a pointer to ");
    lee_text_string(&text, type_name(want));
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_container(const struct lee_site *site, const char *want) {
    struct lee_text text = text_of("container_of: the pointer is not to that member of a ");
    lee_text_string(&text, want);
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_tag(const struct lee_site *site, const char *want, const char *have) {
    struct lee_text text = text_of(have == NULL ? "tag: no member" : "tag: member ");
    lee_text_string(&text, have);
    lee_text_string(&text, " is active, ");
    lee_text_string(&text, want);
    lee_text_string(&text, " is read");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_count(const struct lee_site *site, int64_t want, int64_t have) {
    struct lee_text text = text_of("count ");
    lee_text_signed(&text, want);
    lee_text_string(&text, " is larger than the ");
    lee_text_signed(&text, have);
    lee_text_string(&text, have == 1 ? " element that is there" : " elements that are there");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_count_value(const struct lee_site *site, int64_t a, char operation, int64_t b) {
    const char middle[] = {' ', operation, ' ', '\0'};
    struct lee_text text = text_of("count ");
    lee_text_signed(&text, a);
    lee_text_string(&text, middle);
    lee_text_signed(&text, b);
    lee_text_string(&text, operation == '/' && b == 0 ? " divides by zero" : " does not fit in 64 bits");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_cast(const struct lee_site *site, const void *p, uint64_t bytes, uint64_t size, uint64_t align) {
    struct lee_text text = text_of("cast: ");
    if (align > 1 && (uintptr_t)p % align != 0) {
        lee_text_string(&text, "address ");
        lee_text_address(&text, (uintptr_t)p);
        lee_text_string(&text, " is not aligned to ");
        lee_text_unsigned(&text, align);
        lee_text_string(&text, " bytes");
    } else {
        lee_text_unsigned(&text, bytes);
        lee_text_string(&text, " bytes are not a whole number of elements of ");
        lee_text_unsigned(&text, size);
        lee_text_string(&text, " bytes");
    }
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_memory(const struct lee_site *site, size_t bytes) {
    struct lee_text text = text_of("out of memory (");
    lee_text_unsigned(&text, bytes);
    lee_text_string(&text, " bytes)");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_memory_array(const struct lee_site *site, int64_t count, size_t size) {
    struct lee_text text = text_of("out of memory (");
    lee_text_signed(&text, count);
    lee_text_string(&text, " elements of ");
    lee_text_unsigned(&text, size);
    lee_text_string(&text, " bytes)");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_unreachable(const struct lee_site *site) {
    struct lee_text text = text_of("unreachable code reached");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_assert(const struct lee_site *site, const char *expression) {
    struct lee_text text = text_of("assertion failed: ");
    lee_text_string(&text, expression);
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_closed(const struct lee_site *site) {
    struct lee_text text = text_of("use of a closed file");
    lee_report(site, &text, LEE_CALLER);
}

void lee_fault_message(const struct lee_site *site, const char *message) {
    struct lee_text text = text_of(message);
    lee_report(site, &text, LEE_CALLER);
}
