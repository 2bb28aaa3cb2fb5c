/* The readers of ELF and .debug_line: on what compilers write (the runner compiles line_table_sample.c in many ways and
 * passes the files as arguments), and on damaged copies of it, each in a block of exactly its size, so that the
 * sanitizers see any read outside it. */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "check.h"

#include "../src/image.h"
#include "../src/line_table.h"

static uint8_t *read_file(const char *path, size_t *size) {
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0) {
        printf("%s cannot be read\n", path);
        exit(1);
    }
    *size = (size_t)status.st_size;
    uint8_t *data = malloc(*size);
    if (data == NULL || read(file, data, *size) != status.st_size)
        exit(1);
    close(file);
    return data;
}

/* The address of a function, or 0. */
static uint64_t address_of(const struct lee_image *image, const char *name) {
    struct lee_cursor rest = image->symbols;
    Elf64_Sym symbol;
    while (lee_cursor_left(&rest) >= sizeof symbol) {
        memcpy(&symbol, rest.at, sizeof symbol);
        rest.at += sizeof symbol;
        if (strcmp(lee_cursor_string_at(&image->symbol_names, symbol.st_name), name) == 0)
            return symbol.st_value;
    }
    return 0;
}

static void check_function(const struct lee_image *image, const char *path, const char *name, const char *file,
                           unsigned first, unsigned last) {
    struct lee_location location = {.address = address_of(image, name)};
    char place[512];
    if (location.address == 0) {
        printf("%s: no symbol %s\n", path, name);
        check_failures++;
        return;
    }
    lee_image_find_functions(image, &location, 1);
    lee_lines_find(image, &location, 1);
    snprintf(place, sizeof place, "%s%s%s", location.directory == NULL ? "" : location.directory,
             location.directory == NULL ? "" : "/", location.file == NULL ? "(none)" : location.file);
    if (location.function == NULL || strcmp(location.function, name) != 0 || strcmp(place, file) != 0 ||
        location.line < first || location.line > last) {
        printf("%s: %s is said to be %s at %s:%u, not %s:%u\n", path, name,
               location.function == NULL ? "nothing" : location.function, place, location.line, file, first);
        check_failures++;
    }
}

static void test_sample(const char *path) {
    struct lee_image image;
    size_t size;
    uint8_t *data = read_file(path, &size);
    CHECK(lee_image_parse(&image, data, size));
    check_function(&image, path, "plain", "plain.lee", 20, 22);
    check_function(&image, path, "in_folder", "some/folder/in.lee", 40, 42);
    check_function(&image, path, "absolute", "/abs/olute.lee", 60, 62);
    check_function(&image, path, "beyond", "../up/beyond.lee", 70000, 70002);
    struct lee_location nowhere = {.address = UINT64_MAX};
    lee_image_find_functions(&image, &nowhere, 1);
    lee_lines_find(&image, &nowhere, 1);
    CHECK(nowhere.file == NULL && nowhere.function == NULL);
    free(data);
}

/* xorshift: the same damage in each run. */
static uint64_t state = 88172645463325252;

