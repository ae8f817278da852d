"""A level of forward-mode differentiation: a mode that knows the tangents of tensors and carries them through ops.

A tensor with a tangent is the tensor itself, no wrapper: the level remembers tangents by the tensors' identity, for as
long as the tensors live. An op first computes its result, seen by the modes further out; then, if an operand has a
tangent, the op's forward rule computes that of the result from plain values. Rules are ops too, seen by the modes
further out, and recorded if their operands have a history. Therefore levels nest with each other and with reverse mode
in any order, and one level's tangents are never mistaken for another's.

A tensor that is written to gets the tangent of what was written, and so do its base and the base's other views: the
window of the base's tangent that was written is replaced. Tangents themselves are never written to.

Composites without gradient formulas, and effects, are carried out with the level active, so that it sees what they
consist of.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..base.dtypes import FLOATING, can_cast
from ..base.state import state
from ..dispatch.effects import Effect, Record, Result, exchanged
from ..dispatch.inplace import _layouts
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..dispatch.plan import find_plan, run_body
from ..dispatch.promotion import first
from ..dispatch.windows import clear_parts, put_parts, take_parts
from ..errors import AutogradError, DeviceError, DTypeError, NotSupported, ShapeError, TransformError
from ..history.grad_mode import enable_grad, no_grad
from ..history.node import Output, Recorded
from ..ops.shaping.reshape import _permute
from ..ops.shaping.strided import _window_clear, _window_put, _window_take
from ..tensor import Tensor
from ..transforms.wrapped import Wrapped
from .entries import Linearized, enter, leads_outside, leave
from .forward_rules import fitted, has_rule, push_forward, push_function
from .function import Application, Function, FunctionCalls, FunctionCtx, SavedResult
from .saved import Packed, PackedCalls

__all__ = ["ForwardLevel"]


def _place(level: ForwardLevel) -> int:
    """Where among the active modes *level* is; behind all of them if it is not."""
    return state.modes.index(level) if level in state.modes else len(state.modes)


class _Known(weakref.ref[Recorded]):
    """A reference to a tensor that the level has entries for, under its id; they are deleted with the tensor."""

    __slots__ = ("key", "tables")
    key: int
    tables: tuple[dict[int, Any], ...]


def _forget(reference: Any) -> None:
    for table in reference.tables:
        entry = table.get(reference.key)
        if entry is not None and entry[0] is reference:
            del table[reference.key]


class ForwardLevel(Mode):
    """One level of tangents: active while entered, forgotten when left. See the module's docstring."""

    def __init__(self) -> None:
        # By id: (reference, tangent), and for tensors that belong to another: (reference, reference to the root).
        self._tangents: dict[int, tuple[_Known, Tensor]] = {}
        self._roots: dict[int, tuple[_Known, weakref.ref[Tensor]]] = {}
        self._views: dict[int, tuple[_Known, list[weakref.ref[Tensor]]]] = {}
        self._frozen: list[Tensor] = []

    # ------------------------------------------------------------------------------------------------ what it knows

    def tangent(self, tensor: Recorded) -> Tensor | None:
        """The tangent of *tensor* at this level; None if it has none, which means zero."""
        entry = self._tangents.get(id(tensor))
        return None if entry is None else entry[1]

    def set(self, tensor: Recorded, tangent: Tensor | None) -> None:
        """Give *tensor* a tangent, or take it away."""
        if tangent is not None:
            entry = self._tangents.get(id(tensor))
            self._tangents[id(tensor)] = (self._known(tensor) if entry is None else entry[0], tangent)
        else:
            self._tangents.pop(id(tensor), None)

    def _known(self, tensor: Recorded) -> _Known:
        reference = _Known(tensor, _forget)
        reference.key, reference.tables = id(tensor), (self._tangents, self._roots, self._views)
        return reference

    def dual(
        self,
        op: str,
        tensor: Tensor,
        tangent: Tensor,
        names: tuple[str, str] = ("tensor", "tangent"),
        *,
        frozen: bool = False,
    ) -> Tensor:
        """An alias of *tensor* with *tangent*, cast to its dtype; writes to it do not reach the tangent of *tensor*,
        or are refused if *frozen*.

        Raises RuntimeError in the name of *op* if the two do not fit, or *tensor* has a tangent already.
        """
        given = dict(zip(names, (tensor, tangent), strict=True))
        if tangent._array.shape != tensor._array.shape:
            raise ShapeError(
                f"{op}: {names[1]} has not the shape of {names[0]}", operands=given, fix="reshape or expand it"
            )
        if tangent._type.device != tensor._type.device:
            raise DeviceError(
                f"{op}: {names[1]} is on another device than {names[0]}",
                operands=given,
                fix=f"move it with .to({str(tensor.device)!r})",
            )
        if tangent._type.dtype is not tensor._type.dtype:
            if tangent.dtype.category < FLOATING or not can_cast(tangent.dtype, tensor.dtype):
                raise DTypeError(
                    f"{op}: {names[0]} is {tensor.dtype.name}, whose tangents {tangent.dtype.name} cannot be",
                    operands=given,
                    fix=f"convert {names[1]} with .to({tensor.dtype})",
                )
            tangent = tangent.to(tensor.dtype)
        for value in (tensor, tangent):
            if isinstance(value, Wrapped) and value._level in state.modes[_place(self) + 1 :]:
                raise TransformError(
                    f"{op}: the level was entered outside of {value._level.name}, where the tensors of the function "
                    "that it transforms are not known",
                    operands=given,
                    notes={"function": value._level.function},
                    fix="enter the level inside of that function, or use polyad.func.jvp there",
                )
        if self.tangent(tensor) is not None:
            raise AutogradError(
                f"{op}: {names[0]} has a tangent at this level already",
                operands=given,
                fix="unpack it first, or enter another level",
            )
        alias = self._outside(lambda: _permute(tensor, tuple(range(tensor.ndim))))
        self.set(alias, tangent)
        self._roots[id(alias)] = (self._known(alias), weakref.ref(alias))
        if frozen:
            self._frozen.append(alias)
        return alias

    def primal(self, tensor: Tensor) -> Tensor:
        """An alias of *tensor* without a tangent at this level; *tensor* itself if it has none."""
        if self.tangent(tensor) is None:
            return tensor
        alias = self._outside(lambda: _permute(tensor, tuple(range(tensor.ndim))))
        self._roots[id(alias)] = (self._known(alias), weakref.ref(alias))
        return alias

    def _outside(self, work: Callable[[], Tensor]) -> Tensor:
        """The result of *work*, unseen by this level."""
        modes = state.modes
        state.modes = tuple([mode for mode in modes if mode is not self])
        try:
            return work()
        finally:
            state.modes = modes

    def twin(self, original: Recorded, copy: Recorded) -> None:
        """*copy* holds what *original* holds, so it has the same tangent."""
        entry = self._tangents.get(id(original))
        if entry is not None:
            self.set(copy, entry[1])

    def clear(self) -> None:
        """Forget all tangents."""
        for table in (self._tangents, self._roots, self._views):
            table.clear()
        self._frozen.clear()

    # ------------------------------------------------------------------------------------------------ calls

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Carry out the call, and the forward rule if an operand has a tangent."""
        if op.__class__ is not Op:
            return self._effect(op, args)  # type: ignore[arg-type]
        if op.kind == "view":
            return self._view(op, args)
        tangents = [self._tangent_of(value) for value in args[: len(op.operands)]]
        if all(tangent is None for tangent in tangents):
            return op.call(*args)
        plan = find_plan(op, args)
        if plan.path == "cast":
            with self:
                return plan.indirect(op, args, False)  # type: ignore[misc]
        if not any(plan.differentiable_outputs):
            return op.call(*args)
        if not has_rule(op):
            if op.body is None:
                return op.call(*args)
            with self:
                return run_body(op, args)
        result = op.call(*args)
        outs = result if op.outputs else (result,)
        for out, tangent in zip(outs, self._push(op, args, tangents, outs), strict=True):
            if tangent is not None:
                self.set(out, tangent)
        if outs[0]._node is not None or op.outputs:
            self._know_saved(op, args, outs)
        return result

    def _push(self, op: Op, args: tuple[Any, ...], tangents: list[Any], outs: tuple[Tensor, ...]) -> list[Any]:
        hooks = state.saved_hooks
        # What rules save is no business of hooks: a checkpoint could not compute it again without this level.
        state.saved_hooks = ()
        try:
            if op.forward is None or op.forward.form != "body":
                return push_forward(op, args, tangents, outs)
            with self:
                found = run_body(op, args)
            return [self.tangent(result) for result in (found if op.outputs else (found,))]
        finally:
            state.saved_hooks = hooks

    def _tangent_of(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.tangent(value)
        if isinstance(value, (list, tuple)):
            found = [self._tangent_of(item) for item in value]
            return found if any(tangent is not None for tangent in found) else None
        if isinstance(value, dict):
            return self._tangent_of(list(value.values()))
        return None

    def _know_saved(self, op: Op, args: tuple[Any, ...], outs: Sequence[Tensor]) -> None:
        """What the results' node keeps for backward has the tangents of what it stands for."""
        node = next((out._node for out in outs if out._node is not None), None)
        if isinstance(node, Output):
            node = node.parent
        if node is None:
            return
        if node.out is not None:
            for out, alias in zip(outs, node.out if isinstance(node.out, tuple) else (node.out,), strict=True):
                self.twin(out, alias)
        if isinstance(node.calls, PackedCalls):
            values = (*args, *outs)
            picks = {formula.function: formula.pick for formula in op.formulas}
            for _, function, saved in node.calls:
                if function in picks:
                    self._know_packed(saved, picks[function](values))

    def _know_packed(self, saved: Any, values: Any) -> None:
        for packed, value in zip(saved, values, strict=True):
            if isinstance(packed, Packed):
                tangent = self.tangent(value)
                if tangent is not None:
                    packed.tangents.append((self, tangent))
            elif isinstance(packed, (list, tuple)):
                self._know_packed(packed, value)

    def _view(self, op: Op, args: tuple[Any, ...]) -> Tensor:
        out: Tensor = op.call(*args)
        source = args[0]
        if op.dtype is not first and not op.formulas:
            return out  # it reads the memory as something that has no derivative
        root = self._root(source)
        self._roots[id(out)] = (self._known(out), weakref.ref(root))
        _, members = self._views.setdefault(id(root), (self._known(root), []))
        members.append(weakref.ref(out))
        if len(members) >= 16 and not len(members) & (len(members) - 1):
            members[:] = [reference for reference in members if reference() is not None]
        tangent = self.tangent(source)
        if tangent is not None:
            self.set(
                out, op.call(tangent, *args[1:]) if op.forward is None else push_forward(op, args, [tangent], (out,))[0]
            )
        return out

    # ------------------------------------------------------------------------------------------------ effects

    def _effect(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        if effect.rebinds is not None:
            return self._rebound(effect, args)
        if effect.stores is not None:
            return self._stored(effect, args)
        if effect.result in (Result.ALIAS, Result.ENTRY, Result.COPY):
            return self._moved(effect, args)
        if effect.record is Record.CUSTOM:
            return effect.call(*args) if self._tangent_of(args) is None else self._function(effect, args)
        if effect.body is None or (
            # A graph, or ``.grad``, may lead to tensors with tangents, whatever the arguments are.
            effect.record not in (Record.FOLLOWED, Record.GRADIENT)
            and all(self._tangent_of(args[position]) is None for position in effect.reads)
        ):
            return effect.call(*args)
        with self:
            return effect.body(*args)

    def _rebound(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        result = effect.call(*args)
        self.set(args[effect.rebinds], self.tangent(args[effect.of]) if effect.result is Result.ALIAS else None)  # type: ignore[index]
        return result

    def _moved(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        """The result holds the elements of an argument, so it has that argument's tangent: the same or moved, too."""
        result, given = effect.call(*args), args[effect.of]
        if effect.result is not Result.COPY:
            several = not isinstance(given, Tensor)
            for original, alias in zip(given, result, strict=True) if several else ((given, result),):
                self.twin(original, alias)
            return result
        tangent = self.tangent(given)
        if tangent is not None:
            self.set(result, effect.call(*exchanged(args, effect.of, tangent)))
        return result

    def _stored(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        target, source = args[effect.writes], args[effect.stores]  # type: ignore[index]
        if self._frozen:
            self._check_frozen(effect.called(args), target)
        tangent = self.tangent(source) if isinstance(source, Tensor) else None
        result = effect.call(*args)
        if tangent is not None and target._type.dtype.category >= FLOATING:
            if tangent._type.device != target._type.device:
                tangent = tangent.to(target._type.device)
            self._write(target, fitted(tangent, target))
        else:
            self._write(target, None)
        return result

    def _function(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        """A `polyad.autograd.Function` applied to tensors with tangents: its own ``jvp`` gives those of the results."""
        application: Application = effect.body  # type: ignore[assignment]
        function = application.function
        tangents = [self._tangent_of(arg) for arg in args]
        if function.jvp is Function.jvp:
            if function.derives_jvp:
                return self._derived(application, effect, args, tangents)
            raise NotSupported(
                f"{function.__name__}: it has no jvp, so forward mode does not know its derivative",
                operands={f"argument {i}": arg for i, arg in enumerate(args) if tangents[i] is not None},
                fix="define a static method jvp(ctx, *grad_inputs) that returns a tangent for each result",
            )
        result, ctx = self._applied_function(application, effect, args)
        several = isinstance(result, (tuple, list))
        results = list(result) if several else [result]
        found = push_function(function, ctx, args, tangents, results)
        for position, (output, tangent) in enumerate(zip(results, found, strict=True)):
            if isinstance(output, Tensor) and any(output is arg for arg in args):
                if any(output is dirty for dirty in ctx.dirty_tensors):
                    self._write(output, tangent)
                    continue
                output = results[position] = output._alias()
            if tangent is not None:
                self.set(output, tangent)
        self._know_saved_by(ctx, results)
        if not several:
            return results[0]
        return type(result)(*results) if hasattr(result, "_fields") else type(result)(results)

    def _applied_function(
        self, application: Application, effect: Effect, args: tuple[Any, ...]
    ) -> tuple[Any, FunctionCtx]:
        """The result of the call, and a context for ``jvp``: of its own where there is a ``setup_context``."""
        function = application.function
        if function.setup_context is Function.setup_context:
            application.keep = True
            result = effect.call(*args)
            if application.ctx is None:
                raise NotSupported(
                    f"{function.__name__}: what its forward saves is not known where its vmap takes forward's place",
                    fix="define setup_context(ctx, inputs, output), and forward without ctx",
                )
            return result, application.ctx
        result = effect.call(*args)
        ctx = FunctionCtx(tuple([isinstance(arg, Tensor) and arg._node is not None for arg in args]))
        with no_grad():
            function.setup_context(ctx, args, result)
        return result, ctx

    def _know_saved_by(self, ctx: FunctionCtx, results: Sequence[Any]) -> None:
        """What the node of a `Function`'s call keeps has the tangents of what *ctx* was given to save."""
        node = next(
            (result._node for result in results if isinstance(result, Tensor) and result._node is not None), None
        )
        calls = (node.parent if isinstance(node, Output) else node).calls if node is not None else None
        if isinstance(calls, FunctionCalls):
            for kept, tensor in zip(calls.saved, ctx.to_save, strict=True):
                if isinstance(kept, Packed):
                    self._know_packed((kept,), (tensor,))
                elif isinstance(kept, SavedResult):
                    self.twin(tensor, kept.alias)  # type: ignore[arg-type]
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()

    def _derived(self, application: Application, effect: Effect, args: tuple[Any, ...], tangents: list[Any]) -> Any:
        """As `_function`, without a ``jvp``: by differentiating the gradient with respect to what arrives."""
        moved = [position for position, tangent in enumerate(tangents) if tangent is not None]
        entries = [enter(args[position], effect.name) for position in moved]
        given = list(args)
        for position, entry in zip(moved, entries, strict=True):
            given[position] = entry
            self.twin(args[position], entry)
        application.keep = True
        with enable_grad():
            result = effect.call(*given)
        several = isinstance(result, (tuple, list))
        results = list(result) if several else [result]
        smooth = [output for output in results if isinstance(output, Tensor) and output._node is not None]
        derivative = Linearized(smooth, entries)
        pushed = [tangents[position] for position in moved]
        inner = [*entries, *derivative.entries()]
        record = state.grad_enabled and leads_outside((*smooth, *pushed), entries)
        for output, tangent in zip(smooth, derivative(pushed, record), strict=True):
            self.set(output, None if tangent is None else leave(tangent, inner))
        if application.ctx is not None:
            self._know_saved_by(application.ctx, results)
        for position, output in enumerate(results):
            if isinstance(output, Tensor):
                results[position] = leave(output, entries)
                self.twin(output, results[position])
        return type(result)(results) if several else results[0]

    # ------------------------------------------------------------------------------------------------ writes

    def _root(self, tensor: Tensor) -> Tensor:
        """What *tensor* is a view of, as this level sees it; itself for what is no view."""
        entry = self._roots.get(id(tensor))
        root = None if entry is None else entry[1]()
        if root is None and entry is None and tensor._view is not None:
            root = tensor._view.base
        return tensor if root is None else root

    def _check_frozen(self, name: str, target: Tensor) -> None:
        root = self._root(target)
        if any(root is frozen for frozen in self._frozen):
            raise AutogradError(
                f"{name}: an input of a function that is differentiated cannot be changed in place",
                operands={"self": target},
                fix="use the out-of-place form, or clone() it first",
            )

    def _others(self, root: Tensor, target: Tensor) -> list[Tensor]:
        """The views of *root* but *target*: those taken at this level, and those taken before."""
        found: dict[int, Tensor] = {}
        entry = self._views.get(id(root))
        for reference in () if entry is None else entry[1]:
            view = reference()
            if view is not None:
                found[id(view)] = view
        if root._storage is not None:
            for view in root._storage.live_views():
                if id(view) not in self._roots and view._view is not None and view._view.base is root:
                    found[id(view)] = view
        found.pop(id(target), None)
        return list(found.values())

    def _write(self, target: Tensor, tangent: Tensor | None) -> None:
        """*target* was written to, and what it holds has *tangent* now; all that shows its memory follows."""
        root = self._root(target)
        others = self._others(root, target)
        if tangent is None and self.tangent(target) is None and self.tangent(root) is None:
            return
        self.set(target, tangent)
        if root is not target:
            self._write_window(root, target, tangent)
        whole = self.tangent(root)
        for view in others:
            if view is root:
                continue
            if whole is None:
                self.set(view, None)
            else:
                layout, seen = _layouts(root, view)
                take = _window_take if root._type.dtype is view._type.dtype else take_parts
                self.set(view, take(whole, layout.strides, seen.shape, seen.strides, seen.offset - layout.offset))

    def _write_window(self, root: Tensor, view: Tensor, tangent: Tensor | None) -> None:
        layout, seen = _layouts(root, view)
        same, offset = root._type.dtype is view._type.dtype, seen.offset - layout.offset
        whole = self.tangent(root)
        if whole is not None:
            clear = _window_clear if same else clear_parts
            whole = clear(whole, layout.strides, seen.shape, seen.strides, offset)
        if tangent is not None:
            put = _window_put if same else put_parts
            written = put(tangent, layout.shape, layout.strides, seen.strides, offset)
            whole = written if whole is None else whole + written
        self.set(root, whole)
