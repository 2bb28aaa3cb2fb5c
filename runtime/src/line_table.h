/* line_table.h: from addresses of code to source lines: a reader of .debug_line, DWARF 2 to 5.
 *
 * Promises: works on any bytes, also damaged ones, without reading outside them, in one pass; allocates
 * nothing. Damage in one unit leaves the others readable. */
#ifndef LEE_LINE_TABLE_H
#define LEE_LINE_TABLE_H

#include "image.h"

/* Fills in `directory`, `file`, `line` and `column` of all locations whose address a line is known
 * for, in one pass over the table. Lines of the inline checks in lee/lee.h do not count: the line
 * before them does, if it is the same function's; so the functions are to be found first. */
void lee_lines_find(const struct lee_image *image, struct lee_location *locations, size_t count);

#endif
