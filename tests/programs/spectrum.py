"""Compares fft with the definition of the discrete Fourier transform: spectrum.py FFT."""
import cmath
import random
import subprocess
import sys


def run(args, numbers):
    text = "".join(f"{z.real!r} {z.imag!r}\n" for z in numbers)
    out = subprocess.run([sys.argv[1], *args], input=text, capture_output=True, text=True, check=True, timeout=600).stdout
    return [complex(*map(float, line.split())) for line in out.splitlines()]


def dft(x):
    n = len(x)
    return [sum(x[j] * cmath.exp(-2j * cmath.pi * j * k / n) for j in range(n)) for k in range(n)]


random.seed(1)
for count in (1, 2, 3, 8, 60, 256):
    x = [complex(random.uniform(-1, 1), random.uniform(-1, 1)) for _ in range(count)]
    size = 1 << (count - 1).bit_length()
    padded = x + [0j] * (size - count)
    got, want = run([], x), dft(padded)
    if len(got) != size or max(abs(a - b) for a, b in zip(got, want)) > 1e-9 * size:
        sys.exit(f"{count} numbers: the spectrum differs")
    back = run(["-i"], got)
    if max(abs(a - b) for a, b in zip(back, padded)) > 1e-9 * size:
        sys.exit(f"{count} numbers: the inverse differs")
