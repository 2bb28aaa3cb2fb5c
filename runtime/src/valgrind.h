/* valgrind.h: asking valgrind, if the program runs under it. Elsewhere a request is a few
 * instructions that do nothing.
 *
 * The instructions and numbers are valgrind's interface ("The Client Request mechanism" in its
 * manual), which does not change. */
#ifndef LEE_VALGRIND_H
#define LEE_VALGRIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answer to a request with its arguments, 0 without valgrind. */
static inline uintptr_t lee_valgrind_request(uintptr_t request, uintptr_t first, uintptr_t second, uintptr_t third) {
    volatile uintptr_t block[6] = {request, first, second, third, 0, 0};
    uintptr_t answer = 0;
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(block)
                     : "cc", "memory");
#elif defined(__aarch64__)
    register uintptr_t result __asm__("x3") = answer;
    register volatile uintptr_t *arguments __asm__("x4") = block;
    __asm__ volatile("ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61; orr x10, x10, x10"
                     : "+r"(result)
                     : "r"(arguments)
                     : "cc", "memory", "x12");
    answer = result;
#else
    (void)block;
#endif
    return answer;
}

static inline bool lee_runs_on_valgrind(void) {
    return lee_valgrind_request(0x1001, 0, 0, 0) != 0;
}

/* Tells memcheck that these bytes have values; what else valgrind runs does not know the request. */
static inline void lee_valgrind_defined(const void *start, size_t bytes) {
    lee_valgrind_request(('M' << 24 | 'C' << 16) + 2, (uintptr_t)start, bytes, 0);
}

/* Tells valgrind of a stack that the program switches to, by its lowest and highest byte. */
static inline void lee_valgrind_stack(uintptr_t low, uintptr_t high) {
    lee_valgrind_request(0x1501, low, high, 0);
}

#endif
