//! Functions of objects, archives and libraries that Leeward did not compile, in programs with
//! processes: those that keep variables, or reach what does, are the first process's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{fresh, lee_in, run, tools};
use tools::Family;

/// A folder with a library: `counter.c` has a variable, `reaches.c` calls it, `pure.c` has none.
struct Library {
    folder: PathBuf,
    compiler: String,
}

const SOURCES: &[(&str, &str)] = &[
    (
        "counter.c",
        "#include <stdarg.h>\nstatic int count;\nint tick(int n) { return count += n; }\nint tick_all(int n, ...) { \
         va_list l; va_start(l, n); double sum = 0; while (n--) sum += va_arg(l, double); va_end(l); return count += \
         (int)sum; }\nint tick_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) { return count \
         += a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j; }\nint tick_back(int \
         (*f)(int), int n) { return count += f(n); }\n",
    ),
    ("reaches.c", "int tick(int n);\nint reaches(int n) { return tick(n); }\n"),
    ("pure.c", "const int table[] = {1, 2, 3};\nint pure(int n) { return table[n]; }\n"),
    ("named.c", "int named = 5;\n"),
];

impl Library {
    fn new(name: &str, compiler: &str) -> Library {
        let library = Library { folder: fresh(name), compiler: compiler.to_string() };
        for (file, text) in SOURCES {
            library.write(file, text);
            library.compile(file, &[]);
        }
        library.archive("libcount.a", "rcs", &["counter.o", "reaches.o", "pure.o", "named.o"]);
        library
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).expect("written");
    }

    fn tool(&self, program: &str, words: &[&str]) {
        run(Command::new(program).current_dir(&self.folder).args(words)).expect(0);
    }

    fn compile(&self, file: &str, flags: &[&str]) {
        self.tool(&self.compiler, &[&["-O1", "-c", file], flags].concat());
    }

    fn archive(&self, name: &str, how: &str, members: &[&str]) {
        let _ = fs::remove_file(self.folder.join(name));
        self.tool("ar", &[&[how, name], members].concat());
    }

    /// Builds `main.lee` and runs it with one worker and with several. What it prints, and reports.
    fn program(&self, words: &[&str]) -> (String, String) {
        let said = self.build(words);
        assert_eq!(said, "");
        let mut result = None;
        for workers in ["1", "4"] {
            let ran = run(Command::new(self.folder.join("main")).env("LEE_WORKERS", workers)).expect(0);
            result = Some((ran.out, ran.err));
        }
        result.expect("a run")
    }

    fn build(&self, words: &[&str]) -> String {
        let with = [&["build", "--cc", &self.compiler, "-o", "main", "main.lee"], words].concat();
        lee_in(&self.folder, &with).expect(0).err
    }
}

/// A program that calls `call` in the first process, in another, and in the first one again.
fn calls(declarations: &str, call: &str) -> String {
    format!(
        "#include <lee/process.lh>\n#include <stdio.h>\n{declarations}\nprocess int child(int n) {{\n    return {call} + n;\n}}\n\
         process int lives(int n) {{ return n; }}\n\
         int main(void) {{\n    int before = {call};\n    struct process_end end = wait(spawn child(0));\n    \
         int after = {call};\n    printf(\"%d %d %d %d %d\\n\", before, end.how == FAULTED, end.status, after, \
         wait(spawn lives(7)).status);\n    return 0;\n}}\n"
    )
}

const TICK: &str = "extern \"C\" { int tick(int n); int reaches(int n); int pure(int n); int tick_all(int n, ...); int \
                    tick_many(int, int, int, int, int, int, int, int, int, int); int tick_back(int (*f)(int), int n); }";

/// What a faulting child leaves to the others: 5 before, 5 more after.
const ONLY_FIRST: &str = "5 1 0 10 7\n";

