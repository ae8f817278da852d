"""Attention and the transformer beyond their conformance samples: masks, padding, starting values, errors."""

import math

import pytest

import polyad
from polyad import nn
from polyad.testing import assert_close


def test_attention_has_pytorchs_parameters():
    assert {name: tuple(one.shape) for name, one in nn.MultiheadAttention(8, 2).named_parameters()} == {
        "in_proj_weight": (24, 8),
        "in_proj_bias": (24,),
        "out_proj.weight": (8, 8),
        "out_proj.bias": (8,),
    }
    layer = nn.MultiheadAttention(8, 2, bias=False, add_bias_kv=True, kdim=3, vdim=5)
    assert {name: tuple(one.shape) for name, one in layer.named_parameters()} == {
        "q_proj_weight": (8, 8),
        "k_proj_weight": (8, 3),
        "v_proj_weight": (8, 5),
        "bias_k": (1, 1, 8),
        "bias_v": (1, 1, 8),
        "out_proj.weight": (8, 8),
    }


def test_attention_starts_as_in_pytorch():
    polyad.manual_seed(0)
    layer = nn.MultiheadAttention(64, 4, add_bias_kv=True)
    bound = math.sqrt(6 / (64 + 192))
    weight = layer.in_proj_weight.detach()
    assert bound * 0.99 < weight.abs().max() <= bound
    assert abs((weight * weight).mean().item() - bound**2 / 3) < 5 * bound**2 * math.sqrt(4 / 45 / weight.numel())
    assert not layer.in_proj_bias.any()
    assert not layer.out_proj.bias.any()
    assert 0.05 < layer.bias_k.std() < 0.25  # xavier_normal_ of (1, 1, 64): sqrt(2 / 128)


def test_results_with_and_without_weights_are_the_same():
    polyad.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = polyad.randn(3, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    padding = polyad.tensor([[False] * 5, [False] * 4 + [True], [False] * 3 + [True] * 2])
    for settings in ({}, {"attn_mask": mask}, {"key_padding_mask": padding}, {"attn_mask": mask, "is_causal": True}):
        with_weights, weights = layer(x, x, x, **settings)
        without, none = layer(x, x, x, need_weights=False, **settings)
        assert none is None
        assert_close(with_weights, without)
        assert_close(weights.sum(-1), polyad.ones(3, 5))


def test_a_causal_mask_hides_what_is_later():
    polyad.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    x = polyad.randn(5, 1, 8)
    other = x.clone()
    other[3:] += 1
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    for settings in ({"src_mask": mask}, {"src_mask": mask, "is_causal": True}, {"src_mask": mask.isinf()}):
        assert_close(layer(x, **settings)[:3], layer(other, **settings)[:3])
    assert not layer(x)[:3].allclose(layer(other)[:3])


def test_is_causal_needs_its_mask():
    with pytest.raises(RuntimeError, match="is_causal says what attn_mask is, and there is none"):
        nn.TransformerEncoderLayer(8, 2, 16)(polyad.ones(5, 1, 8), is_causal=True)


def test_the_encoder_finds_a_causal_mask():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1).eval()
    seen = []
    encoder.layers[0].register_forward_pre_hook(lambda layer, args, kwargs: seen.append(kwargs), with_kwargs=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    for given, said in ((mask, None), (mask.flip(0), None), (mask, False), (None, None)):
        encoder(polyad.ones(2, 4, 8), mask=given, is_causal=said)
    assert [kwargs["is_causal"] for kwargs in seen] == [True, False, False, False]


def test_padding_is_zero_where_pytorch_would_nest():
    polyad.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    x = polyad.randn(2, 4, 8)
    ends = polyad.tensor([[False, False, True, True], [False] * 4])
    middle = polyad.tensor([[False, True, False, False], [False] * 4])
    assert encoder(x, src_key_padding_mask=ends)[0, 2:].any()
    encoder.eval()
    assert encoder(x, src_key_padding_mask=ends)[0, 2:].any()  # gradients are on
    with polyad.no_grad():
        out = encoder(x, src_key_padding_mask=ends)
        assert not out[0, 2:].any()
        encoder.use_nested_tensor = False
        whole = encoder(x, src_key_padding_mask=ends)
        encoder.use_nested_tensor = True
        assert_close(out[~ends], whole[~ends])
        assert encoder(x, src_key_padding_mask=middle)[0, 1].any()


def test_nested_tensors_that_cannot_be_are_told():
    with pytest.warns(UserWarning, match="enable_nested_tensor has no effect, since batch_first is not True"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1)


def test_copies_are_apart():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    first, second = encoder.layers
    assert first.linear1.weight is not second.linear1.weight
    assert first.linear1.weight.equal(second.linear1.weight)


def test_activations_by_name_and_function():
    assert nn.TransformerEncoderLayer(8, 2, activation="gelu").activation is nn.functional.gelu
    layer = nn.TransformerDecoderLayer(8, 2, 16, activation=polyad.tanh)
    assert layer(polyad.ones(2, 1, 8), polyad.ones(3, 1, 8)).shape == (2, 1, 8)
    with pytest.raises(RuntimeError, match="TransformerDecoderLayer: unknown activation 'swish'"):
        nn.TransformerDecoderLayer(8, 2, activation="swish")


def test_the_transformer_starts_its_matrices_by_xavier():
    polyad.manual_seed(0)
    model = nn.Transformer(16, 2, 1, 1, 32)
    weight = model.encoder.layers[0].linear1.weight
    bound = math.sqrt(6 / 48)
    assert bound * 0.9 < weight.abs().max() <= bound


def test_a_custom_encoder_takes_the_place():
    model = nn.Transformer(8, 2, 1, 1, 16, custom_encoder=Doubling(), custom_decoder=Doubling())
    out = model(polyad.ones(3, 1, 8), polyad.ones(2, 1, 8))
    assert out.tolist() == (2 * polyad.ones(2, 1, 8)).tolist()


class Doubling(nn.Module):
    def forward(self, first, *others, **settings):
        return first * 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.MultiheadAttention(8, 3), ValueError, "embed_dim must be divisible by num_heads: 8 and 3"),
        (lambda: nn.MultiheadAttention(0, 1), ValueError, "embed_dim must be an int of at least 1, not 0"),
        (
            lambda: nn.MultiheadAttention(8, 2)(polyad.ones(4, 1, 8), polyad.ones(5, 1, 7), polyad.ones(5, 1, 8)),
            RuntimeError,
            r"MultiheadAttention: key \(5, 1, 7\) does not end in the 8 features of kdim\n",
        ),
        (
            lambda: nn.Transformer(8, 2, 1, 1, 16)(polyad.ones(3, 2, 8), polyad.ones(3, 1, 8)),
            RuntimeError,
            r"Transformer: src \(3, 2, 8\) and tgt \(3, 1, 8\) are not of the same batch",
        ),
        (
            lambda: nn.TransformerDecoderLayer(8, 2)(polyad.ones(3, 2, 8), polyad.ones(3, 2, 6)),
            RuntimeError,
            r"TransformerDecoderLayer: memory \(3, 2, 6\) does not end in the 8 features of d_model",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
