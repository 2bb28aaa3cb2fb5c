//! The buffer: its type and name, and where it is declared.

use super::*;
use syntax::token::Kind;

/// Where a buffer is declared.
pub(super) struct Home {
    /// The token before which, or after which.
    pub(super) at: usize,
    /// After it.
    pub(super) after: bool,
    /// The name of the variable in its declaration.
    pub(super) declarator: Option<usize>,
}

/// A type of elements.
struct Element {
    text: Fragment,
    size: u64,
    align: u64,
}

impl Planner<'_> {
    pub(super) fn declare(&self, home: &Home, buffer: &Buffer) -> Tried<Change> {
        let raw = self.raw_of(home.at).and_then(|n| self.origins.file.tokens.get(n));
        let raw = raw.ok_or("a macro makes the place where the buffer would be declared")?;
        let (at, text) = if home.after {
            // The opening brace of the function: the buffer comes first.
            let next = self.raw_of(home.at + 1).and_then(|n| self.origins.file.tokens.get(n)).map_or(raw.hi, |t| t.lo);
            let indent = self.indent(next);
            match self.starts_line(next) {
                true => (raw.hi, format!("\n{indent}{}", buffer.declaration.raw)),
                false => (raw.hi, format!(" {}", buffer.declaration.raw)),
            }
        } else {
            let indent = self.indent(raw.lo);
            match self.starts_line(raw.lo) {
                true => (raw.lo - indent.len(), format!("{indent}{}\n", buffer.declaration.raw)),
                false => (raw.lo, format!("{} ", buffer.declaration.raw)),
            }
        };
        let token = home.at + usize::from(home.after);
        Ok(Change {
            lo: token,
            hi: token,
            expanded: buffer.declaration.expanded.clone(),
            edit: Edit { lo: at, hi: at, text },
        })
    }

    /// Where the buffer is declared: before the variable, if every variable that may have the
    /// object lives inside its block; else first in the function.
    pub(super) fn home(&self, site: usize) -> Tried<Home> {
        let variables: Vec<&LocalDecl> = self
            .candidate
            .holders
            .iter()
            .filter_map(|l| self.body.locals.get(l.0 as usize))
            .filter(|d| d.kind != LocalKind::Temp)
            .collect();
        let wanted = self.candidate.finding.variable.as_deref();
        let named = variables.iter().find(|d| d.name.map(|n| n.as_str()) == wanted && d.kind == LocalKind::Var);
        let declarator = named.map(|d| self.range(d.span).0);
        let above = |scope: ScopeId| variables.iter().all(|d| self.is_within(d.scope, scope));
        if let (Some(decl), Some(name)) = (named, declarator) {
            if (above(decl.scope) || !Rule::Scope.holds()) && name < site {
                if let Some(at) = self.statement_start(name) {
                    return Ok(Home { at, after: false, declarator });
                }
            }
        }
        let at = self.body_start().ok_or("the start of the function is not in the text")?;
        Ok(Home { at, after: true, declarator })
    }

    pub(super) fn is_within(&self, scope: ScopeId, outer: ScopeId) -> bool {
        let mut at = Some(scope);
        while let Some(scope) = at {
            if scope == outer {
                return true;
            }
            at = self.body.scopes.get(scope.0 as usize).and_then(|s| s.parent);
        }
        false
    }

    /// The first token of the declaration that declares the name, if it is a statement of its own.
    fn statement_start(&self, name: usize) -> Option<usize> {
        let (mut at, mut depth) = (name, 0);
        while at > 0 {
            at -= 1;
            match self.spelled(at) {
                ")" | "]" => depth += 1,
                "(" | "[" if depth > 0 => depth -= 1,
                // A declaration cannot stand right after a label, nor in `for (`.
                "(" | "[" | ":" => return None,
                ";" | "{" | "}" if depth == 0 => {
                    let first = self.spelled(at + 1);
                    let is_word = first.starts_with(|c: char| c.is_alphabetic() || c == '_');
                    return (is_word && self.raw_of(at + 1).is_some()).then_some(at + 1);
                }
                _ => {}
            }
        }
        None
    }

    /// The opening brace of the function.
    fn body_start(&self) -> Option<usize> {
        let (end, _) = self.range(self.body.end);
        let mut depth = 0;
        for at in (0..=end).rev() {
            match self.spelled(at) {
                "}" => depth += 1,
                "{" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn fresh_name(&self) -> String {
        self.fresh_named(&format!("{}_buffer", self.candidate.finding.variable.as_deref().unwrap_or("object")))
    }

    /// The buffer's declaration.
    pub(super) fn buffer(
        &self,
        role: Role,
        arguments: &[(usize, usize)],
        declarator: Option<usize>,
        newer: bool,
    ) -> Tried<Buffer> {
        let finding = &self.candidate.finding;
        let name = self.fresh_name();
        let bytes = finding.stack;
        let needed = self.candidate.align;
        let element = declarator.and_then(|d| self.element(d)).filter(|e| e.align >= needed && e.size > 0);
        let fixed = self.is_fixed();
        let storage = match finding.verdict {
            Verdict::Static => Fragment::text("static "),
            _ => Fragment::default(),
        };
        let capacity = format!("sizeof {name}");
        let guard = String::new();
        let Some(element) = element else {
            let align = if newer { "_Alignas(16) " } else { "__attribute__((aligned(16))) " };
            let declaration = storage.and(&format!("{align}char {name}[{bytes}];"));
            return Ok(Buffer { pointer: name.clone(), capacity, fixed, guard, name, declaration, cast: true });
        };
        let exact = finding.bytes.0 == finding.bytes.1;
        if fixed && exact && bytes == element.size && element.size > 1 {
            let declaration = storage.then(&element.text).and(&format!(" {name};"));
            return Ok(Buffer { pointer: format!("&{name}"), capacity, fixed, guard, name, declaration, cast: false });
        }
        let count = if fixed { bytes.div_ceil(element.size) } else { bytes / element.size };
        if count == 0 {
            return Err(format!("one element needs {} bytes, more than --hybrid-size", element.size));
        }
        let length = match (role, arguments) {
            (Role::Allocate { .. }, &[(lo, hi)]) if fixed && exact && element.size == 1 && self.is_constant(lo, hi) => {
                self.copied(lo, hi).unwrap_or_else(|_| Fragment::text(&count.to_string()))
            }
            _ => Fragment::text(&count.to_string()),
        };
        let declaration = storage.then(&element.text).and(&format!(" {name}[")).then(&length).and("];");
        Ok(Buffer { pointer: name.clone(), capacity, fixed, guard, name, declaration, cast: false })
    }

    /// The type that the variable points at, as its declaration spells it.
    fn element(&self, name: usize) -> Option<Element> {
        let start = self.statement_start(name)?;
        if matches!(self.spelled(name + 1), "[" | "(") {
            return None;
        }
        let first_star = (start..name).find(|&t| self.spelled(t) == "*")?;
        let mut words = vec![];
        for t in start..first_star {
            match self.spelled(t) {
                "const" | "volatile" | "register" | "auto" | "__extension__" => {}
                "static" | "extern" | "typedef" | "{" | "}" | "=" | "," | "void" | "restrict" => return None,
                _ => words.push(t),
            }
        }
        let stars = self.own_stars(first_star, name)?;
        let word = |t: &usize| self.origins.tokens.get(*t).is_some_and(|t| t.kind != Kind::Number);
        if words.is_empty() || !words.iter().all(word) || stars == 0 {
            return None;
        }
        let mut text = Fragment::default();
        for (n, &t) in words.iter().enumerate() {
            let piece = match self.raw_of(t) {
                Some(_) => self.copied(t, t + 1).ok()?,
                None => Fragment { raw: self.spelled(t).to_string(), expanded: vec![self.spelled(t).to_string()] },
            };
            if n > 0 {
                text.raw.push(' ');
            }
            text = text.then(&piece);
        }
        if stars > 1 {
            text = text.and(&format!(" {}", "*".repeat(stars - 1)));
        }
        let types = &self.unit.program.types;
        let local = self.body.locals.iter().find(|l| l.kind == LocalKind::Var && self.range(l.span).0 == name)?;
        let target = types.as_pointer(local.ty.ty)?.target.ty;
        let layout = types.layout(target)?;
        // Bytes beyond the type's size belong to the last member.
        if self.extends(target) && Rule::Extended.holds() {
            return None;
        }
        Some(Element { text, size: layout.size, align: layout.align })
    }

    /// Whether objects of the type may be larger than the type: its last member is an array of no
    /// or one element.
    fn extends(&self, ty: typing::types::Ty) -> bool {
        let types = &self.unit.program.types;
        let Some(record) = types.as_record(ty) else { return false };
        let last = types.record(record).fields.as_ref().and_then(|f| f.last().map(|f| f.ty.ty));
        last.is_some_and(|ty| match types.kind(ty) {
            typing::types::TyKind::Array { elem, .. } => {
                let size = |ty| types.layout(ty).map(|l| l.size);
                size(ty).zip(size(elem.ty)).is_none_or(|(all, one)| all <= one)
            }
            _ => self.extends(ty),
        })
    }

    pub(super) fn is_fixed(&self) -> bool {
        match self.candidate.finding.verdict {
            Verdict::Hybrid => false,
            Verdict::Caller => always_fits(self.candidate),
            _ => true,
        }
    }

    /// The stars of this declarator; `None` if it has more than stars.
    fn own_stars(&self, first_star: usize, name: usize) -> Option<usize> {
        let mut at = name;
        let mut stars = 0;
        while at > 0 {
            at -= 1;
            match self.spelled(at) {
                "*" => stars += 1,
                "const" | "restrict" | "volatile" | "__restrict" if stars == 0 || at > first_star => {}
                "," => return Some(stars),
                _ if at < first_star => return Some(stars),
                _ => return None,
            }
        }
        None
    }
}
