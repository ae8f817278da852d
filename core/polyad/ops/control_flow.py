"""Branches and loops that depend on data, as calls: `cond`, `while_loop`, `scan`, `map_over` (PyTorch's ``map``).

Each is written twice. The public function knows nested structures and says what is wrong with arguments. The effect
below it knows lists of tensors; its functions may be the user's or graphs (`polyad.graph`), and a tracer sees it whole.

Invariants: functions get and give tensors, and write to none that they did not make. What comes back has memory of its
own and lies row by row, whichever branch computed it; so what a graph says of it holds for each run. Gradients,
tangents and batches follow from the ops that run. Where a decision differs between the samples of a batch, both
branches are computed, and a loop goes on until it has ended for all. Without data (device "meta") both branches are
called, and a loop's function once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base.dtypes import bool_
from ..base.memory_formats import contiguous_format
from ..base.state import state
from ..base.trees import Tree, flatten, same_order
from ..dispatch.effects import Bodies, Effect, Result, declare
from ..dispatch.op import function
from ..errors import ArgumentTypeError, AutogradError, DeviceError, DTypeError, ShapeError, safe_repr
from ..tensor import Tensor
from ..tensor.tensor import check_tensor, has_data
from ..transforms.wrapped import differs, innermost
from .creation.factories import full
from .pointwise.where import where
from .reductions.any_all import anywhere
from .shaping.joining import cat, stack
from .shaping.splitting import unbind

if TYPE_CHECKING:
    Function = Callable[..., Any]
    Tensors = Sequence[Tensor]

# ------------------------------------------------------------------------------------------------ what a tracer sees


def _effect(name: str, body: Function, reads: tuple[int, ...], bodies: Bodies) -> Effect:
    def call(*args: Any) -> Any:
        modes = state.modes
        return effect.through_modes(*args) if modes and modes[-1].takes_whole else body(*args)

    effect = declare(Effect(name, call, body, result=Result.COMPUTED, reads=reads, bodies=bodies))
    return effect


def _cond(pred: Tensor, true_fn: Function, false_fn: Function, operands: Tensors) -> list[Tensor]:
    _check_truth("cond: pred", pred)
    if has_data(innermost(pred)) and not differs(pred):
        return _own(_call_pure("cond", true_fn if pred.item() else false_fn, operands))
    found, other = _call_pure("cond", true_fn, operands), _call_pure("cond", false_fn, operands)
    _check_alike("cond", "true_fn and false_fn return different tensors", found, other)
    if not has_data(innermost(pred)):
        return _own(found)
    pred = pred.reshape(())
    return [where(pred, one, two) for one, two in zip(found, other, strict=True)]


def _while_loop(cond_fn: Function, body_fn: Function, carried: Tensors, used: Tensors) -> list[Tensor]:
    running: Tensor | None = None  # which samples are, once they differ in that
    while True:
        (goes_on,) = _call_pure("while_loop", cond_fn, (*carried, *used))
        _check_truth("while_loop: cond_fn's result", goes_on)
        goes_on = goes_on.reshape(())
        known = has_data(innermost(goes_on))
        if known and (running is not None or differs(goes_on)):
            running = goes_on if running is None else running & goes_on
        if known and not (goes_on.item() if running is None else anywhere(running)):
            return _own(carried)
        new = _call_pure("while_loop", body_fn, (*carried, *used))
        _check_alike("while_loop", "body_fn returns other tensors than it is given", carried, new)
        if running is not None:
            new = [where(running, one, two) for one, two in zip(new, carried, strict=True)]
        carried = new
        if not known:
            return _own(carried)


def _scan(combine_fn: Function, carry: Tensors, xs: Tensors, reverse: bool, used: Tensors) -> list[Tensor]:
    rows: list[list[Tensor]] = []
    for slices in _slices(xs, reverse):
        found = _call_pure("scan", combine_fn, (*carry, *slices, *used))
        new, row = found[: len(carry)], found[len(carry) :]
        _check_alike("scan", "combine_fn returns another carry than it is given", carry, new)
        _check_alike("scan", "combine_fn returns other tensors than for another slice", (rows or [row])[0], row)
        carry = new
        rows.append(row)
    return [*_own(carry), *_stack_rows(rows[::-1] if reverse else rows, xs)]


def _map(f: Function, xs: Tensors, used: Tensors) -> list[Tensor]:
    rows: list[list[Tensor]] = []
    for slices in _slices(xs, False):
        row = _call_pure("map", f, (*slices, *used))
        _check_alike("map", "f returns other tensors than for another slice", (rows or [row])[0], row)
        rows.append(row)
    return _stack_rows(rows, xs)


COND = _effect("cond", _cond, (0, 3), Bodies((1, 2), (3,), decides=0))
WHILE_LOOP = _effect("while_loop", _while_loop, (2, 3), Bodies((0, 1), (2, 3), decides=0))
SCAN = _effect("scan", _scan, (1, 2, 4), Bodies((0,), (1, 2, 4), slices=2))
MAP = _effect("map", _map, (1, 2), Bodies((0,), (1, 2), slices=1))


def _slices(xs: Tensors, reverse: bool) -> Any:
    """The slices of all *xs* one after another; without data one of them, which stands for all."""
    if not has_data(*map(innermost, xs)):
        return [[x.select(0, 0) for x in xs]]
    rows = list(zip(*[unbind(x) for x in xs], strict=True))
    return rows[::-1] if reverse else rows


def _stack_rows(rows: list[list[Tensor]], xs: Tensors) -> list[Tensor]:
    count = xs[0].shape[0]
    if len(rows) == count:
        return [stack(column) for column in zip(*rows, strict=True)]
    return _own([one.unsqueeze(0).expand(count, *one.shape) for one in rows[0]])


def _own(tensors: Tensors) -> list[Tensor]:
    return [one.clone(memory_format=contiguous_format) for one in tensors]


def _call_pure(name: str, called: Function, given: Tensors) -> list[Tensor]:
    """What *called* gives, if it has left what it was given as it was."""
    before = [_version(one) for one in given]
    found: list[Tensor] = called(*given)
    for position, (version, one) in enumerate(zip(before, given, strict=True)):
        if _version(one) != version:
            raise write_refused(name, _title(called), f"its argument {position}", one)
    return found


def _version(tensor: Tensor) -> int:
    return 0 if tensor._storage is None else tensor._storage.version


def write_refused(name: str, title: str, what: str, target: Tensor) -> AutogradError:
    """The error for *title*, a function in a call of *name*, that changes *target*."""
    return AutogradError(
        f"{name}: {title} writes to {what}, or to memory that it shares",
        operands={"target": target},
        fix="return a new tensor, by the out-of-place form or after clone()",
    )


def _check_alike(name: str, what: str, wanted: Tensors, found: Tensors) -> None:
    """Raise for tensors that differ in number, shape, dtype or device from those *wanted*."""
    if len(wanted) != len(found):
        raise ShapeError(f"{name}: {what}: {len(found)}, not {len(wanted)}", fix="return tensors that nest alike")
    for position, (one, other) in enumerate(zip(wanted, found, strict=True)):
        kind: type[ShapeError | DTypeError | DeviceError]
        if one._array.shape != other._array.shape:
            kind, shown = ShapeError, f"shape {tuple(other.shape)}, not {tuple(one.shape)}"
        elif one._type.dtype is not other._type.dtype:
            kind, shown = DTypeError, f"dtype {other.dtype.name}, not {one.dtype.name}"
        elif one._type.device != other._type.device:
            kind, shown = DeviceError, f"device {other.device}, not {one.device}"
        else:
            continue
        raise kind(
            f"{name}: {what}: number {position} has {shown}",
            operands={"one": one, "other": other},
            fix="make them agree, by reshape, expand or to(dtype)",
        )


def _check_truth(what: str, pred: Tensor) -> None:
    if pred._type.dtype is not bool_ or pred.numel() != 1:
        raise DTypeError(
            f"{what} is no bool of one element",
            operands={"pred": pred},
            fix="compare, such as x.sum() > 0, or reduce by any() or all()",
        )


# ------------------------------------------------------------------------------------------------ what users call


class _Flat:
    """A function of the user's between lists of tensors.

    Attributes:
        tree: the structure of its arguments. Further tensors that it is given are those that it uses anyway.
        result: the structure of what it returns, once known.
    """

    def __init__(self, name: str, called: Function, tree: Tree, result: Tree | None = None) -> None:
        self.name, self.called, self.tree, self.result = name, called, tree, result
        self.__name__ = getattr(called, "__name__", None) or type(called).__name__

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        return self.flattened(self.called(*self.tree.build(tensors)))

    def flattened(self, value: Any) -> list[Tensor]:
        leaves, tree = flatten(value)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise ArgumentTypeError(
                    f"{self.name}: {self.__name__} returns {safe_repr(leaf)}, not a tensor",
                    fix="return tensors, in nested lists, tuples and dicts; torch.tensor(n) makes one of a number",
                )
        if self.result is None:
            self.result = tree
        elif self.result != tree:
            raise self.other_structure(tree)
        return same_order(value, self.result)

    def other_structure(self, tree: Tree) -> ArgumentTypeError:
        return ArgumentTypeError(
            f"{self.name}: {self.__name__} returns {tree}, and should return {self.result}",
            fix="return tensors that nest alike, whatever the data",
        )


class _Truth(_Flat):
    """A function that says whether a loop goes on."""

    def flattened(self, value: Any) -> list[Tensor]:
        return super().flattened(full((), value) if isinstance(value, bool) else value)


class _Step(_Flat):
    """A function that returns a carry and something else."""

    carry: Tree

    def flattened(self, value: Any) -> list[Tensor]:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ArgumentTypeError(
                f"{self.name}: {self.__name__} returns {safe_repr(value)}, not a pair",
                fix="return (next carry, result for this slice)",
            )
        found = super().flattened((value[0], value[1]))
        assert self.result is not None
        if self.result.children[0] != self.carry:
            raise ArgumentTypeError(
                f"{self.name}: {self.__name__} returns the carry {self.result.children[0]}, and init is {self.carry}",
                fix="return a carry that nests as init does",
            )
        return [*same_order(value[0], self.carry), *found[self.carry.count :]]


class _Branch(_Flat):
    """One of two functions that return the same structure."""

    other: _Branch | None = None

    def flattened(self, value: Any) -> list[Tensor]:
        if self.result is None and self.other is not None:
            self.result = self.other.result
        return super().flattened(value)


def _title(called: Any) -> str:
    return getattr(called, "__name__", None) or type(called).__name__


def _flatten_tensors(name: str, what: str, value: Any) -> tuple[list[Tensor], Tree]:
    leaves, tree = flatten(value)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ArgumentTypeError(
                f"{name}: {what} holds {safe_repr(leaf)}, which is no tensor",
                fix="pass tensors, in nested lists, tuples and dicts; torch.tensor(n) makes one of a number",
            )
    return leaves, tree


def _check_functions(name: str, **functions: Any) -> None:
    for parameter, called in functions.items():
        if not callable(called):
            raise ArgumentTypeError(
                f"{name}: {parameter} is {safe_repr(called)}, which cannot be called", fix="pass a function or a module"
            )


def _check_sequence(name: str, parameter: str, value: Any) -> None:
    if not isinstance(value, (tuple, list)):
        raise ArgumentTypeError(
            f"{name}: {parameter} is {type(value).__name__}, not a tuple of arguments", fix="pass (x,) for one tensor"
        )


def _check_length(name: str, xs: Sequence[Tensor], dim: int) -> None:
    """Raise unless all *xs* have the same positive size in *dim*."""
    if not xs:
        raise ArgumentTypeError(f"{name}: xs holds no tensor", fix="pass what is gone through, slice by slice")
    for x in xs:
        if x.ndim <= dim:
            raise ShapeError(f"{name}: xs has no dimension {dim}", operands={"x": x}, fix="pass another dim")
        if x.shape[dim] != xs[0].shape[dim]:
            raise ShapeError(
                f"{name}: xs have different sizes in dimension {dim}",
                operands={"one": xs[0], "other": x},
                fix="pass tensors that have as many slices as each other",
            )
    if xs[0].shape[dim] == 0:
        raise ShapeError(
            f"{name}: xs have no slices, so what comes back has no known shape",
            operands={"x": xs[0]},
            fix=f"do not call {name} for an empty sequence",
        )


@function(method=False)
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` if *pred* is true, else ``false_fn(*operands)``, chosen anew whenever a graph is replayed.

    *pred* is a bool tensor of one element, or a Python value, by which the choice is made once. *operands* is a tuple
    of tensors in nested lists, tuples and dicts; both functions return tensors, alike in structure, shapes, dtypes and
    device. They may use other tensors, and may not write to any that they did not make. Only the chosen one is called;
    when a graph is captured, both are, and for a batch whose samples choose differently, both, with `where` between.

    The result has memory of its own. Raises TypeError for what is no function, structure or tensor, RuntimeError for a
    *pred* of another shape or dtype, for branches that were seen to differ, and for a write.

    >>> import polyad
    >>> def half(x):
    ...     return polyad.cond(x.sum() > 4, lambda x: x / 2, lambda x: x, (x,))
    >>> half(polyad.tensor([1.0, 2.0])), half(polyad.tensor([4.0, 2.0]))
    (tensor([1., 2.]), tensor([2., 1.]))
    """
    _check_functions("cond", true_fn=true_fn, false_fn=false_fn)
    _check_sequence("cond", "operands", operands)
    if isinstance(pred, (bool, int, float)):
        return (true_fn if pred else false_fn)(*operands)
    check_tensor(pred, "cond", "pred")
    given, tree = _flatten_tensors("cond", "operands", operands)
    first, second = _Branch("cond", true_fn, tree), _Branch("cond", false_fn, tree)
    second.other, first.other = first, second
    found = COND.call(pred, first, second, tuple(given))
    result = first.result or second.result
    assert result is not None
    return result.build(found)


