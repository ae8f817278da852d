"""Nodes: the calls of a `polyad.fx.Graph`, in a doubly linked list.

A node's arguments are nested tuples, lists, dicts and slices in which other nodes stand for values; setting them keeps
`Node.users` of those right. A list or dict among them becomes one that cannot be changed.
"""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import polyad
from polyad.errors import ArgumentError, PolyadError

from .immutable_collections import immutable_dict, immutable_list
from .names import is_of_torch, qualified_name, type_repr

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "GraphError", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument: TypeAlias = Any
"""A node, a value that code can write, or tuples, lists, dicts and slices of these."""

Target: TypeAlias = Callable[..., Any] | str

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")
"""The kinds of nodes."""


class GraphError(PolyadError, RuntimeError):
    """A graph that cannot be what an edit or a check asks of it."""


_side_effects: set[Callable[..., Any]] = {
    polyad._assert, polyad._check, polyad.manual_seed, operator.setitem, operator.delitem, builtins.setattr,
    builtins.print,
}  # fmt: skip
_DRAWING = frozenset({
    "bernoulli", "dropout", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm",
})  # fmt: skip
"""Functions that draw random numbers: whether one of them runs can be seen by those after it."""


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Say that calls of *fn* are not to be removed where nobody uses their results. Returns *fn*.

    >>> import polyad as torch
    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effects.add(fn)
    return fn


