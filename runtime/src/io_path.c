/* io_path.c: C's calls that name a file, and others that wait for a disk or for another program, on the
 * stack and the thread of the task that makes them.
 *
 * Promises: each does what the function of its name does. The system answers most of them from memory
 * within microseconds, so they are not made on another thread, as calls of io_disk.c are; but one that
 * lasts is to other workers as a call of C that lasts (pool.c): they take over what waits here. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "foreign_stack.h"
#include "io_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BY_PATH(type, name, parameters, arguments)                                                                     \
    type lee_##name parameters {                                                                                       \
        return LEE_LASTS(type, name arguments);                                                                        \
    }

BY_PATH(int, access, (const char *path, int mode), (path, mode))
BY_PATH(int, eaccess, (const char *path, int mode), (path, mode))
BY_PATH(int, euidaccess, (const char *path, int mode), (path, mode))
BY_PATH(int, truncate, (const char *path, off_t length), (path, length))
BY_PATH(int, unlink, (const char *path), (path))
BY_PATH(int, remove, (const char *path), (path))
BY_PATH(int, rename, (const char *from, const char *to), (from, to))
BY_PATH(int, rmdir, (const char *path), (path))
BY_PATH(int, link, (const char *from, const char *to), (from, to))
BY_PATH(int, symlink, (const char *target, const char *path), (target, path))
BY_PATH(ssize_t, readlink, (const char *path, char *target, size_t n), (path, target, n))
BY_PATH(int, chown, (const char *path, uid_t owner, gid_t group), (path, owner, group))
BY_PATH(int, lchown, (const char *path, uid_t owner, gid_t group), (path, owner, group))
BY_PATH(int, stat, (const char *path, struct stat *facts), (path, facts))
BY_PATH(int, lstat, (const char *path, struct stat *facts), (path, facts))
BY_PATH(int, chmod, (const char *path, mode_t mode), (path, mode))
BY_PATH(int, mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH(int, mkfifo, (const char *path, mode_t mode), (path, mode))
BY_PATH(int, mknod, (const char *path, mode_t mode, dev_t device), (path, mode, device))
BY_PATH(int, utime, (const char *path, const struct utimbuf *times), (path, times))
BY_PATH(int, system, (const char *command), (command))

void lee_sync(void) {
    bool told = lee_call_begins();
    sync();
    lee_call_ends(told);
}
