//! The records of a program, with the functions that make, check, walk and count objects of them.
//!
//! Each object has an `id` and the number that `mix` gives for it: `ck_P` compares them at every
//! use. Objects of a record with a witness own one count of the program's token, so that at the end
//! the token's count says how many were lost or dropped twice, without a sanitizer.

use crate::families::{CELLS, EXCHANGE, OUTLIVES, TASKS, UNIONS};
use crate::messages::SERVERS;
use crate::rng::Random;
use crate::slots::WORDS;
use crate::stores::STORES;
use crate::sure::{ENVIRONMENTS, SURE};

/// What a field holds. Numbers are those of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// The witness.
    Witness,
    /// `struct P *unique`
    Unique(usize),
    /// `struct P *rc`
    Rc(usize),
    /// `struct P *`, in the heap.
    Heap(usize),
    /// `struct P *unique m[N]`
    Many(usize, usize),
    /// `struct P`
    Held(usize),
    /// `long m[N]`
    Numbers(usize),
    /// A package with a key.
    Pack,
    /// `tagged union V`
    Variant,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
}

/// A record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name, without `struct`.
    pub name: String,
    /// Its fields after `id` and `sum`.
    pub fields: Vec<Field>,
    /// Whether objects of it may be given to the collector: how many witnesses they have can be
    /// counted.
    pub may_share: bool,
}

impl Record {
    /// A record that owns parts of records before it, and of itself.
    fn random(
        random: &mut Random,
        tag: &str,
        n: usize,
        before: &[Record],
        has_pack: bool,
        families: &Families,
    ) -> Record {
        let mut fields = vec![];
        let mut add = |stem: &str, holds| {
            let name = format!("{stem}{}", fields.len());
            fields.push(Field { name, holds });
        };
        if random.chance(65) {
            add("wit", Holds::Witness);
        }
        let mut may_share = true;
        let below = |random: &mut Random| random.below(n as i64) as usize;
        for _ in 0..random.between(1, 4) {
            match random.below(11) {
                0..=2 => add("next", Holds::Unique(n)),
                3 | 4 if n > 0 => {
                    let k = below(random);
                    may_share &= before.get(k).is_some_and(|r| r.may_share);
                    add("kid", Holds::Unique(k));
                }
                5 if n > 0 => {
                    may_share = false;
                    add("part", Holds::Rc(below(random)));
                }
                6 => {
                    may_share = false;
                    add("ring", Holds::Rc(n));
                }
                7 if n > 0 => {
                    let k = below(random);
                    may_share &= before.get(k).is_some_and(|r| r.may_share);
                    add("held", Holds::Held(k));
                }
                8 => {
                    let k = random.below(n as i64 + 1) as usize;
                    may_share &= k == n || before.get(k).is_some_and(|r| r.may_share);
                    add("many", Holds::Many(k, random.between(2, 4) as usize));
                }
                9 => add("far", Holds::Heap(random.below(n as i64 + 1) as usize)),
                10 if has_pack => {
                    may_share = false;
                    add("pack", Holds::Pack);
                }
                _ => add("num", Holds::Numbers(random.between(1, 5) as usize)),
            }
        }
        // What a union holds is of the first record, so that counts make no circles.
        if families.unions && n > 0 && random.chance(50) {
            may_share = false;
            add("var", Holds::Variant);
        }
        Record { name: format!("{tag}_P{n}"), fields, may_share }
    }
}

/// What a program has besides: each costs types and helpers, so that it has some only.
#[derive(Clone, Copy, Debug)]
pub struct Families {
    /// Unions that own.
    pub unions: bool,
    /// Calls through pointers.
    pub pointers: bool,
    /// Blocks of the exchange heap.
    pub exchange: bool,
    /// Tasks.
    pub tasks: bool,
    /// Structs that keep what outlives their region.
    pub outlives: bool,
    /// Generic lists of owners.
    pub cells: bool,
    /// Channels to processes and tasks.
    pub servers: bool,
    /// Owners in containers in arenas.
    pub stores: bool,
    /// Generics over what is never null.
    pub sure: bool,
    /// Functions with an environment.
    pub environments: bool,
    /// Owned words in slots, which functions of C get.
    pub words: bool,
}

