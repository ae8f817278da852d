"""Effects: work that is visible to the user and is no op, brought to the modes so that none of it is missed.

An op makes new values from values. An effect writes into memory, brings data in, crosses devices, reads to the host, or
changes a tensor's record: ``add_``, ``copy_``, ``tensor``, ``to_device``, ``item``, ``backward``. It has no plan and no
kernel of its own; its body calls ops and tier 0 of the backend. With no mode active it costs one falsy check:

    def fill_(self, value):
        if state.modes:
            return FILL.through_modes(self, value)
        return _fill(self, value)

    FILL = declare(Effect("fill_", fill_, _fill, reads=(1,), writes=0, result=Result.TARGET))

An effect says what it does as data, in the words of `Effect`, `Result` and `Record`. Modes decide by this data and know
no effect by its name, so a new effect needs a declaration and nothing else. ``tests/unit/dispatch/test_effects.py``
carries out every declared effect and proves what it says.

Invariant: a mode that calls ``effect.call(*args)`` again with other tensors in place of the original tensors gets what
the user's program would get with these tensors. That is what replaying a captured graph rests on, so everything that
the body depends on is an argument.

To add an effect, write the three parts above, and an example of its arguments in the test. Arguments are positional.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .modes import through_modes

if TYPE_CHECKING:
    from .declared import Op


class Result(Enum):
    """What comes back from an effect. "The argument" is that at `Effect.of`."""

    NOTHING = "None, or the handle of a hook: nothing to compute with"
    HOST = "Python data, or memory shown to another library; the program may depend on it from then on"
    COMMON = "as HOST, but one answer for all samples of a batch (`polyad.func.vmap`) together"
    CHECK = "None: it raises unless the elements are as they must be, those of all samples of a batch together"
    FRESH = "a tensor over new memory, without history and tangent"
    COMPUTED = "tensors over new memory, with the history and the tangents of what computed them"
    COPY = "a tensor over new memory that holds the argument's elements, with its history and tangent"
    ALIAS = (
        "another tensor over the argument's memory, of its layout, history and tangent; for a list, an alias of each"
    )
    DETACHED = "as ALIAS, without the argument's history and tangent"
    ENTRY = (
        "as ALIAS, with a history that begins at the alias, at the innermost transform, and goes on to the argument's"
    )
    RESIZED = "a tensor of another layout over the argument's memory, or over a copy that is longer; without history"
    TARGET = "the argument itself"
    GRADIENT = "the tensor in the argument's ``.grad``, or None"
    ANY = "new tensors, aliases or arguments: nothing is said of which"


class Record(Enum):
    """What an effect has to do with the record (history, hooks, ``.grad``) of tensors, beyond what follows from writes
    and from `Result`.
    """

    CHANGED = "it changes the history or the hooks of the argument at `Effect.of`"
    GRADIENT = "it looks at ``.grad`` of the argument at `Effect.of`, or puts another tensor there"
    FOLLOWED = (
        "it goes back through the history of its arguments: reads what nodes saved, calls hooks, and, if nothing comes "
        "back, adds to ``.grad`` of the leaves"
    )
    CUSTOM = (
        "the history of what comes back is the user's own: the body is a `polyad.autograd.function.Application`, "
        "which knows the rules; the other words say nothing of it"
    )


class Bodies(NamedTuple):
    """Which arguments of an effect are functions: of tensors, that give a list of tensors, and do no more.

    Who holds an effect whole, as a tracer does, holds them as graphs. Tensors that a function uses and is not given
    become arguments then: the effect's last argument is a tuple to which they are added.

    Attributes:
        functions: their positions.
        operands: the positions of the arguments whose tensors each function is given, in order.
        slices: the one of these whose tensors are given slice by slice, along their first dimension.
        decides: the tensor, or the function that gives one, by which the host decides what is called next.
    """

    functions: tuple[int, ...]
    operands: tuple[int, ...]
    slices: int | None = None
    decides: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Effect:
    """An effect, as modes see it beside `Op`. Numbers are positions of arguments.

    An argument may be a list, tuple or dict; what is said of it is then said of the tensors in it.

    Attributes:
        name: as the user knows it.
        call: carries it out, seen by the modes that are active then.
        body: carries it out without showing it to the modes, which see the calls inside it; None if there are none.
        reads: the arguments on whose elements what comes back, or what is written, depends; not those that are only
            shown by a result that shares their memory.
        writes: the argument into whose memory it writes, whose version then goes up.
        rebinds: the argument that is the result afterwards: the same object, which shows other memory, or shows it in
            another way, as `Result` says. If it writes too, then to the same argument.
        result: what comes back.
        of: the argument that `Result` and `Record` speak of.
        record: what it does to the record of tensors.
        op: the op that an in-place form comes down to, if any.
        packed: whether the arguments are those of a function, as (first, other positional, keyword arguments).
        caller: for an effect that many functions share, the argument that names the function that the user called.
        lends: whether what comes back may show the argument's memory to others, who may write to it.
        bodies: which arguments are functions, of control flow (`polyad.ops.control_flow`).
    """

    name: str
    call: Callable[..., Any]
    body: Callable[..., Any] | None = None
    _: KW_ONLY
    result: Result
    of: int = 0
    reads: tuple[int, ...] = ()
    writes: int | None = None
    rebinds: int | None = None
    record: Record | None = None
    op: Op | None = None
    packed: bool = False
    caller: int | None = None
    bodies: Bodies | None = None
    lends: bool = False

    kind: ClassVar[str] = "effect"
    outputs: ClassVar[tuple[str, ...]] = ()

    @property
    def to_host(self) -> bool:
        """Whether what it reads reaches the host, so that the program may depend on it."""
        return self.result in (Result.HOST, Result.COMMON, Result.CHECK)

    @property
    def updates(self) -> bool:
        """Whether what it writes depends on what was there: it computes first and writes the outcome."""
        return self.writes is not None and self.writes in self.reads

    @property
    def stores(self) -> int | None:
        """The argument whose elements, broadcast and converted, are what is written, since it reads nothing else."""
        return self.reads[0] if self.writes is not None and len(self.reads) == 1 and not self.updates else None

    @property
    def changes(self) -> int | None:
        """The argument that the effect changes: what its memory holds, or which memory it shows."""
        return self.rebinds if self.writes is None else self.writes

    def called(self, args: tuple[Any, ...]) -> str:
        """The name of what the user called."""
        return self.name if self.caller is None else args[self.caller]

    def arguments(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """*args* as the user gave them: by position, and by name."""
        return ((args[0], *args[1]), args[2]) if self.packed else (args, {})

    def through_modes(self, *args: Any) -> Any:
        """Give this call to the innermost mode."""
        return through_modes(self, args)

    def __repr__(self) -> str:
        return f"<effect {self.name}>"


EFFECTS: dict[str, Effect] = {}
"""All effects by name, except those of in-place forms (`polyad.dispatch.inplace`) and those of calls of the user's own
`polyad.autograd.Function`: within each of these two groups all effects say the same.
"""


def declare(effect: Effect) -> Effect:
    """Make *effect* known; its name must be free."""
    if EFFECTS.setdefault(effect.name, effect) is not effect:
        raise ValueError(f"there is an effect {effect.name!r} already")
    return effect


def exchanged(args: tuple[Any, ...], position: int, value: Any) -> tuple[Any, ...]:
    """*args* with *value* at *position*."""
    return (*args[:position], value, *args[position + 1 :])
