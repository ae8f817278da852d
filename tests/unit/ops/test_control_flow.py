"""Control flow, called: equal to Python's branches and loops bit by bit, in values, gradients, tangents and batches."""

from __future__ import annotations

import pytest

import polyad as torch
from polyad import Tensor, func
from polyad._higher_order_ops import associative_scan, map as map_over, scan
from polyad.errors import ArgumentTypeError, AutogradError, DTypeError, ShapeError

ONE = torch.ones(2)
TRUE = torch.tensor(True)


def sample(*shape: int, grad: bool = False, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_(grad)


def same(got, wanted) -> bool:
    """Equal bits, dtypes and nesting."""
    if isinstance(wanted, Tensor):
        return got.dtype is wanted.dtype and got.shape == wanted.shape and got.tolist() == wanted.tolist()
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and all(same(got[key], wanted[key]) for key in wanted)
    return type(got) is type(wanted) and len(got) == len(wanted) and all(map(same, got, wanted))


def by_hand(combine, carry, xs, dim, reverse):
    rows = []
    for x in reversed(xs.unbind(dim)) if reverse else xs.unbind(dim):
        carry, row = combine(carry, x)
        rows.append(row)
    return carry, torch.stack(rows[::-1] if reverse else rows, dim)


def both_gradients(function, *leaves: Tensor) -> list[list[Tensor]]:
    """First gradients of the result's sum, and gradients of their squares."""
    result = function(*leaves)
    first = torch.autograd.grad(result.sum(), leaves, create_graph=True, materialize_grads=True)
    second = torch.autograd.grad(sum((one * one).sum() for one in first), leaves, materialize_grads=True)
    return [list(first), list(second)]


# ------------------------------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize("pred", [torch.tensor(True), torch.tensor([[False]]), True, 0])
def test_cond_is_a_branch(pred) -> None:
    x, y = sample(3, grad=True), sample(3, seed=1)

    def yes(parts):
        return {"found": [parts["x"] * y, (parts["x"].sum(),)]}

    def no(parts):
        return {"found": [parts["x"].sin(), (y.sum() * 2,)]}

    got, wanted = torch.cond(pred, yes, no, ({"x": x},)), (yes if pred else no)({"x": x})
    assert same(got, wanted)
    gradients = [torch.autograd.grad(one["found"][0].sum(), x) for one in (got, wanted)]
    assert same(*gradients)


def test_only_the_chosen_branch_runs() -> None:
    called = []
    torch.cond(TRUE, lambda: called.append("yes") or ONE, lambda: called.append("no") or ONE)
    assert called == ["yes"]


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_while_loop_is_a_loop(trips: int) -> None:
    x, factor = sample(2, 3, grad=True), sample(3, grad=True, seed=1)

    def looped(x, factor):
        _, (found,) = torch.while_loop(
            lambda n, parts: n < trips, lambda n, parts: (n + 1, [parts[0] * factor + 1]), (torch.tensor(0), [x])
        )
        return found * found

    def wanted(x, factor):
        for _ in range(trips):
            x = x * factor + 1
        return x * x

    assert same(looped(x, factor), wanted(x, factor))
    assert same(both_gradients(looped, x, factor), both_gradients(wanted, x, factor))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scan_is_a_loop(dim: int, reverse: bool) -> None:
    init, xs = sample(4, grad=True), sample(4, 4, grad=True, seed=1)

    def combine(carry, x):
        carry = torch.tanh(carry * 0.5 + x)
        return carry, carry * x

    def scanned(init, xs):
        carry, rows = scan(combine, init, xs, dim=dim, reverse=reverse)
        return torch.cat([carry[None], rows])

    def wanted(init, xs):
        carry, rows = by_hand(combine, init, xs, dim, reverse)
        return torch.cat([carry[None], rows])

    assert same(scanned(init, xs), wanted(init, xs))
    for one, other in zip(both_gradients(scanned, init, xs), both_gradients(wanted, init, xs)):
        for got, expected in zip(one, other):
            torch.testing.assert_close(got, expected)


def test_scan_of_structures() -> None:
    carry, rows = scan(
        lambda c, x: ({"b": c["b"] + x[0], "a": c["a"] * x[1]["y"]}, [c["a"], (x[0],)]),
        {"a": torch.tensor(1), "b": torch.zeros(2)},
        (torch.ones(3, 2), {"y": torch.tensor([2, 3, 4])}),
    )
    assert same(carry, {"a": torch.tensor(24), "b": torch.full((2,), 3.0)})
    assert same(rows, [torch.tensor([1, 2, 6]), (torch.ones(3, 2),)])


def test_what_scan_returns_for_results_of_few_dimensions_and_for_nothing() -> None:
    xs = sample(2, 3)
    assert same(scan(lambda c, x: (c, x.sum()), ONE, xs, dim=1)[1], xs.sum(0))
    last, rows = scan(lambda c, x: (c, x), ONE, {})
    assert last is ONE
    assert rows == []


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, -1])
def test_associative_scans_are_cumulative(dim: int, reverse: bool) -> None:
    xs = {"sum": sample(3, 5), "product": [sample(3, 5, seed=1)]}

    def combine(a, b):
        return {"product": [a["product"][0] * b["product"][0]], "sum": a["sum"] + b["sum"]}

    got = associative_scan(combine, xs, dim, reverse)
    assert list(got) == ["sum", "product"]

    def wanted(cumulate, x):
        return cumulate(x.flip(dim), dim).flip(dim) if reverse else cumulate(x, dim)

    torch.testing.assert_close(got["sum"], wanted(torch.cumsum, xs["sum"]))
    torch.testing.assert_close(got["product"][0], wanted(torch.cumprod, xs["product"][0]))
    assert same(associative_scan(lambda a, b: a + b, sample(1, 2), 0), sample(1, 2))


