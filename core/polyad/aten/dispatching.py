"""The modes that give calls to ``__torch_dispatch__``: one for the user's modes, one for classes derived from Tensor.

A call arrives as polyad's op with its values, and is told as PyTorch's (`polyad.aten.table`). Autograd is above:
recording is off while ``__torch_dispatch__`` runs, and what comes back gets the history that the op gives it. Bodies of
effects are entered, and those of composites without formulas that PyTorch has not, so what they call is seen.

Invariant: while ``__torch_dispatch__`` runs, its mode is set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..base.dtypes import FLOATING
from ..base.state import state
from ..dispatch.declared import Op
from ..dispatch.effects import Effect, Record, Result
from ..dispatch.inplace import check_writable, wrote
from ..dispatch.modes import Mode
from ..dispatch.overriding import DISPATCHED, dispatch_off
from ..dispatch.plan import find_plan, run_body
from ..dispatch.views import record_view
from ..errors import ArgumentTypeError, AutogradError, NotSupported
from ..history.node import record, record_copy, record_many
from ..tensor import Tensor
from ..tensor.subclasses import NoArray
from .overloads import overload
from .splitting import SPLIT
from .table import Call, aten_call


class Dispatching(Mode):
    """A mode that tells calls as PyTorch's ops."""

    def answer(self, call: Call, types: tuple[type, ...]) -> Any:
        """What ``__torch_dispatch__`` makes of *call*."""
        raise NotSupported(f"{type(self).__name__}: it answers no calls", fix="define it")

    def looks_at(self, types: tuple[type, ...]) -> bool:
        """Whether calls with objects of these classes, which have ``__torch_dispatch__``, are told."""
        return True

    def pass_on(self, op: Effect, args: tuple[Any, ...]) -> Any:
        """Carry out an effect that is not told."""
        return op.call(*args)

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Tell the call, enter it, or pass it on."""
        types = _classes(args)
        if not self.looks_at(types):
            return op.call(*args)
        if isinstance(op, Effect):
            return self._effect(op, args, types)
        if op.name in SPLIT:
            return self._inside(SPLIT[op.name], args)
        call = aten_call(op, args)
        if call is None:
            if op.kind == "composite" and not op.formulas and op.operands:
                return self._inside(lambda *values: _composed(op, values), args)
            call = Call(overload("polyad", op.name, "default"), args, {})
        return self._answered(op, args, call, types)

    def _inside(self, body: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        before, state.modes = state.modes, (*state.modes, self)
        try:
            return body(*args)
        finally:
            state.modes = before

    def _answered(self, op: Op, values: tuple[Any, ...], call: Call, types: tuple[type, ...]) -> Any:
        recording, state.grad_enabled = state.grad_enabled, False
        try:
            result = self.answer(call, types)
        finally:
            state.grad_enabled = recording
        self._check(call, result, len(op.outputs))
        needs = recording and any(one._node is not None for one in tensors_among(values[: len(op.operands)]))
        if op.outputs:
            result = tuple(result)
            floating = [out._type.dtype.category >= FLOATING for out in result]
            if needs and op.formulas and any(floating):
                record_many(op, values, result, floating)
        elif needs and result._type.dtype.category >= FLOATING:
            if any(result is one for one in tensors_among(values)):
                result = result._alias()
            if op.kind == "view":
                record_view(op, values[0], values[1:], result)
            elif op.formulas:
                record(op, values, result)
        return result

    def _effect(self, op: Effect, args: tuple[Any, ...], types: tuple[type, ...]) -> Any:
        call = aten_call(op, args)
        if call is None:
            if op.record is Record.CHANGED or op.body is None:
                result = self.pass_on(op, args)
            else:
                result = self._inside(op.body, args)
            return result if op.name != "tensor" else self.answer(Call(LIFT, (result,), {}), types)
        if op.writes is not None:
            return self._written(op, args[op.writes], call, types)
        recording, state.grad_enabled = state.grad_enabled, False
        try:
            result = self.answer(call, types)
        finally:
            state.grad_enabled = recording
        if not op.to_host:
            self._check(call, result, 0)
        if op.result is Result.COPY and recording and args[0]._node is not None:
            record_copy(args[0], result)
        return result

    def _written(self, op: Effect, target: Tensor, call: Call, types: tuple[type, ...]) -> Tensor:
        """A write: one into a tensor with memory records itself, so it is told with recording on."""
        if type(target) in DISPATCHED:
            check_writable(op.name, target)
            if state.grad_enabled and any(one._node is not None for one in tensors_among((*call.args, call.kwargs))):
                raise AutogradError(
                    f"{op.name}: a write into {type(target).__name__}, which has __torch_dispatch__, is not recorded",
                    operands={"self": target},
                    fix="use the out-of-place form, or write under polyad.no_grad()",
                )
        self.answer(call, types)
        if type(target) in DISPATCHED:
            wrote(op.name, target)
        return target

    def _check(self, call: Call, result: Any, count: int) -> None:
        fits = isinstance(result, Tensor)
        if count:
            fits = isinstance(result, (tuple, list)) and len(result) == count
            fits = fits and all(isinstance(one, Tensor) for one in result)
        if not fits:
            found = "None" if result is None else type(result).__name__
            wanted = f"{count} tensors" if count else "a tensor"
            raise ArgumentTypeError(
                f"{call.func}: __torch_dispatch__ returned {found}, not {wanted}",
                notes={"of": self.name_of_answerer(call)},
                fix="return what func(*args, **kwargs) returns, or tensors in its place",
            )

    def name_of_answerer(self, call: Call) -> str:
        """Who answered, for messages."""
        return type(self).__name__


LIFT = overload("aten", "lift_fresh", "default")


class OfClasses(Dispatching):
    """Gives calls to ``__torch_dispatch__`` of the classes of the tensors among their arguments."""

    def looks_at(self, types: tuple[type, ...]) -> bool:
        """See `Dispatching`."""
        return bool(types) and not state.dispatch_off

    def pass_on(self, op: Effect, args: tuple[Any, ...]) -> Any:
        """See `Dispatching`. Raises NoData for a read of elements that are not there."""
        for one in tensors_among(args) if op.to_host else ():
            if isinstance(one._array, NoArray):
                raise one._array.refusal().told_by(op.name, {"self": one})
        with dispatch_off():
            return op.call(*args)

    def tell(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the classes make of a function that creates a tensor like another."""
        kwargs = dict(kwargs)
        requires_grad = kwargs.pop("requires_grad", False)
        if name.startswith("new_") and len(args) > 1 and isinstance(args[1], int) and name != "new_full":
            args = (args[0], list(args[1:]))
        call = Call(overload("aten", name, "default"), args, kwargs)
        recording, state.grad_enabled = state.grad_enabled, False
        try:
            result = self.answer(call, _classes(args))
        finally:
            state.grad_enabled = recording
        self._check(call, result, 0)
        return result.requires_grad_() if requires_grad else result

    def answer(self, call: Call, types: tuple[type, ...]) -> Any:
        """Ask the classes: derived ones before their bases, else the left one first."""
        for cls in sorted(types, key=lambda one: -sum(issubclass(one, other) for other in types)):
            result = cls.__torch_dispatch__(call.func, types, call.args, call.kwargs)  # type: ignore[attr-defined]
            if result is not NotImplemented:
                return result
        raise ArgumentTypeError(
            f"{call.func}: no __torch_dispatch__ of {self._said(types)} knows it",
            fix="let one of these classes answer, or convert its objects to plain tensors first",
        )

    def name_of_answerer(self, call: Call) -> str:
        """See `Dispatching`."""
        return self._said(_classes(call.args))

    @staticmethod
    def _said(types: Iterable[type]) -> str:
        return ", ".join(cls.__name__ for cls in types)


