/* Directories: libc's, behind an object that outlives closedir, so that its use after that is found out. They are closed by hand, when
 * nothing reaches them, or when their custodian is shut down. The entry
 * that readdir shows is a copy in that object: a pointer to it stays good, its content is that of the last call. */
#define _GNU_SOURCE

#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>
#include <lee/io.h>

#include <dirent.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "errno_here.h"
#include "fds.h"
#include "opened.h"

struct lee_dir {
    struct lee_opened opened;
    DIR *open; /* null: closed */
    struct dirent entry;
};

static int shut(struct lee_dir *d) {
    DIR *open = d->open;
    lee_opened_remove(&d->opened);
    d->open = NULL;
    lee_fd_closes(dirfd(open));
    return closedir(open);
}

static void shut_entry(struct lee_opened *entry) {
    shut((struct lee_dir *)entry);
}

/* The collector found it unreachable. */
static void drop_dir(void *object, size_t bytes) {
    (void)bytes;
    struct lee_dir *d = object;
    int why = errno;
    if (d->open != NULL)
        shut(d);
    errno = why;
}

static const struct lee_layout dir_layout = {.bytes = sizeof(struct lee_dir),
                                             .words = 1u << offsetof(struct lee_opened, custodian) / sizeof(void *),
                                             .drop = drop_dir,
                                             .name = "DIR"};

/* Before it is opened: an allocation may end the task, and what is open would be lost. */
static struct lee_dir *make(void) {
    return lee_heap_alloc_typed(NULL, sizeof(struct lee_dir), &dir_layout);
}

static struct lee_dir *begin(struct lee_dir *d, DIR *open) {
    if (open == NULL) {
        int why = errno;
        lee_heap_free(d);
        errno = why;
        return NULL;
    }
    lee_opened_add(&d->opened, shut_entry);
    d->open = open;
    lee_fd_note(dirfd(open)); /* last: the process may end here */
    return d;
}

static DIR *check(struct lee_dir *d) {
    if (d == NULL)
        lee_fault_null(NULL);
    if (d->open == NULL)
        lee_fault_closed(NULL);
    return d->open;
}

struct lee_dir *lee_dir_open(const char *path) {
    if (path == NULL)
        lee_fault_null(NULL);
    struct lee_dir *d = make();
    DIR *open = opendir(path);
    if (open == NULL && lee_heap_close_files())
        open = opendir(path);
    return begin(d, open);
}

struct lee_dir *lee_dir_fdopen(int fd) {
    struct lee_dir *d = make();
    return begin(d, lee_fd_is_mine_to_close(fd) ? fdopendir(fd) : NULL);
}

struct dirent *lee_dir_read(struct lee_dir *d) {
    const struct dirent *found = readdir(check(d));
    if (found == NULL)
        return NULL;
    size_t length = strlen(found->d_name);
    if (length >= sizeof d->entry.d_name) { /* no Linux file system has such names, but nothing forbids them */
        errno = ENAMETOOLONG;
        return NULL;
    }
    d->entry.d_ino = found->d_ino;
    d->entry.d_off = found->d_off;
    d->entry.d_reclen = sizeof d->entry;
    d->entry.d_type = found->d_type;
    memcpy(d->entry.d_name, found->d_name, length + 1);
    return &d->entry;
}

int lee_dir_close(struct lee_dir *d) {
    check(d);
    return shut(d);
}

int lee_dir_fd(struct lee_dir *d) {
    return dirfd(check(d));
}

void lee_dir_rewind(struct lee_dir *d) {
    rewinddir(check(d));
}
