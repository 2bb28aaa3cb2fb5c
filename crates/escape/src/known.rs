//! What functions of the C library do with the pointers they are given.
//!
//! A function in this table keeps none of its pointer arguments beyond the call, neither in memory
//! nor in its result unless that is said (`returns`). Functions that call back (`qsort`), start
//! threads, or register buffers (`setvbuf`) are not in it on purpose.

use crate::follow::Given;
use crate::situation::Value;

/// How many bytes of an argument a function touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Up to the value of another argument.
    Argument(u32),
    /// Up to the product of two arguments.
    Product(u32, u32),
}

/// What is known of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// The argument that the result may point into.
    pub returns: Option<u32>,
    /// Bounds of arguments, if any are bounded: argument and extent.
    pub bounded: &'static [(u32, Extent)],
}

const PLAIN: Known = Known { returns: None, bounded: &[] };

const fn returns(argument: u32, bounded: &'static [(u32, Extent)]) -> Known {
    Known { returns: Some(argument), bounded }
}

const fn bounded(bounded: &'static [(u32, Extent)]) -> Known {
    Known { returns: None, bounded }
}

impl Known {
    /// What the function gives for the argument that it may return.
    pub fn given(self, name: &str, argument: Option<Value>) -> Given {
        match name.trim_start_matches("__builtin_").trim_start_matches("__").trim_end_matches("_chk") {
            // What copies gives its destination back as it was.
            "memcpy" | "memmove" | "memset" | "strcpy" | "strncpy" | "strcat" | "strncat" => {
                Given::Is(argument.unwrap_or(Value::Inside))
            }
            "mempcpy" | "stpcpy" => Given::Is(Value::Inside),
            _ => Given::MayBe(Value::Inside),
        }
    }
}

/// What a function does with an argument that is a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Reads it up to its end.
    Reads,
    /// Reads it if the format in this argument does.
    Formatted(u32),
    /// Writes a string to it, as long as its other arguments make it.
    Written,
    /// The same, at the end of the one that is there.
    Appended,
    /// Writes a string to it, of at most as many bytes with its end as this argument says.
    Printed(u32),
}

/// The name that the source has: `<stdio.h>` and others give some functions another symbol, for
/// large files and for standards, and macros name builtins.
fn unredirected(name: &str) -> &str {
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    let name = name.strip_prefix("__isoc99_").or_else(|| name.strip_prefix("__isoc23_")).unwrap_or(name);
    match name.strip_suffix("64") {
        Some(
            base @ ("open" | "openat" | "creat" | "fopen" | "freopen" | "stat" | "lstat" | "fstat" | "fstatat"
            | "lseek" | "fseeko" | "ftello" | "pread" | "pwrite" | "truncate" | "ftruncate" | "mkstemp"),
        ) => base,
        _ => name,
    }
}

/// What a function does with argument `n`, if that is a string.
pub fn string(name: &str, n: usize) -> Option<Use> {
    let name = unredirected(name);
    let format = match name {
        "printf" => Some(0),
        "fprintf" | "dprintf" | "sprintf" | "syslog" => Some(1),
        "snprintf" => Some(2),
        _ => None,
    };
    match (name, n) {
        ("strcpy" | "stpcpy" | "sprintf", 0) => Some(Use::Written),
        ("strcat", 0) => Some(Use::Appended),
        ("snprintf" | "vsnprintf", 0) => Some(Use::Printed(1)),
        _ if format.is_some_and(|f| n == f) => Some(Use::Reads),
        _ if format.is_some_and(|f| n > f) => Some(Use::Formatted(format? as u32)),
        ("strcpy" | "stpcpy" | "strcat", 1)
        | ("strlen" | "strchr" | "strrchr" | "index" | "rindex", 0)
        | ("strcmp" | "strcasecmp" | "strcoll" | "strstr" | "strcasestr" | "strpbrk" | "strspn" | "strcspn", 0 | 1)
        | ("atoi" | "atol" | "atoll" | "atof" | "puts" | "fputs" | "perror" | "system" | "getenv", 0)
        | ("fopen" | "freopen" | "rename", 0 | 1)
        | ("fdopen", 1)
        | ("open" | "creat" | "unlink" | "remove" | "mkdir" | "rmdir" | "chdir" | "access" | "opendir", 0)
        | ("stat" | "lstat" | "readlink" | "inet_addr" | "inet_aton", 0) => Some(Use::Reads),
        _ => None,
    }
}

