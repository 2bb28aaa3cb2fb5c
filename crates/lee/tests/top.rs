//! `lee top` beside a program that runs: what its socket tells, and who may ask.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{fresh, lee_in, tools};

/// One custodian with a loop, one with a process that waits for a message and has one that it does
/// not want yet. The program ends when its input does.
const PROGRAM: &str = r#"
#include <lee/custodian.lh>
#include <lee/process.lh>
#include <stdio.h>

contract Two {
    in message Number(int n);
    state OPEN { Number? -> DONE; }
    state DONE {}
}

process void spins(void) { for (;;); }

process void waits(Two.exp:OPEN late, Two.exp:OPEN never) {
    receive never.Number(n);
    receive late.Number(m);
    printf("%d %d\n", n, m);
    free(late);
    free(never);
}

int main(void) {
    custodian *own = custodian_current(), *loops = custodian_new(own), *idle = custodian_new(own);
    custodian_limit(loops, 32 << 20, loops);
    custodian_share(loops, 300);
    custodian_limit_count(idle, ENDPOINTS, 77, idle);
    custodian_enter(loops);
    spawn spins();
    custodian_enter(idle);
    channel Two (a, b);
    channel Two (c, d);
    pid waiting = spawn waits(b, d);
    custodian_enter(own);
    send a.Number(1);
    yield();
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF);
    kill(waiting);
    free(c);
    free(a);
    return 0;
}
"#;

struct Running {
    child: Child,
    /// Keeps it alive.
    socket: PathBuf,
}

/// No process ever waits.
const BUSY: &str = r#"
#include <lee/process.lh>
#include <stdio.h>

process void spins(void) { for (;;); }

int main(void) {
    spawn spins();
    spawn spins();
    puts("ready");
    fflush(stdout);
    for (;;);
}
"#;

impl Running {
    fn new(folder: &Path, top: Option<&str>, more: &[(&str, &str)]) -> Running {
        Running::of(PROGRAM, folder, top, more)
    }

    fn of(text: &str, folder: &Path, top: Option<&str>, more: &[(&str, &str)]) -> Running {
        let program = folder.join("program");
        if !program.exists() {
            std::fs::write(folder.join("program.lee"), text).unwrap();
            lee_in(folder, &["build", "-o", "program", "program.lee"]).expect(0);
        }
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_remove("LEE_TOP")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.envs(more.iter().copied());
        if let Some(path) = top {
            command.env("LEE_TOP", path);
        }
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Running { child, socket: folder.join(top.unwrap_or("none")) }
    }

    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(folder: &Path, place: &str) -> Value {
    serde_json::from_str(&lee_in(folder, &["top", "--json", place]).expect(0).out).unwrap()
}

/// The answer once a process waits for a message, to which it may not have come yet: what runs
/// first is not determined.
fn answer_when_one_waits(folder: &Path, place: &str) -> Value {
    for _ in 0..10_000 {
        let told = answer(folder, place);
        if told["processes"].as_array().unwrap().iter().any(|process| process["state"] == "receiving") {
            return told;
        }
    }
    panic!("no process waits for a message");
}

fn find<'a>(value: &'a Value, list: &str, key: &str, wanted: &Value) -> &'a Value {
    value[list]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item[key] == *wanted)
        .unwrap_or_else(|| panic!("no {key} {wanted}: {value}"))
}