#[test]
fn only_the_first_process_calls_what_keeps_variables() {
    for compiler in tools::compilers("only_the_first_process_calls_what_keeps_variables") {
        let library = Library::new("first-only", &compiler);
        for (name, call) in [
            ("tick", "unsafe(tick(5))"),
            ("reaches", "unsafe(reaches(5))"),
            ("tick_all", "unsafe(tick_all(3, 1.0, 1.5, 2.5))"),
            ("tick_many", "unsafe(tick_many(0, 0, 0, 0, 1, 0, 0, 0, 0, 0))"),
            ("tick_back", "unsafe(tick_back(twice, 5))"),
        ] {
            let declarations = format!("{TICK}\nextern \"C\" int twice(int n) {{ return n; }}");
            library.write("main.lee", &calls(&declarations, call));
            for words in [&["libcount.a"][..], &["libcount.a", "--release"], &["counter.o", "reaches.o"]] {
                let (out, report) = library.program(words);
                assert_eq!(out, ONLY_FIRST, "{name}");
                let said = format!("main.lee:6: fault: foreign: only the first process may call `{name}`: ");
                assert!(report.contains(&said) && report.contains("keeps `count` for all processes"), "{report}");
                assert!(report.contains("  at child (main.lee:6)"), "{report}");
            }
        }
        library.write("main.lee", &calls(TICK, "unsafe(pure(2)) + 2"));
        assert_eq!(library.program(&["libcount.a"]), ("5 0 5 5 7\n".into(), String::new()));
    }
}

/// In a pointer, too, whoever calls through it.
#[test]
fn pointers_lead_to_the_wrapper() {
    for compiler in tools::compilers("pointers_lead_to_the_wrapper") {
        let library = Library::new("first-only-pointer", &compiler);
        library.write(
            "main.lee",
            &calls(&format!("{TICK}\nextern \"C\" typedef int by_c(int);"), "unsafe(((by_c *)tick)(5))"),
        );
        let (out, report) = library.program(&["libcount.a"]);
        assert_eq!(out, ONLY_FIRST);
        assert!(report.contains("only the first process may call `tick`"), "{report}");
        // C calls it in the other process.
        library.write("calls.c", "int calls(int (*f)(int), int n) { return f(n); }\n");
        library.compile("calls.c", &[]);
        let declarations = format!("{TICK}\nextern \"C\" int calls(int (*f)(int), int n);");
        library.write("main.lee", &calls(&declarations, "unsafe(calls(tick, 5))"));
        let (out, report) = library.program(&["libcount.a", "calls.o"]);
        assert_eq!(out, ONLY_FIRST);
        assert!(report.contains("only the first process may call `tick`"), "{report}");
    }
}

/// What is declared reentrant may be called everywhere, and calls what it likes.
#[test]
fn reentrant_functions_are_every_process_s() {
    for compiler in tools::compilers("reentrant_functions_are_every_process_s") {
        let library = Library::new("first-only-reentrant", &compiler);
        for (declarations, call) in [
            ("extern \"C\" [[lee::reentrant]] int tick(int n);", "unsafe(tick(5))"),
            ("[[lee::reentrant]] trusted int tick(int n);", "tick(5)"),
            ("extern \"C\" { int reaches(int n); }\n[[lee::reentrant]] trusted int reaches(int n);", "reaches(5)"),
            ("extern \"C\" { [[lee::reentrant]] int tick(int n); }\ntrusted int tick(int n);", "tick(5)"),
            ("extern \"C\" { [[lee::reentrant]] int tick(int n); int tick(int n); }", "unsafe(tick(5))"),
        ] {
            library.write("main.lee", &calls(declarations, call));
            assert_eq!(library.program(&["libcount.a"]), ("5 0 10 15 7\n".into(), String::new()), "{declarations}");
        }
        // A function that it calls stays the first process's for Leeward's code; one file is enough.
        let both = "[[lee::reentrant]] trusted int reaches(int n);\ntrusted int tick(int n);";
        library.write("main.lee", &calls(both, "tick(3) + reaches(2)"));
        let (out, report) = library.program(&["libcount.a"]);
        assert_eq!(out, "8 1 0 18 7\n");
        assert!(report.contains("may call `tick`"), "{report}");
        library.write("main.lee", &calls("trusted int tick(int n);", "tick(5)"));
        library
            .write("other.lee", "[[lee::reentrant]] trusted int tick(int n);\nint other(void) { return tick(0); }\n");
        assert_eq!(library.program(&["other.lee", "libcount.a"]).0, "5 0 10 15 7\n");
    }
}

