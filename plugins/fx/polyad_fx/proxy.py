"""Proxies: what a traced function is given in place of its arguments. Each operation on one makes a node and a proxy of
its result.

A proxy has ``__torch_function__``, so polyad's functions hand their calls over to it. What a proxy cannot know, such as
whether it is true or how often to iterate over it, raises `TraceError`.
"""

from __future__ import annotations

import dis
import inspect
import operator
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NoReturn

import polyad
from polyad.errors import NotSupported, PolyadError
from polyad.utils import _pytree

from .codegen import INFIX
from .graph import Graph
from .names import is_magic, is_of_torch
from .node import Argument, GraphError, Node, Target, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


class TraceError(PolyadError, ValueError):
    """A decision of the traced program that depends on a value which is not known while it is traced."""


class Scope:
    """The module whose ``forward`` is being traced.

    Attributes:
        module_path: where it is in the root; the empty string for the root.
        module_type: its class.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """While it is entered, *scope* says the same as *current_scope*; then it says again what it said.

    Entering gives *scope*.
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = scope.module_path, scope.module_type
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exception: Any) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TracerBase:
    """What makes nodes of calls, for `polyad.fx.Tracer` and for proxies that are made by hand.

    Attributes:
        graph: that nodes are added to.
        record_stack_traces: whether ``node.meta["stack_trace"]`` says where the program was.
        check_mutable_operations: whether functions that write into a tensor raise RuntimeError.
        trace_asserts: whether ``assert proxy`` becomes a node that asserts.
        proxy_buffer_attributes: whether buffers that are looked up become nodes at once, as parameters do, and not
            only where a proxy meets them.
        traced_func_name: the method of a module that is traced.
    """

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope = Scope("", None)
    module_stack: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the end of the graph. Derive to change or refuse what is traced."""
        if kind == "call_function" and self.check_mutable_operations:
            _check_functional(target, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.__dict__.setdefault("node_name_to_scope", {})[node.name] = self.scope.module_path, self.scope.module_type
        stack = self.__dict__.get("module_stack")
        if stack:
            node.meta["nn_module_stack"] = dict(stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node's result."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Proxy:
        """A node for a call whose arguments are as the program has them, and the proxy of its result."""
        own_args, own_kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, own_args, own_kwargs, name, type_expr)
        proxy: Proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not node.meta.get("stack_trace"):
            frame = self._find_user_frame()
            if frame is not None:
                node.meta["stack_trace"] = "".join(
                    traceback.StackSummary.extract(traceback.walk_stack(frame)).format()[::-1]
                )
        return proxy

    def _find_user_frame(self) -> FrameType | None:
        """The innermost frame that is neither polyad's nor the interpreter's."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "polyad":
            frame = frame.f_back
        return frame

    def create_arg(self, a: Any) -> Argument:
        """What a value of the program is as an argument of a node: the node of a proxy, containers of these, and values
        that code can write. Raises NotImplementedError for others.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return (
                type(a)(*items) if hasattr(a, "_fields") else type(a)(items) if type(a) is not tuple else tuple(items)
            )
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._created_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, _PLAIN) or a is None or a is ... or is_enum(a) or isinstance(a, type):
            return a
        if inspect.isfunction(a) or inspect.isbuiltin(a) or hasattr(a, "_opname"):
            return a
        raise NotSupported(
            f"fx: an argument of type {type(a)} cannot be written as code",
            operands={"argument": a},
            fix="pass numbers, strings, dtypes, devices and containers of these, or wrap the function that takes it",
        )

    def _created_key(self, key: Any) -> Any:
        made = self.create_arg(key)

        def refuse(value: Any) -> Any:
            if isinstance(value, Node):
                raise NotSupported(
                    f"fx: {value.name} is a key of a dict, and keys cannot be nodes: a value that is not known yet",
                    fix="use a key that does not depend on tensors",
                )
            return value

        return map_aggregate(made, refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """What ``bool(proxy)`` is. Raises TraceError; derive to decide."""
        raise self._refusal(
            obj, "its truth is asked for, by if, while, and, or, not or assert",
            "polyad.cond or polyad.where, or a constant: symbolic_trace(f, concrete_args={...})",
        )  # fmt: skip

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What ``iter(proxy)`` is. Raises TraceError; derive to decide."""
        raise self._refusal(
            obj, "it is iterated over, or passed on with *, which needs to know how many items there are",
            "x[0], x[1], ..., or a, b = x, or a function that is wrapped by polyad.fx.wrap",
        )  # fmt: skip

    def keys(self, obj: Proxy) -> Any:
        """What ``proxy.keys()`` is, as ``**proxy`` asks for it."""
        return Attribute(obj, "keys")()

    def _refusal(self, obj: Proxy, why: str, instead: str) -> TraceError:
        return TraceError(
            f"fx: the value of {obj.node.name} is not known while it is traced, and {why}",
            notes={"node": str(obj.node.format_node())},
            fix=f"use {instead}",
        )


_PLAIN = (
    str, bytes, int, float, bool, complex, polyad.dtype, polyad.device, polyad.memory_format, polyad.layout,
    polyad.Tensor,
)  # fmt: skip


_UNANSWERED = frozenset({"__array_namespace__", "__fx_create_arg__", "__torch_dispatch__", "__wrapped__"})
"""What libraries ask of any object, to treat it in a way of its own."""


def is_enum(value: Any) -> bool:
    """Whether *value* is a member of an enumeration."""
    return any(cls.__module__ == "enum" for cls in type(value).__mro__)


