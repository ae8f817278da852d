"""Starting the processes of a program on one machine, watching them, and starting all again when one fails."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

__all__ = ["Failure", "Launcher", "Program"]

GRACE = 15.0
"""Seconds between a signal to end and one that ends."""

_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


@dataclass
class Program:
    """What is started, and how many times.

    Attributes:
        command: the program and its arguments.
        count: processes on this machine.
        first_rank, world_size: the rank of the first one, and how many there are on all machines.
        node_rank: the number of this machine.
        environment: what the processes have in their environment beside this one's and their ranks.
        per_process: arguments that each process gets besides, by its local rank.
        log_dir: where outputs are kept; None if nowhere.
        redirects, tee: streams of a local rank that go to a file alone, or are printed with its name, too: 1 for
            stdout, 2 for stderr, 3 for both.
        shown: local ranks whose output is printed; all if empty.
        role: the name of the processes in prefixed output.
    """

    command: Sequence[str]
    count: int
    first_rank: int = 0
    world_size: int = 0
    node_rank: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    per_process: Callable[[int], Sequence[str]] = lambda local_rank: ()
    log_dir: Path | None = None
    redirects: Callable[[int], int] = lambda local_rank: 0
    tee: Callable[[int], int] = lambda local_rank: 0
    shown: frozenset[int] = frozenset()
    role: str = "default"


@dataclass
class Failure:
    """How the first process that failed ended.

    Attributes:
        local_rank, rank, pid: which it was.
        code: its exit code; the negative number of a signal that ended it.
        logs: where its output is kept.
    """

    local_rank: int
    rank: int
    pid: int
    code: int
    logs: Path | None

    def __str__(self) -> str:
        how = f"ended with exit code {self.code}"
        if self.code < 0:
            how = f"was ended by signal {signal.Signals(-self.code).name}"
        kept = f"; its output is in {self.logs}" if self.logs else ""
        return f"rank {self.rank} (local rank {self.local_rank}, process {self.pid}) {how}{kept}"


class Launcher:
    """Runs a `Program` until all its processes have ended, or one has failed.

    Args:
        program: what to start.
        attempt: how many times it was started before.
    """

    def __init__(self, program: Program, attempt: int = 0) -> None:
        self._program, self._attempt = program, attempt
        self._processes: list[subprocess.Popen[bytes]] = []
        self._files: list[IO[Any]] = []
        self._readers: list[threading.Thread] = []

    def run(self, interval: float = 0.05) -> Failure | None:
        """Start, wait, and look every *interval* seconds; how it failed, or None."""
        try:
            for local_rank in range(self._program.count):
                self._start(local_rank)
            return self._watch(interval)
        finally:
            self.end()

    def _watch(self, interval: float) -> Failure | None:
        while True:
            codes = [process.poll() for process in self._processes]
            for local_rank, code in enumerate(codes):
                if code:
                    rank = self._program.first_rank + local_rank
                    return Failure(local_rank, rank, self._processes[local_rank].pid, code, self._folder(local_rank))
            if None not in codes:
                return None
            time.sleep(interval)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End what still runs: by a signal, and after a while by force."""
        running = [process for process in self._processes if process.poll() is None]
        for process in running:
            with contextlib.suppress(OSError):
                process.send_signal(number)
        last = time.monotonic() + GRACE
        for process in running:
            try:
                process.wait(max(0.0, last - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for reader in self._readers:
            reader.join(5)
        for file in self._files:
            file.close()
        self._files, self._readers = [], []

    def _folder(self, local_rank: int) -> Path | None:
        if self._program.log_dir is None:
            return None
        return self._program.log_dir / f"attempt_{self._attempt}" / str(local_rank)

    def _start(self, local_rank: int) -> None:
        program = self._program
        rank = program.first_rank + local_rank
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1" if program.count > 1 else str(os.cpu_count())),
            **program.environment,
            "RANK": str(rank),
            "LOCAL_RANK": str(local_rank),
            "WORLD_SIZE": str(program.world_size or program.count),
            "LOCAL_WORLD_SIZE": str(program.count),
            "GROUP_RANK": str(program.node_rank),
            "NODE_RANK": str(program.node_rank),
            "ROLE_RANK": str(rank),
            "ROLE_NAME": program.role,
            "ROLE_WORLD_SIZE": str(program.world_size or program.count),
            "TORCHELASTIC_RESTART_COUNT": str(self._attempt),
        }
        environment.setdefault("POLYAD_NUM_THREADS", environment["OMP_NUM_THREADS"])
        streams = [self._stream(local_rank, number) for number in (1, 2)]
        process = subprocess.Popen(
            [*program.command, *program.per_process(local_rank)],
            env=environment,
            stdout=streams[0][0],
            stderr=streams[1][0],
            preexec_fn=_dies_with_parent if sys.platform == "linux" else None,
        )
        self._processes.append(process)
        for (_, copies), pipe, shown in zip(streams, (process.stdout, process.stderr), (sys.stdout, sys.stderr)):
            if pipe is not None:
                reader = threading.Thread(
                    target=_copy, args=(pipe, copies, f"[{program.role}{local_rank}]:", shown), daemon=True
                )
                reader.start()
                self._readers.append(reader)

    def _stream(self, local_rank: int, number: int) -> tuple[Any, IO[bytes] | None]:
        """Where a stream goes: what `subprocess.Popen` takes, and the file that it is copied to."""
        program = self._program
        printed = not program.shown or local_rank in program.shown
        tees, redirects = bool(program.tee(local_rank) & number), bool(program.redirects(local_rank) & number)
        folder = self._folder(local_rank)
        file: IO[bytes] | None = None
        if folder is not None and (tees or redirects):
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / ("stdout.log", "stderr.log")[number - 1]).open("wb")
            self._files.append(file)
        if tees and printed:
            return subprocess.PIPE, file
        if file is not None:
            return file, None
        return (None if printed and not redirects else subprocess.DEVNULL), None


def _copy(pipe: IO[bytes], file: IO[bytes] | None, name: str, shown: Any) -> None:
    for line in pipe:
        if file is not None:
            file.write(line)
            file.flush()
        shown.write(name + line.decode("utf-8", "replace"))
        shown.flush()


def _dies_with_parent() -> None:
    """In a child: let the system end it when the launcher is gone, however that ended."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
