"""From captured graphs of a module to a program: a class for each submodule, a method for each call of one.

A class is named after the module's own, so PyTorch's layers keep PyTorch's names. Parameters and buffers are those of
the traced module, not copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyad import nn
from polyad.errors import AutogradError
from polyad.graph import Graph
from polyad.graph.structure import Ref, leaves_of
from polyad.nn import Module
from polyad.tensor import Tensor

from ..archives.objects import ScriptObject
from ..archives.program import Program
from .body import Body
from .fixed import Fixed
from .functions import FUNCTIONS, MODULE, sources_of
from .regions import Flow, Region, regions_of
from .text import Text, literal

__all__ = ["function_program", "program_of"]


def program_of(module: Module, graphs: Mapping[str, Graph], fixed: Mapping[str, Sequence[Fixed]]) -> Program:
    """The program of *module* whose methods are *graphs*, by name; each checks those of its arguments' dimensions that
    *fixed* has for it.
    """
    return _Writing(module).program(graphs, fixed)


def function_program(name: str, graph: Graph, fixed: Sequence[Fixed]) -> Program:
    """The program of a function, ``__torch__.name``, that checks dimensions; there is no module in it."""
    writing = _Writing(Module())
    writing.read(graph, fixed)
    writing.method(regions_of(graph, lambda outer, inner: False), name, is_function=True)
    lines = [line[2:] for line in writing.methods[""][name]]
    texts = {"__torch__": "\n".join(lines), **writing.functions()}
    return Program(texts, ScriptObject(""), list(writing.constants), name)


class _Writing:
    """A program while it is written.

    Attributes:
        graph: of the method that is being written.
        fixed: what it checks.
    """

    graph: Graph
    fixed: Sequence[Fixed]
    _flow: Flow

    def __init__(self, module: Module) -> None:
        self.modules = dict(module.named_modules())
        self.classes = _class_names(self.modules)
        self.paths: dict[int, list[tuple[str, ...]]] = {}
        for path, one in self.modules.items():
            for name, tensor in (*one._parameters.items(), *one._buffers.items()):
                if tensor is not None:
                    self.paths.setdefault(id(tensor), []).append((*_parts(path), name))
        self.methods: dict[str, dict[str, list[str]]] = {path: {} for path in self.modules}
        self.constants: list[Tensor] = []
        self.used: dict[str, None] = {}

    def program(self, graphs: Mapping[str, Graph], fixed: Mapping[str, Sequence[Fixed]]) -> Program:
        for name, graph in graphs.items():
            self.read(graph, fixed.get(name, ()))
            region = regions_of(graph, self._reaches)
            self._flow.fill(region, self._holds)
            self.method(region, name)
        sources: dict[str, list[str]] = {}
        for path, (home, name) in self.classes.items():
            sources.setdefault(home, []).append(self._class(path, home, name))
        texts = {home: "".join(parts) for home, parts in sources.items()} | self.functions()
        return Program(texts, self._object(""), list(self.constants), self.classes[""][1])

    def read(self, graph: Graph, fixed: Sequence[Fixed]) -> None:
        """Take *graph* for the next method, which checks *fixed*."""
        self.graph, self._flow, self.fixed = graph, Flow(graph), fixed
        self._by_number = {one.value.number: one.tensor for one in graph.constants}

    def functions(self) -> dict[str, str]:
        """The text of polyad's functions that methods call."""
        return {MODULE: sources_of(self.used)} if self.used else {}

    # ------------------------------------------------------------------------------------------ what methods ask

    def first(self, number: int) -> int:
        """The number of the first value of the same tensor."""
        return self._flow.first[number]

    def constant(self, tensor: Tensor) -> Text:
        """The text for a tensor of the constants."""
        if tensor.requires_grad:
            raise AutogradError(
                "trace: cannot insert a Tensor that requires grad as a constant",
                operands={"tensor": tensor},
                fix="make it a parameter of the module that is traced, or an argument; or detach() it",
            )
        place = next((at for at, one in enumerate(self.constants) if one is tensor), len(self.constants))
        if place == len(self.constants):
            self.constants.append(tensor)
        return Text(f"CONSTANTS.c{place}")

    def function(self, name: str) -> Text:
        """The text for a function of polyad's that the program has, too."""
        for one in (name, *FUNCTIONS[name].uses):
            self.used[one] = None
        return Text(f"{MODULE}.{name}")

    def _reaches(self, outer: str, inner: str) -> bool:
        return inner in self.modules and (not outer or inner.startswith(f"{outer}."))

    def _holds(self, path: str, number: int) -> bool:
        tensor = self._by_number.get(number)
        if tensor is None:
            return False
        known = self.paths.get(id(tensor))
        return known is None or self._within(path, known) is not None

    @staticmethod
    def _within(path: str, known: list[tuple[str, ...]]) -> tuple[str, ...] | None:
        begin = _parts(path)
        return next((one[len(begin) :] for one in known if one[: len(begin)] == begin), None)

    def _held(self, path: str, number: int) -> tuple[str, ...] | None:
        known = self.paths.get(id(self._by_number.get(number)))
        return None if known is None else self._within(path, known)

    # ---------------------------------------------------------------------------------------------------- methods

    def method(self, region: Region, name: str, is_function: bool = False) -> None:
        """Write the method of a call, and those of the calls in it."""
        body = Body(self, lambda number: self._held(region.path, number))
        given = self._arguments(region, body)
        for one in self.fixed if region.number < 0 else ():
            body.check_size(one)
        for item in [] if self._layer(region, body) else region.items:
            if isinstance(item, Region):
                self._call(body, region, item)
            else:
                body.add(item)
        if region.number < 0:
            text, kind = _returned(self.graph.outputs, body)
        else:
            names = [str(body.tensor(number)) for number in region.outputs]
            text, kind = _tuple(names, ["Tensor"] * len(names))
        if not is_function:
            given = [f"self: {'.'.join(self.classes[region.path])}", *given]
        head = ",\n    ".join(given)
        lines = [f"  def {name}({head}) -> {kind}:", *[f"    {line}" for line in body.lines], f"    return {text}", ""]
        lines = "\n".join(lines).split("\n")
        self.methods[region.path][name] = lines

    def _layer(self, region: Region, body: Body) -> bool:
        """Write a call of a batch norm as one operator, which it is for PyTorch; whether it is such a call."""
        module = self.modules[region.path]
        kinds = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
        if region.number < 0 or type(module) not in kinds or len(region.inputs) != 1 or len(region.outputs) != 1:
            return False
        uses_batch = module.training or module.running_mean is None
        if uses_batch and module.running_mean is not None and module.momentum is None:
            return False
        held = {**module._parameters, **module._buffers}
        read = {
            name: None if held.get(name) is None else body.attribute((name,))
            for name in ("weight", "bias", "running_mean", "running_var")
        }
        momentum = 0.0 if module.momentum is None else module.momentum
        given = [body.tensor(region.inputs[0]), *read.values(), uses_batch, momentum, module.eps, True]
        body.set(region.outputs[0], str(body.let(f"torch.batch_norm({', '.join(map(literal, given))})")))
        if module.training and held.get("num_batches_tracked") is not None and module.track_running_stats:
            body.let(f"torch.add_({body.attribute(('num_batches_tracked',))}, 1)")
        return True

    def _arguments(self, region: Region, body: Body) -> list[str]:
        """The arguments of a method as text, with their types."""
        if region.number >= 0:
            return [f"{body.argument(number, self._wanted(number))}: Tensor" for number in region.inputs]
        given: list[str] = []
        names = _argument_names(self.graph)
        for name, structure in names:
            if isinstance(structure, Ref):
                first = self.first(structure.number)
                if first not in body.variables:
                    given.append(f"{body.argument(first, name)}: Tensor")
                    continue
            argument = Text(body.name(name))
            given.append(f"{argument}: {_argument_type(structure)}")
            _unpack(structure, argument, body)
        return given

    def _wanted(self, number: int) -> str:
        name = self.graph.values[number].name
        return "input" if name.isdigit() else name.rpartition(".")[2]

    def _call(self, body: Body, outer: Region, region: Region) -> None:
        methods = self.methods[region.path]
        name = "forward" if "forward" not in methods else f"forward{len(methods)}"
        methods[name] = []  # taken
        self.method(region, name)
        given = [str(body.tensor(number)) for number in region.inputs]
        owner = body.attribute(_parts(region.path)[len(_parts(outer.path)) :])
        called = f"({owner}).{name}({', '.join([*given, ''])})"
        names = [body.fresh() for _ in region.outputs] or [body.fresh()]
        body.lines.append(f"{', '.join(names)}{',' if len(names) > 1 else ''} = {called}")
        for number, one in zip(region.outputs, names, strict=False):
            body.set(number, one)

    # ---------------------------------------------------------------------------------------------------- classes

    def _class(self, path: str, home: str, name: str) -> str:
        module = self.modules[path]
        parameters = [key for key, tensor in module._parameters.items() if tensor is not None]
        buffers = [key for key, tensor in module._buffers.items() if tensor is not None]
        lines = [
            f"class {name}(Module):",
            f"  __parameters__ = {_list_of_names(parameters)}",
            f"  __buffers__ = {_list_of_names(buffers)}",
        ]
        for key, kind in self._fields(path):
            lines.append(f"  {key} : {kind}" if key.isidentifier() else f'  __annotations__["{key}"] = {kind}')
        for method in self.methods[path].values():
            lines += method[:-1]
        return "\n".join(lines) + "\n"

    def _fields(self, path: str) -> list[tuple[str, str]]:
        module = self.modules[path]
        found = []
        for key, tensor in (*module._parameters.items(), *module._buffers.items()):
            found.append((key, "NoneType" if tensor is None else "Tensor"))
        found += [("training", "bool"), ("_is_full_backward_hook", "Optional[bool]")]
        for key, child in module._modules.items():
            if child is not None:
                found.append((key, ".".join(self.classes[self._path_of(path, key, child)])))
        return found

    def _path_of(self, path: str, key: str, child: Module) -> str:
        inner = f"{path}.{key}" if path else key
        return inner if inner in self.modules else next(at for at, one in self.modules.items() if one is child)

    def _object(self, path: str, made: dict[int, ScriptObject] | None = None) -> ScriptObject:
        made = {} if made is None else made
        module = self.modules[path]
        if id(module) in made:
            return made[id(module)]
        state: dict[str, Any] = {**module._parameters, **module._buffers}
        state |= {"training": module.training, "_is_full_backward_hook": None}
        found = made[id(module)] = ScriptObject(".".join(self.classes[path]), state)
        for key, child in module._modules.items():
            if child is not None:
                state[key] = self._object(self._path_of(path, key, child), made)
        return found