#[test]
fn a_program_tells_what_its_processes_do() {
    for workers in ["1", "2"] {
        let folder = fresh(&format!("top-{workers}"));
        let running = Running::new(&folder, Some("socket"), &[("LEE_WORKERS", workers)]);
        let told = answer_when_one_waits(&folder, "socket");
        assert_eq!(told["pid"], u64::from(running.child.id()));
        assert_eq!(told["cut"], false);
        let loops = find(&told, "custodians", "bytes_most", &Value::from(32 << 20));
        assert_eq!((loops["weight"].as_u64(), loops["processes"].as_u64()), (Some(300), Some(1)));
        let idle = find(&told, "custodians", "endpoints_most", &Value::from(77));
        assert_eq!((idle["endpoints"].as_u64(), idle["shut"].as_bool()), (Some(2), Some(false)));
        let waits = find(&told, "processes", "state", &Value::from("receiving"));
        assert_eq!((waits["endpoints"].as_u64(), waits["messages"].as_u64()), (Some(2), Some(1)));
        assert_eq!(waits["name"], "waits");
        find(&told, "processes", "name", &Value::from("spins"));
        // A process is in a custodian of its own, below the one that it was spawned in.
        let home = find(&told, "custodians", "id", &waits["custodian"]);
        assert!(home["id"] == idle["id"] || home["parent"] == idle["id"], "{told}");
        assert_eq!(waits["waits"]["contract"], "Two");
        // The first process has the other end, and is in the first custodian.
        let main = find(&told, "processes", "name", &Value::from("main"));
        assert_eq!((&main["id"], &main["custodian"]), (&waits["waits"]["process"], &Value::from(1)));
        assert_eq!(told["processes"].as_array().unwrap().len(), 3);
        // One of its ends has a message.
        let ends: Vec<&Value> =
            told["ends"].as_array().unwrap().iter().filter(|end| end["process"] == waits["id"]).collect();
        assert!(ends.len() == 2 && ends.iter().all(|end| end["contract"] == "Two" && end["peer"] == 1), "{told}");
        assert_eq!(ends.iter().map(|end| end["messages"].as_u64().unwrap()).sum::<u64>(), 1, "{told}");
        assert_eq!(ends.iter().filter(|end| end["state"] == "receives").count(), 1, "{told}");
        assert!(!told["workers"].as_array().unwrap().is_empty(), "{told}");
        // What the loop ran grows from one answer to the next.
        let first = loops["ran_ns"].as_u64().unwrap();
        let mut later = first;
        for _ in 0..10_000 {
            later = find(&answer(&folder, "socket"), "custodians", "bytes_most", &Value::from(32 << 20))["ran_ns"]
                .as_u64()
                .unwrap();
            if later > first {
                break;
            }
        }
        assert!(later > first);
        assert_eq!(running.end(), "");
        assert!(!folder.join("socket").exists(), "the socket is removed");
    }
}

#[test]
fn a_program_whose_processes_all_compute_answers() {
    for workers in ["1", "2", "4"] {
        let folder = fresh(&format!("top-busy-{workers}"));
        let _running = Running::of(BUSY, &folder, Some("socket"), &[("LEE_WORKERS", workers)]);
        for _ in 0..5 {
            let told = answer(&folder, "socket");
            assert_eq!(told["processes"].as_array().unwrap().len(), 3, "{told}");
        }
    }
}

const CIRCLE: &str = r#"
#include <stdio.h>

contract Two {
    in message One();
    out message Other();
    state START { One? -> Other! -> START; }
}

// Each waits for a message of the other, and none comes.
process void waits(Two.exp:START own, Two.imp:START other) {
    receive own.One();
    send own.Other();
    free(own);
    free(other);
}

int main(void) {
    channel Two (a, b);
    channel Two (c, d);
    spawn waits(b, c);
    spawn waits(d, a);
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
"#;

#[test]
fn processes_that_wait_for_each_other_are_told() {
    let folder = fresh("top-circle");
    let running = Running::of(CIRCLE, &folder, Some("socket"), &[]);
    // They may not have come to it yet.
    let told =
        (0..10_000).map(|_| answer(&folder, "socket")).find(|told| !told["cycles"].as_array().unwrap().is_empty());
    assert_eq!(told.unwrap()["cycles"], serde_json::json!([[2, 3]]));
    let text = lee_in(&folder, &["top", "--once", "socket"]).expect(0).out;
    assert_eq!(text.lines().nth(1), Some("p2 and p3 wait for each other"), "{text}");
    drop(running);
}

#[test]
fn a_program_is_found_by_its_number_and_drawn() {
    let folder = fresh("top-number");
    let running = Running::new(&folder, Some("socket"), &[]);
    answer_when_one_waits(&folder, "socket");
    let text = lee_in(&folder, &["top", "--once", &running.child.id().to_string()]).expect(0).out;
    assert!(text.starts_with(&format!("program {}: 3 processes in ", running.child.id())), "{text}");
    assert!(
        text.lines()
            .any(|line| line.contains(" receiving ") && line.contains(" 1  waits ") && line.ends_with(" Two from p1")),
        "{text}"
    );
}

/// The status line, and the body.
fn get(address: &str, host: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_string(), body.to_string())
}

/// The command that serves a page, until it is dropped.
struct Page(Child);

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the page shows once its script has run, in Chromium. One that is starved may give up before
/// it has loaded all.
fn drawn(folder: &Path, address: &str, wanted: &str) -> String {
    let mut shown = String::new();
    for _ in 0..5 {
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.join("browser").display()))
            .arg(address)
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some(page) = text.split("<script>").next().filter(|page| page.contains("<h1>lee top</h1>")) {
            shown = page.to_string();
        }
        if shown.contains(wanted) {
            break;
        }
    }
    shown
}

