"""The version of the backend interface, and which backends work with it.

A backend works with every polyad whose major version equals its own and whose minor version is at least its own. Adding
an optional hook, method or field raises the minor version; anything that breaks an existing backend raises the
major version.
"""

from __future__ import annotations

from typing import Any

from ..errors import ApiVersionMismatch, BackendUnavailable

API_VERSION = (1, 4)
"""(major, minor) of the backend interface."""


def check_api_version(name: str, version: Any, upgrade: str) -> None:
    """Raise ApiVersionMismatch unless a backend written for *version* works with this polyad.

    *upgrade* is the command that brings a newer release of the backend.
    """
    if not (isinstance(version, tuple) and len(version) == 2 and all(type(part) is int for part in version)):
        raise BackendUnavailable(
            f"backend {name!r}: its api_version is {version!r}, not a pair of whole numbers",
            fix=f"its author should write the pair that it was written for, such as api_version={API_VERSION}",
        )
    if version[0] == API_VERSION[0] and version[1] <= API_VERSION[1]:
        return
    raise ApiVersionMismatch(
        f"backend {name!r}: it was written for backend interface {version[0]}.{version[1]}, "
        f"this polyad has {API_VERSION[0]}.{API_VERSION[1]}",
        fix="pip install --upgrade polyad" if version > API_VERSION else upgrade,
    )
