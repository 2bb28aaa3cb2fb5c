//! The rules of the analysis that tests switch off one at a time, to see that each is needed.
//!
//! `LEE_ADVISE_WITHOUT=WORD` switches off the rule of that word, in builds with debug assertions
//! only. `cargo run -p lee --example allocations -- --mutants` does so for each rule and says which
//! program notices.

use std::sync::OnceLock;

macro_rules! rules {
    ($($name:ident $word:literal $text:literal,)*) => {
        /// A rule that can be switched off.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Rule {
            $(#[doc = $text] $name,)*
        }

        /// All rules, with their words and what each says.
        pub const ALL: &[(Rule, &str, &str)] = &[$((Rule::$name, $word, $text),)*];
    };
}

rules! {
    StoredWhereTaken "stored-where-taken" "An object stored in a local whose address is taken escapes.",
    StoredInGlobal "stored-in-global" "An object stored in a global escapes.",
    StoredInMemory "stored-in-memory" "An object stored through a pointer escapes.",
    Number "number" "An object whose address is computed with escapes.",
    NarrowNumber "narrow-number" "An object whose address is cut to a narrower number escapes.",
    StructCopied "struct-copied" "An object whose struct is copied escapes.",
    StructPassed "struct-passed" "An object whose struct is passed by value escapes.",
    NotFollowed "not-followed" "An object that a statement uses in a way that is not followed escapes.",
    Again "again" "Two live objects of one site cannot have one buffer.",
    Resized "resized" "An object that is resized stays in the heap.",
    InsideFreed "inside-freed" "A release through a pointer into the object is not understood.",
    Variable "variable" "An object among variable arguments escapes if the callee may keep them.",
    CalleeKeeps "callee-keeps" "An object that a callee may keep escapes.",
    CalleeSometimes "callee-sometimes" "An object that a callee frees on some paths is declined.",
    PointerCall "pointer-call" "An object passed to a call through a pointer escapes.",
    UnknownCall "unknown-call" "An object passed to an unknown function escapes.",
    Comparator "comparator" "A function that qsort calls must not keep what it gets.",
    Perhaps "perhaps" "A result that may be the object may also be something else.",
    TwoNames "two-names" "An object may be passed in two arguments of one call.",
    StaleTest "stale-test" "A test says nothing after what was tested has changed.",
    Full "full" "A body with too many situations is given up.",
    Volatile "volatile" "A volatile variable is not followed.",
    Union "union" "A member of a union is not followed.",
    AddressTaken "address-taken" "A local whose address is taken is not followed.",
    Parts "parts" "A struct that is written as a whole no longer has what its fields had.",
    KnownReturns "known-returns" "A library function may return its argument.",
    CalleeReturns "callee-returns" "A function may return its argument.",
    OtherFreed "other-freed" "A release that may get another object stays.",
    CastAlign "cast-align" "A buffer is aligned for what is accessed through casts.",
    CalleeAlign "callee-align" "A buffer is aligned for what callees access.",
    Returned "returned" "An object that is returned stays in the heap.",
    ReturnedInside "returned-inside" "An object into which a pointer is returned stays in the heap.",
    Left "left" "An object that some path does not free stays in the heap.",
    PlainRelease "plain-release" "A function that does more than release is still called.",
    Setjmp "setjmp" "A function that calls setjmp is left alone.",
    Recursive "recursive" "A function that may call itself is left alone.",
    NoVariable "no-variable" "An object that no variable has is left alone.",
    TooBig "too-big" "A constant size above the limit stays in the heap.",
    NeverFits "never-fits" "A size that never fits the buffer stays in the heap.",
    Exported "exported" "Other files may pass anything to an exported function.",
    Addressed "addressed" "A call through a pointer may pass anything.",
    Zeroes "zeroes" "What calloc gave is zero in the buffer too.",
    Division "division" "The product that calloc checks fits the buffer.",
    Terminator "terminator" "A copied string needs room for its end.",
    PureSize "pure-size" "A size with effects is computed once.",
    ZeroIsNull "zero-is-null" "A hook gives null for 0 bytes, which a buffer is not.",
    PureRelease "pure-release" "An argument of a release with effects is computed once.",
    Scope "scope" "A buffer lives as long as every variable that may have it.",
    HybridRelease "hybrid-release" "An object of a hybrid that is in the heap is released.",
    OtherBranches "other-branches" "Branches of #if that are not taken must allow the patch.",
    Planned "planned" "The preprocessed text differs in the planned tokens alone.",
    FreshName "fresh-name" "A buffer has a name of its own.",
    Extended "extended" "A struct with more behind it gets a buffer of bytes.",
    Open "open" "A use without a bound is not proven.",
    FromStart "from-start" "A bound counts from the start of the object only.",
    Bound "bound" "A callee's extent must fit into the object.",
    Upper "upper" "An access must end inside the object.",
    Lower "lower" "An access must begin inside the object.",
    FieldOffset "field-offset" "A field lies at its offset.",
    IndexRange "index-range" "An index counts elements.",
    Least "least" "An access is proven for the smallest object.",
    TakenParameter "taken-parameter" "A parameter whose address is taken may be kept.",
    FixedPoint "fixed-point" "Summaries of recursive functions are computed until nothing changes.",
    NumberParameter "number-parameter" "A parameter that is a number may hold an address.",
    BuiltinName "builtin-name" "What is known of a builtin is not known of a function of its name.",
    VariableBody "variable-body" "A variadic function may keep what it takes from its list.",
    Lasts "lasts" "What counts elements has the same value at the access.",
    Wraps "wraps" "A size that may wrap bounds nothing.",
    Below "below" "An index must be less than what counts elements.",
    Factor "factor" "A product that may wrap is not compared, its factor is.",
    HelperInternal "helper-internal" "A helper whose interface changes is called by its own file only.",
    AllCallers "all-callers" "A call of a helper that passes no buffer gets an object of the heap.",
    AllSeen "all-seen" "A name that changes is in no macro and in no branch that is not taken.",
    HelperInside "helper-inside" "Accesses of a helper are proven too.",
    AllStores "all-stores" "All that a field gets is made where the patch sees it.",
    OwnerLives "owner-lives" "No variable has a member when its owner is released.",
    MemberReplaced "member-replaced" "No variable has a member when its field gets another object.",
    OwnerCopied "owner-copied" "An owner that is copied cannot have a member.",
    OwnerBytes "owner-bytes" "An owner that is handed on as bytes may be copied.",
    FieldAddress "field-address" "A field whose address is taken may get anything.",
    MemberStored "member-stored" "A pointer to a member is stored in its field only.",
    MemberKept "member-kept" "A function that may keep a pointer does not get one to a member.",
    ConstantIndex "constant-index" "An array of pointers is followed if all its indices are constants.",
    Lent "lent" "A variable is not followed if its address goes elsewhere than to calls that give it back.",
    Through "through" "A callee must leave in a variable what it had.",
    Callback "callback" "A function that a callee calls back must not keep what it gets.",
    CallbackParameter "callback-parameter" "What a callee calls back is what it was given.",
    ListPassed "list-passed" "A list of arguments may be kept by the function it is passed to.",
    FirstBytes "first-bytes" "A callee touches the first bytes of what it gets.",
    CalleeOpen "callee-open" "A callee may touch bytes without a bound.",
    Text "text" "What is read as a string has an end.",
    TextKept "text-kept" "A write into a string may take its end away.",
    TextLength "text-length" "A copy of a string needs the size of that string.",
    TextUnchanged "text-unchanged" "A string that may have changed has another length.",
    Sum "sum" "A sum that may wrap is not compared, what is added to is.",
    Told "told" "A helper is told how large the buffer is, unless every object fits.",
    MemberSize "member-size" "A member has the size of the object.",
    OwnerStays "owner-stays" "The owner of a member is the same before and after the helper runs.",
    OwnerSize "owner-size" "An owner whose size is written as a number does not grow.",
    Sums "sums" "The parts of what is written are parts of the size.",
    CopiedEnd "copied-end" "A copy of bytes is a string if it copies the end of one.",
    LengthLasts "length-lasts" "A length that was taken anew is not that of the size.",
    OwnText "own-text" "A write changes strings unless it goes to the object.",
    Table "table" "A call through a table of functions may be of any of them.",
    Replaced "replaced" "A function that the linker may replace may return anything.",
    ResultsFixed "results-fixed" "Results of recursive functions are computed until nothing changes.",
    ParametersFixed "parameters-fixed" "What recursion passes is followed until nothing changes.",
    Unseen "unseen" "A function without a call that is seen may be called with anything.",
    Reached "reached" "A static buffer needs that no pointer leads to its function.",
}

impl Rule {
    /// Whether the rule is in force: always, but for tests.
    pub fn holds(self) -> bool {
        !cfg!(debug_assertions) || without() != Some(self)
    }
}

/// The rule that is switched off.
fn without() -> Option<Rule> {
    static RULE: OnceLock<Option<Rule>> = OnceLock::new();
    *RULE.get_or_init(|| {
        let word = std::env::var("LEE_ADVISE_WITHOUT").ok()?;
        ALL.iter().find(|(_, w, _)| *w == word).map(|r| r.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_different_and_all_rules_hold() {
        let words: std::collections::HashSet<&str> = ALL.iter().map(|r| r.1).collect();
        assert_eq!(words.len(), ALL.len());
        assert!(ALL.len() >= 60);
        assert!(ALL.iter().all(|r| r.0.holds()));
    }
}
