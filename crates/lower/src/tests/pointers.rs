//! Accesses through pointers and their checks.

use super::*;

fn index(p: Expr, i: Expr, elem: Ty) -> Expr {
    expr(ExprKind::IndexPointer(p, i), elem)
}

#[test]
fn a_fat_index_checks_the_element() {
    let mut m = Maker::new();
    let int = m.common().int;
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(int, &[fat, int]);
    let value = load(index(load(local(0, fat)), load(local(1, int)), int));
    m.function("f", ty, &[fat, int], Some(vec![ret(value)]));
    in_order(&m.text(), &["offset(_0, _1", "access(", "return"]);
}

#[test]
fn unsafe_code_has_no_checks() {
    let mut m = Maker::new();
    let int = m.common().int;
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(int, &[fat, int]);
    let mut value = load(index(load(local(0, fat)), load(local(1, int)), int));
    value.is_unsafe = true;
    m.function("f", ty, &[fat, int], Some(vec![ret(value)]));
    assert!(!m.text().contains("access("));
}

#[test]
fn strings_step_over_what_is_not_the_zero() {
    let mut m = Maker::new();
    let (char_, void) = (m.common().char_, m.common().void);
    let s = m.pointer(char_, Bounds::Terminated);
    let ty = m.func_ty(void, &[s]);
    let step = expr(ExprKind::IncDec(local(0, s), true, false), s);
    m.function("f", ty, &[s], Some(vec![run(step)]));
    in_order(&m.text(), &["step(_0)", "offset(_0, 1"]);
}

#[test]
fn strings_are_measured_for_other_indices() {
    let mut m = Maker::new();
    let (char_, int) = (m.common().char_, m.common().int);
    let s = m.pointer(char_, Bounds::Terminated);
    let ty = m.func_ty(char_, &[s, int]);
    let value = load(index(load(local(0, s)), load(local(1, int)), char_));
    m.function("f", ty, &[s, int], Some(vec![ret(value)]));
    in_order(&m.text(), &["measure(_0)", "add(", "index(_1", "offset("]);
}

#[test]
fn the_zero_of_a_string_stays() {
    let mut m = Maker::new();
    let (char_, void) = (m.common().char_, m.common().void);
    let s = m.pointer(char_, Bounds::Terminated);
    let ty = m.func_ty(void, &[s, char_]);
    let place = expr(ExprKind::Deref(load(local(0, s))), char_);
    m.function("f", ty, &[s, char_], Some(vec![run(assign(place, load(local(1, char_))))]));
    in_order(&m.text(), &["terminator(_0.*, _1)"]);
}

#[test]
fn string_objects_are_guarded_at_their_end_only() {
    let mut m = Maker::new();
    let (char_, void, int) = (m.common().char_, m.common().void, m.common().int);
    let s = m.pointer(char_, Bounds::FatTerminated);
    let ty = m.func_ty(void, &[s, char_, int]);
    let place = index(load(local(0, s)), load(local(2, int)), char_);
    let store = run(assign(place, load(local(1, char_))));
    m.function("f", ty, &[s, char_, int], Some(vec![store]));
    in_order(&m.text(), &["offset(", "within(", "part(", "eq(", "terminator("]);
}

#[test]
fn array_indices_are_checked_and_constant_ones_are_not() {
    for (constant, checked) in [(true, false), (false, true)] {
        let mut m = Maker::new();
        let int = m.common().int;
        let array = m.array(int, 4);
        let ty = m.func_ty(int, &[int]);
        let i = if constant { m.int(3) } else { load(local(0, int)) };
        let value = load(expr(ExprKind::IndexArray(local(1, array), i), int));
        m.function("f", ty, &[int, array], Some(vec![declare(1, None), ret(value)]));
        let text = m.text();
        in_order(&text, &["zero"]);
        assert_eq!(text.contains("check index("), checked, "{text}");
    }
}

#[test]
fn a_large_target_needs_a_null_check() {
    for (n, checked) in [(10, false), (2000, true)] {
        let mut m = Maker::new();
        let int = m.common().int;
        let array = m.array(int, n);
        let record = m.record(RecordKind::Struct, &[("a", array), ("b", int)]);
        let p = m.pointer(record, Bounds::Thin);
        let ty = m.func_ty(int, &[p]);
        let deref = expr(ExprKind::Deref(load(local(0, p))), record);
        let value = load(expr(ExprKind::Field(deref, 1), int));
        m.function("f", ty, &[p], Some(vec![ret(value)]));
        assert_eq!(m.text().contains("not_null("), checked);
    }
}

