#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::rows::{self, Order, Rows};
use super::screen::{self, View};
use super::{draw, json, names, read};
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use ratatui::Terminal;

const TEXT: &str = "program\t12\t5000\t1
custodian\t10\t0\t4096\t-\t2\t-\t2\t-\t0\t-\t1\t-\t0\t100\t1\topen
custodian\t20\t10\t4096\t8192\t2\t50\t2\t-\t0\t-\t1\t9\t3000000\t300\t1\topen
process\t30\t20\tready\t4096\t1\t1\t7\t4096
process\t31\t20\trunning\t0\t1\t0\t0\t0
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
    assert_eq!(value["processes"][0]["state"], "ab");
}

fn rows_of(answer: &read::Answer, before: Option<&read::Answer>) -> Rows {
    rows::rows(answer, before, Order::Time)
}

#[test]
fn the_table_has_those_that_ran_or_are_limited() {
    let answer = read::parse(TEXT).unwrap();
    let rows = rows_of(&answer, None);
    assert_eq!(rows.custodians.len(), 1);
    assert_eq!(rows.custodians[0][..7], ["c1", "c0", "100.0", "300", "3.0", "4", "8"]);
    let rows = rows_of(&answer, Some(&answer));
    assert_eq!(rows.custodians[0][2], "0.0");
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
        // The first row is scrolled away.
        assert_eq!(text.contains("c1  "), height == 24, "{text}");
    }
}

#[test]
fn keys_change_the_view() {
    let view = screen::change(View::default(), KeyCode::Char('m')).unwrap();
    assert_eq!(view.order, Order::Memory);
    assert_eq!(screen::change(view, KeyCode::Up).unwrap().scrolled, 0);
    assert_eq!(screen::change(view, KeyCode::PageDown).unwrap().scrolled, 10);
    assert!(screen::change(view, KeyCode::Char('q')).is_none());
}
