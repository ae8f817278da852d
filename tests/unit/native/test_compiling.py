"""What happens when the compiler or the cache of the native kernels fails: the answer stays right, and it is told."""

import os
import pathlib
import shlex
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import pytest

from polyad.backend import c_compiler
from polyad.backend.compilations import Foreseen
from polyad.errors import CompilerFailure
from polyad.files import compiled
from polyad.files.compiled import CompiledFolder
from polyad_native import ahead, compiler, engine
from polyad_native.kernels.optim.steps import _LIBRARY as STEPS

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

SOURCE = "int answer(void) { return 42; }"
FOUND = shlex.join(c_compiler.command() or ())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    compiler.libraries()
    compiled._warn.cache_clear()
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
    monkeypatch.setattr(c_compiler.Libraries, "built", None)  # a second call has nothing to do
    assert compiler.compiled(SOURCE, "a test") == first
    assert engine.entry(first, "answer")
    assert len(kept(cache)) == 1


@pytest.mark.parametrize("damage", [lambda data: data[:1000], lambda data: data[:-8] + b"8 bytes!", lambda data: b""])
def test_damaged_files_are_compiled_anew(cache, damage) -> None:
    compiler.compiled(SOURCE, "a test")
    (path,) = kept(cache)
    size = path.stat().st_size
    path.write_bytes(damage(path.read_bytes()))
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")
    assert path.stat().st_size == size


@pytest.mark.parametrize("what", ["processor", "compiler"])
def test_libraries_of_others_are_not_taken(cache, monkeypatch, what) -> None:
    compiler.compiled(SOURCE, "a test")
    monkeypatch.setattr(c_compiler, "_compiler_identity", lambda: f"another {what}")
    compiler.compiled(SOURCE, "a test")
    assert len(kept(cache)) == 2


def test_the_processor_is_part_of_what_identifies_a_library(monkeypatch) -> None:
    before = c_compiler._compiler_identity.__wrapped__()
    monkeypatch.setattr(c_compiler, "_processor", lambda: "an abacus")
    assert c_compiler._compiler_identity.__wrapped__() != before


