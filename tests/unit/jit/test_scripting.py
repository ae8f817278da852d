"""Decorators of PyTorch's compiler, under which code stays Python."""

from __future__ import annotations

from typing import Final

import pytest

import polyad
from polyad import compiler, fx, jit, nn


def function(x):
    return x + 1


@pytest.mark.parametrize(
    "decorator",
    [
        jit.script, jit.ignore, jit.ignore(drop=True), jit.ignore(), jit.unused, jit.export, jit.interface,
        jit.script_method, jit.script_if_tracing, compiler.disable, compiler.disable(recursive=False),
        compiler.allow_in_graph, compiler.assume_constant_result, fx.wrap,
    ],
)  # fmt: skip
def test_what_they_mark_stays_what_it_is(decorator) -> None:
    assert decorator(function) is function


def test_a_scripted_module_is_the_module() -> None:
    layer = nn.Linear(1, 1)
    assert jit.script(layer) is layer
    assert not isinstance(jit.script(layer), jit.ScriptModule)
    with pytest.raises(TypeError, match="script: 3 is no function"):
        jit.script(3)


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


@pytest.mark.parametrize("action", [fx.Proxy])
def test_what_is_not_there_says_what_to_do(action) -> None:
    with pytest.raises(NotImplementedError, match="polyad"):
        action()