/// Whether a function with a bound for argument `n` only reads it.
pub fn only_reads(name: &str, n: usize) -> bool {
    matches!(
        (unredirected(name), n),
        ("memcpy" | "memmove" | "mempcpy" | "strncpy" | "write" | "pwrite" | "send" | "sendto", 1)
            | ("memcmp" | "strncmp" | "strncasecmp", 0 | 1)
            | ("memchr" | "memrchr" | "strnlen" | "fwrite", 0)
    )
}

/// Whether a function writes a copy of bytes to argument `n`, which may end a string.
pub fn copies_bytes(name: &str, n: usize) -> bool {
    matches!((name.strip_prefix("__builtin_").unwrap_or(name), n), ("memcpy" | "memmove", 0))
}

/// Whether a format of `printf` reads what its `%s` get as strings, and writes nothing: it has no
/// `%n`, and no wide strings.
pub fn reads_strings(format: &[u32]) -> bool {
    let mut chars = format.iter().map(|&u| char::from_u32(u).unwrap_or('\0'));
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        let mut wide = false;
        let conversion = chars.find(|c| {
            wide |= *c == 'l';
            !matches!(
                c,
                '0'..='9'
                    | '-'
                    | '+'
                    | ' '
                    | '#'
                    | '.'
                    | '*'
                    | '\''
                    | '$'
                    | 'h'
                    | 'l'
                    | 'L'
                    | 'q'
                    | 'j'
                    | 'z'
                    | 't'
                    | 'I'
            )
        });
        if matches!(conversion, Some('n' | 'S')) || wide && conversion == Some('s') {
            return false;
        }
    }
    true
}

/// Names that mean something with `__builtin_` before them only.
pub fn is_builtin_only(name: &str) -> bool {
    matches!(name, "expect" | "object_size" | "prefetch")
}

/// Functions that pass elements of an array to a function: the arguments that are the array and
/// the function.
pub fn calls_back(name: &str) -> Option<(u32, u32)> {
    match name {
        "qsort" => Some((0, 3)),
        "bsearch" => Some((1, 4)),
        _ => None,
    }
}

/// Functions that read a number from a string, and store where it ends through argument 1 unless
/// that is null.
pub fn stores_end(name: &str) -> bool {
    let name = name.strip_prefix("__isoc23_").unwrap_or(name);
    matches!(name, "strtol" | "strtoul" | "strtoll" | "strtoull" | "strtod" | "strtof")
}

