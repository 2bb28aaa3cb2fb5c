//! The commands.

use crate::failure::{Failure, Outcome};
use crate::link::Made;
use crate::options::{self, Command, Emit, Item, Options, Parsed};
use crate::pipeline::{Product, Until};
use crate::plain::{self, Job, Through};
use crate::scratch::Scratch;
use crate::session::{is_input, protected, Session};
use crate::{advise, cache, cc, contracts, fix, help, home, interpret, link, parallel, report, run_process, top};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Runs the command line (the program's name first); gives the exit status.
pub fn main(words: Vec<OsString>) -> i32 {
    match dispatch(words) {
        Ok(status) => status,
        Err(failure) => {
            if !failure.message.is_empty() {
                report::line(&failure.message);
            }
            failure.status
        }
    }
}

fn dispatch(words: Vec<OsString>) -> Outcome<i32> {
    let mut words = words.into_iter();
    let own_name = words.next().unwrap_or_default();
    if Path::new(&own_name).file_name() == Some(OsStr::new("lee-cc")) {
        return cc::main(words.collect());
    }
    let Some(command) = words.next() else {
        report::output(help::GENERAL)?;
        return Err(Failure { message: String::new(), status: 2 });
    };
    let rest: Vec<OsString> = words.collect();
    match &*command.to_string_lossy() {
        "run" => with_options(Command::Run, rest, run),
        "build" => with_options(Command::Build, rest, build),
        "check" => with_options(Command::Check, rest, check),
        "port" => with_options(Command::Port, rest, |session| fix::port(&session)),
        "cc" => cc::main(rest),
        "advise" => advise::main(rest),
        "explain" => explain(&rest),
        "explain-contract" => contracts::main(rest),
        "top" => top::main(rest),
        "help" | "--help" | "-h" => show_help(&rest),
        "--version" | "-V" | "version" => {
            report::output(concat!("lee ", env!("CARGO_PKG_VERSION"), "\n"))?;
            Ok(0)
        }
        other => Err(Failure::usage(format!("unknown command '{other}'; see 'lee help'"))),
    }
}

fn with_options(command: Command, rest: Vec<OsString>, work: fn(Session) -> Outcome<i32>) -> Outcome<i32> {
    match options::parse(command, rest)? {
        Parsed::Help(text) => {
            report::output(text)?;
            Ok(0)
        }
        Parsed::Work(mut options) => {
            if matches!(command, Command::Run | Command::Build) {
                options.items = with_folders(std::mem::take(&mut options.items))?;
            }
            missing_files(&options)?;
            work(Session::new(*options)?)
        }
    }
}

/// The items, with the `.lee` files that lie in a folder in its place, by name: a folder is the
/// program of its files. One without such files stays, and is reported as what it is.
fn with_folders(items: Vec<Item>) -> Outcome<Vec<Item>> {
    let mut all = vec![];
    for item in items {
        let files = match &item {
            Item::File(folder) if folder.is_dir() => leeward_files(folder)?,
            _ => vec![],
        };
        if files.is_empty() {
            all.push(item);
        }
        all.extend(files.into_iter().map(Item::File));
    }
    Ok(all)
}

fn leeward_files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file("read", folder, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "lee") && path.is_file())
        .collect();
    files.sort();
    Ok(files)
}

/// Says at once which file cannot be read.
fn missing_files(options: &Options) -> Outcome<()> {
    if options.files().filter(|file| is_input(file)).count() > 1 {
        return Err(Failure::usage("standard input ('-') can be read once only"));
    }
    for file in options.files().filter(|file| !is_input(file)) {
        let opened = std::fs::File::open(file).and_then(|f| f.metadata());
        match opened {
            Ok(meta) if meta.is_dir() => {
                return Err(Failure::error(format!("cannot read '{}': Is a directory", file.display())))
            }
            Ok(_) => {}
            Err(error) => return Err(Failure::file("read", file, &error)),
        }
    }
    Ok(())
}

fn is_leeward(file: &Path) -> bool {
    is_input(file) || file.extension().is_some_and(|e| e == "lee")
}

// ---- check ----

fn check(session: Session) -> Outcome<i32> {
    if let Some(least) = session.options.fix {
        fix::check(&session, least)?;
    }
    check_files(&session, session.options.files().filter(|file| !session.options.fixes() || !is_header(file)))
}

/// Whether the file is a header: it is named so that it may be changed.
fn is_header(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "h" || e == "lh")
}

