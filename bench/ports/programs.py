"""The programs that bench/ports/finished measures: how each is built and tested, and what is put into it."""

import os
import random
import resource
import struct
import subprocess
import time

ADDRESSES = 4 << 30  # bytes of address space for damaged inputs, so that a wrong size does no harm here


class Case:
    """A run of a program: arguments, standard input, and files to be put into its folder."""

    def __init__(self, arguments, data=b"", files=None):
        self.arguments, self.data, self.files = arguments, data, files or {}


def words(seed, size):
    """Text of so many bytes, the same for a seed."""
    rng = random.Random(seed)
    known = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(3000)]
    out, have = [], 0
    while have < size:
        word = known[min(int(rng.expovariate(0.004)), 2999)]
        out.append(word)
        have += len(word) + 1
    return " ".join(out).encode()[:size]


def damage(rng, data, most=8):
    """A copy with some bytes changed, left out, doubled, or the end cut off."""
    data = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if not data:
            break
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.randrange(256)
        elif kind == 2:
            del data[at:at + rng.randint(1, 20)]
        elif kind == 3:
            data[at:at] = data[at:at + rng.randint(1, 40)]
        elif kind == 4:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        elif rng.randrange(3) == 0:
            del data[at:]
    return bytes(data)


def floats(rng, count):
    return struct.pack(f"{count}f", *(rng.uniform(-1, 1) for _ in range(count)))


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def start(place, binary, case, seconds=None, wrapper=(), limit=False):
    """Runs a case in a folder: (status, output, errors, user time, KB of memory). The status is
    None if it did not end in time."""
    data = case.data(place) if callable(case.data) else case.data
    for name, content in case.files.items():
        with open(os.path.join(place, name), "wb") as file:
            file.write(content)
    command = [*wrapper, os.path.join(place, binary), *case.arguments]
    out, err = os.path.join(place, ".out"), os.path.join(place, ".err")
    given = os.path.join(place, ".in")
    with open(given, "wb") as file:
        file.write(data)
    with open(given, "rb") as i, open(out, "wb") as o, open(err, "wb") as e:
        arguments = [os.fsencode(a) if isinstance(a, str) else a for a in command]
        child = subprocess.Popen(arguments, cwd=place, stdin=i, stdout=o, stderr=e,
                                 preexec_fn=limited if limit else None)
        deadline = time.monotonic() + seconds if seconds else None
        while True:
            pid, status, used = os.wait4(child.pid, os.WNOHANG if deadline else 0)
            if pid:
                break
            if time.monotonic() > deadline:
                child.kill()
                os.wait4(child.pid, 0)
                child.returncode = -9
                return None, b"", b"", 0.0, 0
            time.sleep(0.002)
    child.returncode = os.waitstatus_to_exitcode(status)
    with open(out, "rb") as o, open(err, "rb") as e:
        return child.returncode, o.read(), e.read(), used.ru_utime, used.ru_maxrss


class Program:
    """What is known of a program. `package` and `below` are as in `run`; `files` are those that take
    part, and are counted; `binaries` maps the name of a program to the sources that make it."""

    name = package = below = ""
    files = []
    options = []
    libraries = []
    binaries = {}
    no_gc = True       # whether the manual port is built with --no-gc
    main = ""          # the binary that damaged inputs go to
    bugs = []          # what the ports and the damaged inputs brought to light in the C

    def tests(self, place, original):
        """The program's own tests: (name, whether it passed)."""
        raise NotImplementedError

    def workload(self):
        """(binary, case) that are compared, timed, and counted by callgrind; the last list is
        for callgrind alone, and is smaller."""
        raise NotImplementedError

    def damaged(self, rng, place):
        """One damaged input."""
        raise NotImplementedError


class Factor(Program):
    name, package = "factor", "bsdgames"
    files = ["factor/factor.c", "primes/pr_tbl.c", "primes/primes.h"]
    options = ["-D_GNU_SOURCE", "-D__RCSID(x)=extern int rcsid", "-D__COPYRIGHT(x)=extern int copyright", "-D__dead=",
               "-Iprimes"]
    binaries = {"factor/factor": ["factor/factor.c", "primes/pr_tbl.c"]}
    main = "factor/factor"
    bugs = ["a malformed number on standard input makes it print argv[0], which is null, with %s",
            "BN_bn2dec's result is lost once for each large prime"]

    def tests(self, place, original):
        said = subprocess.run(["sh", "tests/factor.test"], cwd=place, capture_output=True, text=True, check=False).stdout
        # The other five need OpenSSL's big numbers.
        return [(f"factor.test {n}", f"test {n}... PASS" in said) for n in range(1, 6)]

    def numbers(self, count):
        return "".join(f"{1000000007 + 997 * i}\n" for i in range(count)).encode()

    def workload(self):
        return ([("factor/factor", Case([], self.numbers(20000)))], [("factor/factor", Case([], self.numbers(1000)))])

    def damaged(self, rng, place):
        texts = ["123456789", "4294967291", "18446744073709551557", "99999999999999999999999", "-5", "0", "1", "", " 12",
                 "12x", "0x10", "1e9", "\t77", "7 7", "%s%n", "9" * 3000]
        lines = [rng.choice(texts) if rng.random() < 0.4 else str(rng.randrange(1 << rng.choice([8, 16, 32, 63])))
                 for _ in range(rng.randint(1, 6))]
        data = damage(rng, ("\n".join(lines) + "\n").encode())
        if rng.random() < 0.5:
            return Case([], data)
        return Case([a for a in data.decode("latin1").replace("\0", "").split("\n")])


