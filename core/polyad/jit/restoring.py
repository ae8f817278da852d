"""What a call changes, put back: for calls that are made to see what a program does."""

from __future__ import annotations

from typing import Any

from ..graph.graph import Graph
from ..history.grad_mode import no_grad
from ..random.generator import default_generator
from ..tensor import Tensor

__all__ = ["Restored"]


class Restored:
    """A block after which the buffers and the gradients of a module, and the default generator, are as before.

    >>> import polyad
    >>> norm = polyad.nn.BatchNorm1d(1)
    >>> with Restored(norm):
    ...     _ = norm(polyad.tensor([[1.0], [3.0]]))
    >>> norm.running_mean
    tensor([0.])
    """

    def __init__(self, module: Any) -> None:
        known = hasattr(module, "buffers")
        self.tensors: list[Tensor] = list(module.buffers()) if known else []
        self.leaves: list[Tensor] = list(module.parameters()) if known else []
        self.generators = [default_generator]
        self.modules: list[Any] = []

    @classmethod
    def of(cls, graph: Graph, function: Any) -> Restored:
        """For further calls of a *function* of which *graph* is a capture: all that it writes to, draws from and adds
        gradients to, and the attributes of its modules.
        """
        module = getattr(function, "__self__", function)
        made = cls(None)
        made.modules = list(module.modules()) if hasattr(module, "named_modules") else []
        written = graph.after
        made.tensors = [one.tensor for one in graph.constants if one.value.storage.number in written]
        made.leaves = [one.tensor for one in graph.constants if one.tensor.requires_grad and one.tensor.is_leaf]
        made.generators = [generator for generator, _ in graph.ends]
        return made

    def __enter__(self) -> None:
        self.attributes = [_containers(vars(module)) for module in self.modules]
        self.grads = [leaf.grad for leaf in self.leaves]
        held = [*self.tensors, *[grad for grad in self.grads if grad is not None]]
        with no_grad():
            self.contents = [(tensor, tensor._version, tensor.detach().clone()) for tensor in held]
        self.places = [generator.drawn.advance(0) for generator in self.generators]

    def __exit__(self, *error: Any) -> None:
        for containers in self.attributes:
            for container, content in containers:
                _put_back(container, content)
        with no_grad():
            for tensor, version, content in self.contents:
                if tensor._version != version:
                    tensor.detach().copy_(content)
        for leaf, grad in zip(self.leaves, self.grads, strict=True):
            leaf.grad = grad
        for generator, (seed, offset) in zip(self.generators, self.places, strict=True):
            generator.drawn.move(seed, offset)


def _containers(attributes: dict[str, Any]) -> list[tuple[Any, Any]]:
    """A module's attributes, and the lists and dicts among them, each with a copy."""
    held = [attributes, *[value for value in attributes.values() if type(value) in (dict, list)]]
    return [(one, one.copy()) for one in held]


def _put_back(container: Any, content: Any) -> None:
    container.clear()
    (container.extend if isinstance(container, list) else container.update)(content)
