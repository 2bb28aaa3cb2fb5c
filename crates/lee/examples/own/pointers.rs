//! Calls through pointers: a function's type says what is consumed and what is lent, and a pointer
//! has it too.

use crate::rng::Random;

/// How else a function is called: declarations, and what stands before the arguments.
pub fn others(
    random: &mut Random,
    name: &str,
    before: &str,
    back: &str,
    params: &[String],
    names: &[String],
) -> (String, Vec<String>) {
    let head = if params.is_empty() { "void".into() } else { params.join(", ") };
    let mut text = String::new();
    let mut calls = vec![];
    // What the type promises besides cannot be said of a parameter.
    match if before.is_empty() { random.below(3) } else { 0 } {
        0 => {
            text.push_str(&format!("{before}static {back}(*{name}_p)({head}) = {name};\n"));
            calls.push(format!("{name}_p("));
        }
        1 => {
            text.push_str(&format!(
                "static const struct {{ long id; {back}(*f)({head}); }} {name}_o = {{ 1, {name} }};\n"
            ));
            calls.push(format!("{name}_o.f("));
        }
        _ => {
            let more = if params.is_empty() { String::new() } else { format!(", {head}") };
            let is_void = back.trim() == "void";
            let give = if is_void { "" } else { "return " };
            text.push_str(&format!(
                "{before}static {back}{name}_via({back}(*f)({head}){more}) {{ {give}f({}); }}\n",
                names.join(", ")
            ));
            let next = if names.is_empty() { "" } else { ", " };
            calls.push(format!("{name}_via({name}{next}"));
        }
    }
    (text, calls)
}
