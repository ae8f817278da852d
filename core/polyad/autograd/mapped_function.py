"""A `Function` under `polyad.func.vmap`.

Its own static method ``vmap`` computes on whole batches, if it is defined. Otherwise the rule is generated: ``forward``
and ``backward`` are carried out with batched tensors, as any function is that vmap maps.

Two histories are recorded. What the mapped function differentiates, it differentiates through a node of the function at
the level of vmap. What lies outside of vmap sees one call of a function of whole batches, `_Generated`, whose backward
enters the level again.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..base.dtypes import FLOATING
from ..base.state import state
from ..dispatch.modes import outside
from ..errors import AutogradError
from ..ops.creation.factories import zeros_like
from ..tensor import Tensor
from ..transforms.batching import Batched, VmapLevel
from ..transforms.wrapped import tracked_outside
from .function import Function, FunctionCtx, _formula, _record, run_forward


class VmapInfo(NamedTuple):
    """What ``Function.vmap`` is told of the map: how many samples there are, and what random numbers are to them."""

    batch_size: int
    randomness: str


def mapped(cls: type[Function], level: VmapLevel, args: tuple[Any, ...]) -> tuple[Any, FunctionCtx | None]:
    """``cls.apply(*args)`` for tensors of *level*, which is set aside; and the context of ``forward``, if that was
    called.
    """
    lifted = tuple([level.lifted(arg) if isinstance(arg, Tensor) else arg for arg in args])
    ctx = FunctionCtx(
        tuple([isinstance(arg, Batched) and (arg._node is not None or tracked_outside(arg)) for arg in lifted])
    )
    seen: FunctionCtx | None = None
    if cls.vmap is not Function.vmap:
        if cls.generate_vmap_rule:
            raise AutogradError(
                f"{cls.__name__}: it has a vmap of its own, and asks for a generated one (generate_vmap_rule)",
                fix="drop one of them",
            )
        result = _by_its_rule(cls, level, lifted)
        if state.grad_enabled and any(_has_node(arg) for arg in lifted):
            if cls.setup_context is Function.setup_context:
                raise AutogradError(
                    f"{cls.__name__}: what its forward saves is not known where its vmap takes forward's place",
                    fix="define setup_context(ctx, inputs, output), and forward without ctx",
                )
            before, state.grad_enabled = state.grad_enabled, False
            try:
                with level:
                    cls.setup_context(ctx, lifted, result)
            finally:
                state.grad_enabled = before
    else:
        seen = ctx
        result, ctx = _generated(cls, level, lifted, ctx)
    if not (state.grad_enabled and any(_has_node(arg) for arg in lifted)):
        return result, seen
    several = isinstance(result, (tuple, list))
    results = list(result) if several else [result]
    with level:
        _record(cls, ctx, lifted, _like(lifted), [_node_of(arg) for arg in lifted], results, several)
    return (_nested(result, results) if several else results[0]), seen


def _has_node(value: Any) -> bool:
    return isinstance(value, Tensor) and value._node is not None


def _node_of(value: Any) -> Any:
    return value._node if isinstance(value, Tensor) else None


def _like(values: Sequence[Any]) -> list[Any]:
    return [(value._array.shape, value._type) if isinstance(value, Tensor) else None for value in values]


def _nested(like: Any, results: list[Any]) -> Any:
    return type(like)(*results) if hasattr(like, "_fields") else type(like)(results)


def _by_its_rule(cls: type[Function], level: VmapLevel, args: tuple[Any, ...]) -> Any:
    in_dims = tuple([arg._given_dim if isinstance(arg, Batched) and arg._batched else None for arg in args])
    inner = [_as_given(arg) if isinstance(arg, Batched) else arg for arg in args]
    returned = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *inner)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise AutogradError(
            f"{cls.__name__}.vmap: it must return (output, out_dims)",
            operands={"returned": returned},
            fix="return the results, and in their structure where the batch dimension of each is",
        )
    output, out_dims = returned
    several = isinstance(output, (tuple, list))
    results = list(output) if several else [output]
    dims = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(results)
    if len(dims) != len(results):
        raise AutogradError(
            f"{cls.__name__}.vmap: it returned {len(results)} results and {len(dims)} out_dims",
            fix="give one for each result",
        )
    wrapped = [
        level.wrap(result if not dim else result.movedim(dim, 0), dim is not None)
        if isinstance(result, Tensor)
        else result
        for result, dim in zip(results, dims, strict=True)
    ]
    return _nested(output, wrapped) if several else wrapped[0]


def _as_given(tensor: Batched) -> Tensor:
    """The inner tensor, its batch where it was in the mapped function's argument, if the tensor is one."""
    dim = tensor._given_dim
    return tensor._inner.movedim(0, dim) if dim else tensor._inner


