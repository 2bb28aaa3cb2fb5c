//! Places in the words of the program, for reports.

use mir::ir::*;

/// The place as the program would write it; `None` if a part of it has no name.
pub(crate) fn place_name(program: &Program, body: &Body, place: &Place) -> Option<String> {
    let mut text = match place.base {
        PlaceBase::Local(l) => body.locals.get(l.0 as usize)?.name?.to_string(),
        PlaceBase::Global(g) => program.globals.get(g.0 as usize)?.name.to_string(),
        PlaceBase::Str(_) => return None,
    };
    let mut pointer = false;
    for (n, step) in place.proj.iter().enumerate() {
        match step {
            Proj::Deref if pointer => text = format!("(*{text})"),
            Proj::Deref => {}
            Proj::Field(field) => {
                let ty = mir::ty::prefix_ty(program, body, place, n).ok()?.ty;
                let fields = program.types.record(program.types.as_record(ty)?).fields.clone()?;
                let dot = if pointer { "->" } else { "." };
                text = format!("{text}{dot}{}", fields.get(*field as usize)?.name?);
            }
            Proj::Index(Operand::Const(Const::Int(i, _))) => text = format!("{text}[{i}]"),
            Proj::Index(index) => {
                let index = index.place().and_then(Place::as_local);
                let name = index.and_then(|l| body.locals.get(l.0 as usize)?.name)?;
                text = format!("{text}[{name}]");
            }
        }
        pointer = *step == Proj::Deref;
    }
    Some(if pointer { format!("*{text}") } else { text })
}
