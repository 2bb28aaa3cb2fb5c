/* io_disk.h: calls that wait for a disk, on a thread of the runtime (aside.c), so that other
 * processes run meanwhile.
 *
 * Promises: the other thread touches no memory of a heap: what is written is copied before, what is
 * read is copied when the task goes on. If the task or its process is ended meanwhile, the call goes
 * on, and the descriptor's number is not used for another file before it is over. */
#ifndef LEE_SRC_IO_DISK_H
#define LEE_SRC_IO_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct lee_left;

enum {
    /* A thread costs the worker 6 to 9 microseconds, and the task 65 to 80 until it goes on. 64 KB that are new to the system's
     * cache take 40 to 160. */
    LEE_DISK_LEAST = 65536,
    LEE_DISK_PIECE = 524288 /* what is copied for one call at most */
};

static inline size_t lee_disk_piece(size_t n) {
    return n < LEE_DISK_PIECE ? n : LEE_DISK_PIECE;
}

bool lee_disk_is_regular(int fd);
/* read(2) and write(2) of one piece; the result may be short for that. `left`: as for lee_read_left, null for none. */
ssize_t lee_disk_read(int fd, void *p, size_t n, const struct lee_left *left);
ssize_t lee_disk_write(int fd, const void *p, size_t n, const struct lee_left *left);

#endif
