"""A call of an op that serves as an example: operands and parameters that its rules take, found by trying.

The tries run on device "meta", where nothing is computed, so it is the declarations that say what fits.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from ...base import dtypes
from ...base.device import Device
from ...base.dtypes import DType, float32
from ...base.state import state
from ...dispatch.catalogue import PUBLIC
from ...dispatch.declared import Op
from ...random.generator import default_generator

Shapes = tuple[tuple[int, ...], ...]

_SHAPES: Shapes = ((64, 64), (64,), (8, 8, 8), (2, 8, 64, 64), (2, 8, 8, 8, 8), (1,), ())
_TOGETHER: tuple[Shapes, ...] = (
    ((2, 8, 64, 64), (8, 8, 3, 3), (8,)),  # images, filters and a bias
    ((64, 64), (64,), (64,)),  # rows, targets and weights
    ((), (64, 64), (64,), (64,)),  # a loss's gradient before these
)
"""Shapes of operands that go together, where one shape for all does not fit."""

_SIZES: Shapes = ((1, 1), (0, 0), (0,), (2, 2), (1,), (64, 64), (0, 1), (64,), (8,), (1, 1, 1), ())
_DIMS: Shapes = ((1,), (0,), ())
_TRIES, _TRIES_EACH = 300, 60
"""For each choice of dtypes, and of parameters for each choice of shapes too."""

META = Device("meta")


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """A call's operands, as dtype and shape (a tuple of these for a list, None for an absent one), and parameters."""

    operands: tuple[Any, ...]
    params: tuple[Any, ...]

    def values(self, op: Op, device: Device) -> tuple[Any, ...]:
        """The call's arguments on *device*: ones, and zeros where an operand of integers goes with others of floats,
        since it may be an index.
        """
        floats = any(dtype.category >= dtypes.FLOATING for dtype, _ in _flat(self.operands))

        def tensor(one: Any) -> Any:
            if one is None:
                return None
            if not isinstance(one[0], DType):
                return [tensor(each) for each in one]
            dtype, shape = one
            make = "zeros" if floats and dtype.category == dtypes.INTEGER else "ones"
            return PUBLIC[make].call(shape, dtype=dtype, device=device)

        params = [device if isinstance(value, Device) else value for value in self.params]
        return (*map(tensor, self.operands), *params)


def _flat(operands: Sequence[Any]) -> Iterator[Any]:
    for one in operands:
        if one is not None:
            if isinstance(one[0], DType):
                yield one
            else:
                yield from _flat(one)


def example_call(op: Op, dtype: DType | None = None, shapes: Shapes = ()) -> ExampleCall | None:
    """A call that the op's rules take, of the given dtype and shapes of the first operands; None if none was found."""
    kinds = list(op.operands.values())
    modes, recording = state.modes, state.grad_enabled
    state.modes, state.grad_enabled = (), False
    try:
        for given in _dtypes(op, dtype):
            tries = _TRIES
            for sizes in _shapes(len(kinds), shapes):
                operands = tuple(
                    ((one, size), (one, size)) if kind == "list" else (one, size)
                    for kind, one, size in zip(kinds, given, sizes, strict=True)
                )
                tensors = ExampleCall(operands, ()).values(op, META)
                for params in _params(op, dtype):
                    if _is_taken(op, (*tensors, *params)):
                        return ExampleCall(operands, params)
                    tries -= 1
                    if not tries:
                        break
                if not tries:
                    break
    finally:
        state.modes, state.grad_enabled = modes, recording
    return None


def _is_taken(op: Op, values: tuple[Any, ...]) -> bool:
    try:
        op.call(*values)
    except Exception:  # what is no valid call may fail in any way
        return False
    return True


def _dtypes(op: Op, wanted: DType | None) -> Iterator[tuple[DType, ...]]:
    """Dtypes of the operands, to be tried in this order: one for all, int64 for some behind the first, others."""
    others = [wanted] if wanted is not None else [float32, dtypes.int64, dtypes.bool_, dtypes.complex64]
    count = len(op.operands)
    if not count:
        yield ()
        return
    yield (others[0],) * count
    if 1 < count < 5:
        tails = product((others[0], dtypes.int64), repeat=count - 1)
        yield from islice([(others[0], *tail) for tail in tails], 1, None)
    for one in others[1:]:
        yield (one,) * count


def _shapes(count: int, wanted: Shapes) -> Iterator[Shapes]:
    """Shapes of the operands: the wanted ones first, the last of them for all that follow, then others there."""
    if len(wanted) >= count:
        yield wanted[:count]
        return
    if wanted:
        yield (*wanted, *[wanted[-1]] * (count - len(wanted)))
        rest = count - len(wanted)
        yield from [(*wanted, *tail) for tail in islice(product(_SHAPES, repeat=rest), 50)]
        return
    yield (_SHAPES[0],) * count
    if count > 1:
        yield from [shapes[:count] for shapes in _TOGETHER if len(shapes) >= count]
    yield from [(shape,) * count for shape in _SHAPES[1:]]
    if count > 1:
        yield from islice(product(_SHAPES[:3], repeat=count), 27)


def _params(op: Op, dtype: DType | None) -> Iterator[tuple[Any, ...]]:
    """Parameters: defaults, and of those that have none every combination of few values, the nearest to the first ones
    first.
    """
    dims = {op.structure.dims, "dims"}
    choices = [
        _DIMS if name in dims and found is _SIZES else found
        for name in op.params
        for found in (_choices(_public_parameter(op, name), dtype),)
    ]
    places = sorted(islice(product(*[range(min(len(each), 5)) for each in choices]), 4096), key=sum)
    for at in places[:_TRIES_EACH]:
        yield tuple([each[place] for each, place in zip(choices, at, strict=True)])
    for size in _SIZES:  # all sizes alike
        yield tuple([size if each is _SIZES else each[0] for each in choices])


def _public_parameter(op: Op, name: str) -> inspect.Parameter:
    """That of the public function of the op, or of whose gradient it is, which may have a default; else the op's."""
    own = op.signature.parameters[name]
    bare = op.name.removesuffix("_backward")
    public = next((PUBLIC[path] for path in (bare, f"nn.functional.{bare}") if path in PUBLIC), None)
    shown = None if public is None else inspect.signature(public.call).parameters.get(name)
    if shown is None or shown.default is shown.empty or type(shown.default).__name__ != own.annotation:
        return own
    return shown


def _choices(parameter: inspect.Parameter, dtype: DType | None) -> Sequence[Any]:
    if parameter.default is not inspect.Parameter.empty:
        return (parameter.default,)
    annotation = parameter.annotation
    text = (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")).split(" |")[0]
    if text.startswith("tuple[int") or text in ("Sizes", "Shape", "tuple"):
        return _SIZES
    values: dict[str, Sequence[Any]] = {
        "float": (0.5, 1.0),
        "int": (1, 0, 2, 64, 4096),
        "bool": (False, True),
        "str": ("mean", "sum", "none", "constant", "linear"),
        "DType": (dtype or float32,),
        "Device": (META,),
        "Number": (1,),
        "Any": (1, None),
        "Generator": (default_generator,),
        "Strides": ((64, 1), (1, 1), (1,)),
    }
    return values.get(text, (None,))