def test_map_is_a_loop() -> None:
    xs, bias = sample(4, 3, grad=True), sample(3, grad=True, seed=1)

    def mapped(xs, bias):
        return map_over(lambda x, parts: x * parts[0] + x.exp(), xs, [bias])

    def wanted(xs, bias):
        return torch.stack([x * bias + x.exp() for x in xs])

    assert same(mapped(xs, bias), wanted(xs, bias))
    for one, other in zip(both_gradients(mapped, xs, bias), both_gradients(wanted, xs, bias)):
        for got, expected in zip(one, other):
            torch.testing.assert_close(got, expected)
    assert same(map_over(lambda x: (x["a"], [x["b"] + 1]), {"a": xs, "b": xs}), (xs, [xs + 1]))


def test_results_have_memory_of_their_own() -> None:
    x = torch.arange(6).reshape(2, 3)
    (found,) = torch.cond(torch.tensor(True), lambda x: [x.t()], lambda x: [x.t() + 1], (x,))
    (kept,) = torch.while_loop(lambda x: x.sum() < 0, lambda x: (x,), (x,))
    last, rows = scan(lambda c, x: (c, c), x, torch.ones(1))
    for one in (found, kept, last, rows):
        assert one.is_contiguous()
        one.add_(1)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_loop_within_a_scan_within_a_branch() -> None:
    x = sample(3, grad=True)

    def collatz(n):
        return torch.while_loop(
            lambda n, steps: n > 1,
            lambda n, steps: (torch.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, (n,)), steps + 1),
            (n, torch.tensor(0)),
        )[1]

    def work(x):
        counts = map_over(collatz, torch.tensor([6, 7, 1]))
        return scan(lambda c, part: (c + part[0] * part[1], c), x.sum(), (x, counts))

    total = x.sum()
    for part, count in zip(x, [8, 16, 0], strict=True):
        total = total + part * count
    got = torch.cond(torch.tensor(True), work, lambda x: (x.sum(), x), (x,))[0]
    assert same(got, total)
    assert same(torch.autograd.grad(got, x), torch.autograd.grad(total, x))


