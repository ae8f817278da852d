"""Worker processes: the batches of the loop's own process, whatever happens to them, and nothing left behind."""

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from multiprocessing.process import BaseProcess
from types import SimpleNamespace

import jupyter_client
import numpy as np
import pytest

import polyad
import worker_datasets as data
from fuzz import loaders
from polyad.utils.data import DataLoader, TensorDataset, get_worker_info, nodes
from polyad.utils.data.workers import pool, starting, transport

SERVER = "forkserver" in multiprocessing.get_all_start_methods()
linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are started anew")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and file descriptors")


def plain(value):
    if isinstance(value, polyad.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def loaded(dataset, seed=5, **arguments):
    return plain(list(DataLoader(dataset, generator=polyad.Generator().manual_seed(seed), **arguments)))


@pytest.fixture(autouse=True)
def no_workers_of_others():
    """An exception that a test caught holds its loader until the next collection."""
    gc.collect()
    assert children() == 0


def children():
    return len(multiprocessing.active_children())


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_batches_are_those_of_one_process(workers):
    alone = loaded(data.Noisy(), batch_size=4, shuffle=True)
    assert loaded(data.Noisy(), batch_size=4, shuffle=True, num_workers=workers) == alone
    # Samples differ from each other, in every generator's numbers.
    samples = [(batch[key][i] if key != "numpy" else batch[key][i][0]) for key in ("random", "numpy", "own", "held")
               for batch in alone for i in range(len(batch["index"]))]  # fmt: skip
    assert len(set(samples)) == len(samples) == 4 * 13


def test_augmentation_follows_the_index_and_not_the_batch():
    def by_index(**arguments):
        found = {}
        for batch in loaded(data.Noisy(), **arguments):
            for position, index in enumerate(batch["index"]):
                found[index] = [batch[key][position] for key in ("random", "numpy", "polyad", "own", "held")]
        return found

    reference = by_index(batch_size=4)
    assert by_index(batch_size=13) == reference
    assert by_index(batch_size=1, sampler=range(12, -1, -1)) == reference


def test_a_generator_of_the_module_draws_by_index_too():
    """Workers that were forked used to draw the same numbers of it, one like the other."""
    alone = loaded(data.OfModule(), batch_size=2)
    assert len({number for batch in alone for number in batch}) == 13
    before = data.GENERATOR.bit_generator.state
    for method in (None, "forkserver") if SERVER else (None,):
        assert loaded(data.OfModule(), batch_size=2, num_workers=2, multiprocessing_context=method) == alone
    assert data.GENERATOR.bit_generator.state == before


def test_epochs_differ_and_reading_leaves_the_generators_alone():
    dataset = data.Noisy()
    loader = DataLoader(dataset, batch_size=13, generator=polyad.Generator().manual_seed(0))
    before = random.getstate(), np.random.get_state()[1].tolist(), polyad.get_rng_state().tolist(), dataset.own.random()
    first, second = plain(list(loader)), plain(list(loader))
    assert first != second
    random.setstate(before[0])
    dataset.own = np.random.default_rng(3)
    assert before == (
        random.getstate(), np.random.get_state()[1].tolist(), polyad.get_rng_state().tolist(), dataset.own.random()
    )  # fmt: skip


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_every_start_method_and_large_batches(method):
    loader = DataLoader(data.Pictures(5), batch_size=2, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert [batch[0].shape[0] for batch in batches] == [2, 2, 1]
    assert [batch[0][:, 0, 0, 0].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert [batch[1].tolist()[0] for batch in batches] == [[0] * 5, [2] * 5, [4] * 5]
    assert [batch[2] for batch in batches] == [("name 0", "name 1"), ("name 2", "name 3"), ("name 4",)]
    batches[0][0].add_(1)  # the memory is the batch's own
    assert batches[0][0][1, 0, 0, 0].item() == 2
    del loader
    assert children() == 0


@posix
def test_many_batches_kept_do_not_use_up_file_descriptors(monkeypatch):
    monkeypatch.setattr(transport, "MOST_MAPPED", 3)
    before = descriptors()
    batches = list(DataLoader(data.Pictures(8), num_workers=1))
    assert descriptors() <= before + 6
    assert [batch[0][0, 0, 0, 0].item() for batch in batches] == list(range(8))
    del batches
    gc.collect()
    assert descriptors() <= before + 2  # the fork server's


@linux
def test_workers_fork_beside_busy_threads():
    """A fork while another thread makes views or runs backward used to leave a lock closed in the worker."""
    stop = threading.Event()

    def busy():
        x = polyad.rand(64, 64, requires_grad=True)
        while not stop.is_set():
            polyad.stack([x[index] for index in range(64)]).sum().backward()
            x.detach() @ x.detach()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            loader = DataLoader(data.Views(), num_workers=2, multiprocessing_context="fork", timeout=20)
            assert [batch.item() for batch in loader] == list(range(0, 26, 2))
    finally:
        stop.set()
        sys.setswitchinterval(before)
        for thread in threads:
            thread.join()


class Accelerator:
    """A backend, as far as the start of workers asks it."""

    def __init__(self, used, *features):
        self.used = used
        self.info = SimpleNamespace(capabilities=SimpleNamespace(features=set(features)))


@linux
@pytest.mark.parametrize(
    ("backend", "method"),
    [
        (None, "fork"),
        (Accelerator(False), "fork"),  # it was looked for, by `accelerator.is_available` perhaps
        (Accelerator(True, "shared_host_memory"), "fork"),
        (Accelerator(True), "forkserver"),
    ],
)
def test_workers_are_forked_unless_an_accelerator_is_in_use(monkeypatch, backend, method):
    known = {"cpu": None} if backend is None else {"cpu": None, "fast": backend}
    used = lambda name: name == "fast" and backend.used  # noqa: E731
    registry = SimpleNamespace(names=lambda: list(known), is_used=used, get=known.get)
    monkeypatch.setattr(starting, "registry", registry)
    assert starting.checked_context(None).get_start_method() == method
    loader = DataLoader(data.Squares(), num_workers=1, multiprocessing_context="fork")
    if method == "fork":
        assert len(list(loader)) == 13
    else:
        with pytest.raises(RuntimeError, match="this process computes on fast"):
            iter(loader)


@linux
def test_what_the_program_chose_for_its_processes_counts(monkeypatch):
    monkeypatch.setattr(starting, "_accelerator_in_use", lambda: None)
    for chosen, method in (("spawn", "spawn"), ("forkserver", "forkserver"), ("fork", "fork")):
        monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none, chosen=chosen: chosen)
        assert starting.checked_context(None).get_start_method() == method


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("x = 1\nif __name__ == '__main__':\n    train()\n", True),
        ("if '__main__' == __name__ and x: train()\n", True),
        ("def f():\n    if __name__ == '__main__': pass\ntrain()\n", False),
        ("name = '__main__'\nif name: train()\n", False),
        ("this is no Python", False),
    ],
)
def test_a_main_module_is_imported_if_it_says_what_is_not_for_workers(tmp_path, text, imported):
    (tmp_path / "main.py").write_text(text)
    main = SimpleNamespace(__spec__=None, __file__=str(tmp_path / "main.py"))
    assert starting._says_what_is_not_for_workers(main) is imported
    assert not starting._says_what_is_not_for_workers(SimpleNamespace(__spec__=None))


