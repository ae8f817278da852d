"""Packages of third parties, installed by pip side by side: each works or is quarantined by itself.

Run by `nox -s template` in an environment that has polyad's wheel and the template's wheel and nothing of this
repository; it installs packages there, so run it nowhere else:

    python -m pytest tests/packaging/third_parties.py

Its name keeps it out of the ordinary run. Each package is a wheel written here, a module with an entry point.
"""

import json
import re
import subprocess
import sys
import textwrap
import zipfile

import pytest

BACKEND = """
    import polyad
    from polyad.backend import BackendInfo

    @polyad.hookimpl
    def polyad_backend_info():
        return BackendInfo({device!r}, {version}, indexed=False, install="pip install {device}-driver")

    @polyad.hookimpl
    def polyad_create_backend():
        {create}
"""

WORKS = "from polyad_template.backend import TemplateBackend; return type('Backend', (TemplateBackend,), {})()"

KERNELS = """
    import numpy
    import polyad
    from polyad.backend import Kernel, KernelSupply, cast_by_rule
    from polyad.base.dtypes import float32

    def load(operand, dtype):
        from polyad_template import kernels
        return kernels.load(operand, dtype)

    def store(result, dtype):
        from polyad_template.memory import Buffer
        return Buffer.of(result, dtype)

    def louder(a, b):
        return a * b + 100

    @polyad.hookimpl
    def polyad_kernels():
        table = {"remainder": Kernel(numpy.remainder, dtypes=frozenset({float32})), "mul": louder}
        mine = cast_by_rule(table, load=load, store=store)
        yield KernelSupply("template", "remainder", mine["remainder"])
        yield KernelSupply("abacus", "mul", mine["mul"])
        yield KernelSupply("nobody", "mul", mine["mul"])
"""


def backend(device, version="polyad.backend.API_VERSION", create=WORKS):
    return "polyad.backends", device, BACKEND.format(device=device, version=version, create=create)


PACKAGES = {
    "polyad-abacus": backend("abacus"),
    "polyad-early": ("polyad.backends", "early", "import a_driver_that_nobody_has"),
    "polyad-late": backend("late", create="raise OSError('libnpu.so.3: cannot open shared object file')"),
    "polyad-older": backend("older", "(0, 9)", "raise AssertionError('asked too early')"),
    "polyad-newer": backend("newer", "(polyad.backend.API_VERSION[0], 99)", "raise AssertionError('asked too early')"),
    "polyad-loud": ("polyad.plugins", "loud", KERNELS),
    "polyad-mute": ("polyad.plugins", "mute", "raise RuntimeError('out of order')"),
}


def wheel(folder, package, group, name, source):
    """Write the wheel of a package with one module and one entry point."""
    module = package.replace("-", "_")
    info = f"{module}-1.2.dist-info"
    path = folder / f"{module}-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}.py", textwrap.dedent(source))
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", f"[{group}]\n{name} = {module}\n")
        archive.writestr(f"{info}/RECORD", "")
    return str(path)


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True)


def run(*arguments):
    """Run Python elsewhere; its output, with white space made single, and what it warned of."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return re.sub(r"\s+", " ", done.stdout), done.stderr


def results(program):
    """What a program prints as JSON."""
    return json.loads(run("-c", textwrap.dedent(program))[0])


@pytest.fixture(scope="module", autouse=True)
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    pip("install", "--no-deps", *[wheel(folder, name, *package) for name, package in PACKAGES.items()])
    yield
    pip("uninstall", "--yes", *PACKAGES)


def test_polyad_and_the_template_are_wheels():
    found = results("""
        import json, polyad, polyad_template
        print(json.dumps([polyad.__file__, polyad_template.__file__]))
    """)
    assert all("site-packages" in path for path in found)


def test_importing_polyad_imports_none_of_them():
    assert (
        results("""
        import json, sys, polyad
        polyad.ones(2) + 1
        print(json.dumps([name for name in sys.modules if name in ("polyad_abacus", "polyad_late", "polyad_template")]))
    """)
        == []
    )


def test_two_backends_at_once():
    assert results("""
        import json, polyad
        a, b, c = (polyad.ones(3, device=device, requires_grad=True) for device in ("template", "abacus", "cpu"))
        ((a * 2).cpu() + (b + b).cpu() + c).sum().backward()
        print(json.dumps([[str(x.grad.device), x.grad.tolist()] for x in (a, b, c)]))
    """) == [["template", [2.0] * 3], ["abacus", [2.0] * 3], ["cpu", [1.0] * 3]]


QUARANTINED = {
    "early": ("ModuleNotFoundError: No module named 'a_driver_that_nobody_has'", "pip install .* polyad-early"),
    "late": ("OSError: libnpu.so.3: cannot open shared object file", "pip install late-driver"),
    "older": (r"written for backend interface 0\.9, this polyad has \d+\.\d+", "pip install --upgrade polyad-older"),
    "newer": (r"written for backend interface \d+\.99, this polyad has \d+\.\d+", "pip install --upgrade polyad"),
}  # fmt: skip


@pytest.mark.parametrize("device", QUARANTINED)
def test_what_does_not_work_is_quarantined_with_reason_and_fix(device):
    reason, fix = QUARANTINED[device]
    kind, error, total = results(f"""
        import json, polyad
        try:
            polyad.ones(2, device={device!r})
        except RuntimeError as error:
            print(json.dumps([type(error).__name__, str(error), (polyad.ones(2, device="abacus") + 1).sum().item()]))
    """)
    assert kind == ("ApiVersionMismatch" if device in ("older", "newer") else "BackendUnavailable")
    assert re.search(reason, error)
    assert re.search(fix, error)
    assert total == 4.0


def test_the_listing_shows_all_of_them():
    shown, _ = run("-m", "polyad.backends")
    for device in ("cpu", "template", "abacus"):
        assert f"{device}: loaded (" in shown
    for device, (reason, fix) in QUARANTINED.items():
        assert re.search(rf"{device}: quarantined \(polyad-{device} 1\.2.*?problem .*?{reason}.*?fix {fix}", shown)
    assert re.search(r"plug-in loud: loaded \(polyad-loud 1\.2\).*template remainder \(priority 10\)", shown)
    assert re.search(r"plug-in mute: broken \(polyad-mute 1\.2\) problem RuntimeError: out of order fix ", shown)


def test_kernels_for_devices_that_the_package_does_not_own():
    program = """
        import json, polyad
        x, y = polyad.tensor([7.0], device="template"), polyad.tensor([7.0], device="abacus")
        print(json.dumps([(x % 4).tolist(), (y * 2).tolist(), (x * 2).tolist(), (polyad.tensor([7.0]) * 2).tolist()]))
    """
    assert results(program) == [[3.0], [114.0], [14.0], [14.0]]
    _, warned = run("-c", textwrap.dedent(program))
    assert warned.count("plug-in 'mute' failed to load and is left out: RuntimeError: out of order") == 1


def test_who_is_uninstalled_is_gone():
    pip("uninstall", "--yes", "polyad-abacus")
    shown, _ = run("-m", "polyad.backends")
    assert "abacus: loaded" not in shown
    error = results("""
        import json, polyad
        try:
            polyad.ones(2, device="abacus")
        except RuntimeError as error:
            print(json.dumps(str(error)))
    """)
    assert "device 'abacus': no installed backend has this name" in error
