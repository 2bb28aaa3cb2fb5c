//! The report as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), with `fixes`.

use crate::edits::{Edit, FileEdits};
use crate::finding::{Finding, Place, Verdict};
use crate::report::ranked;
use crate::run::Outcome;
use serde_json::{json, Value};
use std::path::Path;

const RULES: [Verdict; 5] = [Verdict::Stack, Verdict::Hybrid, Verdict::Caller, Verdict::Embed, Verdict::Static];

/// The log. `read` gives the text of a file, for the lines and columns of fixes.
pub fn sarif(outcome: &Outcome, version: &str, read: &dyn Fn(&Path) -> String) -> String {
    let rules: Vec<Value> = RULES
        .iter()
        .map(
            |v| json!({ "id": v.word(), "shortDescription": { "text": format!("A heap allocation: {}", v.advice()) } }),
        )
        .collect();
    let mut results: Vec<Value> = vec![];
    for finding in ranked(&outcome.findings) {
        results.push(result(finding, read));
    }
    let notifications: Vec<Value> = outcome
        .errors
        .iter()
        .map(|(source, why)| {
            json!({ "level": "error", "message": { "text": format!("{}: {why}", source.file.display()) } })
        })
        .collect();
    let mut log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "lee advise", "version": version, "rules": rules } },
            // Columns of fixes are counted so.
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": outcome.errors.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    if let (Some(saved), Some(run)) = (&outcome.saved, log.pointer_mut("/runs/0").and_then(Value::as_object_mut)) {
        run.insert("properties".into(), json!({ "saved": super::json::saved(saved) }));
    }
    format!("{log:#}\n")
}

/// A file name as a URI reference.
fn uri(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    if file.starts_with('/') {
        out.insert_str(0, "file://");
    }
    out
}

fn location(place: &Place) -> Value {
    let mut region = json!({ "startLine": place.line.max(1) });
    if place.column > 0 {
        region = json!({ "startLine": place.line.max(1), "startColumn": place.column });
    }
    json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&place.file) }, "region": region } })
}

fn result(finding: &Finding, read: &dyn Fn(&Path) -> String) -> Value {
    let certainty = if finding.proven { "proven" } else { "likely" };
    let what = finding.variable.as_deref().unwrap_or("the object");
    let text = format!(
        "`{what}` from `{}` in `{}` ({}): {} ({certainty})",
        finding.allocator,
        finding.function,
        finding.bytes_text(),
        finding.verdict.advice()
    );
    let related: Vec<Value> = finding
        .notes
        .iter()
        .map(|n| {
            let mut at = location(&n.place);
            if let Some(object) = at.as_object_mut() {
                object.insert("message".into(), json!({ "text": n.text }));
            }
            at
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.verdict.word(),
        "ruleIndex": RULES.iter().position(|v| *v == finding.verdict).unwrap_or(0),
        "level": "note",
        "message": { "text": text },
        "locations": [location(&finding.place)],
        "relatedLocations": related,
    });
    if let (Some(saved), Some(object)) = (&finding.saved, result.as_object_mut()) {
        object.insert("properties".into(), json!({ "saved": super::json::saved(saved) }));
    }
    if let (Some(patch), Some(object)) = (&finding.patch, result.as_object_mut()) {
        let changes: Vec<Value> = patch.files.iter().map(|f| change(f, &read(&f.file))).collect();
        let description = format!("{}: {}", finding.verdict.word(), finding.verdict.advice());
        object.insert("fixes".into(), json!([{ "description": { "text": description }, "artifactChanges": changes }]));
    }
    result
}

/// The replacements of a file that has the text.
fn change(file: &FileEdits, text: &str) -> Value {
    let replacement = |e: &Edit| {
        let ((line, column), (end_line, end_column)) = (position(text, e.lo), position(text, e.hi));
        json!({
            "deletedRegion": {
                "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column,
            },
            "insertedContent": { "text": e.text },
        })
    };
    let replacements: Vec<Value> = file.edits.iter().map(replacement).collect();
    json!({ "artifactLocation": { "uri": uri(&file.file.to_string_lossy()) }, "replacements": replacements })
}

/// Line and column of an offset, from 1, in characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    (line, before.get(start..).unwrap_or("").chars().count() + 1)
}
