//! Separate compilation: one program of three Leeward files with a generic container and a C file,
//! built by `lee build`, by Make and by CMake; and what is said when two files disagree about a
//! function.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{fresh, lee, lee_in, root, run, tools};

/// A copy of tests/link.
fn copy(name: &str) -> PathBuf {
    let folder = fresh(name);
    for entry in fs::read_dir(root().join("tests/link")).expect("tests/link").flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name())).expect("copied");
        }
    }
    std::os::unix::fs::symlink(lee().canonicalize().expect("lee"), folder.join("lee-cc")).expect("a link");
    folder
}

fn works(program: &Path) {
    let ran = run(Command::new(program).args(["2 3 4 * +", "2 10 ^ 1 -", "1 +"])).expect(0);
    let wanted = "2 3 4 * + = 14\n2 10 ^ 1 - = 1023\n1 +: not an expression of +-*^\ntwo three\n";
    assert_eq!(ran.out, wanted);
}

#[test]
fn by_lee_build() {
    let folder = copy("link build");
    for release in [&[][..], &["--release"]] {
        let words =
            [&["build", "-o", "calculate"], release, &["main.lee", "evaluate.lee", "names.lee", "power.c"]].concat();
        lee_in(&folder, &words).expect(0);
        works(&folder.join("calculate"));
    }
}

/// C11 6.7.4p7: a declaration with `extern`, before or after the inline definition, makes that one
/// a definition for other files too.
#[test]
fn an_extern_declaration_defines_an_inline_function() {
    let folder = fresh("link-inline");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    write("next.lee", "extern int next(int);\ninline int next(int x) { return x + 1; }\ninline int last(int x) { return x - 1; }\nextern int last(int);\n");
    write(
        "main.lee",
        "extern int next(int);\nextern int last(int);\nint main(void) { return next(3) + last(3) - 6; }\n",
    );
    lee_in(&folder, &["build", "-o", "program", "main.lee", "next.lee"]).expect(0);
    run(&mut Command::new(folder.join("program"))).expect(0);
}

/// Processes of a program of several files, one of them of C, each with variables of its own; an
/// object that was compiled for programs of one process is found out.
#[test]
fn processes_of_several_files() {
    let folder = fresh("link-processes");
    for file in ["main.lee", "other.lee", "counter.c"] {
        fs::copy(root().join("tests/processes").join(file), folder.join(file)).expect("copied");
    }
    let wanted = "2027\n2040\n2053\n77\n2 2 50\n";
    let sources = ["main.lee", "other.lee", "counter.c"];
    let mut ways = vec![&["build"][..], &["build", "--release"], &["cc", "-O1"]];
    match tools::usual_sanitizes() {
        true => ways.push(&["build", "--sanitize", "address,undefined"]),
        false => tools::skip("sanitizers", "processes_of_several_files", false),
    }
    for options in ways {
        lee_in(&folder, &[options, &["-o", "program"], &sources].concat()).expect(0);
        assert_eq!(run(&mut Command::new(folder.join("program"))).expect(0).out, wanted, "{options:?}");
    }
    lee_in(&folder, &["cc", "-c", "main.lee", "other.lee"]).expect(0);
    lee_in(&folder, &["cc", "--processes", "-c", "counter.c"]).expect(0);
    let objects = ["cc", "-o", "program", "main.o", "other.o", "counter.o"];
    lee_in(&folder, &objects).expect(0);
    let ran = run(&mut Command::new(folder.join("program"))).expect(2);
    assert!(ran.err.contains("other.lee was compiled for programs of one process"), "{}", ran.err);
    lee_in(&folder, &["cc", "--processes", "-c", "other.lee"]).expect(0);
    lee_in(&folder, &objects).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("program"))).expect(0).out, wanted);
    let shared = ["cc", "--processes", "-shared", "-fPIC", "-o", "library.so", "other.lee"];
    let ran = lee_in(&folder, &shared).expect(1);
    assert!(ran.err.contains("a shared library has no processes"), "{}", ran.err);
    // As it stands, the C compiler would give all processes the same variables.
    fs::write(folder.join("counter.c"), "#pragma strange\nint c_next(void) { static int n; return ++n; }\n")
        .expect("written");
    let ran = lee_in(&folder, &[&["build", "-o", "program"], &sources[..]].concat()).expect(1);
    assert!(ran.err.contains("all processes would share its variables"), "{}", ran.err);
}

