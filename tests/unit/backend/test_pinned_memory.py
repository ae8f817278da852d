"""Pinned host memory, and copies that go on while the program does: where a backend has them, and where none has."""

from __future__ import annotations

import collections
import dataclasses
import inspect
from collections.abc import Callable

import pytest

import polyad
from polyad.devices import registry
from polyad.dispatch.op import PUBLIC
from polyad.errors import DeviceError, KernelFailure
from polyad.utils.data import DataLoader, TensorDataset


@pytest.fixture
def accelerator(fake, monkeypatch):
    """The fake device as the machine's only accelerator."""
    monkeypatch.setattr(registry, "names", lambda: ["cpu", "fake"])
    assert polyad.accelerator.current_accelerator() == polyad.device("fake")
    return fake.devices[0]


def test_where_nothing_pins_memory_stays_as_it_is(toy, monkeypatch) -> None:
    monkeypatch.setattr(registry, "names", lambda: ["cpu", "toy"])
    x = polyad.ones(3, device="cpu")
    assert x.pin_memory() is x
    assert not x.is_pinned()
    assert not polyad.empty(3, device="cpu", pin_memory=True).is_pinned()
    assert x.to("toy", non_blocking=True).to("cpu", non_blocking=True).tolist() == [1.0] * 3


def test_pinned_memory(accelerator) -> None:
    x = polyad.arange(6.0, device="cpu").reshape(2, 3)
    pinned = x.pin_memory()
    assert pinned.is_pinned()
    assert not x.is_pinned()
    assert pinned.tolist() == x.tolist()
    assert pinned.pin_memory() is pinned
    assert pinned[1:, ::2].is_pinned(), "a view lies where its base does"
    assert not pinned.clone().is_pinned()
    x.fill_(0)
    assert pinned.sum() == 15
    assert x.T.pin_memory().stride() == (1, 3)
    assert x.expand(4, 2, 3).pin_memory().shape == (4, 2, 3)
    assert polyad.zeros(0, 3, device="cpu").pin_memory().is_pinned()
    with pytest.raises(DeviceError, match="pin_memory: only memory of the cpu is pinned"):
        x.to("fake").pin_memory()
    assert not x.to("fake").is_pinned()


@pytest.mark.parametrize("dtype", [polyad.bool, polyad.uint8, polyad.bfloat16, polyad.float16, polyad.complex128])
def test_every_dtype_is_pinned(accelerator, dtype) -> None:
    x = polyad.tensor([1, 0, 1], dtype=dtype, device="cpu").pin_memory()
    y = x.to("fake", non_blocking=True)
    polyad.accelerator.synchronize()
    assert y.dtype is dtype
    assert y.tolist() == x.tolist()


WINDOWS = ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")
NEW = {
    **dict.fromkeys(("empty", "zeros", "ones", "rand", "randn"), ((2, 3),)),
    "full": ((2, 3), 7),
    "empty_strided": ((2, 3), (1, 2)),
    "empty_permuted": ((2, 3), (1, 0)),
    "arange": (4,),
    "range": (1, 4),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "eye": (3,),
    "tensor": ([1, 2],),
    "scalar_tensor": (3,),
    "randint": (5, (2, 3)),
    "randperm": (4,),
    "normal": (0.0, 1.0, (2, 3)),
    "tril_indices": (2, 2),
    "triu_indices": (2, 2),
    "fft.fftfreq": (4,),
    "fft.rfftfreq": (4,),
    **dict.fromkeys(WINDOWS, (4,)),
}
LIKE = {"full_like": (7,), "randint_like": (5,)}
OF_TENSORS = {
    **{f"new_{name}": ((2, 3),) for name in ("empty", "zeros", "ones")},
    "new_full": ((2, 3), 7),
    "new_empty_strided": ((2, 3), (4, 1)),
    "new_tensor": ([1, 2],),
}


def calls_of_factories() -> dict[str, tuple[Callable[..., polyad.Tensor], tuple[object, ...]]]:
    """A call of each factory whose signature has pin_memory, without a device."""
    like = polyad.ones(3, 2, device="cpu").T
    found = {}
    for path, op in PUBLIC.items():
        if "pin_memory" in inspect.signature(op.call).parameters:
            found[path] = op.call, (like, *LIKE.get(path, ())) if path.endswith("_like") else NEW[path]
    for name, given in OF_TENSORS.items():
        found[name] = getattr(like, name), given
    return found


