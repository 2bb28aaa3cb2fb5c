//! The programs.

use crate::rng::Random;
use std::fmt::Write;

/// What all programs of a file share.
pub const HEAD: &str = r#"#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct pair { int a, b; };
struct node { struct node *next; long value; };
struct box { int n; char *data; };
extern size_t __sanitizer_get_current_allocated_bytes(void);
static void *kept[8];
static struct box global_box;
static jmp_buf jump;
static long count;
#define RELEASE(p) free(p)
#define DROP(p) do { free(p); (p) = NULL; } while (0)
#define NEW(n) malloc(n)
static void *xmalloc(size_t n) { void *p = malloc(n); /* bad wrapper */ if (!p) abort(); return p; }
static void xfree(void *p) { if (p) free(p); }
static long sum(const char *p, size_t n) { long r = 0; for (size_t i = 0; i < n; i++) r = r * 31 + p[i]; return r; }
static void fill(char *p, size_t n, int with) { for (size_t i = 0; i < n; i++) p[i] = (char)(with + (int)i); }
static char *same(char *p) { return p; }
static char *second(char *p) { return p + 1; }
static void keep(void *p) { kept[count++ & 7] = p; }
static void keep_deep(void *p, int n) { if (n > 0) keep_deep(p, n - 1); else kept[0] = p; }
static void by_address(char **p) { **p = 1; kept[2] = p; }
static void perhaps(char *p, int n) { if (n & 1) free(p); }
struct tail { int n; char text[]; };
union word { char *p; uintptr_t n; };
static const void *seen;
static char *elsewhere(int n) { return n & 1 ? (char *)&count : NULL; }
static void keep_if_same(char *a, char *b) { if (a == b) keep(a); }
static char *pick(char *a, char *b, int n) { return n & 2 ? a : b; }
static int look(struct box b) { return b.data[0]; }
static int ordered(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static int keeping(const void *a, const void *b) { seen = a; return ordered(a, b); }
static void say(char *to, const char *text, ...) { va_list list; va_start(list, text); vsnprintf(to, 64, text, list); va_end(list); }
static void keep_rest(int n, ...) { va_list list; va_start(list, n); keep(va_arg(list, char *)); va_end(list); }
static void put_long(char *p, int n) { *(long *)p = n; }
static void count_and_free(char *p) { count += 100; free(p); }
static char *heap_copy(const char *s) { return strdup(s); }
static void bounce(char *p, int n);
static void bounce_back(char *p, int n) { if (n > 0) bounce(p, n - 1); else keep(p); }
static void bounce(char *p, int n) { bounce_back(p, n); }
static void set_first(char **p, char c) { if (*p) **p = c; }
static void replace(char **p) { kept[5] = *p; *p = strdup("new"); }
static void take(char **p) { kept[6] = *p; }
static void point_at(char **to, char **from) { *to = *from; }
static int apply(char *p, int n, int (*function)(char *, int)) { return function(p, n); }
static int apply_deep(char *p, int n, int deep, int (*function)(char *, int)) { return deep > 0 ? apply_deep(p, n, deep - 1, function) : apply(p, n, function); }
static int mix_first(char *p, int n) { p[0] ^= (char)n; return p[0]; }
static int keep_called(char *p, int n) { keep(p); return n; }
static int free_called(char *p, int n) { free(p); return n; }
static int apply_other(char *p, int n, int (*function)(char *, int)) { if (n & 1) function = keep_called; return function(p, n); }
static void say_list(char *to, const char *text, va_list list) { vsnprintf(to, 64, text, list); }
static void say_deep(char *to, const char *text, ...) { va_list list; va_start(list, text); say_list(to, text, list); va_end(list); }
static void keep_list(va_list list) { keep(va_arg(list, char *)); }
static void keep_rest_deep(int n, ...) { va_list list; va_start(list, n); keep_list(list); va_end(list); }
static void put_pair(struct pair *p, int n) { p->a = n; p->b = n * 3; }
static void clear(char *p, size_t n) { memset(p, 0, n); }
static int (*const looking[])(char *, int) = { mix_first, mix_first, NULL };
static int (*const not_only_looking[])(char *, int) = { mix_first, keep_called };
static int least(int a, int b) { return a < b ? a : b; }
static int grown(int n) { return n <= 0 ? 9 : least(grown(n - 1) + 3, 30); }
"#;

/// One program.
pub struct Program {
    /// Its text; a line with a site ends in `// good` or `// bad`.
    pub text: String,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x1234_5678_9abc_def1) ^ 77);
    let mut text = String::new();
    let functions = 3 + random.below(4);
    let mut calls = String::new();
    for f in 0..functions {
        let name = format!("f{seed}_{f}");
        if random.chance(50) {
            good(&mut random, &mut text, &name);
        } else {
            bad(&mut random, &mut text, &name);
        }
        let _ = write!(calls, " r = r * 7 + {name}(n + {f});");
    }
    let _ = writeln!(text, "static long run_{seed}(int n) {{ long r = 0;{calls} return r; }}");
    Program { text }
}

