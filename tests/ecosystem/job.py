"""What a job is given, and the register of jobs."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Job:
    """A function that uses a library, to run on both sides.

    Attributes:
        name: what the report calls it.
        function: is given a `Run`.
        devices: polyad's devices on which it runs; PyTorch runs on "cpu".
        factor: by how much more than `agreement.allowed` the two may differ, for models that magnify rounding; its
            reason is told where the job is registered.
    """

    name: str
    function: Callable[[Run], None]
    devices: tuple[str, ...] = ("cpu",)
    factor: float = 1.0


JOBS: dict[str, Job] = {}
"""The jobs of the library whose module was imported."""


def job(name: str, **options: Any) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
    """Register the function below as the job *name*; *options* are the fields of `Job`."""

    def register(function: Callable[[Run], None]) -> Callable[[Run], None]:
        if name in JOBS:
            raise ValueError(f"two jobs are called {name!r}")
        JOBS[name] = Job(name, function, **options)
        return function

    return register


class Run:
    """One run of a job on one side.

    Attributes:
        torch: PyTorch, or polyad in its place.
        side: "pytorch" or "polyad".
        device: where the tensors are to be.
        folder: this side's own folder for files.
        other: the folder of PyTorch's side, which has run before; on PyTorch's side its own.
        values: what was recorded: name -> (array, depth).
        timed: what is to be timed: name -> a function.
    """

    def __init__(self, torch: Any, side: str, device: str, folder: Path, other: Path) -> None:
        self.torch, self.side, self.device, self.folder, self.other = torch, side, device, folder, other
        self.values: dict[str, tuple[np.ndarray, int]] = {}
        self.timed: dict[str, Callable[[], Any]] = {}
        self.depth = 1
        self._models = 0

    def normal(self, *shape: int, seed: int = 0) -> Any:
        """A float32 tensor of standard normal numbers, the same on both sides."""
        values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        return self.torch.from_numpy(values).to(self.device)

    def integers(self, high: int, *shape: int, seed: int = 0, low: int = 0) -> Any:
        """An int64 tensor of numbers from *low* to below *high*, the same on both sides."""
        return self.torch.from_numpy(np.random.default_rng(seed).integers(low, high, shape)).to(self.device)

    def same(self, model: Any) -> Any:
        """*model* with the weights that it has on PyTorch's side, moved a little from where its layers start: a bias of
        zeros would hide what is wrong with it. Sets the depth to the number of the model's layers.
        """
        file = self.other / f"weights-{self._models}.npz"
        self._models += 1
        state = model.state_dict()
        if self.side == "pytorch":
            numbers = np.random.default_rng(1)
            parameters = dict(model.named_parameters())
            with self.torch.no_grad():
                for name, parameter in parameters.items():
                    if parameter.is_floating_point():
                        moved = np.asarray(0.02 * numbers.standard_normal(tuple(parameter.shape)))
                        state[name].add_(self.torch.from_numpy(moved).to(parameter.dtype))
            np.savez(file, **{name: array(value) for name, value in state.items()})
        else:
            with np.load(file) as arrays:
                if set(arrays) != set(state):
                    raise AssertionError(f"the state's names differ: {sorted(set(arrays) ^ set(state))}")
                loaded = {name: self.torch.from_numpy(arrays[name]).to(state[name].dtype) for name in arrays}
            model.load_state_dict(loaded)
        self.depth = max(1, sum(1 for layer in model.modules() if not list(layer.children())))
        return model.to(self.device)

    def record(self, name: str, value: Any, depth: int | None = None) -> None:
        """Keep *value* for the comparison: a tensor, a number, text, or a container of these.

        *depth* is the number of layers whose rounding adds up in it; without it, those of the model last given to
        `same`. What is not a float has to be equal.
        """
        for path, leaf in leaves(value, name):
            if path in self.values:
                raise ValueError(f"{path} is recorded twice")
            self.values[path] = array(leaf), self.depth if depth is None else depth

    def time(self, name: str, function: Callable[[], Any]) -> None:
        """Have *function* timed on both sides in turn, when the job has ended; the report calls it *name*."""
        self.timed[name] = function

    def train(
        self,
        model: Any,
        loss: Callable[[Any], Any],
        *,
        optimizer: str = "SGD",
        rate: float = 0.05,
        precise: bool = False,
    ) -> None:
        """Record the loss, every gradient, and the losses of three steps of *optimizer*; have a step timed.

        With *precise* what is recorded is computed in float64, and *loss* casts its inputs: in float32 rounding decides
        which of two elements a maximum is, where they are next to equal.
        """
        if precise:
            self.time("training", self._step(model, loss, optimizer, rate))
            model = copy.deepcopy(model).double()
        step = self._step(model, loss, optimizer, rate)
        value = loss(model)
        value.backward()
        self.record("loss", value)
        gradients = {name: one.grad for name, one in model.named_parameters() if one.grad is not None}
        self.record("gradient", gradients, depth=2 * self.depth)
        self.record("steps", [step() for _ in range(3)], depth=4 * self.depth)
        self.record("stepped", dict(model.named_parameters()), depth=4 * self.depth)
        if not precise:
            self.time("training", step)

    def _step(self, model: Any, loss: Callable[[Any], Any], optimizer: str, rate: float) -> Callable[[], Any]:
        stepper = getattr(self.torch.optim, optimizer)(model.parameters(), lr=rate)

        def step() -> Any:
            stepper.zero_grad()
            value = loss(model)
            value.backward()
            stepper.step()
            return value.detach()

        return step


def folder_of(folder: Path, name: str, side: str) -> Path:
    """Where the job *name* leaves its files on one side."""
    return folder / f"{re.sub('[^a-zA-Z0-9.]+', '-', name)}.{side}"


def leaves(value: Any, path: str) -> Iterable[tuple[str, Any]]:
    """The leaves of nested dicts and sequences, with their paths; None is left out."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from leaves(one, f"{path}.{number}")
    elif value is not None:
        yield path, value


def array(value: Any) -> np.ndarray:
    """*value*, a tensor, a number or text, in NumPy; what NumPy has no dtype for as float32."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype).endswith("bfloat16"):
            value = value.float()
        return np.array(value.numpy())
    made = np.asarray(value, np.float32 if isinstance(value, float) else None)  # computed in the model's float32
    if made.dtype.kind == "O":
        raise TypeError(f"a {type(value).__name__} cannot be recorded: {value!r:.100}")
    return made
