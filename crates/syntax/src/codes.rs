//! The kinds of errors that preprocessing, tokens and grammar can give. Few and broad: the message
//! says what is wrong.

use source::Code;

/// The grammar wants another token.
pub const UNEXPECTED_TOKEN: Code = Code { id: "L0101", title: "unexpected token" };
/// A string, character constant or comment has no end.
pub const UNTERMINATED: Code = Code { id: "L0102", title: "unterminated literal or comment" };
/// A byte or character that begins no token.
pub const INVALID_CHARACTER: Code = Code { id: "L0103", title: "invalid character" };
/// A number that is not one, or that no type holds.
pub const INVALID_NUMBER: Code = Code { id: "L0104", title: "invalid number" };
/// An escape sequence, character constant or mix of string prefixes that means nothing.
pub const INVALID_ESCAPE: Code = Code { id: "L0105", title: "invalid character or string literal" };
/// Two qualifiers of one kind on one pointer, or two words that exclude each other.
pub const DUPLICATE_QUALIFIER: Code = Code { id: "L0106", title: "second qualifier of one kind" };
/// Too many levels of parentheses, blocks, initialisers or declarators.
pub const TOO_DEEP: Code = Code { id: "L0107", title: "nesting too deep" };
/// The preprocessor rejects the file.
pub const PREPROCESSOR: Code = Code { id: "L0108", title: "preprocessor error" };
/// A name stands where a type must stand, and no type of that name is declared.
pub const UNKNOWN_TYPE: Code = Code { id: "L0109", title: "unknown type name" };
/// Declaration specifiers that do not go together.
pub const INVALID_SPECIFIERS: Code = Code { id: "L0110", title: "specifiers that do not go together" };
/// A declaration, label or statement at a place where it may not stand.
pub const MISPLACED: Code = Code { id: "L0111", title: "misplaced construct" };

/// All codes of this crate.
pub const ALL: &[Code] = &[
    UNEXPECTED_TOKEN,
    UNTERMINATED,
    INVALID_CHARACTER,
    INVALID_NUMBER,
    INVALID_ESCAPE,
    DUPLICATE_QUALIFIER,
    TOO_DEEP,
    PREPROCESSOR,
    UNKNOWN_TYPE,
    INVALID_SPECIFIERS,
    MISPLACED,
];
