"""Finding, loading and quarantining backends that are really installed."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import threading
import traceback

import pytest

import polyad
from polyad import backends
from polyad.backend import API_VERSION, BackendInfo
from polyad.devices import registry
from polyad.errors import (
    ApiVersionMismatch,
    ArgumentError,
    ArgumentTypeError,
    BackendNotFound,
    BackendUnavailable,
    DeviceError,
    DTypeError,
)

GOOD = """
    import threading
    import polyad
    from polyad.backend import BackendInfo, Capabilities
    from polyad.base.dtypes import float32, int64

    created = []

    @polyad.hookimpl
    def polyad_backend_info():
        able = Capabilities(dtypes=frozenset({{float32, int64}}))
        return BackendInfo("abacus", {version}, able, install="pip install beads", description="wooden beads")

    @polyad.hookimpl
    def polyad_create_backend():
        from polyad_numpy.backend import NumpyBackend

        class Abacus(NumpyBackend):
            pass

        created.append(threading.get_ident())
        {create}
        return Abacus()
"""


def good(version: object = API_VERSION, create: str = "") -> str:
    return GOOD.format(version=version, create=create)


# ------------------------------------------------------------------------------------------------------------ finding


def test_unknown_device_names_what_is_installed_and_where_to_look() -> None:
    with pytest.raises(BackendNotFound, match="device 'nobody': no installed backend has this name") as caught:
        polyad.zeros(2, device="nobody")
    assert "cpu" in caught.value.lines["installed"]
    assert "python -m polyad.backends" in caught.value.fix


@pytest.mark.parametrize("name", ["opencl", "cuda"])
def test_a_known_backend_that_is_missing_comes_with_its_pip_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "declared", lambda group: {"cpu": ()})
    monkeypatch.setattr(registry, "_backends", {})  # where one of them was used before
    with pytest.raises(BackendNotFound) as caught:
        registry.get(name)
    assert caught.value.fix.startswith(f"pip install --upgrade 'polyad[{name}")


def test_a_misspelt_device_is_guessed() -> None:
    with pytest.raises(BackendNotFound, match='did you mean "cuda"'):
        polyad.zeros(2, device="cudda")


def test_an_installed_backend_works_and_is_loaded_on_first_use(install) -> None:
    install("abacus-polyad", good(), backends="abacus")
    assert "abacus" in registry.names()
    assert "abacus_polyad" not in sys.modules
    assert not registry.is_loaded("abacus")
    x = polyad.ones(2, device="abacus")
    assert str(x.device) == "abacus:0"
    assert (x + x).tolist() == [2.0, 2.0]
    assert registry.is_loaded("abacus")
    with pytest.raises(DTypeError, match=r"(?s)abacus:0 has no float64.*has\s+int64, float32"):
        polyad.ones(2, device="abacus", dtype=polyad.float64)


def test_a_backend_loads_once_however_many_threads_ask(install) -> None:
    install("abacus-polyad", good(create="import time; time.sleep(0.05)"), backends="abacus")
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(registry.get("abacus"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    assert len(sys.modules["abacus_polyad"].created) == 1


def test_two_packages_of_one_name_are_refused_with_both_names(install) -> None:
    install("abacus-polyad", good(), backends="abacus")
    install("abacus-rival", good(), backends="abacus")
    with pytest.raises(BackendUnavailable, match="2 installed packages declare this name") as caught:
        polyad.zeros(1, device="abacus")
    assert {"abacus-polyad", "abacus-rival"} == set(caught.value.lines["packages"].split(", "))
    assert "pip uninstall abacus-" in caught.value.fix


# ------------------------------------------------------------------------------------------------------------ broken

BROKEN = {
    "import error": ("import no_such_driver_library", "ModuleNotFoundError: No module named 'no_such_driver_library'"),
    "syntax error": ("def broken(:", "SyntaxError"),
    "exit at import": ("import sys\nsys.exit('no licence')", "SystemExit: no licence"),
    "exception in create": (good(create="raise OSError('libbeads.so not found')"), "OSError: libbeads.so not found"),
    "wrong type from create": (good(create="return 42"), "polyad_create_backend returned 42, not a Backend"),
    "nothing from create": (good(create="return None"), "is the hook marked with @polyad.hookimpl"),
    "no hooks": ("x = 1", "polyad_backend_info returned None"),
    "wrong info": (
        "import polyad\n@polyad.hookimpl\ndef polyad_backend_info(): return 'abacus'",
        "polyad_backend_info returned 'abacus', not a BackendInfo",
    ),
    "another name": (good().replace('"abacus", ', '"beads", '), "its info calls it 'beads'"),
    "unknown feature": (
        good()
        .replace("Capabilities(", "Capabilities(features=frozenset({{'beads'}}), ")
        .replace("{{'beads'}}", "{'beads'}"),
        "features that do not exist: beads",
    ),
    "wrong hook signature": (
        "import polyad\n@polyad.hookimpl\ndef polyad_backend_info(colour): return colour",
        "PluginValidationError",
    ),
    "uses itself": (
        good(create="polyad.zeros(1, device='abacus')"),
        "it uses its own device while it is being created",
    ),
    "api_version of no pair": (good(version="'1.0'"), "its api_version is '1.0', not a pair of whole numbers"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_backend_is_quarantined_and_hurts_nobody(kind: str, install) -> None:
    source, says = BROKEN[kind]
    install("abacus-polyad", source, backends="abacus")
    with pytest.raises(BackendUnavailable) as first:
        polyad.zeros(1, device="abacus")
    assert says in first.value.message
    assert first.value.fix
    with pytest.raises(BackendUnavailable) as second:
        polyad.zeros(1, device="abacus")
    assert str(second.value) == str(first.value)
    assert second.value is not first.value
    assert (polyad.ones(2) + 1).tolist() == [2.0, 2.0]
    report = backends.list_backends()["abacus"]
    assert report.status == "quarantined"
    assert says in report.problem
    assert report.fix


def test_errors_of_a_quarantined_backend_do_not_pile_up(install) -> None:
    install("abacus-polyad", "1 / 0", backends="abacus")
    depths = []
    for _ in range(5):
        with pytest.raises(BackendUnavailable) as caught:
            registry.get("abacus")
        depths.append(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(set(depths)) == 1
    assert caught.value.__context__ is None


def test_the_first_failure_shows_its_cause_and_the_listing_keeps_the_traceback(install) -> None:
    path = install("abacus-polyad", "\n\nraise OSError('no beads')", backends="abacus")
    with pytest.raises(BackendUnavailable) as caught:
        registry.get("abacus")
    assert isinstance(caught.value.__cause__, OSError)
    assert "--force-reinstall abacus-polyad" in caught.value.fix
    assert f'{path}", line 3' in backends.list_backends()["abacus"].traceback


@pytest.mark.parametrize(
    "failure",
    [
        "raise PermissionError(13, 'Permission denied', '/dev/beads')",
        "raise ImportError('libbeads.so: cannot open shared object file: Permission denied')",
        "raise OSError(1, 'Operation not permitted')",
    ],
)
def test_what_is_forbidden_is_not_answered_with_an_installation(install, failure: str) -> None:
    install("abacus-polyad", failure, backends="abacus")
    install("bad-plugin", failure, plugins="bad")
    with pytest.raises(BackendUnavailable, match="failed to load") as caught:
        registry.get("abacus")
    listing = backends.list_backends()
    for fix in (caught.value.fix, listing["abacus"].fix, listing.plugins[0].fix):
        assert "give yourself permission" in fix
        assert "pip install" not in fix


def test_an_interrupted_load_is_tried_again(install) -> None:
    path = install("abacus-polyad", "raise KeyboardInterrupt", backends="abacus")
    with pytest.raises(KeyboardInterrupt):
        registry.get("abacus")
    path.write_text(textwrap.dedent(good()) + "# another length, so that no cached bytecode is taken\n")
    assert registry.get("abacus").device_count() == 1


def test_a_mended_backend_is_found_after_a_refresh(install) -> None:
    path = install("abacus-polyad", "raise OSError('no beads')", backends="abacus")
    assert not backends.is_available("abacus")
    x = polyad.ones(2)
    sys.modules.pop("abacus_polyad", None)
    path.write_text(textwrap.dedent(good()))
    importlib.invalidate_caches()
    assert not backends.is_available("abacus")
    backends.refresh()
    assert backends.is_available("abacus")
    x.grad = polyad.ones(2)  # tensors from before keep their type


# ------------------------------------------------------------------------------------------------------------ versions


@pytest.mark.parametrize("version", [(API_VERSION[0], API_VERSION[1] + 1), (API_VERSION[0] + 1, 0)])
def test_a_backend_for_a_newer_interface_asks_for_a_newer_polyad(version, install) -> None:
    install("abacus-polyad", good(version, "raise AssertionError('asked too early')"), backends="abacus")
    with pytest.raises(ApiVersionMismatch) as caught:
        polyad.zeros(1, device="abacus")
    ours = f"{API_VERSION[0]}.{API_VERSION[1]}"
    assert f"written for backend interface {version[0]}.{version[1]}, this polyad has {ours}" in caught.value.message
    assert caught.value.fix == "pip install --upgrade polyad"
    assert sys.modules["abacus_polyad"].created == []
    assert backends.list_backends()["abacus"].status == "quarantined"


def test_a_backend_for_an_older_interface_asks_for_a_newer_backend(install) -> None:
    install("abacus-polyad", good((API_VERSION[0] - 1, 9)), backends="abacus")
    with pytest.raises(ApiVersionMismatch) as caught:
        polyad.zeros(1, device="abacus")
    assert caught.value.fix == "pip install --upgrade abacus-polyad"


def test_a_later_minor_keeps_its_older_backends(install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyad.backend.api_version.API_VERSION", (API_VERSION[0], API_VERSION[1] + 3))
    install("abacus-polyad", good(), backends="abacus")
    assert polyad.ones(1, device="abacus").tolist() == [1.0]


@pytest.mark.parametrize("minor", range(API_VERSION[1] + 1))
def test_what_came_with_later_minors_has_a_default_for_an_older_backend(minor: int, make_toy) -> None:
    backend = make_toy()
    backend.info = BackendInfo("toy", (API_VERSION[0], minor))
    with backends.register("toy", backend), backends.fallback("allow"):
        x = polyad.ones(3, device="cpu").pin_memory("toy").to("toy", non_blocking=True)
        start, end = (polyad.Event("toy", enable_timing=True) for _ in range(2))
        start.record()
        with polyad.Stream("toy:1"), polyad.Stream("toy") as stream:
            y = x + 1
            y.record_stream(stream)
        end.record(stream)
        assert stream == polyad.accelerator.current_stream("toy")
        assert start.elapsed_time(end) >= 0
        graph = polyad.jit.capture(lambda x: x * 2, y)
        assert graph(y).to("cpu", non_blocking=True).tolist() == [4.0] * 3
        assert backend.runtime(x.device) is None
        assert polyad.accelerator.memory_allocated("toy") == 24
        polyad.accelerator.empty_cache()


def test_features_of_a_newer_interface_are_a_version_mismatch(install) -> None:
    newer = good((API_VERSION[0], API_VERSION[1] + 1)).replace(
        "Capabilities(", "Capabilities(features=frozenset(['x']), "
    )
    install("abacus-polyad", newer, backends="abacus")
    with pytest.raises(ApiVersionMismatch):
        registry.get("abacus")


# ------------------------------------------------------------------------------------------------------------ devices


def test_device_index_out_of_range(toy) -> None:
    assert str(polyad.zeros(1, device="toy").device) == "toy:0"
    assert str(polyad.zeros(1, device="toy:1").device) == "toy:1"
    with pytest.raises(
        BackendUnavailable, match="device toy:2: there is no such device; 'toy' has 2 devices"
    ) as caught:
        polyad.zeros(1, device="toy:2")
    assert "toy:0 to toy:1" in caught.value.message
    with pytest.raises(DeviceError, match="one device without a number"):
        polyad.zeros(1, device="cpu:1")
    assert polyad.zeros(1, device="cpu:0").device == polyad.device("cpu")


def test_a_backend_without_a_device_says_why(make_toy) -> None:
    backend = make_toy()
    backend.devices, backend.why = 0, "no permission to open /dev/beads"
    with backends.register("beadless", backend), pytest.raises(BackendUnavailable, match="finds no device") as caught:
        polyad.zeros(1, device="beadless")
    assert caught.value.lines["because"] == "no permission to open /dev/beads"


def test_a_backend_that_cannot_count_is_unavailable(make_toy) -> None:
    class Bad(make_toy):
        def device_count(self) -> int:
            raise OSError("bus error")

    with backends.register("bad", Bad()):
        with pytest.raises(BackendUnavailable, match="finds no device") as caught:
            polyad.zeros(1, device="bad")
        assert "OSError: bus error" in caught.value.lines["because"]
        assert "bus error" in backends.list_backends()["bad"].problem


@pytest.mark.parametrize("device", [True, 1.5, ["cpu"], b"cpu"])
def test_a_device_of_the_wrong_type(device) -> None:
    with pytest.raises(ArgumentTypeError, match="is no device"):
        polyad.zeros(1, device=device)


def test_a_dtype_of_the_wrong_type() -> None:
    with pytest.raises(ArgumentTypeError, match="dtype is str, not a dtype"):
        polyad.zeros(1, dtype="float32")


# ------------------------------------------------------------------------------------------------------- registering


def test_registering_by_hand(make_toy) -> None:
    with backends.register("handmade", make_toy()) as registration:
        assert repr(registration) == "<registration of backend 'handmade'>"
        assert backends.is_available("handmade:1")
        report = backends.list_backends()["handmade"]
        assert (report.status, len(report.devices)) == ("loaded", 2)
    assert not backends.is_available("handmade")
    with pytest.raises(ArgumentError, match="was not registered"):
        backends.unregister("handmade")


def test_registering_what_cannot_be(make_toy, toy) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a Backend"):
        backends.register("x", object())
    for name in ("toy", "cpu"):
        with pytest.raises(ArgumentError, match="is in use"):
            backends.register(name, make_toy())
    with pytest.raises(ArgumentError, match="is no device type"):
        backends.register("a:1", make_toy())
    old = make_toy()
    old.info = BackendInfo("older", (API_VERSION[0] - 1, 0))
    with pytest.raises(ApiVersionMismatch):
        backends.register("older", old)


def test_a_name_can_be_used_again(make_toy) -> None:
    class Other(make_toy):
        devices = 1

    with backends.register("again", make_toy()):
        first = polyad.ones(2, device="again:1")
    with backends.register("again", Other()):
        assert not backends.is_available("again:1")
        second = polyad.ones(2, device="again")
    assert first._type.backend is not second._type.backend


# ------------------------------------------------------------------------------------------------------- default device


def test_default_device_as_context(toy) -> None:
    with polyad.device("toy:1"):
        assert str(polyad.zeros(1).device) == "toy:1"
        with polyad.device("cpu"):
            assert polyad.zeros(1).device == polyad.device("cpu")
        assert polyad.get_default_device() == polyad.device("toy:1")
    assert polyad.zeros(1).device == polyad.device("cpu")


def test_the_same_device_object_nests_and_survives_errors(toy) -> None:
    device = polyad.device("toy")
    with pytest.raises(ZeroDivisionError), device, device:
        _ = 1 / 0
    assert polyad.get_default_device() == polyad.device("cpu")


def test_set_default_device(toy) -> None:
    polyad.set_default_device("toy")
    try:
        assert str(polyad.ones(1).device) == "toy:0"
        with pytest.raises(BackendNotFound):
            polyad.set_default_device("nobody")
        assert str(polyad.get_default_device()) == "toy:0"
        seen = []
        thread = threading.Thread(target=lambda: seen.append(str(polyad.ones(1).device)))
        thread.start()
        thread.join()
        assert seen == ["cpu"]  # the thread that sets it has it, as in PyTorch
    finally:
        polyad.set_default_device(None)
    assert str(polyad.ones(1).device) == "cpu"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("nobody", "no installed backend has this name"),
        ("cpu:7", "one device without a number"),
        ("a b", "cannot read 'a b'"),
    ],
)
def test_wrong_environment_variable_is_named(value: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYAD_DEVICE", value)
    registry.forget()
    try:
        with pytest.raises(RuntimeError, match=says) as caught:
            polyad.zeros(1)
        assert caught.value.lines["asked by"] == f"the environment variable POLYAD_DEVICE={value}"
        assert polyad.zeros(1, device="cpu").tolist() == [0.0]
    finally:
        monkeypatch.undo()
        registry.forget()


def test_environment_variable_is_the_default(toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYAD_DEVICE", "toy:1")
    registry.forget()
    try:
        assert str(polyad.zeros(1).device) == "toy:1"
        with polyad.device("cpu"):
            assert str(polyad.zeros(1).device) == "cpu"
    finally:
        monkeypatch.undo()
        registry.forget()


# ------------------------------------------------------------------------------------------------------------ import


def test_importing_polyad_is_light() -> None:
    """No driver, no plug-in machinery, no terminal library; and no bfloat16 before it is met."""
    program = """
import sys
before = set(sys.modules)
import polyad
assert "importlib.metadata" not in set(sys.modules) - before  # no entry point is read before a device is used
heavy = {"cupy", "pyopencl", "ml_dtypes", "rich", "pluggy", "matplotlib", "pytest", "torch", "polyad_numpy"}
loaded = {name.partition(".")[0] for name in sys.modules}
assert not heavy & loaded, heavy & loaded
parts = {"polyad.nn", "polyad.optim", "polyad.jit", "polyad.backends", "polyad.cli"}
assert not parts & set(sys.modules), parts & set(sys.modules)
polyad.ones(2) + 1
loaded = {name.partition(".")[0] for name in sys.modules}
assert not (heavy - {"pluggy", "polyad_numpy"}) & loaded, heavy & loaded
import polyad.nn
loaded = {name.partition(".")[0] for name in sys.modules}
assert not (heavy - {"pluggy", "polyad_numpy"}) & loaded, heavy & loaded
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_device_is_used_when_there_was_a_tensor_on_it() -> None:
    polyad.ones(1)
    assert registry.is_used("cpu")
    assert not registry.is_used("nobody's")
