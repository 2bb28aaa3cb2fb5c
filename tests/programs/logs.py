"""What examples/log/log_report.lee prints: logs.py KEY VALUE MOST FILES."""
import re, sys

key, value, most = (int(a) for a in sys.argv[1:4])
groups = {}
for name in sys.argv[4:]:
    text = sys.stdin.buffer.read() if name == "-" else open(name, "rb").read()
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for at, line in enumerate(lines, 1):
        words = re.findall(rb"[^ \t-\r]+", line)
        if len(words) < key:
            continue
        # A key is a C string.
        word = words[key - 1].split(b"\0")[0]
        group = groups.setdefault(word, [0, f"{name}:{at}", []])
        group[0] += 1
        if len(words) >= value and re.fullmatch(rb"-?[0-9]{1,18}", words[value - 1]):
            group[2].append(int(words[value - 1]))
for word, (count, first, numbers) in sorted(groups.items(), key=lambda g: (-g[1][0], g[0]))[:most]:
    line = b"%7d %s %s" % (count, word, first.encode())
    if numbers:
        numbers.sort()
        n = len(numbers)
        line += b" %d numbers %d..%d median %d sum %d" % (n, numbers[0], numbers[-1], numbers[n // 2], sum(numbers))
    sys.stdout.buffer.write(line + b"\n")
