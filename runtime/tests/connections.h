/* connections.h: what the tests with very many connections share. Each is a descriptor of this end;
 * the other end answers every byte with the same byte. */
#ifndef LEE_TESTS_CONNECTIONS_H
#define LEE_TESTS_CONNECTIONS_H

#include <errno.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../src/io_library.h"
#include "check.h"
#include "descriptors.h"

/* How many connections a test makes, of two descriptors each, within the limit of the process. */
static int most_connections(void) {
    int most = UNDER_ASAN ? 500 : 10000;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur != RLIM_INFINITY && (rlim_t)most > (files.rlim_cur - 100) / 2)
        most = (int)((files.rlim_cur - 100) / 2);
    return most;
}

/* All answer. Afterwards every third has one more byte to read. */
static void check_answers(const int *here, int most) {
    int answered = 0;
    char c;
    for (int i = 0; i < most; i++)
        CHECK(lee_write(here[i], "x", 1) == 1);
    for (int i = 0; i < most; i++)
        answered += lee_read(here[i], &c, 1) == 1 && c == 'x';
    CHECK(answered == most);
    for (int i = 0; i < most; i += 3)
        CHECK(lee_write(here[i], "y", 1) == 1);
}

/* Those with an even number have ended since, and of the others every third answers its byte.
 * Closes all. */
static void check_half_ended(const int *here, int most) {
    int ended = 0;
    char c;
    for (int i = 0; i < most; i++) {
        errno = 0;
        ssize_t got = i % 3 == 0 || i % 2 == 0 ? lee_read(here[i], &c, 1) : 2;
        if (i % 2 == 0)
            ended += got == 0 || (got == -1 && errno == ECONNRESET);
        else if (i % 3 == 0)
            CHECK(got == 1 && c == 'y');
    }
    CHECK(ended == (most + 1) / 2);
    for (int i = 0; i < most; i++)
        lee_close(here[i]);
}

#endif
