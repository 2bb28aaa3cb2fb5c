//! Diagnostic codes of the type checker. Each has a page in `docs/errors/`.

use source::Code;

macro_rules! codes {
    ($($name:ident = $id:literal $title:literal;)*) => {
        $(#[doc = $title] pub const $name: Code = Code { id: $id, title: $title };)*
        /// All of them.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    UNKNOWN_NAME = "L0201" "a name that is not declared here";
    CONFLICT = "L0202" "two declarations that do not agree";
    TYPE = "L0203" "a value of one type where another is needed";
    BOUNDS = "L0204" "indexing or arithmetic on a pointer without bounds";
    TERMINATOR = "L0205" "a string is needed and no null_terminated value is there";
    NULL = "L0206" "null where the type says nonnull";
    UNSAFE = "L0207" "something that only unsafe code may do";
    CAST = "L0208" "a cast that could forge a pointer";
    FORMAT = "L0209" "a format that does not fit its arguments";
    ARGUMENTS = "L0210" "a call with the wrong number of arguments";
    CONSTANT = "L0211" "a constant expression is needed";
    INCOMPLETE = "L0212" "a complete type is needed";
    MEMBER = "L0213" "no such member";
    PLACE = "L0214" "something that cannot be assigned or have its address taken";
    OPERANDS = "L0215" "operands that an operator does not take";
    EXHAUSTIVE = "L0216" "a switch that misses a member of a tagged union";
    CASE = "L0217" "a case label that is repeated or out of place";
    JUMP = "L0218" "a jump into a scope, or out of place";
    GENERIC = "L0219" "a generic whose arguments are missing or do not fit";
    LATER = "L0220" "a part of the language that is not built yet";
    COUNT = "L0221" "a count that could become wrong";
    INITIALISER = "L0222" "an initialiser that does not fit";
    STATIC_ASSERT = "L0223" "a static assertion that fails";
    VARIADIC = "L0224" "a variadic function that is not printf-like";
    TAGGED = "L0225" "a tagged union used in a way that could break its tag";
    RETURN = "L0226" "a return that does not fit its function";
    CONST = "L0227" "const taken away";
    LITERAL = "L0228" "a literal as a writable string";
    DECLARATION = "L0229" "a declaration that means nothing";
    VOID_POINTER = "L0230" "a void pointer used as if its type were known";
    ALLOCATION = "L0231" "an allocation whose type is not known or cannot be zeroed";
    UNUSED = "L0232" "something that is never used";
    REGION = "L0234" "a region that is not declared, or not allowed here";
    OWNERSHIP = "L0235" "an ownership that does not fit";
    FREE_SHARED = "L0236" "free of a pointer that is shared";
    TASK = "L0237" "a task that is given what it may not have";
    PROCESS = "L0238" "a process that is given what it may not have";
    CONTRACT = "L0240" "a contract that breaks a rule";
    CHANNEL = "L0241" "a message or an endpoint used in a way that its contract does not allow";
    EXCHANGE = "L0242" "a block of the exchange heap used as only its owner may";
    LEFT_OUT = "L0243" "a pointer of Leeward of which C knows one word";
    SUSPICIOUS = "L0233" "legal, but probably not what was meant";
}
