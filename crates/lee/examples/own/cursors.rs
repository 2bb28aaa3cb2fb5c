//! Cursors whose place is used by any statement, also by other cursors below it.

use crate::body::Body;
use crate::model::{Lending, Own, St, Ty};

impl Body<'_> {
    /// A walk with statements at each place.
    pub fn walk_statement(&mut self) -> bool {
        if self.trips > 4 || self.scopes.len() > 4 {
            return false;
        }
        let found = self.some(|b, p| b.is_whole_list(p));
        let slot = self.random.chance(15);
        let (text, p, path) = match found {
            Some(path) if !slot => {
                let Ty::Unique(p) = self.ty(&path) else { return false };
                (self.text(&path), p, Some(path))
            }
            _ => {
                let p = self.some_record();
                if self.list_field(p).is_none() {
                    return false;
                }
                (format!("{}_g{p}", self.types.tag), p, None)
            }
        };
        let Some(n) = self.list_field(p) else { return false };
        let field = self.types.records[p].fields[n].name.clone();
        let (c, i) = (self.name("c"), self.name("i"));
        let place = format!("(*{c})");
        let rounds = self.random.between(1, 3);
        self.open("{");
        self.line(format!("cursor {c} = &{text};"));
        if let Some(path) = &path {
            self.pin(path.clone(), Lending::Exclusive);
        }
        self.line(format!("int {i} = 0;"));
        let by_goto = self.random.chance(40) && !self.scopes.iter().any(|s| s.is_switch);
        let label = self.name("go");
        self.line(if by_goto { format!("{label}:") } else { format!("while ({place} && {i}++ < {rounds}) {{") });
        if by_goto {
            self.line(format!("if ({place} && {i}++ < {rounds}) {{"));
        }
        let head = self.states();
        self.scope(None, false);
        if let Some(scope) = self.scopes.last_mut() {
            scope.is_closed = !by_goto;
        }
        self.trips *= rounds;
        let var = self.declare(place.clone(), Ty::Unique(p), St::Live);
        self.vars[var].is_place = true;
        self.slot_cursors += u32::from(path.is_none());
        self.block(4);
        self.slot_cursors -= u32::from(path.is_none());
        self.trips /= rounds;
        self.restore(&head);
        self.restore_one(var, &Own::new(St::Live));
        // Variables of the block end before the cursor advances.
        self.give_up_scope();
        self.line(format!("{c} = &{place}->{field};"));
        if by_goto {
            self.line(format!("goto {label};"));
        }
        self.pop();
        self.line("}");
        self.set_states(&head);
        self.pop();
        self.line("}");
        if let Some(path) = path {
            self.set_st(&path, St::Maybe);
        }
        true
    }
}
