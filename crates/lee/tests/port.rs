//! `lee port` on a small program of plain C: it is renamed and edited, its report agrees, it builds
//! and runs; what cannot be ported changes nothing.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Done = Result<(), String>;
type Texts = BTreeMap<String, String>;

const HEADER: &str = "int sum(int *a, int n);\n";
const SOURCE: &str = "#include \"sum.h\"\r\n\r\nint sum(int *values, int count) {\r\n    int s = 0;\r\n    \
                      for (int i = 0; i < count; i++) s += values[i];\r\n    return s;\r\n}\r\n";
const MAIN: &str =
    "#include \"sum.h\"\n\nint main(void) {\n    int x[3] = { 1, 2, 3 };\n    return sum(x, 3) - 6;\n}\n";

fn text<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|e| e.to_string())
}

fn fresh(name: &str) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("lee-port-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    text(fs::create_dir_all(&folder))?;
    for (name, content) in [("sum.h", HEADER), ("sum.c", SOURCE), ("main.c", MAIN)] {
        text(fs::write(folder.join(name), content))?;
    }
    Ok(folder)
}

fn read(folder: &Path) -> Result<Texts, String> {
    let mut all = Texts::new();
    for entry in text(fs::read_dir(folder))?.flatten() {
        all.insert(entry.file_name().to_string_lossy().into_owned(), text(fs::read_to_string(entry.path()))?);
    }
    Ok(all)
}

fn lee(folder: &Path, args: &[&str]) -> Result<Output, String> {
    text(Command::new(support::lee()).current_dir(folder).args(args).output())
}

/// Fails unless the command ended with this status and said this.
fn ended(output: &Output, status: i32, said: &str) -> Done {
    let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match output.status.code() == Some(status) && all.contains(said) {
        true => Ok(()),
        false => Err(format!("{} instead of {status} with '{said}':\n{all}", output.status)),
    }
}

fn same(found: Option<&String>, wanted: &str) -> Done {
    match found.is_some_and(|found| found == wanted) {
        true => Ok(()),
        false => Err(format!("{found:?} instead of {wanted:?}")),
    }
}

#[test]
fn a_project_is_renamed_and_edited_and_runs() -> Done {
    let folder = fresh("whole")?;
    text(fs::set_permissions(folder.join("sum.c"), fs::Permissions::from_mode(0o640)))?;
    // A file that is named twice is ported once.
    let output = lee(&folder, &["port", "sum.c", "main.c", "./sum.c", "sum.h"])?;
    ended(&output, 0, "14 lines in 3 files, 2 changed\n")?;
    ended(&output, 0, &format!("{:<24} {:>6}\n", "by hand", 0))?;
    let after = read(&folder)?;
    let names: Vec<&str> = after.keys().map(String::as_str).collect();
    if names != ["main.lee", "sum.h", "sum.lee"] {
        return Err(format!("{names:?}"));
    }
    same(after.get("sum.h"), &HEADER.replace("int *a", "int *counted_by(n) a"))?;
    same(after.get("sum.lee"), &SOURCE.replace("int *values", "int *counted_by(count) values"))?;
    same(after.get("main.lee"), MAIN)?;
    let mode = text(fs::metadata(folder.join("sum.lee")))?.permissions().mode() & 0o777;
    if mode != 0o640 {
        return Err(format!("the mode became {mode:o}"));
    }
    ended(&lee(&folder, &["build", "-o", "program", "sum.lee", "main.lee"])?, 0, "")?;
    ended(&text(Command::new(folder.join("program")).output())?, 0, "")?;
    text(fs::remove_dir_all(folder))
}

#[test]
fn what_is_left_is_named_as_the_file_is_by_now() -> Done {
    let folder = fresh("left")?;
    text(fs::write(folder.join("main.c"), "long address(int *p) { return undeclared(p); }\n"))?;
    ended(&lee(&folder, &["port", "--report", "main.c"])?, 0, "\n  main.c:1: ")?;
    ended(&lee(&folder, &["port", "main.c"])?, 1, "\n  main.lee:1: ")?;
    text(fs::remove_dir_all(folder))
}

#[test]
fn a_report_changes_nothing() -> Done {
    let folder = fresh("report")?;
    let before = read(&folder)?;
    ended(&lee(&folder, &["port", "--report", "sum.c", "main.c", "sum.h"])?, 0, "14 lines in 3 files, 2 changed\n")?;
    if read(&folder)? != before {
        return Err("--report changed a file".to_string());
    }
    text(fs::remove_dir_all(folder))
}

#[test]
fn what_cannot_be_ported_changes_nothing() -> Done {
    let folder = fresh("refused")?;
    text(fs::write(folder.join("there.c"), MAIN))?;
    text(fs::write(folder.join("there.lee"), MAIN))?;
    text(fs::write(folder.join("locked.c"), MAIN))?;
    text(fs::set_permissions(folder.join("locked.c"), fs::Permissions::from_mode(0o444)))?;
    let before = read(&folder)?;
    ended(&lee(&folder, &["port", "sum.c", "absent.c"])?, 1, "absent.c")?;
    ended(&lee(&folder, &["port", "sum.c", "there.c"])?, 1, "'there.lee' is there already")?;
    ended(&lee(&folder, &["port", "--report", "there.c", "there.lee"])?, 1, "would have the same name")?;
    ended(&lee(&folder, &["port", "sum.c", "sum.h", "locked.c"])?, 1, "'locked.c' may not be written")?;
    ended(&lee(&folder, &["port"])?, 2, "")?;
    ended(&lee(&folder, &["port", "--reports", "sum.c"])?, 2, "")?;
    ended(&lee(&folder, &["port", "-"])?, 2, "")?;
    if read(&folder)? != before {
        return Err("a file changed".to_string());
    }
    text(fs::remove_dir_all(folder))
}
