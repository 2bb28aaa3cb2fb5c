/* The figures of ../figures.lee without a runtime: KIND MODE COUNT [SIZE].
 *
 * pipe, socketpair: two processes of the system. floor: two stacks in one process, switched by hand,
 * and a word that both write: what any runtime pays at least. memcpy: one copy of SIZE bytes. fork: a
 * process of the system is made and ends. noise: COUNT dependent multiplications, and how much longer
 * they took than they ran. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double of(const struct rusage *u) {
    return ((double)u->ru_utime.tv_sec + (double)u->ru_stime.tv_sec) * 1e9 +
           ((double)u->ru_utime.tv_usec + (double)u->ru_stime.tv_usec) * 1e3;
}

/* Processor time of this process and of those that it waited for, in nanoseconds. */
static double now(void) {
    struct rusage own, others;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &others);
    return of(&own) + of(&others);
}

static void all(ssize_t (*move)(int, void *, size_t), int fd, char *p, size_t n) {
    while (n > 0) {
        ssize_t k = move(fd, p, n);
        if (k <= 0)
            _exit(1);
        p += k;
        n -= (size_t)k;
    }
}

static ssize_t put(int fd, void *p, size_t n) {
    return write(fd, p, n);
}

/* A message of `size` bytes goes there and back. */
static double pass(int is_pipe, long count, size_t size) {
    int there[2], back[2], most = 1 << 21;
    char *buffer = malloc(size);
    memset(buffer, 1, size);
    if (is_pipe ? pipe(there) != 0 || pipe(back) != 0 : socketpair(AF_UNIX, SOCK_STREAM, 0, there) != 0)
        exit(1);
    for (int i = 0; i < 2 && !is_pipe; i++)
        setsockopt(there[i], SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
    int read_end = is_pipe ? there[0] : there[1], write_end = is_pipe ? back[1] : there[1];
    double before = now();
    pid_t child = fork();
    if (child == 0) {
        for (long i = 0; i < count; i++) {
            all(read, read_end, buffer, size);
            buffer[0]++;
            all(put, write_end, buffer, size);
        }
        _exit(0);
    }
    for (long i = 0; i < count; i++) {
        all(put, is_pipe ? there[1] : there[0], buffer, size);
        all(read, is_pipe ? back[0] : there[0], buffer, size);
        buffer[0]++;
    }
    waitpid(child, NULL, 0);
    free(buffer);
    return (now() - before) / (double)count;
}

static double copy(long count, size_t size) {
    char *from = malloc(size), *to = malloc(size);
    memset(from, 1, size);
    memset(to, 1, size);
    double before = now();
    for (long i = 0; i < count; i++) {
        memcpy(to, from, size);
        __asm__ volatile("" ::"r"(to) : "memory");
    }
    return (now() - before) / (double)count;
}

static double spawn(long count) {
    double before = now();
    for (long i = 0; i < count; i++) {
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    return (now() - before) / (double)count;
}

static double clock_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double noise(long count) {
    double wall = clock_of(CLOCK_MONOTONIC), ran = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t x = 3;
    for (long i = 0; i < count; i++) {
        x *= x;
        __asm__ volatile("" : "+r"(x));
    }
    ran = clock_of(CLOCK_PROCESS_CPUTIME_ID) - ran;
    wall = clock_of(CLOCK_MONOTONIC) - wall;
    printf("%.3f ", wall / ran);
    return ran / (double)count;
}

#if defined(__x86_64__)
void hand_switch(uintptr_t *from, uintptr_t to);
__asm__(".text\n"
        "hand_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n");

static uintptr_t main_sp, other_sp;
static volatile long word;

static void other(void) {
    for (;;) {
        word++;
        hand_switch(&other_sp, main_sp);
    }
}

static double floor_of(long count) {
    uintptr_t *at = (uintptr_t *)((uintptr_t)malloc(65536) + 65536 - 64);
    *--at = 0;
    *--at = (uintptr_t)other;
    for (int i = 0; i < 6; i++)
        *--at = 0;
    other_sp = (uintptr_t)at;
    double before = now();
    for (long i = 0; i < count; i++)
        hand_switch(&main_sp, other_sp);
    return (now() - before) / (double)count;
}
#endif

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    const char *kind = argv[1], *mode = argv[2];
    long count = atol(argv[3]);
    size_t size = argc > 4 ? (size_t)atol(argv[4]) : 1;
    double value;
    if (strcmp(kind, "memcpy") == 0)
        value = copy(count, size);
    else if (strcmp(kind, "noise") == 0)
        value = noise(count);
    else if (strcmp(kind, "fork") == 0)
        value = spawn(count);
#if defined(__x86_64__)
    else if (strcmp(kind, "floor") == 0)
        value = floor_of(count) / (strcmp(mode, "trip") == 0 ? 1 : 2);
#endif
    else
        value = pass(strcmp(kind, "pipe") == 0, count, size) / (strcmp(mode, "trip") == 0 ? 1 : 2);
    printf("%.2f\n", value);
    return 0;
}
