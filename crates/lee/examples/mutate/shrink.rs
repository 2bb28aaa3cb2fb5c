//! Makes a program smaller as long as the same is found in it.

use crate::edit::{apply, replace, Edit};
use crate::sites;
use source::{Sink, SourceMap, Span};
use std::time::{Duration, Instant};
use syntax::{Dialect, ParseOptions};

/// How long one program is worked on.
const LIMIT: Duration = Duration::from_secs(40);

/// The smallest text found for which `still` holds; `own` is where the program's own part begins.
pub fn shrink(text: &str, own: u32, still: &dyn Fn(&str) -> bool) -> String {
    let started = Instant::now();
    let mut text = text.to_string();
    loop {
        let before = text.len();
        let mut at = 0;
        // Each step is found again in what remains: spans move.
        loop {
            let steps = steps(&text, own);
            let Some(step) = steps.get(at) else { break };
            if started.elapsed() > LIMIT {
                return text;
            }
            let smaller = apply(&text, step);
            match smaller.len() < text.len() && still(&smaller) {
                true => text = smaller,
                false => at += 1,
            }
        }
        if text.len() == before {
            return text;
        }
    }
}

/// What can be taken away: items, the larger ones first, statements, and what is around a
/// statement.
fn steps(text: &str, own: u32) -> Vec<Vec<Edit>> {
    let map = SourceMap::new("mutant.lee", text.to_string());
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, ParseOptions::new(Dialect::Leeward), &mut sink);
    let found = sites::find(&unit, &typing::tree::Program::default(), own);
    let mut spans: Vec<Span> = unit.items.iter().filter(|i| i.span.lo >= own).map(|i| i.span).collect();
    spans.extend(found.statements.iter().map(|s| s.span));
    spans.sort_by_key(|s| (std::cmp::Reverse(s.hi - s.lo), s.lo));
    let mut steps: Vec<Vec<Edit>> = spans.into_iter().map(|span| vec![replace(span, "")]).collect();
    // A statement in another one takes its place.
    for outer in &found.statements {
        for inner in &found.statements {
            let inside = outer.span.lo < inner.span.lo && inner.span.hi < outer.span.hi;
            if inside && inner.span.hi - inner.span.lo > 2 {
                let whole = map.snippet(inner.block);
                if outer.span.lo < inner.block.lo && whole.len() > 2 {
                    let stripped = whole.trim_start_matches('{').trim_end_matches('}');
                    let step = vec![replace(outer.span, stripped)];
                    if !steps.contains(&step) {
                        steps.push(step);
                    }
                }
            }
        }
    }
    steps
}
