//! gdb steps through the source and shows variables as C programmers expect them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Command;

const PROGRAM: &str = "struct point%0 {
  \"x\": int
  \"name\": *[zero]const char
}
enum color^0 uint { \"RED\" 0, \"GREEN\" 1 }
string $0 char \"origin\\x00\"
function main#0: fn() -> int
body main#0 params 0 {
  scope 0
  scope 1 in 0
  var count_0: int scope 0
  var p_1: *point%0 scope 0
  var where_2: point%0 scope 0 address
  var c_3: color^0 scope 0
  var count_4: int scope 1
bb0:
  count_0 = 41:int
  c_3 = 1:color^0
  where_2.0 = 7:int
  where_2.1 = &$0+0:*[zero]const char
  p_1 = addr(where_2)
  count_4 = 5:int
  count_0 = add(count_0, 1:int, int)
  return count_4
}
";

#[test]
fn stops_prints_and_steps() {
    if Command::new("gdb").arg("--version").output().is_err() {
        support::skip("gdb", "stops_prints_and_steps", true);
        return;
    }
    let line = |part: &str| PROGRAM.lines().position(|l| l.contains(part)).unwrap() + 1;
    let dir = support::directory();
    std::fs::write(dir.join("test.mir"), PROGRAM).unwrap();
    let emitted = support::emit(PROGRAM);
    for compiler in support::compilers() {
        let program = support::build_with(compiler, &["-O0", "-g"], &dir, &emitted).unwrap();
        let stop = format!("break test.mir:{}", line("count_0 = add"));
        let commands = [&stop, "run", "print count", "print *p", "print c", "print count__1", "next", "print count"];
        let mut gdb = Command::new("gdb");
        gdb.current_dir(&dir).args(["-batch", "-nx"]);
        for command in commands {
            gdb.args(["-ex", command]);
        }
        let (text, _) = support::run(gdb.arg(program));
        assert!(text.contains("$1 = 41"), "{text}");
        assert!(text.contains("\"origin\"}"), "{text}");
        assert!(text.contains("{x = 7, name = "), "{text}");
        assert!(text.contains("$3 = GREEN"), "{text}");
        assert!(text.contains("$4 = 5"), "{text}");
        assert!(text.contains(&format!("{}\t  return count_4", line("return"))), "{text}");
        assert!(text.contains("$5 = 42"), "{text}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
