"""What effects say of themselves is true: each is carried out on real tensors and looked at, word by word.

A declaration that is false in one word does not pass, whatever the word: so the proof is tested, too.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polyad
import polyad._higher_order_ops
import polyad.jit  # declares an effect, as control flow does
from polyad import Tensor, func
from polyad.autograd import forward_ad
from polyad.autograd.passing import pass_through
from polyad.base.state import state
from polyad.dispatch.catalogue import ATTRIBUTES
from polyad.dispatch.effects import EFFECTS, Effect, Record, Result, declare, exchanged
from polyad.dispatch.modes import Mode
from polyad.errors import TransformError
from polyad.history.hooks import RemovableHandle
from polyad.history.node import Leaf, Node
from polyad.ops.memory.conversion import to_device
from polyad.ops.reductions.any_all import anywhere, check_all

list(ATTRIBUTES)  # loads the families, and with them the effects that they declare

# ----------------------------------------------------------------------------------------------------- the programs


def plain() -> Tensor:
    return polyad.tensor([1.0, 2.0, 3.0])


def leaf() -> Tensor:
    return plain().requires_grad_()


def made() -> Tensor:
    return leaf() * 2


def with_grad() -> Tensor:
    x = leaf()
    x.grad = plain()
    return x


def step(kind: type[polyad.optim.Optimizer]) -> None:
    parameters = [with_grad(), with_grad()]
    kind(parameters, lr=0.1).step()


class Twice(polyad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Same(Twice):
    @staticmethod
    def forward(ctx, x):
        return x.view(3)


Same.__name__ = "Twice"


PROGRAMS: dict[str, list[Callable[[], Any]]] = {
    "tensor": [lambda: polyad.tensor([1.0])],
    "empty": [lambda: polyad.empty(2)],
    "to_device": [lambda: to_device(made(), polyad.device("cpu"))],
    "copy_": [lambda: polyad.zeros(2, 3).copy_(plain()), lambda: polyad.zeros(3).copy_(made())],
    "fill_": [lambda: polyad.zeros(3).fill_(polyad.tensor(5.0)), lambda: polyad.zeros(3).fill_(2)],
    "write": [lambda: polyad.zeros(3).uniform_()],
    "take_layout": [lambda: (made() * polyad.ones(2, 1)).t_()],
    "set_": [lambda: polyad.zeros(3).set_(made())],
    "set_data": [lambda: setattr(polyad.zeros(3), "data", made()), lambda: setattr(leaf(), "data", plain())],
    "resize_": [lambda: plain().resize_(2), lambda: plain().resize_(7)],
    "item": [lambda: polyad.tensor([3.0]).item()],
    "tolist": [lambda: plain().tolist()],
    "numpy": [lambda: plain().numpy()],
    "__array__": [lambda: np.asarray(plain())],
    "__dlpack__": [lambda: np.from_dlpack(plain())],
    "anywhere": [lambda: anywhere(polyad.tensor([False]))],
    "check_all": [
        lambda: check_all(polyad.tensor([True, True]), lambda position, value: TransformError("an element is wrong"))
    ],
    "detach": [lambda: made().detach()],
    "detach_": [lambda: made().detach_()],
    "requires_grad_": [lambda: plain().requires_grad_()],
    "retain_grad": [lambda: made().retain_grad()],
    "register_hook": [lambda: made().register_hook(print)],
    "register_post_accumulate_grad_hook": [lambda: leaf().register_post_accumulate_grad_hook(print)],
    "set_grad": [lambda: setattr(leaf(), "grad", plain())],
    "accumulate_grad": [
        lambda: EFFECTS["accumulate_grad"].through_modes(with_grad(), plain(), False, False),
        lambda: EFFECTS["accumulate_grad"].through_modes(leaf(), plain(), False, True),
        lambda: EFFECTS["accumulate_grad"].through_modes(with_grad(), plain(), True, False),
    ],
    "grad_of": [lambda: EFFECTS["grad_of"].through_modes(with_grad())],
    "enter": [lambda: func.grad(lambda x: x.sum())(made())],
    "pass_through": [lambda: pass_through((made(), made()), lambda node: None)],
    "backward": [lambda: polyad.autograd.backward((x := leaf()) * 2, plain(), inputs=x)],
    "grad": [
        lambda: polyad.autograd.grad(x := made(), x, plain()),
        lambda: polyad.autograd.grad((x := made()) * 2, x, plain()),
    ],
    "update": [lambda: step(polyad.optim.SGD), lambda: step(polyad.optim.Adam)],
    "cond": [lambda: EFFECTS["cond"].through_modes(polyad.tensor(True), lambda x: [x * 2], lambda x: [x], (made(),))],
    "while_loop": [
        lambda: EFFECTS["while_loop"].through_modes(
            lambda x, y: [x.sum() < 50], lambda x, y: [x * 2 + y], [made()], (plain(),)
        )
    ],
    "scan": [
        lambda: EFFECTS["scan"].through_modes(
            lambda c, x, y: [c + x, x * y], [made()[0]], [plain()], False, (polyad.tensor(3.0),)
        )
    ],
    "map": [lambda: EFFECTS["map"].through_modes(lambda x, y: [x * y], [made()], (polyad.tensor(3.0),))],
    # Of these there are many, all made in the same place.
    "add_": [lambda: made().add_(plain()), lambda: plain().add_(other=plain(), alpha=2)],
    "addcmul_": [lambda: plain().addcmul_(plain(), tensor2=plain())],
    "Twice": [lambda: Twice.apply(made()), lambda: Same.apply(made())],
}
MADE_ALIKE = {"add_", "addcmul_", "Twice"}


class Found(Exception):
    pass


class Find(Mode):
    takes_whole = True

    def __init__(self, name: str) -> None:
        self.name = name

    def dispatch(self, op: Any, args: tuple[Any, ...]) -> Any:
        if isinstance(op, Effect) and op.name == self.name:
            raise Found(op, args)
        return op.call(*args)


def seen(name: str, program: Callable[[], Any]) -> tuple[Effect, tuple[Any, ...]]:
    """The effect and its arguments, as a mode sees it when *program* comes to it."""
    polyad.manual_seed(0)
    with pytest.raises(Found) as found, Find(name):
        program()
    return found.value.args  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------ looking at it


def tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [one for item in items for one in tensors(item)]


def shared(one: np.ndarray, others: list[np.ndarray]) -> bool:
    return any(np.shares_memory(one, other) for other in others)


def leads_to(node: Node | None, wanted: Node | None) -> bool:
    return node is not None and (node is wanted or any(leads_to(one, wanted) for one in node.targets()))


def numbers(value: Any) -> Any:
    """Data on the host as something that compares."""
    if type(value).__name__ == "PyCapsule":
        holder = type("Holder", (), {"__dlpack__": lambda self, **_: value, "__dlpack_device__": lambda self: (1, 0)})
        value = np.from_dlpack(holder())
    return np.array(value).tolist()


class Look:
    """A tensor before the effect: what it showed, held and had on record."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.storage = tensor._storage or tensor._make_storage()
        self.array, self.version, self.node, self.grad = tensor._array, self.storage.version, tensor._node, tensor._grad
        self.shown = (tensor._array, tensor._type, tensor._storage, tensor._view)
        self.elements = tensor._array.copy()
        self.record = self._record()

    def _record(self) -> tuple[Any, ...]:
        node = self.tensor._node
        hooks = 0 if node is None or node.hooks is None else len(node.hooks.tensor)
        accumulated = node.accumulated_hooks if isinstance(node, Leaf) else None
        return node, hooks, len(accumulated or ()), node is not None and node.retain is not None

    @property
    def bumped(self) -> bool:
        return self.storage.version != self.version

    @property
    def changed(self) -> bool:
        return not np.array_equal(self.array, self.elements)

    @property
    def rebound(self) -> bool:
        now = (self.tensor._array, self.tensor._type, self.tensor._storage, self.tensor._view)
        return any(one is not other for one, other in zip(now, self.shown, strict=True))

    @property
    def recorded(self) -> bool:
        return self._record() != self.record

    @property
    def regraded(self) -> bool:
        return self.tensor._grad is not self.grad


