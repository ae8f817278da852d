"""What files and pictures of others may be: cut off, of other sizes and modes, or written to do harm."""

import io
import pickle

import numpy as np
import pytest

import polyad
from polyad import hub
from polyad.vision import datasets, models, transforms as T
from polyad.vision.transforms import functional as F

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


class Calls:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def entry(**changes):
    content = {b"labels": [0], b"data": np.zeros((1, 3072), np.uint8), **{k.encode(): v for k, v in changes.items()}}
    return pickle.dumps(content, 2)


CUT = entry()[:-900]
BOMBS = {
    "eval": entry(labels=Calls(eval, ("open('ran', 'w')",))),
    "exec by name": b'cbuiltins\nexec\n(S\'open("ran", "w")\'\ntR.',
    "os.system": b"cposix\nsystem\n(S'touch ran'\ntR.",
    "a call of numpy": entry(data=Calls(np.load, ("ran",))),
    "numpy's loader": b"cnumpy\nload\n(S'ran'\ntR.",
    "a name with dots": b"\x80\x04\x8c\x10numpy.core.multiarray\x8c\x1b_reconstruct.__globals__.os\x93.",
    "cut": CUT,
    "another shape": entry(data=np.zeros((1, 3071), np.uint8)),
    "three dimensions": entry(data=np.zeros((1, 3, 1024), np.uint8)),
    "int64": entry(data=np.zeros((1, 3072), np.int64)),
    "labels of text": entry(labels=["cat"]),
    "labels that are negative": entry(labels=[-1]),
    "truth values": entry(labels=[True]),
    "no labels": pickle.dumps({b"data": np.zeros((1, 3072), np.uint8)}, 2),
    "a list": pickle.dumps([entry()], 2),
    "a dict of numbers": pickle.dumps({1: 2}, 2),
    "text": b"<html>404</html>",
}


@pytest.mark.parametrize("name", BOMBS)
def test_cifar_files_run_nothing_and_are_refused_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_batch").write_bytes(BOMBS[name])
    with pytest.raises(RuntimeError, match="test_batch"):
        datasets.CIFAR10(tmp_path, train=False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [{b"names": []}, [1, 2], {b"label_names": 7}])
def test_names_of_classes_that_cannot_be_read_are_told(content, tmp_path):
    (tmp_path / "test_batch").write_bytes(entry())
    (tmp_path / "batches.meta").write_bytes(pickle.dumps(content, 2))
    with pytest.raises(RuntimeError, match=r"batches\.meta"):
        datasets.CIFAR10(tmp_path, train=False)


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        (bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(784), bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 2])),
        (bytes([0, 0, 8, 3, 0, 0]), bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 2])),
        (bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(784), bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 2])),
        (bytes([0, 0, 8, 3]) + bytes([255] * 12), bytes([0, 0, 8, 1, 0, 0, 0, 0])),
        (b"", b""),
        (b"\x1f\x8b\x08\x00", bytes([0, 0, 8, 1, 0, 0, 0, 0])),
    ],
    ids=["cut pictures", "cut header", "one label too many", "sizes of four thousand million", "empty", "cut gzip"],
)  # fmt: skip
def test_idx_files_that_are_cut_or_do_not_fit(images, labels, tmp_path):
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(labels)
    with pytest.raises(RuntimeError, match="t10k"):
        datasets.MNIST(tmp_path, train=False)


MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (4, 3)])
def test_pictures_of_every_mode_become_tensors_and_back(mode, size):
    picture = Image.new(mode, size, 1)
    tensor = F.pil_to_tensor(picture)
    channels = {"LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}.get(mode, 1)
    assert tensor.shape == (channels, size[1], size[0])
    assert F.to_tensor(picture).shape == tensor.shape
    if mode in ("L", "LA", "RGB", "RGBA"):
        assert F.to_pil_image(tensor).mode == mode


def test_sixteen_bits_are_kept():
    values = np.array([[0, 255, 256, 65535]], np.uint16)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "PNG")
    assert F.pil_to_tensor(Image.open(file)).int().tolist() == [[[0, 255, 256, 65535]]]


@pytest.mark.parametrize("tensor", [polyad.zeros(3, 1, 1), polyad.full((3, 1, 1), 200, dtype=polyad.uint8)])
def test_a_picture_of_one_pixel_goes_through_every_transform(tensor):
    polyad.manual_seed(0)
    for transform in (
        T.Resize(4), T.Resize((1, 1)), T.CenterCrop(3), T.Pad(1), T.RandomCrop(2, pad_if_needed=True),
        T.RandomResizedCrop(2), T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0),
        T.ColorJitter(0.4, 0.4, 0.4, 0.2),
        T.RandomRotation(30), T.RandomAffine(10), T.GaussianBlur(1), T.RandomAdjustSharpness(2.0, 1.0),
        T.RandomAutocontrast(1.0), T.RandomGrayscale(1.0), T.RandomInvert(1.0), T.ConvertImageDtype(polyad.float32),
    ):  # fmt: skip
        found = transform(tensor)
        assert found.shape[0] == 3, transform
        assert min(found.shape) > 0, transform


@pytest.mark.parametrize("state", [{}, {"conv1.weight": polyad.zeros(1)}, {"fc.weight": polyad.zeros(7, 512)}])
def test_weights_of_another_model_leave_a_model_as_it_was(state, tmp_path):
    with pytest.raises(RuntimeError, match="weight"):
        models.resnet18(weights=state, num_classes=2)
    polyad.save(state, tmp_path / "model.pth")
    model = polyad.nn.Linear(2, 2)
    before = model.weight.detach().clone()
    with pytest.raises(RuntimeError, match="weight"):
        hub.from_pretrained(model, tmp_path)
    assert polyad.equal(model.weight, before)


def test_weights_that_are_damaged_or_harmful_are_refused(tmp_path):
    for content in (b"", b"text", pickle.dumps(Calls(print, ("ran",)))):
        (tmp_path / "model.pth").write_bytes(content)
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match=r"model\.pth|weights|file"):
            hub.load_state_dict_from_file(tmp_path / "model.pth")
    (tmp_path / "model.pth").unlink()
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 16)
    with pytest.raises(RuntimeError, match="safetensors"):
        hub.load_folder(tmp_path)
