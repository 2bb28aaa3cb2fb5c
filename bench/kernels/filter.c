// Filters n thousand samples by 32 taps and by three sections of second order: filter [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAPS = 32, SECTIONS = 3 };

// Of the first samples only those are summed that are there.
static void fir(float *out, const float *in, int n, const float *h, int taps) {
    for (int i = 0; i < n; i++) {
        int reach = i + 1 < taps ? i + 1 : taps;
        float sum = 0;
        for (int k = 0; k < reach; k++)
            sum += h[k] * in[i - k];
        out[i] = sum;
    }
}

struct section {
    float b0, b1, b2, a1, a2;
    float z1, z2;
};

static void iir(float *samples, int n, struct section *s, int count) {
    for (int i = 0; i < n; i++) {
        float x = samples[i];
        for (int k = 0; k < count; k++) {
            float y = s[k].b0 * x + s[k].z1;
            s[k].z1 = s[k].b1 * x - s[k].a1 * y + s[k].z2;
            s[k].z2 = s[k].b2 * x - s[k].a2 * y;
            x = y;
        }
        samples[i] = x;
    }
}

// Every second sample, and how loud they are.
static double halve(float *out, const float *in, int n) {
    double power = 0;
    for (int i = 0; i < n / 2; i++) {
        out[i] = (in[2 * i] + in[2 * i + 1]) / 2;
        power += (double)out[i] * out[i];
    }
    return power;
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 6000);
    float *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out), *half = malloc(n / 2 * sizeof *half);
    float h[TAPS];
    struct section s[SECTIONS] = { { 0.2f, 0.4f, 0.2f, -0.4f, 0.2f }, { 0.3f, 0.6f, 0.3f, -0.2f, 0.4f }, { 0.1f, 0.2f, 0.1f, -0.9f, 0.3f } };
    uint32_t seed = 19;
    for (int k = 0; k < TAPS; k++)
        h[k] = (float)(TAPS - k) / (TAPS * TAPS);
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        in[i] = (float)(int)(seed >> 16 & 65535) / 32768 - 1;
    }
    fir(out, in, n, h, TAPS);
    iir(out, n, s, SECTIONS);
    double power = halve(half, out, n);
    printf("%.6f %.6f\n", power, half[n / 2 - 1]);
    free(in);
    free(out);
    free(half);
    return 0;
}
