//! The report for people.

use crate::finding::{Finding, Note, Place};
use crate::report::ranked;
use crate::run::Outcome;
use std::fmt::Write;

/// The report. `explain` adds the sites that were declined, with their reasons.
pub fn human(outcome: &Outcome, explain: bool) -> String {
    let mut out = String::new();
    let advice = ranked(&outcome.findings);
    for finding in &advice {
        entry(&mut out, finding);
    }
    let declined: Vec<&Finding> = outcome.findings.iter().filter(|f| !f.is_advice()).collect();
    if explain {
        for finding in &declined {
            entry(&mut out, finding);
        }
    }
    let (found, left) = (advice.len(), declined.len());
    let sites = |n: usize| if n == 1 { "1 site".to_string() } else { format!("{n} sites") };
    let hint = if explain || left == 0 { "" } else { " (--explain says why)" };
    let _ = writeln!(out, "advice for {}, {} declined{hint}", sites(found), sites(left));
    if let Some(saved) = &outcome.saved {
        let _ = writeln!(out, "with all patches: {} ({:.1} % of the calls)", saved.text(), saved.share());
    }
    out
}

fn at(place: &Place) -> String {
    format!("{}:{}:{}", place.file, place.line, place.column)
}

fn entry(out: &mut String, finding: &Finding) {
    let certainty = match (finding.is_advice(), finding.proven) {
        (false, _) => "",
        (true, true) => " (proven)",
        (true, false) => " (likely)",
    };
    let what = match &finding.variable {
        Some(name) => format!("`{name}` from `{}`", finding.allocator),
        None => format!("`{}`", finding.allocator),
    };
    let _ = writeln!(
        out,
        "{}: {}{certainty}: {what} in `{}`: {}; {}",
        at(&finding.place),
        finding.verdict.word(),
        finding.function,
        finding.bytes_text(),
        finding.verdict.advice(),
    );
    if !finding.reason.is_empty() {
        let _ = writeln!(out, "    because {}", finding.reason);
    }
    if let Some(saved) = &finding.saved {
        let _ = writeln!(out, "    {}", saved.text());
    }
    for Note { place, text } in &finding.notes {
        let _ = writeln!(out, "    {}: {text}", at(place));
    }
    if let Some(why) = &finding.no_patch {
        let _ = writeln!(out, "    no patch: {why}");
    }
}
