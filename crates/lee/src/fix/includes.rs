//! Which headers are included by files that were not named: words written there change what those
//! files must do.

use super::mirror::Mirror;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// More files than this are not looked at; then no header is known to be ours alone.
const MOST_FILES: usize = 4000;
/// How deep folders are looked into.
const DEPTH: usize = 3;

/// The last parts of the names that files beside those named include. None if there are too many
/// files to tell.
pub fn outside(mirror: &Mirror) -> Option<BTreeSet<String>> {
    let mut folders: Vec<PathBuf> =
        mirror.files.iter().filter_map(|f| f.real.parent()).map(Path::to_path_buf).collect();
    folders.sort();
    folders.dedup();
    let (mut included, mut count) = (BTreeSet::new(), 0);
    let mut work: Vec<(PathBuf, usize)> = folders.into_iter().map(|folder| (folder, 0)).collect();
    while let Some((folder, depth)) = work.pop() {
        for entry in fs::read_dir(&folder).ok()?.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEPTH {
                work.push((path, depth + 1));
            } else if kind.is_file() && is_source(&path) && !is_read(mirror, &path) {
                count += 1;
                if count > MOST_FILES {
                    return None;
                }
                read(&path, &mut included);
            }
        }
    }
    Some(included)
}

/// Whether the file is one of those named, and not left as plain C.
fn is_read(mirror: &Mirror, path: &Path) -> bool {
    mirror.files.iter().any(|f| f.real == path && f.copy.extension().is_some_and(|e| e != "c"))
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| ["c", "h", "lee", "lh"].iter().any(|known| e == *known))
}

/// Adds what a file includes.
fn read(path: &Path, included: &mut BTreeSet<String>) {
    let Ok(text) = fs::read(path) else { return };
    for line in String::from_utf8_lossy(&text).lines() {
        let Some(name) = line.trim_start().strip_prefix('#').and_then(|l| l.trim_start().strip_prefix("include"))
        else {
            continue;
        };
        let name = name.trim().trim_matches(|c| matches!(c, '"' | '<' | '>'));
        let last = name.split(['"', '>']).next().and_then(|name| name.rsplit('/').next());
        included.extend(last.map(str::to_string));
    }
}

/// Whether only files that were named see the declarations of a file.
pub fn is_closed(outside: &Option<BTreeSet<String>>, file: &str) -> bool {
    let Some(outside) = outside else { return false };
    let name = Path::new(file).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    !outside.contains(&name)
}
