//! Text to syntax tree: tokens, the tree, and the recursive-descent parser, for plain C and Leeward from one grammar.

pub mod ast;
