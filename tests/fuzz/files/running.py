"""Reading mutants in a process of its own, so that one that hangs or dies can be told and passed over.

The reading process has a gigabyte of address space above what it has when a read begins: more is a MemoryError, or its
death. Seconds are of the processor, which other work on the machine does not lengthen; by the clock a read has ten
times as long.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .readers import READERS, Reader

SECONDS = 5.0
MEMORY = 1 << 30


@dataclass(frozen=True)
class Finding:
    """What is wrong with how a reader took a mutant.

    Attributes:
        sort: what findings of one cause share.
        number: which mutant.
    """

    sort: str
    number: int


@dataclass
class Tally:
    """What came of the mutants of a reader."""

    read: int = 0
    refused: int = 0
    most_seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.read} read, {self.refused} refused, {self.most_seconds:.1f} s the longest"


def findings(reader: Reader, seed: int, numbers: Iterable[int], tally: Tally) -> Iterator[Finding]:
    """Read the mutants of these *numbers*; what is wrong, as it is found."""
    waiting = list(numbers)
    context = multiprocessing.get_context("spawn" if os.name == "nt" else "fork")
    with tempfile.TemporaryDirectory() as folder:
        while waiting:
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(reader.name, seed, waiting, folder, theirs), daemon=True)
            process.start()
            theirs.close()
            try:
                while waiting:
                    answered = ours.poll(10 * SECONDS)
                    outcome, seconds = ours.recv() if answered else (f"takes over {10 * SECONDS:.0f} s", SECONDS)
                    number = waiting.pop(0)
                    tally.most_seconds = max(tally.most_seconds, seconds)
                    tally.read += outcome == "read"
                    tally.refused += outcome == "refused"
                    if outcome not in ("read", "refused"):
                        yield Finding(outcome, number)
                    elif seconds > SECONDS:
                        yield Finding(f"takes over {SECONDS:.0f} s", number)
                    if not answered:
                        break
            except EOFError:
                process.join()
                yield Finding(f"dies of {_death(process.exitcode)}", waiting.pop(0))
            finally:
                process.kill()
                process.join()
                ours.close()


def _death(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"


def _work(name: str, seed: int, numbers: list[int], folder: str, pipe: Any) -> None:
    warnings.simplefilter("ignore")
    with contextlib.redirect_stderr(open(os.devnull, "w")):
        for number in numbers:
            pipe.send(outcome(READERS[name], READERS[name].mutant(seed, number), Path(folder)))


def outcome(reader: Reader, mutant: bytes, folder: Path) -> tuple[str, float]:
    """How the reader took it: "read", "refused", or what is wrong; and the seconds that it took."""
    path = folder / "mutant"
    path.unlink(missing_ok=True)  # a reader may have linked it
    path.write_bytes(mutant)
    begin = time.process_time()
    try:
        with _little_memory():
            reader.read(path)
        result = "read"
    except reader.raises as error:
        named = not reader.names_the_file or str(path) in str(error)
        result = "refused" if named else f"names no file: {type(error).__name__}{_place(error)}"
        if getattr(error, "fix", "") is None:
            result = f"says no fix: {type(error).__name__}{_place(error)}"
    except MemoryError as error:
        result = f"takes over 1 GB{_place(error)}"
    except Exception as error:
        result = f"{type(error).__name__}{_place(error)}"
    return result, time.process_time() - begin


def _place(error: BaseException) -> str:
    """Where in polyad, or in the suite, it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "polyad" in frame.filename]
    if not frames:
        return ""
    return f" in {Path(frames[-1].filename).name}:{frames[-1].name}"


@contextlib.contextmanager
def _little_memory() -> Iterator[None]:
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):  # not Linux: seconds and exceptions are still watched
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
