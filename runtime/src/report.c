/* report.c: the one way out of the program for a fault.
 *
 * Promises: what report.h says. Nothing here allocates or waits for a lock. The steps are numbered; a fault inside
 * one of them (a damaged stack, a program file that was cut short, a damaged output file) comes back here through
 * the signal handler and the report goes on with the next step, so the message itself is always printed.
 *
 * The status is given by `_exit(134)`, not by dying of SIGABRT: a shell shows the same number, and neither a core
 * file is written nor a program's own handler of SIGABRT run. A debugger is the exception: under one the program
 * raises SIGABRT, so that the debugger stops at the place of the fault. */
#define _GNU_SOURCE
#include "report.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAULT_STATUS = 134 }; /* what shells show for SIGABRT */

enum step { IDLE, FLUSHING, PRINTING };

void (*lee_fault_flush)(void);

static atomic_int step;
static atomic_long reporter; /* the thread that reports; valid once `step` is not IDLE */

static struct {
    struct lee_site site;
    struct lee_text message;
    struct lee_frame frame;
} report;

/* Whether a debugger (or strace) watches this process. */
static bool traced(void) {
    char status[2048];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, status, sizeof status - 1);
    close(file);
    if (length <= 0)
        return false;
    status[length] = 0;
    const char *line = strstr(status, "TracerPid:\t");
    return line != NULL && line[strlen("TracerPid:\t")] != '0';
}

static _Noreturn void end(void) {
    if (traced()) {
        sigset_t abort_only;
        sigemptyset(&abort_only);
        sigaddset(&abort_only, SIGABRT);
        signal(SIGABRT, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &abort_only, NULL);
        raise(SIGABRT);
    }
    _exit(FAULT_STATUS);
}

static void print_message(void) {
    struct lee_text line = {.length = 0};
    lee_text_string(&line, report.site.file == NULL ? "?" : report.site.file);
    lee_text_string(&line, ":");
    if (report.site.line != 0) {
        lee_text_unsigned(&line, report.site.line);
        lee_text_string(&line, ":");
    }
    if (report.site.line != 0 && report.site.column != 0) {
        lee_text_unsigned(&line, report.site.column);
        lee_text_string(&line, ":");
    }
    lee_text_string(&line, " fault: ");
    lee_text_span(&line, report.message.bytes, report.message.length);
    lee_text_string(&line, "\n");
    lee_text_write(&line);
}

static _Noreturn void go_on(enum step next) {
    switch (next) {
    case IDLE:
    case FLUSHING:
        atomic_store(&step, FLUSHING);
        if (lee_fault_flush != NULL)
            lee_fault_flush();
        __attribute__((fallthrough));
    case PRINTING:
        atomic_store(&step, PRINTING);
        print_message();
    }
    end();
}

_Noreturn void lee_report(const struct lee_site *site, const struct lee_text *message, struct lee_frame frame) {
    long self = syscall(SYS_gettid);
    int idle = IDLE;
    if (atomic_compare_exchange_strong(&step, &idle, FLUSHING)) {
        atomic_store(&reporter, self);
        if (site != NULL)
            report.site = *site;
        report.message = *message;
        report.frame = frame;
        go_on(FLUSHING);
    }
    if (atomic_load(&reporter) == self)
        go_on((enum step)(idle + 1));
    for (;;)
        pause();
}
