"""Compares json with Python's json module: documents.py JSON."""
import json
import os
import random
import subprocess
import sys


def run(args, data):
    p = subprocess.run([sys.argv[1], *args], input=data, capture_output=True, timeout=600)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def fail(text):
    sys.exit(text)


def check(data, title):
    """The printed forms equal Python's byte for byte where numbers are plain, by value otherwise."""
    value = json.loads(data)
    for args, options in (
        ([], dict(indent=2, ensure_ascii=False)),
        (["--ascii"], dict(indent=2)),
        (["--compact"], dict(separators=(",", ":"), ensure_ascii=False)),
        (["--compact", "--ascii"], dict(separators=(",", ":"))),
    ):
        status, out, err = run(args, data)
        if status:
            fail(f"{title} {args}: status {status}: {err.strip()}")
        want = (json.dumps(value, **options) + "\n").encode()
        if out != want and json.loads(out) != value:
            fail(f"{title} {args}: the value differs")
        if out != want and not has_float(value):
            fail(f"{title} {args}: the text differs: {out[:100]!r} {want[:100]!r}")


def has_float(v):
    if isinstance(v, dict):
        return any(map(has_float, v.values()))
    if isinstance(v, list):
        return any(map(has_float, v))
    return isinstance(v, float)


def packages():
    """Debian's package database as a list of objects."""
    result, fields = [], {}
    for line in open("/var/lib/dpkg/status", encoding="utf-8", errors="replace"):
        if line == "\n":
            result.append(fields)
            fields = {}
        elif line[0] != " ":
            name, _, value = line.partition(":")
            fields[name] = value.strip()
        else:
            fields[name] = fields[name] + line
    return result


def found(folders, most):
    """The first JSON files below the folders."""
    names = []
    for folder in folders:
        for at, _, files in os.walk(folder):
            names += [os.path.join(at, f) for f in files if f.endswith(".json")]
            if len(names) >= most:
                return names[:most]
    return names


def random_value(depth):
    kind = random.randrange(8 if depth else 6)
    if kind == 0:
        return random.choice((None, True, False))
    if kind == 1:
        return random.randrange(-(10**30), 10**30)
    if kind == 2:
        return random.uniform(-1, 1) * 10 ** random.randrange(-300, 300)
    if kind < 6:
        points = [random.choice((0x22, 0x5C, 0x2F, 0, 9, 10, 0x1F, 0x7F, 0x41, 0xE9, 0x20AC, 0xFFFF, 0x1F600, 0x10FFFF)) for _ in range(6)]
        return "".join(map(chr, points))
    if kind == 6:
        return [random_value(depth - 1) for _ in range(random.randrange(5))]
    return {f"k{i}\n\u00e9": random_value(depth - 1) for i in range(random.randrange(5))}


random.seed(1)
for name in found(("/usr/lib/python3", "/usr/share", "/usr/lib"), 20):
    text = open(name, "rb").read(300000)
    try:
        json.loads(text)
    except ValueError:
        continue
    if not text.startswith(b"\xef\xbb\xbf"):
        check(text, name)
check(json.dumps(packages()[:300], ensure_ascii=False).encode(), "packages")
for i in range(40):
    check(json.dumps(random_value(5), ensure_ascii=bool(i % 2)).encode(), f"random {i}")

bad = {
    b"": "1:1", b"[1,\n 2 x]": "2:4", b"{\"a\" 1}": "1:6", b"[1,]": "1:4", b"01": "1:2", b"-": "1:2", b"1.": "1:3", b"1e": "1:3",
    b'"\\x"': "1:3", b'"\\u12g4"': "1:6", b'"\\ud800"': "1:8", b'"\\udc00"': "1:8", b'"a\nb"': "1:3", b'"abc': "1:5", b'"\xff"': "1:2",
    b'"\xc0\xaf"': "1:2", b'"\xed\xa0\x80"': "1:2", b"nul": "1:1", b"[1] 2": "1:5", b"{1:2}": "1:2", b"[" * 600: "1:513", b'{"a":1,}': "1:8",
}
for data, position in bad.items():
    status, out, err = run([], data)
    if status != 1 or f"-:{position}:" not in err:
        fail(f"{data[:20]!r}: status {status}, {err.strip()!r} ({position} expected)")
seed = json.dumps(packages()[:3]).encode()
for _ in range(60):
    data = bytearray(seed[: random.randrange(len(seed))])
    for _ in range(3):
        if data:
            data[random.randrange(len(data))] = random.choice(b'\\"[]{},:u09\x00\xff')
    status, _, err = run([], bytes(data))
    if status not in (0, 1):
        fail(f"damaged document: status {status}: {err.strip()}")
