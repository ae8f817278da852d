"""Scripts do what Python does, in programs that a generator writes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("random_programs", Path(__file__).with_name("random_programs.py"))
assert _spec is not None
assert _spec.loader is not None
random_programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(random_programs)


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_a_script_does_what_python_does(first: int) -> None:
    for seed in range(first, first + 25):
        random_programs.compare(seed)


def test_programs_have_control_flow() -> None:
    text = "\n".join(map(random_programs.program, range(50)))
    for part in ("while", "for", "break", "continue", "if", "else", "return", "append", "f'"):
        assert part in text, part
