"""Each function on the cpu beside what a good NumPy user would write for it, at 2**20 elements:
``python benchmarks/peers/numpy_ops.py [names or families]``.

A round times the two one after the other, each by its best call; the figure is the median over rounds of the ratio
polyad / NumPy within a round. Below 1 polyad is faster. ``--memory`` prints instead the peak of the memory that each
allocates during a call, in units of 2**20 float32 elements. The formulations are in `numpy_cases`.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy_cases import FAMILIES
from numpy_cases.arrays import Arrays, Case

import polyad

UNIT = 4 << 20
"""Bytes of 2**20 float32 elements."""


def seconds(call: Callable[..., Any], arguments: tuple[Any, ...], least: float) -> float:
    """The time of one call, from as many as fill *least* seconds; the best of them, for the machine may be shared."""
    best, end = float("inf"), time.perf_counter() + least
    while True:
        start = time.perf_counter()
        call(*arguments)
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def peak(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """The most memory allocated at a time by one call, its result included, in units of `UNIT`."""
    call(*arguments)  # plans, caches and lazily imported modules are not the call's
    gc.collect()
    tracemalloc.start()
    call(*arguments)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / UNIT


def chosen(names: list[str]) -> Iterator[Case]:
    """The cases that *names* (of cases or families) ask for, all if there are none."""
    arrays = Arrays()
    for family, cases in FAMILIES.items():
        for case in cases(arrays):
            if not names or family in names or case.name in names:
                yield case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="per call, library and round")
    parser.add_argument("--over", type=float, default=0.0, help="print only ratios above this")
    parser.add_argument("--memory", action="store_true", help="peaks of memory instead of times")
    parser.add_argument("names", nargs="*", help=f"cases or families ({', '.join(FAMILIES)}); default: all")
    arguments = parser.parse_args()
    ratios: list[tuple[float, str]] = []
    for name, ours, theirs, given in chosen(arguments.names):
        tensors = tuple(polyad.tensor(one) if isinstance(one, np.ndarray) else one for one in given)
        # The same memory for both: how it lies in pages and cache lines decides about the speed of some copies.
        arrays = tuple(one.numpy() if isinstance(one, polyad.Tensor) else one for one in tensors)
        with np.errstate(all="ignore"):
            if arguments.memory:
                mine, other = peak(ours, tensors), peak(theirs, arrays)
                ratios.append((mine / max(other, 0.01), name))
                print(f"{name:32} {mine:7.2f} {other:7.2f}", flush=True)
                continue
            pairs = [
                (seconds(ours, tensors, arguments.seconds), seconds(theirs, arrays, arguments.seconds))
                for _ in range(arguments.rounds)
            ]
        within = [mine / other for mine, other in pairs]
        ratios.append((statistics.median(within), name))
        if ratios[-1][0] > arguments.over:
            spread = f"({min(within):.2f}-{max(within):.2f})"
            print(f"{name:32} {ratios[-1][0]:6.2f}  {spread:14} {min(pairs)[0] * 1e3:9.3f} ms", flush=True)
    over = [name for ratio, name in ratios if ratio > 1.5]
    print(f"{len(ratios)} cases; above 1.5: {', '.join(over) or 'none'}")


if __name__ == "__main__":
    main()
