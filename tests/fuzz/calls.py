"""Random calls of everything that is public: ``python -m fuzz.calls --device cpu --count 50000 --seed 0``.

The calls are made in a process of their own. It is killed when a call takes more than `LIMIT` seconds of its time, and
started anew when a call has killed it. What is found is made shorter, argument by argument, as long as it stays the
same finding.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .generation import exchanged_calls, random_call
from .judgement import Finding
from .targets import WRAPPERS, Call

LIMIT = 5.0
"""Seconds of processor time that a call may take: the machine may be busy."""
LONGEST = 60.0
"""Seconds on the clock, after which a call that takes no processor time waits for something for ever."""
LIVES = 5000
"""Calls after which a process is replaced: what they leave in memory is not held against the next."""


class Process:
    """A worker, with the call that it is at."""

    def __init__(self, device: str) -> None:
        self.device, self.made = device, 0
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        folders = [str(Path(__file__).parent.parent), *sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", device],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, env=environment,
        )  # fmt: skip
        self._buffer = b""
        if self._answer(limit=120.0) != "ready":
            raise RuntimeError(f"the worker for {device} does not start:\n{self._words()}")

    def ask(self, call: Call) -> tuple[bool, Finding | None, str]:
        """Whether the call could be made, what is wrong with it, and the exception that it raised."""
        self.made += 1
        line = json.dumps([call.target, call.args, call.kwargs]) + "\n"
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
            answer = self._answer(LIMIT)
        except BrokenPipeError:
            answer = ""
        if answer:
            ran, sort, words, error = json.loads(answer)
            return ran, Finding(sort, words) if sort else None, error
        if answer is None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            self.close()
            return True, Finding("hang", self._stack()), ""
        code = self._process.wait()
        return True, Finding("crash", f"exit code {code}: {self._stack()}"), ""

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _time(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _answer(self, limit: float) -> str | None:
        """The next line, "" if the process has ended, None if it takes too long."""
        assert self._process.stdout is not None
        begun, used = time.monotonic(), None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], 0.5)
            if ready:
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                if not part:
                    return ""
                self._buffer += part
                continue
            spent = self._time()
            used = spent if used is None else used
            if spent - used > limit or time.monotonic() - begun > max(LONGEST, limit):
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def _words(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def _stack(self) -> str:
        lines = [line.strip() for line in self._words().splitlines() if line.strip().startswith(("File", "Fatal"))]
        return " < ".join(line.removeprefix("File ") for line in lines[:8])


class Caller:
    """Asks one process after the other."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._process: Process | None = None

    def ask(self, call: Call) -> tuple[bool, Finding | None, str]:
        """As `Process.ask`; a call that took too long is tried again in a new process, where nothing waits for it."""
        ran, finding, error = self._current().ask(call)
        if finding is not None and finding.sort == "hang":
            ran, finding, error = self._current().ask(call)
        return ran, finding, error

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()

    def _current(self) -> Process:
        if self._process is None or not self._process.alive or self._process.made >= LIVES:
            self.close()
            self._process = Process(self.device)
        return self._process


SIMPLER = (
    "None",
    "0",
    "1",
    "nan",
    "Tensor",
    "[]",
    "filled('float32', 2, 2)",
    "filled('float32', 2)",
    "filled('int64', 2)",
    "filled('float32')",
)


def shorter_calls(call: Call) -> Iterator[Call]:
    """Calls that are simpler than *call* in one place."""
    for name in call.kwargs:
        yield replace(call, kwargs={other: value for other, value in call.kwargs.items() if other != name})
    for place in reversed(range(call.keep, len(call.args))):
        yield replace(call, args=call.args[:place] + call.args[place + 1 :])
    for place in range(len(call.args)):
        kept = 2 if call.target == "invoked" else 1 if call.target in WRAPPERS else 0
        if (call.keep > 1 and place == 1) or place < kept:
            continue
        for value in SIMPLER:
            if len(value) < len(call.args[place]) and (place or call.keep != 1 or value.startswith("filled")):
                yield replace(call, args=(*call.args[:place], value, *call.args[place + 1 :]))
    for name, old in call.kwargs.items():
        for value in SIMPLER:
            if len(value) < len(old):
                yield replace(call, kwargs={**call.kwargs, name: value})


