//! `lee check --fix` on the folders of `tests/fix`: the files in `before` become those in `sure`,
//! and with `--fix=likely` those in `likely`; a file that is not there does not change. `.c` files
//! are not named: they only stand beside. The other order of names gives the same bytes, a second
//! run changes nothing, and a program that is accepted in the end exits with 0. `LEE_BLESS=1`
//! accepts what came out.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Texts = BTreeMap<String, Vec<u8>>;
type Done = Result<(), String>;

fn text<T>(result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|e| e.to_string())
}

fn read(folder: &Path) -> Result<Texts, String> {
    let mut all = Texts::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        all.insert(entry.file_name().to_string_lossy().into_owned(), text(fs::read(entry.path()))?);
    }
    Ok(all)
}

/// A folder with these files, made anew.
fn fresh(name: &str, files: &Texts) -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("lee-fix-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    text(fs::create_dir_all(&folder))?;
    for (name, bytes) in files {
        text(fs::write(folder.join(name), bytes))?;
    }
    Ok(folder)
}

fn names(files: &Texts) -> Vec<&String> {
    files.keys().filter(|name| !name.ends_with(".c")).collect()
}

fn fix(folder: &Path, how: &str, names: &[&String]) -> Result<Output, String> {
    text(Command::new(support::lee()).current_dir(folder).args(["check", how]).args(names).output())
}

/// The files after `how`, which the other order of names and a second run leave as they are.
fn fixed(name: &str, files: &Texts, how: &str) -> Result<Texts, String> {
    let mut order = names(files);
    let folder = fresh(name, files)?;
    let first = fix(&folder, how, &order)?;
    let after = read(&folder)?;
    let again = fix(&folder, how, &order)?;
    if read(&folder)? != after || !again.stdout.is_empty() {
        return Err(format!("a second run changes something:\n{}", String::from_utf8_lossy(&again.stdout)));
    }
    if !matches!(first.status.code(), Some(0 | 1)) || first.status.code() != again.status.code() {
        return Err(format!("{}\n{}", first.status, String::from_utf8_lossy(&first.stderr)));
    }
    let diff = String::from_utf8_lossy(&first.stdout).into_owned();
    for (file, bytes) in &after {
        if (files.get(file) != Some(bytes)) != diff.contains(&format!("+++ b/{file}\n")) {
            return Err(format!("the diff does not say what became of {file}:\n{diff}"));
        }
    }
    order.reverse();
    let folder = fresh(&format!("{name}-reversed"), files)?;
    fix(&folder, how, &order)?;
    if read(&folder)? != after {
        return Err("the order of names makes a difference".to_string());
    }
    if first.status.success() {
        let sources: Vec<&String> = order.into_iter().filter(|name| name.ends_with(".lee")).collect();
        let built = text(
            Command::new(support::lee()).current_dir(&folder).args(["build", "-o", "program"]).args(sources).output(),
        )?;
        let ran = text(Command::new(folder.join("program")).output())?;
        if !built.status.success() || ran.status.code() != Some(0) {
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            return Err(format!("the program ends with {}:\n{said}", ran.status));
        }
    }
    let _ = fs::remove_dir_all(folder);
    Ok(after)
}

fn case(folder: &Path) -> Done {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let before = read(&folder.join("before"))?;
    for how in ["sure", "likely"] {
        let after = fixed(&name, &before, &format!("--fix={how}"))?;
        let wanted = read(&folder.join(how))?;
        for (file, bytes) in &after {
            let expected = wanted.get(file).or_else(|| before.get(file));
            if expected == Some(bytes) {
                continue;
            }
            if std::env::var_os("LEE_BLESS").is_none() {
                return Err(format!("{name}, {how}: {file} becomes\n{}", String::from_utf8_lossy(bytes)));
            }
            text(fs::create_dir_all(folder.join(how)))?;
            text(fs::write(folder.join(how).join(file), bytes))?;
        }
    }
    Ok(())
}

#[test]
fn files_become_what_is_expected() -> Done {
    let mut problems = String::new();
    for entry in text(fs::read_dir(support::root().join("tests/fix")))?.flatten().filter(|e| e.path().is_dir()) {
        if let Err(problem) = case(&entry.path()) {
            problems.push_str(&format!("{}: {problem}\n", entry.path().display()));
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

#[test]
fn only_files_that_are_named_and_can_be_written_change() -> Done {
    let before = read(&support::root().join("tests/fix/shared_header/before"))?;
    let folder = fresh("named", &before)?;
    // The header is not named, so the definition cannot change either.
    fix(&folder, "--fix=likely", &[&"a.lee".to_string()])?;
    if read(&folder)? != before {
        return Err("something changed though the header is not named".to_string());
    }
    Ok(())
}

#[test]
fn json_has_the_edits() -> Done {
    let source = "int two(int *p) { return p[1]; }\n\nint main(void) {\n    int x[2] = { 0 };\n    return two(x);\n}\n";
    let folder = fresh("json", &Texts::from([("json.lee".to_string(), source.as_bytes().to_vec())]))?;
    let output = text(
        Command::new(support::lee())
            .current_dir(&folder)
            .args(["check", "--message-format", "json", "json.lee"])
            .output(),
    )?;
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: serde_json::Value = serde_json::from_str(line.trim()).map_err(|e| format!("{e}: {line}"))?;
    let fix = &report["fixes"][0];
    let wanted = serde_json::json!({"applicability": "sure", "edits": [
        {"file": "json.lee", "line": 1, "column": 14, "end_column": 14, "text": "counted_by(2) "}]});
    if fix == &wanted {
        Ok(())
    } else {
        Err(format!("{fix}"))
    }
}
