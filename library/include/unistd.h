/* The system's calls. */
#ifndef LEE_UNISTD_H
#define LEE_UNISTD_H

#include_next <unistd.h>

/* Descriptors */
trusted ssize_t read(int fd, void *counted_by(n) p, size_t n) __asm__("lee_read");
trusted ssize_t write(int fd, const void *counted_by(n) p, size_t n) __asm__("lee_write");
[[lee::leaf]] trusted ssize_t pread(int fd, void *counted_by(n) p, size_t n, off_t offset) __asm__("lee_pread");
[[lee::leaf]] trusted ssize_t pwrite(int fd, const void *counted_by(n) p, size_t n, off_t offset) __asm__("lee_pwrite");
[[lee::leaf]] trusted int close(int fd) __asm__("lee_close");
[[lee::leaf]] trusted off_t lseek(int fd, off_t offset, int whence) __asm__("lee_lseek");
[[lee::leaf]] trusted int dup(int fd) __asm__("lee_dup");
[[lee::leaf]] trusted int dup2(int fd, int to) __asm__("lee_dup2");
[[lee::leaf]] trusted int pipe(int fds[2]) __asm__("lee_pipe");
[[lee::leaf]] trusted pid_t tcgetpgrp(int fd) __asm__("lee_tcgetpgrp");
[[lee::leaf]] trusted int tcsetpgrp(int fd, pid_t group) __asm__("lee_tcsetpgrp");
[[lee::leaf]] [[lee::waits]] trusted int syncfs(int fd) __asm__("lee_syncfs");
[[lee::leaf]] trusted int isatty(int fd) __asm__("lee_isatty");
[[lee::leaf]] [[lee::waits]] trusted int fsync(int fd) __asm__("lee_fsync");
[[lee::leaf]] [[lee::waits]] trusted int fdatasync(int fd) __asm__("lee_fdatasync");
[[lee::leaf]] trusted void sync(void) __asm__("lee_sync");
[[lee::leaf]] trusted int ftruncate(int fd, off_t length) __asm__("lee_ftruncate");
[[lee::leaf]] [[lee::waits]] trusted int lockf(int fd, int command, off_t length) __asm__("lee_lockf");
[[lee::leaf]] trusted int ttyname_r(int fd, char *counted_by(n) name, size_t n) __asm__("lee_ttyname_r");

/* Names */
[[lee::leaf]] trusted int access(const char *path, int mode) __asm__("lee_access");
[[lee::leaf]] trusted int faccessat(int directory, const char *path, int mode, int flags) __asm__("lee_faccessat");
[[lee::leaf]] trusted int truncate(const char *path, off_t length) __asm__("lee_truncate");
[[lee::leaf]] trusted int unlink(const char *path) __asm__("lee_unlink");
[[lee::leaf]] trusted int unlinkat(int directory, const char *path, int flags) __asm__("lee_unlinkat");
[[lee::leaf]] trusted int rmdir(const char *path) __asm__("lee_rmdir");
[[lee::leaf]] trusted int link(const char *from, const char *to) __asm__("lee_link");
[[lee::leaf]] trusted int symlink(const char *target, const char *path) __asm__("lee_symlink");
[[lee::leaf]] trusted ssize_t readlink(const char *path, char *counted_by(n) target, size_t n) __asm__("lee_readlink");
[[lee::leaf]] trusted ssize_t readlinkat(int directory, const char *path, char *counted_by(n) target, size_t n) __asm__("lee_readlinkat");
[[lee::leaf]] trusted int chown(const char *path, uid_t owner, gid_t group) __asm__("lee_chown");
[[lee::leaf]] trusted int fchown(int fd, uid_t owner, gid_t group) __asm__("lee_fchown");
[[lee::leaf]] trusted int lchown(const char *path, uid_t owner, gid_t group) __asm__("lee_lchown");
[[lee::leaf]] [[lee::terminates(path)]] trusted char *fat null_terminated getcwd([[lee::optional]] char *counted_by(n) path, size_t n) __asm__("lee_getcwd");
[[lee::leaf]] trusted int chdir(const char *path) __asm__("lee_chdir");
[[lee::leaf]] trusted int fchdir(int fd) __asm__("lee_fchdir");
[[lee::leaf]] trusted int linkat(int directory, const char *from, int other, const char *to, int flags) __asm__("lee_linkat");
[[lee::leaf]] trusted int symlinkat(const char *target, int directory, const char *path) __asm__("lee_symlinkat");
[[lee::leaf]] trusted int fchownat(int directory, const char *path, uid_t owner, gid_t group, int flags) __asm__("lee_fchownat");
[[lee::leaf]] trusted int euidaccess(const char *path, int mode) __asm__("lee_euidaccess");
[[lee::leaf]] trusted int eaccess(const char *path, int mode) __asm__("lee_eaccess");
[[lee::leaf]] trusted long pathconf(const char *path, int name);
[[lee::leaf]] trusted long fpathconf(int fd, int name) __asm__("lee_fpathconf");