class Ncompress(Program):
    name, package = "ncompress", "ncompress"
    files = ["compress42.c"]
    options = ["-DUTIME_H", "-DLSTAT", "-DDIRENT=1", "-DUSERMEM=800000", "-DREGISTERS=3"]
    binaries = {"compress": ["compress42.c"]}
    main = "compress"
    bugs = ["the report of a corrupt input reads a byte in front of inbuf",
            "its signal handler calls exit, which is not allowed there"]

    def __init__(self):
        self.whole = {}

    def tests(self, place, original):
        said = subprocess.run(["sh", "tests/runtests.sh"], cwd=place, capture_output=True, text=True, check=False)
        return [("runtests.sh", said.returncode == 0 and "All passed" in said.stderr)]

    def packed(self, place, size):
        if size not in self.whole:
            run = subprocess.run([os.path.join(place, "compress")], input=words(1, size), capture_output=True, check=True)
            self.whole[size] = run.stdout
        return self.whole[size]

    def workload(self):
        def both(size):
            return [("compress", Case([], words(1, size))),
                    ("compress", Case(["-d"], lambda place: self.packed(place, size)))]
        return both(20_000_000), both(2_000_000)

    def damaged(self, rng, place):
        data = damage(rng, self.packed(place, rng.choice([300, 5000, 60000])))
        if rng.random() < 0.1:
            data = bytes([0x1f, 0x9d, rng.randrange(256)]) + data[3:]
        return Case(["-d"] + (["-v"] if rng.random() < 0.2 else []), data)


class Kissfft(Program):
    name, package = "kissfft", "kissfft"
    library = ["kiss_fft.c", "kiss_fftnd.c", "kiss_fftr.c", "kiss_fftndr.c"]
    files = library + ["kfc.c", "test/twotonetest.c", "test/test_real.c", "tools/fftutil.c", "test/benchkiss.c",
                       "test/pstats.c", "_kiss_fft_guts.h", "kfc.h", "kiss_fft.h", "kiss_fft_log.h", "kiss_fftnd.h",
                       "kiss_fftndr.h", "kiss_fftr.h", "test/pstats.h"]
    options = ["-Dkiss_fft_scalar=float", "-DKFC_TEST", "-I.", "-Itools", "-Itest"]
    libraries = ["-lm"]
    binaries = {"tkfc": library + ["kfc.c"], "twotone": library + ["test/twotonetest.c"],
                "testreal": library + ["test/test_real.c"], "fftutil": library + ["tools/fftutil.c"],
                "benchkiss": library + ["test/benchkiss.c", "test/pstats.c"]}
    main = "fftutil"
    bugs = ["fftutil writes behind dims[32] if there are more than 32 dimensions; benchkiss likewise",
            "fftutil uses a null configuration: a real FFT of odd size",
            "fftutil divides by a dimension of 0",
            "kiss_fft_alloc of a negative size gives less memory than its struct has",
            "twotonetest loses its configuration and buffers at each call"]

    def tests(self, place, original):
        out = []
        for name in ("tkfc", "testreal"):
            run = subprocess.run([os.path.join(place, name)], capture_output=True, check=False)
            out.append((name, run.returncode == 0))
        for size in ("480", "1024", "3000"):
            both = [subprocess.run([os.path.join(p, "twotone"), size], capture_output=True, check=False).stdout
                    for p in (place, original)]
            out.append((f"twotone {size}", both[0] == both[1] and b"snr" in both[0]))
        return out

    def workload(self):
        data = floats(random.Random(2), 400_000)
        sets = [["-n", "1800"], ["-n", "1024", "-i"], ["-R", "-n", "1800"], ["-R", "-i", "-n", "1800"],
                ["-n", "12,10,14"], ["-R", "-n", "12,10,14"], ["-i", "-R", "-n", "12,10,14"], ["-n", "7,11"]]
        compared = [("fftutil", Case(s, data)) for s in sets]
        return (compared + [("benchkiss", Case(["-x", "20000", "-n", "1800"]))],
                [("benchkiss", Case(["-x", "500", "-n", "1800"]))])

    def damaged(self, rng, place):
        dims = [str(rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 30, 64, 101, 120, -1, -7])) for _ in range(rng.choice([1, 1, 2, 3, 4]))]
        if rng.random() < 0.1:
            dims = ["2"] * rng.randint(5, 12)
        if rng.random() < 0.05:
            dims = ["1"] * rng.randint(30, 40)
        text = ",".join(dims)
        if rng.random() < 0.2:
            text = damage(rng, text.encode(), 3).decode("latin1").replace("\0", "")
        flags = [f for f in ("-R", "-i") if rng.random() < 0.4]
        return Case(flags + ["-n", text], floats(rng, rng.choice([0, 3, 64, 500, 2000]))[:rng.randrange(1, 8001)])


