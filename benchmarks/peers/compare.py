"""polyad beside PyTorch on the same workloads, in alternating rounds:
``python benchmarks/peers/compare.py --peer-python PYTHON``.

Each library runs in a process of its own; a round times a workload on one, then on the other. The figure is the median
over rounds of the ratio polyad / PyTorch within a round: below 1 polyad is faster. Threads are limited alike through
OMP_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys

from workloads import WORKLOADS

WORKER = pathlib.Path(__file__).with_name("workloads.py")


class Worker:
    """A process that times workloads with one library."""

    def __init__(self, python: str, library: str, threads: int) -> None:
        variables = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [python, str(WORKER), library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
        )
        self.version = self.read()

    def read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"compare: the worker {self.process.args} stopped")
        return line

    def time(self, workload: str, seconds: float) -> float:
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{workload} {seconds}\n")
        self.process.stdin.flush()
        answer = float(self.read())
        # A library's idle threads may spin for work; stopped, they cannot take the cores from the other one.
        self.process.send_signal(signal.SIGSTOP)
        return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", required=True, help="the interpreter of an environment with PyTorch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="per workload, library and round")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("workloads", nargs="*", help="default: all")
    arguments = parser.parse_args()
    names = arguments.workloads or list(WORKLOADS)
    unknown = set(names) - WORKLOADS.keys()
    if unknown:
        parser.error(f"unknown workloads {sorted(unknown)}; there are {', '.join(WORKLOADS)}")

    ours = Worker(sys.executable, "polyad", arguments.threads)
    theirs = Worker(arguments.peer_python, "torch", arguments.threads)
    for worker in (ours, theirs):
        worker.process.send_signal(signal.SIGSTOP)
    print(f"polyad {ours.version} / PyTorch {theirs.version}; {platform.machine()}, {arguments.threads} threads")
    print(f"{'workload':<16} {'polyad us':>11} {'peer us':>11} {'ratio':>7} {'min':>6} {'max':>6}")
    for name in names:
        pairs = []
        for number in range(arguments.rounds):
            order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            times = {worker: worker.time(name, arguments.seconds) for worker in order}
            pairs.append((times[ours], times[theirs]))
        ratios = sorted(mine / other for mine, other in pairs)
        mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"{name:<16} {mine:>11.2f} {other:>11.2f} "
            f"{statistics.median(ratios):>7.2f} {ratios[0]:>6.2f} {ratios[-1]:>6.2f}",
            flush=True,
        )
    for worker in (ours, theirs):
        worker.process.kill()


if __name__ == "__main__":
    main()