/// Ways in which a library comes to the linker.
#[test]
fn libraries_of_all_kinds() {
    for compiler in tools::compilers("libraries_of_all_kinds") {
        let library = Library::new("first-only-kinds", &compiler);
        library.write("main.lee", &calls(TICK, "unsafe(tick(5))"));
        library.archive("libthin.a", "rcsT", &["counter.o", "reaches.o"]);
        let here = format!("-Wl,-rpath,{}", library.folder.display());
        library.tool("ar", &["rcs", "libpure.a", "pure.o"]);
        library.tool(&compiler, &["-shared", "-fPIC", "-o", "libloaded.so", "counter.c", "-Wl,-soname,libloaded.so"]);
        library.tool(&compiler, &["-shared", "-fPIC", "-o", "libpurer.so", "pure.c"]);
        library.tool(&compiler, &["-shared", "-fPIC", "-o", "libneeds.so", "reaches.c", "-L.", "-lloaded", &here]);
        fs::write(library.folder.join("words"), "libcount.a -Wl,--no-undefined").expect("written");
        let cc = |words: &[&str]| {
            let with = [&["cc", "-o", "main", "main.lee"], words, &[&here]].concat();
            let said = support::run(lee_command(&library.folder, &compiler).args(with)).expect(0).err;
            assert_eq!(said, "", "{words:?}");
            let ran = run(&mut Command::new(library.folder.join("main"))).expect(0);
            (ran.out, ran.err)
        };
        for words in [
            &["libthin.a"][..],
            &["-L.", "-lcount"],
            &["-L", ".", "-l", "count"],
            &["-L.", "-l:libcount.a"],
            &["-Wl,--start-group,libpure.a,libcount.a,--end-group"],
            &["-Wl,-L.,-lcount"],
            &["-L.", "-Wl,-Bstatic", "-lcount", "-Wl,-Bdynamic"],
            &["-Wl,--whole-archive", "libcount.a", "-Wl,--no-whole-archive"],
            &["@words"],
            &["-s", "libcount.a"],
            &["-fPIE", "-pie", "libcount.a"],
            &["-no-pie", "libcount.a"],
            &["-ffunction-sections", "-Wl,--gc-sections", "libcount.a"],
            &["libloaded.so"],
            &["-L.", "-lloaded"],
        ] {
            let (out, report) = cc(words);
            assert_eq!(out, ONLY_FIRST, "{words:?}");
            let said = report.contains("only the first process may call `tick`: lib");
            assert!(said && report.contains(" for all processes"), "{words:?} {report}");
        }
        library.write("main.lee", &calls(TICK, "unsafe(pure(2)) + 2"));
        assert_eq!(cc(&["-L.", "-lpurer"]), ("5 0 5 5 7\n".into(), String::new()));
        library.write("main.lee", &calls(TICK, "unsafe(reaches(5))"));
        let (out, report) = cc(&["-L.", "-lneeds"]);
        assert_eq!(out, ONLY_FIRST);
        assert!(report.contains("call `reaches`: libloaded.so keeps `count` for all processes"), "{report}");
    }
}

fn lee_command(folder: &Path, compiler: &str) -> Command {
    let mut command = Command::new(support::lee());
    command.current_dir(folder).env("LEE_CC", compiler);
    command
}

