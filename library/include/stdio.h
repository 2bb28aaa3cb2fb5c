/* Input and output. A full replacement of the system's header: a FILE is the runtime's (runtime/include/lee/io.h),
 * its use after fclose is a fault. */
#ifndef LEE_STDIO_H
#define LEE_STDIO_H

#include <stdarg.h>
#include <stddef.h>

#ifndef __FILE_defined
#define __FILE_defined 1
struct lee_file;
typedef struct lee_file FILE;
#endif
#ifndef __ssize_t_defined
#define __ssize_t_defined
typedef __PTRDIFF_TYPE__ ssize_t;
#endif
#ifndef __off_t_defined
#define __off_t_defined
typedef long off_t;
#endif
typedef struct lee_io_position { long offset; } fpos_t;

#define EOF (-1)
#define BUFSIZ 8192
#define FILENAME_MAX 4096
#define FOPEN_MAX 1024
#define L_tmpnam 20
#define TMP_MAX 238328
#define P_tmpdir "/tmp"
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2
#ifndef SEEK_SET
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#endif

[[lee::leaf]] trusted FILE *nonnull lee_stdin(void) __asm__("lee_io_stdin");
[[lee::leaf]] trusted FILE *nonnull lee_stdout(void) __asm__("lee_io_stdout");
[[lee::leaf]] trusted FILE *nonnull lee_stderr(void) __asm__("lee_io_stderr");
#define stdin lee_stdin()
#define stdout lee_stdout()
#define stderr lee_stderr()

/* Opening and closing */
[[lee::leaf]] [[lee::waits]] trusted FILE *fopen(const char *path, const char *mode) __asm__("lee_io_fopen");
[[lee::leaf]] trusted FILE *fdopen(int fd, const char *mode) __asm__("lee_io_fdopen");
[[lee::leaf]] [[lee::waits]] trusted FILE *freopen(const char *path, const char *mode, FILE *f) __asm__("lee_io_freopen");
[[lee::leaf]] trusted FILE *tmpfile(void) __asm__("lee_io_tmpfile");
[[lee::leaf]] [[lee::waits]] trusted int fclose(FILE *f) __asm__("lee_io_fclose");
[[lee::leaf]] [[lee::waits]] trusted int fflush(FILE *f) __asm__("lee_io_fflush");
[[lee::leaf]] [[lee::waits]] trusted int setvbuf(FILE *f, [[lee::optional]] char *counted_by(size) buffer, int mode, size_t size) __asm__("lee_io_setvbuf");
[[lee::leaf]] [[lee::waits]] trusted void setbuf(FILE *f, char *buffer) __asm__("lee_io_setbuf");
[[lee::leaf]] [[lee::waits]] trusted void setbuffer(FILE *f, char *buffer, size_t size) __asm__("lee_io_setbuf");
[[lee::leaf]] [[lee::waits]] trusted void setlinebuf(FILE *f) __asm__("lee_io_setlinebuf");
[[lee::leaf]] trusted int fileno(FILE *f) __asm__("lee_io_fileno");
[[lee::leaf]] trusted FILE *popen(const char *command, const char *mode) __asm__("lee_io_popen");
[[lee::leaf]] [[lee::waits]] trusted int pclose(FILE *f) __asm__("lee_io_pclose");
[[lee::leaf]] trusted int remove(const char *path) __asm__("lee_remove");
[[lee::leaf]] trusted int rename(const char *from, const char *to) __asm__("lee_rename");
[[lee::leaf]] trusted int renameat(int directory, const char *from, int other, const char *to) __asm__("lee_renameat");

