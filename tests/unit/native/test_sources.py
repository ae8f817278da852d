"""The C files: each is read by itself, lies where its op is declared, and compiles for each dtype that it is for."""

import importlib
import pathlib
import pkgutil
import shutil
import subprocess

import pytest

import polyad.ops
from polyad.backend import c_compiler
from polyad_native import compiler, sources
from polyad_native.engine import Library

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

FILES = sorted(sources.FOLDER.rglob("*.[ch]"))
for module in pkgutil.walk_packages([str(sources.FOLDER)], "polyad_native."):
    importlib.import_module(module.name)
LIBRARIES = [library for path, library in Library.all.items() if path != "common/engine"]


@pytest.mark.skipif(c_compiler.command() is None, reason="no C compiler")
@pytest.mark.parametrize("dtype", [(), ("-DDTYPE_double",)], ids=["as an editor reads it", "double"])
def test_each_file_is_read_alone(dtype) -> None:
    strict = ("-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types")
    command = [*c_compiler.command(), "-fsyntax-only", *strict, *dtype, "-x", "c", *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_headers_are_guarded_by_their_names() -> None:
    for file in FILES:
        if file.suffix == ".h":
            guard = f"POLYAD_{file.stem.upper()}_H"
            assert f"#ifndef {guard}\n#define {guard}\n" in file.read_text(), file


def test_a_kernel_lies_where_its_op_is_declared() -> None:
    declared = pathlib.Path(polyad.ops.__file__).parent
    kernels = sources.FOLDER / "kernels"
    written = [path.relative_to(kernels) for path in kernels.rglob("*.*") if path.suffix in (".c", ".py")]
    assert len(written) > 30
    assert [path for path in written if not (declared / path).with_suffix(".py").exists()] == []


@pytest.mark.parametrize(
    ("library", "dtype"),
    [pytest.param(library, dtype, id=f"{library.path} {dtype}") for library in LIBRARIES for dtype in library.dtypes],
)
def test_each_library_compiles(library, dtype) -> None:
    """Else users get a warning and NumPy's kernels, and no other test fails."""
    assert library.module(dtype).bind


def test_there_is_a_library_for_each_file_with_kernels() -> None:
    written = {path.relative_to(sources.FOLDER).with_suffix("").as_posix() for path in FILES if path.suffix == ".c"}
    assert written == set(Library.all)


def test_what_is_compiled_changes_with_each_file_that_is_read(tmp_path, monkeypatch) -> None:
    shutil.copytree(sources.FOLDER, tmp_path / "copy", ignore=shutil.ignore_patterns("*.py"))
    here = sources.source("kernels/nn/attention", "float")
    monkeypatch.setattr(sources, "FOLDER", tmp_path / "copy")
    sources._digest.cache_clear()
    assert sources.source("kernels/nn/attention", "float") == here  # wherever the files are
    for file, changes in (
        ("kernels/nn/attention.c", True),
        ("gemm/packing.h", True),
        ("common/dtype.h", True),
        ("gemm/product.h", False),
    ):
        before = sources.source("kernels/nn/attention", "float")
        with (tmp_path / "copy" / file).open("a") as handle:
            handle.write("/* more */\n")
        sources._digest.cache_clear()
        assert (sources.source("kernels/nn/attention", "float") != before) is changes, file
    sources._digest.cache_clear()
