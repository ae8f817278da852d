"""Tensor types of device "cuda", and the other ways in which PyTorch's programs name it."""

import pytest

import polyad


@pytest.fixture(autouse=True)
def as_before():
    yield
    polyad.set_default_device(None)
    polyad.set_default_dtype(polyad.float32)


def test_types():
    x = polyad.zeros(2)
    y = x.type("torch.cuda.FloatTensor")
    assert (y.type(), polyad.typename(y), y.device.index) == ("polyad.cuda.FloatTensor",) * 2 + (0,)
    assert x.type(polyad.cuda.HalfTensor).type() == "polyad.cuda.HalfTensor"
    assert y.type("torch.FloatTensor").device.type == "cpu"
    assert y.type(polyad.DoubleTensor).type() == "polyad.DoubleTensor"
    assert y.type(polyad.float64).type() == "polyad.cuda.DoubleTensor"
    assert (isinstance(y, polyad.cuda.FloatTensor), isinstance(y, polyad.FloatTensor)) == (True, False)
    on_second = polyad.zeros(2, device="cuda:1")
    assert on_second.type("torch.cuda.FloatTensor") is on_second
    assert on_second.type("torch.cuda.DoubleTensor").device.index == 1


def test_constructors():
    assert polyad.cuda.FloatTensor([1, 2]).tolist() == [1.0, 2.0]
    assert polyad.cuda.LongTensor(2, 3).type() == "polyad.cuda.LongTensor"
    with polyad.cuda.device(1):
        assert polyad.cuda.FloatTensor(2).device.index == 1
    assert polyad.cuda.FloatTensor(2, device="cuda:1").device.index == 1
    with pytest.raises(RuntimeError, match="is on 'cuda', not on cpu"):
        polyad.cuda.FloatTensor(2, device="cpu")
    with pytest.raises(TypeError, match="it cannot show a tensor that is on cpu"):
        polyad.cuda.FloatTensor(polyad.zeros(2))
    polyad.set_default_device("cuda")
    assert polyad.FloatTensor([1]).device.type == "cpu"


@pytest.mark.filterwarnings("ignore:set_default_tensor_type")
def test_default_types():
    polyad.set_default_tensor_type("torch.cuda.HalfTensor")
    assert polyad.zeros(1).type() == "polyad.cuda.HalfTensor"
    polyad.set_default_tensor_type(polyad.FloatTensor)
    assert polyad.zeros(1).type() == "polyad.FloatTensor"


def test_versions_and_architectures():
    assert polyad.version.cuda == "12.9"
    assert polyad.version.hip is None
    assert polyad.backends.cuda.is_built()
    assert polyad.cuda.get_arch_list() == ["sm_90"]
    assert polyad.cuda.is_bf16_supported()
    assert polyad.cuda.is_bf16_supported(including_emulation=False)
    assert polyad.cuda.is_tf32_supported()


def test_the_version_of_cudnn(library):
    assert polyad.backends.cudnn.is_available()
    assert polyad.backends.cudnn.version() > 90000


def test_modules_and_storages():
    layer = polyad.nn.Linear(1, 1).type("torch.cuda.DoubleTensor")
    assert layer.weight.type() == "polyad.cuda.DoubleTensor"
    assert layer.cuda(1).weight.get_device() == 1
    assert layer.cpu().weight.get_device() == -1
    x = polyad.zeros(1, device="cuda")
    assert x.untyped_storage().is_cuda
    assert x.is_cuda
    assert polyad.zeros(1).cuda(0, non_blocking=True).is_cuda
