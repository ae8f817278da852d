"""Attention of half types by cuDNN, on the stand-in for its frontend."""

import pytest

import polyad
from polyad.base.device import Device
from polyad.nn.attention import SDPBackend, sdpa_kernel
from polyad_cupy.runtime.device import opened

attend = polyad.nn.functional.scaled_dot_product_attention
BOTH = ["sdpa", "sdpa_backward"]


def description():
    return opened(Device("cuda", 0)).description


def step(operands, **settings):
    """The result and the gradients of query, key and value."""
    operands = [part.detach().requires_grad_() for part in operands]
    out = attend(*operands, **settings)
    (out.float() * polyad.linspace(-1, 1, out.shape[-1], device=out.device)).sum().backward()
    return [part.detach().cpu().float() for part in (out, *[part.grad for part in operands])]


def check(operands, **settings):
    wanted = step([part.float() for part in operands], **settings)
    settings = {name: value.cuda() if isinstance(value, polyad.Tensor) else value for name, value in settings.items()}
    for have, want in zip(step([part.cuda() for part in operands], **settings), wanted, strict=True):
        polyad.testing.assert_close(have, want, rtol=0.0, atol=4 * polyad.finfo(operands[0].dtype).eps)


def operands(*shapes, dtype=polyad.float16):
    return [polyad.rand(*shape, dtype=polyad.float32).sub(0.5).to(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [polyad.float16, polyad.bfloat16])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 1, 3)])
def test_result_and_gradients_come_from_the_proved_library(library, lead, is_causal, dtype):
    given = operands((*lead, 5, 16), (*lead, 7, 16), (*lead, 7, 8), dtype=dtype)
    check(given, is_causal=is_causal)
    assert f"{str(dtype).removeprefix('polyad.')} attention by cuDNN: proved" in description()
    library.done.clear()
    check(given, is_causal=is_causal, scale=0.3)
    assert library.done == BOTH


@pytest.mark.parametrize("lead", [(), (2,)])
def test_groups_of_heads_share_keys_and_values(library, lead):
    check(operands((*lead, 6, 4, 8), (*lead, 2, 5, 8), (*lead, 2, 5, 8)), enable_gqa=True, is_causal=True)
    assert library.done[-2:] == BOTH


def test_heads_that_are_parts_of_rows_are_not_copied(library, monkeypatch):
    from polyad_cupy.kernels.nn import cudnn_attention as by_cudnn

    wide = operands(*[(2, 6, 3 * 8)] * 3)
    attend(*[part.cuda().unflatten(-1, (3, 8)).transpose(1, 2) for part in wide])
    heads = [part.cuda().unflatten(-1, (3, 8)).transpose(1, 2) for part in wide]
    copies, copy = [], by_cudnn.copying.copy
    monkeypatch.setattr(by_cudnn.copying, "copy", lambda *given: (copies.append(given), copy(*given)))
    library.done.clear()
    out = attend(*heads)
    assert library.done == ["sdpa"]
    monkeypatch.undo()
    assert sum(type(target) is type(source) for target, source in copies) == 1  # the result, which lies as the query
    wanted = attend(*[part.float().unflatten(-1, (3, 8)).transpose(1, 2) for part in wide])
    polyad.testing.assert_close(out.cpu().float(), wanted, rtol=0.0, atol=4e-3)


def test_what_lies_otherwise_is_copied(library):
    query, key, value = operands((2, 3, 16, 5), (2, 3, 7, 17), (3, 7, 8))
    given = [query.mT, key[..., 1:], value.expand(2, 3, 7, 8)]
    wanted = attend(*[part.float() for part in given])
    on_device = [query.cuda().mT, key.cuda()[..., 1:], value.cuda().expand(2, 3, 7, 8)]
    polyad.testing.assert_close(attend(*on_device).cpu().float(), wanted, rtol=0.0, atol=4e-3)
    assert library.done[-1] == "sdpa"


