// Multiplies a sparse matrix of n rows by a vector, 60 times: sparse [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Compressed rows: the elements of row i are those from row[i] to row[i + 1].
struct matrix {
    int rows;
    int elements;
    int *row;
    int *col;
    double *val;
};

static void multiply(const struct matrix *m, const double *x, double *y, int n) {
    for (int i = 0; i < m->rows && i < n; i++) {
        double sum = 0;
        for (int k = m->row[i]; k < m->row[i + 1]; k++)
            sum += m->val[k] * x[m->col[k]];
        y[i] = sum;
    }
}

static void fill(struct matrix *m, int rows) {
    int *row = calloc(rows + 1, sizeof *row);
    uint32_t seed = 13;
    for (int i = 0; i < rows; i++)
        row[i + 1] = row[i] + 3 + (i * 7 % 11);
    int elements = row[rows];
    int *col = malloc(elements * sizeof *col);
    double *val = malloc(elements * sizeof *val);
    for (int i = 0; i < rows; i++)
        for (int k = row[i]; k < row[i + 1]; k++) {
            seed = seed * 1664525 + 1013904223;
            col[k] = (int)((seed >> 8) % (uint32_t)rows);
            val[k] = (double)(seed >> 20) / 40000;
        }
    *m = (struct matrix){ rows, elements, row, col, val };
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100000;
    struct matrix m;
    fill(&m, n);
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    for (int i = 0; i < n; i++)
        x[i] = 1.0 / (i + 1);
    for (int round = 0; round < 60; round++) {
        multiply(&m, x, y, n);
        double *other = x;
        x = y;
        y = other;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    printf("%d %d %.6e\n", m.rows, m.elements, sum);
    return 0;
}
