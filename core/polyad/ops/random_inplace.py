"""Writing random numbers into tensors: `uniform_`, `normal_`, `exponential_`, `random_`, `bernoulli_`.

Numbers are drawn as the functions of `polyad.ops.random` draw them, then written: element i is the i-th in row-major
order, whatever the strides.
"""

from __future__ import annotations

from ..dispatch.inplace import check_writable, write
from ..dtypes import BOOL, FLOATING, bfloat16, float16, float32, float64
from ..errors import ShapeError
from ..random.generator import Generator, generator_or_default
from ..tensor import Tensor
from .random import (
    _chances,
    _chances_of,
    _exponential,
    _fits,
    _floating,
    _integers,
    _normal,
    _probability,
    _range,
    _uniform,
)


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write numbers in [from_, to), all equally likely. Raises RuntimeError unless floating point and from_ <= to."""
    check_writable("uniform_", self)
    if from_ > to:
        raise ShapeError(f"uniform_: from {from_} is above to {to}", operands={"self": self}, fix="exchange them")
    kind = self._type
    return write(
        "uniform_",
        self,
        _uniform(
            self._array.shape,
            from_,
            to,
            generator_or_default("uniform_", generator),
            _floating("uniform_", kind.dtype),
            kind.device,
        ),
    )


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write normally distributed numbers. Raises RuntimeError unless floating point and std is 0 or more."""
    check_writable("normal_", self)
    if std < 0:
        raise ShapeError(f"normal_: std {std} is negative", operands={"self": self}, fix="pass 0 or more")
    kind = self._type
    return write(
        "normal_",
        self,
        _normal(
            self._array.shape,
            mean,
            std,
            generator_or_default("normal_", generator),
            _floating("normal_", kind.dtype),
            kind.device,
        ),
    )


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Write exponentially distributed numbers of rate *lambd*.

    Raises RuntimeError unless self is floating point and lambd above 0.
    """
    check_writable("exponential_", self)
    if lambd <= 0:
        raise ShapeError(
            f"exponential_: lambd {lambd} must be above 0", operands={"self": self}, fix="pass a rate above 0"
        )
    kind = self._type
    return write(
        "exponential_",
        self,
        _exponential(
            self._array.shape,
            lambd,
            generator_or_default("exponential_", generator),
            _floating("exponential_", kind.dtype),
            kind.device,
        ),
    )


_EXACT_BITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}


def random_(
    self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Write integers in [from_, to): ``random_(to)`` starts at 0, ``random_()`` takes all that the dtype holds exactly.

    Raises RuntimeError unless from_ < to and the dtype holds both.
    """
    check_writable("random_", self)
    kind = self._type
    low, high = (0, from_) if to is None else (from_, to)
    if high is None:
        dtype = kind.dtype
        signed = dtype.name.startswith("int")
        high = (
            2 ** _EXACT_BITS[dtype] + 1
            if dtype.category == FLOATING
            else 2
            if dtype.category == BOOL
            else 2 ** (8 * dtype.itemsize - signed)
        )
    bounds = _range("random_", low, high)
    made = _integers(
        self._array.shape,
        *bounds,
        generator_or_default("random_", generator),
        _fits("random_", *bounds, kind.dtype),
        kind.device,
    )
    return write("random_", self, made)


def bernoulli_(self: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write 1 with probability *p* (a number, or a tensor that broadcasts), else 0.

    Raises RuntimeError for p outside [0, 1].
    """
    check_writable("bernoulli_", self)
    kind = self._type
    source = generator_or_default("bernoulli_", generator)
    if isinstance(p, Tensor):
        return write("bernoulli_", self, _chances_of(p.detach().expand(self.shape).contiguous(), source).to(kind.dtype))
    return write(
        "bernoulli_",
        self,
        _chances(self._array.shape, _probability("bernoulli_", p), source, kind.device).to(kind.dtype),
    )


METHODS = {method.__name__: method for method in (uniform_, normal_, exponential_, random_, bernoulli_)}
"""In-place forms that are more than their function written over its operand."""
