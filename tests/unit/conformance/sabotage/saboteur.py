"""Backends to be spoiled: NumPy's under another name, and the fake device's, which computes later."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from polyad_fake.backend import FakeBackend

from polyad.backend import API_VERSION, Backend, BackendInfo, Capabilities, Kernel
from polyad.interop.numpy import polyad_dtype
from polyad_numpy.backend import NumpyBackend

if TYPE_CHECKING:
    import pytest

NAME = "saboteur"


class Saboteur(NumpyBackend):
    """The NumPy backend under another name, to be spoiled by setting attributes or replacing kernels."""

    def __init__(self) -> None:
        capabilities = Capabilities(features=frozenset({"shared_host_memory"}))
        self.info = BackendInfo(
            name=NAME, api_version=API_VERSION, capabilities=capabilities, indexed=False, dlpack=(12,)
        )
        self.table = dict(super().kernels)

    def to_dlpack(self, array: Any, stream: Any, max_version: Any) -> Any:
        return array

    def from_dlpack(self, source: Any, device: Any) -> tuple[Any, Any]:
        return source.__dlpack__(), polyad_dtype(source.__dlpack__().dtype)

    @property
    def kernels(self) -> Any:
        return self.table

    def replace(self, op: str, make: Callable[[Callable[..., Any]], Callable[..., Any]], *, out: bool = False) -> None:
        """Put ``make(honest)`` in the place of the kernel of *op*; *honest* is the kernel made for the signature."""
        kernel = self.as_kernel(op)
        assert kernel is not None, f"the NumPy backend has no kernel for {op}"
        honest = kernel.specialize or (lambda types: kernel.function)

        def specialize(types: Any) -> Any:
            made = honest(types)
            return None if made is None else make(made)

        self.table[op] = Kernel(make(kernel.function), dtypes=kernel.dtypes, out=out, specialize=specialize)


class QueueingSaboteur(FakeBackend):
    """The fake device under another name: work is done by a thread, in order, and the host has no pointers."""

    def __init__(self) -> None:
        super().__init__(devices=1)
        self.info = dataclasses.replace(self.info, name=NAME)


Spoil = Callable[[Any, "pytest.MonkeyPatch"], None]


@dataclass(frozen=True)
class Sabotage:
    """A way to be wrong: what spoils the backend, the check that has to catch it, the ops whose samples show it."""

    spoil: Spoil
    check: str
    ops: tuple[str, ...]
    backend: type[Backend]

    @property
    def name(self) -> str:
        """What the saboteur does, in a word."""
        return self.spoil.__name__

    @property
    def description(self) -> str:
        """What the saboteur does, in a sentence."""
        return " ".join((inspect.getdoc(self.spoil) or "").split())


SABOTAGES: list[Sabotage] = []


def caught_by(check: str, *ops: str, backend: type[Backend] = Saboteur) -> Callable[[Spoil], Spoil]:
    """Enter a sabotage of *backend* that *check* has to catch: a test of the suite on the samples of *ops*, or a check
    of the device if none are named.
    """

    def enter(spoil: Spoil) -> Spoil:
        SABOTAGES.append(Sabotage(spoil, check, ops, backend))
        return spoil

    return enter


def outcome(honest: Callable[..., Any], change: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that gives ``change(result, *args)`` for the honest kernel's result."""
    return lambda *args: np.asarray(change(honest(*args), *args))
