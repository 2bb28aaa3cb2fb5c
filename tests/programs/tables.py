"""Compares csv with Python's csv module on Debian's package database: tables.py CSV."""
import csv
import io
import subprocess
import sys


def packages():
    rows, fields = [], {}
    for line in open("/var/lib/dpkg/status", encoding="utf-8", errors="replace"):
        if line == "\n":
            rows.append(fields)
            fields = {}
        elif line[0] != " ":
            name, _, value = line.partition(":")
            fields[name] = value.strip()
        else:
            fields[name] += "\n" + line.strip()
    return [
        dict(name=f["Package"], section=f.get("Section", ""), size=f.get("Installed-Size", "0"), description=f.get("Description", ""))
        for f in rows
    ]


def write(rows, names, delimiter=",", end="\n"):
    out = io.StringIO()
    w = csv.DictWriter(out, names, delimiter=delimiter, lineterminator=end, extrasaction="ignore")
    w.writeheader()
    w.writerows(rows)
    return out.getvalue()


def run(args, text):
    p = subprocess.run([sys.argv[1], *args], input=text.encode(), capture_output=True, timeout=600)
    return p.returncode, p.stdout.decode(), p.stderr.decode(errors="replace")


def expect(title, args, text, want):
    status, out, err = run(args, text)
    if status:
        sys.exit(f"{title}: status {status}: {err.strip()}")
    if out != want:
        for a, b in zip(out.splitlines(), want.splitlines()):
            if a != b:
                sys.exit(f"{title}: {a!r}, {b!r} expected")
        sys.exit(f"{title}: {len(out)} characters, {len(want)} expected")


rows = packages()
names = ["name", "section", "size", "description"]
text = write(rows, names)
expect("copy", [], text, text)
expect("CRLF", [], write(rows, names, end="\r\n"), write(rows, names, end="\n"))
expect("semicolons", ["-d", ";"], write(rows, names, ";"), write(rows, names, ";"))
expect("select", ["--select", "size,name"], text, write(rows, ["size", "name"]))
big = [r for r in rows if float(r["size"]) > 5000]
expect("where >", ["--where", "size>5000"], text, write(big, names))
expect("where, twice", ["--where", "size>5000", "--where", "section!=libs"], text, write([r for r in big if r["section"] != "libs"], names))
expect("contains", ["--where", "description~lib"], text, write([r for r in rows if "lib" in r["description"]], names))
expect("limit", ["--limit", "7"], text, write(rows[:7], names))
by_name = sorted(rows, key=lambda r: r["name"].encode())
expect("sort", ["--sort", "name"], text, write(by_name, names))
by_size = sorted(rows, key=lambda r: -float(r["size"]))
expect("sort by number", ["--sort", "size:nr", "--select", "name,size"], text, write(by_size, ["name", "size"]))
groups = {}
for r in rows:
    g = groups.setdefault(r["section"], dict(section=r["section"], n=0, s=0.0))
    g["n"] += 1
    g["s"] += float(r["size"])
grouped = [{"section": g["section"], "count": g["n"], "sum(size)": f"{g['s']:.15g}", "avg(size)": f"{g['s'] / g['n']:.15g}"} for g in groups.values()]
expect(
    "group", ["--group", "section", "--count", "--sum", "size", "--avg", "size"], text,
    write(grouped, ["section", "count", "sum(size)", "avg(size)"]),
)
quoted = 'a,b\n"x ""y""","1,\n2"\n,"\r"\n'
expect("quotes", [], quoted, quoted)
for bad in ("", 'a,b\n1\n', 'a,b\n"1,2\n', 'a\n"1"2\n', 'a,b\n1"2,3\n', "a\n\0\n"):
    status, _, err = run([], bad)
    if status != 1 or not err.startswith("csv: "):
        sys.exit(f"{bad!r}: status {status}: {err.strip()}")
for args in (["--where", "nothing=1"], ["--where", "name"], ["--sort", "x"], ["--select", "x"], ["--frob", "1"]):
    if run(args, text)[0] != 1:
        sys.exit(f"{args}: not refused")
