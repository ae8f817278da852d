"""Loaders whose processes are killed at random moments: `python -m fuzz.loaders --runs=200`.

A run is a program of its own that reads batches with two workers. It is interrupted or killed, or one of its workers is
killed. A finding is a process that goes on, a segment of shared memory that is left, a file that is left in the folder
for temporary files, or a program whose worker was killed and that does not say so.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROGRAM = """
import faulthandler
import signal
import sys
import worker_datasets as data
from polyad.utils.data import DataLoader

faulthandler.register(signal.SIGUSR1)
method, dataset, persistent = sys.argv[1:]
loader = DataLoader(
    getattr(data, dataset)(100_000), batch_size=2, num_workers=2, multiprocessing_context=method,
    persistent_workers=persistent == "True",
)
iterator = iter(loader)
print(*(worker.pid for worker in iterator._pool.workers), flush=True)
for batch in iterator:
    pass
"""
VICTIMS = ("loop", "loop", "worker", "interrupt")
SECONDS = 60.0


def run(number: int) -> list[str]:
    """What is wrong in the run of that *number*."""
    chosen = random.Random(number)
    victim = VICTIMS[number % len(VICTIMS)]
    # A worker that sleeps in a sample can tell nobody of its death by what it sends.
    dataset = chosen.choice(("Pictures", "Pictures", "Slow"))
    method, persistent = chosen.choice(("fork", "fork", "forkserver")), chosen.choice((True, False))
    what = f"run {number} ({method}, {dataset}, {victim})"
    with tempfile.TemporaryDirectory() as folder:
        before = _segments()
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM)
        temporary = Path(folder) / "temporary"
        temporary.mkdir()
        environment = {**os.environ, "TMPDIR": str(temporary)}
        with subprocess.Popen(
            [sys.executable, program, method, dataset, str(persistent)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        ) as process:  # fmt: skip
            workers = [int(text) for text in process.stdout.readline().split()]
            if len(workers) != 2:
                return [f"{what}: no workers: {process.stderr.read()}"]
            time.sleep(chosen.random() ** 2)
            if victim == "worker":
                os.kill(chosen.choice(workers), signal.SIGKILL)
            else:
                process.send_signal(signal.SIGINT if victim == "interrupt" else signal.SIGKILL)
            try:
                _, told = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGUSR1)  # says where it is
                time.sleep(1)
                process.kill()
                return [f"{what}: goes on for {SECONDS:g} s: {process.communicate()[1]}"]
        findings = []
        left = _still_there(workers)
        if left:
            findings.append(f"{what}: {len(left)} workers are left")
        if victim == "worker" and "was killed by SIGKILL" not in told:
            findings.append(f"{what}: does not say that a worker was killed: {told[-500:]}")
        if victim == "interrupt" and "KeyboardInterrupt" not in told:
            findings.append(f"{what}: does not end by KeyboardInterrupt: {told[-500:]}")
        if _segments() - before:
            findings.append(f"{what}: segments are left: {_segments() - before}")
        # The folder of multiprocessing's fork server is removed by a process that ends, not by a killed one.
        files = [path for path in temporary.rglob("*") if not path.name.startswith(("pymp-", "listener-"))]
        if files:
            findings.append(f"{what}: files are left: {files}")
        return findings


def _segments() -> set[str]:
    # Semaphores are other programs': polyad has none.
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}


def _still_there(pids: list[int]) -> list[int]:
    until = time.monotonic() + SECONDS / 2
    while left := [pid for pid in pids if _is_alive(pid)]:
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    return left


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    found = []
    for number in range(runs):
        for finding in run(number):
            print(finding, flush=True)
            found.append(finding)
    victims = Counter(VICTIMS[number % len(VICTIMS)] for number in range(runs))
    print(f"{runs} runs ({', '.join(f'{name} {count}' for name, count in victims.items())}): {len(found)} findings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