#[test]
fn a_page_shows_it_in_a_browser() {
    let folder = fresh("top-page");
    let running = Running::new(&folder, Some("socket"), &[]);
    let mut command = Command::new(support::lee());
    let child = command.current_dir(&folder).args(["top", "--page", "socket"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut page = Page(child);
    let mut line = String::new();
    BufReader::new(page.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_string();
    let (status, body) = get(&address, &address, "/");
    assert!(status.contains(" 200 ") && body.contains("<title>lee top</title>"), "{status} {body}");
    let (status, body) = get(&address, &address, "/top.json");
    let value: Value = serde_json::from_str(&body).unwrap();
    assert!(status.contains(" 200 "), "{status}");
    assert_eq!(value["pid"], u64::from(running.child.id()));
    let id = find(&value, "processes", "name", &Value::from("waits"))["id"].as_u64().unwrap();
    let (status, body) = get(&address, &address, &format!("/why.json?id=p{id}"));
    let memory: Value = serde_json::from_str(&body).unwrap();
    assert!(status.contains(" 200 ") && memory["id"] == format!("p{id}"), "{status} {body}");
    assert!(get(&address, &address, "/why.json?id=p999").1.contains("no process p999"));
    assert!(get(&address, &address, "/why.json?id=x").0.contains(" 400 "));
    assert!(get(&address, "example.org", "/why.json?id=p1").0.contains(" 403 "));
    assert!(get(&address, &address, "/etc/passwd").0.contains(" 404 "));
    if tools::runs("chromium") {
        let page = drawn(&folder, &format!("http://{address}/#p{id}"), " are reached");
        for text in [&*format!("Memory of p{id}"), " are reached", "Two from p1", "waits</td>"] {
            assert!(page.contains(text), "no {text}: {page}");
        }
        assert!(!page.contains("No answer"), "{page}");
    } else {
        tools::skip("chromium", "a_page_shows_it_in_a_browser", false);
    }
    // A site whose name leads to this machine.
    assert!(get(&address, "example.org", "/top.json").0.contains(" 403 "));
    running.end();
    let (status, body) = get(&address, &address, "/top.json");
    assert!(status.contains(" 503 ") && body.contains("no program answers"), "{status} {body}");
}

#[test]
fn only_its_user_may_ask_and_nothing_is_there_without_the_variable() {
    let folder = fresh("top-mode");
    let running = Running::new(&folder, Some("socket"), &[]);
    assert_eq!(std::fs::metadata(&running.socket).unwrap().permissions().mode() & 0o777, 0o600);
    // A second program leaves the socket to the first one.
    let second = Running::new(&folder, Some("socket"), &[]);
    assert!(second.end().contains("LEE_TOP=socket"));
    assert_eq!(answer(&folder, "socket")["pid"], u64::from(running.child.id()));
    // Clients that do not read keep nothing waiting.
    let idle: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&running.socket).unwrap()).collect();
    assert_eq!(answer(&folder, "socket")["pid"], u64::from(running.child.id()));
    drop(idle);
    running.end();
    // One that was killed leaves its socket behind, which the next one takes.
    let mut killed = Running::new(&folder, Some("socket"), &[]);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(folder.join("socket").exists());
    let failed = lee_in(&folder, &["top", "--json", "socket"]).expect(1);
    assert!(failed.err.contains("no program answers at 'socket'"), "{}", failed.err);
    let next = Running::new(&folder, Some("socket"), &[]);
    assert_eq!(answer(&folder, "socket")["pid"], u64::from(next.child.id()));
    next.end();
    let silent = Running::new(&folder, None, &[("LEE_WORKERS", "1")]);
    let failed = lee_in(&folder, &["top", &silent.child.id().to_string()]).expect(1);
    assert!(failed.err.contains("LEE_TOP"), "{}", failed.err);
    assert_eq!(std::fs::read_dir(format!("/proc/{}/task", silent.child.id())).unwrap().count(), 1);
    // A file that is not a socket stays as it is.
    std::fs::write(folder.join("kept"), "mine").unwrap();
    let other = Running::new(&folder, Some("kept"), &[]);
    assert!(other.end().contains("LEE_TOP=kept"));
    assert_eq!(std::fs::read_to_string(folder.join("kept")).unwrap(), "mine");
}

#[test]
fn wrong_usage_is_told() {
    let folder = fresh("top-usage");
    for (words, status) in [
        (&["top"][..], 2),
        (&["top", "a", "b"], 2),
        (&["top", "--frob", "a"], 2),
        (&["top", "--page=x", "a"], 2),
        (&["top", "--page=70000", "a"], 2),
        (&["top", "--page", "nothing"], 1),
        (&["top", "nothing"], 1),
        (&["top", "--why"], 2),
        (&["top", "--why", "12", "a"], 2),
        (&["top", "--why=p7", "--page", "a"], 2),
        (&["top", "--why", "p7", "nothing"], 1),
        (&["top", "4000000000"], 1),
    ] {
        let ran = lee_in(&folder, words).expect(status);
        assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1), "{words:?}: {}", ran.err);
    }
    for words in [&["top", "--once", "other"][..], &["top", "--why", "c1", "other"]] {
        let listening = std::os::unix::net::UnixListener::bind(folder.join("other")).unwrap();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listening.accept().unwrap();
            // What is sent to one that closes without having read can be lost.
            BufReader::new(&stream).read_line(&mut String::new()).unwrap();
            std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n").unwrap();
            std::thread::sleep(Duration::from_millis(1));
        });
        let ran = lee_in(&folder, words).expect(1);
        assert!(ran.err.contains("is not for this"), "{}", ran.err);
        other.join().unwrap();
        std::fs::remove_file(folder.join("other")).unwrap();
    }
}

