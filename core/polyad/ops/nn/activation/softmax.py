"""Softmax, its logarithm, and draws from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base.dtypes import DType
from ....base.shapes_and_strides import normalize_dim
from ....base.state import warn_user
from ....dispatch.forward import forward, symmetric
from ....dispatch.op import alias, composite, function, gradient
from ....dispatch.structure import Rowwise, row_major
from ....random.generator import default_generator
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...creation.factories import zeros_like
from ...declaring.checks import check_floating
from ...declaring.shape_rules import same
from ...indexing.gather_scatter import _scatter
from ...pointwise.arithmetic import _div, _mul, _sub
from ...pointwise.exponential import exp, log
from ...random.sampling import _exponential
from .arguments import real

if TYPE_CHECKING:
    from collections.abc import Callable


@composite(dtype=real("softmax"), structure=Rowwise("dim"), strides=row_major, shape=same, method=False)
def _softmax(input: Tensor, dim: int) -> Tensor:
    """exp(input) over its sum along *dim*, shifted by the largest element so that nothing overflows."""
    if 0 in input._array.shape:
        return exp(input)  # rows without elements have no largest
    powers = exp(_sub(input, input.amax(dim, True)))
    return powers / powers.sum(dim, True)


@composite(dtype=real("softmax_backward"), structure=Rowwise("dim"), shape=same, method=False)
def _softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor:
    """output * (grad - the sum of grad * output along dim)."""
    weighted = _mul(grad, output)
    return _sub(weighted, _mul(output, weighted.sum(dim, True)))


gradient(_softmax, input=lambda g, out, dim: _softmax_backward(g, out, dim))
gradient(
    _softmax_backward,
    grad=lambda g, output, dim: _softmax_backward(g, output, dim),
    output=lambda g, grad, output, dim: _sub(
        _mul(g, _sub(grad, _mul(grad, output).sum(dim, True))), _mul(grad, _mul(g, output).sum(dim, True))
    ),
)


@composite(dtype=real("log_softmax"), structure=Rowwise("dim"), strides=row_major, shape=same, method=False)
def _log_softmax(input: Tensor, dim: int) -> Tensor:
    """input minus the logarithm of the sum of exp(input) along dim."""
    if 0 in input._array.shape:
        return exp(input)
    shifted = _sub(input, input.amax(dim, True))
    return _sub(shifted, log(exp(shifted).sum(dim, True)))


@composite(dtype=real("log_softmax_backward"), structure=Rowwise("dim"), shape=same, method=False)
def _log_softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor:
    """grad - exp(output) * the sum of grad along dim."""
    return _sub(grad, _mul(exp(output), grad.sum(dim, True)))


gradient(_log_softmax, input=lambda g, out, dim: _log_softmax_backward(g, out, dim))
forward(_log_softmax, lambda input_t, out, dim: _sub(input_t, _mul(exp(out), input_t).sum(dim, True)))
gradient(
    _log_softmax_backward,
    grad=lambda g, output, dim: _sub(g, _mul(g, exp(output)).sum(dim, True)),
    output=lambda g, grad, output, dim: _mul(_mul(g, exp(output)), grad.sum(dim, True)) * -1,
)
symmetric(_softmax)


def _apply_to(op: str, call: Callable[[Tensor, int], Tensor], input: Tensor, dim: int, dtype: DType | None) -> Tensor:
    check_tensor(input, op, "input")
    if dtype is not None:
        input = input.to(dtype)
    dim = normalize_dim(dim, input.ndim, op)
    return call(input, dim) if input.ndim else call(input.reshape(1), dim).reshape(())


@function()
def softmax(input: Tensor, dim: int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along *dim*; *dtype* converts the elements first.

    Raises IndexError for a dim out of range, RuntimeError unless floating.

    >>> import polyad
    >>> polyad.softmax(polyad.tensor([[0.0, 1.0], [2.0, 2.0]]), dim=1)
    tensor([[0.2689, 0.7311],
            [0.5000, 0.5000]])
    """
    return _apply_to("softmax", _softmax, input, dim, dtype)


@function()
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without it; *dtype* converts the elements first.

    Raises IndexError for a dim out of range, RuntimeError unless floating.

    >>> import polyad
    >>> polyad.log_softmax(polyad.tensor([[0.0, 1.0]]), dim=1)
    tensor([[-1.3133, -0.3133]])
    """
    return _apply_to("log_softmax", _log_softmax, input, dim, dtype)


def implicit_dim(op: str, input: Tensor) -> int:
    """The dim that PyTorch takes, with a warning, where none is given: 0 for 0, 1 or 3 dimensions, else 1."""
    warn_user(f"{op}: leaving out dim is deprecated; pass dim=1, or the dimension you mean", UserWarning)
    return 0 if check_tensor(input, op, "input").ndim in (0, 1, 3) else 1


@function(namespace="nn.functional")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """`softmax` of ``-input``.

    Without *dim*, which is deprecated, along 0 for inputs of 0, 1 or 3 dimensions, else along 1. With *dtype*, the
    input is cast first. Raises IndexError for a dim that does not exist.

    >>> import polyad
    >>> polyad.nn.functional.softmin(polyad.tensor([0.0, 1.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = implicit_dim("softmin", input)
    return _apply_to("softmin", _softmax, -check_tensor(input, "softmin", "input").contiguous(), dim, dtype)


@function(namespace="nn.functional")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A draw from the Gumbel-softmax distribution (Jang et al. 2017; Maddison et al. 2017): `softmax` of the *logits*
    with Gumbel noise added, divided by the temperature *tau*.

    With *hard* the largest becomes 1 and the others 0, with the gradient of the soft draw. *eps* has no effect.

    Raises RuntimeError unless floating, IndexError for a dim out of range.

    >>> import polyad
    >>> draw = polyad.nn.functional.gumbel_softmax(polyad.zeros(2, 5), hard=True)
    >>> draw.sum(-1)
    tensor([1., 1.])
    """
    if eps != 1e-10:
        warn_user("gumbel_softmax: eps is deprecated and has no effect", UserWarning)
    type_ = check_tensor(logits, "gumbel_softmax", "logits")._type
    check_floating(
        "gumbel_softmax", "logits", type_.dtype, operands={"logits": logits}, fix="convert them first: logits.float()"
    )
    noise = log(_exponential(tuple(logits._array.shape), 1.0, default_generator, type_.dtype, type_.device))
    soft = _apply_to("gumbel_softmax", _softmax, _div(_sub(logits.contiguous(), noise), tau), dim, None)
    if not hard:
        return soft
    # Adding the soft draw and taking it away again leaves the value, and gives it the soft draw's gradient.
    constant = soft.detach()
    index = constant.argmax(dim, keepdim=True)
    chosen = _scatter(zeros_like(constant), index, 1, normalize_dim(dim, constant.ndim, "gumbel_softmax"))
    return chosen - constant + soft


for _function in (softmax, log_softmax):
    alias(_function.__name__, _function, namespace="special")
