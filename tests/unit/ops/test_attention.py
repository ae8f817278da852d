"""Attention: memory, dropout, masks that forbid everything, and hints."""

from __future__ import annotations

import tracemalloc

import pytest

import polyad
from polyad.nn import functional as F


def heads(*shape):
    polyad.manual_seed(0)
    return polyad.randn(*shape), polyad.randn(*shape), polyad.randn(*shape)


def test_scores_of_all_heads_are_never_held_at_once():
    query, key, value = (x.requires_grad_() for x in heads(8, 8, 256, 16))
    F.scaled_dot_product_attention(query, key, value).sum().backward()
    tracemalloc.start()
    F.scaled_dot_product_attention(query, key, value).sum().backward()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    scores = 64 * 256 * 256 * 4
    assert peak < scores


def test_a_query_that_may_attend_to_nothing():
    query, key, value = (x.requires_grad_() for x in heads(2, 3, 4))
    mask = polyad.tensor([[True, True, False], [False, False, False], [True, False, False]])
    out = F.scaled_dot_product_attention(query, key, value, mask)
    out.sum().backward()
    assert out[:, 1].tolist() == [[0.0] * 4] * 2
    assert query.grad[:, 1].tolist() == [[0.0] * 4] * 2
    assert all(bool(x.grad.isfinite().all()) for x in (query, key, value))


def test_bool_and_additive_masks_agree():
    query, key, value = heads(2, 3, 4)
    mask = polyad.ones(3, 3, dtype=polyad.bool).tril()
    added = polyad.zeros(3, 3).masked_fill(~mask, float("-inf"))
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    for given in (mask, added):
        got = F.scaled_dot_product_attention(query, key, value, given)
        assert polyad.allclose(got, expected, atol=1e-6)


def test_dropout_scales_what_it_keeps():
    query, key = polyad.zeros(1, 1), polyad.zeros(4000, 1)
    polyad.manual_seed(7)
    out = F.scaled_dot_product_attention(query, key, polyad.ones(4000, 1), dropout_p=0.25)
    # A mean of 4000 numbers that are 0 or 4 / 3: three standard deviations.
    assert out.item() == pytest.approx(1, abs=3 * (1 / 3 / 4000) ** 0.5)


def several(*, need_weights, batch=(2,), **settings):
    polyad.manual_seed(1)
    x = polyad.randn(3, *batch, 4)
    weights = [polyad.randn(12, 4), polyad.randn(12), None, None, False, 0.0, polyad.randn(4, 4), polyad.randn(4)]
    return F.multi_head_attention_forward(x, x, x, 4, 2, *weights, need_weights=need_weights, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch": ()},
        {"attn_mask": polyad.ones(3, 3, dtype=polyad.bool).triu(1), "is_causal": True},
        {"attn_mask": polyad.ones(3, 3).triu(1) * -3},
        {"key_padding_mask": polyad.tensor([[False, False, True], [False, True, True]])},
        {"attn_mask": polyad.zeros(4, 3, 3), "key_padding_mask": polyad.zeros(2, 3)},
    ],
)
def test_result_does_not_depend_on_whether_weights_are_wanted(settings):
    out, weights = several(need_weights=True, **settings)
    fast, none = several(need_weights=False, **settings)
    assert none is None
    assert polyad.allclose(out, fast, atol=1e-5)
    assert polyad.allclose(weights.sum(-1), polyad.ones(weights.shape[:-1]))


def test_masks_of_two_kinds_warn():
    with pytest.warns(UserWarning, match="differ in dtype"):
        several(
            need_weights=True,
            attn_mask=polyad.zeros(3, 3),
            key_padding_mask=polyad.zeros(2, 3, dtype=polyad.bool),
        )


def test_dropout_of_several_heads_only_in_training():
    polyad.manual_seed(1)
    x = polyad.randn(3, 2, 4)
    rest = [polyad.eye(4).repeat(3, 1), None, None, None, False, 0.5, polyad.eye(4), None]
    first, _ = F.multi_head_attention_forward(x, x, x, 4, 2, *rest, training=False)
    second, _ = F.multi_head_attention_forward(x, x, x, 4, 2, *rest, training=False)
    drawn, _ = F.multi_head_attention_forward(x, x, x, 4, 2, *rest)
    assert first.tolist() == second.tolist() != drawn.tolist()


def test_heads_that_were_transposed_can_be_viewed_as_features_again():
    heads = polyad.randn(2, 5, 12).view(2, 5, 3, 4).transpose(1, 2)
    out = F.scaled_dot_product_attention(heads, heads, heads)
    assert out.stride() == heads.stride()
    assert out.transpose(1, 2).view(2, 5, 12).tolist() == out.transpose(1, 2).reshape(2, 5, 12).tolist()
    dense = heads.contiguous()
    assert F.scaled_dot_product_attention(dense, dense, dense).tolist() == out.tolist()