def json_value(rng, depth):
    """A value as text."""
    kind = rng.randrange(8)
    if depth <= 0 or kind < 3:
        return rng.choice([repr(rng.random() * 1000), str(rng.randrange(1 << 30)), "true", "null", '"plain words here"',
                           f'"text with \\n and \\u00e9 and {rng.random()}"', '"\\ud83d\\ude00"', "-1e-7"])
    if kind < 6:
        return "{" + ", ".join(f'"key{rng.randrange(1000)}": {json_value(rng, depth - 1)}'
                               for _ in range(rng.randint(0, 8))) + "}"
    return "[" + ", ".join(json_value(rng, depth - 1) for _ in range(rng.randint(0, 8))) + "]"


class Cjson(Program):
    name, package = "cjson", "cjson"
    files = ["cJSON.c", "cJSON.h", "test.c", "fuzzing/afl.c"]
    libraries = ["-lm"]
    binaries = {"demo": ["cJSON.c", "test.c"], "afl": ["cJSON.c", "fuzzing/afl.c"]}
    main = "afl"
    bugs = ["cJSON_GetErrorPtr points into text that its caller may have freed by then"]

    def __init__(self):
        self.given = []

    def tests(self, place, original):
        # The tests in tests/ are of a framework in C that includes cJSON.c itself; their inputs
        # and what is expected of them are used by way of the fuzzer's program.
        both = [subprocess.run([os.path.join(p, "demo")], capture_output=True, check=False).stdout for p in (place, original)]
        out = [("test.c", both[0] == both[1] and b"Version" in both[0])]
        inputs = os.path.join(place, "tests", "inputs")
        for name in sorted(os.listdir(inputs)):
            if not name.endswith(".expected"):
                continue
            with open(os.path.join(inputs, name), encoding="utf-8") as file:
                expected = file.read()
            with open(os.path.join(inputs, name[:-9]), "rb") as file:
                data = file.read()
            with open(os.path.join(place, "input"), "wb") as file:
                file.write(b"uf" + data)
            said = subprocess.run([os.path.join(place, "afl"), "input", "yes"], cwd=place, capture_output=True, text=True,
                                  check=False).stdout
            out.append((name, said.rstrip("\n") == expected.rstrip("\n")))
        return out

    def workload(self):
        def text(count):
            rng = random.Random(5)
            return "[" + ", ".join(json_value(rng, 6) for _ in range(count)) + "]"
        large, small = text(800), text(60)
        return ([("afl", Case(["input", "yes"], files={"input": (kind + large).encode()})) for kind in ("uf", "bu")],
                [("afl", Case(["input", "yes"], files={"input": ("uf" + small).encode()}))])

    def damaged(self, rng, place):
        if not self.given:
            folder = os.path.join(place, "fuzzing", "inputs")
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as file:
                    self.given.append(file.read())
        data = rng.choice(self.given) if rng.random() < 0.6 else ("uf[" + json_value(rng, 4) + "]").encode()
        if rng.random() < 0.05:
            data = b"uu" + rng.choice([b"[", b'{"a":', b"[[{"]) * rng.choice([10, 900, 1100, 5000])
        return Case(["input", "yes"], files={"input": damage(rng, data, 6)})


