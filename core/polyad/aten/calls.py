"""How PyTorch's ops are carried out whose arguments polyad's function of that name does not take, or that it has not.

To add one, write a function of the op's arguments, and decorate it with the op's name.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..dispatch.catalogue import OPS, PUBLIC
from ..tensor import Tensor
from .overloads import CALLS

F = TypeVar("F", bound=Callable[..., Any])


def carries_out(name: str) -> Callable[[F], F]:
    """A decorator: the function is the op of that name."""

    def note(function: F) -> F:
        CALLS[name] = function
        return function

    return note


@carries_out("rsub")
def rsub(self: Tensor, other: Any, alpha: Any = 1) -> Any:
    """``other - alpha * self``."""
    return PUBLIC["sub"].call(other, self, alpha=alpha)


@carries_out("_softmax")
def softmax(self: Tensor, dim: int, half_to_float: bool = False) -> Any:
    """Of a tensor of the result's dtype."""
    return PUBLIC["nn.functional.softmax"].call(self, dim)


@carries_out("_log_softmax")
def log_softmax(self: Tensor, dim: int, half_to_float: bool = False) -> Any:
    """Of a tensor of the result's dtype."""
    return PUBLIC["nn.functional.log_softmax"].call(self, dim)


@carries_out("_to_copy")
def to_copy(self: Tensor, *, dtype: Any = None, device: Any = None, non_blocking: bool = False, **layout: Any) -> Any:
    """A copy of another dtype, or on another device."""
    self = self if device is None else self.to(device)
    return self.clone() if dtype is None else self.to(dtype, copy=True)


@carries_out("_unsafe_view")
def unsafe_view(self: Tensor, size: Sequence[int]) -> Any:
    """The elements in another shape."""
    return self.reshape(size)


@carries_out("_local_scalar_dense")
def local_scalar_dense(self: Tensor) -> Any:
    """The number in a tensor of one element."""
    return self.item()


@carries_out("lift_fresh")
def lift_fresh(self: Tensor) -> Tensor:
    """The tensor itself, which was just made of data."""
    return self


@carries_out("lift_fresh_copy")
def lift_fresh_copy(self: Tensor) -> Any:
    """A copy of a tensor that was just made of data."""
    return self.clone()


@carries_out("slice")
def slice(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """A view of some positions of a dimension."""
    return self[(*[builtins.slice(None)] * (dim % self.dim()), builtins.slice(start, end, step))]


@carries_out("index")
def index(self: Tensor, indices: Sequence[Tensor | None]) -> Any:
    """The elements at positions that tensors name."""
    return self[tuple([builtins.slice(None) if one is None else one for one in indices])]


@carries_out("elu")
def elu(self: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """With the factors that make celu and selu of it."""
    return OPS["elu"].call(self, alpha, scale, input_scale)


@carries_out("native_layer_norm")
def native_layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> Any:
    """The result, the mean and the reciprocal of the standard deviation."""
    return OPS["layer_norm"].call(input, weight, bias, len(normalized_shape), eps)


@carries_out("cross_entropy_loss")
def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    smoothing: float = 0.0,
) -> Any:
    """The loss of scores."""
    by = ("none", "mean", "sum")[reduction]
    return PUBLIC["nn.functional.cross_entropy"].call(
        self, target, weight, ignore_index=ignore_index, reduction=by, label_smoothing=smoothing
    )


@carries_out("embedding")
def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, *scale: Any) -> Any:
    """Rows of a table."""
    return PUBLIC["nn.functional.embedding"].call(indices, weight, None if padding_idx < 0 else padding_idx)


def _variance(name: str) -> Callable[..., Any]:
    def call(
        self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):  # the overload without dims
            dim, unbiased = None, dim
        by = correction if correction is not None else int(unbiased)
        return PUBLIC[name].call(self, dim, correction=by, keepdim=keepdim)

    return call


for _name in ("var", "std", "var_mean", "std_mean"):
    carries_out(_name)(_variance(_name))


