/* The interface of shapes.lee, for C and for Leeward: written by `lee build --emit header`. */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#ifdef __LEEWARD__
#include <stdio.h>
#endif

#if !defined __LEEWARD__ && !defined LEE_COMPAT_H
#define SHAPES_H_WORDS
#define counted_by(e)
#define fat
#define nonnull
#define null_terminated
#endif

enum color {
    RED = 0,
    GREEN = 1,
    BLUE = 7,
};

#ifndef __LEEWARD__
struct point;
struct series;
struct value;
struct item;
struct size;
struct window;
struct pair;
struct lee_file;
struct lee_type;
#endif

/* A point in the plane. */
struct point {
    double x;
    double y;
};

// Samples that belong together.
struct series {
    struct point *counted_by(count) points;
    int count;
    const char *null_terminated name;
    enum color color;
    unsigned flags : 3;
    unsigned kind : 5;
    struct series *next;
    int (*compare)(const struct point *, const struct point *);
    char tag[8] null_terminated;
};

#ifdef __LEEWARD__
tagged union value {
    int number;
    const char *null_terminated text;
};
#else
struct value {
    unsigned tag;
    union {
        int number;
        const char *text;
    } u;
};
#endif

#ifdef __LEEWARD__
struct item {
    int kind;
    union {
        long n;
        const char *null_terminated s;
    } u tagged_by(kind) { 1: n, 2: s };
};
#else
struct item {
    int kind;
    union {
        long n;
        const char *s;
    } u;
};
#endif

struct size {
    int width;
    int height;
};
typedef struct size size;

#ifdef __LEEWARD__
struct window {
    int *fat cells;
    struct point origin;
};
#else
struct window {
    int *cells; int *cells__lo; int *cells__hi;
    struct point origin;
};
#endif

#ifdef __LEEWARD__
extern "C" {
struct pair {
    int *counted_by(n) a;
    int n;
};
}
#else
struct pair {
    int *counted_by(n) a;
    int n;
};
#endif

/* How many samples were ever made. */
extern long samples_made;

extern const char *null_terminated const title;

// The sum of the values.
// Of none it is 0.
long total(const int *counted_by(n) values, int n);

double length(const struct point *nonnull p);

struct series *series_new(const char *null_terminated name, int n);

struct point middle(const struct series *s);

#ifdef __LEEWARD__
int largest(const int *fat values);
#else
int largest(const int *values, const int *values__lo, const int *values__hi);
#endif

#ifdef __LEEWARD__
char *fat null_terminated joined(const char *null_terminated a, const char *null_terminated b);
#else
char *joined(const char *a, const char *b, char **ret__lo, char **ret__hi);
#endif

#ifdef __LEEWARD__
void keep(struct series *@heap s);
#else
void keep(struct series *s);
#endif

#ifdef __LEEWARD__
int show(tagged union value v);
#else
int show(struct value v);
#endif

long item_number(const struct item *i);

struct size area(struct window *w);

int year(const struct tm *t);

#ifdef __LEEWARD__
void apply(void *context, void (*f)(void *, int));
#else
void apply(void *context, const struct lee_type *context__ty, void (*f)(void *, const struct lee_type *, int));
#endif

#ifdef __LEEWARD__
trusted int pair_sum(const struct pair *p, int (*f)(int));
#else
int pair_sum(const struct pair *p, int (*f)(int));
#endif

#ifdef __LEEWARD__
[[lee::into(s)]] const char *null_terminated skip(const char *null_terminated s);
#else
const char *skip(const char *s);
#endif

void log_line(const char *null_terminated format, ...) __attribute__((format(printf, 1, 2)));

void show_file(struct lee_file *f);

#ifdef SHAPES_H_WORDS
#undef SHAPES_H_WORDS
#undef counted_by
#undef fat
#undef nonnull
#undef null_terminated
#endif

#endif
