"""A library's jobs on both sides: run one after the other, compared, and timed in turn."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .agreement import Difference, compare
from .job import folder_of

GROUPS = {
    "light": ("einops", "safetensors"),
    "libraries": (
        "captum", "gpytorch", "kornia", "lightning", "pyro_ppl", "skorch", "stable_baselines3", "tensorboard",
        "torch_geometric", "torchdiffeq", "torchmetrics",
    ),
    "hugging_face": ("transformers", "timm", "peft", "accelerate", "diffusers"),
}  # fmt: skip
"""Libraries that share two environments."""

WORKER = Path(__file__).with_name("worker.py")
SIDES = ("pytorch", "polyad")  # the first leaves the weights
JOB_SECONDS = 600


class Ended(Exception):
    """A worker's process ended, or was ended, where an answer was due."""


class Worker:
    """The process that runs a library's jobs on one side, stopped while the other one works."""

    def __init__(self, python: str, side: str, library: str, folder: Path, threads: int) -> None:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLYAD_NUM_THREADS")
        variables = {**os.environ, **dict.fromkeys(names, str(threads)), "HF_HUB_OFFLINE": "1"}
        self.log = (folder / f"{library}.{side}.log").open("a")
        self.process = subprocess.Popen(
            [python, str(WORKER), side, library, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.log, env=variables, start_new_session=True,
        )  # fmt: skip
        self.side = side
        self.started = self.read()

    def read(self, limit: float = JOB_SECONDS) -> dict[str, Any]:
        """The next answer; ends the process where none comes within *limit* seconds."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.stop()
            raise Ended(f"{self.side}: no answer within {limit:.0f} seconds")
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            raise Ended(f"{self.side}: the process ended; {self.log.name} has its output")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.read()
        # A library's idle threads may spin for work; stopped, they cannot take the cores from the other one.
        self.signal(signal.SIGSTOP)
        return answer

    def signal(self, number: int) -> None:
        """Send a signal to the process and to its fork."""
        os.killpg(self.process.pid, number)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


@dataclasses.dataclass
class Row:
    """What a job came to.

    Attributes:
        library, job, device: what was run, on which of polyad's devices.
        error: why the job failed; None where it did not.
        worst: the name of the value that agrees least.
        difference: its relative error.
        ratio: the error by what is allowed.
        times: for each timed section PyTorch's time by polyad's; above 1 polyad is faster.
        memory: PyTorch's peak memory and polyad's, in MB.
    """

    library: str
    job: str
    device: str = "cpu"
    error: str | None = None
    worst: str = ""
    difference: float = 0.0
    ratio: float = 0.0
    times: dict[str, float] = dataclasses.field(default_factory=dict)
    memory: tuple[float, float] = (0.0, 0.0)

    @property
    def red(self) -> bool:
        return self.error is not None or not self.ratio <= 1


def values_of(folder: Path, name: str, side: str) -> dict[str, np.ndarray]:
    with np.load(folder_of(folder, name, side) / "values.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def time_in_turn(workers: dict[str, Worker], section: str, rounds: int, measure: str) -> float:
    """The median over *rounds* of PyTorch's time by polyad's within a round."""
    ratios = []
    for number in range(rounds):
        order = SIDES if number % 2 == 0 else SIDES[::-1]
        answers = {side: workers[side].ask(time=section) for side in order}
        for side, answer in answers.items():
            if "error" in answer:
                raise Ended(f"{side}, {section}: {answer['error']}")
        times = {side: answer[measure] for side, answer in answers.items()}
        ratios.append(times["pytorch"] / times["polyad"])
    return statistics.median(ratios)


@dataclasses.dataclass
class Library:
    """The jobs of one library, with a worker on each side that is started anew after it has ended.

    With *recorded*, a folder with what PyTorch's side left, polyad's runs alone.
    """

    name: str
    pythons: dict[str, str]
    folder: Path
    rounds: int = 5
    threads: int = 1
    measure: str = "processor"
    tidy: bool = True
    recorded: Path | None = None
    workers: dict[str, Worker] = dataclasses.field(default_factory=dict)

    def worker(self, side: str) -> Worker:
        running = self.workers.get(side)
        if running is None or running.process.poll() is not None:
            self.workers[side] = Worker(self.pythons[side], side, self.name, self.folder, self.threads)
        return self.workers[side]

    def run(self, job: str, device: str) -> Row:
        """The job's row. Its first run is PyTorch's, which leaves the weights."""
        row = Row(self.name, job, device)
        peaks: dict[str, float] = {}
        sides = SIDES if self.recorded is None else ("polyad",)
        try:
            if self.recorded is not None:
                left = folder_of(self.recorded, job, "pytorch")
                shutil.copytree(left, self.folder / left.name, dirs_exist_ok=True)
            answers = {}
            for side in sides:
                answers[side] = self.worker(side).ask(run=job, device=device if side == "polyad" else "cpu")
            errors = [f"{side}: {one['error']}" for side, one in answers.items() if "error" in one]
            row.error = "; ".join(errors) or None
            if not errors:
                ours, theirs = (values_of(self.folder, job, side) for side in ("polyad", "pytorch"))
                found: Difference = compare(ours, theirs, answers["polyad"]["depths"])
                row.worst, row.difference, row.ratio = found.name, found.error, found.ratio
                row.error = f"{found.name}: {found.reason}" if found.reason else None
                for section in answers["polyad"]["timed"] if self.rounds and device == "cpu" else ():
                    row.times[section] = time_in_turn(self.workers, section, self.rounds, self.measure)
            for side in sides:
                peaks[side] = self.workers[side].ask(end=True)["peak"] / 1e6
            if device != "cpu":
                self.workers.pop("polyad").stop()  # which has ended
            row.memory = peaks.get("pytorch", 0.0), peaks["polyad"]
            for side in SIDES if self.tidy else ():
                shutil.rmtree(folder_of(self.folder, job, side))
        except (Ended, KeyError, OSError, ValueError) as error:
            row.error = f"{type(error).__name__}: {error}"
            self.stop()
        return row

    def stop(self) -> None:
        for worker in self.workers.values():
            worker.stop()
        self.workers.clear()


def run_library(library: Library, wanted: str, only: tuple[str, ...], keep: Callable[..., None]) -> list[Row]:
    """The rows of the library's jobs whose names match *wanted*; each is printed, and given to *keep*, as it comes."""
    rows: list[Row] = []
    try:
        started = {side: library.worker(side).started for side in SIDES}
        about = {"version": started["polyad"]["version"], "pytorch": started["pytorch"]["torch"]}
        about["imports"] = {side: one["imports"] for side, one in started.items()}
        for name, devices in started["polyad"]["jobs"].items():
            for device in devices if re.search(wanted, name) else ():
                if only and device not in only:
                    continue
                rows.append(library.run(name, device))
                keep(library.name, about, dataclasses.asdict(rows[-1]))
                tell(rows[-1])
    except Ended as error:
        rows.append(Row(library.name, "import", error=str(error)))
        keep(library.name, {}, dataclasses.asdict(rows[-1]))
        tell(rows[-1])
    finally:
        library.stop()
    return rows


def tell(row: Row) -> None:
    """Print a row."""
    times = "  ".join(f"{name} {ratio:.2f}" for name, ratio in row.times.items())
    said = row.error or f"{row.worst} {row.difference:.1e} ({row.ratio:.2f} of allowed)"
    print(f"{'RED ' if row.red else 'ok  '} {row.library} {row.job} [{row.device}] {said}  {times}", flush=True)
