"""The kernel of a composite on a device that runs generated code: its body, lowered once for each way it takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from operator import is_
from typing import TYPE_CHECKING, Any

from ..backend.choosing import Declined
from ..backend.interface import Signature, TensorType
from ..backend.preparation import prepare, writing
from ..backend.runtime import Runtime
from ..base.shapes_and_strides import Layout, contiguous_strides
from ..codegen.kernels import PointwiseKernel, generated_kernels
from ..codegen.kernels.layouts import LayoutCache
from ..codegen.kernels.pointwise import check_one_shape
from ..dispatch.catalogue import OPS
from ..dispatch.plan import body_kernel
from ..dispatch.structure import Opaque, Pointwise, Reduction, Rowwise
from ..dispatch.views import layout_of
from ..tensor import Tensor
from .numbers import Guards, Read
from .running import LoopsKernel, pointwise_form, pointwise_into_many
from .tensors import Lowered, NotLowered, lower

if TYPE_CHECKING:
    from ..dispatch.declared import Op

_NUMBERS = {int, float, complex}
"""Classes of parameters that a form takes as they come; what the classes are decides what dtypes a body computes in."""

_VARIANTS = 8
"""How many forms of a body are kept for each setting of its options; calls beyond run the body itself."""

_LOWERED = (Pointwise, Reduction, Rowwise, Opaque)
"""The structures of bodies that may compute by a few kernels; what the others do is not computed by formulas."""


def lowered_kernel(op: Op, types: Signature, values: Sequence[Any], runtime: Runtime) -> Callable[..., Any] | None:
    """A kernel for calls of the signature *types*, of which *values* is one; None for a body that cannot be lowered."""
    if not isinstance(op.structure, _LOWERED) or any(isinstance(entry, tuple) for entry in types):
        return None
    any_layout = isinstance(op.structure, Pointwise)
    try:
        try:
            kernel = LoweredKernel(op, types, runtime, any_layout)
            if any_layout:
                kernel.add_variant(values)
                return kernel.always or kernel
        except NotLowered:
            kernel = LoweredKernel(op, types, runtime, any_layout=False)
        tensors = [value for value in values[: len(types)] if isinstance(value, Tensor)]
        lower(op, types, values, [layout_of(tensor) for tensor in tensors])
    except NotLowered as reason:
        _reasons[op.name, types] = str(reason)
        return None
    return kernel


def generated_call(name: str, types: Signature, runtime: Runtime) -> Callable[..., Any] | None:
    """The kernel of op *name* for a signature, by its formula if it has one, else by its body; None if neither serves.

    It raises `Declined`, before anything is written, for a call that cannot be lowered.
    """
    table = runtime.once("primitives", lambda: generated_kernels(lambda device: runtime))
    found = prepare(table[name], types) if name in table else None
    if found is not None and not table[name].out:
        found = writing(found, types)
    op = OPS[name]
    lowers = isinstance(op.structure, _LOWERED) and not any(isinstance(entry, tuple) for entry in types)
    return found or (_by_body(op, types, runtime) if op.body is not None and lowers else None)


def _by_body(op: Op, types: Signature, runtime: Runtime) -> Callable[..., Any]:
    pointwise = isinstance(op.structure, Pointwise)
    kernels = [LoweredKernel(op, types, runtime, pointwise, composed=_declined)]
    places = [place for place, entry in enumerate(types) if isinstance(entry, TensorType) and not entry.zero_dim]
    one_shape = isinstance(op.structure, Pointwise) and not op.structure.broadcasts
    laid_out_by_rule = pointwise and (op.ordered or len(op.outputs) > 1)

    def call(*args: Any, **out: Any) -> Any:
        if one_shape:
            shape = args[places[0]].shape
            for place in places:
                if args[place].shape != shape:
                    raise Declined
        if laid_out_by_rule and not out:
            layouts = {runtime.layout(args[place]) for place in places}
            plain = all(layout.strides == contiguous_strides(layout.shape) for layout in layouts)
            if not (plain or (len(layouts) == 1 and not op.ordered)):
                raise Declined  # the kernel would lay all results out as all operands together are
        try:
            return kernels[0](*args, **out)
        except Declined:
            if not kernels[0].any_layout:
                raise Declined(always=not kernels[0].forms) from None
        # Some bodies can be lowered only for layouts that are known.
        kernels[0] = LoweredKernel(op, types, runtime, any_layout=False, composed=_declined)
        return call(*args, **out)

    return call


def _declined(*args: Any, out: Any = None) -> Any:
    raise Declined


_reasons: dict[tuple[str, Signature], str] = {}


def why_composed(op: Op, types: Signature) -> str:
    """Why the body could not be lowered for calls of the signature *types*; empty if nobody tried."""
    return _reasons.get((op.name, types), "")


Variant = tuple[Guards, tuple[Read, ...], Any]
Build = Callable[[Runtime, str, Lowered, int, Any], Any]


class LoweredKernel:
    """A composite's body as kernels: ``kernel(*operands, *params, out=None)``.

    Each combination of options (strings, flags, types of numbers) has variants of its own, and each variant is a form
    of the body with the answers that it serves; see `polyad.lowering.numbers`. What is computed element by element has
    the same form for *any_layout*; other bodies are lowered anew for each combination of layouts, and compile anew only
    where something else is to be computed.

    *build* makes what runs a form: `PointwiseKernel` or `LoopsKernel`, unless told otherwise. *composed* serves the
    calls that cannot be lowered: the body itself, unless told otherwise.
    """

    def __init__(
        self,
        op: Op,
        types: Signature,
        runtime: Runtime,
        any_layout: bool = True,
        build: Build | None = None,
        composed: Callable[..., Any] | None = None,
    ) -> None:
        self._op = op
        self._types = types
        self._runtime = runtime
        self.any_layout = any_layout
        self._build = build or (self._pointwise if any_layout else self._loops)
        self._arrays = [position for position, entry in enumerate(types) if isinstance(entry, TensorType)]
        self._tensors_first = self._arrays == [*range(len(self._arrays))]
        self._broadcasts = not isinstance(op.structure, Pointwise) or op.structure.broadcasts
        self._last: tuple[Any, ...] | None = None
        self._single = not op.outputs
        self._composed = composed or body_kernel(op, types, runtime.backend)
        self._variants: LayoutCache[list[Variant]] = LayoutCache()

    @property
    def forms(self) -> int:
        """For how many settings of its options, and combinations of layouts, the body has been lowered."""
        return len(self._variants)

    @property
    def always(self) -> Callable[..., Any] | None:
        """The kernel of an op whose operands are tensors and which has no parameters; None for another."""
        if len(self._arrays) != len(self._types) or self._op.params or not self.any_layout:
            return None
        run, single = self._variants[(None,)][0][2], self._single

        def of_arrays(*arrays: Any, out: Any = None) -> Any:
            if out is not None:
                run.into((out,) if single else out, arrays)
                return out
            results = run(arrays)
            return results[0] if single else results

        return of_arrays

    def add_variant(self, args: Sequence[Any], outs: Sequence[Any] | None = None) -> Variant:
        """The form of the body for calls like that of *args*, kept. Raises `NotLowered`."""
        runtime, layouts, given = self._runtime, None, None
        if not self.any_layout:
            layouts = [runtime.layout(args[position]) for position in self._arrays]
            if not self._broadcasts:
                check_one_shape(layouts)
            given = outs and [runtime.layout(out) for out in outs]
        lowered = lower(self._op, self._types, args, layouts)
        names = ", ".join(
            entry.dtype.name if isinstance(entry, TensorType) else entry.__name__ for entry in self._types
        )
        run = self._build(runtime, f"{self._op.name} of {names}", lowered, len(self._arrays), given)
        variant = (lowered.guards, lowered.scalars, run)
        options = self._options(args[len(self._types) :], self._layouts(args, outs))
        known = self._variants.get(options)
        if known is None:
            known = self._variants.add(options, [])
        if len(known) < _VARIANTS:
            known.append(variant)
        return variant

    def _pointwise(
        self, runtime: Runtime, what: str, lowered: Lowered, operands: int, outs: Sequence[Layout] | None
    ) -> PointwiseKernel:
        return PointwiseKernel(runtime, what, lowered.expressions, self._broadcasts)

    def _loops(
        self, runtime: Runtime, what: str, lowered: Lowered, operands: int, outs: Sequence[Layout] | None
    ) -> LoopsKernel:
        return LoopsKernel(runtime, what, lowered.loops, operands, outs)

    def _layouts(self, args: Sequence[Any], outs: Sequence[Any] | None) -> Hashable:
        """The layouts that a call's form is for."""
        if self.any_layout:
            return None
        key = self._runtime.key
        return key([args[position] for position in self._arrays]), None if outs is None else key(outs)

    def _options(self, params: Sequence[Any], layouts: Hashable) -> tuple[Any, ...]:
        """What of a call is no number that a form can take as it comes."""
        return (layouts, *[value.__class__ if value.__class__ in _NUMBERS else value for value in params])

    def into_many(self, rows: Sequence[Sequence[Any]], params: Sequence[Any], outs: Sequence[Any]) -> list[int]:
        """Write the results for as many of *rows* of operands as can be computed by a few launches to their *outs*,
        and return the numbers of the others.
        """
        if (
            self._build not in (self._pointwise, self._loops)
            or not self._tensors_first
            or not self._runtime.dialect.addresses
        ):
            return [*range(len(rows))]
        address = self._runtime.backend.data_ptr
        targets = [out if isinstance(out, tuple) else (out,) for out in outs]
        written = [address(out) for given in targets for out in given]
        read = {address(a) for row, own in zip(rows, targets, strict=True) for a in row if not any(a is o for o in own)}
        if len({*written}) < len(written) or not read.isdisjoint(written):
            # In order, since what a row reads another writes.
            return [*range(len(rows))]
        groups: dict[tuple[Any, tuple[Any, ...]], list[tuple[int, Any, Any]]] = {}
        left = []
        for at, (row, own) in enumerate(zip(rows, targets, strict=True)):
            args = (*row, *params)
            layouts = self._layouts(args, own)
            known = self._variants.get(self._options(params, layouts), ())
            found = next((variant for variant in known if variant[0].hold(args)), None)
            if found is None and len(known) < _VARIANTS:
                with suppress(NotLowered):
                    found = self.add_variant(args, own)
            form = None
            if found is not None:
                form = pointwise_form(found[2], own, row) if self.any_layout else found[2].form
            if found is None or form is None:
                left.append(at)
                continue
            numbers = tuple([read(args) for read in found[1]])
            groups.setdefault((form, numbers), []).append((at, found[2], own))
        for (form, numbers), members in groups.items():
            places, kernels, into = zip(*members, strict=True)
            given = [rows[at] for at in places]
            if len(members) == 1:
                done = False
            elif self.any_layout:
                done = pointwise_into_many(form, into, given, numbers)
            else:
                done = LoopsKernel.into_many(kernels, into, given, numbers)
            if not done:
                left += places
        return left

    def __call__(self, *args: Any, out: Any = None) -> Any:
        outs = (out,) if self._single and out is not None else out
        layouts = self._layouts(args, outs)
        count = len(self._arrays)
        arrays: Sequence[Any]
        last = self._last
        if last is not None and last[0] == layouts and all(map(is_, args[count:], last[1])):
            # The very numbers and options of the last call, as of a training step.
            _, _, numbers, run = last
            arrays = args[:count]
        else:
            known = self._variants.get(self._options(args[len(self._types) :], layouts), ())
            found = next((variant for variant in known if variant[0].hold(args)), None)
            if found is None:
                if len(known) == _VARIANTS:
                    return self._composed(*args, out=out)
                try:
                    found = self.add_variant(args, outs)
                except NotLowered:
                    return self._composed(*args, out=out)
            _, scalars, run = found
            arrays = [args[position] for position in self._arrays]
            numbers = tuple([read(args) for read in scalars])
            if self._tensors_first:
                self._last = layouts, args[count:], numbers, run
        if outs is None:
            results = run(arrays, numbers)
            return results[0] if self._single else results
        if run.into(outs, arrays, numbers) is False:
            results = self(*args)
            for target, result in zip(outs, (results,) if self._single else results, strict=True):
                self._runtime.backend.copy(target, result)
        return out