/// A function whose object may be put on the stack.
fn good(random: &mut Random, text: &mut String, name: &str) {
    // Bytes asked for, and an expression for a number of bytes that are there.
    let (size, room) = match random.below(8) {
        0 => ("16".to_string(), "16"),
        1 => ("sizeof(struct pair)".to_string(), "8"),
        2 => ("4 + 3 * sizeof(int)".to_string(), "16"),
        3 => ("(size_t)(n & 15) + 1".to_string(), "(size_t)(n & 15) + 1"),
        4 => ("(size_t)(n + 9) * 8".to_string(), "(size_t)(n + 9) * 8"),
        5 => ("m".to_string(), "m"),
        6 => ("m + sizeof(long)".to_string(), "m"),
        _ => ("40".to_string(), "33"),
    };
    let call = match random.below(9) {
        0 | 1 => format!("calloc({size}, 1)"),
        2 => format!("calloc({size}, sizeof(char))"),
        3 => format!("NEW({size})"),
        _ => format!("malloc({size})"),
    };
    let cast = *random.pick(&["", "(char *)", "(void *)"]);
    let use_it = uses(random, room);
    let release = *random.pick(&[
        "free(p);",
        "free(p);",
        "if (p) free(p);",
        "RELEASE(p);",
        "free((void *)p);",
        "xfree(p);",
        "(void)free(p);",
        "free(p), p = NULL;",
        "if (p != NULL) free(p); else r = 1;",
    ]);
    if random.chance(12) {
        return sized(random, text, name);
    }
    let _ = writeln!(text, "static long {name}(int n) {{\n    long r = 0;\n    size_t m = (size_t)(n + 2) * 5;");
    match random.below(30) {
        0 => {
            let _ = writeln!(
                text,
                "    char *p = {cast}{call}; // good\n    if (!p) return -1;\n    {use_it}\n    {release}"
            );
        }
        1 => {
            let _ = writeln!(text, "    char *p;\n    if (n == -3 || (p = {cast}{call}) == NULL) // good\n        return -1;\n    {use_it}\n    {release}");
        }
        2 => {
            let _ = writeln!(
                text,
                "    char *p = NULL;\n    int owned = 0;\n    if (n > 3) {{\n        p = {cast}{call}; // good\n        if (p == NULL) goto out;\n        owned = 1;\n        {use_it}\n    }}\n    r += owned;\nout:\n    if (owned) free(p);"
            );
        }
        3 => {
            let _ = writeln!(
                text,
                "    for (int i = 0; i < 3; i++) {{\n        char *p = {cast}{call}; // good\n        if (!p) break;\n        if (i == n) {{ free(p); continue; }}\n        {use_it}\n        {release}\n    }}"
            );
        }
        4 => {
            let _ = writeln!(
                text,
                "    char *q = NULL;\n    {{\n        char *p = {cast}{call}; // good\n        if (!p) return -1;\n        {use_it}\n        q = p;\n    }}\n    r += q != NULL;\n    free(q);"
            );
        }
        5 => {
            let _ = writeln!(
                text,
                "    struct box b;\n    b.n = n;\n    b.data = {call}; // good\n    if (!b.data) return -1;\n    {{ char *p = b.data; {use_it} }}\n    free(b.data);"
            );
        }
        6 => {
            let _ = writeln!(
                text,
                "    char *p;\n    switch (n & 3) {{\n    case 0:\n        return 5;\n    case 1:\n        n++;\n        /* fall through */\n    default:\n        p = {cast}{call}; // good\n        break;\n    }}\n    if (!p) return -1;\n    if (n > 20) {{ {use_it} free(p); return r; }}\n    {release}"
            );
        }
        7 => {
            let _ = writeln!(
                text,
                "    const char *s = n & 1 ? \"short\" : \"a text that is longer than many\";\n    char *p = strdup(s); // good\n    if (!p) return -1;\n    p[0] ^= 1;\n    r += sum(p, strlen(s) + 1);\n    {release}"
            );
        }
        8 => {
            let _ = writeln!(
                text,
                "    char *p;\n    if (n & 1) {{\n        p = {call}; // good\n        if (!p) return -1;\n        {use_it}\n        {release}\n    }} else {{\n        p = malloc(24); // good\n        if (!p) return -1;\n        {}\n        free(p);\n    }}",
                uses(random, "24")
            );
        }
        9 => {
            let _ = writeln!(
                text,
                "    char *p = {call}; // good\n    if (__builtin_expect(!p, 0)) return -1;\n    {use_it}\n    qsort(p, {room}, 1, ordered);\n    r += p[0];\n    char *q = same(p);\n    r ^= q[0];\n    free(q);"
            );
        }
        10 => {
            let _ = writeln!(
                text,
                "    char to[64];\n    char *p = malloc(20); // good\n    if (!p) return -1;\n    snprintf(p, 20, \"%d\", n);\n    say(to, \"<%s>\", p);\n    r = strtol(p, NULL, 10) + to[1];\n    {release}"
            );
        }
        11 => {
            let _ = writeln!(
                text,
                "    for (int i = 0; i < 2; i++) {{\n        int *p = calloc({}, sizeof *p); // good\n        if (!p) return -1;\n        r = r * 3 + p[0] + p[2];\n        p[0] = n; p[2] = 5;\n        {release}\n    }}",
                random.pick(&["3", "(size_t)(n & 7) + 3", "m + 3"])
            );
        }
        12 => {
            let _ = writeln!(
                text,
                "    struct tail *p = malloc(sizeof *p + m); // good\n    if (!p) return -1;\n    p->n = n;\n    fill(p->text, m, n);\n    r = p->n + sum(p->text, m);\n    {release}"
            );
        }
        13 => {
            let _ = writeln!(
                text,
                "    char *p = malloc(sizeof(long)); // good\n    if (!p) return -1;\n    put_long(p, n);\n    r = *(long *)p;\n    *(int *)p = 3;\n    r += *(int *)p;\n    {release}"
            );
        }
        14 => {
            let _ = writeln!(
                text,
                "    char p_buffer[3] = \"ab\";\n    char *p = {call}; // good\n    if (!p) return -1;\n    {use_it}\n    r += p_buffer[1];\n    n > 3 ? free(p) : (void)({{ r++; free(p); }});"
            );
        }
        15 => {
            let _ = writeln!(
                text,
                "    char *p = n & 1 ? heap_copy(\"another\") : {call}; // good\n    if (!p) return -1;\n    p[0] = (char)n;\n    r += p[0];\n    {release}"
            );
        }
        16 => {
            let _ = writeln!(
                text,
                "    int i = 0;\n    do {{\n        char *p = {call}; // good\n        if (!p) goto out;\n        {use_it}\n        if (i == 1 && n > 9) {{ {release} continue; }}\n        if (n > 30) {{ free(p); goto out; }}\n        free(p);\n    }} while (++i < 3);\nout:;"
            );
        }
        17 => {
            let _ = writeln!(
                text,
                "    char *p = {call}; // good\n    char *q = NULL;\n    if (!p) return -1;\n    {use_it}\n    for (int i = 0; i < 2; i++) {{\n        if (i == (n & 1)) q = p;\n        else if (q) r += q[0];\n    }}\n    switch (n & 3) {{\n    case 0: r++; free(p); break;\n    case 1: {release} break;\n    default: free(q ? q : p);\n    }}"
            );
        }
        18 => {
            let _ = writeln!(
                text,
                "    char *p = {cast}{call}; // good\n    if (!p) return -1;\n    {use_it}\n    set_first(&p, (char)n);\n    r = r * 3 + p[0];\n    {release}"
            );
        }
        19 => {
            let _ = writeln!(
                text,
                "    char *end;\n    char *p = malloc(20); // good\n    if (!p) return -1;\n    snprintf(p, 20, \"%dx\", n);\n    r = strtol(p, &end, 10);\n    r = r * 5 + *end + (end > p);\n    {release}"
            );
        }
        20 => {
            let _ = writeln!(
                text,
                "    char *v[3];\n    v[0] = {call}; // good\n    if (!v[0]) return -1;\n    v[2] = malloc(24); // good\n    if (!v[2]) {{ free(v[0]); return -1; }}\n    {{ char *p = v[0]; {use_it} }}\n    memset(v[2], n, 24);\n    v[1] = v[0];\n    r = r * 3 + v[2][23] + v[1][0];\n    free(v[{}]);\n    free(v[2]);",
                random.pick(&["0", "1"])
            );
        }
        21 => {
            let _ = writeln!(
                text,
                "    char *p = {call}; // good\n    if (!p) return -1;\n    {use_it}\n    r += {};\n    r = r * 3 + p[0];\n    {release}",
                random.pick(&["apply(p, n, mix_first)", "apply_deep(p, n, 2, mix_first)", "apply(p, n, &mix_first)"])
            );
        }
        22 => {
            let _ = writeln!(
                text,
                "    char to[64];\n    char *p = malloc(20); // good\n    if (!p) return -1;\n    snprintf(p, 20, \"%d\", n);\n    say_deep(to, \"<%s%s>\", p, p);\n    r = to[1] * 7 + to[2];\n    {release}"
            );
        }
        23 => {
            let _ = writeln!(
                text,
                "    const char *s = n & 1 ? \"short\" : \"a text that is longer than many\";\n    size_t k = strlen(s);\n    char *p = malloc(k + 1); // good\n    if (!p) return -1;\n    {}\n    r = sum(p, strlen(p) + 1);\n    {release}",
                random.pick(&["strcpy(p, s);", "memcpy(p, s, k); p[k] = 0;", "memcpy(p, s, k + 1);"])
            );
        }
        24 => {
            let _ = writeln!(
                text,
                "    int *p = malloc({}); // good\n    if (!p) return -1;\n    for (size_t i = 0; i < m; i++) p[i] = n * 3 + (int)i;\n    for ({}) r = r * 3 + p[i];\n    free(p);",
                random.pick(&["m * sizeof *p", "sizeof(int) * m", "(m + 2) * sizeof(int)", "4 * m + 8"]),
                random.pick(&["size_t i = 0; i < m; i++", "size_t i = m; i-- > 0;", "int i = 0; i < (int)m; i += 2"])
            );
        }
        25 => {
            let _ = writeln!(
                text,
                "    struct pair *p = malloc(sizeof *p); // good\n    if (!p) return -1;\n    put_pair(p, n);\n    r = p->a * 5 + p->b;\n    free(p);"
            );
        }
        26 => {
            let _ = writeln!(
                text,
                "    char *p = malloc(m + 1); // good\n    if (!p) return -1;\n    clear(p, m);\n    p[m] = 'e';\n    r = sum(p, m + 1);\n    {release}"
            );
        }
        27 => {
            let _ = writeln!(
                text,
                "    const char *s = n & 1 ? \"short\" : \"a text that is longer than many\";\n    const char *t = n & 2 ? \"\" : \"more of it\";\n    size_t k = strlen(s), h = strlen(t);\n    char *p = malloc({}); // good\n    if (!p) return -1;\n    {}\n    r = sum(p, strlen(p) + 1);\n    {release}",
                random.pick(&["k + h + 2", "strlen(s) + strlen(t) + 2", "2 + h + k", "h + (k + 2)"]),
                random.pick(&[
                    "strcpy(p, s); strcat(p, \"/\"); strcat(p, t);",
                    "sprintf(p, \"%s/%s\", s, t);",
                    "memcpy(p, s, k); p[k] = '/'; memcpy(p + k + 1, t, h + 1);",
                    "memcpy(p, t, h); p[h] = 0; strcat(p, s);",
                    "strcpy(p, t); memcpy(p + h, s, k + 1);",
                ])
            );
        }
        28 => {
            let _ = writeln!(
                text,
                "    char *p = {call}; // good\n    if (!p) return -1;\n    {use_it}\n    r = r * 5 + looking[n & 1](p, n);\n    {release}"
            );
        }
        _ => {
            let _ = writeln!(
                text,
                "    char other[64];\n    char *p = other;\n    char *q = n & 1 ? NULL : {cast}{call}; // good\n    if (q) p = q;\n    {}\n    if (p != other) free(p);",
                uses(random, "1")
            );
        }
    }
    let _ = writeln!(text, "    return r;\n}}");
}

