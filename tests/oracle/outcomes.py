"""What a call did in one library, and how what it did in the two differs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyad.base.dtypes import DType
from polyad.interop.numpy import numpy_dtype

from . import accuracy
from .calls import Call, Given, leaves
from .crashes import Crash, crashes
from .libraries import POLYAD, TORCH, Library, bytes_of, invoke


@dataclass
class Result:
    """A tensor among the results of a call.

    Attributes:
        shares: the position of the argument whose memory it lies in, None for memory of its own.
        shared: the position of the argument that it is.
    """

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    values: np.ndarray
    requires_grad: bool
    is_leaf: bool
    shares: int | None
    argument: int | None


@dataclass
class Outcome:
    """What a call did.

    Attributes:
        error: what it raised.
        structure: how the results are nested, with the names of named tuples.
        results: `Result` for tensors, everything else as it is.
        memories: all the memory of each tensor argument after the call.
        gradients: of each argument that requires one; None where there is none.
        gradient_error: what computing them raised.
    """

    error: BaseException | None = None
    structure: str = ""
    results: list[Any] = field(default_factory=list)
    memories: list[np.ndarray] = field(default_factory=list)
    gradients: list[np.ndarray | None] = field(default_factory=list)
    gradient_error: BaseException | None = None


@dataclass(frozen=True)
class Mismatch:
    """One way in which two outcomes differ.

    Attributes:
        kind: "refused" (polyad alone raises), "accepted" (PyTorch alone does), "exception" (their types), "structure",
            "dtype", "shape", "strides", "sharing", "requires_grad", "value", "written", "gradient", "gradient that is
            lost" (PyTorch's is nan or infinite).
        text: both sides in words.
        places: which elements differ, if it is about elements.
    """

    kind: str
    text: str
    places: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def observe(library: Library, call: Call) -> Outcome:
    """Make *call* in *library*."""
    if library is TORCH and crashes(call):
        return Outcome(error=Crash(call.path))
    made = {id(given): library.tensor(given) for given in call.givens()}
    tensors = {key: tensor for key, (tensor, _) in made.items()}
    givens = list({id(given): given for given in call.givens()}.values())
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if library is POLYAD:
            warnings.simplefilter("error", RuntimeWarning)
        try:
            result = invoke(library, call, tensors)
        except Exception as error:
            outcome.error = error
        else:
            found: list[Any] = []
            outcome.structure = _structure(library, result, found)
            inputs = [tensors[id(given)] for given in givens]
            windows = [bytes_of(made[id(given)][1]) for given in givens]
            outcome.results = [_result(library, one, inputs, windows) for one in found]
            if call.grad:
                _differentiate(library, call, found, givens, tensors, outcome)
        outcome.memories = [_memory(library, *made[id(given)]) for given in givens]
    return outcome


def _memory(library: Library, tensor: Any, memory: Any) -> np.ndarray:
    """All the memory behind *tensor*; where PyTorch only notes that it is to be conjugated, conjugated."""
    return library.host(memory.conj() if library is TORCH and tensor.is_conj() else memory)


def _structure(library: Library, result: Any, found: list[Any]) -> str:
    if isinstance(result, (list, tuple)) and type(result).__name__ != "Size":
        fields = getattr(type(result), "_fields", None) or [
            name for name in getattr(type(result), "__match_args__", ()) if hasattr(result, name)
        ]
        inner = ", ".join(_structure(library, item, found) for item in result)
        kind = type(result).__name__.removesuffix("_out")
        names = f"{kind}:{','.join(fields)}" if fields else kind
        return f"{names}({inner})"
    if library is TORCH and isinstance(result, library.Tensor) and str(result.layout) != "torch.strided":
        return f"tensor of layout {result.layout}, which has no memory to read"
    found.append(result)
    if isinstance(result, library.Tensor):
        return "tensor"
    return type(result).__name__


def _result(library: Library, one: Any, inputs: list[Any], windows: list[tuple[int, int]]) -> Any:
    if not isinstance(one, library.Tensor):
        return one
    start, end = bytes_of(one)
    shares = next((i for i, (low, high) in enumerate(windows) if low <= start < end <= high), None)
    return Result(
        dtype=library.dtype(one),
        shape=tuple(one.shape),
        strides=tuple(one.stride()),
        offset=one.storage_offset(),
        values=library.host(one),
        requires_grad=one.requires_grad,
        is_leaf=one.is_leaf,
        shares=shares,
        argument=next((i for i, given in enumerate(inputs) if given is one), None),
    )


def _differentiate(
    library: Library, call: Call, found: list[Any], givens: list[Given], tensors: dict[int, Any], outcome: Outcome
) -> None:
    random = call.random()
    outputs = [one for one in found if isinstance(one, library.Tensor) and one.requires_grad]
    outputs = [one for one in outputs if isinstance(library.dtype(one), DType)]
    incoming = []
    for one in outputs:
        shape = tuple(one.shape)
        # Sixty-fourths, which every floating dtype has exactly.
        values = random.integers(32, 96, shape) / 64 * random.choice([-1.0, 1.0], shape)
        if library.dtype(one).is_complex:
            values = values + 1j * (random.integers(-64, 64, shape) / 64)
        if call.incoming is not None:
            values = np.full(shape, call.incoming)
        incoming.append(library.new(np.asarray(values).astype(numpy_dtype(library.dtype(one)))))
    inputs = [tensors[id(given)] for given in givens if given.requires_grad]
    if not outputs or not inputs:
        return
    try:
        gradients = library.gradients(outputs, inputs, incoming)
        outcome.gradients = [None if one is None else library.host(one) for one in gradients]
    except Exception as error:
        outcome.gradient_error = error


# ------------------------------------------------------------------------------------------------------ comparison


def compare(call: Call, ours: Outcome, theirs: Outcome, bound: accuracy.Bound) -> list[Mismatch]:
    """Everything in which *ours* differs from *theirs*."""
    raised = _compare_errors(ours.error, theirs.error)
    if raised or theirs.error is not None:
        return raised
    if _plain(ours.structure) != _plain(theirs.structure):
        return [Mismatch("structure", f"polyad {ours.structure}, PyTorch {theirs.structure}")]
    found: list[Mismatch] = []
    for position, (one, other) in enumerate(zip(ours.results, theirs.results)):
        where = f"result {position}" if len(ours.results) > 1 else "result"
        if not isinstance(other, Result):
            found += _compare_plain(where, one, other)
        else:
            found += _compare_tensors(where, one, other, call, bound)
    givens = list({id(given): given for given in call.givens()}.values())
    for position, (given, left, right) in enumerate(zip(givens, ours.memories, theirs.memories)):
        if given in targets(call):
            # What was written is among the results; here, that nothing else was.
            left, right = outside(given, left, ours, position), outside(given, right, theirs, position)
        found += accuracy.difference("written", f"memory of input {position}", left, right, call, bound)
    found += _compare_gradients(call, ours, theirs, bound)
    return found


def targets(call: Call) -> list[Given]:
    """The arguments that the call writes its results to."""
    if call.form == "out":
        return [value for value in leaves(call.kwargs["out"]) if isinstance(value, Given)]
    if call.form == "in place" or call.name.endswith("_"):
        return [value for value in call.args[:1] if isinstance(value, Given)]
    return []


def outside(given: Given, memory: np.ndarray, outcome: Outcome, position: int) -> np.ndarray:
    """*memory* with zeros where the tensor is: where the result lies that is the argument at *position*.

    It may have been resized: within the memory, or to memory of its own.
    """
    memory = np.array(memory)
    results = [one for one in outcome.results if isinstance(one, Result) and one.argument == position]
    for one in [one for one in results if _last(one) < memory.size] or [given]:
        window = np.lib.stride_tricks.as_strided(
            memory[one.offset :], one.shape, [stride * memory.itemsize for stride in one.strides]
        )
        window[...] = 0
    return memory


def _last(result: Result) -> int:
    """The place in memory of the result's last element."""
    return result.offset + sum(max(size - 1, 0) * stride for size, stride in zip(result.shape, result.strides))


