"""Checks by PyTorch's names."""

from __future__ import annotations

import pytest

import polyad


def test_assert() -> None:
    polyad._assert(polyad.ones(1) > 0, "fine")
    with pytest.raises(AssertionError, match=r"^no$"):
        polyad._assert(polyad.zeros(1) > 0, "no")


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (polyad._check, RuntimeError),
        (polyad._check_index, IndexError),
        (polyad._check_value, ValueError),
        (polyad._check_type, TypeError),
        (polyad._check_not_implemented, NotImplementedError),
    ],
)
def test_checks(check, error) -> None:
    check(True, lambda: pytest.fail("called for nothing"))
    with pytest.raises(error, match=r"^because 3$"):
        check(False, lambda: f"because {3}")
    with pytest.raises(error, match="Expected cond"):
        check(False)
    with pytest.raises(TypeError, match="not a bool"):
        check(1)
    with pytest.raises(TypeError, match="_check_tensor_all"):
        check(polyad.tensor(True))
    with pytest.raises(TypeError, match="not a function"):
        check(False, "because")


def test_of_tensors_and_sizes() -> None:
    polyad._check_tensor_all(polyad.ones(3) > 0)
    with pytest.raises(KeyError, match="a zero"):
        polyad._check_tensor_all_with(KeyError, polyad.tensor([1, 0]) > 0, lambda: "a zero")
    with pytest.raises(RuntimeError, match=r"^a zero$"):
        polyad._check_tensor_all(polyad.tensor([1, 0]) > 0, lambda: "a zero")
    with pytest.raises(TypeError, match="tensor of bool"):
        polyad._check_tensor_all(polyad.ones(3))
    polyad._check_is_size(3, max=3)
    for size, most in ((-1, None), (4, 3)):
        with pytest.raises(RuntimeError):
            polyad._check_is_size(size, max=most)
