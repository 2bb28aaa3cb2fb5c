/* Load for the tenants, whoever runs them.
 *
 *     load PORT SECONDS RATE [PATTERN]    RATE requests a second to the neighbours, and each half
 *                                         second one that makes a tenant misbehave; prints requests,
 *                                         errors, and p50, p99, p99.9 in microseconds
 *     load noise SECONDS                  how often, and for how long at most, this core was away
 *
 * Open loop: requests are sent at fixed times, whether or not earlier ones were answered, and a time
 * counts from when the request was to be sent (Tene: How NOT to Measure Latency, 2015). An error is
 * a wrong answer, none, or one that took two seconds, which its time counts as. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TENANTS = 200, SLOTS = 2048, TIMEOUT = 2000000, PRESS_EACH = 500000, BAD_TENANT = 30 };

static const char *const bodies[] = {
    "{\"id\": 7, \"name\": {\"first\": \"Ada\", \"of\": [1, 2]}}",
    "2 2 P2 4 4 9 1 2 3 4 5 6 7 8 9 8 7 6 5 4 3 2",
    "n = 5 p = 1 while n > 0 { p = p * n n = n - 1 } print p",
};
static const char *const answers[] = {
    "\r\n\r\nid 7\nname.first Ada\nname.of 1\nname.of 2\n",
    "\r\n\r\nP2 2 2 9\n1 3\n9 7\n",
    "\r\n\r\n120\n",
};

static const struct {
    const char *name;
    int kind;
    const char *begin;
    char repeat;
    size_t times;
    const char *end;
} patterns[] = {
    {"leak", 2, "while 1 { keep 10 }", 0, 0, ""},
    {"spin", 1, "8 8 P2 4 4 9", 0, 0, ""},
    {"overrun", 0, "{\"", 'a', 5000, "\":1}"},
    {"recurse", 0, "", '[', 500000, ""},
    {"wedge", 2, "print ask 99", 0, 0, ""},
    {"flood", 2, "while 1 { emit 1 }", 0, 0, ""},
    {"fork-bomb", 2, "while 1 { fork }", 0, 0, ""},
};

static struct slot {
    int fd, kind;
    bool used, measured;
    long at; /* when it was to be sent */
    const char *request;
    size_t length, sent, got;
    char own[200], answer[400];
} slots[SLOTS];

static long *times, count, errors;
static int epoll;
static struct sockaddr_in address = {.sin_family = AF_INET};

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void end(struct slot *s, bool right) {
    if (s->fd >= 0)
        close(s->fd);
    s->used = false;
    if (!s->measured)
        return;
    errors += !right;
    times[count++] = right ? now() - s->at : TIMEOUT;
}

static void begin(const char *request, size_t length, int tenant, long at) {
    static size_t next;
    struct slot *s = NULL;
    for (size_t i = 0; i < SLOTS && !s; i++, next++) {
        if (!slots[next % SLOTS].used)
            s = &slots[next % SLOTS];
    }
    if (!s) { /* so many wait */
        times[count++] = TIMEOUT;
        errors++;
        return;
    }
    *s = (struct slot){.used = true, .measured = !request, .at = at, .request = request, .length = length, .kind = tenant % 3};
    if (!request) {
        s->length = (size_t)snprintf(s->own, sizeof s->own, "POST /t%d HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", tenant,
                                     strlen(bodies[s->kind]), bodies[s->kind]);
        s->request = s->own;
    }
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = s};
    if (s->fd < 0 || (connect(s->fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS) ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &event) != 0)
        end(s, false);
}

static void go_on(struct slot *s) {
    while (s->sent < s->length) {
        ssize_t put = send(s->fd, s->request + s->sent, s->length - s->sent, MSG_NOSIGNAL);
        if (put < 0 && errno == EAGAIN)
            break;
        if (put < 0) {
            end(s, false);
            return;
        }
        s->sent += (size_t)put;
    }
    for (;;) {
        ssize_t got = read(s->fd, s->answer + s->got, sizeof s->answer - 1 - s->got);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            const char *body = strstr(s->answer, "\r\n\r\n");
            end(s, got == 0 && body && strncmp(s->answer, "HTTP/1.1 200 ", 13) == 0 && strcmp(body, answers[s->kind]) == 0);
            return;
        }
        s->got += s->measured ? (size_t)got : 0;
    }
}

static int compare(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static void measure_noise(double seconds) {
    long from = now(), last = from, away = 0, most = 0;
    while (last - from < (long)(seconds * 1e6)) {
        long t = now();
        if (t - last > 100)
            away++;
        if (t - last > most)
            most = t - last;
        last = t;
    }
    printf("%.1f %ld\n", (double)away / seconds, most);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "noise") == 0) {
        measure_noise(atof(argv[2]));
        return 0;
    }
    if (argc < 4 || atof(argv[2]) <= 0 || atof(argv[3]) <= 0) {
        fputs("usage: load PORT SECONDS RATE [PATTERN]\n", stderr);
        return 2;
    }
    address.sin_port = htons((unsigned short)atoi(argv[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    double seconds = atof(argv[2]), rate = atof(argv[3]);
    char *hostile = NULL;
    size_t hostile_length = 0;
    for (size_t i = 0; argc > 4 && i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(argv[4], patterns[i].name) != 0)
            continue;
        size_t length = strlen(patterns[i].begin) + patterns[i].times + strlen(patterns[i].end);
        hostile = malloc(length + 200);
        char *at = hostile + sprintf(hostile, "POST /t%d HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", BAD_TENANT + patterns[i].kind, length,
                                     patterns[i].begin);
        memset(at, patterns[i].repeat, patterns[i].times);
        at += patterns[i].times;
        strcpy(at, patterns[i].end);
        hostile_length = (size_t)(at - hostile) + strlen(patterns[i].end);
    }
    if (argc > 4 && !hostile) {
        fputs("load: no such pattern\n", stderr);
        return 2;
    }
    long all = (long)(seconds * rate), sent = 0, from = now(), next_press = from + 100000;
    times = calloc((size_t)all + 1, sizeof *times);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    unsigned seed = 1;
    while (count < all) {
        long t = now(), due = from + (long)((double)sent / rate * 1e6);
        while (sent < all && due <= t) {
            int tenant = rand_r(&seed) % TENANTS;
            if (tenant >= BAD_TENANT && tenant < BAD_TENANT + 3)
                tenant += 3;
            begin(NULL, 0, tenant, due);
            due = from + (long)((double)++sent / rate * 1e6);
        }
        if (hostile && sent < all && t >= next_press) {
            begin(hostile, hostile_length, 0, t);
            next_press += PRESS_EACH;
        }
        for (size_t i = 0; i < SLOTS; i++) {
            if (slots[i].used && t - slots[i].at > TIMEOUT)
                end(&slots[i], false);
        }
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, sent < all && due - t < 2000 ? 0 : 1);
        for (int i = 0; i < ready; i++) {
            struct slot *s = events[i].data.ptr;
            if (s->used)
                go_on(s);
        }
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("%ld %ld %ld %ld %ld\n", count, errors, times[count / 2], times[count * 99 / 100], times[count * 999 / 1000]);
    return 0;
}
