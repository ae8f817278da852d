"""`opcheck`: what the conformance suite asks of the library's ops, asked of a custom op on the author's own arguments.

Each check is a function of (op, values) that raises what is wrong. To add a check, write it and put it into `CHECKS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..autograd.gradcheck import gradcheck, gradgradcheck
from ..autograd.gradients import grad
from ..base.dtypes import COMPLEX, FLOATING, complex128, float64
from ..devices import registry
from ..errors import ArgumentError, safe_repr
from ..func import vmap
from ..history.grad_mode import no_grad
from ..jit.capture import capture
from ..ops.shaping.joining import stack
from ..tensor import Tensor
from .definition import CustomOpDef, CustomOpError, _tensors_of, op_named

__all__ = ["opcheck"]

Values = list[Any]


def _copied(values: Values, change: Callable[[Tensor], Tensor] = Tensor.clone) -> Values:
    """The values with tensors of their own memory, each as *change* makes it; which require what they required."""

    def copy(value: Any) -> Any:
        if isinstance(value, Tensor):
            with no_grad():
                changed = change(value.detach())
            return changed.requires_grad_(value.requires_grad)
        return type(value)(map(copy, value)) if isinstance(value, (list, tuple)) else value

    return [copy(value) for value in values]


def _call(op: CustomOpDef, values: Values) -> Any:
    return op._call(op, values)


def _compare(op: CustomOpDef, what: str, got: Any, wanted: Any, *, exact: bool = True) -> None:
    for number, (have, want) in enumerate(zip(_tensors_of(got), _tensors_of(wanted), strict=True)):
        place = f"result {number}" if isinstance(got, (list, tuple)) else "the result"
        if (have.shape, have.dtype, have.device) != (want.shape, want.dtype, want.device):
            raise CustomOpError(
                f"{op.name}: {what}: {place} looks different",
                operands={"got": have, "wanted": want},
                fix="make both the same shape, dtype and device",
            )
        same = bool((have.detach() == want.detach()).all()) or have.detach().allclose(want.detach(), equal_nan=True)
        if exact and not same:
            raise CustomOpError(
                f"{op.name}: {what}: {place} has other values",
                operands={"got": have, "wanted": want},
                fix="let both compute the same",
            )


def check_schema(op: CustomOpDef, values: Values) -> None:
    """It writes into what it says and nothing else, and returns new tensors."""
    given = _copied(values, lambda tensor: tensor.detach().clone())
    for tensor in op._tensors(given).values():
        tensor.requires_grad_(False)
    before, versions = _copied(given), {name: tensor._version for name, tensor in op._tensors(given).items()}
    result = _call(op, given)
    old = op._tensors(before)
    for name, tensor in op._tensors(given).items():
        changed = tensor._version != versions[name] or not tensor.allclose(
            old[name], rtol=0.0, atol=0.0, equal_nan=True
        )
        if changed and name.partition("[")[0] not in op.schema.written:
            raise CustomOpError(
                f"{op.name}: it writes into {name} and does not say so",
                operands={name: tensor},
                fix=f'declare mutates_args=("{name.partition("[")[0]}",), or write to a clone()',
            )
        for output in _tensors_of(result):
            if output.numel() and output.data_ptr() == tensor.data_ptr():
                raise CustomOpError(
                    f"{op.name}: a result shares memory with {name}",
                    operands={name: tensor, "result": output},
                    fix="return a clone()",
                )


def check_layouts(op: CustomOpDef, values: Values) -> None:
    """Results are the same for arguments that lie elsewhere in memory: with gaps, in another order."""
    wanted = _call(op, _detached(_copied(values)))

    def with_gaps(tensor: Tensor) -> Tensor:
        return stack([tensor, tensor], -1).select(-1, 1) if tensor.ndim else stack([tensor, tensor])[1]

    def reversed_order(tensor: Tensor) -> Tensor:
        dims = tuple(reversed(range(tensor.ndim)))
        return tensor.permute(dims).contiguous().permute(dims) if tensor.ndim > 1 else with_gaps(tensor)

    for what, change in (("strided arguments", with_gaps), ("transposed arguments", reversed_order)):
        _compare(op, what, _call(op, _detached(_copied(values, change))), wanted)


def check_fake(op: CustomOpDef, values: Values) -> None:
    """What was registered with ``register_fake`` says how results look."""
    if op.fake is not None:
        with no_grad():
            said = op._call(op.fake, _detached(_copied(values)))
        _compare(op, "register_fake", said, _call(op, _detached(_copied(values))), exact=False)


def check_devices(op: CustomOpDef, values: Values) -> None:
    """Kernels for other devices that are here give what the kernel for the arguments' device gives."""
    tensors = op._tensors(values)
    here = next(iter(tensors.values())).device.type if tensors else "cpu"
    wanted = _call(op, _detached(_copied(values)))
    for device in sorted(op.kernels.keys() - {here}):
        if device not in registry.names() or not registry.count_devices(registry.get(device))[0]:
            continue  # not here to be tested
        got = _call(op, _detached(_copied(values, lambda tensor, device=device: tensor.to(device))))  # type: ignore[misc]
        back = [tensor.to(here) for tensor in _tensors_of(got)]
        for have, want in zip(back, _tensors_of(wanted), strict=True):
            if (
                have.shape != want.shape
                or have.dtype is not want.dtype
                or not have.allclose(want, rtol=1e-4, equal_nan=True)
            ):
                raise CustomOpError(
                    f"{op.name}: the kernel for {device} gives other results than that for {here}",
                    operands={device: have, here: want},
                    fix="let both kernels compute the same",
                )