/// What C code of a process allocates is freed when the process ends, and charged to its custodian.
#[test]
fn memory_of_c_in_processes() {
    let folder = fresh("link-c-memory");
    for file in ["allocates.lee", "allocates.c"] {
        fs::copy(root().join("tests/processes").join(file), folder.join(file)).expect("copied");
    }
    for options in [&["build"][..], &["build", "--release"]] {
        lee_in(&folder, &[options, &["-o", "program", "allocates.lee", "allocates.c"]].concat()).expect(0);
        let out = run(&mut Command::new(folder.join("program"))).expect(0).out;
        assert_eq!(out, "650\n1316, and nothing is left\n15 MB below the limit\n", "{options:?}");
    }
}

/// What C code of a process opens is the process's: closed at its end, and not by another's C code.
#[test]
fn descriptors_of_c_in_processes() {
    let folder = fresh("link-c-descriptors");
    for file in ["opens.lee", "opens.c"] {
        fs::copy(root().join("tests/processes").join(file), folder.join(file)).expect("copied");
    }
    for options in [&["build"][..], &["build", "--release"]] {
        lee_in(&folder, &[options, &["-o", "program", "opens.lee", "opens.c"]].concat()).expect(0);
        for workers in ["1", "4"] {
            let out = run(Command::new(folder.join("program")).env("LEE_WORKERS", workers)).expect(0).out;
            assert_eq!(out, "77, and 0 more\n1 20\n1 0 0\n1131 1131\n3 42\n20\n", "{options:?}, {workers}");
        }
    }
}

/// A `.c` file beside Leeward code defines no function that the runtime calls; others of C's names
/// it may, and a program of C alone may define all.
#[test]
fn c_leaves_the_runtime_its_names() {
    let write = "#include <stddef.h>\nlong write(int fd, const void *p, size_t n) { return (long)n; }\n\
        int c_one(void) { return 1; }\n";
    let other =
        "#include <stddef.h>\nsize_t strlcpy(char *to, const char *from, size_t n) { *to = *from; return n; }\n\
        char *basename(const char *p) { return (char *)p; }\nvoid error(int a, int b, const char *c, ...) {}\n\
        long getline(char **p, size_t *n, void *f) { return -1; }\nint c_one(void) { return 1; }\n";
    let main =
        "#include <stdio.h>\ntrusted int c_one(void);\nint main(void) { printf(\"%d\\n\", c_one()); return 0; }\n";
    let plain = "int c_one(void);\nint main(void) { return c_one() - 1; }\n";
    let files = [("main.lee", main), ("plain.c", plain), ("write.c", write), ("other.c", other)];
    let folder = folder_of("link-taken", &files);
    let refused = |words: &[&str]| {
        let ran = lee_in(&folder, words).expect(1);
        let said = ran.err.contains("the program defines `write`, which the runtime calls");
        assert!(said && ran.err.contains("write.c:2: note: defined here"), "{words:?}: {}", ran.err);
        assert!(!folder.join("program").exists());
    };
    refused(&["build", "-o", "program", "main.lee", "write.c"]);
    refused(&["build", "--release", "-o", "program", "main.lee", "write.c"]);
    refused(&["cc", "-o", "program", "main.lee", "write.c"]);
    lee_in(&folder, &["cc", "-c", "main.lee", "write.c"]).expect(0);
    run(Command::new("ar").args(["rcs", "libw.a", "write.o"]).current_dir(&folder)).expect(0);
    refused(&["cc", "-s", "-o", "program", "main.o", "write.o"]);
    refused(&["cc", "-o", "program", "main.o", "libw.a"]);
    for words in [&["build"][..], &["cc"]] {
        lee_in(&folder, &[words, &["-o", "program", "main.lee", "other.c"]].concat()).expect(0);
        assert_eq!(run(&mut Command::new(folder.join("program"))).expect(0).out, "1\n");
        lee_in(&folder, &[words, &["-o", "program", "plain.c", "write.c"]].concat()).expect(0);
        run(&mut Command::new(folder.join("program"))).expect(0);
    }
}

