"""Random programs of views, writes and ops, run in both libraries; see `programs`."""

from __future__ import annotations

import pytest
from hypothesis import given, note, seed, settings

from .judgement import TALLY
from .programs import Step, compare, steps

CHUNKS = 8
"""The programs are one test in so many parts, to be shared among processes."""


@pytest.mark.parametrize("part", range(CHUNKS))
def test_random_programs(part: int, request: pytest.FixtureRequest) -> None:
    count = 25 * request.config.getoption("--oracle-examples")

    @seed(1000 * request.config.getoption("--oracle-seed") + part)
    @settings(settings.get_profile("oracle"), max_examples=max(1, count // CHUNKS))
    @given(steps())
    def run(program: list[Step]) -> None:
        TALLY["programs"] += 1
        found = compare(program)
        for number, step in enumerate(program):
            note(f"step {number}: {step.name} {step.picks}")
        assert not found, "\n".join(map(str, found))

    run()
