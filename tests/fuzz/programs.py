"""Random programs, each run in several ways that must agree: ``python -m fuzz.programs --count 2000 --seed 0``.

A program is a list of steps (`fuzz.steps`) on three leaves. It runs eagerly on the cpu first; steps that raise there
are left out. Then it runs

    device    on the device under test: the same values and gradients
    vmap      over a batch of leaves: each sample as if it ran alone
    jit       captured on other leaves, and replayed on these, unless the capture warns that it baked values in
    jvp       in forward mode: the tangent is what the gradients say
    numeric   with leaves moved a little to both sides: the difference is what the gradients say

A detached tensor is a constant to a gradient and not to a difference; a write without gradients is one to neither a
tangent nor a difference; as_strided may read elements of its base that its operand does not show, which get no
gradient. Programs with such steps skip the ways that would not agree. Steps of different size must give the same
difference, else it is taken over a kink.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import polyad
from polyad import Tensor
from polyad.errors import AutogradError, TransformError
from polyad.jit import BakedValueWarning

from .steps import NO_GRAD, OPS, STEPS, VIEWS, WRITES, Pool, Step
from .worker import other_device

SHAPES = ((2, 3), (3,), (2, 2, 3))
LENGTH = 12
LARGEST = 64
"""Results of more elements are not kept."""
CONSTANT = frozenset({"detach", "detached view", "data", "out"})
"""Steps that a gradient takes for constants, and a tangent as well."""
CLOSE = {"rtol": 1e-7, "atol": 1e-8}

Leaves = Sequence[Tensor]


def random_program(random: Random) -> list[Step]:
    """A program; views and writes come most often."""
    pools = (sorted(VIEWS), sorted(OPS), sorted(WRITES), sorted(WRITES), [name + NO_GRAD for name in sorted(WRITES)])
    weights = (3, 3, 3, 2, 1)
    names = [random.choice(random.choices(pools, weights)[0]) for _ in range(random.randint(1, LENGTH))]
    return [Step(name, tuple(random.randrange(7) for _ in range(4))) for name in names]


def run(program: list[Step], leaves: Leaves, failed: list[int] | None = None) -> list[Tensor]:
    """All tensors that *program* leaves; the steps that raise are noted in *failed*, else the exception passes."""
    a, b, c = leaves
    pool = Pool(polyad, [a * 1, c * 1, b * 1, a * 0.5, b * 2], list(leaves))
    for number, step in enumerate(program):
        action = STEPS[step.name.removesuffix(NO_GRAD)]
        target = pool.pick(step.picks[0])
        try:
            with polyad.no_grad() if step.name.endswith(NO_GRAD) else contextlib.nullcontext():
                result = action(pool, target, step.picks)
        except Exception:
            if failed is None:
                raise
            failed.append(number)
            continue
        is_new = isinstance(result, Tensor) and not any(result is one for one in pool.tensors)
        if is_new and result.numel() <= LARGEST:
            pool.tensors.append(result)
    return pool.tensors


def total(tensors: list[Tensor]) -> Tensor:
    """One number that depends on every element, each with a weight of its own."""
    parts = []
    for number, tensor in enumerate(tensors):
        weights = polyad.arange(tensor.numel(), dtype=polyad.float64, device=tensor.device) * 0.25 + (0.5 + number)
        parts.append((tensor.double().reshape(-1) * weights).sum())
    return polyad.stack(parts).sum()


def hosts(tensors: Sequence[Tensor | None]) -> list[np.ndarray | None]:
    """The values on the host."""
    return [None if tensor is None else np.array(tensor.detach().cpu().numpy()) for tensor in tensors]


@dataclass(frozen=True)
class Difference:
    """Where a way differs from the eager run, and how."""

    way: str
    words: str


def same(way: str, what: str, found: Sequence[Any], wanted: Sequence[Any]) -> Difference | None:
    """The first difference between two lists of arrays."""
    if len(found) != len(wanted):
        return Difference(way, f"{len(found)} {what}s, eager {len(wanted)}")
    for number, (one, other) in enumerate(zip(found, wanted)):
        if (one is None) != (other is None):
            return Difference(way, f"{what} {number}: {one}, eager {other}")
        if one is None:
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            return Difference(way, f"{what} {number}: {one.dtype} {one.shape}, eager {other.dtype} {other.shape}")
        loose = {"rtol": 1e-4, "atol": 1e-5} if one.dtype == np.float32 else CLOSE
        if not np.allclose(one, other, equal_nan=True, **loose):
            return Difference(way, f"{what} {number}: {one.tolist()}, eager {other.tolist()}")
    return None


class Ways:
    """A program that works, run in each way.

    Attributes:
        values, gradients: of the eager run; the gradients of `total` with respect to the leaves.
    """

    def __init__(self, program: list[Step], values: list[np.ndarray]) -> None:
        failed: list[int] = []
        run(program, self._leaves(values, "cpu"), failed)
        self.program = [step for number, step in enumerate(program) if number not in failed]
        self.leaves = values
        self.values, self.gradients = self._graded("cpu")

    def _leaves(self, values: Sequence[np.ndarray], device: str, grad: bool = True) -> list[Tensor]:
        return [polyad.tensor(one, device=device).requires_grad_(grad) for one in values]

    def _graded(self, device: str) -> tuple[list[Any], list[Any] | None]:
        """The tensors and the gradients, None if backward needs what a write has changed."""
        leaves = self._leaves(self.leaves, device)
        tensors = run(self.program, leaves)
        try:
            found = polyad.autograd.grad(total(tensors), leaves, allow_unused=True)
        except AutogradError as error:
            if "changed in place" not in str(error):
                raise
            return hosts(tensors), None
        return hosts(tensors), hosts(found)

    def differences(self, device: str) -> list[Difference]:
        """All of them; a way that raises where the eager run did not is one."""
        ways: dict[str, Callable[[], Difference | None]] = {
            "device": lambda: self.on_device(device),
            "vmap": self.mapped,
            "jit": self.captured,
            "jvp": self.forward,
            "numeric": self.numeric,
        }
        found = []
        for name, way in ways.items():
            try:
                difference = way()
            except Exception as error:
                difference = Difference(name, f"{type(error).__name__}: {error}")
            if difference is not None:
                found.append(difference)
        return found

    def on_device(self, device: str) -> Difference | None:
        values, gradients = self._graded(device)
        if len(values) != len(self.values) and any(step.name == "contiguous" for step in self.program):
            return None  # a backend arranges a new result as it likes, so a copy may be made on one device alone
        found = same("device", "tensor", values, self.values)
        if found is not None or gradients is self.gradients is None:
            return found
        if gradients is None or self.gradients is None:
            return Difference("device", "backward works on one of the devices alone")
        return same("device", "gradient", gradients, self.gradients)

    def mapped(self) -> Difference | None:
        several = [self.leaves, [one * 0.5 + 0.1 for one in self.leaves]]
        alone = []
        for leaves in several:
            failed: list[int] = []
            alone.append(hosts(run(self.program, self._leaves(leaves, "cpu", grad=False), failed)))
            if failed:
                return None
        if any(one.shape != other.shape for one, other in zip(*alone)):  # a mask that keeps more of one of them
            return None
        stacked = [polyad.tensor(np.stack(parts)) for parts in zip(*several)]
        try:
            together = polyad.vmap(lambda *leaves: tuple(run(self.program, leaves)))(*stacked)
        except TransformError:
            return None  # what decides by the data of a sample
        wanted = [np.stack(parts) for parts in zip(*alone)]
        return same("vmap", "tensor", hosts(together), wanted)

    def captured(self) -> Difference | None:
        other = self._leaves([one * 0.5 + 0.1 for one in self.leaves], "cpu", grad=False)
        failed: list[int] = []
        shapes = [one.shape for one in run(self.program, other, failed)]
        if failed or any(step.name == "mask" for step in self.program):  # its shape follows from the values
            return None
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            graph = polyad.jit.capture(lambda *leaves: tuple(run(self.program, leaves)), *other)
            replayed = graph(*self._leaves(self.leaves, "cpu", grad=False))
        if any(issubclass(one.category, BakedValueWarning) for one in told):
            return None
        assert len(shapes) == len(replayed)
        return same("jit", "tensor", hosts(replayed), self.values)

    def _directions(self) -> list[np.ndarray]:
        random = np.random.default_rng(5)
        return [random.uniform(-1, 1, one.shape) for one in self.leaves]

    def _along(self) -> float:
        parts = zip(self.gradients or (), self._directions())
        return float(sum(np.sum(gradient * way) for gradient, way in parts if gradient is not None))

    def _is_smooth(self) -> bool:
        """Whether gradients hold all that the result depends on."""
        return self.gradients is not None and not any(
            step.name in ("as_strided", "data") or step.name.endswith(NO_GRAD) for step in self.program
        )

    def forward(self) -> Difference | None:
        if not self._is_smooth():
            return None
        leaves = self._leaves(self.leaves, "cpu", grad=False)
        directions = tuple(map(polyad.tensor, self._directions()))
        _, tangent = polyad.func.jvp(lambda *given: total(run(self.program, given)), tuple(leaves), directions)
        found, wanted = tangent.item(), self._along()
        agree = np.isclose(found, wanted, rtol=1e-6, atol=1e-6, equal_nan=True)
        return None if agree else Difference("jvp", f"tangent {found}, gradients say {wanted}")

    def numeric(self) -> Difference | None:
        if not self._is_smooth() or any(step.name in CONSTANT or step.name == "float" for step in self.program):
            return None
        slopes = []
        for size in (1e-5, 2e-5, 4e-5):
            ends = []
            for sign in (1, -1):
                moved = [one + sign * size * way for one, way in zip(self.leaves, self._directions())]
                ends.append(total(run(self.program, self._leaves(moved, "cpu", grad=False))).item())
            slopes.append((ends[0] - ends[1]) / (2 * size))
        if not np.isfinite(slopes).all() or max(slopes) - min(slopes) > 1e-6 * max(1.0, *map(abs, slopes)):
            return None
        wanted = self._along()
        agree = np.isclose(slopes[0], wanted, rtol=1e-5, atol=1e-5)
        return None if agree else Difference("numeric", f"difference {slopes[0]}, gradients say {wanted}")


def leaves_of(seed: int) -> list[np.ndarray]:
    """The values of the leaves."""
    random = np.random.default_rng(seed)
    return [random.uniform(-1, 1, shape) for shape in SHAPES]


def shortened(program: list[Step], values: list[np.ndarray], device: str, way: str) -> list[Step]:
    """*program* without the steps that the difference does not need."""
    for number in reversed(range(len(program))):
        fewer = program[:number] + program[number + 1 :]
        if any(one.way == way for one in Ways(fewer, values).differences(device)):
            program = fewer
    return program


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if a way differs."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.programs", description="Random programs run in several ways.")
    parser.add_argument("--device", help="the device to compare with the cpu; one for tests by default")
    parser.add_argument("--count", type=int, default=2000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="draws other programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program, to see one again")
    given = parser.parse_args(arguments)
    device = given.device or other_device("cpu")
    counts: Counter[str] = Counter()
    for number in range(given.first, given.first + given.count):
        program, values = random_program(Random(f"{given.seed} {number}")), leaves_of(number)
        ways = Ways(program, values)
        for difference in ways.differences(device):
            counts[difference.way] += 1
            if counts[difference.way] <= 5:
                print(f"{difference.way}: program {number}: {difference.words[:600]}")
                for step in shortened(ways.program, values, device, difference.way):
                    print(f"    {step.name} {step.picks}")
    told = ", ".join(f"{count} {way}" for way, count in counts.most_common()) or "no difference"
    print(f"{given.count:,} programs: {told}")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
