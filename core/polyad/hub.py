"""Weights that others published, at PyTorch's path ``polyad.hub``: by URL, fetched once, checked, and kept in a folder;
from a file or a folder; of the Hugging Face Hub, where its package ``huggingface_hub`` is installed.

PyTorch's hub also runs models' code from repositories that it fetches; here a program imports its models itself.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from .compatibility.absent import stand_in
from .errors import ArgumentError, PackageMissing, SerializationError
from .files import FileMissing, read_json, replacing
from .serialization import MapLocation, load as _load
from .tensor import Tensor

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "from_pretrained",
    "get_dir",
    "help",
    "list",
    "load",
    "load_folder",
    "load_state_dict_from_file",
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


def _get_torch_home() -> str:
    """The folder that `get_dir`'s is in, where libraries keep files of their own."""
    return str(Path(get_dir()).parent)


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
        map_location: as of `polyad.load`.
        weights_only: accepted for code written for PyTorch; data alone is read, whatever it says.
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


# In a folder, the first of these that is there is its weights.
_NAMES = (
    "model.safetensors.index.json",
    "model.safetensors",
    "diffusion_pytorch_model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
    "model.pth",
    "model.pt",
)


def load_state_dict_from_file(path: str | os.PathLike[str], map_location: MapLocation = None) -> dict[str, Any]:
    """The state dict in a file that `polyad.load` reads: ``.pth``, ``.safetensors``, the index of several.

    Programs that train save it in a dict, under "state_dict" or "model"; there it is found.

    Raises:
        FileNotFoundError: no such file.
        RuntimeError (SerializationError): a damaged file, or no state dict.

    >>> import pathlib, tempfile, polyad
    >>> file = pathlib.Path(tempfile.mkdtemp(), "weights.pth")
    >>> polyad.save({"epoch": 3, "state_dict": {"weight": polyad.ones(2)}}, file)
    >>> polyad.hub.load_state_dict_from_file(file)
    {'weight': tensor([1., 1.])}
    """
    found = loaded = _load(path, map_location=map_location)
    if isinstance(loaded, dict) and not any(isinstance(value, Tensor) for value in loaded.values()):
        for key in ("state_dict", "model"):
            if isinstance(loaded.get(key), dict):
                found = loaded[key]
                break
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise SerializationError(
            f"load_state_dict_from_file: {os.fspath(path)} holds a {type(loaded).__name__} and no state dict",
            fix="save model.state_dict(), or pick it from what polyad.load gives",
        )
    return found


def load_folder(folder: str | os.PathLike[str], map_location: MapLocation = None) -> dict[str, Any]:
    """The state dict in a folder of a published model: its safetensors file, or several with their index, else
    PyTorch's files.

    Raises:
        FileNotFoundError: no such folder, or no file in it, or several, of which no name is known.
        RuntimeError (SerializationError): a damaged file.
    """
    place = Path(folder)
    if not place.is_dir():
        raise FileMissing(f"load_folder: {place} is not a folder", fix="pass a folder with model.safetensors")
    for name in _NAMES:
        if (place / name).is_file():
            return load_state_dict_from_file(place / name, map_location)
    others = sorted(place.glob("*.safetensors"))
    if len(others) != 1:
        raise FileMissing(
            f"load_folder: {place} has {len(others)} safetensors files and none of {', '.join(_NAMES)}",
            fix="name the file: load_state_dict_from_file(path)",
        )
    return load_state_dict_from_file(others[0], map_location)


def from_pretrained(
    model: Any,
    name: str | os.PathLike[str],
    *,
    revision: str | None = None,
    strict: bool = True,
    rename: Callable[[str], str | None] | None = None,
    map_location: MapLocation = "cpu",
    **config: Any,
) -> Any:
    """A model with the weights in a folder, or in a repository of the Hugging Face Hub.

    Args:
        model: a module; or a class or function, called with what the folder's ``config.json`` says and with *config*,
            which wins.
        name: a folder; or ``owner/name``, for which the package huggingface_hub must be installed.
        strict: whether the keys must be the model's, all of them.
        rename: from a key of the file to the model's; None leaves the tensor out.

    Raises:
        FileNotFoundError: no such folder, or no weights in it.
        ImportError (PackageMissing): *name* is no folder, and huggingface_hub is not installed.
        RuntimeError: keys or shapes are not the model's, or a file is damaged.

    >>> import pathlib, tempfile, polyad
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "config.json").write_text('{"in_features": 2, "out_features": 1, "bias": false}')
    >>> polyad.save({"weight": polyad.ones(1, 2)}, folder / "model.safetensors", format="safetensors")
    >>> polyad.hub.from_pretrained(polyad.nn.Linear, folder)
    Linear(in_features=2, out_features=1, bias=False)
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _downloaded(os.fspath(name), revision)
    if not hasattr(model, "load_state_dict") or isinstance(model, type):
        settings = folder / "config.json"
        model = model(**{**(read_json(settings, "from_pretrained") if settings.is_file() else {}), **config})
    state = load_folder(folder, map_location)
    if rename is not None:
        names = {key: rename(key) for key in state}
        state = {new: state[old] for old, new in names.items() if new is not None}
    model.load_state_dict(state, strict=strict)
    return model


def _downloaded(name: str, revision: str | None) -> Path:
    if not re.fullmatch(r"\w[\w.-]*/[\w.-]+", name):
        raise FileMissing(f"from_pretrained: {name} is not a folder", fix="pass a folder, or a repository's owner/name")
    try:
        package = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise PackageMissing(
            f"from_pretrained: {name} is not a folder; to download it huggingface_hub is needed",
            fix="pip install huggingface_hub, or pass a folder",
        ) from error
    patterns = ["*.safetensors", "*.safetensors.index.json", "config.json"]
    return Path(package.snapshot_download(name, revision=revision, allow_patterns=patterns))