@linux
def test_a_pipeline_that_was_begun_starts_anew_in_forked_workers():
    """Its threads, and the items that they read ahead, are the loop's."""
    pipeline = nodes.Loader(nodes.Prefetcher(nodes.Sharder(nodes.IterableWrapper(range(9))), prefetch_factor=3))
    iterator = iter(pipeline)
    assert next(iterator) == 0
    there = DataLoader(pipeline, batch_size=None, num_workers=2, multiprocessing_context="fork", timeout=20)
    assert sorted(int(item) for item in there) == list(range(9))
    assert next(iterator) == 1


def test_a_worker_knows_itself():
    assert get_worker_info() is None
    loader = DataLoader(data.Whoami(8), num_workers=2, worker_init_fn=data.mark, collate_fn=list)
    seen = [sample for [sample] in loader]
    assert [sample[0] for sample in seen] == [0, 1] * 4
    assert {sample[1] for sample in seen} == {2}
    assert {sample[2] for sample in seen} == {8}
    assert {sample[0]: sample[4] for sample in seen} == {0: 10, 1: 11}
    assert os.getpid() not in {sample[3] for sample in seen}


def test_persistent_workers_stay_and_take_new_epochs():
    loader = DataLoader(data.Whoami(4), num_workers=2, persistent_workers=True, collate_fn=list)
    first = {sample[3] for [sample] in loader}
    abandoned = iter(loader)
    next(abandoned)
    assert {sample[3] for [sample] in loader} == first
    assert len(first) == 2
    with pytest.raises(ValueError, match="another iter"):
        next(abandoned)
    assert children() == 2
    del loader, abandoned
    assert children() == 0


