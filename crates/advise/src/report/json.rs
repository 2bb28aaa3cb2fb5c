//! The report as one JSON document (docs/reference/advise.md).

use crate::edits::{FileEdits, Patch};
use crate::finding::{Finding, Place, Saved};
use crate::run::Outcome;
use serde_json::{json, Value};

/// The document.
pub fn json(outcome: &Outcome) -> String {
    let findings: Vec<Value> = outcome.findings.iter().map(finding).collect();
    let errors: Vec<Value> = outcome
        .errors
        .iter()
        .map(|(source, why)| json!({ "file": source.file.to_string_lossy(), "message": why }))
        .collect();
    let document = json!({
        "version": 1,
        "functions": outcome.functions,
        "findings": findings,
        "errors": errors,
        "saved": outcome.saved.as_ref().map(saved),
    });
    format!("{document:#}\n")
}

fn place(place: &Place) -> Value {
    json!({ "file": place.file, "line": place.line, "column": place.column })
}

fn finding(finding: &Finding) -> Value {
    let notes: Vec<Value> = finding.notes.iter().map(|n| json!({ "at": place(&n.place), "text": n.text })).collect();
    let (least, most) = finding.bytes;
    json!({
        "at": place(&finding.place),
        "function": finding.function,
        "allocator": finding.allocator,
        "variable": finding.variable,
        "verdict": finding.verdict.word(),
        "proven": finding.proven,
        "size": finding.size,
        "least": least,
        "most": most,
        "stack": finding.stack,
        "in_loop": finding.in_loop,
        "reason": finding.reason,
        "notes": notes,
        "patch": finding.patch.as_ref().map(patch),
        "no_patch": finding.no_patch,
        "saved": finding.saved.as_ref().map(saved),
    })
}

/// What was measured; SARIF has it, too.
pub(super) fn saved(saved: &Saved) -> Value {
    json!({
        "calls": saved.calls(),
        "of_calls": saved.before.calls,
        "instructions": saved.instructions(),
        "of_instructions": saved.before.instructions,
    })
}

/// The first file, and the others under `more`.
fn patch(patch: &Patch) -> Value {
    let mut files = patch.files.iter().map(file);
    let mut first = files.next().unwrap_or_default();
    let more: Vec<Value> = files.collect();
    if let Some(object) = first.as_object_mut() {
        object.insert("more".into(), json!(more));
    }
    first
}

/// Replacements of bytes of the file, as it stands on the disk if that is UTF-8.
fn file(file: &FileEdits) -> Value {
    let edits: Vec<Value> = file.edits.iter().map(|e| json!({ "from": e.lo, "to": e.hi, "text": e.text })).collect();
    json!({ "file": file.file.to_string_lossy(), "edits": edits })
}