class Run:
    """An effect carried out once, and what was seen of it; ``other`` is the argument whose elements are others."""

    def __init__(self, effect: Effect, args: tuple[Any, ...], other: int | None = None) -> None:
        for one in [] if other is None else tensors(args[other]):
            one._array[...] = ~one._array if one.dtype is polyad.bool else one._array + 1
        self.args = args
        self.followed = 0
        for one in tensors(args):
            if one._node is not None and not isinstance(one._node, Leaf):
                one.register_hook(self._follow)
        self.looks = {k: [Look(one) for one in tensors(arg)] for k, arg in enumerate(args)}
        try:
            self.result = effect.call(*args)
        except TransformError as error:  # what a check says of other elements
            assert other is not None
            self.result = error
        self.outcome = [] if other is None else self._outcome(other)

    def _follow(self, gradient: Tensor) -> None:
        self.followed += 1

    def every(self) -> Iterator[tuple[int, Look]]:
        return ((k, look) for k, looks in self.looks.items() for look in looks)

    def arrays(self, position: int | None = None) -> list[np.ndarray]:
        return [look.array for k, look in self.every() if position in (None, k)]

    def _outcome(self, other: int) -> list[Any]:
        """What has come of it, but for what only shows the memory of the argument at *other*."""
        given = self.arrays(other)
        out = [one._array for one in tensors(self.result) if not shared(one._array, given)]
        out += [look.array for _, look in self.every() if look.changed]
        out += [one for _, look in self.every() if look.regraded for one in [look.tensor._grad._array]
                if not shared(one, given)]  # fmt: skip
        found = [one.tolist() for one in out]
        if tensors(self.result) or isinstance(self.result, RemovableHandle):
            return found
        return [*found, numbers(self.result)]

    @property
    def refused(self) -> bool:
        return isinstance(self.result, TransformError)


