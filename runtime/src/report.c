/* report.c: the one way out of the program for a fault.
 *
 * Promises: what report.h says. Nothing here allocates or waits for a lock. The steps are numbered;
 * a fault inside one of them (a damaged stack, a program file that was cut short, a damaged output
 * file) comes back here through the signal handler and the report goes on with the next step, so
 * the message itself is always printed.
 *
 * The status is given by `_exit(134)`, not by dying of SIGABRT: a shell shows the same number, and
 * neither a core file is written nor a program's own handler of SIGABRT run. A debugger is the
 * exception: under one the program raises SIGABRT, so that the debugger stops at the place of the
 * fault. */
#define _GNU_SOURCE
#include "report.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backtrace.h"
#include "no_pointers.h"
#include "process.h"
#include "report_out.h"
#include "system.h"
#include "worker.h"

enum { FAULT_STATUS = 134 }; /* what shells show for SIGABRT */

enum step { IDLE, FLUSHING, LOCATING, PRINTING };

void (*lee_fault_flush)(void);

static atomic_int step;
static atomic_long reporter; /* the thread that reports; valid once `step` is not IDLE */

static struct lee_call calls[LEE_BACKTRACE_FRAMES];
static size_t call_count; /* 0 until the calls are known */

static struct {
    struct lee_site site; /* without a file: to be found */
    struct lee_text message;
    struct lee_frame frame;
} report;

static _Noreturn void end(void) {
    if (lee_system_traced()) {
        sigset_t abort_only;
        sigemptyset(&abort_only);
        sigaddset(&abort_only, SIGABRT);
        signal(SIGABRT, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &abort_only, NULL);
        raise(SIGABRT);
    }
    _exit(FAULT_STATUS);
}

/* How much of `path` leads to the folder of the library's headers, 0 if it does not lead there. The
 * folder lies beside the runtime's sources, in a cache; paths are as they were told to the
 * compiler, relative ones too, so its own name and that around it must do. */
static size_t library_length(const struct lee_text *path) {
    static const char own[] = __FILE__, from_root[] = "runtime/src/report.c", headers[] = "library/include/";
    size_t root = sizeof own > sizeof from_root ? sizeof own - sizeof from_root : 0, name = root;
    while (name > 0 && (name == root || own[name - 1] != '/'))
        name--;
    size_t length = root - name + sizeof headers - 1;
    for (size_t at = 0; root != 0 && at + length <= path->length; at++) {
        if (memcmp(path->bytes + at, own + name, root - name) == 0 &&
            memcmp(path->bytes + at + root - name, headers, sizeof headers - 1) == 0)
            return at + length;
    }
    return 0;
}

static void set_path(struct lee_text *path, const char *directory, const char *file) {
    path->length = 0;
    if (directory != NULL) {
        lee_text_string(path, directory);
        lee_text_string(path, "/");
    }
    lee_text_string(path, file == NULL ? "?" : file);
}

/* A header of the library is shown as it is included: `<lee/vec.lh>`. */
static void add_place(struct lee_text *line, const char *directory, const char *file, unsigned number) {
    static struct lee_text path;
    set_path(&path, directory, file);
    size_t library = library_length(&path);
    lee_text_string(line, library == 0 ? "" : "<");
    lee_text_span(line, path.bytes + library, path.length - library);
    lee_text_string(line, library == 0 ? "" : ">");
    if (number != 0) {
        lee_text_string(line, ":");
        lee_text_unsigned(line, number);
    }
}

/* The first frame of the program's own code, for a fault that no check found. */
static const struct lee_location *first_place(void) {
    for (size_t i = 0; i < call_count; i++) {
        if (!calls[i].runtime && calls[i].location.file != NULL)
            return &calls[i].location;
    }
    return NULL;
}

