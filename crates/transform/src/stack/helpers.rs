//! Functions that make a unique object and return it: for the advisor, which follows their calls
//! into those that free the object.

use super::{followed, sites, Site};
use mir::ir::*;
use rustc_hash::FxHashMap;
use typing::tree::FuncRef;

/// How often bodies are gone through: helpers may call helpers.
const MOST_ROUNDS: usize = 4;

/// The functions that return a fresh object, or null, and nothing else, with the allocation.
#[derive(Debug, Default)]
pub struct Helpers {
    made: FxHashMap<FuncRef, Site>,
}

impl Helpers {
    /// Finds them.
    pub fn of(program: &Program, bodies: &[Body]) -> Helpers {
        let mut helpers = Helpers::default();
        for _ in 0..MOST_ROUNDS {
            let before = helpers.made.len();
            for body in bodies {
                if helpers.made.contains_key(&body.func) {
                    continue;
                }
                let all = sites(program, body, (0, Some(&helpers)), &mut vec![]);
                if all.is_empty() {
                    continue;
                }
                let found = followed(program, body, &all);
                let mut returned = all.into_iter().zip(found.returned).filter(|(_, returned)| *returned);
                if let (Some((site, _)), None) = (returned.next(), returned.next()) {
                    helpers.made.insert(body.func.clone(), site);
                }
            }
            if helpers.made.len() == before {
                break;
            }
        }
        helpers
    }

    /// What a call of a helper makes, and the local that takes it.
    pub(super) fn called(&self, stmt: &Stmt) -> Option<(Local, &Site)> {
        let made = self.made.get(stmt.kind.called()?)?;
        Some((stmt.kind.as_call()?.dest.as_ref()?.as_local()?, made))
    }

    /// Whether the body calls one.
    pub(super) fn are_called(&self, body: &Body) -> bool {
        body.blocks.iter().flat_map(|b| &b.stmts).any(|s| self.called(s).is_some())
    }
}
