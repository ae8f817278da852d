"""Kernels that came compiled with the plug-in."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import polyad_native
from polyad.backend import c_compiler
from polyad.backend.c_compiler import NoCompiler
from polyad_native import ahead, compiler, engine

pytestmark = pytest.mark.skipif(
    not compiler.usable() or sys.platform != "linux" or not ahead.LEVELS.get(os.uname().machine),
    reason="no levels of processors here",
)

SOURCE = "int answer(void) { return 42; }"
LEVEL = next(iter(ahead.LEVELS[os.uname().machine]), "")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What came with the plug-in: a trial, and nothing else, for a processor that has everything."""
    folder = tmp_path / "ahead"
    monkeypatch.setattr(ahead, "FOLDER", folder)
    monkeypatch.delenv(ahead.CAP, raising=False)
    monkeypatch.setattr(ahead, "_features", lambda: set.union(*ahead.LEVELS[os.uname().machine].values()))
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "cache"))
    native = compiler.libraries()
    monkeypatch.setattr(compiler, "libraries", lambda: native)
    (folder / LEVEL).mkdir(parents=True)
    (folder / LEVEL / ahead.TRIAL).write_bytes(native.built(SOURCE, native.flags, "a trial"))
    (folder / LEVEL / ahead.FLAGS).write_text("-lm")
    ahead.level.cache_clear()
    yield folder / LEVEL
    ahead.level.cache_clear()


def put(folder, source, made_of):
    native = compiler.libraries()
    (folder / f"{ahead.key(source, native.flags)}.so").write_bytes(native.built(made_of, native.flags, "a test"))


def remove_compiler(monkeypatch):
    monkeypatch.setattr(c_compiler, "command", lambda: None)
    monkeypatch.setattr(compiler, "command", lambda: None)


def test_what_came_is_taken_before_a_compiler(folder) -> None:
    put(folder, SOURCE, SOURCE.replace("42", "43"))
    assert ahead.level() == LEVEL
    assert ahead.count() == 1
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")
    assert (
        compiler.compiled(SOURCE, "a test")
        == next(p for p in folder.glob("*.so") if p.name != ahead.TRIAL).read_bytes()
    )


def test_another_source_is_compiled(folder) -> None:
    put(folder, SOURCE, SOURCE)
    other = SOURCE.replace("answer", "another")
    assert engine.entry(compiler.compiled(other, "a test"), "another")


def test_other_flags_are_another_library(folder) -> None:
    put(folder, SOURCE, SOURCE.replace("answer", "wrong"))
    assert engine.entry(compiler.compiled(SOURCE, "a test", ("-g",)), "answer")


def test_a_processor_without_the_features_takes_none(folder, monkeypatch) -> None:
    if not ahead.LEVELS[os.uname().machine][LEVEL]:
        pytest.skip("all processors have what this level wants")
    put(folder, SOURCE, SOURCE.replace("answer", "wrong"))
    monkeypatch.setattr(ahead, "_features", set)
    ahead.level.cache_clear()
    assert ahead.level() == ""
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")


def test_a_system_that_does_not_load_the_trial_takes_none(folder) -> None:
    put(folder, SOURCE, SOURCE.replace("answer", "wrong"))
    (folder / ahead.TRIAL).write_bytes(b"for another system")
    ahead.level.cache_clear()
    assert ahead.level() == ""
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")


def test_without_a_compiler_the_rest_is_refused(folder, monkeypatch) -> None:
    put(folder, SOURCE, SOURCE)
    remove_compiler(monkeypatch)
    assert compiler.why_not.__wrapped__() == ""
    assert compiler.vector_math.__wrapped__() == ("-lm",)
    assert engine.entry(compiler.compiled(SOURCE, "a test"), "answer")
    with pytest.raises(NoCompiler, match="there is no C compiler"):
        compiler.compiled(SOURCE.replace("42", "43"), "a test")


def test_without_both_there_are_no_native_kernels(folder, monkeypatch) -> None:
    remove_compiler(monkeypatch)
    (folder / ahead.TRIAL).unlink()
    ahead.level.cache_clear()
    assert "no C compiler" in compiler.why_not.__wrapped__()


