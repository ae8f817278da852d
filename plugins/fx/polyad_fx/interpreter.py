"""Running a graph node by node: `Interpreter` computes it, `Transformer` makes another graph of it.

Both are for deriving: a subclass says what becomes of a call by ``call_function``, ``call_method``, ``call_module``,
``get_attr``, ``placeholder`` or ``output``, or of any node by ``run_node``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polyad import nn
from polyad.errors import ArgumentTypeError

from ._symbolic_trace import Tracer
from .codegen import last_uses
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, GraphError, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Computes a graph node by node.

    Args:
        module: whose members the graph names.
        garbage_collect_values: whether a value is let go of behind its last use.
        graph: what is computed, by default the module's.

    Attributes:
        env: the values of the nodes that have run.

    >>> import polyad as torch
    >>> class Shapes(torch.fx.Interpreter):
    ...     def run_node(self, n):
    ...         result = super().run_node(n)
    ...         print(n.name, tuple(result.shape))
    ...         return result
    >>> module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    >>> _ = Shapes(module).run(torch.ones(4, 2))
    input_1 (4, 2)
    _0 (4, 3)
    _1 (4, 3)
    output (4, 3)
    """

    def __init__(self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        found = getattr(module, "graph", None) if graph is None else graph
        if not isinstance(found, Graph):
            raise ArgumentTypeError(
                f"Interpreter: {type(module).__name__} has no graph",
                fix="pass polyad.fx.symbolic_trace(module), or graph=",
            )
        self.module, self.graph = module, found
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses = last_uses(self.graph.nodes) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Compute the graph of *args*.

        Args:
            initial_env: values of nodes that are not to be computed.
            enable_io_processing: whether arguments and results nest as the traced function's did; else they are leaves.
        """
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node not in self.env:
                try:
                    self.env[node] = self.run_node(node)
                except Exception as error:
                    if self.extra_traceback:
                        error.add_note(f"in the node {node.format_node()}")
                    raise
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As `run` of the items of *args_list*, which is emptied, so that they can be let go of."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        """The value of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or the default in *args*. Raises RuntimeError if there is neither."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        missing = object()
        found = next(self.args_iter, missing)
        if found is not missing:
            return found
        if not args:
            raise GraphError(
                f"{self.name}: there is no argument for {target!r}: expected one more positional argument",
                fix="pass one for each placeholder",
            )
        return args[0]

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The module's attribute at a dotted path."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives."""
        assert callable(target)
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the method of the first argument gives."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the submodule gives."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What is returned."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The module's attribute at a dotted path. Raises RuntimeError if there is none."""
        found: Any = self.module
        for name in target.split("."):
            if not hasattr(found, name):
                raise GraphError(
                    f"{self.name}: {type(self.module).__name__} has no {target!r}", fix="add it, or name another"
                )
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node with values in place of nodes."""
        args, kwargs = self.map_nodes_to_values((n.args, n.kwargs), n)
        return args, kwargs

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """*args*, arguments of *n*, with values in place of nodes. Raises RuntimeError if one has not run."""

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise GraphError(
                    f"{self.name}: {n.name} uses {node.name}, which has no value yet", fix="see Graph.lint()"
                )
            return self.env[node]

        return map_arg(args, value_of)


class Transformer(Interpreter):
    """Makes another graph by running one with proxies: what the methods of a subclass do is recorded.

    >>> import polyad as torch
    >>> class Gelu(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is torch.relu:
    ...             return torch.nn.functional.gelu(*args)
    ...         return super().call_function(target, args, kwargs)
    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> [node.name for node in Gelu(module).transform().graph.nodes]
    ['x', 'gelu', 'add', 'output']
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _Transforming(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A placeholder of the new graph."""
        node = self.new_graph.create_node("placeholder", target, args[:1])
        return Proxy(node, self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the submodule in the new graph."""
        return self.tracer.call_module(self.fetch_attr(str(target)), lambda: None, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def run_node(self, n: Node) -> Any:
        """What stands for the node in the new graph; it takes the node's annotation and meta."""
        result = super().run_node(n)
        if isinstance(result, Proxy) and "node" in result.__dict__:
            made = result.node
            made.type = made.type or n.type
            for key, value in n.meta.items():
                made.meta.setdefault(key, value)
        return result

    def transform(self) -> GraphModule:
        """The module with the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            last = next(iter(reversed(self.graph.nodes)))
            made = map_aggregate(result, lambda value: value.node if isinstance(value, Proxy) else value)
            self.new_graph.output(made, type_expr=last.type).meta.update(last.meta)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)


class _Transforming(Tracer):
    """The tracer of a `Transformer`: modules are leaves."""

    def __init__(self, graph: Graph, root: nn.Module) -> None:
        super().__init__()
        self.graph, self.root = graph, root
        self.tensor_attrs = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """See `Tracer`."""
        return True