def test_streams():
    assert [x for x, _ in DataLoader(data.Stream(), batch_size=None, num_workers=2)] == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
    ]
    batches = loaded(data.Stream(), batch_size=2, num_workers=2)
    assert [values for values, _ in batches] == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    assert len({noise for _, noises in batches for noise in noises}) == 11
    assert loaded(data.Stream(), batch_size=2, num_workers=2) == batches
    assert [x for x, _ in loaded(data.Stream(), batch_size=2, drop_last=True, num_workers=2)][-1] == [8, 10]


def test_in_order_false_gives_all_batches():
    loader = DataLoader(data.Squares(), batch_size=2, num_workers=2, in_order=False)
    assert sorted(index for x, _ in loader for index in x.tolist()) == list(range(13))


@pytest.mark.parametrize("workers", [0, 2])
def test_skipped_samples(workers):
    loader = DataLoader(data.Skipping(6), batch_size=2, num_workers=workers)
    assert [batch.tolist() for batch in loader] == [[2, 3], [5]]
    assert list(DataLoader(data.Skipping(4), batch_size=None, num_workers=workers)) == [2, 3]


def test_a_tensor_dataset_is_sent_once_and_privately():
    dataset = TensorDataset(polyad.arange(30_000.0).reshape(10, 3000), polyad.arange(10))
    batches = list(DataLoader(dataset, batch_size=5, num_workers=2))
    assert bool((polyad.cat([x for x, _ in batches]) == dataset.tensors[0]).all())


# ------------------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_says_which_sample(workers):
    iterator = iter(DataLoader(data.Failing(), batch_size=2, num_workers=workers))
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="a corrupt picture") as caught:
        next(iterator)
    assert any("sample 5 of batch 2" in note for note in caught.value.__notes__)
    if workers:
        assert "KeyError: 'key'" in str(caught.value.__cause__)
        assert "worker_datasets.py" in str(caught.value.__cause__)
        assert any("in worker 0 (process" in note for note in caught.value.__notes__)
    else:
        assert isinstance(caught.value.__cause__, KeyError)
    assert next(iterator).tolist() == [6, 7]


def test_an_exception_that_cannot_be_sent_is_told():
    with pytest.raises(RuntimeError, match=r"worker_datasets\.OwnError in a worker: 1 2"):
        next(iter(DataLoader(data.FailingOddly(), num_workers=1)))


@pytest.mark.parametrize("workers", [0, 1])
def test_stop_iteration_does_not_end_the_epoch(workers):
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        next(iter(DataLoader(data.Stopping(), num_workers=workers)))


def test_worker_init_fn_that_fails():
    with pytest.raises(RuntimeError, match="no worker"):
        next(iter(DataLoader(data.Squares(), num_workers=2, worker_init_fn=data.fail)))
    assert children() == 0


@posix
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_worker_is_reported(by):
    before = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"(?s)worker 0 \(process \d+\) was killed by {by.name}.*indices 4, 5"):
        list(DataLoader(data.Killed(by=by), batch_size=2, num_workers=2))
    assert time.monotonic() - before < 60
    assert children() == 0


def test_a_worker_that_ends_is_reported_with_its_exit_code():
    with pytest.raises(RuntimeError, match=r"(?s)worker 0 \(process \d+\) ended with exit status 3 .*indices 4, 5"):
        list(DataLoader(data.Leaving(), batch_size=2, num_workers=2))


def late(loader):
    """Read with a short timeout, once the worker has started."""
    iterator = iter(loader)
    next(iterator)
    loader.timeout = 0.5
    list(iterator)


def test_a_hanging_worker_is_reported_with_its_stack():
    with pytest.raises(RuntimeError, match=r"after 0\.5 seconds") as caught:
        late(DataLoader(data.Hanging(), batch_size=2, num_workers=2))
    [told] = caught.value.__notes__
    assert "worker 0" in told
    assert "waits_here" in told
    assert children() == 0


@posix
def test_a_stopped_worker_is_reported():
    with pytest.raises(RuntimeError, match=r"after 0\.5 seconds") as caught:
        late(DataLoader(data.Killed(by=signal.SIGSTOP), batch_size=2, num_workers=1))
    assert "does not even say where it is" in caught.value.__notes__[0]
    assert children() == 0


@posix
def test_no_shared_memory_is_reported():
    loader = DataLoader(data.Pictures(), batch_size=2, num_workers=1, worker_init_fn=data.little_memory)
    with pytest.raises(MemoryError, match="no shared memory for a batch of"):
        next(iter(loader))


