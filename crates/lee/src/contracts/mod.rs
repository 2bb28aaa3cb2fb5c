//! `lee explain-contract FILE NAME`: the state machine of a contract as text, for Graphviz
//! (`--dot`), as a picture (`--svg`).

mod dot;
mod picture;
mod text;

use crate::failure::{Failure, Outcome};
use crate::help;
use crate::options::{self, Command, Parsed};
use crate::report;
use crate::session::Session;
use std::ffi::OsString;
use std::path::Path;
use typing::contracts::{Contract, ContractId, StateId};
use typing::TypeStore;

/// How a contract is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Dot,
    Svg,
}

/// Runs the command.
pub fn main(rest: Vec<OsString>) -> Outcome<i32> {
    let (mut form, mut words) = (Form::Text, vec![]);
    for word in rest {
        match &*word.to_string_lossy() {
            "--dot" => form = Form::Dot,
            "--svg" => form = Form::Svg,
            "-h" | "--help" => {
                report::output(help::CONTRACT)?;
                return Ok(0);
            }
            _ => words.push(word),
        }
    }
    let wrong = |why: &str| Failure::usage(format!("{why}; see 'lee help explain-contract'"));
    let Parsed::Work(mut options) = options::parse(Command::Check, words)? else {
        report::output(help::CONTRACT)?;
        return Ok(0);
    };
    let named: Vec<_> = options.files().cloned().collect();
    let (file, name) = match named.as_slice() {
        [file] => (file, None),
        [file, name] => (file, Some(name.to_string_lossy().into_owned())),
        _ => return Err(wrong("a file and the name of a contract are wanted")),
    };
    options.items.truncate(1);
    let session = Session::new(*options)?;
    let types = session.types(file)?;
    let Some(name) = name else {
        return list(&types, file);
    };
    let Some((number, contract)) = types.contracts.iter().enumerate().find(|(_, c)| c.name.as_str() == name) else {
        return Err(Failure::error(format!("'{}' has no contract '{name}'", file.display())));
    };
    report::output(&match form {
        Form::Text => text::write(&types, ContractId(number as u32), contract),
        Form::Dot => dot::write(contract),
        Form::Svg => picture::write(contract),
    })?;
    Ok(0)
}

fn list(types: &TypeStore, file: &Path) -> Outcome<i32> {
    if types.contracts.is_empty() {
        return Err(Failure::error(format!("'{}' has no contract", file.display())));
    }
    let names: String = types.contracts.iter().map(|c| format!("{}\n", c.name)).collect();
    report::output(&names)?;
    Ok(0)
}

/// A name for each state: its own; for one inside a chain, that of the state in which the chain
/// begins and a number.
fn titles(contract: &Contract) -> Vec<String> {
    let mut titles: Vec<Option<String>> = contract.states.iter().map(|s| s.name.map(|n| n.to_string())).collect();
    let named: Vec<usize> = (0..titles.len()).filter(|&n| titles.get(n).is_some_and(Option::is_some)).collect();
    for from in named {
        let base = titles.get(from).cloned().flatten().unwrap_or_default();
        let (mut work, mut next, mut count) = (vec![StateId(from as u32)], 0, 0);
        while let Some(at) = work.get(next).copied() {
            next += 1;
            for (_, to) in contract.state(at).map(|s| s.alternatives.as_slice()).unwrap_or_default() {
                let Some(title @ None) = titles.get_mut(to.0 as usize) else { continue };
                count += 1;
                *title = Some(format!("{base}.{count}"));
                work.push(*to);
            }
        }
    }
    titles.into_iter().enumerate().map(|(n, title)| title.unwrap_or(format!("state {n}"))).collect()
}

/// The messages that lead from one state to another, in order, as one edge.
struct Edge {
    from: usize,
    to: usize,
    labels: Vec<String>,
    /// The exporter sends them.
    out: bool,
}

fn edges(contract: &Contract) -> Vec<Edge> {
    let mut all: Vec<Edge> = vec![];
    for (from, state) in contract.states.iter().enumerate() {
        for (message, to) in &state.alternatives {
            let (to, label) = (to.0 as usize, contract.message_text(*message));
            let out = state.sender == Some(typing::contracts::Side::Exp);
            match all.iter_mut().find(|e| e.from == from && e.to == to) {
                Some(edge) => edge.labels.push(label),
                None => all.push(Edge { from, to, labels: vec![label], out }),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
