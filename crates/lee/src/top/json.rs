//! The answer as JSON: one object, for scripts.

use super::read::{Answer, Custodian, End, Process, Waits, Worker, KINDS};
pub use source::render::string as quoted;
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
    out.push_str("],\"workers\":[");
    list(&mut out, &answer.workers, worker);
    out.push_str("],\"ends\":[");
    list(&mut out, &answer.ends, end);
    out.push_str("],\"cycles\":[");
    list(&mut out, &super::cycles::find(answer), |out, circle| {
        let ids: Vec<String> = circle.iter().map(u64::to_string).collect();
        write!(out, "[{}]", ids.join(","))
    });
    out.push_str("]}\n");
    out
}

pub fn list<T>(out: &mut String, items: &[T], one: fn(&mut String, &T) -> std::fmt::Result) {
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
    let state = quoted(&p.state);
    let name = p.name.as_deref().map_or("null".to_string(), quoted);
    write!(
        out,
        "{{\"id\":{},\"custodian\":{},\"state\":{state},\"bytes\":{},\"tasks\":{},\"endpoints\":{},\"messages\":{},\"name\":{name},\"waits\":",
        p.id, p.custodian, p.bytes, p.tasks, p.endpoints, p.messages
    )?;
    match &p.waits {
        None => out.push_str("null"),
        Some(Waits::Message { contract, from }) => {
            write!(out, "{{\"for\":\"message\",\"contract\":{},\"process\":{from}}}", quoted(contract))?;
        }
        Some(Waits::End(process)) => write!(out, "{{\"for\":\"end\",\"process\":{process}}}")?,
        Some(Waits::Task) => out.push_str("{\"for\":\"task\"}"),
        Some(Waits::Queue) => out.push_str("{\"for\":\"queue\"}"),
        Some(Waits::Outside) => out.push_str("{\"for\":\"outside\"}"),
    }
    match p.worker {
        None => out.push_str(",\"worker\":null}"),
        Some(worker) => write!(out, ",\"worker\":{worker}}}")?,
    }
    Ok(())
}

fn worker(out: &mut String, w: &Worker) -> std::fmt::Result {
    write!(out, "{{\"id\":{},\"state\":{},\"queued\":{}}}", w.id, quoted(&w.state), w.queued)
}

fn end(out: &mut String, e: &End) -> std::fmt::Result {
    let (contract, state) = (quoted(&e.contract), quoted(&e.state));
    let End { process, peer, held, most, .. } = e;
    write!(
        out,
        "{{\"contract\":{contract},\"process\":{process},\"peer\":{peer},\"messages\":{held},\"messages_most\":{most},\"state\":{state}}}"
    )
}
