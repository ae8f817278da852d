"""The order in memory of results: that of the operands for elementwise functions, row-major for most others."""

import pytest

import polyad


def strided(*shape):
    return polyad.arange(polyad.Size(shape).numel()).double().reshape(shape)


def transposed(*shape):
    return strided(*reversed(shape)).permute(*reversed(range(len(shape))))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: x.sin(),
        lambda x: x * x,
        lambda x: x == 1,
        lambda x: x.float(),
        lambda x: polyad.erf(x),
        lambda x: x.clamp(0, 3),
        lambda x: polyad.where(x > 1, x, 0),
        lambda x: x.clone(),
        lambda x: x.flip(0),
        lambda x: polyad.rand_like(x),
        lambda x: polyad.zeros_like(x),
        lambda x: polyad.addcmul(x, x, x),
    ],
)
def test_elementwise_results_keep_the_order_of_their_operand(call):
    assert call(transposed(3, 4)).stride() == (1, 3)
    assert call(transposed(2, 3, 4)).stride() == (1, 2, 6)
    assert call(strided(2, 3, 2, 2).permute(0, 3, 1, 2)).stride() == (12, 1, 4, 2)


def test_the_first_operand_that_has_a_say_decides():
    assert (transposed(3, 4) + strided(3, 4)).stride() == (1, 3)
    assert (strided(3, 4) + transposed(3, 4)).stride() == (4, 1)
    assert (strided(4) + transposed(3, 4)).stride() == (1, 3)
    assert (polyad.tensor(1.0) + transposed(3, 4)).stride() == (1, 3)


def test_expanded_dimensions_have_no_say():
    row = strided(4).expand(3, 4)
    assert row.stride() == (0, 1)
    assert row.sin().stride() == (row + 1).stride() == row.float().stride() == (4, 1)
    assert strided(3, 1).expand(3, 4).mT.exp().stride() == (3, 1)


def test_gaps_are_closed_in_order():
    gapped = strided(4, 6)[:, ::2].T
    assert gapped.stride() == (2, 6)
    assert gapped.exp().stride() == gapped.to(polyad.float32).stride() == (1, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: polyad.cat([x, x], 1),
        lambda x: polyad.stack([x, x]),
        lambda x: x.tril(),
        lambda x: x.roll(1, 0),
        lambda x: x.cumsum(0),
    ],
)
def test_other_results_are_row_major(call):
    assert call(transposed(4, 4)).is_contiguous()


def test_joining_channels_last_keeps_it():
    image = strided(1, 2, 2, 3).permute(0, 3, 1, 2)
    assert polyad.cat([image, image]).stride() == (12, 1, 6, 3)


def test_flipping_no_dimensions_gives_a_tensor():
    number = polyad.tensor(2.0).flip(())
    assert number.add_(1).item() == 3


@pytest.mark.parametrize("dtype", [polyad.float16, polyad.bfloat16, polyad.float32])
@pytest.mark.parametrize("op", [polyad.mul, polyad.div, polyad.floor_divide])
def test_of_an_expanded_tensor_and_a_number(op, dtype):
    x = polyad.ones(3, dtype=dtype).expand(2, 3)
    assert op(x, 3).stride() == (3, 1)
    assert op(polyad.ones(3, 2, dtype=dtype).t(), 3).stride() == (1, 2)


def test_repeated_elements_are_in_row_major_order():
    x = transposed(2, 3, 4)
    assert x.repeat(2, 1, 1).stride() == x.tile(2, 1, 1).stride() == x.repeat(1, 1, 1).stride() == (12, 4, 1)
    assert x.repeat(2, 1, 1).view(-1).tolist() == 2 * x.flatten().tolist()