def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def _list_of_names(names: list[str]) -> str:
    return f"[{''.join(f'{literal(name)}, ' for name in names)}]"


def _class_names(modules: Mapping[str, Module]) -> dict[str, tuple[str, str]]:
    """Where in the program the class of each module is: the module of the program, and its name; each has its own."""
    found: dict[str, tuple[str, str]] = {}
    taken: set[tuple[str, str]] = set()
    count = 0
    for path, module in modules.items():
        kind = type(module)
        home = kind.__module__
        home = "" if home in ("__main__", "builtins") else home
        if home.split(".")[0] == "polyad":
            home = "torch" + home.removeprefix("polyad")
        parts = ["__torch__", *[part if part.isidentifier() else "_" for part in home.split(".") if part]]
        name = getattr(module, "original_name", kind.__name__)
        name = name if name.isidentifier() else "Module"
        place = ".".join(parts), name
        while place in taken:
            place, count = (".".join([*parts, f"___torch_mangle_{count}"]), name), count + 1
        taken.add(place)
        found[path] = place
    return found


# ------------------------------------------------------------------------------------------------ arguments and results


def _argument_names(graph: Graph) -> list[tuple[str, Any]]:
    """The arguments of the whole call with their names: those of the function's parameters."""
    args, kwargs = graph.arguments
    found = []
    for place, structure in enumerate(args):
        first = next((graph.values[ref.number].name for ref in leaves_of(structure, Ref)), f"argument_{place + 1}")
        whole = first.partition("[")[0].partition(".")[0]
        found.append((whole, structure))
    return [*found, *kwargs.items()]


