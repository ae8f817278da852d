"""Plans: what dispatch decides once for each call signature of an op.

A signature is the operands' TensorTypes (or number types) and the keyed parameters. The plan holds everything that
follows from it: casts, the kernel, the result types, whether a gradient can flow. It never holds data. Plans are
dropped when the default dtype changes or backends are forgotten, since both decide what a plan says.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ..backend.interface import Backend, Many, Signature, TensorType
from ..backend.preparation import flat, prepare, takes_out
from ..base import dtypes, provided
from ..base.device import Device
from ..base.dtypes import FLOATING, DType
from ..base.state import state, warn_user
from ..devices import fallback, plugins, registry
from ..errors import (
    ArgumentTypeError,
    CompilerFailure,
    CompilerWarning,
    DeviceError,
    DTypeError,
    IndexOutOfRange,
    KernelFailure,
    LinAlgError,
    MissingKernel,
    OutOfMemory,
    PolyadError,
    ShapeError,
    UnsupportedDType,
    describe,
    wrong_type,
)
from ..history.node import record, record_many
from ..tensor import Tensor
from ..tensor.pending import is_pending_type, settle
from ..tensor.storage import INFERENCE, InferenceView
from ..transforms.wrapped import Wrapped, escaped
from .annotations import misfit
from .arguments import DEFECTS, defect, explained, is_out_of_memory, nested_too_deep
from .catalogue import OPS, PUBLIC
from .half_numbers import Places, rounded, rounding_first, to_round
from .promotion import Typing
from .structure import Laid, Opaque, Pointwise, Reduction, Rowwise, Structure

if TYPE_CHECKING:
    from .declared import Op

HOST = "cpu"
"""The device type whose 0-d tensors go with any other's."""

NUMBERS = (bool, int, float, complex)
PLAIN = {*NUMBERS, type(None)}
"""What a kernel may get for an operand that is no tensor."""


class Plan:
    """How to carry out calls of one signature.

    Attributes:
        kernel: called with arrays, numbers and params.
        indirect: called as ``indirect(op, values, needs_grad)`` instead of the kernel where casts or a decomposition
            are due.
        nd, zd: the result's type if it has dimensions and if it has none; for several outputs, ``types`` lists the nd
            types.
        differentiable: whether the op has formulas and a floating result.
        out_kernel: the kernel if it can write into given memory, else None.
        many: the kernel for a whole group of calls, see `Kernel.many`; None if there is none.
        path, origin: "kernel", "lowered", "decomposition", "fallback" or "cast", and who supplied the kernel, for
            `polyad.explain`.
    """

    __slots__ = (
        "casts",
        "differentiable",
        "differentiable_outputs",
        "indirect",
        "kernel",
        "many",
        "nd",
        "origin",
        "out_kernel",
        "path",
        "types",
        "zd",
    )

    def __init__(self, types: tuple[TensorType, ...], formulas: bool) -> None:
        self.types = types
        self.nd: Any = types[0].nd if types else None
        self.zd: Any = types[0].zd if types else None
        self.differentiable_outputs = tuple(t.dtype.category >= FLOATING for t in types)
        self.differentiable = formulas and any(self.differentiable_outputs)
        self.kernel: Any = None
        self.indirect: Callable[[Op, tuple[Any, ...], bool], Any] | None = None
        self.out_kernel: Callable[..., Any] | None = None
        self.many: Many | None = None
        self.casts: tuple[DType | None, ...] = ()
        self.path = "kernel"
        self.origin = ""

    def wrap(self, arrays: Any) -> Any:
        """The tensors of several result arrays, in the op's result type."""
        return tuple([
            Tensor._of(array, t.nd if array.ndim else t.zd) for array, t in zip(arrays, self.types, strict=True)
        ])  # fmt: skip


_NONE, _NUMBER = type(None), numbers.Complex
_ALSO: dict[str, tuple[type, ...]] = {
    "tensor": (),
    "number": (_NUMBER,),
    "optional": (_NONE,),
    "flexible": (_NUMBER, _NONE),
}
"""What an operand may be besides a tensor, by how it is given."""


