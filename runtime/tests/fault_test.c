/* Each fault function: message, place, status, backtrace; the flush hook; two faults at once; faults while reporting. */
#include <pthread.h>
#include <signal.h>

#include <lee/lee.h>

#include "check.h"

static const struct lee_site site = {"dir/a.lee", 12, 9};
static const struct lee_type type_int = {1, 4, "int", NULL}, type_node = {2, 16, "struct node", NULL}, type_other = {1, 4, "int", NULL};
static int elements[4];

__attribute__((noinline)) static void do_index(void) { lee_fault_index(&site, 10, 4); }
__attribute__((noinline)) static void do_index_negative(void) { lee_fault_index(&site, INT64_MIN, UINT64_MAX); }
static void do_pointer(void) { lee_fault_pointer(&site, elements + 4, elements, elements + 4, 4); }
static void do_pointer_before(void) {
    uintptr_t before = (uintptr_t)elements - 1;
    lee_fault_pointer(&site, (void *)before, elements, elements + 4, 4);
}
static void do_pointer_null(void) { lee_fault_pointer(&site, NULL, NULL, NULL, 4); }
static void do_range(void) { lee_fault_range(&site, 5, 4); }
static void do_string(void) { lee_fault_string(&site); }
static void do_terminator(void) { lee_fault_terminator(&site); }
static void do_null(void) { lee_fault_null(&site); }
static void do_division(void) { lee_fault_division(&site); }
static void do_overflow(void) { lee_fault_overflow(&site); }
static void do_type(void) { lee_fault_type(&site, &type_int, &type_node); }
static void do_type_unknown(void) { lee_fault_type(&site, &type_int, NULL); }
static void do_tag(void) { lee_fault_tag(&site, "number", "text"); }
static void do_tag_none(void) { lee_fault_tag(&site, "number", NULL); }
static void do_count(void) { lee_fault_count(&site, 9, 4); }
static void do_count_value(void) { lee_fault_count_value(&site, 4294967296, '*', 4294967296); }
static void do_count_by_zero(void) { lee_fault_count_value(&site, 4, '/', 0); }
static void do_cast_size(void) { lee_fault_cast(&site, elements, 7, 4, 4); }
static void do_cast_align(void) { lee_fault_cast(&site, (char *)elements + 1, 8, 4, 4); }
static void do_memory(void) { lee_fault_memory(&site, 123); }
static void do_memory_array(void) { lee_fault_memory_array(&site, -3, 8); }
static void do_unreachable(void) { lee_fault_unreachable(&site); }
static void do_assert(void) { lee_fault_assert(&site, "a > b"); }
static void do_closed(void) { lee_fault_closed(&site); }
static void do_message(void) { lee_fault_message(&site, "anything"); }
static void do_check_index(void) { lee_check_index(&site, -1, 4); }
static void do_check_index_unsigned(void) { lee_check_index_unsigned(&site, 4, 4); }
static void do_check_pointer(void) { lee_check_pointer(&site, elements + 3, elements, elements + 4, 5, 4); }
static void do_check_null(void) { lee_check_null(&site, NULL); }
static void do_check_count(void) { lee_check_count(&site, 5, 4); }
static void do_check_range(void) { lee_check_range(&site, 3, elements + 2, elements, elements + 4, 4); }
static void do_check_cast(void) { lee_check_cast(&site, elements, 6, 4, 4); }
static void do_check_type(void) { lee_check_type(&site, elements, &type_node, &type_int); }
static void do_check_string(void) {
    char text[3] = {'a', 'b', 'c'};
    lee_check_string(&site, text, text, text + 3);
}

