/* Input and output: the C functions behind the library's <stdio.h>, <dirent.h> and their kin.
 *
 * Promises: a `struct lee_file` and a `struct lee_dir` stay what they are for the life of the
 * program, closed or not, so a stale pointer to one is never a pointer to something else: its use
 * is the fault `use of a closed file`. A null one is the fault `null pointer`. Output is written
 * out at `exit`, at a return of `main` and at a fault. A file is used by one thread at a time.
 * Apart from that, each function does what C or POSIX says of the one whose name follows `lee_io_`;
 * differences stand here. No function writes through its pointers beyond what its type in
 * library/include states.
 *
 * A string object that a function makes comes back as address, lower and upper bound
 * (docs/internals/abi.md). */
#ifndef LEE_IO_H
#define LEE_IO_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirent;
struct lee_file;
struct lee_dir;

/* A `char *fat null_terminated` variable as it lies in memory. */
struct lee_io_string {
    char *p, *lo, *hi;
};

/* A position in a file; <stdio.h> calls it fpos_t. */
struct lee_io_position {
    int64_t offset;
};

enum { LEE_IO_FULL = 0, LEE_IO_LINE = 1, LEE_IO_NONE = 2 }; /* setvbuf's modes: _IOFBF, _IOLBF, _IONBF */

/* Opening and closing (io.c) */
extern _Thread_local struct lee_file *lee_io_standard_input __attribute__((tls_model("initial-exec"))); /* of the process that runs */
extern _Thread_local struct lee_file *lee_io_standard_output __attribute__((tls_model("initial-exec")));
struct lee_file *lee_io_stdin(void);
struct lee_file *lee_io_stdout(void);
struct lee_file *lee_io_stderr(void);
struct lee_file *lee_io_fopen(const char *path, const char *mode);
struct lee_file *lee_io_fdopen(int fd, const char *mode);
struct lee_file *lee_io_freopen(const char *path, const char *mode, struct lee_file *f);
struct lee_file *lee_io_tmpfile(void);
int lee_io_fclose(struct lee_file *f);
int lee_io_fflush(struct lee_file *f); /* null: every file */
/* Only the mode counts: a file always has its own buffer, so that nobody else can give that away. */
int lee_io_setvbuf(struct lee_file *f, char *buffer, int mode, size_t size);
void lee_io_setbuf(struct lee_file *f, char *buffer);
void lee_io_setlinebuf(struct lee_file *f);
int lee_io_fileno(struct lee_file *f);
int lee_io_feof(struct lee_file *f);
int lee_io_ferror(struct lee_file *f);
void lee_io_clearerr(struct lee_file *f);
int lee_io_fseek(struct lee_file *f, long offset, int whence);
int lee_io_fseeko(struct lee_file *f, off_t offset, int whence);
long lee_io_ftell(struct lee_file *f);
off_t lee_io_ftello(struct lee_file *f);
void lee_io_rewind(struct lee_file *f);
int lee_io_fgetpos(struct lee_file *f, struct lee_io_position *position);
int lee_io_fsetpos(struct lee_file *f, const struct lee_io_position *position);

/* Programs at the other end of a pipe (io_pipe.c) */
struct lee_file *lee_io_popen(const char *command, const char *mode);
int lee_io_pclose(struct lee_file *f);

/* Bytes and lines (io_text.c) */
int lee_io_getc(struct lee_file *f);
int lee_io_getchar(void);
int lee_io_ungetc(int c, struct lee_file *f);
int lee_io_putc(int c, struct lee_file *f);
int lee_io_putchar(int c);
size_t lee_io_fread(void *p, size_t size, size_t count, struct lee_file *f);
size_t lee_io_fwrite(const void *p, size_t size, size_t count, struct lee_file *f);
char *lee_io_fgets(char *s, int n, struct lee_file *f);
int lee_io_fputs(const char *s, struct lee_file *f);
int lee_io_puts(const char *s);
/* `*line` is a string object that grows by being replaced; the collector has the old one. */
ssize_t lee_io_getline(struct lee_io_string *line, size_t *capacity, struct lee_file *f);
ssize_t lee_io_getdelim(struct lee_io_string *line, size_t *capacity, int delimiter, struct lee_file *f);
/* Reads up to `n` bytes, or up to and with the delimiter; how many were read. Fewer without it: the
 * end, or an error. */
size_t lee_io_take(char *to, size_t n, int delimiter, struct lee_file *f);
void lee_io_perror(const char *s);

/* Formats (io_format.c); what a format asks for was compared with the arguments by the compiler.
 * The result may overlap the arguments: it is then what it would be if it did not. */