/* Position and state */
[[lee::leaf]] [[lee::waits]] trusted int fseek(FILE *f, long offset, int whence) __asm__("lee_io_fseek");
[[lee::leaf]] [[lee::waits]] trusted int fseeko(FILE *f, off_t offset, int whence) __asm__("lee_io_fseeko");
[[lee::leaf]] [[lee::waits]] trusted long ftell(FILE *f) __asm__("lee_io_ftell");
[[lee::leaf]] [[lee::waits]] trusted off_t ftello(FILE *f) __asm__("lee_io_ftello");
[[lee::leaf]] [[lee::waits]] trusted void rewind(FILE *f) __asm__("lee_io_rewind");
[[lee::leaf]] [[lee::waits]] trusted int fgetpos(FILE *f, fpos_t *position) __asm__("lee_io_fgetpos");
[[lee::leaf]] [[lee::waits]] trusted int fsetpos(FILE *f, const fpos_t *position) __asm__("lee_io_fsetpos");
[[lee::leaf]] trusted int feof(FILE *f) __asm__("lee_io_feof");
[[lee::leaf]] trusted int ferror(FILE *f) __asm__("lee_io_ferror");
[[lee::leaf]] trusted void clearerr(FILE *f) __asm__("lee_io_clearerr");

/* Bytes and lines */
[[lee::leaf]] [[lee::waits]] trusted int fgetc(FILE *f) __asm__("lee_io_getc");
[[lee::leaf]] [[lee::waits]] trusted int getc(FILE *f) __asm__("lee_io_getc");
[[lee::leaf]] [[lee::waits]] trusted int getc_unlocked(FILE *f) __asm__("lee_io_getc");
[[lee::leaf]] [[lee::waits]] trusted int getchar(void) __asm__("lee_io_getchar");
[[lee::leaf]] [[lee::waits]] trusted int getchar_unlocked(void) __asm__("lee_io_getchar");
[[lee::leaf]] [[lee::waits]] trusted int ungetc(int c, FILE *f) __asm__("lee_io_ungetc");
[[lee::leaf]] [[lee::waits]] trusted int fputc(int c, FILE *f) __asm__("lee_io_putc");
[[lee::leaf]] [[lee::waits]] trusted int putc(int c, FILE *f) __asm__("lee_io_putc");
[[lee::leaf]] [[lee::waits]] trusted int putc_unlocked(int c, FILE *f) __asm__("lee_io_putc");
[[lee::leaf]] [[lee::waits]] trusted int putchar(int c) __asm__("lee_io_putchar");
[[lee::leaf]] [[lee::waits]] trusted int putchar_unlocked(int c) __asm__("lee_io_putchar");
trusted size_t fread(void *counted_by(size * count) p, size_t size, size_t count, FILE *f) __asm__("lee_io_fread");
[[lee::leaf]] [[lee::waits]] trusted size_t fwrite(const void *counted_by(size * count) p, size_t size, size_t count, FILE *f) __asm__("lee_io_fwrite");
[[lee::into(s)]] [[lee::terminates(s)]] trusted char *fgets(char *counted_by(n) s, int n, FILE *f) __asm__("lee_io_fgets");
[[lee::leaf]] [[lee::waits]] trusted int fputs(const char *s, FILE *f) __asm__("lee_io_fputs");
[[lee::leaf]] [[lee::waits]] trusted int puts(const char *s) __asm__("lee_io_puts");
trusted ssize_t getline(char *unique fat null_terminated *line, size_t *capacity, FILE *f) __asm__("lee_io_getline");
trusted ssize_t getdelim(char *unique fat null_terminated *line, size_t *capacity, int delimiter, FILE *f)
    __asm__("lee_io_getdelim");
[[lee::leaf]] [[lee::waits]] trusted void perror(const char *s) __asm__("lee_io_perror");

/* No other thread of the program uses a file, so there is nothing to lock. */
[[lee::leaf]] [[lee::waits]] trusted int fgetc_unlocked(FILE *f) __asm__("lee_io_getc");
[[lee::leaf]] [[lee::waits]] trusted int fputc_unlocked(int c, FILE *f) __asm__("lee_io_putc");
[[lee::leaf]] [[lee::waits]] trusted int fputs_unlocked(const char *s, FILE *f) __asm__("lee_io_fputs");
[[lee::into(s)]] [[lee::terminates(s)]] trusted char *fgets_unlocked(char *counted_by(n) s, int n, FILE *f) __asm__("lee_io_fgets");
trusted size_t fread_unlocked(void *counted_by(size * count) p, size_t size, size_t count, FILE *f) __asm__("lee_io_fread");
[[lee::leaf]] [[lee::waits]] trusted size_t fwrite_unlocked(const void *counted_by(size * count) p, size_t size, size_t count, FILE *f) __asm__("lee_io_fwrite");
[[lee::leaf]] [[lee::waits]] trusted int fflush_unlocked(FILE *f) __asm__("lee_io_fflush");
[[lee::leaf]] trusted int feof_unlocked(FILE *f) __asm__("lee_io_feof");
[[lee::leaf]] trusted int ferror_unlocked(FILE *f) __asm__("lee_io_ferror");
[[lee::leaf]] trusted void clearerr_unlocked(FILE *f) __asm__("lee_io_clearerr");
[[lee::leaf]] trusted int fileno_unlocked(FILE *f) __asm__("lee_io_fileno");
static inline void flockfile(FILE *f) {
    (void)f;
}
static inline int ftrylockfile(FILE *f) {
    (void)f;
    return 0;
}
static inline void funlockfile(FILE *f) {
    (void)f;
}

