"""Graphs through every pass: ``python -m fuzz.graph_passes --count 2000 --seed 0``, with ``--samples`` the conformance
suite's calls instead of random programs.

A program (`fuzz.programs`) or a call is captured. Its replay is compared with the replay of what each pass alone and
all together make of the graph: bits, layouts, who shares memory with whom, versions of inputs, the states of
generators, gradients, and whether backward can go through each output in turn. Gradients are the same bits but where
equal calls are merged: there they are added up earlier.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

import polyad
from polyad import Tensor, graph as graphs
from polyad.dispatch.op import PUBLIC
from polyad.errors import InvalidGraph
from polyad.graph import Graph, passes
from polyad.graph.structure import leaves_of
from polyad.jit import BakedValueWarning
from polyad_conformance.calls import draw, function_of, kwargs_of, outputs_of
from polyad_conformance.layouts import contiguous, place, transposed
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families

from .programs import LARGEST, leaves_of as values_of, random_program
from .steps import NO_GRAD, STEPS, Pool, Step

Function = Callable[..., Any]
Way = Callable[[Graph], Graph]

WAYS: dict[str, Way] = {
    **{one.__name__: lambda graph, one=one: graphs.apply(graph, [one]) for one in passes.STANDARD},
    "optimize": graphs.optimize,
}
ROUNDS = {"merge_common", "optimize"}
"""The ways whose gradients may be added up in another order."""

SEEDS = 3


# ------------------------------------------------------------------------------------------------------------ programs


def _with_autocast(pool: Pool, x: Any, n: tuple[int, ...]) -> Any:
    with polyad.autocast("cpu", dtype=polyad.bfloat16):
        return (x.float() @ x.float().mT if x.dim() >= 2 else x.float() * 2).double()


EXTRA: dict[str, Callable[[Pool, Any, tuple[int, ...]], Any]] = {
    "rand": lambda pool, x, n: x + polyad.rand_like(x),
    "dropout": lambda pool, x, n: polyad.nn.functional.dropout(x, 0.5),
    "uniform_": lambda pool, x, n: (x * 1).uniform_(),
    "table": lambda pool, x, n: x * (polyad.arange(x.numel(), dtype=x.dtype).reshape(x.shape) * 0.25 - 1),
    "tril": lambda pool, x, n: x.masked_fill(polyad.ones(x.shape[-1]).bool().logical_not(), 0.5) if x.dim() else x * 1,
    "zeros": lambda pool, x, n: polyad.zeros(x.shape, dtype=x.dtype),
    "exp": lambda pool, x, n: (-x.abs()).exp(),
    "casts": lambda pool, x, n: x.float().double() if n[1] % 2 else x.double().float(),
    "there and back": lambda pool, x, n: x.mT.mT if x.dim() >= 2 else x.reshape(1, -1).reshape(-1),
    "times one": lambda pool, x, n: x * 1 if n[1] % 2 else x + 0,
    "autocast": _with_autocast,
    "grad": lambda pool, x, n: polyad.autograd.grad((x * x).sum(), x, retain_graph=True)[0],
}  # fmt: skip
NAMES = sorted({**STEPS, **EXTRA}.keys() - {"mask", "setitem by mask"})


def program(random: Random) -> list[Step]:
    """A program that does much twice, and leaves much unused."""
    steps = [step for step in random_program(random) if step.name not in ("mask", "setitem by mask")]
    for _ in range(random.randint(0, 8)):
        step = Step(random.choice(sorted(EXTRA)), tuple(random.randrange(7) for _ in range(4)))
        steps.insert(random.randrange(len(steps) + 1), step)
    for _ in range(random.randint(0, 4)):
        if steps:
            at = random.randrange(len(steps))
            again = steps[at]
            steps.insert(at + 1, Step(again.name, (again.picks[0] + 1, *again.picks[1:])))
    return steps


def function(steps: Sequence[Step], returned: Sequence[int], failed: set[int]) -> Function:
    """What runs *steps* on three leaves and returns some of the tensors; steps that raise go to *failed*."""

    def work(*leaves: Tensor) -> Any:
        a, b, c = leaves
        pool = Pool(polyad, [a * 1, c * 1, b * 1, a * 0.5, b * 2], list(leaves))
        for number, step in enumerate(steps):
            if number in failed:
                continue
            name = step.name.removesuffix(NO_GRAD)
            try:
                with polyad.no_grad() if step.name.endswith(NO_GRAD) else contextlib.nullcontext():
                    result = {**STEPS, **EXTRA}[name](pool, pool.pick(step.picks[0]), step.picks)
            except Exception:
                failed.add(number)
                continue
            is_new = isinstance(result, Tensor) and not any(result is one for one in pool.tensors)
            if is_new and result.numel() <= LARGEST:
                pool.tensors.append(result)
        return [pool.tensors[number % len(pool.tensors)] for number in returned]

    return work


# ------------------------------------------------------------------------------------------------------------ comparing


def bits(tensor: Tensor) -> bytes:
    return np.ascontiguousarray(tensor.detach().resolve_conj().numpy()).tobytes()


def described(results: Any, inputs: list[Tensor]) -> Any:
    """What a call may be known by."""
    given = [one for one in outputs_of(results) if isinstance(one, Tensor)]
    tensors = [*given, *inputs]
    storages = [one._storage or one._make_storage() for one in tensors]
    seen = [
        (bits(one), one.dtype, one.shape, one.stride(), one.storage_offset(), one.requires_grad,
         storages.index(one._storage), [one is other for other in tensors])
        for one in tensors
    ]  # fmt: skip
    return seen, [one._version for one in inputs]


def gradients(results: Any, inputs: list[Tensor]) -> list[Any]:
    """Of each result in turn, for it may be that one backward pass frees what the next needs."""
    leaves = [one for one in inputs if one.requires_grad and one.is_leaf]
    found: list[Any] = []
    for number, one in enumerate(outputs_of(results)):
        if not leaves or not isinstance(one, Tensor) or not one.requires_grad:
            continue
        weights = polyad.arange(one.numel(), dtype=polyad.float64).reshape(one.shape) * 0.25 + (0.5 + number)
        try:
            got = polyad.autograd.grad(one, leaves, weights.to(one.dtype), allow_unused=True)
            found.append([None if part is None else part.detach().numpy().copy() for part in got])
        except Exception as error:
            found.append(type(error).__name__)
    return found


def agree(found: list[Any], wanted: list[Any], exact: bool) -> bool:
    if len(found) != len(wanted):
        return False
    for one, other in zip(found, wanted):
        if isinstance(other, str):
            return True  # a write that nobody reads is left out, spoils no gradient, and the next pass finds less
        if isinstance(one, str):
            return False
        for a, b in zip(one, other):
            if (a is None) != (b is None):
                return False
            if a is not None and (a.shape != b.shape or a.dtype != b.dtype):
                return False
            loose = {"rtol": 1e-5, "atol": 1e-6} if a is not None and a.dtype != np.float64 else {}
            same = a is None or (a.tobytes() == b.tobytes() if exact else np.allclose(a, b, equal_nan=True, **loose))
            if not same:
                return False
    return True


class Outcome:
    """What a replay gives: of *graph*, for fresh *inputs*()."""

    def __init__(self, graph: Graph, inputs: Callable[[], Any]) -> None:
        if graph.constants:
            with contextlib.suppress(Exception):
                graph(*inputs())  # what it holds on to stays as it is
        generators = [polyad.default_generator, *leaves_of(list(graph.state.values()), polyad.Generator)]
        for one in generators:
            one.manual_seed(SEEDS)
        args = inputs()
        given = [one for one in outputs_of(args) if isinstance(one, Tensor)]
        self.results, self.error = None, ""
        try:
            self.results = graph(*args)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return
        self.seen = described(self.results, given)
        held = {id(constant.tensor._storage) for constant in graph.constants if constant.tensor._storage is not None}
        self.held = [id(one._storage) in held for one in outputs_of(self.results) if isinstance(one, Tensor)]
        self.drawn = [bits(one.get_state()) for one in generators]
        self.grads = [None if one.grad is None or not one.is_leaf else bits(one.grad) for one in given]
        self.gradients = gradients(self.results, given)

    def differs(self, other: Outcome, exact: bool) -> str:
        """How; empty if it does not."""
        if self.error:
            return f"raises {self.error}"
        if self.seen != other.seen:
            return f"gives {words(self.seen)} instead of {words(other.seen)}"
        if self.held != other.held:
            return "returns what the graph holds on to"
        if self.drawn != other.drawn:
            return "draws other random numbers"
        if exact and self.grads != other.grads:
            return "leaves another .grad"
        return "" if agree(self.gradients, other.gradients, exact) else f"{self.gradients} not {other.gradients}"


def words(seen: Any) -> str:
    described, versions = seen
    return str([(bytes_.hex()[:32], *rest) for bytes_, *rest in described]) + f" versions {versions}"


def captured(work: Function, inputs: Callable[[], Any]) -> Graph | None:
    """None if the call read data, so that its graph is another for other data."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        graph = polyad.jit.capture(work, *inputs())
    return None if any(issubclass(one.category, BakedValueWarning) for one in told) else graph