# ------------------------------------------------------------------------------------------------------------ proofs


def prove(effect: Effect, runs: Callable[[int | None], list[Run]]) -> None:
    """Raise AssertionError unless all that *effect* says is true of all its runs, and nothing truer could be said."""
    found = runs(None)
    memories = set()
    for run in found:
        _prove_record(effect, run)
        memories |= {shared(one._array, run.arrays()) for one in tensors(run.result)}
        if effect.record is not Record.CUSTOM:
            _prove_memory(effect, run)
            _prove_result(effect, run)
    if effect.bodies is not None:
        _prove_bodies(effect, found[0])
    if effect.result in (Result.ANY, Result.RESIZED):
        assert memories == {True, False}, "it is never one of the two that it may be"
        assert effect.result is Result.RESIZED or effect.rebinds is None
    if effect.record is Record.CUSTOM:
        return
    positions = {k for run in found for k, looks in run.looks.items() if looks}
    assert positions.issuperset(effect.reads), "it reads what is no tensor"
    refused = False
    for position in positions:
        pairs = list(zip(runs(None), runs(position), strict=True))
        refused = refused or any(other.refused for _, other in pairs)
        depends = any(one._outcome(position) != other.outcome for one, other in pairs)
        assert depends == (position in effect.reads), f"it {'reads' if depends else 'does not read'} {position}"
    assert refused == (effect.result is Result.CHECK)
    if effect.to_host:
        _prove_answer(effect, found[0])


def _prove_record(effect: Effect, run: Run) -> None:
    exempt = {effect.writes, effect.rebinds}
    recorded = {k for k, look in run.every() if look.recorded} - exempt
    regraded = {k for k, look in run.every() if look.regraded}
    assert recorded == ({effect.of} if effect.record is Record.CHANGED else set())
    assert bool(run.followed) == (effect.record is Record.FOLLOWED)
    if effect.record is Record.FOLLOWED:
        assert bool(regraded) == (effect.result is Result.NOTHING)
    else:
        gradients = {k for k, look in run.every() if run.result is look.tensor._grad is not None}
        assert regraded | gradients == ({effect.of} if effect.record is Record.GRADIENT else set())
    assert hasattr(effect.body, "function") == (effect.record is Record.CUSTOM)


