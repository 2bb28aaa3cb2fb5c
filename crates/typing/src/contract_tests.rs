//! State machines of contracts from their text, and the combinations that cases leave out.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::contracts::*;
use crate::types::TypeStore;
use source::{Sink, SourceMap, Symbol};

fn checked(text: &str) -> (TypeStore, Vec<String>) {
    let map = SourceMap::new("test.lee", text.to_string());
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, syntax::ParseOptions::new(syntax::Dialect::Leeward), &mut sink);
    let program = crate::check(&unit, &map, &crate::Options::default(), &mut sink);
    (program.types, sink.all.iter().map(|d| d.message.clone()).collect())
}

/// The types of a text without mistakes.
fn types(text: &str) -> TypeStore {
    let (types, reports) = checked(text);
    assert!(reports.is_empty(), "{reports:?}");
    types
}

fn contract<'a>(types: &'a TypeStore, name: &str) -> (ContractId, &'a Contract) {
    let at = types.contracts.iter().position(|c| c.name == Symbol::new(name)).unwrap();
    (ContractId(at as u32), &types.contracts[at])
}

/// `0 A exp: Go>1 Stop>2`, one line a state.
fn machine(contract: &Contract) -> Vec<String> {
    let line = |(n, state): (usize, &State)| {
        let steps: String = state
            .alternatives
            .iter()
            .map(|(m, to)| format!(" {}>{}", contract.message(*m).unwrap().name, to.0))
            .collect();
        let name = state.name.map_or("-".to_string(), |n| n.to_string());
        format!("{n} {name} {}:{steps}", state.sender.map_or("end", Side::word))
    };
    contract.states.iter().enumerate().map(line).collect()
}

const NIC: &str = "contract Nic {
    in message Put(int n); in message Get();
    out message Ok(); out message Bad(int mtu); out message Packet(int p); out message Bye();
    state READY { Put? -> (Ok! | Bad! -> Bye! -> END) -> READY; Get? -> Packet! -> READY; }
    state END { }
}";

#[test]
fn chains_become_states() {
    let types = types(NIC);
    let (_, nic) = contract(&types, "Nic");
    let expected =
        ["0 READY imp: Put>3 Get>4", "1 END end:", "2 - exp: Bye>1", "3 - exp: Ok>0 Bad>2", "4 - exp: Packet>0"];
    assert_eq!(machine(nic), expected);
    assert_eq!(nic.places, [2, 1]);
    assert_eq!(nic.start, StateId(0));
}

#[test]
fn places_are_the_longest_run_of_one_side() {
    let types = types(
        "contract C {
            in message A(); in message B(); in message D(); out message X(); out message Y();
            state S { A? -> B? -> T; }
            state T { D? -> X! -> Y! -> S; A? -> U; }
            state U { B? -> V; }
            state V { X! -> S; }
        }",
    );
    // A B A B; X Y.
    assert_eq!(contract(&types, "C").1.places, [2, 4]);
}

#[test]
fn a_derived_contract_keeps_numbers() {
    let types = types(
        "contract Service { out message Refused(); state START { Refused! -> END; } state END { } }
         contract Clock extends Service {
            out message Ready(); in message Ask(); out message Time(long t);
            state START { Ready! -> SERVING; }
            state SERVING { Ask? -> Time! -> SERVING; }
         }",
    );
    let ((base, service), (derived, clock)) = (contract(&types, "Service"), contract(&types, "Clock"));
    let expected = ["0 START exp: Refused>1 Ready>2", "1 END end:", "2 SERVING imp: Ask>3", "3 - exp: Time>2"];
    assert_eq!(machine(clock), expected);
    assert_eq!(clock.messages[0].number, service.messages[0].number);
    assert!(types.contract_extends(derived, base) && !types.contract_extends(base, derived));
}

#[test]
fn one_mistake_is_one_report() {
    for (text, words) in [
        ("contract C { in message A(); state S { A! -> S; } }", "direction"),
        ("contract C { out message A(); state S { A! -> S; } }", "cycle"),
        ("contract C { out message A(); state S { A! -> T; } state T { A! -> S; } }", "cycle"),
        (
            "contract C { in message A(); out message B(); state S { A? -> END; B! -> END; } state END { } }",
            "direction",
        ),
        ("contract C { in message A(); out message B(); state S { A? -> (B! | A?) -> S; } }", "direction"),
        ("contract C { in message A(); state S { A? -> END; A? -> END; } state END { } }", "begin with"),
        ("contract C { in message A(); in message B(); state S { A? -> END; } state END { } }", "no state uses it"),
        ("contract C { in message A(); state S { A? -> END; } state END { } state T { A? -> S; } }", "never reached"),
        ("contract C { in message A(); state S { A? -> T; } }", "neither a state"),
        ("contract C { in message A(); state S { A?; } }", "which state follows"),
        ("contract C { in message A(); state S { B? -> END; A? -> END; } state END { } }", "not declared"),
        ("contract C { in message A(); in message A(); state S { A? -> END; } state END { } }", "declared twice"),
        ("contract C { in message A(); state S { A? -> S2; } state S2 { } state S2 { } }", "declared twice"),
        ("contract C { in message closed(); state S { } }", "not named"),
        ("contract C { }", "no state"),
        ("contract C { message A(); state S { A -> END; } state END { } }", "direction"),
        ("contract C { in message A(void *p); state S { A? -> END; } state END { } }", "exchangeable"),
        ("contract C { in message A(C.exp:S e); state S { A? -> END; } state END { } }", "new holder"),
        ("contract C { in message A(C.imp e); state S { A? -> END; } state END { } }", "says its state"),
        ("contract C { state S { } } contract C { state S { } }", "declared twice"),
        ("contract D extends C { state S { } } contract C { state S { } }", "before this one"),
    ] {
        let reports = checked(text).1;
        assert!(reports.len() == 1 && reports[0].contains(words), "{text}: {reports:?}");
    }
}

