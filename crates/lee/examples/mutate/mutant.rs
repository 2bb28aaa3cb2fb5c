//! One mutant for each seed.

use crate::corpus::{Corpus, Program};
use crate::edit::{self, insert, Edit};
use crate::operators::{Draw, Operator, OPERATORS};
use crate::rng::{mixed, Random};
use driver::session::Session;
use std::sync::Arc;

/// How many edits a mutant has at most.
const MOST_EDITS: usize = 4;
/// How many programs are tried for an operator.
const TRIES: usize = 40;

/// A changed program.
pub struct Mutant {
    pub program: Arc<Program>,
    /// Numbers of the operators in `OPERATORS`.
    pub operators: Vec<usize>,
    pub text: String,
}

/// The mutant of a seed: its first edit is by the operator `only`, or by all in turn.
pub fn mutant(corpus: &Corpus, session: &Session, seed: u64, only: Option<usize>) -> Option<Mutant> {
    let mut random = Random(mixed(seed));
    let first = only.unwrap_or((seed % OPERATORS.len() as u64) as usize);
    for _ in 0..TRIES {
        let number = random.below(corpus.len() as i64) as usize;
        let Some(program) = corpus.program(number, session) else { continue };
        if let Some((operators, text)) = changed(&program, first, &mut random) {
            return Some(Mutant { program, operators, text });
        }
    }
    None
}

fn changed(program: &Program, first: usize, random: &mut Random) -> Option<(Vec<usize>, String)> {
    let mut draw = Draw { text: &program.text, sites: &program.sites, random, fresh: 0, needs: vec![] };
    let mut operators = vec![first];
    let mut edits = edits(&mut draw, OPERATORS[first].1)?;
    for _ in 1..MOST_EDITS {
        if draw.random.chance(55) {
            break;
        }
        let next = draw.random.below(OPERATORS.len() as i64) as usize;
        let Some(more) = self::edits(&mut draw, OPERATORS[next].1) else { continue };
        let all: Vec<Edit> = edits.iter().chain(&more).cloned().collect();
        if edit::compatible(&all) {
            edits = all;
            operators.push(next);
        }
    }
    let needs = draw.needs.concat();
    // Before what an operator inserts at the same place.
    edits.insert(0, insert(program.sites.start, needs));
    Some((operators, edit::apply(&program.text, &edits)))
}

fn edits(draw: &mut Draw, operator: Operator) -> Option<Vec<Edit>> {
    operator(draw).filter(|edits| edit::compatible(edits))
}
