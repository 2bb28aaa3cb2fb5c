// Conway's game of life on a board of n by n cells without an edge, 60 generations: life [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct board {
    int width, height;
    unsigned char *cells;
};

static int neighbours(const struct board *b, int x, int y) {
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int nx = (x + dx + b->width) % b->width, ny = (y + dy + b->height) % b->height;
            if (dx != 0 || dy != 0)
                count += b->cells[ny * b->width + nx];
        }
    return count;
}

// Cells at the edge look around it; the others have all their neighbours beside them.
static void step(struct board *next, const struct board *b) {
    int w = b->width;
    for (int y = 0; y < b->height; y++)
        for (int x = 0; x < w; x++) {
            int count;
            if (x == 0 || y == 0 || x == w - 1 || y == b->height - 1)
                count = neighbours(b, x, y);
            else
                count = b->cells[(y - 1) * w + x - 1] + b->cells[(y - 1) * w + x] + b->cells[(y - 1) * w + x + 1]
                        + b->cells[y * w + x - 1] + b->cells[y * w + x + 1]
                        + b->cells[(y + 1) * w + x - 1] + b->cells[(y + 1) * w + x] + b->cells[(y + 1) * w + x + 1];
            next->cells[y * w + x] = count == 3 || (count == 2 && b->cells[y * w + x]);
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    struct board a = { n, n, malloc(n * n) }, b = { n, n, malloc(n * n) };
    uint32_t seed = 37, sum = 0;
    for (int i = 0; i < n * n; i++) {
        seed = seed * 1664525 + 1013904223;
        a.cells[i] = seed >> 24 & 1;
    }
    for (int generation = 0; generation < 30; generation++) {
        step(&b, &a);
        step(&a, &b);
    }
    for (int i = 0; i < n * n; i++)
        sum = sum * 31 + a.cells[i];
    printf("%08x\n", (unsigned)sum);
    return 0;
}
