"""A look, in about a second, at whether a device works at all: for `polyad doctor`. The real test is conformance.

Each check is a function of a device that returns what it got and what it should have got. All numbers in them are small
integers, which every floating point dtype holds exactly, so that got and wanted must be equal.

To add a check, write such a function and list it in ``CHECKS``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polyad

__all__ = ["Outcome", "test_device"]

Check = Callable[[str], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a device's checks came to: failures by check, with the reason; how many checks; how long they took."""

    failures: dict[str, str]
    checks: int
    seconds: float


def test_device(device: str) -> Outcome:
    """Run all checks on *device*. Never raises: an error is a failure, with its first line as the reason."""
    start = time.perf_counter()
    failures = {}
    for name, check in CHECKS.items():
        try:
            got, wanted = check(device)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        else:
            if got != wanted:
                failures[name] = f"got {got}, should be {wanted}"
    return Outcome(failures, len(CHECKS), time.perf_counter() - start)


def _memory(device: str) -> tuple[Any, Any]:
    data = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]
    return polyad.tensor(data, device=device).to("cpu").tolist(), data


def _arithmetic(device: str) -> tuple[Any, Any]:
    x = polyad.arange(6, device=device).reshape(2, 3).to(polyad.float32)
    return ((x * 2 + 1) - x).relu().sum(1).tolist(), [6.0, 15.0]


def _matrix_product(device: str) -> tuple[Any, Any]:
    a = polyad.arange(64 * 32, device=device).reshape(64, 32).to(polyad.float32) % 7
    b = polyad.arange(32 * 48, device=device).reshape(32, 48).to(polyad.float32) % 5
    row, column = [k % 7 for k in range(63 * 32, 64 * 32)], [(k * 48 + 47) % 5 for k in range(32)]
    return (a @ b)[63, 47].item(), float(sum(p * q for p, q in zip(row, column, strict=True)))


def _views(device: str) -> tuple[Any, Any]:
    x = polyad.zeros(2, 3, device=device)
    x.t()[1:, 0] = 7.0
    return x.tolist(), [[0.0, 7.0, 7.0], [0.0, 0.0, 0.0]]


def _gradients(device: str) -> tuple[Any, Any]:
    x = polyad.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    (x * x).sum().backward()
    return None if x.grad is None else x.grad.tolist(), [2.0, 4.0, 6.0]


def _convolution(device: str) -> tuple[Any, Any]:
    image = polyad.arange(16, device=device).reshape(1, 1, 4, 4).to(polyad.float32)
    result = polyad.nn.functional.conv2d(image, polyad.ones(1, 1, 3, 3, device=device))
    return result.flatten().tolist(), [45.0, 54.0, 81.0, 90.0]


def _random_bits(device: str) -> tuple[Any, Any]:
    def draw(where: str) -> Any:
        return polyad.rand(5, generator=polyad.Generator(where).manual_seed(1), device=where).tolist()

    return draw(device), draw("cpu")


CHECKS: dict[str, Check] = {
    "memory": _memory,
    "arithmetic": _arithmetic,
    "matrix product": _matrix_product,
    "views": _views,
    "gradients": _gradients,
    "convolution": _convolution,
    "random bits": _random_bits,
}
