"""The first run of a program beside its second: ``python benchmarks/peers/first_run.py [--device opencl] [NAME ...]``.

The programs are those of programs.py. Each runs in a process of its own with an empty folder for compiled kernels, then
again with what the first run left there. What differs is what a user waits for once: wall time, processor time with
that of compilers, and the number of files that were compiled. With ``--together`` all programs share a folder.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from programs import PROGRAMS

PROGRAM = pathlib.Path(__file__).with_name("programs.py")


def run(name: str, device: str, folder: str) -> tuple[float, float]:
    """A program's wall and processor time in seconds, with compiled kernels in *folder*."""
    variables = {**os.environ, "POLYAD_CACHE_DIR": folder, "POLYAD_COMPILE_NOTICE": "0"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, str(PROGRAM), name, "polyad", device], env=variables, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, used


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*PROGRAMS], metavar="NAME", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=1, help="the medians of so many are printed")
    parser.add_argument("--together", action="store_true", help="one folder for all programs, in their order")
    asked = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, device {asked.device}; seconds: wall (processor)")
    shared = tempfile.TemporaryDirectory() if asked.together else None
    for name in asked.names:
        with tempfile.TemporaryDirectory() as warm:
            run(name, "cpu", warm)  # Python compiles too
        firsts, seconds, files = [], [], 0
        for _ in range(asked.rounds):
            with tempfile.TemporaryDirectory() as own:
                folder = shared.name if shared else own
                before = sum(1 for _ in pathlib.Path(folder).rglob("*.bin"))
                firsts.append(run(name, asked.device, folder))
                files = sum(1 for _ in pathlib.Path(folder).rglob("*.bin")) - before
                seconds.append(run(name, asked.device, folder))
        first, second = (
            f"{statistics.median(wall):5.1f} ({statistics.median(used):4.1f})"
            for wall, used in (zip(*firsts, strict=True), zip(*seconds, strict=True))
        )
        print(f"{name:10} first {first}  second {second}  {files} compiled", flush=True)


if __name__ == "__main__":
    main()
