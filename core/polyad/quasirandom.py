"""Points that fill a cube evenly, at PyTorch's path ``polyad.quasirandom``; SciPy computes them."""

from __future__ import annotations

import importlib
from typing import Any

from .base.dtypes import DType, get_default_dtype
from .base.shapes_and_strides import int_of
from .errors import ArgumentError, safe_repr, wrong_type
from .functions import empty, randint
from .interop.numpy import from_numpy
from .tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws points in [0, 1) of a Sobol sequence, with the direction numbers of Joe and Kuo.

    The points are those of PyTorch, bit by bit; scrambled ones are others: they follow from NumPy's generator, which
    *seed* seeds, or polyad's default generator where no seed is given.

    Args:
        dimension: of the cube, 1 to 21201.
        scramble: whether to scramble the points at random, which keeps them even.
        seed: an int, for the same scrambled points again.

    Raises:
        ValueError: a dimension outside of that range.

    S. Joe, F. Y. Kuo, Constructing Sobol sequences with better two-dimensional projections, 2008.

    >>> import polyad
    >>> polyad.quasirandom.SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if int_of(dimension) is None:
            raise wrong_type("SobolEngine", "dimension", dimension, "an int")
        if not 1 <= dimension <= self.MAXDIM:
            raise ArgumentError(
                f"SobolEngine: dimension is {safe_repr(dimension)}", fix=f"pass a number from 1 to {self.MAXDIM}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        if scramble and seed is None:
            seed = int(randint(2**31, ()))
        qmc: Any = importlib.import_module("scipy.stats.qmc")
        self._engine = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, seed=seed)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next *n* points, (n, dimension), of the default dtype if none is given."""
        count = int_of(n)
        if count is None:
            raise wrong_type("draw", "n", n, "an int")
        if count < 0 or self.num_generated + count > 2**self.MAXBIT:
            raise ArgumentError(
                f"draw: {count} points after {self.num_generated}", fix=f"draw at most 2**{self.MAXBIT} points in all"
            )
        drawn = empty(count, self.dimension, dtype=dtype or get_default_dtype())
        # The first point by itself: of others than powers of two SciPy warns that they are not even, PyTorch does not.
        at = 0
        for size in (1, count - 1) if count and not self.num_generated else (count,):
            if size:
                drawn[at : at + size] = from_numpy(self._engine.random(size))
                at += size
        self.num_generated += count
        return drawn if out is None else out.resize_(drawn.shape).copy_(drawn)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """The next 2**m points. Raises ValueError where that makes the number of all points no power of two."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ArgumentError(
                f"draw_base2: {self.num_generated} points and 2**{m} are {total}, no power of two, so not even",
                fix="use draw(), or draw as many points as there are already",
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again. Returns self."""
        self._engine.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out *n* points. Returns self."""
        self._engine.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        seed = "" if self.seed is None else f", seed={self.seed}"
        return f"SobolEngine(dimension={self.dimension}{', scramble=True' if self.scramble else ''}{seed})"
