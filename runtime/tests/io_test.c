/* Files: the same operations on a file of ours and on one of libc's must have the same results. */
#define _GNU_SOURCE
#define LEE_IO_INLINE /* as emitted code does */

#include "../src/heap_limit.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <lee/fault.h>
#include <lee/io.h>
#include <pthread.h>
#include <signal.h>

static char directory[] = "/tmp/lee-io-XXXXXX";

static const char *path(const char *name) {
    static char text[4][128];
    static int turn;
    char *p = text[turn++ % 4];
    snprintf(p, sizeof text[0], "%s/%s", directory, name);
    return p;
}

static unsigned long state;

static unsigned draw(unsigned limit) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % limit;
}

/* Both files after a step. C leaves what follows a change of direction open, so the caller seeks in between. */
struct pair {
    struct lee_file *ours;
    FILE *theirs;
    int direction; /* 'r', 'w' or 0: just positioned */
};

static void turn_to(struct pair *p, int direction) {
    if (p->direction != direction && p->direction != 0) {
        CHECK(lee_io_fseek(p->ours, 0, SEEK_CUR) == 0);
        fseek(p->theirs, 0, SEEK_CUR);
    }
    p->direction = direction;
}

static void read_step(struct pair *p) {
    static unsigned char a[100000], b[100000];
    turn_to(p, 'r');
    switch (draw(4)) {
    case 0: {
        int c = lee_io_getc(p->ours);
        CHECK(c == getc(p->theirs));
        if (c != EOF && draw(3) == 0) {
            CHECK(lee_io_ungetc(c, p->ours) == c);
            ungetc(c, p->theirs);
        }
        break;
    }
    case 1: {
        int n = (int)draw(300) + 1;
        a[0] = b[0] = 0;
        char *mine = lee_io_fgets((char *)a, n, p->ours), *other = fgets((char *)b, n, p->theirs);
        CHECK((mine == NULL) == (other == NULL));
        CHECK(mine == NULL || strcmp(mine, other) == 0);
        break;
    }
    default: {
        size_t size = draw(7) + 1, count = draw(10) == 0 ? draw(14000) : draw(200);
        size_t got = lee_io_fread(a, size, count, p->ours);
        CHECK(got == fread(b, size, count, p->theirs));
        CHECK(memcmp(a, b, got * size) == 0);
    }
    }
}

static void write_step(struct pair *p) {
    static char data[100000];
    turn_to(p, 'w');
    size_t n = draw(10) == 0 ? draw(sizeof data) : draw(300);
    for (size_t i = 0; i < n; i++)
        data[i] = (char)('a' + draw(20));
    switch (draw(4)) {
    case 0:
        CHECK(lee_io_putc('\n', p->ours) == '\n');
        putc('\n', p->theirs);
        break;
    case 1:
        if (n < sizeof data) {
            data[n] = 0;
            CHECK(lee_io_fprintf(p->ours, "%d %s|%5.2f\n", 17, data, 2.5) == fprintf(p->theirs, "%d %s|%5.2f\n", 17, data, 2.5));
        }
        break;
    default:
        CHECK(lee_io_fwrite(data, 1, n, p->ours) == n);
        fwrite(data, 1, n, p->theirs);
    }
}

static void position_step(struct pair *p) {
    switch (draw(4)) {
    case 0: CHECK(lee_io_ftell(p->ours) == ftell(p->theirs)); break;
    case 1: {
        long to = draw(200000);
        CHECK(lee_io_fseek(p->ours, to, SEEK_SET) == fseek(p->theirs, to, SEEK_SET));
        p->direction = 0;
        break;
    }
    case 2: {
        long by = (long)draw(1000) - 500;
        CHECK(lee_io_fseek(p->ours, by, SEEK_CUR) == fseek(p->theirs, by, SEEK_CUR));
        CHECK(lee_io_ftell(p->ours) == ftell(p->theirs));
        p->direction = 0;
        break;
    }
    default:
        CHECK(lee_io_fseek(p->ours, -(long)draw(50), SEEK_END) == fseek(p->theirs, 0, SEEK_END) || true);
        lee_io_rewind(p->ours);
        rewind(p->theirs);
        p->direction = 0;
    }
}

static bool same_content(const char *a, const char *b) {
    char command[300];
    snprintf(command, sizeof command, "cmp -s %s %s", a, b);
    return system(command) == 0;
}

