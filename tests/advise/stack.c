// Objects that a local buffer can stand in for. Each site says what is advised for it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
    int x, y;
};

static int one_int(int n) {
    int *p = malloc(sizeof *p); // advise: stack proven
    if (!p) return -1;
    *p = n;
    int r = *p + 1;
    free(p);
    return r;
}

static int a_struct(int n) {
    struct point *p = (struct point *)malloc(sizeof(struct point)); // advise: stack proven
    if (p == NULL) {
        return -1;
    }
    p->x = n;
    p->y = 2 * n;
    n = p->x * p->y;
    free(p);
    return n;
}

static int in_a_condition(int fd) {
    char *path;
    if (fd == -1 || (path = (char *)malloc(7 + 3 * sizeof(int))) == NULL) // advise: stack proven
        return 0;
    snprintf(path, 7 + 3 * sizeof(int), "<fd:%d>", fd);
    int r = (int)strlen(path);
    free(path);
    return r;
}

static int several_exits(int n) {
    char *p = malloc(16); // advise: stack proven
    if (!p) return -1;
    memset(p, n, 16);
    if (n < 0) {
        free(p);
        return -2;
    }
    if (n > 100) goto fail;
    n = p[3];
    free(p);
    return n;
fail:
    free(p);
    return -3;
}

static int zeroed(int n) {
    int *v = calloc(4, sizeof(int)); // advise: stack proven
    if (!v) return -1;
    v[n & 3] = 7;
    n = v[0] + v[1] + v[2] + v[3];
    free(v);
    return n;
}

static int in_a_loop(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int *v = malloc(8 * sizeof(int)); // advise: stack proven
        if (!v) break;
        for (int k = 0; k < 8; k++) v[k] = i * k;
        for (int k = 0; k < 8; k++) sum += v[k];
        free(v);
    }
    return sum;
}

static int with_a_flag(int n) {
    char *p = NULL;
    int owned = 0;
    if (n > 3) {
        p = malloc(8); // advise: stack proven
        if (!p) return -1;
        owned = 1;
        p[0] = 'x';
    }
    n = owned ? p[0] : 1;
    if (owned) free(p);
    return n;
}

static int bounded(int n) {
    char *p = malloc((n & 15) + 1); // advise: stack
    if (!p) return -1;
    p[n & 15] = 'q';
    n = p[n & 15];
    free(p);
    return n;
}

static int without_braces(int n) {
    char *p = malloc(4); // advise: stack proven
    if (p) p[0] = (char)n;
    if (p) free(p);
    else n = 5;
    return n;
}

struct holder {
    int n;
    char *text;
};

static int in_a_field(int n) {
    struct holder h;
    h.n = n;
    h.text = malloc(12); // advise: stack proven
    if (!h.text) return 0;
    h.text[11] = (char)n;
    n = h.text[11] + h.n;
    free(h.text);
    return n;
}

static int two_pointers(int n) {
    int *q = NULL;
    {
        int *p = malloc(sizeof(int)); // advise: stack proven
        if (!p) return -1;
        *p = n;
        q = p;
    }
    n = *q;
    free(q);
    return n;
}

static int stored_as_int(int n) {
    // The buffer must be aligned for what is stored through the cast.
    char *p = malloc(sizeof(double)); // advise: stack
    if (!p) return -1;
    *(double *)p = n * 0.5;
    n = (int)*(double *)p;
    free(p);
    return n;
}

int main(void) {
    for (int n = -2; n < 6; n++)
        printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", one_int(n), a_struct(n), in_a_condition(n), several_exits(n), zeroed(n),
               in_a_loop(n), with_a_flag(n), bounded(n), without_braces(n), in_a_field(n), two_pointers(n), stored_as_int(n));
    printf("%d\n", several_exits(101));
    return 0;
}
