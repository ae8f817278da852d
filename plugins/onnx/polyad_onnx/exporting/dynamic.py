"""Which sizes of inputs a model leaves open: ``dynamic_shapes`` and ``dynamic_axes`` as the dims of
`polyad.jit.generalise`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polyad as torch
from polyad.errors import ArgumentError, ArgumentTypeError, safe_repr
from polyad.graph.expressions import evaluated
from polyad.graph.sizes import symbols_of_inputs
from polyad.graph.structure import replace

Dims = dict[str, dict[int, Any]]


class Named(NamedTuple):
    """An input: its name in the graph, and the tensor."""

    name: str
    tensor: Any


class Dynamic(NamedTuple):
    """Dims of inputs by name, and ranges of symbols."""

    dims: Dims
    ranges: dict[str, tuple[int, int | None]]


def of_axes(dynamic_axes: Mapping[str, Any], named: Mapping[str, Named], outputs: Sequence[str]) -> Dynamic:
    """What *dynamic_axes* says of inputs, which are given by the names that they have in the model. Names of outputs
    may be there: their sizes follow.
    """
    dims: Dims = {}
    for name, axes in dynamic_axes.items():
        if name not in named:
            if name in outputs:
                continue
            raise ArgumentError(
                f"onnx.export: dynamic_axes has {name!r}, which is neither an input nor an output",
                notes={"inputs": ", ".join(named), "outputs": ", ".join(outputs)},
                fix="name inputs by input_names, and outputs by output_names",
            )
        tensor = named[name].tensor
        pairs = axes.items() if isinstance(axes, Mapping) else ((axis, ...) for axis in axes)
        found = dims.setdefault(named[name].name, {})
        for axis, label in pairs:
            dim = _dim(axis, tensor, name)
            found[dim] = label if label is ... else symbol_name(label)
    return Dynamic(dims, {})


def _dim(axis: Any, tensor: Any, name: str) -> int:
    if not isinstance(axis, int) or not -tensor.dim() <= axis < tensor.dim():
        raise ArgumentError(
            f"onnx.export: {name} has no dim {safe_repr(axis)}", operands={name: tensor}, fix="count dimensions from 0"
        )
    return axis % tensor.dim()


def symbol_name(label: Any) -> str:
    """A label as the name of a symbol."""
    return re.sub(r"\W+", "_", str(label), flags=re.ASCII).lstrip("_0123456789") or "size"


def of_shapes(dynamic_shapes: Any, named: Mapping[str, Named], parameters: Sequence[str]) -> Dynamic:
    """What *dynamic_shapes* says, nested as the arguments are: by the names of the function's *parameters*, or in their
    order. A dimension is a name, a ``Dim``, ``Dim.AUTO``, or None where it is fixed.
    """
    if not isinstance(dynamic_shapes, Mapping):
        dynamic_shapes = dict(zip(parameters, dynamic_shapes, strict=False))
    found = Dynamic({}, {})
    for parameter, spec in dynamic_shapes.items():
        known = [one for one in named.values() if _top(one.name) == parameter]
        if not known:
            raise ArgumentError(
                f"onnx.export: dynamic_shapes has {parameter!r}, which is no argument with tensors",
                notes={"arguments": ", ".join(dict.fromkeys(_top(one.name) for one in named.values()))},
                fix="name the parameters of the model's forward",
            )
        for one in known:
            _note(one, _within(spec, one.name.removeprefix(parameter)), found)
    return found


def _top(name: str) -> str:
    return re.match(r"[^\[.]*", name)[0]  # type: ignore[index]


def _within(spec: Any, path: str) -> Any:
    """The part of a nested *spec* at a path such as ``[0]['mask']``."""
    for key, attribute in re.findall(r"\[([^\]]*)\]|\.(\w+)", path):
        if spec is None:
            return None
        spec = (
            getattr(spec, attribute) if attribute else spec[int(key) if key.lstrip("-").isdigit() else key.strip("'\"")]
        )
    return spec


def _note(one: Named, spec: Any, found: Dynamic) -> None:
    if spec is None:
        return
    pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
    for axis, size in pairs:
        dim = _dim(axis, one.tensor, one.name)
        if size is None or (isinstance(size, int) and not isinstance(size, bool)):
            continue
        kind = getattr(size, "name", "")
        if kind in ("AUTO", "DYNAMIC") or str(size).rpartition(".")[2] in ("AUTO", "DYNAMIC"):
            found.dims.setdefault(one.name, {})[dim] = ...
            continue
        if kind == "STATIC" or str(size).rpartition(".")[2] == "STATIC":
            continue
        label = size if isinstance(size, str) else getattr(size, "__name__", None)
        if label is None:
            raise ArgumentTypeError(
                f"onnx.export: dim {dim} of {one.name} is {safe_repr(size)} in dynamic_shapes",
                fix="pass a name, a Dim, Dim.AUTO or None",
            )
        found.dims.setdefault(one.name, {})[dim] = symbol_name(label)
        least, most = getattr(size, "min", None), getattr(size, "max", None)
        if least is not None or most is not None:
            most = most if isinstance(most, int) and most < 1 << 40 else None
            found.ranges[symbol_name(label)] = (int(least or 0), most)


def at_other_sizes(given: Any, graph: Any, names: Mapping[int, str]) -> Iterator[Any]:
    """The example's arguments with each open size another, of the example's data again and again: a little larger and
    none that was captured, where that is within its range, then as in the second capture. *names* are those of the
    inputs by id.
    """
    symbols = symbols_of_inputs(graph)
    if not symbols:
        return
    for sizes in ({one.name: _new_size(one) for one in symbols}, {one.name: one.captured[:2][-1] for one in symbols}):
        shapes = {value.name: evaluated(value.sizes, sizes) for value in graph.inputs}

        def resized(tensor: Any, shapes: Mapping[str, Any] = shapes) -> Any:
            for dim, size in enumerate(shapes[names[id(tensor)]]):
                if tensor.shape[dim] != size:
                    tensor = tensor.index_select(dim, torch.arange(size) % tensor.shape[dim])
            return tensor

        yield replace(given, torch.Tensor, resized)


def _new_size(symbol: Any) -> int:
    size = int(symbol.captured[0]) + 2
    while size in symbol.captured:
        size += 1
    return size if symbol.most is None else min(size, int(symbol.most))
