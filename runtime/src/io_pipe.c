/* popen and pclose: a shell command at the other end of a pipe. posix_spawn, because fork would copy a program
 * that may have several threads. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "fds.h"
#include "io_file.h"
#include "io_library.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int io_start_shell(const char *command, int theirs, int number, pid_t *child) {
    posix_spawn_file_actions_t actions;
    int why = posix_spawn_file_actions_init(&actions);
    if (why != 0)
        return why;
    why = posix_spawn_file_actions_adddup2(&actions, theirs, number);
    char *arguments[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
    if (why == 0)
        why = posix_spawn(child, "/bin/sh", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return why;
}

struct lee_file *lee_io_popen(const char *command, const char *mode) {
    if (command == NULL || mode == NULL)
        lee_fault_null(NULL);
    bool reading = mode[0] == 'r';
    if (!reading && mode[0] != 'w') {
        errno = EINVAL;
        return NULL;
    }
    io_reap();
    struct lee_file *f = io_make();
    int ends[2] = {-1, -1};
    if (f == NULL)
        return NULL;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return io_begin(f, -1, 0);
    int ours = reading ? ends[0] : ends[1], theirs = reading ? ends[1] : ends[0];
    io_begin(f, lee_fd_made(ours, LEE_FD_FILE | LEE_FD_BLOCKS), reading ? IO_READ : IO_WRITE);
    int why = io_start_shell(command, theirs, reading ? 1 : 0, &f->child);
    close(theirs);
    if (why == 0) {
        if (strchr(mode, 'e') == NULL)
            fcntl(ours, F_SETFD, 0);
        return f;
    }
    io_finish(f);
    lee_fd_close(ours);
    errno = why;
    return NULL;
}

int lee_io_pclose(struct lee_file *f) {
    io_check(f);
    io_claim(f);
    pid_t child = f->child;
    f->child = 0;
    lee_io_fclose(f);
    if (child == 0) {
        errno = ECHILD;
        return -1;
    }
    int status;
    while (lee_waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}