SCHEME = r"""
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (fib @A)) (newline)
(define (tak x y z) (if (not (< y x)) z (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y))))
(write (tak @B 6 2)) (newline)
(define (count n) (if (= n 0) '() (cons (number->string n) (count (- n 1)))))
(define (repeat n) (if (> n 0) (begin (count 100) (repeat (- n 1)))))
(repeat @C)
(define (quick l)
  (if (null? l) '()
      (let* ((p (car l)) (less '()) (more '()))
        (for-each (lambda (x) (if (< x p) (set! less (cons x less)) (set! more (cons x more)))) (cdr l))
        (append (quick less) (list p) (quick more)))))
(define (numbers n seed) (if (= n 0) '() (cons (modulo (* seed 7919) 10007) (numbers (- n 1) (modulo (* seed 7919) 10007)))))
(define sorted (quick (numbers @D 17)))
(write (length sorted)) (write (car sorted)) (newline)
"""
FORMS = [r'(write (make-vector 5 (quote x)))', r'(write (list->vector (list 1 2.5 "a\nb" #\a)))',
         r'(write (string-append "abc" "def" (number->string 3.25)))', "(write '(1 . (2 3)))",
         r'(write (call-with-current-continuation (lambda (k) (k 42))))', r"(write `(1 ,(+ 1 1) ,@(list 3 4)))",
         r'(define p (open-input-string "(hello #(1 2) world) 12")) (write (read p)) (write (read p)) (write (read p))',
         r"(define o (open-output-string)) (write '(1 2 3) o) (display (get-output-string o))",
         r'(write (map (lambda (x y) (* x y)) (list 1 2 3) (list 4 5 6)))', r'(write (assoc "b" (list (cons "b" 2))))',
         r'(write (string->symbol "Hello"))', r'(write (substring "hello" 1 3))', r'(write (string->number "#xff"))',
         r'(write (reverse (list 1 2 3)))', r'(write (let loop ((i 0)) (if (< i 5) (loop (+ i 1)) i)))',
         r'(write #\x41) (write #b101) (write #\space)', r'(write (expt 2 10)) (write (sqrt 2))', r'(write (quotient 7 0))',
         r'(car 5)', r'(write (string->list "abc"))', r'(define-macro (twice x) `(begin ,x ,x)) (twice (display "hi"))',
         r'(write (atom->string 255 16))', r'(write "\x41;\101")', r'(display (list #t #f 1e10 -5))', r'(vector-ref #(1 2) 5)',
         r'(cond 1)', r'(set! 5)', r'(let ((x 1) . 2) x)', r'(write #xzz)', r'(define (f . x) x) (write (f 1 2))',
         r'(write (length (quote (1 2 3))))', r'(close-input-port (open-input-string "x"))', r'(write (gensym))']

BROKEN = ["(cond 1)", "(set! 5)", "(write #xzz)"]  # C crashes, or prints what it did not initialise


class Tinyscheme(Program):
    name, package = "tinyscheme", "tinyscheme"
    files = ["scheme.c", "scheme.h", "scheme-private.h", "opdefines.h"]
    options = ["-DUSE_DL=0", "-DUSE_MATH=1", "-DUSE_INTERFACE=0", '-DInitFile="init.scm"']
    libraries = ["-lm"]
    binaries = {"tinyscheme": ["scheme.c"]}
    main = "tinyscheme"
    bugs = ["the end-of-file object is never initialised: a collection follows its pointers, and crashes",
            "a string port keeps a pointer into a string that a collection frees",
            "special forms take car and cdr of numbers: (cond 1) and (set! 5) crash",
            "#xzz reads a variable that was not set",
            "the buffer of a port made by open-output-string is never freed",
            "the test for exact indices is the wrong way round: string-ref, vector-ref and others fail for all integers"]

    def tests(self, place, original):
        # It comes without any: each form has to print what it prints in C.
        out = []
        for form in FORMS:
            both = [start(p, "tinyscheme", Case(["input.scm"], files={"input.scm": form.encode()}))[:2]
                    for p in (place, original)]
            if form not in BROKEN:
                out.append((form, both[0] == both[1]))
        return out

    def workload(self):
        def program(*sizes):
            text = SCHEME
            for letter, size in zip("ABCD", sizes):
                text = text.replace("@" + letter, str(size))
            return ("tinyscheme", Case(["input.scm"], files={"input.scm": text.encode()}))
        return [program(27, 14, 400, 2000)], [program(18, 8, 20, 200)]

    def damaged(self, rng, place):
        text = "\n".join(rng.choice(FORMS) for _ in range(rng.randint(1, 6))).encode()
        if rng.random() < 0.1:
            text = (b"(" * rng.choice([50, 3000])) + text
        if rng.random() < 0.1:
            text = b'(display "' + b"x" * rng.choice([200, 254, 255, 256, 257, 300]) + b'")' + text
        if rng.random() < 0.1:
            text = b"(display '" + b"y" * rng.choice([200, 254, 255, 256, 257, 300]) + b")" + text
        return Case(["input.scm"], files={"input.scm": damage(rng, text, 5)})


PROGRAMS = {p.name: p for p in (Factor, Ncompress, Kissfft, Cjson, Tinyscheme)}
