"""Modules of `polyad.autograd` that PyTorch's users reach as attributes, without importing them."""

import pytest

from polyad import autograd


@pytest.mark.parametrize("name", ["forward_ad", "function", "functional", "graph", "profiler"])
def test_modules_are_found_before_anything_has_imported_them(name):
    assert autograd.__getattr__(name).__name__ == f"polyad.autograd.{name}"
