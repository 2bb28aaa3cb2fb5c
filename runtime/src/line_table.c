/* line_table.c: see line_table.h. The names of opcodes and forms are those of the DWARF 5 standard,
 * sections 6.2 and 7.5. */
#include "line_table.h"

enum {
    DW_LNS_copy = 1,
    DW_LNS_advance_pc,
    DW_LNS_advance_line,
    DW_LNS_set_file,
    DW_LNS_set_column,
    DW_LNS_negate_stmt,
    DW_LNS_set_basic_block,
    DW_LNS_const_add_pc,
    DW_LNS_fixed_advance_pc,
    DW_LNE_end_sequence = 1,
    DW_LNE_set_address = 2,
    DW_LNCT_path = 1,
    DW_LNCT_directory_index = 2,
    DW_FORM_block2 = 0x03,
    DW_FORM_block4 = 0x04,
    DW_FORM_data2 = 0x05,
    DW_FORM_data4 = 0x06,
    DW_FORM_data8 = 0x07,
    DW_FORM_string = 0x08,
    DW_FORM_block = 0x09,
    DW_FORM_block1 = 0x0a,
    DW_FORM_data1 = 0x0b,
    DW_FORM_flag = 0x0c,
    DW_FORM_sdata = 0x0d,
    DW_FORM_strp = 0x0e,
    DW_FORM_udata = 0x0f,
    DW_FORM_sec_offset = 0x17,
    DW_FORM_data16 = 0x1e,
    DW_FORM_line_strp = 0x1f
};

enum { HEADER_FILES = 4 }; /* places that one unit may list lee.h at */

struct unit {
    const struct lee_image *image;
    unsigned version, offset_size, address_size;
    unsigned min_instruction, opcode_base, line_range;
    int line_base;
    const uint8_t *operand_counts; /* of opcodes 1 to opcode_base - 1 */
    struct lee_cursor tables;      /* the directories, then the files */
    struct lee_cursor program;
    uint64_t header_files[HEADER_FILES]; /* indices of lee.h among the files */
    unsigned header_file_count;
};

struct entry {
    const char *path;
    uint64_t directory;
};

/* A list of directories or of files, walked entry by entry. Before version 5 a list ends with an empty name. */
struct entries {
    struct lee_cursor formats, at;
    unsigned format_count;
    uint64_t next, end;
};

struct row {
    uint64_t address, file;
    unsigned line, column;
};

static uint64_t read_form(const struct unit *unit, struct lee_cursor *at, uint64_t form, const char **string) {
    switch (form) {
    case DW_FORM_string:
        *string = lee_cursor_string(at);
        return 0;
    case DW_FORM_line_strp:
        *string = lee_cursor_string_at(&unit->image->line_strings, lee_cursor_number(at, unit->offset_size));
        return 0;
    case DW_FORM_strp:
        *string = lee_cursor_string_at(&unit->image->strings, lee_cursor_number(at, unit->offset_size));
        return 0;
    case DW_FORM_udata:
        return lee_cursor_unsigned(at);
    case DW_FORM_sdata:
        return (uint64_t)lee_cursor_signed(at);
    case DW_FORM_data1:
    case DW_FORM_flag:
        return lee_cursor_byte(at);
    case DW_FORM_data2:
        return lee_cursor_number(at, 2);
    case DW_FORM_data4:
        return lee_cursor_number(at, 4);
    case DW_FORM_data8:
        return lee_cursor_number(at, 8);
    case DW_FORM_sec_offset:
        return lee_cursor_number(at, unit->offset_size);
    case DW_FORM_data16:
        lee_cursor_take(at, 16);
        return 0;
    case DW_FORM_block:
        lee_cursor_take(at, lee_cursor_unsigned(at));
        return 0;
    case DW_FORM_block1:
        lee_cursor_take(at, lee_cursor_byte(at));
        return 0;
    case DW_FORM_block2:
        lee_cursor_take(at, lee_cursor_number(at, 2));
        return 0;
    case DW_FORM_block4:
        lee_cursor_take(at, lee_cursor_number(at, 4));
        return 0;
    default: /* how long it is cannot be known, so nothing behind it can be read */
        lee_cursor_fail(at);
        return 0;
    }
}

