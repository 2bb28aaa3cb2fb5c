/* A C program that uses a module of Leeward's by its header. */
#include <stdio.h>
#include "shapes.h"
#include "shapes.h"

static int twice(int n) { return 2 * n; }

static void called(void *context, const struct lee_type *type, int n) {
    (void)type;
    *(int *)context += n;
}

int main(void) {
    int values[3] = { 4, 9, 2 };
    printf("total %ld\n", total(values, 3));
    printf("largest %d\n", largest(values, values, values + 3));

    struct series *s = series_new("first", 5);
    s->points[2] = (struct point){ 3, 4 };
    s->color = BLUE;
    s->kind = 9;
    keep(s);
    struct point m = middle(s);
    printf("%s %g %g, %d %u, made %ld\n", s->name, m.x, m.y, s->color, s->kind, samples_made);
    printf("length %g\n", length(&m));

    char *lo, *hi;
    char *text = joined("left", "right", &lo, &hi);
    printf("%s %d %ld\n", text, text == lo, (long)(hi - lo));

    struct value v = { .tag = 1, .u.text = "seven" };
    struct item i = { .kind = 1, .u.n = 8 };
    printf("show %d, item %ld\n", show(v), item_number(&i));

    struct window w = { values, values, values + 3, { 1, 2 } };
    size a = area(&w);
    printf("area %d %d\n", a.width, a.height);

    struct pair p = { values, 3 };
    int sum = 1;
    apply(&sum, NULL, called);
    printf("pair %d, applied %d\n", pair_sum(&p, twice), sum);
    printf("<%s> %s\n", skip("  x"), title);
    fflush(stdout);
    return total(values, 0) != 0;
}
