#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::rows::{self, Order, Rows};
use super::screen::{self, View};
use super::{draw, json, names, read, why};
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use ratatui::Terminal;

const TEXT: &str = "program\t12\t5000\t1
custodian\t10\t0\t4096\t-\t2\t-\t2\t-\t0\t-\t1\t-\t0\t100\t1\topen
custodian\t20\t10\t4096\t8192\t2\t50\t2\t-\t0\t-\t1\t9\t3000000\t300\t1\topen
process\t30\t20\tready\t4096\t1\t1\t7\t4096\tmessage\tTwo\t31\t-
process\t31\t20\trunning\t0\t1\t0\t0\t0\t-\t-\t0\t1
worker\t0\tsleeps\t0
worker\t1\truns\t2
end\tTwo\t30\t31\t7\t8\treceives
end
";

#[test]
fn what_a_program_sends_is_read() {
    let answer = read::parse(TEXT).unwrap();
    assert_eq!((answer.pid, answer.custodians.len(), answer.processes.len(), answer.cut), (12, 2, 2, false));
    assert_eq!(answer.custodians[1].uses[0], read::Use { now: 4096, most: Some(8192) });
    assert_eq!(answer.custodians[1].uses[4], read::Use { now: 1, most: Some(9) });
    assert_eq!((answer.processes[0].state.as_str(), answer.processes[0].messages), ("ready", 7));
}

