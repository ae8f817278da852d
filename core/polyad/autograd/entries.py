"""What all transforms of functions (`polyad.func`, `polyad.autograd.functional`) share.

A transform calls the function with *entries*: aliases of the inputs whose history begins at an `Entry` node of that
transform, and goes on from there to the input's own history, if there is any. A gradient with respect to an entry is
therefore the gradient of this transform and of no other, however they are nested, and still flows on to what lies
outside. Results that lead to nothing outside leave the transform without history.

Forward derivatives come from reverse derivatives: the gradient with respect to the inputs is linear in the cotangent,
and its own gradient with respect to that cotangent is the Jacobian times a tangent. So an op with a gradient formula
needs no second rule. Source: J. Townsend, "A new trick for calculating Jacobian vector products", 2017.

Invariant: a node is outside of a transform exactly if it is a leaf, or an entry of another transform whose function is
running. That one may have begun later: it calls what this transform returned, the function that ``vjp`` gives. Any
other entry belongs to a transform that worked within, or is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

from ..base.dtypes import FLOATING
from ..base.state import state
from ..dispatch.effects import Effect, Result, declare
from ..dispatch.modes import twin
from ..errors import DTypeError
from ..history.grad_mode import enable_grad
from ..history.node import Leaf, Node
from ..ops.creation.factories import zeros_like
from ..tensor import Tensor
from ..transforms.wrapped import Wrapped, tracked_outside
from .gradients import grad


class Entry(Leaf):
    """Where the history of a transform's input begins; sends its gradient on to the input itself.

    It is a leaf to all who ask (``is_leaf``, writes in place are refused) but gathers no ``.grad``. *running* says
    whether the function that was given it runs; None: nobody has said, and it runs if it is older.
    """

    __slots__ = ("running",)

    def __init__(self, tensor: Tensor, outer: Node | None) -> None:
        super().__init__(tensor)
        self.made_by = "Entry"
        self.running: bool | None = None
        self.calls = [] if outer is None else [(outer, _same, ())]


def _same(gradient: Tensor) -> Tensor:
    return gradient


def enter(tensor: Tensor, op: str) -> Tensor:
    """An alias of *tensor* to differentiate with respect to; with recording on, connected to its history.

    Raises RuntimeError, in the name of *op*, if the tensor is neither floating nor complex.
    """
    if state.modes:
        return ENTER.through_modes(tensor, op)  # type: ignore[no-any-return]
    return _enter(tensor, op)


def _enter(tensor: Tensor, op: str) -> Tensor:
    if tensor._type.dtype.category < FLOATING:
        raise DTypeError(
            f"{op}: only floating point and complex tensors can be differentiated",
            operands={"input": tensor},
            fix="convert it with .to(polyad.float32), or bind it by a lambda if no gradient of it is wanted",
        )
    out = tensor._alias()
    out._node = Entry(out, tensor._node if state.grad_enabled else None)
    return out


ENTER = declare(Effect("enter", enter, _enter, result=Result.ENTRY))


@contextmanager
def entered(entries: Sequence[Tensor]) -> Iterator[None]:
    """While the function of the transform with these *entries* runs."""
    nodes = [entry._node for entry in entries if isinstance(entry._node, Entry)]
    for node in nodes:
        node.running = True
    try:
        yield
    finally:
        for node in nodes:
            node.running = False


def leads_outside(tensors: Iterable[Tensor | None], entries: Iterable[Tensor]) -> bool:
    """Whether the history of one of *tensors* leads to anything outside of the transform with these *entries*."""
    own = {entry._node for entry in entries if entry._node is not None}
    began = min([node.seq for node in own], default=inf)
    present = [tensor for tensor in tensors if tensor is not None]
    if any(map(tracked_outside, present)):
        return True
    stack = [tensor._node for tensor in present if tensor._node is not None]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if (
            isinstance(node, Leaf)
            and node not in own
            and (not isinstance(node, Entry) or node.running or (node.running is None and node.seq < began))
        ):
            return True
        stack += node.targets()
    return False


def leave(tensor: Tensor, entries: Sequence[Tensor]) -> Tensor:
    """*tensor* as those outside the transform see it: with history only if it leads to something outside."""
    if tensor._node is None or (state.grad_enabled and leads_outside((tensor,), entries)):
        return tensor
    bare = tensor._bare() if isinstance(tensor, Wrapped) else tensor._alias()
    twin(tensor, bare)
    return bare


def pull_back(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor | None], create_graph: bool
) -> list[Tensor | None]:
    """The gradients of *outputs*, weighted by *cotangents*, with respect to *inputs*; None where there is none.

    The graph is kept, so this can be asked again.
    """
    roots = [
        (output, cotangent)
        for output, cotangent in zip(outputs, cotangents, strict=True)
        if output._node is not None and cotangent is not None
    ]
    if not roots or not inputs:
        return [None] * len(inputs)
    return list(
        grad(
            [output for output, _ in roots],
            inputs,
            [cotangent for _, cotangent in roots],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    )


class Linearized:
    """The derivative of *outputs* at *inputs*, as a function of tangents: ``derivative(tangents, create_graph)``.

    The work that does not depend on tangents is done once. See the module's docstring for how.
    """

    def __init__(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        with enable_grad():
            self.cotangents = [
                None if output._node is None else enter(zeros_like(output.detach()), "jvp") for output in outputs
            ]
            self.gradients = pull_back(outputs, inputs, self.cotangents, True)

    def entries(self) -> list[Tensor]:
        """The cotangents with respect to which it differentiates: no history of a result ends here."""
        return [cotangent for cotangent in self.cotangents if cotangent is not None]

    def __call__(self, tangents: Sequence[Tensor | None], create_graph: bool) -> list[Tensor | None]:
        """The tangent of each output, None where it is zero because nothing connects the two."""
        with enable_grad():
            present = [gradient for gradient in self.gradients if gradient is not None]
            wanted = [
                tangent for gradient, tangent in zip(self.gradients, tangents, strict=True) if gradient is not None
            ]
            found = iter(pull_back(present, self.entries(), wanted, create_graph))
        return [None if cotangent is None else next(found) for cotangent in self.cotangents]


def one_hot(like: Tensor, position: int) -> Tensor:
    """A tensor like *like*, 1 at the element with number *position* in row-major order and 0 elsewhere."""
    from ..ops.creation.factories import arange

    count: Any = like.numel()
    chosen = arange(count, device=like.device) == position
    return chosen.to(like.dtype).reshape(tuple(like.shape))
