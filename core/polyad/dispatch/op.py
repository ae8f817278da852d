"""Declaring ops: the decorators that turn a typed def into an op, and the registry of all ops.

    @primitive   an op without a decomposition: its def has a docstring and no body, backends bring the kernel
    @composite   an op whose def is its decomposition, in other ops; a backend may bring a fused kernel for it
    @view        an op whose def is layout arithmetic: it gets a Layout for its tensor and returns the result's;
                 with a dtype rule the result reads the memory as another dtype
    @function    a public function that is no op itself: it validates and normalises, then calls ops
    alias(name, function)   a second public name of one of these
    in_place(function)      the twin ``elu_`` of a function with a parameter ``inplace``
    namespace="linalg"      with any of them: ``polyad.linalg.<name>`` instead of ``polyad.<name>`` and a method;
                            "Tensor" is a method that is no function
    @method()    a method that is no function of tensors: it writes, converts, places or asks; @prop() a property
    gradient(op, name=formula, ...)   the gradient of the result with respect to each operand
    joint_gradient(op, first, last, formula)   one formula for several operands

The def *is* the declaration: its name without leading underscores is the op's name, its annotations say which
parameters are tensors. ``Tensor`` is required; ``Tensor | Number`` may be a Python number and ``Tensor | None`` absent;
``Sequence[Tensor]`` is a list. Tensors come first, other parameters (canonical, already validated) after them. A
parameter ``out`` is not part of the op: its caller writes there.

``structure`` says what the op is: pointwise, a reduction, ... (`polyad.dispatch.structure`). From some structures the
shape rule follows; otherwise ``shape`` gives it.

A formula's first parameter is the arriving gradient; the others name what it needs and thereby what is saved: an
operand or parameter by its name, an operand's shape as ``<name>_shape``, the result as ``out`` (or the names in
``outputs``). It is written in ops and returns one tensor of any shape that broadcasts from or reduces to the operand's:
the engine sums over broadcast dimensions and casts. It must return the gradient it was given, or a new tensor, never a
saved tensor.

How tangents go through an op follows from its gradient, or is declared beside it (`polyad.dispatch.forward`).

To add an op, see docs/write-an-op.md.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..tensor import Tensor
from .caller import make_caller
from .catalogue import ATTRIBUTES as ATTRIBUTES, OPS as OPS, PUBLIC as PUBLIC
from .declared import Attribute, Formula, Function as Function, Op as Op, ShapeRule
from .front import NUMPY_NAMES, front
from .inplace import form_of
from .names import pairs
from .promotion import Rule, first
from .structure import StridesRule, Structure, opaque, shaping

F = TypeVar("F", bound=Callable[..., Any])


def _publish(public: Function) -> None:
    if public.namespace not in ("", "Tensor"):
        public.method = public.inplace = False
    # Either all of its names are declared or none.
    for name, wanted in ((public.name, public.method), (public.name + "_", public.inplace)):
        if wanted:
            ATTRIBUTES.check_free(name, public.module)
    PUBLIC.declare(public.path, public)
    if public.method:
        _attach(public.name, public.module, lambda: public.call)
    if public.inplace:
        _attach(public.name + "_", public.module, lambda: form_of(public))


def _attach(name: str, module: str, make: Callable[[], Any]) -> None:
    ATTRIBUTES.declare(name, Attribute(name, module, make))


def op_of(declared: Callable[..., Any]) -> Op:
    """The op behind a function declared by `primitive`, `composite` or `view`."""
    return declared.__polyad_op__  # type: ignore[attr-defined, no-any-return]


def _declare(
    definition: Callable[..., Any], op: Op, method: bool, inplace: bool, namespace: str = ""
) -> Callable[..., Any]:
    OPS.check_free(op.name, op.module)
    caller = make_caller(op, definition)
    op.call = caller
    caller.__polyad_op__ = op  # type: ignore[attr-defined]
    name = definition.__name__
    if not name.startswith("_"):
        _publish(Function(name, caller, op, method, inplace, definition.__module__, namespace))
    OPS.declare(op.name, op)
    return caller


def primitive(
    *,
    dtype: Rule = first,
    structure: Structure = opaque,
    shape: ShapeRule | None = None,
    outputs: tuple[str, ...] = (),
    keyed: tuple[str, ...] = (),
    grad_name: str | None = None,
    method: bool = True,
    inplace: bool = False,
    namespace: str = "",
    title: str = "",
    strides: StridesRule | None = None,
    also: Mapping[str, str | tuple[str, ...]] | None = None,
) -> Callable[[F], F]:
    """Declare an op that backends bring kernels for.

    See the module's docstring; ``inplace`` asks for the form ``<name>_``, ``title`` is what errors call it; *also* has
    other names under which a parameter is understood, which cost each call some nanoseconds. It needs a shape rule
    where none follows from its structure, and ``strides`` where results lie in memory in another order than what
    follows from it.
    """

    def wrap(definition: F) -> F:
        op = Op(definition, "primitive", dtype, structure, shape, outputs, keyed, grad_name, namespace, title, strides)
        op.other_names = pairs(also)
        return _declare(definition, op, method, inplace, namespace)  # type: ignore[return-value]

    return wrap


def composite(
    *,
    dtype: Rule = first,
    structure: Structure = opaque,
    shape: ShapeRule | None = None,
    outputs: tuple[str, ...] = (),
    keyed: tuple[str, ...] = (),
    grad_name: str | None = None,
    method: bool = True,
    inplace: bool = False,
    namespace: str = "",
    strides: StridesRule | None = None,
    also: Mapping[str, str | tuple[str, ...]] | None = None,
) -> Callable[[F], F]:
    """Declare an op by its decomposition.

    With gradient formulas it records itself and its body runs unrecorded; without, its body's ops record themselves and
    a backend's kernel is used only where no gradient is needed.
    """

    def wrap(definition: F) -> F:
        op = Op(definition, "composite", dtype, structure, shape, outputs, keyed, grad_name, namespace, "", strides)
        op.other_names = pairs(also)
        return _declare(definition, op, method, inplace, namespace)  # type: ignore[return-value]

    return wrap


def view(
    *, dtype: Rule = first, grad_name: str | None = None, method: bool = True, namespace: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Declare a view op: its def maps (layout, *params) to the result's layout and touches no memory.

    With a *dtype* rule the result reinterprets the memory: its layout counts elements of that dtype, and it has a
    gradient only if that is declared.
    """

    def wrap(definition: Callable[..., Any]) -> Callable[..., Tensor]:
        op = Op(definition, "view", dtype, shaping, None, (), (), grad_name, namespace)
        return _declare(definition, op, method, False, namespace)

    return wrap


