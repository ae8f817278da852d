"""Which dimensions of the inputs of an exported program may have any size: `Dim` and what takes it.

A `Dim` names a size; one name is one size everywhere. ``2*dim`` and ``dim + 1`` are sizes that follow from it.
``Dim.DYNAMIC`` is any size, with a name made up, equal to that of others where it has to be; ``Dim.AUTO`` is the same
if the model allows it, and fixed if not; ``Dim.STATIC`` and a number are fixed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace as exchanged
from typing import Any, ClassVar, Final

from ..base.trees import plain
from ..errors import ArgumentTypeError, ConditionError, NotSupported, OptionError, safe_repr
from ..graph.expressions import Expression, SizeRef, names_of
from ..graph.graph import Graph
from ..graph.sizes import symbols_of_inputs
from ..graph.structure import Ref, leaves_of, replace
from ..jit.capture import names_of_inputs
from ..nn.modules.module import Module
from ..tensor import Tensor

__all__ = ["AdditionalInputs", "Dim", "DimHint", "ShapesCollection", "dims"]


@dataclass(frozen=True)
class DimHint:
    """Words for a dimension that has no name: ``Dim.AUTO``, ``Dim.DYNAMIC``, ``Dim.STATIC``. Called, it takes a range:
    ``Dim.DYNAMIC(max=64)``.
    """

    kind: str
    min: int | None = None
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        """The same with a range."""
        if self.kind == "STATIC":
            raise ArgumentTypeError("Dim.STATIC: a fixed size has no range", fix="write Dim.STATIC alone")
        _check_range("Dim", min or 0, max)
        return exchanged(self, min=min, max=max)

    def __repr__(self) -> str:
        return f"DimHint({self.kind})"


class Dim:
    """The size of a dimension, by name. Raises AssertionError for a name that is no identifier, or an empty range.

    Args:
        name: it is one size everywhere.
        min, max: its range.

    Multiply it with a positive whole number, or add a whole number, for a size that follows from it. Raises
    NotImplementedError for other arithmetic.

    >>> import polyad as torch
    >>> half = torch.export.Dim("half", max=64)
    >>> 2 * half + 1
    2*half + 1
    """

    AUTO: ClassVar[DimHint] = DimHint("AUTO")
    DYNAMIC: ClassVar[DimHint] = DimHint("DYNAMIC")
    STATIC: ClassVar[DimHint] = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ConditionError(
                f"Dim: {safe_repr(name)} is no name", fix="use letters, digits and _, and no digit first"
            )
        self.__name__ = name
        self.min, self.max = 0 if min is None else min, max
        self.root: Dim = self
        self.expression: Any = SizeRef(name)
        _check_range(name, self.min, max)

    def _derived(self, expression: Any) -> Dim:
        new = Dim.__new__(Dim)
        new.__name__, new.root, new.expression = str(expression), self.root, expression
        new.min = _whole_of(expression, self.root, self.root.min)
        new.max = None if self.root.max is None else _whole_of(expression, self.root, self.root.max)
        return new

    def _whole(self, other: Any, verb: str, least: int | None) -> int:
        if type(other) is not int or (least is not None and other < least):
            raise NotSupported(
                f"Dim: {safe_repr(other)} cannot be {verb} {self.__name__}: sizes are whole numbers that grow with it",
                fix="multiply with a positive int, and add or subtract an int",
            )
        return other

    def __add__(self, other: int) -> Dim:
        return self._derived(self.expression + self._whole(other, "added to", None))

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        return self._derived(self.expression - self._whole(other, "subtracted from", None))

    def __rsub__(self, other: int) -> Dim:
        raise NotSupported(
            f"Dim: {self.__name__} cannot be subtracted from {safe_repr(other)}: sizes grow with it",
            fix="subtract an int from the Dim",
        )

    def __mul__(self, other: int) -> Dim:
        return self._derived(self._whole(other, "multiplied with", 1) * self.expression)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        ends = ("" if not self.min else f", min={self.min}") + ("" if self.max is None else f", max={self.max}")
        return f"Dim({self.__name__!r}{ends})"


def _check_range(name: str, least: int, most: int | None) -> None:
    if type(least) is not int or (most is not None and type(most) is not int):
        raise ArgumentTypeError(f"{name}: a range is of whole numbers", fix="pass ints as min and max")
    if most is not None and least > most:
        raise ConditionError(f"{name}: min {least} is more than max {most}", fix="swap them")


def _whole_of(expression: Any, root: Dim, size: int) -> int:
    found: int = expression.evaluate({root.__name__: size})
    return found


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim` with one range.

    >>> import polyad as torch
    >>> torch.export.dims("height", "width", min=8)
    (Dim('height', min=8), Dim('width', min=8))
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


def shapes_of(graph: Graph) -> dict[str, Any]:
    """The ``dynamic_shapes`` with which *graph* was exported, by the names of the parameters."""
    ranges = {one.name: Dim(one.name, min=one.least, max=one.most) for one in symbols_of_inputs(graph)}

    def of(item: Any) -> Any:
        root = ranges[min(names_of(item))]
        return root if isinstance(item, SizeRef) else root._derived(item)

    def sizes(ref: Ref) -> Any:
        return {
            dim: of(item) for dim, item in enumerate(graph.values[ref.number].sizes) if isinstance(item, Expression)
        }

    args, kwargs = graph.arguments
    spec = replace((dict(zip(parameter_names(graph), args, strict=True)), kwargs), Ref, sizes)
    return {**spec[0], **spec[1]}


def parameter_names(graph: Graph) -> list[str]:
    """The names of the parameters that were given by position, as far as the graph's inputs tell."""
    found = []
    for at, argument in enumerate(graph.arguments[0]):
        names = [graph.values[ref.number].name for ref in leaves_of(argument, Ref)]
        found.append(re.split(r"[\[.]", names[0])[0] if names else f"argument{at}")
    return found


