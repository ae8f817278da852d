"""Tensors in several files, with an index that says which is where: the layout of the Hugging Face hub.

    model-00001-of-00003.safetensors, ...      safetensors files
    model.safetensors.index.json               {"metadata": {"total_size": bytes}, "weight_map": {name: file}}

Invariants: the index is written last, when all files are there; when it is read, it may name files in its own folder
only, by plain names.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ArgumentError
from ..files import beside, is_remote, local_path, read_json, replacing
from .source import damaged

__all__ = ["INDEX", "checked_limit", "read_index", "split", "write_shards"]

INDEX = ".index.json"
MOST_FILES = 100_000
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def checked_limit(size: int | str) -> int:
    """A size in bytes, or as text: "5GB".

    Raises ValueError for anything else.
    """
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    if isinstance(size, str):
        text = size.strip().upper()
        unit = next((unit for unit in _UNITS if text.endswith(unit)), None)
        digits = text.removesuffix(unit or "").strip()
        if unit is not None and digits.isascii() and digits.isdigit() and int(digits) > 0:
            return int(digits) * _UNITS[unit]
    raise ArgumentError(
        f"save: max_shard_size is {size!r}, which is no size", fix='pass a number of bytes, or text such as "5GB"'
    )


def _is_plain_name(file: str) -> bool:
    try:
        os.fsencode(file)
    except UnicodeError:
        return False
    plain = file == os.path.basename(file) and "\\" not in file and "\0" not in file
    return plain and file not in ("", ".", "..")


def split(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    """Names in groups, in order, of at most *limit* bytes each; a larger one is alone.

    >>> split({"a": 2, "b": 3, "c": 9, "d": 1}, 5)
    [['a', 'b'], ['c'], ['d']]
    """
    groups: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if not groups or size > room:
            groups.append([])
            room = limit
        groups[-1].append(name)
        room -= size
    return groups


def write_shards(
    path: str | os.PathLike[str], sizes: Mapping[str, int], limit: int, write: Callable[[str, list[str]], None]
) -> None:
    """Write groups of names as files beside *path*, and the index; a single file at *path* if that is enough."""
    target = local_path(os.fsdecode(path))
    groups = split(sizes, limit)
    if len(groups) <= 1:
        write(target, [name for group in groups for name in group])
        return
    stem, suffix = os.path.splitext(posixpath.basename(target) if is_remote(target) else os.path.basename(target))
    weight_map = {}
    for number, names in enumerate(groups, 1):
        file = f"{stem}-{number:05}-of-{len(groups):05}{suffix}"
        write(beside(target, file), names)
        weight_map.update(dict.fromkeys(names, file))
    text = json.dumps({"metadata": {"total_size": sum(sizes.values())}, "weight_map": weight_map}, indent=2) + "\n"
    with replacing(target + INDEX, "save") as stream:
        stream.write(text.encode())


def read_index(path: str, load: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The tensors that the index at *path* names.

    Args:
        load: loads a file.

    Raises:
        SerializationError: an index that is none, that names files elsewhere, or files that do not hold what it says.
    """
    index = read_json(path, "load")
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(weight_map, dict) or not all(isinstance(file, str) for file in weight_map.values()):
        raise damaged(path, "is no index of files: it has no weight_map of names")
    files = list(dict.fromkeys(weight_map.values()))
    if len(files) > MOST_FILES:
        raise damaged(path, f"names {len(files):,} files")
    for file in files:
        if not _is_plain_name(file):
            raise damaged(path, f"names the file {file!r}, which is no plain name in its folder")
        if file.endswith(INDEX):
            raise damaged(path, f"names the index {file!r}")
    found: dict[str, Any] = {}
    for file in files:
        tensors = load(beside(path, file))
        if not isinstance(tensors, dict):
            raise damaged(path, f"names {file!r}, which does not hold tensors by name")
        for name, tensor in tensors.items():
            if weight_map.get(name) == file:
                found[name] = tensor
    missing = [name for name in weight_map if name not in found]
    if missing:
        raise damaged(path, f"says that {weight_map[missing[0]]!r} holds {missing[0]!r}, and it does not")
    return {name: found[name] for name in weight_map}
