//! Embeds the runtime, the library and the error pages in the command, so that one copied file is a
//! whole installation.

#[path = "src/hash.rs"]
mod hash;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of the repository that are unpacked at a user's place.
const UNPACKED: &[&str] = &["runtime/include", "runtime/src", "library"];
/// Folder of the pages that `lee explain` prints.
const PAGES: &str = "docs/errors";

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let root = root.canonicalize()?;
    println!("cargo:rerun-if-changed=build.rs");
    let mut home = vec![];
    for folder in UNPACKED {
        collect(&root, Path::new(folder), &mut home)?;
    }
    let mut pages = vec![];
    collect(&root, Path::new(PAGES), &mut pages)?;
    pages.retain(|page| page.extension().is_some_and(|e| e == "md"));

    let mut hash = hash::Hash::default();
    for path in &home {
        hash.field(path.to_string_lossy().as_bytes());
        hash.field(&fs::read(root.join(path))?);
    }
    let mut out = String::new();
    table(&mut out, "HOME", "Files of the runtime and the library.", &root, &home);
    table(&mut out, "PAGES", "Pages of the error index.", &root, &pages);
    let _ = writeln!(out, "/// Names the content of `HOME`.\npub const HASH: &str = {:?};", hash.name());
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("embedded.rs"), out)
}

/// Adds the files below `root/folder`, by path; a folder that is not there has none.
fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", root.join(folder).display());
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Ok(()) };
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(|e| e.file_name());
    for entry in entries {
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else if !entry.file_name().to_string_lossy().starts_with('.') {
            println!("cargo:rerun-if-changed={}", entry.path().display());
            files.push(path);
        }
    }
    Ok(())
}

fn table(out: &mut String, name: &str, doc: &str, root: &Path, files: &[PathBuf]) {
    let _ = writeln!(out, "/// {doc}\npub static {name}: &[(&str, &[u8])] = &[");
    for path in files {
        let _ = writeln!(out, "    ({path:?}, include_bytes!({:?})),", root.join(path));
    }
    let _ = writeln!(out, "];");
}
