//! `compile_commands.json`: the files of a build and how each is compiled (Clang, "JSON Compilation
//! Database").

use crate::unit::Source;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The C files of a database, each once.
///
/// Errors: what is wrong with the text.
pub fn sources(text: &str, beside: &Path) -> Result<Vec<Source>, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let entries = document.as_array().ok_or("it is no list of commands")?;
    let mut all: Vec<Source> = vec![];
    for entry in entries {
        let field = |name: &str| entry.get(name).and_then(Value::as_str);
        let file = PathBuf::from(field("file").ok_or("an entry has no `file`")?);
        if file.extension().is_none_or(|e| e != "c") {
            continue;
        }
        let folder = beside.join(field("directory").unwrap_or("."));
        let words: Vec<String> = match (entry.get("arguments").and_then(Value::as_array), field("command")) {
            (Some(words), _) => words.iter().filter_map(Value::as_str).map(str::to_string).collect(),
            (None, Some(command)) => split(command),
            (None, None) => return Err(format!("the entry of {} has no `arguments` and no `command`", file.display())),
        };
        let named = |word: &String| *word == *file.to_string_lossy() || folder.join(word) == folder.join(&file);
        let flags = words.iter().skip(1).filter(|w| !named(w)).map(OsString::from).collect();
        if !all.iter().any(|s| s.path() == folder.join(&file)) {
            all.push(Source { file, flags, folder: Some(folder) });
        }
    }
    Ok(all)
}

/// The words of a command, as a shell splits it.
fn split(command: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(q), c) if c == q => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let text = r#"[
            {"directory": "/b", "file": "a.c", "command": "gcc -DX='\"y z\"' -I inc -c a.c -o a.o"},
            {"directory": "/b", "file": "a.c", "command": "gcc a.c"},
            {"directory": "/b", "file": "/s/c.c", "arguments": ["cc", "-O2", "/s/c.c"]},
            {"directory": "/b", "file": "d.cc", "arguments": ["c++", "d.cc"]}
        ]"#;
        let found = sources(text, Path::new("/"));
        let flags = |s: &Source| s.flags.iter().map(|f| f.to_string_lossy().into_owned()).collect::<Vec<_>>();
        let found: Vec<(PathBuf, Vec<String>)> = found.iter().flatten().map(|s| (s.path(), flags(s))).collect();
        let first = ["-DX=\"y z\"", "-I", "inc", "-c", "-o", "a.o"].map(String::from).to_vec();
        assert_eq!(found, [("/b/a.c".into(), first), ("/s/c.c".into(), vec!["-O2".into()])]);
    }

    #[test]
    fn what_is_no_database_says_so() {
        assert!(sources("{}", Path::new("/")).is_err());
        assert!(sources("[{}]", Path::new("/")).is_err());
        assert!(sources("[", Path::new("/")).is_err());
    }
}
