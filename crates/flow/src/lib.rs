//! Dataflow analyses on MIR: what the types of single expressions cannot tell. `pass` lists them.

pub mod codes;
mod emptied;
mod first_test;
pub mod framework;
pub mod initialised;
mod inlining;
mod late_steps;
mod leaf;
mod lenders;
mod moved;
mod names;
pub mod no_gc;
pub mod null_facts;
mod null_paths;
pub mod ownership;
pub mod pass;
pub mod ranges;
pub mod regions;
pub mod typestate;
pub mod verify_ownership;

pub use pass::{check, Known, Options, Report};
