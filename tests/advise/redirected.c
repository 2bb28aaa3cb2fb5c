// Functions whose symbols are others than their names, for large files and for standards, and a
// global that starts inside of an array.
#define _FILE_OFFSET_BITS 64
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char text[40] = "4 5";
static char *start = text;
static char *limit = text + sizeof text;

static int is_there(const char *folder, const char *name) {
    struct stat found;
    char *path = malloc(strlen(folder) + strlen(name) + 2); // advise: hybrid proven
    if (!path) return -1;
    sprintf(path, "%s/%s", folder, name);
    int r = stat(path, &found) == 0;
    free(path);
    return r;
}

static int opened(const char *name) {
    char *copy = strdup(name); // advise: hybrid
    if (!copy) return -1;
    FILE *file = fopen(copy, "r");
    free(copy);
    if (!file) return 0;
    fclose(file);
    return 1;
}

static int scanned(void) {
    int *v = malloc(2 * sizeof *v); // advise: stack
    if (!v) return -1;
    v[0] = v[1] = 0;
    int r = sscanf(start, "%d %d", &v[0], &v[1]);
    r = r * 100 + v[0] * 10 + v[1];
    free(v);
    return r;
}

static size_t wide(const char *s) {
    size_t n = strlen(s) + 1;
    wchar_t *w = malloc(n * sizeof *w); // advise: hybrid
    if (!w) return 0;
    size_t r = mbstowcs(w, s, n);
    free(w);
    return r;
}

// What `getcwd` returns is its argument.
static char *kept;

static int here(void) {
    char *p = malloc(40); // advise: declined global
    if (!p) return -1;
    kept = getcwd(p, 40);
    free(p);
    return 1;
}

int main(void) {
    printf("%d %d %d\n", is_there("/", "dev"), is_there("/", "no such"), is_there("/dev", "null"));
    printf("%d %d %d\n", opened("/dev/null"), opened("/no such"), scanned());
    printf("%zu %d %d\n", wide("abc"), here(), (int)(limit - start));
    return 0;
}
