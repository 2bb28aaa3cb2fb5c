/* Directories: the same entries as libc's, and a closed one is found out. */
#define _GNU_SOURCE

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <lee/fault.h>
#include <lee/io.h>

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

int main(void) {
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
