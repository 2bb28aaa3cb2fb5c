// The product of two n by n matrices, with indices of type int: matrix_int [N].
#include <stdio.h>
#include <stdlib.h>

static void fill(double *m, int n, int seed) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            m[i * n + j] = (i * seed + j * 3) % 11 - 5;
}

// Along the rows of all three.
static void multiply(double *c, const double *a, const double *b, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            c[i * n + j] = 0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

// Down the columns of the second, with a sum for each element.
static void multiply_columns(double *c, const double *a, const double *b, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 600;
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
    double *c = malloc(n * n * sizeof *c), *d = malloc(n * n * sizeof *d);
    fill(a, n, 7);
    fill(b, n, 5);
    multiply(c, a, b, n);
    multiply_columns(d, b, c, n);
    double trace = 0, all = 0;
    for (int i = 0; i < n; i++) {
        trace += d[i * n + i];
        for (int j = 0; j < n; j++)
            all += c[i * n + j];
    }
    printf("%.1f %.1f\n", trace, all);
    free(a);
    free(b);
    free(c);
    free(d);
    return 0;
}
