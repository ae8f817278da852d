"""SparseTensor: the class of all sparse tensors, which is made of a pattern and of values.

Functions of sparse tensors are plain functions in the modules beside this one. `answers` says which of PyTorch's names
a function is for: it is called where a public function of that name meets a sparse tensor, and it is the method of that
name. What nobody answers is refused with advice.

History: a sparse tensor is a node of its own, as in PyTorch. `pack` makes one of values and `unpack` gives them back,
both differentiable, so what a function computes with the values between the two has its gradient from the dense ops.
The gradient of a sparse tensor is a sparse tensor of its pattern.

To add a function: write it next to its kind, between `unpack` and `pack`, and name it by `answers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import polyad
from polyad import Tensor
from polyad.autograd import Function
from polyad.errors import ArgumentTypeError, AutogradError, NotSupported

from .patterns import BLOCKS, Compressed, Coordinates, Pattern

F = TypeVar("F", bound=Callable[..., Any])

ANSWERS: dict[str, Callable[..., Any]] = {}
"""What is computed where a function or method of that name meets a sparse tensor."""


QUESTIONS = frozenset({
    "get_device", "is_complex", "is_conj", "is_cpu", "is_cuda", "is_floating_point", "is_inference", "is_meta",
    "is_neg", "is_pinned", "is_quantized", "is_signed", "is_tensor", "numel", "requires_grad_", "result_type",
    "retain_grad",
})  # fmt: skip
"""Functions that need not know of what a tensor is made: Tensor's own answer."""


def answers(*names: str, method: bool = True) -> Callable[[F], F]:
    """Let a function answer for PyTorch's functions of these *names*; also as methods, whose self is its first
    argument, unless *method* is False.
    """

    def named(function: F) -> F:
        for name in names:
            ANSWERS[name] = function
            if method:
                setattr(SparseTensor, name, function)
        return function

    return named


