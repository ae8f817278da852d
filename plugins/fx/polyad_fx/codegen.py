"""From a graph to the Python function that computes it.

`CodeGen` writes the function, a line for each node, and sets each value to None behind its last use. What a line names
besides nodes, such as a function of the user's or a dtype, becomes a global of the function.

To change what is written (another signature, other names for the arguments), derive from CodeGen and give an object to
`Graph.set_codegen`.
"""

from __future__ import annotations

import builtins
import enum
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union, get_args, get_origin

import polyad
from polyad.utils import _pytree

from .names import CUSTOM_BUILTINS, Namespace, is_of_torch, qualified_name, type_repr
from .node import Argument, Node

__all__ = ["CodeGen", "PythonCode", "last_uses"]

INFIX = {
    "add": "+", "and_": "&", "eq": "==", "floordiv": "//", "ge": ">=", "gt": ">", "le": "<=", "lshift": "<<", "lt": "<",
    "matmul": "@", "mod": "%", "mul": "*", "ne": "!=", "or_": "|", "pow": "**", "rshift": ">>", "sub": "-",
    "truediv": "/", "xor": "^",
}  # fmt: skip
"""Functions of the module operator by the sign that they are written with, between their operands."""

PREFIX = {"invert": "~", "neg": "-", "pos": "+"}
IN_PLACE = {
    f"i{name.rstrip('_')}": f"{sign}="
    for name, sign in INFIX.items()
    if name not in ("eq", "ge", "gt", "le", "lt", "ne")
}


@dataclass
class PythonCode:
    """What was written.

    Attributes:
        src: the source of the function, after the lines that it needs before it.
        globals: what names in it stand for.
    """

    src: str
    globals: dict[str, Any]


class _PyTreeInfo(NamedTuple):
    """How the arguments and the result of a function nest, whose graph has their leaves.

    Attributes:
        orig_args: the names of the parameters.
        in_spec: the structure of the arguments; of ``(args, kwargs)`` where there are keyword arguments.
        out_spec: that of the result; None if it is a leaf.
    """

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


