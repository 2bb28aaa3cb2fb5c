// The largest number of pancake flips over all permutations of n: fannkuch [N].
#include <stdio.h>
#include <stdlib.h>

#define MOST 16

static int count_flips(const int p[MOST], int n) {
    int q[MOST], flips = 0;
    for (int i = 0; i < n; i++)
        q[i] = p[i];
    for (int first = q[0]; first != 0; first = q[0]) {
        for (int low = 0, high = first; low < high; low++, high--) {
            int t = q[low];
            q[low] = q[high];
            q[high] = t;
        }
        flips++;
    }
    return flips;
}

// Moves the first r + 1 elements one place to the left, the first one to their end.
static void rotate(int p[MOST], int r) {
    int first = p[0];
    for (int i = 0; i < r; i++)
        p[i] = p[i + 1];
    p[r] = first;
}

static int fannkuch(int n, long *checksum) {
    int p[MOST], turns[MOST];
    int most = 0;
    for (int i = 0; i < n; i++) {
        p[i] = i;
        turns[i] = i;
    }
    for (long number = 0;; number++) {
        int flips = p[0] == 0 ? 0 : count_flips(p, n);
        if (flips > most)
            most = flips;
        *checksum += number % 2 == 0 ? flips : -flips;
        int r = 1;
        for (; r < n; r++) {
            rotate(p, r);
            if (turns[r]-- > 0)
                break;
            turns[r] = r;
        }
        if (r == n)
            return most;
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10;
    long checksum = 0;
    if (n < 1 || n > MOST)
        return 1;
    int most = fannkuch(n, &checksum);
    printf("%ld %d\n", checksum, most);
    return 0;
}
