"""polyad beside PyTorch on the same workloads, in alternating rounds:
``python benchmarks/peers/compare.py --peer-python PYTHON``.

Each library runs a workload in a process of its own; a round times it on one, then on the other, while the first is
stopped. The figure is the median over rounds of PyTorch's time divided by ours within a round: above 1 polyad is
faster. With ``--busy`` a process that only computes runs for each core meanwhile. Both may use as many threads.
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

from workloads import GROUPS, TRAINING, WORKLOADS

WORKER = pathlib.Path(__file__).with_name("workloads.py")


class Worker:
    """A process that times workloads with one library."""

    def __init__(self, python: str, library: str, threads: int) -> None:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLYAD_NUM_THREADS")
        variables = {**os.environ, **dict.fromkeys(names, str(threads))}
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

    def time(self, workload: str, seconds: float) -> tuple[float, float]:
        """The median time of a call in microseconds, and the peak memory of the process in megabytes."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{workload} {seconds}\n")
        self.process.stdin.flush()
        time, memory = map(float, self.read().split())
        # A library's idle threads may spin for work; stopped, they cannot take the cores from the other one.
        self.process.send_signal(signal.SIGSTOP)
        return time, memory

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def busy_processes(count: int) -> list[subprocess.Popen[bytes]]:
    """As many processes that only compute."""
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]


def import_time(python: str, library: str) -> float:
    """Milliseconds that importing takes, the best of five."""
    program = f"import time; start = time.perf_counter(); import {library}; print(time.perf_counter() - start)"
    times = [float(subprocess.run([python, "-c", program], capture_output=True, check=True).stdout) for _ in range(5)]
    return min(times) * 1000


def compare(name: str, peer_python: str, arguments: argparse.Namespace) -> float:
    """Print a workload's row; returns the median ratio."""
    ours = Worker(sys.executable, "polyad", arguments.threads)
    theirs = Worker(peer_python, "torch", arguments.threads)
    try:
        for worker in (ours, theirs):
            worker.process.send_signal(signal.SIGSTOP)
        pairs, memory = [], {ours: 0.0, theirs: 0.0}
        for number in range(arguments.rounds):
            order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
            times = {}
            for worker in order:
                times[worker], memory[worker] = worker.time(name, arguments.seconds)
            pairs.append((times[ours], times[theirs]))
    finally:
        ours.stop()
        theirs.stop()
    ratios = sorted(other / mine for mine, other in pairs)
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"{name:<20} {mine:>11.1f} {other:>11.1f} "
        f"{statistics.median(ratios):>7.2f} {ratios[0]:>6.2f} {ratios[-1]:>6.2f} "
        f"{memory[ours]:>8.0f} {memory[theirs]:>8.0f}",
        flush=True,
    )
    return statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter of an environment with PyTorch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="per workload, library and round")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--busy", action="store_true", help="with a process that computes for each core")
    parser.add_argument("workloads", nargs="*", help=f"workloads, or groups: {', '.join(GROUPS)}; default: training")
    arguments = parser.parse_args()
    names = [name for given in arguments.workloads or ["training"] for name in GROUPS.get(given, [given])]
    unknown = set(names) - WORKLOADS.keys()
    if unknown:
        parser.error(f"unknown workloads {sorted(unknown)}; there are {', '.join(WORKLOADS)}")

    others = busy_processes(os.cpu_count() or 1) if arguments.busy else []
    try:
        how = "busy" if others else "quiet"
        print(f"PyTorch's time / polyad's; {platform.machine()}, {arguments.threads} threads, {how}")
        heads = f"{'ratio':>7} {'min':>6} {'max':>6} {'MB':>8} {'peer MB':>8}"
        print(f"{'workload':<20} {'polyad us':>11} {'peer us':>11} {heads}")
        ratios = {name: compare(name, arguments.peer_python, arguments) for name in names}
    finally:
        for other in others:
            other.kill()
    steps = [ratio for name, ratio in ratios.items() if name in TRAINING]
    if steps:
        print(f"geometric mean of {len(steps)} training steps: {statistics.geometric_mean(steps):.2f}")
    print(f"import, ms: {import_time(sys.executable, 'polyad'):.0f}, {import_time(arguments.peer_python, 'torch'):.0f}")


if __name__ == "__main__":
    main()
