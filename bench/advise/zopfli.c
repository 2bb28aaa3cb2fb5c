// Compresses a file to standard output with zopfli's library.
#include "zopfli.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    static unsigned char in[1 << 17];
    if (!file) return 1;
    size_t n = fread(in, 1, sizeof in, file), size = 0;
    unsigned char *out = NULL;
    ZopfliOptions options;
    ZopfliInitOptions(&options);
    options.numiterations = 3;
    ZopfliCompress(&options, ZOPFLI_FORMAT_ZLIB, in, n, &out, &size);
    fwrite(out, 1, size, stdout);
    free(out);
    return fclose(file);
}
