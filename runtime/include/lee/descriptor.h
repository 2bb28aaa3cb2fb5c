/* Descriptors that go from one process to another, as emitted code calls them.
 *
 * Promises: a descriptor belongs to one process. While it is on its way it is nobody's; whoever gave it has only a closed object left. */
#ifndef LEE_DESCRIPTOR_H
#define LEE_DESCRIPTOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_descriptor;

/* One on its way, as it lies in a message or in the arguments of a process. It is taken or lost once. */
struct lee_descriptor_sent {
    int fd;
    uint32_t generation;
};

/* Takes the descriptor out of `d`, which is closed from then on. Tasks of the giver that wait for it go on with EBADF. A fault if it is closed. */
struct lee_descriptor_sent lee_descriptor_give(struct lee_descriptor *d);
/* It belongs to the running process now. Null and EBADF if somebody took it already. */
struct lee_descriptor *lee_descriptor_take(struct lee_descriptor_sent sent);
/* Nobody receives it: closes it. */
void lee_descriptor_lose(struct lee_descriptor_sent sent);

#ifdef __cplusplus
}
#endif

#endif
