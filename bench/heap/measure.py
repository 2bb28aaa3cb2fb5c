"""The recorded measurements of the heap: marking of random heaps (PAGES.md names the paper), the same heaps and binary trees in other
collectors, allocation, pauses, memory after a spike. Each part gives rows for `bench/record`: (label, label of the row that the ratio
is against or None, values by name).

Objects have 24 bytes and a header; 32000000 make a heap of 1 GB. One program runs at a time. Times of Leeward's marking are of the
processor; the other systems report wall time, so a busy machine counts against them."""

import os
import re
import shutil
import statistics
import subprocess
import time
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
bench = SourceFileLoader("bench", os.path.join(HERE, "run")).load_module()
SECONDS, PEAK, PAUSE = "wall, s", "peak, MB", "longest pause, ms"


def launch(work, command, environment):
    """Runs a program; its output, errors, wall seconds and peak memory in MB."""
    start = time.monotonic()
    ran = subprocess.run([os.path.join(work, "peak"), *command], env={**os.environ, **environment}, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if ran.returncode != 0:
        raise RuntimeError(f"{command}: status {ran.returncode}: {ran.stderr[-500:]}")
    return ran.stdout, ran.stderr, seconds, float(re.search(r"\npeak_KB ([0-9]+)\n$", ran.stderr).group(1)) / 1024


def in_turn(work, runs, rows, number):
    """rows: (program, arguments, environment), taken in turn. Returns for each what `number` finds in the output of all runs."""
    found = [[] for _ in rows]
    for _ in range(runs):
        for n, (program, arguments, environment) in enumerate(rows):
            out, *_ = launch(work, [os.path.join(work, program), *arguments], environment)
            found[n].append(float(re.search(number, out).group(1)))
    return found


def marking(work, size):
    """Millions of objects marked in a second; each run is the median of three collections."""
    bare = "bare marker in C, huge pages"
    rows = [
        (bare, ["huge=1"], {}, "bare"),
        ("bare marker in C, small pages", ["huge=0"], {}, "bare"),
        ("huge pages", [], {}, "mark"),
        ("small pages", [], {"LEE_HUGE": "0"}, "mark"),
        ("huge pages, no prefetch", [], {"LEE_GC_PREFETCH": "0"}, "mark"),
        ("small pages, no prefetch", [], {"LEE_HUGE": "0", "LEE_GC_PREFETCH": "0"}, "mark"),
        ("one flat reservation of 64 GB", [], {"LEE_RESERVE_GB": "64"}, "mark"),
        ("half of the pointers near", ["local=50"], {}, "mark"),
        ("all pointers near", ["local=100"], {}, "mark"),
        ("half of the words numbers", ["immediate=50"], {}, "mark"),
        ("eight layouts at random", ["mixed=1"], {}, "mark"),
        ("all from an array", ["index=1"], {}, "mark"),
    ]
    programs = [(program, [f"objects={size.objects}", "repeat=3", *arguments], environment) for _, arguments, environment, program in rows]
    found = in_turn(work, size.runs, programs, r"M_per_s ([0-9.]+)")
    return [(label, bare, {"M objects/s": statistics.median(rates), "least": min(rates), "most": max(rates)})
            for (label, *_), rates in zip(rows, found)]


def static_data(work, size):
    """Pointers to static objects, skipped by the page table, against the same in the heap and marked."""
    shares = [0, 1, 5, 10, 20]
    common = [f"objects={size.objects}", "repeat=3"]
    programs = [("mark", [*common, f"static={percent}", f"marked={marked}"], {}) for percent in shares for marked in (0, 1)]
    middles = [statistics.median(times) for times in in_turn(work, size.runs, programs, r"mark_ms ([0-9.]+)")]
    return [(f"{percent} %", None, {"ratio": skip / mark, "skipped, ms": skip, "marked, ms": mark})
            for percent, skip, mark in zip(shares, middles[::2], middles[1::2])]


def build_peers(work, peers, objects):
    """Those of the peers' programs that can be built here, made for that many objects: name -> command."""
    def copy(source, name, number):
        with open(os.path.join(peers, source)) as file:
            text = file.read().replace(number, str(objects))
        with open(os.path.join(work, name), "w") as file:
            file.write(text)

    found = {}
    if not os.path.isdir(peers):
        return found
    shutil.copy(os.path.join(peers, "c/common.h"), os.path.join(work, "common.h"))

    def attempt(name, *commands):
        if all(shutil.which(c[0]) and subprocess.run(c, cwd=work, capture_output=True).returncode == 0 for c in commands):
            found[name] = os.path.join(work, name)

    copy("c/bdwmark.c", "bdwmark.c", "32000000")
    copy("ml/mark.ml", "ocamlmark.ml", "32_000_000")
    copy("go/bench.go", "gobench.go", "32000000")
    attempt("bdwmark", ["gcc", "-O2", "-w", "bdwmark.c", "-o", "bdwmark", "-lgc"])
    attempt("bdwtrees", ["gcc", "-O2", "-w", "-DGC", os.path.join(peers, "c/trees.c"), "-o", "bdwtrees", "-lgc"])
    attempt("ocamlmark", ["ocamlopt", "-O3", "-w", "-a", "-I", "+unix", "unix.cmxa", "ocamlmark.ml", "-o", "ocamlmark"])
    shutil.copy(os.path.join(peers, "ml/trees.ml"), os.path.join(work, "ocamltrees.ml"))
    attempt("ocamltrees", ["ocamlopt", "-O3", "-w", "-a", "ocamltrees.ml", "-o", "ocamltrees"])
    shutil.copy(os.path.join(peers, "rkt/trees.rkt"), os.path.join(work, "trees.rkt"))
    if shutil.which("racket"):
        found["racket"] = shutil.which("racket")
    attempt("gobench", ["go", "build", "-o", "gobench", "gobench.go"])
    return found


def go_pauses(errors):
    pauses = []
    for first, last in re.findall(r": ([0-9.]+)\+[0-9.]+\+([0-9.]+) ms clock", errors):
        pauses += [float(first), float(last)]
    return pauses


def collectors(work, size):
    """Full collections of a random heap, all of it reached from an array: the median of those that each program makes."""
    rows = []

    def row(name, times, pause, seconds, peak):
        middle = statistics.median(times)
        rows.append((name, "Leeward", {"collection, ms": middle, PAUSE: pause, "M objects/s": size.objects / middle / 1e3, PEAK: peak,
                                       "whole program, s": seconds}))

    def reported(text, label):
        return [float(m) for m in re.findall(label + r"[^\t]*\t([0-9.]+)\tms", text)]

    text, _, seconds, peak = launch(work, [os.path.join(work, "mark"), f"objects={size.objects}", "index=1", "repeat=5", "wall=1"], {})
    row("Leeward", [float(re.search(r"pause_ms ([0-9.]+)", text).group(1))], float(re.search(r"longest_ms ([0-9.]+)", text).group(1)),
        seconds, peak)
    if "gobench" in size.peers:
        text, errors, seconds, peak = launch(work, [size.peers["gobench"], "mark"], {"GODEBUG": "gctrace=1", "GOMAXPROCS": "1"})
        row("Go, one processor", reported(text, r"Go runtime.GC"), max(go_pauses(errors)), seconds, peak)
    for peer, name, label, environment in [("ocamlmark", "OCaml, Gc.major", r"OCaml Gc.major", {}),
                                           ("bdwmark", "BDW, one marker", r"BDW GC_gcollect", {"GC_MARKERS": "1"})]:
        if peer in size.peers:
            text, _, seconds, peak = launch(work, [size.peers[peer]], environment)
            times = reported(text, label)
            row(name, times, max(times), seconds, peak)
    return rows


def trees(work, size):
    """Binary trees. Pauses are what each system says of itself; OCaml and Racket say nothing. Racket's time has its start in it."""
    depth = str(size.depth)
    rows = [("Leeward, collected", [os.path.join(work, "trees-collected"), f"depth={depth}"], {}),
            ("Leeward, collected, growing by 300 %", [os.path.join(work, "trees-collected"), f"depth={depth}"], {"LEE_GC_GROW": "300"}),
            ("Leeward, freed by hand", [os.path.join(work, "trees-unique"), f"depth={depth}"], {}),
            ("Leeward, pages for each tree", [os.path.join(work, "trees-pages"), f"depth={depth}"], {})]
    for library, name in bench.preloads().items():
        rows.append((f"C, {name}", [os.path.join(work, "trees-c"), f"depth={depth}"], {"LD_PRELOAD": library} if library else {}))
    peers = size.peers
    if "ocamltrees" in peers:
        rows.append(("OCaml", [peers["ocamltrees"], depth], {}))
    if "racket" in peers:
        rows.append(("Racket", [peers["racket"], os.path.join(work, "trees.rkt"), depth], {}))
    if "gobench" in peers:
        rows.append(("Go, one processor", [peers["gobench"], "trees", depth], {"GODEBUG": "gctrace=1", "GOMAXPROCS": "1"}))
    if "bdwtrees" in peers:
        rows.append(("BDW", [peers["bdwtrees"], depth], {"GC_PRINT_STATS": "1", "GC_MARKERS": "1"}))
    results = [[] for _ in rows]
    for _ in range(size.runs):
        for n, (name, command, environment) in enumerate(rows):
            text, errors, seconds, peak = launch(work, command, environment)
            pause = None
            if found := re.search(r"pause_most_ms ([0-9.]+)", text):
                pause = float(found.group(1))
            elif name.startswith("Go"):
                pause = max(go_pauses(errors), default=None)
            elif stops := re.findall(r"World-stopped marking took ([0-9]+) ms ([0-9]+) ns", errors):
                pause = max(int(ms) + int(ns) / 1e6 for ms, ns in stops)
            results[n].append((seconds, peak, pause))
    out = []
    for (name, _, _), runs in zip(rows, results):
        pauses = [pause for *_, pause in runs if pause is not None]
        values = {SECONDS: statistics.median(r[0] for r in runs), PEAK: statistics.median(r[1] for r in runs)}
        out.append((name, reference(rows), {**values, **({PAUSE: statistics.median(pauses)} if pauses else {})}))
    return out


def reference(rows):
    """C's best allocator among the rows: mimalloc, if it is installed."""
    names = [name for name, *_ in rows]
    return next(name for name in ["C, mimalloc", "C, jemalloc", "C, glibc"] if name in names)


def allocation(work, size):
    """A block of 16 to 256 bytes freed and another allocated, without the time of the loop around."""
    out = []
    for live in [256, 16384, 1048576]:
        steps = [f"steps={size.steps}"] if size.steps else []
        rows = [("Leeward", ["alloc-lee", f"live={live}", "repeat=3", *steps], {})]
        for library, name in bench.preloads().items():
            rows.append((f"C, {name}", ["alloc-c", f"live={live}", "repeat=3", *steps], {"LD_PRELOAD": library} if library else {}))
        against = f"{live} live: {reference(rows)}"
        for (label, *_), found in zip(rows, bench.measure(work, size.runs, rows)):
            out.append((f"{live} live: {label}", against, {"ns for a pair": found["ns_per_pair"] - found["loop_only"],
                                                           "resident, MB": found["resident_MB"]}))
    return out


def table_of(run, names, prefixes):
    """A part that has the tables of bench/heap/run, which give no ratios. names: what a value is called here, prefixes: of the rows
    of each table."""
    def part(work, size):
        out, tables = [], iter(prefixes)

        def keep(title, rows, results, columns):
            prefix = next(tables)
            for (label, *_), result in zip(rows, results):
                out.append((prefix + label, None, {name: result[key] for key, name in names.items() if key in columns and key in result}))

        run(work, size.runs, size.quick, keep)
        return out
    return part


pauses = table_of(bench.run_pause, {"objects": "objects", "cpu_ms": "pause, ms", "pause_ms": "pause, ms", "longest_ms": "longest, wall, ms",
                                    "wall_most_ms": "longest, wall, ms", "all_ms": "program with children, ms", "peak_MB": PEAK},
                  ["", "by itself: "])
spike = table_of(bench.run_spike, {"before_MB": "before, MB", "spike_MB": "at the spike, MB", "after_MB": "after, MB",
                                   "needed_MB": "needed, MB", "ms": "ms"}, [""])
