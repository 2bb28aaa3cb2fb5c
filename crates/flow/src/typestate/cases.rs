//! `switch receive`: that its ends are in states in which they receive, and that for whatever comes some case can be taken.

use mir::ir::*;
use source::Span;
use typing::contracts::{Contract, Side};

use super::report::{Finding, Missing};
use super::{sender, At, Report, State, Typestate};

/// Combinations are tried one by one; who has more writes a `default`.
const MOST_STEPS: usize = 100_000;

/// An end of a `switch receive`, with all that may stand at its head.
pub(crate) struct Waited<'a> {
    pub place: &'a Place,
    pub heads: Vec<Head>,
}

pub(super) fn check(
    typestate: &Typestate,
    s: &State,
    cases: &[SelectCase],
    has_default: bool,
    span: Span,
    report: Report,
) {
    let mut ends: Vec<Waited> = vec![];
    let mut rows: Vec<Vec<(usize, Head)>> = vec![];
    for case in cases {
        let SelectCase::Heads(heads) = case else { continue };
        let mut row = vec![];
        for (place, head) in heads {
            let n = ends.iter().position(|end| end.place == place).unwrap_or_else(|| {
                ends.push(Waited { place, heads: vec![Head::Closed] });
                ends.len() - 1
            });
            row.push((n, *head));
        }
        rows.push(row);
    }
    for end in &mut ends {
        let Some(ty) = typestate.end_at(end.place) else { return };
        let Some(contract) = typestate.contract(ty) else { return };
        if typestate.variable(end.place).is_none() {
            return report(Finding::no_variable(typestate, end.place, ty, span));
        }
        for (at, since) in typestate.states(s, end.place, span) {
            match heads_in(contract, ty.side, at) {
                Some(heads) => end.heads.extend(heads.into_iter().filter(|head| *head != Head::Closed)),
                None => return report(Finding::cannot_wait(typestate, end.place, span, (at, since))),
            }
        }
        end.heads.dedup();
    }
    for row in &rows {
        for (n, head) in row {
            let Some(end) = ends.get(*n) else { return };
            // Of an end that holds nothing, or was reported, nothing is known.
            let known = !typestate.states(s, end.place, span).is_empty();
            if known && !end.heads.contains(head) {
                return report(Finding::never_comes(typestate, end.place, span, *head, &end.heads));
            }
        }
    }
    let known = ends.iter().all(|end| !typestate.states(s, end.place, span).is_empty());
    if has_default || !known {
        return;
    }
    let all: Vec<&[Head]> = ends.iter().map(|end| end.heads.as_slice()).collect();
    let mut search = Search { ends: &all, rows: &rows, steps: 0, missing: vec![] };
    search.from(&mut vec![]);
    if search.steps >= MOST_STEPS {
        return report(Finding::too_many(span));
    }
    let places: Vec<&Place> = ends.iter().map(|end| end.place).collect();
    let missing: Missing = search.missing;
    if !missing.is_empty() {
        report(Finding::missing(typestate, span, &places, missing));
    }
}

/// What may stand at the head of an end's queue; none if it is no state in which the end receives.
fn heads_in(contract: &Contract, side: Side, at: At) -> Option<Vec<Head>> {
    let At::State(id) = at else { return None };
    let state = contract.state(id)?;
    (sender(contract, id)? == side.other()).then(|| state.alternatives.iter().map(|(m, _)| Head::Message(*m)).collect())
}

/// Looks for combinations of heads for which no case can be taken.
struct Search<'a> {
    ends: &'a [&'a [Head]],
    rows: &'a [Vec<(usize, Head)>],
    steps: usize,
    missing: Vec<Vec<Head>>,
}

/// How many missing combinations are told.
const TOLD: usize = 4;

impl Search<'_> {
    fn from(&mut self, chosen: &mut Vec<Head>) {
        self.steps += 1;
        if self.steps >= MOST_STEPS || self.missing.len() >= TOLD {
            return;
        }
        // A case that what is chosen so far already lets be taken covers all that is left.
        let taken = |row: &Vec<(usize, Head)>| row.iter().all(|(n, head)| chosen.get(*n) == Some(head));
        if self.rows.iter().any(taken) {
            return;
        }
        let Some(heads) = self.ends.get(chosen.len()) else {
            return self.missing.push(chosen.clone());
        };
        for head in heads.iter() {
            chosen.push(*head);
            self.from(chosen);
            chosen.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use typing::contracts::MessageId;

    const A: Head = Head::Message(MessageId(0));
    const B: Head = Head::Message(MessageId(1));
    const CLOSED: Head = Head::Closed;

    fn missing(ends: &[&[Head]], rows: &[&[(usize, Head)]]) -> Vec<Vec<Head>> {
        let rows: Vec<Vec<(usize, Head)>> = rows.iter().map(|row| row.to_vec()).collect();
        let mut search = Search { ends, rows: &rows, steps: 0, missing: vec![] };
        search.from(&mut vec![]);
        search.missing
    }

    #[test]
    fn one_end() {
        assert_eq!(missing(&[&[A, B, CLOSED]], &[&[(0, A)], &[(0, B)], &[(0, CLOSED)]]), Vec::<Vec<Head>>::new());
        assert_eq!(missing(&[&[A, B, CLOSED]], &[&[(0, A)], &[(0, CLOSED)]]), [[B]]);
        assert_eq!(missing(&[&[A, CLOSED]], &[&[(0, A)]]), [[CLOSED]]);
    }

    #[test]
    fn two_ends() {
        let ends: [&[Head]; 2] = [&[A, CLOSED], &[A, CLOSED]];
        let both = [(0, A), (1, A)];
        assert_eq!(missing(&ends, &[&both, &[(0, CLOSED)], &[(1, CLOSED)]]), Vec::<Vec<Head>>::new());
        assert_eq!(missing(&ends, &[&both, &[(0, CLOSED)]]), [[A, CLOSED]]);
        // One that is always taken covers the other.
        assert_eq!(missing(&ends, &[&[(0, A)], &[(0, CLOSED)]]), Vec::<Vec<Head>>::new());
        assert_eq!(missing(&ends, &[&both]), [[A, CLOSED], [CLOSED, A], [CLOSED, CLOSED]]);
    }

    #[test]
    fn many_ends_end() {
        let heads: &[Head] = &[A, B, CLOSED];
        let ends = vec![heads; 30];
        let row: Vec<(usize, Head)> = (0..30).map(|n| (n, A)).collect();
        let rows = vec![row];
        let mut search = Search { ends: &ends, rows: &rows, steps: 0, missing: vec![] };
        search.from(&mut vec![]);
        assert_eq!(search.missing.len(), TOLD);
    }
}