def test_the_surroundings_are_those_of_the_call() -> None:
    x = sample(3, 3, grad=True)
    with torch.no_grad():
        assert not torch.cond(torch.tensor(True), lambda x: x * 2, lambda x: x, (x,)).requires_grad
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, rows = scan(lambda c, row: (c, c @ row[:, None]), x, x)
    assert rows.dtype is torch.bfloat16


def test_parameters_that_a_branch_uses_get_gradients() -> None:
    torch.manual_seed(0)
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    torch.cond(torch.tensor(False), one, other, (sample(4, 3),)).sum().backward()
    assert one.weight.grad is None
    assert other.weight.grad.abs().sum() > 0


# ------------------------------------------------------------------------------------------------- transforms, meta


def test_samples_of_a_batch_choose_for_themselves() -> None:
    xs = sample(4, 3)

    def choose(x):
        return torch.cond(x.sum() > 0, lambda x: [x * 2], lambda x: [x.sin()], (x,))[0]

    assert same(func.vmap(choose)(xs), torch.stack([choose(x) for x in xs]))
    gradient = func.grad(lambda x: choose(x).sum())
    assert same(func.vmap(gradient)(xs), torch.stack([gradient(x) for x in xs]))
    assert len({bool(x.sum() > 0) for x in xs}) == 2


def test_samples_of_a_batch_end_for_themselves() -> None:
    xs = sample(3, 2)
    trips = torch.tensor([3, 0, 7])

    def loop(n, x):
        return torch.while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 1.5 - 1), (n, x))

    for dims in ((0, 0), (0, None)):
        given = xs if dims[1] == 0 else xs[0]
        got = func.vmap(loop, in_dims=dims)(trips, given)
        rows = [loop(n, x) for n, x in zip(trips, xs if dims[1] == 0 else [given] * 3, strict=True)]
        assert same(got, tuple([torch.stack(column) for column in zip(*rows, strict=True)]))
    assert same(func.vmap(loop, in_dims=(None, 0))(trips[0], xs)[1], torch.stack([loop(trips[0], x)[1] for x in xs]))


def test_scans_and_maps_of_a_batch() -> None:
    xs, weight = sample(2, 4, 3), sample(3, seed=1)

    def work(x):
        carry, rows = scan(lambda c, row: (c * row + weight, c - row), weight, x, reverse=True)
        return carry, map_over(lambda row: row * carry, rows)

    rows = [work(x) for x in xs]
    assert same(func.vmap(work)(xs), tuple([torch.stack(column) for column in zip(*rows, strict=True)]))


def test_a_batched_tensor_that_only_the_branch_names() -> None:
    xs = sample(3)
    got = func.vmap(lambda x: torch.cond(torch.tensor(True), lambda: x * 2, lambda: x))(xs)
    assert same(got, xs * 2)
    _, tangent = func.jvp(lambda x: torch.cond(torch.tensor(True), lambda: x * x, lambda: x), (xs,), (torch.ones(3),))
    assert same(tangent, 2 * xs)


def test_forward_mode_agrees_with_reverse() -> None:
    x = sample(3)

    def work(x):
        (found,) = torch.while_loop(lambda y: y.abs().sum() < 50, lambda y: (y * y + x,), (x,))
        return scan(lambda c, part: (c * part, c + part), found.sum(), x)[1]

    torch.testing.assert_close(func.jacfwd(work)(x), func.jacrev(work)(x))


def test_shapes_without_data() -> None:
    x = torch.ones(4, 3, device="meta", requires_grad=True)
    pred = torch.ones((), dtype=torch.bool, device="meta")
    assert torch.cond(pred, lambda x: x[0] * 2, lambda x: x[1], (x,)).shape == (3,)
    assert [one.shape for one in torch.while_loop(lambda x: x.sum() < 1, lambda x: (x + 1,), (x,))] == [(4, 3)]
    carry, rows = scan(lambda c, row: (c + row, row[:2]), x[0], x)
    assert (carry.shape, rows.shape, rows.stride(), rows.device.type) == ((3,), (4, 2), (2, 1), "meta")
    assert map_over(lambda row: row.sum(), x).requires_grad
    with pytest.raises(ShapeError, match="true_fn and false_fn return different tensors: number 0 has shape"):
        torch.cond(pred, lambda x: x[0], lambda x: x, (x,))
    many = torch.empty(10**9, 3, device="meta")
    assert map_over(lambda row: row + 1, many).shape == (10**9, 3)


