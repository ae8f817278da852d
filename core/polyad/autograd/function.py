"""Ops with a hand-written backward: derive from `Function`, write ``forward`` and ``backward``, call ``apply``.

Invariants: what a call saves belongs to the calls of its node (`FunctionCalls`) and goes with them, as of any other
node; a result that is saved is kept as an alias without history, so that no reference cycle keeps it alive. ``forward``
may write to its arguments only as far as it says so (`FunctionCtx.mark_dirty`).
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..base.dtypes import COMPLEX, FLOATING
from ..base.state import state, warn_user
from ..dispatch.effects import Effect, Record, Result
from ..dispatch.inplace import take_written, wrote
from ..errors import ArgumentTypeError, AutogradError, DeviceError, DTypeError, NotSupported, PolyadError, ShapeError
from ..history import inference
from ..history.node import Calls, MultiNode, Node, Output, check_saved, make_node
from ..tensor import Tensor
from ..tensor.storage import UnrecordedViewOf
from .engine import stale
from .hooks import place_of
from .saved import Packed

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

B = TypeVar("B", bound=Callable[..., Any])


class FunctionCalls(Calls):
    """The only call of a `Function`'s node, and what its context saved; both are gone once the node is freed."""

    def __init__(self, calls: Sequence[Any], saved: tuple[Any, ...]) -> None:
        super().__init__(calls)
        self.saved = saved
        self.holds = any(value is not None for value in saved)


class FunctionCtx:
    """What ``forward`` leaves for ``backward``: tensors to save, flags, and any attribute the author sets.

    Attributes:
        needs_input_grad: for each argument of ``forward``, whether its gradient will be asked for.
        to_save, dirty_tensors, non_differentiable, materialize_grads: what the methods were told.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.to_save: tuple[Tensor | None, ...] = ()
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads = True
        self.saved_for_forward: tuple[Tensor | None, ...] = ()
        self._in_jvp = self._keep = False
        self._calls: weakref.ref[FunctionCalls] | None = None
        self._node: weakref.ref[Node] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``, arguments and results without a reference cycle; in-place changes to them are
        noticed there. Raises TypeError for anything but tensors and None.
        """
        _check_tensors("save_for_backward", [tensor for tensor in tensors if tensor is not None])
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``, which finds them in `saved_tensors`. Raises TypeError for anything but tensors and
        None.
        """
        _check_tensors("save_for_forward", [tensor for tensor in tensors if tensor is not None])
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`, in ``jvp`` to `save_for_forward`.

        Raises RuntimeError if any was changed in place since, or if the graph is freed.
        """
        if self._in_jvp:
            return self.saved_for_forward
        if self._calls is None:
            return self.to_save
        calls, node = self._calls(), self._recorded()
        if calls is None or node is None:
            raise AutogradError(
                "saved_tensors: the graph was freed, and what was saved with it",
                fix="pass retain_graph=True to the first backward, or compute the result anew",
            )
        return tuple(_opened(value, node) for value in calls.saved)

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """Deprecated: another name of `saved_tensors`."""
        warn_user("saved_variables: deprecated; use saved_tensors", DeprecationWarning)
        return self.saved_tensors

    def _recorded(self) -> Node | None:
        return None if self._node is None else self._node()

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that ``forward`` wrote to these arguments, and returns them: they get the history of results."""
        _check_tensors("mark_dirty", tensors)
        self.dirty_tensors += tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these results have no gradient."""
        _check_tensors("mark_non_differentiable", tensors)
        self.non_differentiable += tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for results that no gradient arrived at."""
        self.materialize_grads = value


class FunctionNode(MultiNode):
    """The node of a `Function`'s call; attributes of its context can be read from it, as in PyTorch."""

    __slots__ = ("ctx",)

    ctx: FunctionCtx

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("ctx", "count", "calls"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.ctx, name)


