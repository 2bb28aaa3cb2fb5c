/* Strings, dates, addresses: against libc where it does the same, and the faults where it would not stop. */
#define _GNU_SOURCE

#include "../src/io_library.h"
#include "check.h"

#include <errno.h>
#include <lee/fault.h>
#include <limits.h>
#include <netdb.h>
#include <sys/socket.h>
#include <time.h>

static void test_copies(void) {
    char d[8];
    CHECK(lee_strcpy(d, d, d + 8, "hello") == d && strcmp(d, "hello") == 0);
    CHECK(lee_strcat(d, d, d + 8, "ab") == d && strcmp(d, "helloab") == 0);
    lee_strcpy(d, d, d + 8, "hello");
    CHECK(lee_strcpy(d + 1, d, d + 8, d) == d + 1 && strcmp(d, "hhello") == 0); /* overlapping */
    lee_strcpy(d, d, d + 8, "abc");
    CHECK(lee_strcat(d, d, d + 8, d) == d && strcmp(d, "abcabc") == 0); /* overlapping */
    CHECK(lee_stpcpy(d, d, d + 8, "xy") == d + 2);
    CHECK(lee_strncat(d, d, d + 8, "123456", 3) == d && strcmp(d, "xy123") == 0);
    lee_strncpy(d, "abcdefghij", 8);
    CHECK(memcmp(d, "abcdefgh", 8) == 0);
    lee_strncpy(d, "ab", 8);
    CHECK(memcmp(d, "ab\0\0\0\0\0\0", 8) == 0);
    CHECK(lee_strlcpy(d, "0123456789", 8) == 10 && strcmp(d, "0123456") == 0);
    CHECK(lee_strlcpy(d, "01", 8) == 2 && lee_strlcat(d, "23456789", 8) == 10 && strcmp(d, "0123456") == 0);
}

static void overflow(void *what) {
    char d[8] = "hello", *volatile behind = d;
    behind += 9;
    switch (*(char *)what) {
    case 'c': lee_strcpy(d, d, d + 8, "12345678"); break;
    case 'a': lee_strcat(d, d, d + 8, "abc"); break;
    case 'n': lee_strncat(d, d, d + 8, "abcdef", 3); break;
    case 'o': lee_strcpy(behind, d, d + 8, ""); break;
    default: lee_strcat(d, d, d + 3, "");
    }
}

static void test_overflows(void) {
    static struct child child;
    const char *words[] = {"9 elements wanted, out of bounds for length 8", "4 elements wanted", "4 elements wanted", "out of bounds",
                           "no terminating zero within bounds"};
    char what[] = "canot";
    for (int i = 0; i < 5; i++) {
        run_child(&child, overflow, what + i);
        CHECK(child.status == 134 && check_holds("overflow", child.output, words[i]));
    }
}

static void test_tokens(void) {
    const char *texts[] = {"a,b,,c", ",,a", "", "a", ",", "a;b,c;"};
    for (int i = 0; i < 6; i++) {
        char a[16], b[16], *save_a = NULL, *save_b = NULL;
        strcpy(a, texts[i]);
        strcpy(b, texts[i]);
        char *mine = lee_strtok_r(a, ",;", &save_a), *other = strtok_r(b, ",;", &save_b);
        for (; mine != NULL && other != NULL; mine = lee_strtok_r(NULL, ",;", &save_a), other = strtok_r(NULL, ",;", &save_b))
            CHECK(mine - a == other - b && strcmp(mine, other) == 0);
        CHECK(mine == NULL && other == NULL && save_a - a == save_b - b);
        strcpy(a, texts[i]);
        strcpy(b, texts[i]);
        char *rest_a = a, *rest_b = b;
        do {
            mine = lee_strsep(&rest_a, ",;");
            other = strsep(&rest_b, ",;");
            CHECK((mine == NULL) == (other == NULL) && (mine == NULL || (mine - a == other - b && strcmp(mine, other) == 0)));
        } while (mine != NULL && other != NULL);
    }
}

