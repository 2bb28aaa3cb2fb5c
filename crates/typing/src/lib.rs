//! Names, types, generics: syntax tree to typed tree.
//!
//! [`check`] walks a unit and gives the typed [`tree`] with every conversion explicit, and its
//! reports. Checks that depend on paths (initialisation, null, escape) are not here but on MIR.

mod access;
mod alloc;
mod attributes;
mod blame;
mod blind;
mod builtins;
mod c_builtins;
pub mod c_library;
mod calls;
mod channels;
mod checker;
pub mod codes;
mod consteval;
mod container;
mod contract_decls;
#[cfg(test)]
mod contract_tests;
pub mod contracts;
mod convert;
mod count_order;
mod counts;
mod decls;
pub mod digest;
pub mod display;
mod endpoint_sets;
mod exchange;
mod exchangeable;
mod exchanges;
mod exprs;
mod format;
mod function;
mod infer;
mod inferred_before;
mod init;
pub mod layout;
pub mod left_out;
mod list_pointers;
mod locals;
mod machine;
mod names;
mod ops;
mod ownership;
mod param_bounds;
mod plain;
pub mod print;
mod processes;
mod read_only;
mod records;
mod region_names;
mod region_stmts;
pub mod regions;
mod results;
mod scope;
mod sizes;
mod specs;
mod split;
mod spread_counts;
mod steps_back;
mod stmts;
pub mod subst;
mod switches;
mod tails;
mod tasks;
pub mod tree;
pub mod types;
mod underaligned;
mod va;
pub mod vectors;
mod void_locals;
pub mod walk;
#[cfg(test)]
mod work_tests;

pub use checker::{check, Options};
pub use types::{Qty, Ty, TyKind, TypeStore};