def _prove_memory(effect: Effect, run: Run) -> None:
    written = set() if effect.writes is None else {look.storage for look in run.looks[effect.writes]}
    assert {look.storage for _, look in run.every() if look.bumped} == written
    assert {look.storage for _, look in run.every() if look.changed} <= written
    assert {k for k, look in run.every() if look.rebound} | {effect.rebinds} <= {effect.rebinds}
    if effect.rebinds is not None:
        look = run.looks[effect.rebinds][0]
        assert effect.writes in (None, effect.rebinds)
        assert look.rebound or look.tensor._node is not look.node
        assert run.result is look.tensor
    for storage in written:
        assert isinstance(effect.called(run.args), str)
        assert storage.writer[0] in (effect.called(run.args), "copy_")  # which fill_ is, of a tensor
    assert effect.caller is None or written, "no write could tell the caller"
    if effect.stores is not None:
        target, source = run.looks[effect.writes][0].array, run.args[effect.stores]
        elements = source._array if isinstance(source, Tensor) else source
        assert np.array_equal(target, np.broadcast_to(elements, target.shape))


def _prove_bodies(effect: Effect, run: Run) -> None:
    """Functions are where they are said to be, get what is said, and the last argument is for more tensors."""
    bodies = effect.bodies
    assert [k for k, arg in enumerate(run.args) if callable(arg)] == list(bodies.functions)
    assert isinstance(run.args[-1], tuple)
    wanted = [
        one[0] if k == bodies.slices else one
        for k in bodies.operands
        for one in tensors(run.args[k])
    ]  # fmt: skip
    calls = []
    args = list(run.args)
    for position in bodies.functions:
        args[position] = lambda *given, called=args[position]: (calls.append(given), called(*given))[1]
    effect.call(*args)
    assert [one.tolist() for one in calls[0]] == [one.tolist() for one in wanted]
    assert bodies.decides is None or bodies.decides in (*bodies.functions, *effect.reads)


NEW = Result.FRESH, Result.COPY, Result.COMPUTED


def _prove_result(effect: Effect, run: Run) -> None:
    result, word = run.result, effect.result
    looks = run.looks.get(effect.of, [])
    if word is Result.NOTHING:
        assert result is None or isinstance(result, RemovableHandle)
        return
    if word is Result.CHECK:
        assert result is None
        return
    if effect.to_host:
        assert not tensors(result)
        assert isinstance(result, (bool, int, float, list, np.ndarray)) or type(result).__name__ == "PyCapsule"
        return
    given = run.arrays() + [look.grad._array for _, look in run.every() if look.grad is not None]
    assert tensors(result)
    assert all(not shared(one._array, given) for one in tensors(result)) or word not in NEW
    if word is Result.FRESH:
        assert all(one._node is None for one in tensors(result))
    elif word is Result.COMPUTED:
        assert effect.bodies is not None
        assert any(one._node is not None for one in tensors(result))
    elif word is Result.COPY:
        assert np.array_equal(result._array, looks[0].array)
        assert leads_to(result._node, looks[0].node)
    elif word is Result.TARGET:
        assert effect.rebinds is None
        assert result is looks[0].tensor
    elif word is Result.GRADIENT:
        assert result is looks[0].tensor._grad
    elif word is Result.RESIZED:
        least = min(result._array.size, looks[0].array.size)
        assert np.array_equal(result._array.ravel()[:least], looks[0].array.ravel()[:least])
        assert result._node is None
    elif word is not Result.ANY:
        assert len(tensors(result)) == len(looks)
        for one, look in zip(tensors(result), looks, strict=True):
            assert shared(one._array, [look.array])
            assert (one._array.shape, one._array.strides) == (look.array.shape, look.array.strides)
            assert one._storage is look.storage
            assert leads_to(one._node, look.node) == (word is not Result.DETACHED)
            assert word is Result.DETACHED or isinstance(one._node, Leaf) == (word is Result.ENTRY)
            assert effect.rebinds is not None or one is not look.tensor


