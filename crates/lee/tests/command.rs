//! The command line: statuses, one-line errors, streams, the cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;
use support::{files, fresh, lee, lee_in, run, run_with, tools, Ran};

const HELLO: &str = "#include <stdio.h>\nint main(void) { printf(\"hello\\n\"); return 0; }\n";

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("written");
}

/// Fails unless the command says exactly one line that has all the parts, and nothing on standard
/// output.
fn one_line(ran: &Ran, parts: &[&str]) {
    assert_eq!(ran.out, "", "standard output");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    for part in parts {
        assert!(ran.err.contains(part), "lacks {part:?}: {}", ran.err);
    }
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let folder = fresh("usage");
    write(&folder, "a.lee", HELLO);
    for (words, part) in [
        (&["frobnicate"][..], "frobnicate"),
        (&["run"], "no file"),
        (&["build", "--frob", "a.lee"], "--frob"),
        (&["check", "-Z", "a.lee"], "-Z"),
        (&["check", "--color=pink", "a.lee"], "auto, always, never"),
        (&["check", "--message-format", "xml", "a.lee"], "text, json"),
        (&["check", "--emit", "tea", "a.lee"], "ast, types, mir, c"),
        (&["build", "-o"], "-o"),
        (&["run", "-o", "x", "a.lee"], "-o"),
        (&["explain", "L9999"], "L9999"),
        (&["help", "tea"], "tea"),
        (&["cc", "-c", "-o"], "-o"),
        (&["cc", "-c", "a.lee", "b.lee", "-o", "x.o"], "-o"),
    ] {
        let ran = lee_in(&folder, words).expect(2);
        one_line(&ran, &["lee: ", part]);
    }
}

#[test]
fn check_reads_plain_c_by_the_rules_of_c() {
    let folder = fresh("plain");
    // Legal C that Leeward rejects: pointers without bounds, casts, words of Leeward as names, a
    // missing `int`.
    let text = "static sum(int *p, int n) { int fat = 0; while (n-- > 0) fat += *p++; return fat + (int)(long)p; }\nint sum2 = sizeof(sum(0, 0));\n";
    write(&folder, "good.c", text);
    write(&folder, "bad.c", "int f(void) { return unknown; }\n");
    write(&folder, "old.c", "#if __STDC_VERSION__ >= 199901L\n#error new\n#endif\n");
    lee_in(&folder, &["check", "good.c"]).expect(0);
    let ran = lee_in(&folder, &["check", "good.c", "bad.c"]).expect(1);
    assert!(ran.err.contains("`unknown` is not declared"), "{}", ran.err);
    lee_in(&folder, &["check", "-std=gnu89", "old.c"]).expect(0);
    lee_in(&folder, &["check", "-std=gnu99", "old.c"]).expect(1);
    one_line(&lee_in(&folder, &["check", "-strange", "old.c"]).expect(2), &["-strange"]);
}

#[test]
fn what_cannot_be_done_is_one_line_and_status_1() {
    let folder = fresh("cannot");
    write(&folder, "a.lee", HELLO);
    write(&folder, "a.c", "int main(void) { return 0; }\n");
    for (words, part) in [
        (&["run", "nowhere.lee"][..], "nowhere.lee"),
        (&["build", "a.c", "nowhere.o"], "nowhere.o"),
        (&["check", "."], "directory"),
        (&["build", "--cc", "no-such-cc", "a.c"], "no-such-cc"),
        (&["build", "-o", "no/such/folder/x", "a.c"], "no/such/folder/x"),
    ] {
        one_line(&lee_in(&folder, words).expect(1), &["lee: ", part]);
    }
    let ran = run(Command::new(lee()).args(["run", "a.c"]).current_dir(&folder).env("PATH", "/nowhere"));
    one_line(&ran.expect(1), &["no C compiler"]);
    let ran = run(Command::new(lee()).args(["run", "a.c"]).current_dir(&folder).env("LEE_HOME", "/nowhere"));
    one_line(&ran.expect(1), &["LEE_HOME", "/nowhere"]);
}

