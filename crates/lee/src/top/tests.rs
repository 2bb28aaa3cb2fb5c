#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::{draw, json, read};

const TEXT: &str = "program\t12\t5000\t1
custodian\t10\t0\t4096\t-\t2\t-\t2\t-\t0\t-\t1\t-\t0\t100\t1\topen
custodian\t20\t10\t4096\t8192\t2\t50\t2\t-\t0\t-\t1\t9\t3000000\t300\t1\topen
process\t30\t20\tready\t4096\t1\t1\t7
process\t31\t20\trunning\t0\t1\t0\t0
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

#[test]
fn the_table_has_those_that_ran_or_are_limited() {
    let answer = read::parse(TEXT).unwrap();
    let text = draw::table(&answer, None, 10);
    assert!(text.contains("       c1     c0  100.0     300        3.0          4         8 "), "{text}");
    assert!(!text.contains("       c0 "), "{text}");
    let text = draw::table(&answer, Some(&answer), 1);
    assert!(text.contains("       c1     c0    0.0 "), "{text}");
    assert!(text.contains("and 1 more processes"), "{text}");
}
