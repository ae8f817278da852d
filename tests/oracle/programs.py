"""Random programs: leaves, ops, views, writes in place, blocks without gradients, and a backward pass at the end.

A program is a list of `Step`, each the name of a step in `fuzz.steps` and the numbers that decide its operands; it is
the same list for both libraries, so a step finds the same tensors in both. A step that raises leaves the program as it
is, in both.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

import polyad
from fuzz.steps import NO_GRAD, OPS, STATE, STEPS, VIEWS, WRITES, Pool, Step
from polyad.errors import AutogradError

from .libraries import POLYAD, TORCH, Library
from .outcomes import Mismatch, builtin


def steps(draw_count: int = 12) -> st.SearchStrategy[list[Step]]:
    """Programs of up to *draw_count* steps; views and writes come most often."""
    names = st.one_of(
        st.sampled_from(sorted(VIEWS)),
        st.sampled_from(sorted(OPS)),
        st.sampled_from(sorted(WRITES)),
        st.sampled_from(sorted(WRITES)),
        st.sampled_from(sorted(STATE)),
        st.sampled_from(sorted(WRITES)).map(lambda name: name + NO_GRAD),
    )
    return st.lists(st.builds(Step, names, st.tuples(*[st.integers(0, 6)] * 4)), min_size=1, max_size=draw_count)


@dataclass
class Run:
    """What a program did in one library: for each step what it raised, and at the end the tensors and gradients."""

    errors: list[BaseException | None]
    states: list[list[tuple[Any, ...] | None]]
    values: list[np.ndarray]
    gradients: dict[str, np.ndarray | None]
    failure: BaseException | None


def run(library: Library, program: list[Step]) -> Run:
    """Run *program* in one library, on three leaves: two that require gradients and one that does not."""
    module = polyad if library is POLYAD else torch
    random = np.random.default_rng(7)
    made = []
    for shape, requires in (((2, 3), True), ((3,), True), ((2, 2, 3), False)):
        leaf = library.new(random.uniform(-1, 1, shape))
        made.append(leaf.requires_grad_() if requires else leaf)
    # A leaf cannot be written to: programs work on tensors that can, and on the leaves' own aliases.
    pool = Pool(module, [made[0] * 1, made[2], made[1], made[0], made[1] * 1], made)
    errors: list[BaseException | None] = []
    states = []
    for step in program:
        quiet = module.no_grad() if step.name.endswith(NO_GRAD) else contextlib.nullcontext()
        action = STEPS[step.name.removesuffix(NO_GRAD)]
        target = pool.pick(step.picks[0])
        try:
            with quiet:
                result = action(pool, target, step.picks)
        except Exception as error:
            errors.append(error)
        else:
            errors.append(None)
            is_new = isinstance(result, library.Tensor) and not any(result is one for one in pool.tensors)
            if is_new and result.numel() <= 64:
                pool.tensors.append(result)
        states.append([_state(one) for one in pool.tensors])
    failure = None
    try:
        live = [one for one in pool.tensors if _state(one) is not None and one.requires_grad]
        if live:
            module.autograd.backward([(one * (0.5 + 0.25 * i)).double().sum() for i, one in enumerate(live)])
    except Exception as error:
        failure = error
    with_gradient = {f"leaf {number}": one for number, one in enumerate(pool.leaves)}
    with_gradient |= {f"tensor {n}": one for n, one in enumerate(pool.tensors) if _keeps_gradient(one)}
    gradients = {name: None if one.grad is None else library.host(one.grad) for name, one in with_gradient.items()}
    return Run(errors, states, [library.host(one) for one in pool.tensors], gradients, failure)


def _keeps_gradient(tensor: Any) -> bool:
    """Whether a result of an op keeps its gradient, and was never written to: after a write through a view of it,
    PyTorch keeps the gradient of what it was before, polyad that of what it is.
    """
    try:
        return bool(tensor.retains_grad and not tensor._version)
    except RuntimeError:
        return False


def _state(tensor: Any) -> tuple[Any, ...] | None:
    """What can be seen of a tensor, None where PyTorch refuses to say."""
    try:
        tensor.grad_fn  # noqa: B018
    except RuntimeError:
        return None
    base = tensor._base
    return (
        tuple(tensor.shape),
        [stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1] if tensor.numel() else [],
        tensor.storage_offset(),
        tensor.requires_grad,
        tensor.is_leaf,
        tensor.requires_grad and tensor.retains_grad,
        base is not None and tensor.requires_grad,
    )


KNOWN = {
    "output of a function that returns multiple views": "writing to results of split, unbind and chunk is allowed",
    "A view was created in no_grad mode": "a view taken without gradients is written as what it is, a constant",
    "has been modified by an inplace operation": "a saved result of an in-place op survives later writes",
    "refer to a single memory location": "a tensor may be written from an overlapping one: as from a copy",
    "through the graph a second time": "what saved no tensors can be run backward again",
    "INTERNAL ASSERT FAILED": "what PyTorch fails on by its own account works",
    "returned an invalid gradient": "a tensor may be transposed in place without gradients: it keeps its history",
    "saved tensor that has been detached in-place": "a saved tensor may be detached: its value is there",
}
"""What PyTorch alone refuses in programs, by its words, and why polyad does not. The comparison ends there."""


OF_A_COPY = {"reshape", "flatten", "softmax"}
"""Steps whose result may be a view of a copy that nobody else sees, and says so; PyTorch's hides it."""


