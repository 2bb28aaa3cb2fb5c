/* Calls that wait for a disk: others run meanwhile, and who is killed in one leaves nothing behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lee/collect.h>
#include <lee/heap.h>
#include <lee/io.h>
#include <lee/lee.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/fds.h"
#include "../src/io_disk.h"
#include "../src/io_library.h"
#include "../src/io_owned.h"
#include "../src/reactor.h"
#include "check.h"
#include "descriptors.h"

enum { MUCH = 5 * LEE_DISK_PIECE + 12345, TICKS = 1000, WRITERS = 20, TASKS = 6 };

static const char *folder;

static int open_new(const char *name) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    unlink(path);
    return lee_fd_made(fd, LEE_FD_FILE | LEE_FD_BLOCKS);
}

static unsigned char byte_at(size_t i) {
    return (unsigned char)(i * 7 + i / 251);
}

static unsigned char *bytes(size_t n) {
    unsigned char *all = malloc(n);
    for (size_t i = 0; i < n; i++)
        all[i] = byte_at(i);
    return all;
}

/* --- fsync in place of libc's, which lasts until it is let go ------------------------------------------------------------ */

static atomic_int syncing, hold_sync;
static atomic_long ticks;
static atomic_bool counts;

int fsync(int fd) {
    atomic_fetch_add(&syncing, 1);
    while (atomic_load(&hold_sync) != 0 || (atomic_load(&counts) && atomic_load(&ticks) < TICKS))
        usleep(100);
    atomic_fetch_sub(&syncing, 1);
    return fcntl(fd, F_GETFD) < 0 ? -1 : fdatasync(fd);
}

/* --- what is read and written ------------------------------------------------------------------------------------------- */