impl Families {
    fn random(random: &mut Random) -> Families {
        let mut some = || random.chance(28);
        let (unions, pointers, exchange) = (some(), some(), some());
        let (tasks, outlives, cells, servers) = (some(), some(), some(), some());
        let (stores, sure, environments, words) = (some(), some(), some(), some());
        // Servers get blocks. When others run while one answers is not told, and tasks print.
        Families {
            unions,
            pointers,
            exchange: exchange || servers,
            tasks: tasks && !servers,
            outlives,
            cells,
            servers,
            stores,
            sure,
            environments,
            words,
        }
    }
}

/// All records of a program.
pub struct Types {
    /// What names begin with.
    pub tag: String,
    /// The records.
    pub records: Vec<Record>,
    /// The kind of key in the package: its words.
    pub pack_key: crate::model::KeyKind,
    /// What else there is.
    pub families: Families,
}

impl Types {
    /// The types of a program.
    pub fn random(random: &mut Random, tag: &str) -> Types {
        let mut records = vec![];
        let families = Families::random(random);
        for n in 0..random.between(1, 4) as usize {
            let record = Record::random(random, tag, n, &records, random.0 % 3 == 0, &families);
            records.push(record);
        }
        let pack_key = *random.pick(&crate::model::KeyKind::ALL);
        Types { tag: tag.into(), records, pack_key, families }
    }

    /// The name of a record.
    pub fn name(&self, n: usize) -> &str {
        &self.records[n].name
    }

    /// The declarations and helpers.
    pub fn text(&self) -> String {
        let t = &self.tag;
        let key = self.pack_key;
        let (word, maker) = (key.word(), key.maker());
        let give = if key.is_counted() { "release" } else { "free_arena" };
        let open = if key.is_reap() { "reap" } else { "arena" };
        let mut out = format!(
            "static struct W *rc {t}_tok;
static long {t}_given;
struct {t}_N {{ long id; unsigned long sum; long num[3]; }};
struct {t}_R<@r> {{ long id; unsigned long sum; struct {t}_R<@r> *@r next, *@r other; }};
struct {t}_Q<@r> {{ long id; unsigned long sum; struct {t}_Q<@r> *unique @r next, *unique @r side; }};
struct {t}_M<@o, @i> {{ long id; unsigned long sum; struct {t}_R<@o> *@o up; struct {t}_M<@o, @i> *@i next; }};
struct {t}_K {{ exists @d; {word}<@d> k; struct {t}_R<@d> *@d top; long id; }};
static void ck_{t}_N(struct {t}_N *any p) {{ if (p->sum != mix(p->id)) bad(__LINE__); use(p->id); }}
static void ck_{t}_R(struct {t}_R *p) {{
    for (int i = 0; p && i < 5; i++, p = p->next)
        if (p->sum != mix(p->id) || (p->other && p->other->sum != mix(p->other->id))) bad(__LINE__); else use(p->id);
}}
static void ck_{t}_Q(struct {t}_Q<@a> *view @b p) {{
    for (int i = 0; p && i < 5; i++, p = p->next)
        if (p->sum != mix(p->id) || (p->side && p->side->sum != mix(p->side->id))) bad(__LINE__); else use(p->id);
}}
static struct {t}_K {t}_K_new(void) {{ {word}<@d> k = {maker}; return (struct {t}_K){{ k, nullptr, fresh() }}; }}
static struct {t}_K {t}_K_push(consume struct {t}_K p) {{
    unpack p as {{@d, k, top, id}};
    {{
        open {open} h = k;
        top = new(h) struct {t}_R{{ .id = fresh(), .sum = mix(ids), .next = top, .other = top }};
    }}
    return (struct {t}_K){{ k, top, id }};
}}
static void {t}_K_ck(struct {t}_K p) {{
    unpack p as {{@d, k, top: list}};
    open {open} h = k;
    (void)h;
    ck_{t}_R(list);
}}
static void {t}_K_free(consume struct {t}_K p) {{
    unpack p as {{@d, k: mine}};
    {give}(mine);
}}
generic <T: move> struct {t}_box {{ T value; long id; }};
generic <T: move> T {t}_unbox(consume struct {t}_box<T> b) {{ return b.value; }}
generic <T: move> struct {t}_box<T> {t}_put(consume T x) {{ return (struct {t}_box<T>){{ x, fresh() }}; }}
generic <T: move> struct {t}_box<T> *unique {t}_lift(consume struct {t}_box<T> b) {{ T x = b.value; return new struct {t}_box<T>{{ x, fresh() }}; }}
generic <T: move> T {t}_pass(consume T x) {{ return x; }}
generic <T: move> T {t}_first(consume T x, T *slot) {{ x :=: *slot; return x; }}
generic <own q> struct {t}_hold {{ long id; struct {t}_N *q p; }};
generic <own q> long {t}_held_id(struct {t}_hold<q> *d) {{ return d->p->id; }}
"
        );
        let f = &self.families;
        let parts = [
            (f.unions, UNIONS),
            (f.exchange, EXCHANGE),
            (f.tasks, TASKS),
            (f.outlives, OUTLIVES),
            (f.cells, CELLS),
            (f.servers, SERVERS),
            (f.stores, STORES),
            (f.sure, SURE),
            (f.environments, ENVIRONMENTS),
            (f.words, WORDS),
        ];
        let first = self.name(0).to_string();
        let text = |part: &str| part.replace("$P", &first).replace('$', t);
        for (_, (before, _)) in parts.iter().filter(|(wanted, _)| *wanted) {
            out.push_str(&text(before));
        }
        for n in 0..self.records.len() {
            out.push_str(&self.declaration(n));
        }
        for (_, (_, behind)) in parts.iter().filter(|(wanted, _)| *wanted) {
            out.push_str(&text(behind));
        }
        for n in 0..self.records.len() {
            out.push_str(&self.helpers(n));
        }
        out
    }

