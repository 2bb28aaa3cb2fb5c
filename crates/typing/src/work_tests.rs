//! How much is walked through in all passes over a unit: a count, so that no clock matters.

#![allow(clippy::unwrap_used, clippy::panic)]

use source::{Sink, SourceMap};

/// Statements that were walked through.
fn work(text: &str) -> u64 {
    let map = SourceMap::new("test.lee", text.to_string());
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, syntax::ParseOptions::new(syntax::Dialect::Leeward), &mut sink);
    let program = crate::check(&unit, &map, &crate::Options::default(), &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.all);
    program.walked
}

/// Functions that have something to infer and nothing to do with others.
fn bystanders() -> String {
    let function = |n| {
        format!(
            "int by{n}(const int *fat a, int n) {{ const int *p = a; const int *q; int s = 0; q = p; \
             for (int i = 0; i < n; i++) s += q[i]; return s; }}\n"
        )
    };
    (0..50).map(function).collect()
}

/// Functions that pass a parameter on, each to the one after it, and the last one needs its bounds:
/// each pass over the unit learns that of one more.
fn chain(length: usize) -> String {
    let declared: String = (0..=length).map(|n| format!("static int f{n}(const int *a, int i);\n")).collect();
    let passes = |n| format!("static int f{n}(const int *a, int i) {{ return f{}(a, i); }}\n", n + 1);
    let passing: String = (0..length).map(passes).collect();
    let last = format!("static int f{length}(const int *a, int i) {{ return a[i]; }}\n");
    let user = "int all(void) { int a[4] = {1, 2, 3, 4}; return f0(a, 1); }\n";
    declared + &passing + &last + user
}

/// What is learnt of some functions does not make others be inferred again.
#[test]
fn bodies_that_nothing_is_learnt_for_are_inferred_once() {
    let (alone, beside) = (work(&bystanders()), work(&(bystanders() + &chain(5))) - work(&chain(5)));
    assert!(beside < alone * 3, "{alone} {beside}");
}

/// A result that gets no bounds does not make the unit be checked again for each pass that may wait
/// for some.
#[test]
fn waiting_for_nothing_ends() {
    let waiting = "static int kept;\nstatic int *slot(void) { return &kept; }\n\
                   static int sum(const int *fat p, int n) { return n ? p[0] : 0; }\n\
                   int all(void) { return sum(slot(), 1); }\n";
    let (alone, beside) = (work(&bystanders()), work(&(bystanders() + waiting)) - work(waiting));
    assert!(beside > alone && beside < alone * 7 / 4, "{alone} {beside}");
}