def differences(graph: Graph, inputs: Callable[[], Any], ways: dict[str, Way] = WAYS) -> Iterator[tuple[str, str]]:
    """The ways that give something else than *graph* does, and how."""
    wanted = Outcome(graph, inputs)
    if wanted.error:
        return
    for name, way in ways.items():
        try:
            other = way(graph)
        except InvalidGraph as error:
            yield name, str(error)
            continue
        if sorted(other.after.values()) != sorted(graph.after.values()):
            yield name, f"says that it writes {other.after}, not {graph.after}"
        found = Outcome(other, inputs).differs(wanted, exact=name not in ROUNDS)
        if found and not Outcome(graph, inputs).differs(
            wanted, exact=True
        ):  # the graph itself gives the same each time
            yield name, f"{found}\n{graph}\n{other}"


def of_program(number: int, seed: int) -> tuple[Graph, Callable[[], Any]] | None:
    """The graph of a random program, and what gives inputs for it; None if it is none."""
    random = Random(f"{seed} {number}")
    steps, returned = program(random), [random.randrange(40) for _ in range(random.randint(1, 5))]
    first, requires = values_of(number), random.random() < 0.7

    def inputs(scale: float, grad: bool) -> list[Tensor]:
        return [polyad.tensor(one * scale).requires_grad_(grad) for one in first]

    failed: set[int] = set()
    for grad in (False, True):
        count = -1
        while count != len(failed):  # a step may fail for want of another
            count = len(failed)
            function(steps, returned, failed)(*inputs(0.9, grad))
    work = function(steps, returned, failed)
    graph = captured(work, lambda: inputs(0.9, requires))
    return None if graph is None else (graph, lambda: inputs(1.0, True))


