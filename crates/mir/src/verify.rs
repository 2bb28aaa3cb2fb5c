//! The structural verifier: that MIR is what `ir` says it is. It trusts nothing that lowering
//! computed but the declared types, and never stops at the first error. An error here is a bug of
//! the compiler, not of the program.
//!
//! Three parts: numbers and shape (here), types (`verify_types`), order of statements
//! (`verify_order`).

use crate::cfg::{each_successor, Cfg};
use crate::effects::{self, parts};
use crate::ir::*;
use crate::print;
use crate::ty;
use crate::{verify_order, verify_types};
use typing::types::{ArrayLen, TyKind};

/// One thing that is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Name of the function.
    pub func: String,
    /// In which block.
    pub block: Option<BlockId>,
    /// Which statement of the block; its length for the terminator.
    pub stmt: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for VerifyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.func)?;
        if let Some(block) = self.block {
            write!(f, " bb{}", block.0)?;
        }
        if let Some(stmt) = self.stmt {
            write!(f, "[{stmt}]")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Checks all bodies and instances.
pub fn program(program: &Program) -> Vec<VerifyError> {
    let mut errors = vec![];
    for body in &program.bodies {
        errors.extend(verify_body(program, body, false));
    }
    for body in &program.instances {
        errors.extend(verify_body(program, body, true));
    }
    errors
}

/// Checks one body. `instance`: it was made by substitution and mentions no type parameter.
pub fn verify_body(program: &Program, body: &Body, instance: bool) -> Vec<VerifyError> {
    let mut verifier = Verifier { program, body, errors: vec![], block: None, stmt: None };
    verifier.header(instance);
    verifier.scopes();
    verifier.regions();
    verifier.locals(instance);
    verifier.targets();
    // What follows indexes by the numbers that were just checked.
    if verifier.errors.is_empty() {
        verify_types::run(&mut verifier);
    }
    if verifier.errors.is_empty() {
        let cfg = Cfg::new(body);
        verify_order::run(&mut verifier, &cfg);
    }
    verifier.errors
}

/// Collects errors with the position that is being looked at.
pub(crate) struct Verifier<'a> {
    pub(crate) program: &'a Program,
    pub(crate) body: &'a Body,
    pub(crate) errors: Vec<VerifyError>,
    pub(crate) block: Option<BlockId>,
    pub(crate) stmt: Option<usize>,
}

impl<'a> Verifier<'a> {
    pub(crate) fn error(&mut self, message: impl Into<String>) {
        self.errors.push(VerifyError {
            func: print::func_name(self.program, &self.body.func),
            block: self.block,
            stmt: self.stmt,
            message: message.into(),
        });
    }

    /// Visits all statements, then the terminator of each block, with the position set.
    pub(crate) fn each(
        &mut self,
        mut stmt: impl FnMut(&mut Self, &'a Stmt),
        mut term: impl FnMut(&mut Self, &'a Terminator),
    ) {
        let body = self.body;
        for (n, block) in body.blocks.iter().enumerate() {
            self.block = Some(BlockId(n as u32));
            for (at, s) in block.stmts.iter().enumerate() {
                self.stmt = Some(at);
                stmt(self, s);
            }
            self.stmt = Some(block.stmts.len());
            term(self, &block.term);
        }
        self.block = None;
        self.stmt = None;
    }

    fn header(&mut self, instance: bool) {
        let body = self.body;
        let Some(function) = self.program.functions.get(body.func.func.0 as usize) else {
            return self.error("the body's function does not exist");
        };
        let args = body.func.args.len();
        let wanted = if instance { function.type_params as usize } else { 0 };
        if args != wanted {
            self.error(format!("{args} type arguments, expected {wanted}"));
        }
        match self.program.types.kind(function.ty) {
            TyKind::Func(func) if !func.unprototyped && func.params.len() != body.params as usize => {
                self.error(format!("{} parameters, its type has {}", body.params, func.params.len()))
            }
            TyKind::Func(_) | TyKind::Error => {}
            _ => self.error("the function's type is no function type"),
        }
        if body.blocks.is_empty() {
            self.error("there is no entry block");
        }
    }

    fn scopes(&mut self) {
        let body = self.body;
        if body.scopes.is_empty() {
            self.error("there is no scope 0");
        }
        for (n, scope) in body.scopes.iter().enumerate() {
            match scope.parent {
                None if n > 0 => self.error(format!("scope {n} has no parent")),
                Some(parent) if parent.0 as usize >= n => {
                    self.error(format!("the parent of scope {n} does not stand before it"))
                }
                _ => {}
            }
        }
    }

    fn regions(&mut self) {
        for (n, region) in self.body.regions.iter().enumerate() {
            if region.scope.0 as usize >= self.body.scopes.len() {
                self.error(format!("@r{n} is in a scope that does not exist"));
            }
        }
    }

    fn locals(&mut self, instance: bool) {
        let body = self.body;
        if body.params as usize > body.locals.len() {
            return self.error("more parameters than locals");
        }
        for (n, decl) in body.locals.iter().enumerate() {
            let is_param = n < body.params as usize;
            if is_param != (decl.kind == LocalKind::Param) {
                self.error(format!("the parameters are not the first locals: _{n}"));
            }
            if decl.scope.0 as usize >= body.scopes.len() {
                self.error(format!("_{n} is in a scope that does not exist"));
            }
            if is_param && decl.scope.0 != 0 {
                self.error(format!("the parameter _{n} is not in scope 0"));
            }
            match self.program.types.kind(decl.ty.ty) {
                TyKind::Void | TyKind::Func(_) | TyKind::RegionArg(_) | TyKind::OwnArg(_) => {
                    self.error(format!("_{n} has a type without values"))
                }
                TyKind::Array { len: ArrayLen::Unknown | ArrayLen::Flexible(_), .. } => {
                    self.error(format!("_{n} is an array of unknown length"))
                }
                TyKind::Record(r) => {
                    let record = self.program.types.records.get(r.0 as usize);
                    if record.is_none_or(|record| record.fields.is_none()) {
                        self.error(format!("_{n} has an incomplete type"));
                    }
                }
                TyKind::Param(_) if instance => self.error(format!("_{n} has a type parameter as its type")),
                _ => {}
            }
        }
    }

    fn targets(&mut self) {
        let body = self.body;
        let blocks = body.blocks.len();
        for (_, block) in &body.address_labels {
            if block.0 as usize >= blocks {
                self.error(format!("label of bb{}, which does not exist", block.0));
            }
        }
        self.each(
            |this, stmt| {
                let storage = stmt.kind.storage();
                storage.into_iter().for_each(|local| this.storage(local));
                // Whole locals that a statement names; places are looked at with their types.
                parts(&stmt.kind, &mut |part| {
                    if let (effects::Part::Local(local, _), None) = (part, storage) {
                        if let Err(message) = ty::local(this.body, *local) {
                            this.error(message);
                        }
                    }
                });
            },
            |this, term| {
                each_successor(this.body, &term.kind, |to| {
                    if to.0 as usize >= blocks {
                        this.error(format!("jump to bb{}, which does not exist", to.0));
                    }
                });
            },
        );
    }

    fn storage(&mut self, local: Local) {
        match ty::local(self.body, local) {
            Ok(decl) if decl.kind == LocalKind::Param => self.error("storage of a parameter"),
            Ok(_) => {}
            Err(message) => self.error(message),
        }
    }
}
