"""`freeze`: a module whose attributes are constants of its program.

Each module gets a class of its own, in which reads of parameters, buffers and numbers are constants. What the program
assigns to or writes into stays an attribute. The texts are changed as syntax trees; the result is checked as any
program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from polyad.errors import ArgumentError, ArgumentTypeError, safe_repr
from polyad.tensor import Tensor

from ..archives.building import build, checked_unit
from ..archives.describing import described
from ..archives.objects import ScriptObject
from ..archives.program import Program
from ..modules.recursive import RecursiveScriptModule
from .folding import fold_batch_norms

__all__ = ["Classes", "TrainingError", "freeze"]

_LITERALS = (bool, int, float, str, type(None))


class TrainingError(ArgumentError, RuntimeError):
    """A module that is to be frozen is in training mode."""


def freeze(
    module: Any, preserved: Iterable[str], fold: bool, keep_parameters: bool, methods: Iterable[str] = ()
) -> RecursiveScriptModule:
    """What `polyad.jit.freeze` and `polyad.jit.optimize_for_inference` give."""
    if not isinstance(module, RecursiveScriptModule):
        raise ArgumentTypeError(
            f"freeze: {safe_repr(module)} is no scripted or traced module", fix="pass what jit.script or jit.trace gave"
        )
    if module.training:
        raise TrainingError(
            "freeze: Freezing is currently only implemented for modules in eval mode. Please call .eval() on your "
            "module before freezing",
            fix="call module.eval() first",
        )
    program = described(module)
    classes = Classes(program.sources)
    if fold:
        fold_batch_norms(classes, program.root)
    freezing = _Freezing(classes, list(program.constants), set(preserved), set(methods), keep_parameters)
    root = freezing.module(program.root, is_root=True)
    texts = classes.functions() | freezing.texts()
    frozen = Program(texts, root, freezing.constants, module.original_name)
    made = build(checked_unit(frozen), root, frozen.name)
    made.eval()
    return made


class Classes:
    """The classes of a program as syntax trees, by qualified name."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.nodes: dict[str, ast.ClassDef] = {}
        self._owned: set[str] = set()
        self._others: dict[str, list[ast.stmt]] = {}
        for home, text in texts.items():
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and _is_module(node):
                    self.nodes[f"{home}.{node.name}"] = node
                else:
                    self._others.setdefault(home, []).append(node)

    def functions(self) -> dict[str, str]:
        """The text of what are no classes of modules."""
        return {home: "\n".join(map(ast.unparse, nodes)) + "\n" for home, nodes in self._others.items()}

    def own(self, one: ScriptObject) -> ast.ClassDef:
        """The class of an object, which no other object has from now on."""
        node = self.nodes[one.name]
        name, count = one.name, 0
        home, _, last = one.name.rpartition(".")
        while name in self._owned:
            name, count = f"{home}.___torch_mangle_{count}.{last}", count + 1
        self._owned.add(name)
        copied = ast.parse(ast.unparse(node)).body[0]
        assert isinstance(copied, ast.ClassDef)
        self.nodes[name], one.name = copied, name
        return copied


