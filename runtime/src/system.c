/* system.c: see system.h. */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "poison.h"

struct lee_system_counts lee_system_counts;

static atomic_size_t fail_in; /* 0: no failures are injected */
static bool fail_once;

void lee_system_fail(size_t nth, bool once) {
    fail_once = once;
    atomic_store(&fail_in, nth);
}

bool lee_system_fails(void) {
    size_t left = atomic_load_explicit(&fail_in, memory_order_relaxed);
    if (left == 0)
        return false;
    if (left > 1) {
        atomic_store_explicit(&fail_in, left - 1, memory_order_relaxed);
        return false;
    }
    if (fail_once)
        atomic_store_explicit(&fail_in, 0, memory_order_relaxed);
    return true;
}

void *lee_system_reserve(void *hint, size_t bytes) {
    if (lee_system_fails())
        return NULL;
    void *start = mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    lee_system_counts.reserved += bytes;
    return start;
}

void *lee_system_reserve_aligned(size_t bytes, size_t alignment) {
    enum { PAGE = 4096 };
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1); /* what is given back begins at a page */
    unsigned char *start = lee_system_reserve(NULL, bytes + alignment);
    if (start == NULL)
        return NULL;
    unsigned char *aligned = (unsigned char *)(((uintptr_t)start + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (aligned > start)
        lee_system_release(start, (size_t)(aligned - start));
    if (aligned < start + alignment)
        lee_system_release(aligned + bytes, (size_t)(start + alignment - aligned));
    return aligned;
}

void lee_system_release(void *start, size_t bytes) {
    munmap(start, bytes);
    lee_system_counts.released += bytes;
}

bool lee_system_discard(void *start, size_t bytes) {
    lee_system_counts.discards++;
    lee_system_counts.discarded += bytes;
    return madvise(start, bytes, MADV_DONTNEED) == 0;
}

bool lee_system_in_memory(void *start, size_t bytes, unsigned char *pages) {
    return mincore(start, bytes, pages) == 0;
}

void lee_system_huge(void *start, size_t bytes, bool huge) {
    if (madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0 && huge)
        lee_system_counts.huge_advised += bytes;
}

uint64_t lee_system_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

size_t lee_system_faults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (size_t)usage.ru_minflt : (size_t)lee_system_time();
}

uint64_t lee_system_processor_time(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

LEE_UNCHECKED uint64_t lee_system_first_touch(void *start) {
    uint64_t before = lee_system_processor_time();
    *(volatile unsigned char *)start = 0;
    return lee_system_processor_time() - before;
}

void lee_system_report(const char *text, size_t length) {
    if (write(STDERR_FILENO, text, length) < 0)
        return; /* nobody reads it */
}

void lee_system_collapse(void *start, size_t bytes) {
#ifndef MADV_COLLAPSE
    enum { MADV_COLLAPSE = 25 };
#endif
    /* Only for speed: an older kernel says no. */
    (void)!madvise(start, bytes, MADV_COLLAPSE);
}

/* --- a copy of the process ------------------------------------------------------------------------------------- */

void *lee_system_share(size_t bytes) {
    if (lee_system_fails())
        return NULL;
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    lee_system_counts.reserved += bytes;
    return start;
}

/* A new process may be put on its maker's processor, and run there first: then it goes, before
 * anything else, to the others. */
static void leave(int processor) {
    cpu_set_t set;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    CPU_CLR((unsigned)processor, &set);
    (void)!sched_setaffinity(0, sizeof set, &set); /* it stays if there is no other */
}

/* Not fork: no signal at the end, no handlers of pthread_atfork. The table of descriptors is shared
 * until the copy gets one of its own, an empty one: else what the parent closes (a pipe, a socket,
 * a lock) would stay open until the copy runs. */
int lee_system_copy(void) {
    if (lee_system_fails())
        return -1;
    int processor = sched_getcpu(), child = (int)syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0);
    if (child == 0)
        leave(processor);
    return child;
}

/* Also when the kernel has no memory at the moment: what was changed must be changed back. */
static bool advise_surely(void *start, size_t bytes, int advice) {
    int failed;
    do
        failed = madvise(start, bytes, advice);
    while (failed != 0 && errno == EAGAIN);
    return failed == 0;
}

bool lee_system_copied(void *start, size_t bytes, bool copied) {
    return copied ? advise_surely(start, bytes, MADV_DOFORK) : !lee_system_fails() && madvise(start, bytes, MADV_DONTFORK) == 0;
}

bool lee_system_wiped(void *start, size_t bytes, bool wiped) {
    return wiped ? !lee_system_fails() && madvise(start, bytes, MADV_WIPEONFORK) == 0 : advise_surely(start, bytes, MADV_KEEPONFORK);
}

extern char __libc_single_threaded __attribute__((weak)); /* glibc's */

bool lee_system_one_thread(void) {
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}

void lee_system_be_copy(int parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        syscall(SYS_exit_group, 1);
#ifdef SYS_close_range
    enum { UNSHARE = 2 };
    if (syscall(SYS_close_range, 0, ~0u, UNSHARE) == 0) {
        int file = open("/proc/self/oom_score_adj", O_WRONLY);
        if (file >= 0 && write(file, "1000", 4) != 4)
            close(file);
    }
#endif
    prctl(PR_SET_DUMPABLE, 0);
}

void lee_system_end_copy(void) {
    for (;;)
        syscall(SYS_exit_group, 0);
}

