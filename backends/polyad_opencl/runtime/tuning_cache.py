"""What was measured to be best on a device, kept on disk beside its programs.

A choice is known by a *key*, all that it depends on: what is chosen, for which device and driver, from which versions
of what. Once kept it stands: of two processes that measure at the same time, one is first, and the other takes its
choice. Files that cannot be read, or that are not what they should be, count for nothing and are replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from polyad.files import parsed
from polyad.files.compiled import appearing, private

from .folder import BINARIES

TUNE_VARIABLE = "POLYAD_OPENCL_TUNE"
"""Environment variable: 0 to measure nothing, and not to use what was measured."""


_LONGEST = 1 << 16
"""Bytes that are read of a file: what is longer was not written here."""


def tuning() -> bool:
    """Whether the fastest way may be found by measuring."""
    return os.environ.get(TUNE_VARIABLE, "1") != "0"


def recall(key: Sequence[str], offered: Sequence[str]) -> str | None:
    """Which of *offered* was kept for *key*; None if none was."""
    path = _path(key)
    return None if path is None else _read(path, key, offered)


def keep(key: Sequence[str], offered: Sequence[str], chosen: str, seconds: Mapping[str, float]) -> str | None:
    """Keep *chosen*, with what was measured. Returns what is kept from now on: another process may have been first.

    None if nothing can be kept.
    """
    path = _path(key)
    if path is None:
        return None
    part = path.with_suffix(f".{os.getpid()}.part")
    text = json.dumps({"key": list(key), "chosen": chosen, "seconds": dict(seconds)}, indent=1)
    try:
        private(path.parent)
        with appearing(part) as file:
            file.write(text.encode())
        try:
            os.link(part, path)  # fails where there is a file
        except FileExistsError:
            found = _read(path, key, offered)
            if found is not None:
                return found
            os.replace(part, path)
        except OSError:  # a file system without links
            os.replace(part, path)
        return chosen
    except OSError:
        return None
    finally:
        with suppress(OSError):
            part.unlink()


def _path(key: Sequence[str]) -> Path | None:
    folder = BINARIES.path()
    name = hashlib.sha256("\0".join(key).encode()).hexdigest()
    return folder and folder / name[:2] / f"{name}.json"


def _read(path: Path, key: Sequence[str], offered: Sequence[str]) -> str | None:
    try:
        with path.open("rb") as file:
            found: Any = parsed(file.read(_LONGEST))
        if found["key"] == list(key) and found["chosen"] in offered:
            return str(found["chosen"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return None
