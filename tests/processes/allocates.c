#define _GNU_SOURCE
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pages of the program that are resident, in KB. */
int c_resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long all, resident;
    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2)
        abort();
    fclose(file);
    return (int)(resident * (sysconf(_SC_PAGESIZE) / 1024));
}

static char *all[4096];
static int count;

static char *kept(void *block) {
    if (block == NULL)
        return NULL;
    return all[count++ % 4096] = block;
}

static char *printed(const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length < 0 ? NULL : text;
}

/* Loses some megabytes, by each function that allocates. A sum of what is in them. */
int c_loses(int megabytes) {
    void *(*allocate)(size_t) = malloc;
    char *text = NULL, *aligned = NULL, *line = NULL;
    size_t room = 0;
    int sum = 0;
    for (int i = 0; i < megabytes * 4; i++) {
        char *block = kept(allocate(60 << 10)), *zeroed = kept(calloc(60, 1 << 10));
        if (block == NULL || zeroed == NULL || posix_memalign((void **)&aligned, 64, 60 << 10) != 0)
            return -1;
        memset(block, 1, 60 << 10);
        memset(zeroed + 1, 1, (60 << 10) - 1);
        memset(kept(aligned), 1, 60 << 10);
        text = realloc(text, (size_t)(i + 1) * 4096); /* it moves what it has */
        memset(text + (size_t)i * 4096, i, 4096);
        for (int k = 0; k <= i; k++)
            sum += text[(size_t)k * 4096 + 7] == (char)k;
        block[100] = 0;
        sum += (int)strlen(kept(strdup(block))) + (int)strlen(kept(strndup(block, 10)));
        sum += (int)strlen(kept(printed("%050d", i)));
        free(kept(aligned_alloc(128, 1 << 16)));
    }
    FILE *file = fopen("/proc/self/maps", "r");
    while (getline(&line, &room, file) > 0)
        sum += line[0] == 0;
    fclose(file);
    return sum;
}

/* How many megabytes there are until malloc says no; all of it is freed. */
int c_fills(void) {
    int n = 0;
    while (n < 4096 && (all[n] = malloc(1 << 20)) != NULL)
        memset(all[n++], 1, 1 << 20);
    for (int i = 0; i < n; i++)
        free(all[i]);
    return n;
}