static void check_bytes(int fd) {
    unsigned char *all = bytes(MUCH), *back = malloc(2 * MUCH);
    CHECK(lee_write(fd, all, MUCH) == MUCH);
    CHECK(lseek(fd, 0, SEEK_CUR) == MUCH && lseek(fd, 0, SEEK_SET) == 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    CHECK(lee_read(fd, back, 2 * MUCH) == MUCH && memcmp(all, back, MUCH) == 0);
    CHECK(lee_read(fd, back, MUCH) == 0);
    CHECK(lee_fsync(fd) == 0 && lee_fdatasync(fd) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK(fdatasync(fd) == 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* now little is not in the cache either */
    CHECK(lee_read(fd, back, 100) == 100 && memcmp(all, back, 100) == 0);
    free(all);
    free(back);
    int readable = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    unsigned char *zero = malloc(MUCH);
    CHECK(lee_write(readable, zero, 0) <= 0);
    lee_fd_made(readable, LEE_FD_FILE | LEE_FD_BLOCKS);
    CHECK(lee_read(readable, zero, MUCH) > 0);
    free(zero);
    lee_close(readable);
}

static void check_failures_of(int fd) {
    unsigned char *all = bytes(MUCH);
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reading = lee_fd_made(open(path, O_RDONLY | O_CLOEXEC), LEE_FD_FILE | LEE_FD_BLOCKS);
    errno = 0;
    CHECK(lee_write(reading, all, MUCH) == -1 && errno == EBADF);
    lee_close(reading);
    errno = 0;
    CHECK(lee_write(reading, all, MUCH) == -1 && errno == EBADF);
    errno = 0;
    CHECK(lee_fsync(reading) == -1 && errno == EBADF);
    free(all);
}

static void check_file(void) {
    unsigned char *all = bytes(MUCH), *back = malloc(MUCH);
    struct lee_file *f = lee_io_tmpfile();
    CHECK(lee_io_fwrite(all, 1, MUCH, f) == MUCH && lee_io_fflush(f) == 0);
    CHECK(lee_io_fseek(f, 0, SEEK_SET) == 0);
    CHECK(lee_io_fread(back, 1, MUCH, f) == MUCH && memcmp(all, back, MUCH) == 0);
    CHECK(lee_io_fclose(f) == 0);
    free(all);
    free(back);
}

static void test_bytes(void) {
    int fd = open_new("bytes");
    check_bytes(fd);
    check_failures_of(fd);
    check_file();
    lee_close(fd);
}

/* --- a neighbour goes on ------------------------------------------------------------------------------------------------ */

static int tick(void *argument) {
    (void)argument;
    while (atomic_load(&ticks) < TICKS) {
        atomic_fetch_add(&ticks, atomic_load(&syncing) > 0);
        lee_task_yield();
    }
    return 0;
}

static int sync_one(void *argument) {
    (void)argument;
    int fd = open_new("synced");
    int failed = lee_write(fd, "x", 1) != 1 || lee_fsync(fd) != 0;
    return failed | lee_close(fd);
}

/* `fsync` lasts until the neighbour has counted, so it would last for ever if the neighbour waited for it. */
static void test_neighbour(void) {
    atomic_store(&ticks, 0);
    atomic_store(&counts, true);
    struct lee_pid *writes = lee_process_spawn(NULL, sync_one, NULL, 0), *ticks_on = lee_process_spawn(NULL, tick, NULL, 0);
    CHECK(lee_process_wait(writes).status == 0);
    CHECK(lee_process_wait(ticks_on).status == 0);
    CHECK(atomic_load(&ticks) >= TICKS);
    atomic_store(&counts, false);
}

static atomic_bool writing;
static atomic_long turns;

static int write_much(void *argument) {
    (void)argument;
    int fd = open_new("much");
    unsigned char *all = bytes(MUCH);
    atomic_store(&writing, true);
    int failed = lee_write(fd, all, MUCH) != MUCH;
    atomic_store(&writing, false);
    free(all);
    return failed | lee_close(fd);
}

static int count_turns(void *argument) {
    (void)argument;
    while (!atomic_load(&writing))
        lee_task_yield();
    while (atomic_load(&writing)) {
        atomic_fetch_add(&turns, 1);
        lee_task_yield();
    }
    return 0;
}

static void test_pieces(void) {
    struct lee_pid *neighbour = lee_process_spawn(NULL, count_turns, NULL, 0), *writes = lee_process_spawn(NULL, write_much, NULL, 0);
    CHECK(lee_process_wait(writes).status == 0);
    CHECK(lee_process_wait(neighbour).status == 0);
    CHECK(atomic_load(&turns) > 0);
}

/* More tasks of one process than may be aside at a time. */
static void write_in_task(void *argument) {
    int fd = *(int *)argument;
    unsigned char *all = bytes(MUCH);
    CHECK(lee_write(fd, all, MUCH) == MUCH);
    free(all);
}

static void test_tasks(void) {
    void *tasks[TASKS];
    int fds[TASKS];
    for (int i = 0; i < TASKS; i++) {
        fds[i] = open_new("task");
        tasks[i] = lee_task_start(NULL, write_in_task, &fds[i], sizeof fds[i]);
    }
    for (int i = 0; i < TASKS; i++) {
        lee_task_join(tasks[i]);
        CHECK(lseek(fds[i], 0, SEEK_END) == MUCH);
        lee_close(fds[i]);
    }
}

/* --- who is killed meanwhile --------------------------------------------------------------------------------------------- */

static _Atomic int synced;

static int sync_for_ever(void *argument) {
    (void)argument;
    int fd = open_new("killed");
    atomic_store(&synced, fd);
    lee_fsync(fd);
    return 1;
}

/* The number is given to nobody while the call is under way, and closed then. */
static void test_number(void) {
    int before = count_descriptors();
    atomic_store(&hold_sync, 1);
    struct lee_pid *pid = lee_process_spawn(NULL, sync_for_ever, NULL, 0);
    while (atomic_load(&syncing) == 0)
        lee_usleep(100);
    int fd = atomic_load(&synced);
    lee_process_kill(pid);
    CHECK(lee_process_wait(pid).how == LEE_KILLED);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    errno = 0;
    CHECK(lee_write(fd, "x", 1) == -1 && errno == EBADF);
    errno = 0;
    CHECK(lee_close(fd) == -1 && errno == EBADF);
    int other = open_new("other");
    CHECK(other != fd);
    CHECK(lee_dup2(other, fd) == -1);
    lee_close(other);
    atomic_store(&hold_sync, 0);
    while (fcntl(fd, F_GETFD) >= 0)
        lee_usleep(100);
    while (count_descriptors() != before)
        lee_usleep(100);
    CHECK(!lee_reactor_has_waits());
    other = open_new("other"); /* it is as good as any again */
    CHECK(lee_write(other, "x", 1) == 1 && lee_close(other) == 0);
}

/* The same number of one that closes it itself. */
static void close_it(void *argument) {
    while (atomic_load(&syncing) == 0)
        lee_usleep(100);
    CHECK(lee_close(*(int *)argument) == 0);
    errno = 0;
    CHECK(lee_close(*(int *)argument) == -1 && errno == EBADF);
    atomic_store(&hold_sync, 0);
}

static void test_closed(void) {
    int before = count_descriptors(), fd = open_new("closed");
    atomic_store(&hold_sync, 1);
    void *task = lee_task_start(NULL, close_it, &fd, sizeof fd);
    CHECK(lee_fsync(fd) == 0);
    lee_task_join(task);
    while (count_descriptors() != before)
        lee_usleep(100);
}

static int write_for_ever(void *argument) {
    (void)argument;
    int fd = open_new("for ever");
    unsigned char *all = lee_heap_alloc(NULL, MUCH);
    memset(all, 'x', MUCH);
    for (;;) {
        lseek(fd, 0, SEEK_SET);
        lee_write(fd, all, MUCH);
        lseek(fd, 0, SEEK_SET);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        lee_read(fd, all, MUCH);
    }
    return 0;
}

static void test_killed(void) {
    int before = count_descriptors();
    for (int i = 0; i < WRITERS; i++) {
        struct lee_pid *pid = lee_process_spawn(NULL, write_for_ever, NULL, 0);
        lee_usleep((unsigned)(random_number() % 2000));
        lee_process_kill(pid);
        CHECK(lee_process_wait(pid).how == LEE_KILLED);
    }
    while (count_descriptors() != before)
        lee_usleep(100);
    CHECK(!lee_reactor_has_waits());
}

/* --- locks stay ------------------------------------------------------------------------------------------------------------ */

static void test_lock(void) {
    int fd = open_new("locked");
    CHECK(lee_lockf(fd, F_LOCK, 0) == 0);
    unsigned char *all = bytes(MUCH);
    CHECK(lee_write(fd, all, MUCH) == MUCH && lee_fsync(fd) == 0);
    free(all);
    lseek(fd, 0, SEEK_SET);
    pid_t child = fork();
    if (child == 0)
        _exit(lockf(fd, F_TEST, 0) == 0 ? 1 : 0);
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    lee_close(fd);
}

int main(int argc, char **argv) {
    lee_start(argc, argv);
    lee_heap_self();
    alarm(240); /* where others stand still */
    folder = access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
    test_bytes(); /* one task: the system's calls */
    test_neighbour();
    test_bytes();
    test_pieces();
    test_tasks();
    test_number();
    test_closed();
    test_killed();
    test_lock();
    return check_end();
}