static void add_fault_place(struct lee_text *line) {
    const struct lee_location *place = report.site.file == NULL ? first_place() : NULL;
    unsigned column = place != NULL ? place->column : report.site.line == 0 ? 0 : report.site.column;
    if (place != NULL)
        add_place(line, place->directory, place->file, place->line);
    else
        add_place(line, NULL, report.site.file, report.site.line);
    if (column != 0) {
        lee_text_string(line, ":");
        lee_text_unsigned(line, column);
    }
}

static void print_message(void) {
    static struct lee_text line;
    line.length = 0;
    add_fault_place(&line);
    lee_text_string(&line, ": fault: ");
    lee_text_span(&line, report.message.bytes, report.message.length);
    lee_report_put(&line);
    line.length = 0;
    lee_text_string(&line, "\n");
    lee_report_put(&line);
}

/* Names of functions are shown as in the source: what follows a dot was added by the C compiler. */
static size_t name_length(const char *name) {
    const char *dot = strchr(name, '.');
    return dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
}

static void print_call(const struct lee_call *call) {
    static struct lee_text line;
    const struct lee_location *location = &call->location;
    line.length = 0;
    lee_text_string(&line, "  at ");
    if (location->function != NULL)
        lee_text_span(&line, location->function, name_length(location->function));
    else
        lee_text_string(&line, "?");
    if (location->file != NULL) {
        lee_text_string(&line, " (");
        add_place(&line, location->directory, location->file, location->line);
        lee_text_string(&line, ")");
    } else if (call->object != NULL) {
        const char *slash = strrchr(call->object, '/');
        lee_text_string(&line, " (");
        lee_text_string(&line, slash == NULL ? call->object : slash + 1);
        lee_text_string(&line, ")");
    }
    lee_text_string(&line, "\n");
    lee_report_put(&line);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Recursion shows the same call again and again. */
static bool same_call(const struct lee_call *a, const struct lee_call *b) {
    return a->location.line == b->location.line && same_text(a->location.function, b->location.function) &&
           same_text(a->location.file, b->location.file) && same_text(a->location.directory, b->location.directory);
}

static void print_repeats(size_t repeats) {
    static struct lee_text line;
    if (repeats == 0)
        return;
    line.length = 0;
    lee_text_string(&line, "  ... ");
    lee_text_unsigned(&line, repeats);
    lee_text_string(&line, repeats == 1 ? " more call from there\n" : " more calls from there\n");
    lee_report_put(&line);
}

/* Whether a call that is not shown is the library's, not the runtime's. */
static bool is_library(const struct lee_call *call) {
    const char *file = call->location.file;
    size_t length = file == NULL ? 0 : strlen(file);
    return length > 2 && strcmp(file + length - 2, ".c") != 0;
}

/* The check knows its place better than the tables do: optimisers merge and move the calls that report. */
static void place_first_call(void) {
    size_t first = 0;
    while (first < call_count && calls[first].runtime) {
        if (is_library(&calls[first])) /* the check is in a function that is not shown */
            return;
        first++;
    }
    if (first == call_count || report.site.file == NULL)
        return;
    calls[first].location.directory = NULL;
    calls[first].location.file = report.site.file;
    calls[first].location.line = report.site.line;
}

/* What calls `main`: libc's start. It is there to see when the call of a function was the last that
 * `main` did. */
static bool is_before_main(const struct lee_call *call) {
    const char *function = call->location.function;
    return call->location.file == NULL && (!call->program || (function != NULL && strcmp(function, "_start") == 0));
}

static size_t calls_to_show(void) {
    size_t count = call_count;
    while (count > 0 && is_before_main(&calls[count - 1]))
        count--;
    return count == 0 ? call_count : count;
}

static void print_calls(void) {
    const struct lee_call *last = NULL;
    size_t repeats = 0, count = calls_to_show();
    for (size_t i = 0; i < count; i++) {
        const char *function = calls[i].location.function;
        if (calls[i].runtime)
            continue;
        if (last != NULL && same_call(last, &calls[i])) {
            repeats++;
            continue;
        }
        print_repeats(repeats);
        repeats = 0;
        print_call(&calls[i]);
        last = &calls[i];
        if (function != NULL && strcmp(function, "main") == 0)
            return;
    }
    print_repeats(repeats);
}

/* A process that was spawned may fault a million times: what comes from one place is printed a few
 * times, and after that only counted. Places that no longer fit share one count. Otherwise a process that
 * faults in many of them would have all the time that reports take. */
enum { PLACES = 64, MOST = 5, MOST_OF_OTHERS = PLACES * MOST };
static struct place {
    const char *file;
    uintptr_t where;
    unsigned long count;
    char text[120]; /* from the last report on; it may be cut off */
} seen[PLACES + 1];
LEE_NO_POINTERS(seen)

static unsigned long most_of(const struct place *place) {
    return place == &seen[PLACES] ? MOST_OF_OTHERS : MOST;
}

/* The place of the fault, which is counted there. Null: of the first process, or a thread. */
static struct place *count_fault(void) {
    if (!lee_process_is_spawned())
        return NULL;
    uintptr_t where = report.site.file != NULL ? report.site.line : report.frame.pc;
    size_t i = 0;
    for (; i < PLACES; i++) {
        if (seen[i].count == 0) {
            seen[i].file = report.site.file;
            seen[i].where = where;
        }
        if (seen[i].file == report.site.file && seen[i].where == where)
            break;
    }
    seen[i].count++;
    return &seen[i];
}

/* The last report of a place says so. */
static void print_last(struct place *place) {
    static struct lee_text line;
    if (place == NULL || place->count != most_of(place))
        return;
    bool others = place == &seen[PLACES];
    line.length = 0;
    if (others)
        lee_text_string(&line, "other places");
    else
        add_fault_place(&line);
    size_t length = line.length < sizeof place->text ? line.length : sizeof place->text - 1;
    memcpy(place->text, line.bytes, length);
    line.length = 0;
    lee_text_string(&line, others ? "  more faults at other places are counted, not printed\n"
                                  : "  more faults at this place are counted, not printed\n");
    lee_report_put(&line);
}

/* The program ends. */
__attribute__((destructor)) static void print_counts(void) {
    static struct lee_text line;
    lee_lock();
    for (struct place *place = seen; place <= &seen[PLACES]; place++) {
        if (place->count <= most_of(place))
            continue;
        line.length = 0;
        lee_text_string(&line, place->text);
        lee_text_string(&line, ": ");
        lee_text_unsigned(&line, place->count - most_of(place));
        lee_text_string(&line, " more faults of processes\n");
        lee_report_put(&line);
    }
    lee_unlock();
}

/* Of a process that was spawned: only that one ends. */
static _Noreturn void end_process(void) {
    struct lee_text message = report.message;
    call_count = 0;
    memset(&report, 0, sizeof report);
    atomic_store(&step, IDLE);
    lee_process_end(LEE_FAULTED, 0, message.bytes, message.length);
}

static _Noreturn void go_on(enum step next) {
    static struct place *place;
    if (next <= FLUSHING)
        place = count_fault();
    bool print = next > FLUSHING || place == NULL || place->count <= most_of(place);
    switch (next) {
    case IDLE:
    case FLUSHING:
        atomic_store(&step, FLUSHING);
        if (lee_process_is_spawned()) {
            if (lee_files_end != NULL)
                lee_files_end(lee_process);
            if (!print)
                end_process();
        } else if (lee_fault_flush != NULL)
            lee_fault_flush();
        __attribute__((fallthrough));
    case LOCATING:
        atomic_store(&step, LOCATING);
        call_count = lee_backtrace(report.frame, calls);
        __attribute__((fallthrough));
    case PRINTING:
        atomic_store(&step, PRINTING);
        print_message();
        place_first_call();
        print_calls();
        print_last(place);
    }
    if (lee_process_is_spawned())
        end_process();
    end();
}

_Noreturn void lee_report(const struct lee_site *site, const struct lee_text *message, struct lee_frame frame) {
    long self = syscall(SYS_gettid);
    int idle = IDLE;
    lee_lock(); /* of the workers, one reports at a time */
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