/* Starts on the list at `at`. */
static struct entries entries_at(const struct unit *unit, struct lee_cursor at) {
    struct entries list = {.at = at, .next = 0, .end = UINT64_MAX};
    if (unit->version < 5)
        return list;
    list.format_count = lee_cursor_byte(&list.at);
    list.formats = list.at;
    for (unsigned i = 0; i < 2 * list.format_count; i++)
        lee_cursor_unsigned(&list.at);
    list.end = lee_cursor_unsigned(&list.at);
    if (list.format_count == 0)
        list.end = 0; /* entries without content: there may be any number in no bytes at all */
    return list;
}

static bool next_entry(const struct unit *unit, struct entries *list, bool files, struct entry *entry) {
    *entry = (struct entry){.path = ""};
    if (list->next == list->end || list->at.failed)
        return false;
    list->next++;
    if (unit->version < 5) {
        entry->path = lee_cursor_string(&list->at);
        if (entry->path[0] == 0)
            return false;
        if (files) {
            entry->directory = lee_cursor_unsigned(&list->at);
            lee_cursor_unsigned(&list->at); /* time of last change */
            lee_cursor_unsigned(&list->at); /* size */
        }
        return !list->at.failed;
    }
    struct lee_cursor formats = list->formats;
    for (unsigned i = 0; i < list->format_count; i++) {
        uint64_t content = lee_cursor_unsigned(&formats), form = lee_cursor_unsigned(&formats);
        const char *string = NULL;
        uint64_t number = read_form(unit, &list->at, form, &string);
        if (content == DW_LNCT_path && string != NULL)
            entry->path = string;
        else if (content == DW_LNCT_directory_index)
            entry->directory = number;
    }
    return !list->at.failed;
}

/* The list of files, behind that of the directories. */
static struct entries files_of(const struct unit *unit) {
    struct entries directories = entries_at(unit, unit->tables);
    struct entry entry;
    while (next_entry(unit, &directories, false, &entry))
        ;
    return entries_at(unit, directories.at);
}

/* Null for the directory in which the compiler ran, also where that is listed a second time under its name. */
static const char *directory_name(const struct unit *unit, uint64_t index) {
    struct entries list = entries_at(unit, unit->tables);
    struct entry entry;
    const char *first = NULL;
    uint64_t at = unit->version < 5 ? 1 : 0; /* before version 5 the first one is not listed */
    for (; index != 0 && next_entry(unit, &list, false, &entry); at++) {
        if (at == 0)
            first = entry.path;
        if (at == index)
            return first != NULL && strcmp(first, entry.path) == 0 ? NULL : entry.path;
    }
    return NULL;
}

static void name_file(const struct unit *unit, uint64_t index, struct lee_location *location) {
    struct entries list = files_of(unit);
    struct entry entry;
    uint64_t at = unit->version < 5 ? 1 : 0;
    location->file = location->directory = NULL;
    for (; next_entry(unit, &list, true, &entry); at++) {
        if (at != index)
            continue;
        location->file = entry.path[0] == 0 ? NULL : entry.path;
        if (entry.path[0] != '/')
            location->directory = directory_name(unit, entry.directory);
        return;
    }
}

static bool ends_with(const char *string, const char *end) {
    size_t length = strlen(string), wanted = strlen(end);
    return length >= wanted && strcmp(string + length - wanted, end) == 0;
}

