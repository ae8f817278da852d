"""Graphs of calls that can be edited, and from which a Python function is written.

Between placeholders and output a graph has calls of functions, methods and modules in the order in which they run. What
a graph computes is what `Graph.python_code` says, so an edited graph runs once its `GraphModule` is recompiled.
"""

from __future__ import annotations

import builtins
import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import polyad
from polyad.errors import ArgumentTypeError

from .codegen import CodeGen, PythonCode, _PyTreeCodeGen, _PyTreeInfo
from .names import Namespace, is_magic, snake_case
from .node import Argument, GraphError, Node, Target, map_aggregate, map_arg

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen", "_PyTreeInfo"]


class _Root(Node):
    """The end of the linked list, behind the last node and before the first."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, "", "placeholder", "", (), {})
        self.op = "root"


class NodeList:
    """The nodes of a graph in order. Nodes may be added, moved and erased while it is iterated over."""

    def __init__(self, graph: Graph, step: str = "_next") -> None:
        self._graph, self._step = graph, step

    def __len__(self) -> int:
        return self._graph._count

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node: Node = getattr(root, self._step)
        while node is not root:
            following = getattr(node, self._step)
            if not node._erased:
                yield node
                # what was put behind the node meanwhile is seen, unless the node itself is gone
                following = following if node._erased else getattr(node, self._step)
            node = following

    def __reversed__(self) -> NodeList:
        return NodeList(self._graph, "_prev" if self._step == "_next" else "_next")


class _InsertPoint:
    """Where nodes are created, until it is left."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self._graph, self._before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._graph._insert = self._before