#[test]
fn help_and_version_succeed() {
    let folder = fresh("help");
    assert!(lee_in(&folder, &["--version"]).expect(0).out.starts_with("lee "));
    for words in [
        &["help"][..],
        &["--help"],
        &["run", "--help"],
        &["help", "build"],
        &["check", "-h"],
        &["cc", "--help"],
        &["explain", "--help"],
    ] {
        assert!(lee_in(&folder, words).expect(0).out.contains("usage: lee"), "{words:?}");
    }
    let list = lee_in(&folder, &["explain"]).expect(0).out;
    assert!(list.lines().count() > 10 && list.lines().all(|l| l.starts_with('L')), "{list}");
    assert!(lee_in(&folder, &["explain", "l0101"]).expect(0).out.contains("L0101"));
}

#[test]
fn run_is_the_program() {
    let folder = fresh("run");
    write(
        &folder,
        "echo.c",
        "#include <stdio.h>\n#include <string.h>\n#include <signal.h>\n#include <stdlib.h>\nint main(int c, char **v) {\n\
         if (c > 1 && !strcmp(v[1], \"die\")) raise(atoi(v[2]));\nint ch, n = 0; while ((ch = getchar()) != EOF) n++;\n\
         for (int i = 1; i < c; i++) printf(\"[%s]\", v[i]);\nfprintf(stderr, \"err\\n\"); return n; }\n",
    );
    let ran = run_with(
        Command::new(lee()).args(["run", "echo.c", "--release", "-o", "a b", "--", ""]).current_dir(&folder),
        "12345",
    );
    assert_eq!((ran.status, ran.out.as_str(), ran.err.as_str()), (5, "[--release][-o][a b][--][]", "err\n"));
    lee_in(&folder, &["run", "echo.c", "die", "6"]).expect(134);
    lee_in(&folder, &["run", "echo.c", "die", "9"]).expect(137);
    assert_eq!(files(&folder, "out"), Vec::<std::path::PathBuf>::new(), "nothing is left behind");
}

#[test]
fn a_hello_runs_from_any_place() {
    let folder = fresh("a place with blanks");
    write(&folder, "hello world.lee", HELLO);
    fs::copy(lee(), folder.join("the command")).expect("copied");
    let there = |cache: &Path| {
        let mut command = Command::new(folder.join("the command"));
        command
            .args(["run", "hello world.lee"])
            .current_dir(&folder)
            .env("XDG_CACHE_HOME", cache)
            .env("TMPDIR", &folder);
        run(&mut command)
    };
    let cache = folder.join("a cache");
    assert_eq!(there(&cache).expect(0).out, "hello\n");
    // What a cleaner takes away comes back.
    fs::remove_dir_all(cache.join("lee/runtimes")).expect("removed");
    fs::remove_dir_all(cache.join("lee/objects")).expect("removed");
    for entry in fs::read_dir(cache.join("lee")).expect("the cache").flatten() {
        fs::remove_file(entry.path().join("library/include/stdio.h")).expect("removed");
    }
    assert_eq!(there(&cache).expect(0).out, "hello\n");
    // A cache that cannot be made: a folder for temporary files serves.
    assert_eq!(there(Path::new("/proc/nowhere")).expect(0).out, "hello\n");
}

#[test]
fn lee_home_replaces_what_is_built_in() {
    let folder = fresh("home");
    write(&folder, "hello.lee", HELLO);
    let ran = run(Command::new(lee()).args(["run", "hello.lee"]).current_dir(&folder).env("LEE_HOME", support::root()));
    assert_eq!(ran.expect(0).out, "hello\n");
    // A copy without the header shows that it is read.
    let copied =
        Command::new("cp").args(["-r", "runtime", "library"]).arg(&folder).current_dir(support::root()).status();
    assert!(copied.expect("cp").success());
    write(&folder.join("library/include"), "stdio.h", "#error another home\n");
    let ran = run(Command::new(lee()).args(["check", "hello.lee"]).current_dir(&folder).env("LEE_HOME", &folder));
    assert!(ran.expect(1).err.contains("another home"));
}