int lee_io_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int lee_io_fprintf(struct lee_file *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
int lee_io_dprintf(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
int lee_io_snprintf(char *s, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));
int lee_io_vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
int lee_io_vfprintf(struct lee_file *f, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
int lee_io_vdprintf(int fd, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
int lee_io_vsnprintf(char *s, size_t n, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
/* A new string object instead of C's asprintf, which hands out memory of libc's malloc. */
char *lee_io_format(const char *format, char **ret_lo, char **ret_hi, ...) __attribute__((format(printf, 1, 4)));
char *lee_io_vformat(const char *format, va_list args, char **ret_lo, char **ret_hi) __attribute__((format(printf, 1, 0)));

/* Scanning (scan.c). `%s` and `%[` need a width, `%n` and `%m` are not there. */
int lee_io_scanf(const char *format, ...) __attribute__((format(scanf, 1, 2)));
int lee_io_fscanf(struct lee_file *f, const char *format, ...) __attribute__((format(scanf, 2, 3)));
int lee_io_sscanf(const char *s, const char *format, ...) __attribute__((format(scanf, 2, 3)));
int lee_io_vscanf(const char *format, va_list args) __attribute__((format(scanf, 1, 0)));
int lee_io_vfscanf(struct lee_file *f, const char *format, va_list args) __attribute__((format(scanf, 2, 0)));
int lee_io_vsscanf(const char *s, const char *format, va_list args) __attribute__((format(scanf, 2, 0)));

/* Directories (dir.c). What readdir returns is overwritten by the next call for the same directory. */
struct lee_dir *lee_dir_open(const char *path);
struct lee_dir *lee_dir_fdopen(int fd);
struct dirent *lee_dir_read(struct lee_dir *d);
int lee_dir_close(struct lee_dir *d);
int lee_dir_fd(struct lee_dir *d);
void lee_dir_rewind(struct lee_dir *d);

#ifdef LEE_IO_INLINE
/* The short ways of the four functions that loops over bytes are made of, for code that defines
 * LEE_IO_INLINE: a comparison and a move where it is called. The functions themselves are what else
 * happens. These are the first members of a `struct lee_file`; runtime/src/io_file.h says what they
 * mean. A null file traps at the first load. */
struct lee_file_ends {
    unsigned char *rpos, *rend, *wpos, *wend;
};

#define LEE_IO_SHORT extern inline __attribute__((gnu_inline, always_inline, artificial))

LEE_IO_SHORT int lee_io_get_short(struct lee_file *f) {
    struct lee_file_ends *e = (struct lee_file_ends *)(void *)f;
    return __builtin_expect(e->rpos < e->rend, 1) ? *e->rpos++ : (lee_io_getc)(f);
}

LEE_IO_SHORT int lee_io_put_short(int c, struct lee_file *f) {
    struct lee_file_ends *e = (struct lee_file_ends *)(void *)f;
    return __builtin_expect(e->wpos < e->wend, 1) ? *e->wpos++ = (unsigned char)c : (lee_io_putc)(c, f);
}

#define lee_io_getc(f) lee_io_get_short(f)
#define lee_io_putc(c, f) lee_io_put_short(c, f)
#define lee_io_getchar() lee_io_get_short(lee_io_standard_input)
#define lee_io_putchar(c) lee_io_put_short(c, lee_io_standard_output)
#endif

/* The rest of C's library, where libc's own functions could write or read out of bounds or hand out
 * memory that it takes back. A `fat` parameter is address, lower and upper bound; what does not fit
 * is a fault, whose place is that of the caller in emitted code. Arguments may overlap. */

/* Strings (strings.c) */
char *lee_strcpy(char *d, char *lo, char *hi, const char *s);
char *lee_stpcpy(char *d, char *lo, char *hi, const char *s);
char *lee_strcat(char *d, char *lo, char *hi, const char *s);
char *lee_strncat(char *d, char *lo, char *hi, const char *s, size_t n);
char *lee_strncpy(char *d, const char *s, size_t n);
/* As lee_strncpy; returns the first zero that it wrote, or the end of what it wrote. */
char *lee_stpncpy(char *d, const char *s, size_t n);
/* Returns the byte after the last that it wrote. */
void *lee_mempcpy(void *d, const void *s, size_t n);
/* Copies pairs of bytes, each the other way round; an odd last one is left out. */
void lee_swab(const void *from, void *to, ssize_t n);
size_t lee_strlcpy(char *d, const char *s, size_t n);
size_t lee_strlcat(char *d, const char *s, size_t n);
char *lee_strdup(const char *s, char **ret_lo, char **ret_hi);
char *lee_strndup(const char *s, size_t n, char **ret_lo, char **ret_hi);
long lee_strtol(const char *s, char **end, int base);
unsigned long lee_strtoul(const char *s, char **end, int base);
long long lee_strtoll(const char *s, char **end, int base);
unsigned long long lee_strtoull(const char *s, char **end, int base);
char *lee_strtok_r(char *s, const char *delimiters, char **save); /* `*save` is read only if `s` is null */
char *lee_strsep(char **s, const char *delimiters);
const char *lee_strerror(int number);
const char *lee_strsignal(int number);
int lee_strerror_r(int number, char *buffer, size_t n); /* POSIX's, not GNU's */

#ifdef __cplusplus
}
#endif

#endif
