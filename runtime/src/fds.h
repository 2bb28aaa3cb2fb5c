/* fds.h: what the runtime knows of the descriptors that the program's own calls made, and whose they are.
 *
 * Promises: a descriptor that was noted as made keeps its generation until it is closed or replaced by a call of the program's; no two that
 * had the same number have the same generation. Its life lasts longer: a number that dup2 gives another open file has the same life, one that was
 * closed or sent to another process has not. So an object (a FILE, a DIR, a descriptor) that noted the life of its number can tell whether
 * the number still means what it did, whoever has it now. What C code opens, and what the program was started with, is not known, and is the first
 * process's; a process that was spawned has what it made or was given, and the use of the standard three. When it ends, its descriptors are
 * closed, and no others. Any thread may ask. */
#ifndef LEE_SRC_FDS_H
#define LEE_SRC_FDS_H

#include <stdbool.h>
#include <stdint.h>

enum lee_fd_kind {
    LEE_FD_SOCKET = 1,
    LEE_FD_FILE = 2,   /* not a socket: a pipe, a file, a terminal */
    LEE_FD_BLOCKS = 4, /* the program never asked it not to wait */
    LEE_FD_TIMES = 8,  /* the program set how long its reads or writes wait */
    LEE_FD_TCP = 16    /* a socket of TCP, and nothing but that: a read that gives less than it could has emptied it */
};

/* A descriptor was made. Passes it on, -1 too. */
int lee_fd_made(int fd, unsigned kind);
/* It is about to be closed, or replaced: those who wait for it go on. */
void lee_fd_closes(int fd);
/* Closes it; as close(2). */
int lee_fd_close(int fd);
/* A thread of the runtime uses the number. If it is closed in the meantime, it belongs to no
 * process, and stays open until it is let go as often as it was held. (A duplicate would not do:
 * closing that gives up the program's locks on the file.) False: no memory. */
bool lee_fd_hold(int fd);
/* By any thread. */
void lee_fd_let(int fd);
/* The runtime keeps it for itself: no call of the program's closes it. */
void lee_fd_keep(int fd);
/* Whether the running process may use it, or (`strictly`) also close it; else EBADF. Of a program of one process it has all but those
 * that the runtime keeps. */
bool lee_fd_is_mine_slowly(int fd, bool strictly);
extern bool lee_fds_guarded; /* some are not everybody's */
static inline bool lee_fd_is_mine(int fd) {
    return __builtin_expect(!lee_fds_guarded, 1) || lee_fd_is_mine_slowly(fd, false);
}
static inline bool lee_fd_is_mine_to_close(int fd) {
    return __builtin_expect(!lee_fds_guarded, 1) || lee_fd_is_mine_slowly(fd, true);
}
/* Something of the library's opened it: it is noted unless it is known. */
void lee_fd_note(int fd);
/* dup2 made `fd`, whose life was `life` before; 0: it was not open, or not known. Passes it on, -1 too. */
int lee_fd_replaced(int fd, unsigned kind, uint32_t life);
/* It is no process's until another one takes it. Returns its new life; 0: it is lost. */
uint32_t lee_fd_send(int fd);
/* Whether it is still the one that was sent; then it is the running process's, and `*life` is its new one. */
bool lee_fd_receive(int fd, uint32_t *life);
/* For C code (c_files.c). The descriptor is the running process's, however it was made, with that life
 * unless it is 0; false and EMFILE, and nothing changes, if that would break a limit: C code is not
 * stopped in the middle of its work. */
bool lee_fd_own_for_c(int fd, uint32_t life);
/* A thread that C made, which is not a process and may wake no task, opened it, or closes it. */
void lee_fd_of_thread(int fd);
void lee_fd_forget(int fd);
/* 0: it is not known. */
uint32_t lee_fd_life(int fd);
/* Whether the number still has that life; else EBADF. A life of 0 says only that it is to be the running process's. */
bool lee_fd_lives(int fd, uint32_t life);
/* 0: it is not known. */
uint32_t lee_fd_generation(int fd);
unsigned lee_fd_kind(int fd);
void lee_fd_add_kind(int fd, unsigned kind);
/* Without LEE_FD_BLOCKS, whether it waits has to be asked each time. */
void lee_fd_drop_kind(int fd, unsigned kind);

#endif