/// Checks the files and prints what is found.
pub fn check_files<'f>(session: &Session, files: impl Iterator<Item = &'f PathBuf>) -> Outcome<i32> {
    let mut status = 0;
    for file in files {
        let until = session.options.emit.map_or(Until::Checked, until);
        match session.compile(file, until, &[]) {
            Ok(Product::Text(text) | Product::C(text, _)) => report::output(&text)?,
            Ok(Product::Nothing) => {}
            Err(failure) => {
                if !failure.message.is_empty() {
                    report::line(&failure.message);
                }
                status = failure.status;
            }
        }
    }
    Ok(status)
}

fn until(emit: Emit) -> Until {
    match emit {
        Emit::Ast => Until::Ast,
        Emit::Types => Until::Types,
        Emit::Checks => Until::Checks,
        Emit::Mir => Until::Mir,
        Emit::Header => Until::Header,
        Emit::C => Until::C,
    }
}

// ---- build and run ----

fn build(session: Session) -> Outcome<i32> {
    if let Some(emit) = session.options.emit {
        return emit_files(&session, emit);
    }
    let output = match &session.options.output {
        Some(output) => output.clone(),
        None => default_output(&session.options)?,
    };
    let scratch = Scratch::new()?;
    let program = scratch.file("program");
    make(&session, &scratch, &program)?;
    install(&program, &output)?;
    Ok(0)
}

fn run(session: Session) -> Outcome<i32> {
    if session.options.interpret {
        return interpret::run(&session);
    }
    let scratch = Scratch::new()?;
    let file = session.options.files().next().filter(|file| !is_input(file));
    let name = file.and_then(|f| f.file_stem()).unwrap_or(OsStr::new("program"));
    let program = scratch.file(&format!("{}.out", name.to_string_lossy()));
    make(&session, &scratch, &program)?;
    run_process::run_as_self(std::process::Command::new(&program).args(&session.options.arguments))
}

/// What the linker gets of an item.
struct Piece {
    word: OsString,
    /// The object and the file that it is made of, if that is Leeward.
    made: Option<Made>,
    spawns: bool,
}

/// Compiles and links everything the options name.
fn make(session: &Session, scratch: &Scratch, program: &Path) -> Outcome<()> {
    session.expect_processes(session.options.files().map(|file| file.as_path()));
    let items: Vec<(usize, &Item)> = session.options.items.iter().enumerate().collect();
    // The other files may have errors of their own to show, so all are compiled.
    let results = parallel::each(&items, |(number, item)| match item {
        Item::File(file) if is_leeward(file) => {
            let object = scratch.file(&format!("{number}.o"));
            let spawns = session.object(file, &object)?;
            Ok(Piece { word: object.clone().into(), made: Some((object, file.clone())), spawns })
        }
        Item::File(file) if file.extension().is_some_and(|e| e == "c") => {
            let object = scratch.file(&format!("{number}.o"));
            plain_c(session, file, &object)?;
            Ok(Piece { word: object.into(), made: None, spawns: false })
        }
        Item::File(file) => Ok(Piece { word: protected(file).into(), made: None, spawns: false }),
        Item::Link(word) => Ok(Piece { word: word.clone(), made: None, spawns: false }),
    });
    let pieces: Vec<Piece> = results.into_iter().collect::<Outcome<_>>()?;
    let spawns = pieces.iter().any(|piece| piece.spawns);
    if spawns && !session.several() && session.options.files().count() > 1 {
        session.processes.store(true, Ordering::Relaxed);
        return make(session, scratch, program);
    }
    let variant = session.options.variant();
    let mut line: Vec<OsString> = session.compiler.flags(session.options.profile).iter().map(OsString::from).collect();
    line.extend(session.options.preprocessor.iter().cloned());
    line.extend(variant.iter().map(OsString::from));
    line.extend(session.compiler.semantics().iter().map(OsString::from));
    line.extend(pieces.iter().map(|piece| piece.word.clone()));
    line.extend(link::runtime_words(session, &variant)?);
    line.extend([OsString::from("-o"), program.into()]);
    let made: Vec<Made> = pieces.into_iter().filter_map(|piece| piece.made).collect();
    link::link(session, &line, &made)
}

