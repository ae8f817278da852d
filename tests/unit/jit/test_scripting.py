"""Decorators of PyTorch's compiler: what they mark stays what it is. The language has tests of its own."""

from __future__ import annotations

from typing import Final

import pytest

import polyad
from polyad import compiler, jit, nn


def function(x):
    return x + 1


@pytest.mark.parametrize(
    "decorator",
    [
        jit.ignore, jit.ignore(drop=True), jit.ignore(), jit.unused, jit.export, jit.script_method, compiler.disable,
        compiler.disable(recursive=False), compiler.allow_in_graph, compiler.assume_constant_result,
    ],
)  # fmt: skip
def test_what_they_mark_stays_what_it_is(decorator) -> None:
    assert decorator(function) is function


def test_what_can_be_scripted() -> None:
    layer = nn.Linear(1, 1)
    scripted = jit.script(layer)
    assert isinstance(scripted, jit.ScriptModule)
    assert scripted.weight is layer.weight
    assert jit.script(scripted) is scripted
    assert jit.script(function) is jit.script(function)
    with pytest.raises(TypeError, match="script: 3 is no function"):
        jit.script(3)
    with pytest.raises(TypeError, match="is a class of modules"):
        jit.script(nn.Linear)


def test_a_model_of_an_older_program() -> None:
    class Net(jit.ScriptModule):
        scale: jit.Final[int] = 2

        @jit.script_method
        def forward(self, x):
            return x * self.scale

    assert Net()(polyad.ones(1)).item() == 2
    assert jit.Final is Final


def test_questions() -> None:
    assert (jit.is_scripting(), compiler.is_compiling(), compiler.is_dynamo_compiling()) == (False, False, False)
    seen = []

    def watched(x):
        seen.append(jit.is_tracing())
        return x + 1

    jit.trace(watched, polyad.ones(1))
    watched(polyad.ones(1))
    assert (seen[0], seen[-1]) == (True, False)
