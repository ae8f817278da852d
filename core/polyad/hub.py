"""Weights by URL, at PyTorch's path ``polyad.hub``: fetched once, checked, and kept in a folder.

PyTorch's hub also runs models' code from repositories that it fetches; here a program imports its models itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from .compatibility.absent import stand_in
from .errors import ArgumentError, SerializationError
from .files import replacing
from .serialization import MapLocation, load as _load

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
    "urlparse",
]

load = stand_in("hub.load")
list = stand_in("hub.list")
help = stand_in("hub.help")

_CHUNK = 1 << 20
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""Where a file's name tells how its SHA-256 begins."""

_chosen: Path | None = None


def get_dir() -> str:
    """The folder in which files are kept: what `set_dir` chose, else ``polyad/hub`` in the user's cache folder, or
    ``hub`` in what POLYAD_CACHE_DIR names.

    >>> import polyad
    >>> polyad.hub.get_dir().endswith("hub")
    True
    """
    if _chosen is not None:
        return str(_chosen)
    named = os.environ.get("POLYAD_CACHE_DIR")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyad"
    return str(base / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files in the folder *d* from now on."""
    global _chosen
    _chosen = Path(d).expanduser()


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch *url* (``https://``, ``http://``, ``file://``) into the file *dst*, whole or not at all.

    Args:
        hash_prefix: what the SHA-256 of the file must begin with, in hexadecimal digits.
        progress: whether a line on stderr says how much has come, if that is a terminal.

    Raises:
        ValueError: a URL of another sort.
        RuntimeError: the server refuses, or the file is not the one with that hash.
    """
    if urlparse(url).scheme not in ("https", "http", "file"):
        raise ArgumentError(f"download_url_to_file: {url!r} is no URL of a file", fix="pass https://...")
    digest, done = hashlib.sha256(), 0
    shows = progress and sys.stderr.isatty()
    request = urllib.request.Request(url, headers={"User-Agent": "polyad.hub"})
    try:
        with urllib.request.urlopen(request) as source, replacing(dst, "download_url_to_file") as target:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if shows:
                    sys.stderr.write(f"\r{url}: {done / 1e6:.1f} MB")
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise SerializationError(
                    f"download_url_to_file: {url} has the hash {digest.hexdigest()}, not {hash_prefix}...",
                    fix="fetch it again; if that does not help, it is another file than the one that was announced",
                )
    except urllib.error.URLError as error:
        raise SerializationError(
            f"download_url_to_file: {url} cannot be fetched: {error.reason}",
            fix="check the address and the connection",
        ) from error
    finally:
        if shows:
            sys.stderr.write("\n")


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: MapLocation = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What `polyad.load` reads from *url*, which is fetched unless it is in *model_dir* already.

    Args:
        model_dir: the folder in which it is kept, ``checkpoints`` in `get_dir()` by default.
        map_location, weights_only: as of `polyad.load`; no file runs code, whatever *weights_only* says.
        check_hash: whether the file's name tells how its SHA-256 begins, as in ``resnet18-f37072fd.pth``.
        file_name: its name in *model_dir*, by default the last part of the URL.

    Raises:
        ValueError: *check_hash* with a name that tells no hash.
        RuntimeError: the file cannot be fetched, has another hash, or holds nothing that can be loaded.
    """
    folder = Path(get_dir()) / "checkpoints" if model_dir is None else Path(model_dir)
    name = file_name or os.path.basename(urlparse(url).path)
    if not name or os.path.basename(name) != name:
        raise ArgumentError(
            f"load_state_dict_from_url: {name!r} is no name of a file", fix="pass file_name, a name without a folder"
        )
    path = folder / name
    if not path.exists():
        found = HASH_REGEX.search(name) if check_hash else None
        if check_hash and not (found and found[1]):
            raise ArgumentError(
                f"load_state_dict_from_url: {name!r} tells no hash",
                fix="leave check_hash out",
            )
        folder.mkdir(parents=True, exist_ok=True)
        download_url_to_file(url, path, found[1] if found else None, progress)
    return _load(path, map_location=map_location)
