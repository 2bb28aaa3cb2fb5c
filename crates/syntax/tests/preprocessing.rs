//! The argument list, and complaints of gcc and clang as diagnostics.

mod common;

use source::render::{text, Style};
use source::{Level, Sink};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use syntax::preprocess::{arguments, preprocess, Output, Request, Runner, SystemCompiler};
use syntax::Dialect;

fn request(dialect: Dialect, file: &str, user: &[&str]) -> Request {
    let library_dir = Some(PathBuf::from("/home/lee/library/include"));
    Request { file: file.into(), dialect, library_dir, user: user.iter().map(OsString::from).collect() }
}

struct Fake(Output);

impl Runner for Fake {
    fn run(&self, _: &[OsString]) -> io::Result<Output> {
        Ok(self.0.clone())
    }
}

fn fake(text: &str, errors: &str, success: bool) -> Fake {
    Fake(Output { text: text.into(), errors: errors.to_string(), success })
}

#[test]
fn leeward_is_strict_c23_with_posix_names() {
    let all = arguments(&request(Dialect::Leeward, "-x.lee", &["-DA=1", "-std=gnu11", "-Iinc"]));
    let all: Vec<String> = all.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    assert_eq!(
        all.join(" "),
        "-E -std=c2x -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D__NO_CTYPE -D__LEEWARD__=1 -DA=1 -Iinc \
         -isystem /home/lee/library/include -x c ./-x.lee"
    );
}

#[test]
fn plain_c_has_the_standard_that_the_user_gives() {
    let joined = |user: &[&str]| arguments(&request(Dialect::C, "a.c", user)).join(&OsString::from(" "));
    assert_eq!(joined(&["-DX"]), "-E -D__LEEWARD_READS_C__=1 -std=gnu17 -DX -x c a.c");
    assert_eq!(joined(&["-std=c99"]), "-E -D__LEEWARD_READS_C__=1 -std=c99 -x c a.c");
}

#[test]
fn missing_headers_of_both_compilers_are_shown_at_their_include() {
    let gcc = "In file included from a.h:1,\n                 from y.lee:1:\nb.h:2:10: fatal error: nothere.h: No such file or directory\n    2 | #include <nothere.h>\n      |          ^~~~~~~~~~~\ncompilation terminated.\n";
    let clang = "In file included from y.lee:1:\nIn file included from a.h:1:\nb.h:2:10: fatal error: 'nothere.h' file not found\n    2 | #include <nothere.h>\n      |          ^~~~~~~~~~~\n1 error generated.\n";
    for said in [gcc, clang] {
        let mut sink = Sink::default();
        let Ok(map) = preprocess(&fake("", said, false), &request(Dialect::Leeward, "y.lee", &[]), &mut sink) else {
            unreachable!("the fake never fails")
        };
        let shown: String = sink.all.iter().map(|d| text(&map, d, Style::default())).collect();
        assert_eq!(
            shown,
            "in file included from a.h:1\nin file included from y.lee:1\nb.h:2:10: error[L0108]: header `nothere.h` was not found\n  \
             = help: check the name, or give its folder with `-I`\n"
        );
    }
}

#[test]
fn warnings_do_not_fail_and_several_errors_are_kept() {
    let said = "z.lee:1:2: warning: #warning hello [-Wcpp]\n    1 | #warning hello\n";
    let mut sink = Sink::default();
    let runner = fake("# 1 \"z.lee\"\n\nint x;\n", said, true);
    let Ok(map) = preprocess(&runner, &request(Dialect::Leeward, "z.lee", &[]), &mut sink) else { return };
    assert!(!sink.has_errors());
    assert_eq!(sink.all.len(), 1);
    assert_eq!(sink.all[0].message, "#warning hello");
    assert_eq!(map.locate(sink.all[0].span).line, 1);

    let said = "z.lee:3:2: error: #error oops \"it\"\nz.lee:4:2: error: #error again\n";
    let mut sink = Sink::default();
    let Ok(map) = preprocess(&fake("", said, false), &request(Dialect::Leeward, "z.lee", &[]), &mut sink) else {
        return;
    };
    let places: Vec<_> = sink.all.iter().map(|d| (map.locate(d.span).line, d.level, d.message.as_str())).collect();
    assert_eq!(places, [(3, Level::Error, "#error oops \"it\""), (4, Level::Error, "#error again")]);
}

#[test]
fn a_failure_without_a_known_message_is_still_an_error() {
    let mut sink = Sink::default();
    let runner = fake("", "cc: error: no input files\n", false);
    assert!(preprocess(&runner, &request(Dialect::Leeward, "z.lee", &[]), &mut sink).is_ok());
    assert!(sink.has_errors());
}

#[test]
fn the_systems_compiler_is_run() {
    let folder = std::env::temp_dir().join(format!("lee syntax {}", std::process::id()));
    let file = folder.join("it's.lee");
    if std::fs::create_dir_all(&folder).is_err()
        || std::fs::write(&file, "#define X 1\nint x = X;\n#include <none.h>\n").is_err()
    {
        return;
    }
    let runner = SystemCompiler { program: vec![common::compiler().into()], input: vec![] };
    let mut sink = Sink::default();
    let request = Request { file: file.clone(), dialect: Dialect::Leeward, library_dir: None, user: vec![] };
    let result = preprocess(&runner, &request, &mut sink);
    let nowhere = SystemCompiler { program: vec!["no-such-compiler".into()], input: vec![] };
    let missing = preprocess(&nowhere, &request, &mut Sink::default());
    let _ = std::fs::remove_dir_all(&folder);
    assert!(missing.is_err());
    let Ok(map) = result else { return };
    assert_eq!(sink.all.len(), 1, "{:?}", sink.all);
    let at = map.locate(sink.all[0].span);
    assert_eq!((at.line, at.file.as_str()), (3, file.to_string_lossy().as_ref()));
}
