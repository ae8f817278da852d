"""``python -m polyad.backends`` and `doctor`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any, ClassVar

import pytest

import polyad
from polyad import backends
from polyad.backend import API_VERSION
from polyad.backends.__main__ import main
from polyad.dispatch.op import primitives
from polyad.errors import BackendUnavailable


def test_the_host_is_listed_with_what_it_has() -> None:
    cpu = backends.list_backends()["cpu"]
    assert (cpu.status, cpu.problem, cpu.fix) == ("loaded", "", "")
    assert cpu.api_version == polyad.backend.API_VERSION
    assert cpu.package.startswith("polyad ")
    (device,) = cpu.devices
    assert device.name == "cpu"
    assert "float32" in device.dtypes
    assert device.features == ("ordered_results", "shared_host_memory")
    assert set(cpu.primitives) | set(cpu.missing) == set(primitives())
    assert "add" in cpu.primitives


def test_listing_is_a_sequence_with_names(toy) -> None:
    listing = backends.list_backends()
    found = [backend.name for backend in listing]
    assert found == sorted(found)
    assert {"cpu", "toy"} <= set(found)
    assert len(listing) == len(found)
    assert listing[found.index("toy")] is listing["toy"]
    with pytest.raises(KeyError):
        listing["nobody"]
    toy_report = listing["toy"]
    assert [device.name for device in toy_report.devices] == ["toy:0", "toy:1"]
    assert toy_report.primitives == ()
    assert set(toy_report.missing) == set(primitives())


def test_without_loading_nothing_is_imported(install) -> None:
    install("abacus-polyad", "raise AssertionError", backends="abacus")
    assert (
        backends.list_backends(load=False)["abacus"].status == "quarantined"
    )  # its hook module was asked for the info
    install(
        "lazy-polyad",
        """
        import polyad
        @polyad.hookimpl
        def polyad_backend_info(): return polyad.backend.BackendInfo("lazy", (1, 0), description="asleep")
        @polyad.hookimpl
        def polyad_create_backend(): raise AssertionError
        """,
        backends="lazy",
    )
    report = backends.list_backends(load=False)["lazy"]
    assert (report.status, report.description) == ("not loaded", "asleep")


def test_a_backend_whose_extra_is_not_installed_is_no_problem(install) -> None:
    source = """
        import polyad
        @polyad.hookimpl
        def polyad_backend_info():
            needs = ("os", "no_such")
            return polyad.backend.BackendInfo("extra", (1, 1), install="pip install 'it[extra]'", requires=needs)
        @polyad.hookimpl
        def polyad_create_backend(): raise AssertionError
        """
    install("extra-polyad", source, backends="extra")
    for load in (False, True):
        report = backends.list_backends(load=load)["extra"]
        assert (report.status, report.problem, report.fix) == ("not installed", "", "pip install 'it[extra]'")
    with pytest.raises(BackendUnavailable, match="'extra': it needs no_such, which is not installed") as caught:
        polyad.ones(1, device="extra")
    assert caught.value.fix == "pip install 'it[extra]'"
    doctor = backends.doctor()
    assert not [problem for problem in doctor.problems if "extra" in problem]
    assert "extra: not installed (extra-polyad 1.2.3, interface 1.1)" in str(doctor)


def test_a_backend_that_says_why_a_device_cannot_be_opened_is_listed_with_its_fix(make_toy) -> None:
    class Lacking(make_toy):
        def describe_device(self, device):
            raise BackendUnavailable("opening: the library toy is not installed", notes={"found": "no"}, fix="get toy")

    with backends.register("lacking", Lacking()):
        report = backends.list_backends()["lacking"]
    assert report.problem.startswith("lacking:0: opening: the library toy is not installed (found: no)")
    assert report.fix == "get toy"


def test_a_backend_that_misbehaves_while_it_is_described_is_listed(make_toy) -> None:
    class Rude(make_toy):
        def describe_device(self, device):
            raise OSError("no such register")

        @property
        def kernels(self):
            raise OSError("no table")

    with backends.register("rude", Rude()):
        report = backends.list_backends()["rude"]
    assert "toy" not in report.problem
    assert "rude:0: it cannot be described: OSError: no such register" in report.problem
    assert "its kernels cannot be listed: OSError: no table" in report.problem
    assert report.fix


def test_misspelt_kernels_are_listed(make_toy) -> None:
    class Typo(make_toy):
        @property
        def kernels(self) -> dict:
            return {"ad": None}

    with (
        pytest.warns(backends.UnknownKernelWarning, match=r"'typo' has .*: ad \(add\?\); `polyad ops` lists"),
        backends.register("typo", Typo()),
    ):
        assert "ops that do not exist here: ad (add?)" in backends.list_backends()["typo"].problem


def test_text_for_people(install, toy, capsys: pytest.CaptureFixture[str]) -> None:
    install("abacus-polyad", "raise OSError('no beads')", backends="abacus")
    assert main([]) == 0
    text = capsys.readouterr().out
    assert "cpu: loaded (polyad " in text
    assert f"toy: loaded (registered in this process, interface {'.'.join(map(str, API_VERSION))})" in text
    assert "abacus: quarantined (abacus-polyad 1.2.3" in text
    assert "OSError: no beads" in text
    assert "pip install --force-reinstall abacus-polyad" in text
    assert f"of {len(primitives())} primitives" in text
    assert "Traceback" not in text
    assert "\x1b[" not in text
    assert main(["--verbose"]) == 0
    assert "Traceback" in capsys.readouterr().out


def test_json_for_programs(install, capsys: pytest.CaptureFixture[str]) -> None:
    install("abacus-polyad", "raise OSError('no beads')", backends="abacus")
    assert main(["--json"]) == 0
    found = {backend["name"]: backend for backend in json.loads(capsys.readouterr().out)["backends"]}
    assert found["cpu"]["devices"][0]["name"] == "cpu"
    assert found["abacus"]["status"] == "quarantined"
    assert "OSError: no beads" in found["abacus"]["problem"]


def test_tables_on_a_terminal(monkeypatch: pytest.MonkeyPatch, install) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    install("abacus-polyad", "raise OSError('no [beads]')", backends="abacus")
    monkeypatch.setenv("COLUMNS", "140")
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    main([])
    backends.doctor().show()
    text = screen.getvalue()
    assert "│" in text
    assert "quarantined" in text
    assert "[beads]" in text  # what looks like markup is text
    assert "Self-test" in text


def test_run_as_a_module() -> None:
    result = subprocess.run([sys.executable, "-m", "polyad.backends"], capture_output=True, text=True, check=True)
    assert "cpu: loaded" in result.stdout
    assert result.stderr == ""


def test_doctor_is_content_with_a_working_host() -> None:
    report = backends.doctor()
    assert {test.device: test.ok for test in report.tests}["cpu"]
    assert report.versions["polyad"] == polyad.version.polyad
    assert report.versions["numpy"]
    assert report.exit_status == bool(report.problems)
    assert report.as_dict()["tests"][0]["device"] == "cpu"
    assert "self-test" in str(report)


def test_doctor_tests_every_device_and_finds_wrong_results(make_toy) -> None:
    class Wrong(make_toy):
        def to_host(self, array):
            return super().to_host(array) + 1

    with backends.register("wrong", Wrong()), backends.register("right", make_toy()):
        report = backends.doctor()
    outcome = {test.device: test for test in report.tests}
    assert outcome["right:0"].ok
    assert outcome["right:1"].ok
    assert not outcome["wrong:0"].ok
    assert "gave a wrong result" in outcome["wrong:0"].problem
    assert "polyad conformance wrong" in outcome["wrong:0"].fix
    assert report.exit_status == 1
    assert "FAILED" in str(report)


def test_doctor_names_a_default_device_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    assert backends.doctor().default_device == "cpu"
    monkeypatch.setenv("POLYAD_DEVICE", "nobody")
    backends.refresh()
    try:
        report = backends.doctor()
    finally:
        monkeypatch.undo()
        backends.refresh()
    assert report.tests[0].ok
    assert "POLYAD_DEVICE=nobody" in report.default_problem
    assert report.exit_status == 1


def test_doctor_survives_a_device_that_raises(make_toy) -> None:
    class Dead(make_toy):
        def from_host(self, data, dtype, device):
            raise MemoryError("full")

    with backends.register("dead", Dead()):
        report = backends.doctor()
    assert "MemoryError" in next(test.problem for test in report.tests if test.device == "dead:0")
    assert report.exit_status == 1


def test_doctor_names_the_family_and_the_op_that_fail_on_a_device(make_toy) -> None:
    class Wrong(make_toy):
        kernels: ClassVar = {"searchsorted": failing}

    with backends.register("wrong", Wrong()), backends.register("right", make_toy()):
        report, other = backends.doctor("wrong:1", seconds=0.0), backends.doctor("right", seconds=0.0)
    (test,) = report.tests
    assert (test.device, test.ok) == ("wrong:1", True), "what the short self-test calls is right"
    (wrong,) = [family for family in report.families if family.problems]
    assert wrong.family == "sorting"
    assert list(wrong.problems) == ["searchsorted"] == wrong.tested[:1]
    (problem,) = report.problems
    assert problem.startswith("searchsorted: KernelFailure")
    assert report.exit_status == 1
    assert "FAILED" in str(report)
    assert [backend.name for backend in report.listing] == ["wrong"]
    assert all(family.tested for family in other.families), "each family is seen, however little time there is"
    assert not [family for family in other.families if family.problems]


def failing(*args: Any) -> Any:
    """A kernel that its device refuses."""
    raise RuntimeError("no image for this architecture")


def test_doctor_of_a_device_that_is_not_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    report = backends.doctor("nobody")
    (test,) = report.tests
    assert "no installed backend has this name" in test.problem
    assert "pip install" in test.fix
    assert "cpu: loaded" in str(report), "the backends that there are"
    monkeypatch.setitem(sys.modules, "polyad_conformance.spot_check", None)
    (test,) = backends.doctor("cpu").tests
    assert (test.ok, test.fix) == (False, "pip install 'polyad[test]'")


@pytest.mark.parametrize(
    ("name", "there"), [("cpu", True), ("cpu:0", True), ("cpu:1", False), ("nobody", False), ("a b", False)]
)
def test_is_available(name: str, there: bool) -> None:
    assert backends.is_available(name) is there