class Node:
    """One call, made by the methods of `Graph`, such as `Graph.call_function`.

    Attributes:
        graph: that it belongs to.
        name: unique in the graph.
        op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
        target: the function, or the name of the argument, attribute, method or module.
        users: the nodes among whose arguments it is, as the keys of a dict.
        type: an annotation of the result, or None.
        meta: a dict for passes to keep what they learn.

    >>> import polyad as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.add, (x, 1))
    >>> y.args, list(x.users), y.all_input_nodes
    ((x, 1), [add], [x])
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Mapping[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise ArgumentError(f"Node: there is no op {op!r}", fix=f"pass one of {', '.join(OPS)}")
        if op == "call_function":
            if not callable(target):
                raise ArgumentError(
                    f"Node [graph = {graph!r}, name = {name!r}] target {target!r} is no function",
                    fix="pass a function, or another op",
                )
        elif not isinstance(target, str):
            raise ArgumentError(f"Node: the target of {op} is {type(target).__name__}, not a str", fix="pass its name")
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._set(map_aggregate(tuple(args), _same), map_aggregate(dict(kwargs), _same))

    # ------------------------------------------------------------------------------------------------------- places

    @property
    def next(self) -> Node:
        """The node after it; that after the last is the graph's root, whose op is "root"."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move *x* to just before this node. Raises RuntimeError if it is of another graph."""
        self._check_same_graph(x)
        if x is self:
            return
        x._unlink()
        x._erased = False
        x._prev, x._next = self._prev, self
        self._prev._next = x
        self._prev = x
        self.graph._moved(x)

    def append(self, x: Node) -> None:
        """Move *x* to just behind this node."""
        self._check_same_graph(x)
        if x is not self:
            self._next.prepend(x)

    def _check_same_graph(self, x: Node) -> None:
        if self.graph is not x.graph:
            raise GraphError(
                f"Node: {x.name} is of another graph than {self.name}, and cannot be moved there",
                fix="copy it with Graph.node_copy",
            )

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self.graph._place(self) < self.graph._place(other)

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or other < self

    # ---------------------------------------------------------------------------------------------------- arguments

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by position."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._set(map_aggregate(tuple(a), _same), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._set(self._args, map_aggregate(dict(k), _same))

    def _set(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        self._input_nodes = dict.fromkeys(nodes_among((args, kwargs)))
        for used in self._input_nodes:
            used.users.setdefault(self)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once, in the order in which they come."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Make *arg* the argument at position *idx*."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put *arg* before the argument at position *idx*. Raises IndexError if there is no such place."""
        if not 0 <= idx <= len(self._args):
            raise polyad.errors.IndexOutOfRange(
                f"Node.insert_arg: idx {idx} of {len(self._args)} arguments", fix=f"pass 0 to {len(self._args)}"
            )
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Make *arg* the argument of that name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put *new_input* wherever *old_input* is among the arguments."""
        swap = {old_input: new_input}
        self._set(*map_arg((self._args, self._kwargs), lambda node: swap.get(node, node)))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the nodes that use this one use *replace_with*, those of which *delete_user_cb* is true.

        With *propagate_meta* the meta of this node goes to *replace_with*, whose own must be empty. Returns the nodes
        that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise GraphError(
                    f"Node.replace_all_uses_with: {replace_with.name} has meta of its own, and propagate_meta is set",
                    fix="empty it first, or leave propagate_meta out",
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            self.graph._tell_replaced(self, replace_with.name, user)
            user.replace_input_with(self, replace_with)
        return changed

    def normalized_arguments(
        self,
        root: polyad.nn.Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments as the signature of the target has them, a pair ``(args, kwargs)`` with defaults filled in;
        None where there is no signature to go by. *root* is the module that the node's module is in.
        """
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            assert callable(self.target)
            return normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            assert isinstance(self.target, str)
            return normalize_module(root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    # ------------------------------------------------------------------------------------------------------ meaning

    @property
    def stack_trace(self) -> str | None:
        """Where the program was when the node was traced, if the tracer records it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether removing the node could be noticed where nobody uses its result: it is an input or the output, writes
        into a tensor, draws random numbers (if *impure_random*), checks something, or calls a module of the user's.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effects or "out" in self._kwargs or self._kwargs.get("inplace") is True:
                return True
            schema = getattr(self.target, "_schema", None)
            name = getattr(getattr(self.target, "overloadpacket", self.target), "__name__", "")
            if schema is not None and schema.is_mutable:
                return True
            of_torch = is_of_torch(self.target)
            return of_torch and (_writes(name) or (impure_random and name in _DRAWING))
        if self.op == "call_method":
            return _writes(str(self.target))
        if self.op == "call_module":
            module = self.graph._module_at(str(self.target))
            return bool(getattr(module, "_is_impure", False)) or (impure_random and isinstance(module, _DROPOUTS))
        return False

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.graph._names.forget(self)
            self.name = self.graph._names.create_name(candidate, self)

    # ----------------------------------------------------------------------------------------------------- printing

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """One line that says what the node does.

        >>> import polyad as torch
        >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
        >>> [node.format_node() for node in graph.nodes][1]
        '%add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})'
        """
        note = "" if self.type is None else f"{type_repr(self.type)} "
        if self.op == "placeholder":
            text = str(self.target) + (f" : {type_repr(self.type)}" if self.type else "")
            if self._args:
                text += f" = {self._args[0]}"
            if placeholder_names:
                placeholder_names.append(text)
                return None
            text = f"%{self.name} : {note}[num_users={len(self.users)}] = {self.op}[target={self.target}]"
            return text + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return f"%{self.name} : {note}[num_users={len(self.users)}] = {self.op}[target={self.target}]"
        if self.op == "output":
            if self.type and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {type_repr(self.type)}"
            return f"return {self._args[0]}"
        target = self.target if isinstance(self.target, str) else printed_target(self.target)
        extra = ""
        if include_tensor_metadata and "tensor_meta" in self.meta:
            known = self.meta["tensor_meta"]
            extra = f" {getattr(known, 'dtype', '')}{list(getattr(known, 'shape', ()))}"
        return (
            f"%{self.name} : {note}[num_users={len(self.users)}]{extra} = {self.op}[target={target}]"
            f"(args = {_with_signs(self._args)}, kwargs = {_with_signs(self._kwargs)})"
        )


_DROPOUTS = (
    polyad.nn.Dropout, polyad.nn.Dropout1d, polyad.nn.Dropout2d, polyad.nn.Dropout3d, polyad.nn.AlphaDropout,
    polyad.nn.FeatureAlphaDropout, polyad.nn.RReLU,
)  # fmt: skip


_AUGMENTED = {
    f"__i{name}__"
    for name in (
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "matmul",
    )
} | {"__setitem__"}


def _writes(name: str) -> bool:
    """Whether a function of that name writes into its first argument."""
    return (name.endswith("_") and not name.endswith("__")) or name in _AUGMENTED


def printed_target(target: Any) -> str:
    """A function as lines about nodes show it."""
    name = qualified_name(target)
    if getattr(target, "__module__", None) == "_operator":
        return f"operator.{name.rpartition('.')[2]}"
    return f"{target.__module__}.{name}" if "." not in name and target.__module__ == "builtins" else name


def _with_signs(arg: Argument) -> str:
    """An argument with a ``%`` before each node."""
    if isinstance(arg, Node):
        return f"%{arg.name}"
    if isinstance(arg, tuple):
        items = ", ".join(map(_with_signs, arg))
        return f"({items},)" if len(arg) == 1 else f"({items})"
    if isinstance(arg, list):
        return f"[{', '.join(map(_with_signs, arg))}]"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_with_signs(value)}" for key, value in arg.items()) + "}"
    if isinstance(arg, slice):
        return f"slice({_with_signs(arg.start)}, {_with_signs(arg.stop)}, {_with_signs(arg.step)})"
    return printed_target(arg) if isinstance(arg, types.FunctionType) else str(arg)


def _same(value: Any) -> Any:
    return value


def nodes_among(arg: Argument) -> Iterator[Node]:
    """The nodes in an argument."""
    if isinstance(arg, Node):
        yield arg
    elif isinstance(arg, (tuple, list)):
        for item in arg:
            yield from nodes_among(item)
    elif isinstance(arg, dict):
        for item in arg.values():
            yield from nodes_among(item)
    elif isinstance(arg, slice):
        yield from nodes_among((arg.start, arg.stop, arg.step))


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """*a* with ``fn(node)`` in place of each node.

    >>> import polyad as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> torch.fx.map_arg((x, [x, 2]), lambda node: node.name)
    ('x', ['x', 2])
    """
    if not callable(fn):
        raise ArgumentError("map_arg: fn is no function", operands={"fn": fn}, fix="pass a function of a node")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """*a* with ``fn(value)`` in place of each value; tuples, lists, dicts and slices are looked into, and lists and
    dicts cannot be changed in the result.
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)
