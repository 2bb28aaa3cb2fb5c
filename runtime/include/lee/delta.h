/* Globals of processes: how code reaches a mutable variable of static storage.
 *
 * Promises: such a variable stands in one of two sections. In a process it lies `lee_delta` bytes behind its linked address: 0 in the first
 * process, which uses the linked variables themselves. On x86-64 the delta is also the base of %gs, so that an access by
 * LEE_VARIABLE costs no instruction more; elsewhere, and under sanitizers, it is added. A word whose first value is the address
 * of such a variable is named by LEE_VARIABLE_ADDRESS, so that each process gets its own.
 *
 * Programs that never spawn link nothing of this: the base of %gs is 0 when a program begins. */
#ifndef LEE_DELTA_H
#define LEE_DELTA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern _Thread_local intptr_t lee_delta __attribute__((tls_model("initial-exec"))); /* of the process that runs */

/* Before the declaration of a variable with a first value, and of one that is zero at first. With gcc that takes no place in the file, by
 * a name that ends the line of the assembler; clang would take all of it for the name. */
#define LEE_IN_GLOBALS __attribute__((section("lee_globals")))
#ifdef __clang__
#define LEE_IN_GLOBALS_ZERO __attribute__((section("lee_globals_zero")))
#else
#define LEE_IN_GLOBALS_ZERO __attribute__((section("lee_globals_zero,\"aw\",@nobits#")))
#endif

/* At file level: `word` holds an address of a variable in these sections at first. */
#define LEE_VARIABLE_ADDRESS(word)                                                                                     \
    static void *const LEE_VARIABLE_NAME(__COUNTER__) __attribute__((section("lee_global_addresses"), used)) = (void *)&(word)
#define LEE_VARIABLE_NAME(n) LEE_VARIABLE_NAMED(n)
#define LEE_VARIABLE_NAMED(n) lee__variable_address_##n

/* The variable of the running process, to be read and written; its address is LEE_VARIABLE_AT's. */
#if defined(__x86_64__) && defined(__SEG_GS) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LEE_VARIABLE(x) (*(__seg_gs __typeof__(x) *)(uintptr_t)&(x))
#else
#define LEE_VARIABLE(x) (*LEE_VARIABLE_AT(x))
#endif
/* Opaque to the compiler, which may else believe that this is the linked variable. */
#define LEE_VARIABLE_AT(x)                                                                                             \
    __extension__({                                                                                                    \
        uintptr_t lee__at = (uintptr_t)&(x);                                                                           \
        __asm__("" : "+r"(lee__at));                                                                                   \
        (__typeof__(x) *)(lee__at + (uintptr_t)lee_delta);                                                             \
    })

#ifdef __cplusplus
}
#endif

#endif
