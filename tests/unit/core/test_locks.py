"""No lock of polyad's stays closed in a forked process, whoever held it."""

import ast
import gc
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import polyad
from polyad.base import locks
from polyad.random.generator import default_generator

ROOT = Path(__file__).parents[3]
PRIMITIVES = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier", "Event"}
ELSEWHERE = {
    "core/polyad/base/locks.py": "makes them",
    "core/polyad/distributed/watching.py": "of a thread that a fork does not copy",
    "core/polyad/utils/data/workers/process.py": "a worker's own; what a worker forks has nothing to do with them",
    "core/polyad/serialization/source.py": "only where nothing reads at an offset: Windows, which has no fork",
    "backends/polyad_numpy/workers.py": "made anew after a fork, with the threads that they serve, or of one call",
    "plugins/native/polyad_native/runtime.py": "made anew after a fork, even if its own thread holds it",
}
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def made_in(path):
    """The lines where a module makes a lock of `threading`'s."""
    text = path.read_text(encoding="utf-8")
    if "threading" not in text and "_thread" not in text:
        return
    tree = ast.parse(text)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("threading", "_thread")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                made = called.value.id == "threading" and called.attr in PRIMITIVES
            else:
                made = isinstance(called, ast.Name) and called.id in names & PRIMITIVES
            if made:
                yield node.lineno


def test_every_lock_is_one_that_a_child_opens():
    found = {}
    for folder in ("core", "backends", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if "/tests/" not in place and "/template/" not in place and (lines := list(made_in(path))):
                found[place] = lines
    assert found.keys() == ELSEWHERE.keys(), found


def in_a_child(work):
    """How a forked process ends that does *work*: 0 if it does it within 20 seconds."""
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def compute():
    """Ask for the locks that ordinary programs ask for; and for threads of the engine."""
    x = polyad.rand(3, 3, requires_grad=True)
    for part in x:
        (part.view(3)[1:] * 2).sum().backward()
    assert bool((x.grad == polyad.tensor([0.0, 2.0, 2.0])).all())
    a = polyad.ones(200, 200)
    assert bool(((a @ a) == 200).all())
    polyad.backends.is_available("cpu")
    polyad.backends.fallback_report()


@forks
def test_a_child_opens_what_other_threads_held():
    polyad.Generator()
    compute()
    gc.collect()
    all_of_them = list(locks._made)
    assert default_generator._lock in all_of_them
    held, leave = threading.Event(), threading.Event()

    def hold():
        for each in all_of_them:
            each.acquire()
        held.set()
        leave.wait()
        for each in all_of_them:
            each.release()

    def work():
        for each in all_of_them:
            assert each.acquire(timeout=1)
            each.release()
        compute()

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(20)
    try:
        ended = in_a_child(work)
    finally:
        leave.set()
        holder.join()
    assert ended == 0


@forks
def test_a_child_leaves_what_its_own_thread_holds():
    lock = locks.RLock()
    with lock:
        other = threading.Thread

        def work():
            got = []
            thread = other(target=lambda: got.append(lock.acquire(timeout=0.01)))
            thread.start()
            thread.join()
            assert got == [False]

        assert in_a_child(work) == 0


@forks
def test_children_of_a_busy_process_compute():
    """Of five forks beside threads that make views, four used to hang."""
    stop = threading.Event()

    def busy():
        x = polyad.rand(64, 64, requires_grad=True)
        while not stop.is_set():
            views = [x[index] for index in range(64)]
            polyad.stack(views).sum().backward()
            x.detach() @ x.detach()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        ended = [in_a_child(compute) for _ in range(10)]
    finally:
        stop.set()
        sys.setswitchinterval(before)
        for thread in threads:
            thread.join()
    assert ended == [0] * 10


@forks
def test_a_process_forks_when_no_other_thread_loads_a_module(tmp_path, monkeypatch):
    """A thread that ran an op for the first time had its module half loaded: the child waited for it for ever."""
    (tmp_path / "polyad_slow.py").write_text("import time\ntime.sleep(0.3)\ndone = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    importer = threading.Thread(target=lambda: __import__("polyad_slow"))
    importer.start()
    while "polyad_slow" not in sys.modules:
        pass

    def work():
        import polyad_slow

        assert polyad_slow.done

    try:
        assert in_a_child(work) == 0
    finally:
        importer.join()
        del sys.modules["polyad_slow"]