/// Functions that pass a size on, over recursion, or get it from one.
fn sized(random: &mut Random, text: &mut String, name: &str) {
    let next = *random.pick(&["size", "size - 3", "size + 4", "least(size + 2, 40)", "grown(deep)"]);
    let first = *random.pick(&["24", "n & 15", "least(n, 20)", "grown(n)", "n + 20"]);
    let _ = writeln!(
        text,
        "static long {name}_scratch(int size, int n) {{\n    if (size <= 0) return 3;\n    char *p = malloc(size); // good\n    \
         if (!p) return -1;\n    {}\n    long r = p[size - 1];\n    free(p);\n    return r;\n}}",
        random.pick(&["memset(p, n, size);", "for (int i = 0; i < size; i++) p[i] = (char)(i * n);", "fill(p, size, n);"])
    );
    let _ = writeln!(
        text,
        "static long {name}_deep(int size, int deep) {{\n    long r = {name}_scratch(size, deep);\n    \
         return deep > 0 ? r * 3 + {name}_deep({next}, deep - 1) : r;\n}}"
    );
    let _ = writeln!(text, "static long {name}(int n) {{\n    return {name}_deep({first}, n & 7) & 0xffffff;\n}}");
}

/// Statements that use `p`, of which so many bytes may be touched.
fn uses(random: &mut Random, room: &str) -> String {
    let mut out = String::new();
    let _ = write!(out, "memset(p, n, {room}); ");
    for _ in 0..1 + random.below(3) {
        let _ = match random.below(7) {
            0 => write!(out, "fill(p, {room}, n); r += sum(p, {room}); "),
            1 => write!(out, "for (size_t i = 0; i < {room}; i++) p[i] = (char)(n * i); r += sum(p, {room}); "),
            2 => write!(out, "r += same(p)[0]; "),
            3 => write!(out, "p[0] = (char)n; r += *p; "),
            4 => write!(out, "{{ char *t = p; t += {room} - 1; *t = 3; r += *t; }} "),
            5 => write!(out, "r += second(p) > p; "),
            _ => write!(out, "snprintf(p, {room}, \"%d\", n); r += p[0]; "),
        };
    }
    out
}

