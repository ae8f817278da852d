"""Random programs compiled: ``python -m fuzz.compiled --count 500 --seed 0``.

A program (`fuzz.graph_passes`) is called several times, eagerly and compiled, each time with other values: as it is,
without gradients, with a backward pass inside, and with data read on the way. Bits, layouts, who shares memory with
whom, versions, gradients, the state of the generator and the errors of passes must be the same.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

import polyad
from polyad import Tensor
from polyad.compiler import explain

from .graph_passes import SEEDS, bits, described, function, gradients, outputs_of, program
from .programs import leaves_of as values_of

CALLS = 5
Function = Callable[..., Any]


def _with_backward(work: Function) -> Function:
    def step(*leaves: Tensor) -> Any:
        results = work(*leaves)
        floating = [one for one in outputs_of(results) if isinstance(one, Tensor) and one.requires_grad]
        if floating:
            loss = sum([(one.double() * (1 + number)).sum() for number, one in enumerate(floating)])
            loss.backward()
            return [loss, *results]
        return results

    return step


def _with_reads(work: Function) -> Function:
    def step(*leaves: Tensor) -> Any:
        results = work(*leaves)
        total = sum(float(one.detach().double().sum()) for one in outputs_of(results) if isinstance(one, Tensor))
        scaled = [one * 2 if total > 0 else one - 1 for one in outputs_of(results) if isinstance(one, Tensor)]
        return [*results, *scaled]

    return step


WAYS: dict[str, tuple[Callable[[Function], Function], bool]] = {
    "forward": (lambda work: work, True),
    "inference": (lambda work: polyad.no_grad()(work), True),
    "plain": (lambda work: work, False),
    "backward": (_with_backward, True),
    "reads": (_with_reads, True),
}
"""What is made of a program, and whether its leaves require gradients."""


def outcome(work: Function, leaves: list[Tensor]) -> Any:
    """All that can be told of a call."""
    try:
        results = work(*leaves)
    except Exception as error:
        results, told = [], (type(error).__name__, str(error).partition("\n")[0])
    else:
        told = ("", "")
    seen = described(results, leaves)
    # What is one node eagerly (`unbind`) may be several under any mode, so that names of nodes are not compared.
    history = [one.grad_fn is None for one in outputs_of(results) if isinstance(one, Tensor)]
    grads = [None if one.grad is None else bits(one.grad) for one in leaves]
    return told, seen, history, grads, _without_arrays(gradients(results, leaves)), polyad.get_rng_state().tolist()


def _without_arrays(found: Any) -> Any:
    if isinstance(found, np.ndarray):
        return found.shape, found.dtype.name, found.tobytes()
    return [_without_arrays(one) for one in found] if isinstance(found, (list, tuple)) else found


def differences(number: int, seed: int) -> Iterator[tuple[str, str]]:
    """The ways in which a program does something else when it is compiled, with what that is."""
    random = Random(f"{seed} {number}")
    steps, returned = program(random), [random.randrange(20) for _ in range(4)]
    for way, (make, grad) in WAYS.items():
        failed: set[int] = set()
        first = [polyad.tensor(one).requires_grad_(grad) for one in values_of(number)]
        try:
            make(function(steps, returned, failed))(*first)
        except Exception:
            pass
        eager, compiled = [make(function(steps, returned, set(failed))) for _ in range(2)]
        compiled = polyad.compile(compiled)
        for call in range(CALLS):
            found = []
            for work in (eager, compiled):
                polyad.manual_seed(SEEDS + call)
                values = values_of(number + (call + 1) // 2)
                found.append(outcome(work, [polyad.tensor(one).requires_grad_(grad) for one in values]))
            if found[0] != found[1]:
                yield way, f"program {number}, call {call}: {first_difference(*found)}"
                break
        words = explain(compiled)
        if "a kernel failed" in words or "could not be written" in words:
            yield way, f"program {number}: {words}"


def first_difference(one: Any, other: Any) -> str:
    """Where two outcomes begin to differ."""
    if isinstance(one, (list, tuple)) and type(one) is type(other) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other)):
            if a != b:
                return f"[{number}]{first_difference(a, b)}"
    return f": {str(one)[:200]} is {str(other)[:200]} compiled"


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if a program differs."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.compiled", description="Random programs, compiled.")
    parser.add_argument("--count", type=int, default=500, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="draws other programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program, to see one again")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for number in range(given.first, given.first + given.count):
        for way, words in differences(number, given.seed):
            counts[way] += 1
            if counts[way] <= 3:
                print(f"{way}: {words}")
    told = ", ".join(f"{count} {way}" for way, count in counts.most_common()) or "no difference"
    print(f"{given.count:,} programs, each in {len(WAYS)} ways: {told}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
