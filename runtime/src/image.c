/* image.c: see image.h. Offsets of structures are those of the ELF-64 object file format. */
#include "image.h"

#include <elf.h>

/* A copy of the structure at `offset`; false if it is not wholly in the file. */
static bool copy(const struct lee_cursor *file, uint64_t offset, void *to, size_t size) {
    struct lee_cursor rest = *file;
    lee_cursor_take(&rest, offset);
    struct lee_cursor part = lee_cursor_take(&rest, size);
    if (part.failed)
        return false;
    memcpy(to, part.at, size);
    return true;
}

static bool section_header(const struct lee_image *image, const Elf64_Ehdr *elf, unsigned index, Elf64_Shdr *header) {
    return index < elf->e_shnum && elf->e_shentsize >= sizeof *header &&
           copy(&image->file, elf->e_shoff + (uint64_t)index * elf->e_shentsize, header, sizeof *header);
}

static struct lee_cursor contents(const struct lee_image *image, const Elf64_Shdr *header) {
    struct lee_cursor rest = image->file;
    if (header->sh_type == SHT_NOBITS || (header->sh_flags & SHF_COMPRESSED))
        return (struct lee_cursor){.failed = true};
    lee_cursor_take(&rest, header->sh_offset);
    return lee_cursor_take(&rest, header->sh_size);
}

static void read_section(struct lee_image *image, const Elf64_Ehdr *elf, const Elf64_Shdr *header, const char *name) {
    Elf64_Shdr names;
    if (strcmp(name, ".debug_line") == 0)
        image->line = contents(image, header);
    else if (strcmp(name, ".debug_line_str") == 0)
        image->line_strings = contents(image, header);
    else if (strcmp(name, ".debug_str") == 0)
        image->strings = contents(image, header);
    bool whole = header->sh_type == SHT_SYMTAB;
    if ((whole || (header->sh_type == SHT_DYNSYM && lee_cursor_left(&image->symbols) == 0)) &&
        section_header(image, elf, header->sh_link, &names)) {
        image->symbols = contents(image, header);
        image->symbol_names = contents(image, &names);
    }
}

bool lee_image_parse(struct lee_image *image, const uint8_t *data, size_t size) {
    Elf64_Ehdr elf;
    *image = (struct lee_image){.file = lee_cursor_over(data, size)};
    if (!copy(&image->file, 0, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    if (elf.e_phentsize == sizeof(Elf64_Phdr)) {
        image->segments = elf.e_phoff;
        image->segment_count = elf.e_phnum;
    }
    Elf64_Shdr header;
    struct lee_cursor names = {.failed = true};
    if (section_header(image, &elf, elf.e_shstrndx, &header))
        names = contents(image, &header);
    for (unsigned i = 0; section_header(image, &elf, i, &header); i++)
        read_section(image, &elf, &header, lee_cursor_string_at(&names, header.sh_name));
    return true;
}

static bool segment(const struct lee_image *image, unsigned index, Elf64_Phdr *header) {
    return copy(&image->file, image->segments + index * sizeof *header, header, sizeof *header);
}

bool lee_image_address(const struct lee_image *image, uint64_t offset, uint64_t *address) {
    Elf64_Phdr header;
    for (unsigned i = 0; i < image->segment_count && segment(image, i, &header); i++) {
        if (header.p_type == PT_LOAD && offset >= header.p_offset && offset - header.p_offset < header.p_filesz) {
            *address = header.p_vaddr + (offset - header.p_offset);
            return true;
        }
    }
    return false;
}

bool lee_image_has_code(const struct lee_image *image, uint64_t address) {
    Elf64_Phdr header;
    for (unsigned i = 0; i < image->segment_count && segment(image, i, &header); i++) {
        if (header.p_type == PT_LOAD && (header.p_flags & PF_X) && address >= header.p_vaddr &&
            address - header.p_vaddr < header.p_filesz)
            return true;
    }
    return false;
}

/* A symbol without a size (hand-written assembly) reaches up to the next symbol. */
static void offer_function(const struct lee_image *image, const Elf64_Sym *symbol, struct lee_location *location) {
    bool inside = location->address >= symbol->st_value &&
                  (symbol->st_size == 0 ? lee_image_has_code(image, location->address)
                                        : location->address - symbol->st_value < symbol->st_size);
    if (!inside || (location->function != NULL && location->function_start >= symbol->st_value))
        return;
    const char *name = lee_cursor_string_at(&image->symbol_names, symbol->st_name);
    if (name[0] == 0)
        return;
    location->function = name;
    location->function_start = symbol->st_value;
}

void lee_image_find_functions(const struct lee_image *image, struct lee_location *locations, size_t count) {
    struct lee_cursor rest = image->symbols;
    Elf64_Sym symbol;
    while (lee_cursor_left(&rest) >= sizeof symbol) {
        memcpy(&symbol, rest.at, sizeof symbol);
        rest.at += sizeof symbol;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        for (size_t i = 0; i < count; i++)
            offer_function(image, &symbol, &locations[i]);
    }
}
