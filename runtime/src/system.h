/* system.h: every call of the page allocator to the system, in one place, so that failure can be injected.
 *
 * Promises: sizes are multiples of 4 KB; nothing here locks or keeps anything but counters. */
#ifndef LEE_SYSTEM_H
#define LEE_SYSTEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address space that can be read and written and holds zeros, near `hint` if that is free. Null if
 * there is none. */
void *lee_system_reserve(void *hint, size_t bytes);

/* The same at a multiple of `alignment`. */
void *lee_system_reserve_aligned(size_t bytes, size_t alignment);

void lee_system_release(void *start, size_t bytes);

/* The contents are not needed: they read as zeros from now on, and take no memory until they are
 * written. False if the system would not have it. */
bool lee_system_discard(void *start, size_t bytes);

/* Sets the lowest bit of a byte for each page that is in memory. False if the system cannot say. */
bool lee_system_in_memory(void *start, size_t bytes, unsigned char *pages);
/* Whether the range should be made of huge pages. */
void lee_system_huge(void *start, size_t bytes, bool huge);

/* Touches a range that was given the advice for the first time; nanoseconds of this thread's
 * processor time (0: not known). */
uint64_t lee_system_first_touch(void *start);

/* Makes huge pages at once of what was touched as small ones, where the kernel can (6.1 and later). */
void lee_system_collapse(void *start, size_t bytes);

/* The most memory that the program should use: 90 % of the least of the control group's, the
 * machine's and RLIMIT_AS. */
size_t lee_system_memory(void);

/* RLIMIT_AS, or SIZE_MAX. */
size_t lee_system_address_space(void);

/* Debugging: lets the `nth` request from now on and all later ones fail (0: none; 1: the next).
 * With `once`, only it. */
void lee_system_fail(size_t nth, bool once);
/* For other places that can fail: true if this one shall. */
bool lee_system_fails(void);

/* --- a copy of the process (snapshot.c) --- */

/* Memory of zeros that copies made from now on have in common with this process. Null if there is none. */
void *lee_system_share(size_t bytes);
/* Copies the process, with this thread only: 0 in the copy, in this process the copy's number, -1
 * if there is none. No signal tells of its end, and `waitpid` knows it only with __WALL. It runs on
 * other processors than the one it was made on, if there are any. Until `be_copy` its descriptors
 * are the parent's. */
int lee_system_copy(void);
/* Whether copies made from now on have the range, as they do by themselves; else it is no memory of
 * theirs. False if that cannot be had. */
bool lee_system_copied(void *start, size_t bytes, bool copied);
/* Whether such a copy, if it has the range, finds zeros in it. The same. */
bool lee_system_wiped(void *start, size_t bytes, bool wiped);
/* Whether there is no other thread, which could copy the process itself at any time. */
bool lee_system_one_thread(void);
/* In the copy: it has no descriptors, dies with `parent`, is the first to go when memory is short,
 * and leaves no core. */
void lee_system_be_copy(int parent);
/* In the copy: it ends. */
_Noreturn void lee_system_end_copy(void);
/* Sets a word that the copy shares to 1, and wakes who awaits it. */
void lee_system_tell(atomic_uint *word);
/* Waits until the word is not 0, or a signal comes, or so much time has gone by. */
void lee_system_await(atomic_uint *word, unsigned milliseconds);
/* Whether a debugger (or strace) watches this process. */
bool lee_system_traced(void);
/* Where control groups are, and the list of those that the program is in; for tests. */
struct lee_system_places {
    const char *groups, *list;
};
extern struct lee_system_places lee_system_places;
/* On how many processors it may run, by its mask and by what its control groups let it have of
 * their time; 0: less than one. */
unsigned lee_system_processors(void);
/* A number of pages that the process never had more of, which is known at once. */
size_t lee_system_most_pages(void);
/* Pages of memory that a copy of the process would have to enter into its tables; 0: not known. */
size_t lee_system_private_pages(void);
/* Nanoseconds by the wall's clock, from some time on. */
uint64_t lee_system_time(void);
/* Nanoseconds of this thread; 0: not known. */
uint64_t lee_system_processor_time(void);
/* The page faults of this thread that did not read a disk. */
size_t lee_system_faults(void);

/* Writes to standard error. */
void lee_system_report(const char *text, size_t length);

struct lee_system_counts {
    atomic_size_t reserved, released, discards, discarded, huge_advised; /* bytes; discards: calls */
};
extern struct lee_system_counts lee_system_counts;

#endif