# ------------------------------------------------------------------------------------------------------- refusals

WRONG = {
    "pred of two": (DTypeError, "pred is no bool", lambda: torch.cond(ONE > 0, lambda: ONE, lambda: ONE)),
    "pred of floats": (DTypeError, "pred is no bool", lambda: torch.cond(ONE[0], lambda: ONE, lambda: ONE)),
    "pred a text": (ArgumentTypeError, "cond: pred", lambda: torch.cond("yes", lambda: ONE, lambda: ONE)),
    "no function": (ArgumentTypeError, "false_fn is None", lambda: torch.cond(TRUE, lambda: ONE, None)),
    "operands": (ArgumentTypeError, "operands is Tensor", lambda: torch.cond(TRUE, lambda x: x, lambda x: x, ONE)),
    "operand": (ArgumentTypeError, "operands holds 3", lambda: torch.cond(TRUE, lambda x: x, lambda x: x, (3,))),
    "result": (ArgumentTypeError, "returns 3, not a tensor", lambda: torch.cond(TRUE, lambda: 3, lambda: ONE)),
    "write": (
        AutogradError,
        "writes to its argument 0",
        lambda: torch.cond(TRUE, lambda x: x[0].add_(1), lambda x: x, (ONE + 0,)),
    ),
    "condition": (DTypeError, "cond_fn's result", lambda: torch.while_loop(lambda x: x, lambda x: (x,), (ONE,))),
    "body": (
        ArgumentTypeError,
        r"should return \(\*,\)",
        lambda: torch.while_loop(lambda x: TRUE, lambda x: x, (ONE,)),
    ),
    "dtype": (
        DTypeError,
        "dtype int64, not float32",
        lambda: torch.while_loop(lambda x: TRUE, lambda x: (x.long(),), (ONE,)),
    ),
    "shape": (
        ShapeError,
        r"shape \(1,\), not \(2,\)",
        lambda: torch.while_loop(lambda x: TRUE, lambda x: (x[:1],), (ONE,)),
    ),
    "number": (ArgumentTypeError, "holds 0", lambda: torch.while_loop(lambda n: TRUE, lambda n: (n,), (0,))),
    "pair": (ArgumentTypeError, "not a pair", lambda: scan(lambda c, x: c, ONE, ONE)),
    "carry": (ArgumentTypeError, "returns the carry", lambda: scan(lambda c, x: ([c], c), ONE, ONE)),
    "carried shape": (ShapeError, "another carry", lambda: scan(lambda c, x: (c[:1], c), ONE, ONE)),
    "no slices": (ShapeError, "have no slices", lambda: scan(lambda c, x: (c, c), ONE, ONE[:0])),
    "no init": (ArgumentTypeError, "init holds no tensor", lambda: scan(lambda c, x: (c, c), (), ONE)),
    "lengths": (ShapeError, "different sizes", lambda: scan(lambda c, x: (c, c), ONE, (ONE, ONE[:1]))),
    "dim": (ShapeError, "no dimension 1", lambda: scan(lambda c, x: (c, c), ONE, ONE, dim=1)),
    "no dim": (ArgumentTypeError, "dim is None", lambda: scan(lambda c, x: (c, c), ONE, ONE, dim=None)),
    "rows": (
        ShapeError,
        "than for another slice",
        lambda: map_over(lambda x: torch.ones(int(x)), torch.tensor([1, 2])),
    ),
    "map of nothing": (ShapeError, "have no slices", lambda: map_over(lambda x: x, ONE[:0])),
    "mapped number": (ArgumentTypeError, "args holds 2", lambda: map_over(lambda x, y: x, ONE, 2)),
}


@pytest.mark.parametrize("case", WRONG)
def test_refused(case: str) -> None:
    kind, text, call = WRONG[case]
    with pytest.raises(kind, match=text):
        call()
