"""Modules whose ``forward`` is written from a graph.

Each object has a class of its own, derived from `GraphModule` or from a class of the user's that is. It has the
function. The source is known to Python's line cache, so tracebacks show the lines.
"""

from __future__ import annotations

import builtins
import copy
import itertools
import linecache
import pickle
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import polyad
from polyad import Tensor, nn
from polyad.errors import ArgumentError, ArgumentTypeError, PolyadError

from .codegen import PythonCode, _PyTreeCodeGen
from .graph import Graph
from .intercepting import forget_wrapped
from .names import CUSTOM_BUILTINS, qualified_name

__all__ = ["GraphModule"]

_numbers = itertools.count()


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
"""Where ``meta`` names attributes that other libraries let copies keep; copies here keep all."""


class _CodeOnlyModule(nn.Module):
    """A module with these attributes."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


class NotCompiled(PolyadError, RuntimeError):
    """A GraphModule whose code was never written."""


def _function(src: str, scope: dict[str, Any], owner: Any) -> FunctionType:
    """The function ``forward`` that *src* defines; its lines can be looked up as long as *owner* lives."""
    filename = f"<polyad.fx {next(_numbers)}>"
    linecache.cache[filename] = (len(src), None, src.splitlines(keepends=True), filename)
    weakref.finalize(owner, linecache.cache.pop, filename, None)
    scope = dict(scope)
    weakref.finalize(owner, forget_wrapped, id(scope))
    exec(compile(src, filename, "exec"), scope)
    return scope["forward"]


def _copy_attr(source: Any, target: nn.Module, path: str) -> None:
    """Let *target* have at the dotted *path* what *source* has there; modules on the way are made."""
    *parents, name = path.split(".")
    for parent in parents:
        source = getattr(source, parent)
        inner = getattr(target, parent, None)
        if inner is source:
            return  # the whole module is shared
        if inner is None:
            inner = nn.Module()
            setattr(target, parent, inner)
        target = inner
    value = getattr(source, name)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        persistent = name not in getattr(source, "_non_persistent_buffers_set", ())
        target.register_buffer(name, value, persistent)
    else:
        setattr(target, name, value)


def set_member(value: Any, target: nn.Module, path: str) -> None:
    """Let *target* have *value* at the dotted *path*; modules on the way are made."""
    *parents, name = path.split(".")
    for parent in parents:
        if getattr(target, parent, None) is None:
            setattr(target, parent, nn.Module())
        target = getattr(target, parent)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


class GraphModule(nn.Module):
    """A module that computes a `Graph`.

    Args:
        root: where the modules and attributes come from that the graph names: a Module, or a dict from dotted paths.
        graph: what is computed; the module owns it from then on.
        class_name: the name of the object's class.

    Attributes:
        graph: assign another, or edit it and call `recompile`.
        code: the source of ``forward``.

    Raises:
        RuntimeError: *root* is a dict that lacks something that the graph names.

    >>> import polyad as torch
    >>> module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> print(module.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _0 = None
        return _1
    """

    _unexplained = ("__call__", "forward", "initialize_parameters")
    __jit_unused_properties__ = ("code", "graph")

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # the class of the user's, of which an object's own class is derived
        base = next(one for one in cls.__mro__ if not one.__dict__.get("_is_of_one_object", False))
        own = type("GraphModuleImpl", (base,), {"_is_of_one_object": True, "__module__": base.__module__})
        return super().__new__(own)

    def __init__(self, root: nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, nn.Module):
            self.training = root.training
            self._take_members(root, graph)
        elif isinstance(root, dict):
            self._take_items(root, graph)
        else:
            raise ArgumentTypeError(
                f"GraphModule: root is {type(root).__name__}, neither a Module nor a dict",
                operands={"root": root},
                fix="pass the module that was traced, or a dict from paths to modules and tensors",
            )
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = dict(getattr(root, "meta", None) or {})
        self._create_node_hooks: list[Callable[..., Any]] = []
        self._erase_node_hooks: list[Callable[..., Any]] = []
        self._replace_hooks: list[Callable[..., Any]] = []
        self.graph = graph

    def _take_members(self, root: nn.Module, graph: Graph) -> None:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, str(node.target))

    def _take_items(self, root: dict[str, Any], graph: Graph) -> None:
        wanted = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        for path in wanted:
            if path not in root:
                raise NotCompiled(
                    f"GraphModule: the graph names {path!r}, which root has not",
                    notes={"root": ", ".join(map(str, root)) or "an empty dict"},
                    fix=f"add it: root[{path!r}] = ...",
                )
        for path in sorted(set(wanted), key=lambda path: path.count(".")):
            set_member(root[path], self, path)

    @property
    def graph(self) -> Graph:
        """What it computes."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise ArgumentTypeError(
                f"GraphModule: graph is {type(g).__name__}, not a polyad.fx.Graph", fix="pass one, as of symbolic_trace"
            )
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``. Raises RuntimeError before the first `recompile`."""
        if not hasattr(self, "_code"):
            raise NotCompiled("GraphModule.code: there is no code yet", fix="call recompile()")
        return self._code

    def recompile(self) -> PythonCode:
        """Write ``forward`` from the graph as it is now; to be called after edits. Returns what was written."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        written = self._graph.python_code("self")
        self._code = written.src
        cls: Any = type(self)
        cls.forward = _function(written.src, written.globals, self)
        return written

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the graph computes; `recompile` writes it."""
        raise NotCompiled("GraphModule: there is no code yet", fix="call recompile()")

    # ----------------------------------------------------------------------------------------------------- submodules

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Put *m* at the dotted path *target*; modules on the way are made. Returns whether that could be done: not if
        something on the way is no module.
        """
        *parents, name = target.split(".")
        module: nn.Module = self
        for parent in parents:
            inner = getattr(module, parent, None)
            if inner is None:
                inner = nn.Module()
                setattr(module, parent, inner)
            if not isinstance(inner, nn.Module):
                return False
            module = inner
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the submodule at the dotted path *target* away. Returns whether there was one.

        Nodes that call it are left: erase them, or `Graph.lint` will say so.
        """
        *parents, name = target.split(".")
        module: Any = self
        for parent in parents:
            module = getattr(module, parent, None)
        if not isinstance(module, nn.Module) or not isinstance(getattr(module, name, None), nn.Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the submodules that no node calls, and of which no node uses an attribute.

        >>> import polyad as torch
        >>> module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        >>> _ = module.add_submodule("extra.inner", torch.nn.ReLU())
        >>> module.delete_all_unused_submodules()
        >>> [name for name, _ in module.named_modules()]
        ['', '0']
        """
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("get_attr", "call_module"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
                if node.op == "call_module":
                    called = self._graph._module_at(str(node.target))
                    inner = called.named_modules() if called is not None else ()
                    used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ------------------------------------------------------------------------------------------------ copies and files

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        members = {
            name: copy.deepcopy(value, memo)
            for name, value in self.__dict__.items()
            if name not in ("_graph", "_code", "_create_node_hooks", "_erase_node_hooks", "_replace_hooks")
        }
        graph = copy.deepcopy(self._graph, memo)
        copied = self._again(members, graph)
        memo[id(self)] = copied
        return copied

    def __copy__(self) -> GraphModule:
        return self._again(dict(self.__dict__), copy.copy(self._graph))

    def _again(self, members: dict[str, Any], graph: Graph) -> GraphModule:
        return _built(_users_class(type(self)), type(self).__name__, members, graph)

    def __reduce__(self) -> Any:
        members = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}
        return _built, (_users_class(type(self)), type(self).__name__, members, self._graph)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write a package that defines the class *module_name*: its code, ``state.pt`` with parameters and buffers, and
        a pickle for each submodule. Nothing of the graph is in it.

        Raises ValueError if the code uses something that no module has, such as a lambda.
        """
        written = self.graph.python_code("self")
        imports = _imports(written.globals)
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        polyad.save(self.state_dict(), folder / "state.pt")
        lines = [f"class {module_name}(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
        for name, module in self.named_children():
            (folder / f"{name}.pickle").write_bytes(pickle.dumps(module))
            read = f"pickle.loads((folder / {f'{name}.pickle'!r}).read_bytes())"
            lines.append(f"        self.add_module({name!r}, {read})")
        for name, value in [*self.named_parameters(recurse=False), *self.named_buffers(recurse=False)]:
            kind = "Parameter" if isinstance(value, nn.Parameter) else "Buffer"
            empty = f"torch.empty({list(value.shape)}, dtype=torch.{str(value.dtype).rpartition('.')[2]})"
            grad = f", requires_grad={value.requires_grad}" if kind == "Parameter" else ""
            lines.append(f"        self.{name} = torch.nn.{kind}({empty}{grad})")
        lines.append("        self.load_state_dict(torch.load(folder / 'state.pt'))")
        code = "".join(f"    {line}" if line.strip() else line for line in written.src.splitlines(keepends=True))
        top = f"{imports}import pickle\nfrom pathlib import Path\n\nfolder = Path(__file__).parent\n\n\n"
        (folder / "module.py").write_text(top + "\n".join(lines) + code, encoding="utf-8")
        (folder / "__init__.py").write_text(f"from .module import {module_name} as {module_name}\n", encoding="utf-8")

    # -------------------------------------------------------------------------------------------------------- printing

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> str:
        """The code of this module as a class, with that of the GraphModules in it; printed, unless *print_output* is
        False. The other arguments change nothing.
        """
        lines = self._code.strip().splitlines()
        parts = [f"class {type(self).__name__}(torch.nn.Module):", *(f"    {line}".rstrip() for line in lines), ""]
        for child in self.children():
            if isinstance(child, GraphModule):
                inner = child.print_readable(print_output=False)
                parts += [f"    {line}".rstrip() for line in inner.splitlines()]
        text = "\n".join(parts)
        if print_output:
            builtins.print(text)  # noqa: T201
        return text

    def __str__(self) -> str:
        return f"{super().__repr__()}\n{self._code}"


def _users_class(cls: type) -> type[GraphModule]:
    return next(one for one in cls.__mro__ if not one.__dict__.get("_is_of_one_object", False))


def _built(cls: type[GraphModule], name: str, members: dict[str, Any], graph: Graph) -> GraphModule:
    """A GraphModule of these attributes and graph."""
    module = cls.__new__(cls)
    nn.Module.__init__(module)
    type(module).__name__ = name
    module.__dict__.update(members)
    for kind in ("_create_node_hooks", "_erase_node_hooks", "_replace_hooks"):
        module.__dict__.setdefault(kind, [])
    module.graph = graph
    return module


def _imports(scope: dict[str, Any]) -> str:
    """The lines that bring what generated code names. Raises ValueError for what no module has."""
    lines = []
    for name, value in scope.items():
        if name in CUSTOM_BUILTINS:
            lines.append(CUSTOM_BUILTINS[name].import_line)
        elif getattr(builtins, name, None) is not value:
            module, _, attribute = qualified_name(value).rpartition(".")
            if getattr(sys.modules.get(module), attribute, None) is not value:
                raise ArgumentError(
                    f"GraphModule.to_folder: the code uses {name}, which no module has", fix="define it in a module"
                )
            lines.append(f"from {module} import {attribute} as {name}")
    return "".join(f"{line}\n" for line in lines)
