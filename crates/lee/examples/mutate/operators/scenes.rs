//! Scenes: a few statements about new objects of a type of the program, most of which break one
//! rule. They reach rules that changes of what is there seldom come near (two uses of one path in
//! one call, a cursor that is left, a region that is made again), and each stands beside scenes
//! that differ from it in order or in a word and are accepted.
//!
//! `N` begins each name, so that scenes do not meet; `T` is the type, `R(x)` an integer of what `x`
//! points to.

use super::{Draw, BOTH, COUNT, ONE};
use crate::edit::{insert, Edit};
use crate::sites::Sort;

/// Declarations before the function, and statements.
pub(super) type Scene = (&'static str, &'static str);

/// What is lent to a function, copied, or exchanged with a part of itself.
const MOVES: &[Scene] = &[
    ("static void Nf(T *unique x) { free(x); }", "T *unique Na = new T{}; Nf(Na); m_count += R(Na); free(Na);"),
    ("static void Nf(consume T *unique x) { free(x); }", "T *unique Na = new T{}; m_count += R(Na); Nf(Na);"),
    (
        "static void Nf(T *unique x) { T *unique y = x; free(y); }",
        "T *unique Na = new T{}; Nf(Na); m_count += R(Na); free(Na);",
    ),
    (
        "static void Nf(T *unique x) { T *unique y = x; x = y; }",
        "T *unique Na = new T{}; Nf(Na); m_count += R(Na); free(Na);",
    ),
    ("", "T *unique Na = nullptr; T *unique Nb; Nb = Na = new T{}; free(Na); free(Nb);"),
    ("", "T *unique Na = new T{}; T *unique Nb = Na; Na = nullptr; free(Na); free(Nb);"),
    (
        "struct Nw { T *p; struct Nw *unique o; };",
        "struct Nw *unique Na = new struct Nw{}; Na->o = new struct Nw{}; Na :=: Na->o; free(Na);",
    ),
    (
        "struct Nw { T *p; struct Nw *unique o; };",
        "struct Nw *unique Na = new struct Nw{}; Na->o = new struct Nw{}; struct Nw *unique Nb = nullptr; \
         Nb :=: Na->o; free(Na); free(Nb);",
    ),
    (
        "struct Nw { T *unique o; }; static struct Nw *unique Nf(void) { return new struct Nw{ new T{} }; }",
        "struct Nw *unique Na = Nf(); m_count += R(Na->o); free(Na); struct Nw *unique Nb = new struct Nw{}; \
         struct Nw *Nc = share(Nb); m_count += Nc->o == nullptr;",
    ),
];

/// What is in slots: in globals, elements, and behind shared pointers.
const SLOTS: &[Scene] = &[
    (
        "static T *unique Ns; static int Nf(void) { Ns = nullptr; return 1; } \
         static int Ng(const T *x, int n) { return (int)R(x) + n; }",
        "Ns = new T{}; m_count += Ng(Ns, Nf());",
    ),
    (
        "static T *unique Ns; static int Nf(void) { Ns = nullptr; return 1; }",
        "Ns = new T{}; m_count += (int)R(Ns) + Nf();",
    ),
    ("static T *unique Ns;", "Ns = new T{}; T *Nk = Ns; Ns = nullptr; m_count += R(Nk);"),
    (
        "struct Nw { T *unique o; };",
        "struct Nw *fat unique Na = new struct Nw[1]; Na[0].o = new T{}; { const T *view Nb = Na[0].o; \
         for (int Ni = 0; Ni < 1; Ni++) Na[Ni].o = nullptr; m_count += R(Nb); } free(Na);",
    ),
    (
        "struct Nw { T *unique o; };",
        "struct Nw *fat unique Na = new struct Nw[1]; Na[0].o = new T{}; { const T *view Nb = Na[0].o; \
         m_count += R(Nb); for (int Ni = 0; Ni < 1; Ni++) Na[Ni].o = nullptr; } free(Na);",
    ),
    (
        "static struct Nw { T *unique o; } *Ns;",
        "Ns = new struct Nw{ new T{} }; T *Nk = nullptr; { cursor Nc = &Ns->o; Nk = *Nc; } Ns->o = nullptr; \
         m_count += R(Nk);",
    ),
    (
        "static struct Nw { T *unique o; } *Ns;",
        "Ns = new struct Nw{ new T{} }; T *Nk = nullptr; { cursor Nc = &Ns->o; Nk = *Nc; m_count += R(Nk); } \
         Ns->o = nullptr;",
    ),
    (
        "struct Nw { T *unique e[2]; };",
        "struct Nw *unique Na = new struct Nw{}; Na->e[m_one] = new T{}; { const struct Nw *view Nv = Na; \
         const T *view Nb = Nv->e[m_one]; Na->e[m_one] = nullptr; m_count += R(Nb); } free(Na);",
    ),
    (
        "struct Nw { T *unique e[2]; };",
        "struct Nw *unique Na = new struct Nw{}; Na->e[m_one] = new T{}; { const struct Nw *view Nv = Na; \
         const T *view Nb = Nv->e[m_one]; m_count += R(Nb); } Na->e[m_one] = nullptr; free(Na);",
    ),
];