#[test]
fn many_may_start_at_once_with_an_empty_cache() {
    let folder = fresh("at-once");
    write(&folder, "hello.lee", HELLO);
    let cache = folder.join("cache");
    let start = || {
        let (folder, cache) = (folder.clone(), cache.clone());
        std::thread::spawn(move || {
            run(Command::new(lee()).args(["run", "hello.lee"]).current_dir(folder).env("XDG_CACHE_HOME", cache))
        })
    };
    let all: Vec<_> = (0..6).map(|_| start()).collect();
    for thread in all {
        assert_eq!(thread.join().expect("no panic").expect(0).out, "hello\n");
    }
    let runtimes = fs::read_dir(cache.join("lee/runtimes")).expect("the cache").flatten().collect::<Vec<_>>();
    assert_eq!(runtimes.len(), 1);
    let mut left: Vec<_> =
        fs::read_dir(runtimes[0].path()).expect("the cache").flatten().map(|e| e.file_name()).collect();
    left.sort();
    assert_eq!(left, ["liblee.a", "liblee.sum", "lock", "used"]);
}

#[test]
fn errors_have_status_1_and_warnings_0() {
    let folder = fresh("status");
    write(&folder, "bad.lee", "int main(void) {\n    return x;\n}\n");
    write(&folder, "bad too.lee", "int f( { }\n");
    let ran = lee_in(&folder, &["check", "bad.lee", "bad too.lee"]).expect(1);
    assert!(ran.err.contains("bad.lee:2:12: error") || ran.err.contains("bad.lee:2:12"), "{}", ran.err);
    assert!(ran.err.contains("bad too.lee:1"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "no colours in a file");
    assert!(lee_in(&folder, &["check", "--color", "always", "bad.lee"]).expect(1).err.contains('\u{1b}'));
    let json = lee_in(&folder, &["check", "--message-format", "json", "bad.lee"]).expect(1);
    let line = json.out.lines().find(|l| l.starts_with('{')).expect("a message");
    assert!(
        line.starts_with("{\"level\":\"error\",\"code\":\"L") && line.contains("\"line\":2,\"column\":12"),
        "{line}"
    );
    let keys = ["\"level\":", "\"code\":", "\"message\":", "\"file\":", "\"line\":", "\"column\":"];
    let places: Vec<_> = keys.iter().map(|key| line.find(key).expect("a key")).collect();
    assert!(places.is_sorted(), "{line}");
    lee_in(&folder, &["run", "bad.lee"]).expect(1);
    lee_in(&folder, &["build", "bad.lee"]).expect(1);
    assert!(!folder.join("bad").exists());
}

#[test]
fn without_a_collector_nothing_heap_is_shared() {
    let folder = fresh("no-gc");
    let owned = "#include <stdlib.h>\n#include <stdio.h>\nstatic char large[100000];\n\
        int main(void) { large[9]++; int *unique p = new int{ 5 }; arena r; int *@r q = new(r) int{ 1 }; printf(\"%d\\n\", *p + *q); free(p); return 0; }\n";
    write(&folder, "owned.lee", owned);
    for compiler in tools::compilers("without_a_collector_nothing_heap_is_shared") {
        lee_in(&folder, &["build", "--no-gc", "--cc", &compiler, "owned.lee", "-o", "owned"]).expect(0);
        assert_eq!(run(&mut Command::new(folder.join("owned"))).expect(0).out, "6\n");
    }
    lee_in(&folder, &["build", "--no-gc", "owned.lee", "-o", "owned"]).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("owned"))).expect(0).out, "6\n");
    let names = Command::new("nm").arg(folder.join("owned")).output().expect("nm runs");
    // What is asked for weakly, and is not there, is not a part of the program.
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    let names: String = names.lines().filter(|line| !line.contains(" w ")).map(|line| format!("{line}\n")).collect();
    assert!(names.contains("lee_heap_alloc"), "{names}");
    let collector = [
        "lee_mark",
        "lee_collect",
        "lee_roots_scan",
        "lee_owners_process",
        "lee_weak_",
        "lee_finalizer",
        "lee_globals_",
    ];
    for part in collector {
        assert!(!names.contains(part), "a program without a collector has {part}: {names}");
    }
    // With one, all of them are there: the names above are still those of the collector.
    lee_in(&folder, &["build", "owned.lee", "-o", "collected"]).expect(0);
    let names = Command::new("nm").arg(folder.join("collected")).output().expect("nm runs");
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(collector.iter().all(|part| names.contains(part)), "{names}");
    write(
        &folder,
        "shared.lee",
        "static int *kept;\nint main(void) {\n    kept = new int{ 5 };\n    int *unique p = new int{ 1 };\n    kept = share(p);\n    return 0;\n}\n",
    );
    lee_in(&folder, &["check", "shared.lee"]).expect(0);
    let ran = lee_in(&folder, &["check", "--no-gc", "shared.lee"]).expect(1);
    assert_eq!(ran.err.matches("error[L0511]").count(), 2, "{}", ran.err);
    // A result that goes nowhere, or is only lent, has no owner either.
    let made = "struct node { int v; };\n\
        static struct node *unique make(void) { return new struct node{ 1 }; }\n\
        static struct node *rc counted(void) { return new rc struct node{ 1 }; }\n\
        static int read(const struct node *view n) { return n->v; }\n\
        static int any(struct node *any n) { return n->v; }\n";
    let lost = "int main(void) { make(); counted(); return read(make()) + any(counted()) - 2; }\n";
    let freed =
        "int main(void) {\n    struct node *unique p = make();\n    int n = read(p) + any(p);\n    free(p);\n    \
        return n - 2;\n}\n";
    write(&folder, "lost.lee", &format!("{made}{lost}"));
    write(&folder, "freed.lee", &format!("{made}#include <stdlib.h>\n{freed}"));
    lee_in(&folder, &["check", "lost.lee"]).expect(0);
    let ran = lee_in(&folder, &["check", "--no-gc", "lost.lee"]).expect(1);
    assert_eq!(ran.err.matches("error[L0511]").count(), 4, "{}", ran.err);
    lee_in(&folder, &["check", "--no-gc", "freed.lee"]).expect(0);
    // So have what is printed, and arenas whose keys are in what a call returns.
    let made = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
        struct pile { exists @d; key<@d> k; int *@d top; };\n\
        static struct pile make(void) { key<@d> k = new_arena(); return (struct pile){ k, nullptr }; }\n\
        static int look(key<@d> k) { return 1; }\n\
        static int take(consume key<@d> k) { free_arena(k); return 1; }\n\
        static int read(struct pile p) { return 1; }\n";
    let lost =
        "int main(void) { make(); read(make()); look(new_arena()); printf(\"%s\\n\", strdup(\"a\")); return 0; }\n";
    let freed = "int main(void) {\n    char *unique null_terminated s = strdup(\"a\");\n    printf(\"%s\\n\", s);\n    \
        free(s);\n    key<@d> k = new_arena();\n    look(k);\n    free_arena(k);\n    return take(new_arena()) - 1;\n}\n";
    write(&folder, "printed.lee", &format!("{made}{lost}"));
    write(&folder, "kept.lee", &format!("{made}{freed}"));
    lee_in(&folder, &["check", "printed.lee"]).expect(0);
    let ran = lee_in(&folder, &["check", "--no-gc", "printed.lee"]).expect(1);
    assert_eq!(ran.err.matches("error[L0511]").count(), 4, "{}", ran.err);
    lee_in(&folder, &["check", "--no-gc", "kept.lee"]).expect(0);
    write(
        &folder,
        "channels.lee",
        "contract C { in message M(); state S { M? -> T; } state T { } }\nint main(void) {\n    channel C (c, d);\n    send c.M();\n    free(c);\n    free(d);\n    return 0;\n}\n",
    );
    lee_in(&folder, &["check", "channels.lee"]).expect(0);
    let ran = lee_in(&folder, &["check", "--no-gc", "channels.lee"]).expect(1);
    assert_eq!(ran.err.matches("error[L0511]").count(), 2, "{}", ran.err);
}

