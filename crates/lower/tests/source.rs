//! Small programs through the front end and lowering: the MIR is consistent, and the statements
//! that matter are there, in order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use source::{Sink, SourceMap};
use syntax::{Dialect, ParseOptions};

/// The text of all bodies and instances.
fn lowered(text: &str) -> String {
    lowered_and(text, |_| {})
}

/// The same of what something made of them.
fn lowered_and(text: &str, change: impl Fn(&mut mir::ir::Program)) -> String {
    let map = SourceMap::new("test.lee", text.to_string());
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, ParseOptions::new(Dialect::Leeward), &mut sink);
    let tree = typing::check(&unit, &map, &typing::Options { ..typing::Options::default() }, &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.all);
    let mut program = lower::lower(tree);
    lower::instantiate(&mut program).unwrap();
    change(&mut program);
    let errors: Vec<String> = mir::verify::program(&program).iter().map(|e| e.to_string()).collect();
    let bodies = program.bodies.iter().chain(&program.instances);
    let out: String = bodies.map(|b| mir::print::body(&program, b, None)).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{out}");
    out
}

/// Asserts that the parts occur in this order.
fn expect(text: &str, parts: &[&str]) {
    let out = lowered(text);
    let mut rest = out.as_str();
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => panic!("`{part}` is missing, or out of order, in\n{out}"),
        }
    }
}

#[test]
fn a_loop_over_counted_elements() {
    expect(
        "int sum(const int *counted_by(n) a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }",
        &["clamp(", "fat(", "a_0, a_0", "lt(i_", "offset(a_", "check access(", "return"],
    );
}

#[test]
fn cleanup_by_goto_ends_what_it_leaves() {
    expect(
        "int f(int n) { int r = 1; if (n) { int t = n; if (t > 2) goto out; r = t; } r = 2; out: return r; }",
        &["live t_", "gt(t_", "dead t_", "goto", "return"],
    );
}

#[test]
fn conditions_test_pointers_directly() {
    expect(
        "struct node { struct node *next; int v; };
         int last(struct node *n) { while (n && n->next != nullptr) n = n->next; return n ? n->v : 0; }",
        &["if n_0 ", "n_0 = n_0.*.0", "if n_0.*.0"],
    );
}

#[test]
fn duff_falls_through() {
    expect(
        "int f(int n) { int s = 0; switch (n % 4) { case 0: do { s++; case 3: s++; case 2: s++; case 1: s++; } while (--n > 0); } return s; }",
        &["switch", "{ 0: bb2, 3: bb3, 2: bb4, 1: bb5", "bb2:", "goto bb3"],
    );
}

#[test]
fn generic_records_become_instances() {
    let out = lowered(
        "generic <T> struct list { T head; struct list<T> *tail; };
         generic <T> int length(struct list<T> *l) { int n = 0; while (l) { n++; l = l->tail; } return n; }
         int f(struct list<int> *a, struct list<double> *b) { return length(a) + length(b); }",
    );
    assert_eq!(out.matches("instance").count() + out.matches("body length").count(), 3, "{out}");
}

#[test]
fn tagged_unions_bind_and_construct() {
    expect(
        "tagged union value { int number; double real; };
         int f(int n) { tagged union value v = { .real = 1.5 }; v.number = n;
           switch (v) { case .number(k): return k; case .real(d): return (int)d; } return 0; }",
        &["set_tag(v_", "set_tag(v_", "tag(v_", "switch"],
    );
}

#[test]
fn growing_buffers_are_checked_as_a_group() {
    let text = "struct buffer { char *counted_by(room) data; int room; };
         void grow(struct buffer *b, int n) { b->data = realloc(b->data, n); b->room = n; }";
    expect(text, &["alloc(", "copy_elements(", "b_0.*.0 =", "b_0.*.1 =", "check count("]);
}

#[test]
fn unnamed_locals_live_on_every_way() {
    let text = "struct p { int x; }; int g(struct p *p); [[noreturn]] void die(int);
         int f(int n) {
             for (int i = 0; i < n; i++) { if (i == 3) return g(&(struct p){ i }); else if (g(&(struct p){ 1 })) n--; }
             n > 5 && (die(g(&(struct p){ 2 })), 1);
             defer g(&(struct p){ 4 });
             return n ?: g(&(struct p){ 3 });
         }";
    expect(text, &["live", "call g", "dead"]);
}

#[test]
fn a_view_of_a_literal_has_its_zero() {
    let text =
        "[[lee::copies(d, s)]] trusted void copy(void *counted_by(n) d, const void *counted_by(n) s, unsigned long n);
         void f(void) { char b[4]; copy(b, \"abc\", 4); }";
    expect(text, &["counted(&$0", "4:long", "call copy"]);
}

#[test]
fn evaluation_is_left_to_right() {
    expect("int g(int); int f(int i) { return i + g(i++) * i; }", &["= i_0", "i_0 = add(", "call g", "mul("]);
}

#[test]
fn defers_run_at_each_exit() {
    let out = lowered("void g(int); void f(int n) { defer g(1); if (n) { defer g(2); return; } g(3); }");
    assert_eq!(out.matches("(1:int)").count(), 2, "{out}");
    assert_eq!(out.matches("(2:int)").count(), 1, "{out}");
}

#[test]
fn an_unpack_that_lends_ends_on_each_way_out() {
    let text = "struct pile { exists @d; key<@d> k; int *@d top; };
         int f(struct pile p, int n) {
             for (;;) { unpack p as {@d, k, top}; defer n++; if (n == 1) return 1; if (n == 2) break; if (n == 3) goto out; }
         out: return n;
         }";
    let out = lowered(text);
    // By `return`, `break`, `goto`, and around again; after the defer and the parts.
    assert_eq!(out.matches("unpack_end(p_0, [@r0])").count(), 4, "{out}");
    expect(text, &["unpack_lend(p_0, [@r0])", "live k_", "add(n_1", "dead top_", "dead k_", "unpack_end(p_0, [@r0])"]);
    // Parts that move out are not lent.
    let out = lowered(&text.replace("struct pile p", "consume struct pile p"));
    assert!(out.contains("unpack_move") && !out.contains("unpack_end"), "{out}");
}

#[test]
fn bound_unions_are_cleared_by_another_tag() {
    expect(
        "enum kind { NUM, STR };
         struct item { enum kind kind; union { int n; const char *s; } u tagged_by(kind) { NUM: n, STR: s }; };
         int f(struct item *i) { i->kind = STR; i->u.s = \"x\"; return i->kind == NUM ? i->u.n : 0; }",
        &["ne(", "zero i_0.*.1", "check tag_value(i_0.*.0", "check tag_value(i_0.*.0"],
    );
}

#[test]
fn an_owner_is_looked_at_in_a_statement_of_its_own() {
    let text = "struct vec { int *unique counted_by(n) items; int n; };
         int get(struct vec *v, int i) { return v->items[i]; }
         int first(consume int *unique fat p, int i) { int found = p[i]; free(p); return found; }";
    expect(text, &["borrow(look, v_0.*.0, ", "counted(", "borrow(look, p_0, ", "offset(_"]);
    let out = lowered_and(text, lower::copy_looks);
    assert!(!out.contains("look"), "{out}");
    // What was made of a look is made of the owner again.
    assert!(out.contains("counted(v_0.*.0, ") && out.contains("offset(p_0, "), "{out}");
}