/// A process whose variable holds a table of a thousand entries, each with a name, and that
/// computes ever after; one whose function holds an array, and that waits; and one in a custodian
/// that ends.
const MEMORY: &str = r#"
#include <lee/custodian.lh>
#include <lee/process.lh>
#include <stdio.h>

struct entry { struct entry *next; char *name; int n; };
struct table { long count; struct entry *buckets[16]; };
static struct table *cache;

contract Until {
    out message Ready();
    in message End();
    state OPEN { Ready! -> WAITING; }
    state WAITING { End? -> DONE; }
    state DONE {}
}

process void keeps(Until.exp:OPEN end) {
    cache = new struct table;
    for (int i = 0; i < 1000; i++) {
        struct entry *e = new struct entry;
        e->name = new char[100];
        e->next = cache->buckets[i % 16];
        cache->buckets[i % 16] = e;
    }
    send end.Ready();
    for (;;) cache->count++;
}

process void waits(Until.exp:OPEN end) {
    struct entry **all = new struct entry *[100];
    for (int i = 0; i < 100; i++) all[i] = new struct entry;
    send end.Ready();
    receive end.End();
    printf("%d\n", all[7]->n);
    free(end);
}

int main(void) {
    custodian *own = custodian_current(), *busy = custodian_new(own);
    custodian_enter(busy);
    channel Until (a, b);
    spawn keeps(b);
    custodian_enter(own);
    channel Until (c, d);
    pid second = spawn waits(d);
    receive a.Ready();
    receive c.Ready();
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF);
    kill(second);
    free(a);
    free(c);
    return 0;
}
"#;

/// On a machine that is busy with other things a program may not have the time to look at all.
fn why(folder: &Path, id: &str) -> Value {
    let mut last = String::new();
    for _ in 0..50 {
        last = lee_in(folder, &["top", "--json", "--why", id, "socket"]).out;
        match serde_json::from_str::<Value>(&last) {
            Ok(told) if told["complete"] == true => return told,
            _ => {}
        }
    }
    panic!("{id}: {last}");
}

fn row<'a>(told: &'a Value, path: &str) -> &'a Value {
    find(told, "rows", "path", &Value::from(path))
}

