/* dir.c: directories, read by the kernel's own call, because libc's 32 KB for each would be charged
 * to no process.
 *
 * What was read is in an object of the heap that outlives closedir, so that a use after it is a
 * fault. A directory is closed by hand, when nothing reaches it, or when its custodian is shut
 * down. If the program closed its number by C's `close`, its calls fail with EBADF, as libc's do,
 * and nobody closes what has that number now. The entry that readdir shows is a copy in that object: a pointer to it stays good, and its
 * content is that of the last call. */
#define _GNU_SOURCE

#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>
#include <lee/io.h>

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "errno_here.h"
#include "fds.h"
#include "foreign_stack.h"
#include "opened.h"

/* What getdents64(2) writes. */
struct record {
    uint64_t number;
    int64_t next; /* where the one after it begins, for lseek */
    uint16_t bytes;
    uint8_t type;
    char name[];
};

struct lee_dir {
    struct lee_opened opened;
    int fd;        /* -1: closed */
    uint32_t life; /* of that number (fds.h) */
    unsigned at, end; /* what of `records` was read and not shown yet */
    struct dirent entry;
    _Alignas(struct record) char records[3584]; /* with the rest just below 4 KB */
};

static int shut(struct lee_dir *d) {
    int fd = lee_fd_lives(d->fd, d->life) ? d->fd : -1;
    lee_opened_remove(&d->opened);
    d->fd = -1;
    return fd < 0 ? -1 : lee_fd_close(fd);
}

static void shut_entry(struct lee_opened *entry) {
    shut((struct lee_dir *)entry);
}

/* The collector found it unreachable. */
static void drop_dir(void *object, size_t bytes) {
    (void)bytes;
    struct lee_dir *d = object;
    int why = errno;
    if (d->fd >= 0)
        shut(d);
    errno = why;
}

static const struct lee_layout dir_layout = {.bytes = sizeof(struct lee_dir),
                                             .words = 1u << offsetof(struct lee_opened, custodian) / sizeof(void *),
                                             .drop = drop_dir,
                                             .name = "DIR"};

/* Before it is opened: an allocation may end the task, and what is open would be lost. */
static struct lee_dir *make(void) {
    struct lee_dir *d = lee_heap_alloc_typed(NULL, sizeof(struct lee_dir), &dir_layout);
    d->fd = -1;
    return d;
}

static struct lee_dir *begin(struct lee_dir *d, int fd) {
    if (fd < 0) {
        int why = errno;
        lee_heap_free(d);
        errno = why;
        return NULL;
    }
    lee_opened_add(&d->opened, shut_entry);
    d->fd = fd;
    lee_fd_note(fd);
    d->life = lee_fd_life(fd);
    return d;
}

static int check(struct lee_dir *d) {
    if (d == NULL)
        lee_fault_null(NULL);
    if (d->fd < 0)
        lee_fault_closed(NULL);
    return d->fd;
}

struct lee_dir *lee_dir_open(const char *path) {
    if (path == NULL)
        lee_fault_null(NULL);
    struct lee_dir *d = make();
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK };
    int fd = LEE_LASTS(int, open(path, FLAGS));
    if (fd < 0 && lee_heap_close_files())
        fd = LEE_LASTS(int, open(path, FLAGS));
    return begin(d, lee_fd_made(fd, 0));
}

/* The descriptor, if it can be read as a directory; else -1. */
static int as_directory(int fd) {
    struct stat kind;
    if (!lee_fd_is_mine_to_close(fd) || fstat(fd, &kind) != 0)
        return -1;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    bool reads = (flags & O_ACCMODE) != O_WRONLY && (flags & O_PATH) == 0;
    errno = S_ISDIR(kind.st_mode) ? EINVAL : ENOTDIR;
    return S_ISDIR(kind.st_mode) && reads ? fd : -1;
}

struct lee_dir *lee_dir_fdopen(int fd) {
    struct lee_dir *d = make();
    return begin(d, as_directory(fd));
}

/* The next record; null at the end, and if there is an error. A directory that was removed has ended. */
static const struct record *next(struct lee_dir *d) {
    int why = errno;
    if (!lee_fd_lives(d->fd, d->life))
        return NULL;
    if (d->at == d->end) {
        long got = LEE_LASTS(long, syscall(SYS_getdents64, d->fd, d->records, sizeof d->records));
        if (got <= 0) {
            if (got == 0 || errno == ENOENT)
                errno = why;
            return NULL;
        }
        d->at = 0;
        d->end = (unsigned)got;
    }
    const struct record *found = (const struct record *)(d->records + d->at);
    d->at += found->bytes;
    return found;
}

struct dirent *lee_dir_read(struct lee_dir *d) {
    check(d);
    const struct record *found = next(d);
    if (found == NULL)
        return NULL;
    size_t length = strlen(found->name);
    if (length >= sizeof d->entry.d_name) { /* no Linux file system has such names, but nothing forbids them */
        errno = ENAMETOOLONG;
        return NULL;
    }
    d->entry.d_ino = found->number;
    d->entry.d_off = found->next;
    d->entry.d_reclen = sizeof d->entry;
    d->entry.d_type = found->type;
    memcpy(d->entry.d_name, found->name, length + 1);
    return &d->entry;
}

int lee_dir_close(struct lee_dir *d) {
    check(d);
    return shut(d);
}

int lee_dir_fd(struct lee_dir *d) {
    return check(d);
}

void lee_dir_rewind(struct lee_dir *d) {
    check(d);
    d->at = d->end = 0;
    if (lee_fd_lives(d->fd, d->life))
        lseek(d->fd, 0, SEEK_SET);
}