def shortened(caller: Caller, call: Call, finding: Finding, tries: int) -> tuple[Call, Finding]:
    """The simplest call found that ends in the same way."""
    while tries > 0:
        for other in shorter_calls(call):
            tries -= 1
            _, found, _ = caller.ask(other)
            if found is not None and found.is_like(finding):
                call, finding = other, found
                break
            if tries <= 0:
                return call, finding
        else:
            break
    return call, finding


@dataclass
class Report:
    """What a run has found: for each sort and target the shortest call, how often, and how calls ended."""

    found: dict[tuple[str, str], tuple[Call, Finding]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def table(self) -> str:
        """The findings, sorts with the most first."""
        lines = []
        for sort, count in self.counts.most_common():
            here = {key: one for key, one in self.found.items() if key[0] == sort}
            lines.append(f"\n{sort}: {count} calls, {len(here)} places")
            for key, (call, finding) in sorted(here.items(), key=lambda item: len(item[1][0].source)):
                words = finding.words.replace("\n", "\n            ")
                lines.append(f"    {call.source}   # {self.numbers[key]}\n            {words[:600]}")
        ended = ", ".join(f"{count:,} {name or 'answered'}" for name, count in self.ends.most_common(12))
        total = sum(self.ends.values())
        sorts = ", ".join(f"{count:,} {sort}" for sort, count in self.counts.most_common()) or "nothing found"
        return "\n".join([*lines, "", f"{total:,} calls: {ended}", f"findings: {sorts}"])


def run(
    device: str,
    count: int,
    seed: int,
    first: int = 0,
    tries: int = 60,
    log: Any = None,
    every: bool = False,
    part: str = "ops",
) -> Report:
    """Make *count* calls of a *part* (see `targets.targets`), those whose arguments can be made, and report; *every*
    takes those of `exchanged_calls`.
    """
    caller, report = Caller(device), Report()
    common = () if device == "cpu" else ("float32", "int64")
    one_by_one = (random_call(seed, n, common, part) for n in itertools.count())
    drawn = exchanged_calls(seed, common, part) if every else one_by_one
    try:
        for number, call in enumerate(itertools.islice(drawn, first, None), first):
            if sum(report.ends.values()) >= count:
                break
            ran, finding, error = caller.ask(call)
            if not ran:
                continue
            report.ends[finding.sort if finding else error] += 1
            if finding is None:
                continue
            report.counts[finding.sort] += 1
            head = f"{call.target} {call.args[1]}" if call.keep > 1 else call.target
            key = (finding.sort, f"{head} {finding.pattern}"[:120])
            if key not in report.found:
                call, finding = shortened(caller, call, finding, tries if finding.sort != "hang" else min(tries, 4))
                report.found[key] = call, finding
                report.numbers[key] = number
                if log:
                    print(f"{finding.sort}: {call.source}\n    {finding.words[:400]}", file=log, flush=True)
    finally:
        caller.close()
    return report


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if there are findings."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.calls", description="Random calls of everything that is public."
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=50000, help="calls to make")
    parser.add_argument("--seed", type=int, default=0, help="draws other calls")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call, to see one again")
    parser.add_argument("--tries", type=int, default=60, help="calls spent on making a finding shorter")
    parser.add_argument("--every", action="store_true", help="exchange every argument for every odd value instead")
    parser.add_argument("--log", action="store_true", help="say each finding at once, on stderr")
    parser.add_argument("--part", choices=("ops", "packages"), default="ops", help="what is called")
    given = parser.parse_args(arguments)
    log = sys.stderr if given.log else None
    report = run(given.device, given.count, given.seed, given.first, given.tries, log, given.every, given.part)
    print(report.table())
    return 1 if report.counts else 0


if __name__ == "__main__":
    sys.exit(main())
