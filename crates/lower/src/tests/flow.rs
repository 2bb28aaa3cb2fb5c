//! Control flow and scopes.

use super::*;

#[test]
fn operands_stay_what_they_were() {
    // i + i++ reads i before the increment.
    let mut m = Maker::new();
    let int = m.common().int;
    let ty = m.func_ty(int, &[int]);
    let step = expr(ExprKind::IncDec(local(0, int), true, false), int);
    let sum = expr(ExprKind::Binary(BinOp::Add, load(local(0, int)), step), int);
    m.function("f", ty, &[int], Some(vec![ret(sum)]));
    in_order(&m.text(), &["_1 = _0", "_2 = _0", "_0 = add(_2, 1", "add(_1, _2"]);
}

#[test]
fn plain_locals_need_no_copy() {
    let mut m = Maker::new();
    let int = m.common().int;
    let ty = m.func_ty(int, &[int, int]);
    let sum = expr(ExprKind::Binary(BinOp::Add, load(local(0, int)), load(local(1, int))), int);
    m.function("f", ty, &[int, int], Some(vec![ret(sum)]));
    in_order(&m.text(), &["add(_0, _1"]);
}

#[test]
fn division_is_checked_unless_the_divisor_is_good() {
    for (divisor, checked) in [(0, true), (-1, true), (3, false)] {
        let mut m = Maker::new();
        let int = m.common().int;
        let ty = m.func_ty(int, &[int]);
        let value = expr(ExprKind::Binary(BinOp::Div, load(local(0, int)), m.int(divisor)), int);
        m.function("f", ty, &[int], Some(vec![ret(value)]));
        assert_eq!(m.text().contains("divide("), checked, "{divisor}");
    }
}

#[test]
fn break_leaves_scopes_and_runs_defers_last_first() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let ty = m.func_ty(void, &[int]);
    let defer = |n: i128, m: &Maker| stmt(StmtKind::Defer(Box::new(run(assign(local(0, int), m.int(n))))));
    let body = block(vec![
        declare(1, Some(Init::Expr(m.int(7)))),
        defer(1, &m),
        defer(2, &m),
        stmt(StmtKind::If(load(local(0, int)), Box::new(stmt(StmtKind::Break)), None)),
    ]);
    let forever = stmt(StmtKind::While(m.int(1), Box::new(body)));
    m.function("f", ty, &[int, int], Some(vec![forever]));
    let text = m.text();
    in_order(&text, &["_0 = 2", "_0 = 1", "dead", "_0 = 2", "_0 = 1", "dead"]);
}

#[test]
fn a_jump_past_an_array_zeroes_it() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let array = m.array(int, 4);
    let ty = m.func_ty(void, &[]);
    let stmts = vec![
        stmt(StmtKind::Goto(LabelId(0))),
        declare(0, None),
        stmt(StmtKind::Label(LabelId(0), Box::new(stmt(StmtKind::Empty)))),
    ];
    m.function("f", ty, &[array], Some(stmts));
    in_order(&m.text(), &["live", "zero", "dead"]);
}

#[test]
fn a_backward_jump_ends_what_it_leaves() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let ty = m.func_ty(void, &[int]);
    let again = stmt(StmtKind::If(load(local(0, int)), Box::new(stmt(StmtKind::Goto(LabelId(1)))), None));
    let stmts = vec![
        stmt(StmtKind::Label(LabelId(1), Box::new(stmt(StmtKind::Empty)))),
        declare(1, Some(Init::Expr(m.int(1)))),
        again,
    ];
    m.function("f", ty, &[int, int], Some(stmts));
    assert_eq!(m.text().matches("dead").count(), 2);
}

#[test]
fn switch_enters_the_scope_of_its_block() {
    let mut m = Maker::new();
    let int = m.common().int;
    let ty = m.func_ty(int, &[int]);
    let body = block(vec![
        declare(1, None),
        stmt(StmtKind::Case(1, 5, Box::new(run(assign(local(1, int), m.int(9)))))),
        stmt(StmtKind::Break),
        stmt(StmtKind::Default(Box::new(stmt(StmtKind::Empty)))),
    ]);
    let stmts = vec![stmt(StmtKind::Switch(load(local(0, int)), Box::new(body))), ret(m.int(0))];
    m.function("f", ty, &[int, int], Some(stmts));
    let text = m.text();
    in_order(&text, &["switch _", "1..5"]);
    assert_eq!(text.matches("live _1").count(), 2, "{text}");
}

#[test]
fn a_function_without_return_says_so() {
    let mut m = Maker::new();
    let int = m.common().int;
    let ty = m.func_ty(int, &[]);
    m.function("f", ty, &[], Some(vec![]));
    assert!(m.text().contains("missing_return"), "no missing return");
    let mut m = Maker::new();
    let ty = m.func_ty(int, &[]);
    m.function("main", ty, &[], Some(vec![]));
    in_order(&m.text(), &["return 0"]);
}

#[test]
fn short_circuits_branch() {
    let mut m = Maker::new();
    let int = m.common().int;
    let ty = m.func_ty(int, &[int, int]);
    let both = expr(ExprKind::And(load(local(0, int)), load(local(1, int))), int);
    let either = expr(ExprKind::Or(both, m.int(0)), int);
    m.function("f", ty, &[int, int], Some(vec![ret(either)]));
    in_order(&m.text(), &["if _0", "if _1"]);
}

#[test]
fn long_chains_are_no_recursion() {
    let mut m = Maker::new();
    let int = m.common().int;
    let ty = m.func_ty(int, &[int]);
    let mut sum = load(local(0, int));
    for _ in 0..2000 {
        sum = expr(ExprKind::Binary(BinOp::Add, sum, load(local(0, int))), int);
    }
    m.function("f", ty, &[int], Some(vec![ret(sum)]));
    assert_eq!(m.text().matches("add(").count(), 2000);
}
