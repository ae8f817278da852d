"""What is called, and of each a call that works or nearly does.

A public function with conformance samples starts from these, and so do its methods. What has none (conversions,
questions, transforms, modules) starts from values that fit the annotations of its parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import numpy as np

import polyad
from polyad import Tensor
from polyad.dispatch.op import PUBLIC
from polyad_conformance.sample import DTYPE

from . import packages
from .values import CALLABLES, DIMS, DTYPES, INDICES, NUMBERS, SHAPES, TENSORS, drawn, samples


@dataclass(frozen=True)
class Call:
    """A call by the sources of its parts.

    Attributes:
        keep: how many of the first arguments are as they must be: ``self``, the name of an attribute.
    """

    target: str
    args: tuple[str, ...] = ()
    kwargs: dict[str, str] = field(default_factory=dict)
    keep: int = 0

    @property
    def source(self) -> str:
        """The call as it would be written."""
        named = [f"{name}={value}" for name, value in self.kwargs.items()]
        return f"{self.target}({', '.join([*self.args, *named])})"


OPTIONAL = " = ..."


@dataclass(frozen=True)
class Target:
    """What is called: its source, its parameters with their annotations (those with defaults end in OPTIONAL), the op
    whose samples it can start from.
    """

    source: str
    parameters: dict[str, str]
    op: str = ""
    method: bool = False

    @property
    def fixed(self) -> bool:
        """Whether it takes just these parameters, by position."""
        return self.source in ("getattr", "setattr") or self.source.startswith("operator.")


SPACES = (
    "", "autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph", "func", "nn.init", "nn.utils",
    "testing", "random", "utils.dlpack", "utils.data", "utils.checkpoint", "accelerator", "jit", "library",
)  # fmt: skip
"""The modules whose functions are called beside those that are declared."""

WRAPPERS = {"built": 2, "stepped": 1, "applied": 3, "forwarded": 2}
"""The functions in `values.Words` that call something by its name, and the last place before its options."""

NOT_CALLED = frozenset(
    {
    "autograd.profiler", "dtype", "load", "save", "lint", "seed", "set_num_threads", "set_num_interop_threads",
    "utils.data.DataLoader", "library.CustomOpDef", "library.custom_op", "library.register_autograd",
    "library.register_fake", "library.register_kernel", "library.register_vmap",
    }
)  # fmt: skip
"""What changes the process for good, reads files, or is a class of which polyad alone makes objects."""

DUNDERS = (
    "__add__", "__radd__", "__iadd__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__rtruediv__", "__floordiv__",
    "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__ipow__", "__matmul__", "__rmatmul__", "__and__",
    "__ror__", "__ixor__", "__lshift__", "__rshift__", "__eq__", "__lt__", "__ge__", "__ne__", "__neg__", "__invert__",
    "__abs__", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__len__", "__iter__", "__contains__",
    "__reversed__", "__array__", "__dlpack__", "__format__", "__repr__", "__deepcopy__", "__divmod__", "__round__",
    "__hash__", "__reduce_ex__", "__setstate__",
)  # fmt: skip


def _parameters(function: Any) -> dict[str, str] | None:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    told = {}
    for one in found:
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        text = one.annotation.__name__ if isinstance(one.annotation, type) else str(one.annotation)
        told[stars + one.name] = text + ("" if one.default is one.empty and not stars else OPTIONAL)
    return told


@cache
def targets(part: str = "ops") -> tuple[Target, ...]:
    """Everything that is called: tensors, ops and what works on functions, or the "packages" above them."""
    return tuple(_of_packages() if part == "packages" else _found())


def _of_packages() -> Iterator[Target]:
    for path, found in packages.called():
        parameters = _parameters(found)
        if parameters is None:
            continue
        yield Target(path, parameters)
        if isinstance(found, type) and issubclass(found, polyad.nn.Module):
            yield Target("forwarded", {"name": f"={path!r}", **parameters, "forward": "Tensor"})
    for space, objects in packages.OBJECTS.items():
        for text in objects:
            for name, method in packages.methods(space, text):
                parameters = dict(_parameters(method) or {"other": ""})
                parameters = {one: text for one, text in parameters.items() if one != "self" and one[0] != "_"}
                fixed = {"object of": f"={packages.source_in(space, text)}", "method": f"={name!r}"}
                yield Target("invoked", {**fixed, **parameters})


def _found() -> Iterator[Target]:
    known = samples()
    for path in PUBLIC:
        if path.startswith("Tensor."):
            continue
        yield Target(f"torch.{path}", _parameters(PUBLIC[path].call) or {}, path if path in known else "")
    for name in sorted({*dir(Tensor), *DUNDERS}):
        if (name.startswith("_") and name not in DUNDERS) or name in ("register_hook",):
            continue
        attribute = getattr(Tensor, name, None)
        if isinstance(inspect.getattr_static(Tensor, name, None), property) or not callable(attribute):
            yield Target("getattr", {"self": "Tensor", "name": f"={name!r}"}, method=True)
            yield Target("setattr", {"self": "Tensor", "name": f"={name!r}", "value": "Tensor | None"}, method=True)
            continue
        parameters = _parameters(attribute)
        if parameters is None:
            parameters = {"self": "Tensor", "other": "Tensor"}
        op = name if name in known else name.removesuffix("_")
        fits = name in PUBLIC or (name.endswith("_") and op in PUBLIC)
        yield Target(f"Tensor.{name}", parameters, op if fits and op in known else "", method=True)
    for space in SPACES:
        module = polyad
        for part in filter(None, space.split(".")):
            module = getattr(module, part)
        for name in sorted(getattr(module, "__all__", dir(module))):
            path = f"{space}.{name}".lstrip(".")
            function = getattr(module, name, None)
            if (
                name.startswith("_") or path in PUBLIC or path in NOT_CALLED or not callable(function)
                or not getattr(function, "__module__", "").startswith(f"polyad.{space}".rstrip("."))
                or (isinstance(function, type) and issubclass(function, Exception))
            ):  # fmt: skip
                continue
            parameters = _parameters(function)
            if parameters is not None:
                yield Target(f"torch.{path}", parameters)
    for name in sorted(dir(polyad.nn)):
        found = getattr(polyad.nn, name)
        if isinstance(found, type) and issubclass(found, polyad.nn.Module) and found is not polyad.nn.Module:
            yield Target("built", {"name": f"={name!r}", **(_parameters(found) or {}), "forward": "Tensor"})
    for name in ("grad", "grad_and_value", "vmap", "jacrev", "jacfwd", "hessian"):
        parameters = _parameters(getattr(polyad.func, name)) or {}
        options = {one: text for one, text in parameters.items() if one != "func"}
        arguments = {"func": "Callable", "x": "Tensor", "y": "Tensor = ..."}
        yield from [Target("applied", {"name": f"={name!r}", **arguments, **options})] * 6
    for name in ("SGD", "Adam", "AdamW"):
        parameters = _parameters(getattr(polyad.optim, name)) or {}
        yield Target("stepped", {"name": f"={name!r}", **parameters})
    for name in ("getitem", "setitem"):
        yield from [
            Target(
                f"operator.{name}",
                {"self": "Tensor", "index": "index", **({"value": "Tensor"} if name == "setitem" else {})},
                method=True,
            )
        ] * 30


OBJECTS = {
    "Module": ("layer()", "torch.nn.ReLU()"), "Optimizer": ("optimizer()",), "LRScheduler": ("scheduler()",),
    "Distribution": ("normal()", "normal(2)"), "Transform": ("torch.distributions.ExpTransform()",),
    "Constraint": ("torch.distributions.constraints.positive",), "Parameter": ("torch.nn.Parameter(leaf(3))",),
    "PackedSequence": ("torch.nn.utils.rnn.pack_sequence([leaf(2, 1)])",), "Metric": ("torch.metrics.SumMetric()",),
    "Params": ("[leaf(3)]", "[leaf(2, 2), leaf()]", "[{'params': [leaf(3)]}]"),
}  # fmt: skip
"""Objects that fit annotations with these words."""


def tensor(random: Random) -> str:
    """The source of a tensor."""
    if random.random() < 0.3:
        return random.choice(TENSORS)
    dtype = random.choice(("float32", "float32", "float64", "int64", random.choice(DTYPES)))
    shape = random.choice(SHAPES[: -8 if random.random() < 0.8 else None])
    value = random.choice(("", "", "", "", ", value=0", ", value=1", ", value=-1"))
    if dtype == "uint8" and "-" in value:
        value = ""
    return f"filled({dtype!r}{', ' if shape else ''}{shape}{value})"


def fitting(random: Random, annotation: str, name: str) -> str:
    """The source of a value that fits *annotation*."""
    if annotation.startswith("="):
        return annotation[1:]
    if annotation == "index":
        return random.choice(INDICES)
    annotation = annotation.removesuffix(OPTIONAL)
    options = re.split(r" \| (?![^\[]*\])", annotation.replace("polyad.", "").replace("tensor.Tensor", "Tensor"))
    option = random.choice(options)
    if option == "None":
        return "None"
    if "Callable" in option or name in ("func", "function", "fn", "closure", "hook"):
        return random.choice(CALLABLES)
    if name in ("dim", "dims", "axis", "ndim", "size", "shape"):
        return random.choice(DIMS[:16])
    if "Sequence[Tensor" in option or name in ("tensors", "params", "outputs", "inputs"):
        return f"[{', '.join(tensor(random) for _ in range(random.randint(0, 3)))}]"
    if "Tensor" in option:
        return tensor(random)
    if "Sequence" in option or "tuple" in option:
        return random.choice(DIMS)
    if "bool" in option:
        return random.choice(("True", "False"))
    if "int" in option:
        return random.choice(("0", "1", "2", "3", "-1"))
    if "float" in option or "Number" in option:
        return random.choice(NUMBERS[:20])
    if "DType" in option or name == "dtype":
        return f"torch.{random.choice(DTYPES)}"
    if "Device" in option or name == "device":
        return "device"
    if "Generator" in option:
        return "generator()"
    for word, sources in OBJECTS.items():
        if word in option:
            return random.choice(sources)
    if option == "str":
        return random.choice(
            ("'mean'", "'sum'", "'none'", "'reflect'", "'constant'", "'ij'", "'ij,jk->ik'", "'reduced'", "'text'")
        )
    return tensor(random)


def literal(value: Any, op: str, number: int, dtype: str, place: int) -> str:
    """The source of argument *place* of a sample."""
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, (np.ndarray, list, tuple)) for item in value):
            return f"sampled({op!r}, {number}, {dtype!r}, {place})"
        parts = [_plain(item) for item in value]
        inside = ", ".join(parts) + ("," if isinstance(value, tuple) and len(parts) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, np.ndarray):
        return f"sampled({op!r}, {number}, {dtype!r}, {place})"
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, polyad.DType):
        return f"torch.{value.name}"
    text = repr(value)
    if isinstance(value, (bool, int, float, complex, str, type(None), slice, type(...))):
        return text
    return text if text.startswith(("torch.", "polyad.")) else "None"


def start(random: Random, target: Target, common: tuple[str, ...] = ()) -> Call:
    """A call of *target* that may work, most often of a dtype among the *common*."""
    if target.op and random.random() < 0.9:
        number = random.randrange(len(samples()[target.op]))
        sample = samples()[target.op][number]
        usual = [dtype for dtype in sample.dtypes if dtype.name in common]
        dtype = random.choice(usual if usual and random.random() < 0.9 else sample.dtypes)
        args = tuple(
            literal(value, target.op, number, dtype.name, place)
            for place, value in enumerate(drawn(target.op, number, dtype.name))
        )
        kwargs = {
            name: literal(dtype if value is DTYPE else value, "", 0, "", 0) for name, value in sample.kwargs.items()
        }
        if "device" in target.parameters:
            kwargs["device"] = "device"
        return Call(target.source, args, kwargs, keep=int(target.method))
    args, kwargs = [], {}
    keep = 1 if target.method else 0
    for position, (name, annotation) in enumerate(target.parameters.items()):
        if annotation.startswith("="):
            keep = position + 1
        if name in ("device", "self") and position:
            if name == "device":
                kwargs[name] = "device"
            continue
        if name.startswith("**"):
            continue
        optional = annotation.endswith(OPTIONAL) and random.random() < 0.6
        if name.startswith("*"):
            args += [fitting(random, annotation, name[1:]) for _ in range(random.randint(0, 2))]
        elif target.source in WRAPPERS and position > WRAPPERS[target.source]:
            if random.random() < 0.4 or name == "forward":
                kwargs[name] = fitting(random, annotation, name)
        elif optional:
            break
        else:
            args.append(tensor(random) if name == "self" else fitting(random, annotation, name))
    if target.source in ("built", "forwarded"):
        kwargs.setdefault("forward", tensor(random))
    if target.source == "stepped" and len(args) > 1 and random.random() < 0.8:
        args[1] = random.choice(("[leaf(3)]", "[leaf(2, 2), leaf()]", "[{'params': [leaf(3)]}]"))
    return Call(target.source, tuple(args), kwargs, keep=keep)
