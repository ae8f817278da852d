"""What is exported: a model with example arguments, and the graph of a call of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from functools import partial
from typing import Any

import polyad as torch
from polyad.errors import ArgumentTypeError, BakedSize, safe_repr
from polyad.graph import Graph
from polyad.graph.passes import drop_views, fold_constants, merge_common, remove_dead
from polyad.graph.structure import Ref, leaves, replace
from polyad.jit.capture import Capture, captured, names_of_inputs, names_of_members
from polyad.jit.expanding import expanding
from polyad.jit.restoring import Restored

from . import ops  # noqa: F401  declares the translations
from .dynamic import Dynamic, Named, check_open, of_axes, of_program, of_shapes
from .registry import Table

__all__ = ["Source", "TrainingMode"]


class TrainingMode(IntEnum):
    """In which mode a model is exported.

    >>> import polyad
    >>> polyad.onnx.TrainingMode.EVAL.value
    0
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class Source:
    """A model with an example.

    Attributes:
        model: what is called.
        given: the example's arguments, each tensor an object of its own.
        function: the same as a capture wants it: its name, and its parameters'.
        mode: makes the mode of a capture that takes composites apart.
        names: the names of the tensors among the arguments, by id.
    """

    def __init__(self, model: Any, args: Any, kwargs: dict[str, Any] | None, table: Table) -> None:
        self.table = table
        self.program = model if hasattr(model, "graph_signature") and isinstance(model.graph, Graph) else None
        self.model, args, kwargs = _callable_of(model, args, kwargs)
        given = (args if isinstance(args, tuple) else (args,), kwargs)
        self.given: tuple[tuple[Any, ...], dict[str, Any]] = _copied(given)
        self.parameters = _parameters(self.model)
        if self.program is not None:
            names = [str(name) for name in self.program.graph_signature.user_inputs if isinstance(name, str)]
            if len(names) == len(self.given[0]) and not kwargs:
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
                self.parameters = [inspect.Parameter(name, kind) for name in names]
        self.function = _Named(self.model, self.parameters)
        self.mode = partial(Capture, opens=expanding(lambda op, args: table.found(op.name, args) is not None))
        self.names: dict[int, str] = names_of_inputs(self.function, self.given)

    def named(self, input_names: Sequence[str]) -> dict[str, Named]:
        """The inputs in order, by the names that they have in the model."""
        tensors = [leaf for _, leaf in leaves(self.given) if isinstance(leaf, torch.Tensor)]
        found = [Named(self.names[id(tensor)], tensor) for tensor in tensors]
        return {input_names[place] if place < len(input_names) else one.name: one for place, one in enumerate(found)}

    def dynamic(self, axes: Any, shapes: Any, input_names: Sequence[str], output_names: Sequence[str]) -> Dynamic:
        """Which sizes are open."""
        named = self.named(input_names)
        if shapes is not None:
            return of_shapes(shapes, named, [one.name for one in self.parameters])
        if axes:
            return of_axes(axes, named, output_names)
        return Dynamic({}, {}, []) if self.program is None else of_program(self.program.graph, named)

    def graph(self, dynamic: Dynamic, folding: bool, optimize: bool) -> Graph:
        """The graph, for all sizes of *dynamic*."""
        args, kwargs = _copied(self.given)
        with torch.no_grad():
            with Restored(self.model):
                if dynamic.dims:
                    graph = self._for_all_sizes(args, kwargs, dynamic)
                    check_open(graph, dynamic.wanted)
                else:
                    graph = captured(self.mode(names=names_of_members(self.function)), self.function, args, kwargs)
                    if graph.scalars:  # numbers that are read, which may be followed
                        with suppress(BakedSize):
                            graph = self._generalised(_copied(self.given), {}, {})
            passes: list[Callable[[Graph], Graph]] = [partial(fold_constants, parameters=True)] if folding else []
            passes += [drop_views, merge_common] if optimize else []
            for one in [*passes, remove_dead]:
                graph = one(graph)  # not verified each time: the model is compared as a whole
            return graph

    def _for_all_sizes(self, args: Any, kwargs: Any, dynamic: Dynamic) -> Graph:
        """The graph for the open sizes; where the program takes no larger ones, as it was with smaller ones."""
        try:
            return self._generalised((args, kwargs), dynamic.dims, dynamic.ranges)
        except BakedSize:
            example = {tensor.name: tensor.tensor.shape for tensor in self.named(()).values()}
            most = {label: example[name][dim] for name, dims in dynamic.dims.items() for dim, label in dims.items()}
            ranges = {label: (0, size) for label, size in most.items() if label is not ... and size > 3}
            if dynamic.ranges or not ranges:
                raise
            try:
                return self._generalised(_copied(self.given), dynamic.dims, ranges)
            except BakedSize:
                pass
            raise

    def _generalised(self, given: Any, dims: Any, ranges: Any) -> Graph:
        return torch.jit.generalise(self.function, *given, dims=dims, ranges=ranges, mode=self.mode)

    def results(self, given: Any) -> list[Any]:
        """The tensors that the model gives; it is as before afterwards."""
        args, kwargs = _copied(given)
        with torch.no_grad(), Restored(self.model):
            result = self.model(*args, **kwargs)
            return [leaf.clone() for _, leaf in leaves(result) if isinstance(leaf, torch.Tensor)]

    @contextmanager
    def prepared(self, training: TrainingMode) -> Iterator[None]:
        """The model in the mode in which it is exported; afterwards it is as before, and so are random numbers."""
        modules = self.model.modules() if isinstance(self.model, torch.nn.Module) else ()
        modes = [(one, one.training) for one in modules]
        if training != TrainingMode.PRESERVE:
            for one, _ in modes:
                one.training = training == TrainingMode.TRAINING
        try:
            with Restored(self.model):
                yield
        finally:
            for one, mode in modes:
                one.training = mode


