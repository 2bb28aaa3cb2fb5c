//! The names of processes: of the functions that they began with, from the symbols of the program's
//! file.

use super::read::Answer;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::collections::HashMap;
use std::path::Path;

/// Symbols of a program, which is read once.
#[derive(Default)]
pub struct Names {
    pid: u64,
    /// By places in memory, from where the program's file begins there.
    by_entry: HashMap<u64, String>,
}

impl Names {
    /// Names the answer's processes; those of a program that was stripped, or whose file is not
    /// ours to read, stay without.
    pub fn give(&mut self, answer: &mut Answer) {
        if self.pid != answer.pid {
            self.pid = answer.pid;
            let file = format!("/proc/{}/exe", answer.pid);
            self.by_entry = std::fs::read(Path::new(&file)).ok().and_then(|bytes| read(&bytes)).unwrap_or_default();
        }
        for process in &mut answer.processes {
            process.name = self.by_entry.get(&process.entry).cloned();
        }
    }
}

/// What processes can begin with. None: not a program.
pub fn read(bytes: &[u8]) -> Option<HashMap<u64, String>> {
    let file = object::File::parse(bytes).ok()?;
    let begin = file.segments().find(|segment| segment.file_range().0 == 0)?.address();
    let named = file.symbols().filter_map(|symbol| {
        let name = function(symbol.name().ok()?)?;
        Some((symbol.address().checked_sub(begin)?, name.to_string()))
    });
    Some(named.collect())
}

/// `serve` of `lee__spawn_2_serve`, as `crates/emit_c/src/starts.rs` writes it.
fn function(symbol: &str) -> Option<&str> {
    let (number, name) = symbol.strip_prefix("lee__spawn_")?.split_once('_')?;
    // What follows a dot is of the symbol alone.
    let name = name.split('.').next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty()).then_some(name)
}