def function(
    *,
    method: bool = True,
    inplace: bool = False,
    namespace: str = "",
    dtype_of_out: bool = False,
    sequence: bool = False,
    fronts: Callable[..., Any] | None = None,
    also: Mapping[str, str | tuple[str, ...]] | None = None,
    factors: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Declare a public function that validates, normalises and calls ops.

    With a parameter ``out``, writing there is provided for; *dtype_of_out* says that its dtype is then the default of
    the parameter ``dtype``, and *sequence* that any shape of as many elements is taken. *fronts* is the op that it
    calls with its first parameters as they are where the others are left at their defaults: a kernel may then write in
    place, or to ``out``. *also* has other names under which a parameter is understood;
    *factors* are the parameters meant by numbers among the operands, as in PyTorch's older ``add(x, 2, y)``.
    """
    op = None if fronts is None else op_of(fronts)

    def wrap(definition: F) -> F:
        parameters = inspect.signature(definition).parameters
        numpy_names = "out" in parameters or ("dim" in parameters and namespace != "nn.functional")
        other_names = (*(NUMPY_NAMES if numpy_names else ()), *pairs(also))
        call = front(
            definition,
            other_names=other_names,
            dtype_of_out=dtype_of_out,
            sequence=sequence,
            fronts=op,
            factors=factors,
        )
        name = definition.__name__
        _publish(Function(name, call, None, method, inplace, definition.__module__, namespace, fronts=op))
        return call  # type: ignore[no-any-return]

    return wrap


def _function_of(declared: Callable[..., Any]) -> Function:
    return next(public for public in PUBLIC.loaded() if public.call is declared)


def alias(name: str, declared: F, *, namespace: str | None = None) -> F:
    """Give a declared public function a second name, with all its forms: ``absolute = alias("absolute", abs)``.

    With *namespace* a name there (``alias("expit", sigmoid, namespace="special")``), else a name beside the first.
    """
    known = _function_of(declared)
    here = sys._getframe(1).f_globals["__name__"]
    if here != known.module:
        raise TypeError(f"alias {name} stands in {here}; it belongs beside {known.name}, in {known.module}")
    space = known.namespace if namespace is None else namespace
    _publish(Function(name, known.call, known.op, known.method, known.inplace, known.module, space, known.fronts))
    return declared


def in_place(declared: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the twin of a `function` with a parameter ``inplace`` that always writes: ``elu_ = in_place(elu)``.

    It has the function's other parameters, and its example, whose results are the same.
    """
    known = _function_of(declared)
    name = known.name + "_"
    signature = inspect.signature(declared)
    others = [parameter for parameter in signature.parameters.values() if parameter.name != "inplace"]

    written: Callable[..., Any] = declared.__wrapped__  # type: ignore[attr-defined]

    def definition(*args: Any) -> Any:
        return written(*args, inplace=True)

    mark, example = (inspect.getdoc(declared) or "").partition(">>>")[1:]
    definition.__name__ = definition.__qualname__ = name
    definition.__module__ = declared.__module__
    definition.__doc__ = (
        f"`{known.name}` that overwrites its input.\n\n" + mark + example.replace(f".{known.name}(", f".{name}(")
    )
    definition.__annotations__ = {key: value for key, value in declared.__annotations__.items() if key != "inplace"}
    definition.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
    call: Callable[..., Any] = front(definition)
    _publish(Function(name, call, None, False, False, known.module, known.namespace))
    return call


def method(name: str = "", *, also: Mapping[str, str | tuple[str, ...]] | None = None) -> Callable[[F], F]:
    """Declare a method of Tensor that is no function of tensors, under *name* if it is not the def's; *also* has other
    names under which a parameter is understood.

    Errors are told as those of functions are, but for Python's protocols (``__getitem__``): much depends on these, and
    they tell their own. The def itself stays what it is, for calls from core.
    """

    def wrap(definition: F) -> F:
        attached = name or definition.__name__

        def make() -> Any:
            made = definition if attached.startswith("__") else front(definition, other_names=pairs(also))
            made.__name__ = attached
            return made

        _attach(attached, definition.__module__, make)
        return definition

    return wrap


def prop(name: str = "", setter: Callable[[Any, Any], None] | None = None) -> Callable[[F], F]:
    """Declare a property of Tensor, under *name* if it is not the getter's; *setter* takes the tensor and a value."""

    def wrap(getter: F) -> F:
        _attach(name or getter.__name__, getter.__module__, lambda: property(getter, setter))
        return getter

    return wrap


def gradient(declared: Callable[..., Any], **formulas: Callable[..., Any]) -> None:
    """Declare the gradient formulas of an op, one for each differentiable operand; see the module's docstring."""
    op = op_of(declared)
    entries = []
    for operand, formula in formulas.items():
        if operand not in op.operands:
            raise TypeError(f"gradient of {op.name}: {operand!r} is no operand; operands are {tuple(op.operands)}")
        given = "several" if op.operands[operand] == "list" else op.operands[operand]
        entries.append(Formula(op.names.index(operand), given, formula, *_pick(op, operand, formula)))
    op.formulas = tuple(entries)


def joint_gradient(declared: Callable[..., Any], first: str, last: str, formula: Callable[..., Any]) -> None:
    """Declare one formula for the neighbouring operands *first* to *last*: it returns a gradient for each,
    None where there is none.

    For an op whose gradients share most of their work, such as a normalisation with its weight and bias.
    """
    op = op_of(declared)
    operands = list(op.operands)
    span = slice(operands.index(first), operands.index(last) + 1)
    op.formulas = (Formula(span, "several", formula, *_pick(op, f"{first} to {last}", formula)),)


def _pick(op: Op, operand: str, formula: Callable[..., Any]) -> tuple[Callable[..., tuple[Any, ...]], str]:
    """What takes the values that *formula* names out of a call's values, and the expression that it consists of."""
    names = op.names
    result_names = op.outputs or ("out",)
    parts = []
    wanted = set(list(inspect.signature(formula).parameters)[1:])
    op.saves_tensors |= not wanted.isdisjoint({*op.operands, *result_names})
    for want in list(inspect.signature(formula).parameters)[1:]:
        if want in names:
            parts.append(f"v[{names.index(want)}]")
        elif want in result_names:
            op.saves_out = True
            parts.append(f"v[{len(names) + result_names.index(want)}]")
        elif want.endswith("_shape") and want[:-6] in op.operands:
            given = op.operands[want[:-6]]
            at = f"v[{names.index(want[:-6])}]"
            parts.append(f"[t._array.shape for t in {at}]" if given == "list" else f"{at}._array.shape")
        else:
            raise TypeError(
                f"gradient of {op.name}: the formula for {operand} asks for {want!r}, "
                f"which is none of {names + result_names}"
            )
    saved = f"({''.join(part + ', ' for part in parts)})"
    return eval(f"lambda v: {saved}"), saved


def primitives() -> dict[str, Op]:
    """The ops that a complete backend has kernels for, by name."""
    return {name: op for name, op in sorted(OPS.items()) if op.kind == "primitive"}
