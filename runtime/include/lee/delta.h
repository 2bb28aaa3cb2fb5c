/* Globals of processes: how code reaches a mutable variable of static storage.
 *
 * Promises: such a variable stands in one of two sections. In a process it lies `lee_delta` bytes behind its linked address: 0 in the first
 * process, which uses the linked variables themselves. On x86-64 the delta is also the base of %gs, so that an access by
 * LEE_VARIABLE costs no instruction more; elsewhere, and under sanitizers, it is added. A word whose first value is an address
 * is named by LEE_VARIABLE_ADDRESS, so that each process gets its own.
 *
 * Programs that never spawn link nothing of this: the base of %gs is 0 when a program begins. Emitted C holds this text, so it
 * includes nothing and declares nothing of C's. */
#ifndef LEE_DELTA_H
#define LEE_DELTA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Of the process that runs. */
extern __thread long lee_delta __attribute__((tls_model("initial-exec")));

/* The address in the running process of what is linked at `linked`, which need not be in the sections. */
void *lee_variable_find(const volatile void *linked) __attribute__((pure));

/* Before the declaration of a variable with a first value, and of one that is zero at first. With gcc that takes no place in the file, by
 * a name that ends the line of the assembler; clang would take all of it for the name. A linker makes two sections of
 * one name if one of them takes place in the file, so where the compiler is not known to be gcc such a variable is like the others. */
#define LEE_IN_GLOBALS __attribute__((section("lee_globals")))
#if defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
#define LEE_IN_GLOBALS_ZERO __attribute__((section("lee_globals_zero,\"aw\",@nobits//")))
#elif defined(__GNUC__) && !defined(__clang__)
#define LEE_IN_GLOBALS_ZERO __attribute__((section("lee_globals_zero,\"aw\",@nobits#")))
#else
#define LEE_IN_GLOBALS_ZERO LEE_IN_GLOBALS
#endif

/* Before a function of the program. In this section a process can be preempted, so nothing that the
 * runtime calls belongs there. */
#define LEE_CODE __attribute__((section("lee_text")))

/* `name`, of the caller's choice, says that `word` in these sections holds an address in `base` at first. `base` need not be in
 * them: then nothing is done. */
struct lee_variable_address {
    const volatile void *word, *base;
};
#define LEE_VARIABLE_ADDRESS(name, word, base)                                                                         \
    static const struct lee_variable_address name                                                                      \
        __attribute__((section("lee_global_addresses"), used, aligned(16))) = {&(word), &(base)}

/* The variable of the running process, to be read and written; its address is LEE_VARIABLE_AT's. */
#if defined(__x86_64__) && defined(__SEG_GS) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LEE_VARIABLE(x) (*(__seg_gs __typeof__(x) *)(unsigned long) & (x))
#else
#define LEE_VARIABLE(x) (*LEE_VARIABLE_AT(x))
#endif
/* Opaque to the compiler, which may else believe that this is the linked variable. */
#define LEE_VARIABLE_AT(x)                                                                                             \
    __extension__({                                                                                                    \
        unsigned long lee__at = (unsigned long)&(x);                                                             \
        __asm__("" : "+r"(lee__at));                                                                                   \
        (__typeof__(x) *)(lee__at + (unsigned long)lee_delta);                                                      \
    })
/* The same of a variable that is defined elsewhere, perhaps by code that does not use these sections. */
#define LEE_VARIABLE_FOUND(x)                                                                                          \
    __extension__({                                                                                                    \
        void *lee__at = (void *)&(x);                                                                                  \
        if (__builtin_expect(lee_delta != 0, 0))                                                                       \
            lee__at = lee_variable_find(lee__at);                                                                      \
        __asm__("" : "+r"(lee__at));                                                                                   \
        (__typeof__(x) *)lee__at;                                                                                      \
    })

#ifdef __cplusplus
}
#endif

#endif
