//! `lee top --why ID`: what the memory of a process or custodian consists of.
//!
//! The program answers with a tree of paths (`runtime/src/why.h`): roots, and below each the types
//! that are reached from there, with the word of the object above that leads to them. Types have
//! their names and the names of their fields beside them (`crates/emit_c/src/described.rs`), roots
//! are places in the program's file. Here both become rows: one for each type and root, with the
//! shortest path.

use super::json::{list, quoted};
use super::names::Names;
use super::read::{request, strange};
use super::{draw, Asked};
use crate::failure::{Failure, Outcome};
use std::collections::HashMap;
use std::fmt::{Display, Formatter, Write};

/// A custodian or a process, by its number in the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Id {
    Custodian(u64),
    Process(u64),
}

impl Id {
    /// `c12`, `p7`; none: something else.
    pub fn parse(text: &str) -> Option<Id> {
        let digits = text.get(1..).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        match (text.as_bytes().first()?, digits.parse().ok()?) {
            (b'c', number) => Some(Id::Custodian(number)),
            (b'p', number) => Some(Id::Process(number)),
            _ => None,
        }
    }
}

impl Display for Id {
    fn fmt(&self, out: &mut Formatter) -> std::fmt::Result {
        match self {
            Id::Custodian(number) => write!(out, "c{number}"),
            Id::Process(number) => write!(out, "p{number}"),
        }
    }
}

/// A place on a path.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    /// Before it in the list; none: it is a root.
    parent: Option<usize>,
    /// Of the word in an element of the parent; none: any.
    offset: Option<u64>,
    root: String,
    place: u64,
    objects: u64,
    bytes: u64,
    name: String,
    fields: Fields,
    sites: String,
}

/// What is known of the pointers of a type.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Fields {
    /// Bytes of an element; 0: not known.
    size: u64,
    /// And before the first one.
    front: u64,
    each: Vec<Field>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    offset: u64,
    /// Bytes from one to the next, and how many there are.
    repeat: Option<(u64, u64)>,
    /// Empty: the element itself is a pointer.
    path: String,
    /// The type that it points to.
    target: String,
}

/// What a program answers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Why {
    pub pid: u64,
    /// That were looked at.
    pub processes: u64,
    pub objects: u64,
    /// Everything that is reached was.
    pub complete: bool,
    /// Bytes of what is in memory, by kinds.
    pub parts: Vec<(String, u64)>,
    nodes: Vec<Node>,
}

/// Objects of a type that are reached from a root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub kind: String,
    pub root: String,
    pub objects: u64,
    pub bytes: u64,
    /// The shortest.
    pub path: String,
    pub sites: String,
}

const HEADS: [&str; 5] = ["objects", "bytes", "type", "path", "allocated at"];

/// Asks the program; the rows with the most bytes come first.
pub fn ask(asked: &mut Asked, id: Id) -> Outcome<(Why, Vec<Row>)> {
    let text = request(&asked.path, &format!("why\t{id}\n"))?;
    match text.as_str() {
        "none\nend\n" => {
            let what = if matches!(id, Id::Process(_)) { "process" } else { "custodian" };
            return Err(Failure::error(format!(
                "the program has no {what} {id}; 'lee top' lists those that are there"
            )));
        }
        "memory\nend\n" => return Err(Failure::error("the program has no memory to find that out")),
        _ => {}
    }
    let why = parse(&text).ok_or_else(|| strange(&asked.path))?;
    asked.names.learn(why.pid);
    let rows = rows(&why, &asked.names);
    Ok((why, rows))
}

