// Splits n kilobytes of made-up source text into tokens: tokens [N].
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { END, NAME, KEYWORD, NUMBER, STRING, OPERATOR, KINDS };

struct token {
    enum kind kind;
    int start, length;
    int line;
};

struct lexer {
    const char *text;
    int size;
    int at;
    int line;
};

static const char *const keywords[] = { "if", "else", "while", "for", "return", "int", "char", "struct" };

static int is_keyword(const char *s, int n) {
    for (int i = 0; i < 8; i++)
        if ((int)strlen(keywords[i]) == n && strncmp(keywords[i], s, n) == 0)
            return 1;
    return 0;
}

static int is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static int is_digit(int c) { return c >= '0' && c <= '9'; }

static void skip_blanks(struct lexer *l) {
    while (l->at < l->size) {
        char c = l->text[l->at];
        if (c == '\n')
            l->line++;
        else if (c == '/' && l->at + 1 < l->size && l->text[l->at + 1] == '/')
            while (l->at + 1 < l->size && l->text[l->at + 1] != '\n')
                l->at++;
        else if (c != ' ' && c != '\t')
            return;
        l->at++;
    }
}

static struct token next_token(struct lexer *l) {
    skip_blanks(l);
    struct token t = { END, l->at, 0, l->line };
    if (l->at >= l->size)
        return t;
    char c = l->text[l->at++];
    if (is_letter(c)) {
        while (l->at < l->size && (is_letter(l->text[l->at]) || is_digit(l->text[l->at])))
            l->at++;
        t.kind = is_keyword(l->text + t.start, l->at - t.start) ? KEYWORD : NAME;
    } else if (is_digit(c)) {
        while (l->at < l->size && is_digit(l->text[l->at]))
            l->at++;
        t.kind = NUMBER;
    } else if (c == '"') {
        while (l->at < l->size && l->text[l->at] != '"') {
            if (l->text[l->at] == '\\')
                l->at++;
            l->at++;
        }
        l->at++;
        t.kind = STRING;
    } else {
        if (l->at < l->size && l->text[l->at] == '=')
            l->at++;
        t.kind = OPERATOR;
    }
    t.length = l->at - t.start;
    return t;
}

// Writes at least n characters; the buffer has 200 more.
static int write_text(char *out, int n) {
    static const char *const lines[] = {
        "    for (int i = 0; i < count; i++) // all of them\n", "        total += values[i] * 31;\n",
        "    if (name == \"a \\\"word\\\"\") return found_at;\n", "struct entry { int first_value; char rest; };\n",
        "\twhile (x1 != 12345) x1 -= y_2 / 7;\n", "\n", "    print(\"text\", total);\n",
    };
    uint32_t seed = 23;
    int at = 0;
    while (at < n) {
        seed = seed * 1664525 + 1013904223;
        for (const char *s = lines[(seed >> 16) % 7]; *s; s++)
            out[at++] = *s;
    }
    return at;
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 16000);
    char *text = malloc(n + 200);
    int size = write_text(text, n), counts[KINDS] = { 0 };
    struct lexer l = { .text = text, .size = size, .line = 1 };
    uint32_t sum = 0;
    struct token t;
    do {
        t = next_token(&l);
        counts[t.kind]++;
        for (int i = 0; i < t.length; i++)
            sum = sum * 31 + (unsigned char)text[t.start + i];
    } while (t.kind != END);
    printf("%d lines, %d names, %d keywords, %d numbers, %d strings, %d operators, %08x\n", l.line, counts[NAME],
           counts[KEYWORD], counts[NUMBER], counts[STRING], counts[OPERATOR], (unsigned)sum);
    return 0;
}
