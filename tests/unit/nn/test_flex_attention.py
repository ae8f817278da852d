"""`nn.attention.flex_attention`: against attention written out, its masks against their definition."""

from __future__ import annotations

import numpy as np
import pytest

import polyad
from polyad.nn.attention import flex_attention as flex
from polyad.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

BIAS = polyad.tensor([0.5, -1.0, 2.0, 0.0], dtype=polyad.float64)


def causal(b, h, q, k):
    return q >= k


def near(b, h, q, k):
    return q - k < 3


def biased(score, b, h, q, k):
    return score + BIAS[h] * (q - k) + polyad.where(b == 1, 0.25, 0.0)


def operands(heads: int = 4, seed: int = 0) -> list[polyad.Tensor]:
    random = np.random.default_rng(seed)
    shapes = ((2, 4, 6, 3), (2, heads, 7, 3), (2, heads, 7, 5))
    return [polyad.tensor(random.standard_normal(shape), requires_grad=True) for shape in shapes]


def written_out(query, key, value, score_mod=None, mask_mod=None, scale=None) -> tuple[np.ndarray, np.ndarray]:
    q, k, v = (one.detach().numpy() for one in (query, key, value))
    k, v = (one.repeat(q.shape[1] // one.shape[1], 1) for one in (k, v))
    out, sums = np.zeros((*q.shape[:3], v.shape[-1])), np.zeros(q.shape[:3])
    bias = BIAS.numpy()
    for b, h, i in np.ndindex(*q.shape[:3]):
        scores = k[b, h] @ q[b, h, i] * (q.shape[-1] ** -0.5 if scale is None else scale)
        if score_mod:
            scores = np.array([s + bias[h] * (i - j) + (0.25 if b == 1 else 0) for j, s in enumerate(scores)])
        counts = np.array([mask_mod is None or mask_mod(b, h, i, j) for j in range(len(scores))])
        weights = np.where(counts, np.exp(scores), 0.0)
        sums[b, h, i] = weights.sum()
        out[b, h, i] = weights / (weights.sum() or 1.0) @ v[b, h]
    with np.errstate(divide="ignore"):
        return out, np.log(sums)


@pytest.mark.parametrize("heads", [4, 2, 1])
@pytest.mark.parametrize("score_mod", [None, biased])
@pytest.mark.parametrize("mask", [None, causal, and_masks(causal, near), lambda b, h, q, k: (k > 100) | (q > 2)])
def test_values(heads: int, score_mod, mask) -> None:
    given = operands(heads)
    block_mask = None if mask is None else create_block_mask(mask, 2, None, 6, 7, device="cpu", BLOCK_SIZE=(4, 2))
    out, aux = flex_attention(
        *given, score_mod, block_mask, scale=0.4, enable_gqa=heads < 4, return_aux=AuxRequest(lse=True, max_scores=True)
    )
    python_mask = mask and (lambda *indices: bool(mask(*(polyad.tensor(i) for i in indices))))
    expected, sums = written_out(*given, score_mod, python_mask, 0.4)
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(aux.lse.detach().numpy(), sums, rtol=1e-13, atol=1e-13)
    assert (aux.max_scores <= aux.lse).all()


def test_gradients() -> None:
    mask = create_block_mask(causal, None, None, 6, 7, device="cpu", BLOCK_SIZE=4)
    call = lambda *given: flex_attention(*given, biased, mask)  # noqa: E731
    assert polyad.autograd.gradcheck(call, operands())


def test_a_row_that_attends_to_nothing_has_no_gradient_of_nan() -> None:
    query, key, value = operands()
    mask = create_block_mask(lambda b, h, q, k: (q > 2) & (k < 7), None, None, 6, 7, device="cpu", BLOCK_SIZE=4)
    out = flex_attention(query, key, value, block_mask=mask)
    assert (out[:, :, :3] == 0).all()
    out.sum().backward()
    assert all(one.grad.isfinite().all() for one in (query, key, value))


def test_half_types_are_computed_in_float32() -> None:
    given = [one.detach().to(polyad.bfloat16) for one in operands()]
    out, lse = flex_attention(*given, return_lse=True)
    assert (out.dtype, lse.dtype) == (polyad.bfloat16, polyad.float32)
    exact = flex_attention(*[one.float() for one in given])
    assert polyad.equal(out, exact.to(polyad.bfloat16))


def test_block_lists() -> None:
    mask = create_block_mask(causal, None, 2, 8, 6, device="cpu", BLOCK_SIZE=(4, 2))
    assert mask.shape == (1, 2, 8, 6)
    assert mask.to_dense()[0, 1].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert mask.kv_num_blocks[0, 0].tolist() == [2, 1]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 2]
    assert mask.full_kv_indices[0, 0, 1].tolist()[:2] == [0, 1]
    assert mask.q_num_blocks[0, 0].tolist() == [1, 1, 1]
    assert mask.kv_indices.dtype is polyad.int32
    assert mask.sparsity() == pytest.approx(100 * (1 - 5 * 8 / 48), abs=1e-9)
    assert mask.numel() == 96
    assert polyad.equal(mask.mask("cpu"), create_mask(causal, None, 2, 8, 6, device="cpu"))
    assert mask.to("cpu").kv_indices.equal(mask.kv_indices)
    whole = create_block_mask(causal, None, 2, 8, 6, device="cpu", BLOCK_SIZE=(4, 2), separate_full_blocks=False)
    assert whole.full_kv_indices is None
    assert polyad.equal(whole.mask("cpu"), mask.mask("cpu"))


def test_blocks_that_are_not_listed_do_not_count() -> None:
    counts, indices = polyad.tensor([[[1, 1]]], dtype=polyad.int32), polyad.tensor([[[[0, 1], [1, 0]]]])
    mask = BlockMask.from_kv_blocks(counts, indices.int(), BLOCK_SIZE=2)
    assert mask.mask("cpu")[0, 0].int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert mask.seq_lengths == (4, 4)


def test_masks_combine() -> None:
    args = (None, None, 5, 5, "cpu")
    one, other = create_mask(causal, *args), create_mask(near, *args)
    assert polyad.equal(create_mask(and_masks(causal, near), *args), one & other)
    assert polyad.equal(create_mask(or_masks(causal, near), *args), one | other)
    assert create_mask(noop_mask, *args).all()
    of_scores = create_mask(lambda s, b, h, q, k: polyad.where(q >= k, s, -polyad.inf), *args)
    assert polyad.equal(of_scores, one)


def test_a_part_of_a_mask_needs_a_function_of_its_own() -> None:
    mask = create_block_mask(causal, None, 4, 6, 7, device="cpu", BLOCK_SIZE=4)
    part = mask[:, 1]
    assert part.shape == (1, 1, 6, 7)
    query, key, value = (one[:, :1] for one in operands())
    with pytest.raises(NotImplementedError, match="a part of another"):
        flex_attention(query, key, value, block_mask=part)
    part.mask_mod = causal
    expected = flex_attention(query, key, value, block_mask=create_block_mask(causal, None, None, 6, 7, device="cpu"))
    assert polyad.equal(flex_attention(query, key, value, block_mask=part), expected)


Q = polyad.zeros(1, 4, 2, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: flex_attention(Q[0], Q, Q), NotImplementedError, "other than 4 dimensions"),
        (lambda: flex_attention(Q, Q[:, :2], Q[:, :2]), ValueError, "other numbers of heads"),
        (lambda: flex_attention(Q, Q.repeat(1, 2, 1, 1)[:, :3], Q[:, :3], enable_gqa=True), ValueError, "no multiple"),
        (lambda: flex_attention(Q, Q, Q[:, :, :1]), ValueError, "key and value have other shapes"),
        (lambda: flex_attention(Q, Q[..., :2], Q), ValueError, "query and key do not fit"),
        (lambda: flex_attention(Q, Q.double(), Q), ValueError, "not of one floating point dtype"),
        (lambda: flex_attention(Q, Q, Q, block_mask=3), TypeError, "block_mask is 3"),
        (
            lambda: flex_attention(Q, Q, Q, block_mask=create_block_mask(causal, None, None, 4, 2, device="cpu")),
            ValueError,
            r"block_mask was made for \(1, 1, 4, 2\), scores are \(1, 4, 2, 2\)",
        ),
        (lambda: create_mask(lambda b, h, q: q, None, None, 2, 2), TypeError, "takes 3 arguments"),
        (lambda: and_masks(causal, 3), TypeError, "3 cannot be called"),
    ],
)
def test_mistakes(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_pytorchs_default_is_there() -> None:
    assert flex._DEFAULT_SPARSE_BLOCK_SIZE == 128
