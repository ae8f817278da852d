"""The process in each environment: ``python worker.py SIDE LIBRARY FOLDER``, driven by lines on its standard input.

It imports the library once, then runs each job in a fork of itself, so that a crash ends one job and a job's peak
memory is its own. What it is told, and answers, each a line of JSON:

    {"run": NAME, "device": DEVICE}  runs the job and leaves its values in <folder>/<name>.npz
    {"time": SECTION}                calls what the job gave to be timed: seconds by the clock, and of the processor
    {"end": true}                    ends the job's process: its peak memory
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).resolve().parent.parent
LEAST_SECONDS = 0.05  # of one measurement; shorter calls are repeated


class Lines:
    """Requests and answers, apart from what libraries print, which goes to standard error."""

    def __init__(self) -> None:
        self.answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def read(self) -> dict[str, Any] | None:
        line = bytearray()
        while not line.endswith(b"\n"):  # byte for byte: what follows is for another process
            one = os.read(0, 1)
            if not one:
                return None
            line += one
        request: dict[str, Any] = json.loads(line)
        return request

    def answer(self, **values: Any) -> None:
        self.answers.write(json.dumps(values) + "\n")
        self.answers.flush()


def seconds(function: Any) -> dict[str, float]:
    """The time of one call, of as many as take a measurable time."""
    calls = 1
    while True:
        clock, processor = time.perf_counter(), time.process_time()
        for _ in range(calls):
            function()
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        if clock >= LEAST_SECONDS or calls >= 4096:
            return {"clock": clock / calls, "processor": processor / calls}
        calls *= 4


def run_job(lines: Lines, torch: Any, side: str, folder: Path, request: dict[str, Any]) -> None:
    """Run one job, then time what it gave, until told to end."""
    from ecosystem.job import JOBS, Run, folder_of

    job = JOBS[request["run"]]
    own, other = (folder_of(folder, request["run"], one) for one in (side, "pytorch"))
    own.mkdir(exist_ok=True)
    run = Run(torch, side, request["device"], own, other)
    try:
        torch.manual_seed(0)
        start = time.process_time()
        job.function(run)
        np.savez(own / "values.npz", **{name: value for name, (value, _) in run.values.items()})
        depths = {name: job.factor * depth for name, (_, depth) in run.values.items()}
        lines.answer(depths=depths, timed=list(run.timed), seconds=time.process_time() - start)
    except BaseException as error:  # what ends the job is its result
        traceback.print_exc()
        lines.answer(error=f"{type(error).__name__}: {error}"[:2000], trace=traceback.format_exc()[-4000:])
    while (request := lines.read() or {"end": True}).get("end") is None:
        try:
            lines.answer(**seconds(run.timed[request["time"]]))
        except Exception as error:
            traceback.print_exc()
            lines.answer(error=f"{type(error).__name__}: {error}"[:2000])


def main() -> None:
    side, library, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    lines = Lines()
    sys.path[0] = str(TESTS)
    start = time.perf_counter()
    if side == "polyad":
        if PathFinder.find_spec("torch") is not None:
            raise SystemExit("polyad's environment has PyTorch, so it shows nothing: make one without")
        import polyad.as_torch

        polyad.as_torch.install()
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    loaded = time.perf_counter()
    jobs = importlib.import_module(f"ecosystem.jobs.{library}")
    took = {"torch": loaded - start, "library": time.perf_counter() - loaded}
    from ecosystem.job import JOBS

    names = {job.name: list(job.devices) for job in JOBS.values()}
    lines.answer(version=importlib.metadata.version(jobs.PACKAGE), torch=torch.__version__, jobs=names, imports=took)
    while request := lines.read():
        if request["device"] != "cpu":  # whose driver may not survive a fork: the job has this process, its last
            run_job(lines, torch, side, folder, request)
            lines.answer(status=0, peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
            return
        child = os.fork()
        if child == 0:
            try:
                run_job(lines, torch, side, folder, request)
            finally:
                sys.stderr.flush()
                os._exit(0)
        _, status, usage = os.wait4(child, 0)
        lines.answer(status=status, peak=usage.ru_maxrss * 1024)


if __name__ == "__main__":
    main()
