//! The mid-level IR: data, text form, structural verifier.

pub mod ir;
