//! Fields, tagged unions, counts of fields, initialisers.

use super::*;

#[test]
fn reading_a_member_checks_the_tag_and_assigning_sets_it() {
    let mut m = Maker::new();
    let int = m.common().int;
    let double = m.common().double;
    let union = m.record(RecordKind::Tagged, &[("n", int), ("d", double)]);
    let ty = m.func_ty(int, &[union]);
    let member = |n, ty| expr(ExprKind::Field(local(0, union), n), ty);
    let one = expr(ExprKind::Float("1.0".into()), double);
    let stmts = vec![run(assign(member(1, double), one)), ret(load(member(0, int)))];
    m.function("f", ty, &[union], Some(stmts));
    in_order(&m.text(), &["set_tag", "_0.1 = float", "check tag(_0, 0)", "_0.0"]);
}

#[test]
fn a_tagged_switch_binds_members() {
    let mut m = Maker::new();
    let int = m.common().int;
    let char_ = m.common().char_;
    let union = m.record(RecordKind::Tagged, &[("n", int), ("c", char_)]);
    let ty = m.func_ty(int, &[union]);
    let body = block(vec![
        stmt(StmtKind::CaseMember(0, Some((LocalId(1), Bind::Copy)), Box::new(ret(load(local(1, int)))))),
        stmt(StmtKind::CaseMember(1, None, Box::new(ret(m.int(2))))),
    ]);
    let stmts = vec![stmt(StmtKind::SwitchTagged(local(0, union), Box::new(body)))];
    m.function("f", ty, &[union, int], Some(stmts));
    let text = m.text();
    in_order(&text, &["tag(_0)", "switch", "_1 = _0.0"]);
}

fn bound_union(m: &mut Maker) -> (Ty, Ty) {
    let int = m.common().int;
    let double = m.common().double;
    let union = m.record(RecordKind::Union, &[("n", int), ("d", double)]);
    let field = |name: &str, ty, tagged_by| Field {
        name: Some(symbol(name)),
        ty: Qty::plain(ty),
        width: None,
        align: None,
        packed: false,
        tagged_by,
        span: span(),
    };
    let by = Rc::new(TaggedBy { tag: 0, arms: vec![(3, 0), (4, 1)] });
    let record = m.record_of(RecordKind::Struct, vec![field("kind", int, None), field("u", union, Some(by))]);
    (record, union)
}

#[test]
fn a_bound_union_checks_its_sibling() {
    let mut m = Maker::new();
    let int = m.common().int;
    let (record, union) = bound_union(&mut m);
    let p = m.pointer(record, Bounds::Thin);
    let ty = m.func_ty(int, &[p]);
    let deref = || expr(ExprKind::Deref(load(local(0, p))), record);
    let u = expr(ExprKind::Field(deref(), 1), union);
    let kind = expr(ExprKind::Field(deref(), 0), int);
    let stmts = vec![run(assign(kind, m.int(4))), ret(load(expr(ExprKind::Field(u, 0), int)))];
    m.function("f", ty, &[p], Some(stmts));
    in_order(&m.text(), &["ne(", "zero _0.*.1", "_0.*.0 = 4", "tag_value(_0.*.0, [3], \"n\")"]);
}

fn counted_record(m: &mut Maker) -> (Ty, Ty) {
    let int = m.common().int;
    let count = m.program.types.count(CountExpr::Field(1));
    let counted = m.pointer(int, Bounds::Counted(count));
    (m.record(RecordKind::Struct, &[("p", counted), ("n", int)]), counted)
}

#[test]
fn a_counted_field_is_read_with_its_count() {
    let mut m = Maker::new();
    let int = m.common().int;
    let (record, counted) = counted_record(&mut m);
    let fat = m.pointer(int, Bounds::Fat);
    let r = m.pointer(record, Bounds::Thin);
    let ty = m.func_ty(int, &[r, int]);
    let deref = expr(ExprKind::Deref(load(local(0, r))), record);
    let field = expr(ExprKind::Load(expr(ExprKind::Field(deref, 0), counted)), fat);
    let value = load(expr(ExprKind::IndexPointer(field, load(local(1, int))), int));
    m.function("f", ty, &[r, int], Some(vec![ret(value)]));
    in_order(&m.text(), &["numeric(_0.*.1", "counted(_0.*.0", "offset(", "access("]);
}

#[test]
fn counted_fields_and_counts_are_checked_when_stored() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let (record, counted) = counted_record(&mut m);
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(void, &[record, fat, int]);
    let field = |n, ty| expr(ExprKind::Field(local(0, record), n), ty);
    let stmts =
        vec![run(assign(field(0, counted), load(local(1, fat)))), run(assign(field(1, int), load(local(2, int))))];
    m.function("f", ty, &[record, fat, int], Some(stmts));
    in_order(&m.text(), &["if _1", "remaining(_1)", "check count(", "_0.0 =", "if _0.0", "check count(", "_0.1 = _2"]);
}

#[test]
fn a_group_is_checked_behind_its_stores() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let (record, counted) = counted_record(&mut m);
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(void, &[record, fat, int]);
    let field = |n, ty| expr(ExprKind::Field(local(0, record), n), ty);
    let group = vec![(field(0, counted), load(local(1, fat))), (field(1, int), load(local(2, int)))];
    m.function("f", ty, &[record, fat, int], Some(vec![stmt(StmtKind::CountGroup(group))]));
    let text = m.text();
    in_order(&text, &["_0.0 =", "_0.1 =", "remaining(", "check count("]);
    assert_eq!(text.matches("check count(").count(), 1, "{text}");
}

#[test]
fn initialisers_zero_what_they_leave_out() {
    for (items, zeroed) in [(1, true), (2, false)] {
        let mut m = Maker::new();
        let (int, void) = (m.common().int, m.common().void);
        let record = m.record(RecordKind::Struct, &[("a", int), ("b", int)]);
        let ty = m.func_ty(void, &[]);
        let list = (0..items).map(|i| (i, Init::Expr(m.int(5)))).collect();
        m.function("f", ty, &[record], Some(vec![declare(0, Some(Init::List(list)))]));
        let text = m.text();
        assert_eq!(text.contains("zero"), zeroed, "{text}");
        in_order(&text, &["_0.0 = 5"]);
    }
}

#[test]
fn a_long_run_of_one_value_is_a_loop() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let array = m.array(int, 100);
    let ty = m.func_ty(void, &[int]);
    let run = Init::Repeat(0, 99, Box::new(Init::Expr(load(local(0, int)))));
    let list = Init::List(vec![(0, run)]);
    m.function("f", ty, &[int, array], Some(vec![declare(1, Some(list))]));
    let text = m.text();
    in_order(&text, &["le(", "_1["]);
    assert!(!text.contains("zero"), "{text}");
}

#[test]
fn strings_fill_arrays() {
    let mut m = Maker::new();
    let (char_, void) = (m.common().char_, m.common().void);
    let array = m.array(char_, 16);
    m.program.strings.push(StringLit { units: vec![104, 105, 0], elem: char_ });
    let ty = m.func_ty(void, &[]);
    m.function("f", ty, &[array], Some(vec![declare(0, Some(Init::Str(StrId(0))))]));
    in_order(&m.text(), &["zero _0", "copy"]);
}
