//! Drawings of small contracts: nothing lies on anything else.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::picture::{draw, Place};
use super::{dot, edges, picture, text, titles};
use source::{Sink, SourceMap, Symbol};
use typing::contracts::Contract;
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
    assert_eq!(text::write(&types, named(&types, "Nic")), expected);
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
