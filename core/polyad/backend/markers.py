"""What a vendor's profiler is told of a program: ranges with a name, points in time, and when to look."""

from __future__ import annotations


class Markers:
    """Derive from it for a device type whose vendor has such a profiler. Names are the host's: ranges of a thread nest.

    Nothing waits for a device here, and nothing is kept: without a profiler that runs the program, calls do nothing.
    """

    def push(self, name: str) -> None:
        """Begin a range of this thread, inside of those that are open."""
        raise NotImplementedError

    def pop(self) -> None:
        """End the range of this thread that was begun last."""
        raise NotImplementedError

    def start(self, name: str) -> int:
        """Begin a range that any thread may end, and return its number."""
        raise NotImplementedError

    def end(self, number: int) -> None:
        """End the range of a number."""
        raise NotImplementedError

    def mark(self, name: str) -> None:
        """A point in time."""
        raise NotImplementedError

    def collect(self, on: bool) -> None:
        """Let the profiler collect from now on, or stop."""
        raise NotImplementedError
