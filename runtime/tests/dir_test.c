/* Directories: the same entries as libc's, and a closed one is found out. */
#define _GNU_SOURCE

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lee/fault.h>
#include <lee/io.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_ours(struct lee_dir *d) {
    int n = 0;
    for (struct dirent *e; (e = lee_dir_read(d)) != NULL; n++)
        CHECK(e->d_name[0] != 0 && e->d_ino != 0);
    return n;
}

static void use_closed(void *what) {
    struct lee_dir *d = lee_dir_open("/");
    struct dirent *kept = lee_dir_read(d);
    lee_dir_close(d);
    if (kept->d_name[0] == 0) /* still ours to look at */
        return;
    switch (*(char *)what) {
    case 'r': lee_dir_read(d); break;
    case 'c': lee_dir_close(d); break;
    default: lee_dir_fd(d);
    }
}

/* More entries than one call of the kernel shows: each is shown once, and again after a rewind. */
static void test_many(void) {
    enum { FILES = 300 };
    char folder[] = "/tmp/lee-dir-XXXXXX", path[400];
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%0*d", folder, 1 + i % 200, i);
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    struct lee_dir *d = lee_dir_open(folder);
    CHECK(count_ours(d) == FILES + 2);
    lee_dir_rewind(d);
    static bool seen[FILES];
    errno = 0;
    for (struct dirent *e; (e = lee_dir_read(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        int i = atoi(e->d_name);
        CHECK(i >= 0 && i < FILES && !seen[i] && (int)strlen(e->d_name) >= 1 + i % 200);
        seen[i] = true;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        CHECK(unlink(path) == 0);
    }
    CHECK(errno == 0);
    for (int i = 0; i < FILES; i++)
        CHECK(seen[i]);
    rmdir(folder);
    lee_dir_rewind(d); /* it is gone: that is an end, no error */
    CHECK(lee_dir_read(d) == NULL && errno == 0);
    lee_dir_close(d);
}

/* A descriptor that is not of a directory, or cannot be read, is refused, and stays open. */
static void test_fdopen(void) {
    int file = open("/etc/passwd", O_RDONLY), path = open("/etc", O_PATH | O_DIRECTORY), good = open("/etc", O_RDONLY);
    CHECK(lee_dir_fdopen(file) == NULL && errno == ENOTDIR && fcntl(file, F_GETFD) >= 0);
    CHECK(lee_dir_fdopen(path) == NULL && errno == EINVAL);
    CHECK(lee_dir_fdopen(-1) == NULL && errno == EBADF);
    struct lee_dir *d = lee_dir_fdopen(good);
    CHECK(d != NULL && lee_dir_fd(d) == good && count_ours(d) > 2);
    lee_dir_close(d);
    CHECK(fcntl(good, F_GETFD) < 0);
    close(file);
    close(path);
}

int main(void) {
    test_many();
    test_fdopen();
    struct lee_dir *d = lee_dir_open("/etc");
    DIR *theirs = opendir("/etc");
    int n = 0;
    while (readdir(theirs) != NULL)
        n++;
    closedir(theirs);
    CHECK(n > 2 && count_ours(d) == n);
    lee_dir_rewind(d);
    CHECK(count_ours(d) == n && lee_dir_fd(d) > 2);
    CHECK(lee_dir_close(d) == 0);
    CHECK(lee_dir_open("/none/such") == NULL && errno == ENOENT);
    static struct child child;
    for (char what[] = "rcf", *w = what; *w; w++) {
        run_child(&child, use_closed, w);
        CHECK(child.status == 134 && check_holds("closed", child.output, "use of a closed file"));
    }
    return check_end();
}
