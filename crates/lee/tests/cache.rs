//! The cache: what a user is told of it, damage, places where there can be none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use support::{fresh, lee, root, run};

/// A folder with a program of plain C, and an installation whose runtime compiles quickly.
fn with_small_runtime(name: &str) -> PathBuf {
    let folder = fresh(name);
    fs::write(folder.join("a.c"), "int main(void) { return 7; }\n").unwrap();
    let home = folder.join("home");
    fs::create_dir_all(home.join("runtime/include/lee")).unwrap();
    fs::create_dir_all(home.join("runtime/src")).unwrap();
    fs::create_dir_all(home.join("library/include")).unwrap();
    fs::write(home.join("runtime/include/lee/lee.h"), "").unwrap();
    fs::write(home.join("runtime/src/part.c"), "int lee_part(void) { return 1; }\n").unwrap();
    folder
}

/// `lee run a.c` with the small runtime and the cache in the folder.
fn runs(folder: &Path) -> Command {
    let mut command = Command::new(lee());
    command.args(["run", "a.c"]).current_dir(folder).env("LEE_HOME", folder.join("home"));
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

fn runtime_folder(folder: &Path) -> PathBuf {
    let all: Vec<_> = fs::read_dir(folder.join("cache/lee/runtimes")).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

/// What the command says on a terminal.
fn on_terminal(command: &mut Command) -> String {
    let (mut ours, mut theirs) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: two places for descriptors; no name, settings or size are wanted.
    assert_eq!(unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), null.cast()) }, 0);
    // SAFETY: both were just opened, and belong to nobody else.
    let (mut ours, theirs) = unsafe { (fs::File::from_raw_fd(ours), fs::File::from_raw_fd(theirs)) };
    let status = command.stdin(Stdio::null()).stderr(theirs).status().unwrap();
    assert_eq!(status.code(), Some(7));
    // The command has its own copy of our end until it is replaced.
    command.stderr(Stdio::null());
    let mut said = vec![];
    // A terminal that nobody has open any more ends with an error.
    let _ = ours.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn the_first_compilation_is_announced_once_and_on_terminals() {
    let folder = with_small_runtime("cache-terminal");
    let said = on_terminal(&mut runs(&folder));
    assert!(said.contains("compiling the runtime") && said.contains("cache/lee/runtimes"), "{said}");
    assert_eq!(on_terminal(&mut runs(&folder)), "");
    fs::remove_dir_all(folder.join("cache")).unwrap();
    assert_eq!(run(&mut runs(&folder)).expect(7).err, "", "a file is not told");
}

#[test]
fn a_damaged_runtime_is_compiled_again() {
    let folder = with_small_runtime("cache-damage");
    run(&mut runs(&folder)).expect(7);
    let place = runtime_folder(&folder);
    let archive = place.join("liblee.a");
    let good = fs::read(&archive).unwrap();
    let mut altered = good.clone();
    altered[good.len() / 2] ^= 1;
    for (what, bytes) in [("truncated", &good[..good.len() / 2]), ("empty", &[]), ("altered", &altered)] {
        fs::write(&archive, bytes).unwrap();
        let said = on_terminal(&mut runs(&folder));
        assert!(said.contains("damaged"), "{what}: {said}");
        assert_eq!(fs::read(&archive).unwrap().len(), good.len(), "{what}");
        assert_eq!(on_terminal(&mut runs(&folder)), "", "{what}");
    }
    for name in ["liblee.a", "liblee.sum"] {
        fs::remove_file(place.join(name)).unwrap();
        run(&mut runs(&folder)).expect(7);
        assert!(place.join(name).is_file(), "{name}");
    }
}

#[test]
fn damaged_headers_come_back() {
    let folder = fresh("cache-headers");
    fs::write(folder.join("a.lee"), "#include <stdio.h>\nint main(void) { puts(\"x\"); return 0; }\n").unwrap();
    let check =
        || run(Command::new(lee()).args(["check", "a.lee"]).current_dir(&folder).env("XDG_CACHE_HOME", &folder));
    check().expect(0);
    let own =
        fs::read_dir(folder.join("lee")).unwrap().flatten().map(|e| e.path()).find(|p| p.join("library").is_dir());
    let header = own.expect("the unpacked library").join("library/include/stdio.h");
    let good = fs::read_to_string(&header).unwrap();
    // As long as before: only its content tells.
    fs::write(&header, "#error damaged\n".to_string() + &" ".repeat(good.len() - 15)).unwrap();
    check().expect(0);
    assert_eq!(fs::read_to_string(&header).unwrap(), good);
}

#[test]
fn a_cache_that_cannot_be_used_is_passed_over() {
    let folder = with_small_runtime("cache-unusable");
    // A file where the folder should be; as root, access rights stop nothing.
    fs::create_dir_all(folder.join("cache")).unwrap();
    fs::write(folder.join("cache/lee"), "").unwrap();
    run(runs(&folder).env("TMPDIR", &folder)).expect(7);
    fs::remove_file(folder.join("cache/lee")).unwrap();
    fs::create_dir(folder.join("cache/lee")).unwrap();
    fs::set_permissions(folder.join("cache/lee"), fs::Permissions::from_mode(0o0)).unwrap();
    run(runs(&folder).env("TMPDIR", &folder)).expect(7);
    fs::set_permissions(folder.join("cache/lee"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_home_that_is_not_there_is_not_made() {
    let folder = with_small_runtime("cache-no-home");
    let nowhere = folder.join("nowhere/user");
    let mut command = runs(&folder);
    run(command.env_remove("XDG_CACHE_HOME").env("HOME", &nowhere).env("TMPDIR", &folder)).expect(7);
    assert!(!folder.join("nowhere").exists());
}

#[test]
fn what_was_not_used_for_a_month_is_removed() {
    let folder = with_small_runtime("cache-clean");
    let runtimes = folder.join("cache/lee/runtimes");
    let days = |n: u64| SystemTime::now() - Duration::from_secs(n * 24 * 60 * 60);
    for (name, used) in [("old", days(31)), ("recent", days(29))] {
        fs::create_dir_all(runtimes.join(name)).unwrap();
        fs::File::create(runtimes.join(name).join("used")).and_then(|f| f.set_modified(used)).unwrap();
    }
    fs::create_dir_all(runtimes.join("of another")).unwrap();
    run(&mut runs(&folder)).expect(7);
    assert!(!runtimes.join("old").exists());
    assert!(runtimes.join("recent").exists() && runtimes.join("of another").exists());
    // Use is noted, at most once a day.
    let own = fs::read_dir(&runtimes).unwrap().flatten().map(|e| e.path()).find(|p| p.join("liblee.a").exists());
    let mark = own.expect("the runtime").join("used");
    fs::File::options().write(true).open(&mark).and_then(|f| f.set_modified(days(20))).unwrap();
    run(&mut runs(&folder)).expect(7);
    assert!(mark.metadata().and_then(|m| m.modified()).unwrap() > days(1));
}

#[test]
fn its_page_names_the_places() {
    let page = fs::read_to_string(root().join("docs/cache.md")).unwrap();
    for part in ["XDG_CACHE_HOME", "HOME", "TMPDIR", "runtimes", "30 days"] {
        assert!(page.contains(part), "docs/cache.md lacks {part}");
    }
}