/// LeakSanitizer does not call lost what a process has that runs when the program ends.
#[test]
fn running_processes_leak_nothing() {
    if !tools::usual_sanitizes() {
        return tools::skip("sanitizers", "running_processes_leak_nothing", false);
    }
    let folder = fresh("link-live");
    for file in ["live.lee", "live.c"] {
        fs::copy(root().join("tests/processes").join(file), folder.join(file)).expect("copied");
    }
    lee_in(&folder, &["build", "--sanitize", "address", "-o", "program", "live.lee", "live.c"]).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("program"))).expect(0).out, "42\n");
}

/// Faults that are not printed any more are counted, and the program says how many at its end.
#[test]
fn counted_faults_are_told() {
    let text = "#include <lee/process.lh>\nprocess int reads(int i) { int t[3] = {1, 2, 3}; return t[i]; }\n\
        int main(void) {\n    int n = 0;\n    for (int i = 0; i < 20; i++) n += wait(spawn reads(3)).how == FAULTED;\n\
        \x20   return n - 20;\n}\n";
    let folder = folder_of("link-counted", &[("many.lee", text)]);
    lee_in(&folder, &["build", "-o", "program", "many.lee"]).expect(0);
    let said = run(&mut Command::new(folder.join("program"))).expect(0).err;
    assert_eq!(said.matches("fault: index 3 out of bounds").count(), 5, "{said}");
    assert_eq!(said.matches("  more faults at this place are counted, not printed\n").count(), 1, "{said}");
    assert!(said.ends_with("many.lee:2:57: 15 more faults of processes\n"), "{said}");
}

/// `noreturn` is part of a function's type, and is shown where files disagree about it.
#[test]
fn functions_that_do_not_return_are_shown() {
    let one = "#include <stdlib.h>\n[[noreturn]] void die(int n) { exit(n); }\n";
    let two = "void die(int n);\nint main(void) { die(0); return 1; }\n";
    let folder = folder_of("link-noreturn", &[("one.lee", one), ("two.lee", two)]);
    let ran = lee_in(&folder, &["build", "-o", "program", "one.lee", "two.lee"]).expect(1);
    let said = "one.lee:2: note: defined here: [[noreturn]] void (int)\ntwo.lee:1: note: declared here: void (int)\n";
    assert!(ran.err.contains(said), "{}", ran.err);
}

/// Code for a C program does not spawn.
#[test]
fn single_code_does_not_spawn() {
    let text = "#include <lee/process.lh>\nprocess int f(void) { return 1; }\n\
        extern \"C\" int g(void);\nint g(void) { return wait(spawn f()).status; }\n";
    let folder = folder_of("link-single", &[("one.lee", text)]);
    let ran = lee_in(&folder, &["build", "--single", "-o", "program", "one.lee"]).expect(1);
    assert!(ran.err.contains("L0238") && ran.err.contains("one.lee:4:"), "{}", ran.err);
}

const BUFFER_H: &str = "#include <lee/compat.h>\nstruct buf { char *fat data; int used; };\n\
    void fill(struct buf *b);\nint get(struct buf *b, int i);\nint first(const char *fat text);\n";
const BUFFER: &str = "#include \"buffer.h\"\n#include <stdlib.h>\n\
    void fill(struct buf *b) { b->data = malloc(4); b->used = 4; b->data[2] = 'x'; }\n\
    int get(struct buf *b, int i) { return b->data[i]; }\nint first(const char *fat text) { return text[0]; }\n";

