"""What this package wants to be sure of beyond conformance."""

import pytest

import polyad


def test_it_is_found_by_its_name():
    assert polyad.ones(2, device="template").device.type == "template"


def test_what_it_does_not_declare_is_refused():
    with pytest.raises(RuntimeError, match="template has no float64"):
        polyad.ones(2, dtype=polyad.float64, device="template")