static void compare_with_libc(const char *mode, unsigned long seed) {
    state = seed;
    struct pair p = {lee_io_fopen(path("ours"), mode), fopen(path("theirs"), mode), 0};
    if (p.ours == NULL || p.theirs == NULL)
        abort();
    lee_io_setvbuf(p.ours, NULL, draw(3) == 0 ? LEE_IO_LINE : LEE_IO_FULL, 0);
    for (int i = 0; i < 600 && check_failures == 0; i++) {
        unsigned what = draw(10);
        if (what < 4)
            read_step(&p);
        else if (what < 8)
            write_step(&p);
        else
            position_step(&p);
        CHECK(!lee_io_feof(p.ours) == !feof(p.theirs));
        CHECK(!lee_io_ferror(p.ours) == !ferror(p.theirs));
    }
    if (check_failures != 0)
        printf("mode %s seed %lu\n", mode, seed);
    CHECK(lee_io_fclose(p.ours) == 0);
    fclose(p.theirs);
    CHECK(same_content(path("ours"), path("theirs")));
}

/* Without a seek in between: reading goes on where writing ended. */
static void test_interleaving(void) {
    struct lee_file *f = lee_io_fopen(path("mixed"), "w+");
    CHECK(lee_io_fputs("0123456789", f) >= 0);
    lee_io_rewind(f);
    CHECK(lee_io_getc(f) == '0');
    CHECK(lee_io_putc('x', f) == 'x');
    CHECK(lee_io_getc(f) == '2');
    CHECK(lee_io_ftell(f) == 3);
    CHECK(lee_io_ungetc('q', f) == 'q');
    CHECK(lee_io_getc(f) == 'q');
    lee_io_rewind(f);
    CHECK(lee_io_ungetc('z', f) == 'z' && lee_io_ftell(f) == 0 && lee_io_getc(f) == 'z');
    char all[32] = "";
    lee_io_rewind(f);
    CHECK(lee_io_fread(all, 1, 31, f) == 10 && strcmp(all, "0x23456789") == 0);
    CHECK(lee_io_feof(f) && lee_io_getc(f) == EOF);
    CHECK(lee_io_fclose(f) == 0);

    f = lee_io_fopen(path("mixed"), "a+");
    CHECK(lee_io_getc(f) == '0');
    CHECK(lee_io_fputs("end", f) >= 0 && lee_io_ftell(f) == 13);
    CHECK(lee_io_fclose(f) == 0);
}

static void test_modes(void) {
    CHECK(lee_io_fopen(path("none"), "r") == NULL && errno == ENOENT);
    CHECK(lee_io_fopen(path("none"), "q") == NULL && errno == EINVAL);
    struct lee_file *f = lee_io_fopen(path("new"), "wx");
    CHECK(f != NULL && lee_io_getc(f) == EOF && lee_io_ferror(f) && errno == EBADF);
    lee_io_clearerr(f);
    CHECK(!lee_io_ferror(f) && lee_io_fclose(f) == 0);
    CHECK(lee_io_fopen(path("new"), "wx") == NULL && errno == EEXIST);
    f = lee_io_fopen(path("new"), "r");
    CHECK(lee_io_putc('a', f) == EOF && lee_io_ferror(f));
    CHECK(lee_io_freopen(path("other"), "w", f) == f && lee_io_fputs("text", f) >= 0 && lee_io_fclose(f) == 0);
    f = lee_io_fdopen(open(path("other"), O_RDONLY), "w");
    CHECK(f == NULL && errno == EINVAL);
    f = lee_io_tmpfile();
    CHECK(f != NULL && lee_io_fileno(f) > 2 && lee_io_fclose(f) == 0);
}

static void test_failed_writes(void) {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    CHECK(pipe(ends) == 0);
    close(ends[0]);
    struct lee_file *f = lee_io_fdopen(ends[1], "w");
    CHECK(lee_io_fputs("lost", f) >= 0 && !lee_io_ferror(f));
    CHECK(lee_io_fflush(f) == EOF && errno == EPIPE && lee_io_ferror(f));
    CHECK(lee_io_fclose(f) == EOF);
    f = lee_io_fopen("/dev/full", "w");
    CHECK(lee_io_fputs("lost", f) >= 0 && lee_io_fclose(f) == EOF && errno == ENOSPC);
}

static void test_getline(void) {
    struct lee_file *f = lee_io_fopen(path("lines"), "w+");
    static char line[100001];
    memset(line, 'x', 100000);
    lee_io_fprintf(f, "one\n\n%s\nlast", line);
    lee_io_rewind(f);
    struct lee_io_string s = {0};
    size_t room = 0;
    CHECK(lee_io_getline(&s, &room, f) == 4 && strcmp(s.p, "one\n") == 0 && s.lo == s.p && (size_t)(s.hi - s.p) == room);
    CHECK(lee_io_getline(&s, &room, f) == 1 && strcmp(s.p, "\n") == 0);
    CHECK(lee_io_getline(&s, &room, f) == 100001 && room > 100001);
    CHECK(lee_io_getline(&s, &room, f) == 4 && strcmp(s.p, "last") == 0);
    CHECK(lee_io_getline(&s, &room, f) == -1 && lee_io_feof(f));
    lee_io_fclose(f);
}