def _generated(
    cls: type[Function], level: VmapLevel, args: tuple[Any, ...], ctx: FunctionCtx
) -> tuple[Any, FunctionCtx]:
    """The results of ``forward`` on batches, with the history that those outside see; and a context for that of the
    level.
    """
    call = _Generated(cls, level, args, ctx)
    inner = [arg._inner if isinstance(arg, Batched) else arg for arg in args]
    outputs = call.function().apply(*inner)
    for result, physical in zip(call.results, outputs, strict=True):
        if isinstance(result, Batched):
            result._inner = physical
    # To record a call empties its context, and both levels record this call.
    return (_nested(call.result, call.results) if call.several else call.results[0]), copy.copy(ctx)


class _Generated:
    """One call of *cls* on whole batches: a function whose forward and backward work at the level."""

    def __init__(self, cls: type[Function], level: VmapLevel, args: tuple[Any, ...], ctx: FunctionCtx) -> None:
        self.cls, self.level, self.args, self.ctx = cls, level, args, ctx
        self.result: Any = None
        self.results: list[Any] = []
        self.several = False

    def function(self) -> type[Function]:
        """The function that is applied outside of the level."""
        call = self

        class Mapped(Function):
            @staticmethod
            def forward(ctx: Any, *inner: Any) -> Any:
                return call.forward(ctx)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                return call.backward(gradients)

        if self.cls.jvp is not Function.jvp:
            Mapped.jvp = staticmethod(lambda ctx, *tangents: call.jvp(tangents))  # type: ignore[method-assign]
        Mapped.derives_jvp = self.cls.derives_jvp
        Mapped.__name__ = Mapped.__qualname__ = self.cls.__name__
        return Mapped

    def forward(self, outer: FunctionCtx) -> tuple[Any, ...]:
        """Carry out ``forward`` at the level; the inner tensors of its results."""
        bare = tuple([arg._alias() if _has_node(arg) else arg for arg in self.args])
        with self.level:
            self.result = run_forward(self.cls, self.ctx, bare)
        self.several = isinstance(self.result, (tuple, list))
        results = list(self.result) if self.several else [self.result]
        # What forward was given it got without this level's history: to whoever reads it, it is the argument.
        given = {id(alias): arg for alias, arg in zip(bare, self.args, strict=True)}
        self.results = [
            given.get(id(result), self.level.lifted(result)) if isinstance(result, Tensor) else result
            for result in results
        ]
        ctx = self.ctx
        ctx.to_save = tuple([given.get(id(tensor), tensor) for tensor in ctx.to_save])
        ctx.saved_for_forward = tuple([given.get(id(tensor), tensor) for tensor in ctx.saved_for_forward])
        ctx.dirty_tensors = tuple([given.get(id(tensor), tensor) for tensor in ctx.dirty_tensors])
        outer.mark_dirty(*[tensor._inner for tensor in ctx.dirty_tensors if isinstance(tensor, Batched)])
        outer.mark_non_differentiable(
            *[tensor._inner for tensor in ctx.non_differentiable if isinstance(tensor, Batched)]
        )
        outer.set_materialize_grads(False)
        return tuple([result._inner if isinstance(result, Batched) else result for result in self.results])

    def backward(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Carry out ``backward`` at the level, opened again; gradients of inner tensors."""
        level, ctx = self.level, copy.copy(self.ctx)
        ended, level.ended = level.ended, False
        try:
            formula = _formula(self.cls, ctx, _like(self.args), _like(self.results), True)
            arriving = [
                None if gradient is None else level.wrap(gradient, result._batched)
                for gradient, result in zip(gradients, self.results, strict=True)
            ]
            with level:
                found = formula(arriving)
            return tuple([self._outside(part, arg) for part, arg in zip(found, self.args, strict=True)])
        finally:
            level.ended = ended

    def jvp(self, tangents: Sequence[Any]) -> tuple[Any, ...]:
        """Carry out ``jvp`` at the level; the tangents of the inner tensors of the results."""
        level, ctx = self.level, self.ctx
        given = [
            None if tangent is None else level.wrap(tangent, arg._batched)
            for tangent, arg in zip(tangents, self.args, strict=True)
        ]
        ctx._in_jvp = True
        try:
            with level:
                for position, arg in enumerate(self.args if ctx.materialize_grads else ()):
                    if given[position] is None and isinstance(arg, Tensor) and arg.dtype.category >= FLOATING:
                        given[position] = zeros_like(arg.detach())  # type: ignore[call-overload]
                returned = self.cls.jvp(ctx, *given)
        finally:
            ctx._in_jvp = False
        parts = returned if isinstance(returned, (tuple, list)) else (returned,)
        return tuple([level.spread(level.lifted(part)) if isinstance(part, Tensor) else part for part in parts])

    def _outside(self, part: Any, arg: Any) -> Tensor | None:
        """The gradient of an inner tensor; if the tensor is the same for all samples, the sum over the samples."""
        if part is None:
            return None
        level = self.level
        own: Batched = level.lifted(part)
        with outside(level):
            if arg._batched:
                return level.spread(own)
            if any(isinstance(result, Batched) and result._batched for result in self.results):
                return level.spread(own).sum(0)
            return own._inner