/* This program, and time */
trusted void _exit(int status) __attribute__((noreturn));
[[lee::leaf]] trusted int execv(const char *path, char *null_terminated const *fat argv)
    __asm__("lee_execv");
[[lee::leaf]] trusted int execvp(const char *file, char *null_terminated const *fat argv)
    __asm__("lee_execvp");
[[lee::leaf]] trusted pid_t getpid(void);
[[lee::leaf]] trusted pid_t getppid(void);
[[lee::leaf]] trusted pid_t getpgrp(void);
[[lee::leaf]] trusted pid_t getpgid(pid_t process);
[[lee::leaf]] trusted int setpgid(pid_t process, pid_t group) __asm__("lee_setpgid");
[[lee::leaf]] trusted pid_t getsid(pid_t process);
[[lee::leaf]] trusted pid_t setsid(void) __asm__("lee_setsid");
[[lee::leaf]] trusted uid_t getuid(void);
[[lee::leaf]] trusted uid_t geteuid(void);
[[lee::leaf]] trusted gid_t getgid(void);
[[lee::leaf]] trusted gid_t getegid(void);
[[lee::leaf]] trusted int setuid(uid_t user) __asm__("lee_setuid");
[[lee::leaf]] trusted int setgid(gid_t group) __asm__("lee_setgid");
[[lee::leaf]] trusted int seteuid(uid_t user) __asm__("lee_seteuid");
[[lee::leaf]] trusted int setegid(gid_t group) __asm__("lee_setegid");
[[lee::leaf]] trusted int setreuid(uid_t real, uid_t effective) __asm__("lee_setreuid");
[[lee::leaf]] trusted int setregid(gid_t real, gid_t effective) __asm__("lee_setregid");
[[lee::leaf]] trusted int setresuid(uid_t real, uid_t effective, uid_t saved) __asm__("lee_setresuid");
[[lee::leaf]] trusted int setresgid(gid_t real, gid_t effective, gid_t saved) __asm__("lee_setresgid");
[[lee::leaf]] trusted int getresuid(uid_t *real, uid_t *effective, uid_t *saved);
[[lee::leaf]] trusted int getresgid(gid_t *real, gid_t *effective, gid_t *saved);
[[lee::leaf]] trusted int getgroups(int n, gid_t *counted_by(n) groups);
[[lee::leaf]] trusted int nice(int by) __asm__("lee_nice");
trusted unsigned sleep(unsigned seconds) __asm__("lee_sleep");
trusted int usleep(useconds_t microseconds) __asm__("lee_usleep");
[[lee::leaf]] trusted unsigned alarm(unsigned seconds) __asm__("lee_alarm");
trusted int pause(void) __asm__("lee_pause");
[[lee::leaf]] trusted useconds_t ualarm(useconds_t first, useconds_t every) __asm__("lee_ualarm");
[[lee::leaf]] trusted int getdomainname(char *counted_by(n) name, size_t n);
[[lee::leaf]] trusted long gethostid(void);
[[lee::leaf]] trusted int sethostname(const char *counted_by(n) name, size_t n);
[[lee::leaf]] trusted int gethostname(char *counted_by(n) name, size_t n);
[[lee::leaf]] trusted int getlogin_r(char *counted_by(n) name, size_t n);
[[lee::leaf]] trusted int getentropy(void *counted_by(n) p, size_t n);
[[lee::leaf]] trusted long sysconf(int name);
[[lee::leaf]] trusted int getpagesize(void);

/* A new string, as of `getcwd(nullptr, 0)`. */
#define get_current_dir_name() getcwd(nullptr, 0)

#endif
