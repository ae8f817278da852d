"""Batch norms in evaluation folded into the convolution or linear layer before them.

A batch norm multiplies each channel by a number and adds one, so the layer before it can do both with other weights:
``weight * factor`` and ``(bias - mean) * factor + shift``, where factor is ``gamma / sqrt(var + eps)``.

Invariant: both modules are used once in the whole program, by one call within the other.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from polyad.history.grad_mode import no_grad
from polyad.tensor import Tensor

from ..archives.objects import ScriptObject

if TYPE_CHECKING:
    from .freezing import Classes

__all__ = ["fold_batch_norms"]

_CONVOLUTIONS = {
    "conv1d": 0, "conv2d": 0, "conv3d": 0, "_convolution": 0, "linear": 0,
    "conv_transpose1d": 1, "conv_transpose2d": 1, "conv_transpose3d": 1,
}  # fmt: skip
"""Operators whose result a batch norm may follow, with the dimension of the weight that is the result's channels."""


class _Norm(NamedTuple):
    """What a batch norm does to each channel."""

    factor: Tensor
    shift: Tensor


class _Layer(NamedTuple):
    """A layer whose method is one operator of its own weight."""

    one: ScriptObject
    node: ast.ClassDef
    call: ast.Call
    dim: int
    me: str


def fold_batch_norms(classes: Classes, root: ScriptObject) -> None:
    """Fold where it can be done; the classes and objects of the layers are changed."""
    uses = _uses(root)
    for one in _objects(root):
        classes.own(one)
    for one in _objects(root):
        for method in classes.nodes[one.name].body:
            if isinstance(method, ast.FunctionDef):
                _Folding(classes, one, method, uses).run()


def _objects(root: ScriptObject) -> list[ScriptObject]:
    found, waiting = [root], [root]
    while waiting:
        for value in waiting.pop().state.values():
            if isinstance(value, ScriptObject) and isinstance(value.state, dict) and value not in found:
                found.append(value)
                waiting.append(value)
    return found


def _uses(root: ScriptObject) -> dict[int, int]:
    """How many modules hold each."""
    found: dict[int, int] = {}
    for one in _objects(root):
        for value in one.state.values():
            if isinstance(value, ScriptObject):
                found[id(value)] = found.get(id(value), 0) + 1
    return found