@pytest.mark.filterwarnings("ignore:range")
def test_new_tensors_in_pinned_memory(accelerator) -> None:
    calls = calls_of_factories()
    assert len(calls) == len(NEW) + 7 + len(OF_TENSORS), "a factory lacks pin_memory"
    for name, (factory, given) in calls.items():
        polyad.manual_seed(0)
        ordinary = factory(*given, device="cpu")
        polyad.manual_seed(0)
        pinned = factory(*given, device="cpu", pin_memory=True)
        assert pinned.is_pinned(), name
        assert not ordinary.is_pinned(), name
        assert (pinned.shape, pinned.stride(), pinned.dtype) == (ordinary.shape, ordinary.stride(), ordinary.dtype)
        if "empty" not in name:
            assert pinned.tolist() == ordinary.tolist(), name
        if pinned.is_floating_point():
            leaf = factory(*given, device="cpu", pin_memory=True, requires_grad=True)
            assert leaf.is_pinned()
            assert leaf.requires_grad
            assert leaf.is_leaf, name


@pytest.mark.filterwarnings("ignore:range")
def test_only_memory_of_the_cpu_is_pinned(accelerator) -> None:
    for factory, given in calls_of_factories().values():
        with pytest.raises(DeviceError, match="only memory of the cpu is pinned"):
            factory(*given, device="fake", pin_memory=True)
        assert not factory(*given, device="meta", pin_memory=True).is_pinned()


def test_gradients_flow_to_what_was_pinned(accelerator) -> None:
    x = polyad.ones(3, device="cpu", requires_grad=True)
    (x.pin_memory().to("fake", non_blocking=True) * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_copy_goes_on_while_the_program_does(accelerator) -> None:
    x = polyad.ones(3, device="cpu").pin_memory()
    with accelerator.paused():
        y = x.to("fake", non_blocking=True) + 1
        z = x.cpu()
    assert z is x
    assert y.tolist() == [2.0] * 3


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.to("fake", non_blocking=True),
        lambda x: x.to("fake", polyad.float32, True),
        lambda x: polyad.empty(3, device="fake").copy_(x, non_blocking=True),
        lambda x: polyad.nn.Buffer(x).to("fake", non_blocking=True),
    ],
    ids=["to", "positional", "copy_", "buffer"],
)
def test_a_source_that_is_used_again_too_early_is_noticed(accelerator, copy) -> None:
    x = polyad.ones(3, device="cpu").pin_memory()
    y = copy(x)
    x.fill_(5)
    with pytest.raises(KernelFailure, match=r"pinned memory \(3,\) was changed while a copy from it was under way"):
        polyad.accelerator.synchronize()
    event = polyad.accelerator.current_stream().record_event()
    assert y.tolist() == [1.0] * 3
    y = copy(x)
    event.record()
    event.synchronize()
    x.fill_(6)
    polyad.accelerator.synchronize()
    assert y.tolist() == [5.0] * 3


def test_a_source_that_nobody_pinned_is_read_at_once(accelerator) -> None:
    x = polyad.ones(3, device="cpu")
    with accelerator.paused():
        y = x.to("fake", non_blocking=True)
        x.fill_(5)
    assert y.tolist() == [1.0] * 3


def test_a_pinned_source_is_read_at_once_where_the_copy_blocks(accelerator) -> None:
    x = polyad.ones(3, device="cpu").pin_memory()
    with accelerator.paused():
        y, z = x.to("fake"), polyad.empty(3, device="fake").copy_(x)
        x.fill_(5)
    assert y.tolist() == z.tolist() == [1.0] * 3


def test_values_arrive_on_the_host_when_the_program_has_waited(accelerator) -> None:
    x = polyad.arange(4, device="fake")
    y = x.to("cpu", non_blocking=True)
    assert y.is_pinned()
    assert y.tolist() != [0, 1, 2, 3], "nobody has waited"
    polyad.accelerator.current_stream().synchronize()
    assert y.tolist() == [0, 1, 2, 3]
    target = polyad.zeros(4, dtype=polyad.int64, device="cpu")
    assert target.copy_(x, non_blocking=True).tolist() == [0, 1, 2, 3], "written here, so it has waited"
    assert x.cpu().tolist() == [0, 1, 2, 3]


def test_between_two_devices(accelerator) -> None:
    x = polyad.arange(4, device="fake:0").to("fake:1", non_blocking=True)
    assert x.tolist() == [0, 1, 2, 3]


def test_a_copy_is_done_when_a_captured_call_returns(accelerator) -> None:
    x = polyad.ones(3, device="cpu").pin_memory()
    graph = polyad.jit.capture(lambda x: x.to("fake", non_blocking=True) + 1, x)
    y = graph(x)
    x.fill_(5)
    assert y.tolist() == [2.0] * 3