/// A function whose object must stay in the heap.
fn bad(random: &mut Random, text: &mut String, name: &str) {
    let size = *random.pick(&["8", "16", "sizeof(struct pair)", "(size_t)(n & 7) + 8"]);
    let make = format!("malloc({size})");
    let body = match random.below(53) {
        0 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    keep(p);\n    return p[0];"),
        1 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    keep_deep(p, 3);\n    free(p);\n    return 1;"),
        2 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    if (n & 1) return 2;\n    free(p);\n    return 1;"),
        3 => format!(
            "char *a = NULL, *b = NULL;\n    long r = 0;\n    for (int i = 0; i < 3; i++) {{\n        free(b);\n        b = a;\n        a = {make}; // bad\n        if (!a) abort();\n        a[0] = (char)(n + i);\n        if (b) r = r * 5 + b[0];\n    }}\n    free(a);\n    free(b);\n    return r;"
        ),
        4 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    p = realloc(p, 100);\n    if (!p) return -2;\n    long r = p[0];\n    free(p);\n    return r;"),
        5 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    long r = n > 0 ? {name}(n > 4 ? 4 : n - 1) : 0;\n    p[0] = (char)r;\n    r += p[0];\n    free(p);\n    return r;"),
        6 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    by_address(&p);\n    long r = p[0];\n    free(p);\n    return r;"),
        7 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    uintptr_t h = (uintptr_t)p * 3;\n    free(p);\n    return h != 0;"),
        8 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p++;\n    p[0] = (char)n;\n    long r = p[0];\n    p--;\n    char *volatile q = p;\n    free(q);\n    return r;"),
        9 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    if (setjmp(jump)) {{ free(p); return 3; }}\n    free(p);\n    return n;"),
        10 => format!("char *all[3];\n    for (int i = 0; i < 3; i++) all[i] = {make}; // bad\n    long r = 0;\n    for (int i = 0; i < 3; i++) {{ if (all[i]) r += i; free(all[i]); }}\n    return r;"),
        11 => format!("global_box.data = {make}; // bad\n    if (!global_box.data) return -1;\n    global_box.data[0] = (char)n;\n    long r = global_box.data[0];\n    free(global_box.data);\n    global_box.data = NULL;\n    return r;"),
        12 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    perhaps(p, n);\n    if (!(n & 1)) free(p);\n    return n;"),
        13 => "struct node *list = NULL;\n    long r = 0;\n    for (int i = 0; i < 3; i++) {\n        struct node *e = malloc(sizeof *e); // bad\n        if (!e) abort();\n        e->next = list;\n        e->value = n + i;\n        list = e;\n    }\n    while (list) { struct node *next = list->next; r = r * 3 + list->value; free(list); list = next; }\n    return r;".to_string(),
        14 => format!("char **slot = malloc(sizeof *slot); // good\n    if (!slot) return -1;\n    *slot = {make}; // bad\n    if (!*slot) {{ free(slot); return -1; }}\n    **slot = (char)n;\n    long r = **slot;\n    free(*slot);\n    free(slot);\n    return r;"),
        15 => format!("static char *cache;\n    if (!cache) cache = {make}; // bad\n    if (!cache) return -1;\n    cache[0] = (char)(cache[0] * 0 + n);\n    return cache[0];"),
        16 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    struct box b = {{ n, p }};\n    struct box c = b;\n    long r = c.data[0];\n    free(c.data);\n    return r;"),
        17 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    strcpy(p, \"key\");\n    char *q = strchr(p, n & 1 ? '=' : 'k');\n    if (!q) keep(p);\n    else free(p);\n    return n;"),
        18 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    keep_if_same(p, p);\n    return n;"),
        19 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = 1;\n    keep_if_same(p, n & 1 ? p : NULL);\n    if (n & 1) return 4;\n    free(p);\n    return 1;"),
        20 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    memset(p, n, 8);\n    qsort(p, 8, 1, keeping);\n    long r = p[0];\n    free(p);\n    return r;"),
        21 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    keep_rest(1, p);\n    return p[0];"),
        22 => format!("union word w;\n    char *p = {make}; // bad\n    if (!p) return -1;\n    w.p = p;\n    kept[1] = (void *)w.n;\n    return n;"),
        23 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    struct box b;\n    b.n = n;\n    b.data = p;\n    p[0] = (char)n;\n    long r = look(b);\n    global_box = b;\n    return r;"),
        24 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    unsigned h = (unsigned)(uintptr_t)p;\n    free(p);\n    return (h & 7) == 0;"),
        25 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    __asm__ volatile(\"\" : : \"r\"(p) : \"memory\");\n    free(p);\n    return n;"),
        26 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *q = elsewhere(n);\n    int none = q == NULL;\n    q = p;\n    p[0] = (char)n;\n    if (none) {{ keep(q); return 2; }}\n    free(q);\n    return 1;"),
        27 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    count_and_free(p);\n    return n;"),
        28 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    bounce(p, 2);\n    return p[0];"),
        29 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *q = pick(p, (char *)kept, n);\n    if (q == (char *)kept) {{ keep(p); return 1; }}\n    free(p);\n    return 2;"),
        30 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    keep(same(p));\n    return p[0];"),
        31 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *end;\n    strcpy(p, \"12x\");\n    long r = strtol(p, &end, 10);\n    kept[2] = end;\n    return r;"),
        32 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *volatile q = p;\n    q[0] = (char)n;\n    kept[3] = q;\n    return n;"),
        33 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    void (*release)(void *) = n & 1 ? free : keep;\n    release(p);\n    return n;"),
        34 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    kept[4] = memset(p, 1, 8);\n    return n;"),
        35 => format!("struct box b = {{ n, NULL }};\n    b.data = {make}; // bad\n    if (!b.data) return -1;\n    keep(b.data);\n    b = global_box;\n    return b.n != n;"),
        36 => format!("char *p = NULL;\n    long r = 0;\n    for (int i = 0; i < 3; i++) {{\n        if (i == 1) keep(p);\n        p = {make}; // bad\n        if (!p) return -1;\n        p[0] = (char)i;\n        r += p[0];\n        if (i != 0) free(p);\n    }}\n    return r;"),
        37 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *q = p;\n    char **slot = n & 1 ? &q : (char **)kept;\n    *slot = p;\n    if (n & 1) free(q);\n    return n;"),
        38 => format!("int tries = 0;\n    char *p;\nagain:\n    p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    if (tries++ < 2) {{ kept[tries] = p; goto again; }}\n    free(p);\n    return n;"),
        39 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    replace(&p);\n    long r = p[0];\n    free(p);\n    return r;"),
        40 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    take(&p);\n    return p[0];"),
        41 => format!("char *q = NULL;\n    char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    point_at(&q, &p);\n    keep(q);\n    return n;"),
        42 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *end;\n    strcpy(p, \"12x\");\n    long r = strtol(p, &end, 10);\n    if (n & 1) keep(end);\n    else free(p);\n    return r;"),
        43 => format!("char *v[2] = {{ NULL, NULL }};\n    v[0] = {make}; // bad\n    if (!v[0]) return -1;\n    v[0][0] = (char)n;\n    keep(v[n & 1]);\n    return n;"),
        44 => format!("char *v[2];\n    v[1] = {make}; // bad\n    if (!v[1]) return -1;\n    v[1][0] = (char)n;\n    v[0] = v[1];\n    kept[7] = v[0];\n    return v[1][0];"),
        45 => format!("char *v[2] = {{ NULL, NULL }};\n    v[1] = {make}; // bad\n    if (!v[1]) return -1;\n    v[1][0] = (char)n;\n    take(v + 1);\n    return v[1][0];"),
        46 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    return apply(p, n, keep_called);"),
        47 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    return apply_deep(p, n, 2, n & 1 ? free_called : mix_first);"),
        48 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    return apply_other(p, n, mix_first);"),
        49 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    keep_rest_deep(1, p);\n    return p[0];"),
        51 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    p[0] = (char)n;\n    return not_only_looking[n & 1](p, n);"),
        50 => format!("char *p = {make}; // bad\n    if (!p) return -1;\n    char *end = p;\n    char **where = &end;\n    **where = (char)n;\n    keep(*where);\n    return n;"),
        _ => format!("char *p = NULL;\n    for (int i = 0; i < 2; i++) {{\n        char *q = {make}; // bad\n        if (!q) abort();\n        q[0] = (char)(n + i);\n        if (p) {{ q[1] = p[0]; kept[1] = p; }}\n        p = q;\n    }}\n    long r = p[0];\n    return r;"),
    };
    let _ = writeln!(text, "static long {name}(int n) {{\n    {body}\n}}");
}