#[test]
fn endpoints_are_carried_to_who_sends() {
    types("contract C { in message A(C.imp:S e); state S { A? -> END; } state END { } }");
    types("struct pair { int n; D.exp:S e; }; contract D { out message A(struct pair p); state S { A! -> END; } state END { } }");
}

/// `a.M` or `a.closed` for each of the cases' conjuncts.
fn left_out(types: &TypeStore, ends: &[(&str, &str, Side, &[u32])], cases: &[&[(usize, &str)]]) -> Vec<String> {
    let ends: Vec<EndStates> = ends
        .iter()
        .map(|&(name, of, side, states)| EndStates {
            name: name.to_string(),
            contract: contract(types, of).0,
            side,
            states: states.iter().map(|&s| StateId(s)).collect(),
        })
        .collect();
    let head = |end: usize, name: &str| match name {
        "closed" => Head::Closed,
        name => Head::Message(types.contract(ends[end].contract).unwrap().find_message(Symbol::new(name)).unwrap()),
    };
    let cases: Vec<Vec<(usize, Head)>> =
        cases.iter().map(|case| case.iter().map(|&(end, name)| (end, head(end, name))).collect()).collect();
    missing(types, &ends, &cases)
}

#[test]
fn missing_messages_are_named() {
    let types = types(NIC);
    let importer: &[(&str, &str, Side, &[u32])] = &[("c", "Nic", Side::Imp, &[3])];
    let none: &[String] = &[];
    assert_eq!(left_out(&types, importer, &[&[(0, "Ok")], &[(0, "Bad")], &[(0, "closed")]]), none);
    assert_eq!(left_out(&types, importer, &[&[(0, "Ok")], &[(0, "closed")]]), ["c.Bad()"]);
    assert_eq!(left_out(&types, importer, &[&[(0, "Ok")], &[(0, "Bad")]]), ["c.closed()"]);
    assert_eq!(left_out(&types, importer, &[]), [""]);
    // In one of two states: what either may bring.
    let either: &[(&str, &str, Side, &[u32])] = &[("c", "Nic", Side::Imp, &[3, 4])];
    assert_eq!(left_out(&types, either, &[&[(0, "Ok")], &[(0, "Bad")], &[(0, "closed")]]), ["c.Packet()"]);
    // Where the conversation is over, nothing but the close comes.
    let over: &[(&str, &str, Side, &[u32])] = &[("c", "Nic", Side::Exp, &[1])];
    assert_eq!(left_out(&types, over, &[&[(0, "closed")]]), none);
}

#[test]
fn combinations_are_looked_through() {
    let types = types(NIC);
    let two: &[(&str, &str, Side, &[u32])] = &[("a", "Nic", Side::Imp, &[3]), ("b", "Nic", Side::Imp, &[4])];
    let closed: [&[(usize, &str)]; 2] = [&[(0, "closed")], &[(1, "closed")]];
    let both: &[(usize, &str)] = &[(0, "Ok"), (1, "Packet")];
    let bad: &[(usize, &str)] = &[(0, "Bad"), (1, "Packet")];
    let none: &[String] = &[];
    assert_eq!(left_out(&types, two, &[both, bad, closed[0], closed[1]]), none);
    assert_eq!(left_out(&types, two, &[both, closed[0], closed[1]]), ["a.Bad() && b.Packet()"]);
    assert_eq!(left_out(&types, two, &[both, bad, closed[0]]), ["a.Ok() && b.closed()", "a.Bad() && b.closed()"]);
    // A case that names one end is taken whatever the other brings.
    assert_eq!(left_out(&types, two, &[&[(1, "Packet")], &[(1, "closed")]]), none);
}

#[test]
fn many_ends_are_looked_through_in_time() {
    let types = types(NIC);
    let names: Vec<String> = (0..16).map(|n| format!("e{n}")).collect();
    let ends: Vec<(&str, &str, Side, &[u32])> =
        names.iter().map(|n| (n.as_str(), "Nic", Side::Imp, &[3u32][..])).collect();
    let heads: Vec<Vec<(usize, &str)>> =
        (0..16).flat_map(|n| ["Ok", "Bad", "closed"].map(|head| vec![(n, head)])).collect();
    let cases: Vec<&[(usize, &str)]> = heads.iter().map(Vec::as_slice).collect();
    assert_eq!(left_out(&types, &ends, &cases), &[] as &[String]);
}