#[test]
fn bounds_are_dropped_after_a_check_that_null_passes() {
    let mut m = Maker::new();
    let int = m.common().int;
    let fat = m.pointer(int, Bounds::Fat);
    let thin = m.pointer(int, Bounds::Thin);
    let ty = m.func_ty(thin, &[fat]);
    let value = expr(ExprKind::Convert(Conv::Pointer, load(local(0, fat))), thin);
    m.function("f", ty, &[fat], Some(vec![ret(value)]));
    in_order(&m.text(), &["if _0", "access(_0, 1", "part(_0, ptr"]);
}

#[test]
fn a_string_with_bounds_is_measured() {
    let mut m = Maker::new();
    let char_ = m.common().char_;
    let s = m.pointer(char_, Bounds::Terminated);
    let fat = m.pointer(char_, Bounds::Fat);
    let ty = m.func_ty(fat, &[s]);
    let value = expr(ExprKind::Convert(Conv::Pointer, load(local(0, s))), fat);
    m.function("f", ty, &[s], Some(vec![ret(value)]));
    in_order(&m.text(), &["null", "if _0", "measure(_0)", "counted("]);
}

#[test]
fn views_of_bytes_keep_all_words() {
    let mut m = Maker::new();
    let (int, uchar) = (m.common().int, m.common().uchar);
    let fat = m.pointer(int, Bounds::Fat);
    let bytes = m.pointer(uchar, Bounds::Fat);
    let ty = m.func_ty(bytes, &[fat]);
    let value = expr(ExprKind::Convert(Conv::View, load(local(0, fat))), bytes);
    m.function("f", ty, &[fat], Some(vec![ret(value)]));
    in_order(&m.text(), &["part(_0, ptr", "part(_0, lo", "part(_0, hi", "fat("]);
}

#[test]
fn views_of_records_have_whole_elements() {
    let mut m = Maker::new();
    let (int, uchar) = (m.common().int, m.common().uchar);
    let record = m.record(RecordKind::Struct, &[("a", int), ("b", int)]);
    let bytes = m.pointer(uchar, Bounds::Fat);
    let thin = m.pointer(record, Bounds::Thin);
    let ty = m.func_ty(thin, &[bytes]);
    let value = expr(ExprKind::Convert(Conv::View, load(local(0, bytes))), thin);
    m.function("f", ty, &[bytes], Some(vec![ret(value)]));
    in_order(&m.text(), &["view(_0", "remaining(_0)", "div(", "lt(", "multiple(", "enough(1"]);
}

#[test]
fn typed_void_pointers_remember() {
    let mut m = Maker::new();
    let int = m.common().int;
    let void = m.common().void;
    let thin = m.pointer(int, Bounds::Thin);
    let any = m.pointer(void, Bounds::Thin);
    let ty = m.func_ty(thin, &[thin]);
    let there = expr(ExprKind::Convert(Conv::ToTypedVoid, load(local(0, thin))), any);
    let back = expr(ExprKind::Convert(Conv::FromTypedVoid, there), thin);
    m.function("f", ty, &[thin], Some(vec![ret(back)]));
    in_order(&m.text(), &["typed(_0", "type(", "part("]);
}

#[test]
fn the_place_comes_after_the_right_side() {
    // *p++ = i: the value, then p++, then the check and the store.
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(void, &[fat, int]);
    let old = expr(ExprKind::IncDec(local(0, fat), true, false), fat);
    let place = expr(ExprKind::Deref(old), int);
    m.function("f", ty, &[fat, int], Some(vec![run(assign(place, load(local(1, int))))]));
    in_order(&m.text(), &["= _1", "= _0", "offset(", "access(", ".* = _"]);
}

#[test]
fn proofs_name_the_variable() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let p = m.pointer(int, Bounds::Thin);
    let nonnull = m.program.types.pointer(Pointer {
        target: Qty::plain(int),
        bounds: Bounds::Thin,
        nonnull: true,
        own: Own::Shared,
        region: Region::Heap,
        raw: false,
    });
    let ty = m.func_ty(void, &[p, nonnull]);
    let value = expr(ExprKind::Convert(Conv::ProveNonnull, load(local(0, p))), nonnull);
    m.function("f", ty, &[p, nonnull], Some(vec![run(assign(local(1, nonnull), value))]));
    in_order(&m.text(), &["prove", "_0", "_1 = _0"]);
}
