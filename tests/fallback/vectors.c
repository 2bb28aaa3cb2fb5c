//@ out: 6 8 10 12
//@ out: 30
// Vectors of GNU C, and intrinsics.
#include <stdio.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif
typedef int four __attribute__((vector_size(16)));
static four add(four a, four b) { return a + b; }
static int dot(const int *a, const int *b) {
#ifdef __x86_64__
    __m128i p = _mm_set_epi32(a[3] * b[3], a[2] * b[2], a[1] * b[1], a[0] * b[0]);
    int out[4];
    _mm_storeu_si128((__m128i *)out, p);
    return out[0] + out[1] + out[2] + out[3];
#else
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
#endif
}
int main(void) {
    four a = { 1, 2, 3, 4 }, b = { 5, 6, 7, 8 }, c = add(a, b);
    int x[4] = { 1, 2, 3, 4 };
    printf("%d %d %d %d\n", c[0], c[1], c[2], c[3]);
    printf("%d\n", dot(x, x));
    return 0;
}
