/* foreign_stack.c: the large stacks on which tasks call foreign functions. */
#ifndef LEE_FOREIGN_STACK_H
#define LEE_FOREIGN_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* One of them. */
struct lee_foreign_stack {
    uintptr_t guard, low, high;
    /* Where the task's own stack was left: there lie the frame pointer of the caller and the place
     * to return to. 0: not in use. */
    uintptr_t left;
};

/* What `lee_foreign_call` does, for the runtime's own calls: the process never gives way in it. */
void lee_foreign_run(void (*function)(void *), void *argument);

/* The running task is about to make a call of the system that may take long, or has made it. The call
 * runs on the task's own stack, so it must not need more of it than other calls of the system do. The
 * process does not give way in it. */
bool lee_call_begins(void);
void lee_call_ends(bool told);
#define LEE_LASTS(type, call)                                                                                          \
    __extension__({                                                                                                    \
        bool told_ = lee_call_begins();                                                                                \
        type result_ = (call);                                                                                         \
        lee_call_ends(told_);                                                                                          \
        result_;                                                                                                       \
    })

/* One that nobody uses, of this thread from now on; null if there is no memory. */
struct lee_foreign_stack *lee_foreign_stack_take(void);
void lee_foreign_stack_give(struct lee_foreign_stack *stack);
/* The stack, or its guard, that the address lies in. Safe in a signal handler. */
const struct lee_foreign_stack *lee_foreign_stack_find(uintptr_t address);

#endif
