//! What a fault says of the calls that led to it, and what gdb shows: names and files as in the
//! source.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::process::Command;
use support::{fresh, lee, run, tools};

/// Faults below generic functions of the library: one that calls back, C's `qsort`, one that faults
/// itself, a generic of its own.
const PROGRAM: &str = r#"#include <lee/sort.lh>
#include <lee/vec.lh>
#include <stdlib.h>

static int table[3];
static int by_value(const int *a, const int *b) { return table[*a] - table[*b]; }
static int by_address(const void *a, const void *b) { const int *x = a, *y = b; return table[*x] - table[*y]; }
generic <T> static T second(const T *fat p) { return p[1]; }

int main(int argc, char **argv) {
    int a[] = { 2, 3, 9, 1 };
    struct vec<int> v = {};
    defer vec_free(v);
    if (argc == 2)
        array_sort(a, 4, by_value);
    if (argc == 3)
        qsort(a, 4, sizeof a[0], by_address);
    if (argc == 4)
        return vec_get(&v, 7);
    return second(&a[argc - 2]);
}
"#;

/// Each call as `function (file)`, without lines of files that are not the program's.
fn calls(report: &str) -> Vec<String> {
    let calls = report.lines().filter_map(|line| line.strip_prefix("  at "));
    calls
        .map(|call| match call.split_once(">:") {
            Some((library, _)) => format!("{library}>)"),
            None => call.to_string(),
        })
        .collect()
}

#[test]
fn calls_of_the_library_have_the_names_of_the_source() {
    let folder = fresh("backtrace");
    fs::write(folder.join("a.lee"), PROGRAM).unwrap();
    for compiler in tools::compilers("calls_of_the_library_have_the_names_of_the_source") {
        let build = ["build", "--cc", &compiler, "-o", "a", "a.lee"];
        run(Command::new(lee()).args(build).current_dir(&folder)).expect(0);
        for (args, expected) in [
            (&["1"][..], &["by_value (a.lee:6)", "array_sort (<lee/sort.lh>)", "main (a.lee:15)"][..]),
            (&["1", "2"], &["by_address (a.lee:7)", "qsort (<stdlib.h>)", "main (a.lee:17)"]),
            (&["1", "2", "3"], &["vec_get (<lee/vec.lh>)", "main (a.lee:19)"]),
            (&["1", "2", "3", "4"], &["second (a.lee:8)", "main (a.lee:20)"]),
        ] {
            let ran = run(Command::new(folder.join("a")).args(args)).expect(134);
            assert_eq!(calls(&ran.err), expected, "{compiler}: {}", ran.err);
        }
        let ran = run(Command::new(folder.join("a")).args(["1", "2", "3"]));
        assert!(ran.err.starts_with("<lee/vec.lh>:"), "{}", ran.err);
    }
}

#[test]
fn gdb_shows_main_under_its_name() {
    if tools::skipped_without("gdb", "gdb_shows_main_under_its_name") {
        return;
    }
    let folder = fresh("gdb");
    fs::write(folder.join("a.lee"), PROGRAM).unwrap();
    for compiler in tools::compilers("gdb_shows_main_under_its_name") {
        let build = ["build", "--cc", &compiler, "-o", "a", "a.lee"];
        run(Command::new(lee()).args(build).current_dir(&folder)).expect(0);
        let mut gdb = Command::new("gdb");
        gdb.args(["-batch", "-nx", "-ex", "break main", "-ex", "run 1", "-ex", "bt", "-ex", "break by_value"]);
        gdb.args(["-ex", "continue", "-ex", "bt", "--args", "./a"]).current_dir(&folder);
        let text = run(&mut gdb).out;
        assert!(text.contains("#0  main (argc=2"), "{compiler}: {text}");
        assert!(text.contains("#0  by_value ("), "{compiler}: {text}");
        assert!(!text.contains("lee_main"), "{compiler}: {text}");
        // Nothing stands below `main`.
        let last = text.lines().rfind(|line| line.starts_with('#')).unwrap();
        assert!(last.contains(" main (argc=2"), "{compiler}: {text}");
    }
}