def _prove_answer(effect: Effect, run: Run) -> None:
    """A batch has one common answer, or is refused."""
    (position,) = effect.reads
    batch = polyad.stack([run.args[position]] * 2)
    mapped = func.vmap(lambda x: [effect.call(*exchanged(run.args, position, x)), x * 1][1])
    with contextlib.nullcontext() if effect.result is not Result.HOST else pytest.raises(TransformError):
        mapped(batch)


def runs_of(name: str, effect: Effect | None = None) -> Callable[[int | None], list[Run]]:
    def runs(other: int | None) -> list[Run]:
        found = [seen(name, program) for program in PROGRAMS[name]]
        return [Run(effect or declared, args, other) for declared, args in found]

    return runs


def test_every_effect_has_a_program() -> None:
    assert set(EFFECTS) == set(PROGRAMS) - MADE_ALIKE


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_it_says_is_true(name: str) -> None:
    effect, _ = seen(name, PROGRAMS[name][0])
    prove(effect, runs_of(name))


def others(effect: Effect, args: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """All that differs from what *effect* says in one word."""
    positions = [k for k, arg in enumerate(args) if tensors(arg)]
    for position in {*positions, *effect.reads}:
        reads = set(effect.reads) ^ {position}
        yield {"reads": tuple(sorted(reads))}
    for name in ("writes", "rebinds"):
        yield from ({name: k} for k in (None, *positions) if k != getattr(effect, name))
    yield from ({"result": word} for word in Result if word is not effect.result)
    yield from ({"record": word} for word in (None, *Record) if word is not effect.record)
    yield from ({"caller": k} for k in (None, 0) if k != effect.caller)
    told = effect.record in (Record.CHANGED, Record.GRADIENT) or effect.result in (
        Result.COPY, Result.ALIAS, Result.DETACHED, Result.ENTRY, Result.RESIZED, Result.TARGET, Result.GRADIENT,
    )  # fmt: skip
    yield from ({"of": k} for k in positions if told and k != effect.of)


# The last ones where a false position is none of a tensor, so that the proof cannot even be attempted.
NOTICED = AssertionError, pytest.fail.Exception, TransformError, LookupError, TypeError, ValueError, AttributeError


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "Twice"])
def test_what_is_false_in_one_word_is_noticed(name: str) -> None:
    effect, args = seen(name, PROGRAMS[name][-1])
    passed = []
    for words in others(effect, args):
        try:
            prove(false := dataclasses.replace(effect, **words), runs_of(name, false))
        except (
            AssertionError,
            pytest.fail.Exception,
            TransformError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
        ):
            continue  # noticed, or not even possible
        passed.append(words)
    assert not passed


# ------------------------------------------------------------------------------------------------------- declared once


def test_a_name_is_declared_once() -> None:
    with pytest.raises(ValueError, match="there is an effect 'copy_' already"):
        declare(Effect("copy_", print, result=Result.NOTHING))


def put(name: str, values: Tensor, target: Tensor) -> Tensor:
    return PUT.through_modes(name, values, target) if state.modes else PUT.body(name, values, target)


def look(word: str, tensor: Tensor) -> float:
    return LOOK.through_modes(word, tensor) if state.modes else tensor.sum().item()


def duplicate(word: str, tensor: Tensor) -> Tensor:
    return DUPLICATE.through_modes(word, tensor) if state.modes else DUPLICATE.body(word, tensor)