static uint64_t chance(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void look_everywhere(const uint8_t *data, size_t size, const uint64_t *addresses, size_t count) {
    struct lee_image image;
    struct lee_location locations[4] = {{.address = 0}};
    size_t length = 0;
    uint64_t address;
    if (!lee_image_parse(&image, data, size))
        return;
    for (size_t i = 0; i < count; i++)
        locations[i] = (struct lee_location){.address = addresses[i]};
    lee_image_find_functions(&image, locations, count);
    lee_lines_find(&image, locations, count);
    lee_image_address(&image, chance(size), &address);
    for (size_t i = 0; i < count; i++) {
        length += locations[i].function == NULL ? 0 : strlen(locations[i].function);
        length += locations[i].file == NULL ? 0 : strlen(locations[i].file);
        length += locations[i].directory == NULL ? 0 : strlen(locations[i].directory);
    }
    CHECK(length <= 12 * size);
}

static void damage(uint8_t *data, size_t size, size_t from, size_t length) {
    static const uint8_t interesting[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
    if (length == 0 || from > size || length > size - from)
        return;
    for (uint64_t i = 1 + chance(6); i > 0; i--) {
        size_t at = from + chance(length);
        data[at] = chance(2) ? interesting[chance(sizeof interesting)] : (uint8_t)chance(256);
    }
}

/* Most of the damage goes where it is looked at: headers, line table, section headers. */
static void test_damage(const char *path, unsigned rounds) {
    struct lee_image image;
    size_t size;
    uint8_t *whole = read_file(path, &size);
    if (!lee_image_parse(&image, whole, size))
        return;
    uint64_t addresses[4] = {address_of(&image, "plain"), address_of(&image, "in_folder"),
                             address_of(&image, "absolute"), address_of(&image, "beyond")};
    Elf64_Ehdr elf;
    memcpy(&elf, whole, sizeof elf);
    size_t line = (size_t)(image.line.at - whole), line_size = lee_cursor_left(&image.line);
    size_t names = (size_t)(image.symbols.at - whole), names_size = lee_cursor_left(&image.symbols);
    for (unsigned round = 0; round < rounds; round++) {
        size_t kept = chance(16) == 0 ? chance(size) : size;
        uint8_t *copy = malloc(kept == 0 ? 1 : kept);
        if (copy == NULL)
            exit(1);
        memcpy(copy, whole, kept);
        switch (chance(5)) {
        case 0:
            damage(copy, kept, 0, sizeof elf + 56 * elf.e_phnum);
            break;
        case 1:
            damage(copy, kept, elf.e_shoff, (size_t)elf.e_shnum * elf.e_shentsize);
            break;
        case 2:
            damage(copy, kept, names, names_size);
            break;
        default:
            damage(copy, kept, line, line_size);
        }
        look_everywhere(copy, kept, addresses, 4);
        free(copy);
    }
    free(whole);
}

static void test_cursor(void) {
    static const uint8_t bytes[] = {0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 'a', 'b', 0, 'c'};
    struct lee_cursor cursor = lee_cursor_over(bytes, sizeof bytes);
    CHECK(lee_cursor_unsigned(&cursor) == 624485);
    CHECK(lee_cursor_signed(&cursor) == -1);
    CHECK(lee_cursor_signed(&cursor) == -128);
    CHECK(strcmp(lee_cursor_string(&cursor), "ab") == 0 && !cursor.failed);
    CHECK(strcmp(lee_cursor_string(&cursor), "") == 0 && cursor.failed);
    cursor = lee_cursor_over(bytes, 3);
    CHECK(lee_cursor_number(&cursor, 2) == 0x8ee5);
    CHECK(lee_cursor_number(&cursor, 2) == 0 && cursor.failed && lee_cursor_left(&cursor) == 0);
    cursor = lee_cursor_over(bytes + 4, 1);
    CHECK(lee_cursor_unsigned(&cursor) == 0 && cursor.failed);
    cursor = lee_cursor_over(NULL, 0);
    CHECK(lee_cursor_left(&cursor) == 0 && lee_cursor_byte(&cursor) == 0 && cursor.failed);
    CHECK(!lee_cursor_take(&cursor, 0).failed && lee_cursor_take(&cursor, 1).failed);
}

static void test_no_image(void) {
    struct lee_image image;
    CHECK(!lee_image_parse(&image, NULL, 0));
    CHECK(!lee_image_parse(&image, (const uint8_t *)"\x7f" "ELF", 4));
    uint8_t blank[64] = {0};
    CHECK(!lee_image_parse(&image, blank, sizeof blank));
}

int main(int argc, char **argv) {
    test_cursor();
    test_no_image();
    for (int i = 1; i < argc; i++) {
        test_sample(argv[i]);
        test_damage(argv[i], UNDER_ASAN ? 1500 : 4000);
    }
    if (argc < 2)
        printf("note: no samples were given; tests/run does\n");
    return check_end();
}
