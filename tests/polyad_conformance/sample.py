"""The form of a sample and of an error case; `polyad_conformance.samples` explains how to write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from polyad.base.dtypes import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from polyad.interop.numpy import numpy_dtype

BOOL = (bool_,)
INTEGERS = (uint8, int8, int16, int32, int64)
REAL_FLOATS = (float16, bfloat16, float32, float64)
COMPLEX = (complex64, complex128)
FLOATS = REAL_FLOATS + COMPLEX
REAL = INTEGERS + REAL_FLOATS
NUMBERS = REAL + COMPLEX
EVERYTHING = BOOL + NUMBERS

DTYPE = object()
"""In a sample's kwargs: stands for the dtype that the sample is run with."""

Rule = Callable[[DType], DType]


def same(dtype: DType) -> DType:
    """The result has the inputs' dtype."""
    return dtype


def as_bool(dtype: DType) -> DType:
    """The result is bool."""
    return bool_


def as_int64(dtype: DType) -> DType:
    """The result is int64: positions and counts."""
    return int64


def as_float(dtype: DType) -> DType:
    """Integers and bool become float32, everything else stays."""
    return float32 if dtype in BOOL + INTEGERS else dtype


def as_sum(dtype: DType) -> DType:
    """Integers and bool become int64, everything else stays."""
    return int64 if dtype in BOOL + INTEGERS else dtype


