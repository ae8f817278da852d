"""The backward pass beside PyTorch's: time of long chains of small ops, peak memory of a deep network's step.

``python benchmarks/peers/backward.py --peer-python PYTHON`` alternates the two, each in a process of its own, on one
thread. Times are of ``backward()`` alone; memory is the peak of the resident set during a step beyond what there was
before the network was made, with glibc told to give freed blocks back, so that it is what is held and not what is kept
for later. The figure is the median over rounds of polyad / PyTorch: below 1 polyad needs less.

To add a chain, add a row to `CHAINS`; to add a network, one to `NETWORKS`. Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LENGTH = 1000

CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "h + number": lambda h, _: h + 0.1,
    "h * number": lambda h, _: h * 1.0001,
    "h * tensor": lambda h, other: h * other,
    "sin": lambda h, _: h.sin(),
    "tanh": lambda h, _: h.tanh(),
    "relu": lambda h, _: h.relu(),
    "h / tensor": lambda h, other: h / other,
    "h * h": lambda h, _: h * h,
    "h + leaf": lambda h, other: h + other,
}
"""What each link of a chain of 4-element tensors does to h."""

NETWORKS = {"wide batch": (512, 1024), "small batch": (1024, 32)}
"""Width and batch of a perceptron of 50 layers."""


def chain(torch: Any, name: str) -> list[float]:
    """The shortest of some times of backward in milliseconds."""
    link = CHAINS[name]
    x = torch.ones(4, requires_grad=True)
    other = torch.ones(4, requires_grad=name == "h + leaf")
    times = []
    for _ in range(12):
        h = x
        for _ in range(LENGTH):
            h = link(h, other)
        loss = h.sum()
        start = time.perf_counter()
        loss.backward()
        times.append(time.perf_counter() - start)
        x.grad = other.grad = None
    return [min(times) * 1e3]


def network(torch: Any, name: str) -> list[float]:
    """Peaks in MiB: of a step that finds no gradients, and of one that adds to those of the last."""
    width, batch = NETWORKS[name]
    small = torch.nn.Linear(2, 2)
    _step(torch, small, torch.ones(1, 2), torch.optim.SGD(small.parameters(), lr=0.1))
    before = _status("VmRSS")
    model = torch.nn.Sequential(
        *[layer for _ in range(50) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    )
    x, optimizer = torch.randn(batch, width), torch.optim.SGD(model.parameters(), lr=0.01)
    peaks = []
    for _ in range(2):
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # sets the peak back
        _step(torch, model, x, optimizer)
        peaks.append(_status("VmHWM") - before)
    return peaks


def _step(torch: Any, model: Any, x: Any, optimizer: Any) -> None:
    model(x).sum().backward()
    optimizer.step()


def _status(key: str) -> float:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def measured(python: str, library: str, kind: str, name: str) -> list[float]:
    """What a fresh process measures."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    if kind == "chain":
        del variables["MALLOC_MMAP_THRESHOLD_"]
    answer = subprocess.run(
        [python, __file__, "--measure", library, kind, name], check=True, text=True, capture_output=True, env=variables
    )
    numbers: list[float] = json.loads(answer.stdout)
    return numbers


def compare(peer: str, rounds: int) -> None:
    """Print the table."""
    print(f"{'':<26} {'polyad':>9} {'peer':>9} {'ratio':>7} {'min':>6} {'max':>6}")
    for kind, table, labels in (
        ("chain", CHAINS, [f"ms, {LENGTH} links"]),
        ("network", NETWORKS, ["MiB", "MiB, again"]),
    ):
        for name in table:
            pairs = []
            for number in range(rounds):
                order = [(sys.executable, "polyad"), (peer, "torch")][:: 1 if number % 2 == 0 else -1]
                found = {library: measured(python, library, kind, name) for python, library in order}
                pairs.append((found["polyad"], found["torch"]))
            for place, label in enumerate(labels):
                ours, theirs = ([pair[side][place] for pair in pairs] for side in (0, 1))
                ratios = sorted(mine / other for mine, other in zip(ours, theirs, strict=True))
                print(
                    f"{name + ', ' + label:<26} {statistics.median(ours):>9.2f} {statistics.median(theirs):>9.2f} "
                    f"{statistics.median(ratios):>7.2f} {ratios[0]:>6.2f} {ratios[-1]:>6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        _, _, library, kind, name = sys.argv
        print(json.dumps({"chain": chain, "network": network}[kind](importlib.import_module(library), name)))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--peer-python", required=True, help="the interpreter of an environment with PyTorch")
        parser.add_argument("--rounds", type=int, default=5)
        arguments = parser.parse_args()
        compare(arguments.peer_python, arguments.rounds)
