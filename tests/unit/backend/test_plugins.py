"""Kernels that a package brings for a device it does not own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import polyad
from polyad import backends
from polyad.backend import KernelSupply
from polyad.devices import plugins, registry
from polyad.inspection.diagnosis.listing import PluginReport, plugin_fields

SUPPLY = """
    import numpy
    import polyad
    from polyad.backend import Kernel, KernelSupply
    from polyad.base.dtypes import float32

    def loud(left, right):
        return numpy.multiply(left, right) + {mark}

    @polyad.hookimpl
    def polyad_kernels():
        yield KernelSupply("cpu", "mul", Kernel(loud, dtypes=frozenset({{float32}})), priority={priority})
"""


@pytest.fixture(autouse=True)
def leave_no_plans():
    yield
    registry.forget()


def supply(mark: int, priority: int) -> str:
    return SUPPLY.format(mark=mark, priority=priority)


def native_kernels_are_used() -> bool:
    return any(plugin.name == "native" and plugin.kernels for plugin in backends.list_backends().plugins)


def product() -> float:
    return (polyad.tensor([3.0]) * polyad.tensor([2.0])).item()


def test_a_plugin_above_the_backend_is_taken_and_below_it_is_not(install) -> None:
    install("fast-mul", supply(100, 10), plugins="fast")
    assert product() == 106.0
    install("slow-mul", supply(1000, -1), plugins="slow")
    assert product() == 106.0
    assert (polyad.tensor([3], dtype=polyad.int64) * 2).item() == 6  # a dtype that it does not take


def test_the_highest_priority_wins_and_at_equal_priority_the_backends_own(install) -> None:
    install("a-mul", supply(100, 5), plugins="a")
    install("b-mul", supply(200, 6), plugins="b")
    assert product() == 206.0
    kernels = plugins.candidate_kernels(registry.get("cpu"), "mul")
    assert [kernel.origin for kernel in kernels] == [
        "b",
        "a",
        *(["native"] if native_kernels_are_used() else []),
        "polyad_numpy",
    ]


def test_priority_zero_comes_after_the_backend(install) -> None:
    install("zero-mul", supply(100, 0), plugins="zero")
    assert product() == 6.0


def test_a_plugin_completes_a_backend(toy, install, monkeypatch) -> None:
    source = supply(0, 10).replace('"cpu"', '"toy"').replace("numpy.multiply(left, right) + 0", "left.times(right)")
    install("toy-mul", source, plugins="toymul")

    def times(self, other):
        made = toy.empty(self.shape, self.dtype, None)
        made.values()[...] = np.multiply(self.values(), other.values())
        return made

    x = polyad.tensor([2.0], device="toy")
    monkeypatch.setattr(type(x._array), "times", times, raising=False)
    assert (x * x).tolist() == [4.0]
    assert len(backends.fallback_report()) == 0


BROKEN = {
    "import error": ("import no_such_library", "No module named 'no_such_library'"),
    "exception in the hook": (
        supply(1, 1).replace("yield KernelSupply", "raise OSError('no'); yield KernelSupply"),
        "OSError: no",
    ),
    "no KernelSupply": ("import polyad\n@polyad.hookimpl\ndef polyad_kernels(): yield 3", "gave 3, not a KernelSupply"),
    "exit": ("raise SystemExit('no licence')", "SystemExit: no licence"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_left_out_with_a_warning_and_listed(kind: str, install) -> None:
    source, says = BROKEN[kind]
    install("bad-plugin", source, plugins="bad")
    install("good-plugin", supply(100, 10), plugins="good")
    with pytest.warns(backends.BrokenPluginWarning, match="plug-in 'bad' failed to load and is left out") as caught:
        assert product() == 106.0
    assert says in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert product() == 106.0  # said once
        reports = {report.name: report for report in backends.list_backends().plugins}
    assert says in reports["bad"].problem
    assert "bad-plugin" in reports["bad"].fix
    assert reports["good"].kernels == (("cpu", "mul", 10),)
    assert backends.doctor().exit_status == 1


def test_a_kernel_for_an_unknown_op_is_listed_as_a_problem(install) -> None:
    install("odd-plugin", supply(0, 10).replace('"mul"', '"mull"'), plugins="odd")
    with pytest.warns(backends.UnknownKernelWarning, match=r"plug-in 'odd' has kernels .*: mull \(mul or "):
        (report,) = [report for report in backends.list_backends().plugins if report.name == "odd"]
    assert "ops that do not exist here: mull (mul" in report.problem


def test_one_module_may_be_backend_and_plugin(install) -> None:
    source = supply(100, 10) + (
        "\n    @polyad.hookimpl\n    def polyad_backend_info(): return polyad.backend.BackendInfo('both', (1, 0))\n"
        "\n    @polyad.hookimpl\n    def polyad_create_backend():\n"
        "        from polyad_numpy.backend import NumpyBackend\n"
        "        return type('Both', (NumpyBackend,), {})()\n"
    )
    install("both", source, backends="both", plugins="both")
    assert polyad.ones(1, device="both").tolist() == [1.0]
    assert product() == 106.0


def test_supplies_are_records() -> None:
    assert KernelSupply("cpu", "mul", None).priority == 10


def test_of_many_kernels_the_report_names_the_first() -> None:
    kernels = tuple(("cpu", f"op{number:02}", 1) for number in range(20))
    report = PluginReport(name="loud", package="loud 1.0", kernels=kernels)
    assert plugin_fields(report) == [
        ("cpu", ", ".join(f"op{number:02}" for number in range(12)) + " and 8 more (--verbose lists them) (priority 1)")
    ]
    assert "op19 (priority 1)" in plugin_fields(report, verbose=True)[0][1]
