"""PyTorch's choice between ways to compute attention."""

from __future__ import annotations

import pytest

import polyad
from polyad.backends import cuda
from polyad.nn import functional as F
from polyad.nn.attention import SDPBackend, sdpa_kernel


def enabled() -> dict[str, bool]:
    return {name: getattr(cuda, f"{name}_sdp_enabled")() for name in ("flash", "mem_efficient", "math", "cudnn")}


def test_a_choice_holds_inside_of_the_block_and_changes_no_result() -> None:
    q = polyad.randn(2, 3, 4)
    expected = F.scaled_dot_product_attention(q, q, q)
    for backend in SDPBackend:
        with sdpa_kernel(backend):
            assert F.scaled_dot_product_attention(q, q, q).tolist() == expected.tolist()
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):
        assert enabled() == {"flash": True, "mem_efficient": False, "math": True, "cudnn": False}
    with pytest.raises(KeyError), sdpa_kernel(SDPBackend.MATH):
        raise KeyError
    assert all(enabled().values())
    with cuda.sdp_kernel(enable_flash=False):
        assert enabled() == {"flash": False, "mem_efficient": True, "math": True, "cudnn": True}


def test_switches() -> None:
    for name in enabled():
        getattr(cuda, f"enable_{name}_sdp")(False)
        assert enabled()[name] is False
        getattr(cuda, f"enable_{name}_sdp")(True)
    assert all(enabled().values())


@pytest.mark.parametrize("wrong", [1, "math", [1], None])
def test_what_is_no_backend(wrong) -> None:
    with pytest.raises(AssertionError, match="sdpa_kernel: backends is"), sdpa_kernel(wrong):
        pass
