/* Faults: what emitted code and the runtime call when a check fails.
 *
 * Promises: each function prints `FILE:LINE:COLUMN: fault: MESSAGE` and a backtrace on standard error, after
 * writing out what the program's open output files still hold, and ends the program with status 134. None
 * returns, none allocates, and all may be called from any thread, with any amount of stack left and from a
 * signal handler. A null `site` prints as an unknown place.
 *
 * The words of the messages are part of the interface (docs/internals/abi.md): tests look for them. */
#ifndef LEE_FAULT_H
#define LEE_FAULT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a check stands in the program's source. Line 0: the line is not known; column 0: nor is the column. */
struct lee_site {
    const char *file;
    unsigned line, column;
};

struct lee_type;

#define LEE_FAULT __attribute__((cold, noreturn, noinline))

/* `index 10 out of bounds for length 4` */
LEE_FAULT void lee_fault_index(const struct lee_site *site, int64_t index, uint64_t length);
/* `null pointer` if `lo` is null, else `access at element offset N out of bounds for length L`;
 * `size` is that of one element in bytes. */
LEE_FAULT void lee_fault_pointer(const struct lee_site *site, const void *p, const void *lo, const void *hi, size_t size);
/* `W elements wanted, out of bounds for length L` */
LEE_FAULT void lee_fault_range(const struct lee_site *site, uint64_t want, uint64_t have);
/* `no terminating zero within bounds` */
LEE_FAULT void lee_fault_string(const struct lee_site *site);
/* `a string's terminator is out of bounds for writing` */
LEE_FAULT void lee_fault_terminator(const struct lee_site *site);
/* `null pointer` */
LEE_FAULT void lee_fault_null(const struct lee_site *site);
/* `division by zero` */
LEE_FAULT void lee_fault_division(const struct lee_site *site);
/* `division overflow (INT_MIN / -1)` */
LEE_FAULT void lee_fault_overflow(const struct lee_site *site);
/* `container_of: the pointer is not to that member of a WANT` */
LEE_FAULT void lee_fault_container(const struct lee_site *site, const char *want);
/* `type: a pointer to HAVE is used as a pointer to WANT` */
LEE_FAULT void lee_fault_type(const struct lee_site *site, const struct lee_type *want, const struct lee_type *have);
/* `tag: member HAVE is active, WANT is read`; `have` may be null when the tag names no member. */
LEE_FAULT void lee_fault_tag(const struct lee_site *site, const char *want, const char *have);
/* `count W is larger than the H elements that are there` */
LEE_FAULT void lee_fault_count(const struct lee_site *site, int64_t want, int64_t have);
/* `count A * B does not fit in 64 bits`; `operation` is one of `+ - * /`. */
LEE_FAULT void lee_fault_count_value(const struct lee_site *site, int64_t a, char operation, int64_t b);
/* `cast: ...`: `bytes` bytes at `p` are viewed as elements of `size` bytes aligned to `align`. The
 * message says whether the size or the alignment does not fit. */
LEE_FAULT void lee_fault_cast(const struct lee_site *site, const void *p, uint64_t bytes, uint64_t size, uint64_t align);
/* `out of memory (N bytes)` */
LEE_FAULT void lee_fault_memory(const struct lee_site *site, size_t bytes);
/* `out of memory (COUNT elements of SIZE bytes)`, for a count that is negative or a product that overflows */
LEE_FAULT void lee_fault_memory_array(const struct lee_site *site, int64_t count, size_t size);
/* `unreachable code reached` */
LEE_FAULT void lee_fault_unreachable(const struct lee_site *site);
/* `assertion failed: TEXT` */
LEE_FAULT void lee_fault_assert(const struct lee_site *site, const char *text);
/* `use of a closed file` */
LEE_FAULT void lee_fault_closed(const struct lee_site *site);
/* Any other message, for the runtime and the library. */
LEE_FAULT void lee_fault_message(const struct lee_site *site, const char *message);

/* Set by the runtime's input and output to a function that writes out all open output files. It is
 * called once, before the report, possibly in a signal handler: it must not wait for locks (a file
 * that is locked is skipped) and may itself fault, which ends the flushing but not the report. */
extern void (*lee_fault_flush)(void);

/* What emitted `main` calls before anything else: installs the handlers that turn a null access, a write to a
 * constant, stack overflow and other traps into faults, and reads the LEE_ environment variables. Calling it
 * again does nothing. Returns 0. */
int lee_start(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