/// The facts about a function of the C library; `None`: nothing is known.
pub fn known(name: &str) -> Option<Known> {
    use Extent::{Argument, Product};
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    // With _FORTIFY_SOURCE: `__memcpy_chk`.
    let name = name.strip_prefix("__").and_then(|n| n.strip_suffix("_chk")).unwrap_or(name);
    let name = unredirected(name);
    Some(match name {
        "memcpy" | "memmove" | "mempcpy" => returns(0, &[(0, Argument(2)), (1, Argument(2))]),
        "memset" => returns(0, &[(0, Argument(2))]),
        "bzero" | "explicit_bzero" => bounded(&[(0, Argument(1))]),
        "memcmp" => bounded(&[(0, Argument(2)), (1, Argument(2))]),
        "memchr" | "memrchr" => returns(0, &[(0, Argument(2))]),
        "strncpy" => returns(0, &[(0, Argument(2)), (1, Argument(2))]),
        "strncmp" | "strncasecmp" => bounded(&[(0, Argument(2)), (1, Argument(2))]),
        "strnlen" => bounded(&[(0, Argument(1))]),
        "snprintf" | "vsnprintf" => bounded(&[(0, Argument(1))]),
        "strftime" => bounded(&[(0, Argument(1))]),
        "fgets" | "getcwd" => returns(0, &[(0, Argument(1))]),
        "gethostname" => bounded(&[(0, Argument(1))]),
        "mkdtemp" => returns(0, &[]),
        "fread" | "fwrite" => bounded(&[(0, Product(1, 2))]),
        "read" | "write" | "pread" | "pwrite" | "recv" | "send" | "sendto" | "recvfrom" => bounded(&[(1, Argument(2))]),
        "strcpy" | "stpcpy" | "strcat" | "strncat" => returns(0, &[]),
        "strchr" | "strrchr" | "strstr" | "strpbrk" | "strcasestr" | "index" | "rindex" => returns(0, &[]),
        "basename" | "__xpg_basename" | "dirname" => returns(0, &[]),
        "strlen"
        | "strcmp"
        | "strcasecmp"
        | "strcoll"
        | "strspn"
        | "strcspn"
        | "atoi"
        | "atol"
        | "atoll"
        | "atof"
        | "puts"
        | "fputs"
        | "printf"
        | "fprintf"
        | "sprintf"
        | "vprintf"
        | "vfprintf"
        | "vsprintf"
        | "syslog"
        | "dprintf"
        | "sscanf"
        | "fscanf"
        | "scanf"
        | "mbstowcs"
        | "wcstombs"
        | "mbtowc"
        | "wctomb"
        | "mblen"
        | "wcslen"
        | "perror"
        | "fopen"
        | "fdopen"
        | "freopen"
        | "open"
        | "creat"
        | "close"
        | "unlink"
        | "remove"
        | "rename"
        | "mkdir"
        | "rmdir"
        | "chdir"
        | "access"
        | "stat"
        | "lstat"
        | "fstat"
        | "fstatat"
        | "openat"
        | "mkstemp"
        | "truncate"
        | "ftruncate"
        | "fseeko"
        | "ftello"
        | "chmod"
        | "chown"
        | "lchown"
        | "link"
        | "symlink"
        | "mkfifo"
        | "utime"
        | "utimes"
        | "fnmatch"
        | "uname"
        | "times"
        | "setenv"
        | "unsetenv"
        | "opendir"
        | "readlink"
        | "getenv"
        | "time"
        | "gettimeofday"
        | "clock_gettime"
        | "mktime"
        | "poll"
        | "select"
        | "nanosleep"
        | "usleep"
        | "sleep"
        | "fputc"
        | "putc"
        | "putchar"
        | "fgetc"
        | "getc"
        | "getchar"
        | "fclose"
        | "fflush"
        | "ferror"
        | "feof"
        | "fseek"
        | "ftell"
        | "lseek"
        | "strerror"
        | "toupper"
        | "tolower"
        | "isspace"
        | "isdigit"
        | "isalpha"
        | "isalnum"
        | "isupper"
        | "islower"
        | "isxdigit"
        | "ispunct"
        | "isprint"
        | "abs"
        | "labs"
        | "exit"
        | "_exit"
        | "abort"
        | "rand"
        | "srand"
        | "inet_pton"
        | "inet_addr"
        | "inet_ntop"
        | "inet_aton"
        | "getpid"
        | "getuid"
        | "system"
        | "gmtime_r"
        | "localtime_r"
        | "strxfrm"
        | "expect"
        | "object_size"
        | "prefetch"
        | "__errno_location"
        | "__ctype_b_loc"
        | "__ctype_tolower_loc"
        | "__ctype_toupper_loc"
        | "__assert_fail" => PLAIN,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_write_are_seen() {
        let units = |s: &str| s.chars().map(u32::from).collect::<Vec<u32>>();
        assert!(reads_strings(&units("%5d%% <%-8.3s> %lu %c")));
        assert!(!reads_strings(&units("%d%hhn")) && !reads_strings(&units("%1$n")) && !reads_strings(&units("%ls")));
    }

    #[test]
    fn what_keeps_its_arguments_is_not_known() {
        for name in ["qsort", "setvbuf", "putenv", "strtok", "pthread_create", "signal", "realpath", "setbuf"] {
            assert_eq!(known(name), None, "{name}");
        }
        assert!(known("__builtin_memcpy").is_some_and(|k| k.returns == Some(0)));
        assert!(known("__sprintf_chk").is_some());
    }

    #[test]
    fn symbols_of_large_files_and_standards_are_known() {
        for name in ["fopen64", "stat64", "__isoc99_sscanf", "__isoc23_fscanf"] {
            assert!(known(name).is_some_and(|k| k.returns.is_none()), "{name}");
        }
        assert_eq!(string("fopen64", 0), Some(Use::Reads));
        assert!(only_reads("pwrite64", 1) && !only_reads("pread64", 1));
        assert_eq!((known("malloc64"), known("fgets64")), (None, None));
    }
}