/// Leeward's own objects may come in an archive, or have been compiled before.
#[test]
fn objects_of_leeward_that_were_compiled_before() {
    for compiler in tools::compilers("objects_of_leeward_that_were_compiled_before") {
        let library = Library::new("first-only-objects", &compiler);
        library.write("calls.lee", "trusted int tick(int n);\nint calls_it(int n) { return tick(n); }\n");
        library.write("plain.c", "int tick(int);\nint plain(int n) { return tick(n); }\n");
        let cc = |words: &[&str]| run(lee_command(&library.folder, &compiler).arg("cc").args(words)).expect(0);
        cc(&["--processes", "-c", "calls.lee", "plain.c"]);
        library.archive("libcalls.a", "rcs", &["calls.o", "plain.o", "pure.o"]);
        library.archive("libthin.a", "rcsT", &["calls.o", "plain.o", "pure.o"]);
        for (declaration, call) in
            [("int calls_it(int n);", "calls_it(5)"), ("extern \"C\" int plain(int n);", "unsafe(plain(5))")]
        {
            library.write("main.lee", &calls(declaration, call));
            for words in
                [&["calls.o", "plain.o"][..], &["libcalls.a"], &["libthin.a"], &["-Wl,libcalls.a"], &["-L.", "-lcalls"]]
            {
                cc(&[&["-o", "main", "main.lee"], words, &["libcount.a"]].concat());
                let ran = run(&mut Command::new(library.folder.join("main"))).expect(0);
                assert_eq!(ran.out, ONLY_FIRST, "{words:?}");
                assert!(ran.err.contains("may call `tick`: libcount.a(counter.o)"), "{}", ran.err);
            }
        }
    }
}

/// The program spawns in a library only.
#[test]
fn a_library_of_leeward_spawns() {
    let compiler = tools::compiler(Family::Gcc);
    let library = Library::new("first-only-spawner", &compiler);
    library.write(
        "spawner.lee",
        "#include <lee/process.lh>\ntrusted int tick(int n);\nprocess int child(int n) { return tick(n); }\nint spawner(void) { \
         return wait(spawn child(1)).how == FAULTED; }\n",
    );
    library.write("main.lee", "int spawner(void);\nint main(void) { return spawner() + 2; }\n");
    let cc = |words: &[&str]| run(lee_command(&library.folder, &compiler).arg("cc").args(words)).expect(0);
    cc(&["--processes", "-c", "spawner.lee", "main.lee"]);
    library.archive("libspawner.a", "rcs", &["spawner.o"]);
    cc(&["-o", "main", "main.o", "-L.", "-lspawner", "-lcount"]);
    let ran = run(&mut Command::new(library.folder.join("main"))).expect(3);
    assert!(ran.err.contains("spawner.lee:3: fault: foreign: only"), "{}", ran.err);
}

/// Wrappers of aarch64, under an emulator.
#[test]
fn wrappers_of_aarch64() {
    let (compiler, emulator) = ("aarch64-linux-gnu-gcc", "qemu-aarch64");
    if [compiler, emulator].iter().any(|program| tools::skipped_without(program, "wrappers_of_aarch64")) {
        return;
    }
    let library = Library::new("first-only-aarch64", compiler);
    for call in
        ["tick(5)", "tick_all(3, 1.0, 1.5, 2.5)", "tick_many(0, 0, 0, 0, 1, 0, 0, 0, 0, 0)", "tick_back(twice, 5)"]
    {
        let declarations = format!("{TICK}\nextern \"C\" int twice(int n) {{ return n; }}");
        library.write("main.lee", &calls(&declarations, &format!("unsafe({call})")));
        for words in [&["libcount.a"][..], &["libcount.a", "--release"]] {
            assert_eq!(library.build(words), "");
            let program = library.folder.join("main");
            let ran = run(Command::new(emulator).args(["-L", "/usr/aarch64-linux-gnu"]).arg(program)).expect(0);
            assert_eq!(ran.out, ONLY_FIRST, "{call}");
            assert!(ran.err.contains("  at child (main.lee:6)"), "{}", ran.err);
        }
    }
}

