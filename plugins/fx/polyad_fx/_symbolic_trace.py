"""From a function or module to a graph: it is called with proxies, which record what it does with them.

While `Tracer.trace` runs, calls of modules and what modules give as attributes go through the tracer, and functions for
which `wrap` was called are nodes where a proxy is among their arguments. Modules of polyad's are leaves: one node, not
looked into.
"""

from __future__ import annotations

import collections
import functools
import inspect
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import polyad
from polyad import Tensor, nn
from polyad.errors import ArgumentTypeError, ConditionError
from polyad.utils import _pytree

from .codegen import _PyTreeCodeGen, _PyTreeInfo
from .graph import Graph
from .graph_module import GraphModule, set_member
from .intercepting import WRAPPED, Patches, intercepted, is_tracing, proxy_among
from .names import is_of_torch
from .node import Argument, GraphError, Node
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = [
    "PH",
    "PHBase",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

F = TypeVar("F")


class PHBase:
    """Of `PH`: an argument that stays an input where `concrete_args` nests."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


def is_fx_tracing() -> bool:
    """Whether this thread traces a program."""
    return is_tracing()


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass: while a tracer is at work, making an object of the class with a proxy among the arguments is a node
    that calls the class.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if is_fx_tracing():
            found = proxy_among((args, kwargs))
            if found is not None:
                return found.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """Traces a module or function; derive from it to change what is a leaf, and how calls become nodes.

    Args:
        autowrap_modules: modules whose functions are nodes where they are called with proxies, as by `wrap`.
        autowrap_functions: further such functions.
        param_shapes_constant: whether ``self.weight.shape`` is a shape, and no node.

    >>> import polyad as torch
    >>> class Deep(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> [node.name for node in Deep().trace(model).nodes]
    ['input_1', '_0_weight', '_0_bias', 'linear', 'relu', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_modules = autowrap_modules
        self._autowrapped = {
            id(value)
            for name, value in chain.from_iterable(vars(module).items() for module in autowrap_modules)
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    # -------------------------------------------------------------------------------------------------- to be derived

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether calls of *m* are one node each: True for polyad's layers, but for Sequential."""
        return is_of_torch(type(m)) and not isinstance(m, nn.Sequential) and not isinstance(m, GraphModule)

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a call of a module gives: a proxy for a leaf, else what *forward* makes of the proxies."""
        path = self.path_of_module(m)
        count = self.num_calls[path] = self.num_calls.get(path, 0) + 1
        key = path if count == 1 else f"{path}@{count - 1}"
        self.module_stack[key] = (path, type(m))
        try:
            with ScopeContextManager(self.scope, Scope(path, type(m))):
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
        finally:
            del self.module_stack[key]

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What a module gives as its attribute *attr*, which is *attr_val*: a proxy for a parameter."""
        if isinstance(attr_val, nn.Parameter):
            return self._proxy_of_member(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of_member(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of_member(self, value: Tensor, members: Iterator[tuple[str, Tensor]], cache: dict[str, Any]) -> Any:
        name = next((name for name, member in members if member is value), None)
        if name is None:
            return value
        if name not in cache:
            factory = None
            if self.param_shapes_constant and isinstance(value, nn.Parameter):
                factory = functools.partial(self._parameter_proxy, name, value)
            more: dict[str, Any] = {} if factory is None else {"proxy_factory_fn": factory}
            cache[name] = self.create_proxy("get_attr", name, (), {}, **more)
        return cache[name]

    def _parameter_proxy(self, name: str, value: Any, node: Node) -> ParameterProxy:
        return ParameterProxy(self, node, name, value)

    def path_of_module(self, mod: nn.Module) -> str:
        """Where *mod* is in the root. Raises NameError if it is not in it."""
        path = (self.submodule_paths or {}).get(mod)
        if path is None:
            path = next((name for name, module in self.root.named_modules() if module is mod), None)
        if path is None:
            raise NotInstalled(
                f"fx: a module that is called is not installed as a submodule of {type(self.root).__name__}",
                operands={"module": type(mod).__name__},
                fix="assign it to an attribute of the traced module in __init__",
            )
        return path

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name for an attribute of the root that is free: *prefix* and a number."""
        if not hasattr(self.root, prefix):
            return prefix
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Argument:
        """See `TracerBase`. Parameters, buffers, other tensors and modules become nodes that get them from the root."""
        members: Any = ()
        if isinstance(a, Tensor):
            members = self.root.named_parameters() if isinstance(a, nn.Parameter) else self.root.named_buffers()
        elif isinstance(a, nn.Module):
            members = self.root.named_modules()
        found = next((name for name, member in members if member is a), None)
        if found is not None:
            return self.create_node("get_attr", found, (), {})
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._constant("_tensor_constant", a), (), {})
        if isinstance(type(a), ProxyableClassMeta):
            return self.create_node("get_attr", self._constant(f"_{type(a).__name__}_constant_", a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields") and any(isinstance(item, Proxy) for item in a):
            return self.create_node("call_function", type(a), tuple([self.create_arg(item) for item in a]), {})
        return super().create_arg(a)

    def _constant(self, prefix: str, value: Any) -> str:
        """The name under which the root has a constant that the traced function used."""
        if value in self.tensor_attrs:
            return self.tensor_attrs[value]
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        name = f"{prefix}{number}"
        self.tensor_attrs[value] = name
        set_member(value, self.root, name)
        return name

    # --------------------------------------------------------------------------------------------------------- tracing

    def trace(self, root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of *root*.

        Args:
            concrete_args: values of arguments that are to be constants, by name. Where one nests, `PH` stands for what
                stays an input.

        Raises:
            polyad.fx.proxy.TraceError: what *root* does depends on a value that is not known while it is traced.
        """
        is_module = isinstance(root, nn.Module)
        function = self._root_function(root)
        extras = {"param_shapes_constant": True} if type(self) is Tracer and self.param_shapes_constant else None
        self.graph = Graph(tracer_cls=type(self), tracer_extras=extras)
        self.tensor_attrs: dict[Any, str] = {}
        _collect_attributes(self.root, "", self.tensor_attrs)
        traced, args = self.create_args_for_root(function, is_module, concrete_args)
        patches = Patches(self._autowrapped)
        with intercepted(self, patches):
            patches.visit(getattr(inspect.unwrap(function), "__globals__", {}))
            for module in self._autowrap_modules:
                patches.visit(vars(module))
            result = self.create_arg(traced(*args))
            self.create_node("output", "output", (result,), {}, type_expr=self._annotations.get("return"))
        self.submodule_paths = None
        return self.graph

    def _root_function(self, root: nn.Module | Callable[..., Any]) -> Callable[..., Any]:
        """The function that is traced; `root` becomes the module whose members nodes name."""
        if isinstance(root, nn.Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise ConditionError(
                    f"Tracer.trace: {type(root).__name__} has no method {self.traced_func_name!r}",
                    fix="set traced_func_name to the method that is to be traced",
                )
            self.root_module_name = type(root).__name__
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            return getattr(type(root), self.traced_func_name)
        if not callable(root):
            raise ArgumentTypeError(
                f"Tracer.trace: root is {type(root).__name__}, neither a Module nor a function",
                operands={"root": root},
                fix="pass what is to be traced",
            )
        self.root = nn.Module()
        return root

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Make the placeholders. Returns the function that is to be called and the proxies that it is called with."""
        analysed: Any = inspect.unwrap(root_fn)
        if not hasattr(analysed, "__code__"):
            analysed = type(root_fn).__call__
        analysed = getattr(analysed, "__func__", analysed)
        code = analysed.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        signature, names = inspect.signature(analysed), list(code.co_varnames)
        self._annotations = annotations_of(analysed)
        if is_module and not total:
            raise GraphError(
                f"Tracer.trace: {root_fn.__qualname__} takes self as part of *args, so it cannot be told apart",
                fix="write def forward(self, ...)",
            )
        first = 1 if is_module or analysed is not inspect.unwrap(root_fn) else 0  # behind self
        concrete = _by_name(concrete_args or {}, names[first:total])
        args: list[Any] = [self.root] if is_module else []
        args += [self._placeholder(name, concrete, signature) for name in names[first:total]]
        rest = iter(names[total:])
        if code.co_flags & inspect.CO_VARARGS:
            args.append(self._placeholder(f"*{next(rest)}", concrete, signature))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            args.append(self._placeholder(f"**{next(rest)}", concrete, signature))
        if code.co_kwonlyargcount or len(args) > total - first + is_module:
            root_fn = _by_position(root_fn)
        leaves, structure = _pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in structure.children):
            return root_fn, args
        self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names[:total], structure, None)))
        return functools.partial(self._nested, root_fn, structure), leaves

    def _nested(self, function: Callable[..., Any], structure: Any, *leaves: Any) -> Any:
        result, found = _pytree.tree_flatten(function(*_pytree.tree_unflatten(leaves, structure)))
        codegen: Any = self.graph._codegen
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=found)
        return result

    def _placeholder(self, name: str, concrete: dict[str, Any], signature: inspect.Signature) -> Any:
        plain = name.lstrip("*")
        if name in concrete:
            return self._specialized(name, concrete[name], signature)
        parameter = signature.parameters.get(plain)
        default: tuple[Any, ...] = ()
        if parameter is not None and parameter.default is not inspect.Parameter.empty and not name.startswith("*"):
            default = (parameter.default,)
        return self.create_proxy("placeholder", name, default, {}, type_expr=self._annotations.get(plain))

    def _specialized(self, name: str, given: Any, signature: inspect.Signature) -> Any:
        """The value of a concrete argument, and the nodes that check it in later calls."""
        if isinstance(given, PHBase):
            return self._placeholder(name, {}, signature)
        count = 0

        def input_of(leaf: Any) -> Any:
            nonlocal count
            count += 1
            default = signature.parameters[name].default
            args = () if default is inspect.Parameter.empty else (default,)
            made = self.create_proxy("placeholder", f"{name}_{count}", args, {})
            if isinstance(leaf, PHBase):
                return made
            message = f"{name} was traced as {leaf!r}, and is another value now"
            if isinstance(leaf, (bool, int, float, str, bytes, complex, polyad.dtype)):
                self.create_proxy("call_function", polyad._assert, (operator.eq(made, leaf), message), {})
            elif leaf is None:
                self.create_proxy("call_function", _assert_is_none, (made, message), {})
            else:
                warnings.warn(
                    f"Tracer: {name} is {type(leaf).__name__}, and calls do not check that it is the same", stacklevel=2
                )
            return leaf

        return _pytree.tree_map(input_of, given)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied


def _by_name(concrete_args: Any, names: list[str]) -> dict[str, Any]:
    """Concrete arguments, which may be a tuple of all, by their names."""
    if isinstance(concrete_args, tuple):
        if len(concrete_args) != len(names):
            raise GraphError(
                f"Tracer.trace: {len(concrete_args)} concrete_args for {len(names)} arguments",
                fix="pass a value, or PH, for each",
            )
        return dict(zip(names, concrete_args, strict=True))
    return dict(concrete_args)


class NotInstalled(polyad.errors.PolyadError, NameError):
    """A module that is called and is not in the traced one."""


def _assert_is_none(value: object, msg: str) -> None:
    assert value is None, msg


def _collect_attributes(module: nn.Module, prefix: str, found: dict[Any, str]) -> None:
    """The paths of the tensors that modules have as plain attributes."""
    roles = module.__dict__.get("_roles", {})
    for name, value in module.__dict__.items():
        if name not in roles and isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
            found.setdefault(value, f"{prefix}{name}")
    for name, child in module.named_children():
        _collect_attributes(child, f"{prefix}{name}.", found)


def annotations_of(function: Any) -> dict[str, Any]:
    """The annotations of a function that say something and can be told: strings are looked up where it is defined."""
    found = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, getattr(function, "__globals__", {}))
            except Exception:
                continue
        if annotation is not Any and annotation is not None:
            found[name] = annotation
    return found


def _by_position(function: Callable[..., Any]) -> Callable[..., Any]:
    """*function* with all its parameters, also ``*args`` and ``**kwargs``, taken by position."""
    if inspect.ismethod(function):
        return functools.partial(_by_position(function.__func__), function.__self__)
    inner: Any = inspect.unwrap(function)
    code = inner.__code__
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flat = code.replace(
        co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
        co_argcount=code.co_argcount + code.co_kwonlyargcount + stars,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
    )
    made = FunctionType(flat, inner.__globals__, inner.__name__, None, inner.__closure__)
    made.__annotations__ = inner.__annotations__
    return made


def wrap(fn_or_name: F) -> F:
    """Let a function be one node where a traced program calls it, instead of being traced through. To be called at the
    top of a module, with a function of that module or its name, or as a decorator.

    >>> import polyad as torch
    >>> @torch.fx.wrap
    ... def first(x):
    ...     return x[0] if len(x) else x
    >>> graph = torch.fx.symbolic_trace(lambda x: first(x) + 1).graph
    >>> [node.name for node in graph.nodes]
    ['x', 'first', 'add', 'output']

    Raises ValueError inside of a function, and for what is neither a function nor a name.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise ArgumentTypeError(
            f"wrap: {type(fn_or_name).__name__} is neither a function nor a name",
            fix="pass a global function or its name",
        )
    name = fn_or_name if isinstance(fn_or_name, str) else str(getattr(fn_or_name, "__name__", ""))
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotAtTop(
            f"wrap: it is called for {name} in {frame.f_code.co_name}, and not at the top level of a module",
            fix="call it outside of functions",
        )
    WRAPPED[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


class NotAtTop(polyad.errors.PolyadError, NotImplementedError):
    """A function wrapped where its module does not see it."""


def symbolic_trace(root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """What a module or function does, as a module with a graph that can be read and edited.

    Args:
        root: what is traced: it is called once, with proxies.
        concrete_args: values of arguments that are to be constants, by name.

    Raises:
        polyad.fx.proxy.TraceError: it decides by a value, as in ``if x.sum() > 0``.

    >>> import polyad as torch
    >>> module = torch.fx.symbolic_trace(lambda x, y: torch.relu(x) + y)
    >>> print(module.graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %y : [num_users=1] = placeholder[target=y]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %y), kwargs = {})
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)
