"""Valid calls of every public function: those of its conformance samples, and for methods that have none, those below.

A function's samples also say how accurate it is (`bound_of`) and which of its arguments share the dtype that varies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from polyad.base.dtypes import DType
from polyad.dispatch.op import PUBLIC
from polyad.interop.numpy import numpy_dtype
from polyad_conformance.calls import generator
from polyad_conformance.sample import DTYPE, ErrorCase, Maker, OnlyShape, Sample
from polyad_conformance.samples import families, family_of

from .accuracy import Bound
from .calls import Call, Given, contiguous, mapped
from .exclusions import NOT_COMPARED
from .libraries import twin
from .more_calls import MORE


@dataclass(frozen=True, eq=False)
class Template:
    """A valid call, drawn in any of its dtypes.

    Attributes:
        path, name: the function, and what is special about this call.
        draw: ``draw(dtype, seed)`` returns positional and keyword arguments, arrays as NumPy arrays.
        dtypes: those in which it is valid.
        reference, magnitude: the sample's.
        expand: whether arrays that repeat along their first dimension are valid too.
    """

    path: str
    name: str
    draw: Callable[[DType, int], tuple[tuple[Any, ...], dict[str, Any]]]
    dtypes: tuple[DType, ...]
    reference: Callable[..., Any] | None = None
    magnitude: Callable[..., Any] | None = None
    expand: bool = True

    def call(self, dtype: DType, seed: int = 0, layout: Callable[[np.ndarray], Given] = contiguous) -> Call:
        """The call in one dtype, its arrays in one layout."""
        args, kwargs = self.draw(dtype, seed)
        placed = (mapped(args, np.ndarray, layout), mapped(kwargs, np.ndarray, layout))
        return Call(self.path, *placed, reference=self.reference, magnitude=self.magnitude)


def _of_sample(path: str, sample: Sample) -> Template:
    def draw(dtype: DType, seed: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(sample.inputs(Maker(generator(sample, dtype, seed), dtype)))
        kwargs = {name: dtype if value is DTYPE else value for name, value in sample.kwargs.items()}
        kwargs.pop("generator", None)  # the two libraries draw different numbers anyway
        return args, kwargs

    # Of a matrix with equal rows, what factorizations give is not determined.
    expand = sample.expand and "linalg" not in family_of(sample)
    return Template(path, sample.name, draw, sample.dtypes, sample.reference, sample.magnitude, expand)


@cache
def _samples() -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for samples, _ in families().values():
        for sample in samples:
            found.setdefault(sample.op, []).append(sample)
    return found


def _same_function(path: str) -> list[str]:
    if path not in PUBLIC:
        return [path]
    call = PUBLIC[path].call
    return [path, *(other for other, public in PUBLIC.items() if public.call is call and other != path)]


def samples_of(path: str) -> list[Sample]:
    """The conformance samples of the function at *path*, or of another name of it."""
    for name in _same_function(path):
        if name in _samples():
            return _samples()[name]
    return []


@cache
def templates_of(path: str) -> tuple[Template, ...]:
    """Valid calls of the function at *path*."""
    made = [_of_sample(path, sample) for sample in samples_of(path)]
    for number, (draw, dtypes) in enumerate(MORE.get(path, ())):
        made.append(Template(path, str(number), _maker(path, draw), dtypes))
    return tuple(made)


def _maker(path: str, draw: Callable[..., Any]) -> Callable[[DType, int], tuple[tuple[Any, ...], dict[str, Any]]]:
    def made(dtype: DType, seed: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = draw(Maker(np.random.default_rng([seed, len(path)]), dtype))
        kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
        return (args[:-1] if kwargs else args), kwargs

    return made


@cache
def error_cases_of(path: str) -> tuple[ErrorCase, ...]:
    """The conformance suite's refused calls of the function at *path*."""
    names = set(_same_function(path))
    return tuple(case for _, errors in families().values() for case in errors if case.op in names)


@cache
def bound_of(path: str) -> Bound:
    """How accurate the function at *path* is."""
    samples = samples_of(path)
    if is_random(path) or not has_values(path):
        return Bound(values=False)
    return Bound(
        steps=max([sample.steps for sample in samples] + [2]),
        sums=any(sample.length for sample in samples),
    )


def is_random(path: str) -> bool:
    """Whether the function draws random numbers: the two libraries draw different ones."""
    if path not in PUBLIC:
        return path.removeprefix("Tensor.") in {"uniform_", "normal_", "exponential_", "random_", "bernoulli_"}
    public = PUBLIC[path]
    return (
        "generator" in inspect.signature(public.call).parameters or "dropout" in public.name or "lowrank" in public.name
    )


def has_values(path: str) -> bool:
    """Whether the elements of the results are defined: those of ``empty`` are not."""
    for sample in samples_of(path):
        args, kwargs = _of_sample(path, sample).draw(sample.dtypes[-1], 0)
        try:
            expected = sample.reference(*args, **kwargs)
        except Exception:
            continue
        return not isinstance(expected, OnlyShape)
    return "empty" not in path


def compared_paths() -> Iterator[str]:
    """Every function that is compared: public ones that PyTorch has, and further methods with calls of their own."""
    for path in PUBLIC:
        if twin(path) is not None and path not in NOT_COMPARED and templates_of(path):
            yield path
    yield from (path for path in MORE if path not in PUBLIC)


def main_arrays(args: tuple[Any, ...], dtype: DType) -> list[np.ndarray]:
    """The arrays that have the dtype a template was drawn in; others are indices and masks."""
    wanted = numpy_dtype(dtype)
    found: list[np.ndarray] = []
    mapped(args, np.ndarray, lambda array: found.append(array) if array.dtype == wanted else None)
    return found
