//! Drawings of small contracts: nothing lies on anything else.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::picture::{draw, Place};
use super::{dot, edges, picture, text, titles};
use source::{Sink, SourceMap, Symbol};
use typing::contracts::{Contract, ContractId};
use typing::TypeStore;

fn contracts(text: &str) -> TypeStore {
    let map = SourceMap::new("test.lee", text.to_string());
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, syntax::ParseOptions::new(syntax::Dialect::Leeward), &mut sink);
    let program = typing::check(&unit, &map, &typing::Options::default(), &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.all);
    program.types
}

fn named<'a>(types: &'a TypeStore, name: &str) -> &'a Contract {
    types.contracts.iter().find(|c| c.name == Symbol::new(name)).unwrap()
}

const NIC: &str = "contract Nic {
    out message Device_info(int speed, int mtu);
    in message Register(int events);
    in message Put_buffer(unsigned char *fat @exchange buffer);
    out message Bad_size(int mtu);
    out message Ok();
    in message Get_packet();
    out message Packet(int p);
    out message No_packet();
    state START { Device_info! -> SETUP; }
    state SETUP { Register? -> RUNNING; }
    state RUNNING { Put_buffer? -> (Ok! | Bad_size!) -> RUNNING; Get_packet? -> (Packet! | No_packet!) -> RUNNING; }
}";

fn apart(a: &Place, b: &Place) -> bool {
    (a.x - b.x).abs() >= (a.width + b.width) / 2.0 || (a.y - b.y).abs() >= (a.height + b.height) / 2.0
}

fn check_drawing(contract: &Contract) {
    let drawing = draw(contract);
    assert_eq!(drawing.states.len(), contract.states.len());
    assert_eq!(drawing.labels.len(), edges(contract).len());
    let all: Vec<&Place> = drawing.states.iter().chain(&drawing.labels).collect();
    for (n, a) in all.iter().enumerate() {
        for b in all.iter().skip(n + 1) {
            assert!(apart(a, b), "{}: {a:?} lies on {b:?}", contract.name);
        }
    }
    let text = picture::write(contract);
    assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    assert!(["NaN", "\"inf", " inf", "-inf"].iter().all(|odd| !text.contains(odd)), "{text}");
}

#[test]
fn states_have_names() {
    let types = contracts(NIC);
    assert_eq!(titles(named(&types, "Nic")), ["START", "SETUP", "RUNNING", "RUNNING.1", "RUNNING.2"]);
}

#[test]
fn as_text() {
    let types = contracts(NIC);
    let expected = "contract Nic
at most 1 message is on its way to the importer, 2 messages are on their way to the exporter
digest 0x65439105d7b605f0

messages
  out Device_info(int speed, int mtu)
  in  Register(int events)
  in  Put_buffer(unsigned char *fat @exchange buffer)
  out Bad_size(int mtu)
  out Ok()
  in  Get_packet()
  out Packet(int p)
  out No_packet()

states
  START: the exporter sends, where a channel begins
    Device_info! -> SETUP
  SETUP: the importer sends
    Register? -> RUNNING
  RUNNING: the importer sends
    Put_buffer? -> RUNNING.1
    Get_packet? -> RUNNING.2
  RUNNING.1: the exporter sends
    Ok!       -> RUNNING
    Bad_size! -> RUNNING
  RUNNING.2: the exporter sends
    Packet!    -> RUNNING
    No_packet! -> RUNNING
";
    assert_eq!(text::write(&types, ContractId(0), named(&types, "Nic")), expected);
}

