// The product of two n by n matrices: matrix_multiply [N].
#include <stdio.h>
#include <stdlib.h>

static void fill(double *m, size_t n, double seed) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            m[i * n + j] = seed * (double)((i * 7 + j * 3) % 11) - 1;
}

// The middle loop runs over k, so that the inner one walks along rows.
static void multiply(double *c, const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (size_t k = 0; k < n; k++) {
            double aik = a[i * n + k];
            for (size_t j = 0; j < n; j++)
                c[i * n + j] += aik * b[k * n + j];
        }
    }
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 800;
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b), *c = malloc(n * n * sizeof *c);
    fill(a, n, 0.25);
    fill(b, n, 0.5);
    multiply(c, a, b, n);
    double trace = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        trace += c[i * n + i];
        for (size_t j = 0; j < n; j++)
            all += c[i * n + j];
    }
    printf("%.6f %.6f\n", trace, all);
    free(a);
    free(b);
    free(c);
    return 0;
}