static void test_numbers(void) {
    const char *text = "12z";
    char *end = NULL;
    CHECK(lee_strtol(text, &end, 10) == 12 && *end == 'z');
    errno = 0;
    CHECK(lee_strtol(text, &end, 99) == 0 && end == text && errno == EINVAL);
    CHECK(lee_strtoul("ff", NULL, 16) == 255 && lee_strtoll("-7", &end, 0) == -7 && *end == 0);
    CHECK(lee_strtoull(text, &end, -1) == 0 && end == text);
}

static void test_new_strings(void) {
    char *lo, *hi;
    char *s = lee_strdup("abc", &lo, &hi);
    CHECK(s == lo && hi - lo == 4 && strcmp(s, "abc") == 0 && *hi == 0);
    CHECK(strcmp(lee_strndup("abcdef", 2, &lo, &hi), "ab") == 0 && hi - lo == 3);
    for (int i = -1; i < 140; i++)
        CHECK(strcmp(lee_strerror(i), strerror(i)) == 0);
    char text[8];
    CHECK(lee_strerror_r(ENOENT, text, sizeof text) == ERANGE && strcmp(text, "No such") == 0);
    setenv("LEE_TEST", "value", 1);
    s = lee_getenv("LEE_TEST", &lo, &hi);
    setenv("LEE_TEST", "other", 1);
    CHECK(strcmp(s, "value") == 0 && lee_getenv("LEE_TEST_NONE", &lo, &hi) == NULL && lo == NULL);
    char here[PATH_MAX];
    CHECK(strcmp(lee_getcwd(here, sizeof here, &lo, &hi), here) == 0 && here[0] == '/');
    CHECK(lee_getcwd(here, 1, &lo, &hi) == NULL && errno == ERANGE);
    CHECK(strcmp(lee_realpath("/usr/../usr/.", here, here, here + sizeof here, &lo, &hi), "/usr") == 0 && strcmp(here, "/usr") == 0);
}

static void test_dates(void) {
    time_t t = 1000000000;
    struct tm tm = {0}, *mine = lee_gmtime(&t);
    gmtime_r(&t, &tm);
    CHECK(mine->tm_year == tm.tm_year && mine->tm_sec == tm.tm_sec);
    char a[300], b[300];
    asctime_r(&tm, b);
    CHECK(strcmp(lee_asctime_r(&tm, a), b) == 0);
    tm.tm_mon = 99;
    tm.tm_wday = -5;
    tm.tm_year = INT_MAX;
    tm.tm_mday = INT_MIN;
    CHECK(strlen(lee_asctime_r(&tm, a)) == 25);
    gmtime_r(&t, &tm);
    for (size_t n = 0; n < 300; n += 7)
        CHECK(lee_strftime(a, n, "%Y-%m-%d %H:%M:%S", &tm) == strftime(b, n, "%Y-%m-%d %H:%M:%S", &tm));
    strcpy(a, "%Y%Y%Y%Y%Y");
    CHECK(lee_strftime(a, sizeof a, a, &tm) == 20 && strcmp(a, "20012001200120012001") == 0);
    CHECK(lee_strftime(a, sizeof a, "%250Y|%d", &tm) == strftime(b, sizeof b, "%250Y|%d", &tm) && strcmp(a, b) == 0);
}

static void test_addresses(void) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
    CHECK(lee_getaddrinfo("127.0.0.1", "80", &hints, &found) == 0 && found->ai_addrlen == 16 && found->ai_addr->sa_family == AF_INET);
    CHECK(lee_getaddrinfo("no number", NULL, &hints, &found) == EAI_NONAME && found == NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char address[16];
    memset(address, 'z', sizeof address);
    socklen_t length = 128; /* more than there is */
    CHECK(lee_getsockname(fd, address, address, address + 8, &length) == 0 && length == 16);
    CHECK(address[8] == 'z');
    close(fd);
}

int main(void) {
    test_copies();
    test_overflows();
    test_tokens();
    test_numbers();
    test_new_strings();
    test_dates();
    test_addresses();
    return check_end();
}
