//! Calls, counts at calls, results with bounds, allocation, instances.

use super::*;

fn call(f: &FuncRef, args: Vec<Expr>, ty: Ty) -> Expr {
    expr(ExprKind::Call(Callee::Direct(f.clone()), ty, args), ty)
}

#[test]
fn counted_arguments_are_checked_after_all_are_evaluated() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let count = m.program.types.count(CountExpr::Param(1));
    let counted = m.pointer(int, Bounds::Counted(count));
    let fat = m.pointer(int, Bounds::Fat);
    let callee_ty = m.func_ty(void, &[counted, int]);
    let callee = m.function("g", callee_ty, &[], None);
    let ty = m.func_ty(void, &[fat, int]);
    let e = call(&callee, vec![load(local(0, fat)), load(local(1, int))], void);
    m.function("f", ty, &[fat, int], Some(vec![run(e)]));
    in_order(&m.text(), &["numeric(_1", "clamp(", "remaining(_0)", "enough(", "part(_0, ptr", "call"]);
}

#[test]
fn an_array_of_known_length_needs_no_check() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let count = m.program.types.count(CountExpr::Param(1));
    let counted = m.pointer(int, Bounds::Counted(count));
    let fat = m.pointer(int, Bounds::Fat);
    let array = m.array(int, 8);
    let callee_ty = m.func_ty(void, &[counted, int]);
    let callee = m.function("g", callee_ty, &[], None);
    let ty = m.func_ty(void, &[]);
    let decayed = expr(ExprKind::Decay(local(0, array)), fat);
    let e = call(&callee, vec![decayed, m.int(8)], void);
    m.function("f", ty, &[array], Some(vec![declare(0, None), run(e)]));
    let text = m.text();
    assert!(!text.contains("enough("), "{text}");
}

#[test]
fn counted_parameters_become_fat_variables() {
    let mut m = Maker::new();
    let int = m.common().int;
    let count = m.program.types.count(CountExpr::Param(1));
    let counted = m.pointer(int, Bounds::Counted(count));
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(int, &[counted, int]);
    let value = load(expr(ExprKind::IndexPointer(load(local(0, fat)), m.int(0)), int));
    m.function("f", ty, &[fat, int], Some(vec![ret(value)]));
    in_order(&m.text(), &["numeric(_1", "clamp(", "offset(_0", "fat(", "access(_2"]);
}

#[test]
fn results_into_an_argument_get_its_bounds() {
    let mut m = Maker::new();
    let (char_, int) = (m.common().char_, m.common().int);
    let s = m.pointer(char_, Bounds::Terminated);
    let object = m.pointer(char_, Bounds::FatTerminated);
    let callee_ty = m.func_ty(s, &[s, int]);
    let mut func = (*m.program.types.as_func(callee_ty).unwrap()).clone();
    func.into = Some(0);
    let callee_ty = m.program.types.intern(TyKind::Func(Rc::new(func)));
    let callee = m.function("strchr", callee_ty, &[], None);
    let ty = m.func_ty(object, &[object, int]);
    let arg = expr(ExprKind::Convert(Conv::Pointer, load(local(0, object))), s);
    let e = call(&callee, vec![arg, load(local(1, int))], object);
    m.function("f", ty, &[object, int], Some(vec![ret(e)]));
    in_order(&m.text(), &["part(_0, ptr", "call", "if ", "part(_0, lo", "part(_0, hi", "fat("]);
}

#[test]
fn arguments_are_evaluated_in_order() {
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let g_ty = m.func_ty(void, &[int, int]);
    let g = m.function("g", g_ty, &[], None);
    let ty = m.func_ty(void, &[int]);
    let step = expr(ExprKind::IncDec(local(0, int), true, true), int);
    m.function("f", ty, &[int], Some(vec![run(call(&g, vec![load(local(0, int)), step], void))]));
    in_order(&m.text(), &["_1 = _0", "_0 = add(_0", "(_1, _0)"]);
}

