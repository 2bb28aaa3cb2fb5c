"""Damages a compressed file in many ways; lz must report each one (or still give the same bytes): damage.py LZ PACKED."""
import random
import subprocess
import sys

lz, packed = sys.argv[1], open(sys.argv[2], "rb").read()


def expand(data):
    run = subprocess.run([lz, "decompress", "-", "-"], input=data, capture_output=True, timeout=600)
    return run.returncode, run.stdout


status, original = expand(packed)
assert status == 0, "the undamaged file is not accepted"
random.seed(1)
cases = [packed[:n] for n in (0, 1, 4, 15, 16, 17, 100, len(packed) - 1)] + [packed + b"x"]
for _ in range(60):
    data = bytearray(packed)
    for _ in range(random.choice((1, 3, 20))):
        data[random.randrange(len(data))] = random.randrange(256)
    cases.append(bytes(data))
for _ in range(20):  # a size that lets wrong groups run on
    data = bytearray(packed[:5000])
    data[4:12] = (10**9).to_bytes(8, "little")
    for _ in range(5):
        data[random.randrange(16, len(data))] = random.randrange(256)
    cases.append(bytes(data))
for i, data in enumerate(cases):
    status, out = expand(data)
    if status != 1 and not (status == 0 and out == original):
        sys.exit(f"case {i}: status {status}, {len(out)} bytes")