OF_CLASSES = OfClasses()


class TorchDispatchMode(Dispatching):
    """A context manager whose ``__torch_dispatch__(self, func, types, args=(), kwargs=None)`` sees the ops of its
    thread as PyTorch's; while it runs, the mode is set aside, so it may call *func*.

    >>> import polyad
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **kwargs or {})
    >>> x = polyad.ones(2, 2, requires_grad=True)
    >>> with Log():
    ...     y = polyad.nn.functional.linear(x, x).relu()
    aten.t.default
    aten.mm.default
    aten.relu.default
    >>> y.requires_grad
    True
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotSupported(f"{type(self).__name__} has no __torch_dispatch__", fix="define it")

    def answer(self, call: Call, types: tuple[type, ...]) -> Any:
        """See `Dispatching`."""
        result = self.__torch_dispatch__(call.func, types, call.args, call.kwargs)
        if result is NotImplemented:
            return call.func(*call.args, **call.kwargs)
        return result


def _composed(op: Op, values: tuple[Any, ...]) -> Any:
    """What the body of *op* makes of *values*, or the op again of what these are converted to."""
    plan = find_plan(op, values)
    return run_body(op, values) if plan.path != "cast" else plan.indirect(op, values, False)  # type: ignore[misc]


def tensors_among(value: Any) -> Iterator[Tensor]:
    """The tensors in *value*, of which lists, tuples and dicts are looked into."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_among(one)
    elif isinstance(value, dict):
        yield from tensors_among(tuple(value.values()))


def _classes(values: Any) -> tuple[type, ...]:
    """The classes among those of *values* that have a ``__torch_dispatch__``."""
    return tuple(dict.fromkeys(type(one) for one in tensors_among(values) if type(one) in DISPATCHED))


def of_classes() -> OfClasses:
    """The mode that gives calls to classes."""
    return OF_CLASSES
