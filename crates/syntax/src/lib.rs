//! Text to syntax tree: tokens, the tree, and the recursive-descent parser, for plain C and Leeward
//! from one grammar.

pub mod ast;
pub mod codes;
pub mod lexer;
pub mod literal;
mod parser;
pub mod preprocess;
pub mod print;
mod scope;
pub mod token;
pub mod visit;
pub mod wrappers;

pub use parser::{parse, Dialect, ParseOptions, MAX_CHAIN, MAX_DEPTH};
