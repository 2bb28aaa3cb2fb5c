/* io_path.h: the functions of io_path.c, which only library/include names. */
#ifndef LEE_IO_PATH_H
#define LEE_IO_PATH_H

#include <sys/stat.h>
#include <sys/types.h>
#include <utime.h>

int lee_access(const char *path, int mode);
int lee_eaccess(const char *path, int mode);
int lee_euidaccess(const char *path, int mode);
int lee_truncate(const char *path, off_t length);
int lee_unlink(const char *path);
int lee_remove(const char *path);
int lee_rename(const char *from, const char *to);
int lee_rmdir(const char *path);
int lee_link(const char *from, const char *to);
int lee_symlink(const char *target, const char *path);
ssize_t lee_readlink(const char *path, char *target, size_t n);
int lee_chown(const char *path, uid_t owner, gid_t group);
int lee_lchown(const char *path, uid_t owner, gid_t group);
int lee_stat(const char *path, struct stat *facts);
int lee_lstat(const char *path, struct stat *facts);
int lee_chmod(const char *path, mode_t mode);
int lee_mkdir(const char *path, mode_t mode);
int lee_mkfifo(const char *path, mode_t mode);
int lee_mknod(const char *path, mode_t mode, dev_t device);
int lee_utime(const char *path, const struct utimbuf *times);
int lee_system(const char *command);
void lee_sync(void);

#endif