/// Large variables of Leeward code are read by their types; those of plain C, which may hold
/// pointers in bytes, word by word.
#[test]
fn static_data_of_several_files_is_read_for_pointers() {
    let folder = fresh("static-data");
    let main = "#include <lee/weak.lh>\n#include <stdint.h>\n#include <stdio.h>\n\
        struct node { long number; struct node *next; };\n\
        extern \"C\" void keep(int i, const void *p);\nextern uintptr_t numbers[10000];\nextern struct node nodes[5000];\n\
        static weak<struct node> *of_numbers[10], *of_nodes[10], *of_bytes[10];\n\
        [[gnu::noinline]] static void fill(void) {\n    for (int i = 0; i < 10; i++) {\n        \
        struct node *a = new struct node{ i }, *b = new struct node{ i }, *c = new struct node{ i };\n        \
        of_numbers[i] = weak_new(a); of_nodes[i] = weak_new(b); of_bytes[i] = weak_new(c);\n        \
        numbers[i] = (uintptr_t)a; nodes[i * 7].next = b; unsafe { keep(i, (const void *)c); }\n    }\n}\n\
        static int count(weak<struct node> **counted_by(n) refs, int n) {\n    int found = 0;\n    \
        for (int i = 0; i < n; i++) found += weak_get(refs[i]) != nullptr;\n    return found;\n}\n\
        int main(void) {\n    fill();\n    for (int i = 0; i < 300000; i++) share(new struct node{ i });\n    \
        int lost = 10 - count(of_numbers, 10);\n    \
        printf(\"%s %d %d\\n\", lost > 7 ? \"lost\" : \"kept\", count(of_nodes, 10), count(of_bytes, 10));\n    return 0;\n}\n";
    write(&folder, "main.lee", main);
    write(&folder, "data.lee", "#include <stdint.h>\nstruct node { long number; struct node *next; };\nuintptr_t numbers[10000];\nstruct node nodes[5000];\n");
    write(&folder, "keep.c", "#include <string.h>\nchar pool[100000];\nvoid keep(int i, const void *p) { memcpy(pool + 8 * i, &p, sizeof p); }\n");
    for compiler in tools::compilers("static_data_of_several_files_is_read_for_pointers") {
        lee_in(&folder, &["build", "--release", "--cc", &compiler, "main.lee", "data.lee", "keep.c", "-o", "all"])
            .expect(0);
        let ran = run(Command::new(folder.join("all")).env("LEE_GC_VERIFY", "1")).expect(0);
        assert_eq!(ran.out, "lost 10 10\n", "{compiler}");
    }
}

