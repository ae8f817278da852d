"""``masked`` and ``signal.windows`` against PyTorch's: arguments, values, gradients, dtypes and errors."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.masked
import torch.signal.windows

import polyad
from polyad.interop.numpy import numpy_dtype

WHOLE = [name for name in polyad.masked.__all__ if name not in ("norm", "normalize", "logaddexp")]
ALONG = {"cumsum", "cumprod", "softmax", "log_softmax", "softmin", "median", "argmax", "argmin"}
NOT_OF_INTEGERS = {
    "logsumexp",
    "logaddexp",
    "mean",
    "norm",
    "normalize",
    "softmax",
    "log_softmax",
    "softmin",
    "std",
    "var",
}
WINDOWS: dict[str, list[dict[str, Any]]] = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}],
    "gaussian": [{}, {"std": 2.5}],
    "general_cosine": [{"a": [0.4, 0.5, 0.1]}],
    "general_hamming": [{}, {"alpha": 0.6}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.0}, {"beta": 3.5}],
    "nuttall": [{}],
}


def parameters(function: Any) -> list[Any]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, str(one.default).replace("torch.", "polyad.")) for one in found]


@pytest.mark.parametrize("name", polyad.masked.__all__)
def test_arguments_of_masked(name: str) -> None:
    assert parameters(getattr(polyad.masked, name)) == parameters(getattr(torch.masked, name))


@pytest.mark.parametrize("name", WINDOWS)
def test_arguments_of_windows(name: str) -> None:
    assert parameters(getattr(polyad.signal.windows, name)) == parameters(getattr(torch.signal.windows, name))


def agree(ours: Any, theirs: Any, what: str) -> None:
    assert numpy_dtype(ours.dtype) == theirs.detach().numpy().dtype, what
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-10, 1e-10, err_msg=what)


MASKS = {
    "none": None,
    "some": np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]]),
    "rows": np.array([[True], [False], [True]]),
    "columns": np.array([True, False, True, True]),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", polyad.masked.__all__)
def test_masked(name: str, mask: str) -> None:
    values = np.random.default_rng(0).permutation(12).reshape(3, 4) - 4
    dtypes = ["float64", "int32"] if name not in NOT_OF_INTEGERS else ["float64"]
    for dtype in dtypes:
        for dim in (0, 1, -1) if name in ALONG or name == "normalize" else (None, 0, (0, 1), ()):
            results, inputs = [], []
            for library in (polyad, torch):
                x = library.tensor(values, dtype=getattr(library, dtype)).requires_grad_(dtype == "float64")
                kept = None if MASKS[mask] is None else library.tensor(MASKS[mask])
                function = getattr(library.masked, name)
                if name == "logaddexp":
                    results.append(function(x, x * 0.5, input_mask=kept))
                elif name in ("norm", "normalize"):
                    results.append([function(x, order, dim, mask=kept) for order in (1, 2.0, float("inf"))][1])
                else:
                    if name == "median" and dtype == "int32" and mask in ("rows", "columns"):
                        continue  # of nothing, which is an error
                    results.append(function(x, dim, mask=kept))
                inputs.append(x)
            if len(results) < 2:
                continue
            what = f"{name} of {dtype} with mask {mask} along {dim}"
            agree(*results, what)
            if results[1].requires_grad and not torch.isnan(results[1]).any() and not torch.isinf(results[1]).any():
                for result in results:
                    (result * result).sum().backward()
                agree(inputs[0].grad, inputs[1].grad, f"gradient of {what}")


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("how", [{"unbiased": False}, {"correction": 2}, {"correction": 0.5, "keepdim": True}])
def test_spread(name: str, how: dict[str, Any]) -> None:
    values = np.random.default_rng(0).normal(size=(3, 4))
    results = [
        getattr(library.masked, name)(library.tensor(values), 1, mask=library.tensor(MASKS["some"]), **how)
        for library in (polyad, torch)
    ]
    agree(*results, name)


@pytest.mark.parametrize("name", WINDOWS)
def test_window(name: str) -> None:
    for settings in WINDOWS[name]:
        for M in (0, 1, 2, 5, 8):
            for sym in (True, False):
                for dtype in ("float32", "float64"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        ours, theirs = (
                            getattr(library.signal.windows, name)(
                                M, sym=sym, dtype=getattr(library, dtype), requires_grad=False, **settings
                            )
                            for library in (polyad, torch)
                        )
                    assert numpy_dtype(ours.dtype) == theirs.numpy().dtype
                    room = 2e-6 if dtype == "float32" else 1e-12
                    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), room, room, err_msg=f"{name} {M} {sym}")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("hann", {"M": -1}),
        ("hann", {"M": 3, "dtype": "float16"}),
        ("exponential", {"M": 3, "tau": 0}),
        ("exponential", {"M": 3, "center": 1.0}),
        ("gaussian", {"M": 3, "std": -1}),
        ("kaiser", {"M": 3, "beta": -1}),
        ("general_cosine", {"M": 3, "a": []}),
        ("general_cosine", {"M": 3, "a": 4}),
    ],
)
def test_refused_windows(name: str, call: dict[str, Any]) -> None:
    raised = []
    for library in (polyad, torch):
        arguments = {**call, **({"dtype": getattr(library, call["dtype"])} if "dtype" in call else {})}
        with pytest.raises((ValueError, TypeError)) as error:
            getattr(library.signal.windows, name)(**arguments)
        raised.append(error.value)
    assert isinstance(raised[0], type(raised[1]))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda lib: lib.masked.sum(lib.ones(3), mask=lib.ones(2, 3, dtype=lib.bool)), IndexError),
        (lambda lib: lib.masked.sum(lib.ones(3), mask=lib.ones(2, dtype=lib.bool)), RuntimeError),
        (lambda lib: lib.masked.sum(lib.ones(3), 1), IndexError),
        (lambda lib: lib.masked.mean(lib.ones(3, dtype=lib.int64)), ValueError),
        (lambda lib: lib.masked.median(lib.ones(3, dtype=lib.int64), 0, mask=lib.zeros(3, dtype=lib.bool)), ValueError),
    ],
)
def test_refused_masks(call: Any, error: type[Exception]) -> None:
    for library in (polyad, torch):
        with pytest.raises(error):
            call(library)
