// Reads a configuration file: ini FILE SECTION KEY... prints the values, `-` for what is not there.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *section, *key, *value;
    struct entry *next;
};

struct ini {
    struct entry *buckets[64];
    size_t count;
};

static unsigned hash(const char *section, const char *key) {
    unsigned h = 5381;
    for (; *section; section++)
        h = h * 33 ^ (unsigned char)*section;
    for (; *key; key++)
        h = h * 33 ^ (unsigned char)*key;
    return h % 64;
}

static char *trim(char *s) {
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return s;
}

static void ini_set(struct ini *ini, const char *section, const char *key, const char *value) {
    unsigned b = hash(section, key);
    for (struct entry *e = ini->buckets[b]; e != NULL; e = e->next) {
        if (strcmp(e->section, section) == 0 && strcmp(e->key, key) == 0) {
            free(e->value);
            e->value = strdup(value);
            return;
        }
    }
    struct entry *e = malloc(sizeof *e);
    e->section = strdup(section);
    e->key = strdup(key);
    e->value = strdup(value);
    e->next = ini->buckets[b];
    ini->buckets[b] = e;
    ini->count++;
}

static const char *ini_get(const struct ini *ini, const char *section, const char *key) {
    for (const struct entry *e = ini->buckets[hash(section, key)]; e != NULL; e = e->next)
        if (strcmp(e->section, section) == 0 && strcmp(e->key, key) == 0)
            return e->value;
    return NULL;
}

static struct ini *ini_load(const char *path) {
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return NULL;
    struct ini *ini = calloc(1, sizeof *ini);
    char line[256], section[64] = "";
    while (fgets(line, sizeof line, f)) {
        char *s = trim(line);
        if (*s == '#' || *s == '\0')
            continue;
        if (*s == '[') {
            char *end = strchr(s, ']');
            if (end != NULL)
                *end = '\0';
            snprintf(section, sizeof section, "%s", s + 1);
            continue;
        }
        char *equals = strchr(s, '=');
        if (equals == NULL) {
            fprintf(stderr, "%s: no value: %s\n", path, s);
            continue;
        }
        *equals = '\0';
        ini_set(ini, section, trim(s), trim(equals + 1));
    }
    fclose(f);
    return ini;
}

static void ini_free(struct ini *ini) {
    for (int i = 0; i < 64; i++) {
        struct entry *e = ini->buckets[i];
        while (e != NULL) {
            struct entry *next = e->next;
            free(e->section);
            free(e->key);
            free(e->value);
            free(e);
            e = next;
        }
    }
    free(ini);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: ini FILE SECTION KEY...\n");
        return 2;
    }
    struct ini *ini = ini_load(argv[1]);
    if (ini == NULL) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    for (int i = 3; i < argc; i++) {
        const char *value = ini_get(ini, argv[2], argv[i]);
        printf("%s\n", value != NULL ? value : "-");
    }
    printf("%zu entries\n", ini->count);
    ini_free(ini);
    return 0;
}
