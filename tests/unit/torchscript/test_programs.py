"""The language of `jit.script`: what programs do, and what they are refused for."""

# ruff: noqa: UP006, UP007, UP031, UP032, UP045, SIM905, C416, PIE800, RUF015 - programs are written so

from __future__ import annotations

import enum
from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035 - as programs are written

import pytest

import polyad as torch
from polyad import Tensor, jit, nn
from polyad.torchscript import CompileError


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Pair(NamedTuple):
    left: Tensor
    right: int = 3


@jit.script
class Counter:
    def __init__(self, start: int) -> None:
        self.count = start

    def add(self, by: int = 1) -> int:
        self.count += by
        return self.count

    def __len__(self) -> int:
        return self.count

    @property
    def twice(self) -> int:
        return self.count * 2

    @staticmethod
    def zero() -> int:
        return 0


def early(x: int) -> str:
    for i in range(10):
        if i == x:
            return "found"
        if i > 5:
            break
    return "not found"


def optional(x: Optional[int], y: Union[int, str]) -> int:
    total = 0
    if x is not None and x > 1:
        total += x
    if isinstance(y, str):
        total += len(y)
    else:
        total += y
    assert x is not None, "no x"
    return total + x


def containers(x: List[int]) -> Dict[str, List[int]]:
    table: Dict[str, List[int]] = {}
    for i, item in enumerate(x):
        key = "even" if item % 2 == 0 else "odd"
        if key not in table:
            table[key] = []
        table[key].append(item * i)
    table["all"] = [a + b for a, b in zip(x, x[::-1])]
    del table["even"]
    return table


def nested(x: int) -> int:
    def add(y: int) -> int:
        return x + y

    return add(1) + add(2)


def unpacked(x: Tuple[int, float, str]) -> Tuple[str, float, int]:
    a, *rest = x
    b, c = rest
    return c, b, a


def classes(x: Tensor) -> Tuple[int, int, Tensor, str, int]:
    counter = Counter(2)
    counter.add()
    counter.add(by=4)
    pair = Pair(x)
    color = Color.GREEN
    name = color.name if color == Color.GREEN else "other"
    return len(counter), counter.twice, pair.left * pair.right, name, Counter.zero()


def text(n: int, x: float) -> str:
    parts = "a,b,c".split(",")
    return "-".join(parts).upper() + f" {n} {x}" + "%d" % n + "{}".format(n)


def tensors(x: Tensor) -> Tuple[Tensor, Tensor, List[int], bool]:
    y = x[0, 1:, None]
    z = torch.zeros_like(x)
    z[:, 0] = x[:, 1]
    z[x > 1] += 1
    value, index = x.max(dim=0)
    return y + value.sum(), z[index], x.shape, x.dtype == torch.float32


def whiles(n: int) -> List[int]:
    found: List[int] = []
    while True:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        if n == 5:
            continue
        found.append(n)
        if n == 1 or len(found) > 20:
            break
    return found


def of_numbers(a: int, b: float) -> Tuple[float, int, float, int, float]:
    return a / 4, a // -4, b % 0.7, int(b) % 3, float(max(a, 3)) + min(b, 2.0) + abs(-a)


def default(x: Tensor, scale: float = 2.0, *, shift: int = 1) -> Tensor:
    return x * scale + shift


