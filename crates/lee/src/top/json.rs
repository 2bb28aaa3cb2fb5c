//! The answer as JSON: one object, for scripts.

use super::read::{Answer, Custodian, Process, KINDS};
use std::fmt::Write;

/// One line.
pub fn write(answer: &Answer) -> String {
    let mut out = format!(
        "{{\"pid\":{},\"time_ns\":{},\"ready\":{},\"cut\":{},\"custodians\":[",
        answer.pid, answer.time, answer.ready, answer.cut
    );
    list(&mut out, &answer.custodians, custodian);
    out.push_str("],\"processes\":[");
    list(&mut out, &answer.processes, process);
    out.push_str("]}\n");
    out
}

fn list<T>(out: &mut String, items: &[T], one: fn(&mut String, &T) -> std::fmt::Result) {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        // Writing to a string does not fail.
        let _ = one(out, item);
    }
}

fn custodian(out: &mut String, c: &Custodian) -> std::fmt::Result {
    write!(out, "{{\"id\":{},\"parent\":", c.id)?;
    if c.parent == 0 {
        out.push_str("null");
    } else {
        write!(out, "{}", c.parent)?;
    }
    for (name, one) in KINDS.iter().zip(&c.uses) {
        write!(out, ",\"{name}\":{},\"{name}_most\":", one.now)?;
        match one.most {
            Some(most) => write!(out, "{most}")?,
            None => out.push_str("null"),
        }
    }
    write!(out, ",\"ran_ns\":{},\"weight\":{},\"ready\":{},\"shut\":{}}}", c.ran, c.weight, c.ready, c.shut)
}

fn process(out: &mut String, p: &Process) -> std::fmt::Result {
    // The state is a word of the runtime's; what is not is left out.
    let state: String = p.state.chars().filter(char::is_ascii_lowercase).collect();
    // So is a name, which the program's file gives, and which could be any bytes.
    let name: Option<String> = p.name.as_ref().map(|name| name.chars().filter(|c| is_plain(*c)).collect());
    let name = name.map_or("null".to_string(), |name| format!("\"{name}\""));
    write!(
        out,
        "{{\"id\":{},\"custodian\":{},\"state\":\"{state}\",\"bytes\":{},\"tasks\":{},\"endpoints\":{},\"messages\":{},\"name\":{name}}}",
        p.id, p.custodian, p.bytes, p.tasks, p.endpoints, p.messages
    )
}

/// A letter, digit or underscore of any language.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