class _Folding(ast.NodeTransformer):
    """One method, in which calls of batch norms become what they were given."""

    def __init__(self, classes: Classes, one: ScriptObject, method: ast.FunctionDef, uses: dict[int, int]) -> None:
        self.classes, self.one, self.method, self.uses = classes, one, method, uses
        self.me = method.args.args[0].arg
        names = [node for node in ast.walk(method) if isinstance(node, ast.Name)]
        self.reads: dict[str, int] = {}
        self.sets: dict[str, list[ast.expr]] = {}
        for name in names:
            if isinstance(name.ctx, ast.Load):
                self.reads[name.id] = self.reads.get(name.id, 0) + 1
        for node in ast.walk(method):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.sets.setdefault(node.targets[0].id, []).append(node.value)

    def run(self) -> None:
        """Fold in the method, and leave out what reads a module that nothing calls any more."""
        self.visit(self.method)
        reads = {
            node.id for node in ast.walk(self.method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        self.method.body = [node for node in self.method.body if not self._is_unused(node, reads)]

    def _is_unused(self, node: ast.stmt, reads: set[str]) -> bool:
        """Whether a statement gives a submodule a name that is not read."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            return False
        called = ast.Call(ast.Attribute(node.value, "forward", ast.Load()), [], [])
        return node.targets[0].id not in reads and self._module(called) is not None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``(norm).forward((layer).forward(x))``, also where the inner result has a name that is used once."""
        self.generic_visit(node)
        norm = self._module(node)
        if norm is None or len(node.args) != 1:
            return node
        inner = self._known(node.args[0])
        layer = None if inner is None else self._module(inner)
        if layer is None or norm is layer or self.uses[id(norm)] > 1 or self.uses[id(layer)] > 1:
            return node
        if self._calls(norm) > 1 or self._calls(layer) > 1:
            return node
        found, what = _layer_of(self.classes, layer), _norm_of(self.classes, norm)
        if found is None or what is None:
            return node
        _fold(found, what)
        return node.args[0]

    def _known(self, node: ast.expr) -> ast.Call | None:
        """The call that an argument is the result of, if nothing else uses it."""
        if isinstance(node, ast.Name) and self.reads.get(node.id) == 1 and len(self.sets.get(node.id, ())) == 1:
            node = self.sets[node.id][0]
        return node if isinstance(node, ast.Call) else None

    def _module(self, node: ast.Call) -> ScriptObject | None:
        """The submodule whose ``forward`` is called."""
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "forward":
            return None
        owner = node.func.value
        if isinstance(owner, ast.Name) and len(self.sets.get(owner.id, ())) == 1:
            owner = self.sets[owner.id][0]
        name = None
        if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == self.me:
            name = owner.attr
        elif isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "getattr":
            name = owner.args[1].value if isinstance(owner.args[1], ast.Constant) else None  # type: ignore[assignment]
        found = self.one.state.get(name)
        return found if isinstance(found, ScriptObject) else None

    def _calls(self, module: ScriptObject) -> int:
        """How often the class's methods call a submodule."""
        count = 0
        for method in self.classes.nodes[self.one.name].body:
            if isinstance(method, ast.FunctionDef):
                other = self if method is self.method else _Folding(self.classes, self.one, method, self.uses)
                count += sum(other._module(node) is module for node in ast.walk(method) if isinstance(node, ast.Call))
        return count


def _operator_of(node: ast.ClassDef) -> tuple[ast.FunctionDef, ast.Call] | None:
    """The only operator that ``forward`` of a class calls, and nothing but that."""
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "forward"]
    if len(methods) != 1 or any(isinstance(item, (ast.If, ast.For, ast.While)) for item in ast.walk(methods[0])):
        return None
    calls = [item for item in ast.walk(methods[0]) if isinstance(item, ast.Call)]
    if len(calls) != 1 or not isinstance(calls[0].func, ast.Attribute):
        return None
    return methods[0], calls[0]


def _value(one: ScriptObject, method: ast.FunctionDef, node: ast.expr) -> Any:
    """What an argument of an operator is: an attribute's value or a literal; ``...`` if it is something else."""
    me = method.args.args[0].arg
    if isinstance(node, ast.Name):
        sets = [
            item.value
            for item in ast.walk(method)
            if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id == node.id
        ]
        if len(sets) != 1:
            return ...
        node = sets[0]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me:
        return one.state.get(node.attr, ...)
    return node.value if isinstance(node, ast.Constant) else ...


def _layer_of(classes: Classes, one: ScriptObject) -> _Layer | None:
    node = classes.nodes[one.name]
    found = _operator_of(node)
    if found is None or not isinstance(found[1].func, ast.Attribute):
        return None
    method, call = found
    name = call.func.attr  # type: ignore[attr-defined]
    if name not in _CONVOLUTIONS or call.keywords or len(call.args) < 2:
        return None
    if name == "_convolution" and not (isinstance(call.args[6], ast.Constant) and call.args[6].value is False):
        return None
    weight = _value(one, method, call.args[1])
    bias = _value(one, method, call.args[2]) if len(call.args) > 2 else None
    if not isinstance(weight, Tensor) or weight is not one.state.get("weight") or not isinstance(bias, Tensor | None):
        return None
    groups = call.args[6:7] if name.startswith("conv_transpose") else []
    if groups and not (isinstance(groups[0], ast.Constant) and groups[0].value == 1):
        return None
    return _Layer(one, node, call, _CONVOLUTIONS[name], method.args.args[0].arg)


def _norm_of(classes: Classes, one: ScriptObject) -> _Norm | None:
    found = _operator_of(classes.nodes[one.name])
    if found is None or found[1].func.attr != "batch_norm" or len(found[1].args) < 8:  # type: ignore[attr-defined]
        return None
    method, call = found
    weight, bias, mean, var, training, _, eps = [_value(one, method, node) for node in call.args[1:8]]
    if not isinstance(mean, Tensor) or not isinstance(var, Tensor) or training is not False or type(eps) is not float:
        return None
    if weight is ... or bias is ...:
        return None
    with no_grad():
        factor = (var + eps).rsqrt()
        factor = factor if weight is None else factor * weight
        shift = -mean * factor
        return _Norm(factor, shift if bias is None else shift + bias)


def _fold(layer: _Layer, norm: _Norm) -> None:
    """Give a layer the weights with which it does what the batch norm does, too."""
    state, call = layer.one.state, layer.call
    weight, bias = state["weight"], state.get("bias")
    with no_grad():
        sizes = [1] * weight.dim()
        sizes[layer.dim] = -1
        state["weight"] = (weight * norm.factor.reshape(sizes).to(weight.dtype)).requires_grad_(weight.requires_grad)
        shift = norm.shift if bias is None else norm.shift + bias * norm.factor
        state["bias"] = shift.to(weight.dtype)
    read = ast.parse(f"{layer.me}.bias", mode="eval").body
    call.args[2:3] = [read]
    fields = [item for item in layer.node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    named = [item for item in fields if item.target.id == "bias"]  # type: ignore[union-attr]
    for item in named:
        item.annotation = ast.Name("Tensor", ast.Load())
    if not named:
        layer.node.body.insert(0, ast.parse("bias : Tensor").body[0])
    ast.fix_missing_locations(layer.node)