static const struct {
    const char *name;
    void (*body)(void);
    const char *message;
} cases[] = {
    {"do_index", do_index, "index 10 out of bounds for length 4"},
    {"do_index_negative", do_index_negative,
     "index -9223372036854775808 out of bounds for length 18446744073709551615"},
    {"do_pointer", do_pointer, "access at element offset 4 out of bounds for length 4"},
    {"do_pointer_before", do_pointer_before, "access at element offset -1 out of bounds for length 4"},
    {"do_pointer_null", do_pointer_null, "null pointer"},
    {"do_range", do_range, "5 elements wanted, out of bounds for length 4"},
    {"do_string", do_string, "no terminating zero within bounds"},
    {"do_terminator", do_terminator, "a string's terminator is out of bounds for writing"},
    {"do_null", do_null, "null pointer"},
    {"do_division", do_division, "division by zero"},
    {"do_overflow", do_overflow, "division overflow (INT_MIN / -1)"},
    {"do_type", do_type, "type: a pointer to struct node is used as a pointer to int"},
    {"do_type_unknown", do_type_unknown, "type: a pointer to an unknown type is used as a pointer to int"},
    {"do_tag", do_tag, "tag: member text is active, number is read"},
    {"do_tag_none", do_tag_none, "tag: no member is active, number is read"},
    {"do_count", do_count, "count 9 is larger than the 4 elements that are there"},
    {"do_count_value", do_count_value, "count 4294967296 * 4294967296 does not fit in 64 bits"},
    {"do_count_by_zero", do_count_by_zero, "count 4 / 0 divides by zero"},
    {"do_cast_size", do_cast_size, "cast: 7 bytes are not a whole number of elements of 4 bytes"},
    {"do_cast_align", do_cast_align, "is not aligned to 4 bytes"},
    {"do_memory", do_memory, "out of memory (123 bytes)"},
    {"do_memory_array", do_memory_array, "out of memory (-3 elements of 8 bytes)"},
    {"do_unreachable", do_unreachable, "unreachable code reached"},
    {"do_assert", do_assert, "assertion failed: a > b"},
    {"do_closed", do_closed, "use of a closed file"},
    {"do_message", do_message, "anything"},
    {"do_check_index", do_check_index, "index -1 out of bounds for length 4"},
    {"do_check_index_unsigned", do_check_index_unsigned, "index 4 out of bounds for length 4"},
    {"do_check_pointer", do_check_pointer, "access at element offset 3 out of bounds for length 4"},
    {"do_check_null", do_check_null, "null pointer"},
    {"do_check_count", do_check_count, "count 5 is larger than the 4 elements that are there"},
    {"do_check_range", do_check_range, "3 elements wanted, out of bounds for length 2"},
    {"do_check_cast", do_check_cast, "cast: 6 bytes are not a whole number of elements of 4 bytes"},
    {"do_check_type", do_check_type, "type: a pointer to struct node is used as a pointer to int"},
    {"do_check_string", do_check_string, "no terminating zero within bounds"},
};

static void body_of(void *index) {
    cases[*(size_t *)index].body();
}

static void test_messages(void) {
    static struct child child;
    char wanted[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_child(&child, body_of, &i);
        snprintf(wanted, sizeof wanted, "dir/a.lee:12:9: fault: %s", cases[i].message);
        if (strstr(wanted, "is not aligned") != NULL)
            snprintf(wanted, sizeof wanted, "dir/a.lee:12:9: fault: cast: address 0x");
        check_holds(cases[i].name, child.output, wanted);
        check_holds(cases[i].name, child.output, cases[i].message);
        check_holds(cases[i].name, child.output, " (dir/a.lee:12)\n");
        CHECK(strstr(child.output, "lee_") == NULL);
        CHECK(child.status == 134);
    }
}

/* The good path of the inline checks. */
static void test_passing_checks(void) {
    char text[4] = {'a', 0, 'c', 'd'};
    CHECK(lee_check_index(&site, 3, 4) == 3);
    CHECK(lee_check_index_unsigned(&site, 3, 4) == 3);
    lee_check_pointer(&site, elements + 3, elements, elements + 4, 4, 4);
    CHECK(lee_check_null(&site, elements) == elements);
    lee_check_count(&site, 4, 4);
    lee_check_count(&site, -7, 0);
    lee_check_range(&site, 4, elements, elements, elements + 4, 4);
    lee_check_range(&site, -1, NULL, NULL, NULL, 4);
    lee_check_range(&site, 0, (void *)((uintptr_t)elements + 36), elements, elements + 4, 4);
    lee_check_cast(&site, elements, 8, 4, 4);
    CHECK(lee_check_type(&site, elements, &type_other, &type_int) == elements);
    CHECK(lee_check_type(&site, NULL, NULL, &type_int) == NULL);
    CHECK(lee_check_string(&site, text, text, text + 4) == text);
    CHECK(lee_check_string(&site, NULL, NULL, NULL) == NULL);
    CHECK(lee_strlen(NULL) == 0 && lee_strlen(text) == 1);
}

