"""Attention by kernels that hold no scores: float32, and what cuDNN does not take of half types."""

import gc
import math

import pytest

import polyad
from polyad.nn.attention import SDPBackend, sdpa_kernel
from polyad_cupy.kernels.nn import fused_attention

attend = polyad.nn.functional.scaled_dot_product_attention
FORWARD, BACKWARD = ["attend"], ["of_query", "of_keys"]
SLACK = {polyad.float32: 4e-6, polyad.float16: 2e-3, polyad.bfloat16: 2e-2}
"""Of the largest element: weights that are made again from a rounded logarithm are off by some units each."""


@pytest.fixture
def launched(monkeypatch):
    """The kernels that were launched, and how many elements each reads at once."""
    names, launch = [], fused_attention._Heads.launch

    def noted(self, *given):
        names.append((self.name, self.pack))
        return launch(self, *given)

    monkeypatch.setattr(fused_attention._Heads, "launch", noted)
    return names


def step(operands, mask=None, **settings):
    """The result and the gradients of query, key and value."""
    operands = [part.detach().requires_grad_() for part in operands]
    out = attend(*operands, mask, **settings)
    (out * polyad.linspace(-1, 1, out.shape[-1], device=out.device).to(out.dtype)).sum().backward()
    return [part.detach() for part in (out, *[part.grad for part in operands])]


def check(operands, mask=None, **settings):
    """Compare with the definition in float64."""
    exact = mask if mask is None or mask.dtype is polyad.bool else mask.double()
    wanted = step([part.double() for part in operands], exact, **settings)
    found = step([part.cuda() for part in operands], None if mask is None else mask.cuda(), **settings)
    for have, want, operand in zip(found, wanted, (operands[0], *operands), strict=True):
        assert have.dtype is operand.dtype
        largest = max(1.0, float(want.abs().max())) if want.numel() else 1.0
        polyad.testing.assert_close(have.cpu().double(), want, rtol=0.0, atol=SLACK[operand.dtype] * largest)


def operands(*shapes, dtype=polyad.float32):
    return [polyad.randn(*shape).to(dtype) for shape in shapes]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    "sizes",
    [
        # queries, keys, features, features of values: less than a tile, several, more of either, wide tiles
        (1, 1, 4, 4), (5, 7, 8, 3), (70, 45, 40, 36), (40, 131, 64, 64), (131, 40, 33, 64), (33, 35, 128, 90),
    ],
)  # fmt: skip
def test_result_and_gradients_are_those_of_the_definition(launched, sizes, is_causal):
    rows, columns, features, of_values = sizes
    check(operands((2, rows, features), (2, columns, features), (2, columns, of_values)), is_causal=is_causal)
    pack = 1 if (features | of_values) % 4 else 4
    assert launched == [(name, pack) for name in FORWARD + BACKWARD]


@pytest.mark.parametrize("dtype", [polyad.float16, polyad.bfloat16])
def test_half_types_are_computed_in_float32(launched, dtype):
    check(operands((2, 35, 9), (2, 20, 9), (2, 20, 6), dtype=dtype), is_causal=True)
    assert len(launched) == 3


@pytest.mark.parametrize("shape", [(40, 50), (40, 1), (50,), (2, 1, 1, 50), (3, 40, 50), (2, 3, 40, 50)])
@pytest.mark.parametrize("form", ["bool", "float32", "float16"])
def test_masks_broadcast(launched, shape, form):
    mask = polyad.randn(*shape)
    mask = mask > -0.5 if form == "bool" else mask.to(getattr(polyad, form))
    dtype = polyad.float16 if form == "float16" else polyad.float32
    check(operands((2, 3, 40, 8), (2, 3, 50, 8), (2, 3, 50, 8), dtype=dtype), mask)
    assert [name for name, _ in launched] == FORWARD + BACKWARD


def test_queries_without_a_key_give_zeros_and_no_gradient(launched):
    given = operands((40, 8), (35, 8), (35, 8))
    mask = polyad.ones(40, 35, dtype=polyad.bool)
    mask[3] = mask[39] = False
    check(given, mask)
    out, of_query, *_ = step([part.cuda() for part in given], mask.cuda())
    for row in (3, 39):
        assert not out[row].any()
        assert not of_query[row].any()
    check(given, polyad.zeros(40, 35).masked_fill(~mask, -math.inf))
    assert len(launched) == 9


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0)])
def test_no_queries_and_no_keys(launched, rows, columns):
    check(operands((2, rows, 4), (2, columns, 4), (2, columns, 4)))


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3, 5, 8), (3, 7, 8), (2, 1, 7, 8)],
        [(5, 8), (4, 7, 8), (7, 8)],
        [(2, 1, 2, 1, 2, 5, 4), (1, 2, 1, 2, 1, 6, 4), (6, 4)],
    ],
)
def test_batches_broadcast(launched, shapes):
    check(operands(*shapes))
    assert len(launched) == 3


@pytest.mark.parametrize("masked", [False, True])
def test_groups_of_heads_share_keys_and_values(launched, masked):
    mask = polyad.rand(6, 20, 25) > 0.3 if masked else None
    check(operands((2, 6, 20, 8), (2, 2, 25, 8), (2, 2, 25, 8)), mask, enable_gqa=True, is_causal=not masked)
    assert len(launched) == 3


