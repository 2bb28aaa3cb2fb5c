//! The `lee` command: reads command lines, calls the stages of the compiler, the C compiler and the
//! linker. It owns no rule of the language.

mod advise;
pub mod cache;
pub mod cc;
pub mod cc_report;
pub mod commands;
mod contracts;
pub mod failure;
mod first_only;
mod fix;
pub mod hash;
pub mod help;
pub mod home;
pub mod interpret;
pub mod layouts;
pub mod link;
pub mod mismatch;
pub mod object;
pub mod objects;
pub mod options;
pub mod parallel;
pub mod pipeline;
pub mod plain;
pub mod report;
pub mod run_process;
pub mod runtime;
pub mod scratch;
pub mod session;
mod shared;
mod taken;
pub mod timing;
pub mod toolchain;
mod top;
pub mod unresolved;
