//! Escape analysis: what becomes of an object of the heap, from the place that makes it.
//!
//! `follow` has the lattice and the parts that all code shares; what a statement does with the
//! object is said by one of two models. In plain C (`follow`, for the advisor) pointers are copied
//! freely, tables (`allocators`, `known`) and summaries of functions (`summary`) say what calls do,
//! and what is not known keeps the object. In Leeward (`owners`, for the compiler's heap-to-stack
//! pass) there is one owner at a time, and types have checked that nothing else outlives it, so
//! only moves matter.

pub mod allocators;
pub mod events;
pub mod follow;
pub mod known;
pub mod owners;
pub mod places;
pub mod privacy;
pub mod program;
pub mod rules;
pub mod sites;
pub mod situation;
pub mod summary;
pub mod tables;