PROGRAM = """
    import json, warnings, sys
    warnings.simplefilter("error")
    from polyad_native import ahead, compiler
    if len(sys.argv) > 1:
        from pathlib import Path
        ahead.FOLDER = Path(sys.argv[1])
    import polyad as torch
    from polyad.backend.c_compiler import command
    x = torch.linspace(0, 1, 1 << 18).reshape(512, 512)
    found = [(x @ x).sum().item(), x.exp().sum().item(), x.cosh().sum().item()]
    print(json.dumps([command() is None, compiler.usable(), ahead.count(), found]))
"""


def test_a_program_without_a_compiler_takes_what_came_and_computes_the_rest_by_numpy(tmp_path) -> None:
    """The engine, exp and sums came, for the best level that runs here; products and cosh did not. On a processor that
    is below all levels nothing came, and NumPy computes all.
    """
    script = pathlib.Path(polyad_native.__file__).parents[3] / "tools" / "compile_ahead.py"
    if not script.exists():
        pytest.skip("not the project's tree")
    out, empty = tmp_path / "ahead", tmp_path / "bin"
    empty.mkdir()
    make = f"""
        import os, sys
        sys.argv = ["", {str(out)!r}]
        sys.path.insert(0, {str(script.parent)!r})
        import compile_ahead, polyad, polyad_native.ahead
        x, levels = polyad.ones(512, 512), polyad_native.ahead.LEVELS[os.uname().machine]
        for name in levels.keys() - polyad_native.ahead.levels()[:1]:
            del levels[name]
        compile_ahead.calls = lambda: [lambda: x.exp().sum()]
        compile_ahead.main()
    """
    subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(make)], check=True, capture_output=True)
    results = []
    for path, variables in ((os.environ["PATH"], {}), (str(empty), {"POLYAD_CACHE_DIR": ""})):
        environment = {**os.environ, "PATH": path, **variables}
        environment.pop("CC", None)
        given = [sys.executable, "-P", "-c", textwrap.dedent(PROGRAM), *([str(out)] if variables else [])]
        done = subprocess.run(given, env=environment, check=False, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        results.append(json.loads(done.stdout))
    (_, usable, _, wanted), (alone, usable_alone, count, found) = results
    assert usable
    if alone:  # the package ziglang may be there
        assert usable_alone is bool(ahead.levels())
        assert count >= 3 or not ahead.levels()
    assert found == pytest.approx(wanted, rel=1e-5)


X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64")


@X86
@pytest.mark.parametrize(
    ("cap", "features", "target", "levels"),
    [
        ("", "x86-64-v4", "native", ["x86-64-v4", "x86-64-v3"]),
        ("", "x86-64-v3", "native", ["x86-64-v3"]),
        ("", "", "native", []),
        ("x86-64-v3", "x86-64-v4", "x86-64-v3", ["x86-64-v3"]),
        ("x86-64-v2", "x86-64-v4", "x86-64-v2", []),
        ("x86-64-v4", "x86-64-v3", "native", ["x86-64-v3"]),
        ("x86-64-v3", "", "native", []),
    ],
)
def test_the_level_can_be_capped_and_never_raised(cap, features, target, levels, monkeypatch) -> None:
    """Both what is compiled, and what is taken of what came compiled."""
    monkeypatch.setenv(ahead.CAP, cap)
    monkeypatch.setattr(ahead, "_features", lambda: ahead.LEVELS["x86_64"].get(features, set()))
    assert {flag for flags in compiler._targets() for flag in flags if flag.startswith("-march")} == {
        f"-march={target}"
    }
    assert ahead.levels() == levels
    assert ahead.key(SOURCE, (f"-march={target}",)) == ahead.key(SOURCE, ("-march=native",))


@X86
def test_a_capped_processor_computes_without_the_instructions_above(monkeypatch) -> None:
    source = f"#ifdef __AVX__\n#error there are none in x86-64-v2\n#endif\n{SOURCE}"
    monkeypatch.setenv(ahead.CAP, "x86-64-v2")
    monkeypatch.setenv("POLYAD_CACHE_DIR", "")
    capped = compiler.libraries.__wrapped__()
    assert capped.loaded(capped.compiled(source, "a test"), "a test").answer() == 42
