"""PyTorch's older names: tensor types, storages, and questions whose answer is always the same here."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

import polyad
from polyad import Tensor

TYPES = {
    "FloatTensor": polyad.float32, "DoubleTensor": polyad.float64, "HalfTensor": polyad.float16,
    "BFloat16Tensor": polyad.bfloat16, "ByteTensor": polyad.uint8, "CharTensor": polyad.int8,
    "ShortTensor": polyad.int16, "IntTensor": polyad.int32, "LongTensor": polyad.int64, "BoolTensor": polyad.bool,
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
class TestTensorTypes:
    def test_data_and_sizes(self, name: str) -> None:
        made, dtype = getattr(polyad, name), TYPES[name]
        assert made([1, 0]).tolist() == polyad.tensor([1, 0], dtype=dtype).tolist()
        assert (made([1]).dtype, made(2, 3).shape, made(polyad.Size([2, 3])).shape) == (dtype, (2, 3), (2, 3))
        assert (made().shape, made(size=(2,)).shape, made(2).shape) == ((0,), (2,), (2,))
        assert type(made([1])) is Tensor

    def test_instances(self, name: str) -> None:
        made = getattr(polyad, name)
        assert isinstance(polyad.zeros(1, dtype=TYPES[name]), made)
        assert not isinstance(polyad.zeros(1, dtype=polyad.complex64), made)
        assert not isinstance(3, made)

    def test_conversion(self, name: str) -> None:
        made = getattr(polyad, name)
        for wanted in (made, f"torch.{name}", f"polyad.{name}"):
            assert polyad.ones(2).type(wanted).dtype is TYPES[name]
        assert polyad.zeros(1, dtype=TYPES[name]).type() == f"polyad.{name}"
        assert polyad.typename(polyad.zeros(1, dtype=TYPES[name])) == f"polyad.{name}"


def test_wrong_data() -> None:
    with pytest.raises(TypeError, match=r"FloatTensor: 3\.5 is neither"):
        polyad.FloatTensor(3.5)
    with pytest.raises(TypeError, match="FloatTensor: it cannot show a tensor of int64"):
        polyad.FloatTensor(polyad.tensor([1]))


@pytest.mark.filterwarnings("ignore:storage")
def test_a_type_is_of_a_device() -> None:
    x = polyad.ones(2, device="meta")
    assert x.type() == polyad.typename(x) == "polyad.meta.FloatTensor"
    assert not isinstance(x, polyad.FloatTensor)
    assert not isinstance(polyad.ones(2, device="cpu"), polyad.cuda.FloatTensor)
    assert polyad.ones(2, device="cpu").type("torch.meta.HalfTensor").type() == "polyad.meta.HalfTensor"
    assert x.type("polyad.meta.FloatTensor") is x
    for without_device in (polyad.float64, "float64", "torch.float64", "Double", "DoubleTensor"):
        assert x.type(without_device).type() == "polyad.meta.DoubleTensor"
    with pytest.raises(TypeError, match="FloatTensor: it cannot show a tensor that is on meta"):
        polyad.FloatTensor(x)
    with pytest.raises(RuntimeError, match="FloatTensor is on 'cpu', not on meta"):
        polyad.FloatTensor(2, device="meta")
    with polyad.device("meta"):
        assert polyad.FloatTensor([1]).device.type == "cpu"
    assert (x.storage().is_cuda, x.untyped_storage().is_cuda) == (False, False)
    assert x.storage().type() == "polyad.meta.FloatStorage"


def test_types_of_cuda_where_there_may_be_none() -> None:
    names = [name for name in vars(polyad.cuda) if name.endswith("Tensor")]
    assert sorted(names) == sorted(TYPES)
    for name in names:
        found = getattr(polyad.cuda, name)
        assert (found.dtype, found.is_cuda, repr(found)) == (TYPES[name], True, f"<class 'polyad.cuda.{name}'>")
        assert not getattr(polyad, name).is_cuda


def test_modules_take_types() -> None:
    layer = polyad.nn.Linear(1, 1, device="cpu")
    assert layer.type("torch.DoubleTensor").weight.dtype is polyad.float64
    assert layer.type(polyad.HalfTensor).weight.dtype is polyad.float16
    assert layer.type(polyad.float32).weight.dtype is polyad.float32


def test_new() -> None:
    x = polyad.arange(2)
    assert x.new([1, 2]).tolist() == [1, 2]
    assert (x.new(2, 3).shape, x.new().shape, x.new(size=(1,)).shape) == ((2, 3), (0,), (1,))
    assert polyad.Tensor(size=(2, 3)).shape == (2, 3)


@pytest.fixture
def default() -> Iterator[None]:
    before = polyad.get_default_dtype()
    yield
    polyad.set_default_dtype(before)


@pytest.mark.usefixtures("default")
def test_default_type() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        polyad.set_default_tensor_type("torch.DoubleTensor")
    assert polyad.ones(1).dtype is polyad.float64
    for wrong in (polyad.LongTensor, "torch.FloatTenser", "torch.cuda.LongTensor", 3):
        with pytest.raises(TypeError, match="no floating point type"):
            polyad.set_default_tensor_type(wrong)


@pytest.mark.usefixtures("default")
@pytest.mark.filterwarnings("ignore:set_default_tensor_type")
def test_default_type_of_a_device() -> None:
    try:
        polyad.set_default_tensor_type("torch.meta.DoubleTensor")
        assert polyad.zeros(1).type() == "polyad.meta.DoubleTensor"
        polyad.set_default_tensor_type("torch.FloatTensor")
        assert polyad.zeros(1).type() == "polyad.FloatTensor"
        polyad.set_default_device("meta")
        polyad.set_default_tensor_type("torch.DoubleTensor")
        assert polyad.zeros(1).type() == "polyad.meta.DoubleTensor", "a default device of one's own stays"
    finally:
        polyad.set_default_device(None)


@pytest.mark.filterwarnings("ignore:storage")
class TestStorages:
    def test_elements(self) -> None:
        x = polyad.arange(6.0).reshape(2, 3)
        stored = x[1:].storage()
        assert (len(stored), stored.size(), stored.nbytes(), stored.element_size()) == (6, 6, 24, 4)
        assert (stored.dtype, stored.device, stored.data_ptr()) == (polyad.float32, x.device, x.data_ptr())
        assert stored[1] == 1.0
        assert stored[-1] == 5.0
        assert list(stored) == stored.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]

    def test_writes(self) -> None:
        x = polyad.arange(3)
        x.storage()[1] = 9
        assert x.tolist() == [0, 9, 2]
        copied = x.storage().clone()
        copied.fill_(7)
        assert x.tolist() == [0, 9, 2]
        x.storage().copy_(copied)
        assert x.tolist() == [7, 7, 7]

    def test_bytes(self) -> None:
        x = polyad.tensor([1.0, 2.0])
        stored = x.untyped_storage()
        assert (len(stored), stored.nbytes(), stored.element_size()) == (8, 8, 1)
        assert stored.tolist() == list(x.numpy().tobytes())
        assert stored[3] == 0x3F
        stored[3] = 0
        assert x[0] != 1.0
        assert polyad.UntypedStorage(4).fill_(1).tolist() == [1, 1, 1, 1]

    def test_types(self) -> None:
        x = polyad.ones(2)
        assert isinstance(x.storage(), polyad.FloatStorage)
        assert isinstance(x.storage(), polyad.TypedStorage)
        assert not isinstance(x.storage(), polyad.LongStorage)
        assert x.storage_type() is polyad.FloatStorage
        assert (x.storage().type(), x.storage() == x.storage()) == ("polyad.FloatStorage", True)
        assert polyad.is_storage(x.storage())
        assert polyad.FloatStorage([1, 2]).tolist() == [1.0, 2.0]
        assert polyad.LongStorage(2).tolist() == [0, 0]

    def test_set(self) -> None:
        x = polyad.zeros(0).set_(polyad.FloatStorage([1, 2, 3]))
        assert x.tolist() == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize("index", [4, -5])
    def test_out_of_range(self, index: int) -> None:
        with pytest.raises(IndexError, match=f"storage: {index} is not in"):
            polyad.ones(4).storage()[index]

    def test_slices(self) -> None:
        x = polyad.tensor([1, 2, 3], dtype=polyad.uint8)
        part = x.untyped_storage()[1:]
        assert (type(part), list(part)) == (polyad.UntypedStorage, [2, 3])
        part[0] = 7
        assert x.tolist() == [1, 7, 3]


@pytest.mark.parametrize(
    "name",
    ["is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse",
     "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu"],
)  # fmt: skip
def test_what_tensors_never_are(name: str) -> None:
    assert getattr(polyad.ones(1), name) is False


def test_layouts() -> None:
    x = polyad.ones(2, 3)
    assert x.layout is polyad.strided
    for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"):
        layout = getattr(polyad, name)
        assert isinstance(layout, polyad.layout)
        assert x.layout != layout
        with pytest.raises(NotImplementedError, match="strided tensors alone"):
            polyad.ones(2, layout=layout)
    assert (x.dense_dim(), x.sparse_dim(), x.to_dense() is x) == (2, 0, True)
    assert (x.dim_order(), x.t().dim_order()) == ((0, 1), (1, 0))
    assert (x.is_set_to(x.detach()), x.is_set_to(x.t()), x.is_shared()) == (True, False, False)


class TestMakeTensor:
    @pytest.mark.parametrize("dtype", [*TYPES.values(), polyad.complex64, polyad.complex128])
    def test_default_bounds(self, dtype: Any) -> None:
        x = polyad.testing.make_tensor(50, 4, dtype=dtype, device="cpu")
        assert (x.dtype, x.shape) == (dtype, (50, 4))
        parts = polyad.view_as_real(x) if dtype.is_complex else x.double()
        assert parts.min().item() >= -9
        assert parts.max().item() <= 9
        assert len(parts.unique()) > 1

    def test_bounds(self) -> None:
        x = polyad.testing.make_tensor((100,), dtype=polyad.int8, device="cpu", low=-1000, high=-120.5)
        assert set(x.tolist()) <= set(range(-128, -120))

    def test_layout_and_zeros(self) -> None:
        make = polyad.testing.make_tensor
        x = make((20, 4), dtype=polyad.int64, device="cpu", low=0, high=2, noncontiguous=True, exclude_zero=True)
        assert not x.is_contiguous()
        assert set(x.flatten().tolist()) == {1}
        images = make((2, 3, 4, 4), dtype=polyad.float32, device="cpu", memory_format=polyad.channels_last)
        assert images.is_contiguous(memory_format=polyad.channels_last)
        assert make(2, dtype=polyad.float32, device="cpu", requires_grad=True).requires_grad

    @pytest.mark.parametrize(
        "settings",
        [
            {"low": 2, "high": 1}, {"low": float("nan")}, {"low": 300, "high": 400, "dtype": polyad.uint8},
            {"requires_grad": True, "dtype": polyad.int64},
            {"noncontiguous": True, "memory_format": polyad.channels_last},
        ],
    )  # fmt: skip
    def test_refused(self, settings: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="make_tensor"):
            polyad.testing.make_tensor((2, 3), **{"dtype": polyad.float32, "device": "cpu", **settings})


@pytest.mark.filterwarnings("ignore:storage")
def test_a_tensor_of_a_storage_shows_it() -> None:
    x = polyad.arange(6.0)
    for y in (
        x.new(x.storage()),
        x.new(x.untyped_storage()),
        polyad.Tensor(x.storage()),
        polyad.FloatTensor(x.storage()),
    ):
        y[0] += 1
        assert (y.shape, y.data_ptr()) == (x.shape, x.data_ptr())
    assert x[0] == 4
    with pytest.raises(RuntimeError, match="new: a tensor of int64 cannot show a storage of float32"):
        polyad.arange(2).new(x.storage())


def test_the_default_device_has_no_say_in_them() -> None:
    with polyad.device("meta"):
        made = [polyad.Tensor([1.0]), polyad.Tensor(2, 3), polyad.Tensor(), polyad.FloatTensor([1.0])]
        assert {one.device.type for one in made} == {"cpu"}
        assert polyad.zeros(1).new([1.0]).device.type == "meta"
        assert polyad.Tensor(2, device="meta").device.type == "meta"


def test_the_type_tensor_is_the_default_dtype() -> None:
    for wanted in (Tensor, "torch.Tensor"):
        assert polyad.arange(3).type(wanted).dtype is polyad.float32
    with pytest.raises(ValueError, match="is no type's name"):
        polyad.ones(2).type("Tensor")


@pytest.mark.filterwarnings("ignore:storage")
@pytest.mark.parametrize("storage_first", [True, False])
def test_a_deep_copy_of_a_storage_is_the_copied_tensors(storage_first: bool) -> None:
    x = polyad.arange(4.0)
    together: list[Any] = [x.untyped_storage(), x.storage(), x]
    copied = copy.deepcopy(together if storage_first else together[::-1])
    untyped, typed, y = copied if storage_first else copied[::-1]
    y[0] = 9
    assert (typed[0], x[0].item(), typed.dtype) == (9.0, 0.0, polyad.float32)
    assert untyped == typed.untyped() == y.untyped_storage()


def test_types_of_storages_at_pytorchs_path() -> None:
    from polyad import storage

    assert storage.UntypedStorage is polyad.UntypedStorage
    assert storage.TypedStorage is polyad.TypedStorage
    assert isinstance(polyad.ones(2).untyped_storage(), storage.UntypedStorage)


@pytest.mark.filterwarnings("ignore:storage")
def test_a_tensor_of_bytes_reads_them_as_the_dtype_that_is_given() -> None:
    x = polyad.tensor([1.5, -2.0])
    assert polyad.tensor(x.untyped_storage(), dtype=polyad.float32).tolist() == [1.5, -2.0]
    assert polyad.as_tensor(x.untyped_storage(), dtype=polyad.int16).tolist() == x.view(polyad.int16).tolist()
    assert polyad.tensor(x.untyped_storage()).tolist() == x.view(polyad.uint8).tolist()
    assert x.storage().__sizeof__() - polyad.empty(0).storage().__sizeof__() == 8


@pytest.mark.parametrize("size", [0, 3])
def test_storages_without_elements_give_none(size: int) -> None:
    for stored in (
        polyad.TypedStorage(size, dtype=polyad.float32, device="meta"),
        polyad.UntypedStorage(size, device="meta"),
    ):
        with pytest.raises(NotImplementedError, match="no elements"):
            stored[0]


def test_types_are_no_base_classes() -> None:
    with pytest.raises(TypeError, match="cannot be a base class"):
        type("Mine", (polyad.FloatTensor,), {})


def test_a_storage_of_a_file(tmp_path) -> None:
    polyad.FloatStorage.from_file(tmp_path / "numbers", True, 3).fill_(2.0)
    assert polyad.FloatStorage.from_file(str(tmp_path / "numbers"), False, 2).tolist() == [2.0, 2.0]
