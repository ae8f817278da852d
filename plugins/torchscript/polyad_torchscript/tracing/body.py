"""The text of a method: the lines of a region of a captured graph.

Each tensor is a variable. A write into a tensor changes what its variable holds, so all its values have one name. Sizes
that follow from inputs are read off a tensor that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from polyad.aten.overloads import OpOverload
from polyad.aten.table import aten_call
from polyad.dispatch.effects import Effect, Record, Result
from polyad.dispatch.inplace import InPlace
from polyad.dispatch.op import Op
from polyad.errors import NotSupported
from polyad.graph import Graph
from polyad.graph.expressions import Operation, Repeat, SizeRef, evaluated
from polyad.graph.graph import Node
from polyad.graph.structure import Ref, replace
from polyad.graph.values import Scalar, Value
from polyad.ops.creation.factories import empty
from polyad.random.generator import Generator, default_generator
from polyad.tensor import Tensor

from ..operators.schemas import known
from . import layers as layers  # whose rules are noted
from .fixed import Fixed
from .spelling import RULES
from .text import Text, Variable, literal

__all__ = ["Body", "Call", "Surroundings"]

_SIGNS = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "remainder", "/": "div", "**": "pow"}


class Surroundings(Protocol):
    """What a method needs of the program that it is part of."""

    graph: Graph

    def first(self, number: int) -> int:
        """The number of the first value of the same tensor."""

    def constant(self, tensor: Tensor) -> Text:
        """The text for a tensor of the constants."""

    def function(self, name: str) -> Text:
        """The text for a function of polyad's that the program has, too."""


