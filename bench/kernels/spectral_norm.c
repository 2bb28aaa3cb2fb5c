// The spectral norm of an infinite matrix, cut off at n by n: spectral_norm [N].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double element(size_t i, size_t j) {
    return 1.0 / (double)((i + j) * (i + j + 1) / 2 + i + 1);
}

static void multiply(double *out, const double *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += element(i, j) * v[j];
        out[i] = sum;
    }
}

static void multiply_transposed(double *out, const double *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += element(j, i) * v[j];
        out[i] = sum;
    }
}

static void multiply_both(double *out, const double *v, double *between, size_t n) {
    multiply(between, v, n);
    multiply_transposed(out, between, n);
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 2000;
    double *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v), *between = malloc(n * sizeof *between);
    for (size_t i = 0; i < n; i++)
        u[i] = 1;
    for (int i = 0; i < 10; i++) {
        multiply_both(v, u, between, n);
        multiply_both(u, v, between, n);
    }
    double uv = 0, vv = 0;
    for (size_t i = 0; i < n; i++) {
        uv += u[i] * v[i];
        vv += v[i] * v[i];
    }
    printf("%.9f\n", sqrt(uv / vv));
    free(u);
    free(v);
    free(between);
    return 0;
}