class SparseTensor(Tensor):
    """A tensor of which most elements are zero and only the others are held. `polyad.sparse_coo_tensor`,
    `polyad.sparse_csr_tensor`, ... and ``Tensor.to_sparse`` make them.

    >>> import polyad
    >>> x = polyad.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """

    _pattern: Any
    """A `Pattern`."""
    _held: Tensor

    __getattribute__ = Tensor.__getattribute__
    __setattr__ = Tensor.__setattr__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", repr(func))
        found = ANSWERS.get(name)
        if found is None and name in QUESTIONS:
            with polyad._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs or {})
        if found is None:
            raise _refusal(name, args)
        kwargs = dict(kwargs or {})
        out = kwargs.pop("out", None)
        result = found(*args, **kwargs)
        return result if out is None else written(name, out, result)

    @property
    def layout(self) -> Any:
        """`polyad.sparse_coo`, `polyad.sparse_csr`, ..."""
        return self._pattern.layout

    @property
    def is_sparse(self) -> bool:
        """Whether the layout is `polyad.sparse_coo`."""
        return self._pattern.layout is polyad.sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is `polyad.sparse_csr`."""
        return self._pattern.layout is polyad.sparse_csr

    # What no declaration made is found on Tensor: what has no sense here is refused.

    def stride(self, dim: int | None = None) -> NoReturn:
        """Refused: there are no strides."""
        raise _refusal("stride", (self,))

    def storage_offset(self) -> NoReturn:
        """Refused: there is no storage."""
        raise _refusal("storage_offset", (self,))

    def data_ptr(self) -> NoReturn:
        """Refused: the indices and the values have an address each."""
        raise _refusal("data_ptr", (self,))

    def is_contiguous(self, **memory_format: Any) -> bool:
        """False, as in PyTorch."""
        return False

    def item(self) -> Any:
        """The only element as a Python number."""
        return self.to_dense().item()

    def tolist(self) -> Any:
        """The elements, zeros included, as nested lists."""
        return self.to_dense().tolist()

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Refused: it would be dense. Raises TypeError."""
        raise ArgumentTypeError(
            "numpy: a sparse tensor is no array", operands={"self": self}, fix="call to_dense() first"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self.numpy()

    def __contains__(self, element: Any) -> bool:
        return element in self.to_dense()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    __bool__, __len__ = Tensor.__bool__, Tensor.__len__
    __int__, __float__, __complex__, __index__ = Tensor.__int__, Tensor.__float__, Tensor.__complex__, Tensor.__index__
    __iter__ = Tensor.__iter__

    @property
    def nbytes(self) -> int:
        """Bytes of the indices and values."""
        return sum(part.nbytes for part in (*self._pattern.parts(), self._held))


def _refusal(name: str, args: Any) -> NotSupported:
    operands = {f"args[{place}]": one for place, one in enumerate(args) if isinstance(one, Tensor)}
    return NotSupported(
        f"{name}: it is not defined for sparse tensors", operands=operands, fix="convert them first: tensor.to_dense()"
    )


# ------------------------------------------------------------------------------------------------------------- history


def made(values: Tensor, pattern: Pattern) -> SparseTensor:
    """The sparse tensor of these values and this pattern, without history."""
    out: SparseTensor = Tensor._make_wrapper_subclass(
        SparseTensor, pattern.shape, dtype=values.dtype, device=values.device
    )
    out._pattern, out._held = pattern, values.detach() if values.requires_grad else values
    return out


def pack(values: Tensor, pattern: Pattern) -> SparseTensor:
    """The sparse tensor of these values (nnz, *dense dims) and this pattern."""
    if values.requires_grad and polyad.is_grad_enabled():
        packed: SparseTensor = Pack.apply(values, pattern)
        return packed
    return made(values, pattern)


def unpack(tensor: SparseTensor) -> Tensor:
    """The values of a sparse tensor (nnz, *dense dims)."""
    if tensor.requires_grad and polyad.is_grad_enabled():
        values: Tensor = Unpack.apply(tensor)
        return values
    return tensor._held


class Pack(Function):
    """From values to a sparse tensor."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Pattern) -> SparseTensor:
        ctx.pattern = pattern
        return made(values, pattern)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return values_at(gradient, ctx.pattern), None


class Unpack(Function):
    """From a sparse tensor to its values."""

    @staticmethod
    def forward(ctx: Any, tensor: SparseTensor) -> Tensor:
        ctx.pattern = tensor._pattern
        return tensor._held.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return pack(gradient, ctx.pattern)


def values_at(tensor: Tensor, pattern: Pattern) -> Tensor:
    """The elements of a tensor, dense or sparse, at the places of *pattern*, in the form of its values."""
    if isinstance(tensor, SparseTensor):
        if tensor._pattern is pattern or same_places(tensor._pattern, pattern):
            return unpack(tensor)
        tensor = ANSWERS["to_dense"](tensor)
    places = pattern if isinstance(pattern, Coordinates) else pattern.coordinates
    flat = tensor.reshape(math.prod(places.sparse_shape), *places.dense_shape)
    found = flat.index_select(0, places.keys)
    if isinstance(pattern, Compressed) and pattern.layout in BLOCKS:
        found = found.reshape(pattern.nnz, *pattern.block, *pattern.dense_shape)
    return found


def same_places(one: Pattern, other: Pattern) -> bool:
    """Whether two patterns are of one layout and list the same places in the same order."""
    if one.layout is not other.layout or one.shape != other.shape or one.nnz != other.nnz:
        return False
    if isinstance(one, Compressed) and isinstance(other, Compressed) and one.block != other.block:
        return False
    return all(polyad.equal(a, b) for a, b in zip(one.parts(), other.parts(), strict=True) if a is not b)


def rebind(target: Any, result: Any, op: str) -> SparseTensor:
    """Let *target* be *result* from now on: what a write in place comes to."""
    if target.requires_grad and target.is_leaf and polyad.is_grad_enabled():
        raise AutogradError(
            f"{op}: a leaf that requires a gradient is written to",
            operands={"self": target},
            fix="write under polyad.no_grad(), or use the out-of-place form",
        )
    leaf = target._node if target.is_leaf else None
    target._array, target._pattern, target._held = result._array, result._pattern, result._held
    target._node = result._node if result._node is not None else leaf
    return target


def written(op: str, out: Any, result: Any) -> Any:
    """*out*, which a function was given, with what it computed."""
    if not isinstance(out, SparseTensor) and not isinstance(result, SparseTensor):
        return out.copy_(result)
    if not (isinstance(out, SparseTensor) and isinstance(result, SparseTensor) and out.layout is result.layout):
        raise ArgumentTypeError(
            f"{op}: out is of another layout than the result", operands={"out": out}, fix="leave out= out"
        )
    return rebind(out, result.to(out.dtype), op)


def coordinates(tensor: Any) -> tuple[Coordinates, Tensor]:
    """The pattern of a sparse tensor as coordinates, and its values in that form."""
    pattern, values = tensor._pattern, unpack(tensor)
    if isinstance(pattern, Compressed):
        if pattern.layout in BLOCKS:
            values = values.flatten(0, 2)
        pattern = pattern.coordinates
    return pattern, values
