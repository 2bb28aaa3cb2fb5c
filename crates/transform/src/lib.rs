//! Transforms of MIR that remove run-time checks, run on what is emitted: bodies without type parameters, and instances.
//! `pass` lists them.

pub mod counted;
pub mod pass;
pub mod removal;
pub mod uses;

pub use pass::{run, Options, Report};