def test_a_cache_that_others_may_write_to_is_refused(cache) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.warns(UserWarning, match="other users may write there"):
        compiler.compiled(SOURCE, "a test")
    assert not kept(cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o777


def full(*arguments, **options):
    raise OSError(28, "No space left on device")


def test_a_cache_without_room_is_told_once(cache, monkeypatch) -> None:
    monkeypatch.setattr(CompiledFolder, "write", full)
    with pytest.warns(UserWarning, match=r"not kept in .*cpu: No space left.*compiled anew.*POLYAD_CACHE_DIR") as told:
        assert all(engine.entry(compiler.compiled(SOURCE, "a test"), "answer") for _ in range(2))
    assert len(told) == 1


def test_a_cache_that_is_no_folder_is_told(cache) -> None:
    cache.write_text("a file")
    with pytest.warns(UserWarning, match="not kept in"):
        assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")


def test_a_user_without_a_home_is_told(monkeypatch) -> None:
    def none():
        raise RuntimeError("Could not determine home directory.")

    for name in ("POLYAD_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pathlib.Path, "home", none)
    with pytest.warns(UserWarning, match=r"not determine home directory.*set POLYAD_CACHE_DIR"):
        assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")


def test_without_room_for_temporary_files_kept_libraries_are_refused_with_the_reason(cache, monkeypatch) -> None:
    library = compiler.compiled(SOURCE, "a test")
    STEPS.imported()
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    for load in (lambda: engine.entry(library, "answer"), lambda: STEPS.imported()):
        with pytest.raises(CompilerFailure, match=r"(?s)No space left.*set TMPDIR"):
            load()
    with pytest.raises(CompilerFailure, match=r"(?s)No space left.*set TMPDIR"):
        compiler.compiled(f"{SOURCE}\n", "a test")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no such thing >&2; exit 1", "exit status *1"),
        ("kill -9 $$", "exit status *-9"),
        ("exit 0", "does not compile"),
        ("printf 'caf\\351' >&2; exit 1", "caf\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_compiler_that_fails_is_told_with_its_words(cache, command, script, words) -> None:
    command(script)
    with pytest.raises(CompilerFailure, match=f"(?s)a test: the C compiler does not compile.*{words}|{words}"):
        compiler.compiled(SOURCE, "a test")
    assert not kept(cache)


def gone(status: pathlib.Path) -> bool:
    """Whether a process that was killed has ended; on a busy machine it takes its time."""
    for _ in range(100):
        if not status.exists() or " Z " in status.read_text():
            return True
        time.sleep(0.1)
    return False


def test_a_compiler_that_hangs_is_told_and_not_waited_for_again(cache, command, monkeypatch, tmp_path) -> None:
    command(f"[ $1 = --version ] || {{ sleep 60 & echo $! >> {tmp_path}/started; wait; }}")
    monkeypatch.setattr(c_compiler, "_PATIENCE", 0.5)
    libraries = compiler.libraries.__wrapped__()
    for _ in range(2):
        with pytest.raises(CompilerFailure, match=r"does not run.*not ended after 0.5 seconds"):
            libraries.compiled(SOURCE, "a test")
    (started,) = (tmp_path / "started").read_text().split()
    assert gone(pathlib.Path(f"/proc/{started}/stat"))


@pytest.mark.parametrize("refused", ["-mprefer-vector-width=512", "-march=native", "-mcpu=native"])
def test_flags_that_a_compiler_does_not_take_are_left_out(cache, command, refused, monkeypatch) -> None:
    monkeypatch.delenv(ahead.CAP, raising=False)
    command(f'for each; do case $each in -mcpu=native|{refused}) exit 1; esac; done; exec {FOUND} "$@"')
    libraries = compiler.libraries.__wrapped__()
    assert refused not in libraries.flags
    assert libraries.loaded(libraries.compiled(SOURCE, "a test"), "a test").answer() == 42


def test_math_functions_of_vectors_that_the_library_lacks_are_not_called(cache, monkeypatch) -> None:
    monkeypatch.setattr(compiler, "VECTOR_MATH", (*compiler.VECTOR_MATH, "-Dtanhf=nobodys"))
    monkeypatch.setattr(compiler, "VECTOR_LIBRARY", ("-DPOLYAD_VECTOR_MATH", "-Dsinf=nobodys"))
    assert compiler.vector_math.__wrapped__() == ()


def test_a_compiler_that_is_not_there_is_told(cache, monkeypatch) -> None:
    monkeypatch.setattr(c_compiler, "command", lambda: ("/nowhere/cc",))
    with pytest.raises(CompilerFailure, match=r"does not run.*nowhere"):
        compiler.compiled(SOURCE, "a test")


def test_an_object_that_cannot_be_loaded_is_told(cache, command) -> None:
    command('while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"')
    with pytest.raises(CompilerFailure, match="cannot be loaded"):
        engine.entry(compiler.compiled(SOURCE, "a test"), "answer")
    with pytest.raises(CompilerFailure, match="cannot be loaded"):
        STEPS.imported()


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


@pytest.mark.parametrize("compiler_command", ["false", "/nowhere/cc", 'cc "'])
def test_programs_run_without_a_compiler_that_works(tmp_path, compiler_command) -> None:
    done = ask(PROGRAM, CC=compiler_command, POLYAD_CACHE_DIR=str(tmp_path))
    assert done.stdout == "right\n"
    assert done.stderr.count("compute in its place") == 1


@pytest.mark.parametrize("named", ["", " "])
def test_programs_run_without_any_compiler(tmp_path, named) -> None:
    done = ask(PROGRAM, PATH=str(tmp_path), CC=named)
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


SOON = "int later(void) { return 43; }"


@pytest.fixture
def one_at_once(monkeypatch):
    """What is foreseen, one at a time, whatever cores there are."""
    foreseen = Foreseen(1)
    monkeypatch.setattr(c_compiler, "_foreseen", lambda: foreseen)
    yield foreseen
    foreseen.stop()


def test_what_is_needed_soon_is_compiled_beside_what_is_needed_now(cache, one_at_once, monkeypatch) -> None:
    soon = [(SOON, "a test of later", ()), (SOON, "a test of later", ("-DNOT_NEEDED",))]
    compiler.compiled(SOURCE, "a test", soon=lambda: soon)
    monkeypatch.setattr(c_compiler.Libraries, "built", None)  # it has begun, and is waited for
    assert compiler.libraries().loaded(compiler.compiled(SOON, "a test of later"), "a test of later").later() == 43
    assert len(kept(cache)) == 2
    compiler.compiled(
        SOON, "a test of later", soon=lambda: pytest.fail("nothing is foreseen where nothing is compiled")
    )


def test_what_has_ended_unused_is_kept_and_the_rest_is_ended(cache, one_at_once) -> None:
    compiler.compiled(SOURCE, "a test", soon=lambda: [(SOON, "a test of later", ())])
    ((compilation, _),) = one_at_once._running.values()
    compilation.process.wait()
    folders = [compilation.folder]
    one_at_once.stop()
    assert len(kept(cache)) == 2
    compiler.compiled(f"{SOURCE}\n", "a test", soon=lambda: [(f"{SOON}\n", "a test of later", ())])
    ((compilation, _),) = one_at_once._running.values()
    folders.append(compilation.folder)
    compilation.process.poll = lambda: None  # as long as it runs
    one_at_once.stop()
    assert len(kept(cache)) == 3
    assert not any(folder.exists() for folder in folders)


def test_what_cannot_be_compiled_ahead_is_told_when_it_is_needed(cache, one_at_once) -> None:
    compiler.compiled(SOURCE, "a test", soon=lambda: [("no C", "a test of later", ())])
    with pytest.raises(CompilerFailure, match=r"a test of later: the C compiler does not compile"):
        compiler.compiled("no C", "a test of later")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_leaves_what_its_parent_has_begun(cache, one_at_once) -> None:
    compiler.compiled(SOURCE, "a test", soon=lambda: [(SOON, "a test of later", ())])
    child = os.fork()
    if not child:
        one_at_once.stop()
        os._exit(bool(one_at_once.take("anything")))
    assert os.waitpid(child, 0)[1] == 0
    assert compiler.libraries().loaded(compiler.compiled(SOON, "a test of later"), "a test of later").later() == 43
