//! The mid-level IR: data, text form, structural verifier.

pub mod ir;
pub mod print;
pub mod print_types;
pub mod ty;