class Body:
    """The lines of a method while they are written.

    Attributes:
        lines: so far.
        variables: by the first number of a tensor's values.
    """

    def __init__(self, program: Surroundings, held: Callable[[int], tuple[str, ...] | None]) -> None:
        self.program = program
        self.graph = program.graph
        self.lines: list[str] = []
        self.variables: dict[int, Variable] = {}
        self._held = held
        self._names = {"self"}
        self._attributes: dict[tuple[str, ...], Text] = {(): Text("self")}
        self._count = 0

    # --------------------------------------------------------------------------------------------------- names

    def name(self, wanted: str) -> str:
        """A free name like *wanted*."""
        base = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in wanted) or "_"
        base = f"_{base}" if base[0].isdigit() else base
        found, count = base, 0
        while found in self._names or found in _RESERVED:
            found, count = f"{base}{count}", count + 1
        self._names.add(found)
        return found

    def fresh(self) -> str:
        """A free name for what has none."""
        while f"_{self._count}" in self._names:
            self._count += 1
        return self.name(f"_{self._count}")

    def argument(self, number: int, wanted: str) -> Variable:
        """An argument of the method for the tensor whose first value is *number*."""
        return self.set(number, self.name(wanted))

    def set(self, number: int, name: str) -> Variable:
        """From here on the variable *name* holds the tensor whose first value is *number*."""
        return self.variables.setdefault(number, Variable.of(name, self.graph.values[number]))

    def let(self, text: Text | str) -> Text:
        """A new variable with the value of *text*."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return Text(name)

    def attribute(self, path: tuple[str, ...]) -> Text:
        """The variable that holds what is at *path* in the module."""
        if path not in self._attributes:
            owner, last = self.attribute(path[:-1]), path[-1]
            if last.isidentifier():
                name = self.name(last)
                self.lines.append(f"{name} = {owner}.{last}")
            else:
                name = self.fresh()
                self.lines.append(f'{name} = getattr({owner}, "{last}")')
            self._attributes[path] = Text(name)
        return self._attributes[path]

    def tensor(self, number: int) -> Variable:
        """The variable that holds a value now."""
        first = self.program.first(number)
        if first not in self.variables:
            path = self._held(first)
            if path is not None:
                self.set(first, self.attribute(path))
            else:
                constant = next(one for one in self.graph.constants if one.value.number == first)
                self.set(first, self.program.constant(constant.tensor))
        return Variable.of(self.variables[first], self.graph.values[number])

    # --------------------------------------------------------------------------------------------------- sizes

    def written(self, value: Any) -> str:
        """*value* as a text, with what it needs of sizes."""
        return literal(self._spelled(value))

    def _spelled(self, value: Any) -> Any:
        if isinstance(value, SizeRef):
            return self._size(value)
        if isinstance(value, Operation):
            found = self._known_size(value)
            if found is not None:
                return found
            return Text(f"torch.{_SIGNS[value.sign]}({self.written(value.left)}, {self.written(value.right)})")
        if isinstance(value, Repeat):
            return Text(f"torch.mul([{self.written(value.item)}], {self.written(value.times)})")
        if isinstance(value, (list, tuple)):
            return [self._spelled(item) for item in value]
        return value

    def _known_size(self, item: Any) -> Text | None:
        """The text for a size that a tensor has."""
        for variable in self.variables.values():
            for dim, size in enumerate(variable.sizes):
                if size.__class__ is item.__class__ and size == item:
                    return Text(f"torch.size({variable}, {dim})")
        return None

    def _size(self, ref: SizeRef) -> Text:
        found = self._known_size(ref)
        if found is not None:
            return found
        symbol = next(one for one in self.graph.symbols if one.name == ref.name)
        if symbol.dim < 0:
            return Text(f"{type(symbol.captured[0]).__name__}({self.tensor(symbol.value)})")
        return Text(f"torch.size({self.tensor(symbol.value)}, {symbol.dim})")

    def check_size(self, fixed: Fixed) -> None:
        """Write that the program raises RuntimeError for another size of an argument's dimension."""
        name = self.graph.values[fixed.number].name
        size = Text(f"torch.size({self.tensor(fixed.number)}, {fixed.dim})")
        message = (
            f"trace: dim {fixed.dim} of {name} is {{}}, but the program was traced with {fixed.size} and holds for "
            f"that size alone\n    fix  pass a tensor of that size, or trace again with an example of the new size"
        )
        self.lines += [
            f"if torch.ne({size}, {fixed.size}):",
            f'  ops.prim.RaiseException(torch.format({literal(message)}, {size}), "builtins.RuntimeError")',
            "else:",
            "  pass",
        ]

    # --------------------------------------------------------------------------------------------------- calls

    def add(self, node: Node) -> None:
        """Write a node."""
        if isinstance(node.outputs, Scalar) or (isinstance(node.op, Effect) and node.op.result is Result.CHECK):
            return  # what it read is part of the program already
        call = Call(self, node)
        found = call.spelled()
        results = node.results
        if isinstance(found, Text):
            self._assign(node, [found] if len(results) <= 1 else None, found)
        else:
            self._assign(node, [text or Text("") for text in found], None)

    def _assign(self, node: Node, texts: list[Text] | None, whole: Text | None) -> None:
        detached = node.grad is False and not node.name.endswith("_")
        results = node.results
        if not results:
            self.lines.append(f"{self.fresh()} = {whole}")
            return
        if texts is None:
            names = [self.fresh() for _ in results]
            self.lines.append(f"{', '.join(names)}, = {whole}")
            texts = [Text(name) for name in names]
        for number, text in zip(results, texts, strict=False):
            first = self.program.first(number)
            if not text:
                continue
            if first in self.variables:  # a write, whose target has a name
                self.lines.append(f"{self.fresh()} = {text}")
                continue
            text = Text(f"torch.detach({text})") if detached else text
            if text in self._names and not detached:
                self.set(first, text)
            else:
                name = self.fresh()
                self.lines.append(f"{name} = {text}")
                self.set(first, name)


_RESERVED = frozenset({
    "torch", "ops", "CONSTANTS", "annotate", "int", "float", "bool", "str", "range", "getattr", "print", "inf", "nan",
    "uninitialized", "unchecked_cast", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "None", "True", "False",
})  # fmt: skip


_AUGMENTED = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ipow__": "pow_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_", "__ilshift__": "bitwise_left_shift_", "__irshift__": "bitwise_right_shift_",
}  # fmt: skip
"""The operators that augmented assignments are written as."""