/// Loans whose holder is used after what was lent has gone or changed.
const LOANS: &[Scene] = &[
    ("", "T *unique Na = new T{}; T *Nb = Na; T *unique Nc = Na; free(Nc); m_count += R(Nb);"),
    ("", "T *unique Na = new T{}; T *Nb = Na; m_count += R(Nb); T *unique Nc = Na; free(Nc);"),
    ("", "T *unique Na = new T{}; { cursor Nc = &Na; T *unique Nb = *Nc; m_count += R(Na); *Nc = Nb; } free(Na);"),
    ("", "T *unique Na = new T{}; { cursor Nc = &Na; T *unique Nb = *Nc; m_count += R(Nb); *Nc = Nb; } free(Na);"),
    ("", "T *unique Na = new T{}; m_count += (int)m_both(&Na, &R(Na)); free(Na);"),
    ("", "T *unique Na = new T{}; T *unique Nb = new T{}; m_count += (int)m_both(&Na, &R(Nb)); free(Na); free(Nb);"),
    (
        "struct Nw { T *unique o; }; \
         static int Nf(struct Nw *unique x, T *p) { free(x->o); x->o = nullptr; return (int)R(p); }",
        "struct Nw *unique Na = new struct Nw{ new T{} }; m_count += Nf(Na, Na->o); free(Na);",
    ),
    ("", "T *Nn = nullptr; { T Ny = {}; Nn = &Ny; } m_count += R(Nn);"),
    ("", "T *Nn = nullptr; { T Ny = {}; Nn = &Ny; m_count += R(Nn); }"),
    (
        "",
        "T *unique Na = new T{}; typeof(R(Na)) *Nn = nullptr; typeof(R(Na)) **Nm = &Nn; *Nm = &R(Na); free(Na); \
         m_count += (int)*Nn;",
    ),
    (
        "",
        "T *unique Na = new T{}; typeof(R(Na)) *Nn = nullptr; typeof(R(Na)) **Nm = &Nn; *Nm = &R(Na); \
         m_count += (int)*Nn; free(Na);",
    ),
    (
        "struct Nw { T *unique o; };",
        "struct Nw *unique Na = new struct Nw{}; struct Nw *Nb = Na; bool Ne = Na->o == nullptr; Nb->o = new T{}; \
         if (Ne) Na->o = new T{}; free(Na);",
    ),
    (
        "struct Nw { T *unique o; };",
        "struct Nw *unique Na = new struct Nw{}; struct Nw *Nb = Na; Nb->o = new T{}; bool Ne = Na->o == nullptr; \
         if (Ne) Na->o = new T{}; free(Na);",
    ),
    (
        "struct Nw { T *unique e[2]; };",
        "struct Nw *unique Na = new struct Nw{}; { cursor Nc = &Na->e[m_one]; m_count += *Nc == nullptr; free(Na); }",
    ),
    (
        "struct Nw { T *unique e[2]; };",
        "struct Nw *unique Na = new struct Nw{}; { cursor Nc = &Na->e[m_one]; m_count += *Nc == nullptr; } free(Na);",
    ),
    ("", "m_count += R(({ T Ny = {}; &Ny; }));"),
    ("", "m_count += ({ T Ny = {}; T *Nn = &Ny; R(Nn); });"),
];

