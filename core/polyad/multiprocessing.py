"""Python's ``multiprocessing`` at PyTorch's path, with tensors whose memory processes share.

Everything of Python's module is here. Beyond that, a tensor in shared memory (`polyad.Tensor.share_memory_`,
`polyad.nn.Module.share_memory`) that is an argument of a process or goes through a queue shows the same elements over
there, its writes included; other tensors arrive as copies. `spawn` starts several processes of a function and raises
what one of them raises.

Start processes by "spawn" or "forkserver", as with Python's module: fork breaks drivers, and locks of other libraries.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from .errors import ArgumentError, safe_repr
from .nn.parameter import Buffer, Parameter
from .ops.memory.sharing import is_shared, map_segment
from .ops.memory.storage_types import over
from .tensor import Tensor

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


# --------------------------------------------------------------------------------------------------------- strategies


_strategies = ["file_descriptor", "file_system"]
_strategy = _strategies[0]


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes.

    >>> import polyad
    >>> sorted(polyad.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_strategies)


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` was told, "file_descriptor" at first."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept a name of PyTorch's for a way to share memory; raises ValueError for any other.

    Memory is handed on by file descriptors either way, so that none stays behind when processes are killed. Of what
    "file_system" is chosen for, that descriptors do not run out, a loader's batches take care by themselves.
    """
    global _strategy
    if new_strategy not in _strategies:
        raise ArgumentError(
            f"set_sharing_strategy: there is no {safe_repr(new_strategy)}",
            fix='leave it at "file_descriptor"; `ulimit -n` raises the number of descriptors',
        )
    _strategy = new_strategy


# ------------------------------------------------------------------------------------------------------------ tensors


def _reduced(tensor: Tensor) -> Any:
    if not is_shared(tensor):
        return tensor.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    storage: Any = tensor._storage
    layout = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    handed_on = DupFd((storage.origin or storage).segment)
    return _restored, (type(tensor), handed_on, layout, tensor.requires_grad), tensor.__dict__ or None


def _restored(cls: type[Tensor], segment: Any, layout: Any, requires_grad: bool) -> Tensor:
    dtype, shape, stride, offset = layout
    untyped = map_segment(segment.detach())
    type_ = untyped._bytes().view(dtype)._type if dtype.itemsize <= untyped.nbytes() else Tensor(0).to(dtype)._type
    tensor = over(untyped._storage, type_, shape, stride, offset)
    if type(tensor) is not cls:
        tensor = tensor._alias(cls)
    return tensor.requires_grad_() if requires_grad else tensor


for _class in (Tensor, Parameter, Buffer):
    ForkingPickler.register(_class, _reduced)


# ---------------------------------------------------------------------------------------------------------- processes


class ProcessException(Exception):
    """A process of `spawn` failed: the *error_index*-th, whose process id was *pid*."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised; the message ends in the traceback over there."""


class ProcessExitedException(ProcessException):
    """The process ended with an exit status or by a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], failures: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        failures.put(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that `spawn` started."""

    def __init__(self, processes: list[Any], failures: list[Any]) -> None:
        self.processes, self._failures = processes, failures
        self._waiting = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process has ended, or for *timeout* seconds; whether all have ended well.

        Raises ProcessRaisedException or ProcessExitedException if it has failed, after the others were terminated, and
        killed if they are there after *grace_period* seconds (30 by default).
        """
        ended = connection.wait(list(self._waiting), timeout=timeout)
        failed = None
        for sentinel in ended:
            index = self._waiting.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                failed = index
                break
        if failed is None:
            return not self._waiting
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30 if grace_period is None else grace_period)
            if process.is_alive():
                process.kill()
                process.join()
        self._raise(failed)
        return False

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        if not self._failures[index].empty():
            text = f"\n\n-- Process {index} terminated with the following error:\n{self._failures[index].get()}"
            raise ProcessRaisedException(text, index, process.pid)
        if process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            raise ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, process.exitcode, name
            )
        raise ProcessExitedException(
            f"process {index} terminated with exit code {process.exitcode}", index, process.pid, process.exitcode
        )


SpawnContext = ProcessContext
"""Its older name."""


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in process i of *nprocs*. Returns None when all have ended, or, without *join*, at once.

    Raises ProcessRaisedException if a call raises, ProcessExitedException if a process ends otherwise; the others are
    terminated then.
    """
    started = multiprocessing.get_context(start_method)
    processes, failures = [], []
    for index in range(nprocs):
        failures.append(started.SimpleQueue())
        process: Any = started.Process(target=_run, args=(fn, index, args, failures[-1]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    context = ProcessContext(processes, failures)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in process i of *nprocs*, which are started anew; see `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