/* Finds lee/lee.h among the files. */
static void note_header_files(struct unit *unit) {
    struct entries list = files_of(unit);
    struct entry entry;
    uint64_t at = unit->version < 5 ? 1 : 0;
    for (; next_entry(unit, &list, true, &entry) && unit->header_file_count < HEADER_FILES; at++) {
        if (!ends_with(entry.path, "lee.h"))
            continue;
        const char *directory = directory_name(unit, entry.directory);
        if (ends_with(entry.path, "lee/lee.h") ||
            (strcmp(entry.path, "lee.h") == 0 && directory != NULL && ends_with(directory, "/lee")))
            unit->header_files[unit->header_file_count++] = at;
    }
}

static bool in_header(const struct unit *unit, uint64_t file) {
    for (unsigned i = 0; i < unit->header_file_count; i++) {
        if (unit->header_files[i] == file)
            return true;
    }
    return false;
}

/* Takes the next unit off the section. False at its end, or where not even the length of a unit can
 * be read; a unit of an unknown kind has an empty program. */
static bool next_unit(struct unit *unit, const struct lee_image *image, struct lee_cursor *section) {
    *unit = (struct unit){.image = image, .offset_size = 4, .address_size = 8};
    if (lee_cursor_left(section) == 0)
        return false;
    uint64_t length = lee_cursor_number(section, 4);
    if (length == 0xffffffff) {
        unit->offset_size = 8;
        length = lee_cursor_number(section, 8);
    }
    struct lee_cursor rest = lee_cursor_take(section, length);
    if (rest.failed)
        return false;
    unit->version = (unsigned)lee_cursor_number(&rest, 2);
    if (unit->version < 2 || unit->version > 5)
        return true;
    if (unit->version == 5) {
        unit->address_size = lee_cursor_byte(&rest);
        lee_cursor_byte(&rest); /* size of segment selectors */
    }
    struct lee_cursor header = lee_cursor_take(&rest, lee_cursor_number(&rest, unit->offset_size));
    unit->min_instruction = lee_cursor_byte(&header);
    if (unit->version >= 4)
        lee_cursor_byte(&header); /* operations in an instruction: 1 on both targets */
    lee_cursor_byte(&header);     /* whether lines start as statements: no difference here */
    unit->line_base = (int8_t)lee_cursor_byte(&header);
    unit->line_range = lee_cursor_byte(&header);
    unit->opcode_base = lee_cursor_byte(&header);
    struct lee_cursor counts = lee_cursor_take(&header, unit->opcode_base == 0 ? 0 : unit->opcode_base - 1);
    unit->operand_counts = counts.at;
    if (header.failed || unit->line_range == 0 || unit->opcode_base == 0)
        return true;
    unit->tables = header;
    unit->program = rest;
    note_header_files(unit);
    return true;
}

/* The rows of one sequence: addresses only grow in it. */
struct sequence {
    struct row row, last; /* what the program builds, and the last row that names a line that counts */
    bool started, dead;   /* dead: its code was thrown away by the linker, or its addresses do not grow */
    uint64_t last_address;
    uint64_t lowest, highest; /* of the addresses that are looked for */
    struct lee_location *locations;
    size_t count;
};

static void restart(struct sequence *sequence) {
    sequence->row = (struct row){.file = 1, .line = 1};
    sequence->last = (struct row){.line = 0};
    sequence->started = sequence->dead = false;
}

/* The machine code from the row before up to `end` belongs to the last line that was named. */
static void settle(struct sequence *sequence, uint64_t end) {
    const struct row *last = &sequence->last;
    if (last->line == 0 || end <= sequence->lowest || sequence->last_address > sequence->highest)
        return;
    for (size_t i = 0; i < sequence->count; i++) {
        struct lee_location *location = &sequence->locations[i];
        if (location->address < sequence->last_address || location->address >= end)
            continue;
        if (last->address < location->function_start) /* that line is another function's */
            continue;
        location->line = last->line;
        location->column = last->column;
        location->file_index = last->file;
        location->file = ""; /* marks it as found in this unit, until the unit's end names the file */
    }
}

