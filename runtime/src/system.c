/* system.c: see system.h. */
#define _GNU_SOURCE
#include "system.h"

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

void lee_system_huge(void *start, size_t bytes, bool huge) {
    if (madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0 && huge)
        lee_system_counts.huge_advised += bytes;
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

/* Not fork: no signal at the end, no handlers of pthread_atfork. The table of descriptors is shared until the copy gets one of its own,
 * an empty one: else what the parent closes (a pipe, a socket, a lock) would stay open until the copy runs. */
int lee_system_copy(void) {
    return lee_system_fails() ? -1 : (int)syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0);
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

void lee_system_copy_done(atomic_uint *done) {
    atomic_store_explicit(done, 1, memory_order_release);
    syscall(SYS_futex, done, FUTEX_WAKE, 1, NULL, NULL, 0);
    for (;;)
        syscall(SYS_exit_group, 0);
}

void lee_system_await(atomic_uint *done, unsigned milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    syscall(SYS_futex, done, FUTEX_WAIT, 0, &time, NULL, 0);
}

unsigned lee_system_processors(void) {
    cpu_set_t set;
    /* More than the set can say are enough. */
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : CPU_SETSIZE;
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

/* The number in a small file, or SIZE_MAX (`max`, no file, no number). */
static size_t number_in(const char *path) {
    char text[32];
    read_start(path, text, sizeof text);
    size_t number = 0, at = 0;
    for (; text[at] >= '0' && text[at] <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (size_t)(text[at] - '0'), &number))
            return SIZE_MAX;
    }
    return at > 0 ? number : SIZE_MAX;
}

/* The least memory.max of the program's control group and those above it. */
static size_t control_group_memory(void) {
    char group[512], path[640];
    if (!read_start("/proc/self/cgroup", group, sizeof group))
        return SIZE_MAX;
    char *name = strncmp(group, "0::", 3) == 0 ? group : strstr(group, "\n0::");
    if (name == NULL)
        return number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"); /* version 1 */
    name += *name == '\n' ? 4 : 3;
    name[strcspn(name, "\n")] = 0;
    size_t least = SIZE_MAX;
    for (;;) {
        strcpy(path, "/sys/fs/cgroup");
        strcat(path, name);
        strcat(path, "/memory.max");
        size_t here = number_in(path);
        if (here < least)
            least = here;
        char *slash = strrchr(name, '/');
        if (slash == NULL)
            return least;
        *slash = 0;
    }
}

size_t lee_system_address_space(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
}

size_t lee_system_memory(void) {
    size_t least = control_group_memory(), other = lee_system_address_space();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (other < least)
        least = other;
    if (pages > 0 && page > 0 && (size_t)pages < SIZE_MAX / (size_t)page && (size_t)pages * (size_t)page < least)
        least = (size_t)pages * (size_t)page;
    return least / 10 * 9;
}
