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