#[test]
fn what_is_cut_or_something_else_is_told_apart() {
    assert!(read::parse(&TEXT.replace("end\n", "cut\n")).unwrap().cut);
    for wrong in [
        "",
        "end\n",
        "HTTP/1.1 200 OK\n",
        &TEXT.replace("end\n", ""),
        &TEXT.replace("\t300", ""),
        &TEXT.replace("8192", "x"),
        &TEXT.replace("message", "omen"),
        &TEXT.replace("message\tTwo\t31", "message"),
        &TEXT.replace("\t7\t8", "\t7"),
        &TEXT.replace("runs\t2", "runs"),
    ] {
        assert_eq!(read::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn json_is_json() {
    let text = json::write(&read::parse(&TEXT.replace("ready\t4096", "a\"b\t4096")).unwrap());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["custodians"][0]["parent"], serde_json::Value::Null);
    assert_eq!(value["custodians"][1]["bytes_most"], 8192);
    assert_eq!(value["processes"][0]["messages"], 7);
    assert_eq!(value["processes"][0]["state"], "a\"b");
    assert_eq!(
        (&value["processes"][0]["worker"], value["processes"][1]["worker"].as_u64()),
        (&serde_json::Value::Null, Some(1))
    );
    assert_eq!(
        (value["workers"][1]["queued"].as_u64(), value["ends"][0]["messages_most"].as_u64()),
        (Some(2), Some(8))
    );
    assert_eq!(value["processes"][0]["waits"]["contract"], "Two");
    assert_eq!(value["processes"][1]["waits"], serde_json::Value::Null);
    let odd = "a\"b\\c\n\u{1b}\u{9b}";
    assert_eq!(serde_json::from_str::<String>(&json::quoted(odd)).unwrap(), odd);
}

fn rows_of(answer: &read::Answer, before: Option<&read::Answer>) -> Rows {
    rows::rows(answer, before, Order::Time)
}

#[test]
fn the_table_has_those_that_ran_or_are_limited() {
    let answer = read::parse(TEXT).unwrap();
    let rows = rows_of(&answer, None);
    assert_eq!(rows.custodians.len(), 1);
    assert_eq!(rows.custodians[0][..7], ["c20", "c10", "100.0", "300", "3.0", "4", "8"]);
    let rows = rows_of(&answer, Some(&answer));
    assert_eq!(rows.custodians[0][2], "0.0");
    assert!(rows.summary.ends_with("; w0 sleeps; w1 runs p31, 2 queued"), "{}", rows.summary);
    assert_eq!(rows.ends[0], ["Two", "p30", "p31", "7", "8", "receives"]);
    let text = draw::text(&rows, 1);
    assert!(text.contains("and 1 more processes"), "{text}");
}

#[test]
fn a_custodian_says_what_its_processes_began_with() {
    let mut answer = read::parse(TEXT).unwrap();
    answer.processes[0].name = Some("serve".into());
    assert_eq!(rows_of(&answer, None).custodians[0][11], "serve");
    answer.processes[1].name = Some("serve".into());
    assert_eq!(rows_of(&answer, None).custodians[0][11], "serve");
    answer.processes[1].name = Some("other".into());
    assert_eq!(rows_of(&answer, None).custodians[0][11], "several");
    let value: serde_json::Value = serde_json::from_str(&json::write(&answer)).unwrap();
    assert_eq!(value["processes"][1]["name"], "other");
}

#[test]
fn what_a_process_waits_for_is_told() {
    for (fields, told) in [
        ("message\tTwo\t31", "Two from p31"),
        ("end\t-\t31", "end of p31"),
        ("task\t-\t0", "a task"),
        ("queue\t-\t0", "a finalizer queue"),
        ("outside\t-\t0", "input or time"),
    ] {
        let answer = read::parse(&TEXT.replace("message\tTwo\t31", fields)).unwrap();
        let rows = rows_of(&answer, None);
        assert!(rows.processes.iter().any(|row| row[8] == told), "{:?}", rows.processes);
    }
}

#[test]
fn circles_are_found_once() {
    let process = |id: u64, waits: &str| format!("process\t{id}\t10\treceiving\t4096\t1\t2\t0\t0\t{waits}\t-\n");
    let told = |edges: &[(u64, u64)]| {
        let lines: String = edges.iter().map(|(id, to)| process(*id, &format!("message\tTwo\t{to}"))).collect();
        let answer = read::parse(&format!("program\t12\t1\t0\n{lines}{}end\n", process(99, "outside\t-\t0"))).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json::write(&answer)).unwrap();
        let rows = rows_of(&answer, None);
        assert_eq!(value["cycles"].as_array().unwrap().len(), rows.cycles.len());
        rows.cycles
    };
    assert_eq!(told(&[(2, 3), (3, 2), (4, 2), (1, 4)]), ["p2 and p3 wait for each other"]);
    assert_eq!(told(&[(7, 5), (5, 6), (6, 7)]), ["p5 waits for p6, which waits for p7, which waits for p5"]);
    assert_eq!(told(&[(9, 8), (8, 9), (2, 3), (3, 2)]).len(), 2);
    // A chain that ends, an end of no process, and a process with both ends of a channel.
    assert!(told(&[(2, 3), (3, 99), (4, 0), (5, 5), (6, 5)]).is_empty());
}

const WHY: &str = "why\t12\t1\t1003\tall
part\theap\t204800
part\tc\t0
node\t0\t-\t0\trest\t0\t0\t0\t\t\t
node\t1\t-\t0\tvariable\t4096\t0\t0\t\t\t
node\t2\t1\t0\theap\t0\t1\t160\tstruct table\t136+0;8+8*16 buckets[] struct entry\tt.lee:9
node\t3\t2\t24\theap\t0\t1000\t32000\tstruct entry\t24+0;0 next struct entry;8 name char\tt.lee:12, t.lee:20
node\t4\t3\t8\theap\t0\t2\t64\t\t\t
node\t5\t-\t0\tstack\t0\t0\t0\t\t\t
node\t6\t5\t-\theap\t0\t1\t32\t\t\t
node\t7\t3\t16\theap\t0\t1\t16\tstruct table\t136+0\t
end
";

#[test]
fn memory_is_told_by_types_and_paths() {
    let why = why::parse(WHY).unwrap();
    assert_eq!((why.objects, why.complete, why.parts.len()), (1003, true, 2));
    let rows = why::rows(&why, &names::Names::default());
    let seen: Vec<_> = rows.iter().map(|row| (row.objects, row.bytes, row.kind.as_str(), row.path.as_str())).collect();
    let root = "variable at 0x1000";
    assert_eq!(
        seen,
        [
            (1000, 32000, "struct entry", &*format!("{root} -> struct table.buckets[] -> struct entry")),
            (2, 176, "struct table", &*format!("{root} -> struct table")),
            (2, 64, "char", &*format!("{root} -> struct table.buckets[] -> struct entry.name -> char")),
            (1, 32, "data", "stack -> data"),
        ]
    );
    assert_eq!(rows[0].sites, "t.lee:12, t.lee:20");
    let id = why::Id::parse("p7").unwrap();
    let text = why::text(id, &why, &rows, 2);
    assert!(text.starts_with("p7: 1003 objects of 32 KB are reached; heap 200 KB\n"), "{text}");
    assert!(text.contains("and 2 more rows"), "{text}");
    let value: serde_json::Value = serde_json::from_str(&why::json(id, &why, &rows)).unwrap();
    assert_eq!((value["id"].as_str(), value["parts"]["heap"].as_u64()), (Some("p7"), Some(204_800)));
    assert_eq!(value["rows"][0]["bytes"], 32000);
}

#[test]
fn other_answers_about_memory_are_refused() {
    assert!(!why::parse(&WHY.replace("\nend\n", "\ncut\n")).unwrap().complete);
    for wrong in [
        "",
        "end\n",
        "none\nend\n",
        TEXT,
        &WHY.replace("\nend\n", "\n"),
        &WHY.replace("node\t2\t1", "node\t2\t2"),
        &WHY.replace("node\t2\t1", "node\t2\t99999999999999999999"),
        &WHY.replace("node\t2\t1", "node\t9\t1"),
        &WHY.replace("160", "x"),
    ] {
        assert_eq!(why::parse(wrong), None, "{wrong}");
    }
    // What is said of fields can be anything.
    for fields in ["", "+", "0+0;8", "8+99999999999;0 a b", "0+0;8+0*0 a[] b", "x+y;1+2 a b;;;"] {
        let text = WHY.replace("136+0;8+8*16 buckets[] struct entry", fields);
        assert_eq!(why::rows(&why::parse(&text).unwrap(), &names::Names::default()).len(), 4, "{fields}");
    }
}

#[test]
fn only_custodians_and_processes_have_ids() {
    assert_eq!(why::Id::parse("c12"), Some(why::Id::Custodian(12)));
    for wrong in ["", "c", "12", "x7", "p-1", "p+1", "cc1", "p99999999999999999999", "\u{e9}1"] {
        assert_eq!(why::Id::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_not_a_program_has_no_names() {
    assert_eq!(names::read(b""), None);
    assert_eq!(names::read(b"#!/bin/sh"), None);
    let own = std::fs::read("/proc/self/exe").unwrap();
    assert!(names::read(&own).is_some());
    for cut in [64, 100, 1000, own.len() / 2] {
        names::read(&own[..cut]); // whatever it says, it ends
    }
}

#[test]
fn the_picture_fits_any_terminal() {
    let answer = read::parse(TEXT).unwrap();
    for (width, height) in [(1, 1), (10, 3), (80, 24), (300, 100)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let view = View { scrolled: usize::from(height == 100), ..View::default() };
        terminal.draw(|frame| screen::picture(frame, &rows_of(&answer, None), view)).unwrap();
        let text = terminal.backend().to_string();
        assert_eq!(text.contains("custodian"), height > 3, "{text}");
        assert_eq!(text.contains("running"), width > 80 || height == 24, "{text}");
        let channels = View { channels: true, ..View::default() };
        terminal.draw(|frame| screen::picture(frame, &rows_of(&answer, None), channels)).unwrap();
        assert_eq!(terminal.backend().to_string().contains("receives"), width > 10);
        terminal.draw(|frame| screen::picture(frame, &rows_of(&answer, None), view)).unwrap();
        // The first row is scrolled away.
        assert_eq!(text.contains("c20  "), height == 24, "{text}");
    }
}

#[test]
fn keys_change_the_view() {
    let view = screen::change(View::default(), KeyCode::Char('m')).unwrap();
    assert_eq!(view.order, Order::Memory);
    assert_eq!(screen::change(view, KeyCode::Up).unwrap().scrolled, 0);
    assert_eq!(screen::change(view, KeyCode::PageDown).unwrap().scrolled, 10);
    assert!(screen::change(view, KeyCode::Char('c')).unwrap().channels);
    assert!(screen::change(view, KeyCode::Char('q')).is_none());
}
