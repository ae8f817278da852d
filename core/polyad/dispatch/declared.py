"""What declarations leave: `Op`, `Function` and `Attribute`, the entries of the catalogue.

How to declare them is said in `polyad.dispatch.op`. Nothing here carries out a call, so the modules below Tensor may
refer to ops, too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..base.shapes_and_strides import Layout
from .promotion import Rule
from .structure import StridesRule, Structure, check_structure

OP_PREFIXES = ("linalg", "fft", "special")
"""Namespaces whose ops bear their name: ``polyad.linalg.det`` is the op linalg_det, beside the op det."""

Kind = Literal["primitive", "composite", "view"]
ShapeRule = Callable[..., Any]


class Formula(NamedTuple):
    """A gradient formula: for the operand at *position* (or the operands, for a slice),
    ``function(grad, *pick(values))``. *saved* is what *pick* computes, as an expression of ``v``, a call's values.

    *given* says how the operand may be given: "tensor" for a tensor, "several" for more than one, anything else for
    what may be absent.
    """

    position: int | slice
    given: str
    function: Callable[..., Any]
    pick: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    saved: str


_TARGET = {
    "tensor": "v[{at}]._node",
    "several": '[getattr(tensor, "_node", None) for tensor in v[{at}]]',
    "": 'getattr(v[{at}], "_node", None)',
}
"""Where the gradient of operands goes, by how they are given."""


class ForwardRule(NamedTuple):
    """How an op's tangent is computed.

    Attributes:
        form: "symmetric", "linear", "multilinear", "affine", "reduction", "body" or "own".
        positions: of the operands that it is linear in.
        function: for "own" the rule, called as ``function(values, tangents)`` with operands, parameters and results;
            for "reduction" what gives (dims, keepdim) from these values.
        holomorphic: whether a symmetric op's gradient of complex operands is its derivative's conjugate times g.
    """

    form: str
    positions: tuple[int, ...] = ()
    function: Callable[[tuple[Any, ...], list[Any]], Any] | None = None
    holomorphic: bool = True


class Op:
    """A declared op: what may be asked of ``polyad.dispatch.op.OPS["sum"]``.

    `polyad.backends.describe_op` says the same in words and tables.

    >>> import polyad
    >>> from polyad.devices.registry import tensor_type
    >>> from polyad.dispatch.op import OPS
    >>> op = OPS["sum"]
    >>> op.operands, op.params, op.kind
    ({'input': 'tensor'}, ('dims', 'keepdim'), 'primitive')
    >>> op.shape((2, 3), (1,), True)
    (2, 1)
    >>> bools = tensor_type(polyad.bool, polyad.device("cpu"), zero_dim=False)
    >>> op.dtype((bools,), {}).outputs
    (polyad.int64,)

    Attributes:
        name: unique among ops, and the key of tables of kernels.
        kind: "primitive", "composite" or "view".
        definition: the def that declares it.
        title: what errors call it: the public function's name where that is another.
        operands: names of the tensor parameters, with how each may be given: "tensor", "number" (a tensor or a number),
            "optional" (a tensor or None), "flexible" (any of the three) or "list".
        params: names of the other parameters, in order.
        keyed: the params that the plan depends on (dtypes, devices).
        dtype: the dtype rule, ``dtype(types, keyed)``: from an entry for each operand (its tensor type, the type of a
            number, NoneType, a tuple of these for a list) and the keyed params by name to ``casts``, the dtype that
            each operand is cast to (None for "as it is"), and ``outputs``, the results' dtypes. Raises what the user
            gets to see for dtypes that the op does not take.
        structure: which elements of the operands an element of the result depends on (`polyad.dispatch.structure`).
        shape: the shape rule, ``shape(*operand_shapes, *params)`` with None for a number or an absent operand: the
            result's shape, or a tuple of them for several results. Raises what the user gets to see for shapes that
            do not fit. None for a composite or view whose body says it.
        strides: the order of results in memory, ``strides(shape, operands, *params)``
            (`polyad.dispatch.structure.StridesRule`).
        ordered: whether the declaration gave that rule: what a body computes is then brought into that order.
        outputs: names of the results if there are several, else empty.
        body: the decomposition or layout arithmetic, None for a primitive.
        saves_out: whether any of the gradient formulas needs the result.
        calls: from a call's values (and result, if it is saved) to what its node holds, see `polyad.history.node.Node`.
        saves_tensors: whether any formula needs the result or an operand.
        forward: how tangents go through it, where that is declared (`polyad.dispatch.forward`).
        call: the op as a function of ``(*operands, *params)``.
        other_names: pairs of a name that is understood and the parameter that it means.
        plans: what dispatch resolved so far, by call signature.
        layouts: of a view op, what its arithmetic gave so far (`polyad.dispatch.views`).
    """

    def __init__(
        self,
        definition: Callable[..., Any],
        kind: Kind,
        dtype: Rule,
        structure: Structure,
        shape: ShapeRule | None,
        outputs: tuple[str, ...],
        keyed: tuple[str, ...],
        grad_name: str | None,
        namespace: str = "",
        title: str = "",
        strides: StridesRule | None = None,
    ) -> None:
        name = definition.__name__
        # `linalg.det` is the op linalg_det: op names are unique, whatever module shows them.
        self.name = f"{namespace.rpartition('.')[2]}_{name}" if namespace in OP_PREFIXES else name.lstrip("_")
        self.title = title or self.name
        self.kind = kind
        self.doc = inspect.getdoc(definition) or ""
        self.module = definition.__module__
        self.dtype = dtype
        self.structure = structure
        self.outputs = outputs
        self.keyed = keyed
        self.grad_name = grad_name or "".join(part.capitalize() for part in self.name.split("_")) + "Backward0"
        self.definition = definition
        self.body = None if kind == "primitive" else definition
        self.signature = inspect.signature(definition)
        self.operands: dict[str, str] = {}
        self.params: tuple[str, ...] = ()
        for name, parameter in self.signature.parameters.items():
            given = _how_given(parameter.annotation)
            if name == "out":
                continue
            if given is None:
                self.params = (*self.params, name)
            elif self.params:
                raise TypeError(
                    f"op {self.name}: tensor parameter {name} comes after {self.params[-1]}; tensors come first"
                )
            else:
                self.operands[name] = given
        check_structure(self)
        self.shape = structure.shape_rule(self) if shape is None else shape
        if kind == "primitive" and self.shape is None:
            raise TypeError(f"op {self.name}: its shape follows from no body and not from its structure; give shape=")
        self.strides = strides or structure.strides_rule()
        self.ordered = strides is not None
        self.takes_out = "out" in self.signature.parameters
        self.other_names: tuple[tuple[str, str], ...] = ()
        self.formulas = ()
        self.saves_out = self.saves_tensors = False
        self.forward: ForwardRule | None = None
        self.plans: dict[Any, Any] = {}
        self.layouts: dict[Any, Layout] = {}
        self.call: Callable[..., Any] = definition

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The gradient formulas."""
        return self._formulas

    @formulas.setter
    def formulas(self, formulas: tuple[Formula, ...]) -> None:
        self._formulas = formulas
        self.calls = self._first_calls

    def _first_calls(self, values: tuple[Any, ...]) -> list[Any]:
        """As `calls`, which is code for these formulas from then on."""
        lines, scope = "def calls(v):\n    found = []\n", dict[str, Any]()
        for number, (position, given, function, _, saved) in enumerate(self._formulas):
            at = position if isinstance(position, int) else f"{position.start}:{position.stop}"
            target = _TARGET[given if given in _TARGET else ""].format(at=at)
            there = "any(node is not None for node in target)" if given == "several" else "target is not None"
            lines += f"    target = {target}\n    if {there}:\n        found.append((target, f{number}, {saved}))\n"
            scope[f"f{number}"] = function
        exec(lines + "    return found\n", scope)
        self.calls = scope["calls"]
        return self.calls(values)

    def __repr__(self) -> str:
        return f"<{self.kind} op {self.name}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Operand and parameter names in calling order."""
        return (*self.operands, *self.params)


