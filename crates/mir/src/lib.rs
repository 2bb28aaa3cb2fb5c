//! The mid-level IR: data, text form, structural verifier.

pub mod bits;
pub mod c_calls;
pub mod cfg;
mod checks;
pub mod cursors;
pub mod effects;
pub mod ends;
mod fields;
mod forms;
pub mod ir;
pub mod leaves;
pub mod parse;
mod parse_body;
mod parse_types;
pub mod print;
pub mod print_types;
mod questions;
pub mod resolve;
pub mod twice;
pub mod ty;
pub mod verify;
mod verify_channels;
mod verify_order;
mod verify_types;
pub mod waits;