@pytest.mark.parametrize(
    ("shapes", "settings"),
    [
        ([(2, 5, 8), (2, 7, 8), (2, 7, 8)], {"attn_mask": polyad.ones(5, 7, dtype=polyad.bool).tril(-1)}),
        ([(2, 5, 6), (2, 7, 6), (2, 7, 8)], {}),
        ([(2, 3, 5, 8), (1, 3, 7, 8), (1, 3, 7, 8)], {}),
        ([(2, 5, 8), (7, 8), (7, 8)], {}),
    ],
)
def test_masks_odd_sizes_and_other_broadcasts_are_left_to_kernels_of_our_own(library, shapes, settings):
    check(operands(*shapes), **settings)
    assert not library.done


def test_float32_is_left_to_kernels_of_our_own(library):
    check(operands((2, 5, 8), (2, 7, 8), (2, 7, 8), dtype=polyad.float32))
    assert not library.done
    assert "attention" not in description()


def test_no_keys_give_zeros(library):
    given = [part.cuda() for part in operands((2, 5, 8), (2, 0, 8), (2, 0, 8))]
    assert attend(*given).tolist() == [[[0.0] * 8] * 5] * 2


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"wrong": 0.5}, "the result differs by"),
        ({"wrong": float("nan")}, "the result differs by nan"),
        ({"failing": "CUDNN_STATUS_EXECUTION_FAILED"}, "CUDNN_STATUS_EXECUTION_FAILED"),
        ({"missing": True}, "pip install nvidia-cudnn-cu12"),
        ({"unsupported": ("sdpa",)}, "none of the shapes"),
    ],
)
def test_a_library_that_is_wrong_is_not_used_and_that_is_told(library, wanted, words):
    vars(library).update(wanted)
    given = operands((2, 5, 8), (2, 7, 8), (2, 7, 8))
    check(given)
    told = description()
    assert "float16 attention by cuDNN: not used (" in told
    assert words in told
    library.done.clear()
    check(given)
    assert not library.done


def test_a_gradient_that_has_no_plan_is_computed_without_the_library(library):
    library.unsupported = ("sdpa_backward",)
    check(operands((2, 5, 8), (2, 7, 8), (2, 7, 8)))
    assert "float16 attention by cuDNN: proved" in description()
    assert set(library.done) == {"sdpa"}


def test_attention_that_fails_later_is_computed_without_the_library(library):
    given = operands((2, 5, 8), (2, 7, 8), (2, 7, 8))
    check(given)
    library.failing = "CUDNN_STATUS_INTERNAL_ERROR"
    check(given)
    assert "float16 attention by cuDNN: not used (CudnnError: RuntimeError: CUDNN_STATUS_INTERNAL" in description()


def test_the_switches_are_read(library):
    given = operands((2, 5, 8), (2, 7, 8), (2, 7, 8))
    with sdpa_kernel(SDPBackend.MATH):
        check(given)
    with polyad.backends.cudnn.flags(enabled=False):
        check(given)
    assert not library.done
    check(given)
    assert library.done


def test_gradients_of_gradients(library):
    given = [part.cuda().requires_grad_() for part in operands((5, 8), (7, 8), (7, 8))]
    out = attend(*given)
    (first,) = polyad.autograd.grad(out.float().square().sum(), given[0], create_graph=True)
    (second,) = polyad.autograd.grad(first.float().square().sum(), given[1])
    wide = [part.detach().cpu().double().requires_grad_() for part in given]
    (wanted,) = polyad.autograd.grad(attend(*wide).square().sum(), wide[0], create_graph=True)
    (wanted,) = polyad.autograd.grad(wanted.square().sum(), wide[1])
    polyad.testing.assert_close(second.cpu().double(), wanted, rtol=0.0, atol=0.02)


def test_attention_is_captured(library):
    given = [part.cuda() for part in operands((2, 5, 8), (2, 7, 8), (2, 7, 8))]
    stream = polyad.cuda.Stream()
    stream.wait_stream(polyad.cuda.current_stream())
    with polyad.cuda.stream(stream):
        attend(*given)
    graph = polyad.cuda.CUDAGraph()
    with polyad.cuda.graph(graph):
        out = attend(*given)
    new = operands((2, 5, 8))[0]
    given[0].copy_(new.cuda())
    graph.replay()
    polyad.testing.assert_close(out.cpu(), attend(new.cuda(), *given[1:]).cpu(), rtol=0.0, atol=0.0)
