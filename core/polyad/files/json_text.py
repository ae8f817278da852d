"""JSON of which nobody says that it is small, flat or honest.

Python's parser takes from a short text more than it should: an hour for a long number where the interpreter's limit is
lifted, the C stack for deep nesting where the recursion limit is, and some hundred bytes of memory for each ``[]``. So
the text is counted first, by functions that run at the speed of copying, and then parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Any

from ..errors import SerializationError
from .reading import opened

__all__ = ["DEEPEST", "LONGEST", "excess", "parsed", "read_json"]

LONGEST = 100_000_000
"""Bytes: what the safetensors format allows a header."""
LONGEST_UNICODE = 1 << 24
"""Bytes of a text that is not ASCII: for one character, a string may take four times the memory."""
MOST_VALUES = 1 << 22
"""Items of lists and objects together."""
MOST_CONTAINERS = 1 << 20
"""Lists and objects. A saved tensor takes six, an array of a safetensors file three."""
MOST_NAMES = 1 << 21
"""Entries of objects, each of which costs three times as much as an item of a list. A saved tensor takes ten."""
DEEPEST = 400
CHUNK = 1 << 18
LONGEST_NUMBER = 1400
"""Digits: 4096 bits have 1234."""

_STRING = re.compile(rb'"[^"]*"')
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (LONGEST_NUMBER + 1))
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def excess(text: bytes) -> str | None:
    """What is too much in *text*, in words; None if nothing is.

    >>> excess(b'{"a": [1, 2, "[[[["]}')
    >>> excess(b"[" * 500)
    'it is nested more than 400 levels deep'
    """
    if len(text) > LONGEST:
        return f"it has more than {LONGEST:,} bytes"
    if len(text) > LONGEST_UNICODE and not text.isascii():
        return f"it has more than {LONGEST_UNICODE:,} bytes and is not ASCII"
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A string is an item or the name of an item.
    if plain.count(b'"') > 4 * MOST_VALUES:
        return f"it has more than {MOST_VALUES:,} values"
    plain = _STRING.sub(b"", plain)
    if plain.count(b",") >= MOST_VALUES:
        return f"it has more than {MOST_VALUES:,} values"
    if plain.count(b"[") + plain.count(b"{") > MOST_CONTAINERS:
        return f"it has more than {MOST_CONTAINERS:,} lists and objects"
    if plain.count(b":") > MOST_NAMES:
        return f"it has more than {MOST_NAMES:,} entries of objects"
    if _LONG_NUMBER.search(plain):
        return f"it has a number of more than {LONGEST_NUMBER} digits"
    depth = 0
    for bracket in plain.translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            return f"it is nested more than {DEEPEST} levels deep"
    return None


def parsed(text: bytes) -> Any:
    """What the JSON *text* says.

    Raises:
        ValueError: it is not JSON in UTF-8, a name occurs twice in an object, or it is too large, too deep or too much.
    """
    too_much = excess(text)
    if too_much is not None:
        raise ValueError(too_much)
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:  # the caller has used up the stack
        raise ValueError("it is nested too deeply for what is left of Python's stack") from None


def read_json(path: Any, op: str) -> Any:
    """What the JSON file at *path* says; *op* names the caller in errors.

    Raises:
        SerializationError: the file is not JSON, or too large, too deep or too much.
        OSError: it cannot be read.
    """
    with opened(path, op) as stream:
        text = b"".join(_chunks(stream))
    try:
        return parsed(text)
    except ValueError as error:
        raise SerializationError(f"{op}: {path} cannot be read as JSON: {error}", fix="use another copy") from error


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """What a stream has, and no more than one chunk beyond LONGEST: memory is taken as it comes."""
    left = LONGEST + 1
    while left > 0 and (chunk := stream.read(min(left, CHUNK))):
        left -= len(chunk)
        yield chunk


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(items)
    if len(result) != len(items):
        raise ValueError("a name occurs twice")
    return result


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