    fn declaration(&self, n: usize) -> String {
        let record = &self.records[n];
        let t = &self.tag;
        let mut out = format!("struct {} {{\n    long id;\n    unsigned long sum;\n", record.name);
        for Field { name, holds } in &record.fields {
            let of = |k: usize| format!("struct {}", self.name(k));
            let line = match *holds {
                Holds::Witness => format!("struct W *rc {name}"),
                Holds::Unique(k) => format!("{} *unique {name}", of(k)),
                Holds::Rc(k) => format!("{} *rc {name}", of(k)),
                Holds::Heap(k) => format!("{} *{name}", of(k)),
                Holds::Many(k, size) => format!("{} *unique {name}[{size}]", of(k)),
                Holds::Held(k) => format!("{} {name}", of(k)),
                Holds::Numbers(size) => format!("long {name}[{size}]"),
                Holds::Pack => format!("struct {t}_K {name}"),
                Holds::Variant => format!("tagged union {t}_V {name}"),
            };
            out.push_str(&format!("    {line};\n"));
        }
        out.push_str("};\n");
        out
    }

    /// What an initialiser writes in braces; `d` is how deep the object may own.
    pub fn initialiser(&self, n: usize, d: &str) -> String {
        let t = &self.tag;
        let mut parts = vec![".id = fresh()".to_string(), ".sum = mix(ids)".to_string()];
        for Field { name, holds } in &self.records[n].fields {
            let part = match *holds {
                Holds::Witness => format!("retain({t}_tok)"),
                Holds::Unique(k) => format!("{d} > 0 ? mk_{}({d} - 1) : nullptr", self.name(k)),
                Holds::Rc(k) => format!("{d} > 1 ? mkc_{}({d} - 2) : nullptr", self.name(k)),
                Holds::Many(k, _) => format!("{{ {d} > 1 ? mk_{}({d} - 2) : nullptr }}", self.name(k)),
                Holds::Held(k) => format!("{{ {} }}", self.initialiser(k, "0")),
                Holds::Pack => format!("{t}_K_new()"),
                Holds::Variant => format!("{t}_V_new({d})"),
                Holds::Heap(_) | Holds::Numbers(_) => continue,
            };
            parts.push(format!(".{name} = {part}"));
        }
        parts.join(", ")
    }

