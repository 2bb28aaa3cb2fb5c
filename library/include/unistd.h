/* The system's calls. */
#ifndef LEE_UNISTD_H
#define LEE_UNISTD_H

#include_next <unistd.h>

/* Descriptors */
trusted ssize_t read(int fd, void *counted_by(n) p, size_t n);
trusted ssize_t write(int fd, const void *counted_by(n) p, size_t n);
trusted ssize_t pread(int fd, void *counted_by(n) p, size_t n, off_t offset);
trusted ssize_t pwrite(int fd, const void *counted_by(n) p, size_t n, off_t offset);
trusted int close(int fd);
trusted off_t lseek(int fd, off_t offset, int whence);
trusted int dup(int fd);
trusted int dup2(int fd, int to);
trusted int pipe(int fds[2]);
trusted int isatty(int fd);
trusted int fsync(int fd);
trusted int fdatasync(int fd);
trusted void sync(void);
trusted int ftruncate(int fd, off_t length);
trusted int lockf(int fd, int command, off_t length);
trusted int ttyname_r(int fd, char *counted_by(n) name, size_t n);

/* Names */
trusted int access(const char *path, int mode);
trusted int faccessat(int directory, const char *path, int mode, int flags);
trusted int truncate(const char *path, off_t length);
trusted int unlink(const char *path);
trusted int unlinkat(int directory, const char *path, int flags);
trusted int rmdir(const char *path);
trusted int link(const char *from, const char *to);
trusted int symlink(const char *target, const char *path);
trusted ssize_t readlink(const char *path, char *counted_by(n) target, size_t n);
trusted ssize_t readlinkat(int directory, const char *path, char *counted_by(n) target, size_t n);
trusted int chown(const char *path, uid_t owner, gid_t group);
trusted int fchown(int fd, uid_t owner, gid_t group);
trusted int lchown(const char *path, uid_t owner, gid_t group);
trusted char *fat null_terminated getcwd([[lee::optional]] char *counted_by(n) path, size_t n) __asm__("lee_getcwd");
trusted long pathconf(const char *path, int name);
trusted long fpathconf(int fd, int name);

/* This program, and time */
trusted void _exit(int status) __attribute__((noreturn));
trusted int execv(const char *path, char *null_terminated const *null_terminated argv);
trusted int execvp(const char *file, char *null_terminated const *null_terminated argv);
trusted pid_t getpid(void);
trusted pid_t getppid(void);
trusted pid_t getpgrp(void);
trusted pid_t getpgid(pid_t process);
trusted int setpgid(pid_t process, pid_t group);
trusted pid_t getsid(pid_t process);
trusted pid_t setsid(void);
trusted uid_t getuid(void);
trusted uid_t geteuid(void);
trusted gid_t getgid(void);
trusted gid_t getegid(void);
trusted int setuid(uid_t user);
trusted int setgid(gid_t group);
trusted int getgroups(int n, gid_t *counted_by(n) groups);
trusted int nice(int by);
trusted unsigned sleep(unsigned seconds);
trusted int usleep(useconds_t microseconds);
trusted unsigned alarm(unsigned seconds);
trusted int pause(void);
trusted int gethostname(char *counted_by(n) name, size_t n);
trusted int getlogin_r(char *counted_by(n) name, size_t n);
trusted int getentropy(void *counted_by(n) p, size_t n);
trusted long sysconf(int name);
trusted int getpagesize(void);

#endif