/// Symbols that are not what they look like.
#[test]
fn unusual_symbols() {
    for compiler in tools::compilers("unusual_symbols") {
        let library = Library::new("first-only-symbols", &compiler);
        library.write(
            "odd.c",
            "static int count;\n__attribute__((weak)) int weak_tick(int n) { return count += n; }\nint real_tick(int n) { \
             return count += n; }\nint alias_tick(int n) __attribute__((alias(\"real_tick\")));\nstatic int (*choose(void))(int) \
             { return real_tick; }\nint chosen_tick(int n) __attribute__((ifunc(\"choose\")));\nint named_tick(int n) \
             __asm__(\"_ZN1a4tickEi.x$1\");\nint named_tick(int n) { return count += n; }\nint getline_tick(int n) { return count += n; }\n__thread int own;\nint common[3];\n",
        );
        library.compile("odd.c", &["-fcommon"]);
        library.archive("libodd.a", "rcs", &["odd.o"]);
        for (declaration, call) in [
            ("int weak_tick(int n);", "weak_tick(5)"),
            ("int alias_tick(int n);", "alias_tick(5)"),
            ("int chosen_tick(int n);", "chosen_tick(5)"),
            ("int named(int n) __asm__(\"_ZN1a4tickEi.x$1\");", "named(5)"),
        ] {
            library.write("main.lee", &calls(&format!("trusted {declaration}"), call));
            let (out, report) = library.program(&["libodd.a"]);
            assert_eq!(out, ONLY_FIRST, "{declaration}");
            assert!(report.contains("fault: foreign: only"), "{report}");
        }
        library.write(
            "version.c",
            "static int count;\nint tick_1(int n) { return count += n; }\n__asm__(\".symver tick_1,tick@@V1\");\n",
        );
        library.compile("version.c", &[]);
        library.write("main.lee", &calls(TICK, "unsafe(tick(5))"));
        assert_eq!(library.program(&["version.o"]).0, ONLY_FIRST);
        // Of two members that define it, the first is linked.
        library.write("stateless.c", "int tick(int n) { return n; }\n");
        library.compile("stateless.c", &[]);
        library.archive("libtwice.a", "rcs", &["stateless.o", "counter.o"]);
        library.write("main.lee", &calls(TICK, "unsafe(tick(5))"));
        assert_eq!(library.program(&["libtwice.a"]).0, "5 0 5 5 7\n");
        assert_eq!(library.program(&["stateless.o", "libcount.a"]).0, "5 0 5 5 7\n");
        assert_eq!(library.program(&["libcount.a", "libtwice.a"]).0, ONLY_FIRST);
        // What libc has too is taken for libc's.
        library.write("libc.c", "static int count;\nint lckpwdf(void) { return count += 5; }\n");
        library.compile("libc.c", &[]);
        library.write("main.lee", &calls("trusted int lckpwdf(void);", "lckpwdf()"));
        assert_eq!(library.program(&["libc.o"]).0, "5 0 10 15 7\n");
    }
}

/// What a C++ compiler adds for exceptions is not a variable.
#[test]
fn objects_of_cxx() {
    if tools::skipped_without("g++", "objects_of_cxx") {
        return;
    }
    let library = Library::new("first-only-cxx", &tools::compiler(Family::Gcc));
    library.write("pure.cc", "#include <vector>\nint sum(int n) { std::vector<int> v(n, 1); int s = 0; try { for (int x : v) s += x; if (n > 4) \
                              throw 1; } catch (int) {} return s; }\n");
    library.write(
        "keeps.cc",
        "struct S { S() { n = 0; } int n; };\nnamespace a { int lazy(int n) { static S s; return s.n += n; } }\n",
    );
    library.tool("g++", &["-c", "pure.cc", "keeps.cc"]);
    let lazy = "trusted int lazy(int n) __asm__(\"_ZN1a4lazyEi\");";
    library.write("main.lee", &calls(lazy, "lazy(5)"));
    assert_eq!(library.program(&["keeps.o", "-lstdc++"]).0, ONLY_FIRST);
    library.write("main.lee", &calls("trusted int sum(int n) __asm__(\"_Z3sumi\");", "sum(5)"));
    assert_eq!(library.program(&["pure.o", "-lstdc++"]).0, "5 0 5 5 7\n");
}