/// Without a collector what `free` of an owned `void *` forgot would stay: a hundred megabytes
/// here.
#[test]
fn an_owned_void_pointer_is_freed_deeply() {
    let folder = fresh("void-owner");
    let text = "#include <stdio.h>\n#include <stdlib.h>\n\
        struct part { char bytes[1000]; };\nstruct whole { struct part *unique part; void *unique other; };\n\
        static void drop(consume void *unique p) { free(p); }\n\
        int main(void) {\n    for (int i = 0; i < 50000; i++)\n        \
        drop(new struct whole{ new struct part, new struct whole{ new struct part } });\n\
        FILE *f = fopen(\"/proc/self/statm\", \"r\");\n    long all = 0, pages = 0;\n\
        if (!f || fscanf(f, \"%ld %ld\", &all, &pages) != 2) return 1;\n    fclose(f);\n\
        puts(pages < 5000 ? \"small\" : \"large\");\n    return 0;\n}\n";
    write(&folder, "a.lee", text);
    lee_in(&folder, &["build", "--no-gc", "a.lee", "-o", "a"]).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("a"))).expect(0).out, "small\n");
}

/// In debug builds temporaries lie in registers, unless their address is taken, and variables of the
/// program in memory.
#[test]
fn debug_builds_keep_temporaries_in_registers() {
    let folder = fresh("registers");
    let text = "int sum(const int *counted_by(n) a, int n) {\n    int s = 0;\n    for (int i = 0; i < n; i++) s += a[i] * a[n - 1 - i];\n    return s;\n}\n";
    write(&folder, "a.lee", text);
    let debug = lee_in(&folder, &["build", "--emit", "c", "a.lee"]).expect(0).out;
    assert!(debug.contains("    register int _") && debug.contains("    int s;"), "{debug}");
    assert!(!debug.contains("register int s;") && !debug.contains("register int i;"), "{debug}");
    let release = lee_in(&folder, &["build", "--release", "--emit", "c", "a.lee"]).expect(0).out;
    assert!(!release.contains("register "), "{release}");
}