@function(method=False)
def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` for as long as ``cond_fn(*carried)`` is true, as often as the data of each replay
    says; a tuple.

    *carried_inputs* is a tuple of tensors in nested lists, tuples and dicts. *body_fn* returns such a tuple, alike in
    structure, shapes, dtypes and device; *cond_fn* returns a bool tensor of one element, or a bool. They may use other
    tensors, and may not write to any that they did not make. In a batch, samples that have ended keep their values.

    Raises TypeError for what is no function, structure or tensor, RuntimeError for a carried tensor that changes its
    shape, dtype or device, and for a write.

    >>> import polyad
    >>> polyad.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (polyad.tensor(0), polyad.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    _check_functions("while_loop", cond_fn=cond_fn, body_fn=body_fn)
    _check_sequence("while_loop", "carried_inputs", carried_inputs)
    carried, tree = _flatten_tensors("while_loop", "carried_inputs", tuple(carried_inputs))
    found = WHILE_LOOP.call(_Truth("while_loop", cond_fn, tree), _Flat("while_loop", body_fn, tree, tree), carried, ())
    return tree.build(found)


def scan(combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for each slice *x* of *xs* along *dim*, from the last if *reverse*; returns
    the last carry, and the ``y`` of all slices in the order of *xs*, stacked along a new dimension: *dim*, or the first
    if the result has not as many.

    *init*, the first carry, and *xs* are tensors or nested lists, tuples and dicts of them; *xs* have the same size in
    *dim*. Each carry is alike in structure, shapes, dtypes and device. *combine_fn* may use other tensors, and may not
    write to any that it did not make.

    Raises TypeError for what is no function, structure or tensor, RuntimeError for tensors that differ between slices,
    for *xs* without slices, and for a write.

    >>> import polyad
    >>> from polyad._higher_order_ops import scan
    >>> scan(lambda total, x: (total + x, total * x), polyad.tensor(0), polyad.tensor([1, 2, 3]))
    (tensor(6), tensor([0, 2, 9]))
    """
    _check_functions("scan", combine_fn=combine_fn)
    carry, tree = _flatten_tensors("scan", "init", init)
    given, tree_of_xs = _flatten_tensors("scan", "xs", xs)
    if not given:
        return init, []
    if not carry:
        raise ArgumentTypeError("scan: init holds no tensor", fix="use map where nothing is carried")
    if type(dim) is not int or not isinstance(reverse, bool):
        raise ArgumentTypeError(
            f"scan: dim is {safe_repr(dim)}, reverse {safe_repr(reverse)}", fix="pass an int and a bool"
        )
    if dim < 0:
        dim += given[0].ndim
    _check_length("scan", given, dim)
    step = _Step("scan", combine_fn, Tree(tuple, None, (tree, tree_of_xs)))
    step.carry = tree
    found = SCAN.call(step, carry, [x.movedim(dim, 0) if dim else x for x in given], reverse, ())
    assert step.result is not None
    rows = [row.movedim(0, dim) if 0 < dim < row.ndim else row for row in found[tree.count :]]
    return tree.build(found[: tree.count]), step.result.children[1].build(rows)


def map_over(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for each slice *x* of *xs* along the first dimension, stacked; PyTorch's ``map``.

    *xs* and *args* are tensors or nested lists, tuples and dicts of them; *xs* have the same first size, and *f*
    returns tensors that are alike for each slice. It may use other tensors, and may not write to any that it did not
    make.

    Raises TypeError for what is no function, structure or tensor, RuntimeError for tensors that differ between slices,
    for *xs* without slices, and for a write.

    >>> import polyad
    >>> from polyad._higher_order_ops import map
    >>> map(lambda x, y: x * y, polyad.tensor([1, 2, 3]), polyad.tensor(5))
    tensor([ 5, 10, 15])
    """
    _check_functions("map", f=f)
    given, tree = _flatten_tensors("map", "xs", xs)
    _check_length("map", given, 0)
    further, tree_of_args = _flatten_tensors("map", "args", args)
    flat = _Flat("map", f, Tree(tuple, None, (tree, *tree_of_args.children)))
    found = MAP.call(flat, given, tuple(further))
    assert flat.result is not None
    return flat.result.build(found)


def associative_scan(
    combine_fn: Callable[..., Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """What `scan` gives that begins with the first slice of *xs* along *dim* (the last if *reverse*) and goes on with
    ``combine_fn(so far, slice)``, for a function in which it does not matter how slices are grouped.

    As in `scan`, slices are combined one after another, whatever *combine_mode* is. Raises as `scan` does.

    >>> import polyad
    >>> from polyad._higher_order_ops import associative_scan
    >>> associative_scan(lambda x, y: x * y, polyad.tensor([1, 2, 3, 4]), 0)
    tensor([ 1,  2,  6, 24])
    """
    given, tree = _flatten_tensors("associative_scan", "xs", xs)
    dim = dim + given[0].ndim if given and dim < 0 else dim
    _check_length("associative_scan", given, dim)
    count = given[0].shape[dim]
    if count == 1:
        return tree.build(_own(given))
    first = tree.build([x.select(dim, count - 1 if reverse else 0) for x in given])
    rest = tree.build([x.narrow(dim, 0 if reverse else 1, count - 1) for x in given])
    _, rows = scan(lambda c, x: ((found := combine_fn(c, x)), found), first, rest, dim=dim, reverse=reverse)
    parts = [
        [one.unsqueeze(dim), others] for one, others in zip(flatten(first)[0], same_order(rows, tree), strict=True)
    ]
    return tree.build([cat(pair[::-1] if reverse else pair, dim) for pair in parts])
