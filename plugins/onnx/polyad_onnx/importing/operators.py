"""The table of ONNX operators, and what a function that implements one is told about its node.

An entry is a function that takes a `Node` and returns what computes it: a callable of the node's inputs, in ONNX's
order, which gives the output or a tuple of them. It is asked once, when the program is planned, so attributes are
read once.

To add an operator, write such a function in the family of `ops/` in which ONNX's documentation would put it:

    @operator("Selu")
    def selu(node: Node) -> Compute:
        alpha, gamma = node.number("alpha", 1.67326), node.number("gamma", 1.0507)
        return lambda x: gamma * where(x > 0, x, alpha * (x.exp() - 1))

An input that the node leaves out in the middle is None; those left out at the end are not passed. `host` names inputs
that are wanted as lists of Python's numbers: shapes, axes, sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx

from polyad.errors import PolyadError, SerializationError, safe_repr

from .elements import ElementType

__all__ = [
    "DOMAINS", "MICROSOFT", "ML", "REQUIRED", "TRAINING", "Compute", "HostOperator", "Node", "NotComputed", "Operator",
    "described", "find", "find_on_host", "host_operator", "operator", "supported",
]  # fmt: skip

Compute = Callable[..., Any]

DOMAINS = {"ai.onnx": ""}
"""Other names of domains."""
ML = "ai.onnx.ml"
TRAINING = "ai.onnx.preview.training"
MICROSOFT = "com.microsoft"
REQUIRED: Any = object()
"""The default of an attribute that has none."""

ATTRIBUTES = onnx.AttributeProto


class NotComputed(PolyadError, NotImplementedError):
    """Something that ONNX defines and polyad does not compute."""


@dataclass(frozen=True)
class Operator:
    """One entry of the table."""

    name: str
    domain: str
    since: int
    build: Callable[[Node], Compute]
    host: tuple[int, ...] = ()
    """Inputs that are wanted as Python's numbers; -1 stands for all of them."""
    state: tuple[int, ...] = ()
    """Floating inputs that are no parameters if the file holds them: statistics, scales of quantised numbers."""

    def on_host(self, index: int) -> bool:
        """Whether input *index* is wanted as Python's numbers."""
        return index in self.host or -1 in self.host


_OPERATORS: dict[tuple[str, str], list[Operator]] = {}


def operator(
    *names: str, since: int = 1, domain: str = "", host: tuple[int, ...] = (), state: tuple[int, ...] = ()
) -> Callable[[Callable[[Node], Compute]], Callable[[Node], Compute]]:
    """Enter the decorated function for the operators *names*, from version *since* of their set on."""

    def enter(build: Callable[[Node], Compute]) -> Callable[[Node], Compute]:
        for name in names:
            entries = _OPERATORS.setdefault((domain, name), [])
            entries.append(Operator(name, domain, since, build, host, state))
            entries.sort(key=lambda entry: -entry.since)
        return build

    return enter


def find(domain: str, name: str, version: int) -> Operator | None:
    """The entry that covers operator *name* of *domain* at this version of the operator set."""
    return next((entry for entry in _OPERATORS.get((domain, name), ()) if entry.since <= version), None)


@dataclass(frozen=True)
class HostOperator:
    """An operator of shape arithmetic: computed by NumPy where all of its inputs are on the host."""

    since: int
    build: Callable[[Node], Compute]
    of_tensor: bool = False
    """Whether it asks a tensor for its shape, so that its input is one of the device."""
    suits: Callable[[Node], bool] | None = None
    """Whether this node is one for the host."""


_ON_HOST: dict[str, list[HostOperator]] = {}


def host_operator(
    *names: str, since: int = 1, of_tensor: bool = False, suits: Callable[[Node], bool] | None = None
) -> Callable[[Callable[[Node], Compute]], Callable[[Node], Compute]]:
    """Enter the decorated function, whose result computes on arrays, for shape arithmetic with *names*."""

    def enter(build: Callable[[Node], Compute]) -> Callable[[Node], Compute]:
        for name in names:
            entries = _ON_HOST.setdefault(name, [])
            entries.append(HostOperator(since, build, of_tensor, suits))
            entries.sort(key=lambda entry: -entry.since)
        return build

    return enter


def find_on_host(name: str, version: int) -> HostOperator | None:
    """The entry for shape arithmetic with operator *name* of ONNX's own domain, at this version."""
    return next((entry for entry in _ON_HOST.get(name, ()) if entry.since <= version), None)


def supported() -> list[tuple[str, str]]:
    """Domain and name of every operator that has an entry of its own."""
    return sorted(_OPERATORS)