/// A folder with these files.
fn folder_of(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = fresh(name);
    for (file, text) in files {
        fs::write(folder.join(file), text).expect("written");
    }
    folder
}

/// `<lee/compat.h>` leaves `fat` to what reads C, so a struct has its layout there, and a use of
/// what C cannot make or read is refused at its line.
#[test]
fn c_knows_what_it_leaves_out() {
    let passes = "#include \"buffer.h\"\nint main(void) {\n    struct buf b = {0}, c;\n    fill(&b);\n    c = b;\n\
        \x20   return get(&c, 2) + c.used + (int)sizeof c;\n}\n";
    let folder = folder_of("link-left-out", &[("buffer.h", BUFFER_H), ("buffer.lee", BUFFER), ("main.c", passes)]);
    for words in [&["build"][..], &["build", "--release"], &["cc", "-O1"]] {
        lee_in(&folder, &[words, &["-o", "program", "main.c", "buffer.lee"]].concat()).expect(0);
        run(&mut Command::new(folder.join("program"))).expect(i32::from(b'x') + 4 + 32);
    }
    let uses = [
        ("int f(struct buf *b) { return b->data[0]; }", 2, "a `char *fat` is three words"),
        ("void f(struct buf *b, char *p) { b->data = p; }", 2, "a `char *fat` is three words"),
        ("void f(char *p) { struct buf b = { p, 1 }; get(&b, 0); }", 2, "a `char *fat` is three words"),
        ("int f(char *p) { return first(p); }", 2, "a function of type"),
        ("int (*f(void))() { return (int (*)())first; }", 2, "a function of type"),
        ("int first(const char *fat text) { return 0; }", 2, "a function of type"),
        ("void f(void) { char *fat p; (void)&p; }", 2, "a `char *fat` is three words"),
        ("char *fat all[2];\nvoid *f(void) { return all; }", 3, "elements of three words"),
    ];
    for (code, line, message) in uses {
        fs::write(folder.join("use.c"), format!("#include \"buffer.h\"\n{code}\n")).expect("written");
        for words in [&["cc", "-c"][..], &["check"]] {
            let ran = lee_in(&folder, &[words, &["use.c"]].concat()).expect(1);
            let place = format!("use.c:{line}:");
            assert!(ran.err.contains("L0243") && ran.err.contains(&place) && ran.err.contains(message), "{}", ran.err);
            assert!(ran.err.contains("move use.c to Leeward next"), "{}", ran.err);
        }
    }
    // The C compiler would read one word.
    let register = "#include \"buffer.h\"\nlong kept(void) { register long r __asm__(\"rbx\") = 1; return r; }\n";
    fs::write(folder.join("register.c"), register).expect("written");
    let ran = lee_in(&folder, &["cc", "-c", "register.c"]).expect(1);
    let said = "register.c: it includes declarations with `fat`, which the C compiler would read as one word";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(!folder.join("register.o").exists());
}

