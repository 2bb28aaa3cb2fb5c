// Packs n kilobytes of made-up text with an LZ77 compressor and unpacks them: lz [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_MATCH = 4, MAX_DISTANCE = 65535, HASH_BITS = 15, HASH_SIZE = 1 << HASH_BITS, MAX_CHAIN = 8 };

struct buffer {
    unsigned char *data;
    size_t capacity;
    size_t size;
};

static void buffer_reserve(struct buffer *b, size_t extra) {
    if (b->capacity - b->size >= extra)
        return;
    size_t wanted = b->capacity ? 2 * b->capacity : 1024;
    while (wanted - b->size < extra)
        wanted *= 2;
    b->data = realloc(b->data, wanted);
    b->capacity = wanted;
}

static void buffer_byte(struct buffer *b, unsigned byte_value) {
    buffer_reserve(b, 1);
    b->data[b->size++] = (unsigned char)byte_value;
}

static void buffer_bytes(struct buffer *b, const unsigned char *bytes, size_t n) {
    if (n == 0)
        return;
    buffer_reserve(b, n);
    memcpy(b->data + b->size, bytes, n);
    b->size += n;
}

static uint32_t adler32(const unsigned char *bytes, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

struct matcher {
    int32_t head[HASH_SIZE]; // last position with this hash, or -1
    int32_t *previous;       // the position before it with the same hash
    size_t count;
};

struct match { size_t length, distance; };

static unsigned hash4(const unsigned char p[4]) {
    uint32_t v = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return v * 2654435761u >> (32 - HASH_BITS);
}

static void matcher_insert(struct matcher *m, const unsigned char *in, size_t n, size_t at) {
    if (at + MIN_MATCH > n)
        return;
    unsigned h = hash4(in + at);
    m->previous[at] = m->head[h];
    m->head[h] = (int32_t)at;
}

static struct match matcher_find(const struct matcher *m, const unsigned char *in, size_t n, size_t at) {
    struct match best = { 0 };
    if (at + MIN_MATCH > n)
        return best;
    int32_t candidate = m->head[hash4(in + at)];
    for (int tries = 0; candidate >= 0 && at - (size_t)candidate <= MAX_DISTANCE && tries < MAX_CHAIN; tries++) {
        size_t from = (size_t)candidate, length = 0;
        while (at + length < n && in[from + length] == in[at + length])
            length++;
        if (length > best.length)
            best = (struct match){ length, at - from };
        candidate = m->previous[candidate];
    }
    if (best.length < MIN_MATCH)
        best.length = 0;
    return best;
}

static void put_length(struct buffer *out, size_t rest) {
    for (; rest >= 255; rest -= 255)
        buffer_byte(out, 255);
    buffer_byte(out, (unsigned)rest);
}

// A token byte, its halves being the number of literals and the match's length less 4, then literals and a distance.
static void put_group(struct buffer *out, const unsigned char *literals, size_t n, struct match match) {
    size_t extra = match.length ? match.length - MIN_MATCH : 0;
    buffer_byte(out, (unsigned)((n < 15 ? n : 15) << 4 | (extra < 15 ? extra : 15)));
    if (n >= 15)
        put_length(out, n - 15);
    buffer_bytes(out, literals, n);
    if (match.length == 0)
        return;
    buffer_byte(out, match.distance & 255);
    buffer_byte(out, (unsigned)(match.distance >> 8));
    if (extra >= 15)
        put_length(out, extra - 15);
}

static void compress(struct buffer *out, const unsigned char *in, size_t n) {
    struct matcher *m = malloc(sizeof *m);
    memset(m->head, -1, sizeof m->head);
    m->previous = calloc(n, sizeof *m->previous);
    m->count = n;
    size_t at = 0, start = 0;
    while (at < n) {
        struct match match = matcher_find(m, in, n, at);
        size_t step = match.length ? match.length : 1;
        if (match.length) {
            put_group(out, in + start, at - start, match);
            start = at + step;
        }
        for (; step > 0; step--)
            matcher_insert(m, in, n, at++);
    }
    put_group(out, in + start, n - start, (struct match){ 0 });
}

struct reader {
    const unsigned char *data;
    size_t size;
    size_t at;
};

static size_t left(const struct reader *r) { return r->size - r->at; }

static int get_length(struct reader *r, size_t *length) {
    unsigned next;
    if (*length < 15)
        return 1;
    do {
        if (left(r) < 1)
            return 0;
        next = r->data[r->at++];
        *length += next;
    } while (next == 255);
    return 1;
}

// Adds what the groups stand for to `out`; 0 if they are damaged.
static int expand(struct buffer *out, struct reader *r) {
    while (left(r) > 0) {
        unsigned token = r->data[r->at++];
        size_t literals = token >> 4, length = token & 15;
        if (!get_length(r, &literals) || literals > left(r))
            return 0;
        buffer_bytes(out, r->data + r->at, literals);
        r->at += literals;
        if (left(r) == 0)
            return 1;
        if (left(r) < 2)
            return 0;
        size_t distance = r->data[r->at] | (size_t)r->data[r->at + 1] << 8;
        r->at += 2;
        if (!get_length(r, &length))
            return 0;
        length += MIN_MATCH;
        if (distance == 0 || distance > out->size)
            return 0;
        buffer_reserve(out, length);
        for (; length > 0; length--) {
            out->data[out->size] = out->data[out->size - distance];
            out->size++;
        }
    }
    return 0;
}

static void write_text(struct buffer *b, size_t n) {
    static const char syllables[] = "bacidofugehilenoparisotu";
    uint32_t seed = 3;
    while (b->size < n) {
        seed = seed * 1664525 + 1013904223;
        uint32_t pick = seed >> 20;
        if (pick < 600 && b->size > 4000) {
            size_t from = b->size - 100 - pick * 6, length = 4 + (seed >> 8) % 30;
            for (; length > 0; length--)
                buffer_byte(b, b->data[from++]);
        } else {
            buffer_byte(b, pick % 5 == 0 ? ' ' : (unsigned)syllables[pick % 24]);
        }
    }
}

int main(int argc, char **argv) {
    size_t n = 1000 * (argc > 1 ? (size_t)atoi(argv[1]) : 8000);
    struct buffer in = { 0 }, packed = { 0 }, out = { 0 };
    write_text(&in, n);
    compress(&packed, in.data, in.size);
    struct reader r = { .data = packed.data, .size = packed.size };
    int good = expand(&out, &r) && out.size == in.size && memcmp(out.data, in.data, in.size) == 0;
    printf("%zu %zu %08x %s\n", in.size, packed.size, (unsigned)adler32(packed.data, packed.size), good ? "good" : "BROKEN");
    return !good;
}
