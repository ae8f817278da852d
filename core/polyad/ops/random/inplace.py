"""Writing random numbers into tensors: `uniform_`, `normal_`, `exponential_`, `cauchy_`, `random_`, ...

Numbers are drawn as the functions of `polyad.ops.random.sampling` draw them, then written: element i is the i-th in
row-major order, whatever the strides.
"""

from __future__ import annotations

import math
from types import EllipsisType

from ...base.dtypes import BOOL, FLOATING, INTEGER, DType, bfloat16, float16, float32, float64, int64
from ...dispatch.inplace import check_writable, write
from ...dispatch.op import method
from ...errors import DTypeError, ShapeError
from ...random.generator import Generator, generator_or_default
from ...tensor import Tensor
from .sampling import (
    _chances,
    _chances_of,
    _exponential,
    _fits,
    _floating,
    _integers,
    _normal,
    _normal_numbers,
    _probability,
    _range,
    _uniform,
    _uniform_numbers,
)


@method(also={"from": "from_"})
def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write numbers in [from_, to), all equally likely. Raises RuntimeError for integers and unless from_ <= to."""
    check_writable("uniform_", self)
    if from_ > to:
        raise ShapeError(f"uniform_: from {from_} is above to {to}", operands={"self": self}, fix="exchange them")
    type_ = self._type
    return write(
        "uniform_",
        self,
        _uniform_numbers(
            "uniform_",
            self._array.shape,
            from_,
            to,
            generator_or_default("uniform_", generator),
            type_.dtype,
            type_.device,
        ),
    )


@method()
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write normally distributed numbers. Raises RuntimeError for integers and a negative std."""
    check_writable("normal_", self)
    if not std >= 0:
        raise ShapeError(f"normal_: std {std} is not 0 or more", operands={"self": self}, fix="pass 0 or more")
    type_ = self._type
    return write(
        "normal_",
        self,
        _normal_numbers(
            "normal_",
            self._array.shape,
            mean,
            std,
            generator_or_default("normal_", generator),
            type_.dtype,
            type_.device,
        ),
    )


@method()
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write exponentially distributed numbers of rate *lambd*.

    Raises RuntimeError unless self is floating point and lambd above 0.
    """
    check_writable("exponential_", self)
    if lambd <= 0:
        raise ShapeError(
            f"exponential_: lambd {lambd} must be above 0", operands={"self": self}, fix="pass a rate above 0"
        )
    type_ = self._type
    return write(
        "exponential_",
        self,
        _exponential(
            self._array.shape,
            lambd,
            generator_or_default("exponential_", generator),
            _floating("exponential_", type_.dtype),
            type_.device,
        ),
    )


_EXACT_BITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}


def _end(dtype: DType) -> int:
    """What comes after the integers from 0 on that *dtype* holds without a gap."""
    if dtype.category == FLOATING:
        return int(2 ** _EXACT_BITS[dtype]) + 1
    signed = dtype.name.startswith("int")
    return 2 if dtype.category == BOOL else int(2 ** (8 * dtype.itemsize - signed))


@method(also={"from": "from_"})
def random_(
    self: Tensor, from_: int | None = None, to: int | EllipsisType | None = ..., *, generator: Generator | None = None
) -> Tensor:
    """Write integers in [from_, to): ``random_(to)`` starts at 0, ``random_()`` too; without an end, as in
    ``random_(from_, None)``, they go as far as the dtype holds all integers.

    Raises RuntimeError unless from_ < to and the dtype holds both.
    """
    check_writable("random_", self)
    type_ = self._type
    low, high = (0, from_) if to is ... else (from_ or 0, to)
    bounds = _range("random_", low, _end(type_.dtype) if high is None else high)
    numbers = _integers(
        self._array.shape,
        *bounds,
        generator_or_default("random_", generator),
        _fits("random_", *bounds, type_.dtype),
        type_.device,
    )
    return write("random_", self, numbers)


@method()
def bernoulli_(self: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write 1 with probability *p* (a number, or a tensor that broadcasts), else 0.

    Raises RuntimeError for p outside [0, 1].
    """
    check_writable("bernoulli_", self)
    type_ = self._type
    source = generator_or_default("bernoulli_", generator)
    if isinstance(p, Tensor):
        return write(
            "bernoulli_", self, _chances_of(p.detach().expand(self.shape).contiguous(), source).to(type_.dtype)
        )
    return write(
        "bernoulli_",
        self,
        _chances(self._array.shape, _probability("bernoulli_", p), source, type_.device).to(type_.dtype),
    )


def _positive(op: str, name: str, value: float, target: Tensor) -> float:
    if not value > 0:
        raise ShapeError(
            f"{op}: {name} {value} must be above 0", operands={"self": target}, fix=f"pass a {name} above 0"
        )
    return value


@method()
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write Cauchy distributed numbers around *median* with half-width *sigma*.

    Raises RuntimeError unless self is floating point and sigma above 0.
    """
    check_writable("cauchy_", self)
    type_ = self._type
    _positive("cauchy_", "sigma", sigma, self)
    wide = float64 if _floating("cauchy_", type_.dtype) is float64 else float32
    source = generator_or_default("cauchy_", generator)
    u = _uniform(self._array.shape, 0.0, 1.0, source, wide, type_.device)
    return write("cauchy_", self, (((u - 0.5) * math.pi).tan() * sigma + median).to(type_.dtype))


@method()
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Write numbers whose logarithms are normally distributed with *mean* and *std*.

    Raises RuntimeError unless self is floating point and std above 0.
    """
    check_writable("log_normal_", self)
    type_ = self._type
    _positive("log_normal_", "std", std, self)
    source = generator_or_default("log_normal_", generator)
    dtype = _floating("log_normal_", type_.dtype)
    return write("log_normal_", self, _normal(self._array.shape, mean, std, source, dtype, type_.device).exp())


@method()
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Write numbers of trials, 1 or more, up to the first success of probability *p*.

    Raises RuntimeError unless 0 < p < 1, and for complex and bool tensors.
    """
    check_writable("geometric_", self)
    type_ = self._type
    if not 0 < p < 1:
        raise ShapeError(f"geometric_: p {p} is not in (0, 1)", operands={"self": self}, fix="pass a probability")
    if type_.dtype.category not in (INTEGER, FLOATING):
        raise DTypeError(
            f"geometric_: {type_.dtype.name} cannot hold counts", operands={"self": self}, fix="use integers or floats"
        )
    source = generator_or_default("geometric_", generator)
    wide = float64 if type_.dtype in (float64, int64) else float32
    numbers = _exponential(self._array.shape, -math.log1p(-p), source, wide, type_.device).floor() + 1
    return write("geometric_", self, numbers.to(type_.dtype))
