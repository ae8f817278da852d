"""Who is alive: each process beats at the server of the store, which tells of processes that are lost."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from .errors import DistError, DistNetworkError
from .store import TCPStore

__all__ = ["Member", "Watcher"]

BEAT = 0.5
"""Seconds between two beats."""


class Member(NamedTuple):
    """A process as the server of the store has last heard of it."""

    rank: int
    silent: float
    """For how many seconds nothing was heard of it."""
    doing: str


class Watcher:
    """Beats for process *rank* of *size* and collects who is lost.

    Args:
        store: the store; the watcher has a connection of its own.
        rank, size: which process this is.
        doing: what the process does at the moment; asked for by the watcher's thread.

    Raises:
        DistNetworkError: two processes have one rank, or they disagree about their number.
    """

    def __init__(self, store: TCPStore, rank: int, size: int, doing: Callable[[], str]) -> None:
        self._store, self._rank, self._doing = store.clone(), rank, doing
        self._store.set_timeout(timedelta(seconds=30))
        (refused,) = self._store._request(
            "hello", b"%d" % rank, b"%d" % size, os.environ.get("TORCHELASTIC_RUN_ID", "").encode()
        )
        if refused:
            raise DistNetworkError(
                f"init_process_group: rank {rank} of {size} is not taken in: {refused.decode()}",
                fix="give each process another RANK and all the same WORLD_SIZE",
            )
        self.lost: dict[int, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="polyad watcher", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._stop.wait(BEAT):
            try:
                answer = self._store._request("beat", self._doing().encode())
            except DistError:
                if not self._stop.is_set():
                    self.lost = {**self.lost, 0: "its process has ended, and with it the store"}
                return
            self.lost = {int(rank): why.decode() for rank, why in zip(answer[::2], answer[1::2])}

    def members(self) -> list[Member]:
        """All processes that are there; empty if the server is gone."""
        try:
            answer = self._store._request("members")
        except DistError:
            return []
        return [
            Member(int(rank), int(silent) / 1000, doing.decode())
            for rank, silent, doing in zip(answer[::3], answer[1::3], answer[2::3])
        ]

    def close(self) -> None:
        """Say farewell, so that nobody is reported as lost."""
        self._stop.set()
        with contextlib.suppress(DistError):
            self._store._request("bye")
        self._store.close()
        self._thread.join(2)