static void test_formats(void) {
    char s[8] = "abc";
    CHECK(lee_io_snprintf(s, sizeof s, "xxxxxx%s", s) == 9 && strcmp(s, "xxxxxxa") == 0); /* overlapping */
    CHECK(lee_io_snprintf(NULL, 0, "%d", 1234) == 4);
    const char *volatile nothing = NULL;
    CHECK(lee_io_snprintf(s, sizeof s, "%s", nothing) == 6 && strcmp(s, "(null)") == 0);
    static char big[5001];
    memset(big, 'y', 5000);
    char *lo, *hi;
    const char *made = lee_io_format("<%s>", &lo, &hi, big);
    CHECK(hi - lo == 5002 && made == lo && *hi == 0 && strlen(made) == 5002);
}

static void test_popen(void) {
    char line[64] = "";
    struct lee_file *f = lee_io_popen("echo hello; exit 3", "r");
    CHECK(lee_io_fgets(line, sizeof line, f) != NULL && strcmp(line, "hello\n") == 0);
    CHECK(WEXITSTATUS(lee_io_pclose(f)) == 3);
    f = lee_io_popen("cat >/dev/null", "w");
    CHECK(lee_io_fputs("hello", f) >= 0 && lee_io_pclose(f) == 0);
    CHECK(lee_io_popen("true", "z") == NULL && errno == EINVAL);
}

static void use_closed(void *what) {
    struct lee_file *f = lee_io_fopen("/dev/null", "w+");
    lee_io_fputs("x", f);
    lee_io_fclose(f);
    switch (*(char *)what) {
    case 'g': lee_io_getc(f); break;
    case 'p': lee_io_putc('a', f); break;
    case 'f': lee_io_fprintf(f, "%d", 1); break;
    case 'c': lee_io_fclose(f); break;
    case 's': lee_io_fseek(f, 0, SEEK_SET); break;
    default: lee_io_fread(what, 1, 1, f);
    }
}

static void fault_after_output(void *unused) {
    (void)unused;
    dup2(2, 1);
    lee_io_printf("held back");
    (lee_io_getc)(NULL);
}

static void print_without_memory(void *unused) {
    (void)unused;
    dup2(2, 1);
    lee_heap_limit(1);
    struct lee_file *file = lee_io_fopen(path("unwritten"), "w");
    lee_io_printf("printed, file %d\n", file != NULL && lee_io_fprintf(file, "%d", 1) == 1);
    lee_io_fflush(lee_io_stdout());
}

/* Who has no memory left can say so. */
static void test_no_memory(void) {
    static struct child child;
    run_child(&child, print_without_memory, NULL);
    CHECK(check_holds("no memory", child.output, "printed, file 0"));
}

static void test_faults(void) {
    static struct child child;
    for (char what[] = "gpfcsr", *w = what; *w; w++) {
        run_child(&child, use_closed, w);
        CHECK(child.status == 134 && check_holds("closed", child.output, "use of a closed file"));
    }
    run_child(&child, fault_after_output, NULL);
    CHECK(child.status == 134 && check_holds("null", child.output, "null pointer"));
    check_holds("flushed", child.output, "held back");
}

/* What a thread of foreign code opened is written out with the rest. */
static void *open_in_thread(void *path) {
    struct lee_file *f = lee_io_fopen(path, "w");
    if (f != NULL)
        lee_io_fprintf(f, "from a thread");
    return NULL;
}

static void test_thread(void) {
    char path[] = "/tmp/lee-io-thread-XXXXXX", text[32] = "";
    int fd = mkstemp(path);
    pthread_t thread;
    CHECK(fd >= 0);
    CHECK(pthread_create(&thread, NULL, open_in_thread, path) == 0);
    pthread_join(thread, NULL);
    CHECK(read(fd, text, sizeof text) == 0);
    CHECK(lee_io_fflush(NULL) == 0);
    CHECK(read(fd, text, sizeof text - 1) == 13 && strcmp(text, "from a thread") == 0);
    close(fd);
    unlink(path);
}

int main(void) {
    if (mkdtemp(directory) == NULL)
        return 1;
    test_no_memory(); /* first, when there is no heap */
    const char *modes[] = {"w+", "w+", "r+", "r+"};
    for (unsigned long seed = 1; seed <= 24 && check_failures == 0; seed++)
        compare_with_libc(modes[seed % 4], seed);
    test_interleaving();
    test_modes();
    test_failed_writes();
    test_getline();
    test_formats();
    test_popen();
    test_faults();
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0);
    test_thread();
    return check_end();
}