    fn helpers(&self, n: usize) -> String {
        let (p, t) = (self.name(n), &self.tag);
        let inside = self.initialiser(n, "d");
        let mut walk = String::new();
        let mut count = String::new();
        for Field { name, holds } in &self.records[n].fields {
            match *holds {
                Holds::Witness => count.push_str("    n++;\n"),
                Holds::Unique(k) => {
                    walk.push_str(&format!("    n += walk_{}(p->{name});\n", self.name(k)));
                    count.push_str(&format!("    n += wits_{}(p->{name});\n", self.name(k)));
                }
                Holds::Many(k, size) => {
                    walk.push_str(&format!(
                        "    for (int i = 0; i < {size}; i++) n += walk_{}(p->{name}[i]);\n",
                        self.name(k)
                    ));
                    count.push_str(&format!(
                        "    for (int i = 0; i < {size}; i++) n += wits_{}(p->{name}[i]);\n",
                        self.name(k)
                    ));
                }
                Holds::Held(k) => {
                    walk.push_str(&format!("    if (p->{name}.sum != mix(p->{name}.id)) bad(__LINE__);\n"));
                    for part in &self.records[k].fields {
                        match part.holds {
                            Holds::Witness => count.push_str("    n++;\n"),
                            Holds::Unique(k) => {
                                count.push_str(&format!("    n += wits_{}(p->{name}.{});\n", self.name(k), part.name))
                            }
                            _ => {}
                        }
                    }
                }
                Holds::Heap(_) => {
                    walk.push_str(&format!(
                        "    if (p->{name} && p->{name}->sum != mix(p->{name}->id)) bad(__LINE__);\n"
                    ));
                }
                Holds::Variant => walk.push_str(&format!(
                    "    switch (p->{name}) {{ case .own(q): n += walk_{}(q); break; case .num(m): use(m); break; default: break; }}\n",
                    self.name(0)
                )),
                Holds::Rc(_) | Holds::Numbers(_) | Holds::Pack => {}
            }
        }
        let may_count = self.records[n].may_share && self.held_is_counted(n);
        let wits = if may_count {
            format!(
                "static long wits_{p}(struct {p} *view p) {{\n    if (!p) return 0;\n    long n = 0;\n{count}    return n;\n}}\n"
            )
        } else {
            String::new()
        };
        let work = if self.families.tasks {
            format!(
                "static void work_{p}(consume struct {p} *unique p, long n) {{
    for (long i = 0; p && i < n; i++) {{ ck_{p}(p); yield(); bump_{p}(p); }}
    drop_{p}(p);
}}
"
            )
        } else {
            String::new()
        };
        let _ = t;
        format!(
            "static struct {p} *unique mk_{p}(long d);
static struct {p} *rc mkc_{p}(long d) {{ return new rc struct {p}{{ {inside} }}; }}
static struct {p} *unique mk_{p}(long d) {{ return new struct {p}{{ {inside} }}; }}
static struct {p} val_{p}(long d) {{ return (struct {p}){{ {inside} }}; }}
static struct {p} *unique may_{p}(long d) {{ return fresh() % 3 ? mk_{p}(d) : nullptr; }}
static void ck_{p}(struct {p} *any p) {{ if (p->sum != mix(p->id)) bad(__LINE__); use(p->id); }}
static void bump_{p}(struct {p} *p) {{ if (p->sum != mix(p->id)) bad(__LINE__); p->id = fresh(); p->sum = mix(p->id); }}
static long walk_{p}(struct {p} *view p) {{
    if (!p) return 0;
    long n = 1;
    if (p->sum != mix(p->id)) bad(__LINE__);
    use(p->id);
{walk}    return n;
}}
{wits}static void drop_{p}(consume struct {p} *unique p) {{ if (p) use(walk_{p}(p)); free(p); }}
static long *@x at_{p}(struct {p} *@x p) {{ return &p->id; }}
static struct {p} *@x pick_{p}(struct {p} *@x p, struct {p} *@x q) {{ return fresh() & 1 ? p : q; }}
{work}"
        )
    }

    /// Whether all witnesses below can be counted: structs inside structs inside are not looked
    /// into, nor are their arrays.
    fn held_is_counted(&self, n: usize) -> bool {
        self.records[n].fields.iter().all(|f| match f.holds {
            Holds::Held(k) => {
                let simple = |h| matches!(h, Holds::Witness | Holds::Numbers(_) | Holds::Heap(_));
                let counted = |h| matches!(h, Holds::Unique(k) if self.may_give(k));
                self.records[k].fields.iter().all(|f| simple(f.holds) || counted(f.holds))
            }
            Holds::Unique(k) | Holds::Many(k, _) => k == n || self.may_give(k),
            _ => true,
        })
    }

    /// Whether an object may be given to the collector, with its witnesses counted.
    pub fn may_give(&self, n: usize) -> bool {
        self.records[n].may_share && self.held_is_counted(n)
    }

    /// Whether something in a struct is owned.
    fn owns(&self, n: usize) -> bool {
        self.records[n].fields.iter().any(|f| match f.holds {
            Holds::Heap(_) | Holds::Numbers(_) => false,
            Holds::Held(k) => self.owns(k),
            _ => true,
        })
    }

    /// Whether a struct of this record moves, and can be taken apart by hand.
    pub fn is_plain_value(&self, n: usize) -> bool {
        let fields = &self.records[n].fields;
        self.owns(n) && !fields.iter().any(|f| matches!(f.holds, Holds::Pack))
    }
}
