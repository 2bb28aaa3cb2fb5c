//! Transforms of MIR: they remove run-time checks, warn of those that always fail, and move heap
//! objects into frames. They run on what is emitted: bodies without type parameters, and instances.
//! `pass` lists them.

pub mod certain;
pub mod codes;
pub mod counted;
pub mod emptied;
pub mod known_null;
pub mod loops;
pub mod near;
pub mod params;
pub mod pass;
pub mod removal;
pub mod repeated;
pub mod report;
pub mod stack;
pub mod steady;
pub mod thin;
pub mod uses;
pub mod versions;

pub use pass::{places, run, Options};
pub use report::Report;