def signature_of(op: Op, values: tuple[Any, ...]) -> Signature:
    """The operands' part of the call signature; raises TypeError for an operand that the op does not take."""
    types: list[Any] = []
    for (name, given), value in zip(op.operands.items(), values, strict=False):
        if isinstance(value, Tensor):
            if given == "list":
                raise ArgumentTypeError(
                    f"{op.title}: {name} is one tensor", operands={name: value}, fix="pass a list or tuple of tensors"
                )
            types.append(value._type)
        elif given == "list":
            if not isinstance(value, (list, tuple)):
                raise ArgumentTypeError(
                    f"{op.title}: {name} is no list of tensors",
                    operands={name: value},
                    fix="pass a list or tuple of tensors",
                )
            for position, item in enumerate(value):
                if item is not None and not isinstance(item, Tensor):
                    raise ArgumentTypeError(
                        f"{op.title}: {name}[{position}] is no tensor",
                        operands={f"{name}[{position}]": item},
                        fix="wrap it in polyad.tensor(...)",
                    )
            types.append(tuple(type(None) if item is None else item._type for item in value))
        elif isinstance(value, _ALSO[given]):
            types.append(value.__class__)  # a number that stands for another says so here
        else:
            wanted = {"tensor": "a tensor", "optional": "a tensor or None"}.get(given, "a tensor or a number")
            raise wrong_type(op.name, name, value, wanted)
    return tuple(types)


def find_plan(op: Op, values: tuple[Any, ...]) -> Plan:
    """The plan for this call, built if it is new."""
    types = signature_of(op, values)
    keyed = tuple(values[len(op.operands) + op.params.index(name)] for name in op.keyed)
    parts = (*types, *keyed)
    key = parts[0] if len(parts) == 1 else parts
    try:
        found = op.plans.get(key)
    except TypeError:
        raise ArgumentTypeError(
            f"{op.title}: {dict(zip(op.keyed, keyed, strict=True))} cannot be read", fix="pass a dtype or device"
        ) from None
    if found is None:
        found = op.plans[key] = _make_plan(op, types, dict(zip(op.keyed, keyed, strict=True)), values)
    return found


def _make_plan(op: Op, types: Signature, keyed: dict[str, Any], values: tuple[Any, ...]) -> Plan:
    if any(map(is_pending_type, flat(types))):
        return _redirecting(_settle_first)
    if _has_foreign_number(types):
        return _redirecting(_plain_numbers)
    if _has_only_numbers(types):
        return _redirecting(_number_to_tensor(next(at for at, entry in enumerate(types) if entry in NUMBERS), None))
    if _has_host_numbers(op, types):
        return _redirecting(_bring_host_numbers)
    device = _common_device(op, types, keyed, values)
    try:
        typing: Typing = op.dtype(types, keyed)
    except PolyadError as error:
        error.add_operands(_shown_operands(op, values))
        raise
    if typing.number is not None:
        return _redirecting(_number_to_tensor(typing.number, device))
    plan = Plan(tuple(registry.tensor_type(dtype, device, False) for dtype in typing.outputs), bool(op.formulas))
    if _needs_cast(types, typing.casts):
        plan.casts, plan.indirect, plan.path = typing.casts, _cast_operands(typing.casts), "cast"
        return plan
    only_stored = _only_stored(types, typing)
    if only_stored and not op.structure.stored:
        if op.body is None:
            raise _nothing_computes(op, only_stored[0], values)
        plan.path, plan.indirect = "decomposition", _decompose
        return plan
    numbers_to_round = to_round(types, typing.casts)
    backend = registry.get(device.type)
    for kernel in plugins.candidate_kernels(backend, op.name):
        try:
            prepared = prepare(kernel, types, typing)
        except Exception as error:
            raise describe_failure(op, values, error) from error
        if prepared is not None:
            if kernel.partial and op.body is not None:
                prepared = _or_body(op, prepared, types)
            if numbers_to_round:
                prepared = rounding_first(prepared, numbers_to_round)
            plan.kernel, plan.origin = prepared, kernel.origin
            plan.out_kernel = prepared if takes_out(kernel) else None
            plan.many = kernel.many(types) if kernel.many is not None else None
            plan.indirect = _unless_gradient(op, plan)
            return plan
    if op.body is not None:
        runtime = backend.runtime(device)
        lowered = None
        if runtime is not None and not only_stored:
            lowered = provided.lowered_kernel(op, types, _rounded(op, values, numbers_to_round), runtime)
        if lowered is None:
            plan.path = "decomposition"
            plan.indirect = _rounding_numbers(_decompose, numbers_to_round) if numbers_to_round else _decompose
            return plan
        plan.kernel = plan.out_kernel = rounding_first(lowered, numbers_to_round) if numbers_to_round else lowered
        plan.path, plan.origin = "lowered", backend.info.name
        plan.indirect = _unless_gradient(op, plan)
        return plan
    plan.path, plan.origin = "fallback", "cpu"
    plan.kernel = fallback.make_kernel(op, types, typing, plan.types, device)
    if numbers_to_round:
        plan.kernel = rounding_first(plan.kernel, numbers_to_round)
    return plan