def test_heads_that_are_parts_of_rows_are_read_in_place(launched, monkeypatch):
    wide = operands(*[(2, 37, 3 * 8)] * 3)
    wanted = attend(*[part.double().unflatten(-1, (3, 8)).transpose(1, 2) for part in wide])
    heads = [part.cuda().unflatten(-1, (3, 8)).transpose(1, 2) for part in wide]
    copies, copy = [], fused_attention.copying.copy
    monkeypatch.setattr(fused_attention.copying, "copy", lambda *given: (copies.append(given), copy(*given)))
    out = attend(*heads)
    monkeypatch.undo()
    assert sum(type(target) is type(source) for target, source in copies) == 1  # the result, which lies as the query
    assert launched == [("attend", 4)]
    polyad.testing.assert_close(out.cpu().double(), wanted, rtol=0.0, atol=4e-6)


def test_operands_that_lie_in_any_way(launched):
    query, key, value = operands((2, 3, 16, 37), (2, 3, 20, 17), (3, 20, 8))
    given = [query.mT, key[..., 1:], value.expand(2, 3, 20, 8)]
    wanted = attend(*[part.double() for part in given])
    on_device = [query.cuda().mT, key.cuda()[..., 1:], value.cuda().expand(2, 3, 20, 8)]
    polyad.testing.assert_close(attend(*on_device).cpu().double(), wanted, rtol=0.0, atol=4e-6)
    assert launched == [("attend", 1)]


def test_tiles_that_hold_no_pair_are_left_out(launched):
    query, key, value = (part.cuda() for part in operands((128, 8), (128, 8), (128, 8)))
    value[64:] = math.nan
    out = attend(query, key, value, is_causal=True).cpu()
    assert out[:64].isfinite().all()
    assert out[64:].isnan().all()


def test_large_scores_and_what_is_not_finite(launched):
    query, key, value = operands((33, 8), (70, 8), (70, 8))
    wanted = attend(query.double() * 900, key.double(), value.double())
    polyad.testing.assert_close(
        attend((query * 900).cuda(), key.cuda(), value.cuda()).cpu().double(), wanted, rtol=0.0, atol=2e-3
    )
    query[2], query[4, 0] = math.nan, math.inf
    found, wanted = (attend(*[part.to(device) for part in (query, key, value)]) for device in ("cuda", "cpu"))
    polyad.testing.assert_close(found.cpu(), wanted, equal_nan=True, rtol=1e-4, atol=1e-5)


def test_the_scores_are_not_held():
    given = [part.cuda().requires_grad_() for part in operands(*[(2, 400, 8)] * 3)]
    attend(*given).sum().backward()
    gc.collect()
    polyad.cuda.reset_peak_memory_stats()
    before = polyad.cuda.memory_allocated()
    attend(*given).sum().backward()
    assert polyad.cuda.max_memory_allocated() - before < 2 * 400 * 400 * 4 / 2


def test_results_have_the_same_bits_each_time(launched):
    given = [part.cuda() for part in operands((2, 70, 8), (2, 45, 8), (2, 45, 8))]
    first = step(given, is_causal=True)
    for _ in range(2):  # each launch takes the next of three schedules
        for have, want in zip(step(given, is_causal=True), first, strict=True):
            assert polyad.equal(have, want)


def test_what_is_left_to_the_body(launched):
    check(operands((5, 130), (7, 130), (7, 8)))
    with sdpa_kernel(SDPBackend.MATH):
        check(operands((5, 8), (7, 8), (7, 8)))
    wide = [part.double().cuda() for part in operands((5, 8), (7, 8), (7, 8))]
    assert attend(*wide).dtype is polyad.float64
    assert not launched


def test_gradients_of_gradients(launched):
    given = [part.cuda().requires_grad_() for part in operands((5, 8), (7, 8), (7, 8))]
    (first,) = polyad.autograd.grad(attend(*given).square().sum(), given[0], create_graph=True)
    (second,) = polyad.autograd.grad(first.square().sum(), given[1])
    exact = [part.detach().cpu().double().requires_grad_() for part in given]
    (wanted,) = polyad.autograd.grad(attend(*exact).square().sum(), exact[0], create_graph=True)
    (wanted,) = polyad.autograd.grad(wanted.square().sum(), exact[1])
    polyad.testing.assert_close(second.cpu().double(), wanted, rtol=1e-4, atol=1e-4)
    assert launched


def test_it_is_captured(launched):
    given = [part.cuda() for part in operands((2, 5, 8), (2, 7, 8), (2, 7, 8))]
    stream = polyad.cuda.Stream()
    stream.wait_stream(polyad.cuda.current_stream())
    with polyad.cuda.stream(stream):
        step(given)
    graph = polyad.cuda.CUDAGraph()
    with polyad.cuda.graph(graph):
        out = attend(*given)
    new = operands((2, 5, 8))[0].cuda()
    given[0].copy_(new)
    graph.replay()
    assert polyad.equal(out, attend(new, *given[1:]))
