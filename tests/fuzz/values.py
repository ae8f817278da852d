"""The words of a random call: names that its source may use, and sources of arguments.

Arguments are sources, evaluated anew for each call: an iterator is fresh each time, and a call can be printed.
`names` is what the sources may use: ``torch`` is polyad, ``device`` the device under test, ``other_device`` one beside
it.
"""

from __future__ import annotations

import collections
import contextlib
import decimal
import fractions
import math
import operator
from functools import cache
from typing import Any

import numpy as np

import polyad
from polyad import Tensor
from polyad.base.dtypes import ALL
from polyad.interop.numpy import numpy_dtype
from polyad_conformance.calls import draw
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families

from .packages import module_of


class UsersError(Exception):
    """Raised by the arguments themselves: passes through polyad as it is."""


def _failing(name: str) -> Any:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise UsersError(f"{name} of the argument's own")

    return fail


def bad(*methods: str) -> Any:
    """An object whose methods of these names raise."""
    return type("Bad", (), {name: _failing(name) for name in methods})()


def lying(method: str, value: Any) -> Any:
    """An object whose method gives *value*."""
    return type("Lying", (), {method: lambda self, *args: value})()


class Sub(Tensor):
    """A subclass of Tensor."""


def recursive() -> list[Any]:
    """A list that contains itself."""
    found: list[Any] = [1]
    found.append(found)
    return found


def deep(depth: int) -> Any:
    """A list in a list in a list."""
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


@cache
def samples() -> dict[str, list[Sample]]:
    """The conformance samples of each op."""
    found: dict[str, list[Sample]] = {}
    for of_family, _ in families().values():
        for sample in of_family:
            found.setdefault(sample.op, []).append(sample)
    return found


def _values(dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape, dtype=object))
    if count > 1 << 22:
        raise ValueError("the fuzzer makes no such large tensors")
    twin = numpy_dtype(dtype)
    pattern = np.resize(np.array([1, 2, 0, 3, 1, 5, 2, 4, 7, 0, 6], np.float64), count)
    if dtype.is_floating_point or dtype.is_complex:
        pattern = pattern * 0.5 - 0.75
    if dtype.is_complex:
        pattern = pattern * (1 - 0.5j)
    return np.asarray(pattern.astype(twin)).reshape(shape)


def _many(shapes: list[Any]) -> bool:
    """Whether one of the *shapes* has more than a million elements."""
    for shape in shapes:
        with contextlib.suppress(Exception):
            if np.prod([max(int(size), 1) for size in shape], dtype=object) > 1 << 20:
                return True
        with contextlib.suppress(Exception):
            if int(shape) > 1 << 20:
                return True
    return False