def check_capture(op: CustomOpDef, values: Values) -> None:
    """A captured graph has one node for it, and its replay gives the same."""
    tensors = op._tensors(values)
    if not tensors:
        return

    def called(*given: Any) -> Any:
        return _call(op, list(given))

    wanted = _call(op, _detached(_copied(values)))
    graph = capture(called, *_detached(_copied(values)))
    if [node.name for node in graph] != [op.name]:
        raise CustomOpError(
            f"{op.name}: a captured call of it is {[node.name for node in graph]}, not one node",
            fix="let the op be called by its own name",
        )
    _compare(op, "replay of a captured call", graph(*_detached(_copied(values))), wanted)


def check_vmap(op: CustomOpDef, values: Values) -> None:
    """The rule that was registered with ``register_vmap`` gives what a loop gives."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if op.batched is None or not places:
        return
    batch = _detached(_copied(values))
    other = _copied(batch)
    for place in places:
        other[place] = batch[place].flip(0) if batch[place].ndim else batch[place]
    wanted = [_call(op, sample) for sample in (_copied(batch), _copied(other))]
    dims = tuple(0 if place in places else None for place in range(len(values)))
    pairs = enumerate(zip(batch, other, strict=True))
    stacked = [stack([first, second]) if place in places else first for place, (first, second) in pairs]
    got = vmap(lambda *given: _call(op, list(given)), in_dims=dims)(*stacked)
    for number, single in enumerate(wanted):
        _compare(op, "register_vmap", [part[number] for part in _tensors_of(got)], _tensors_of(single))


def check_autograd(op: CustomOpDef, values: Values) -> None:
    """Arguments that require a gradient get it, which finite differences confirm in double precision, and so does the
    gradient of the gradient if there is any.
    """
    tensors = [tensor for tensor in op._tensors(values).values() if tensor.requires_grad]
    if not tensors:
        return

    def precise(tensor: Tensor) -> Tensor:
        category = tensor.dtype.category
        return tensor if category < FLOATING else tensor.to(complex128 if category == COMPLEX else float64)

    widened = _copied(values, precise)
    inputs = [tensor for tensor in op._tensors(widened).values() if tensor.requires_grad]

    def called(*given: Tensor) -> Any:
        rest = iter(given)

        def filled(value: Any) -> Any:
            if isinstance(value, Tensor):
                return next(rest) if value.requires_grad else value
            return type(value)(map(filled, value)) if isinstance(value, (list, tuple)) else value

        result = _call(op, [filled(value) for value in widened])
        return tuple(result) if isinstance(result, list) else result

    gradcheck(called, inputs)
    first = called(*inputs)
    parts = [part for part in _tensors_of(first) if part.requires_grad]
    sums = [part.abs().sum() if part.dtype.is_complex else part.sum() for part in parts]
    slopes = grad(sums, inputs, create_graph=True, allow_unused=True)
    if any(slope is not None and slope.requires_grad for slope in slopes):
        gradgradcheck(called, inputs)


def _detached(values: Values) -> Values:
    return [
        value.detach()
        if isinstance(value, Tensor)
        else type(value)(_detached(list(value)))
        if isinstance(value, (list, tuple))
        else value
        for value in values
    ]


CHECKS: dict[str, Callable[[CustomOpDef, Values], None]] = {
    "test_schema": check_schema,
    "test_layouts": check_layouts,
    "test_autograd_registration": check_autograd,
    "test_faketensor": check_fake,
    "test_devices": check_devices,
    "test_capture": check_capture,
    "test_vmap": check_vmap,
}
"""The checks by name; where PyTorch has the check, its name."""


def opcheck(
    op: str | CustomOpDef,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Iterable[str] = tuple(CHECKS),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test a custom op on sample arguments. Give arguments that require a gradient to have that tested.

    Args:
        op: a custom op or its name.
        args, kwargs: the arguments; they are copied.
        test_utils: names of checks, all if not given. "test_schema": it writes into what it says, and returns new
            tensors; "test_layouts": strided arguments; "test_autograd_registration": gradients against finite
            differences in float64, second gradients if there are any; "test_faketensor": `CustomOpDef.register_fake`;
            "test_devices": the kernels for devices that are here; "test_capture": a captured call and its replay;
            "test_vmap": `CustomOpDef.register_vmap` against single calls.
        raise_exception: whether a failed check raises; if not, its error is in the result.
        atol, rtol: have no effect.

    Returns:
        "SUCCESS" or the error by check.

    Raises ValueError for an unknown check, and what is wrong with the op as RuntimeError.

    >>> import polyad
    >>> @polyad.library.custom_op("doc::careless", mutates_args=())
    ... def careless(x: polyad.Tensor) -> polyad.Tensor:
    ...     return x.mul_(2).clone()
    >>> polyad.library.opcheck(careless, (polyad.ones(2),))
    Traceback (most recent call last):
        ...
    polyad.library.definition.CustomOpError: doc::careless: it writes into x and does not say so
        x    float32 (2,) on cpu
        fix  declare mutates_args=("x",), or write to a clone()
    """
    checked = op_named(op)
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    for name in names:
        if name not in CHECKS:
            raise ArgumentError(f"opcheck: there is no check {safe_repr(name)}", fix=f"use some of {', '.join(CHECKS)}")
    values = checked.bound(tuple(args), kwargs or {})
    found: dict[str, Any] = {}
    for name in names:
        try:
            with warnings.catch_warnings():
                CHECKS[name](checked, values)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            found[name] = error
    return found