/* Formats */
[[lee::leaf]] [[lee::waits]] trusted int printf(const char *format, ...) __asm__("lee_io_printf") __attribute__((format(printf, 1, 2)));
[[lee::leaf]] [[lee::waits]] trusted int fprintf(FILE *f, const char *format, ...) __asm__("lee_io_fprintf") __attribute__((format(printf, 2, 3)));
[[lee::leaf]] [[lee::waits]] trusted int dprintf(int fd, const char *format, ...) __asm__("lee_io_dprintf") __attribute__((format(printf, 2, 3)));
[[lee::leaf]] [[lee::terminates(s)]] trusted int snprintf(char *counted_by(n) s, size_t n, const char *format, ...)
    __asm__("lee_io_snprintf") __attribute__((format(printf, 3, 4)));
[[lee::leaf]] [[lee::waits]] trusted int vprintf(const char *format, va_list args) __asm__("lee_io_vprintf") __attribute__((format(printf, 1, 0)));
[[lee::leaf]] [[lee::waits]] trusted int vfprintf(FILE *f, const char *format, va_list args)
    __asm__("lee_io_vfprintf") __attribute__((format(printf, 2, 0)));
[[lee::leaf]] [[lee::waits]] trusted int vdprintf(int fd, const char *format, va_list args)
    __asm__("lee_io_vdprintf") __attribute__((format(printf, 2, 0)));
[[lee::leaf]] [[lee::terminates(s)]] trusted int vsnprintf(char *counted_by(n) s, size_t n, const char *format, va_list args)
    __asm__("lee_io_vsnprintf") __attribute__((format(printf, 3, 0)));
trusted int scanf(const char *format, ...) __asm__("lee_io_scanf") __attribute__((format(scanf, 1, 2)));
trusted int fscanf(FILE *f, const char *format, ...) __asm__("lee_io_fscanf") __attribute__((format(scanf, 2, 3)));
[[lee::leaf]] trusted int sscanf(const char *s, const char *format, ...) __asm__("lee_io_sscanf") __attribute__((format(scanf, 2, 3)));
trusted int vscanf(const char *format, va_list args) __asm__("lee_io_vscanf") __attribute__((format(scanf, 1, 0)));
trusted int vfscanf(FILE *f, const char *format, va_list args)
    __asm__("lee_io_vfscanf") __attribute__((format(scanf, 2, 0)));
[[lee::leaf]] trusted int vsscanf(const char *s, const char *format, va_list args)
    __asm__("lee_io_vsscanf") __attribute__((format(scanf, 2, 0)));

/* What `%.*s` gets for a view that no zero ends: the string, once it is sure that `precision` characters, or a zero, are there. */
[[lee::leaf]] trusted const char *lee_string_within(const char *fat s, int precision) __asm__("lee_string_within");
/* A new string with what the format comes to. Instead of C's asprintf, which returns libc's memory. */
[[lee::leaf]] trusted char *fat null_terminated unique lee_format(const char *format, ...)
    __asm__("lee_io_format") __attribute__((format(printf, 1, 2)));
[[lee::leaf]] trusted char *fat null_terminated unique lee_vformat(const char *format, va_list args)
    __asm__("lee_io_vformat") __attribute__((format(printf, 1, 0)));

#endif
