// The least number of edits from one text of n characters to another, in a table of ints: edit_distance [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int least(int a, int b, int c) {
    int m = a < b ? a : b;
    return m < c ? m : c;
}

static int distance(int *table, const char *a, int n, const char *b, int m) {
    int width = m + 1;
    for (int i = 0; i <= n; i++)
        table[i * width] = i;
    for (int j = 0; j <= m; j++)
        table[j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int change = table[(i - 1) * width + j - 1] + (a[i - 1] != b[j - 1]);
            table[i * width + j] = least(table[(i - 1) * width + j] + 1, table[i * width + j - 1] + 1, change);
        }
    return table[n * width + m];
}

// The longest text that both have in them, letters between them left out: one row of the table at a time.
static int common(int *row, const char *a, int n, const char *b, int m) {
    for (int j = 0; j <= m; j++)
        row[j] = 0;
    for (int i = 0; i < n; i++) {
        int corner = 0;
        for (int j = 0; j < m; j++) {
            int above = row[j + 1];
            if (a[i] == b[j])
                row[j + 1] = corner + 1;
            else if (row[j] > above)
                row[j + 1] = row[j];
            corner = above;
        }
    }
    return row[m];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 5000, m = n - n / 10;
    char *a = malloc(n), *b = malloc(m);
    int *table = malloc((n + 1) * (m + 1) * sizeof *table), *row = malloc((m + 1) * sizeof *row);
    uint32_t seed = 31;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        a[i] = "acgt"[seed >> 30];
        if (i < m)
            b[i] = (seed >> 8) % 5 == 0 ? 'a' : a[i];
    }
    printf("%d %d\n", distance(table, a, n, b, m), common(row, a, n, b, m));
    free(a);
    free(b);
    free(table);
    free(row);
    return 0;
}
