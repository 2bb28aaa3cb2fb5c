/* check.h: what the tests in C share. A test is one program; it prints what failed and ends with a status. */
#ifndef LEE_TESTS_CHECK_H
#define LEE_TESTS_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

static int check_failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                             \
            check_failures++;                                                                                          \
        }                                                                                                              \
    } while (0)

/* Whether `text` holds `wanted`; prints both if not. */
__attribute__((unused)) static bool check_holds(const char *what, const char *text, const char *wanted) {
    if (strstr(text, wanted) != NULL)
        return true;
    printf("%s: '%s' is not in:\n%s\n", what, wanted, text);
    check_failures++;
    return false;
}

/* Random numbers: Marsaglia, "Xorshift RNGs" (2003). A test may set or change the state, which is never 0. */
__attribute__((unused)) static uint64_t random_state = 88172645463325252u;

__attribute__((unused)) static uint64_t random_number(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

struct child {
    int status; /* as shells show it */
    char output[16384];
};

/* Runs `body(argument)` in a child process with its standard error caught. */
__attribute__((unused)) static void run_child(struct child *child, void (*body)(void *), void *argument) {
    int ends[2];
    size_t length = 0;
    ssize_t got;
    fflush(stdout);
    if (pipe(ends) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body(argument);
        _exit(0);
    }
    close(ends[1]);
    while (length < sizeof child->output - 1 &&
           (got = read(ends[0], child->output + length, sizeof child->output - 1 - length)) > 0)
        length += (size_t)got;
    child->output[length] = 0;
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The status for `main`. */
__attribute__((unused)) static int check_end(void) {
    if (check_failures > 0)
        printf("%d checks failed\n", check_failures);
    return check_failures > 0;
}

#endif