def check_programs(
    count: int, seed: int, first: int = 0, ways: dict[str, Way] = WAYS
) -> Iterator[tuple[str, str, str]]:
    """(program, way, difference) for each difference; the program is None for one that is compared."""
    for number in range(first, first + count):
        found = of_program(number, seed)
        if found is not None:
            yield f"program {number}", "", ""
            for way, words in differences(*found, ways):
                yield f"program {number}", way, words


# ------------------------------------------------------------------------------------------------------------ samples


def calls_of(sample: Sample, dtype: Any) -> Iterator[tuple[str, Function, Callable[[], Any]]]:
    """The sample's call, twice with all kinds of things that nobody needs, and its in-place form between views."""
    given = draw(sample, dtype, 0)
    kwargs, _ = kwargs_of(sample, dtype, "cpu", given)
    called, layouts = function_of(sample), (transposed, contiguous) if sample.layouts else (contiguous,)
    if not any(isinstance(one, np.ndarray) for one in outputs_of(given)):
        yield (
            "call",
            lambda _: (called(*given, **kwargs), called(*given, **kwargs), None)[::2],
            lambda: [polyad.ones(1)],
        )
        yield "part", lambda x: first_of(called(*given, **kwargs)) if True else x, lambda: [polyad.ones(1)]
        return

    def inputs() -> list[Any]:
        args = place(given, layouts, "cpu")[0]
        for one in outputs_of(args):
            if isinstance(one, Tensor) and (one.is_floating_point() or one.is_complex()):
                one.requires_grad_()
        return list(args)

    def twice(*args: Any) -> Any:
        called(*args, **kwargs)
        return first_of(called(*args, **kwargs)), called(*args, **kwargs)

    yield "call", twice, inputs
    public = PUBLIC.get(sample.op)
    if public is not None and public.inplace and given and isinstance(given[0], np.ndarray):
        name = sample.op.rpartition(".")[2] + "_"

        def write(first: Tensor, *rest: Any) -> Any:
            memory, unused = first.clone(), first.clone()
            before, row = memory.detach(), memory.reshape(-1)[1:]
            result = getattr(memory, name)(*rest, **kwargs)
            getattr(unused, name)(*rest, **kwargs)
            row.add_(1)
            return result, before, row, memory.sum()

        yield "write", write, inputs


def first_of(result: Any) -> Any:
    """A copy of the first tensor of a result, so that the result itself is the graph's alone."""
    tensors = [one for one in outputs_of(result) if isinstance(one, Tensor)]
    return tensors[0].clone() if tensors else None


def check_samples(listed: Sequence[Sample], dtypes: int, ways: dict[str, Way] = WAYS) -> Iterator[tuple[str, str, str]]:
    """As `check_programs`, of the suite's samples, each for the last *dtypes* of its dtypes."""
    for sample in listed:
        for dtype in sample.dtypes[-dtypes:]:
            for kind, work, inputs in calls_of(sample, dtype):
                name = f"{sample.label} {dtype.name} {kind}"
                try:
                    graph = captured(work, inputs)
                except Exception:
                    continue  # a result that does not fit into what it is to be written to
                if graph is not None:
                    yield name, "", ""
                    for way, words in differences(graph, inputs, ways):
                        yield name, way, words


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if a pass changes what a graph gives."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.graph_passes", description="Graphs through every pass.")
    parser.add_argument("--count", type=int, default=2000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="draws other programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--samples", action="store_true", help="the conformance suite's samples instead")
    parser.add_argument("--family", default="", help="of samples; all by default")
    parser.add_argument("--dtypes", type=int, default=2, help="how many dtypes of each sample")
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    if given.samples:
        listed = [one for name, (samples, _) in families().items() if given.family in name for one in samples]
        found = check_samples(listed, given.dtypes)
    else:
        found = check_programs(given.count, given.seed, given.first)
    for name, way, told in found:
        counts[way] += 1
        if way and counts[way] <= 3:
            print(f"{way}: {name}: {told[:3000]}")
    compared = counts.pop("")
    told = ", ".join(f"{count} {way}" for way, count in counts.most_common()) or "no difference"
    print(f"{compared:,} graphs, each in {len(WAYS)} ways: {told}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
