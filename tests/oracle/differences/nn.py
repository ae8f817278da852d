"""What differs in ``polyad.ops.nn``: layers' functions and losses."""

from __future__ import annotations

import re

import numpy as np

from polyad import errors
from polyad.base.dtypes import FLOATING, INTEGER, iinfo

from ..calls import Call, Given, contiguous, gapped, leaves, row_major
from ..outcomes import Mismatch, Outcome
from .difference import Difference, floats, message, module, numbers


def _assertions(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "exception" and isinstance(theirs.error, (AssertionError, ZeroDivisionError))


def _recurrent(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and ".recurrent" in module(call) and isinstance(ours.error, RuntimeError)


def _mixed_losses(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    dtypes = {given.dtype for given in call.givens()}
    return mismatch.kind in ("value", "gradient", "dtype") and len(dtypes) > 1 and ".losses" in module(call)


def _number_for_a_weight(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    asked = "Tensor" in message(ours.error) or "tensor" in message(ours.error)
    return mismatch.kind == "refused" and isinstance(ours.error, errors.ArgumentTypeError) and numbers(call) and asked


def _tied_distances(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    largest = np.inf in leaves((call.args[1:], dict(call.kwargs)))
    return mismatch.kind == "gradient" and call.name in ("pdist", "cdist") and largest


def _wrong_rank(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    told = isinstance(theirs.error, IndexError) and "Dimension out of range" in message(theirs.error)
    return mismatch.kind == "exception" and isinstance(ours.error, errors.ShapeError) and told


def _losses(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and "must have one shape" in message(ours.error) and "loss" in module(call)


def _stands_for_nothing(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and re.search(r"(reduction|_mode) is -?\d+", message(ours.error)) is not None


def _dropout_in_place(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    given = call.givens()
    nothing = bool(given) and (given[0].values.size == 0 or given[0].dtype.category < FLOATING)
    return mismatch.kind in ("refused", "exception") and call.name.endswith("dropout_") and nothing


def _means_of_integers(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    integers = all(given.dtype.category == INTEGER for given in call.givens())
    return mismatch.kind == "value" and call.name == "local_response_norm" and integers


def _index_of_no_window(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "value" or not call.name.startswith("max_pool") or not mismatch.text.startswith("result 1"):
        return False
    given = call.givens()[0]
    if given.dtype.category != INTEGER:
        return False
    largest, index = (one.values for one in ours.results)
    return bool((largest[index != theirs.results[1].values] == iinfo(given.dtype).min).all())


def _pooled_into_gaps(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    out = call.kwargs.get("out")
    gaps = isinstance(out, Given) and out.strides != row_major(out.shape)
    return mismatch.kind == "written" and call.name == "avg_pool3d" and gaps


DIFFERENCES = [
    Difference(
        "the memory beside out of avg_pool3d",
        "stays as it is; PyTorch writes a result of any strides as if it were row-major",
        _pooled_into_gaps,
        Call(
            "nn.functional.avg_pool3d",
            (contiguous(floats(1, 2, 2, 4)), (1, 2, 2)),
            {"out": gapped(np.zeros((1, 2, 1, 2)), (1, 1, 1, 2))},
            "out",
        ),
    ),
    Difference(
        "recurrent networks of other shapes, or complex",
        "are refused, where PyTorch computes with a part of the parameters, and some cells take complex numbers",
        _recurrent,
        Call(
            "gru_cell",
            tuple(contiguous(np.ones(shape) + 0j) for shape in ((1, 2), (1, 1), (3, 2), (3, 1))),
        ),
    ),
    Difference(
        "assertions",
        "a RuntimeError that names the arguments, where PyTorch fails an assertion or divides by zero",
        _assertions,
        Call(
            "nn.functional.group_norm",
            (contiguous(np.zeros((1, 0, 4))), 0, contiguous(np.zeros(0)), contiguous(np.zeros(0))),
        ),
    ),
    Difference(
        "the gradient of ctc_loss",
        "is that of the loss; PyTorch's is of log_softmax and loss together, whatever made the input",
        lambda call, mismatch, ours, theirs: mismatch.kind == "gradient" and call.name == "ctc_loss",
        Call(
            "nn.functional.ctc_loss",
            (
                contiguous(np.log(floats(2, 1, 3) / 3)),
                contiguous(np.array([[1]])),
                contiguous(np.array([2])),
                contiguous(np.array([1])),
            ),
        ).with_gradients(),
    ),
    Difference(
        "losses of several dtypes",
        "all operands are promoted together; PyTorch promotes them in pairs, and rounds on the way",
        _mixed_losses,
        Call(
            "nn.functional.triplet_margin_loss",
            (
                contiguous(np.array([[-1.0, 0.0]], np.float16)),
                contiguous(np.array([[10000.0, 1.5]], np.float16)),
                contiguous(np.array([[2.0, 0.5]])),
            ),
        ),
    ),
    Difference(
        "a number for a tensor of weights",
        "is refused where a tensor is asked for",
        _number_for_a_weight,
        Call("nn.functional.multilabel_soft_margin_loss", (contiguous(floats(2, 2)), contiguous(floats(2, 2)), 1)),
    ),
    Difference(
        "the gradient of a largest difference that several coordinates have",
        "is shared among them, as in amax; PyTorch gives each of them the whole",
        _tied_distances,
        Call("nn.functional.pdist", (contiguous(np.array([[0.0, 0.0], [1.0, 1.0]])),), {"p": np.inf}).with_gradients(),
    ),
    Difference(
        "operands of too few dimensions",
        "a RuntimeError that tells the shape, where PyTorch looks for a dimension that is not there",
        _wrong_rank,
        Call("nn.functional.unfold", (contiguous(floats(4, 4)), (2, 2))),
    ),
    Difference(
        "losses of shapes that broadcast",
        "raise, since a column against a row is a mistake",
        _losses,
        Call("nn.functional.multilabel_soft_margin_loss", (contiguous(floats(3, 1)), contiguous(floats(3)))),
    ),
    Difference(
        "numbers that stand for no reduction and no mode",
        "PyTorch takes each for some",
        _stands_for_nothing,
        Call("kl_div", (contiguous(floats(2)), contiguous(floats(2)), 7)),
    ),
    Difference(
        "in-place dropout of integers and of nothing",
        "is refused where other dropout is, and where other writes are",
        _dropout_in_place,
        Call("alpha_dropout_", (contiguous(np.array([1, 2])), 1.0, True)),
    ),
    Difference(
        "local_response_norm of integers",
        "takes means in floating point; PyTorch takes them in integers",
        _means_of_integers,
        Call("nn.functional.local_response_norm", (contiguous(np.array([[[1], [2], [3]]])), 3), {"alpha": 2.0}),
    ),
    Difference(
        "the index of a window's largest where all are the smallest number of their dtype",
        "names one of them; PyTorch's channels-last kernel names an element outside of the window",
        _index_of_no_window,
        Call(
            "max_pool3d",
            (Given(np.zeros(120, np.uint8), (1, 1, 4, 5, 6), (120, 1, 30, 6, 1)), 2),
            {"stride": 2, "dilation": (2, 1, 2), "ceil_mode": True, "return_indices": True},
        ),
    ),
]