class Call:
    """A node while its text is made: what rules are given.

    Attributes:
        name: of the op or effect.
        used: of each result, whether something uses it.
    """

    def __init__(self, body: Body, node: Node) -> None:
        self.body, self.node = body, node
        self.name = node.name
        kept = set(node.results) - set(node.frees)
        self.used = [number in kept for number in node.results]

    def spelled(self) -> Text | list[Text | None]:
        """The text, by a rule, as an operator of PyTorch's, or as one of polyad's."""
        node, body = self.node, self.body
        values = replace(node.args, Ref, lambda ref: body.tensor(ref.number))
        rule = RULES.get(node.name)
        if rule is not None:
            found = rule(self, *values)
            if isinstance(found, Text) or not any(
                used and text is None for used, text in zip(self.used, found, strict=False)
            ):
                return found
        elif isinstance(node.op, InPlace) and known(f"aten::{(name := _AUGMENTED.get(node.name, node.name))}"):
            target, rest, named = values
            return self.torch(name, target, *rest, **named)
        elif isinstance(node.op, Op) and (call := self._aten(node.op)) is not None:
            return call
        if not isinstance(node.op, Op):
            raise self.refused()
        named_values = [self._default(value) for value in values]
        return Text(f"ops.polyad.{node.name}({', '.join(map(body.written, named_values))})")

    def refused(self) -> NotSupported:
        """The error for a call that no program can hold."""
        op = self.node.op
        passes = isinstance(op, Effect) and op.record in (Record.FOLLOWED, Record.GRADIENT)
        return NotSupported(
            f"trace: {self.name} cannot be written as TorchScript",
            notes={"line": self.node.line} if self.node.line else {},
            fix="trace the forward pass alone; polyad.jit.capture holds whole training steps"
            if passes
            else "leave it out of what is traced, or keep the call as a graph by polyad.jit.capture",
        )

    def _aten(self, op: Op) -> Text | None:
        """The call of PyTorch's that it is, which is looked for with tensors that have no data."""
        names: dict[int, Variable] = {}

        def stand_in(ref: Ref) -> Tensor:
            value = self.body.graph.values[ref.number]
            made = empty(value.shape, dtype=value.dtype, device="meta")
            names[id(made)] = self.body.tensor(ref.number)
            alive.append(made)
            return made

        alive: list[Tensor] = []
        found = aten_call(op, replace(self.node.args, Ref, stand_in))
        if found is None or not isinstance(found.func, OpOverload):
            return None
        args, named = replace((found.args, found.kwargs), Tensor, lambda tensor: names[id(tensor)])
        return self.torch(found.func._opname, *args, **named)

    def _default(self, value: Any) -> Any:
        if isinstance(value, Generator):
            self.needs_default(value)
            return None
        return value

    # ---------------------------------------------------------------------------------------- what rules use

    def torch(self, name: str, *args: Any, **named: Any) -> Text:
        """``torch.name(...)``."""
        given = [self.body.written(arg) for arg in args]
        given += [f"{key}={self.body.written(value)}" for key, value in named.items()]
        return Text(f"torch.{name}({', '.join(given)})")

    def element(self, text: Text, place: int) -> Text:
        """An element of a tuple."""
        return Text(f"({text})[{place}]")

    def example(self, value: Any) -> Any:
        """What *value* was in the example call."""
        return evaluated(value, {symbol.name: symbol.captured[0] for symbol in self.body.graph.symbols})

    def tensors_or_none(self, items: Sequence[Any]) -> Text:
        """A list in which there may be None."""
        return Text(f"annotate(List[Optional[Tensor]], {self.body.written(list(items))})")

    def as_tensor(self, value: Any, like: Variable) -> Text:
        """A number as a tensor without dimensions."""
        if isinstance(value, Text):
            return value
        device = like.value.device
        return self.torch("full", Text("annotate(List[int], [])"), value, dtype=like.value.dtype, device=device)

    def needs_default(self, generator: Any) -> None:
        """Raise unless random numbers are drawn from the default generator: programs have no other."""
        if isinstance(generator, Generator) and generator is not default_generator:
            raise NotSupported(
                f"trace: {self.name} draws from a generator of its own, which TorchScript cannot hold",
                notes={"line": self.node.line} if self.node.line else {},
                fix="draw from the default generator, which polyad.manual_seed starts",
            )

    def data(self) -> Text:
        """The tensor that the node made from data of the program's."""
        number = self.node.results[0]
        value: Value = self.body.graph.values[number]
        written = any(one.storage is value.storage and one.version for one in self.body.graph.values)
        text = self.body.program.constant(self.node.op.call(*self.node.args))
        return Text(f"torch.clone({text})") if written else text

    def program(self, name: str, results: int, *args: Any) -> list[Text]:
        """The results of a function of polyad's that the program has, too, for readers that do not have it."""
        function = self.body.program.function(name)
        called = f"{function}({', '.join([*map(self.body.written, args), ''])})"
        if results == 1:
            return [self.body.let(called)]
        names = [self.body.fresh() for _ in range(results)]
        self.body.lines.append(f"{', '.join(names)}, = {called}")
        return [Text(name) for name in names]
