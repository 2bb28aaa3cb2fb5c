// Writes a JSON document of n records, parses it into a tree, and walks the tree: json [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct value {
    enum kind kind;
    union {
        double number;
        const char *string;
        struct array *array; // of values, or of names and values in turn
    } u;
};

struct array {
    struct value *items;
    size_t capacity;
    size_t count;
};

struct buffer {
    char *data;
    size_t capacity;
    size_t size;
};

static void buffer_add(struct buffer *b, char c) {
    if (b->size == b->capacity) {
        size_t wanted = b->capacity ? 2 * b->capacity : 64;
        b->data = realloc(b->data, wanted);
        b->capacity = wanted;
    }
    b->data[b->size++] = c;
}

static void buffer_text(struct buffer *b, const char *s) {
    for (; *s; s++)
        buffer_add(b, *s);
}

static void array_add(struct array *a, struct value v) {
    if (a->count == a->capacity) {
        size_t wanted = a->capacity ? 2 * a->capacity : 4;
        a->items = realloc(a->items, wanted * sizeof *a->items);
        a->capacity = wanted;
    }
    a->items[a->count++] = v;
}

struct parser {
    const char *text;
    size_t size;
    size_t at;
    int failed;
    struct buffer word; // the string that is being read
};

static int peek(const struct parser *p) {
    return p->at < p->size ? (unsigned char)p->text[p->at] : EOF;
}

static int accept(struct parser *p, int c) {
    if (peek(p) != c)
        return 0;
    p->at++;
    return 1;
}

static void skip_blanks(struct parser *p) {
    int c;
    while ((c = peek(p)) == ' ' || c == '\t' || c == '\n' || c == '\r')
        p->at++;
}

static const char *parse_string(struct parser *p) {
    p->word.size = 0;
    while (p->at < p->size) {
        char c = p->text[p->at++];
        if (c == '"') {
            buffer_add(&p->word, '\0');
            return strdup(p->word.data);
        }
        if (c == '\\') {
            int escape = peek(p);
            p->at++;
            c = (char)(escape == 'n' ? '\n' : escape == 't' ? '\t' : escape);
        }
        buffer_add(&p->word, c);
    }
    p->failed = 1;
    return "";
}

static double parse_number(struct parser *p) {
    int negative = accept(p, '-');
    double value = 0, place = 1;
    size_t start = p->at;
    for (int c; (c = peek(p)) >= '0' && c <= '9'; p->at++)
        value = value * 10 + (c - '0');
    if (accept(p, '.'))
        for (int c; (c = peek(p)) >= '0' && c <= '9'; p->at++)
            value += (c - '0') * (place /= 10);
    if (p->at == start)
        p->failed = 1;
    return negative ? -value : value;
}

static int parse_word(struct parser *p, const char *word) {
    for (; *word; word++)
        if (!accept(p, *word))
            p->failed = 1;
    return !p->failed;
}

static struct value parse_value(struct parser *p);

static struct array *parse_items(struct parser *p, int closing) {
    struct array *a = calloc(1, sizeof *a);
    skip_blanks(p);
    if (accept(p, closing))
        return a;
    while (!p->failed) {
        array_add(a, parse_value(p));
        skip_blanks(p);
        if (closing == '}') {
            if (!accept(p, ':'))
                p->failed = 1;
            array_add(a, parse_value(p));
            skip_blanks(p);
        }
        if (accept(p, closing))
            return a;
        if (!accept(p, ','))
            p->failed = 1;
    }
    return a;
}

static struct value parse_value(struct parser *p) {
    struct value v = { JSON_NULL };
    skip_blanks(p);
    switch (peek(p)) {
    case '{':
        p->at++;
        v.kind = JSON_OBJECT;
        v.u.array = parse_items(p, '}');
        break;
    case '[':
        p->at++;
        v.kind = JSON_ARRAY;
        v.u.array = parse_items(p, ']');
        break;
    case '"':
        p->at++;
        v.kind = JSON_STRING;
        v.u.string = parse_string(p);
        break;
    case 't':
        if (parse_word(p, "true"))
            v.kind = JSON_TRUE;
        break;
    case 'f':
        if (parse_word(p, "false"))
            v.kind = JSON_FALSE;
        break;
    case 'n':
        parse_word(p, "null");
        break;
    default:
        v.kind = JSON_NUMBER;
        v.u.number = parse_number(p);
    }
    return v;
}

struct totals {
    size_t values;
    double numbers;
    uint32_t characters;
};

static void walk(const struct value *v, struct totals *t) {
    t->values++;
    switch (v->kind) {
    case JSON_NUMBER:
        t->numbers += v->u.number;
        break;
    case JSON_STRING:
        for (const char *s = v->u.string; *s; s++)
            t->characters = t->characters * 31 + (unsigned char)*s;
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        for (size_t i = 0; i < v->u.array->count; i++)
            walk(&v->u.array->items[i], t);
        break;
    default:
        break;
    }
}

static void write_document(struct buffer *b, int records) {
    char line[200];
    buffer_add(b, '[');
    for (int i = 0; i < records; i++) {
        snprintf(line, sizeof line,
                 "%s\n  { \"id\": %d, \"name\": \"record \\\"%d\\\"\", \"price\": %d.%02d, \"tags\": [\"a\", \"bc\", true, null],\n"
                 "    \"size\": { \"width\": %d, \"height\": -%d, \"round\": false } }",
                 i > 0 ? "," : "", i, i * 7, i % 1000, i % 100, i % 17, i % 13);
        buffer_text(b, line);
    }
    buffer_text(b, "\n]\n");
}

int main(int argc, char **argv) {
    int records = argc > 1 ? atoi(argv[1]) : 60000;
    struct buffer document = { 0 };
    struct totals t = { 0 };
    write_document(&document, records);
    for (int round = 0; round < 3; round++) {
        struct parser p = { .text = document.data, .size = document.size };
        struct value v = parse_value(&p);
        if (p.failed)
            return 1;
        walk(&v, &t);
    }
    printf("%zu bytes, %zu values, %.3f, %08x\n", document.size, t.values, t.numbers, (unsigned)t.characters);
    return 0;
}
