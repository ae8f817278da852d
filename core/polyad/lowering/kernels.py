"""The kernel of a composite on a device that runs generated code: its body, lowered once for each way it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..backend.interface import Backend, FusedKernel, Signature, TensorType
from ..dispatch.structure import Pointwise
from ..state import state
from ..tensor import Tensor
from .numbers import Guards, Read
from .tensors import NotLowered, lower

if TYPE_CHECKING:
    from ..dispatch.declared import Op

_NUMBERS = {int, float, complex}
"""Classes of parameters that a form takes as they come; what the classes are decides what dtypes a body computes in."""

_VARIANTS = 8
"""How many forms of a body are kept for each setting of its options; calls beyond run the body itself."""


def lowered_kernel(op: Op, types: Signature, values: Sequence[Any], backend: Backend) -> Callable[..., Any] | None:
    """A kernel for calls of the signature *types*, of which *values* is one; None for a body that cannot be lowered."""
    if not isinstance(op.structure, Pointwise):
        return None
    kernel = LoweredKernel(op, types, backend)
    try:
        kernel.add_variant(values)
    except NotLowered as reason:
        _reasons[op.name, types] = str(reason)
        return None
    return kernel if not kernel.always else kernel.always


_reasons: dict[tuple[str, Signature], str] = {}


def why_composed(op: Op, types: Signature) -> str:
    """Why the body could not be lowered for calls of the signature *types*; empty if nobody tried."""
    return _reasons.get((op.name, types), "")


class LoweredKernel:
    """A composite's body as kernels: ``kernel(*operands, *params, out=None)``.

    Each combination of options (strings, flags, types of numbers) has variants of its own, and each variant is a form
    of the body with the answers that it serves; see `polyad.lowering.numbers`.
    """

    def __init__(self, op: Op, types: Signature, backend: Backend) -> None:
        self._op = op
        self._types = types
        self._backend = backend
        self._device = next(entry.device for entry in types if isinstance(entry, TensorType))
        self._arrays = [position for position, entry in enumerate(types) if isinstance(entry, TensorType)]
        self._single = not op.outputs
        self._variants: dict[Any, list[tuple[Guards, tuple[Read, ...], FusedKernel]]] = {}

    @property
    def always(self) -> Callable[..., Any] | None:
        """The kernel of an op whose operands are tensors and which has no parameters; None for another."""
        if len(self._arrays) != len(self._types) or self._op.params:
            return None
        run, single = self._variants[()][0][2], self._single

        def of_arrays(*arrays: Any, out: Any = None) -> Any:
            if out is not None:
                run.into((out,) if single else out, arrays)
                return out
            results = run(arrays)
            return results[0] if single else results

        return of_arrays

    def add_variant(self, args: Sequence[Any]) -> tuple[Guards, tuple[Read, ...], FusedKernel]:
        """The form of the body for calls like that of *args*, kept. Raises `NotLowered`."""
        lowered = lower(self._op, self._types, args)
        names = ", ".join(
            entry.dtype.name if isinstance(entry, TensorType) else entry.__name__ for entry in self._types
        )
        run = self._backend.fused(self._device, f"{self._op.name} of {names}", lowered.expressions)
        if run is None:
            raise NotLowered(f"{self._backend.info.name} has no kernel for it")
        variant = (lowered.guards, lowered.scalars, run)
        known = self._variants.setdefault(self._options(args), [])
        if len(known) < _VARIANTS:
            known.append(variant)
        return variant

    def _options(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """What of a call is no number that a form can take as it comes."""
        return tuple([value.__class__ if value.__class__ in _NUMBERS else value for value in args[len(self._types) :]])

    def __call__(self, *args: Any, out: Any = None) -> Any:
        known = self._variants.get(self._options(args), ())
        found = next((variant for variant in known if variant[0].hold(args)), None)
        if found is None:
            if len(known) == _VARIANTS:
                return self._composed(args, out)
            try:
                found = self.add_variant(args)
            except NotLowered:
                return self._composed(args, out)
        _, scalars, run = found
        arrays = [args[position] for position in self._arrays]
        numbers = [read(args) for read in scalars]
        if out is not None:
            run.into((out,) if self._single else out, arrays, numbers)
            return out
        results = run(arrays, numbers)
        return results[0] if self._single else results

    def _composed(self, args: Sequence[Any], out: Any) -> Any:
        """The body itself, on tensors over the arrays."""
        operands = [
            Tensor._of(value, entry) if isinstance(entry, TensorType) else value
            for value, entry in zip(args, self._types, strict=False)
        ]
        modes, recording = state.modes, state.grad_enabled
        state.modes, state.grad_enabled = (), False
        try:
            result = self._op.body(*operands, *args[len(operands) :])  # type: ignore[misc]
        finally:
            state.modes, state.grad_enabled = modes, recording
        results = [each._array for each in ((result,) if self._single else result)]
        if out is not None:
            for target, computed in zip((out,) if self._single else out, results, strict=True):
                self._backend.copy(target, computed)
            return out
        return results[0] if self._single else tuple(results)