class Function:
    """Base of ops with their own backward.

    ``forward(ctx, *args)`` computes with recording off; ``backward(ctx, *grad_outputs)`` returns a gradient for
    each argument of ``forward``, None for those that have none. Or ``forward(*args)`` computes, and
    ``setup_context(ctx, inputs, output)`` saves. Results may be nested in no other way than a tuple or list; what is no
    tensor passes through.

    An error of shape, dtype or count in what ``backward`` returns names it, with its line.

    >>> import polyad
    >>> class Double(polyad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = polyad.tensor(1.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """

    derives_jvp = False
    """Whether forward mode, where there is no ``jvp``, may differentiate ``backward`` instead."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AutogradError(
            f"{type(self).__name__}: an instance of it cannot be called",
            fix=f"call {type(self).__name__}.apply(...), with forward and backward as static methods",
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; override it."""
        raise NotSupported("Function: forward is not defined", fix="define a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what ``backward`` needs; override it to have a ``forward`` without ctx."""
        raise NotSupported(
            "Function: setup_context is not defined", fix="define a static method setup_context(ctx, inputs, output)"
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "vjp" in vars(cls):
            if "backward" in vars(cls):
                raise AutogradError(
                    f"{cls.__name__}: both backward and vjp are defined",
                    fix="define one; vjp is another name of backward",
                )
            cls.backward = staticmethod(cls.vjp)  # type: ignore[method-assign]

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name of `backward`, one of which a subclass overrides."""
        raise NotSupported("Function: vjp is not defined", fix="define a static method backward(ctx, *grad_outputs)")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients; override it."""
        raise NotSupported(
            "Function: backward is not defined", fix="define a static method backward(ctx, *grad_outputs)"
        )

    @classmethod
    def _said(cls) -> str:
        """How errors speak of the backward: its name and line."""
        return f"{cls.__name__}.backward{place_of(cls.backward)}"

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the tangents of the results from those of the arguments of ``forward``; override it for forward mode.

        It is called right after ``forward``, and returns a tangent (or None) for each result.
        """
        raise NotSupported("Function: jvp is not defined", fix="define a static method jvp(ctx, *grad_inputs)")

    generate_vmap_rule = False
    """Whether vmap carries out forward and backward on batched tensors; so it does wherever there is no ``vmap``."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Compute the results for a whole batch, ``(output, out_dims)``; override it for `polyad.func.vmap`.

        *in_dims* says which dimension of each argument is the batch, None for those that are the same for all samples;
        *info* has ``batch_size`` and ``randomness``.
        """
        raise NotSupported(
            "Function: vmap is not defined", fix="define a static method vmap(info, in_dims, *args), or call apply"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the op: run ``forward``, and record ``backward`` if an argument needs a gradient.

        Arguments by name, and defaults, need a ``forward`` with ``setup_context``; else TypeError.
        """
        if cls.setup_context is not Function.setup_context:
            signature = _signature(cls.forward)
            if kwargs or len(args) < len(signature.parameters):
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise ArgumentTypeError(
                f"{cls.__name__}.apply: arguments by name are not taken: {', '.join(kwargs)}",
                fix="pass them by position",
            )
        return Application(cls).call(*args) if state.modes else cls._apply(args)[0]

    @classmethod
    def _apply(cls, args: tuple[Any, ...], keep: bool = False) -> tuple[Any, FunctionCtx]:
        targets = [arg._node if isinstance(arg, Tensor) else None for arg in args]
        recording = state.grad_enabled and any(node is not None for node in targets)
        like = [(arg._array.shape, arg._type) if isinstance(arg, Tensor) else None for arg in args]
        ctx = FunctionCtx(tuple(node is not None for node in targets))
        ctx._keep = keep
        before = state.grad_enabled
        state.grad_enabled = False
        try:
            result = run_forward(cls, ctx, args)
        finally:
            state.grad_enabled = before
        several = isinstance(result, (tuple, list))
        results = list(result) if several else [result]
        for dirty in ctx.dirty_tensors:
            if not any(dirty is returned for returned in results):
                raise AutogradError(
                    f"{cls.__name__}.forward: it wrote to an argument that it does not return",
                    operands={"dirty": dirty},
                    fix="return each tensor that mark_dirty is told of, or write to a clone()",
                )
            wrote(cls.__name__, dirty)  # perhaps by another library, unseen
        if not recording:
            return result, ctx
        _record(cls, ctx, args, like, targets, results, several)
        if not several:
            return results[0], ctx
        return type(result)(*results) if hasattr(result, "_fields") else type(result)(results), ctx


_signature = functools.lru_cache(256)(inspect.signature)


class InplaceFunction(Function):
    """A `Function` with a flag, from the days when functions were called as objects; ``forward`` may read *inplace*."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


def run_forward(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...]) -> Any:
    """What ``forward`` returns; *ctx* holds what it, or ``setup_context``, saved."""
    if cls.setup_context is Function.setup_context:
        return cls.forward(ctx, *args)
    result = cls.forward(*args)
    cls.setup_context(ctx, args, result)
    return result


class Application:
    """One call of a `Function`, as modes see it: the body of its effect.

    Attributes:
        ctx: the context of the call that was carried out, if a mode asked to *keep* it.
    """

    def __init__(self, function: type[Function]) -> None:
        self.function = function
        self.keep = False
        self.ctx: FunctionCtx | None = None

    def call(self, *args: Any) -> Any:
        """Carry it out, seen by the modes that are active."""
        if state.modes:
            return self.effect().through_modes(*args)
        return self(*args)

    def effect(self) -> Effect:
        """What modes see of it."""
        return Effect(self.function.__name__, self.call, self, record=Record.CUSTOM, result=Result.ANY)

    def __call__(self, *args: Any) -> Any:
        result, ctx = self.function._apply(args, self.keep)
        if self.keep:
            self.ctx = ctx
        return result

    def mapped(self, level: Any, args: tuple[Any, ...]) -> Any:
        """Carry it out for tensors of a *level* of vmap."""
        from .mapped_function import mapped

        result, ctx = mapped(self.function, level, args)
        if self.keep:
            self.ctx = ctx
        return result


def _record(
    cls: type[Function],
    ctx: FunctionCtx,
    args: tuple[Any, ...],
    like: list[Any],
    targets: list[Node | None],
    results: list[Any],
    several: bool,
) -> None:
    """Give *results*, in place, the history of a call of *cls*."""
    name = f"{cls.__name__}Backward"
    computed = list(results)
    # By identity: all of them are alive here.
    given = set(map(id, args))
    dirty = set(map(id, ctx.dirty_tensors))
    constant = set(map(id, ctx.non_differentiable))
    wanted = [
        isinstance(result, Tensor) and result._type.dtype.category >= FLOATING and id(result) not in constant
        for result in results
    ]
    if not any(wanted):
        for position, result in enumerate(computed):
            if id(result) in constant and id(result) in given:
                results[position] = _alias_of(result)
        return
    if inference.seen:
        check_saved(cls.__name__, ctx.to_save)
    seen: set[int] = set()
    for position, result in enumerate(computed):
        key = id(result)
        if isinstance(result, Tensor) and key not in dirty:
            # What belongs to somebody else, or is two results, gets no history of this call: aliases of it do.
            if key in given or (wanted[position] and (result._node is not None or key in seen)):
                results[position] = _alias_of(result)
            seen.add(key)
    shapes = [(result._array.shape, result._type) if isinstance(result, Tensor) else None for result in results]
    first = results[wanted.index(True)]
    calls = [(targets, _formula(cls, ctx, like, shapes, several), ())]
    count = len(results) if several else None
    node: Any = make_node(name, calls, first._array.shape, first._type, count, FunctionNode)
    node.ctx = ctx
    hooks = state.saved_hooks
    numbers = {id(result): number for number, result in enumerate(computed)}
    saved: list[Any] = []
    for tensor in ctx.to_save:
        number = numbers.get(id(tensor))
        own = number is not None and (id(tensor) in dirty or id(tensor) not in given)
        if tensor is None or not (own or hooks):
            saved.append(tensor)
            continue
        number = number if own and wanted[number or 0] else None
        saved.append(Packed(tensor, hooks[-1], number) if hooks else SavedResult(tensor, number))
    node.calls = FunctionCalls(calls, tuple(saved))
    if not ctx._keep:  # for a mode, which drops it when it has seen it
        ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable = (), (), ()
    ctx._calls, ctx._node = weakref.ref(node.calls), weakref.ref(node)
    for number, tensor in enumerate(results):
        if wanted[number]:
            place = Output(node, number, tensor._array.shape, tensor._type) if several else node
            if id(tensor) in dirty:
                take_written(cls.__name__, tensor, place)
            else:
                tensor._node = place


def _alias_of(tensor: Tensor) -> Tensor:
    alias = tensor._alias()
    base = None if tensor._view is None else tensor._view.base
    alias._view = UnrecordedViewOf(tensor if base is None else base, tensor.storage_offset())
    return alias


class SavedResult:
    """A result of its own call that a context saved: an alias without history, and the result's *number*."""

    __slots__ = ("alias", "number")

    def __init__(self, tensor: Tensor, number: int | None) -> None:
        self.alias, self.number = tensor._alias(), number


def _opened(saved: Any, node: Node) -> Tensor | None:
    """A saved tensor as ``backward`` gets it. Raises RuntimeError if it was changed in place since."""
    if saved is None:
        return None
    if isinstance(saved, Packed):
        return saved.open(node)
    tensor: Tensor = saved.alias if isinstance(saved, SavedResult) else saved
    if tensor._storage is not None and tensor._storage.written > node.seq:
        raise stale(node, tensor, tensor._storage)
    if isinstance(saved, SavedResult) and saved.number is not None and state.grad_enabled:
        tensor = tensor._alias()
        tensor._node = node if node.count is None else Output(node, saved.number, tensor._array.shape, tensor._type)
    return tensor


def _formula(
    cls: type[Function], ctx: FunctionCtx, inputs: list[Any], results: list[Any], several: bool
) -> Callable[[Any], list[Tensor | None]]:
    """The gradient formula that calls the backward of *cls* and checks what it returns.

    *inputs* and *results* are (shape, type) of each argument and result, None for what is no tensor.
    """

    def formula(gradient: Any) -> list[Tensor | None]:
        given = gradient if several else [gradient]
        if ctx.materialize_grads:
            given = [_zeros(like) if part is None else part for part, like in zip(given, results, strict=True)]
        returned = cls.backward(ctx, *given)
        parts = list(returned) if isinstance(returned, tuple) else [returned]
        said = cls._said()
        if len(parts) < len(inputs) or any(part is not None for part in parts[len(inputs) :]):
            raise AutogradError(
                f"{said}: it returned {len(parts)} gradients for {len(inputs)} arguments of forward",
                fix="return a gradient (or None) for each argument",
            )
        for position, (part, like) in enumerate(zip(parts, inputs, strict=False)):
            if part is not None:
                _check_gradient(f"{said}: gradient {position}", part, like)
        return parts[: len(inputs)]

    return formula


def _check_gradient(said: str, part: Any, like: Any) -> None:
    """Raise unless *part* can be the gradient of an argument that is *like*: (shape, type), None for no tensor."""
    if not isinstance(part, Tensor):
        raise AutogradError(f"{said} is {type(part).__name__}, not a tensor", fix="return tensors or None")
    if like is None:
        raise AutogradError(
            f"{said} is a tensor, but that argument of forward is none",
            operands={"returned": part},
            fix="return None there",
        )
    shape, type_ = like
    have = part._array.shape
    error: type[PolyadError]
    for error, what, differs, fix in (
        # More dimensions, or dimensions longer than 1, are summed over: the argument was broadcast.
        (
            ShapeError,
            "another shape than the argument",
            len(have) < len(shape)
            or any(size not in (1, got) for size, got in zip(reversed(shape), reversed(have), strict=False)),
            f"return a tensor of shape {tuple(shape)}",
        ),
        (
            DTypeError,
            "a dtype that no gradient of the argument has",
            part._type.dtype.category < FLOATING
            or (part._type.dtype.category == COMPLEX) > (type_.dtype.category == COMPLEX),
            f"return a {type_.dtype.name} tensor",
        ),
        (
            DeviceError,
            "another device than the argument",
            part._type.device != type_.device,
            f"move it to {type_.device}",
        ),
    ):
        if differs:
            raise error(
                f"{said} has {what}",
                operands={"returned": part},
                notes={"argument": f"{type_.dtype.name} {tuple(shape)} on {type_.device}"},
                fix=fix,
            )


def _zeros(like: Any) -> Tensor | None:
    if like is None:
        return None
    from ..ops.creation.factories import zeros

    shape, type_ = like
    return zeros(shape, dtype=type_.dtype, device=type_.device)


def _check_tensors(method: str, values: Sequence[Any]) -> None:
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"{method}: argument {position} is {type(value).__name__}, not a tensor",
                fix="keep what is no tensor as an attribute of ctx"
                if method == "save_for_backward"
                else "leave it out",
            )


def once_differentiable(backward: B) -> B:
    """Make the backward of a `Function` run unrecorded, and a derivative of it an error.

    For a backward that does what polyad cannot see, such as NumPy on the tensors' memory. Where PyTorch treats its
    result as a constant if no arriving gradient has history, backward through it raises RuntimeError here, too.

    >>> import polyad
    >>> from polyad.autograd.function import once_differentiable
    >>> class Cube(polyad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3 * x * x
    >>> x = polyad.tensor(2.0, requires_grad=True)
    >>> (slope,) = polyad.autograd.grad(Cube.apply(x), x, create_graph=True)
    >>> slope.item()
    12.0
    >>> slope.backward()
    Traceback (most recent call last):
        ...
    polyad.errors.AutogradError: Cube.backward: it is marked once_differentiable, and cannot be differentiated
        fix  write its backward in ops, without the mark, or do without create_graph=True
    """

    @functools.wraps(backward)
    def once(ctx: FunctionCtx, *gradients: Any) -> Any:
        recording = state.grad_enabled
        state.grad_enabled = False
        try:
            returned = backward(ctx, *gradients)
        finally:
            state.grad_enabled = recording
        node = ctx._recorded()
        if not recording or node is None:
            return returned
        name = type(node).__name__.removesuffix("Backward")

        def refuse(gradient: Tensor) -> Any:
            raise AutogradError(
                f"{name}.backward: it is marked once_differentiable, and cannot be differentiated",
                fix="write its backward in ops, without the mark, or do without create_graph=True",
            )

        edges = [gradient._node for gradient in gradients if isinstance(gradient, Tensor)] + list(node.targets())

        def marked(part: Any) -> Any:
            if not isinstance(part, Tensor):
                return part
            alias = part._alias()
            alias._node = make_node("Error", [(edges, refuse, ())], part._array.shape, part._type)
            return alias

        return tuple(map(marked, returned)) if isinstance(returned, tuple) else marked(returned)

    return once  # type: ignore[return-value]