PROGRAMS = [
    (early, (3,)), (early, (8,)), (optional, (3, "abc")), (optional, (1, 4)), (containers, ([1, 2, 3, 5],)),
    (nested, (3,)), (unpacked, ((1, 2.5, "a"),)), (text, (3, 2.5)), (whiles, (11,)), (of_numbers, (7, 2.5)),
    (classes, (torch.ones(2),)), (tensors, (torch.arange(6.0).reshape(2, 3),)), (default, (torch.ones(2),)),
]  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (tuple, torch.Size)):
        return [plain(one) for one in value]
    return [plain(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("function", "given"), PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_script_does_what_python_does(function, given) -> None:
    scripted = jit.script(function)
    assert plain(scripted(*given)) == plain(function(*given))
    assert f"def {function.__name__}(" in scripted.code
    assert "return" in str(scripted.graph)


def test_arguments_are_checked() -> None:
    scripted = jit.script(default)
    assert scripted(torch.ones(1), shift=3).tolist() == [5.0]
    for args, named, message in [
        ((1,), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        ((torch.ones(1),), {"scale": "a"}, "argument 'scale'"),
        ((), {}, "missing value for argument 'x'"),
        ((torch.ones(1),), {"other": 1}, "unknown keyword argument 'other'"),
        ((torch.ones(1), 1.0, 2, 3), {}, "expected at most 3 argument"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            scripted(*args, **named)


def test_lists_of_the_caller_stay_as_they_are() -> None:
    @jit.script
    def grow(x: List[int]) -> int:
        x.append(1)
        return len(x)

    mine = [1, 2]
    assert (grow(mine), mine) == (3, [1, 2])


@pytest.mark.parametrize(
    ("body", "kind"),
    [("raise ValueError('bad')", ValueError), ("return [1][x]", IndexError), ("return 1 // x", ZeroDivisionError)],
)
def test_what_goes_wrong_is_an_error_of_both_kinds(body: str, kind: type[Exception]) -> None:
    unit = jit.CompilationUnit(f"def f(x: int) -> int:\n    if x >= 0:\n        {body}\n    return x")
    wrong = 0 if kind is ZeroDivisionError else 7
    with pytest.raises(kind) as found:
        unit.f(wrong)
    assert isinstance(found.value, jit.Error)
    assert isinstance(found.value, RuntimeError)
    assert unit.f(-1) == -1


REFUSED = [
    ("def f(x: int):\n    y = [1]\n    y.append('a')", "Could not match type str to int", "y.append('a')"),
    ("def f(x):\n    return z", "undefined value z", "return z"),
    ("def f(x: int) -> str:\n    return x", "Return value was annotated as having type str", "return x"),
    ("def f(x: bool):\n    if x:\n        y = 1\n    else:\n        y = 'a'\n    return y",
     "Type mismatch: y is set to type int",
     "if x:"),
    ("def f(x: bool):\n    if x:\n        y = 1\n    return y", "y is not defined in the false branch", "return y"),
    ("def f(x: int):\n    while x < 3:\n        x = 'a'", "previously had type int", "x = 'a'"),
    ("def f(x):\n    return lambda: x", "a lambda isn't supported", "return lambda"),
    ("def f(x):\n    try:\n        pass\n    except: pass", "try isn't supported", "try:"),
    ("def f(x):\n    yield x", "yield isn't supported", "yield x"),
    ("def f(*x):\n    return 1", "variable number of arguments", "def f"),
    ("def f(x: int) -> int:\n    if x > 1:\n        return 1", "does not return along all paths", "def f"),
    ("def f(x: Optional[int]) -> int:\n    return x + 1", "Arguments for call are not valid", "x + 1"),
    ("def f(x):\n    return torch.relu(x, 1, 2)", "Expected at most 1 positional arguments", "torch.relu(x, 1, 2)"),
    ("def f(x):\n    return x.foo()", "no attribute or method 'foo'", "x.foo"),
    ("def f(x: List):\n    return 1", "Attempted to use List without a contained type", "def f"),
    ("def f(x):\n    break", "only in loops", "break"),
    ("def f(x: Tuple[int, int]):\n    return x[2]", "tuple index out of range", "x[2]"),
    ("def f(x):\n    return {1, 2}", "a set isn't supported", "{1, 2}"),
    ("def f(x: int):\n    return 9223372036854775808", "too large for an integer of 64 bits", "9223372036854775808"),
    ("def f(x=[]):\n    return x", "Mutable default parameters are not supported", "def f"),
    ("def f(x):\n    return map(x, x)", "map() is currently not supported", "map"),
    ("def f(x):\n    return x.tolist()", "Expected type hint for result of tolist()", "x.tolist()"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "message", "place"), REFUSED, ids=lambda one: one.splitlines()[-1][:30])
def test_a_refused_program(program: str, message: str, place: str) -> None:
    import re

    with pytest.raises(
        CompileError, match=message if "(" not in message else re.escape(message.split("(")[0])
    ) as found:
        jit.CompilationUnit(program)
    shown = str(found.value)
    assert place in shown
    assert "<--- HERE" in shown
    assert isinstance(found.value, RuntimeError)


def test_a_function_that_calls_itself_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Recursive calls are not supported"):
        jit.CompilationUnit("def f(x: int) -> int:\n    return f(x - 1)")


def test_a_global_number_is_refused() -> None:
    with pytest.raises(RuntimeError, match="closed over global variable"):
        jit.script(uses_a_global)


SIZE = 3


def uses_a_global(x: Tensor) -> Tensor:
    return x * SIZE


def test_the_text_of_a_program_is_a_program() -> None:
    for function, given in PROGRAMS[:3] + PROGRAMS[6:10]:
        scripted = jit.script(function)
        again = getattr(jit.CompilationUnit(scripted.code), function.__name__)
        assert plain(again(*given)) == plain(function(*given)), scripted.code


def test_marks() -> None:
    class Net(nn.Module):
        scale: Final[int]
        seen: List[int]

        def __init__(self) -> None:
            super().__init__()
            self.scale = 2
            self.layers = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU()})
            self.seen = []

        @jit.ignore
        def as_python(self, x: Tensor) -> Tensor:
            return torch.tensor([float(len({*x.tolist()}))])

        @jit.unused
        def never(self, x: Tensor) -> Tensor:
            return [one for one in (y for y in x)][0]

        @jit.export
        def exported(self, n: int) -> int:
            return n * self.scale

        @property
        def double(self) -> int:
            return self.scale * 2

        def forward(self, x: Tensor) -> Tensor:
            for name, layer in self.layers.items():
                x = layer(x) if name != "c" else x
            if not jit.is_scripting():
                x = self.not_compiled(x)
            self.seen.append(self.double)
            if x.numel() > 100:
                x = self.never(x)
            return x * self.scale + self.as_python(torch.zeros(3))

        def not_compiled(self, x):
            return {**{}, "x": x}["x"]

    model = Net()
    scripted = jit.script(model)
    x = torch.randn(3, 2)
    torch.testing.assert_close(scripted(x), model(x))
    assert scripted.exported(4) == 8
    assert scripted.layers["a"].weight is model.layers["a"].weight
    assert isinstance(scripted, jit.ScriptModule)
    with pytest.raises(NotImplementedError, match="never"):
        scripted(torch.randn(100, 2))
    assert len(scripted.graph.findAllNodes("prim::CallMethod")) == 3  # two layers, a property
    scripted(x).sum().backward()
    assert model.layers["a"].weight.grad is not None


@jit.interface
class Scorer:
    def score(self, x: Tensor) -> Tensor:
        pass


@jit.script
class Half:
    def __init__(self) -> None:
        self.by = 0.5

    def score(self, x: Tensor) -> Tensor:
        return x * self.by


def test_an_interface() -> None:
    @jit.script
    def scored(scorer: Scorer, x: Tensor) -> Tensor:
        return scorer.score(x)

    @jit.script
    def use(x: Tensor) -> Tensor:
        return scored(Half(), x)

    assert use(torch.ones(2)).tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        jit.script(not_a_scorer)


@jit.script
def scored(scorer: Scorer, x: Tensor) -> Tensor:
    return scorer.score(x)


def not_a_scorer(x: Tensor) -> Tensor:
    return scored(Counter(1), x)


def test_a_module_of_an_older_program() -> None:
    class Net(jit.ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        @jit.script_method
        def forward(self, x):
            return x * self.weight + self.shift(x, 2)

        @jit.script_method
        def shift(self, x, by: int):
            return x + by

    net = Net()
    assert net(torch.ones(2)).tolist() == [4.0, 4.0]
    assert "prim::GetAttr" in str(net.graph)


def test_type_comments() -> None:
    def f(x, n):
        # type: (Tensor, int) -> List[Tensor]
        found = []  # type: List[Tensor]
        for _ in range(n):
            found.append(x)
        return found

    assert len(jit.script(f)(torch.ones(1), 2)) == 2


def test_what_data_decides_is_recorded() -> None:
    @jit.script
    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        while y.abs().sum() < 100:
            y = y * 2
        if bool(y[0] > 0) and not bool(y[1] > 1000):
            return y
        return -y

    graph = jit.capture(f, torch.ones(2))
    kinds = {node.op.name for node in graph.nodes}
    assert {"cond", "while_loop"} <= kinds
    for x in (torch.ones(2), -torch.ones(2), torch.tensor([3.0, 2000.0])):
        assert graph(x).tolist() == f(x).tolist()


def test_a_function_that_is_scripted_when_it_is_traced() -> None:
    @jit.script_if_tracing
    def loop(x: Tensor) -> Tensor:
        while x.sum() < 10:
            x = x * 2
        return x

    graph = jit.capture(loop, torch.ones(2))
    assert graph(torch.tensor([3.0, 1.0])).tolist() == [12.0, 4.0]


def test_gradients() -> None:
    @jit.script
    def f(x: Tensor, n: int) -> Tensor:
        for i in range(n):
            x = x * x + i
        return x.sum()

    def same(x: Tensor, n: int) -> Tensor:
        for i in range(n):
            x = x * x + i
        return x.sum()

    grads = []
    for run in (f, same):
        x = torch.tensor([0.5, -1.0], requires_grad=True)
        run(x, 3).backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


def test_nodes_of_a_graph() -> None:
    graph = jit.script(early).graph
    assert len(graph.findAllNodes("prim::Loop")) == 1
    assert len(graph.findAllNodes("prim::If")) >= 2
    assert [value.type().kind() for value in graph.inputs()] == ["IntType"]
    assert str(graph).startswith("graph(%x : int):")


def out_of_nothing(x: Tensor) -> Tensor:
    return torch.div(x, x + 1, out=None) + torch.norm(x, 2, 0, True, out=None)


def test_no_result_to_write_into_may_be_named() -> None:
    x = torch.ones(3)
    torch.testing.assert_close(jit.script(out_of_nothing)(x), out_of_nothing(x))
    with pytest.raises(CompileError, match=r"Unknown keyword argument 'other_out'|no overload of divide"):
        jit.CompilationUnit("def f(x: Tensor) -> Tensor:\n    return torch.div(x, x, other_out=None)\n")


def test_results_written_into_a_tensor() -> None:
    @jit.script
    def step(x: Tensor, y: Tensor, z: Tensor):
        torch.mul(x, y, out=z)
        return torch.addcmul(z, x, y, out=z)

    z = torch.empty(2)
    assert step(torch.ones(2), torch.full((2,), 3.0), z).tolist() == [6, 6] == z.tolist()
    with pytest.raises(CompileError, match="Unknown keyword argument 'out'"):
        jit.CompilationUnit("def f(x: Tensor) -> int:\n    return torch.numel(x, out=x)\n")


def test_nested_tensors_are_refused_where_a_program_comes_to_them() -> None:
    text = (
        "def f(x: Tensor, mask: Optional[Tensor]) -> Tensor:\n"
        "    if mask is not None:\n"
        "        return torch.to_padded_tensor(torch._nested_tensor_from_mask(x, mask), 0.)\n"
        "    return x + 1\n"
    )
    unit = jit.CompilationUnit(text)
    assert unit.f(torch.ones(2), None).tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="polyad has no nested tensors"):
        unit.f(torch.ones(1, 2, 3), torch.ones(1, 2))


class Recipe:
    def __init__(self, sizes: List[int]):
        self.sizes: List[int] = sizes

    def times(self, count: int) -> int:
        return count * self.sizes[0]


def reshaped(recipe: Recipe, x: Tensor, names: List[Tuple[str, int]]) -> Tensor:
    return x.reshape(recipe.times(2), -1) + len(names)


class Reshape(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.recipes = {1: Recipe([2]), 2: Recipe([3])}
        self.names = ()

    def forward(self, x: Tensor) -> Tensor:
        return reshaped(self.recipes[x.ndim], x, self.names)


def test_attributes_hold_objects_of_the_users_and_empty_tuples() -> None:
    module = Reshape()
    scripted = jit.script(module)
    for x in (torch.arange(8.0), torch.ones(2, 3)):
        torch.testing.assert_close(scripted(x), module(x))
