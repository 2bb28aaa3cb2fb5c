//! Transforms of MIR that remove run-time checks, and warnings of those that always fail, run on what is emitted: bodies without type parameters, and instances.
//! `pass` lists them.

pub mod certain;
pub mod codes;
pub mod counted;
pub mod known_null;
pub mod loops;
pub mod near;
pub mod pass;
pub mod removal;
pub mod report;
pub mod uses;
pub mod versions;

pub use pass::{run, Options};
pub use report::Report;
