"""Where a write to an operand or a result of an op, after the call, lets backward work in PyTorch, so it does here: no
op saves what its gradient can do without.

The other way round nothing is asked: polyad saves less here and there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polyad.base.dtypes import complex128, float64

from .calls import Call, mapped
from .libraries import POLYAD, TORCH, Library, invoke
from .templates import compared_paths, is_random, templates_of

SAVES_MORE: dict[str, str] = {
    **dict.fromkeys(
        ("matmul", "linalg.matmul", "einsum", "kron", "cdist", "nn.functional.scaled_dot_product_attention"),
        "PyTorch multiplies a rearranged copy on some paths, and saves that",
    ),
    **dict.fromkeys(
        ("special.ndtr", "nn.functional.gaussian_nll_loss", "Tensor.__rtruediv__"),
        "is made of smaller ops there, which save what is between them",
    ),
    **dict.fromkeys(("linalg.eig", "linalg.eigvals"), "the formula asks its input whether it is real"),
    **dict.fromkeys(
        ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell"),
        "a layer's steps are one op, which saves its results, where PyTorch saves copies step by step",
    ),
    "polar": "the result alone does not tell the sign of the radius",
    "nn.functional.cross_entropy": "saves its input where PyTorch saves log_softmax, which it does not compute",
    "nn.functional.embedding_bag": "finds the places of the maxima again, where PyTorch saves them",
}
"""Functions after which PyTorch lets more be written, with the reason."""


def _tensors(library: Library, tree: Any) -> list[Any]:
    found: list[Any] = []
    mapped(tree, library.Tensor, found.append)
    return found


def _outcome(library: Library, call: Call, written: Callable[[list[Any], list[Any]], Any]) -> str:
    """What becomes of the backward pass after a write to the tensor that *written* chooses of operands and results:
    "works", "stale", or something else where nothing can be compared.
    """
    try:
        tensors, operands = {}, []
        for given in call.givens():
            leaf = library.tensor(given)[0]
            tensors[id(given)] = leaf * 1 if given.requires_grad else leaf
            if given.requires_grad:
                operands.append(tensors[id(given)])
        results = [one for one in _tensors(library, invoke(library, call, tensors)) if one.requires_grad]
        if any(one is other for one in results for other in operands):
            return "the operand itself"
        if not results:
            return "no gradient"
        total = sum((one * 1).sum() for one in results)  # what comes after saves no result
        target = written(operands, results)
    except Exception as error:
        return f"{type(error).__name__} before"
    try:
        target.mul_(1)
    except Exception:
        return "cannot be written to"
    try:
        (total.real if total.is_complex() else total).backward()
    except RuntimeError as error:
        message = str(error)
        return "stale" if "modified by an inplace" in message or "was changed in place" in message else message
    return "works"


def refused(path: str) -> list[str]:
    """The writes after which polyad's backward refuses where PyTorch's works."""
    found = []
    for template in templates_of(path):
        dtype = next((one for one in (float64, complex128) if one in template.dtypes), None)
        if dtype is None:
            continue
        call = template.call(dtype).with_gradients()
        operands = [given for given in call.givens() if given.requires_grad]
        choices: list[tuple[str, Callable[[list[Any], list[Any]], Any]]] = [
            (f"operand {number}", lambda operands, results, number=number: operands[number])
            for number in range(len(operands))
        ]
        choices += [(f"result {number}", lambda operands, results, number=number: results[number]) for number in (0, 1)]
        for what, written in choices:
            if _outcome(POLYAD, call, written) == "stale" and _outcome(TORCH, call, written) == "works":
                found.append(f"{template.name}: {what} of {call}")
    return found


PATHS = [path for path in compared_paths() if not is_random(path)]


@pytest.mark.parametrize("path", [path for path in PATHS if path not in SAVES_MORE])
def test_nothing_needless_is_saved(path: str) -> None:
    found = refused(path)
    assert not found, f"polyad.{path}: backward refuses after a write to\n" + "\n".join(found[:10])


@pytest.mark.parametrize("path", SAVES_MORE)
def test_the_list_is_up_to_date(path: str) -> None:
    assert refused(path), f"delete {path} from SAVES_MORE"
