"""Runtimes that a package brings for a device it does not own: when they compute, and what happens if they cannot."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyad
from polyad import backends
from polyad.backend.c_compiler import command
from polyad.devices import plugins, registry
from polyad.dispatch.catalogue import OPS
from polyad.errors import CompilerWarning
from polyad.nn import functional

pytestmark = pytest.mark.skipif(command() is None, reason="no C compiler")

DOCS = Path(__file__).parents[3] / "docs" / "backends.md"
EXAMPLE = re.search(r"<!-- runtime of a plug-in -->\n```python\n(.*?)```", DOCS.read_text(), re.DOTALL)[1]
"""The plug-in that the guide shows."""


@pytest.fixture(autouse=True)
def without_native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plug-in that has the CPU otherwise brings nothing."""
    import polyad_native.compiler

    monkeypatch.setattr(polyad_native.compiler, "why_not", lambda: "a test has the CPU")
    yield
    registry.forget()


def changed(old: str, new: str) -> str:
    assert EXAMPLE.count(old) == 1
    return EXAMPLE.replace(old, new)


def origins(op: str) -> list[str]:
    return [kernel.origin for kernel in plugins.candidate_kernels(registry.get("cpu"), op)]


def served(op: str, *shape: int) -> list[str]:
    return [each.form for each in backends.locate_op(op, shape=shape).kernels if each.serves]


def compute() -> list[polyad.Tensor]:
    """A primitive, a composite that NumPy overrides, one that it does not, and one into given memory."""
    x = polyad.arange(4096.0).reshape(64, 64) / 4096
    out = polyad.empty(64, 64)
    polyad.add(x, x, out=out)
    return [x * 2.5, functional.silu(x), functional.prelu(x - 0.5, x[0, :1]), out, x[:4, :4].sigmoid()]


def same(found: list[polyad.Tensor], expected: list[polyad.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        polyad.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def test_the_guides_plugin_computes_on_a_device_of_others(install) -> None:
    registry.forget()
    assert origins("add") == ["polyad_numpy"]
    expected = compute()
    install("ex-ample", EXAMPLE, plugins="example")
    assert origins("add") == ["example", "polyad_numpy"]
    assert origins("prelu") == ["example"]
    same(compute(), expected)
    assert served("mul", 64, 64) == ["generated"]
    assert served("mul", 8, 8) == ["handwritten"]
    found = polyad.explain(functional.silu, polyad.ones(64, 64))
    assert "example: taken" in str(found)


def test_gradients_and_writes_are_as_without_it(install) -> None:
    registry.forget()

    def steps() -> list[polyad.Tensor]:
        x = (polyad.arange(4096.0).reshape(64, 64) / 4096).requires_grad_()
        weight = polyad.full((1,), 0.3, requires_grad=True)
        for make in (polyad.optim.RMSprop, polyad.optim.Adagrad, polyad.optim.NAdam):
            step = make([x, weight], lr=0.01)
            for _ in range(2):
                step.zero_grad()
                functional.huber_loss(functional.prelu(x - 0.5, weight), x.detach().cos() + 2).backward()
                step.step()
        return [x.detach(), weight.detach()]

    expected = steps()
    install("ex-ample", EXAMPLE, plugins="example")
    for found, wanted in zip(steps(), expected, strict=True):
        polyad.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


HOOK = 'return ExampleRuntime(registry.get("cpu"), device) if device.type == "cpu" else None'
REFUSED = {
    "two runtimes": (HOOK, "return [ExampleRuntime(registry.get('cpu'), device)] * 2", "gave 2 runtimes for cpu"),
    "no runtime": (HOOK, "return 3", "gave 3, not a Runtime"),
    "exception in the hook": (HOOK, "raise OSError('no licence')", "OSError: no licence"),
    "exit in the hook": (HOOK, "raise SystemExit('no licence')", "SystemExit: no licence"),
    "abstract": ("    def same_memory", "    def other_memory", "TypeError: Can't instantiate abstract class"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_plugin_that_offers_no_runtime_that_can_be_used_is_left_out(kind: str, install) -> None:
    old, new, says = REFUSED[kind]
    registry.forget()
    expected = compute()
    install("ex-ample", changed(old, new), plugins="example")
    with pytest.warns(backends.BrokenPluginWarning, match="plug-in 'example' failed and is left out") as caught:
        same(compute(), expected)
    assert says in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        same(compute(), expected)
        reports = {report.name: report for report in backends.list_backends().plugins}
    assert says in reports["example"].problem
    assert origins("add") == ["polyad_numpy"]


def test_of_two_plugins_that_offer_one_the_first_by_name_is_used(install) -> None:
    install("b-ample", EXAMPLE, plugins="b")
    install("a-ample", EXAMPLE, plugins="a")
    with pytest.warns(backends.BrokenPluginWarning, match="plug-in 'a' offers a runtime for cpu already"):
        assert origins("add") == ["a", "polyad_numpy"]
    assert set(plugins.broken_plugins()) == {"b"}


def test_a_backend_that_has_a_runtime_keeps_it(install, toy, monkeypatch) -> None:
    own = object()
    monkeypatch.setattr(type(toy), "runtime", lambda self, device: own)
    install("ex-ample", changed('if device.type == "cpu" ', 'if device.type == "toy" '), plugins="example")
    with pytest.warns(backends.BrokenPluginWarning, match="the backend of toy:0 has a runtime of its own"):
        plugins.candidate_kernels(toy, "add")


def test_a_compiler_that_fails_as_no_compiler_does_is_done_without(install) -> None:
    registry.forget()
    expected = compute()
    source = changed("        return LIBRARIES", "        raise KeyError(what)\n        return LIBRARIES")
    install("ex-ample", source, plugins="example")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        same(compute(), expected)
        same(compute(), expected)
    left_out = [each for each in caught if each.category is backends.BrokenPluginWarning]
    assert len(left_out) == 1
    assert "plug-in 'example' failed and is left out: KeyError" in str(left_out[0].message)
    assert origins("add") == ["polyad_numpy"]


def test_what_a_compiler_refuses_is_warned_of_and_computed_by_others(install) -> None:
    registry.forget()
    expected = compute()
    refuse = "        raise polyad.errors.CompilerFailure(f'{what}: out of paper')\n        return LIBRARIES"
    install("ex-ample", changed("        return LIBRARIES", refuse), plugins="example")
    with pytest.warns(CompilerWarning, match="out of paper"):
        same(compute(), expected)
    assert "example" not in plugins.broken_plugins()


def test_native_exceptions_are_ops_and_each_is_named_once() -> None:
    from polyad_native import measured

    named = {*measured.EARLIER, *measured.SLOWER, *measured.NOT_LOWERED, *measured.DEGREES}
    assert named <= OPS.names()
    assert len(named) == sum(map(len, (measured.EARLIER, measured.SLOWER, measured.NOT_LOWERED, measured.DEGREES)))