def _only_stored(types: Signature, typing: Typing) -> list[DType]:
    """The dtypes among operands and results that are for memory alone."""
    met = {entry.dtype for entry in flat(types) if isinstance(entry, TensorType)}.union(typing.outputs)
    return [dtype for dtype in dtypes.STORED if dtype in met]


def _nothing_computes(op: Op, dtype: DType, values: tuple[Any, ...]) -> UnsupportedDType:
    return UnsupportedDType(
        f"{op.title}: nothing computes with {dtype.name}, whose numbers are stored, moved, converted, and compared for "
        "equality",
        operands=_shown_operands(op, values),
        fix="convert to a dtype that computes, for example with .to(polyad.float32), and back afterwards",
    )


def _unless_gradient(op: Op, plan: Plan) -> Any:
    """What stands in the way of a composite's fused kernel: it has no gradient if the op has none of its own."""
    is_due = op.body and not op.formulas and any(plan.differentiable_outputs)
    return partial(fused_unless_gradient, plan) if is_due else None


def _rounding_numbers(
    indirect: Callable[[Op, tuple[Any, ...], bool], Any], places: Places
) -> Callable[[Op, tuple[Any, ...], bool], Any]:
    return lambda op, values, needs_grad: indirect(op, tuple(_rounded(op, values, places)), needs_grad)


def _rounded(op: Op, values: tuple[Any, ...], places: Places) -> list[Any]:
    try:
        return rounded(values, places)
    except OverflowError as error:  # an int that no float holds
        raise describe_failure(op, values, error) from error


def _redirecting(call: Callable[[Op, tuple[Any, ...], bool], Any]) -> Plan:
    """The plan that calls the op again with other operands."""
    plan = Plan((), False)
    plan.path, plan.indirect = "cast", call
    return plan


def _settle_first(op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
    """Call *op* again once its operands are computed."""
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor):
                settle(item)
    return op.call(*values)


def _has_host_numbers(op: Op, types: Signature) -> bool:
    """Whether 0-d tensors of the cpu are among the operands of an elementwise op that are on another device: PyTorch
    reads them there as it reads numbers.
    """
    tensors = [t for t in flat(types) if isinstance(t, TensorType)]
    there = {t.device for t in tensors if t.device.type != HOST}
    return (
        len(there) == 1
        and isinstance(op.structure, Pointwise)
        and any(t.device.type == HOST for t in tensors)
        and all(t.zero_dim for t in tensors if t.device.type == HOST)
    )


