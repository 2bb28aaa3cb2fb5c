//! The advisor: finds small heap allocations that die young, and writes the patches that remove
//! them.
//!
//! A run (`run`) reads units (`unit`), sums up functions bottom-up (`escape::summary`), finds
//! intervals of results bottom-up and of parameters top-down (`intervals`), judges sites
//! (`verdict`, `proof`, `budget`), and reports (`report`).

mod budget;
pub mod compile_commands;
pub mod diff;
pub mod edits;
mod fields;
pub mod finding;
pub mod intervals;
mod members;
pub mod options;
mod origin;
mod patches;
mod plan;
mod proof;
mod raw;
mod recursion;
pub mod report;
pub mod run;
mod strings;
mod sums;
mod terms;
mod together;
pub mod unit;
pub mod verdict;

pub use escape::{allocators, rules};
use escape::{events, follow, known, program, sites, situation, summary};
