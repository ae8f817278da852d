"""Times of ops on device "cuda" by the device's events, medians, beside PyTorch's where it is installed.

    python benchmarks/gpu_speed.py [--repeat 20]

Prints a table: microseconds of polyad and of PyTorch, their ratio (above 1 where polyad is faster), and for ops that
only move bytes the rate against that of a plain copy, taken in the same run. The two take turns.
"""

from __future__ import annotations

import argparse
import statistics

import polyad

try:
    import torch
except ImportError:
    torch = None

_BIG = 1 << 26


def cases(t):
    """Name, bytes that are moved (0: not told), and the call."""
    x, y = (t.randn(_BIG, device="cuda") for _ in range(2))
    rows = t.randn(8192, 4096, device="cuda")
    weight, square = t.ones(4096, device="cuda"), t.randn(4096, 4096, device="cuda")
    target = t.zeros(8192, dtype=t.int64, device="cuda")
    image, kernel = t.randn(64, 64, 56, 56, device="cuda"), t.randn(64, 64, 3, 3, device="cuda")
    f = t.nn.functional
    half = square.to(t.bfloat16)
    size = 4 * _BIG
    yield "copy", 2 * size, lambda: x.clone()
    yield "add", 3 * size, lambda: x + y
    yield "gelu", 2 * size, lambda: f.gelu(x)
    yield "sum", size, lambda: x.sum()
    yield "sum of columns", rows.numel() * 4, lambda: rows.sum(0)
    yield "softmax", 2 * rows.numel() * 4, lambda: rows.softmax(1)
    yield "layer norm", 2 * rows.numel() * 4, lambda: f.layer_norm(rows, (4096,), weight, weight)
    yield "cross entropy", rows.numel() * 4, lambda: f.cross_entropy(rows, target)
    yield "product float32", 0, lambda: square @ square
    yield "product bfloat16", 0, lambda: half @ half
    yield "convolution", 0, lambda: f.conv2d(image, kernel, padding=1)
    yield "sort", 0, lambda: rows.sort(1)


def micros(t, call) -> float:
    """What one call takes on the device."""
    start, end = (t.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=20)
    repeat = parser.parse_args().repeat
    libraries = [polyad] if torch is None else [polyad, torch]
    print(f"{'op':<20}{'polyad us':>12}{'torch us':>12}{'ratio':>8}{'of copy':>9}")
    copied = 0.0
    for several in zip(*[cases(library) for library in libraries]):
        name, moved, _ = several[0]
        times: list[list[float]] = [[] for _ in libraries]
        for turn in range(repeat + 3):
            for found, library, (_, _, call) in zip(times, libraries, several):
                taken = micros(library, call)
                if turn >= 3:
                    found.append(taken)
        own, *other = (statistics.median(found) for found in times)
        rate = moved / own
        copied = copied or rate
        shown = f"{other[0]:>12.1f}{other[0] / own:>8.2f}" if other else f"{'':>20}"
        print(f"{name:<20}{own:>12.1f}{shown}{rate / copied if moved else float('nan'):>9.2f}")


if __name__ == "__main__":
    main()