class Words:
    """The functions in sources that depend on the device."""

    def __init__(self, device: str) -> None:
        self.device = device

    def filled(self, dtype: str, *shape: int, value: Any = None) -> Tensor:
        """A tensor of small numbers, or of *value*."""
        twin = getattr(polyad, "bool_" if dtype == "bool" and not hasattr(polyad, "bool") else dtype)
        values = np.empty(shape, numpy_dtype(twin)) if 0 in shape else _values(twin, shape)
        if value is not None:
            with np.errstate(all="ignore"):
                values = np.full_like(values, value)
        return polyad.tensor(values, device=self.device)

    def sampled(self, op: str, number: int, dtype: str, place: int) -> Any:
        """Argument *place* of a conformance sample."""
        return self.on_device(drawn(op, number, dtype)[place])

    def on_device(self, value: Any) -> Any:
        """*value* with tensors for arrays."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.on_device(item) for item in value)
        return polyad.tensor(value, device=self.device) if isinstance(value, np.ndarray) else value

    def leaf(self, *shape: int) -> Tensor:
        """A tensor that requires a gradient."""
        return self.filled("float32", *shape).requires_grad_()

    def result(self, *shape: int) -> Tensor:
        """A tensor with history."""
        return self.leaf(*shape) * 2

    def generator(self) -> Any:
        """A generator on the device."""
        return polyad.Generator(device=self.device).manual_seed(3)

    def built(self, name: str, /, *args: Any, forward: Any = None, **kwargs: Any) -> Any:
        """The output of a new module for *forward*."""
        module = getattr(polyad.nn, name)(*args, **kwargs)
        return module if forward is None else module.to(self.device)(forward)

    def forwarded(self, path: str, /, *args: Any, forward: Any = None, **kwargs: Any) -> Any:
        """The output of a new module, the class at *path*, for *forward*."""
        return eval(path, {"torch": polyad})(*args, **kwargs)(forward)

    def within(self, space: str, source: str) -> Any:
        """What *source* gives, in which names of the package *space* stand alone."""
        scope = {name: getattr(self, name) for name in dir(Words) if not name.startswith("_")}
        scope.update(vars(module_of(space)), torch=polyad, nn=polyad.nn)
        return eval(source, scope)

    def invoked(self, object: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The method *name* of *object*, called, unless it would draw millions of samples."""
        if "sample" in name and _many([*args, *kwargs.values()]):
            return None
        return getattr(object, name)(*args, **kwargs)

    def layer(self) -> Any:
        """A small layer."""
        return polyad.nn.Linear(3, 3).to(self.device)

    def optimizer(self) -> Any:
        """An optimizer of one parameter."""
        return polyad.optim.SGD([self.leaf(3)], lr=0.1, momentum=0.9)

    def scheduler(self) -> Any:
        """A schedule of `optimizer`."""
        return polyad.optim.lr_scheduler.StepLR(self.optimizer(), 2)

    def normal(self, *shape: int) -> Any:
        """A distribution."""
        return polyad.distributions.Normal(self.filled("float32", *shape), 1.0)

    def applied(self, name: str, func: Any, /, *args: Any, **options: Any) -> Any:
        """A transform of *func*, applied."""
        return getattr(polyad.func, name)(func, **options)(*args)

    def stepped(self, name: str, params: Any, /, **kwargs: Any) -> Any:
        """An optimizer after a step."""
        found = getattr(polyad.optim, name)(params, **kwargs)
        for group in found.param_groups:
            for param in group["params"]:
                param.grad = polyad.ones_like(param)
        found.step()
        return found


@cache
def drawn(op: str, number: int, dtype: str) -> tuple[Any, ...]:
    """The arguments of a conformance sample, arrays as NumPy arrays."""
    sample = samples()[op][number]
    return draw(sample, next(one for one in ALL if one.name == dtype), 0)


def names(device: str, other_device: str) -> dict[str, Any]:
    """What sources may use."""
    words = Words(device)
    methods = {name: getattr(words, name) for name in dir(Words) if not name.startswith("_")}
    return {
        **methods, "torch": polyad, "math": math, "polyad": polyad, "Tensor": Tensor, "np": np, "nan": float("nan"),
        "inf": float("inf"), "device": device, "other_device": other_device, "bad": bad, "lying": lying, "Sub": Sub,
        "recursive": recursive, "deep": deep, "operator": operator, "Fraction": fractions.Fraction,
        "Decimal": decimal.Decimal, "OrderedDict": collections.OrderedDict, "UsersError": UsersError,
    }  # fmt: skip


DTYPES = tuple(dtype.name for dtype in ALL)

SHAPES = (
    "", "", "0", "1", "1", "2", "3", "3", "4", "2, 3", "3, 3", "3, 2", "2, 2", "1, 1", "0, 3", "3, 0", "2, 0, 3",
    "2, 3, 4", "1, 3, 1", "2, 3, 3", "1, 2, 3, 3", "2, 3, 5, 5", "1, 1, 2, 2, 2",
    *(", ".join("1" * n) for n in (8, 25)), ", ".join("2" * 8), ", ".join("1" * 64), ", ".join("1" * 65), "17",
    "33, 5",
)  # fmt: skip

NUMBERS = (
    "0", "1", "-1", "2", "3", "-2", "5", "-9", "100", "True", "False", "0.0", "-0.0", "0.5", "1.5", "-1.0", "nan",
    "inf", "-inf", "1e308", "1e-320", "3e38", "1j", "complex(nan, inf)", "2**31 - 1", "2**31", "-2**31", "2**32",
    "2**53 + 1", "2**62", "2**63 - 1", "2**63", "-2**63", "2**64", "10**30", "-10**30", "10**400", "np.float32(1.5)",
    "np.float64(nan)", "np.int64(1)", "np.int8(-1)", "np.uint64(2**63)", "np.bool_(True)", "np.complex64(1j)",
    "np.float16(2)", "np.longdouble(1)", "Fraction(1, 2)", "Decimal(1)",
)  # fmt: skip