#[test]
fn stages_can_be_printed() {
    let folder = fresh("emit");
    write(&folder, "a.lee", "int twice(int x) { return x * 2; }\n");
    for stage in ["ast", "types", "mir", "c"] {
        let text = lee_in(&folder, &["check", "--emit", stage, "a.lee"]).expect(0).out;
        assert!(text.contains("twice"), "{stage}: {text}");
        assert_eq!(lee_in(&folder, &["build", "--emit", stage, "a.lee"]).expect(0).out, text, "{stage}");
    }
    lee_in(&folder, &["build", "--emit", "c", "-o", "a.c", "a.lee"]).expect(0);
    assert!(fs::read_to_string(folder.join("a.c")).expect("the C").contains("twice"));
    let timed = lee_in(&folder, &["check", "--time-passes", "--single", "a.lee"]).expect(0);
    for pass in ["preprocess", "parse", "check types", "lower", "verify", "total"] {
        assert!(timed.err.contains(pass), "{pass}: {}", timed.err);
    }
}

#[test]
fn contracts_are_explained() {
    let folder = fresh("contracts");
    let text =
        "contract Ping { in message Ask(int n); out message Reply(int n); state READY { Ask? -> Reply! -> READY; } }\n";
    write(&folder, "ping.lh", text);
    write(
        &folder,
        "a.lee",
        "#include \"ping.lh\"\nlocal contract Other { out message Bye(); state A { Bye! -> B; } state B { } }\n",
    );
    let explain = |words: &[&str]| lee_in(&folder, &[&["explain-contract"], words].concat());
    assert_eq!(explain(&["a.lee"]).expect(0).out, "Ping\nOther\n");
    let shown = explain(&["a.lee", "Ping"]).expect(0).out;
    assert!(shown.starts_with("contract Ping\n") && shown.contains("Reply! -> READY"), "{shown}");
    assert_eq!(explain(&["ping.lh", "Ping"]).expect(0).out, shown);
    assert!(explain(&["--dot", "a.lee", "Other"]).expect(0).out.starts_with("digraph \"Other\" {"));
    let picture = explain(&["--svg", "a.lee", "Other"]).expect(0).out;
    assert!(picture.starts_with("<svg ") && picture.contains(">Bye!</text>"), "{picture}");
    assert_eq!(explain(&["a.lee", "None"]).expect(1).out, "");
    let drivers = support::root().join("examples/drivers/contracts.lh");
    let names = explain(&[drivers.to_str().expect("a path")]).expect(0).out;
    assert_eq!(names.lines().count(), 10, "{names}");
    explain(&[]).expect(2);
    explain(&["--help"]).expect(0);
}

/// `LEE_SEED`: one seed, one order of those that can run; other seeds, other orders.
#[test]
fn seeds_order_tasks_and_processes() {
    let folder = fresh("seed");
    write(
        &folder,
        "order.lee",
        "#include <lee/process.lh>\n#include <stdio.h>\n\
        contract Log { in message Say(int n); state OPEN { Say? -> HELD; } out message Go(); state HELD { Go! -> OPEN; } }\n\
        static void speak(int n) { for (int i = 0; i < 3; i++) { printf(\"%d \", n); yield(); } }\n\
        process void tell(Log.imp:OPEN c, int n) { for (int i = 0; i < 3; i++) { send c.Say(n); receive c.Go(); } free(c); }\n\
        int main(void) {\n    eset<Log.exp:OPEN> all;\n\
            for (int i = 0; i < 4; i++) { channel Log (c, d); spawn tell(c, i); eset_add(all, d); }\n\
            task *tasks[4] = { nullptr };\n\
            for (int i = 0; i < 4; i++) tasks[i] = start speak(10 + i);\n\
            for (int i = 0; i < 4; i++) join(tasks[i]);\n\
            for (;;) switch receive {\n\
            case (d in all).Say(n): printf(\"%d \", n); send d.Go(); eset_add(all, d); break;\n\
            case (d in all).closed(): free(d); break;\n\
            case all.empty(): free(all); return 0;\n            }\n}\n",
    );
    lee_in(&folder, &["build", "order.lee", "-o", "order"]).expect(0);
    let order = |seed: &str| run(Command::new(folder.join("order")).env("LEE_SEED", seed)).expect(0).out;
    let plain = run(Command::new(folder.join("order")).env_remove("LEE_SEED")).expect(0).out;
    let numbers = |text: &str| {
        let mut numbers: Vec<u32> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        numbers.sort_unstable();
        numbers
    };
    let orders: Vec<String> = (1..=20).map(|seed| order(&seed.to_string())).collect();
    for (n, text) in orders.iter().enumerate() {
        assert_eq!(*text, order(&(n + 1).to_string()), "seed {}", n + 1);
        assert_eq!(numbers(text), numbers(&plain));
    }
    let different: std::collections::BTreeSet<&String> = orders.iter().collect();
    assert!(different.len() > 10, "{different:?}");
}