#[test]
fn function_pointers_are_tested_for_null() {
    let mut m = Maker::new();
    let void = m.common().void;
    let g_ty = m.func_ty(void, &[]);
    let p = m.pointer(g_ty, Bounds::Thin);
    let ty = m.func_ty(void, &[p]);
    let e = expr(ExprKind::Call(Callee::Pointer(load(local(0, p))), void, vec![]), void);
    m.function("f", ty, &[p], Some(vec![run(e)]));
    in_order(&m.text(), &["not_null(_0)", "call"]);
}

#[test]
fn character_blocks_hide_a_zero() {
    let mut m = Maker::new();
    let char_ = m.common().char_;
    let ulong = m.common().ulong;
    let object = m.pointer(char_, Bounds::FatTerminated);
    let ty = m.func_ty(object, &[ulong]);
    let alloc = Alloc {
        elem: char_,
        size: AllocSize::Bytes(load(local(0, ulong))),
        fallible: false,
        old: None,
        flexible: false,
    };
    m.function("f", ty, &[ulong], Some(vec![ret(expr(ExprKind::Alloc(alloc), object))]));
    in_order(&m.text(), &["alloc(", "hidden", "counted("]);
}

#[test]
fn realloc_copies_what_fits() {
    let mut m = Maker::new();
    let int = m.common().int;
    let ulong = m.common().ulong;
    let fat = m.pointer(int, Bounds::Fat);
    let ty = m.func_ty(fat, &[fat, ulong]);
    let alloc = Alloc {
        elem: int,
        size: AllocSize::Bytes(load(local(1, ulong))),
        fallible: true,
        old: Some(load(local(0, fat))),
        flexible: false,
    };
    m.function("f", ty, &[fat, ulong], Some(vec![ret(expr(ExprKind::Alloc(alloc), fat))]));
    in_order(&m.text(), &["div(", "alloc(", "if", "copy_elements(", ", _0, "]);
}

#[test]
fn instances_are_made_once_and_to_the_end() {
    // generic <T> T id(T x) { return x; }  int f(int a) { return id<int>(id<int>(a)); }
    let mut m = Maker::new();
    let int = m.common().int;
    let t = m.type_param();
    let id_ty = m.func_ty(t, &[t]);
    let mut id = m.function("id", id_ty, &[t], Some(vec![ret(load(local(0, t)))]));
    m.program.functions[0].type_params = 1;
    id.args = Rc::from([int]);
    let ty = m.func_ty(int, &[int]);
    let inner = call(&id, vec![load(local(0, int))], int);
    let outer = call(&id, vec![inner], int);
    m.function("f", ty, &[int], Some(vec![ret(outer)]));
    let program = m.finish();
    assert_eq!(program.instances.len(), 1);
    assert_eq!(program.instances[0].locals[0].ty.ty, int);
}

#[test]
fn endless_instances_are_an_error() {
    // generic <T> void grow(T x) { grow(&x); }
    let mut m = Maker::new();
    let (int, void) = (m.common().int, m.common().void);
    let t = m.type_param();
    let p = m.pointer(t, Bounds::Thin);
    let grow_ty = m.func_ty(void, &[t]);
    let grow = FuncRef { func: FuncId(0), args: Rc::from([p]) };
    let address = expr(ExprKind::AddrOf(local(0, t)), p);
    m.function("grow", grow_ty, &[t], Some(vec![run(call(&grow, vec![address], void))]));
    m.program.functions[0].type_params = 1;
    let ty = m.func_ty(void, &[]);
    let start = FuncRef { func: FuncId(0), args: Rc::from([int]) };
    let e = call(&start, vec![m.int(1)], void);
    m.function("f", ty, &[], Some(vec![run(e)]));
    let mut program = lower(m.program);
    let error = instantiate(&mut program).unwrap_err();
    assert_eq!(error.function, symbol("grow"));
}
