// Sorts n random numbers: quicksort [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void insertion_sort(int *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        int x = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static int middle(int x, int y, int z) {
    if (x < y)
        return y < z ? y : x < z ? z : x;
    return x < z ? x : y < z ? z : y;
}

static void quicksort(int *a, size_t n) {
    while (n > 16) {
        int pivot = middle(a[0], a[n / 2], a[n - 1]);
        size_t i = 0, j = n - 1;
        for (;;) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i >= j)
                break;
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
        quicksort(a, i);
        a += i;
        n -= i;
    }
    insertion_sort(a, n);
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 5000000;
    int *a = malloc(n * sizeof *a);
    uint32_t seed = 7;
    for (size_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        a[i] = (int)(seed >> 4);
    }
    quicksort(a, n);
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && a[i - 1] > a[i]) {
            free(a);
            return 1;
        }
        sum = sum * 31 + (uint32_t)a[i];
    }
    printf("%08x\n", (unsigned)sum);
    free(a);
    return 0;
}
