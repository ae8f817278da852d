"""One vmap at work: a function of single samples, run once on all of them.

How ops are carried out is in rules.py, how views are in views.py; here is how tensors come in and go out, and what
becomes of writes and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.shapes_and_strides import Layout
from ...base.state import user_line
from ...dispatch.effects import Effect, Result, exchanged
from ...dispatch.op import Op
from ...dispatch.plan import Plan
from ...errors import describe
from ...tensor import Tensor
from ..levels import Level
from ..wrapped import Handle, Wrapped
from .batched import Batched, Unbatchable
from .rules import carry_out, draw
from .views import view_of_batch


class VmapLevel(Level):
    """The level of a vmap.

    Attributes:
        size: how many samples there are.
        randomness: "error", "different" or "same": what random numbers are to the samples.
    """

    name = "vmap"

    def __init__(self, function: str, size: int, randomness: str = "error") -> None:
        super().__init__(function)
        self.size = size
        self.randomness = randomness

    # ------------------------------------------------------------------------------------------------ in and out

    def wrap(self, inner: Tensor, batched: bool = True) -> Batched:
        """*inner* as a tensor of this level, its first dimension the batch if it is *batched*."""
        array = inner._array
        shape, strides = array.shape, array.strides
        if batched:
            shape, strides = shape[1:], strides[1:]
        type_ = inner._type.nd if shape else inner._type.zd
        out: Batched = Batched._over(self, inner, Handle(shape, strides, self), type_)
        out._batched, out._given_dim = batched, 0
        return out

    def lift(self, tensor: Tensor) -> Batched:
        if isinstance(tensor, Wrapped) and tensor._level.ended:
            tensor._after_end()
        return self.wrap(tensor, False)

    def spread(self, tensor: Batched) -> Tensor:
        """The inner tensor with the batch in front, where samples share memory if they are all the same."""
        inner = tensor._inner
        return inner if tensor._batched else inner.unsqueeze(0).expand(self.size, *inner._array.shape)

    # ------------------------------------------------------------------------------------------------ ops and views

    def compute(self, op: Op, values: tuple[Any, ...], plan: Plan) -> Any:
        return carry_out(self, op, values)

    def inner_view(self, op: Op, input: Batched, params: tuple[Any, ...], layout: Layout) -> Batched:
        if not input._batched:
            return self.wrap(op.call(input._inner, *params), False)
        return self.wrap(view_of_batch(op, input, params, layout))

    def untouched(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        if isinstance(op, Op) and "generator" in op.params:
            return draw(self, op, args)
        return op.call(*args)

    # ------------------------------------------------------------------------------------------------ effects

    def read(self, effect: Effect, position: int, args: tuple[Any, ...]) -> Any:
        tensor: Batched = args[position]
        if not tensor._batched or effect.result is not Result.HOST:
            return effect.call(*exchanged(args, position, tensor._inner))
        raise self.unbatchable(
            f"vmap: {self.function} reads data of a batched tensor, which has other data for each sample "
            f"(if, bool(), int(), .{effect.name}())",
            "choose with polyad.where, or loop over the samples",
            tensor,
        )

    def apply_function(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        return effect.body.mapped(self, args)  # type: ignore[union-attr]

    def unbatchable(self, message: str, fix: str, tensor: Tensor | None = None) -> Unbatchable:
        """The error for something that *function* must not do."""
        return Unbatchable(
            message,
            operands={} if tensor is None else {"tensor": tensor},
            notes={"function": self.function, "line": user_line()},
            fix=fix,
        )

    def into_constant(self, name: str, target: Tensor, args: tuple[Any, ...]) -> Any:
        error = self.unbatchable(
            f"{name}: self is the same for all samples of vmap, so it cannot hold what differs between them",
            "use the out-of-place form; or make self from a batched tensor, by x.new_zeros(...), or map over it",
        )
        error.lines = {
            "self": describe(target),
            **{f"args[{i}]": describe(arg) for i, arg in enumerate(args) if isinstance(arg, Tensor)},
            **error.lines,
        }
        raise error


def map_first(
    name: str, function: Callable[..., Sequence[Tensor | None]], tensors: Sequence[Tensor | None], size: int
) -> list[Tensor | None]:
    """The results of *function* mapped over the first dimension, of *size*, of *tensors*; None stays None.

    What is random in it is the same for all: it was decided before, and is only computed again.
    """
    level = VmapLevel(name, size, "same")
    try:
        with level:
            found = function(*[None if tensor is None else level.wrap(tensor) for tensor in tensors])
        return [None if result is None else level.spread(level.lifted(result)) for result in found]
    finally:
        level.end()