/// None if it is something else, or ends too early.
pub fn parse(text: &str) -> Option<Why> {
    let mut why = Why::default();
    let (mut begun, mut ended) = (false, false);
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let given = |at: usize| if *fields.get(at)? == "-" { Some(None) } else { number(at).map(Some) };
        let word = |at: usize| Some((*fields.get(at)?).to_string());
        match *fields.first()? {
            "why" => {
                (why.pid, why.processes, why.objects) = (number(1)?, number(2)?, number(3)?);
                why.complete = word(4)? == "all";
                begun = true;
            }
            "part" => why.parts.push((word(1)?, number(2)?)),
            "node" => {
                let parent = given(2)?.map(usize::try_from).transpose().ok()?;
                // So a path ends.
                if number(1)? != why.nodes.len() as u64 || parent.is_some_and(|parent| parent >= why.nodes.len()) {
                    return None;
                }
                why.nodes.push(Node {
                    parent,
                    offset: given(3)?,
                    root: word(4)?,
                    place: number(5)?,
                    objects: number(6)?,
                    bytes: number(7)?,
                    name: word(8)?,
                    fields: Fields::parse(fields.get(9)?),
                    sites: word(10)?,
                });
            }
            "end" => ended = true,
            "cut" => (ended, why.complete) = (true, false),
            _ => return None,
        }
    }
    (begun && ended && why.pid != 0).then_some(why)
}

impl Fields {
    /// `24+16;OFFSET NAME TYPE;OFFSET+STRIDE*COUNT NAME[] TYPE`; what is not so is left out.
    fn parse(text: &str) -> Fields {
        let mut parts = text.split(';');
        let (size, front) = parts.next().and_then(|head| head.split_once('+')).unwrap_or_default();
        let (size, front) = (size.parse().unwrap_or(0), front.parse().unwrap_or(0));
        Fields { size, front, each: parts.filter_map(Field::parse).collect() }
    }

    fn find(&self, offset: Option<u64>) -> Option<&Field> {
        let offset = offset?.checked_sub(self.front)?;
        let offset = if self.size == 0 { offset } else { offset % self.size };
        self.each.iter().find(|field| field.is_at(offset))
    }
}

impl Field {
    fn parse(text: &str) -> Option<Field> {
        let mut words = text.splitn(3, ' ');
        let (place, path, target) = (words.next()?, words.next()?, words.next()?);
        let (offset, repeat) = match place.split_once('+') {
            None => (place, None),
            Some((offset, repeat)) => {
                let (stride, count) = repeat.split_once('*')?;
                (offset, Some((stride.parse().ok()?, count.parse().ok()?)))
            }
        };
        let offset = offset.parse().ok()?;
        Some(Field { offset, repeat, path: path.to_string(), target: target.to_string() })
    }

    fn is_at(&self, offset: u64) -> bool {
        let Some(after) = offset.checked_sub(self.offset) else { return false };
        match self.repeat {
            Some((stride, count)) if stride > 0 => after % stride == 0 && after / stride < count,
            _ => after == 0,
        }
    }
}

impl Why {
    fn parent<'a>(&'a self, node: &Node) -> Option<&'a Node> {
        self.nodes.get(node.parent?)
    }

    /// How a node is called: as its type; else as what leads to it says.
    fn kind(&self, node: &Node) -> String {
        if !node.name.is_empty() {
            return node.name.clone();
        }
        let field = self.parent(node).and_then(|parent| parent.fields.find(node.offset));
        field.map_or_else(|| "data".to_string(), |field| field.target.clone())
    }

    /// From the root on: `global cache -> struct table.buckets[] -> struct entry`. Gives its length,
    /// too.
    fn path(&self, node: &Node, names: &Names) -> (usize, String) {
        let mut steps = vec![self.kind(node)];
        let (mut below, mut at) = (node, self.parent(node));
        while let Some(node) = at {
            if node.parent.is_none() && node.root != "heap" {
                steps.push(root(node, names));
                break;
            }
            let field = match node.fields.find(below.offset) {
                Some(field) if field.path.is_empty() => "[]".to_string(),
                Some(field) if field.path.starts_with('[') => field.path.clone(),
                Some(field) => format!(".{}", field.path),
                None => below.offset.filter(|&at| at != 0).map_or(String::new(), |at| format!("+{at}")),
            };
            steps.push(format!("{}{field}", self.kind(node)));
            (below, at) = (node, self.parent(node));
        }
        steps.reverse();
        (steps.len(), steps.join(" -> "))
    }

    fn root(&self, node: &Node, names: &Names) -> String {
        let mut at = node;
        while let Some(parent) = self.parent(at) {
            at = parent;
        }
        root(at, names)
    }
}

