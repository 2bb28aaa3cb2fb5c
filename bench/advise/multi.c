// Fetches one URL over N handles at the same time by curl's multi interface, and counts the calls
// of curl's allocator by the function that made them: `multi URL N BYTES`. Prints `total N`, then
// the addresses with their counts, for addr2line.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct site {
    void *at;
    unsigned long calls;
} sites[512];
static unsigned long total;

static void count(void *at) {
    total++;
    for (unsigned n = 0; n < 512; n++) {
        if (!sites[n].at) sites[n].at = at;
        if (sites[n].at == at) {
            sites[n].calls++;
            return;
        }
    }
}

static void *counted_malloc(size_t n) {
    count(__builtin_return_address(0));
    return malloc(n);
}

static void *counted_calloc(size_t n, size_t size) {
    count(__builtin_return_address(0));
    return calloc(n, size);
}

static void *counted_realloc(void *p, size_t n) {
    count(__builtin_return_address(0));
    return realloc(p, n);
}

static char *counted_strdup(const char *s) {
    count(__builtin_return_address(0));
    return strdup(s);
}

static size_t take(char *data, size_t size, size_t n, void *sum) {
    for (size_t i = 0; i < size * n; i += 512) *(unsigned long *)sum += (unsigned char)data[i];
    ((unsigned long *)sum)[1] += size * n;
    return size * n;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int handles = atoi(argv[2]), running = 0;
    unsigned long sums[2] = { 0, 0 };
    curl_global_init_mem(CURL_GLOBAL_ALL, counted_malloc, free, counted_realloc, counted_strdup, counted_calloc);
    CURLM *multi = curl_multi_init();
    CURL **all = calloc((size_t)handles, sizeof *all);
    for (int n = 0; n < handles; n++) {
        all[n] = curl_easy_init();
        curl_easy_setopt(all[n], CURLOPT_URL, argv[1]);
        curl_easy_setopt(all[n], CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(all[n], CURLOPT_WRITEDATA, sums);
        curl_multi_add_handle(multi, all[n]);
    }
    do {
        curl_multi_perform(multi, &running);
        if (running) curl_multi_wait(multi, NULL, 0, 1000, NULL);
    } while (running);
    for (int n = 0; n < handles; n++) {
        curl_multi_remove_handle(multi, all[n]);
        curl_easy_cleanup(all[n]);
    }
    curl_multi_cleanup(multi);
    curl_global_cleanup();
    if (sums[1] != strtoul(argv[3], NULL, 10) * (unsigned long)handles) return 1;
    printf("total %lu\n", total);
    for (unsigned n = 0; n < 512 && sites[n].at; n++) printf("%p %lu\n", sites[n].at, sites[n].calls);
    return 0;
}
