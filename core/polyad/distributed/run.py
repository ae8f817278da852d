"""``python -m polyad.distributed.run`` and ``polyad run``: start a program in several processes, with torchrun's
options.

    python -m polyad.distributed.run --nproc-per-node 2 train.py --epochs 3

On several machines the same command is started on each, with ``--nnodes``, ``--node-rank`` and ``--master-addr``, or
with ``--rdzv-endpoint`` of one of them. When a process fails all are ended, and started again up to ``--max-restarts``
times.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import FrameType

from ..errors import ArgumentError
from .errors import DistNetworkError
from .launcher import Launcher, Program
from .store import TCPStore

__all__ = ["main", "parser"]


def parser(prog: str = "python -m polyad.distributed.run") -> argparse.ArgumentParser:
    """The options, named as torchrun's; with ``_`` for ``-`` too."""
    made = argparse.ArgumentParser(prog=prog, description=(__doc__ or "").split("\n", 1)[0], allow_abbrev=False)

    def add(name: str, **about: object) -> None:
        made.add_argument(*{f"--{name}", f"--{name.replace('-', '_')}"}, dest=name.replace("-", "_"), **about)  # type: ignore[arg-type]

    add("nnodes", default="1", help="number of machines")
    add("nproc-per-node", default="1", help='processes on this machine: a number, "cpu", "gpu" or "auto"')
    add("node-rank", type=int, default=0, help="number of this machine, from 0 on")
    add("master-addr", default="127.0.0.1", help="address of machine 0")
    add(
        "master-port",
        type=int,
        default=None,
        help="port of machine 0 at which processes meet; on one machine a free one",
    )
    add("rdzv-backend", default="static", help='"static" or "c10d": machines meet at --rdzv-endpoint')
    add("rdzv-endpoint", default="", help="host:port of one of the machines")
    add("rdzv-id", default="none", help="name of the run")
    add("rdzv-conf", default="", help="taken for scripts written for torchrun")
    add("standalone", action="store_true", help="one machine, at a free port")
    add("max-restarts", type=int, default=0, help="how many times all are started again when one fails")
    add("monitor-interval", type=float, default=0.1, help="seconds between two looks at the processes")
    add("start-method", default="spawn", help="taken for scripts written for torchrun")
    add("role", default="default", help="name of the processes in prefixed output")
    add("log-dir", default=None, help="folder for outputs")
    add("local-addr", default=None, help="address of this machine")
    made.add_argument("-r", "--redirects", default="0", help='streams that go to files: 1, 2, 3 or "0:1,1:3"')
    made.add_argument("-t", "--tee", default="0", help="streams that go to files and are printed with the rank")
    add("local-ranks-filter", default="", help="local ranks whose output is printed, separated by commas")
    made.add_argument("-m", "--module", action="store_true", help="the program is a module")
    add("no-python", action="store_true", help="the program is no Python script")
    made.add_argument("program", help="a script, or a module with -m")
    made.add_argument("program_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run what *argv* says; the exit code."""
    return launch(parser().parse_args(argv))


def launch(options: argparse.Namespace, per_process: Callable[[int], Sequence[str]] = lambda local_rank: ()) -> int:
    """Start the processes, and all again when one fails; the exit code."""
    try:
        count, nodes = _processes_here(options.nproc_per_node), _nodes(options.nnodes)
        log_dir = Path(options.log_dir) if options.log_dir else None
        if log_dir is None and options.redirects != "0":
            log_dir = Path(tempfile.mkdtemp(prefix="polyad_run_"))
        meeting = _Meeting(options, nodes)
        redirects, tee = _streams(options.redirects), _streams(options.tee)
    except (ArgumentError, DistNetworkError, ValueError) as error:
        _say(str(error))
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(options, count, nodes, meeting, log_dir, redirects, tee, per_process)
    except _Ended as ended:
        return 128 + ended.number
    except KeyboardInterrupt:
        return 130


def _run(
    options: argparse.Namespace,
    count: int,
    nodes: int,
    meeting: _Meeting,
    log_dir: Path | None,
    redirects: Callable[[int], int],
    tee: Callable[[int], int],
    per_process: Callable[[int], Sequence[str]],
) -> int:
    for attempt in range(options.max_restarts + 1):
        host, port = meeting.place(attempt)
        run_id = options.rdzv_id if options.rdzv_id != "none" else uuid.uuid4().hex[:8]
        program = Program(
            [*_command(options), *options.program_args],
            count,
            meeting.node_rank * count,
            nodes * count,
            meeting.node_rank,
            {
                "MASTER_ADDR": host, "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": run_id,
                "TORCHELASTIC_MAX_RESTARTS": str(options.max_restarts), "GROUP_WORLD_SIZE": str(nodes),
            },
            per_process,
            None if log_dir is None else log_dir / run_id,
            redirects,
            tee,
            frozenset(int(rank) for rank in options.local_ranks_filter.split(",") if rank),
            options.role,
        )  # fmt: skip
        failure = Launcher(program, attempt).run(options.monitor_interval)
        if failure is None:
            return 0
        left = options.max_restarts - attempt
        _say(f"{failure}; {f'starting again, {left} times left' if left else 'all were ended'}")
    return 1


def _say(text: str) -> None:
    sys.stderr.write(f"polyad.distributed.run: {text}\n")
    sys.stderr.flush()


class _Ended(BaseException):
    """The launcher was asked to end, by a signal."""

    def __init__(self, number: int) -> None:
        self.number = number


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _Ended(number)


def _command(options: argparse.Namespace) -> list[str]:
    if options.no_python:
        return [shutil.which(options.program) or options.program]
    return [sys.executable, "-u", *(["-m"] if options.module else []), options.program]


def _processes_here(text: str) -> int:
    if text in ("cpu", "auto", "gpu"):
        from .. import accelerator

        devices = accelerator.device_count() if text != "cpu" else 0
        if text == "gpu" and not devices:
            raise ArgumentError("--nproc-per-node gpu: there is no accelerator", fix='pass a number, or "cpu"')
        return devices or os.cpu_count() or 1
    return _number("--nproc-per-node", text)


def _nodes(text: str) -> int:
    least, _, most = text.partition(":")
    if most and most != least:
        raise ArgumentError(f"--nnodes {text}: the number of machines is fixed here", fix=f"pass --nnodes {most}")
    return _number("--nnodes", least)


def _number(option: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentError(f"{option}: {text} is not a number of 1 or more", fix="pass a number")
    return int(text)


def _streams(text: str) -> Callable[[int], int]:
    """Which streams of a local rank: "3" for all ranks, or "0:1,1:3"."""
    if text.isdecimal():
        return lambda local_rank: int(text)
    by_rank = {int(rank): int(value) for rank, value in (part.split(":") for part in text.split(","))}
    return lambda local_rank: by_rank.get(local_rank, 0)


def _free_port() -> int:
    with socket.create_server(("", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


class _Meeting:
    """Where the processes of all machines meet, and which machine this is."""

    def __init__(self, options: argparse.Namespace, nodes: int) -> None:
        self._options, self._nodes = options, nodes
        self.node_rank: int = options.node_rank
        self._store: TCPStore | None = None
        if nodes > 1 and options.rdzv_endpoint and options.rdzv_backend != "static":
            self._store = self._join(options.rdzv_endpoint)
            self.node_rank = self._store.add("nodes", 1) - 1
            if self.node_rank >= nodes:
                raise ArgumentError(f"machine {self.node_rank + 1} came to a run of {nodes}", fix="raise --nnodes")
        elif not 0 <= self.node_rank < nodes:
            raise ArgumentError(f"--node-rank {self.node_rank} is none of {nodes} machines", fix="count from 0")

    @staticmethod
    def _join(endpoint: str) -> TCPStore:
        host, _, port = endpoint.partition(":")
        limit = timedelta(minutes=10)
        if host in ("localhost", "127.0.0.1", socket.gethostname(), socket.getfqdn()):
            try:
                return TCPStore(host, int(port or 29400), is_master=True, timeout=limit)
            except DistNetworkError:
                pass  # another launcher of this machine serves
        return TCPStore(host, int(port or 29400), timeout=limit)

    def place(self, attempt: int) -> tuple[str, int]:
        """Host and port where the processes of one attempt meet."""
        options = self._options
        if self._store is not None:
            key = f"attempt {attempt}"
            if self.node_rank == 0:
                host = options.local_addr or options.rdzv_endpoint.partition(":")[0]
                self._store.set(key, f"{host} {_free_port()}")
            host, port = self._store.get(key).decode().split()
            return host, int(port)
        if self._nodes == 1 and (options.standalone or not options.master_port):
            return "127.0.0.1", _free_port()
        return options.master_addr, options.master_port or 29500


if __name__ == "__main__":
    sys.exit(main())