def _check_functional(target: Target, kwargs: dict[str, Any]) -> None:
    name = getattr(target, "__name__", "")
    out = "out" in kwargs or kwargs.get("inplace") is True
    if is_of_torch(target) and (out or (name.endswith("_") and not name.endswith("__"))):
        raise GraphError(
            f"{name}: it writes into a tensor, and the tracer refuses mutable operations",
            fix="call the function that gives a new tensor, or set check_mutable_operations = False",
        )


class GraphAppendingTracer(TracerBase):
    """Adds nodes to the end of a graph, for proxies that are made by hand: ``Proxy(node)``."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.module_stack = {}
        self.node_name_to_scope = {}


class Proxy:
    """Stands for the value of a node: operations on it make nodes.

    Args:
        node: whose value it is.
        tracer: what makes the nodes; by default they are added to the node's graph.

    Raises:
        polyad.fx.proxy.TraceError: when the program asks for what only the value could tell, as ``if proxy:``.

    >>> import polyad as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> y = torch.relu(x + 1).sum()
    >>> _ = graph.output(y.node)
    >>> torch.fx.GraphModule({}, graph)(torch.tensor([-3.0, 2.0]))
    tensor(3.)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Proxy:
        polyad.overrides.ask_first(cls)  # what a function looks at would be in the graph
        return super().__new__(cls)

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in _UNANSWERED:
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise self.tracer._refusal(self, "it is copied deeply", "x.clone()")

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        count = _unpacked(frame)
        if count is not None:
            return iter([operator.getitem(self, number) for number in range(count)])
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The node of ``x.keys()``."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise self.tracer._refusal(
            self, "len() gives Python numbers alone",
            'x.shape[0], or let len be traced: polyad.fx.wrap("len") in the module of the traced function',
        )  # fmt: skip

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tracer = _only_tracer(_pytree.tree_leaves((args, kwargs)))
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__") and getattr(func, "__self__", None) is not None:
            found = getattr(getattr(func.__self__, "fget", None), "__name__", name)
            return tracer.create_proxy("call_function", getattr, (args[0], found), {})
        if is_magic(name) or (name.endswith("_") and getattr(func, "__qualname__", "").startswith("Tensor.")):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs, name=tracer.graph._target_to_str(name))


def _only_tracer(values: Iterable[Any]) -> TracerBase:
    """The tracer of the proxies among *values*."""
    tracers: dict[int, TracerBase] = {}
    for value in values:
        if isinstance(value, Proxy):
            tracers.setdefault(id(value.tracer), value.tracer)
    first, *others = tracers.values()
    if any(other.graph is not first.graph for other in others):
        raise TraceError("fx: proxies of two tracers meet in one call", fix="trace one function at a time")
    return first


def _instruction(frame: FrameType) -> tuple[list[dis.Instruction], int]:
    """The instructions of a frame, and which of them runs."""
    instructions = list(dis.get_instructions(frame.f_code))
    place = next(number for number, one in enumerate(instructions) if one.offset == frame.f_lasti)
    return instructions, place


def _unpacked(frame: FrameType) -> int | None:
    """Into how many names the instruction of *frame* unpacks, if it does: ``a, b = x``."""
    instructions, place = _instruction(frame)
    running = instructions[place]
    return running.arg if running.opname == "UNPACK_SEQUENCE" else None


def _is_asserted(frame: FrameType) -> bool:
    """Whether the instruction of *frame* decides an ``assert``."""
    instructions, place = _instruction(frame)
    following = next((one for one in instructions[place + 1 :] if one.opname != "CACHE"), None)
    running = instructions[place]
    if running.opname == "TO_BOOL" and following is not None:  # from Python 3.13
        following = next(
            (one for one in instructions[place + 2 :] if one.opname not in ("CACHE", following.opname)), None
        )
        running = instructions[place + 1]
    return (
        "JUMP" in running.opname
        and "IF_TRUE" in running.opname
        and following is not None
        and (following.opname == "LOAD_ASSERTION_ERROR" or following.argval is AssertionError)
    )


def assert_fn(x: object) -> None:
    """What ``assert x`` is in a graph."""
    assert x


class Attribute(Proxy):
    """An attribute of a proxy, which becomes a node once it is used as a value; calling it is a call of the method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of ``getattr(root, attr)``."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape is known, so that programs may decide by it; see ``param_shapes_constant``."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: polyad.nn.Parameter) -> None:
        super().__init__(node, tracer)
        self.name, self.param = name, param

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape, no proxy."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of a dimension."""
        return self.param.size() if dim is None else self.param.size(dim)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.param.dim()

    def numel(self) -> int:
        """The number of elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of elements."""
        return self.param.numel()


def _define_operators() -> None:
    """Let proxies have Python's operators, from either side."""

    def forward(function: Any) -> Any:
        def operated(self: Proxy, *args: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (self, *args), {})

        return operated

    def reflected(function: Any) -> Any:
        def operated(self: Proxy, other: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return operated

    for name in (*INFIX, "neg", "pos", "invert", "getitem", "setitem", "delitem"):
        setattr(Proxy, f"__{name.rstrip('_')}__", forward(getattr(operator, name)))
    for name in INFIX:
        if name not in ("eq", "ge", "gt", "le", "lt", "ne"):
            setattr(Proxy, f"__r{name.rstrip('_')}__", reflected(getattr(operator, name)))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_define_operators()
