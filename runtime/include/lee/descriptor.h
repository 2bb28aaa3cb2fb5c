/* Descriptors that go from one process to another.
 *
 * Promises: a descriptor belongs to one process. It goes in a block of the exchange heap: while
 * that is on its way it belongs to no process, and whoever sent it has only a closed object, and a
 * number that is EBADF. What is not received, or is freed, is closed. */
#ifndef LEE_DESCRIPTOR_H
#define LEE_DESCRIPTOR_H

#ifdef __cplusplus
extern "C" {
#endif

struct lee_descriptor;

/* Takes the descriptor out of `d`, which is closed from then on, into a block that may be sent and,
 * lent, be used as any other. A fault if it is closed. */
struct lee_descriptor *lee_descriptor_give(struct lee_descriptor *d);
/* Takes it out of such a block, which is freed, into an object of the heap, which closes it when
 * nothing reaches it. Null and EBADF if it was closed by number meanwhile. Null stays null. */
struct lee_descriptor *lee_descriptor_take(struct lee_descriptor *sent);

#ifdef __cplusplus
}
#endif

#endif