/// Between a `.c` and a `.lee` file the layouts of what both name are compared.
#[test]
fn c_and_leeward_agree_about_layouts() {
    let cases = [
        // In Leeward a `void *` is two words.
        ("int count(void *p, int n) { int *v = p; return *v + n; }", "int count(void *p, int n);\nint main(void) { int v = 1; return count(&v, 2); }", "layout of `count`"),
        ("struct box { char *fat data; int n; };\nint size(struct box *b) { return b->n; }", "struct box { char *data; int n; };\nint size(struct box *);\nint main(void) { struct box b = { 0, 3 }; return size(&b); }", "layout of `box`"),
        // Behind a pointer in a struct that agrees.
        ("struct in { void *p; };\nstruct out { struct in *in; };\nint is(struct out *o) { return o->in != nullptr; }", "struct in { void *p; };\nstruct out { struct in *in; };\nint is(struct out *);\nint main(void) { struct in i; struct out o = { &i }; return is(&o); }", "layout of `in`"),
        // What a foreign declaration says of C.
        ("extern \"C\" long twice(int);\nint main(void) { return (int)unsafe(twice(2)); }", "int twice(int n) { return 2 * n; }", "layout of `twice`"),
        ("int sum(long a, long b) { return (int)(a + b); }", "int sum(int, int);\nint main(void) { return sum(1, 2); }", "layout of `sum`"),
    ];
    for (number, (lee, c, message)) in cases.iter().enumerate() {
        let folder = folder_of(&format!("link-layout-{number}"), &[("one.lee", lee), ("two.c", c)]);
        for words in [&["build"][..], &["cc"]] {
            let ran = lee_in(&folder, &[words, &["-o", "program", "one.lee", "two.c"]].concat()).expect(1);
            let said = ran.err.contains(message) && ran.err.contains("one.lee:") && ran.err.contains("two.c:");
            assert!(said, "{number}: {}", ran.err);
        }
        assert!(!folder.join("program").exists());
    }
}

/// Files that disagree about a struct are told field by field, and nothing else is.
#[test]
fn structs_that_differ_are_told() {
    let one = "struct pair { int a; };\nint first(struct pair *p);\nint main(void) { struct pair p = { 1 }; return first(&p); }\n";
    let two = "struct pair { long a; };\nint first(struct pair *p) { return (int)p->a; }\n";
    let folder = folder_of("link-struct", &[("one.lee", one), ("two.lee", two)]);
    let ran = lee_in(&folder, &["build", "-o", "program", "one.lee", "two.lee"]).expect(1);
    let said = "lee: files disagree about the fields of `pair`, so they cannot be linked\n\
        one.lee:1: note: declared here\n\
        two.lee:1: note: declared here: field 1 is `long a` here, `int a` there\n";
    assert_eq!(ran.err, said);
}

/// What C converts as it likes, what files of C say of each other, and members of an archive that
/// are not linked, are left alone.
#[test]
fn what_c_leaves_open_links() {
    let lee = "enum kind { A, B };\nextern \"C\" int user(void *p, enum kind k);\n\
        int add(unsigned char *counted_by(n) p, unsigned n) { return n > 0 ? p[0] : 0; }\n\
        int table[] = { 1, 2 };\nint none(void) { return 0; }\nstatic inline int own(void *p) { return p != nullptr; }\n";
    let c = "struct node;\nint add(char *p, int n);\nextern int table[];\nint none();\nint other(int);\n\
        int main(void) { char c = 1; return add(&c, 1) + table[1] + none() + other(3); }\n";
    // Private to each file.
    let other = "struct node { int a; };\nint add(void *, unsigned);\nlong extra(int);\n\
        int other(int n) { struct node node = { n }; return node.a; }\n";
    let extra = "int extra(int n) { return n; }\nint none(int, int);\nint useless(void) { return none(1, 2); }\n";
    let folder = folder_of("link-open", &[("one.lee", lee), ("two.c", c), ("three.c", other), ("four.c", extra)]);
    lee_in(&folder, &["cc", "-c", "one.lee", "two.c", "three.c", "four.c"]).expect(0);
    lee_in(&folder, &["cc", "-o", "program", "one.o", "two.o", "three.o"]).expect(0);
    run(&mut Command::new(folder.join("program"))).expect(6);
    if tools::skipped_without("ar", "what_c_leaves_open_links") {
        return;
    }
    run(Command::new("ar").args(["rc", "four.a", "four.o"]).current_dir(&folder)).expect(0);
    lee_in(&folder, &["cc", "-o", "program", "one.o", "two.o", "three.o", "four.a"]).expect(0);
    let all =
        ["cc", "-o", "program", "one.o", "two.o", "three.o", "-Wl,--whole-archive", "four.a", "-Wl,--no-whole-archive"];
    let ran = lee_in(&folder, &all).expect(1);
    assert!(ran.err.contains("layout of `none`"), "{}", ran.err);
}

