"""Tensors inside of vmap, and the error for what cannot be done to them.

The batch dimension is always the first of the inner tensor (`polyad.func.vmap` moves it there, which is a view), so a
rule never has to ask where it is. A tensor that is the same for all samples is wrapped too when it meets others,
without a batch dimension, and only spread over the batch where a rule needs that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dispatch.inplace import check_writable, write
from ...dispatch.modes import outside
from ...errors import TransformError
from ...tensor import Tensor
from ..wrapped import Wrapped

if TYPE_CHECKING:
    from .vmap_level import VmapLevel


class Unbatchable(TransformError):
    """What a function does that cannot be done to all samples at once.

    Attributes:
        is_final: whether it cannot be done sample by sample either.
    """

    __module__ = "polyad.transforms.batching"
    is_final = False


class Batched(Wrapped):
    """A tensor inside of vmap: one sample as the function sees it, all of them in the inner tensor.

    Attributes:
        _batched: whether the first dimension of the inner tensor is the batch; if not, all samples are the same.
        _given_dim: where the batch was in the argument of the mapped function that this tensor is; 0 for any other.
    """

    __slots__ = ("_batched", "_given_dim")

    _batched: bool
    _given_dim: int
    _level: VmapLevel

    def _like(self, inner: Tensor) -> Batched:
        return self._level.wrap(inner, self._batched)

    def _store(self, name: str, result: Tensor) -> None:
        level = self._level
        source: Batched = level.lifted(result)
        if source._batched and not self._batched:
            level.into_constant(name, self, (result,))
        with outside(level):
            values = level.spread(source) if self._batched else source._inner
            if name == "copy_":  # what was there before gets a gradient of zeros, not none
                self._inner.copy_(values)
            else:
                check_writable(name, self._inner)
                write(name, self._inner, values)

    def _store_number(self, name: str, value: Any) -> None:
        with outside(self._level):
            self._inner.fill_(value)

    def _show(self, view: Wrapped) -> None:
        super()._show(view)
        self._batched, self._given_dim = view._batched, 0

    def _made_like(self, created: Tensor) -> Tensor:
        level = self._level
        if not self._batched:
            return created
        with outside(level):
            return level.wrap(level.spread(level.lifted(created)).clone())

    def __repr__(self) -> str:
        samples = f"{self._level.size} samples" if self._batched else "the same for all samples"
        return f"Batched({self._inner!r}, {samples})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else repr(self)
