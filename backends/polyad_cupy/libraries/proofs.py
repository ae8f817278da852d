"""Proofs: whether a fast way gives what the safe one gives, found out on the machine where it is to run.

A way that has not been tried for a device, its driver and the library's version is compared with the safe way at its
first use. What came out is kept on disk. Where results differ, or the library fails, the safe way stays, and the
device's description, which ``polyad doctor`` shows, says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from polyad._version import __version__
from polyad.backend.waiting import unwarned
from polyad.base.locks import RLock
from polyad.files.compiled import CompiledFolder

FOLDER = CompiledFolder("cuda-proofs")


class Proofs:
    """What is known of the fast ways on a device.

    *identity* names device and driver; *busy* says whether nothing can be compared now.
    """

    def __init__(self, identity: str, busy: Callable[[], bool] = bool) -> None:
        self._identity, self._busy = identity, busy
        self._known: dict[str, str] = {}
        self._lock = RLock()
        self._trying: set[str] = set()

    def holds(self, way: str, version: Callable[[], str], objection: Callable[[], str]) -> bool:
        """Whether *way* may be used.

        Args:
            way: its name.
            version: gives the library's, or raises OSError if it is not installed.
            objection: compares; gives what is wrong, or an empty text. An exception is an objection.
        """
        known = self._known.get(way)
        if known is None:
            if self._busy():
                return False
            with self._lock:
                if way in self._trying:
                    return False  # the comparison asks for the safe way
                known = self._known.get(way)
                if known is None:
                    self._trying.add(way)
                    try:
                        known = self._known[way] = self._found(way, version, objection)
                    finally:
                        self._trying.discard(way)
        return not known

    def _found(self, way: str, version: Callable[[], str], objection: Callable[[], str]) -> str:
        try:
            said = f"{way}\0{version()}\0{self._identity}\0{__version__}"
        except Exception as error:
            return _one_line(error)
        name = hashlib.sha256(said.encode()).hexdigest()
        kept = FOLDER.read(name)
        if kept is not None:
            return kept.decode()
        try:
            with unwarned():
                wrong = objection()
        except Exception as error:
            wrong = _one_line(error)
        FOLDER.keep(name, wrong.encode())
        return wrong

    def drop(self, way: str, error: Exception) -> None:
        """Use *way* no more in this process: it failed after it was proved."""
        self._known[way] = _one_line(error)

    @property
    def told(self) -> str:
        """What was found out so far, for people."""
        return "".join(
            [f", {way}: {f'not used ({wrong})' if wrong else 'proved'}" for way, wrong in sorted(self._known.items())]
        )


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()) or type(error).__name__
