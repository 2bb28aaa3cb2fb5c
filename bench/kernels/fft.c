// Fast Fourier transforms forth and back, over 2^N points: fft [N].
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct complex { double re, im; };

static void reverse_bits(struct complex *x, size_t n) {
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
}

// In place. n is a power of two, w the first half of its roots of unity; the inverse leaves out the division by n.
static void transform(struct complex *x, size_t n, const struct complex *w, int inverse) {
    reverse_bits(x, n);
    for (size_t half = 1; half < n; half *= 2) {
        size_t stride = n / (2 * half);
        for (size_t start = 0; start < n; start += 2 * half) {
            for (size_t k = 0; k < half; k++) {
                double c = w[k * stride].re, s = inverse ? -w[k * stride].im : w[k * stride].im;
                struct complex a = x[start + k], b = x[start + k + half];
                double re = b.re * c - b.im * s, im = b.re * s + b.im * c;
                x[start + k].re = a.re + re;
                x[start + k].im = a.im + im;
                x[start + k + half].re = a.re - re;
                x[start + k + half].im = a.im - im;
            }
        }
    }
}

int main(int argc, char **argv) {
    int log = argc > 1 ? atoi(argv[1]) : 16;
    if (log < 1 || log > 24)
        return 1;
    size_t n = (size_t)1 << log;
    struct complex *x = malloc(n * sizeof *x), *w = malloc(n / 2 * sizeof *w);
    uint32_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i].re = seed >> 8;
        x[i].im = 0;
    }
    for (size_t i = 0; i < n / 2; i++) {
        double angle = -2 * acos(-1.0) * (double)i / (double)n;
        w[i].re = cos(angle);
        w[i].im = sin(angle);
    }
    for (int round = 0; round < 30; round++) {
        transform(x, n, w, 0);
        transform(x, n, w, 1);
        for (size_t i = 0; i < n; i++) {
            x[i].re /= (double)n;
            x[i].im /= (double)n;
        }
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i].re * (double)(i % 7) + x[i].im;
    printf("%.9g\n", sum);
    free(x);
    free(w);
    return 0;
}