def _follows_its_base(state: tuple[Any, ...]) -> bool:
    """Whether a view was taken when its base required no gradient and says now that it does, as PyTorch's views do.

    To polyad it is the constant that it was. (In PyTorch it becomes a leaf of its own.)
    """
    return bool(state[NAMES.index("requires_grad")] and state[NAMES.index("is_leaf")] and state[-1])


def known(ours: BaseException | None, theirs: BaseException | None) -> str:
    """The reason why only PyTorch raises, "" if there is none."""
    if ours is not None and theirs is not None:
        return "both raise, for what each of them saw first" if isinstance(ours, AutogradError) else ""
    if theirs is None:
        return ""
    return next((reason for words, reason in KNOWN.items() if words in str(theirs)), "")


NAMES = ("shape", "strides", "storage_offset", "requires_grad", "is_leaf", "retains_grad", "is a view with history")


def compare(program: list[Step]) -> list[Mismatch]:
    """Run *program* in both libraries and tell the first step after which they differ."""
    ours, theirs = run(POLYAD, program), run(TORCH, program)
    for number, step in enumerate(program):
        told = f"step {number} ({step.name} {step.picks})"
        one, other = ours.errors[number], theirs.errors[number]
        if known(one, other):
            return []
        if (one is None) != (other is None):
            return [Mismatch("refused" if other is None else "accepted", f"{told}: polyad {one!r}, PyTorch {other!r}")]
        if other is not None and not isinstance(one, builtin(other)):
            return [Mismatch("exception", f"{told}: polyad {one!r}, PyTorch {other!r}")]
        for position, (left, right) in enumerate(zip(ours.states[number], theirs.states[number])):
            if right is None or _follows_its_base(right):
                return []
            for name, a, b in zip(NAMES, left, right):
                if a != b:
                    if name == NAMES[-1] and a and step.name.removesuffix(NO_GRAD) in OF_A_COPY:
                        return []
                    return [Mismatch(name, f"{told}: tensor {position}: {a}, PyTorch {b}")]
    found: list[Mismatch] = []
    if known(ours.failure, theirs.failure):
        return []
    for position, (left, right) in enumerate(zip(ours.values, theirs.values)):
        if left.dtype != right.dtype or not np.allclose(left, right, rtol=1e-5, atol=1e-6, equal_nan=True):
            found.append(Mismatch("value", f"tensor {position}: {left.tolist()}, PyTorch {right.tolist()}"))
    if known(ours.failure, theirs.failure):
        return []
    if (ours.failure is None) != (theirs.failure is None):
        return [*found, Mismatch("backward", f"polyad {ours.failure!r}, PyTorch {theirs.failure!r}")]
    if theirs.failure is not None:
        return found
    for position in ours.gradients.keys() & theirs.gradients.keys():
        left, right = ours.gradients[position], theirs.gradients[position]
        if left is None or right is None:
            if left is not right:
                found.append(Mismatch("gradient", f"of {position}: {left}, PyTorch {right}"))
        elif left.size == right.size and left.shape != right.shape:
            continue  # kept by a tensor that changed its shape in place; PyTorch's has the shape from before
        elif left.shape != right.shape or not np.allclose(left, right, rtol=1e-5, atol=1e-6, equal_nan=True):
            found.append(Mismatch("gradient", f"of {position}: {left.tolist()}, PyTorch {right.tolist()}"))
    return found
