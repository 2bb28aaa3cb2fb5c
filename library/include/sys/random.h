/* Random bytes. */
#ifndef LEE_SYS_RANDOM_H
#define LEE_SYS_RANDOM_H

#include_next <sys/random.h>

trusted ssize_t getrandom(void *counted_by(n) p, size_t n, unsigned flags);
trusted int getentropy(void *counted_by(n) p, size_t n);

#endif
