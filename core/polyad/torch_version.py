"""Versions that compare as numbers, at PyTorch's path ``polyad.torch_version``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

__all__ = ["TorchVersion"]

_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_DEVELOPED, _FINAL = -1, 3  # beside the phases: before the first, after the last

_FORM = re.compile(
    r"""\s*v?
    (?:(?P<epoch>\d+)!)?
    (?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<phase>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre>\d*))?
    (?:-(?P<bare_post>\d+)|[-_.]?(?P<posted>post|rev|r)[-_.]?(?P<post>\d*))?
    (?:[-_.]?(?P<developed>dev)[-_.]?(?P<dev>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?
    \s*""",
    re.VERBOSE | re.IGNORECASE,
)


def _key(version: str) -> tuple[Any, ...] | None:
    """What *version* is ordered by, after PEP 440; None for what is no version."""
    found = _FORM.fullmatch(version)
    if found is None:
        return None
    part = found.groupdict()
    release = [int(number) for number in part["release"].split(".")]
    while release and not release[-1]:
        release.pop()
    posted = part["posted"] or part["bare_post"]
    if part["phase"]:
        phase = (_PHASES[part["phase"].lower()], int(part["pre"] or 0))
    else:
        phase = (_DEVELOPED if part["developed"] and not posted else _FINAL, 0)
    post = int(part["post"] or part["bare_post"] or 0) if posted else -1
    dev = (0, int(part["dev"] or 0)) if part["developed"] else (1, 0)
    label = re.split(r"[-_.]", part["local"].lower()) if part["local"] else []
    local = [(1, int(word), "") if word.isdecimal() else (0, 0, word) for word in label]
    return int(part["epoch"] or 0), release, phase, post, dev, local


class TorchVersion(str):
    """A version as a string, which compares as a version: with strings, tuples of numbers and packaging's ``Version``.

    What is no version is compared as a string.

    >>> from polyad.torch_version import TorchVersion
    >>> TorchVersion("2.13.0+polyad.0.1.0") >= "2.9", TorchVersion("2.13.0") < (2, 13, 1)
    (True, True)
    """

    __slots__ = ()

    def _compared(self, other: object, compare: Callable[[Any, Any], bool]) -> Any:
        if isinstance(other, str):
            text = str.__str__(other)
        elif isinstance(other, Iterable):
            text = ".".join(str(number) for number in other)
        elif hasattr(other, "release"):  # packaging.version.Version
            text = str(other)
        else:
            return NotImplemented
        mine, theirs = _key(self), _key(text)
        if mine is None or theirs is None:
            return compare(str.__str__(self), other) if isinstance(other, str) else NotImplemented
        return compare(mine, theirs)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, lt)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, le)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, ne)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, gt)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, ge)

    __hash__ = str.__hash__