static void emit_row(const struct unit *unit, struct sequence *sequence, bool end) {
    const struct row *row = &sequence->row;
    if (!sequence->started) {
        sequence->started = true;
        sequence->dead = !lee_image_has_code(unit->image, row->address);
    } else if (!sequence->dead && row->address >= sequence->last_address) {
        settle(sequence, row->address);
    } else {
        sequence->dead = true;
    }
    sequence->last_address = row->address;
    if (row->line != 0 && !in_header(unit, row->file))
        sequence->last = *row;
    if (end)
        restart(sequence);
}

static void run_extended(const struct unit *unit, struct lee_cursor *program, struct sequence *sequence) {
    struct lee_cursor operation = lee_cursor_take(program, lee_cursor_unsigned(program));
    switch (lee_cursor_byte(&operation)) {
    case DW_LNE_end_sequence:
        if (!operation.failed)
            emit_row(unit, sequence, true);
        break;
    case DW_LNE_set_address:
        sequence->row.address = lee_cursor_number(&operation, lee_cursor_left(&operation));
        break;
    default: /* discriminators and what other producers add */
        break;
    }
}

static void run_special(const struct unit *unit, unsigned opcode, struct sequence *sequence) {
    unsigned adjusted = opcode - unit->opcode_base;
    sequence->row.address += (uint64_t)(adjusted / unit->line_range) * unit->min_instruction;
    sequence->row.line += (unsigned)(unit->line_base + (int)(adjusted % unit->line_range));
    emit_row(unit, sequence, false);
}

static void run_standard(const struct unit *unit, unsigned opcode, struct lee_cursor *program, struct sequence *sequence) {
    struct row *row = &sequence->row;
    switch (opcode) {
    case DW_LNS_copy:
        emit_row(unit, sequence, false);
        break;
    case DW_LNS_advance_pc:
        row->address += lee_cursor_unsigned(program) * unit->min_instruction;
        break;
    case DW_LNS_advance_line:
        row->line += (unsigned)lee_cursor_signed(program);
        break;
    case DW_LNS_set_file:
        row->file = lee_cursor_unsigned(program);
        break;
    case DW_LNS_set_column:
        row->column = (unsigned)lee_cursor_unsigned(program);
        break;
    case DW_LNS_const_add_pc:
        row->address += (uint64_t)((255 - unit->opcode_base) / unit->line_range) * unit->min_instruction;
        break;
    case DW_LNS_fixed_advance_pc:
        row->address += lee_cursor_number(program, 2);
        break;
    default: /* the header says how many operands to skip; for those without effect here too */
        for (unsigned i = unit->operand_counts[opcode - 1]; i > 0; i--)
            lee_cursor_unsigned(program);
        break;
    }
}

static void run_program(const struct unit *unit, struct sequence *sequence) {
    struct lee_cursor program = unit->program;
    restart(sequence);
    while (lee_cursor_left(&program) > 0 && !program.failed) {
        unsigned opcode = lee_cursor_byte(&program);
        if (opcode >= unit->opcode_base)
            run_special(unit, opcode, sequence);
        else if (opcode == 0)
            run_extended(unit, &program, sequence);
        else
            run_standard(unit, opcode, &program, sequence);
    }
}

void lee_lines_find(const struct lee_image *image, struct lee_location *locations, size_t count) {
    struct sequence sequence = {.lowest = UINT64_MAX, .highest = 0, .locations = locations, .count = count};
    struct lee_cursor section = image->line;
    struct unit unit;
    for (size_t i = 0; i < count; i++) {
        if (locations[i].address < sequence.lowest)
            sequence.lowest = locations[i].address;
        if (locations[i].address > sequence.highest)
            sequence.highest = locations[i].address;
    }
    while (next_unit(&unit, image, &section)) {
        run_program(&unit, &sequence);
        for (size_t i = 0; i < count; i++) {
            if (locations[i].file != NULL && locations[i].file[0] == 0)
                name_file(&unit, locations[i].file_index, &locations[i]);
        }
    }
}