/// Compiles a file of plain C.
fn plain_c(session: &Session, file: &Path, object: &Path) -> Outcome<()> {
    let options = &session.options;
    let mut flags: Vec<OsString> = session.compiler.flags(options.profile).iter().map(OsString::from).collect();
    flags.extend(options.preprocessor.iter().cloned());
    flags.extend(options.variant().iter().map(OsString::from));
    if options.no_warnings {
        flags.push("-w".into());
    }
    // Backtraces walk through C, too, and what C does with a word of ours must stay defined.
    flags.extend(session.compiler.semantics().iter().map(OsString::from));
    let through = Through::from_environment()?;
    let job = Job { file, flags: &flags, dependencies: &[], kind: "-c", output: object, through, second_look: true };
    plain::compile(session, &job)
}

/// The first source's name without its ending, in the current folder.
fn default_output(options: &Options) -> Outcome<PathBuf> {
    let first = options.files().find(|f| is_leeward(f)).or_else(|| options.files().next()).filter(|f| !is_input(f));
    let output = first.and_then(|f| f.file_stem()).map(PathBuf::from).unwrap_or_else(|| PathBuf::from("a.out"));
    if options.files().any(|f| *f == output) {
        return Err(Failure::usage(format!("the program would overwrite '{}': name it with -o", output.display())));
    }
    Ok(output)
}

/// Puts the program in its place at once, so that one that runs under this name is not disturbed.
fn install(made: &Path, output: &Path) -> Outcome<()> {
    let cannot = |e: std::io::Error| Failure::file("write", output, &e);
    match std::fs::metadata(output) {
        Ok(meta) if !meta.is_file() => {
            // A device such as /dev/null keeps its name.
            std::fs::read(made).and_then(|bytes| std::fs::write(output, bytes)).map_err(cannot)
        }
        _ => {
            let other = cache::beside(output);
            let copied = std::fs::copy(made, &other).and_then(|_| std::fs::rename(&other, output));
            if copied.is_err() {
                let _ = std::fs::remove_file(&other);
            }
            copied.map_err(cannot)
        }
    }
}

/// `lee build --emit`: the texts of all files, one after the other.
fn emit_files(session: &Session, emit: Emit) -> Outcome<i32> {
    let mut all = String::new();
    for file in session.options.files().filter(|f| is_leeward(f)) {
        match session.compile(file, until(emit), &[])? {
            Product::Text(text) | Product::C(text, _) => all.push_str(&text),
            Product::Nothing => {}
        }
    }
    match &session.options.output {
        Some(output) => std::fs::write(output, all).map_err(|e| Failure::file("write", output, &e))?,
        None => report::output(&all)?,
    }
    Ok(0)
}

// ---- help and explain ----

fn show_help(rest: &[OsString]) -> Outcome<i32> {
    let topic = rest.first().map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
    let text = match &*topic {
        "" => help::GENERAL,
        "run" => help::of(Command::Run),
        "build" => help::of(Command::Build),
        "check" => help::of(Command::Check),
        "port" => help::of(Command::Port),
        "cc" => help::CC,
        "advise" => help::ADVISE,
        "explain" => help::EXPLAIN,
        "explain-contract" => help::CONTRACT,
        "top" => help::TOP,
        other => return Err(Failure::usage(format!("no help on '{other}'; see 'lee help'"))),
    };
    report::output(text)?;
    Ok(0)
}

/// All codes of the compiler.
pub fn codes() -> Vec<source::Code> {
    let mut all = [syntax::codes::ALL, typing::codes::ALL, flow::codes::ALL, transform::codes::ALL].concat();
    all.sort_by_key(|code| code.id);
    all
}

/// The page of a code, if it is written.
pub fn page(code: &str) -> Option<&'static str> {
    let file = format!("docs/errors/{code}.md");
    let (_, bytes) = home::PAGES.iter().find(|(path, _)| *path == file)?;
    std::str::from_utf8(bytes).ok()
}

fn explain(rest: &[OsString]) -> Outcome<i32> {
    match rest {
        [] => {
            let list: String = codes().iter().map(|code| format!("{}  {}\n", code.id, code.title)).collect();
            report::output(&list)?;
            Ok(0)
        }
        [word] if matches!(&*word.to_string_lossy(), "-h" | "--help") => {
            report::output(help::EXPLAIN)?;
            Ok(0)
        }
        [word] => {
            let name = word.to_string_lossy().to_uppercase();
            let code = codes().into_iter().find(|code| code.id == name);
            let code = code
                .ok_or_else(|| Failure::usage(format!("no error has the code '{name}'; 'lee explain' lists them")))?;
            match page(code.id) {
                Some(text) => report::output(text)?,
                None => report::output(&format!("# {}: {}\n", code.id, code.title))?,
            }
            Ok(0)
        }
        _ => Err(Failure::usage("explain takes one code; see 'lee help explain'")),
    }
}
