"""What the engine repeats gives what the first call gave, and calls that differ in anything are not taken for it."""

import os
import threading

import numpy as np
import pytest

import polyad
from polyad.nn import functional
from polyad_native import compiler, replay
from polyad_native.engine import engine, entry
from polyad_native.runtime import runtime

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")


@pytest.fixture
def frames(monkeypatch):
    """The calls that passed through Python, as they come."""
    seen = []
    call = replay.Replays.call

    def watched(self, kernel, args):
        seen.append(args)
        return call(self, kernel, args)

    monkeypatch.setattr(replay.Replays, "call", watched)
    return seen


def seeded(*shape, seed=0):
    return polyad.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


CALLS = {
    "sum of two": lambda x, y: x + y,
    "power": lambda x, y: x.abs() ** 1.7,
    "number": lambda x, y: x * 2.5,
    "softmax": lambda x, y: x.softmax(-1),
    "softmax of columns": lambda x, y: x.softmax(0),
    "layer norm": lambda x, y: functional.layer_norm(x, x.shape[-1:], y[0], y[1]),
    "sum along": lambda x, y: x.sum(0),
    "sum of all": lambda x, y: x.sum(),
    "variance": lambda x, y: x.var(1),
    "choice": lambda x, y: polyad.where(x > 0, x, y),
    "turned": lambda x, y: x.t() + y.t(),
    "broadcast": lambda x, y: x - y[:, :1],
    "batch norm": lambda x, y: functional.batch_norm(x, None, None, y[0], y[1], True),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_repeated_calls_compute_anew(call, frames) -> None:
    x, y = seeded(33, 47), seeded(33, 47, seed=1)
    call(x, y)
    call(x, y)
    before = len(frames)
    other, another = seeded(33, 47, seed=2), seeded(33, 47, seed=3)
    found = call(other, another)
    assert len(frames) == before
    for _ in range(20):  # memory that was freed comes again with other numbers in it
        assert (call(other, another) == found).all()
    expected = call(seeded(34, 47).copy_(polyad.cat([other, other[:1]]))[:33], another)
    polyad.testing.assert_close(found, expected, rtol=0, atol=0)


def test_repeated_results_are_laid_out_as_the_first() -> None:
    x = seeded(5, 1)
    for call in (
        lambda: x.t() + 1.5,
        lambda: seeded(1, 5) * 2.5,
        lambda: seeded(8, 8)[:1].t().sigmoid(),
        lambda: seeded(4, 1, 1, 3).permute(0, 3, 1, 2).exp(),
        lambda: seeded(2, 3, 4).permute(1, 2, 0).abs(),
    ):
        layouts = {call().stride() for _ in range(4)}
        assert len(layouts) == 1, layouts


def test_one_array_twice_is_another_call() -> None:
    x, y = seeded(40, 40), seeded(40, 40, seed=1)
    for _ in range(3):
        square, product = x * x, x * y
        assert (square.numpy() == x.numpy() ** 2).all()
        assert (product.numpy() == x.numpy() * y.numpy()).all()
        assert ((y * y).numpy() == y.numpy() ** 2).all()


def test_results_in_given_memory(frames) -> None:
    x, y = seeded(40, 40), seeded(40, 40, seed=1)
    counts = []
    for _ in range(4):
        total = x.clone()
        assert (total.add_(y).numpy() == x.numpy() + y.numpy()).all()
        total = polyad.empty(40, 40)
        assert polyad.add(x, y, out=total) is total
        assert (total.numpy() == x.numpy() + y.numpy()).all()
        assert (polyad.exp(x, out=total).numpy() == x.exp().numpy()).all()
        counts.append(len(frames))
    assert counts[1] == counts[3]


def test_memory_that_is_written_and_read_elsewhere() -> None:
    line = np.zeros(40, np.float32)
    written, beside, into, backwards = line[10:20], line[20:30], line[15:25], line[29:19:-1]
    known = []

    def native(*args, out):
        return "native"

    call = engine().chooser(print, native, 0, 1, print, known)
    for other in (beside, into, backwards, line[19:9:-1]):
        known[:] = [(engine().key((other, written), True), (), (), b"\x01", True, b"\x04\x04")]
        apart = other is beside or other is backwards
        assert (call(other, out=written) is written) == apart
        assert apart or call(other, out=written) == "native"


def test_layouts_and_numbers_are_told_apart() -> None:
    x = seeded(40, 40)
    for _ in range(3):
        for view in (x, x.t(), x[::2], x[:, ::2], x[:20, :20], x[1:, 1:], x.reshape(-1), x.reshape(4, 10, 40)):
            for number in (2, 2.0, True, 3.0, -0.0, 0.0, float("nan")):
                expected = view.numpy() * np.float32(number)
                np.testing.assert_array_equal((view * number).numpy(), expected)
                assert (np.signbit((view * number).numpy()) == np.signbit(expected))[expected == 0].all()
            np.testing.assert_array_equal(view.abs().numpy(), abs(view.numpy()))


def test_more_layouts_than_are_kept() -> None:
    for _ in range(3):
        for width in range(30, 30 + 2 * replay._KEPT):
            x = seeded(40, width, seed=width)
            np.testing.assert_array_equal((x + 1.5).numpy(), x.numpy() + np.float32(1.5))


def test_threads_share_what_is_kept() -> None:
    wrong = []

    def work(seed):
        for turn in range(200):
            x = seeded(32, 32 + turn % 20, seed=seed)
            if not ((x * x - x).numpy() == x.numpy() * x.numpy() - x.numpy()).all():
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_asks_the_backend_is_not_kept(frames) -> None:
    x = polyad.arange(1, 2001)
    divisor = polyad.full((2000,), 7)
    for _ in range(3):
        assert ((x // divisor).numpy() == x.numpy() // 7).all()
    with pytest.raises(ZeroDivisionError):
        x // polyad.zeros(2000, dtype=polyad.int64)


def test_memory_that_cannot_be_had_is_an_error() -> None:
    def refuse(*given):
        raise MemoryError("none left")

    array = np.zeros(3, np.float32)
    kept = (engine().key((array,), False), ((refuse, (3,), array.dtype),), (), b"\x01", True, b"\x04")
    with pytest.raises(MemoryError, match="none left"):
        engine().chooser(print, print, 0, 1, print, [kept])(array)


def test_calls_that_cannot_be_repeated_are_not_kept_again() -> None:
    line = np.zeros(40, np.float32)
    replays = replay.Replays()
    repeated = engine().chooser(
        print, lambda *args, out: replays.call(copied, args, out=out), 0, 1, print, replays.calls
    )

    def copied(array, out):
        return out

    for written in (line[20:30], *[line[5:15]] * 2 * replay._WATCHED):
        repeated(line[:10], out=written)
    assert len(replays.calls) == 1
    repeated(line[:20], out=line[20:])
    assert len(replays.calls) == 2


def in_another_thread(call):
    """Runs *call* while another thread's call is watched; what the watch saw."""
    begun, go_on = threading.Event(), threading.Event()

    def kernel(array):
        begun.set()
        go_on.wait(30)
        return array

    thread = threading.Thread(target=replay.Replays().call, args=(kernel, (np.zeros(3, np.float32),)))
    thread.start()
    begun.wait(30)
    try:
        call()
        return runtime().watch
    finally:
        go_on.set()
        thread.join()


def new_layouts() -> None:
    for width in range(30, 60):
        seeded(32, width).exp()


def test_watching_holds_nothing_of_other_threads() -> None:
    assert not in_another_thread(new_layouts).made
    assert runtime().watch is None


def test_two_threads_are_not_watched_at_once() -> None:
    given, written = np.zeros(3, np.float32), np.zeros(3, np.float32)
    replays = replay.Replays()

    def kernel(array, out):
        return out

    in_another_thread(lambda: replays.call(kernel, (given,), out=written))
    assert not replays.calls
    replays.call(kernel, (given,), out=written)
    assert replays.calls


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_children_watch_anew() -> None:
    def child() -> None:
        pid = os.fork()
        if not pid:
            replays = replay.Replays()
            replays.call(lambda array, out: out, (np.zeros(3, np.float32),), out=np.zeros(3, np.float32))
            os._exit(0 if replays.calls and runtime().watch is None else 1)
        assert os.waitpid(pid, 0)[1] == 0

    in_another_thread(child)


HOLDS = """
int PyGILState_Check(void);
void holds(float *const *arrays, const void *numbers, const void *geometry, long long part, long long parts)
{
    *arrays[0] = (float)PyGILState_Check();
}
"""


def test_other_threads_run_while_a_result_is_large() -> None:
    launch = engine().launcher(entry(compiler.compiled(HOLDS, "a test"), "holds"), 1, b"")
    operand = np.zeros((3000, 1), np.float32)

    def kernel(array, columns):
        made = runtime().empty(polyad.float32, (3000, columns), (columns, 1))
        launch((made, array), ())
        return made

    replays = replay.Replays()
    repeated = engine().chooser(print, print, 0, 1, print, replays.calls)
    for columns, held in ((2, 1), (3, 0)):
        assert replays.call(kernel, (operand, columns))[0, 0] == 0
        assert repeated(operand, columns)[0, 0] == held
