"""The bundled digits, and the reader of IDX files on small files written here."""

import gzip
import struct
import zipfile

import numpy
import pytest

import polyad
from polyad.datasets import MNIST, Digits, FashionMNIST, ImageFolder, read_idx
from polyad.interop.npz import read_npz
from polyad.utils.data import DataLoader


def idx(shape, data=None, kind=8):
    size = 1
    for n in shape:
        size *= n
    data = bytes(i % 10 for i in range(size)) if data is None else data
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + data


def test_the_digits_are_all_there():
    train, held_out = Digits(train=True), Digits(train=False)
    assert (len(train), len(held_out)) == (1437, 360)
    for part in (train, held_out):
        assert part.images.shape == (len(part), 1, 8, 8)
        assert part.images.dtype is polyad.float32
        assert part.labels.dtype is polyad.int64
        assert (part.images.min().item(), part.images.max().item()) == (0.0, 1.0)
        counts = [int((part.labels == digit).sum().item()) for digit in range(10)]
        assert min(counts) > len(part) * 0.07  # ten classes, about equally often
    assert len(held_out.classes) == 10


def test_the_held_out_digits_are_every_fifth_of_the_file():
    from importlib import resources

    with resources.as_file(resources.files("polyad.datasets") / "digits.npz") as path:
        arrays = read_npz(path)
    assert arrays["labels"][::5].tolist() == Digits(train=False).labels.tolist()
    image = arrays["images"][5].to(polyad.float32) / 16
    assert Digits(train=False).images[1, 0].tolist() == image.tolist()


def test_the_attribution_is_shipped():
    from importlib import resources

    text = (resources.files("polyad.datasets") / "README.md").read_text("utf-8")
    assert all(part in text for part in ("Alpaydin", "Kaynak", "10.24432/C50P49", "CC BY 4.0"))


def test_the_digits_come_in_batches():
    images, labels = next(iter(DataLoader(Digits(train=False), batch_size=100)))
    assert (images.shape, labels.shape) == ((100, 1, 8, 8), (100,))


def test_npz_files_that_are_none(tmp_path):
    (tmp_path / "text").write_text("no archive")
    numpy.save(tmp_path / "one.npy", numpy.zeros(3))
    numpy.savez(tmp_path / "objects.npz", a=numpy.array([{}], dtype=object))
    for name in ("text", "one.npy", "objects.npz"):
        with pytest.raises(RuntimeError, match=f"read_npz: .*{name} cannot be read"):
            read_npz(tmp_path / name)


NPY = {"descr": "'<f4'", "fortran_order": "False", "shape": "(2,)"}


def npy(data=bytes(8), version=1, **fields):
    header = "{" + ", ".join(f"'{name}': {text}" for name, text in (NPY | fields).items()) + ", }\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode("latin-1") + data


def archive(path, method=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


def test_npz_files_of_any_number_arrays(tmp_path):
    arrays = {
        "fortran": numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
        "swapped": numpy.arange(3, dtype=">i4"),
        "scalar": numpy.array(2.5),
        "empty": numpy.zeros((0, 3), numpy.float16),
        "complex": numpy.ones(2, numpy.complex64),
        "mask": numpy.array([True, False]),
    }
    for write in (numpy.savez, numpy.savez_compressed):
        write(tmp_path / "file.npz", **arrays)
        read = read_npz(tmp_path / "file.npz")
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert read[name].tolist() == array.tolist()
            assert str(read[name].dtype) == f"polyad.{array.dtype.name}"
    for version in (1, 2, 3):  # other programs leave out the padding, or write Python 2's sizes
        archive(tmp_path / "other.npz", a=npy(version=version, shape="( 2L, )"))
        assert read_npz(tmp_path / "other.npz")["a"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (npy(descr="'|O'"), "header that is not of an array"),
        (npy(descr="'|O8'"), "objects|bytes|not of an array"),
        (npy(descr="[('a', '<f4')]"), "header that is not of an array"),
        (npy(descr="'<U100'"), "header that is not of an array"),
        (npy(descr="'<f3'"), "not understood"),
        (npy(shape="(3,)"), "has 8 bytes"),
        (npy(shape="(-2,)"), "header that is not of an array"),
        (npy(shape="(2,) * 3"), "header that is not of an array"),
        (npy(shape="(" * 3000), "header that is not of an array"),
        (npy(shape=str((2, *(1,) * 70))), "has 8 bytes"),
        (npy(data=b"", shape=str((0, 2**62, 2**62))), "has 0 bytes"),
        (npy(fortran_order="__import__('os')"), "header that is not of an array"),
        (npy(version=9), "header that is not of an array"),
        (npy(descr="'|b1'", data=b"\0\2"), "neither 0 nor 1"),
        (npy()[:9], "no array"),
        (npy()[:-1], "has 7 bytes"),
    ],
    ids=range(16),
)
def test_npz_files_with_other_members(tmp_path, member, why):
    path = archive(tmp_path / "file.npz", a=member)
    with pytest.raises(RuntimeError, match=f"read_npz: .*file.npz cannot be read as an archive of arrays: .*({why})"):
        read_npz(path)


def test_npz_files_that_are_packed_in_another_way(tmp_path):
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(RuntimeError, match="packed in another way than NumPy's"):
            read_npz(archive(tmp_path / "file.npz", method, a=npy()))
    data = bytearray(archive(tmp_path / "file.npz", a=npy()).read_bytes())
    at = data.index(b"PK\1\2")
    for offset, value in ((10, 93), (8, 1)):  # a method that nobody has; encrypted
        changed = bytearray(data)
        changed[at + offset] = value
        (tmp_path / "file.npz").write_bytes(changed)
        with pytest.raises(RuntimeError, match="encrypted, or packed in another way"):
            read_npz(tmp_path / "file.npz")


