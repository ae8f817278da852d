"""Translations of the user's: for ops of `polyad.library`, or in place of those that are here.

Two forms, PyTorch's. A function of ``custom_translation_table`` is called with values of onnx-ir and writes nodes by
the first argument. A symbolic function has that too, with attributes whose names end in a letter for their type:
``g.op("my.domain::Twice", x, factor_f=2.0)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polyad.errors import ArgumentError, ArgumentTypeError, safe_repr
from polyad.graph.structure import Ref

from . import registry

__all__ = ["Writer", "own_translations", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

_SYMBOLIC: dict[str, dict[int, Callable[..., Any]]] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Let *symbolic_fn* write calls of the op *symbolic_name*, ``"namespace::name"``, from an opset on.

    It is called with a `Writer` and the op's arguments, tensors among them as ONNX's values, and returns a value or a
    tuple of them. Raises ValueError for a name without a namespace.

    >>> import polyad as torch
    >>> from polyad.library import custom_op
    >>> @custom_op("mine::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> _ = twice.register_fake(lambda x: torch.empty_like(x))
    >>> torch.onnx.register_custom_op_symbolic("mine::twice", lambda g, x: g.op("Add", x, x), 14)
    >>> program = torch.onnx.export(lambda x: twice(x) + 1, (torch.ones(2),))
    >>> [node.op_type for node in program.model.graph]
    ['Add', 'Add']
    >>> torch.onnx.unregister_custom_op_symbolic("mine::twice", 14)
    """
    _SYMBOLIC.setdefault(_checked(symbolic_name), {})[opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take back what `register_custom_op_symbolic` declared; nothing happens if it did not.

    >>> import polyad
    >>> polyad.onnx.unregister_custom_op_symbolic("mine::thrice", 14)
    """
    found = _SYMBOLIC.get(_checked(symbolic_name), {})
    found.pop(opset_version, None)


def _checked(name: str) -> str:
    if not isinstance(name, str) or "::" not in name:
        raise ArgumentError(
            f"register_custom_op_symbolic: {safe_repr(name)} is no name of an op with its namespace",
            fix='write it as "namespace::name"',
        )
    return name.removeprefix("aten::")


class Writer:
    """What a symbolic function writes nodes with."""

    def __init__(self, to: Any) -> None:
        self._to = to

    @property
    def opset(self) -> int:
        """The opset that is written."""
        return int(self._to.opset)

    def op(self, opname: str, *args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """The result of a new node, or a tuple of as many as there are *outputs*.

        *opname* may begin with a domain, ``"domain::Name"``. Inputs that are numbers become constants. Attributes end
        in their type: ``_i`` int, ``_f`` float, ``_s`` string, ``_t`` tensor; a list of these has the same.
        """
        domain, _, name = opname.rpartition("::")
        attributes = {key.rpartition("_")[0] if key[-2:] in _SUFFIXES else key: _attribute(key, value, self._to)
                      for key, value in kwargs.items()}  # fmt: skip
        inputs = [one if one is None or isinstance(one, self._to.ir.Value) else self._to.constant(one, None)
                  for one in args]  # fmt: skip
        return self._to.op(name, *inputs, count=outputs, domain="" if domain == "onnx" else domain, **attributes)


_SUFFIXES = ("_i", "_f", "_s", "_t")


def _attribute(key: str, value: Any, to: Any) -> Any:
    if key.endswith("_t"):
        return to.ir.tensor(value.detach().cpu().numpy())
    if key.endswith("_f"):
        return [float(one) for one in value] if isinstance(value, (list, tuple)) else float(value)
    return list(value) if isinstance(value, tuple) else value


def own_translations(table: Mapping[Any, Any] | None, opset: int) -> dict[str, registry.Translation]:
    """The user's translations by the names of ops: those that were registered, then those of *table*."""
    found = {}
    for name, versions in _SYMBOLIC.items():
        known = [since for since in versions if since <= opset]
        if known:
            found[name] = _adapted(versions[max(known)])
    for key, function in (table or {}).items():
        if not callable(function):
            raise ArgumentTypeError(
                f"onnx.export: custom_translation_table has {safe_repr(function)} for {safe_repr(key)}",
                fix="give a function of (g, *arguments)",
            )
        found[name_of(key)] = _adapted(function)
    return found


def name_of(key: Any) -> str:
    """The name of an op in graphs, from the name or the function that users know."""
    if isinstance(key, str):
        return key.removeprefix("aten::")
    for attribute in ("_qualified_op_name", "_name", "_qualname", "__name__"):
        name = getattr(key, attribute, None)
        if isinstance(name, str):
            return name.removeprefix("aten::").partition(".")[0] if "::" in name else name
    raise ArgumentTypeError(
        f"onnx.export: custom_translation_table names an op by {safe_repr(key)}", fix="give its name, or the op itself"
    )


def _adapted(function: Callable[..., Any]) -> registry.Translation:
    """A translation that calls the user's *function*."""

    def translate(to: Any, *args: Any) -> Any:
        given = [to.known[one.number] if isinstance(one, Ref) else one for one in args]
        if to.node.op.kind == "effect" and given and isinstance(given[-1], tuple):
            given.pop()  # how many tensors each list has
        return function(Writer(to), *given)

    return translate