FULL = """
import sys
import polyad
import worker_datasets as data
from polyad.utils.data import DataLoader
from polyad.utils.data.workers import pool, starting, transport

if __name__ == "__main__":
    transport.FOLDER = sys.argv[1]
    try:
        list(DataLoader(data.Pictures(), batch_size=8, num_workers=1, multiprocessing_context="fork"))
    except MemoryError as error:
        print(error)
    old = sys.argv[1] + "/old"
    polyad.save(1, old)
    try:
        polyad.save(polyad.zeros(1_000_000), old)
    except OSError as error:
        print(error)
    import os
    print(polyad.load(old), os.listdir(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small tmpfs")
def test_a_full_dev_shm_and_a_full_disk(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(FULL)
    folder = tmp_path / "small"
    folder.mkdir()
    mount = f"mount -t tmpfs -o size=256k tmpfs {folder} && exec {sys.executable} {program} {folder}"
    result = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "unshare" in result.stderr or "mount" in result.stderr:
        pytest.skip("nothing can be mounted here")
    assert "no shared memory for a batch of" in result.stdout, result.stderr
    assert "No space left on device" in result.stdout
    assert "no space left on device" in result.stdout
    assert result.stdout.endswith("1 ['old']\n")


@pytest.mark.skipif(not SERVER, reason="no fork server")
def test_what_cannot_be_sent_is_named():
    with pytest.raises(
        TypeError, match=r"dataset\.parts\['bad'\] cannot be sent(.|\n)*multiprocessing_context=\"fork\""
    ):
        iter(DataLoader(data.Unpicklable(), num_workers=1, multiprocessing_context="forkserver"))
    held = data.Unpicklable()
    with pytest.raises(TypeError, match="collate_fn cannot be sent"):
        iter(DataLoader(data.Squares(), num_workers=1, collate_fn=lambda _: held, multiprocessing_context="forkserver"))
    assert children() == 0


@linux
def test_a_forked_worker_has_what_nobody_can_send():
    [batch] = DataLoader(data.Unpicklable(), batch_size=13, num_workers=1)
    assert batch[0].tolist() == list(range(13))


def test_history_is_not_sent():
    with pytest.raises(RuntimeError, match=r"history cannot go to another process"):
        next(iter(DataLoader(data.Squares(), num_workers=1, collate_fn=data.history)))


@pytest.fixture
def forced(monkeypatch):
    """Which processes were ended by force."""
    seen = []
    for name in ("terminate", "kill"):
        end = getattr(BaseProcess, name)
        monkeypatch.setattr(BaseProcess, name, lambda self, end=end: seen.append(self.name) or end(self))
    return seen


class Interrupted(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("leave", ["break", "interrupt", "collection", "end"])
def test_however_the_loop_is_left_workers_end_by_themselves(forced, monkeypatch, leave, persistent):
    """Nobody is forced, however long they are waited for."""
    monkeypatch.setattr(pool, "PATIENCE", 60)

    def loop():
        samples = data.Squares(9 if leave == "end" else 1000)
        iterator = iter(DataLoader(samples, num_workers=2, persistent_workers=persistent))
        assert children() == 2
        for batch in iterator:
            if leave == "break":
                break
            if leave == "interrupt" and batch[0].item() == 5:
                raise Interrupted
            if leave == "collection":
                cycle = [iterator]
                cycle.append(cycle)
                return

    if leave == "interrupt":
        with pytest.raises(Interrupted):
            loop()
    else:
        loop()
    gc.collect()
    assert children() == 0
    assert forced == []


def test_leaving_the_loop_ends_workers_at_once():
    for batch in DataLoader(data.Squares(1000), num_workers=2):
        assert batch[0].item() == 0
        break
    assert children() == 0
    iterator = iter(DataLoader(data.Slow(), num_workers=2))
    began = time.monotonic()
    del iterator
    assert time.monotonic() - began < 5
    assert children() == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"multiprocessing_context": "thread"}, ValueError, "multiprocessing_context is 'thread'"),
        ({"multiprocessing_context": 3}, TypeError, "multiprocessing_context"),
        ({"prefetch_factor": 0}, ValueError, "prefetch_factor"),
        ({"worker_init_fn": 3}, TypeError, "worker_init_fn"),
        ({"timeout": -1}, ValueError, "timeout"),
    ],
)
def test_arguments_are_checked(arguments, error, words):
    with pytest.raises(error, match=words):
        DataLoader(data.Squares(), num_workers=2, **arguments)


# ---------------------------------------------------------------------------------------- nothing outlives the process


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and /dev/shm")
@pytest.mark.parametrize("number", [0, 2])  # kills the loop, a worker
def test_nothing_outlives_what_is_killed(number):
    """A slice: `python -m fuzz.loaders` does it 200 times."""
    assert loaders.run(number) == []


def run_program(tmp_path, text, *, name="program.py", stdin=False):
    program = tmp_path / name
    program.write_text(textwrap.dedent(text))
    command = [sys.executable, "-"] if stdin else [sys.executable, program]
    return subprocess.run(
        command, stdin=program.open() if stdin else None, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )


def test_a_program_without_an_entry_point_is_told(tmp_path):
    """Where workers are new interpreters, which import the main module whatever is said."""
    result = run_program(
        tmp_path,
        """
        import worker_datasets as data
        from polyad.utils.data import DataLoader
        list(DataLoader(data.Squares(), num_workers=1, multiprocessing_context="spawn"))
        """,
    )
    assert result.returncode != 0
    assert "ended with exit status 1" in result.stderr


# ------------------------------------------------------------- programs that have done nothing for the sake of workers

UNGUARDED = """
import random
from typing import NamedTuple