# No mode has heard of these, and their arguments stand where no other effect has them.
PUT = Effect(
    "put", put, lambda name, values, target: target.copy_(values),
    reads=(1,), writes=2, result=Result.TARGET, of=2, caller=0,
)  # fmt: skip
LOOK = Effect("look", look, reads=(1,), result=Result.HOST)
DUPLICATE = Effect(
    "duplicate", duplicate, lambda word, tensor: to_device(tensor, tensor.device),
    reads=(1,), result=Result.COPY, of=1,
)  # fmt: skip


def test_levels_follow_a_declaration_that_they_do_not_know() -> None:
    x = polyad.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert func.vmap(lambda row: put("mine", row * 2, row.new_zeros(2)))(x).tolist() == (x * 2).tolist()
    assert func.vmap(lambda row: duplicate("", row))(x).tolist() == x.tolist()
    assert func.vmap(lambda row: row * look("", x))(x).tolist() == (x * 10).tolist()
    with pytest.raises(TransformError, match="mine: self is the same for all samples"):
        func.vmap(lambda row: put("mine", row, polyad.zeros(2)))(x)
    with pytest.raises(TransformError, match=r"reads data of a batched tensor.*look"):
        func.vmap(lambda row: look("", row))(x)

    for program in (lambda row: put("mine", row, polyad.zeros(2)), lambda row: duplicate("", row)):
        value, tangent = func.jvp(lambda row, program=program: program(row) * 3, (x[0],), (x[1],))
        assert (value.tolist(), tangent.tolist()) == ([3.0, 6.0], [9.0, 12.0])
    with pytest.raises(RuntimeError, match="mine: an input of a function that is differentiated"):
        func.jvp(lambda row: put("mine", polyad.ones(2), row), (x[0],), (x[1],))


def test_capture_follows_a_declaration_that_it_does_not_know() -> None:
    def program(x: Tensor) -> Tensor:
        return put("mine", x, polyad.zeros(2)) * look("", x)

    with pytest.warns(polyad.jit.BakedValueWarning, match=r"look\(\) reads data"):
        graph = polyad.jit.capture(program, polyad.tensor([1.0, 2.0]))
    assert graph(polyad.tensor([5.0, 6.0])).tolist() == [15.0, 18.0]


# ------------------------------------------------------------------------------------------------- what follows from it


def test_the_tangent_of_an_operand_given_by_name_is_not_lost() -> None:
    with forward_ad.dual_level():
        x = polyad.full((2,), 2.0).mul_(other=forward_ad.make_dual(polyad.ones(2), polyad.full((2,), 3.0)))
        tangent = forward_ad.unpack_dual(x).tangent
    assert tangent is not None
    assert tangent.tolist() == [6.0, 6.0]


def test_a_gradient_finds_its_way_back_from_another_device_in_a_batch() -> None:
    program = func.grad(lambda row: (duplicate("", row * row) * 3).sum())
    x = polyad.ones(2, 3)
    assert func.vmap(program)(x).tolist() == polyad.stack([program(row) for row in x]).tolist() == (x * 6).tolist()
    assert func.vmap(func.grad(lambda row: (to_device(row, row.device) * 3).sum()))(x).tolist() == (x * 3).tolist()


def test_a_constant_is_not_made_to_show_a_batch() -> None:
    constant = polyad.zeros(2)
    with pytest.raises(TransformError, match="set_: self is the same for all samples"):
        func.vmap(lambda row: constant.set_(row))(polyad.ones(3, 2))
    assert constant.tolist() == [0.0, 0.0]


def test_an_operand_given_by_name_is_not_blamed_on_the_op() -> None:
    with polyad.detect_nonfinite():
        polyad.ones(1).mul_(other=polyad.full((1,), float("nan")))


def test_an_in_place_form_under_a_mode_uses_what_its_own_call_has_drawn() -> None:
    with Mode():
        first = polyad.nn.functional.dropout2d(polyad.ones(1, 3, 2, 2), 1.0, inplace=True)
        second = polyad.nn.functional.dropout2d(polyad.ones(2, 5, 1, 1), 0.5, inplace=True)
    assert not first.any()
    assert second.shape == (2, 5, 1, 1)
    assert set(second.flatten().tolist()) <= {0.0, 2.0}
