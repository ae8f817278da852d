"""Where compiled programs are kept: polyad's binaries in a folder of `polyad.files.compiled`, and PoCL's own folder.

PoCL loads what it finds in its folder without looking at it and ends the process over a file that is cut short, so it
gets a folder that only this process writes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polyad.files.compiled import CompiledFolder, private, unsafe

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

POCL_VARIABLE = "POCL_CACHE_DIR"

BINARIES = CompiledFolder("opencl")

_own: Path | None = None


def pocl_cache() -> Path:
    """Where PoCL keeps what it compiled."""
    named = os.environ.get(POCL_VARIABLE)
    if named:
        return Path(named)
    return _own or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pocl" / "kcache"


def pocl_folder_of_this_process() -> Path | None:
    """The folder that PoCL has of its own; None if the user has named one, or none could be made."""
    return _own


@contextmanager
def pocl_in_a_folder_of_its_own() -> Iterator[None]:
    """While drivers are looked for: have PoCL, which reads its variable then, use a folder that is empty now.

    PoCL loads what it finds in its folder without looking at it, so one file cut short would end every process that
    comes after. Its files are unpacked from the binaries that `read` gave, and this process deletes them when it ends;
    those of a process that was killed are deleted by the next. A folder that the user names is left to PoCL.
    """
    global _own
    if fcntl is None or os.environ.get(POCL_VARIABLE):
        yield
        return
    if _own is None:
        _own = _fresh()
    if _own is None:
        yield
        return
    os.environ[POCL_VARIABLE] = str(_own)
    try:
        yield
    finally:
        os.environ.pop(POCL_VARIABLE, None)  # for children, which have folders of their own


def _fresh() -> Path | None:
    """A new folder that goes when the process ends, beside the binaries or else where temporary files go."""
    kept = BINARIES.path()
    for place in filter(None, (kept and kept / "pocl", Path(tempfile.gettempdir()) / f"polyad-pocl-{os.getuid()}")):
        try:
            private(place)
            if unsafe(place):
                continue
            _sweep(place)
            descriptor, lock = tempfile.mkstemp(".lock", "run-", place)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            folder = Path(lock).with_suffix("")
            folder.mkdir(0o700)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"polyad")
        except OSError:
            continue
        return folder
    return None


def remove_pocls() -> None:
    """Delete the folder that PoCL had of its own. To be called when nothing is asked of it any more."""
    if _own is not None:
        shutil.rmtree(_own, ignore_errors=True)
        with suppress(OSError):
            _own.with_suffix(".lock").unlink()


def _sweep(place: Path) -> None:
    """Delete the folders of processes that have ended: nobody holds their locks."""
    for folder in [path for path in place.glob("run-*") if path.is_dir()]:
        try:
            descriptor = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_suffix(".lock").unlink(missing_ok=True)
        except OSError:
            pass  # it is in use
        finally:
            os.close(descriptor)