/// Processes that wait for each other in a circle are named, with what each waits for.
#[test]
fn circles_of_processes_are_named() {
    let folder = fresh("circle");
    write(
        &folder,
        "circle.lee",
        "#include <lee/process.lh>\n#include <stdio.h>\n\
        contract Ask { in message Question(); out message Answer(); state READY { Question? -> Answer! -> READY; } }\n\
        process void second(Ask.exp:READY d, Ask.exp:READY never) {\n    receive never.Question();\n    send never.Answer();\n\
            receive d.Question();\n    send d.Answer();\n    free(d);\n    free(never);\n}\n\
        int main(void) {\n    channel Ask (c, d);\n    channel Ask (mine, never);\n    spawn second(d, never);\n    yield();\n\
            send c.Question();\n    receive c.Answer();\n    free(c);\n    free(mine);\n    return 0;\n}\n",
    );
    lee_in(&folder, &["build", "circle.lee", "-o", "circle"]).expect(0);
    let ran = run(&mut Command::new(folder.join("circle"))).expect(134);
    let wanted = "fault: deadlock: every task of every process waits; main waits for a message of Ask from \
        the process spawned at circle.lee:15, which waits for a message of Ask from main";
    assert!(ran.err.contains(wanted), "{}", ran.err);
}

#[test]
fn build_mixes_sources_and_objects() {
    let folder = fresh("build");
    write(&folder, "main.lee", "#include <stdio.h>\nint half(int x);\ntrusted int third(int x);\nint main(void) { printf(\"%d\\n\", half(10) + third(9)); return 0; }\n");
    write(&folder, "half.lee", "int half(int x) { return x / 2; }\n");
    write(&folder, "third.c", "int third(int x) { return x / 3; }\n");
    lee_in(&folder, &["cc", "-c", "third.c"]).expect(0);
    lee_in(&folder, &["build", "main.lee", "half.lee", "third.o"]).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("main"))).expect(0).out, "8\n");
    run(Command::new("ar").args(["rcs", "libthird.a", "third.o"]).current_dir(&folder)).expect(0);
    for words in [
        &["build", "--release", "-o", "out put", "main.lee", "half.lee", "third.c"][..],
        &["build", "-o", "out put", "main.lee", "half.lee", "libthird.a"],
        &["build", "-o", "out put", "main.lee", "half.lee", "-L.", "-lthird"],
        &["cc", "-O2", "-o", "out put", "main.lee", "half.lee", "third.c"],
    ] {
        let _ = fs::remove_file(folder.join("out put"));
        lee_in(&folder, words).expect(0);
        assert_eq!(run(&mut Command::new(folder.join("out put"))).expect(0).out, "8\n", "{words:?}");
    }
    lee_in(&folder, &["build", "-o", "/dev/null", "main.lee", "half.lee", "third.c"]).expect(0);
}

