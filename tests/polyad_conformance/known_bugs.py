"""Known bugs of a backend: strict expected failures, in the backend's own package, each with a reason and a link.

A backend's package may have a module ``polyad_conformance_known_bugs``
(``polyad_opencl/polyad_conformance_known_bugs.py``) with

    KNOWN_BUGS = {
        "test_special[[]maximum: * float16]": ("the driver's fmax drops NaN", "https://github.com/..."),
    }

from patterns of test names (`fnmatch`; ``[[]`` is a bracket) to reason and link. It needs no import, and may be
computed, from the driver found, say. Such a test has to fail: when it passes, the run fails until the entry is deleted;
so does an entry that no test matches.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
from collections.abc import Mapping

import pytest

from polyad.backend import Backend

STALE = pytest.StashKey[list[str]]()
"""Where conftest.py leaves the patterns that no test matches."""

MODULE = "polyad_conformance_known_bugs"


def known_bugs_of(backend: Backend) -> dict[str, tuple[str, str]]:
    """Pattern to (reason, link). Raises ValueError for an entry without a link."""
    package = type(backend).__module__.partition(".")[0]
    try:
        spec = importlib.util.find_spec(f"{package}.{MODULE}")
    except ModuleNotFoundError:
        spec = None  # the backend's class is in a module, not in a package
    if spec is None:
        return {}
    entries: Mapping[str, tuple[str, str]] = importlib.import_module(f"{package}.{MODULE}").KNOWN_BUGS
    for pattern, entry in entries.items():
        if len(entry) != 2 or not entry[0] or not entry[1].startswith(("http://", "https://")):
            raise ValueError(f"{package}.{MODULE}: {pattern!r} needs (reason, link), it has {entry!r}")
    return dict(entries)


def matching(name: str, entries: Mapping[str, tuple[str, str]]) -> str | None:
    """The pattern that the test called *name* matches, or None."""
    return next((pattern for pattern in entries if fnmatch.fnmatchcase(name, pattern)), None)