class _Named:
    """A model whose parameters' names a capture shall know.

    Attributes:
        __self__: the model, whose submodules and tensors have names.
    """

    def __init__(self, model: Any, parameters: Sequence[inspect.Parameter]) -> None:
        self.__self__ = model
        self.__qualname__ = getattr(model, "__qualname__", None) or type(model).__qualname__
        self.parameter_names = [one.name for one in parameters if one.kind in _POSITIONAL]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__self__(*args, **kwargs)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _callable_of(model: Any, args: Any, kwargs: dict[str, Any] | None) -> tuple[Any, Any, dict[str, Any]]:
    """What to call, and with what: an exported program has a module and an example of its own."""
    if hasattr(model, "graph_signature") and callable(getattr(model, "module", None)):
        example = getattr(model, "example_inputs", None)
        if not args and not kwargs and example:
            args, kwargs = example
        model = model.module()
    if not callable(model):
        raise ArgumentTypeError(
            f"onnx.export: {safe_repr(model)} cannot be called", fix="pass a module, a function or an exported program"
        )
    return model, args, kwargs or {}


def _copied(given: Any) -> Any:
    """Arguments with a tensor of its own in each place: each is an input, and the program may write to it."""
    return replace(given, torch.Tensor, lambda tensor: tensor.detach().clone())


def _parameters(model: Any) -> list[inspect.Parameter]:
    """The parameters of the function; of a graph, which takes any, the names of the arguments that it was captured
    with.
    """
    if not isinstance(model, Graph):
        return list(inspect.signature(getattr(model, "forward", model)).parameters.values())
    names = [
        model.values[one.number].name if isinstance(one, Ref) else f"input{place}"
        for place, one in enumerate(model.arguments[0])
    ]
    kinds: Mapping[str, Any] = {
        **dict.fromkeys(names, inspect.Parameter.POSITIONAL_OR_KEYWORD),
        **dict.fromkeys(model.arguments[1], inspect.Parameter.KEYWORD_ONLY),
    }
    usable = {
        name if name.isidentifier() else f"input{place}": kind for place, (name, kind) in enumerate(kinds.items())
    }
    return [inspect.Parameter(name, kind) for name, kind in usable.items()]