def _is_module(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Module" for base in node.bases)


class _Freezing:
    """A program while it is frozen.

    Attributes:
        constants: those of the program, and what its attributes were.
    """

    def __init__(
        self, classes: Classes, constants: list[Any], preserved: set[str], methods: set[str], keep_parameters: bool
    ) -> None:
        self.classes, self.constants = classes, constants
        self.preserved, self.methods, self.keep_parameters = preserved, methods, keep_parameters
        self._made: dict[int, ScriptObject] = {}
        self._nodes: dict[str, ast.ClassDef] = {}

    def texts(self) -> dict[str, str]:
        """The text of the frozen classes."""
        found: dict[str, str] = {}
        for name, node in self._nodes.items():
            home = name.rpartition(".")[0]
            found[home] = found.get(home, "") + ast.unparse(node) + "\n"
        return found

    def module(self, one: ScriptObject, is_root: bool = False) -> ScriptObject:
        """The frozen form of a module's object."""
        if id(one) in self._made:
            return self._made[id(one)]
        new = self._made[id(one)] = ScriptObject(one.name, {})
        node = self.classes.own(new)
        self._nodes[new.name] = node
        if is_root:
            self._drop_methods(node, one)
        fields = _fields(node)
        changed, read = _changed(node), _read(node)
        for name in list(fields):
            value = one.state[name]
            if isinstance(value, ScriptObject):
                if name not in read:
                    continue
                new.state[name] = self.module(value)
                _set_field(node, name, new.state[name].name)
            elif self._stays(name, value, node, changed, is_root):
                new.state[name] = value
        return self._finished(node, one, new, fields)

    def _stays(self, name: str, value: Any, node: ast.ClassDef, changed: set[str], is_root: bool) -> bool:
        if name == "training" or name in changed or (is_root and name in self.preserved):
            return True
        if isinstance(value, Tensor):
            return self.keep_parameters and name in _names_in(node, "__parameters__")
        return not isinstance(value, _LITERALS)

    def _finished(self, node: ast.ClassDef, one: ScriptObject, new: ScriptObject, fields: list[str]) -> ScriptObject:
        values = {name: one.state[name] for name in fields if name not in new.state}
        frozen = {name: self._constant(value) for name, value in values.items() if not isinstance(value, ScriptObject)}
        frozen["training"] = ast.Constant(False)
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                _Reading(item, one, frozen, self._constant_of).visit(item)
                item.args.args[0].annotation = ast.parse(new.name, mode="eval").body
        node.body = [item for item in node.body if _field_of(item) is None or _field_of(item) in new.state]
        for word in ("__parameters__", "__buffers__"):
            _set_names(node, word, [name for name in _names_in(node, word) if name in new.state])
        ast.fix_missing_locations(node)
        return new

    def _constant_of(self, one: ScriptObject, name: str) -> ast.expr | None:
        """The constant that an attribute of another module has become."""
        new = self._made.get(id(one))
        if new is None or name in new.state or not isinstance(one.state, dict) or name not in one.state:
            return None
        value = one.state[name]
        return None if isinstance(value, ScriptObject) else self._constant(value)

    def _constant(self, value: Any) -> ast.expr:
        if not isinstance(value, Tensor):
            return ast.Constant(value)
        place = next((at for at, known in enumerate(self.constants) if known is value), len(self.constants))
        if place == len(self.constants):
            self.constants.append(value.detach())
        return ast.parse(f"CONSTANTS.c{place}", mode="eval").body

    def _drop_methods(self, node: ast.ClassDef, one: ScriptObject) -> None:
        """Leave ``forward`` of the whole module, methods that are preserved, and what these call."""
        methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        unknown = self.preserved - set(methods) - set(one.state)
        if unknown:
            raise ArgumentError(
                f"freeze: the module has no attribute {', '.join(sorted(unknown))}", fix="name what it has"
            )
        wanted = [name for name in methods if name == "forward" or name in self.preserved or name in self.methods]
        for name in wanted:
            called = {item.attr for item in ast.walk(methods[name]) if isinstance(item, ast.Attribute)}
            wanted += [other for other in methods if other in called and other not in wanted]
        node.body = [item for item in node.body if not isinstance(item, ast.FunctionDef) or item.name in wanted]


class _Reading(ast.NodeTransformer):
    """Puts constants in the place of attributes of ``self``, and of modules within it."""

    def __init__(
        self,
        method: ast.FunctionDef,
        one: ScriptObject,
        constants: dict[str, ast.expr],
        constant_of: Callable[[ScriptObject, str], ast.expr | None],
    ) -> None:
        self.me = method.args.args[0].arg
        self.constants, self.constant_of = constants, constant_of
        self.modules: dict[str, ScriptObject] = {self.me: one}
        for node in ast.walk(method):  # the order of statements: a module has a name before it is used
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found = self._module(node.value)
                if found is not None:
                    self.modules[node.targets[0].id] = found

    def _module(self, node: ast.expr) -> ScriptObject | None:
        """The module that an expression is."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        name: Any = None
        if isinstance(node, ast.Attribute):
            owner, name = node.value, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            owner, name = node.args[0], getattr(node.args[1], "value", None)
        else:
            return None
        held = self._module(owner)
        found = held.state.get(name) if held is not None and isinstance(held.state, dict) else None
        return found if isinstance(found, ScriptObject) else None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``self.name``, or ``self.layer.name``."""
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == self.me:
            return self.constants.get(node.attr, node)
        owner = self._module(node.value)
        found = None if owner is None else self.constant_of(owner, node.attr)
        return self.generic_visit(node) if found is None else found


def _field_of(item: ast.stmt) -> str | None:
    """The name of the attribute that a line of a class declares."""
    if isinstance(item, ast.AnnAssign) and item.value is None and isinstance(item.target, ast.Name):
        return item.target.id
    if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Subscript):
        key = item.targets[0].slice
        return str(key.value) if isinstance(key, ast.Constant) else None
    return None


def _fields(node: ast.ClassDef) -> list[str]:
    return [name for item in node.body if (name := _field_of(item)) is not None]


def _set_field(node: ast.ClassDef, name: str, kind: str) -> None:
    for item in node.body:
        if _field_of(item) == name:
            annotation = ast.parse(kind, mode="eval").body
            if isinstance(item, ast.AnnAssign):
                item.annotation = annotation
            elif isinstance(item, ast.Assign):
                item.value = annotation


def _names_in(node: ast.ClassDef, word: str) -> list[str]:
    for item in node.body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id == word:
            return [one.value for one in item.value.elts]  # type: ignore[attr-defined]
    return []


def _set_names(node: ast.ClassDef, word: str, names: list[str]) -> None:
    for item in node.body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id == word:
            item.value = ast.List([ast.Constant(name) for name in names], ast.Load())


def _changed(node: ast.ClassDef) -> set[str]:
    """The attributes that the methods of a class assign to, or may write into."""
    found: set[str] = set()
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        me = method.args.args[0].arg
        held = {}
        for item in ast.walk(method):
            if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store) and _is_name(item.value, me):
                found.add(item.attr)
            if isinstance(item, ast.Assign) and _of_self(item.value, me) and isinstance(item.targets[0], ast.Name):
                held[item.targets[0].id] = item.value.attr  # type: ignore[attr-defined]
        for item in ast.walk(method):
            if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and _writes(item.func.attr):
                for target in [item.func.value, *item.args[:1]]:
                    if _of_self(target, me):
                        found.add(target.attr)  # type: ignore[attr-defined]
                    elif isinstance(target, ast.Name) and target.id in held:
                        found.add(held[target.id])
    return found


def _read(node: ast.ClassDef) -> set[str]:
    """The names that the methods of a class read as attributes, of whatever."""
    inside = [item for method in node.body if isinstance(method, ast.FunctionDef) for item in ast.walk(method)]
    found = {item.attr for item in inside if isinstance(item, ast.Attribute)}
    return found | {item.value for item in inside if isinstance(item, ast.Constant) and isinstance(item.value, str)}


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _of_self(node: ast.expr, me: str) -> bool:
    return isinstance(node, ast.Attribute) and _is_name(node.value, me)