def _plain(structure: str) -> str:
    return structure.replace("DType", "dtype")


def _compare_errors(ours: BaseException | None, theirs: BaseException | None) -> list[Mismatch]:
    if ours is None and theirs is None:
        return []
    if theirs is None:
        return [Mismatch("refused", f"polyad raises {_told(ours)}")]
    if ours is None:
        return [Mismatch("accepted", f"PyTorch raises {_told(theirs)}")]
    wanted = builtin(theirs)
    if isinstance(ours, wanted):
        return []
    return [Mismatch("exception", f"polyad {_told(ours)}\n   PyTorch {_told(theirs)}")]


def builtin(error: BaseException) -> type[BaseException]:
    """The type of Python's own that an ``except`` for *error* would name."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def _told(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def _compare_plain(where: str, one: Any, other: Any) -> list[Mismatch]:
    if type(other).__module__.startswith("torch"):
        name = str(other).removeprefix("torch.")
        equal = (
            tuple(one) == tuple(other)
            if isinstance(other, tuple)
            else (one.name if isinstance(one, DType) else str(one).removeprefix("polyad.")) == name
        )
    elif isinstance(other, complex):
        equal = isinstance(one, complex) and repr(one) == repr(other)
    elif isinstance(other, float):
        equal = one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-6)
    else:
        equal = type(one) is type(other) and one == other
    return [] if equal else [Mismatch("value", f"{where} is {one!r}, PyTorch's {other!r}")]


def _compare_tensors(where: str, one: Result, other: Result, call: Call, bound: accuracy.Bound) -> list[Mismatch]:
    found = []
    for kind, left, right in (
        ("dtype", one.dtype, other.dtype),
        ("shape", one.shape, other.shape),
        ("requires_grad", one.requires_grad, other.requires_grad),
    ):
        if left != right:
            found.append(Mismatch(kind, f"{where}: {left}, PyTorch {right}"))
    if found and found[0].kind in ("dtype", "shape"):
        return found
    if one.values.size and bound.memory:
        if _told_strides(one) != _told_strides(other):
            found.append(Mismatch("strides", f"{where} {other.shape}: {one.strides}, PyTorch {other.strides}"))
        if (one.shares, one.argument) != (other.shares, other.argument):
            found.append(Mismatch("sharing", f"{where} {_owner(one)}; PyTorch's {_owner(other)}"))
        elif one.shares is not None and one.offset != other.offset:
            found.append(Mismatch("sharing", f"{where} begins at {one.offset}, PyTorch's at {other.offset}"))
    found += accuracy.difference("value", where, one.values, other.values, call, bound)
    return found


def _told_strides(result: Result) -> list[int]:
    """Strides of dimensions along which there is a step to make."""
    return [stride for stride, size in zip(result.strides, result.shape) if size > 1]


def _owner(result: Result) -> str:
    if result.argument is not None:
        return f"is input {result.argument}"
    return "has its own memory" if result.shares is None else f"shares the memory of input {result.shares}"


def _compare_gradients(call: Call, ours: Outcome, theirs: Outcome, bound: accuracy.Bound) -> list[Mismatch]:
    if not call.grad:
        return []
    raised = _compare_errors(ours.gradient_error, theirs.gradient_error)
    if raised:
        return [Mismatch("gradient", str(raised[0]))]
    if len(ours.gradients) != len(theirs.gradients):
        return [Mismatch("gradient", f"{len(ours.gradients)} gradients, PyTorch has {len(theirs.gradients)}")]
    found = []
    for position, (one, other) in enumerate(zip(ours.gradients, theirs.gradients)):
        where = f"gradient {position}"
        if one is None or other is None:
            if one is not other:
                shown = ["none" if value is None else f"{value.tolist()}" for value in (one, other)]
                found.append(Mismatch("gradient", f"{where}: {shown[0]}, PyTorch {shown[1]}"))
            continue
        found += accuracy.difference("gradient", where, one, other, call, bound)
    return found


def differences(call: Call, bound: accuracy.Bound | None = None) -> list[Mismatch]:
    """Make *call* in both libraries and compare."""
    theirs = observe(TORCH, call)
    ours = observe(POLYAD, call)
    return compare(call, ours, theirs, bound or accuracy.Bound())
