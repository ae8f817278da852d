"""State dicts from files, folders and URLs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import polyad
from polyad.errors import ArgumentError, PackageMissing, PolyadError, SerializationError

__all__ = [
    "from_pretrained", "get_dir", "load_folder", "load_state_dict_from_file", "load_state_dict_from_url", "set_dir",
]  # fmt: skip

# As people name files: name-0123abcd.pth, with the beginning of the file's SHA-256.
HASH = re.compile(r"-([a-f0-9]{8,64})\.")
# In a folder, the first of these that is there.
NAMES = (
    "model.safetensors.index.json", "model.safetensors", "diffusion_pytorch_model.safetensors",
    "pytorch_model.bin.index.json", "pytorch_model.bin", "model.pth", "model.pt",
)  # fmt: skip

_chosen: Path | None = None


class NoWeights(PolyadError, FileNotFoundError):
    """A folder or an address without weights."""


def get_dir() -> str:
    """The folder of what was downloaded: that of `set_dir`, else ``$POLYAD_HUB``, else ``~/.cache/polyad/hub``."""
    if _chosen is not None:
        return str(_chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return str(Path(os.environ.get("POLYAD_HUB") or Path(cache) / "polyad" / "hub").expanduser())


def set_dir(d: str | os.PathLike[str]) -> None:
    """Have downloads in folder *d*."""
    global _chosen
    _chosen = Path(d).expanduser()


def load_state_dict_from_file(
    path: str | os.PathLike[str], map_location: Any = None, *, check_hash: bool = False
) -> dict[str, Any]:
    """The state dict in a file that `polyad.load` reads: ``.pth``, ``.safetensors``, an index of shards.

    A dict that has it under "state_dict" or "model", as training programs save it, gives that.

    Args:
        check_hash: whether the file must begin, in its SHA-256, as its name says: ``name-0123abcd.pth``.

    Raises:
        FileNotFoundError: no such file.
        RuntimeError (SerializationError): a damaged file, another hash, or no state dict.

    >>> import pathlib, tempfile, polyad
    >>> from polyad.hub import load_state_dict_from_file
    >>> file = pathlib.Path(tempfile.mkdtemp(), "weights.pth")
    >>> polyad.save({"state_dict": {"weight": polyad.ones(2)}}, file)
    >>> load_state_dict_from_file(file)
    {'weight': tensor([1., 1.])}
    """
    if check_hash:
        _check(Path(path), Path(path).name)
    loaded = polyad.load(path, map_location=map_location)
    for _ in range(2):
        if isinstance(loaded, dict) and not any(isinstance(value, polyad.Tensor) for value in loaded.values()):
            inner = [loaded[key] for key in ("state_dict", "model") if isinstance(loaded.get(key), dict)]
            loaded = inner[0] if inner else loaded
    if not isinstance(loaded, dict) or not all(isinstance(key, str) for key in loaded):
        raise SerializationError(
            f"load_state_dict_from_file: {path} holds a {type(loaded).__name__}, not a state dict",
            fix="save model.state_dict(), or pick it from what polyad.load gives",
        )
    return loaded


def _check(path: Path, name: str) -> None:
    match = HASH.search(name)
    if match is None:
        raise ArgumentError(
            f"check_hash: the name {name!r} has no hash", fix="pass check_hash=False, or a name such as name-0123abcd.pth"
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if not digest.hexdigest().startswith(match[1]):
        raise SerializationError(
            f"{name}: its SHA-256 begins with {digest.hexdigest()[: len(match[1])]}, not with {match[1]}",
            fix="fetch the file again; what is there is not what its name says",
        )


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """The state dict at *url*: ``file://``, ``http(s)://``, or what fsspec opens where it is installed.

    A file that was fetched before is not fetched again. Half a file never stays: it gets its name when it is whole, and
    its hash, if that is asked for, is right.

    Args:
        model_dir: the folder of downloads; by default ``checkpoints`` in that of `get_dir`.
        file_name: what the file is called there; by default the end of *url*.

    Raises:
        FileNotFoundError: nothing is there; OSError: it cannot be reached.
        RuntimeError (SerializationError): another hash, or no state dict.
    """
    parts = urllib.parse.urlparse(url)
    name = file_name or Path(urllib.parse.unquote(parts.path)).name
    if not name or Path(name).name != name:
        raise ArgumentError(f"load_state_dict_from_url: {url!r} names no file", fix="pass file_name, without a folder")
    if parts.scheme == "file":
        place = Path(urllib.request.url2pathname(parts.path))
        if check_hash:
            _check(place, name)
        return load_state_dict_from_file(place, map_location)
    folder = Path(model_dir) if model_dir is not None else Path(get_dir()) / "checkpoints"
    target = folder / name
    if not target.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _fetch(url, parts.scheme, target, name if check_hash else None)
    elif check_hash:
        _check(target, name)
    return load_state_dict_from_file(target, map_location)


def _fetch(url: str, scheme: str, target: Path, hashed: str | None) -> None:
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        part = Path(file.name)
        try:
            with _stream(url, scheme) as stream:
                while block := stream.read(1 << 20):
                    file.write(block)
            file.close()
            if hashed is not None:
                _check(part, hashed)
            part.replace(target)
        except urllib.error.HTTPError as error:
            raise NoWeights(f"load_state_dict_from_url: {url}: {error}", fix="look at the address") from error
        finally:
            part.unlink(missing_ok=True)


def _stream(url: str, scheme: str) -> Any:
    if scheme in ("http", "https"):
        return urllib.request.urlopen(url, timeout=60)
    try:
        import fsspec
    except ImportError as error:
        raise PackageMissing(
            f"load_state_dict_from_url: {url!r} is opened by fsspec, which is not installed",
            fix="pip install 'polyad[remote]' and the package of the place, such as s3fs",
        ) from error
    return fsspec.open(url).open()


def load_folder(folder: str | os.PathLike[str], map_location: Any = None) -> dict[str, Any]:
    """The state dict in a local folder: safetensors, in one file or several with an index, else PyTorch's files.

    Raises:
        FileNotFoundError: no such folder, or no file of a known name in it, or several safetensors files.
    """
    place = Path(folder)
    if not place.is_dir():
        raise NoWeights(f"load_folder: {place} is not a folder", fix="pass a folder with model.safetensors")
    for name in NAMES:
        if (place / name).is_file():
            return load_state_dict_from_file(place / name, map_location)
    others = sorted(place.glob("*.safetensors"))
    if len(others) == 1:
        return load_state_dict_from_file(others[0], map_location)
    raise NoWeights(
        f"load_folder: {place} has {len(others)} safetensors files and none of {', '.join(NAMES)}",
        fix="name the file: load_state_dict_from_file(path)",
    )


def from_pretrained(
    model: Any,
    name: str | os.PathLike[str],
    *,
    revision: str | None = None,
    strict: bool = True,
    rename: Callable[[str], str | None] | None = None,
    map_location: Any = "cpu",
    **config: Any,
) -> Any:
    """A model with the weights in a local folder, or of a repository of the Hugging Face Hub.

    Args:
        model: a module; or a class or function that is called with *config* and the folder's ``config.json``, of which
            *config* wins.
        name: a folder, or ``owner/name`` for which huggingface_hub must be installed.
        rename: from a key of the file to the model's; None leaves it out.

    Raises:
        FileNotFoundError: no such folder, and no such repository.
        ImportError (PackageMissing): *name* is no folder and huggingface_hub is not installed.
        RuntimeError: keys and shapes are not the model's.

    >>> import pathlib, tempfile, polyad
    >>> from polyad.hub import from_pretrained
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "config.json").write_text('{"in_features": 2, "out_features": 1}')
    >>> polyad.save({"weight": polyad.ones(1, 2), "bias": polyad.zeros(1)}, folder / "model.safetensors",
    ...             format="safetensors")
    >>> from_pretrained(polyad.nn.Linear, folder)
    Linear(in_features=2, out_features=1, bias=True)
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _downloaded(os.fspath(name), revision)
    if not isinstance(model, polyad.nn.Module):
        file = folder / "config.json"
        read = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        model = model(**{**read, **config})
    state = load_folder(folder, map_location)
    if rename is not None:
        renamed = {rename(key): value for key, value in state.items()}
        state = {key: value for key, value in renamed.items() if key is not None}
    model.load_state_dict(state, strict=strict)
    return model


def _downloaded(name: str, revision: str | None) -> Path:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name) or name.startswith("."):
        raise NoWeights(f"from_pretrained: {name} is not a folder", fix="pass a folder, or owner/name of a repository")
    try:
        import huggingface_hub
    except ImportError as error:
        raise PackageMissing(
            f"from_pretrained: {name} is not a folder, and to download it huggingface_hub is needed",
            fix="pip install huggingface_hub, or pass a folder",
        ) from error
    patterns = ["*.safetensors", "*.safetensors.index.json", "config.json"]
    return Path(huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=patterns))
