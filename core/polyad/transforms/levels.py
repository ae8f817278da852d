"""Transform levels: modes that carry tensors of their own (`polyad.transforms.wrapped`).

A level is pushed while the transformed function runs. An op that gets one of its tensors comes here. The level sets
itself aside, computes the result with its own rule from the inner tensors, which may belong to levels further out, and
wraps it. What does not concern it passes on to the next mode out. So transforms nest in any order, and no rule knows of
the other transforms.

What holds for every level is here:

    ops       brought to one dtype first, by what the function sees; then `Level.compute`; then recorded, if something
              at this level wants the gradient. A composite without formulas runs its body at the level in that case.
    views     the layout that the function sees is computed by the op itself; `Level.view` makes the inner view
    effects   by what a `polyad.dispatch.effects.Effect` says it reads, writes and gives

A tensor of no level, or of a level further out, is a constant here: `Level.lift` wraps it without history.

To add a transform, derive from `Level`, write ``lift``, ``compute``, ``inner_view`` and ``read``, and run the function
with ``with level:``, then ``level.end()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.dtypes import FLOATING
from ..base.shapes_and_strides import Layout
from ..base.state import state, user_line
from ..dispatch.effects import Effect, Record, Result, exchanged
from ..dispatch.plan import Plan, explained_by_shapes, find_plan, run_body
from ..dispatch.views import apply_view, place
from ..errors import TransformError
from ..history.node import record, record_copy, record_many
from ..tensor import Tensor
from .wrapped import Transform, Wrapped

if TYPE_CHECKING:
    from ..backend.interface import TensorType
    from ..dispatch.declared import Op


class Level(Transform):
    """How a transform carries out what is done with its tensors."""

    # -------------------------------------------------------------------------------------------- what transforms bring

    def lift(self, tensor: Tensor) -> Wrapped:
        """*tensor*, a constant at this level, as one of its tensors; without history at it."""
        raise TransformError(f"{self.name}: {type(self).__name__} has no lift", fix="define it")

    def compute(self, op: Op, values: tuple[Any, ...], plan: Plan) -> Any:
        """The result of ``op(*values)``, new wrapped tensors without history. Operands are of this level and bare;
        the level is set aside.
        """
        raise TransformError(f"{self.name}: {type(self).__name__} has no compute", fix="define it")

    def inner_view(self, op: Op, input: Any, params: tuple[Any, ...], layout: Layout) -> Wrapped:
        """A wrapped tensor over the inner view that looks like *layout* from here; the level is set aside."""
        raise TransformError(f"{self.name}: {type(self).__name__} has no inner_view", fix="define it")

    def read(self, effect: Effect, position: int, args: tuple[Any, ...]) -> Any:
        """What a read of the data of the tensor at *position* of *args*, on the host, gives."""
        raise TransformError(
            f"{self.name}: {effect.name}() reads data", operands={"self": args[position]}, fix="compute it"
        )

    def untouched(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """A call in which no tensor of this level takes part."""
        return op.call(*args)

    def into_constant(self, name: str, target: Tensor, args: tuple[Any, ...]) -> Any:
        """A write of this level's values into a tensor that is none of its own."""
        raise TransformError(
            f"{name}: a tensor that {self.name} does not transform cannot hold values of a tensor that it does",
            operands={"self": target, **{f"args[{i}]": arg for i, arg in enumerate(args) if isinstance(arg, Tensor)}},
            notes={"function": self.function, "line": user_line()},
            fix="use the out-of-place form, or make the tensor from a transformed tensor: x.new_zeros(...)",
        )

    def apply_function(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        """A `polyad.autograd.Function` applied to tensors of this level."""
        with self:
            return effect.body(*args)  # type: ignore[misc]

    # -------------------------------------------------------------------------------------------- what holds for all

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Carry out a call that concerns this level's tensors, pass on any other."""
        if isinstance(op, Effect):
            return self._effect(op, args)
        if not self.concerns(args):
            return self.untouched(op, args)
        if op.kind == "view":
            return self._view(op, args[0], args[1:])
        return self._op(op, args)

    def concerns(self, args: Any) -> bool:
        """Whether a tensor of this level is among *args*, however deep."""
        for arg in args:
            if isinstance(arg, Wrapped):
                if arg._level is self:
                    return True
                if arg._level.ended:
                    arg._after_end()
            elif (isinstance(arg, (list, tuple)) and self.concerns(arg)) or (
                isinstance(arg, dict) and self.concerns(arg.values())
            ):
                return True
        return False

    def lifted(self, value: Any) -> Any:
        """*value*, an operand, with its tensors as tensors of this level."""
        if isinstance(value, Tensor):
            return value if isinstance(value, Wrapped) and value._level is self else self.lift(value)
        if isinstance(value, (list, tuple)):
            return [self.lifted(item) for item in value]
        return value

    def _op(self, op: Op, args: tuple[Any, ...]) -> Any:
        count = len(op.operands)
        lifted: list[Any] = []
        types: list[Any] = []
        needs = False
        for value in args[:count]:
            if isinstance(value, Tensor):
                own = value if isinstance(value, Wrapped) and value._level is self else self.lift(value)
                lifted.append(own)
                types.append(own._type)
                needs = needs or own._node is not None
            else:
                several = self.lifted(value)
                lifted.append(several)
                types.append(None if several.__class__ is list else value.__class__)
                needs = needs or _has_history(several)
        values = (*lifted, *args[count:])
        # As callers look plans up, but for lists and keyed params, which `find_plan` knows how to.
        plan = None if op.keyed else op.plans.get(types[0] if count == 1 else tuple(types))
        if plan is None:
            plan = find_plan(op, values)
        needs = needs and state.grad_enabled
        if plan.path == "cast":
            with self:
                return plan.indirect(op, values, needs)  # type: ignore[misc]
        if not needs:
            return self._computed(op, values, plan)
        if op.body is not None and not op.formulas and any(plan.differentiable_outputs):
            with self:
                return run_body(op, values)
        out = self._computed(op, (*[_bare(value) for value in values[:count]], *args[count:]), plan)
        if op.formulas:
            if op.outputs:
                record_many(op, values, out, [result._type.dtype.category >= FLOATING for result in out])
            elif out._type.dtype.category >= FLOATING:
                record(op, values, out)
        return out

    def _computed(self, op: Op, values: tuple[Any, ...], plan: Plan) -> Any:
        try:
            return self.compute(op, values, plan)
        except Exception as error:
            # What is wrong is told of the shapes that the function sees, if those explain it.
            found = None if isinstance(error, TransformError) else explained_by_shapes(op, values)
            if found is None:
                raise
            raise found from error

    def _view(self, op: Op, input: Any, params: tuple[Any, ...]) -> Tensor:
        def alias(
            input: Any, shape: Any, strides: Any, offset: int, type_: TensorType | None = None, recorded: bool = True
        ) -> Tensor:
            out = self.inner_view(op, input, params, Layout(shape, strides, offset))
            place(out, input, input._storage or input._make_storage(), offset, recorded)
            return out

        return apply_view(op, input, params, alias)

    def _effect(self, effect: Effect, args: tuple[Any, ...]) -> Any:
        of, changes = effect.of, effect.changes
        if effect.result is Result.ENTRY:
            # Where the gradient is asked for at this level, the history begins at it, also that of a constant.
            return effect.body(*exchanged(args, of, self.lifted(args[of])))  # type: ignore[misc]
        if not self.concerns(args):
            return self.untouched(effect, args)
        if effect.to_host:
            return self.read(effect, effect.reads[0], args)
        if effect.record is Record.CUSTOM:
            return self.apply_function(effect, args)
        if effect.result is Result.COPY:
            given: Wrapped = args[of]
            copy: Tensor = given._like(effect.call(*exchanged(args, of, given._inner)))
            if given._node is not None and state.grad_enabled:
                record_copy(given, copy)
            return copy
        if effect.body is None:
            if changes is None:
                return effect.call(*args)  # it concerns the record of the tensor alone
            raise TransformError(
                f"{effect.name}: it cannot be done to a tensor of a transformed function",
                operands={"self": args[changes]},
                notes={"function": self.function, "line": user_line()},
                fix=f"do it outside of {self.name}",
            )
        if changes is not None:
            target = args[changes]
            if not (isinstance(target, Wrapped) and target._level is self):
                return self.into_constant(effect.called(args), target, args[1:])
        with self:
            return effect.body(*args)


def _has_history(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._node is not None
    return isinstance(value, list) and any(item is not None and item._node is not None for item in value)


def _bare(value: Any) -> Any:
    if isinstance(value, Wrapped):
        return value._bare()
    return [_bare(item) for item in value] if isinstance(value, list) else value
