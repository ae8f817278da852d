"""A captured call as a backend gets to see it, to compile it as a whole: see `Backend.compile_graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..base.device import Device
    from ..base.dtypes import DType


@dataclass(frozen=True, slots=True, eq=False)
class GraphValue:
    """A tensor of the graph. Each is one object, which calls and outputs name; so compare with ``is``."""

    name: str
    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class GraphCall:
    """A call of an op.

    Attributes:
        op: its name, as in a table of kernels; ``polyad.dispatch.op.OPS[op]`` says all of it: its body, shape and dtype
            rules, and whether it is a view, which may share memory here as it likes.
        operands: a `GraphValue`, a number, None for an absent operand, or a tuple of these for a list of tensors.
        params: the other arguments by name.
        results: what it computes.
    """

    op: str
    operands: tuple[Any, ...]
    params: Mapping[str, Any]
    results: tuple[GraphValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CapturedGraph:
    """A captured call that only computes: no write, no random number, nothing read on the host, all on one device.

    Attributes:
        inputs: what the program passes at each call.
        constants: what it holds on to, such as parameters; their values may be others at each call.
        calls: in an order in which they can be carried out.
        outputs: what is wanted.
    """

    name: str
    device: Device
    inputs: tuple[GraphValue, ...]
    constants: tuple[GraphValue, ...]
    calls: tuple[GraphCall, ...]
    outputs: tuple[GraphValue, ...]


CompiledGraph = Callable[..., Sequence[Any]]
"""``compiled(*arrays)`` gets the arrays of the inputs, then of the constants, in any layout, and returns new, dense,
row-major arrays that alias nothing: one for each output.
"""
