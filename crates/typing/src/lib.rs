//! Names, types, generics: syntax tree to typed tree.

pub mod display;
pub mod layout;
pub mod subst;
pub mod tree;
pub mod types;

pub use types::{Qty, Ty, TyKind, TypeStore};