/// Pointers into blocks, arenas and regions behind keys, after their end.
const REGIONS: &[Scene] = &[
    ("static T *Ng;", "{ T Ny = {}; Ng = &Ny; } m_count += R(Ng);"),
    ("static T *Ng;", "{ T Ny = {}; T **Np = &Ng; *Np = &Ny; } m_count += R(Ng);"),
    ("static T *Ng;", "{ T *Ny = new T{}; T **Np = &Ng; *Np = Ny; } m_count += R(Ng);"),
    ("", "T *Nn = nullptr; for (int Ni = 0; Ni < 2; Ni++) { arena Nr; if (Nn) m_count += R(Nn); Nn = new(Nr) T{}; }"),
    ("", "for (int Ni = 0; Ni < 2; Ni++) { arena Nr; T *Nn = new(Nr) T{}; if (Nn) m_count += R(Nn); }"),
    (
        "struct Nh { exists @e; key<@e> k; T *@e p; };",
        "key<@Na> Nk = new_arena(); key<@Nb> Nl = new_arena(); T *@Nb Np = nullptr; \
         { open arena Nx = Nl; Np = new(Nx) T{}; } struct Nh No = { Nk, Np }; free_arena(Nl); \
         { unpack No as {@e, k: Nq, p: Nz}; { open arena Ny = Nq; m_count += R(Nz); } free_arena(Nq); }",
    ),
    (
        "struct Nh { exists @e; key<@e> k; T *@e p; };",
        "key<@Na> Nk = new_arena(); T *@Na Np = nullptr; { open arena Nx = Nk; Np = new(Nx) T{}; } \
         struct Nh No = { Nk, Np }; \
         { unpack No as {@e, k: Nq, p: Nz}; { open arena Ny = Nq; m_count += R(Nz); } free_arena(Nq); }",
    ),
    // What a struct owns in the heap is hidden in its region, and nothing frees it.
    (
        "struct Nh { exists @e; T *unique @e p; };",
        "struct Nh No = { new T{} }; { unpack No as {@e, p: Nz}; m_count += Nz == nullptr; }",
    ),
    (
        "struct Nh<@x> { exists @e outlived by @x; T *unique @e p; };",
        "struct Nh<@heap> No = { new T{} }; { unpack No as {@e, p: Nz}; m_count += R(Nz); }",
    ),
    (
        "struct Nh { exists @e; key<@e> k; T *unique @e p; };",
        "key<@Na> Nk = new_arena(); T *unique @Na Np = nullptr; { open arena Nx = Nk; Np = new(Nx) T{}; } \
         struct Nh No = { Nk, Np }; \
         { unpack No as {@e, k: Nq, p: Nz}; { open arena Ny = Nq; m_count += R(Nz); } free_arena(Nq); }",
    ),
    (
        "",
        "key<@Nd> Nk = new_arena(); T *@Nd Np = nullptr; { open arena Nx = Nk; Np = new(Nx) T{}; } free_arena(Nk); \
         Nk = new_arena(); { open arena Ny = Nk; m_count += R(Np); } free_arena(Nk);",
    ),
    (
        "",
        "key<@Nd> Nk = new_arena(); T *@Nd Np = nullptr; { open arena Nx = Nk; Np = new(Nx) T{}; } free_arena(Nk); \
         m_count += R(Np);",
    ),
    (
        "",
        "key<@Nd> Nk = new_arena(); { open arena Nx = Nk; T *@Nd Np = new(Nx) T{}; m_count += R(Np); } free_arena(Nk);",
    ),
];