@carries_out("linalg_vector_norm")
def vector_norm(self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors."""
    return PUBLIC["linalg.vector_norm"].call(self, ord, dim, keepdim, dtype=dtype)


# ------------------------------------------------------------------------------------------ other numbers of arguments


def _scaled(name: str) -> Callable[..., Any]:
    return lambda self, other, alpha=1: PUBLIC[name].call(self, other, alpha=alpha)


def _scaled_in_place(name: str) -> Callable[..., Any]:
    return lambda self, other, alpha=1: getattr(self, name)(other, alpha=alpha)


for _name in ("add", "sub", "subtract"):
    carries_out(_name)(_scaled(_name))
    carries_out(f"{_name}_")(_scaled_in_place(f"{_name}_"))


@carries_out("alias")
def alias(self: Tensor) -> Any:
    """Another tensor over the same memory."""
    return self.view_as(self)


@carries_out("unfold")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Any:
    """Windows of a dimension."""
    return self.unfold(dimension, size, step)


@carries_out("to")
def to(self: Tensor, *args: Any, layout: Any = None, pin_memory: Any = None, **named: Any) -> Any:
    """Of another dtype or on another device; positions after a dtype are non_blocking, copy and memory_format."""
    if len(args) > 2 and args[-1] is None:
        args = args[:-1]
    return self.to(*args, **{key: value for key, value in named.items() if value is not None})


@carries_out("tensordot")
def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Any:
    """The product over pairs of dimensions."""
    return PUBLIC["tensordot"].call(self, other, (list(dims_self), list(dims_other)))


def _of_list(name: str) -> Callable[..., Any]:
    """A function of any number of tensors, as PyTorch's op has it: of a list."""
    return lambda tensors: PUBLIC[name].call(*tensors)


for _name in ("cartesian_prod", "block_diag"):
    carries_out(_name)(_of_list(_name))


@carries_out("nonzero_numpy")
def nonzero_numpy(self: Tensor) -> Any:
    """The positions in each dimension."""
    return list(PUBLIC["nonzero"].call(self, as_tuple=True))


def _unique_parts(found: Any, inverse: bool, counts: bool) -> Any:
    """The result of unique with an empty tensor for what was not asked for."""
    found = list(found) if isinstance(found, tuple) else [found]
    nothing = found[0].new_empty((0,), dtype=_int64())
    values = found.pop(0)
    return values, found.pop(0) if inverse else nothing, found.pop(0) if counts else nothing


def _int64() -> Any:
    from ..base.dtypes import int64

    return int64


@carries_out("_unique2")
def unique2(self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements."""
    found = PUBLIC["unique"].call(self, sorted, return_inverse, return_counts)
    return _unique_parts(found, return_inverse, return_counts)


@carries_out("unique_dim")
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The different slices."""
    found = PUBLIC["unique"].call(self, sorted, return_inverse, return_counts, dim)
    return _unique_parts(found, return_inverse, return_counts)


@carries_out("unique_consecutive")
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements without repetitions."""
    found = PUBLIC["unique_consecutive"].call(self, return_inverse, return_counts, dim)
    return _unique_parts(found, return_inverse, return_counts)


_SCALES = (("backward", "ortho", "forward"), ("forward", "ortho", "backward"))
"""How a transform is scaled by PyTorch's number, of transforms to and from frequencies."""


@carries_out("_fft_r2c")
def fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    """From real numbers; all frequencies unless *onesided*."""
    norm = _SCALES[0][normalization]
    return PUBLIC["fft.rfftn" if onesided else "fft.fftn"].call(self, dim=list(dim), norm=norm)


@carries_out("_fft_c2c")
def fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    """Of complex numbers."""
    norm = _SCALES[0 if forward else 1][normalization]
    return PUBLIC["fft.fftn" if forward else "fft.ifftn"].call(self, dim=list(dim), norm=norm)


@carries_out("_fft_c2r")
def fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """To real numbers, of which the last dimension has *last_dim_size*."""
    sizes = [*[self.shape[one] for one in dim[:-1]], last_dim_size]
    return PUBLIC["fft.irfftn"].call(self, sizes, list(dim), norm=_SCALES[1][normalization])


@carries_out("stft")
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    *rest: Any,
    **named: Any,
) -> Any:
    """The transform of windows; without *center* and *pad_mode* in the overload that is older, which pads nothing."""
    centred = (rest[1:2] and isinstance(rest[1], str)) or {"center", "pad_mode"} & {*named}
    if not centred:
        return PUBLIC["stft"].call(self, n_fft, hop_length, win_length, window, False, "reflect", *rest, **named)
    return PUBLIC["stft"].call(self, n_fft, hop_length, win_length, window, *rest, **named)


@carries_out("einsum")
def einsum(equation: str, tensors: Sequence[Tensor], *, path: Any = None) -> Any:
    """Sums of products; *path*, the order of these, changes no result."""
    return PUBLIC["einsum"].call(equation, *tensors)


@carries_out("expand_copy")
def expand_copy(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Any:
    """A copy in which dimensions of one repeat."""
    return self.expand(*size).clone()


@carries_out("expand")
def expand(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Any:
    """A view in which dimensions of one repeat; *implicit* says that broadcasting asked for it."""
    return self.expand(*size)


@carries_out("is_contiguous")
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements are in the order of *memory_format*."""
    return self.is_contiguous() if memory_format is None else self.is_contiguous(memory_format=memory_format)


@carries_out("backward")
def backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """The gradients of a tensor, or of a list of them, in the leaves."""
    from ..autograd import backward as backward_of

    backward_of(self, gradient, retain_graph, create_graph, inputs=inputs)


@carries_out("_pin_memory")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in memory that devices read quickly, where there is any."""
    return self.pin_memory()


@carries_out("_sparse_addmm")
def sparse_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat1 @ mat2``, where *mat1* is sparse."""
    return PUBLIC["addmm"].call(self, mat1, mat2, beta=beta, alpha=alpha)
