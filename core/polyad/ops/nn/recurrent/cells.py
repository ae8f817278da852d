"""A step of a recurrent network.

What a step does beside its products is an op, so that a device computes it in one kernel: `_lstm_gates` and
`_gru_gates` take what the products gave, and return the new state beside the gates, from which their backward ops
compute. Half types are computed in float32.

Sources: long short-term memory, Hochreiter and Schmidhuber 1997, with the forget gate of Gers, Schmidhuber and Cummins
2000; gated recurrent unit, Cho et al. 2014, with the reset gate behind the product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.dtypes import FLOATING, float32
from ....base.shapes_and_strides import Shape
from ....dispatch.forward import by_body
from ....dispatch.modes import may_be_differentiated
from ....dispatch.op import composite, function, joint_gradient
from ....dispatch.promotion import Typing
from ....dispatch.structure import Last, Pointwise, Rowwise, row_major
from ....errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError, UnsupportedDType
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...declaring.half_types import HALF_TYPES, half_to_float32
from ...shaping.joining import cat
from ..linear import linear

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....backend.interface import Signature


def results(given: int, kept: int) -> Any:
    """A dtype rule: *given* results in the first tensor's dtype, then *kept* in float32 at least."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = next(type_.dtype for type_ in types if hasattr(type_, "dtype"))
        inner = float32 if dtype in HALF_TYPES else dtype
        return Typing((None,) * len(types), (dtype,) * given + (inner,) * kept)

    return rule


# --------------------------------------------------------------------------------------------------------------- LSTM


def _lstm_shapes(input_gates: Shape, hidden_gates: Shape, cell: Shape) -> tuple[Shape, ...]:
    return (cell,) * 6


