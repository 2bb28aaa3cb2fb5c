//! Names, types, generics: syntax tree to typed tree.

pub mod tree;
pub mod types;

pub use types::{Qty, Ty, TyKind, TypeStore};
