"""A device with a compiler and nothing else: what it computes, and what happens when compiler or cache fails."""

import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import warnings
from contextlib import contextmanager

import pytest

import polyad
from polyad import backends
from polyad.backend import c_compiler
from polyad.errors import CompilerWarning
from polyad_conformance.calls import Target
from polyad_conformance.checks.large import check_large_gradients
from polyad_conformance.checks.storage import check_overlap

NAME = "generated"
"""Not "c", which whoever has installed the package has besides."""

pytest.importorskip("polyad_c.runtime")
pytestmark = pytest.mark.skipif(c_compiler.command() is None, reason="no C compiler on PATH")


@contextmanager
def device():
    """Device "c", which has compiled nothing in this process."""
    from polyad_c.backend import CBackend
    from polyad_c.plugin import polyad_backend_info

    backend = CBackend()
    backend.info = dataclasses.replace(polyad_backend_info(), name=NAME)
    with backends.register(NAME, backend):
        yield backend


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder in which it keeps what it compiled."""
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def c(cache):
    """Device "c"."""
    with device() as backend:
        yield backend


@pytest.fixture
def built(monkeypatch):
    """The sources that the compiler was given."""
    sources, build = [], c_compiler.Libraries.built

    def counted(self, text, flags, what):
        sources.append(text)
        return build(self, text, flags, what)

    monkeypatch.setattr(c_compiler.Libraries, "built", counted)
    return sources


X = polyad.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])


def close(result, wanted):
    return polyad.testing.assert_close(result.cpu(), wanted) is None


def test_composites_run_as_kernels_of_their_bodies(c) -> None:
    x = X.to(NAME)
    functional = polyad.nn.functional
    for call in (
        lambda x: functional.gelu(x) * 2,
        lambda x: functional.softmax(x, 1),
        lambda x: functional.layer_norm(x, (3,)),
        lambda x: functional.mse_loss(x, x + 1),
        lambda x: x.var(0) + x.logsumexp(0),
    ):
        assert close(call(x), call(X))
    assert "generated from the op's body" in str(polyad.explain("softmax", x, 1))


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64, polyad.bfloat16, polyad.complex64, polyad.bool])
def test_a_copy_onto_the_memory_that_it_reads_keeps_every_bit(c, dtype) -> None:
    check_overlap(dtype, Target(NAME))


def test_the_gradient_of_a_long_row_is_right_without_vectors(c) -> None:
    check_large_gradients(Target(NAME))


def test_a_model_trains(c) -> None:
    losses = {}
    for device in ("cpu", NAME):
        polyad.manual_seed(0)
        model = polyad.nn.Sequential(polyad.nn.Linear(3, 4), polyad.nn.Tanh(), polyad.nn.Linear(4, 1)).to(device)
        optimizer = polyad.optim.Adam(model.parameters(), lr=0.1)
        with backends.fallback("allow"):  # products are not generated
            for _ in range(3):
                optimizer.zero_grad()
                loss = (model(X.to(device)) ** 2).mean()
                loss.backward()
                optimizer.step()
        losses[device] = loss.item()
    assert losses[NAME] == pytest.approx(losses["cpu"], rel=1e-5)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_a_step_whose_gradient_is_a_view_of_the_parameter_reads_before_it_writes(c, name) -> None:
    steps = []
    for device in ("cpu", NAME):
        parameter = polyad.nn.Parameter(polyad.arange(9.0).reshape(3, 3).to(device) / 7)
        optimizer = getattr(polyad.optim, name)([parameter], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
        for _ in range(3):
            parameter.grad = parameter.detach().t()
            optimizer.step()
        steps.append(parameter.detach())
    assert close(steps[1], steps[0])


def test_what_was_compiled_is_kept_and_what_is_damaged_is_compiled_anew(cache, built) -> None:
    counts = []
    for _ in range(3):
        with device():
            assert close(X.to(NAME) * 3, X * 3)
        counts.append(len(built))
        if len(counts) == 2:
            for number, path in enumerate(sorted(cache.rglob("*.bin"))):
                data = path.read_bytes()
                path.write_bytes(data[: len(data) // 2] if number % 2 else data[:-40] + b"x" + data[-39:])
    assert counts == [counts[0], counts[0], 2 * counts[0]]
    assert counts[0]


def test_a_full_disk_costs_nothing_but_time(c, cache, monkeypatch) -> None:
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert close(X.to(NAME) - 1, X - 1)
    assert not list(cache.rglob("*.bin"))


@pytest.mark.parametrize("command", ["false", "/no/such/compiler", "kill -9 0"])
def test_a_compiler_that_fails_is_said_once_and_the_result_is_right(c, monkeypatch, command) -> None:
    x = X.to(NAME)
    if command == "kill -9 0":
        command = f"{sys.executable} -c 'import os; os.kill(os.getpid(), 9)'"
    monkeypatch.setattr(c_compiler, "command", lambda: tuple(shlex.split(command)))
    c_compiler._compiler_identity.cache_clear()
    try:
        with pytest.warns(
            CompilerWarning, match=f"exp on {NAME}: .*the C compiler does not (compile|run).*, so the host"
        ):
            assert close(x.exp(), X.exp())
        with pytest.warns(CompilerWarning, match=f"softmax on {NAME}: .*so its body runs") as said:
            assert close(x.softmax(0), X.softmax(0))
        assert not any("log " in str(each.message) for each in said)  # the compiler's words were shown
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert close(x.exp(), X.exp())
        assert "host" in str(polyad.explain("exp", x))
    finally:
        c_compiler._compiler_identity.cache_clear()


def test_two_processes_compile_the_same_at_once(tmp_path) -> None:
    program = textwrap.dedent(
        """
        import dataclasses
        import polyad
        from polyad_c.backend import CBackend
        from polyad_c.plugin import polyad_backend_info
        backend = CBackend()
        backend.info = dataclasses.replace(polyad_backend_info(), name="generated")
        with polyad.backends.register("generated", backend):
            x = polyad.tensor([1.0, 2.0, 3.0]).to("generated")
            print((x * 2 + 1).tolist(), x.softmax(0).sum().item())
        """
    )
    settings = {**os.environ, "POLYAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=settings) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in both] == [b"[3.0, 5.0, 7.0] 1.0\n"] * 2
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_forked_process_has_threads_of_its_own(c) -> None:
    x = polyad.arange(1 << 16, device=NAME).float()
    wanted = (x + 1).sum().item()
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if (x + 1).sum().item() == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0
