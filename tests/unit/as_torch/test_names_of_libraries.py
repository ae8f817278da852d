"""Names that libraries ask of PyTorch's inner modules when they are imported, torchvision among them."""

from __future__ import annotations

import pathlib

import pytest

import polyad
from polyad import _C, _dynamo, fx, hub, jit, library


def test_compiled_libraries_are_refused_as_those_that_do_not_fit() -> None:
    with pytest.raises(OSError, match="compiled against PyTorch") as caught:
        polyad.ops.load_library("/somewhere/_C.so")
    assert "/somewhere/_C.so" in str(caught.value)


def test_shapes_of_an_op_may_be_said_before_it_is_defined() -> None:
    @library.register_fake("later::twice")
    def shape(x):
        return x.new_empty(x.shape[0] * 2)

    @library.custom_op("later::twice", mutates_args=())
    def twice(x: polyad.Tensor) -> polyad.Tensor:
        return polyad.cat([x, x])

    assert twice(polyad.ones(3, device="meta")).shape == (6,)
    assert twice(polyad.ones(3)).shape == (6,)


def test_asserts_of_other_objects_are_theirs_to_answer() -> None:
    module = fx.symbolic_trace(lambda x: [polyad._assert(x.shape[0] == 2, "two rows"), x + 1][1])
    assert module(polyad.zeros(2)).tolist() == [1, 1]
    with pytest.raises(AssertionError, match="two rows"):
        module(polyad.zeros(3))
    with pytest.raises(AssertionError, match="zero"):
        polyad._assert(polyad.zeros(1), "zero")


def test_keys_are_names() -> None:
    keys = _C.DispatchKeySet(_C.DispatchKey.AutocastCPU) | _C.DispatchKeySet(_C.DispatchKey.AutocastCUDA)
    assert keys.has(_C.DispatchKey.AutocastCUDA)
    assert not keys.has(_C.DispatchKey.CPU)


def test_small_names() -> None:
    assert _C._log_api_usage_once("library.use") is None
    assert _C._get_tracing_state() is None
    seen = []
    jit.trace(lambda x: [seen.append(_C._get_tracing_state()), x + 1][1], polyad.ones(1), check_trace=False)
    assert seen[0] is not None
    assert jit._script_if_tracing is jit.script_if_tracing
    assert jit._overload_method(test_small_names) is test_small_names
    assert _dynamo.utils.is_compile_supported("cpu") is False
    assert pathlib.Path(hub.get_dir()).parent == pathlib.Path(hub._get_torch_home())