/// Objects that cannot be looked into count as having variables.
#[test]
fn objects_for_link_time_optimisation() {
    for compiler in tools::compilers("objects_for_link_time_optimisation") {
        let is_clang = compiler.contains("clang");
        let library = Library::new("first-only-lto", &compiler);
        library.write("main.lee", &calls(TICK, "unsafe(tick(5))"));
        let mut ways = vec![&["-flto"][..]];
        if !is_clang {
            ways.push(&["-flto", "-ffat-lto-objects"]);
        }
        for flags in ways {
            library.compile("counter.c", flags);
            let linker = if is_clang { &["-fuse-ld=lld", "-flto"][..] } else { &["-flto"] };
            let with = [&["cc", "-o", "main", "main.lee", "counter.o"], linker].concat();
            let built = run(lee_command(&library.folder, &compiler).args(with));
            if built.err.contains("invalid linker name") || built.err.contains("LLVMgold") {
                tools::skip("lld", "objects_for_link_time_optimisation", true);
                continue;
            }
            built.expect(0);
            let ran = run(&mut Command::new(library.folder.join("main"))).expect(0);
            assert_eq!(ran.out, ONLY_FIRST, "{flags:?}");
            assert!(ran.err.contains("may call `tick`: counter.o"), "{}", ran.err);
        }
    }
}

/// A variable that Leeward's code names has no wrapper.
#[test]
fn variables_that_leeward_names() {
    let library = Library::new("first-only-variables", &tools::compiler(Family::Gcc));
    let text = calls("extern \"C\" extern int named;", "unsafe(named)");
    library.write("main.lee", &text);
    for words in [&["libcount.a"][..], &["named.o"]] {
        let said = library.build(words);
        assert!(said.contains("warning: all processes share `named` (") && said.contains("named.o"), "{said}");
        assert!(!said.contains("`count`"), "{said}");
    }
    assert_eq!(library.build(&["-Wno-shared-variables", "named.o"]), "");
    // Nothing is said or changed in programs of one process.
    library.write(
        "main.lee",
        "extern \"C\" { int tick(int n); extern int named; }\nint main(void) { return unsafe(tick(1) + named) - 6; }\n",
    );
    assert_eq!(library.build(&["libcount.a"]), "");
    run(&mut Command::new(library.folder.join("main"))).expect(0);
    let program = fs::read(library.folder.join("main")).expect("a program");
    assert!(!program.windows(10).any(|bytes| bytes == b"lee.first."));
}

#[test]
fn damaged_archives_are_reported() {
    let library = Library::new("first-only-damaged", &tools::compiler(Family::Gcc));
    library.write("main.lee", &calls(TICK, "unsafe(tick(5))"));
    let whole = fs::read(library.folder.join("libcount.a")).expect("an archive");
    let mut seen = 0;
    for cut in (8..whole.len()).step_by(97) {
        for garbled in [false, true] {
            let mut bytes = whole.clone();
            match garbled {
                false => bytes.truncate(cut),
                true => bytes[cut..(cut + 8).min(whole.len())].fill(0xff),
            }
            fs::write(library.folder.join("broken.a"), bytes).expect("written");
            let ran = lee_in(&library.folder, &["build", "-o", "main", "main.lee", "broken.a"]);
            assert!(!ran.err.contains("panicked") && !ran.err.contains("internal error"), "{}", ran.err);
            seen += usize::from(ran.err.contains("the archive 'broken.a' cannot be read ("));
        }
    }
    assert!(seen > 3, "{seen}");
}
