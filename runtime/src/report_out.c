/* report_out.c: see report_out.h. */
#define _GNU_SOURCE
#include "report_out.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "no_pointers.h"
#include "process.h"
#include "reactor.h"
#include "worker.h"

enum {
    AT_ONCE = 4096,  /* bytes: for so many there is room in a pipe that poll calls ready */
    AGAIN = 10000000 /* nanoseconds until the next attempt */
};

static char kept[LEE_REPORTS_KEPT];
LEE_NO_POINTERS(kept)
static size_t kept_bytes;
static size_t lines_lost;

static bool is_ready(void) {
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&error, 1, 0) == 1;
}

/* Does not wait, even if another program fills the pipe meanwhile. Files that are not pipes or
 * sockets may not support that. */
static ssize_t write_some(const char *bytes, size_t length) {
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    ssize_t wrote = pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT);
    if (wrote < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE)
        wrote = write(STDERR_FILENO, bytes, length);
    return wrote;
}

/* How much is done with: printed, or never will be. */
static size_t print(const char *bytes, size_t length, bool waits) {
    size_t done = 0;
    while (done < length && (waits || is_ready())) {
        size_t some = length - done < AT_ONCE ? length - done : AT_ONCE;
        ssize_t wrote = waits ? write(STDERR_FILENO, bytes + done, some) : write_some(bytes + done, some);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote < 0 && errno == EAGAIN && !waits)
            break;
        else if (wrote == 0 || errno != EINTR)
            return length;
    }
    return done;
}

static void print_kept(bool waits) {
    size_t done = print(kept, kept_bytes, waits);
    kept_bytes -= done;
    memmove(kept, kept + done, kept_bytes);
    if (kept_bytes > 0 || lines_lost == 0)
        return;
    struct lee_text line = {.length = 0};
    lee_text_unsigned(&line, lines_lost);
    lee_text_string(&line, lines_lost == 1 ? " line" : " lines");
    lee_text_string(&line, " of reports of faults were left out: standard error was not read\n");
    lines_lost = 0;
    done = print(line.bytes, line.length, waits);
    kept_bytes = line.length - done;
    memcpy(kept, line.bytes + done, kept_bytes);
}

#ifdef LEE_NO_GC

static void print_later(void) {}

#else

void lee_timer_set(struct lee_timer *timer, int64_t at, void (*fire)(struct lee_timer *timer)) __attribute__((weak));

static struct lee_timer again;

static void try_again(struct lee_timer *timer) {
    (void)timer;
    int error = errno;
    print_kept(false);
    errno = error;
    if (kept_bytes > 0)
        lee_timer_set(&again, lee_clock() + AGAIN, try_again);
}

static void print_later(void) {
    if (kept_bytes > 0 && !again.set && lee_timer_set != NULL)
        lee_timer_set(&again, lee_clock() + AGAIN, try_again);
}

#endif

void lee_report_put(const struct lee_text *line) {
    bool waits = !lee_process_is_spawned();
    print_kept(waits);
    size_t done = kept_bytes == 0 ? print(line->bytes, line->length, waits) : 0, left = line->length - done;
    if (left > LEE_REPORTS_KEPT - kept_bytes) {
        lines_lost++;
    } else {
        memcpy(kept + kept_bytes, line->bytes + done, left);
        kept_bytes += left;
    }
    print_later();
}

/* After what the program gave to `atexit`, and after its files were flushed (io.c). */
__attribute__((destructor)) static void print_rest(void) {
    lee_lock();
    print_kept(true);
    lee_unlock();
}
