"""The errors of workers: what died, hung, or could not be sent, and what to do."""

from __future__ import annotations

import signal
from typing import Any

from polyad import errors

__all__ = ["SharedMemoryFull", "UnsendableError", "WorkerFailure", "WorkerTraceback", "death", "named_indices"]


class WorkerFailure(errors.PolyadError, RuntimeError):
    """A worker process died or did not answer in time."""


class SharedMemoryFull(errors.OutOfMemory):
    """A batch for which there is no memory that processes can share."""


class UnsendableError(errors.ArgumentTypeError, AttributeError):
    """Something that cannot be sent to another process."""


class WorkerTraceback(Exception):
    """The traceback of an exception in a worker, as text: the cause of the exception that the loop sees."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


_ADVICE = {
    "SIGKILL": "look whether the system ran out of memory (dmesg says so): use fewer workers, smaller batches or a "
    "smaller prefetch_factor",
    "SIGBUS": "memory or a mapped file was taken away from under the worker: use fewer workers or smaller batches",
    "SIGSEGV": "a compiled library that the dataset uses crashed: read the sample with num_workers=0 to see which",
    "SIGABRT": "a compiled library that the dataset uses gave up: read the sample with num_workers=0 to see which",
}


def death(code: int | None, imports_main: bool) -> tuple[str, str]:
    """What an exit code means, in words, and what to do."""
    if code is None:
        return "closed its connection", "look at what the worker printed"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed by {name}", _ADVICE.get(name, "find out who sent that signal")
    advice = "look at what it printed"
    if imports_main:
        advice += '; what starts workers belongs under `if __name__ == "__main__":`, since they import the main module'
    return f"ended with exit status {code}", advice


def named_indices(indices: Any) -> str:
    """The indices of a batch, the first of them where they are many."""
    if not isinstance(indices, list):
        return f"index {errors.safe_repr(indices)}"
    shown = ", ".join(errors.safe_repr(index) for index in indices[:8])
    return f"indices {shown}" + (f", ... ({len(indices)} in all)" if len(indices) > 8 else "")