class Function:
    """A public function and the forms that follow from it.

    Attributes:
        name: its last name: "svd".
        namespace: the module under ``polyad`` that shows it ("linalg", "nn.functional"), "" for polyad itself and
            "Tensor" if it is a method alone.
        call: the function.
        op: the op it is, None if it only calls ops.
        method: whether it is a Tensor method too.
        inplace: whether there is an in-place form ``<name>_``.
        fronts: the op that does all the work of a call with that op's operands alone, if there is such an op.
    """

    __slots__ = ("call", "fronts", "inplace", "method", "module", "name", "namespace", "op")

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        op: Op | None,
        method: bool,
        inplace: bool,
        module: str,
        namespace: str = "",
        fronts: Op | None = None,
    ) -> None:
        self.name, self.call, self.op, self.method, self.inplace, self.module = name, call, op, method, inplace, module
        self.namespace, self.fronts = namespace, fronts

    @property
    def path(self) -> str:
        """Its name under ``polyad``, the key in `PUBLIC`."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a module gives Tensor under a name.

    Attributes:
        name, module: what it is called, and the module that declares it.
        make: makes the method or property.
    """

    name: str
    module: str
    make: Callable[[], Any]


def _how_given(annotation: Any) -> str | None:
    if isinstance(annotation, type):
        text = annotation.__name__
    else:
        text = re.sub(r"(\w+\.)+", "", str(annotation))  # without the modules of the names
    if text in ("Tensor", "Layout"):
        return "tensor"
    if text == "Tensor | None":
        return "optional"
    if text.startswith("Tensor |"):
        return "flexible" if text.endswith("| None") else "number"
    if text in ("Sequence[Tensor]", "Sequence[Tensor | None]"):
        return "list"
    return None