#[test]
fn by_make() {
    if tools::skipped_without("make", "by_make") {
        return;
    }
    let folder = copy("link-make");
    let make = || run(Command::new("make").arg("CC=./lee-cc").current_dir(&folder)).expect(0).out;
    make();
    works(&folder.join("calculate"));
    assert!(make().contains("up to date"), "nothing is made twice");
    // A header that one file includes.
    let header = folder.join("names.lh");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    fs::File::options().append(true).open(header).and_then(|f| f.set_modified(later)).expect("touched");
    let said = make();
    assert!(said.contains("main.lee") && said.contains("names.lee") && !said.contains("evaluate.lee"), "{said}");
    works(&folder.join("calculate"));
}

#[test]
fn by_cmake() {
    if tools::skipped_without("cmake", "by_cmake") || tools::skipped_without("make", "by_cmake") {
        return;
    }
    let folder = copy("link-cmake");
    let out = folder.join("out");
    for compiler in
        [format!("{};cc", lee().canonicalize().expect("lee").display()), folder.join("lee-cc").display().to_string()]
    {
        let _ = fs::remove_dir_all(&out);
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(&folder).arg("-B").arg(&out).arg(format!("-DCMAKE_C_COMPILER={compiler}"));
        run(configure.args(["-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=Release"])).expect(0);
        run(Command::new("cmake").arg("--build").arg(&out)).expect(0);
        works(&out.join("calculate"));
    }
}

#[test]
fn by_plain_gcc_from_objects() {
    let folder = copy("link-gcc");
    lee_in(&folder, &["cc", "-c", "main.lee", "evaluate.lee", "names.lee", "power.c"]).expect(0);
    lee_in(&folder, &["cc", "-o", "calculate", "main.o", "evaluate.o", "names.o", "power.o"]).expect(0);
    works(&folder.join("calculate"));
}

#[test]
fn two_types_for_one_function_do_not_link() {
    let mismatch = root().join("tests/link/mismatch");
    let folder = fresh("link-mismatch");
    let words = ["build", "-o", "x", "user.lee", "maker.lee"];
    for file in ["user.lee", "maker.lee"] {
        fs::copy(mismatch.join(file), folder.join(file)).expect("copied");
    }
    let said = |err: &str| {
        for part in ["`measure`", ", int)", ", long)", "user.lee:3", "maker.lee:3", "parameter 2 is `"] {
            assert!(err.contains(part), "lacks {part:?}: {err}");
        }
        assert!(!err.contains("undefined reference"), "{err}");
    };
    said(&lee_in(&folder, &words).expect(1).err);
    lee_in(&folder, &["cc", "-c", "user.lee", "maker.lee"]).expect(0);
    said(&lee_in(&folder, &["cc", "-o", "x", "user.o", "maker.o"]).expect(1).err);
    assert!(!folder.join("x").exists());
}

#[test]
fn two_layouts_of_one_record_do_not_link() {
    let folder = fresh("link-record");
    let user = "struct point { int x, y; };\nint sum(struct point *p);\nint main(void) { struct point p = { 1, 2 }; return sum(&p); }\n";
    fs::write(folder.join("user.lee"), user).expect("written");
    fs::write(
        folder.join("maker.lee"),
        "struct point { int x; long y; };\nint sum(struct point *p) { return p->x + (int)p->y; }\n",
    )
    .expect("written");
    let err = lee_in(&folder, &["build", "-o", "x", "user.lee", "maker.lee"]).expect(1).err;
    for part in ["`point`", "user.lee:1: note", "maker.lee:1: note", "field 2 is `", "`int y`", "`long y`"] {
        assert!(err.contains(part), "lacks {part:?}: {err}");
    }
}

