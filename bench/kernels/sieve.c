// The primes up to n thousand and their largest gap, ten times: sieve [N].
#include <stdio.h>
#include <stdlib.h>

static int sieve(unsigned char *composite, int n) {
    for (int i = 0; i <= n; i++)
        composite[i] = i < 2;
    for (int i = 2; i * i <= n; i++)
        if (!composite[i])
            for (int j = i * i; j <= n; j += i)
                composite[j] = 1;
    int count = 0;
    for (int i = 2; i <= n; i++)
        count += !composite[i];
    return count;
}

static int largest_gap(const unsigned char *composite, int n) {
    int last = 2, largest = 0;
    for (int i = 3; i <= n; i++)
        if (!composite[i]) {
            if (i - last > largest)
                largest = i - last;
            last = i;
        }
    return largest;
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 6000);
    unsigned char *composite = malloc(n + 1);
    unsigned sum = 0;
    for (int round = 0; round < 10; round++)
        sum = sum * 31 + (unsigned)sieve(composite, n - round) + (unsigned)largest_gap(composite, n - round);
    printf("%08x\n", sum);
    free(composite);
    return 0;
}