DIMS = (
    "0", "-1", "1", "2", "-3", "7", "()", "[]", "(0,)", "(0, 1)", "(1, 0)", "(0, 0)", "(0, -1)", "[-1, -2]", "(-9,)",
    "[0, None]", "[0.0]", "['0']", "None", "np.array(0)", "np.array([0])", "np.array([0, 1])",
    "np.array([], np.int64)", "np.array([[0, 1]])", "np.arange(3.)", "filled('int64')", "filled('int64', 1)",
    "filled('int64', 2)", "filled('float32', 2)", "[filled('int64'), 1]", "range(2)", "iter([0, 1])",
    "(n for n in (0, 1))", "{0, 1}", "{0: 1}", "'01'", "'0'", "b'0'", "torch.Size([0, 1])", "slice(0, 2)", "...",
    "[[0], [1]]", "[(0, 1)]", "[True, False]", "True", "[2**31]", "[2**63]", "2**63", "(2**62, 2**62)", "[-1, -1]",
    "lying('__index__', 0)", "lying('__index__', 1.5)", "bad('__index__')", "[bad('__index__')]", "list(range(70))",
)  # fmt: skip

OBJECTS = (
    "None", "Tensor", "[Tensor]", "int", "float", "bool", "complex", "object()", "'text'", "''", "'a\\0b'", "'mean'",
    "'x' * 10000", "b'bytes'", "[]", "()", "{}", "set()", "[[]]", "[None]", "[1, None]", "['a']", "[1.5]",
    "[1, 2.5, 1j]", "[1, 'a']", "{'a': 1}", "...", "slice(None)", "slice(0, 'a')", "NotImplemented", "torch",
    "torch.float32", "torch.bfloat16", "torch.strided", "torch.contiguous_format", "torch.channels_last",
    "torch.device('cpu')", "device", "other_device", "'cpu:7'", "'nowhere'", "torch.Generator()", "generator()",
    "torch.sin", "lambda x: x", "lambda *a: None", "len", "type", "bad('__index__')", "bad('__len__', '__getitem__')",
    "bad('__iter__')", "bad('__repr__')", "bad('__bool__')", "bad('__float__')", "bad('__eq__')", "bad('__array__')",
    "bad('__getattr__')", "bad('__hash__')", "bad('__torch_function__')", "[bad('__index__')]",
    "lying('__len__', 2**62)", "lying('__len__', -1)", "lying('__index__', 'a')", "lying('__index__', 2**70)",
    "lying('__iter__', 5)", "lying('__array__', None)", "lying('__float__', 'a')", "lying('shape', 3)",
    "lying('dtype', 3)", "np.zeros((2, 2), object)", "np.array(['a'])", "np.datetime64('2020')", "np.ones((2, 3))",
    "np.zeros(0)", "np.ones(2, '>f4')", "np.zeros(2, [('a', int)])", "np.ones(3, np.uint16)", "np.array(1.5)",
    "np.float32", "np", "recursive()", "deep(40)", "deep(2000)", "memoryview(b'abcd')", "bytearray(8)", "range(3)",
    "iter([])", "(x for x in [1])", "zip([1], [2])", "OrderedDict(a=1)", "Exception()", "UsersError",
    "__import__('threading').Lock()", "[filled('float32', 2), None]", "[filled('float32', 2), 1]",
    "[filled('float32', 2), filled('int64', 3)]", "[filled('float32', 2)] * 3",
    "(filled('float32', 2, 2), filled('float32', 3))", "[Sub, 1]", "torch.finfo(torch.float32)", "torch.nn.ReLU()",
    "torch.Size([2, 3])", "[2, 3]", "(2, 2)", "[0, 2**40]", "[2**40, 2**40]", "[-1]", "[2**31]", "[2**62, 4]",
    "[2**63]", "(1,) * 25", "(1,) * 70", "(2,) * 70",
)  # fmt: skip

