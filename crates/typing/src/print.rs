//! The typed tree as text (`--emit types`): what the checker found, in the words of the
//! language.

use crate::tree::{Function, Program, Trust};
use crate::types::{Record, RecordKind};
use source::SourceMap;
use std::fmt::Write;

/// Records, globals and functions of the unit itself, without what system headers and the library
/// declare. Under each function stand its parameters and locals with their inferred types.
pub fn print(program: &Program, map: &SourceMap) -> String {
    let mut out = String::new();
    for record in program.types.records.iter().filter(|r| !map.is_system(r.span.lo)) {
        print_record(program, record, &mut out);
    }
    for global in program.globals.iter().filter(|g| !map.is_system(g.span.lo)) {
        let _ = writeln!(out, "global {}: {}", global.name, program.types.show_qty(global.ty));
    }
    for function in program.functions.iter().filter(|f| !map.is_system(f.span.lo)) {
        print_function(program, function, map, &mut out);
    }
    out
}

fn print_record(program: &Program, record: &Record, out: &mut String) {
    let word = match record.kind {
        RecordKind::Struct => "struct",
        RecordKind::Union => "union",
        RecordKind::Tagged => "tagged union",
    };
    let tag = record.tag.map_or("<unnamed>".to_string(), |t| t.to_string());
    let args: Vec<String> = record.args.iter().map(|&a| program.types.show(a)).collect();
    let args = if args.is_empty() { String::new() } else { format!("<{}>", args.join(", ")) };
    let Some(fields) = &record.fields else {
        let _ = writeln!(out, "{word} {tag}{args}: incomplete");
        return;
    };
    let _ = writeln!(out, "{word} {tag}{args}");
    for (number, field) in fields.iter().enumerate() {
        let name = field.name.map_or("<unnamed>".to_string(), |n| n.to_string());
        let width = field.width.map_or(String::new(), |w| format!(" : {w}"));
        let _ = writeln!(out, "    {}. {name}: {}{width}", number + 1, program.types.show_qty(field.ty));
    }
}

fn print_function(program: &Program, function: &Function, map: &SourceMap, out: &mut String) {
    let trust = match function.trust {
        Trust::Checked => "",
        Trust::Trusted => "trusted ",
        Trust::Foreign => "foreign ",
        Trust::Exported => "extern \"C\" ",
    };
    let _ = writeln!(out, "{trust}function {}: {}", function.name, program.types.show(function.ty));
    let Some(body) = &function.body else { return };
    for (number, local) in body.locals.iter().enumerate() {
        let Some(name) = local.name else { continue };
        let what = if (number as u32) < body.params { "parameter" } else { "local" };
        let line = map.locate(local.span).line;
        let _ = writeln!(out, "    {what} {name}: {}    // line {line}", program.types.show_qty(local.ty));
    }
}
