"""What the commands of bench/ share: where things are, how results are stored and compared."""

import hashlib
import importlib.machinery
import importlib.util
import json
import math
import os
import platform
import re
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
RESULTS = os.path.join(BENCH, "results")
BUILD = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "bench")
DEFAULT_LEE = os.path.join(ROOT, "target", "release", "lee")


def script(name):
    """A command of bench/ as a module: its name has no `.py`."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(BENCH, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def fail(message):
    """Ends the command: what is wrong, and what to do."""
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def output(command, **options):
    """What a command prints; the benchmark ends if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        fail(f"'{command[0]}' does not run: {error.strerror}")
    if done.returncode != 0:
        fail(f"'{' '.join(command)}' failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def first_line(command):
    """The first line that a command prints, or 'not installed'."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "not installed"
    return done.stdout.split("\n")[0]


def revision():
    """The commit that is checked out; `+` if the compiler or the runtime has changes that are not committed."""
    rev = first_line(["git", "-C", ROOT, "rev-parse", "--short=10", "HEAD"])
    changed = output(["git", "-C", ROOT, "status", "--porcelain", "--", "crates", "runtime", "library"])
    return rev + ("+" if changed else "")


def processor():
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            found = re.search(r"^model name\s*: (.*)$", info.read(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def digest(path):
    """The start of a file's SHA-256: which binary it was, should it not be the commit's."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def machine(lee, compilers):
    """What the numbers depend on, to be stored with them."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "load": os.getloadavg()[0],
        "lee": f"{first_line([lee, '--version'])}, sha256 {digest(lee)}",
        "compilers": {cc: first_line([cc, "--version"]) for cc in compilers},
        "valgrind": first_line(["valgrind", "--version"]),
    }


def result_path(name):
    """The file of a revision's results."""
    return os.path.join(RESULTS, name + ".json")


def load(name):
    """A revision's results, by the start of its name or the path of the file; None if there are none."""
    path = name if os.path.isfile(name) else result_path(name)
    if not os.path.isfile(path):
        found = sorted(f for f in os.listdir(RESULTS) if f.startswith(name) and f.endswith(".json"))
        if len(found) != 1:
            return None
        path = os.path.join(RESULTS, found[0])
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def store(section, values, about, name=None):
    """Adds results to the file of this revision; what it has of other kernels stays."""
    os.makedirs(RESULTS, exist_ok=True)
    name = name or revision()
    data = load(result_path(name)) if os.path.isfile(result_path(name)) else {"revision": name}
    # Kernels and compile times are measured apart, with fewer compilers for the one than for the other.
    about["compilers"] = {**data.get("machine", {}).get("compilers", {}), **about["compilers"]}
    data["machine"] = about
    for key, value in values.items():
        data.setdefault(section, {}).setdefault(key, {}).update(value)
    with open(result_path(name), "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1, sort_keys=True)
        file.write("\n")
    return os.path.relpath(result_path(name))


def put_tables(path, tables):
    """Writes tables into a page, each between its marks. tables: name -> text."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for name, text in tables.items():
        marks = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, found = marks.subn(lambda m: m.group(1) + text + m.group(2), page)
        if found != 1:
            fail(f"{path} needs one place between '<!-- table {name} -->' and '<!-- end -->'")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
    print(f"wrote {os.path.relpath(path)}")


def geometric_mean(values):
    """The geometric mean; of nothing, NaN."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan
