#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many descriptors the program has open. */
int c_count(void) {
    int n = 0;
    for (int fd = 0; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Opens by all means, and closes nothing. How many it could. */
int c_leaks(void) {
    int ends[2], n = 0;
    char pattern[] = "/tmp/leeXXXXXX";
    for (int i = 0; i < 5; i++) {
        int fd = open("/dev/null", O_RDWR);
        n += fd >= 0;
        n += openat(AT_FDCWD, "/dev/null", O_RDONLY) >= 0;
        n += dup(fd) >= 0;
        n += fcntl(fd, F_DUPFD_CLOEXEC, 100) >= 0;
        n += pipe(ends) == 0;
        n += pipe2(ends, O_CLOEXEC) == 0;
        n += socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
        n += socket(AF_INET, SOCK_STREAM, 0) >= 0;
        n += fopen("/dev/null", "r") != NULL;
        n += fdopen(open("/dev/null", O_RDONLY), "r") != NULL;
        n += tmpfile() != NULL;
        n += opendir("/") != NULL;
        n += fdopendir(open("/", O_RDONLY)) != NULL;
        n += dup2(fd, ends[0]) >= 0;
        n += freopen("/dev/zero", "r", fopen("/dev/null", "r")) != NULL;
    }
    n += mkstemp(pattern) >= 0;
    unlink(pattern);
    n += popen("cat", "w") != NULL;
    return n;
}

int c_open(const char *path) {
    return open(path, O_RDONLY);
}

int c_pipe(int *other) {
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    *other = ends[1];
    return ends[0];
}

/* What C's functions that close say of a number that is another process's. */
int c_attacks(int fd) {
    int held = open("/dev/null", O_RDONLY), refused = 0;
    errno = 0;
    refused += close(fd) < 0 && errno == EBADF;
    errno = 0;
    refused += dup2(held, fd) < 0 && errno == EBADF;
    errno = 0;
    refused += dup3(held, fd, O_CLOEXEC) < 0 && errno == EBADF;
    errno = 0;
    FILE *file = fdopen(fd, "r");
    refused += fclose(file != NULL ? file : fdopen(fd, "w")) == EOF && errno == EBADF;
    errno = 0;
    refused += fdopendir(fd) == NULL && errno == EBADF;
    close(held);
    return refused;
}

/* It closes the number of a file, and the next one that has the number is not closed with it. */
int c_closes_twice(void) {
    FILE *file = fopen("/dev/null", "r");
    int fd = fileno(file);
    close(fd);
    int next = open("/dev/zero", O_RDONLY);
    int kept = fclose(file) == EOF && next == fd && fcntl(next, F_GETFD) >= 0;
    return kept && close(next) == 0 && close(next) < 0 && errno == EBADF;
}

int c_close(int fd) {
    return close(fd);
}

static char *path_of(void) {
    static char path[40];
    snprintf(path, sizeof path, "/tmp/lee_opens_%d", getpid());
    return path;
}

/* Leaves text in the buffer of a file that its process does not close. */
int c_writes(int number) {
    FILE *file = fopen(path_of(), "w");
    return file == NULL ? -1 : fprintf(file, "%d\n", number);
}

/* What was written. */
int c_written(void) {
    char line[16];
    FILE *file = fopen(path_of(), "r");
    int number = file != NULL && fgets(line, sizeof line, file) != NULL ? atoi(line) : -1;
    unlink(path_of());
    return file == NULL || fclose(file) != 0 ? -2 : number;
}

int c_waits_for_command(void) {
    FILE *file = popen("exit 3", "r");
    int status = file == NULL ? -1 : pclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A child of C's own closes and replaces what it likes. */
int c_forks(void) {
    int status, ends[2];
    char text[8] = "";
    pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        execl("/bin/echo", "echo", "hello", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    read(ends[0], text, 5);
    close(ends[0]);
    close(ends[1]);
    return strcmp(text, "hello") == 0;
}

static void *closes(void *argument) {
    int *fds = argument;
    fds[1] = close(fds[0]) == 0 ? open("/dev/null", O_RDONLY) : -1;
    return NULL;
}

/* A thread of C's belongs to no process. */
int c_threads(void) {
    pthread_t thread;
    int fds[2] = {open("/dev/null", O_RDONLY), -1};
    pthread_create(&thread, NULL, closes, fds);
    pthread_join(thread, NULL);
    return fds[1] >= 0 && close(fds[1]) == 0;
}

/* How many there are until open says no, with EMFILE. */
int c_fills(void) {
    int n = 0;
    while (n < 1000 && open("/dev/null", O_RDONLY) >= 0)
        n++;
    return errno == EMFILE ? n : -1;
}