#[test]
fn memory_is_told_by_types_sites_and_paths() {
    for workers in ["1", "3"] {
        let folder = fresh(&format!("top-why-{workers}"));
        let running = Running::of(MEMORY, &folder, Some("socket"), &[("LEE_WORKERS", workers)]);
        let told = answer(&folder, "socket");
        let id = |name: &str| find(&told, "processes", "name", &Value::from(name))["id"].as_u64().unwrap();
        let keeps = why(&folder, &format!("p{}", id("keeps")));
        assert_eq!((&keeps["complete"], &keeps["processes"]), (&Value::from(true), &Value::from(1)), "{keeps}");
        let table = row(&keeps, "global cache -> struct table");
        assert_eq!((table["objects"].as_u64(), table["sites"].as_str()), (Some(1), Some("program.lee:19")));
        let entries = row(&keeps, "global cache -> struct table.buckets[] -> struct entry");
        assert_eq!((entries["objects"].as_u64(), entries["type"].as_str()), (Some(1000), Some("struct entry")));
        assert_eq!(entries["sites"], "program.lee:21, program.lee:32");
        let names = row(&keeps, "global cache -> struct table.buckets[] -> struct entry.name -> char");
        assert_eq!(names["objects"], 1000);
        assert!(names["bytes"].as_u64() >= Some(100_000), "{names}");
        assert!(keeps["parts"]["heap"].as_u64() >= Some(100_000), "{keeps}");
        // Each process has variables of its own.
        let waits = why(&folder, &format!("p{}", id("waits")));
        assert!(!waits.to_string().contains("global cache"), "{waits}");
        let entries: Vec<&Value> =
            waits["rows"].as_array().unwrap().iter().filter(|row| row["type"] == "struct entry").collect();
        let count: u64 = entries.iter().map(|row| row["objects"].as_u64().unwrap()).sum();
        assert!(
            count == 100 && entries.iter().all(|row| row["root"].as_str().unwrap().starts_with("stack")),
            "{waits}"
        );
        // A custodian is all in it: the one of the loop, and the first, which is all.
        let busy = find(&told, "processes", "name", &Value::from("keeps"))["custodian"].as_u64().unwrap();
        let busy = why(&folder, &format!("c{busy}"));
        assert_eq!(busy["processes"], 1, "{busy}");
        row(&busy, "global cache -> struct table");
        let all = why(&folder, "c1");
        assert_eq!(all["processes"], 3, "{all}");
        row(&all, "global cache -> struct table");
        why(&folder, "p1");
        let text = lee_in(&folder, &["top", "--why", "c1", "socket"]).expect(0).out;
        assert!(text.contains("global cache -> struct table.buckets[] -> struct entry  "), "{text}");
        for unknown in ["p999", "c999", "p0", "c0"] {
            let failed = lee_in(&folder, &["top", "--why", unknown, "socket"]).expect(1);
            assert!(
                failed
                    .err
                    .contains(&format!("has no {}", if unknown.starts_with('p') { "process" } else { "custodian" })),
                "{}",
                failed.err
            );
        }
        // It goes on as before.
        assert_eq!(running.end(), "");
    }
}

/// A process in a call of C that lasts until a file is there, killed meanwhile by the first one,
/// which a second worker runs.
const DYING: &str = r#"
#include <lee/process.lh>
#include <stdio.h>
trusted void stay(void);
trusted int has_begun(void);

process void stays(void) { stay(); }

int main(void) {
    pid other = spawn stays();
    while (!has_begun());
    puts("ready");
    fflush(stdout);
    kill(other);
    wait(other);
    return 0;
}
"#;

#[test]
fn a_process_that_was_killed_in_a_call_of_c_is_dying() {
    let folder = fresh("top-dying");
    let wait = "#include <stdio.h>\n#include <unistd.h>\n\
        void stay(void) { fclose(fopen(\"begun\", \"w\")); while (access(\"go\", F_OK) != 0) usleep(1000); }\n\
        int has_begun(void) { return access(\"begun\", F_OK) == 0; }\n";
    std::fs::write(folder.join("wait.c"), wait).unwrap();
    std::fs::write(folder.join("program.lee"), DYING).unwrap();
    lee_in(&folder, &["build", "-o", "program", "program.lee", "wait.c"]).expect(0);
    // Without slices the first process keeps its worker, so another one runs the second.
    let workers = [("LEE_WORKERS", "2"), ("LEE_SLICE", "0")];
    let running = Running::of(DYING, &folder, Some("socket"), &workers);
    // The first process may not have come to its kill yet. It does not wait for C there.
    let dies = || find(&answer(&folder, "socket"), "processes", "name", &Value::from("stays"))["state"] == "dying";
    assert!((0..10_000).any(|_| dies()));
    let text = lee_in(&folder, &["top", "--once", "socket"]).expect(0).out;
    assert!(text.lines().next().unwrap().contains(", 1 dying"), "{text}");
    std::fs::write(folder.join("go"), "").unwrap();
    assert_eq!(running.end(), "");
}

#[test]
fn a_client_that_asks_for_nothing_known_is_told() {
    let folder = fresh("top-garbage");
    let running = Running::new(&folder, Some("socket"), &[]);
    let long = "x".repeat(1000);
    for request in ["", "\n", "frob\n", "why\n", "why\tp\n", "why\tp1x\n", "why\tq1\n", "why\tp-1\n", "list", &long] {
        let mut stream = UnixStream::connect(&running.socket).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut text = String::new();
        // One that was refused before it had sent all may be cut off.
        let read = stream.read_to_string(&mut text);
        let known = if request == "list" { text.ends_with("end\n") } else { text == "unknown\n" };
        assert!(known || (read.is_err() && request.len() > 100), "{request:?}: {text:?}");
    }
    answer(&folder, "socket");
    running.end();
}
