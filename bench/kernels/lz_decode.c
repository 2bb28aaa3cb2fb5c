// Unpacks blocks in a format like LZ4's, with pointers, 30 times: lz_decode [KILOBYTES].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The number of bytes in `out`, or -1 if the block is damaged.
static int decode(const unsigned char *in, int n, unsigned char *out, int room) {
    const unsigned char *ip = in, *in_end = in + n;
    unsigned char *op = out, *out_end = out + room;
    while (ip < in_end) {
        int token = *ip++;
        int length = token >> 4;
        if (length == 15) {
            int more;
            do {
                if (ip >= in_end)
                    return -1;
                more = *ip++;
                length += more;
            } while (more == 255);
        }
        if (length > in_end - ip || length > out_end - op)
            return -1;
        while (length-- > 0)
            *op++ = *ip++;
        if (ip == in_end)
            return (int)(op - out);
        if (in_end - ip < 2)
            return -1;
        int distance = ip[0] | ip[1] << 8;
        ip += 2;
        if (distance == 0 || distance > op - out)
            return -1;
        length = token & 15;
        if (length == 15) {
            int more;
            do {
                if (ip >= in_end)
                    return -1;
                more = *ip++;
                length += more;
            } while (more == 255);
        }
        length += 4;
        if (length > out_end - op)
            return -1;
        const unsigned char *from = op - distance;
        while (length-- > 0)
            *op++ = *from++;
    }
    return -1;
}

// Writes about n bytes of groups: a token, whose halves are the numbers of literals and of copied
// bytes less 4.
static int write_block(unsigned char *block, int n) {
    uint32_t seed = 29;
    int at = 0, written = 0;
    while (at < n) {
        seed = seed * 1664525 + 1013904223;
        int literals = 1 + (int)(seed >> 24) % 24, length = (int)(seed >> 14 & 31);
        int distance = 1 + (int)(seed >> 6) % 4000;
        block[at++] = (unsigned char)((literals < 15 ? literals : 15) << 4 | (length < 15 ? length : 15));
        if (literals >= 15)
            block[at++] = (unsigned char)(literals - 15);
        for (int i = 0; i < literals; i++)
            block[at++] = (unsigned char)("etaoinsrhldcu"[(i + (int)(seed >> 20)) % 13]);
        written += literals;
        if (distance > written)
            distance = written;
        block[at++] = (unsigned char)(distance & 255);
        block[at++] = (unsigned char)(distance >> 8);
        if (length >= 15)
            block[at++] = (unsigned char)(length - 15);
        written += length + 4;
    }
    block[at++] = 1 << 4;
    block[at++] = '.';
    return at;
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 4000), room = 3 * n + 1000;
    unsigned char *block = malloc(n + 400), *out = malloc(room);
    int size = write_block(block, n), got = 0;
    uint32_t sum = 0;
    for (int round = 0; round < 30; round++) {
        got = decode(block, size, out, room);
        for (int i = round; i < got; i += 61)
            sum = sum * 31 + out[i];
    }
    printf("%d %d %08x\n", size, got, (unsigned)sum);
    free(block);
    free(out);
    return 0;
}
