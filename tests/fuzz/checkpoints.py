"""Runs killed at random moments while they write checkpoints: `python -m fuzz.checkpoints --runs=200`.

A run is a program of its own that goes on from the last checkpoint in a folder and saves further ones, as fast as it
can, until it is killed by SIGKILL. Several runs follow each other in one folder. A finding is a latest or best
checkpoint that cannot be loaded, holds something else than was saved, or is older or worse than what the program had
been told was saved; a damaged file; or anything that is still in the folder after the next save.
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
import warnings
from collections.abc import Callable
from pathlib import Path

import polyad
from polyad.serialization import CheckpointManager

PROGRAM = """
import sys
import warnings

import polyad
from fuzz.checkpoints import record, score
from polyad.serialization import CheckpointManager

warnings.simplefilter("error")
folder, asynchronous, elements = sys.argv[1], sys.argv[2] == "True", int(sys.argv[3])
manager = CheckpointManager(folder, keep=2, asynchronous=asynchronous)
step = manager.load_latest()["step"] + 1 if manager.steps() else 0
print("begun", flush=True)
while True:
    manager.save(record(step, elements), step, score=score(step))
    if not asynchronous:
        print(step, flush=True)
    elif step:
        print(step - 1, flush=True)  # the next save waits for the last
    step += 1
"""
SIZES = (10, 300_000, 3_000_000)
KEPT = 2
RUNS_IN_A_FOLDER = 10


def record(step: int, elements: int) -> dict[str, object]:
    """What is saved at a step."""
    return {"step": step, "weights": polyad.full((elements,), float(step)), "bias": polyad.full((7,), -float(step))}


def score(step: int) -> float:
    """In an order of its own, so that the best is now the last, now an older checkpoint."""
    return random.Random(step).random() + step / 200


def run(number: int, folder: Path) -> list[str]:
    """What is wrong in the run of that *number*, which goes on in *folder*."""
    chosen = random.Random(number)
    asynchronous, elements = bool(number % 2), chosen.choice(SIZES)
    what = f"run {number} ({'asynchronous' if asynchronous else 'synchronous'}, {elements} elements)"
    program = [sys.executable, "-c", PROGRAM, str(folder), str(asynchronous), str(elements)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "begun\n":
            return [f"{what}: could not go on: {process.stderr.read()}"]
        time.sleep(0.4 * chosen.random() ** 2)
        process.send_signal(signal.SIGKILL)
        told, complaints = process.communicate(timeout=60)
    saved = [int(line) for line in told.splitlines(keepends=True) if line.endswith("\n")]
    if complaints:
        return [f"{what}: {complaints[-500:]}"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a checkpoint that is passed over
        try:
            return [f"{what}: {finding}" for finding in _judged(folder, saved)]
        except Exception as error:
            return [f"{what}: {type(error).__name__}: {error}"]


def _judged(folder: Path, saved: list[int]) -> list[str]:
    manager = CheckpointManager(folder, keep=KEPT)
    steps = manager.steps()
    if not steps:
        return [f"nothing is there, and {saved} were saved"] if saved else []
    findings = []
    for step in steps:
        if not _is_right(manager.load(step), step):
            findings.append(f"step {step} holds something else")
    latest, best = manager.load_latest(), manager.load_best()
    if latest["step"] != steps[-1] or latest["step"] < max(saved, default=0):
        findings.append(f"latest is {latest['step']}, there are {steps}, and {saved} were saved")
    wanted = max([*steps, *saved], key=score)
    if best["step"] != wanted:
        findings.append(f"best is {best['step']}, and {wanted} is better")
    # What a run that goes on does first cleans up.
    following = steps[-1] + 1
    manager.save(record(following, 10), following, score=score(following))
    best_step = max(best["step"], following, key=score)
    kept = {following, *[*steps, following][-KEPT:], best_step}
    expected = {f"step-{step:08}.polyad" for step in kept} | {"latest.polyad", "best.polyad"}
    if set(os.listdir(folder)) != expected:
        findings.append(f"after the next save there is {sorted(os.listdir(folder))}, not {sorted(expected)}")
    for name, step in (("latest", following), ("best", best_step)):
        if os.readlink(folder / f"{name}.polyad") != f"step-{step:08}.polyad":
            findings.append(f"{name} points to {os.readlink(folder / f'{name}.polyad')}, not to step {step}")
    return findings


def _is_right(obj: dict[str, polyad.Tensor], step: int) -> bool:
    weights, bias = obj["weights"], obj["bias"]
    return obj["step"] == step and bool((weights == step).all()) and bias.tolist() == [-float(step)] * 7


def kills(runs: int, say: Callable[[str], None]) -> int:
    """How many findings so many runs had; each is said."""
    count = 0
    for begin in range(0, runs, RUNS_IN_A_FOLDER):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(begin, min(runs, begin + RUNS_IN_A_FOLDER)):
                for finding in run(number, Path(folder)):
                    say(finding)
                    count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    found = kills(runs, lambda finding: print(finding, flush=True))
    print(f"{runs} runs, half of them asynchronous: {found} findings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
