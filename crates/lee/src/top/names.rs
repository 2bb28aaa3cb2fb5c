//! The names of what a program's answers have places of: functions that processes began with,
//! variables, functions whose stack it is. They are from the symbols of the program's file.

use super::read::Answer;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind, SymbolSection};
use std::collections::HashMap;
use std::path::Path;

/// Symbols of a program, which is read once.
#[derive(Default)]
pub struct Names {
    pid: u64,
    symbols: Symbols,
}

/// Places are from where the program's file begins in memory.
#[derive(Default, PartialEq, Debug)]
pub struct Symbols {
    /// What processes can begin with.
    entries: HashMap<u64, String>,
    /// Functions and variables, by their places.
    all: Vec<Symbol>,
}

#[derive(PartialEq, Debug)]
struct Symbol {
    at: u64,
    size: u64,
    name: String,
    /// Of the program's own variables, of which each process has one.
    is_own: bool,
}

/// A variable that a place lies in.
pub struct Variable<'a> {
    pub name: &'a str,
    /// Not of C code, a library or the runtime.
    pub is_own: bool,
}

impl Names {
    /// Reads the program's file, unless that was done; one that is not ours to read has no names.
    pub fn learn(&mut self, pid: u64) {
        if self.pid != pid {
            self.pid = pid;
            let file = format!("/proc/{pid}/exe");
            self.symbols = std::fs::read(Path::new(&file)).ok().and_then(|bytes| read(&bytes)).unwrap_or_default();
        }
    }

    /// Names the answer's processes; those of a program that was stripped stay without.
    pub fn give(&mut self, answer: &mut Answer) {
        self.learn(answer.pid);
        for process in &mut answer.processes {
            process.name = match (process.id, process.entry) {
                (1, 0) => Some("main".to_string()),
                (_, entry) => self.symbols.entries.get(&entry).cloned(),
            };
        }
    }

    /// The function or variable that the place lies in.
    pub fn find(&self, place: u64) -> Option<Variable<'_>> {
        let all = &self.symbols.all;
        let last = all.partition_point(|symbol| symbol.at <= place).checked_sub(1)?;
        let symbol = all.get(last).filter(|symbol| place - symbol.at < symbol.size.max(1))?;
        Some(Variable { name: &symbol.name, is_own: symbol.is_own })
    }
}

/// None: not a program.
pub fn read(bytes: &[u8]) -> Option<Symbols> {
    let file = object::File::parse(bytes).ok()?;
    let begin = file.segments().find(|segment| segment.file_range().0 == 0)?.address();
    let mut symbols = Symbols::default();
    for symbol in file.symbols() {
        let (Ok(name), Some(at)) = (symbol.name(), symbol.address().checked_sub(begin)) else { continue };
        if let Some(name) = function(name) {
            symbols.entries.insert(at, name.to_string());
        }
        if matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Text) && !name.is_empty() {
            symbols.all.push(Symbol {
                at,
                size: symbol.size(),
                name: plain(name),
                is_own: section(&file, symbol.section()).is_some_and(|name| name.starts_with("lee_globals")),
            });
        }
    }
    symbols.all.sort_by(|a, b| (a.at, a.size, &a.name).cmp(&(b.at, b.size, &b.name)));
    Some(symbols)
}

fn section(file: &object::File, section: SymbolSection) -> Option<String> {
    let section = file.section_by_index(section.index()?).ok()?;
    Some(section.name().ok()?.to_string())
}

/// What the C compiler adds to a name stands after a dot.
fn plain(name: &str) -> String {
    let name = name.split('.').next().unwrap_or_default();
    function(name).unwrap_or(name).to_string()
}

/// `serve` of `lee__spawn_2_serve`, as `crates/emit_c/src/starts.rs` writes it.
fn function(symbol: &str) -> Option<&str> {
    let (number, name) = symbol.strip_prefix("lee__spawn_")?.split_once('_')?;
    // What follows a dot is of the symbol alone.
    let name = name.split('.').next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty()).then_some(name)
}
