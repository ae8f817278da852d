"""Every public function with wrong arguments: it answers, or says in polyad's words what is wrong and how to mend it.

The calls are the conformance samples, one of each function, with one argument exchanged at a time: every parameter,
those at their defaults too, is given every wrong value below. A call may succeed (much that is odd has a meaning). If
it does not, the exception is a `PolyadError` with a line "fix", and no input has changed.

A new function needs nothing here: its first conformance sample is its call.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyad
from polyad import Tensor
from polyad.base.dtypes import DType, float32, int64
from polyad.dispatch.op import PUBLIC
from polyad.errors import PolyadError, safe_repr
from polyad_conformance.calls import draw, has_arrays, kwargs_of
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families


class Nothing:
    """An object that is good for nothing."""

    def __repr__(self) -> str:
        return "Nothing()"


class Unspeakable:
    """An object that cannot be shown: no message may need its `repr`."""

    def __repr__(self) -> str:
        raise RuntimeError("it cannot be shown")


class Liar:
    """An object that says it is an array, and is none."""

    def __array__(self, *args: Any, **kwargs: Any) -> None:
        return None


DEEP: list[Any] = []
"""A list in a list in a list, deeper than Python's stack."""
for _ in range(2000):
    DEEP = [DEEP]


ANYTHING: tuple[Any, ...] = (
    None, "text", ["text"], Nothing(), Unspeakable(), [Unspeakable()], Liar(), DEEP, {}, [], int, 1.5, 1j,
    float("nan"), float("inf"),
)  # fmt: skip
"""Wrong for some parameter, and for most."""

NUMBERS: tuple[Any, ...] = (
    *ANYTHING, True, -1, -9, 0, 7, 2**40, 2**62, 2**64, 10**30, 10**400, [1, 2], [-1, -2], [2**40, 2**40], (1,) * 6,
    [1.5], [None], np.arange(3.0), np.ones((2, 3)), np.zeros((0,)),
)  # fmt: skip
"""In the place of what is no tensor."""

WRITING = frozenset({"inplace", "max_norm"})
"""Parameters that ask for an input to be written to."""

SKIPPED = frozenset({"self"})
"""Parameters of which wrong values are tested elsewhere."""


def tensors_instead(array: np.ndarray) -> Iterator[np.ndarray]:
    """Tensors of another dtype, rank or size, and such that hold what no index or probability is."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield array != 0
        yield array.astype(np.int64 if array.dtype.kind in "bfcV" else np.float32)
        yield array.astype(np.complex64)
        if array.dtype.kind in "iu":
            yield array + array.dtype.type(100)
            yield (-array.astype(np.int64) - 9).astype(np.int64)
        elif array.dtype.kind == "f":
            yield np.full_like(array, np.nan)
    yield array[None]
    yield array.reshape(-1)[:1].reshape((1,) * 6) if array.size else array
    yield np.zeros((), array.dtype)
    for dim, size in enumerate(array.shape):
        yield np.resize(array, (*array.shape[:dim], size + 1, *array.shape[dim + 1 :]))
        yield np.zeros((*array.shape[:dim], 0, *array.shape[dim + 1 :]), array.dtype)


def wrong_values(value: Any) -> Iterator[Any]:
    """What is put in the place of *value*."""
    if isinstance(value, np.ndarray):
        yield from tensors_instead(value)
        yield from (*ANYTHING, 2**62, 10**400, [1, 2])
    elif isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value):
        yield from ANYTHING
        for item in (None, "text", Nothing(), 1.5, np.zeros((0, 3)), np.zeros((), np.complex64)):
            yield [*value[:-1], item]
    else:
        yield from NUMBERS
        if isinstance(value, (list, tuple)) and value:
            for item in (None, "text", 1.5, -1, 2**62):
                yield [*value[:-1], item]
            yield [*value, value[-1]]
            yield list(value[:-1])


def made(value: Any) -> Any:
    """*value* with tensors for arrays."""
    if isinstance(value, (list, tuple)) and value is not DEEP:
        return [made(item) for item in value]
    return polyad.tensor(value) if isinstance(value, np.ndarray) else value


def _told(value: Any) -> str:
    return f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else safe_repr(value)


def tensors_of(*values: Any) -> list[Tensor]:
    """The tensors among *values*."""
    parts = [tensors_of(*one) if isinstance(one, (list, tuple)) and one is not DEEP else [one] for one in values]
    return [one for part in parts for one in part if isinstance(one, Tensor)]


def state_of(tensor: Tensor) -> Any:
    """Everything that a refused call must leave as it was."""
    return tensor.shape, tensor.dtype, tensor._version, tensor.numpy(force=True).tobytes()


def complaints(
    told: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], written: int = 0
) -> list[str]:
    """What is wrong with how a call fails, if it fails; one that succeeds may write to its first *written* tensors."""
    given = tensors_of(*args, *(value for name, value in kwargs.items() if name != "out"))
    before = [state_of(tensor) for tensor in given]
    try:
        function(*args, **kwargs)
    except PolyadError as error:
        written = 0
        if "\n    fix " not in str(error) or "report a defect" in str(error):
            return [f"{told}: {error}"]
    except Exception as error:
        return [f"{told}: {type(error).__name__}: {error}"]
    after = [state_of(tensor) for tensor in given]
    return [] if before[written:] == after[written:] else [f"{told}: an input has changed"]


@cache
def samples() -> dict[str, Sample]:
    """The first sample of each public function."""
    found: dict[str, Sample] = {}
    for of_family, _ in families().values():
        for sample in of_family:
            if sample.op in PUBLIC:
                found.setdefault(sample.op, sample)
    return found


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """So that a size that nobody means ends in an error, not in the machine's memory."""
    if sys.platform != "linux":
        yield
        return
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**32, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