def _argument_type(structure: Any) -> str:
    if isinstance(structure, Ref):
        return "Tensor"
    if isinstance(structure, tuple):
        return f"Tuple[{', '.join(map(_argument_type, structure))}]"
    if isinstance(structure, list):
        return f"List[{_argument_type(structure[0])}]"
    return f"Dict[str, {_argument_type(next(iter(structure.values())))}]"


def _unpack(structure: Any, text: Text, body: Body) -> None:
    """Give the tensors of an argument variables."""
    if isinstance(structure, Ref):
        first = body.program.first(structure.number)
        if first not in body.variables:
            body.set(first, str(text) if text.isidentifier() else str(body.let(text)))
    elif isinstance(structure, dict):
        for key, item in structure.items():
            _unpack(item, body.let(f"{text}[{literal(key)}]"), body)
    else:
        names = [body.fresh() for _ in structure]
        body.lines.append(f"{', '.join(names)}, = {text}")
        for name, item in zip(names, structure, strict=True):
            _unpack(item, Text(name), body)


def _returned(structure: Any, body: Body) -> tuple[str, str]:
    """The result as a text, with its type."""
    if isinstance(structure, Ref):
        return str(body.tensor(structure.number)), "Tensor"
    if structure is None:
        return "None", "NoneType"
    if isinstance(structure, dict):
        pairs = [(key, *_returned(item, body)) for key, item in structure.items()]
        return (
            "{" + ", ".join(f"{literal(key)}: {text}" for key, text, _ in pairs) + "}",
            f"Dict[str, {pairs[0][2]}]",
        )
    items = [_returned(item, body) for item in structure]
    texts, kinds = [text for text, _ in items], [kind for _, kind in items]
    if isinstance(structure, list):
        return f"[{', '.join(texts)}]", f"List[{kinds[0]}]"
    return _tuple(texts, kinds, always=True)


def _tuple(texts: list[str], kinds: list[str], always: bool = False) -> tuple[str, str]:
    if not texts:
        return "None", "NoneType"
    if len(texts) == 1 and not always:
        return texts[0], kinds[0]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})", f"Tuple[{', '.join(kinds)}]"
