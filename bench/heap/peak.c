/* peak PROGRAM ARGUMENTS: runs a program and says on standard error how much memory it had at most: "peak_KB N". The kernel counts
 * what a process had before exec as its own, so a program that Python starts has at least Python's; this one has little. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: peak PROGRAM ARGUMENTS\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status = 0;
    struct rusage used;
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
        perror("peak");
        return 1;
    }
    fprintf(stderr, "\npeak_KB %ld\n", used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
