/* Directories. A full replacement of the system's header: a DIR is the runtime's, its use after closedir is a fault.
 * The entry that readdir returns is overwritten by the next readdir of the same directory, never freed. */
#ifndef LEE_DIRENT_H
#define LEE_DIRENT_H

#include <stddef.h>

struct dirent {
    unsigned long d_ino;
    long d_off;
    unsigned short d_reclen;
    unsigned char d_type;
    char d_name[256];
};

struct lee_dir;
typedef struct lee_dir DIR;

#define DT_UNKNOWN 0
#define DT_FIFO 1
#define DT_CHR 2
#define DT_DIR 4
#define DT_BLK 6
#define DT_REG 8
#define DT_LNK 10
#define DT_SOCK 12
#define DT_WHT 14

[[lee::leaf]] trusted DIR *opendir(const char *path) __asm__("lee_dir_open");
[[lee::leaf]] trusted DIR *fdopendir(int fd) __asm__("lee_dir_fdopen");
[[lee::leaf]] trusted struct dirent *readdir(DIR *directory) __asm__("lee_dir_read");
[[lee::leaf]] trusted int closedir(DIR *directory) __asm__("lee_dir_close");
[[lee::leaf]] trusted int dirfd(DIR *directory) __asm__("lee_dir_fd");
[[lee::leaf]] trusted void rewinddir(DIR *directory) __asm__("lee_dir_rewind");

#endif