static void places(void *which) {
    static const struct lee_site no_column = {"b.lee", 7, 0}, no_line = {"b.lee", 0, 0};
    lee_fault_null(*(int *)which == 0 ? &no_column : *(int *)which == 1 ? &no_line : NULL);
}

static void test_places(void) {
    static struct child child;
    int which = 0;
    run_child(&child, places, &which);
    CHECK(strncmp(child.output, "b.lee:7: fault: null pointer\n", 29) == 0);
    which = 1;
    run_child(&child, places, &which);
    CHECK(strncmp(child.output, "b.lee: fault: null pointer\n", 27) == 0);
    which = 2;
    run_child(&child, places, &which);
    check_holds("a fault without a site", child.output, "fault_test.c:");
    CHECK(child.status == 134);
}

static char long_message[5000];

static void long_texts(void *unused) {
    (void)unused;
    memset(long_message, 'x', sizeof long_message - 1);
    lee_fault_message(&site, long_message);
}

static void test_long_texts(void) {
    static struct child child;
    run_child(&child, long_texts, NULL);
    check_holds("a long message", child.output, "xxxx\n  at ");
    CHECK(child.status == 134);
}

static void say_flushed(void) {
    dprintf(STDERR_FILENO, "flushed\n");
}

static void flush_faults(void) {
    dprintf(STDERR_FILENO, "flushing\n");
    lee_fault_closed(&site);
}

static void flush_traps(void) {
    dprintf(STDERR_FILENO, "flushing\n");
    raise(SIGSEGV);
    *(volatile int *)(uintptr_t)elements[0] = 1;
}

static void with_flush(void *flush) {
    lee_start(0, NULL);
    lee_fault_flush = *(void (**)(void))flush;
    lee_fault_null(&site);
}

static void test_flush(void) {
    static struct child child;
    void (*flush)(void) = say_flushed;
    run_child(&child, with_flush, &flush);
    CHECK(strncmp(child.output, "flushed\ndir/a.lee:12:9: fault: null pointer\n", 44) == 0);
    flush = flush_faults;
    run_child(&child, with_flush, &flush);
    CHECK(strncmp(child.output, "flushing\ndir/a.lee:12:9: fault: null pointer\n", 45) == 0);
    CHECK(child.status == 134);
    CHECK(strstr(child.output, "closed") == NULL);
}

static void test_trap_in_flush(void) {
    static struct child child;
    void (*flush)(void) = flush_traps;
    run_child(&child, with_flush, &flush);
    /* A signal that was sent keeps its meaning, so this child dies of it or, where the sanitizer catches it, ends. */
    CHECK(strncmp(child.output, "flushing\n", 9) == 0 && child.status != 0);
}

static void *fault_in_thread(void *message) {
    lee_fault_message(&site, message);
}

static void two_at_once(void *unused) {
    pthread_t threads[8];
    (void)unused;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, fault_in_thread, "one of them");
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void test_threads(void) {
    static struct child child;
    run_child(&child, two_at_once, NULL);
    check_holds("threads", child.output, "fault: one of them\n");
    check_holds("threads", child.output, "at fault_in_thread ");
    CHECK(strstr(strstr(child.output, "fault:") + 1, "fault:") == NULL);
    CHECK(child.status == 134);
}

int main(void) {
    test_messages();
    test_passing_checks();
    test_places();
    test_long_texts();
    test_flush();
    test_trap_in_flush();
    test_threads();
    return check_end();
}