FOR_INTEGERS: tuple[Any, ...] = (float("nan"), float("inf"), 1.5, 1j, 2**62, 2**64, 10**30, 10**400)
"""Numbers that no integer tensor can hold, or that leave its range."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(samples()))
def test_wrong_arguments(path: str) -> None:
    sample = samples()[path]
    found = complaints_about(path, float32 if float32 in sample.dtypes else sample.dtypes[0], wrong_values)
    if float32 in sample.dtypes and int64 in sample.dtypes:
        found += complaints_about(path, int64, lambda value: () if has_arrays(value) else FOR_INTEGERS)
    assert not found, f"{len(found)} of polyad.{path}\n" + "\n".join(found[:20])


def complaints_about(path: str, dtype: DType, wrong_for: Callable[[Any], Iterable[Any]]) -> list[str]:
    """What is wrong with how calls of *path* fail whose arguments are exchanged for others, one at a time."""
    sample, function = samples()[path], PUBLIC[path].call
    args = draw(sample, dtype, 0)
    kwargs, _ = kwargs_of(sample, dtype, "cpu", args)
    kwargs = {name: value for name, value in kwargs.items() if name not in SKIPPED}
    parameters = inspect.signature(function).parameters.values()
    fixed = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    places: list[Any] = [*range(len(args)), *kwargs]
    places += [name for name in names if name not in (*kwargs, *(one.name for one in fixed[: len(args)]))]
    found = []
    for place in places:
        if place in SKIPPED:
            continue
        for wrong in wrong_for(args[place] if isinstance(place, int) else kwargs.get(place)):
            given = [wrong if number == place else value for number, value in enumerate(args)]
            named = {**kwargs, **({} if isinstance(place, int) else {place: wrong})}
            given, named = made(given), {name: made(value) for name, value in named.items()}
            written = len(tensors_of(*given)) if place in WRITING or path.endswith("_") else 0
            found += complaints(f"{path}: {place} = {_told(wrong)}", function, given, named, written)
    return found


METHODS = [
    name
    for name in dir(Tensor)
    if not name.startswith("_") and name not in PUBLIC and callable(getattr(Tensor, name)) and name != "register_hook"
]


def writes(path: str, function: Callable[..., Any]) -> bool:
    """Whether the function may write to its first argument."""
    return path.endswith("_") or "inplace" in inspect.signature(function).parameters


def among_others(
    told: str, function: Callable[..., Any], values: np.ndarray, first: bool, written: bool = True
) -> list[str]:
    """What is wrong with how *function* fails for wrong values alone, before, and after another argument; with *first*,
    its first argument is a tensor of *values*, which it may write to if it is *written*.
    """
    found = []
    for arguments in [pair for wrong in NUMBERS for pair in ((wrong,), (0, wrong), (wrong, 1))]:
        given = made(
            [values, *arguments]
            if first
            else [values if isinstance(one, int) and one in (0, 1) else one for one in arguments]
        )
        try:
            inspect.signature(function).bind(*given)
        except (TypeError, ValueError):
            continue  # how many arguments there are is for Python to refuse
        found += complaints(f"{told}({', '.join(map(_told, arguments))})", function, given, {}, written=int(written))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("values", [np.arange(6.0, dtype=np.float32).reshape(2, 3), np.zeros((), np.int64)], ids=_told)
def test_methods_with_wrong_arguments(name: str, values: np.ndarray) -> None:
    """Those that are no functions of the package: in-place forms, conversions, what a tensor says of itself."""
    found = among_others(f"Tensor.{name}", getattr(Tensor, name), values, first=True)
    assert not found, f"{len(found)} of Tensor.{name}\n" + "\n".join(found[:20])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [path for path in PUBLIC if path not in samples() and PUBLIC[path].op is None])
def test_functions_without_samples(path: str) -> None:
    """What says something of tensors, and has no result that a backend could get wrong."""
    call = PUBLIC[path].call
    found = among_others(path, call, np.ones((2, 2), np.float32), first=False, written=writes(path, call))
    assert not found, f"{len(found)} of polyad.{path}\n" + "\n".join(found[:20])