def last_uses(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """For each node, those whose values nobody needs after it."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for node in reversed(list(nodes)):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


@dataclass
class _Writing:
    """The state of writing one function."""

    namespace: Namespace
    root: str
    globals: dict[str, Any] = field(default_factory=dict)
    wrapped: dict[str, None] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)
    returned: str = ""

    def name_of(self, hint: str, value: Any) -> str:
        """The name by which the code reaches *value*, which becomes a global unless it is polyad's."""
        if hasattr(value, "__name__") and is_of_torch(value) and value is not polyad.device:
            return qualified_name(value)
        name = self.namespace.create_name(hint.replace(".", "_"), value)
        self.globals.setdefault(name, value)
        return name

    def annotation(self, annotated: Any) -> str:
        """A type as the code writes it."""
        if annotated is None or annotated == ():
            return "()" if annotated == () else "None"
        if annotated is ... or isinstance(annotated, str):
            return "..." if annotated is ... else repr(annotated)
        origin = get_origin(annotated)
        if origin is not None:
            parts = ", ".join(map(self.annotation, get_args(annotated)))
            if type_repr(origin) in ("UnionType", "Union", "types.UnionType", "typing.Union"):
                return f"{self.name_of('typing_Union', Union)}[{parts}]"
            base = self.name_of(type_repr(origin), origin)
            return f"{base}[{parts}]" if parts else base
        return self.name_of(type_repr(annotated), annotated)

    def written(self, value: Argument) -> str:
        """An argument as the code writes it."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, polyad.Size):
            return f"torch.Size({list(value)})"
        if isinstance(value, tuple):
            return self._tuple(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.written, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.written(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.written(value.start)}, {self.written(value.stop)}, {self.written(value.step)})"
        if isinstance(value, (polyad.dtype, polyad.memory_format, polyad.layout)):
            return f"torch.{str(value).rpartition('.')[2]}"
        if isinstance(value, enum.Enum):
            return f"{self.name_of(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, polyad.device):
            return repr(value) if repr(value).startswith("device(") else f"device({str(value)!r})"
        if isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
            return self.name_of(qualified_name(value), value)
        if isinstance(value, float) and not math.isfinite(value):
            return repr(value)  # inf and nan are names that the code has
        if type(value) in (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range):
            return repr(value)
        return self.name_of(f"_value_{type(value).__name__}", value)

    def _tuple(self, value: tuple[Any, ...]) -> str:
        items = ", ".join(map(self.written, value))
        if hasattr(value, "_fields"):
            return f"{self.name_of(qualified_name(type(value)), type(value))}({items})"
        return f"({items},)" if len(value) == 1 else f"({items})"

    def call(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> str:
        """Arguments as a call has them between its parentheses."""
        by_name = [f"{name} = {self.written(value)}" for name, value in kwargs.items()]
        return ", ".join([*map(self.written, args), *by_name])

    # ----------------------------------------------------------------------------------------------------- the lines

    def line(self, node: Node) -> str | None:
        """What *node* computes as a line, None where it is a parameter of the function."""
        note = "" if node.type is None else f" : {self.annotation(node.type)}"
        if node.op == "placeholder":
            default = "" if not node.args else f" = {self.written(node.args[0])}"
            self.parameters.append(f"{node.target}{note}{default}")
            raw = str(node.target).replace("*", "")
            return f"{node!r} = {raw}" if raw != repr(node) else None
        if node.op == "call_method":
            owner = self.written(node.args[0])
            return f"{node!r}{note} = {_reach(owner, str(node.target))}({self.call(node.args[1:], node.kwargs)})"
        if node.op == "call_function":
            return self._function(node, note)
        if node.op == "call_module":
            return f"{node!r}{note} = {_reach(self.root, str(node.target))}({self.call(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return f"{node!r}{note} = {_reach(self.root, str(node.target))}"
        if node.type is not None:
            self.returned = f" -> {self.annotation(node.type)}"
        return None

    def _function(self, node: Node, note: str) -> str:
        target, args = node.target, node.args
        assert callable(target)
        name = getattr(target, "__name__", "")
        if getattr(operator, name, None) is target and not node.kwargs:
            if name in INFIX and len(args) == 2:
                left, right = map(self.written, args)
                left = f"({left})" if left.startswith("-") else left  # -2 ** x is -(2 ** x)
                return f"{node!r}{note} = {left} {INFIX[name]} {right}"
            if name in PREFIX and len(args) == 1:
                return f"{node!r}{note} = {PREFIX[name]}{self.written(args[0])}"
            if name in IN_PLACE and len(args) == 2:
                left, right = map(self.written, args)
                return f"{left} {IN_PLACE[name]} {right};  {node!r}{note} = {left}"
            if name == "getitem" and len(args) == 2:
                return f"{node!r}{note} = {self.written(args[0])}[{self.written(args[1])}]"
        path = qualified_name(target)
        reached = self.name_of(path, target)
        if target is builtins.getattr and len(args) == 2 and str(args[1]).isidentifier() and isinstance(args[1], str):
            return f"{node!r}{note} = {_reach(self.written(args[0]), args[1])}"
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(reached)
        return f"{node!r}{note} = {reached}({self.call(args, node.kwargs)})"


def _reach(base: str, path: str) -> str:
    """Code for an attribute by its dotted path, whose parts need not be identifiers."""
    for name in path.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base


class CodeGen:
    """Writes the function of a graph; derive from it to write another. See `Graph.set_codegen`."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line ``def forward(...)``; *free_vars* are its parameters with their annotations and defaults."""
        parameters = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def forward({', '.join(parameters)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Argument) -> str:
        """The line that returns; nodes in *output_args* are printed as their names."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """What the placeholders get of the function's arguments."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns for what the output node has."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names, with their values, that the lines of this class use."""
        return []

    def _gen_python_code(self, nodes: Iterable[Node], root_module: str, namespace: Namespace) -> PythonCode:
        writing = _Writing(namespace, root_module)
        for name, builtin in CUSTOM_BUILTINS.items():
            writing.globals[name] = builtin.value
            namespace.create_name(name, builtin.value)
        for name, value in self.additional_globals():
            writing.name_of(name, value)
        nodes = list(nodes)
        ends = last_uses(nodes)
        lines: list[str] = []
        for node in nodes:
            text = writing.line(node)
            if node.op == "output":
                text = self.generate_output(_Written.of(node.args[0], writing))
            elif node.op != "placeholder":
                gone = [*ends.get(node, ()), *([] if node.users else [node])]
                text = f"{text}" + (f";  {' = '.join([*map(repr, gone), 'None'])}" if gone else "")
            if text is not None:
                lines.append(f"{text}\n")
        return self._assembled(writing, lines or ["pass\n"])

    def _assembled(self, writing: _Writing, lines: list[str]) -> PythonCode:
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        if writing.wrapped:
            from ._symbolic_trace import wrap

            writing.globals["wrap"] = wrap
        wraps = "".join(f'wrap("{name}")\n' for name in writing.wrapped)
        definition = self.gen_fn_def(writing.parameters, writing.returned)
        body = "".join("    " + line for line in "".join(lines).splitlines(keepends=True))
        return PythonCode(f"\n{wraps}\n\n{definition}\n{body}", writing.globals)


class _Written:
    """A value that prints as the code for it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    @classmethod
    def of(cls, value: Argument, writing: _Writing) -> Argument:
        """*value*, or where it is no plain container what prints as its code."""
        if type(value) is tuple:
            return tuple([cls.of(item, writing) for item in value])
        if isinstance(value, Node):
            return value
        return cls(writing.written(value))


class _PyTreeCodeGen(CodeGen):
    """Writes a function whose arguments and result nest, for a graph of their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """See `CodeGen`: the leaves."""
        return _pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        """See `CodeGen`: the leaves in their structure."""
        spec = self.pytree_info.out_spec
        if not isinstance(out, (list, tuple)):
            out = [out]
        return out if spec is None else _pytree.tree_unflatten(out, spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """See `CodeGen`: with the line that takes the arguments apart."""
        parameters = list(self.pytree_info.orig_args)
        own = parameters[:1] == ["self"]  # of a module that was traced: it is in the structure
        definition = super().gen_fn_def(parameters, maybe_return_annotation)
        if not free_vars:
            return definition
        split = [one.partition(" : ") for one in free_vars]
        notes = "".join(f"    {name} : {rest.partition(' = ')[0]}\n" for name, colon, rest in split if colon)
        names = [*(["self"] if own else []), *(one[0].partition(" = ")[0] for one in split)]
        kwargs = self._names_of_kwargs()
        taken = f"[{', '.join(name for name in parameters if name not in kwargs)}]"
        if kwargs:
            taken = f"({taken}, {{{', '.join(f'{name!r}: {name}' for name in kwargs)}}})"
        leaves = f"{names[0]}," if len(names) == 1 else ", ".join(names)
        return f"{definition}\n{notes}    {leaves} = fx_pytree.tree_flatten_spec({taken}, self._in_spec)"

    def _names_of_kwargs(self) -> list[str]:
        spec = self.pytree_info.in_spec
        pair = spec.container is tuple and len(spec.children) == 2
        if pair and spec.children[0].container is tuple and spec.children[1].container is dict:
            return [str(key) for key in spec.children[1].keys]
        return []

    def generate_output(self, output_args: Argument) -> str:
        """See `CodeGen`: built again from the leaves."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"
