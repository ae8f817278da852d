"""What tests of declarations share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polyad.dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from polyad.tensor.methods import TensorMethods


@pytest.fixture
def scratch() -> Iterator[None]:
    """Names that a test declares; they are forgotten afterwards."""
    catalogues = OPS, PUBLIC, ATTRIBUTES
    before = [set(catalogue) for catalogue in catalogues]
    yield
    for catalogue, known in zip(catalogues, before, strict=True):
        for name in set(catalogue) - known:
            del catalogue[name]
            if catalogue is ATTRIBUTES:
                delattr(TensorMethods, name)