@dataclass
class Node:
    """One node of a graph, as the function that implements its operator sees it."""

    proto: onnx.NodeProto
    version: int
    """Of the operator set of the node's domain."""
    device: Any
    """Where tensors that the node makes of nothing shall be."""
    elements: Sequence[ElementType | None] = ()
    """What the file says of the types of the inputs' elements, where it says anything."""
    scalars: Sequence[Callable[[], Any] | None] = ()
    """What reads the inputs that are constants of one element."""
    block: Callable[[onnx.GraphProto], Any] | None = None
    """Plans a graph that the node holds."""
    result: ElementType | None = None
    """What the operator says of the type of its outputs' elements, if their dtype does not say it."""
    given: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.given = {attribute.name: attribute for attribute in self.proto.attribute}

    @property
    def inputs(self) -> int:
        """How many inputs the node is called with: those that are left out at the end do not count."""
        given = [index for index, name in enumerate(self.proto.input) if name]
        return given[-1] + 1 if given else 0

    @property
    def outputs(self) -> int:
        """How many outputs the node names."""
        return len(self.proto.output)

    def wants(self, index: int) -> bool:
        """Whether somebody wants output *index*."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def has(self, index: int) -> bool:
        """Whether the node has input *index*."""
        return index < len(self.proto.input) and bool(self.proto.input[index])

    def element(self, index: int) -> ElementType | None:
        """The type of the elements of input *index*, if the file tells it."""
        return self.elements[index] if index < len(self.elements) else None

    def scalar(self, index: int) -> Any:
        """Input *index* as a Python number if it is a constant of one element, which the plan keeps; or None."""
        read = self.scalars[index] if index < len(self.scalars) else None
        return None if read is None else read()

    def _attribute(self, name: str, kind: int, default: Any) -> Any:
        attribute = self.given.get(name)
        if attribute is None:
            if default is REQUIRED:
                raise self.wrong(f"attribute {name} is missing")
            return default
        if attribute.type != kind:
            raise self.wrong(
                f"attribute {name} is {ATTRIBUTES.AttributeType.Name(attribute.type)}, "
                f"not {ATTRIBUTES.AttributeType.Name(kind)}"
            )
        return attribute

    def integer(self, name: str, default: Any = None) -> Any:
        """An attribute that is an integer."""
        found = self._attribute(name, ATTRIBUTES.INT, default)
        return found.i if isinstance(found, onnx.AttributeProto) else found

    def number(self, name: str, default: Any = None) -> Any:
        """An attribute that is a floating point number."""
        found = self._attribute(name, ATTRIBUTES.FLOAT, default)
        return found.f if isinstance(found, onnx.AttributeProto) else found

    def any_number(self, name: str) -> float | None:
        """An attribute that is a number of either kind, or None."""
        given = self.given.get(name)
        kind = ATTRIBUTES.FLOAT if given is None else given.type
        return float(self.integer(name)) if kind == ATTRIBUTES.INT else self.number(name)

    def text(self, name: str, default: Any = None) -> Any:
        """An attribute that is a string."""
        found = self._attribute(name, ATTRIBUTES.STRING, default)
        return found.s.decode("utf-8", "replace") if isinstance(found, onnx.AttributeProto) else found

    def integers(self, name: str, default: Any = None) -> Any:
        """An attribute that is a list of integers."""
        found = self._attribute(name, ATTRIBUTES.INTS, default)
        return list(found.ints) if isinstance(found, onnx.AttributeProto) else found

    def numbers(self, name: str, default: Any = None) -> Any:
        """An attribute that is a list of floating point numbers."""
        found = self._attribute(name, ATTRIBUTES.FLOATS, default)
        return list(found.floats) if isinstance(found, onnx.AttributeProto) else found

    def texts(self, name: str, default: Any = None) -> Any:
        """An attribute that is a list of strings."""
        found = self._attribute(name, ATTRIBUTES.STRINGS, default)
        return [text.decode("utf-8", "replace") for text in found.strings] if found is not default else default

    def tensor(self, name: str, default: Any = None) -> Any:
        """An attribute that is a tensor, as the file has it."""
        found = self._attribute(name, ATTRIBUTES.TENSOR, default)
        return found.t if isinstance(found, onnx.AttributeProto) else found

    def graph(self, name: str, default: Any = None) -> Any:
        """An attribute that is a graph, planned."""
        found = self._attribute(name, ATTRIBUTES.GRAPH, default)
        if not isinstance(found, onnx.AttributeProto):
            return found
        assert self.block is not None
        return self.block(found.g)

    def choice(self, name: str, default: str, *allowed: str) -> str:
        """An attribute that is one of the strings *allowed*."""
        found = self.text(name, default)
        if found not in allowed:
            raise self.wrong(f"attribute {name} is {safe_repr(found)}", fix="use " + ", ".join(allowed))
        return str(found)

    def wrong(self, message: str, fix: str | None = None) -> SerializationError:
        """An error that names the node."""
        fix = fix or "the model is damaged or was put together wrongly: use another copy, or export it again"
        return SerializationError(f"onnx.load: node {described(self.proto)}: {message}", fix=fix)

    def refused(self, message: str, fix: str | None = None) -> NotComputed:
        """An error that says what of the operator polyad does not compute."""
        fix = fix or "export the model in another way, or with another opset_version"
        return NotComputed(f"onnx.load: node {described(self.proto)}: {message}", fix=fix)


def described(proto: onnx.NodeProto) -> str:
    """How errors name a node."""
    domain = f"{proto.domain}." if proto.domain else ""
    outputs = [name for name in proto.output if name]
    name = proto.name or (f"-> {outputs[0]}" if outputs else "without outputs")
    return f"{domain}{proto.op_type} {safe_repr(name)}"
