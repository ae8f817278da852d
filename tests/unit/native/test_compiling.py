"""What happens when the compiler or the cache of the native kernels fails: the answer stays right, and it is told."""

import os
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from polyad.backend import c_compiler
from polyad.errors import CompilerFailure
from polyad.files.compiled import CompiledFolder
from polyad_native import compiler, engine

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

SOURCE = "int answer(void) { return 42; }"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Makes a script the compiler."""

    def use(text):
        script = tmp_path / "compiler"
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
        monkeypatch.setattr(c_compiler, "command", lambda: (str(script),))

    return use


def kept(cache):
    return sorted(cache.rglob("*.bin"))


def test_libraries_are_compiled_once_and_kept(cache, monkeypatch) -> None:
    first = compiler.compiled(SOURCE, "a test")
    monkeypatch.setattr(c_compiler.Libraries, "_built", None)  # a second call has nothing to do
    assert compiler.compiled(SOURCE, "a test") == first
    assert engine.entry(first, "answer")
    assert len(kept(cache)) == 1


@pytest.mark.parametrize("damage", [lambda data: data[:1000], lambda data: data[:-8] + b"8 bytes!", lambda data: b""])
def test_damaged_files_are_compiled_anew(cache, damage) -> None:
    first = compiler.compiled(SOURCE, "a test")
    (path,) = kept(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert compiler.compiled(SOURCE, "a test") == first


@pytest.mark.parametrize("what", ["processor", "compiler"])
def test_libraries_of_others_are_not_taken(cache, monkeypatch, what) -> None:
    compiler.compiled(SOURCE, "a test")
    monkeypatch.setattr(c_compiler, "_identity", lambda: f"another {what}")
    compiler.compiled(SOURCE, "a test")
    assert len(kept(cache)) == 2


def test_the_processor_is_part_of_what_identifies_a_library(monkeypatch) -> None:
    before = c_compiler._identity.__wrapped__()
    monkeypatch.setattr(c_compiler, "_processor", lambda: "an abacus")
    assert c_compiler._identity.__wrapped__() != before


def test_a_cache_that_others_may_write_to_is_refused(cache) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.warns(UserWarning, match="other users may write there"):
        compiler.compiled(SOURCE, "a test")
    assert not kept(cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o777


def test_a_cache_without_room_does_not_matter(cache, monkeypatch) -> None:
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CompiledFolder, "write", full)
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")


def test_a_cache_that_is_no_folder_does_not_matter(cache) -> None:
    cache.write_text("a file")
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no such thing >&2; exit 1", "exit status *1"),
        ("kill -9 $$", "exit status *-9"),
        ("exit 0", "does not compile"),
    ],
)
def test_a_compiler_that_fails_is_told_with_its_words(cache, command, script, words) -> None:
    command(script)
    with pytest.raises(CompilerFailure, match=f"(?s)a test: the C compiler does not compile.*{words}|{words}"):
        compiler.compiled(SOURCE, "a test")
    assert not kept(cache)


def test_a_compiler_that_hangs_is_told(cache, command, monkeypatch) -> None:
    command("[ $1 = --version ] || sleep 60")
    monkeypatch.setattr(c_compiler, "_PATIENCE", 0.5)
    with pytest.raises(CompilerFailure, match=r"does not run.*timed out"):
        compiler.compiled(SOURCE, "a test")


def test_a_compiler_that_is_not_there_is_told(cache, monkeypatch) -> None:
    monkeypatch.setattr(c_compiler, "command", lambda: ("/nowhere/cc",))
    with pytest.raises(CompilerFailure, match=r"does not run.*nowhere"):
        compiler.compiled(SOURCE, "a test")


def test_an_object_that_cannot_be_loaded_is_told(cache, command) -> None:
    command('while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"')
    with pytest.raises(CompilerFailure, match="cannot be loaded"):
        engine.entry(compiler.compiled(SOURCE, "a test"), "answer")
    with pytest.raises(CompilerFailure, match="cannot be loaded"):
        engine._imported("elements", "float")


def test_threads_that_compile_the_same_all_get_it(cache) -> None:
    found = []
    threads = [threading.Thread(target=lambda: found.append(compiler.compiled(SOURCE, "a test"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(kept(cache)) == 1


def ask(text, **variables):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


PROGRAM = """
    import polyad
    a = polyad.arange(40000.0).reshape(200, 200)
    eye = polyad.eye(200)
    for _ in range(2):
        assert ((a @ eye) == a).all() and (polyad.nn.functional.relu(-a) == 0).all()
    print("right")
"""


@pytest.mark.parametrize("compiler_command", ["false", "/nowhere/cc"])
def test_programs_run_without_a_compiler_that_works(tmp_path, compiler_command) -> None:
    done = ask(PROGRAM, CC=compiler_command, POLYAD_CACHE_DIR=str(tmp_path))
    assert done.stdout == "right\n"
    assert done.stderr.count("NumPy's kernels compute in its place") == 1


def test_programs_run_without_any_compiler(tmp_path) -> None:
    done = ask(PROGRAM, PATH=str(tmp_path), CC="")
    assert (done.stdout, done.stderr) == ("right\n", "")
    report = ask("import polyad; print(polyad.backends.list_backends())", PATH=str(tmp_path), CC="").stdout
    assert "there is no C compiler" in report
    assert "pip install 'polyad[native]'" in report


def test_the_plugin_can_be_turned_off(tmp_path) -> None:
    done = ask(
        PROGRAM + "    import sys; assert 'polyad_native.engine' not in sys.modules", POLYAD_NATIVE="0",
        POLYAD_CACHE_DIR=str(tmp_path),
    )  # fmt: skip
    assert done.stdout == "right\n"
    assert not kept(tmp_path)


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("library", ["matrices", "elements", "recurring", "steps"])
def test_each_library_compiles(library: str, real: str) -> None:
    """Else users get a warning and NumPy's kernels, and no other test fails."""
    assert getattr(engine, library)(real).bind