TENSORS = (
    "torch.empty(0, 2**40, device=device)", "torch.empty(2**62, 0, device=device)",
    "torch.empty(0, 2**31, device=device)", "torch.empty(2**20, 0, device=device)", "filled('float32', 1).expand(3)",
    "filled('float32', 1, 3).expand(4, 3)", "filled('float32').expand(2, 2)", "filled('complex64', 3).conj()",
    "filled('complex64', 2, 2).conj().imag", "filled('complex128', 2).real", "filled('float32', 4)[::2]",
    "filled('float32', 3, 4).t()", "filled('float32', 2, 3, 4).permute(2, 0, 1)", "filled('float32', 6)[1:]",
    "leaf(3)", "leaf(2, 2)", "leaf()", "leaf(0)", "result(2)", "result(2, 3)", "result(3, 3)[0]", "leaf(3).detach()",
    "filled('float32', 2, 3, value=nan)", "filled('float32', 3, 3, value=inf)", "filled('float64', 2, 2, value=-inf)",
    "filled('complex64', 2, 2, value=complex(nan, inf))", "filled('float16', 3, value=65504)",
    "filled('int8', 3, value=-128)", "filled('int64', 3, value=2**62)", "filled('int64', 2, value=-2**63)",
    "filled('uint8', 3, value=255)", "filled('float32', 3, value=1e38)", "filled('float32', 3, value=1e-45)",
    "filled('float64', 2, value=1e308)", "filled('int64', 2, 2, value=-1)", "filled('bool', 3)",
    "filled('float32', 3).as_subclass(Sub)", "torch.nn.Parameter(filled('float32', 2, 2))",
    "torch.ones(2, device=other_device)", "torch.ones((), device=other_device)",
    "torch.ones(2, 2, dtype=torch.int64, device=other_device)", "filled('float32', 2, 3)[:0]",
)  # fmt: skip

CALLABLES = (
    "torch.sin", "lambda x: x.sum()", "lambda x: x", "lambda *a: a", "lambda *a: None", "lambda *a: 1.0",
    "lambda x: (x, x)", "lambda x: {'a': x}", "lambda x: x.item()", "lambda x: x[0]", "lambda x: x.add_(1)",
    "lambda x, y: x @ y", "lambda: None", "lambda x: [x.sum(), None]", "bad('__call__')", "torch.nn.ReLU()",
    "lambda x: (x * x).sum()", "lambda x: x.long()", "lambda x: x.detach()",
)  # fmt: skip

INDICES = (
    "0", "-1", "7", "True", "False", "None", "...", "slice(None)", "slice(0, 2)", "slice(None, None, 2)",
    "slice(None, None, -1)", "slice(None, None, 0)", "slice(2**63, None)", "slice(0, 'a')", "slice(1.5, 2)",
    "slice(filled('int64'), None)", "slice(-5, 100, 3)", "[0, 1]", "[]", "[True, False]", "[[0, 1], [1, 0]]",
    "[0, None]", "[slice(None), 0]", "()", "(0,)", "(..., ...)", "(None,) * 70", "(0, 0)", "(..., 0)",
    "(slice(None), [0, 1])", "([0], [0])", "([0, 1], [0, 1, 2])", "filled('int64', 2)", "filled('int64', 2, 2)",
    "filled('int64', 0)", "filled('bool', 3)", "filled('bool', 2, 3)", "filled('bool')", "filled('uint8', 3)",
    "filled('float32', 2)", "filled('int64')", "filled('int32', 2)", "filled('int64', 2, value=-9)",
    "filled('int64', 2, value=2**62)", "(filled('int64', 2), None, filled('bool', 2))",
    "(filled('bool', 2), slice(None))", "np.array([0, 1])", "np.array([True, False])", "np.int64(1)",
    "np.array([0.5])", "np.array(['a'])", "'text'", "1.0", "1j", "nan", "2**63", "-2**63", "2**31", "{0}", "{}",
    "range(2)", "Tensor", "int", "object()", "bad('__index__')", "lying('__index__', 0)", "[lying('__index__', 0)]",
    "(n for n in (0,))", "(0, 'a')", "([0, 'a'],)", "deep(40)", "(slice(None), None, ..., 0)",
    "torch.ones(2, dtype=torch.int64, device=other_device)", "recursive()", "b'0'", "[filled('int64'), 0]",
    "[filled('int64', 2), filled('int64', 2)]", "leaf(2)", "filled('complex64', 1)", "filled('int64', *(1,) * 25)",
)  # fmt: skip