def test_the_flags_of_to_by_their_place() -> None:
    x = polyad.ones(2, device="cpu")
    for same in ((polyad.float32, True), ("cpu", polyad.float32, True), (x, True), ("cpu", None, True, False)):
        assert x.to(*same) is x
    for copied in ((polyad.float32, False, True), ("cpu", polyad.float32, True, True), (x, False, True)):
        assert x.to(*copied) is not x


def test_saved_tensors_in_pinned_memory(accelerator, monkeypatch) -> None:
    packed = []
    honest = polyad.Tensor.pin_memory

    def pin_memory(self, device=None):
        packed.append(honest(self, device))
        return packed[-1]

    monkeypatch.setattr(polyad.Tensor, "pin_memory", pin_memory)
    x = polyad.ones(3, device="fake", requires_grad=True)
    with polyad.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x.exp() * x).sum()
    y.backward()
    assert packed
    assert all(tensor.is_pinned() for tensor in packed)
    assert x.grad.tolist() == pytest.approx([2 * 2.718281828] * 3)
    packed.clear()
    with polyad.autograd.graph.save_on_cpu():
        (x * x).sum().backward()
    assert packed == []


Pair = collections.namedtuple("Pair", "x name")


def test_batches_in_pinned_memory(accelerator) -> None:
    data = TensorDataset(polyad.arange(4, device="cpu"), polyad.ones(4, device="cpu"))
    for x, y in DataLoader(data, batch_size=2, pin_memory=True):
        assert x.is_pinned()
        assert y.is_pinned()

    class Own:
        def pin_memory(self) -> str:
            return "pinned by itself"

    def collate(samples):
        x = polyad.ones(1, device="cpu")
        return {"pair": Pair(x, "a"), "list": [x, (x, 3)], "own": Own(), "range": range(2)}

    (batch,) = DataLoader([1], collate_fn=collate, pin_memory=True)
    assert batch["pair"].x.is_pinned()
    assert batch["pair"].name == "a"
    assert batch["list"][0].is_pinned()
    assert batch["list"][1][0].is_pinned()
    assert batch["list"][1][1] == 3
    assert batch["own"] == "pinned by itself"
    assert list(batch["range"]) == [0, 1]


class Encoded(collections.UserDict):
    """A batch that is a mapping and holds more than its entries."""

    def __init__(self, data, tokenizer) -> None:
        super().__init__(data)
        self.tokenizer = tokenizer


class Row(list):
    def __init__(self, length: int) -> None:
        super().__init__([None] * length)
        self.note = "kept"


class Box(tuple):
    pass


@dataclasses.dataclass
class Sample:
    x: polyad.Tensor
    name: str


def test_batches_of_other_classes_keep_all_that_they_hold(accelerator) -> None:
    def collate(samples):
        x = polyad.ones(1, device="cpu")
        row = Row(1)
        row[0] = x
        boxes = collections.defaultdict(list, box=Box([x]))
        return Encoded({"row": row, "boxes": boxes, "sample": Sample(x, "a")}, "words")

    (batch,) = DataLoader([1], collate_fn=collate, pin_memory=True)
    assert batch.tokenizer == "words"
    assert batch["row"].note == "kept"
    assert batch["row"][0].is_pinned()
    assert batch["boxes"].default_factory is list
    assert type(batch["boxes"]["box"]) is Box
    assert batch["boxes"]["box"][0].is_pinned()
    assert batch["sample"].x.is_pinned()
    assert batch["sample"].name == "a"


def test_a_tuple_subclass_of_a_batch_that_pins_itself(accelerator) -> None:
    class Batch(tuple):
        def pin_memory(self):
            return "pinned by itself"

    (batch,) = DataLoader([1], collate_fn=lambda samples: {"inner": [Batch()]}, pin_memory=True)
    assert batch["inner"] == ["pinned by itself"]


def test_none_is_no(accelerator) -> None:
    x = polyad.zeros(2, device="cpu", pin_memory=None, requires_grad=None, layout=polyad.strided)
    assert (x.is_pinned(), x.requires_grad) == (False, False)
    assert not polyad.rand_like(x, pin_memory=None, requires_grad=None, layout=None).requires_grad
    assert not x.new_ones(2, pin_memory=None, requires_grad=None).is_pinned()
    with pytest.raises(TypeError, match="pin_memory is str"):
        polyad.zeros(2, pin_memory="fake")
    with pytest.raises(NotImplementedError, match="strided tensors alone"):
        polyad.randn(2, layout=polyad.sparse_coo)
