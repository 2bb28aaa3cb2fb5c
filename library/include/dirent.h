/* Directories. A full replacement of the system's header: a DIR is the runtime's, its use after closedir is a fault.
 * The entry that readdir returns is overwritten by the next readdir of the same directory, never freed. */
#ifndef LEE_DIRENT_H
#define LEE_DIRENT_H

#include <stddef.h>
#include <string.h>

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

/* Orders of scandir's: by the bytes of the name, and with numbers in it by their value. */
static inline int alphasort(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}
static inline int versionsort(const struct dirent **a, const struct dirent **b) {
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* The entries of a directory for which `wanted` holds, in order; their number, or -1. They are new
 * objects, for the collector to free. The order is a merge of parts that are twice as long each
 * time: n log n, and stable. */
static inline int scandir(const char *path, struct dirent **fat *list, int (*wanted)(const struct dirent *),
                          int (*order)(const struct dirent **, const struct dirent **)) {
    DIR *directory = opendir(path);
    if (!directory) return -1;
    struct dirent **found = calloc(16, sizeof *found);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != nullptr;) {
        if (wanted && !wanted(entry)) continue;
        if (n == (int)lengthof(found)) found = realloc(found, 2 * (size_t)n * sizeof *found);
        struct dirent *copy = calloc(1, sizeof *copy);
        *copy = *entry;
        found[n++] = copy;
    }
    closedir(directory);
    for (int part = 1; order && part < n; part = part > n / 2 ? n : 2 * part) {
        struct dirent **merged = calloc((size_t)n, sizeof *merged);
        for (int low = 0, to = 0; low < n; low = n - low < 2 * part ? n : low + 2 * part) {
            int middle = n - low < part ? n : low + part;
            int high = n - middle < part ? n : middle + part;
            for (int a = low, b = middle; a < middle || b < high;) {
                bool first = b == high;
                if (!first && a < middle) {
                    const struct dirent *x = found[a];
                    const struct dirent *y = found[b];
                    first = order(&x, &y) <= 0;
                }
                merged[to++] = first ? found[a++] : found[b++];
            }
        }
        found = merged;
    }
    *list = found;
    return n;
}

#endif
