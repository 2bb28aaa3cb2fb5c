/* fds.h: what the runtime knows of the descriptors that the program's own calls made.
 *
 * Promises: a descriptor that was noted as made keeps its generation until it is closed by a call of the program's; no two that had
 * the same number have the same generation. What C code opens, and what the program was started with, is not known. Any thread may ask. */
#ifndef LEE_SRC_FDS_H
#define LEE_SRC_FDS_H

#include <stdbool.h>
#include <stdint.h>

enum lee_fd_kind {
    LEE_FD_SOCKET = 1,
    LEE_FD_FILE = 2,   /* not a socket: a pipe, a file, a terminal */
    LEE_FD_BLOCKS = 4, /* the program never asked it not to wait */
    LEE_FD_TIMES = 8   /* the program set how long its reads or writes wait */
};

/* A descriptor was made. Passes it on, -1 too. */
int lee_fd_made(int fd, unsigned kind);
/* It is about to be closed, or replaced: those who wait for it go on. */
void lee_fd_closes(int fd);
/* Closes it; as close(2). */
int lee_fd_close(int fd);
/* The runtime keeps it for itself: no call of the program's closes it. */
void lee_fd_keep(int fd);
bool lee_fd_is_kept(int fd);
/* 0: it is not known. */
uint32_t lee_fd_generation(int fd);
unsigned lee_fd_kind(int fd);
void lee_fd_add_kind(int fd, unsigned kind);
/* Whether it waits has to be asked from now on, of this one and of others with the same open file. */
void lee_fd_forget_blocking(int fd);

#endif
