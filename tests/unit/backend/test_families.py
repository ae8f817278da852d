"""Kernels that load by family."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polyad.backend import KernelFamilies, family_of
from polyad.backend.families import UnknownKernelWarning, unknown_kernels
from polyad.dispatch.catalogue import OPS
from polyad_numpy.kernels import KERNELS


def test_a_kernel_stands_where_its_op_does() -> None:
    lost = [name for package in KERNELS._packages() for name in KERNELS._load(package) if KERNELS.get(name) is None]
    assert lost == []
    assert KERNELS.keys() <= OPS.keys()


def test_a_family_is_the_path_of_the_op() -> None:
    assert {name: op.module for name, op in OPS.items() if op.module.startswith("polyad.ops.")} == {
        name: f"polyad.ops.{family_of(name)}" for name in OPS if family_of(name) is not None
    }
    assert family_of("no_such_op") is None


def test_only_the_packages_that_are_asked_for_are_loaded(tmp_path, monkeypatch) -> None:
    package = tmp_path / "some_kernels"
    (package / "linalg").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "linalg" / "__init__.py").write_text("")
    (package / "linalg" / "norms.py").write_text("KERNELS = {'linalg_det': 'the kernel'}")
    (package / "pointwise.py").write_text("raise RuntimeError('loaded')")
    monkeypatch.syspath_prepend(tmp_path)
    kernels = KernelFamilies("some_kernels")
    assert kernels["linalg_det"] == "the kernel"
    assert kernels.get("cumsum") is None  # a family that the package has not
    with pytest.raises(RuntimeError, match="loaded"):
        kernels.get("exp")


def test_kernels_of_others_and_kernels_in_the_wrong_place(tmp_path, monkeypatch) -> None:
    package = tmp_path / "more_kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "pointwise.py").write_text("KERNELS = {'exp': 1, 'somebody_elses': 2}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("polyad.backend.families._others", {"somebody_elses"})
    kernels = KernelFamilies("more_kernels")
    assert dict(kernels) == {"exp": 1, "somebody_elses": 2}
    assert "somebody_elses" in kernels
    assert "nobodys" not in kernels
    (package / "reductions.py").write_text("KERNELS = {'cos': 3}")
    with pytest.raises(TypeError, match=r"kernel of cos is in more_kernels\.reductions, .* polyad\.ops\.pointwise\."):
        list(KernelFamilies("more_kernels"))


def test_a_kernel_for_no_op_is_told_with_the_nearest_names(tmp_path, monkeypatch) -> None:
    package = tmp_path / "odd_kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "pointwise.py").write_text("KERNELS = {'exp': 1, 'abacus': 2, 'x::y': 3, 'sofplus': 4}")
    monkeypatch.syspath_prepend(tmp_path)
    says = r"^odd_kernels\.pointwise has .*: abacus, sofplus \(softplus\?\); `polyad ops`"
    with pytest.warns(UnknownKernelWarning, match=says):
        assert KernelFamilies("odd_kernels")["exp"] == 1


@pytest.mark.parametrize(
    ("name", "near"), [("layernorm", ["layer_norm"]), ("ad", ["add"]), ("zzz", []), ("soft_max", ["softmax"])]
)
def test_near_names(name: str, near: list[str]) -> None:
    assert unknown_kernels([name, "exp"]) == {name: near}


def test_a_first_addition_loads_no_linear_algebra() -> None:
    program = "import sys, polyad; polyad.ones(2) + 1; print([m for m in sys.modules if m.startswith('scipy.')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