class Graph:
    """A graph of calls; `polyad.fx.symbolic_trace` makes one of a function, or it is written node by node.

    Args:
        owning_module: the module whose submodules and attributes its nodes name.
        tracer_cls: the class of the tracer that made it.
        tracer_extras: further arguments of that class.

    Attributes:
        nodes: the nodes in order.

    >>> import polyad as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("relu", (x,)))
    >>> torch.fx.GraphModule({}, graph)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type[Any] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._names = Namespace()
        self._count = 0
        self._places: dict[Node, int] | None = None
        self._root: Node = _Root(self)
        self._insert: Callable[[Node], None] = self._root.prepend
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen: CodeGen = CodeGen()

    @property
    def owning_module(self) -> GraphModule | None:
        """The module whose members its nodes name."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> NodeList:
        """The nodes in the order in which they run."""
        return NodeList(self)

    def output_node(self) -> Node:
        """The node that returns. Raises RuntimeError if there is none."""
        last = next(iter(reversed(self.nodes)), None)
        if last is None or last.op != "output":
            raise GraphError("Graph.output_node: there is no output", fix="make one: graph.output(node)")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and with *target* those of them that have it, in order.

        >>> import polyad as torch
        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(torch.relu(x))).graph
        >>> graph.find_nodes(op="call_function", target=torch.relu)
        [relu, relu_1]
        """
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # ----------------------------------------------------------------------------------------------- making of nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insertion point: the end, unless `inserting_before` or `inserting_after` is entered.

        Args:
            op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
            target: the function or the name.
            name: what it is to be called; by default a name that follows from *target*. Changed if it is taken.
            type_expr: an annotation of the result.

        Raises:
            ValueError: there is no such *op*, or *target* is not what it takes.
        """
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise ArgumentTypeError(
                "Graph.create_node: args must be a tuple and kwargs a dict",
                operands={"args": args, "kwargs": kwargs},
                fix="pass args=(...) and kwargs={...}",
            )
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, "", op, target, args, kwargs, type_expr)
        node.name = self._names.create_name(candidate, node)
        self._insert(node)
        self._count += 1
        for hook in self._hooks("_create_node_hooks"):
            hook(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Parameter.empty) -> Node:
        """An input called *name*; a name that begins with ``*`` or ``**`` takes all further arguments."""
        args = () if default_value is inspect.Parameter.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module at a dotted path. Warns if there is none."""
        self._warn_if_absent("get_attr", qualified_name)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of the submodule at a dotted path. Warns if there is none."""
        self._warn_if_absent("call_module", module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the function returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """A copy of *node*, which is of another graph; *arg_transform* gives for its arguments those of this graph."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        result = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy the nodes of *g* to the insertion point, without its output.

        *val_map* gets the copy of each node; a node that is in it already is left out. Returns what the output of *g*
        has, in this graph's nodes, or None; with *return_output_node* the pair of this and that output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda used: val_map[used])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda used: val_map[used])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = {} if memo is None else memo
        copied = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = copied
        nodes: dict[Node, Node] = {}
        result = copied.graph_copy(self, nodes, return_output_node=True)
        copied._codegen = copy.copy(self._codegen)
        if result is not None:
            value, old = result
            new = copied.output(value, type_expr=old.type)
            new.name, new.meta = old.name, copy.copy(old.meta)
            nodes[old] = new
        memo.update({id(old): new for old, new in nodes.items()})
        return copied

    def __copy__(self) -> Graph:
        return self.__deepcopy__()

    def __reduce__(self) -> Any:
        nodes = list(self.nodes)
        number = {node: _Place(place) for place, node in enumerate(nodes)}
        records = [
            (
                node.op,
                node.target,
                *map_arg((node.args, node.kwargs), number.__getitem__),
                node.name,
                node.type,
                node.meta,
            )
            for node in nodes
        ]
        return _from_records, (records, self._codegen, self._tracer_cls, self._tracer_extras)

    # ------------------------------------------------------------------------------------------------------- editing

    def erase_node(self, to_erase: Node) -> None:
        """Take a node away. Raises RuntimeError if another uses it. Erasing it again does nothing but warn."""
        if to_erase.users:
            raise GraphError(
                f"Graph.erase_node: {to_erase} has {len(to_erase.users)} users: {', '.join(map(repr, to_erase.users))}",
                fix="let them use another node first: node.replace_all_uses_with(other)",
            )
        if to_erase.graph is not self:
            raise GraphError(f"Graph.erase_node: {to_erase} is of another graph", fix="call it on that node's graph")
        if to_erase._erased:
            return
        for hook in self._hooks("_erase_node_hooks"):
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._count -= 1
        self._places = None
        to_erase._set((), to_erase.kwargs.__class__())

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A context in which nodes are made before *n*; None: at the beginning.

        >>> import polyad as torch
        >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x))
        >>> node = next(n for n in module.graph.nodes if n.target is torch.relu)
        >>> with module.graph.inserting_before(node):
        ...     twice = module.graph.call_function(torch.mul, (node.args[0], 2))
        >>> node.args = (twice,)
        >>> _ = module.recompile()
        >>> module(torch.ones(1))
        tensor([2.])
        """
        if n is None:
            return self.inserting_after(self._root)
        self._check_in(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A context in which nodes are made behind *n*, the later ones behind the earlier; None: at the end."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_in(n)
        last = [n]

        def insert(node: Node) -> None:
            last[0].append(node)
            last[0] = node

        return _InsertPoint(self, insert)

    def _check_in(self, n: Node) -> None:
        if n.graph is not self:
            raise GraphError(f"Graph: node {n} is not in this graph", fix="pass a node of this graph")

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that nobody uses, but for those of which *is_impure_node* is true (`Node.is_impure`).

        Returns whether there were any. Raises RuntimeError if the graph does not hold together.
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node) and node.op not in ("placeholder", "output"):
                self.erase_node(node)
                changed = True
        return changed

    def _moved(self, node: Node) -> None:
        self._places = None

    def _place(self, node: Node) -> int:
        """How many nodes are before *node*."""
        if self._places is None:
            self._places = {one: place for place, one in enumerate(self.nodes)}
        return self._places.get(node, len(self._places))

    def _tell_replaced(self, old: Node, new: str, user: Node) -> None:
        for hook in self._hooks("_replace_hooks"):
            hook(old=old, new=new, user=user)

    def _hooks(self, kind: str) -> list[Callable[..., Any]]:
        return getattr(self._owning_module, kind, None) or []

    def _warn_if_absent(self, method: str, path: str) -> None:
        found: Any = self._owning_module
        for name in path.split(".") if found is not None else ():
            if not hasattr(found, name):
                message = f"Graph.{method}: {type(self._owning_module).__name__} has no {path!r}, so the code will fail"
                warnings.warn(message, stacklevel=3)
                return
            found = getattr(found, name)

    def _module_at(self, path: str) -> polyad.nn.Module | None:
        found: Any = self._owning_module
        for name in path.split("."):
            found = getattr(found, name, None)
        return found if isinstance(found, polyad.nn.Module) else None

    # ---------------------------------------------------------------------------------------------------------- code

    def python_code(self, root_module: str, *, verbose: bool = False) -> PythonCode:
        """The function that computes the graph; *root_module* is the name that modules are reached by, "self".

        >>> import polyad as torch
        >>> print(torch.fx.symbolic_trace(lambda x: x + 1).graph.python_code("self").src.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
        """
        namespace = Namespace()

        def shown(node: Node) -> str:
            return namespace.create_name(node.name, node)

        before = {node: node._repr_fn for node in self.nodes}
        try:
            for node in before:
                node._repr_fn = shown
            return self._codegen._gen_python_code(self.nodes, root_module, namespace)
        finally:
            for node, function in before.items():
                node._repr_fn = function

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let *codegen* write the function."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[Callable[[list[str]], list[str]] | None], Callable[[list[str]], list[str]]]
    ) -> Any:
        """Let a function change the lines of the body whenever code is written.

        *make_transformer* gets the function that does so now, or None, and gives the one that does from now on.
        Returns a context manager, at whose end the former is back.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        class Restoring:
            def __enter__(entered) -> None:
                return None

            def __exit__(
                entered,
                exception_type: type[BaseException] | None,
                exception: BaseException | None,
                traceback: TracebackType | None,
            ) -> None:
                self._codegen._body_transformer = before

        return Restoring()

    def process_inputs(self, *args: Any) -> Any:
        """What the placeholders get of the function's arguments."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the function returns for what the output node has."""
        return self._codegen.process_outputs(out)

    def _target_to_str(self, target: Target) -> str:
        name = target if isinstance(target, str) else str(getattr(target, "__name__", type(target).__name__))
        return snake_case(name[2:-2] if is_magic(name) else name)

    def __str__(self) -> str:
        returned = [""]
        lines = [node.format_node(None, returned) for node in self.nodes]
        return f"graph(){returned[0]}:" + "".join(f"\n    {line}" for line in lines)

    def print_tabular(self) -> None:
        """Print a table of the nodes."""
        rows = [(node.op, node.name, str(node.target), str(node.args), str(node.kwargs)) for node in self.nodes]
        heads = ("opcode", "name", "target", "args", "kwargs")
        widths = [max(len(row[column]) for row in [*rows, heads]) for column in range(5)]
        for row in (heads, tuple("-" * width for width in widths), *rows):
            builtins.print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())  # noqa: T201

    def lint(self) -> None:
        """Raise RuntimeError unless the graph holds together: names differ, each node is made before it is used and by
        this graph, and what it names in the owning module is there.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise GraphError(f"Graph.lint: node {node.name} is of another graph", fix="copy it in")
            for used in node.all_input_nodes:
                self._check_use(node, used, seen)
            if node.name in names:
                raise GraphError(f"Graph.lint: two nodes are called {node.name}", fix="give each a name of its own")
            names.add(node.name)
            seen.add(node)
            if self.owning_module is not None:
                self._check_member(node)

    def _check_use(self, node: Node, used: Node, seen: set[Node]) -> None:
        if used.graph is not self:
            raise GraphError(
                f"Graph.lint: {used.name}, an argument of {node.name}, is of another graph",
                fix="copy it with Graph.node_copy",
            )
        if used not in seen:
            raise GraphError(
                f"Graph.lint: {used.name} is an argument of {node.name} and comes after it",
                fix="move it to the front with Node.prepend",
            )

    def _check_member(self, node: Node) -> None:
        if node.op not in ("get_attr", "call_module"):
            return
        found: Any = self.owning_module
        for name in str(node.target).split("."):
            if not hasattr(found, name):
                raise GraphError(
                    f"Graph.lint: {node.name} names {node.target}, and {type(found).__name__} has no attribute {name}",
                    fix="add it to the module, or name another",
                )
            found = getattr(found, name)
        if node.op == "call_module" and not isinstance(found, polyad.nn.Module):
            raise GraphError(f"Graph.lint: {node.name} calls {node.target}, which is no Module", fix="use get_attr")


@dataclass(frozen=True)
class _Place:
    """Stands for the node of that number in a pickle."""

    number: int


def _from_records(
    records: list[tuple[Any, ...]], codegen: CodeGen, tracer_cls: type[Any] | None, tracer_extras: dict[str, Any] | None
) -> Graph:
    """The graph that was pickled."""
    graph = Graph(tracer_cls=tracer_cls, tracer_extras=tracer_extras)
    nodes: list[Node] = []
    for op, target, args, kwargs, name, annotation, meta in records:
        args, kwargs = map_aggregate(
            (args, kwargs), lambda value: nodes[value.number] if isinstance(value, _Place) else value
        )
        node = graph.create_node(op, target, args, dict(kwargs), name, annotation)
        node.name, node.meta = name, meta
        nodes.append(node)
    graph._codegen = codegen
    return graph
