//! The advisor: finds small heap allocations that die young, and writes the patches that remove
//! them.
//!
//! A run (`run`) reads units (`unit`), sums up functions bottom-up (`summary`, on `follow`), finds
//! intervals of parameters top-down (`parameters`), judges sites (`verdict`, `proof`, `budget`),
//! and reports (`report`).

pub mod allocators;
mod budget;
pub mod compile_commands;
pub mod diff;
pub mod edits;
mod events;
mod fields;
pub mod finding;
mod follow;
mod known;
pub mod options;
mod origin;
mod parameters;
mod patches;
mod places;
mod plan;
mod program;
mod proof;
mod raw;
mod recursion;
pub mod report;
pub mod rules;
pub mod run;
mod sites;
mod summary;
pub mod unit;
mod verdict;