/// A root's name.
fn root(node: &Node, names: &Names) -> String {
    let found = names.find(node.place).filter(|_| node.place != 0);
    match (node.root.as_str(), found) {
        ("variable", Some(variable)) if variable.is_own => format!("global {}", variable.name),
        ("variable", Some(variable)) => format!("{} of C code or the runtime", variable.name),
        ("variable", None) => format!("variable at {:#x}", node.place),
        ("stack", Some(function)) => format!("stack of {}", function.name),
        ("stack", None) => "stack".to_string(),
        ("arena", _) => "an arena of a block".to_string(),
        ("exchange", _) => "an exchange arena".to_string(),
        ("message", _) => "a message that has arrived".to_string(),
        ("runtime", _) => "the runtime".to_string(),
        _ => "paths that were too many".to_string(),
    }
}

/// One for each type and root; those with the most bytes come first.
pub fn rows(why: &Why, names: &Names) -> Vec<Row> {
    let mut known: HashMap<(String, String), (usize, Row)> = HashMap::new();
    for node in why.nodes.iter().filter(|node| node.objects > 0) {
        let (kind, root) = (why.kind(node), why.root(node, names));
        let (length, path) = why.path(node, names);
        match known.get_mut(&(kind.clone(), root.clone())) {
            Some((shortest, row)) => {
                row.objects += node.objects;
                row.bytes += node.bytes;
                if length < *shortest {
                    (*shortest, row.path) = (length, path);
                }
                if row.sites.is_empty() {
                    row.sites = node.sites.clone();
                }
            }
            None => {
                let (objects, bytes, sites) = (node.objects, node.bytes, node.sites.clone());
                let row = Row { kind: kind.clone(), root: root.clone(), objects, bytes, path, sites };
                known.insert((kind, root), (length, row));
            }
        }
    }
    let mut rows: Vec<Row> = known.into_values().map(|(_, row)| row).collect();
    rows.sort_by(|a, b| (b.bytes, &a.path).cmp(&(a.bytes, &b.path)));
    rows
}

/// The tables as text, of at most `most` rows.
pub fn text(id: Id, why: &Why, rows: &[Row], most: usize) -> String {
    let bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    let mut out = format!("{id}: {} objects of {} KB are reached", why.objects, bytes.div_ceil(1024));
    for (name, bytes) in why.parts.iter().filter(|(_, bytes)| *bytes > 0) {
        // Writing to a string does not fail.
        let _ = write!(out, "; {} {} KB", plain(name), bytes.div_ceil(1024));
    }
    if !why.complete {
        out.push_str("; there is more that was not looked at");
    }
    out.push_str("\n\n");
    let cells: Vec<[String; HEADS.len()]> = rows.iter().map(cells).collect();
    draw::table(&mut out, &HEADS, &cells, most, "rows");
    out
}

fn cells(row: &Row) -> [String; HEADS.len()] {
    [row.objects.to_string(), row.bytes.to_string(), plain(&row.kind), plain(&row.path), plain(&row.sites)]
}

/// What a terminal shows as it is.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// One line of JSON.
pub fn json(id: Id, why: &Why, rows: &[Row]) -> String {
    let mut out = format!(
        "{{\"pid\":{},\"id\":\"{id}\",\"processes\":{},\"objects\":{},\"complete\":{},\"parts\":{{",
        why.pid, why.processes, why.objects, why.complete
    );
    list(&mut out, &why.parts, |out, (name, bytes)| write!(out, "{}:{bytes}", quoted(name)));
    out.push_str("},\"rows\":[");
    list(&mut out, rows, |out, row| {
        let Row { kind, root, objects, bytes, path, sites } = row;
        let (kind, root, path, sites) = (quoted(kind), quoted(root), quoted(path), quoted(sites));
        write!(
            out,
            "{{\"type\":{kind},\"root\":{root},\"objects\":{objects},\"bytes\":{bytes},\"path\":{path},\"sites\":{sites}}}"
        )
    });
    out.push_str("]}\n");
    out
}
