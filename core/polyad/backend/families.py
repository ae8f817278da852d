"""Tables of kernels that load by family, so that a program does not wait for kernels that it never calls."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

_family_of: dict[str, str] = {}
"""The path of each op's module under ``polyad.ops``: "pointwise.exponential" for exp. `polyad.ops` fills it."""


def family_of(op: str) -> str | None:
    """Where the op of that name is declared: the path under ``polyad.ops``; None for an op that is not polyad's.

    >>> from polyad.backend import family_of
    >>> family_of("exp")
    'pointwise.exponential'
    """
    return _family_of.get(op)


_others: set[str] = set()
"""The ops that other packages declared."""


def note_op(name: str) -> None:
    """Say that there is an op of that name which is not polyad's."""
    _others.add(name)


def set_families(families: Mapping[str, str]) -> None:
    """Say of each op where it is declared; called once, by the owner of the declarations."""
    _family_of.update(families)


class UnknownKernelWarning(UserWarning):
    """A kernel is for an op that does not exist, so nobody will ever call it."""


def unknown_kernels(names: Iterable[str]) -> dict[str, list[str]]:
    """Those of *names* that no op has, with the ops whose names are nearest.

    An op need not be polyad's own, but is declared before its kernels are loaded; a name with a namespace
    (``mylib::scale``) is that of an op which its user may yet declare.

    >>> from polyad.backend.families import unknown_kernels
    >>> unknown_kernels(["add", "layernorm"])
    {'layernorm': ['layer_norm']}
    """
    strangers = sorted(name for name in names if not (name in _family_of or name in _others or "::" in name))
    # "layernorm" and "layer_norm" are as far apart as "norm" and "layer_norm": compare without underscores first.
    plain = {known.replace("_", ""): known for known in _family_of}
    return {
        name: [plain[name.replace("_", "")]]
        if name.replace("_", "") in plain
        else get_close_matches(name, _family_of, 3, 0.7)
        for name in strangers
    }


def listed_unknown(unknown: Mapping[str, list[str]]) -> str:
    """The names in words: ``layernorm (layer_norm?)``."""
    return ", ".join(name + (f" ({' or '.join(close)}?)" if close else "") for name, close in unknown.items())


def warn_of_unknown_kernels(who: str, names: Iterable[str]) -> None:
    """Warn of kernels that *who* brings for ops that do not exist."""
    unknown = unknown_kernels(names)
    if unknown:
        from ..base.state import warn_user

        warn_user(
            f"{who} has kernels for ops that do not exist: {listed_unknown(unknown)}; `polyad ops` lists what there is",
            UnknownKernelWarning,
        )


class KernelFamilies(Mapping[str, Any]):
    """The kernels of *package*, by op name, loaded a package of families at a time.

    The modules of *package* lie as families do in ``polyad.ops``: the kernel of an op that is declared in
    ``polyad.ops.linalg.norms`` is in the table ``KERNELS`` of a module in ``<package>.linalg``. Iterating loads
    everything.

    A kernel of an op that is not polyad's may be in any module; to find it loads all.

    Raises ImportError as a family's module does when it is loaded, TypeError if a kernel is in another package than its
    op.

    >>> from polyad_numpy.kernels import KERNELS
    >>> "exp" in KERNELS, KERNELS.get("no_such_op")
    (True, None)
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._loaded: dict[str, dict[str, Any]] = {}

    def __getitem__(self, op: str) -> Any:
        if op in _family_of:
            return self._table(_family_of[op].partition(".")[0])[op]
        # An op that is not polyad's: its kernel may be anywhere.
        for family in self._packages():
            if op in self._table(family):
                return self._table(family)[op]
        raise KeyError(op)

    def __iter__(self) -> Iterator[str]:
        for family in self._packages():
            yield from self._table(family)

    def _packages(self) -> list[str]:
        return [found.name for found in pkgutil.iter_modules(importlib.import_module(self._package).__path__)]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _table(self, family: str) -> dict[str, Any]:
        found = self._loaded.get(family)
        return self._load(family) if found is None else found

    def _load(self, family: str) -> dict[str, Any]:
        name = f"{self._package}.{family}"
        table: dict[str, Any] = {}
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
        else:
            table |= getattr(module, "KERNELS", {})
            for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
                table |= getattr(importlib.import_module(found.name), "KERNELS", {})
        warn_of_unknown_kernels(name, table)
        for op in table:
            home = _family_of.get(op, family)
            if home.partition(".")[0] != family:
                raise TypeError(f"the kernel of {op} is in {name}, but its op is in polyad.ops.{home}")
        self._loaded[family] = table
        return table
