// The Mandelbrot set, n by n points, eight to a byte: mandelbrot [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 50 };

static int inside(double cr, double ci) {
    double zr = 0, zi = 0, zr2 = 0, zi2 = 0;
    for (int i = 0; i < MOST; i++) {
        zi = 2 * zr * zi + ci;
        zr = zr2 - zi2 + cr;
        zr2 = zr * zr;
        zi2 = zi * zi;
        if (zr2 + zi2 > 4)
            return 0;
    }
    return 1;
}

static void draw(unsigned char *bits, size_t width, size_t n) {
    for (size_t y = 0; y < n; y++) {
        double ci = 2.0 * (double)y / (double)n - 1;
        for (size_t x = 0; x < n; x++) {
            double cr = 2.0 * (double)x / (double)n - 1.5;
            if (inside(cr, ci))
                bits[y * width + x / 8] |= (unsigned char)(0x80 >> x % 8);
        }
    }
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 1500;
    size_t width = (n + 7) / 8;
    unsigned char *bits = calloc(n * width, 1);
    draw(bits, width, n);
    uint32_t sum = 0;
    for (size_t i = 0; i < n * width; i++)
        sum = sum * 31 + bits[i];
    printf("%08x\n", (unsigned)sum);
    free(bits);
    return 0;
}
