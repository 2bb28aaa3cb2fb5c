/* start.c: what emitted `main` calls first.
 *
 * Promises: what lee/fault.h says of `lee_start`. The environment is read once, here. */
#include <lee/fault.h>

#include <stdbool.h>
#include <stdlib.h>

#include "heap_limit.h"
#include "poison.h"
#include "signals.h"

/* `64M`, `1G`, `4096`: digits and at most one suffix. */
static bool parse_bytes(const char *string, size_t *bytes) {
    const char *at = string;
    size_t number = 0, unit = 1;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, (size_t)(*at - '0'), &number))
            return false;
    }
    if (at == string)
        return false;
    if (*at == 'K' || *at == 'M' || *at == 'G') {
        unit <<= *at == 'K' ? 10 : *at == 'M' ? 20 : 30;
        at++;
    }
    return *at == 0 && !__builtin_mul_overflow(number, unit, bytes);
}

static void read_memory_limit(void) {
    const char *value = getenv("LEE_MEMORY");
    size_t bytes = 0;
    if (value == NULL || value[0] == 0)
        return;
    if (!parse_bytes(value, &bytes))
        lee_setting_is_wrong("LEE_MEMORY", value, "give a number of bytes, or one with K, M or G, such as 64M");
    lee_heap_limit(bytes);
}

#ifdef LEE_ASAN
/* Frames must lie on the stack: the collector reads it, and tasks switch it. What ASAN_OPTIONS says
 * counts more. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_stack_use_after_return=0";
}
#endif

int lee_start(int argc, char **argv) {
    static bool started;
    (void)argc;
    (void)argv;
    if (started)
        return 0;
    started = true;
    read_memory_limit();
    lee_signals_install();
    return 0;
}