#[test]
fn cc_writes_what_gcc_writes() {
    let folder = fresh("cc");
    write(&folder, "own.h", "#define N 3\n");
    write(&folder, "a.lee", "#include \"own.h\"\n#include <stdio.h>\nint a(void) { return N + M; }\n");
    write(&folder, "b.c", "#include \"own.h\"\nint b(void) { return N; }\n");
    write(&folder, "bad.lee", "int x = ;\n");
    lee_in(&folder, &["cc", "-c", "-DM=1", "-MMD", "a.lee", "b.c"]).expect(0);
    let rule = |name: &str| fs::read_to_string(folder.join(name)).expect("a dependency file");
    assert_eq!(rule("a.d"), "a.o: a.lee own.h\n");
    assert_eq!(rule("b.d"), "b.o: b.c own.h\n");
    assert!(folder.join("a.o").is_file() && folder.join("b.o").is_file());
    lee_in(&folder, &["cc", "-c", "-DM=1", "-MD", "-MF", "x y.d", "-MT", "goal", "-o", "sub.o", "a.lee"]).expect(0);
    let whole = rule("x y.d");
    assert!(
        whole.starts_with("goal: a.lee") && whole.contains("own.h") && !whole.contains("library/include"),
        "{whole}"
    );
    assert!(lee_in(&folder, &["cc", "-MM", "-DM=1", "a.lee"]).expect(0).out.starts_with("a.o: a.lee own.h"));
    assert!(lee_in(&folder, &["cc", "-E", "-DM=7", "a.lee"]).expect(0).out.contains("return 3 + 7;"));
    lee_in(&folder, &["cc", "-S", "-DM=1", "a.lee"]).expect(0);
    assert!(rule("a.s").contains(".globl"));
    write(&folder, "words", "-c -DM=1 \"a.lee\"\n -o\tr.o");
    lee_in(&folder, &["cc", "@words"]).expect(0);
    assert!(folder.join("r.o").is_file());
    let ran = lee_in(&folder, &["cc", "-c", "bad.lee"]).expect(1);
    assert!(ran.err.starts_with("bad.lee:1:9: error: "), "{}", ran.err);
    assert!(lee_in(&folder, &["cc", "-c", "-m32", "a.lee", "-DM=1"]).expect(1).err.contains("-m32"));
    let version = lee_in(&folder, &["cc", "--version"]).expect(0).out;
    assert!(version.contains("cc") || version.contains("clang"), "{version}");
}

#[test]
fn cc_makes_shared_libraries_and_sanitized_programs() {
    let folder = fresh("cc-shared");
    write(&folder, "lib.lee", "extern \"C\" int third(int x) { return x / 3; }\n");
    write(
        &folder,
        "main.c",
        "#include <stdio.h>\nint third(int);\nint main(void) { printf(\"%d\\n\", third(9)); return 0; }\n",
    );
    lee_in(&folder, &["cc", "-shared", "-fPIC", "-o", "libt.so", "lib.lee"]).expect(0);
    lee_in(&folder, &["cc", "-o", "main", "main.c", "-L.", "-lt", "-Wl,-rpath,$ORIGIN"]).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("main"))).expect(0).out, "3\n");
    if !tools::usual_sanitizes() {
        return tools::skip("sanitizers", "cc_makes_sanitized_programs", false);
    }
    lee_in(&folder, &["cc", "-fsanitize=address,undefined", "-g", "-o", "safe", "main.c", "lib.lee"]).expect(0);
    assert_eq!(run(&mut Command::new(folder.join("safe"))).expect(0).out, "3\n");
}

#[test]
fn lee_cc_is_lee_cc() {
    let folder = fresh("shim");
    write(&folder, "a.c", "int main(void) { return 7; }\n");
    std::os::unix::fs::symlink(lee(), folder.join("lee-cc")).expect("a link");
    run(Command::new(folder.join("lee-cc")).args(["a.c", "-o", "a"]).current_dir(&folder)).expect(0);
    run(&mut Command::new(folder.join("a"))).expect(7);
}

/// Words of stacks have no values yet where the collector looks, and tasks change the stack.
#[test]
fn valgrind_has_nothing_to_say() {
    if tools::skipped_without("valgrind", "valgrind_has_nothing_to_say") {
        return;
    }
    let folder = fresh("valgrind");
    for (name, stress) in [("weak_references", "50"), ("tasks", "500")] {
        let source = support::root().join(format!("tests/run/{name}.lee"));
        lee_in(&folder, &["build", "-o", name, &source.display().to_string()]).expect(0);
        let mut command = Command::new("valgrind");
        command.args(["--error-exitcode=9", &format!("./{name}")]).current_dir(&folder).env("LEE_GC_STRESS", stress);
        let said = run(&mut command).expect(0).err;
        assert!(said.contains("ERROR SUMMARY: 0 errors") && !said.contains("switching stacks"), "{said}");
    }
}
