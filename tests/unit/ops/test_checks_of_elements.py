"""Checks of elements by which nothing is decided: `polyad.ops.reductions.any_all.check_all`."""

import warnings

import pytest

import polyad
from polyad.errors import ShapeError
from polyad.ops.reductions.any_all import check_all

F = polyad.nn.functional


def refusal(position, value):
    return ShapeError(f"element {position} is {value}")


def test_the_first_wrong_element_is_told_with_its_value_and_the_operands():
    x = polyad.tensor([[1, 2], [-3, -4]])
    with pytest.raises(RuntimeError, match=r"element \(1, 0\) is -3\n    given  int64 \(2, 2\) on cpu"):
        check_all(x > 0, refusal, x, given=x)
    with pytest.raises(RuntimeError, match=r"element \(0,\) is 0$"):
        check_all(polyad.tensor([0, 1, 0]), refusal)
    check_all(x != 0, refusal, x)
    check_all(polyad.zeros(0), refusal)
    check_all(polyad.zeros(2, device="meta"), refusal)


def test_batches_are_checked_as_a_whole():
    x = polyad.tensor([[0, 1], [2, 3]])
    mapped = polyad.func.vmap(lambda row: F.one_hot(row, 4))
    assert mapped(x).tolist() == F.one_hot(x, 4).tolist()
    with pytest.raises(IndexError, match=r"one_hot: tensor\[1, 1\] = 3 is not in \[0, 3\)"):
        polyad.func.vmap(lambda row: F.one_hot(row, 3))(x)


def test_a_captured_graph_checks_again():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is decided by elements, so nothing is baked in
        graph = polyad.jit.capture(lambda x: F.one_hot(x, 3), polyad.tensor([0, 2]))
    assert graph(polyad.tensor([1, 1])).tolist() == [[0, 1, 0], [0, 1, 0]]
    with pytest.raises(IndexError, match=r"one_hot: tensor\[1\] = 3 is not in \[0, 3\)"):
        graph(polyad.tensor([1, 3]))


def test_a_function_that_is_differentiated_is_checked():
    x, mean = polyad.tensor([1.0, -1.0]), polyad.zeros(2)
    with pytest.raises(ValueError, match="a variance is negative"):
        polyad.func.grad(lambda var: F.gaussian_nll_loss(mean, mean, var))(x)
    with pytest.raises(ValueError, match="a variance is negative"):
        polyad.func.jvp(lambda var: F.gaussian_nll_loss(mean, mean, var), (x,), (x,))


@pytest.mark.parametrize(("repeats", "size"), [([1, -1], 0), ([1, 2], 2), ([1, 2], 4)])
def test_a_size_that_is_not_the_sum_of_repeats_is_refused(repeats, size):
    with pytest.raises(RuntimeError, match="repeats"):
        polyad.repeat_interleave(polyad.arange(2), polyad.tensor(repeats), output_size=size)