import numpy
import polyad
from polyad.utils.data import DataLoader, Dataset

SCALE = 3
numbers = numpy.random.default_rng(7)


class Sample(NamedTuple):
    index: int
    value: float


class Refused(Exception):
    pass


class OfMain(Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, index):
        return Sample(index * SCALE, random.random() + polyad.rand(()).item() + numbers.random())


class Refusing(OfMain):
    def __getitem__(self, index):
        raise Refused(index)


def made_here():
    class Local(OfMain):
        def __getitem__(self, index):
            return index, numpy.random.rand(2)

    return Local()


def read(dataset, collate, workers, **arguments):
    loader = DataLoader(
        dataset, batch_size=2, shuffle=True, collate_fn=collate, num_workers=workers,
        generator=polyad.Generator().manual_seed(1), **arguments
    )
    return list(loader)


def program(samples):
    return [samples, SCALE]


def collating():
    def local(samples):
        return {"samples": samples, "scale": SCALE}

    return local


print("once")
polyad.set_default_dtype(polyad.float64)
for method in METHODS:
    for dataset, collate in (
        (OfMain(), None),
        (made_here(), lambda samples: [samples, polyad.ones(1).dtype]),
        (OfMain(), program),
        (made_here(), collating()),
    ):
        alone = read(dataset, collate, 0)
        there = read(dataset, collate, 2, multiprocessing_context=method)
        assert str(there) == str(alone), (method, there, alone)
    assert type(read(OfMain(), list, 2, multiprocessing_context=method)[0][0]) is Sample
    try:
        read(Refusing(), None, 1, multiprocessing_context=method)
    except Refused as error:
        print(method, error)
"""


@linux
@pytest.mark.parametrize("stdin", [False, True], ids=["file", "stdin"])
def test_a_program_needs_no_entry_point(tmp_path, stdin):
    """Local and lambda functions, classes of the main module, and its exceptions; batches as without workers."""
    result = run_program(tmp_path, UNGUARDED.replace("METHODS", "(None, 'forkserver')"), stdin=stdin)
    assert result.stdout.split("\n") == ["once", "None 5", "forkserver 5", ""]
    assert (result.stderr, result.returncode) == ("", 0)


# What was written without a thought of workers, in the cells of a notebook.
CELLS = (
    """
    import polyad as torch
    from polyad.utils.data import DataLoader, Dataset
    """,
    """
    class Pairs(Dataset):
        def __init__(self):
            self.shift = lambda x: x + 1

        def __len__(self):
            return 24

        def __getitem__(self, index):
            x = torch.full((3,), float(index % 5))
            return self.shift(x), x.sum()
    """,
    """
    def train(workers):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        loader = DataLoader(Pairs(), batch_size=4, shuffle=True, num_workers=workers,
                            collate_fn=lambda samples: [torch.stack(part) for part in zip(*samples)])
        for epoch in range(2):
            for x, y in loader:
                optimizer.zero_grad()
                loss = ((model(x)[:, 0] - y) ** 2).mean()
                loss.backward()
                optimizer.step()
        return loss.item()

    train(2) == train(0)
    """,
)


@posix
def test_a_notebook_trains_with_workers():
    """In a kernel of Jupyter's, beside the threads that it has."""
    shown = []
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    try:
        for cell in CELLS:
            answer = client.execute_interactive(textwrap.dedent(cell), timeout=60, output_hook=shown.append)
            assert answer["content"]["status"] == "ok", "\n".join(answer["content"]["traceback"])
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    texts = [message["content"]["data"]["text/plain"] for message in shown if message["msg_type"] == "execute_result"]
    assert texts == ["True"]