/// What is claimed of null, and of numbers.
const FACTS: &[Scene] = &[
    ("", "int Na[4] = {}; for (int Ni = 0; Ni < 4 + m_one; Ni++) { if (Ni < 5) m_count += Na[Ni]; }"),
    ("", "int Na[4] = {}; for (int Ni = 0; Ni < 4 + m_one; Ni++) { if (Ni < 4) m_count += Na[Ni]; }"),
    ("", "T *Na = nullptr; if (m_count < -1) Na = new T{}; T *nonnull Nb = Na; m_count += Nb != nullptr;"),
    ("", "T *Na = nullptr; if (m_count > -1) Na = new T{}; if (Na) { T *nonnull Nb = Na; m_count += Nb != nullptr; }"),
    (
        "struct Nw { T *p; }; static void Nf(struct Nw *x) { x->p = nullptr; }",
        "struct Nw *unique Na = new struct Nw{ new T{} }; if (Na->p) { Nf(Na); T *nonnull Nb = Na->p; \
         m_count += Nb != nullptr; } free(Na);",
    ),
    (
        "struct Nw { T *p; }; static void Nf(struct Nw *x) { x->p = nullptr; }",
        "struct Nw *unique Na = new struct Nw{ new T{} }; if (Na->p) { T *nonnull Nb = Na->p; Nf(Na); \
         m_count += Nb != nullptr; } free(Na);",
    ),
    ("", "for (int Ni = 0; Ni < 48; Ni++) { T *unique Na = new T{}; if ((unsigned char)(unsigned long)Na) free(Na); }"),
    ("", "for (int Ni = 0; Ni < 8; Ni++) { T *unique Na = new T{}; if ((unsigned long)Na) free(Na); }"),
];

pub(super) fn moves(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, MOVES)
}

pub(super) fn slots(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, SLOTS)
}

pub(super) fn loans(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, LOANS)
}

pub(super) fn regions(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, REGIONS)
}

pub(super) fn facts(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, FACTS)
}

/// Plays one of the scenes before a statement.
pub(super) fn scene(d: &mut Draw, scenes: &[Scene]) -> Option<Vec<Edit>> {
    let s = d.one(&d.sites.statements, |s| matches!(s.sort, Sort::Expr | Sort::Other | Sort::Decl))?;
    let before = d.sites.functions[s.function].span.lo;
    let (top, body) = *d.random.pick(scenes);
    // Often an `int`: what is said of it holds whatever a struct owns.
    let only = d.random.chance(60);
    let record = d.one(&d.sites.records, |r| only && r.declared < before);
    let (ty, member) = record.map_or(("int".to_string(), None), |r| (r.shown.clone(), Some(r.number.clone())));
    let name = d.name();
    d.need(COUNT);
    d.need(ONE);
    if body.contains("m_both") {
        d.need(BOTH);
    }
    let text = |scene: &str| filled(scene, &name, &ty, member.as_deref());
    Some(vec![insert(before, format!("{}\n", text(top))), insert(s.span.lo, format!("{{ {} }} ", text(body)))])
}

/// The text of a scene: `N`, `T` and `R(x)` are replaced.
fn filled(scene: &str, name: &str, ty: &str, member: Option<&str>) -> String {
    let mut out = String::new();
    let mut word = String::new();
    // Of each parenthesis that is open: whether it is that of `R`.
    let mut open = vec![];
    for c in scene.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let reads = c == '(' && word == "R";
        match word.as_str() {
            "T" => out.push_str(ty),
            "R" if reads => out.push_str(if member.is_some() { "(" } else { "(*" }),
            word => match word.strip_prefix('N') {
                Some(rest) => out.push_str(&format!("{name}{rest}")),
                None => out.push_str(word),
            },
        }
        word.clear();
        match (c, open.last()) {
            ('(', _) => open.push(reads),
            (')', Some(true)) => {
                open.pop();
                if let Some(member) = member {
                    out.push_str(&format!("->{member}"));
                }
            }
            (')', _) => drop(open.pop()),
            _ => {}
        }
        if !reads {
            out.push(c);
        }
    }
    out
}