def _bring_host_numbers(op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
    """Call *op* with the cpu's tensors, which are 0-d, on the device of the others.

    One of the dtype that another operand has, without a gradient, becomes a number where the op takes numbers: nothing
    is copied, and a captured graph keeps it.
    """
    operands = values[: len(op.operands)]
    device = next(
        value._type.device for value in flat(operands) if isinstance(value, Tensor) and value._type.device.type != HOST
    )

    dtypes_there = {value._type.dtype for value in operands if isinstance(value, Tensor) and not value._type.zero_dim}

    def brought(value: Any, given: str = "") -> Any:
        if isinstance(value, (list, tuple)):
            return [brought(item) for item in value]
        if not isinstance(value, Tensor) or value._type.device == device:
            return value
        dtype = value._type.dtype
        as_number = given in ("number", "flexible") and dtype.category == FLOATING and dtype in dtypes_there
        if as_number and not isinstance(value, Wrapped) and not (value.requires_grad and state.grad_enabled):
            return value.item()
        return value.to(device)

    return op.call(*map(brought, operands, op.operands.values()), *values[len(op.operands) :])


def _common_device(op: Op, types: Signature, keyed: dict[str, Any], values: tuple[Any, ...]) -> Device:
    devices = {t.device for t in flat(types) if isinstance(t, TensorType)}
    if len(devices) > 1:
        operands: dict[str, Any] = {}
        for name, value in zip(op.operands, values, strict=False):
            if isinstance(value, (list, tuple)):
                operands.update({f"{name}[{i}]": item for i, item in enumerate(value)})
            else:
                operands[name] = value
        raise DeviceError(
            f"{op.title}: operands are on different devices",
            operands=operands,
            fix="move them to one device with .to(device)",
        )
    return devices.pop() if devices else keyed["device"]


def _has_foreign_number(types: Signature) -> bool:
    return any(isinstance(entry, type) and entry not in PLAIN for entry in types)


def _plain_numbers(op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
    """Call *op* with Python's own numbers in the place of NumPy scalars, enumeration members, fractions, ..."""
    plain = list(values)
    for position, value in enumerate(values[: len(op.operands)]):
        if isinstance(value, numbers.Complex) and type(value) not in PLAIN:
            plain[position] = (
                int(value)
                if isinstance(value, numbers.Integral)
                else float(value)
                if isinstance(value, numbers.Real)
                else complex(value)
            )
    return op.call(*plain)


def _has_only_numbers(types: Signature) -> bool:
    return any(entry in NUMBERS for entry in types) and not any(isinstance(entry, TensorType) for entry in flat(types))


def _number_to_tensor(position: int, device: Device | None) -> Callable[[Op, tuple[Any, ...], bool], Any]:
    """Call the op with the number at *position* as a 0-d tensor, on the default device if *device* is None."""

    def call(op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
        tensor = PUBLIC["tensor"].call(values[position], device=device)
        return op.call(*values[:position], tensor, *values[position + 1 :])

    return call


def _needs_cast(types: Signature, casts: tuple[DType | None, ...]) -> bool:
    for entry, cast in zip(types, casts, strict=True):
        if cast is not None:
            for operand_type in flat((entry,)):
                if isinstance(operand_type, TensorType) and operand_type.dtype is not cast:
                    return True
    return False


def _cast_operands(casts: tuple[DType | None, ...]) -> Callable[[Op, tuple[Any, ...], bool], Any]:
    def cast_and_call(op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
        cast_values = list(values)
        for position, dtype in enumerate(casts):
            value = values[position]
            if dtype is None:
                continue
            if isinstance(value, Tensor):
                cast_values[position] = value.to(dtype)
            elif isinstance(value, (list, tuple)):
                cast_values[position] = [item if item is None else item.to(dtype) for item in value]
        return op.call(*cast_values)

    return cast_and_call


def _decompose(op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
    """Run a composite's body; recorded as one node if the composite has formulas of its own."""
    if not (op.formulas and needs_grad and state.grad_enabled):
        return run_body(op, values)
    state.grad_enabled = False
    try:
        result = run_body(op, values)
    finally:
        state.grad_enabled = True
    if op.outputs:
        result = tuple(result)
        record_many(op, values, result, [out._type.dtype.category >= FLOATING for out in result])
    elif result._type.dtype.category >= FLOATING:
        record(op, values, result)
    return result


def _or_body(op: Op, kernel: Callable[..., Any], types: Signature) -> Callable[..., Any]:
    """*kernel*, and the body of *op* for the calls that it leaves to it."""
    count = len(types)
    backends = [entry.backend for entry in flat(types) if isinstance(entry, TensorType)]

    def call(*args: Any, **given: Any) -> Any:
        results = kernel(*args, **given)
        if results is not NotImplemented:
            return results
        operands = [Tensor._of(arg, type_) if isinstance(type_, TensorType) else arg for arg, type_ in zip(args, types)]
        before, state.grad_enabled = state.grad_enabled, False  # the call is recorded as a whole
        try:
            made = run_body(op, (*operands, *args[count:]))
        finally:
            state.grad_enabled = before
        arrays = tuple([each._array for each in made]) if op.outputs else made._array
        if not given:
            return arrays
        for target, array in zip(given["out"], arrays) if op.outputs else ((given["out"], arrays),):
            backends[0].copy(target, array)
        return given["out"]

    return call


def run_body(op: Op, values: tuple[Any, ...]) -> Any:
    """Run a composite's body; shapes that do not fit are told in the words of the op that was called,
    not of an op inside it.
    """
    body: Callable[..., Any] = op.body  # type: ignore[assignment]
    try:
        result = body(*values)
    except Exception as error:
        problem: Exception | None = explained_by_shapes(op, values) if isinstance(error, ShapeError) else None
        if problem is None:
            problem = explained(op.name, op.signature, dict(zip(op.names, values, strict=True)), error)
        if problem is error:
            raise
        raise problem from error
    if op.ordered:
        result = _in_order(op, values, result)
    # An operand that came back as it was is not the op's to give away: its history would become the result's.
    for value in values:
        if value is result and (value.__class__ is Tensor or isinstance(value, Wrapped)):
            return result.clone()
    # A view of memory that only the body has seen is a tensor of its own to everybody else.
    if result.__class__ is Tensor and result._view is not None and not _shares(result, values):
        result._storage = None
        result._view = INFERENCE if result._view.__class__ is InferenceView else None
    return result


def _in_order(op: Op, values: tuple[Any, ...], result: Any) -> Any:
    """What a body computed, copied where it does not lie in memory as the op declares."""
    if isinstance(result, (tuple, list)):
        return tuple([_in_order(op, values, one) for one in result])
    if len(result._array.shape) < 2 or isinstance(result, Wrapped):
        return result
    shape, lies = result._array.shape, result.stride()
    operands = [one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,))]
    laid = [Laid(one._array.shape, one._array.strides, one._type.dtype) for one in operands if isinstance(one, Tensor)]
    wanted = op.strides(shape, laid, *values[len(op.operands) :])
    if any(size > 1 and a != b for size, a, b in zip(shape, wanted, lies, strict=True)) and 0 not in shape:
        return OPS["copy_strided"].call(result, wanted)
    return result


def _shares(result: Tensor, values: tuple[Any, ...]) -> bool:
    """Whether *result* lies in the memory of a tensor among *values*."""
    storage = result._storage
    return any(
        _shares(result, tuple(value))
        if isinstance(value, (list, tuple))
        else isinstance(value, Tensor) and value._storage is not None and value._storage is storage
        for value in values
    )


def fused_unless_gradient(plan: Plan, op: Op, values: tuple[Any, ...], needs_grad: bool) -> Any:
    """A fused kernel of a composite without formulas: used only where nothing needs a gradient."""
    if needs_grad and state.grad_enabled:
        return run_body(op, values)
    count = len(op.operands)
    arrays = [array_of(value) for value in values[:count]]
    try:
        result = plan.kernel(*arrays, *values[count:])
    except Exception as error:
        result = instead(op, values, error)
    return plan.wrap(result) if op.outputs else Tensor._of(result, plan.nd if result.ndim else plan.zd)


def instead(op: Op, values: tuple[Any, ...], error: Exception) -> Any:
    """The result arrays of a call whose kernel raised *error*, by what works in its place; raises what is to be said.

    Only a generated kernel that a compiler refuses has something in its place: the op's body, or the host. From then on
    that is what calls of the signature use; a warning says so.
    """
    if not isinstance(error, CompilerFailure):
        raise describe_failure(op, values, error) from error
    plan, types, count = find_plan(op, values), signature_of(op, values), len(op.operands)
    keyed = {name: values[count + op.params.index(name)] for name in op.keyed}
    device = _common_device(op, types, keyed, values)
    typing = op.dtype(types, keyed)
    backend = registry.get(device.type)
    if op.body is not None:
        kernel, path, then = body_kernel(op, types, backend), "decomposition", "its body runs"
    else:
        kernel = fallback.make_kernel(op, types, typing, plan.types, device, by_policy=False)
        path, then = "fallback", "the host computes it"
    numbers_to_round = to_round(types, typing.casts)
    plan.kernel = rounding_first(kernel, numbers_to_round) if numbers_to_round else kernel
    plan.path, plan.out_kernel = path, None
    said = f"{op.title} on {device}: {error.message}, so {then}"
    warn_user(said if backend in _heard else f"{said}\n{error}", CompilerWarning)
    _heard.add(backend)
    return plan.kernel(*[array_of(value) for value in values[:count]], *values[count:])


_heard: WeakSet[Backend] = WeakSet()
"""The backends whose compiler's words have been shown."""


def body_kernel(op: Op, types: Signature, backend: Backend) -> Callable[..., Any]:
    """A composite's body as a kernel: on tensors over the arrays, without history."""
    single = not op.outputs

    def kernel(*args: Any, out: Any = None) -> Any:
        operands = [
            Tensor._of(value, entry.nd if value.ndim else entry.zd) if isinstance(entry, TensorType) else value
            for value, entry in zip(args, types, strict=False)
        ]
        modes, recording = state.modes, state.grad_enabled
        state.modes, state.grad_enabled = (), False
        try:
            result = op.body(*operands, *args[len(operands) :])  # type: ignore[misc]
        finally:
            state.modes, state.grad_enabled = modes, recording
        results = [each._array for each in ((result,) if single else result)]
        if out is not None:
            for target, computed in zip((out,) if single else out, results, strict=True):
                backend.copy(target, computed)
            return out
        return results[0] if single else tuple(results)

    return kernel


def array_of(value: Any) -> Any:
    """What a kernel gets for *value*."""
    if isinstance(value, Tensor):
        return value._array
    return [array_of(item) for item in value] if isinstance(value, (list, tuple)) else value


def describe_failure(op: Op, values: tuple[Any, ...], error: Exception) -> Exception:
    """The error to raise for a kernel's exception: the op's shape rule explains it if it can,
    else the kernel's own words do.
    """
    operands = _shown_operands(op, values)
    if isinstance(error, PolyadError):
        if isinstance(error, ShapeError):
            # What a generated kernel computes with, a broadcast or an op of the body, speaks in its own name.
            found = explained_by_shapes(op, values)
            if found is not None:
                return found
        if isinstance(error, (ShapeError, IndexOutOfRange, LinAlgError, MissingKernel)):
            error.add_operands(operands)
        elif isinstance(error, OutOfMemory):
            error.lines = {name: describe(value) for name, value in operands.items()} | error.lines
        return error
    if isinstance(error, DEFECTS):
        return defect(op.name, operands, error)
    for value in values:
        if isinstance(value, Wrapped):
            return escaped(value._level)
    found = misfit(op.name, op.signature, dict(zip(op.names, values, strict=True))) or explained_by_shapes(op, values)
    if found is not None:
        return found
    if is_out_of_memory(error):
        return OutOfMemory(
            f"{op.title}: the device has not enough memory",
            operands=operands,
            notes={"device said": str(error)},
            fix="use smaller tensors or free some",
        )
    if isinstance(error, OverflowError) or any(map(_is_beyond_int64, values)):
        return DTypeError(
            f"{op.title}: a number is outside the range of the operands' dtype: {error}",
            operands=operands,
            fix="use a number that the dtype can hold, or convert the tensor first",
        )
    dimensions = _most_dimensions(values)
    if dimensions >= MANY_DIMENSIONS and "dimension" in str(error):
        return ShapeError(
            f"{op.title}: the device has no kernel for {dimensions} dimensions: {error}",
            operands=operands,
            fix="join dimensions first, for example with flatten()",
        )
    if isinstance(error, RecursionError):
        return nested_too_deep(op.title, operands)
    if isinstance(error, IndexError):
        return IndexOutOfRange(
            f"{op.title}: {error}", operands=operands, fix="check the index tensor against the indexed dimension"
        )
    if isinstance(error, (NotImplementedError, MissingKernel)):
        return MissingKernel(f"{op.title}: {error}", operands=operands, fix="use another dtype or device")
    if isinstance(error, AttributeError):
        return defect(op.name, operands, error)
    error_class: type[PolyadError] = KernelFailure
    fix = _DRIVERS
    if isinstance(error, (ValueError, TypeError, LookupError, ArithmeticError)):
        error_class = ShapeError if isinstance(error, ValueError) else KernelFailure
        fix = "check shapes and dtypes; if they are right, report the backend"
    said = f"{type(error).__name__}: {error}"
    problem = error_class(f"{op.title}: the kernel failed: {said}", operands=operands, fix=fix)
    problem.failed_kernel = op.title, said  # type: ignore[attr-defined]
    return problem


MANY_DIMENSIONS = 32
"""Of so many, libraries below kernels have less to offer: NumPy's own limit is 32 in places, and 64 in others."""

_DRIVERS = (
    "these are the device's words, or its driver's: see whether other programs can use the device and start this one "
    "again; if it fails again, report the backend"
)


def _is_beyond_int64(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_beyond_int64, value))
    return isinstance(value, int) and value.bit_length() > 63


def _most_dimensions(values: tuple[Any, ...] | list[Any]) -> int:
    return max(
        [
            value.ndim
            if isinstance(value, Tensor)
            else len(value)  # a shape
            if value and isinstance(value[0], int)
            else _most_dimensions(value)
            for value in values
            if isinstance(value, (Tensor, list, tuple))
        ],
        default=0,
    )


def _shown_operands(op: Op, values: tuple[Any, ...]) -> dict[str, Any]:
    return {
        name: value
        for name, value in zip(op.operands, values, strict=False)
        if value is not None and not isinstance(value, (list, tuple))
    }


def explained_by_shapes(op: Op, values: tuple[Any, ...]) -> PolyadError | None:
    """What the op's shape rule finds wrong with the operands' shapes, in the op's name; None if nothing."""
    if op.shape is None:
        return None
    shapes = [shape_of(value) for value in values[: len(op.operands)]]
    try:
        op.shape(*shapes, *values[len(op.operands) :])
    except PolyadError as found:
        # A rule may name the op as users know it ("matmul: ..."); the others, which serve many ops,
        # speak in this op's name.
        named, _, rest = found.message.partition(": ")
        if named == "broadcast":
            message = f"{op.title}: {rest}"
        else:
            message = found.message if named.isidentifier() and rest else f"{op.title}: {found.message}"
        return type(found)(message, operands=_shown_operands(op, values), fix=found.fix)
    except Exception:
        pass  # a shape rule that cannot read its arguments explains nothing
    return None


def shape_of(value: Any) -> Any:
    """What a shape rule gets for *value*."""
    if isinstance(value, (list, tuple)):
        return [shape_of(item) for item in value]
    return value._array.shape if isinstance(value, Tensor) else None


def drop_plans() -> None:
    """Forget all plans."""
    for op in OPS.loaded():
        op.plans.clear()


_KINDS: dict[type[Structure], str] = {
    Pointwise: "elements", Reduction: "reduction", Rowwise: "rows", Opaque: "opaque",
}  # fmt: skip


def _generated_kind(name: str) -> str:
    op = OPS.get(name)
    if op is None:
        return ""
    if op.body is None:
        return "primitive" if isinstance(op.structure, (Pointwise, Reduction)) else ""
    return _KINDS.get(type(op.structure), "")


provided.generated_kind.fill(_generated_kind)
dtypes.on_default_change(drop_plans)
registry.on_forget(drop_plans)
