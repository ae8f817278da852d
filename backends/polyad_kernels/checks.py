"""Wrong indices, and other elements that are refused. Kernels cannot raise: one that meets a wrong index notes it in
the device's *trouble cell*.

The cell is three int64: the number that `Checks.expect` gave, the position, the value; 0 before. The upper half of the
first is a lock that `source.walking.CHECKED` takes, open when a kernel has ended. The host looks there when it next
reads a value or synchronises, or at once where that is cheap.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from polyad.errors import PolyadError

Judge = Callable[[int, int], PolyadError]
"""Makes the error of a wrong index from (its position in the index operand, row-major; its value).

It is kept until the host waits, and must hold no array: the memory would be kept as long.
"""

MOST = 1024
"""Announced kernels after which the host looks in any case."""


class Checks:
    """The kernels of a device that check indices and have not been asked yet what they found.

    A wrong index is the affair of the thread that passed it: what another finds is left for that one to raise.
    *stream* names what the calling thread's work goes to now; in other streams kernels may still be waiting.
    """

    def __init__(self, lock: threading.RLock, stream: Callable[[], Hashable] = lambda: None) -> None:
        self._lock, self._stream = lock, stream
        self._judges: dict[int, tuple[threading.Thread, Hashable, Judge]] = {}  # by number, with who announced it
        self._told: dict[int, tuple[int, int]] = {}  # by number: what a thread read there that is another's affair
        self._lasting: dict[int, Judge] = {}  # by number: kernels in graphs, which may run at any time
        self._announced = 0

    def __len__(self) -> int:
        return len(self._judges)

    def __bool__(self) -> bool:
        return bool(self._judges or self._lasting)

    def announced(self) -> frozenset[int]:
        """The numbers of kernels that have not been asked."""
        with self._lock:
            return frozenset(self._judges)

    def keep(self, before: frozenset[int]) -> list[int]:
        """Let what this thread announced, since `announced` gave *before*, be what a graph runs: until `forget`."""
        with self._lock:
            here = threading.current_thread()
            numbers = [
                number for number, (thread, _, _) in self._judges.items() if thread is here and number not in before
            ]
            self._lasting |= {number: self._judges.pop(number)[2] for number in numbers}
            return numbers

    def forget(self, numbers: list[int]) -> None:
        """The graph that ran these kernels is gone."""
        with self._lock:
            for number in numbers:
                self._lasting.pop(number, None)

    def expect(self, judge: Judge) -> int:
        """Announce a kernel that checks indices; gives the number that it writes into the cell."""
        with self._lock:
            self._announced = self._announced % 0x7FFFFFFF + 1
            self._judges[self._announced] = threading.current_thread(), self._stream(), judge
            return self._announced

    def past(self, *streams: Hashable) -> list[int]:
        """The numbers of kernels that are certainly enqueued, in one of *streams* if any are given.

        What another thread has announced may not be enqueued yet, unless that was long ago or the thread has ended.
        """
        with self._lock:
            here, old = threading.current_thread(), self._announced - MOST
            return [
                number
                for number, (thread, stream, _) in self._judges.items()
                if (thread is here or number < old or not thread.is_alive()) and (not streams or stream in streams)
            ]

    def settle(self, past: list[int], noted: list[int], clear: Callable[[], None]) -> None:
        """Raise what is in the cell, if anything, and forget the kernels numbered in *past*, which have ended; *clear*
        empties it.
        """
        number, position, value = noted
        with self._lock:
            if number in self._judges:  # else nothing is wrong, or another thread has read it
                self._told[number] = position, value
                clear()
            elif number in self._lasting:
                clear()
                raise self._lasting[number](position, value)
            here = threading.current_thread()
            mine = [known for known in self._told if known in past or self._judges[known][0] is here]
            wrong = [(self._judges[known][2], self._told.pop(known)) for known in mine]
            for known in (*past, *mine):
                self._judges.pop(known, None)
        for judge, (position, value) in wrong:
            raise judge(position, value)