def test_npz_files_that_unpack_to_too_much(tmp_path):
    path = archive(tmp_path / "file.npz", zipfile.ZIP_DEFLATED, a=npy(data=bytes(80 << 20), shape=f"({20 << 20},)"))
    with pytest.raises(RuntimeError, match=r"its [\d,]+ bytes unpack to [\d,]+, more than numbers do"):
        read_npz(path)


def test_npz_files_of_very_many_members(tmp_path):
    path = tmp_path / "file.npz"
    path.write_bytes(b"PK\1\2" * 20_000)
    with pytest.raises(RuntimeError, match="more than 10,000 members"):
        read_npz(path)


def test_gzip_files_that_unpack_to_too_much(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(idx((80 << 20,), bytes(80 << 20))))
    with pytest.raises(RuntimeError, match="more than a file of its size can hold"):
        read_idx(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4), (0, 28, 28)])
def test_idx(tmp_path, pack, shape):
    path = tmp_path / "file"
    path.write_bytes(pack(idx(shape)))
    result = read_idx(path)
    assert result.dtype is polyad.uint8
    assert tuple(result.shape) == shape
    assert result.reshape(-1).tolist() == [i % 10 for i in range(result.numel())]


WHOLE = idx((2, 3))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an IDX file: it begins with nothing"),
        (b"\x00\x01\x08\x01", "not an IDX file: it begins with 00 01 08 01"),
        (b"GIF89a....", "not an IDX file"),
        (idx((2,), kind=13), "IDX type 0x0d"),
        (bytes([0, 0, 8, 0]), "0-d elements"),
        (WHOLE[:9], "cut off inside its header"),
        (WHOLE[:-1], r"cut off: shape \(2, 3\) takes 6 bytes, of which 5"),
        (WHOLE + b"\0", "goes on after the 6 bytes"),
        (bytes([0, 0, 8, 4]) + b"\xff" * 16, "more than a file of its size can hold"),
        (bytes([0, 0, 8, 70]) + bytes([0, 0, 0, 1]) * 70 + b"\0", "has 70 dimensions; a tensor has 64 at most"),
        (bytes([0, 0, 8, 4]) + b"\xff" * 12 + bytes(4), "more than a file of its size can hold"),
    ],
    ids=range(11),
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_idx_files_that_are_damaged(tmp_path, data, message, pack):
    path = tmp_path / "file"
    path.write_bytes(pack(data))
    if message.startswith("cut off: shape") and pack is bytes:
        message = "more than a file|cut off: shape"
    with pytest.raises(RuntimeError, match=message) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)


def test_every_truncation_of_a_gzip_file_is_noticed(tmp_path):
    path = tmp_path / "file.gz"
    packed = gzip.compress(idx((40, 5)))
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(RuntimeError, match="read_idx"):
            read_idx(path)


def test_a_damaged_gzip_file_is_noticed(tmp_path):
    packed = bytearray(gzip.compress(idx((40, 5))))
    packed[-8] ^= 1  # its checksum
    (tmp_path / "file.gz").write_bytes(packed)
    with pytest.raises(RuntimeError, match="cannot be unpacked"):
        read_idx(tmp_path / "file.gz")


def test_idx_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"read_idx: .*nothing"):
        read_idx(tmp_path / "nothing")


@pytest.fixture
def root(tmp_path):
    for part, count in (("train", 4), ("t10k", 2)):
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx((count, 28, 28))))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx((count,))))
    return tmp_path


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_mnist(root, kind):
    train, held_out = kind(root), kind(root, train=False)
    assert (len(train), len(held_out)) == (4, 2)
    assert (train.data.shape, train.data.dtype, train.targets.tolist()) == ((4, 28, 28), polyad.uint8, [0, 1, 2, 3])
    assert train.data[1, 0, 1].item() == (784 + 1) % 10
    assert len(kind.classes) == len(train.class_to_idx) == 10


def test_the_same_classes_are_shown_where_torchvision_has_them():
    assert all(getattr(polyad.vision.datasets, kind.__name__) is kind for kind in (MNIST, FashionMNIST, ImageFolder))


def test_mnist_reads_unpacked_files(root):
    for path in list(root.iterdir()):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    assert len(MNIST(str(root))) == 4


def test_mnist_says_what_is_missing(root, tmp_path):
    (root / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no t10k-labels-idx1-ubyte\.gz"):
        MNIST(root, train=False)
    with pytest.raises(FileNotFoundError, match=r"does not exist(.|\n)*apt install dataset-fashion-mnist"):
        FashionMNIST(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        MNIST(root / "train-labels-idx1-ubyte.gz")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train-images-idx3-ubyte.gz", idx((4, 28, 27)), "not images of 28 x 28"),
        ("train-images-idx3-ubyte.gz", idx((4, 784)), "not images of 28 x 28"),
        ("train-labels-idx1-ubyte.gz", idx((3,)), "not a label for each of 4 images"),
        ("train-labels-idx1-ubyte.gz", idx((4,), bytes([0, 1, 10, 2])), "holds label 10, and there are 10 classes"),
    ],
    ids=range(4),
)
def test_mnist_files_that_do_not_belong_together(root, name, data, message):
    (root / name).write_bytes(gzip.compress(data))
    with pytest.raises(RuntimeError, match=message):
        MNIST(root)