#[test]
fn for_graphviz() {
    let types = contracts("contract Ping { in message Ask(); out message No(); out message Yes(); state A { Ask? -> (Yes! | No!) -> A; } }");
    let expected = "digraph \"Ping\" {
  node [fontname=\"sans-serif\" fontsize=12];
  edge [fontname=\"sans-serif\" fontsize=11];
  begin [shape=point label=\"\"];
  s0 [shape=box style=rounded label=\"A\"];
  s1 [shape=circle width=0.15 label=\"\" tooltip=\"A.1\"];
  begin -> s0;
  s0 -> s1 [label=\"Ask?\" color=\"#2e7d32\" fontcolor=\"#2e7d32\" style=dashed];
  s1 -> s0 [label=\"Yes!\\nNo!\" color=\"#1f5fa8\" fontcolor=\"#1f5fa8\"];
}
";
    assert_eq!(dot::write(named(&types, "Ping")), expected);
}

#[test]
fn nothing_overlaps() {
    check_drawing(named(&contracts(NIC), "Nic"));
    let end = contracts("contract One { out message Bye(); state A { Bye! -> END; } state END { } }");
    check_drawing(named(&end, "One"));
    // A wide choice, paths of different lengths, and paths back over several layers.
    let mut text = String::from("contract Wide { in message Go(); in message Far(); ");
    (0..12).for_each(|n| text += &format!("out message Answer_number_{n}(); "));
    text += "state A { Go? -> (";
    let chains: Vec<String> =
        (0..12).map(|n| format!("Answer_number_{n}! -> {}", if n % 3 == 0 { "A" } else { "B" })).collect();
    text += &chains.join(" | ");
    text += "); } state B { Far? -> C; } state C { Answer_number_1! -> D; Answer_number_2! -> A; } state D { Go? -> B; Far? -> END; } state END { } }";
    check_drawing(named(&contracts(&text), "Wide"));
}

/// The digest of a contract of the text.
fn digest(text: &str, name: &str) -> u64 {
    let types = contracts(text);
    let number = types.contracts.iter().position(|c| c.name == Symbol::new(name)).unwrap();
    typing::digest::contract_digest(&types, ContractId(number as u32))
}

const PARTS: &str = "enum colour { RED, GREEN };
struct item { struct item *@exchange next; int n; enum colour c; unsigned char data[4]; };
struct flat { int f; };
contract Other {
    in message Ask(int n);
    out message Reply();
    state START { Ask? -> Reply! -> MORE; }
    state MORE { Ask? -> Reply! -> START; }
}
contract Base {
    out message Open(const struct flat *rc @exchange i);
    in message Opened();
    state START { Open! -> Opened? -> START; }
}
contract Last extends Base {
    out message Begin();
    in message Take(struct item *@exchange i, unsigned long n);
    out message Ok(Other.imp:START o);
    out message No();
    state START { Begin! -> REST; }
    state REST { Take? -> (Ok! -> START | No! -> REST); }
}";

#[test]
fn digests_change_with_the_contract() {
    let text = PARTS;
    let plain = digest(text, "Last");
    let changes = [
        // Its own messages and states.
        ("unsigned long n", "unsigned int n"),
        ("unsigned long n", "long n"),
        ("unsigned long n", "unsigned long long n"),
        ("unsigned long n", "unsigned long n, bool b"),
        ("struct item *@exchange i, u", "struct item *fat @exchange i, u"),
        ("struct item *@exchange i, u", "const struct flat *rc @exchange i, u"),
        ("out message No();", "out message No(int n);"),
        ("No", "Nothing"),
        (
            "out message Ok(Other.imp:START o);\n    out message No();",
            "out message No();\n    out message Ok(Other.imp:START o);",
        ),
        ("(Ok! -> START | No! -> REST)", "(Ok! -> START | No! -> START)"),
        ("(Ok! -> START | No! -> REST)", "(Ok! | No!) -> REST"),
        ("(Ok! -> START | No! -> REST)", "(No! -> REST | Ok! -> START)"),
        ("REST", "PAUSE"),
        ("Begin! -> REST", "Begin! -> Take? -> No! -> REST"),
        // What it extends, and what it carries.
        ("Other.imp:START o", "Other.imp:MORE o"),
        ("in message Ask(int n);", "in message Ask(short n);"),
        ("state MORE { Ask? -> Reply! -> START; }", "state MORE { Ask? -> Reply! -> MORE; }"),
        ("Base", "Root"),
        ("const struct flat *rc @exchange i);", "int i);"),
        ("Opened", "Open_now"),
        // The types of what it carries, however deep.
        ("int n; enum", "int m; enum"),
        ("int n; enum", "unsigned n; enum"),
        ("int n; enum", "int n, m; enum"),
        ("GREEN }", "GREEN = 2 }"),
        ("RED,", "BLUE,"),
        ("data[4]", "data[5]"),
        ("struct item *@exchange next", "struct item *fat @exchange next"),
        ("item", "part"),
        ("int f", "long f"),
    ];
    let mut all = vec![plain];
    for (from, to) in changes {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from:?}");
        let found = digest(&changed, "Last");
        assert!(!all.contains(&found), "{from:?}");
        all.push(found);
    }
    // What two programs need not have in common.
    let alike = [
        ("(int n)", "(int number)"),
        ("enum colour", "struct before { int n; };\ncontract Before { out message Hello(); state A { Hello! -> B; } state B {} }\nenum colour"),
        ("unsigned long n", "/* how many */ long unsigned int n"),
    ];
    for (from, to) in alike {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from:?}");
        assert_eq!(digest(&changed, "Last"), plain, "{from:?}");
    }
}

/// Those of `tests/run/contract_digest`, which knows them as numbers, too, and runs on each machine.
#[test]
fn a_digest_is_the_same_in_every_program() {
    let text = "struct unused { int n; };
contract Ring { in message Give(Ring.imp:READY other); out message Taken(); state READY { Give? -> Taken! -> READY; } }
contract Ping { in message Ask(int n); out message Reply(int n); state READY { Ask? -> Reply! -> READY; } }";
    assert_eq!(digest(text, "Ping"), 0x465c_dbcc_aa81_3ece);
    assert_eq!(digest(text, "Ring"), 0x2dfd_b508_9449_a806);
}
