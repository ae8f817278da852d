"""Random calls of every public function, made in both libraries; see `mutations`."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given, note, seed, settings

from .calls import Call
from .judgement import disagreements
from .mutations import calls
from .templates import bound_of, compared_paths

PATHS = list(compared_paths())


@pytest.mark.parametrize("path", PATHS)
def test_random_calls(path: str, request: pytest.FixtureRequest) -> None:
    number = zlib.crc32(path.encode()) + request.config.getoption("--oracle-seed")
    bound = bound_of(path)

    @seed(number)
    @settings(settings.get_profile("oracle"))
    @given(calls(path))
    def compare(call: Call) -> None:
        note(f"{call!r}")
        found = disagreements(call, bound)
        assert not found, f"{call!r}\n" + "\n".join(f"    {mismatch}" for mismatch in found)

    compare()