@composite(
    dtype=results(2, 4),
    structure=Rowwise(Last(1)),
    strides=row_major,
    shape=_lstm_shapes,
    outputs=("hidden", "new_cell", "i", "f", "g", "o"),
    method=False,
    grad_name="ThnnFusedLstmCellBackward0",
)
def _lstm_gates(input_gates: Tensor, hidden_gates: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    """The new hidden state and cell, and the gates i, f, g and o, each (N, H), from the gates' two products (N, 4 H)
    and the cell (N, H).
    """
    return lstm_step(input_gates, hidden_gates, cell)


def lstm_step(input_gates: Tensor, hidden_gates: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    """What `_lstm_gates` gives, in ops that have gradients of their own."""
    before = (half_to_float32(input_gates) + half_to_float32(hidden_gates)).chunk(4, -1)
    i, f, g, o = before[0].sigmoid(), before[1].sigmoid(), before[2].tanh(), before[3].sigmoid()
    new = f * half_to_float32(cell) + i * g
    dtype = cell.dtype
    return (o * new.tanh()).to(dtype), new.to(dtype), i, f, g, o


@composite(
    dtype=lambda types, params: Typing((None,) * 8, (types[2].dtype,) * 5),
    structure=Pointwise(broadcasts=False),
    strides=row_major,
    outputs=("grad_i", "grad_f", "grad_g", "grad_o", "grad_before"),
    method=False,
)
def _lstm_gates_backward(
    grad_hidden: Tensor, grad_cell: Tensor, cell: Tensor, new_cell: Tensor, i: Tensor, f: Tensor, g: Tensor, o: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of what becomes the gates of a step, and of its cell, each (N, H)."""
    arriving, squashed = half_to_float32(grad_hidden), half_to_float32(new_cell).tanh()
    of_cell = half_to_float32(grad_cell) + arriving * o * (1 - squashed * squashed)
    dtype = cell.dtype
    return (
        (of_cell * g * i * (1 - i)).to(dtype),
        (of_cell * half_to_float32(cell) * f * (1 - f)).to(dtype),
        (of_cell * i * (1 - g * g)).to(dtype),
        (arriving * squashed * o * (1 - o)).to(dtype),
        (of_cell * f).to(dtype),
    )


def _of_lstm_gates(
    grads: Any,
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    new_cell: Tensor,
    i: Tensor,
    f: Tensor,
    g: Tensor,
    o: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    of_hidden = cell.new_zeros(cell._array.shape) if grads[0] is None else grads[0]
    of_cell = cell.new_zeros(cell._array.shape) if grads[1] is None else grads[1]
    kept = (new_cell.detach(), i.detach(), f.detach(), g.detach(), o.detach())
    if may_be_differentiated():
        kept = lstm_step(input_gates, hidden_gates, cell)[1:]  # type: ignore[assignment]
    *of_gates, of_before = _lstm_gates_backward(of_hidden, of_cell, cell, *kept)
    whole = cat(of_gates, -1)
    return whole, whole, of_before


joint_gradient(_lstm_gates, "input_gates", "cell", _of_lstm_gates)
by_body(_lstm_gates)


# ---------------------------------------------------------------------------------------------------------------- GRU


def _gru_shapes(input_gates: Shape, hidden_gates: Shape, hidden: Shape) -> tuple[Shape, ...]:
    return (hidden,) * 4


@composite(
    dtype=results(1, 3),
    structure=Rowwise(Last(1)),
    strides=row_major,
    shape=_gru_shapes,
    outputs=("new_hidden", "r", "z", "n"),
    method=False,
    grad_name="ThnnFusedGruCellBackward0",
)
def _gru_gates(input_gates: Tensor, hidden_gates: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
    """The new hidden state, and the gates r, z and n, each (N, H), from the gates' two products (N, 3 H) and the hidden
    state (N, H).
    """
    return gru_step(input_gates, hidden_gates, hidden)


def gru_step(input_gates: Tensor, hidden_gates: Tensor, hidden: Tensor) -> tuple[Tensor, ...]:
    """What `_gru_gates` gives, in ops that have gradients of their own."""
    first, second = half_to_float32(input_gates).chunk(3, -1), half_to_float32(hidden_gates).chunk(3, -1)
    r, z = (first[0] + second[0]).sigmoid(), (first[1] + second[1]).sigmoid()
    n = (first[2] + r * second[2]).tanh()
    return ((half_to_float32(hidden) - n) * z + n).to(hidden.dtype), r, z, n


@composite(
    dtype=lambda types, params: Typing((None,) * 6, (types[1].dtype,) * 5),
    structure=Pointwise(broadcasts=False),
    strides=row_major,
    outputs=("grad_r", "grad_z", "grad_n", "grad_weighted", "grad_before"),
    method=False,
)
def _gru_gates_backward(
    grad: Tensor, hidden: Tensor, weighted: Tensor, r: Tensor, z: Tensor, n: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of what becomes the gates of a step, of the product *weighted* by r, and, past the products, of the
    hidden state, each (N, H).
    """
    arriving = half_to_float32(grad)
    of_n = arriving * (1 - z) * (1 - n * n)
    dtype = hidden.dtype
    return (
        (of_n * half_to_float32(weighted) * r * (1 - r)).to(dtype),
        (arriving * (half_to_float32(hidden) - n) * z * (1 - z)).to(dtype),
        of_n.to(dtype),
        (of_n * r).to(dtype),
        (arriving * z).to(dtype),
    )


def _of_gru_gates(
    grads: Any, input_gates: Tensor, hidden_gates: Tensor, hidden: Tensor, r: Tensor, z: Tensor, n: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    kept = (r.detach(), z.detach(), n.detach())
    if may_be_differentiated():
        kept = gru_step(input_gates, hidden_gates, hidden)[1:]  # type: ignore[assignment]
    weighted = hidden_gates.chunk(3, -1)[2]
    of_r, of_z, of_n, of_weighted, of_before = _gru_gates_backward(grads[0], hidden, weighted, *kept)
    return cat([of_r, of_z, of_n], -1), cat([of_r, of_z, of_weighted], -1), of_before


joint_gradient(_gru_gates, "input_gates", "hidden", _of_gru_gates)
by_body(_gru_gates)


# -------------------------------------------------------------------------------------------------------- public cells


def check_operands(op: str, operands: Mapping[str, Tensor | None], floating: bool = True) -> dict[str, Tensor]:
    """Those of *operands* that are given. Raises unless they are tensors of one dtype, *floating* point."""
    given = {name: check_tensor(tensor, op, name) for name, tensor in operands.items() if tensor is not None}
    name, first = next(iter(given.items()))
    dtype = first._type.dtype
    if floating and dtype.category != FLOATING:
        raise UnsupportedDType(
            f"{op}: {name} is {dtype.name}, not floating point", operands=given, fix=f"convert it: {name}.float()"
        )
    for other, tensor in given.items():
        if tensor._type.dtype is not dtype:
            raise DTypeError(
                f"{op}: {other} is {tensor._type.dtype.name} beside {name} of {dtype.name}",
                operands={name: first, other: tensor},
                fix=f"convert one of them: {name}.to({tensor._type.dtype!r})",
            )
    return given


def check_shapes(op: str, given: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Raise for the first tensor whose shape is not that in *wanted*."""
    for name, shape in wanted.items():
        if name in given and given[name]._array.shape != shape:
            raise ShapeError(
                f"{op}: {name} {tuple(given[name].shape)} is not {shape}", operands=dict(given), fix=f"make it {shape}"
            )


def _check_cell(
    op: str,
    gates: int,
    input: Tensor,
    states: Mapping[str, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> None:
    operands = {"input": input, **states, "w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    given = check_operands(op, operands, floating=gates > 1)
    if input.ndim < 2:
        raise IndexOutOfRange(f"{op}: input has {input.ndim} dimensions, not 2", operands=given, fix="give (N, I)")
    if input.ndim > 2:
        raise ShapeError(f"{op}: input has {input.ndim} dimensions, not 2", operands=given, fix="give (N, I)")
    count, features = input._array.shape
    size = w_hh._array.shape[-1] if w_hh.ndim else 0
    rows = gates * size
    biases = {} if gates == 1 else {"b_ih": (rows,), "b_hh": (rows,)}
    check_shapes(
        op, given, {"w_hh": (rows, size), "w_ih": (rows, features), **dict.fromkeys(states, (count, size)), **biases}
    )
    for name in ("b_ih", "b_hh"):
        # The network without gates adds its biases as they broadcast.
        if name in given and not _broadcasts(given[name]._array.shape, (count, rows)):
            raise ShapeError(
                f"{op}: {name} {tuple(given[name].shape)} is not {(rows,)}", operands=given, fix=f"make it {(rows,)}"
            )


def _broadcasts(shape: Shape, target: Shape) -> bool:
    return len(shape) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(shape[::-1], target[::-1], strict=False)
    )


@function(method=False)
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A step of an LSTM: the new hidden state and cell.

    Shapes: input (N, I), *hx* the hidden state and the cell, each (N, H), w_ih (4 H, I), w_hh (4 H, H),
    b_ih and b_hh (4 H,). The rows of the weights are those of the gates i, f, g and o:
    ``c = f * c + i * g``, ``h = o * tanh(c)``. Floating point.

    Raises RuntimeError for shapes and dtypes that do not fit, TypeError if *hx* is no pair.

    >>> import polyad
    >>> x, zero = polyad.ones(1, 2), polyad.zeros(1, 1)
    >>> polyad.lstm_cell(x, (zero, zero), polyad.ones(4, 2), polyad.ones(4, 1))
    (tensor([[0.6083]]), tensor([[0.8491]]))
    """
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise ArgumentTypeError(
            f"lstm_cell: hx is a {type(hx).__name__}, not the pair of hidden state and cell",
            operands={"hx": hx},
            fix="pass (hidden, cell)",
        )
    hidden, cell = hx
    _check_cell("lstm_cell", 4, input, {"hidden": hidden, "cell": cell}, w_ih, w_hh, b_ih, b_hh)
    new, new_cell, *_ = _lstm_gates(linear(input, w_ih, b_ih), linear(hidden, w_hh, b_hh), cell)
    return new, new_cell


@function(method=False)
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """A step of a GRU: the new hidden state.

    Shapes: input (N, I), *hx* (N, H), w_ih (3 H, I), w_hh (3 H, H), b_ih and b_hh (3 H,). The rows of
    the weights are those of the gates r, z and n: ``h = (1 - z) * n + z * h``, where r weights what w_hh and b_hh bring
    to n. Floating point.

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> import polyad
    >>> polyad.gru_cell(polyad.ones(1, 2), polyad.ones(1, 1), polyad.ones(3, 2), polyad.ones(3, 1))
    tensor([[0.9997]])
    """
    _check_cell("gru_cell", 3, input, {"hx": hx}, w_ih, w_hh, b_ih, b_hh)
    return _gru_gates(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), hx)[0]


@function(method=False)
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """A step of a recurrent network (Elman 1990): ``tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)``.

    Shapes: input (N, I), *hx* (N, H), w_ih (H, I), w_hh (H, H), b_ih and b_hh (H,). Floating point.

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> import polyad
    >>> polyad.rnn_tanh_cell(polyad.ones(1, 2), polyad.zeros(1, 1), polyad.ones(1, 2), polyad.ones(1, 1))
    tensor([[0.9640]])
    """
    _check_cell("rnn_tanh_cell", 1, input, {"hx": hx}, w_ih, w_hh, b_ih, b_hh)
    return (linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)).tanh()


@function(method=False)
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """As `rnn_tanh_cell` with ``relu`` in the place of ``tanh``.

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> import polyad
    >>> polyad.rnn_relu_cell(polyad.ones(1, 2), polyad.zeros(1, 1), polyad.ones(1, 2), polyad.ones(1, 1))
    tensor([[2.]])
    """
    _check_cell("rnn_relu_cell", 1, input, {"hx": hx}, w_ih, w_hh, b_ih, b_hh)
    return (linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)).relu()
