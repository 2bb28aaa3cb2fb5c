//! Text that others wrote: the system's headers, and the conformance cases.

mod common;

use common::{parse_in, preprocess};
use syntax::{Dialect, ParseOptions};

const HEADERS: &[&str] = &[
    "stdio.h",
    "stdlib.h",
    "string.h",
    "strings.h",
    "sys/socket.h",
    "sys/types.h",
    "sys/stat.h",
    "sys/wait.h",
    "sys/mman.h",
    "sys/time.h",
    "sys/select.h",
    "sys/epoll.h",
    "sys/uio.h",
    "sys/un.h",
    "netinet/in.h",
    "netinet/tcp.h",
    "arpa/inet.h",
    "netdb.h",
    "math.h",
    "complex.h",
    "tgmath.h",
    "fenv.h",
    "pthread.h",
    "semaphore.h",
    "threads.h",
    "stdatomic.h",
    "setjmp.h",
    "signal.h",
    "errno.h",
    "fcntl.h",
    "unistd.h",
    "dirent.h",
    "ctype.h",
    "wchar.h",
    "wctype.h",
    "uchar.h",
    "locale.h",
    "time.h",
    "limits.h",
    "float.h",
    "stdint.h",
    "inttypes.h",
    "stdarg.h",
    "stddef.h",
    "stdbool.h",
    "stdalign.h",
    "stdnoreturn.h",
    "assert.h",
    "regex.h",
    "glob.h",
    "fnmatch.h",
    "getopt.h",
    "poll.h",
    "termios.h",
    "syslog.h",
    "pwd.h",
    "grp.h",
    "dlfcn.h",
    "iconv.h",
    "langinfo.h",
    "search.h",
    "ucontext.h",
    "utime.h",
    "immintrin.h",
    "obstack.h",
    "argp.h",
    "link.h",
    "elf.h",
];

#[test]
fn system_headers_parse_in_both_dialects() {
    let text: String = HEADERS.iter().map(|h| format!("#if __has_include(<{h}>)\n#include <{h}>\n#endif\n")).collect();
    for (dialect, args) in [
        (Dialect::C, &["-std=gnu17", "-D_GNU_SOURCE"][..]),
        (Dialect::C, &["-std=gnu17", "-D_GNU_SOURCE", "-O2"]),
        (Dialect::Leeward, &["-std=c2x", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE"]),
    ] {
        let Some(text) = preprocess(args, &text) else { return };
        assert!(text.len() > 100_000, "the preprocessor gave {} bytes", text.len());
        let (unit, errors) = parse_in(ParseOptions::new(dialect), "headers.c", text);
        let errors: Vec<&String> = errors.iter().take(5).collect();
        assert_eq!(errors, Vec::<&String>::new(), "{dialect:?} {args:?}");
        assert!(unit.items.len() > 2000);
        assert!(unit.items.iter().all(|i| i.origin == syntax::ast::Origin::Foreign));
    }
}

#[test]
fn conformance_cases_have_no_syntax_errors() {
    let Ok(folder) = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases")) else { return };
    let mut seen = 0;
    for path in folder.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|e| e != "lee") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let text = text.replace("#include <lee/", "//");
        let args = ["-std=c2x", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE"];
        let Some(text) = preprocess(&args, &text) else { return };
        let (_, errors) = parse_in(ParseOptions::new(Dialect::Leeward), "case.lee", text);
        assert_eq!(errors, Vec::<String>::new(), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 20, "{seen} cases");
}

#[test]
fn the_librarys_own_headers_are_leeward() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../library/include"));
    let Ok(folder) = folder.canonicalize() else { return };
    let text: String = HEADERS.iter().map(|h| format!("#if __has_include(<{h}>)\n#include <{h}>\n#endif\n")).collect();
    let shown = folder.to_string_lossy().into_owned();
    let args = ["-std=c2x", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-D__NO_CTYPE", "-isystem", &shown];
    let Some(text) = preprocess(&args, &text) else { return };
    let options = ParseOptions { dialect: Dialect::Leeward, library_dir: Some(folder) };
    let (unit, errors) = parse_in(options, "headers.lee", text);
    assert_eq!(errors.iter().take(5).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(unit.items.iter().any(|i| i.origin == syntax::ast::Origin::Leeward));
}

#[test]
fn headers_of_a_library_folder_are_leeward_and_others_are_foreign() {
    let text =
        "# 1 \"x.lee\"\n# 1 \"/lib/lee/a.h\" 1 3\nint *view f(void);\nextern \"C\" { int g(void); }\n# 2 \"x.lee\" 2\n\
                # 1 \"/usr/include/b.h\" 1 3\nint *view(int *any);\n# 3 \"x.lee\" 2\nint *fat p;\n";
    let options = ParseOptions { dialect: Dialect::Leeward, library_dir: Some("/lib/lee".into()) };
    let (unit, errors) = parse_in(options, "x.lee", text.to_string());
    assert_eq!(errors, Vec::<String>::new());
    let foreign: Vec<bool> = unit.items.iter().map(|i| i.origin == syntax::ast::Origin::Foreign).collect();
    assert_eq!(foreign, [false, true, true, false]);
}
