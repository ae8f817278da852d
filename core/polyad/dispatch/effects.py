"""Effects: work that is visible to the user and is no op, brought to the modes so that none of it is missed.

An op makes new values from values. An effect writes into memory, brings data in, crosses devices, reads to the host, or
changes a tensor's record: ``add_``, ``copy_``, ``tensor``, ``to_device``, ``item``, ``backward``. It has no plan and no
kernel of its own; its body calls ops and tier 0 of the backend. With no mode active it costs one falsy check:

    def fill_(self, value):
        if state.modes:
            return FILL.through_modes(self, value)
        return _fill(self, value)

    FILL = Effect("fill_", fill_, _fill)

Invariant: a mode that calls ``effect.call(*args)`` again with other tensors in place of the first ones gets what the
user's program would get with these tensors. That is what replaying a captured graph rests on, so everything that the
body depends on is an argument.

To add an effect, write the three parts above; arguments are positional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .modes import through_modes

if TYPE_CHECKING:
    from .declared import Op


class Effect:
    """An effect, as modes see it beside `Op`.

    Attributes:
        name: as the user knows it.
        call: carry it out, seen by the modes that are active then.
        body: carry it out unseen, with what it is made of seen; None if it is made of nothing that modes see.
        inplace: whether it is the in-place form of a function; its arguments are then (target, args, kwargs).
        op: the op that an in-place form comes down to, if there is one.
        reads: whether its result is Python data on the host, on which the program may depend from then on.

    What a transform level (`polyad.dispatch.levels`) does with it, if a tensor of its own takes part:
        writes: write into its first tensor, with the body, which writes through ``Wrapped._store``.
        records: nothing, since it concerns the record of the tensor alone; it is passed on.
        unwraps: carry it out on the inner tensor of the first argument, wrap what comes.
        enters: the body, with the first argument as a tensor of the level even if it is none.
        function: the `polyad.autograd.Function` that it applies, for which the level has rules of its own.
        Of the others, the body is carried out with the level active; without a body the effect is refused.
    """

    __slots__ = (
        "body", "call", "enters", "function", "inplace", "name", "op", "reads", "records", "unwraps", "writes",
    )  # fmt: skip

    kind = "effect"
    outputs = ()

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        body: Callable[..., Any] | None = None,
        *,
        inplace: bool = False,
        op: Op | None = None,
        reads: bool = False,
        writes: bool = False,
        records: bool = False,
        unwraps: bool = False,
        enters: bool = False,
        function: Any = None,
    ) -> None:
        self.name, self.call, self.body = name, call, body
        self.inplace, self.op, self.reads = inplace, op, reads
        self.writes, self.records, self.unwraps, self.enters = writes, records, unwraps, enters
        self.function = function

    def through_modes(self, *args: Any) -> Any:
        """Give this call to the innermost mode."""
        return through_modes(self, args)

    def __repr__(self) -> str:
        return f"<effect {self.name}>"