class ShapesCollection:
    """Dimensions by the tensors themselves, for inputs in which it is hard to say where a tensor is.

    >>> import polyad as torch
    >>> class Sum(torch.nn.Module):
    ...     def forward(self, parts):
    ...         return parts["a"] + parts["b"]
    >>> parts = {"a": torch.ones(4, 2), "b": torch.ones(4, 2)}
    >>> shapes = torch.export.ShapesCollection()
    >>> for part in parts.values():
    ...     shapes[part] = {0: torch.export.Dim("batch")}
    >>> shapes.dynamic_shapes(Sum(), (parts,))
    {'parts': {'a': {0: Dim('batch')}, 'b': {0: Dim('batch')}}}
    """

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, (Tensor, int)):
            raise ConditionError(f"ShapesCollection: {safe_repr(t)} is no tensor", fix="use a tensor among the inputs")
        known = self._shapes.get(id(t))
        if known is not None and known[1] != shape:
            raise ConditionError("ShapesCollection: a tensor has two shapes", fix="say the shape of each tensor once")
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.setdefault(id(t), (t, {}))[1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Any:
        """What to pass as ``dynamic_shapes=``. Raises ValueError for a tensor that is not among the inputs."""
        found: set[int] = set()

        def of(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: of(item) for key, item in value.items()}
            if isinstance(value, (list, tuple)):
                return type(value)(map(of, value)) if type(value) in (list, tuple) else tuple(map(of, value))
            if id(value) not in self._shapes:
                return None
            found.add(id(value))
            return self._shapes[id(value)][1]

        shapes = {name: of(value) for name, value in arguments_of(m, args, dict(kwargs or {})).items()}
        if len(found) < len(self._shapes):
            raise OptionError(
                "ShapesCollection: it has a tensor that is not among the inputs",
                fix="use the tensors that you export with",
            )
        return shapes


class AdditionalInputs:
    """Further examples of inputs: dimensions in which these differ from the first may have any size.

    >>> import polyad as torch
    >>> more = torch.export.AdditionalInputs()
    >>> more.add((torch.ones(5, 3),))
    >>> more.dynamic_shapes(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
    {'input': (DimHint(DYNAMIC), None)}
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> None:
        """Add the inputs of a call."""
        if not isinstance(args, tuple):
            raise ConditionError("AdditionalInputs: args is no tuple", fix="pass a tuple of the arguments")
        self._examples.append((args, dict(kwargs or {})))

    def dynamic_shapes(self, m: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Any:
        """What to pass as ``dynamic_shapes=``. Raises ValueError for inputs that differ in more than in sizes."""
        first = arguments_of(m, args, dict(kwargs or {}))
        others = [arguments_of(m, *example) for example in self._examples]
        if any(other.keys() != first.keys() for other in others):
            raise OptionError("AdditionalInputs: examples have other arguments", fix="pass the same arguments")
        return {name: _differences(name, [value, *(other[name] for other in others)]) for name, value in first.items()}

    def verify(self, ep: Any) -> None:
        """Call an exported program with each example; raises what that raises."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def _differences(name: str, values: list[Any]) -> Any:
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        raise OptionError(f"AdditionalInputs: {name} is of another type in another example", fix="pass the same types")
    if isinstance(first, Tensor):
        shapes = {len(value.shape): value.shape for value in values}
        if len(shapes) > 1:
            raise OptionError(
                f"AdditionalInputs: {name} has another rank in another example", fix="pass the same ranks"
            )
        rows = zip(*[value.shape for value in values], strict=True)
        return tuple([None if len(set(row)) == 1 else Dim.DYNAMIC for row in rows])
    if isinstance(first, dict):
        return {key: _differences(f"{name}[{key!r}]", [value[key] for value in values]) for key in first}
    if isinstance(first, (list, tuple)):
        if len({len(value) for value in values}) > 1:
            raise OptionError(f"AdditionalInputs: {name} is longer in another example", fix="pass the same lengths")
        return type(first)(
            [_differences(f"{name}[{k}]", list(part)) for k, part in enumerate(zip(*values, strict=True))]
        )
    if any(value != first for value in values):
        raise OptionError(f"AdditionalInputs: {name} is {first!r} in one example only", fix="pass the same values")
    return None


# ------------------------------------------------------------------------------------------------------------ resolving


@dataclass
class Shapes:
    """What `polyad.jit.generalise` is told.

    Attributes:
        dims, ranges: as there; ``...`` for a dimension without a name.
        must: the tensors and dimensions without a name that must be free.
        hints: the ranges of those, by tensor and dimension.
    """

    dims: dict[str, dict[int, Any]]
    ranges: dict[str, tuple[int, int | None]]
    must: list[tuple[str, int]]
    hints: dict[tuple[str, int], DimHint]


def arguments_of(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names of the parameters of ``forward``; those of ``**kwargs`` by their own."""
    signature = inspect.signature(getattr(module, "forward", module))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(f"export: forward() {error}", fix="pass all arguments of forward as examples") from None
    found = dict(bound.arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found.update(found.pop(name, {}))
    return found


_FORM: Final = "a dict from dimensions to Dim, int or None, a tuple of these for all dimensions, or None"


def resolved(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> Shapes:
    """What *dynamic_shapes* says of the tensors among the arguments. Raises ValueError for what has another structure
    than these.
    """
    shapes = Shapes({}, {}, [], {})
    if dynamic_shapes is None:
        return shapes
    if isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
    given = arguments_of(module, args, kwargs)
    if isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(given):
            raise OptionError(
                f"export: there are {len(given)} arguments, and dynamic_shapes has {len(dynamic_shapes)} entries",
                fix=f"give one for each of {', '.join(given)}",
            )
        dynamic_shapes = dict(zip(given, dynamic_shapes, strict=True))
    if not isinstance(dynamic_shapes, dict) or dynamic_shapes.keys() != given.keys():
        raise OptionError(
            f"export: dynamic_shapes is for {safe_repr(dynamic_shapes)}, and the arguments are {', '.join(given)}",
            fix="give a dict with the names of all arguments, or a tuple with an entry for each",
        )
    names = names_of_inputs(module, plain((args, kwargs)))
    for name, item in dynamic_shapes.items():
        _read(shapes, names, name, plain(given[name]), plain(item))
    return shapes


def _read(shapes: Shapes, names: dict[int, str], where: str, value: Any, item: Any) -> None:
    if isinstance(value, Tensor):
        for dim, entry in _entries(where, value, item):
            _note(shapes, names[id(value)], dim, value.shape[dim], entry, f"{where}, dim {dim}")
        return
    if item is None or (isinstance(item, (DimHint, int)) and not isinstance(value, (list, tuple, dict))):
        return
    pairs: Iterator[tuple[str, Any, Any]]
    if isinstance(value, dict) and isinstance(item, dict) and item.keys() == value.keys():
        pairs = iter([(f"{where}[{key!r}]", value[key], item[key]) for key in value])
    elif isinstance(value, (list, tuple)) and isinstance(item, (list, tuple)) and len(item) == len(value):
        pairs = iter([(f"{where}[{k}]", *both) for k, both in enumerate(zip(value, item, strict=True))])
    else:
        raise OptionError(
            f"export: dynamic_shapes has {safe_repr(item)} for {where}, which is {type(value).__name__}",
            fix="nest it as the argument is nested",
        )
    for path, part, entry in pairs:
        _read(shapes, names, path, part, entry)


def _entries(where: str, tensor: Tensor, item: Any) -> list[tuple[int, Any]]:
    if item is None:
        return []
    if isinstance(item, DimHint):
        return [(dim, item) for dim in range(tensor.dim())]
    if isinstance(item, dict):
        found = list(item.items())
        wrong = [dim for dim, _ in found if type(dim) is not int or not 0 <= dim < tensor.dim()]
    elif isinstance(item, (tuple, list)) and len(item) == tensor.dim():
        found, wrong = list(enumerate(item)), []
    else:
        found, wrong = [], [item]
    if wrong:
        raise OptionError(
            f"export: dynamic_shapes has {safe_repr(item)} for {where}, which has {tensor.dim()} dimensions",
            operands={where: tensor},
            fix=f"give {_FORM}",
        )
    return found


def _note(shapes: Shapes, tensor: str, dim: int, size: int, entry: Any, where: str) -> None:
    if entry is None or (isinstance(entry, DimHint) and entry.kind == "STATIC"):
        return
    if type(entry) is int:
        if entry != size:
            raise OptionError(f"export: {where} is {size} in the example, and {entry} in dynamic_shapes", fix="agree")
    elif isinstance(entry, DimHint):
        shapes.dims.setdefault(tensor, {})[dim] = ...
        if entry.min is not None or entry.max is not None:
            name = re.sub(r"\W+", "_", f"{tensor}_{dim}", flags=re.ASCII)
            shapes.ranges[name] = entry.min or 0, entry.max
        if entry.kind == "DYNAMIC":
            shapes.must.append((tensor, dim))
    elif isinstance(entry, Dim):
        root = entry.root
        known = shapes.ranges.setdefault(root.__name__, (root.min, root.max))
        if known != (root.min, root.max):
            raise OptionError(f"export: there are two Dim {root.__name__!r} with two ranges", fix="use one object")
        shapes.dims.setdefault(tensor, {})[dim] = entry.expression
        _check_example(entry, size, where)
    else:
        raise OptionError(f"export: dynamic_shapes has {safe_repr(entry)} for {where}", fix=f"give {_FORM}")


def _check_example(dim: Dim, size: int, where: str) -> None:
    if size < dim.min or (dim.max is not None and size > dim.max):
        most = "" if dim.max is None else f" to {dim.max}"
        raise OptionError(
            f"export: {where} is {size} in the example, and {dim.__name__} is from {dim.min}{most}",
            fix="pass an example within the range, or another range",
        )
