/* io_disk.c: see io_disk.h. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "io_disk.h"

#include "aside.h"
#include "fds.h"
#include "io_owned.h"
#include "preempt.h"
#include "reactor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool lee_disk_is_regular(int fd) {
    struct stat about;
    int error = errno;
    bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    errno = error;
    return regular;
}

#ifndef LEE_NO_GC

enum { PAGE = 4096 /* what files that were opened with O_DIRECT want of an address */ };

enum what { READS, WRITES, SYNCS };

struct disk_job {
    struct lee_aside aside;
    int fd;
    bool held; /* the number is */
    enum what what;
    int (*sync)(int fd);
    unsigned char *bytes;
    size_t n;
    ssize_t result;
    int error;
};

static void let_go(struct disk_job *job) {
    if (job->held)
        lee_fd_let(job->fd);
    job->held = false;
}

static void run_disk(struct lee_aside *aside) {
    struct disk_job *job = (struct disk_job *)aside;
    do
        job->result = job->what == READS    ? read(job->fd, job->bytes, job->n)
                      : job->what == WRITES ? write(job->fd, job->bytes, job->n)
                                            : job->sync(job->fd);
    while (job->result < 0 && errno == EINTR);
    job->error = errno;
    let_go(job); /* here, where a close may wait */
}

static void release_disk(struct lee_aside *aside) {
    let_go((struct disk_job *)aside);
    free(aside);
}

/* With room for `n` bytes. Null: the call is to be made here, for want of memory, or because LEE_SEED fixes all turns. */
static struct disk_job *make(int fd, enum what what, size_t n, const struct lee_left *left) {
    if (lee_task_is_seeded())
        return NULL;
    struct disk_job *job = n > 0 ? aligned_alloc(PAGE, PAGE + (n + PAGE - 1) / PAGE * PAGE) : malloc(sizeof *job);
    if (job == NULL)
        return NULL;
    *job = (struct disk_job){.aside = {.run = run_disk, .release = release_disk, .left = left}, .fd = fd, .what = what, .n = n};
    job->bytes = (unsigned char *)job + PAGE;
    job->held = lee_fd_hold(fd);
    if (!job->held) {
        free(job);
        return NULL;
    }
    return job;
}

static ssize_t end(struct disk_job *job) {
    ssize_t result = job->result;
    int error = job->error;
    release_disk(&job->aside);
    if (result < 0)
        errno = error;
    return result;
}

ssize_t lee_disk_read(int fd, void *p, size_t n, const struct lee_left *left) {
    struct disk_job *job = n > 0 ? make(fd, READS, lee_disk_piece(n), left) : NULL;
    if (job == NULL)
        return read(fd, p, n);
    lee_run_aside(&job->aside);
    if (job->result > 0)
        memcpy(p, job->bytes, (size_t)job->result);
    return end(job);
}

ssize_t lee_disk_write(int fd, const void *p, size_t n, const struct lee_left *left) {
    struct disk_job *job = n > 0 ? make(fd, WRITES, lee_disk_piece(n), left) : NULL;
    if (job == NULL)
        return write(fd, p, n);
    memcpy(job->bytes, p, job->n);
    lee_run_aside(&job->aside);
    return end(job);
}

static int sync_by(int (*sync)(int fd), int fd) {
    if (!lee_fd_is_mine(fd))
        return -1;
    struct disk_job *job = LEE_SUSPENDS ? make(fd, SYNCS, 0, NULL) : NULL;
    if (job == NULL)
        return sync(fd);
    job->sync = sync;
    lee_run_aside(&job->aside);
    return (int)end(job);
}

#else

static int sync_by(int (*sync)(int fd), int fd) {
    return lee_fd_is_mine(fd) ? sync(fd) : -1;
}

#endif

int lee_fsync(int fd) {
    return sync_by(fsync, fd);
}

int lee_fdatasync(int fd) {
    return sync_by(fdatasync, fd);
}

int lee_syncfs(int fd) {
    return sync_by(syncfs, fd);
}
