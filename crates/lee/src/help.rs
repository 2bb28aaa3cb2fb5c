//! What `lee help` prints.

use crate::options::Command;

/// The whole command.
pub const GENERAL: &str = "\
lee - compiles and runs Leeward, a memory-safe dialect of C

usage: lee COMMAND ...

  run FILE [ARGS]      compile a program and run it
  build FILES          make a program of .lee, .c, .o and .a files
  check FILES          report errors and warnings only; --fix writes what is sure
  port FILES           make Leeward of C, as far as the compiler can
  cc ...               stand in for gcc, in Makefiles and CMake (also as 'lee-cc')
  advise FILES         small heap allocations of C that need not be, and patches
  explain [CODE]       the page of an error code, or the list of all
  explain-contract FILE [NAME]
                       the state machine of a contract
  top PATH|PID         what the processes of a running program do
  help [COMMAND]       this text, or a command's options
  --version            the version

LEE_CC names the C compiler, LEE_HOME a folder with runtime/ and library/ to use instead of the built-in ones.
LEE_CACHE=off makes each object anew.
";

const RUN: &str = "\
usage: lee run [OPTIONS] FILE [ARGS]

Compiles the program (- is standard input, a folder the .lee files in it) and runs it with ARGS. The status is the program's; 128 and the signal's number if a signal ended it.

  --interpret                 run the intermediate code under an interpreter that judges memory
                              safety; the status is 86 if it finds something, 87 at what it
                              does not know. --interpret=transformed: after the transforms
  --steps N                   statements that --interpret runs at most; then the status is 88
  --release                   optimise
  --sanitize LIST             build with -fsanitize=LIST
  -I DIR, -D NAME[=TEXT], -U NAME, --include FILE, --isystem DIR
                              for the preprocessor
  -l NAME, -L DIR             libraries (in front of FILE)
  --cc PROGRAM                the C compiler
  -W no-NAME, -w              a warning that is not wanted, by its code (no-L0601) or of what
                              processes share (no-shared-variables), or an error that is to
                              be a warning: no-leak, no-free-shared; no warnings at all
  --time-passes               print how long each pass took
  --verify                    check the intermediate code after each pass
  --color auto|always|never   colours in messages
  --message-format text|json|gcc
";

const BUILD: &str = "\
usage: lee build [OPTIONS] FILES

Makes a program of .lee and .c sources, .o objects and .a libraries; - is Leeward on standard input, a folder the
.lee files in it.
Without -o it is called as the first source.

  -o FILE                     the program, or what --emit writes
  --release                   optimise
  --sanitize LIST             build with -fsanitize=LIST
  --emit header|ast|types|mir|checks|c
                              print that instead; header: the interface of the first file, for C and Leeward
  --no-check-removal          leave every run-time check in, proven or not
  --stack-promote=N           unique objects of at most N bytes (48) that a function
                              makes and frees itself lie on the stack; 0: none do
  --stack-notes               say of each unique object where it lies, and why
  --single                    for use inside a C program
  --processes                 for use in a program that spawns processes
  --no-gc                     without the collector: no shared heap objects
  -I DIR, -D NAME[=TEXT], -U NAME, --include FILE, --isystem DIR
                              for the preprocessor
  -l NAME, -L DIR             libraries
  --cc PROGRAM                the C compiler
  -W no-NAME, -w              a warning that is not wanted, by its code (no-L0601) or of what
                              processes share (no-shared-variables), or an error that is to
                              be a warning: no-leak, no-free-shared; no warnings at all
  --time-passes               print how long each pass took
  --verify                    check the intermediate code after each pass
  --color auto|always|never   colours in messages
  --message-format text|json|gcc
";

const CHECK: &str = "\
usage: lee check [OPTIONS] FILES

Reports errors and warnings; - is Leeward on standard input. The status is 1 if there are errors; warnings do not change it.

  --fix, --fix=likely         first change the files as the reports say, where that is sure, or
                              likely; in headers that are named, too. Prints a diff
  --message-format text|json|gcc
                              json: one object a line on standard output, with the fixes
  --emit ast|types|mir|checks|c
                              print that stage's result; checks: those that remain
                              at run time, and why
  --no-check-removal          leave every run-time check in, proven or not
  --stack-promote=N           unique objects of at most N bytes (48) that a function
                              makes and frees itself lie on the stack; 0: none do
  --stack-notes               say of each unique object where it lies, and why
  --single                    for use inside a C program
  --processes                 for use in a program that spawns processes
  --no-gc                     without the collector: no shared heap objects
  -I DIR, -D NAME[=TEXT], -U NAME, --include FILE, --isystem DIR
                              for the preprocessor
  -std=STANDARD               the standard of plain C files (gnu17)
  --cc PROGRAM                the C compiler (for its preprocessor)
  -W no-NAME, -w              a warning that is not wanted, by its code (no-L0601) or of what
                              processes share (no-shared-variables), or an error that is to
                              be a warning: no-leak, no-free-shared; no warnings at all
  --time-passes               print how long each pass took
  --verify                    check the intermediate code after each pass
  --color auto|always|never   colours in messages
