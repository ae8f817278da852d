"""Models on polyad and on PyTorch, in alternating rounds: ``python benchmarks/peers/models.py --peer-python PYTHON``.

They are those of examples/, and of workloads.py a recurrent and a residual network and a Transformer encoder layer.
Both run the same file, examples/NAME.py: for PyTorch its ``import polyad as torch`` gives PyTorch. Weights are random,
so no wheel is needed. Each library runs in a process of its own; a round times a workload on one, then the other.
The ratios are PyTorch's time divided by polyad's, so above 1 polyad is faster; wall time, and time of the processor in
all threads, which other work on the machine disturbs less. Memory is the peak of a new process that imports a library,
makes the model and runs it. Threads are limited alike, by --threads.

As a worker, ``python models.py --worker LIBRARY``, it reads names from standard input and answers with seconds.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import workloads

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
TOKENS = 24

Step = Callable[[], Any]


def minilm(torch: Any) -> Step:
    """MiniLM, 16 sentences of 64 tokens."""
    model = importlib.import_module("compare_sentences").MiniLM().eval()
    tokens = torch.randint(0, 30522, (16, 64))
    mask = torch.ones(16, 64, dtype=torch.bool)

    def step() -> None:
        with torch.inference_mode():
            model.embed(tokens, mask)

    return step


def smollm2(torch: Any) -> Step:
    """SmolLM2-135M, greedy, with a cache: 24 tokens after 8."""
    module = importlib.import_module("generate")
    model = module.SmolLM2().eval()
    return lambda: sum(1 for _ in module.generate(model, list(range(8)), TOKENS))


def several(make: Callable[[Any], Step], count: int) -> Callable[[Any], Step]:
    """*count* calls in place of one, for the clock and the first call's share."""

    def workload(torch: Any) -> Step:
        step = make(torch)
        return lambda: [step() for _ in range(count)]

    return workload


# With each, how many of what is counted a second a call runs: steps, sentences, tokens.
WORKLOADS = {
    "lstm": (several(workloads.lstm, 10), 10),
    "residual": (several(workloads.residual, 10), 10),
    "encoder": (several(workloads.encoder, 10), 10),
    "encoder_training": (several(workloads.encoder_training, 5), 5),
    "minilm": (minilm, 16),
    "smollm2": (smollm2, TOKENS),
}


def serve(library: str) -> None:
    """Answer names on standard input with seconds of wall time and of the processor for a call, and peak memory."""
    torch = importlib.import_module(library)
    if library != "polyad":
        for path in ("", ".nn", ".nn.functional"):
            sys.modules["polyad" + path] = importlib.import_module(library + path)
    sys.path.insert(0, str(EXAMPLES))
    torch.manual_seed(0)
    steps: dict[str, Step] = {}
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        name = line.strip()
        if name not in steps:
            steps[name] = WORKLOADS[name][0](torch)
            steps[name]()
        wall, processor = time.perf_counter(), time.process_time()
        steps[name]()
        print(time.perf_counter() - wall, time.process_time() - processor, peak_memory(), flush=True)


def peak_memory() -> float:
    """The most memory that this process has had, in MiB."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


class Worker:
    """A process that runs workloads with a library."""

    def __init__(self, python: str, library: str, threads: int) -> None:
        variables = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        variables["POLYAD_NUM_THREADS"] = str(threads)
        command = [python, __file__, "--worker", library]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
        )
        self.version = self._read()
        self.process.send_signal(signal.SIGSTOP)

    def _read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"models: the worker {self.process.args} stopped")
        return line

    def run(self, name: str) -> tuple[float, float, float]:
        """Seconds of wall time, of the processor, and MiB."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        wall, processor, memory = map(float, self._read().split())
        # A library's idle threads may spin for work; stopped, they cannot take the cores from the other one.
        self.process.send_signal(signal.SIGSTOP)
        return wall, processor, memory

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def compare(name: str, peer_python: str, rounds: int, threads: int) -> None:
    """Print a row of the table."""
    workers = Worker(sys.executable, "polyad", threads), Worker(peer_python, "torch", threads)
    try:
        found: tuple[list[Any], list[Any]] = ([], [])
        for worker in workers:
            worker.run(name)
        for number in range(rounds):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                found[side].append(workers[side].run(name))
    finally:
        for worker in workers:
            worker.stop()
    units = WORKLOADS[name][1]
    ours, theirs = (units / statistics.median(one[0] for one in side) for side in found)
    pairs = list(zip(*found, strict=True))
    wall, processor = (statistics.median(peer[n] / mine[n] for mine, peer in pairs) for n in (0, 1))
    mine, other = (max(one[2] for one in side) for side in found)
    print(
        f"{name:<17} {ours:>10.1f} {theirs:>10.1f} {wall:>8.2f} {processor:>10.2f} {mine:>11.0f} {other:>9.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", help="the interpreter of an environment with PyTorch")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("workloads", nargs="*", help="default: all")
    arguments = parser.parse_args()
    if arguments.worker:
        serve(arguments.worker)
        return
    if not arguments.peer_python:
        parser.error("--peer-python is needed")
    names = arguments.workloads or list(WORKLOADS)
    if unknown := set(names) - WORKLOADS.keys():
        parser.error(f"unknown workloads {sorted(unknown)}; there are {', '.join(WORKLOADS)}")
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    print(f"{platform.machine()}, {arguments.threads} threads, load {load}")
    print(
        f"{'':<17} {'polyad /s':>10} {'peer /s':>10} {'wall':>8} {'processor':>10} {'polyad MiB':>11} {'peer MiB':>9}"
    )
    for name in names:
        compare(name, arguments.peer_python, arguments.rounds, arguments.threads)


if __name__ == "__main__":
    main()
