"""Old paths of modules: they say where the module is now, however they are imported."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys

import pytest

import polyad
from polyad.compatibility.moved import MOVED, NAMES, ModuleMoved, NameMoved


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_names_the_new_one(old: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(old)
    assert str(caught.value) == f"{old} moved: import it from {MOVED[old]}"


@pytest.mark.parametrize("old", MOVED)
def test_a_row_leads_to_a_module(old: str) -> None:
    assert MOVED[old] not in MOVED
    assert importlib.util.find_spec(MOVED[old]) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "import polyad.nn.conv",
        "import polyad.nn.conv as conv",
        "from polyad.nn.conv import Conv2d",
        "from polyad.nn import conv",
        "from polyad.nn import Linear, conv",
        "__import__('polyad.nn', fromlist=['conv'])",
    ],
)
@pytest.mark.parametrize("before", ["", "import polyad; ", "import polyad.nn; "])
def test_every_form_of_import_says_so(before: str, statement: str) -> None:
    with pytest.raises(ModuleMoved, match=r"^polyad\.nn\.conv moved: import it from polyad\.nn\.modules\.conv$"):
        exec(before + statement, {})


def test_a_name_of_the_package_itself_says_so_too() -> None:
    with pytest.raises(ModuleMoved, match=r"polyad\.expansions moved: import it from polyad\.tables\.special"):
        from polyad import expansions  # noqa: F401


def test_what_lies_below_a_moved_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOVED, "polyad.cellar", "polyad.attic")
    with pytest.raises(ModuleMoved, match=r"polyad\.cellar moved: import it from polyad\.attic"):
        exec("from polyad.cellar.shelf import jar", {})


def test_other_modules_are_missing_as_before() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"polyad\.nn\.convolution: there is no such module") as caught:
        importlib.import_module("polyad.nn.convolution")
    assert caught.value.name == "polyad.nn.convolution"
    with pytest.raises(ImportError, match=r"cannot import name 'convolution' from 'polyad\.nn'"):
        exec("from polyad.nn import convolution", {})
    assert importlib.util.find_spec("conv") is None


@pytest.mark.parametrize("old", NAMES)
def test_a_name_that_left_its_module_names_the_new_place(old: str) -> None:
    module, _, name = old.rpartition(".")
    with pytest.raises(NameMoved, match=f"^{re.escape(old)} moved: it is {re.escape(NAMES[old])}$"):
        exec(f"from {module} import {name}", {})
    home, _, today = NAMES[old].rpartition(".")
    assert hasattr(importlib.import_module(home), today)


def test_an_old_module_as_an_attribute_says_where_it_is() -> None:
    with pytest.raises(AttributeError, match=r"it moved to polyad\.nn\.modules\.conv"):
        polyad.nn.conv  # noqa: B018
    with pytest.raises(AttributeError, match=r"it moved to polyad\.ops\.pointwise\.arithmetic"):
        polyad.ops.arithmetic  # noqa: B018
    assert not hasattr(polyad.ops, "truth")
    assert not hasattr(polyad.nn, "nosuch")


def test_names_that_the_package_still_has_are_imported() -> None:
    from polyad.backends import doctor

    assert callable(doctor)


def test_an_old_path_is_told_to_a_fresh_program() -> None:
    run = subprocess.run([sys.executable, "-m", "polyad.backends.doctor"], capture_output=True, text=True)
    assert run.returncode == 1
    assert "polyad.backends.doctor moved: import it from polyad.inspection.diagnosis.doctor" in run.stderr