void lee_system_tell(atomic_uint *word) {
    atomic_store_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void lee_system_await(atomic_uint *word, unsigned milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    syscall(SYS_futex, word, FUTEX_WAIT, 0, &time, NULL, 0);
}

/* The beginning of a file, with a zero behind it. False, and an empty text, if there is none. */
static bool read_start(const char *path, char *text, size_t size) {
    text[0] = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, size - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = 0;
    return true;
}

bool lee_system_traced(void) {
    char status[2048];
    read_start("/proc/self/status", status, sizeof status);
    const char *line = strstr(status, "TracerPid:\t");
    return line != NULL && line[strlen("TracerPid:\t")] != '0';
}

enum { PATH_BYTES = 1024 };

/* The number at the beginning of `text`, or SIZE_MAX (none, `max`, too large). Sets `*end` behind it. */
static size_t number_at(const char *text, const char **end) {
    size_t number = 0, at = 0;
    bool large = false;
    for (; text[at] >= '0' && text[at] <= '9'; at++)
        large |= __builtin_mul_overflow(number, 10, &number) ||
                 __builtin_add_overflow(number, (size_t)(text[at] - '0'), &number);
    *end = text + at;
    return at > 0 && !large ? number : SIZE_MAX;
}

/* The number in a small file, or SIZE_MAX; the number behind the first, too, if `second` is not null. */
static size_t number_in(const char *folder, const char *name, size_t *second) {
    char path[PATH_BYTES], text[64];
    const char *end;
    strcpy(path, folder);
    strcat(path, name);
    read_start(path, text, sizeof text);
    size_t number = number_at(text, &end);
    if (second != NULL)
        *second = *end == ' ' ? number_at(end + 1, &end) : SIZE_MAX;
    return number;
}

static size_t memory_of_group(const char *folder) {
    size_t new = number_in(folder, "/memory.max", NULL), old = number_in(folder, "/memory.limit_in_bytes", NULL);
    return new < old ? new : old;
}

/* How many processors' time a group has: so many microseconds of each period. */
static size_t processors_of_group(const char *folder) {
    size_t period, quota = number_in(folder, "/cpu.max", &period);
    if (quota == SIZE_MAX) {
        quota = number_in(folder, "/cpu.cfs_quota_us", NULL); /* -1 is no number */
        period = number_in(folder, "/cpu.cfs_period_us", NULL);
    }
    return quota == SIZE_MAX || period == SIZE_MAX || period == 0 ? SIZE_MAX : quota / period;
}

/* Whether a list of controllers, `cpu,cpuacct`, has this one. */
static bool lists(const char *list, const char *controller) {
    for (size_t length = strlen(controller);; list++) {
        size_t here = strcspn(list, ",");
        if (here == length && strncmp(list, controller, length) == 0)
            return true;
        list += here;
        if (*list == 0)
            return false;
    }
}

struct lee_system_places lee_system_places = {"/sys/fs/cgroup", "/proc/self/cgroup"};

/* The least that `of_group` says of the program's control groups for a controller, of both
 * versions, and of those above them. */
static size_t control_groups_least(const char *controller, size_t (*of_group)(const char *folder)) {
    char groups[4096], folder[PATH_BYTES];
    if (!read_start(lee_system_places.list, groups, sizeof groups))
        return SIZE_MAX;
    size_t least = SIZE_MAX;
    for (char *line = groups, *end; *line != 0; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != 0)
            *end++ = 0;
        /* `4:cpu,cpuacct:/name`; of version 2 `0::/name`. */
        char *list = strchr(line, ':'), *name = list == NULL ? NULL : strchr(list + 1, ':');
        if (name == NULL || strlen(name) > sizeof folder / 2)
            continue;
        *list++ = 0;
        *name++ = 0;
        if (*list != 0 && !lists(list, controller))
            continue;
        strcpy(folder, lee_system_places.groups);
        if (*list != 0) {
            strcat(folder, "/");
            strcat(folder, controller);
        }
        char *top = folder + strlen(folder);
        strcpy(top, name);
        for (char *slash = top + strlen(top); slash != NULL; slash = strrchr(top, '/')) {
            *slash = 0;
            size_t here = of_group(folder);
            if (here < least)
                least = here;
        }
    }
    return least;
}

unsigned lee_system_processors(void) {
    cpu_set_t set;
    /* More than the set can say are enough. */
    size_t here = sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : CPU_SETSIZE;
    size_t granted = control_groups_least("cpu", processors_of_group);
    return (unsigned)(granted < here ? granted : here);
}

size_t lee_system_address_space(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
}

size_t lee_system_memory(void) {
    size_t least = control_groups_least("memory", memory_of_group), other = lee_system_address_space();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (other < least)
        least = other;
    if (pages > 0 && page > 0 && (size_t)pages < SIZE_MAX / (size_t)page && (size_t)pages * (size_t)page < least)
        least = (size_t)pages * (size_t)page;
    return least / 10 * 9;
}

size_t lee_system_most_pages(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss / 4 : SIZE_MAX;
}

size_t lee_system_private_pages(void) {
    char text[128];
    const char *at;
    read_start("/proc/self/statm", text, sizeof text);
    number_at(text, &at); /* address space */
    size_t resident = *at == ' ' ? number_at(at + 1, &at) : 0, shared = *at == ' ' ? number_at(at + 1, &at) : 0;
    return resident == SIZE_MAX || shared > resident ? 0 : resident - shared;
}