def as_real(dtype: DType) -> DType:
    """Complex becomes the float of its parts, everything else stays."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def always(dtype: DType) -> Rule:
    """The result has this dtype."""
    return lambda _: dtype


class Maker:
    """Makes the input arrays of a sample: NumPy arrays of one dtype from one seeded generator.

    Attributes:
        random: the ``numpy.random.Generator``, for what no method here makes.
        dtype: the dtype that the sample is run with.
        whole_range: whether integers of which nothing is asked are any that the dtype has, its limits among them.
    """

    def __init__(self, random: np.random.Generator, dtype: DType, whole_range: bool = False) -> None:
        self.random, self.dtype, self.whole_range = random, dtype, whole_range

    def __call__(self, shape: Iterable[int], low: float | None = None, high: float | None = None) -> np.ndarray:
        """Random numbers between *low* and *high*: by default -2 to 2 for floats,
        -9 to 9 for integers (0 to 9 if unsigned).
        """
        shape = tuple(shape)
        if self.dtype is bool_:
            return self.random.integers(0, 2, shape).astype(bool)
        if self.dtype in INTEGERS:
            limits = np.iinfo(self.dtype.name)
            if self.whole_range and low is None and high is None:
                values = self.random.integers(limits.min, limits.max, shape, self.dtype.name, endpoint=True)
                return self._with_limits(np.asarray(values))
            low, high = (-9 if low is None else low), (9 if high is None else high)
            least, most = max(int(np.ceil(low)), limits.min), min(int(np.floor(high)), limits.max)
            return self.random.integers(least, most, shape, np.int64, endpoint=True).astype(self.dtype.name)
        low, high = (-2.0 if low is None else low), (2.0 if high is None else high)
        values = self.random.uniform(low, high, shape)
        if self.dtype in COMPLEX:
            values = values + 1j * self.random.uniform(low, high, shape)
        return np.asarray(values).astype(numpy_dtype(self.dtype))

    def _with_limits(self, values: np.ndarray) -> np.ndarray:
        """The smallest and the largest integer at two places."""
        if values.size > 1:
            limits = np.iinfo(values.dtype)
            values.flat[self.random.choice(values.size, 2, replace=False)] = limits.min, limits.max
        return values

    def nonzero(self, shape: Iterable[int], low: float = 0.5, high: float = 3.0) -> np.ndarray:
        """Numbers with magnitudes between *low* and *high*, of either sign where the dtype has one: divisors.
        True for bool.
        """
        if self.dtype is bool_:
            return np.ones(tuple(shape), bool)
        if self.whole_range and high >= 2:
            low = max(low, 2)  # the smallest integer has no quotient by -1
        values = self(shape, max(low, 1) if self.dtype in INTEGERS else low, high)
        if self.dtype is uint8:
            return values
        signs = self.random.choice([-1, 1], values.shape)
        return np.asarray(values * signs.astype(values.dtype)).astype(values.dtype)

    def positive(self, shape: Iterable[int], low: float = 0.25, high: float = 3.0) -> np.ndarray:
        """Positive numbers (integers from 1)."""
        return self(shape, max(low, 1) if self.dtype in INTEGERS else low, high)

    def distinct(self, shape: Iterable[int]) -> np.ndarray:
        """Numbers that differ by at least 0.25 (integers by 1) in random order: for extremes and sorting.
        At most 256 of them.
        """
        shape = tuple(shape)
        count = int(np.prod(shape))
        order = self.random.permutation(count)
        if self.dtype in REAL_FLOATS + COMPLEX:
            values = (order - count // 2) * 0.25
        elif self.whole_range and self.dtype in INTEGERS:
            limits = np.iinfo(self.dtype.name)
            values = limits.min + order * ((int(limits.max) - int(limits.min)) // max(count - 1, 1) & 2**63 - 1)
        else:
            values = order if self.dtype is uint8 else order - count // 2
        return values.reshape(shape).astype(numpy_dtype(self.dtype))

    def index(self, shape: Iterable[int], size: int, negative: bool = False) -> np.ndarray:
        """int64 positions below *size*; from -size with *negative*."""
        return self.random.integers(-size if negative else 0, size, tuple(shape))

    def mask(self, shape: Iterable[int]) -> np.ndarray:
        """Random booleans, at least one of each if there is more than one."""
        values = self.random.integers(0, 2, tuple(shape)).astype(bool)
        if values.size > 1:
            values.flat[0], values.flat[-1] = True, False
        return values

    def of(self, dtype: DType) -> Maker:
        """A maker for another dtype that draws from the same generator."""
        return Maker(self.random, dtype, self.whole_range)


@dataclass(frozen=True)
class OnlyShape:
    """Returned by a reference where only the result's shape and dtype are defined:
    uninitialised memory, random numbers.
    """

    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One way of calling one op, with what must come out. `polyad_conformance.samples` explains the fields by example.

    Attributes:
        op: a public function (``"matmul"``) or, with a leading underscore, an op (``"_gemm"``).
        inputs: ``inputs(make)`` returns the positional arguments: arrays made by `Maker`, numbers, None, lists of
            arrays.
        reference: ``reference(*inputs, **kwargs)`` in NumPy. Floats arrive as float64, complex as complex128, integers
            as int64, bool as bool; a tuple for several results. May return `OnlyShape`.
        name: what is special about this sample; unique within its op.
        kwargs: keyword arguments of the call; `DTYPE` stands for the dtype. Creation functions get ``device`` added.
        dtypes: the dtypes to run with, as far as the backend declares them.
        result: from that dtype to the result's, or a tuple of rules for several results.
        gradient: True if all inputs of the sample's dtype have gradients, or the positions of those that have; False
            for none.
        second_gradient: False where the gradient cannot be differentiated again.
        steps, length, magnitude: how far off a result may be; see `polyad_conformance.tolerance`.
        special: whether NaN, infinities and signed zeros in the inputs give what the reference gives for them.
        aliasing: "none": the result has its own memory; "view": it shares an input's; "maybe": it may.
        layouts: False where the op takes row-major inputs alone (a view that only these have).
        expand: False where inputs repeated along their first dimension (as an expanded tensor shows) are no valid
            inputs.
        holds: ``holds(*results, *inputs)``, asserts something about the results beside or instead of equality with the
            reference.
        call: ``call(op, *inputs, **kwargs)`` gives, by methods of Tensor, what is compared with the reference and
            differentiated in the place of the op's own results: where these are not unique (eigenvectors) or the
            op reads only part of its input (a symmetric matrix).
    """

    op: str
    inputs: Callable[[Maker], tuple[Any, ...]]
    reference: Callable[..., Any]
    name: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[DType, ...] = FLOATS
    result: Rule | tuple[Rule, ...] = same
    gradient: bool | tuple[int, ...] = False
    second_gradient: bool = True
    steps: int = 2
    length: int = 0
    magnitude: Callable[..., Any] | None = None
    special: bool = False
    aliasing: Literal["none", "view", "maybe"] = "none"
    layouts: bool = True
    expand: bool = True
    holds: Callable[..., None] | None = None
    call: Callable[..., Any] | None = None

    @property
    def label(self) -> str:
        """The sample's name in test ids."""
        return f"{self.op}: {self.name}" if self.name else self.op


@dataclass(frozen=True, kw_only=True)
class ErrorCase:
    r"""A call that must be refused, with its inputs unchanged.

    Attributes:
        op: as for `Sample`.
        call: ``call(op, tensor)``: *op* is the function, ``tensor(*shape, dtype=polyad.float32)`` makes inputs on the
            device under test.
        raises: the exception type that users of PyTorch expect (RuntimeError, TypeError, ...).
        match: a regular expression found in the message; name the arguments, for example ``r"input .*\n.*other"``.
        name: what is wrong, unique within the op.
        fused: whether only a kernel of the op's own notices, by looking at each value, or says it in these words; a
            decomposition would have to wait for the device to look.
    """

    op: str
    call: Callable[[Callable[..., Any], Callable[..., Any]], Any]
    raises: type[BaseException] | tuple[type[BaseException], ...]
    match: str
    name: str = ""
    fused: bool = False

    @property
    def label(self) -> str:
        """The case's name in test ids."""
        return f"{self.op}: {self.name}" if self.name else self.op
