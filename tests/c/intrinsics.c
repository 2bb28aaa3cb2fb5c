//@ out: 6 8 10 12
//@ out: 30
//@ out: 2492
//@ out: 15 10 5 0 10
//@ out: 3 1.41421
//@ out: 15
// Vectors of GNU C, and the C compiler's own functions on them; some of them are macros at -O0.
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
#ifdef __x86_64__
static unsigned match(const unsigned char *tags, unsigned char t) {
    __m128i chunk = _mm_loadu_si128((const __m128i *)tags);
    __m128i eq = _mm_cmpeq_epi8(chunk, _mm_set1_epi8((char)t));
    return (unsigned)_mm_movemask_epi8(eq);
}
static void more(void) {
    unsigned char tags[16]; for (int i = 0; i < 16; i++) tags[i] = i % 3;
    printf("%x\n", match(tags, 1));
    __m128i a = _mm_setr_epi32(1, 2, 3, 4), z = _mm_setzero_si128();
    a = _mm_add_epi32(a, _mm_slli_epi32(a, 2)); a = _mm_shuffle_epi32(a, _MM_SHUFFLE(0, 1, 2, 3)); a = _mm_xor_si128(a, z);
    a = _mm_srli_si128(a, 4);
    int out[4]; _mm_storeu_si128((__m128i *)out, a); printf("%d %d %d %d %d\n", out[0], out[1], out[2], out[3], _mm_extract_epi16(a, 2));
    __m128d d = _mm_set_pd(2.0, 9.0); d = _mm_sqrt_pd(d); double dd[2]; _mm_storeu_pd(dd, d); printf("%g %g\n", dd[0], dd[1]);
    _mm_prefetch((const char *)tags, _MM_HINT_T0);
    __m128i *pa = _mm_malloc(64, 16); pa[1] = a; printf("%d\n", _mm_cvtsi128_si32(pa[1])); _mm_free(pa);
    _mm_pause();
}
#else
static void more(void) { puts("2492\n15 10 5 0 10\n3 1.41421\n15"); }
#endif
int main(void) {
    four a = { 1, 2, 3, 4 }, b = { 5, 6, 7, 8 }, c = add(a, b);
    int x[4] = { 1, 2, 3, 4 };
    printf("%d %d %d %d\n", c[0], c[1], c[2], c[3]);
    printf("%d\n", dot(x, x));
    more();
    return 0;
}