";

const PORT: &str = "\
usage: lee port [OPTIONS] FILES

Renames .c files to .lee, writes the words that their declarations lack, as far as it can tell, also in
headers that are named, and reports what is left for you. Prints a diff. free of a shared pointer is a warning.

  --report                    change nothing: only say how far the program is
  -I DIR, -D NAME[=TEXT], -U NAME, --include FILE, --isystem DIR
                              for the preprocessor
  --cc PROGRAM                the C compiler (for its preprocessor)
  -W no-NAME, -w              as for lee check
  --color auto|always|never   colours in messages
  --message-format text|json|gcc
";

/// `lee cc`.
pub const CC: &str = "\
usage: lee cc [GCC'S OPTIONS] FILES

Compiles .lee and .c files and hands everything else to the C compiler: -c -o -S -E -I -D -U -O -g -l -L -W -f -m -std -include
-isystem -M... -shared -static -pthread -x -Wl,... @FILE and what else gcc knows. Use it as CC in Makefiles and as
CMAKE_C_COMPILER (a link called 'lee-cc' is 'lee cc'). LEE_CC names the C compiler.

  --processes                 the object is for a program that spawns processes
  --c-through=mir|cc|only     .c files: through MIR and, where that cannot be, through the C compiler (mir, the default);
                              the C compiler alone (cc); MIR alone (only). LEE_C_THROUGH says the same for all commands
LEE_C_REPORT names a file that gets a line for each .c file: which way it went, and how many of its functions through MIR.
";

/// `lee advise`.
pub const ADVISE: &str = "\
usage: lee advise [OPTIONS] FILES [-- FLAGS OF THE C COMPILER]

Finds heap allocations in C or Leeward that are small and die young, and says what to do instead. The status is 0, or 1 after errors.

  -p FILE                     the files and flags of compile_commands.json
  --max-size N                bytes of the largest object that goes to the stack (48)
  --hybrid-size N             bytes of a buffer that stands in for the heap while it does (256)
  --stack-budget N            bytes of stack that a chain of calls may take more (4096)
  --whole-program             nothing but these files calls their functions
  --allocators FILE           more allocators, one a line: NAME allocate SIZE, NAME zeroed COUNT SIZE, NAME duplicate TEXT,
                              NAME resize OBJECT, NAME release OBJECT, NAME hook OBJECT SIZE (all three, as Lua's);
                              numbers of arguments count from 0; then [never-fails] [replaceable] [null-for-0]
  --infer-allocators          take functions that return fresh objects for allocators
  --patch FILE                write the patches as a unified diff that git apply takes (-: standard output)
  --apply                     change the files, where every access is proven to stay inside the object
  --verify COMMAND            try each patch in a copy of the current folder; keep those with which COMMAND succeeds
  --measure COMMAND           count what each patch saves of the allocations and, with valgrind, of the instructions of
                              COMMAND in that copy, and rank the findings by it; the command of --verify builds it
  --message-format human|json|sarif
                              sarif: SARIF 2.1.0 with fixes
  --explain                   say of each site that was declined why
  --deny                      status 1 if there is advice
  -j, --jobs N                threads
  --cc PROGRAM                the C compiler (for its preprocessor; patches need gcc)
";

/// `lee explain`.
pub const EXPLAIN: &str = "\
usage: lee explain [CODE]

Prints the page of an error code (L0101), or the list of all codes.
";

/// `lee explain-contract`.
pub const CONTRACT: &str = "\
usage: lee explain-contract [--dot | --svg] [OPTIONS] FILE [NAME]

Prints the messages, the states and the digest of the contract NAME, or the names of all contracts that FILE and the headers that it includes declare.

  --dot                       a graph for Graphviz
  --svg                       a picture
  -I DIR, -D NAME[=TEXT], -U NAME, --include FILE, --isystem DIR
                              for the preprocessor
";

/// `lee top`.
pub const TOP: &str = "\
usage: lee top [--once | --json | --page[=PORT]] [--why ID] PATH|PID

Shows what the processes and custodians of a running program do, each second. The program was started with LEE_TOP=PATH, which names its socket.

  --once                      print one table, and end; so it does when standard output is no terminal
  --json                      print all as JSON, and end
  --why ID                    print what the memory of a custodian (c12) or a process (p7) consists
                              of, with --json as JSON, and end
  --page[=PORT]               serve a page for a browser on this machine, and print its address

On a terminal: q ends, m sorts by memory, t by time, c shows channels, the arrows scroll.
";

/// The options of a command.
pub fn of(command: Command) -> &'static str {
    match command {
        Command::Run => RUN,
        Command::Build => BUILD,
        Command::Check => CHECK,
        Command::Port => PORT,
    }
}