/// What two files say to each other over a channel: the digest covers the contract with those that
/// it extends and mentions.
#[test]
fn two_contracts_of_one_name_do_not_link() {
    let folder = fresh("link-contract");
    let contracts =
        "contract Base { out message Refused(); out message REPLIED(); state START { Refused! -> END; REPLIED! -> END; } state END { } }
contract Events { out message Event(KIND n); in message Seen(); state READY { Event! -> Seen? -> READY; } }
contract Ping extends Base {
    in message Ask(Events.exp:READY e);
    out message Reply(int n);
    state START { Reply! -> READY; }
    state READY { Ask? -> (Reply! | REPLIED!) -> READY; }
}
";
    let text = |kind: &str, replied: &str| contracts.replace("KIND", kind).replace("REPLIED", replied);
    let user = "void serve(consume Ping.exp:READY e);\nvoid forward(consume Ping.exp:READY e) { serve(e); }\nint main(void) { return 0; }\n";
    let maker = "void serve(consume Ping.exp:READY e) { free(e); }\n";
    fs::write(folder.join("user.lee"), text("int", "Other") + user).expect("written");
    let words = ["build", "-o", "x", "user.lee", "maker.lee"];
    for (kind, replied, fits) in [("int", "Other", true), ("long", "Other", false), ("int", "Another", false)] {
        fs::write(folder.join("maker.lee"), text(kind, replied) + maker).expect("written");
        let ran = lee_in(&folder, &words).expect(i32::from(!fits));
        assert_eq!(ran.err.contains("`serve`"), !fits, "{}", ran.err);
    }
}

#[test]
fn a_c_function_needs_a_trusted_declaration() {
    let folder = fresh("link-trusted");
    fs::write(folder.join("user.lee"), "int half(int x);\nint main(void) { return half(4); }\n").expect("written");
    fs::write(folder.join("half.c"), "int half(int x) { return x / 2; }\n").expect("written");
    let err = lee_in(&folder, &["build", "-o", "x", "user.lee", "half.c"]).expect(1).err;
    assert!(err.contains("`half`") && err.contains("trusted") && err.contains("user.lee:1"), "{err}");
    fs::write(folder.join("user.lee"), "int half(int x);\nint main(void) { return half(4); }\n").expect("written");
    let err = lee_in(&folder, &["build", "-o", "x", "user.lee"]).expect(1).err;
    assert!(err.contains("half") && !err.contains("lee.type"), "{err}");
}

#[test]
fn what_no_file_defines_is_named_with_the_line_of_its_use() {
    let folder = fresh("link-missing");
    fs::write(folder.join("user.lee"), "int half(int x);\nint main(void) {\n    return half(4);\n}\n")
        .expect("written");
    fs::write(folder.join("part.lee"), "int part(void) {\n    return 1;\n}\n").expect("written");
    fs::copy(folder.join("part.lee"), folder.join("twice.lee")).expect("copied");
    let missing = "user.lee:3: error: `half` is used here, and no file defines it\nuser.lee:1: note: declared here\n";
    for compiler in tools::compilers("what_no_file_defines_is_named_with_the_line_of_its_use") {
        let build = |words: &[&str]| lee_in(&folder, &[&["build", "--cc", &compiler, "-o", "x"], words].concat());
        assert_eq!(build(&["user.lee"]).expect(1).err, missing);
        assert_eq!(build(&["part.lee"]).expect(1).err, "lee: no file defines `main`, where the program begins\n");
        let err = build(&["part.lee", "twice.lee"]).expect(1).err;
        for part in [
            "twice.lee:1: error: `part` is defined twice",
            "part.lee:1: note: first defined here",
            "no file defines `main`",
        ] {
            assert!(err.contains(part), "lacks {part:?}: {err}");
        }
        assert!(build(&["user.lee", "-lnowhere"]).expect(1).err.contains("the library `nowhere` was not found"));
    }
    lee_in(&folder, &["cc", "-c", "user.lee"]).expect(0);
    assert_eq!(lee_in(&folder, &["cc", "-o", "x", "user.o"]).expect(1).err, missing);
}
