"""Every reader of files that polyad has, with good files for it and what it may raise."""

from __future__ import annotations

import io
import json
import os
import pickle
import pickletools
import re
import struct
import sys
import warnings
import zipfile
import zlib
from argparse import Namespace
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import polyad
import polyad.onnx
from polyad import export, nn
from polyad.datasets import MNIST, read_idx
from polyad.errors import BackendNotFound, BackendUnavailable, NotSupported, PolyadError, SerializationError
from polyad.files import FileTrouble
from polyad.interop.npz import read_npz
from polyad_conformance.report import CardsDiffer, ScoreCard

from . import mutations

Mutation = Callable[[Random, bytes], bytes]


@dataclass(frozen=True)
class Reader:
    """A reader under test.

    Attributes:
        seeds: makes its good files.
        read: reads the file of that path, as a user would.
        raises: what it documents for files that are not right.
        own: mutations that know the format.
        large: files that are small and cost much; tried once in a while.
        names_the_file: whether its errors must name the file.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    raises: tuple[type[Exception], ...]
    own: tuple[Mutation, ...] = ()
    large: tuple[Callable[[Random], bytes], ...] = ()
    names_the_file: bool = True

    def mutant(self, seed: int, number: int) -> bytes:
        """The file of that number."""
        random = Random(f"{seed}/{self.name}/{number}")
        good = _seeds_of(self)
        if self.large and number % 200 == 199:
            return random.choice(self.large)(random)
        data = random.choice(good)
        if self.own and random.random() < 0.6:
            # A mutation may not find what it changes, in a file of another sort.
            with suppress(ValueError, LookupError):
                return random.choice(self.own)(random, data)
        return mutations.mutated_bytes(random, data, good)


@cache
def _seeds_of(reader: Reader) -> list[bytes]:
    return reader.seeds()


# ------------------------------------------------------------------------------------------------- files of polyad.save


def _saved(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    polyad.save(value, file, **options)
    return file.getvalue()


def _polyad_seeds() -> list[bytes]:
    polyad.manual_seed(0)
    base = polyad.arange(12.0).reshape(3, 4)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = polyad.optim.Adam(model.parameters())
    model(polyad.ones(2, 3)).sum().backward()
    optimizer.step()
    return [
        _saved({"a": polyad.ones(2, 3), "n": 4}),
        _saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()}),
        _saved([None, True, 1, 2.5, float("inf"), 1 + 2j, "text", b"\0\1", (1, (2,)), polyad.Size([2]), polyad.int8]),
        _saved({1: 2, (3, "b"): [], None: 0.5, 2.5: b"", "d": polyad.device("cpu")}),
        _saved([base, base.t(), base[1], base[:, 1:3], base.expand(2, 3, 4), base.flatten()[::5]]),
        _saved(
            [polyad.ones(2, dtype=dtype) for dtype in (polyad.bool, polyad.bfloat16, polyad.complex128, polyad.int64)]
        ),
        _saved([polyad.zeros(0, 3), polyad.tensor(1.0), nn.Parameter(polyad.ones(1)), nn.Buffer(polyad.ones(1))]),
        _saved(None),
    ]


def _taken_apart(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _put_together(header: str | dict[str, Any], data: bytes) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(8, "little") + text + data


def _with_structure(text: str, header: dict[str, Any], data: bytes) -> bytes:
    """The file with that structure, and with the right checksum of it: else nothing behind it would be tested."""
    checksum = str(zlib.crc32(text.encode("utf-8", "surrogatepass")))
    return _put_together({**header, "__metadata__": {"polyad": text, "polyad.crc32": checksum}}, data)


def _change_structure(random: Random, data: bytes) -> bytes:
    header, rest = _taken_apart(data)
    document = json.loads(header["__metadata__"]["polyad"])
    if random.random() < 0.7:
        document["object"] = mutations.mutated_json(random, document["object"])
    else:
        document = mutations.mutated_json(random, document)
    return _with_structure(json.dumps(document), header, rest)


def _change_structure_text(random: Random, data: bytes) -> bytes:
    header, rest = _taken_apart(data)
    text = header["__metadata__"]["polyad"].encode()
    return _with_structure(mutations.mutated_bytes(random, text, [text]).decode("latin-1"), header, rest)


def _change_header(random: Random, data: bytes) -> bytes:
    header, rest = _taken_apart(data)
    return _put_together(mutations.mutated_json(random, header), rest)


def _change_header_text(random: Random, data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    text = mutations.mutated_bytes(random, data[8 : 8 + length], [data[8 : 8 + length]])
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _change_data(random: Random, data: bytes) -> bytes:
    """Bytes of the arrays, with checksums that are right for them."""
    header, rest = _taken_apart(data)
    document = json.loads(header["__metadata__"]["polyad"])
    changed = random.randbytes(len(rest))
    for name, about in document["arrays"].items():
        begin, end = header[name]["data_offsets"]
        about["crc32"] = zlib.crc32(changed[begin:end])
    return _with_structure(json.dumps(document), header, changed)


def _large_structure(random: Random) -> bytes:
    text = '{"version":[1,1],"arrays":{},"object":' + mutations.large_json(random) + "}"
    return _with_structure(text, {}, b"")


def _large_header(random: Random) -> bytes:
    return _put_together('{"a":' + mutations.large_json(random) + "}", b"")


def _many_tensors(random: Random) -> bytes:
    """Many small views of an array."""
    shape = [1] * random.choice((0, 1, 64))
    view = {"data": "a", "shape": shape, "strides": shape, "offset": 0, "requires_grad": False}
    header, rest = _taken_apart(_saved({"a": polyad.ones(1)}))
    document = json.loads(header["__metadata__"]["polyad"])
    document["object"] = [{random.choice(("tensor", "parameter")): view}] * random.choice((100, 20_000, 100_000))
    return _with_structure(json.dumps(document), header, rest)


def _load(path: Path) -> object:
    return polyad.load(path)


def _load_stream(path: Path) -> object:
    with path.open("rb") as file:
        return polyad.load(file, map_location="cpu")


def _safetensors_seeds() -> list[bytes]:
    entries = {
        "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "mask": {"dtype": "BOOL", "shape": [4], "data_offsets": [24, 28]},
        "half": {"dtype": "BF16", "shape": [], "data_offsets": [28, 30]},
    }
    empty = {"nothing": {"dtype": "I64", "shape": [0, 5], "data_offsets": [0, 0]}}
    return [
        _put_together(entries, bytes(24) + b"\0\1\0\1" + bytes(2)),
        _put_together({"__metadata__": {"format": "pt"}, **entries}, bytes(24) + b"\0\1\0\1" + bytes(2)),
        _put_together(empty, b""),
        _put_together({}, b""),
    ]


# ----------------------------------------------------------------------------------------------------- NumPy's archives


def _arrays() -> dict[str, np.ndarray]:
    return {
        "images": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        "labels": np.arange(3),
        "f": np.asfortranarray(np.ones((2, 3), np.float32)),
        "scalar": np.array(2.5),
        "empty": np.zeros((0, 2)),
        "swapped": np.ones(2, ">f4"),
    }


def _npz_seeds() -> list[bytes]:
    files = []
    for write in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        write(file, **_arrays())
        files.append(file.getvalue())
    npy = io.BytesIO()
    np.save(npy, np.arange(5))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with suppress(NotImplementedError, RuntimeError):  # a Python without the module
            files.append(mutations.zip_of({"a.npy": npy.getvalue()}, method))
    files.append(npy.getvalue())
    files.append(mutations.zip_of({"text.txt": b"no array", "a.npy": npy.getvalue(), "../b.npy": npy.getvalue()}, 0))
    objects = io.BytesIO()
    np.savez(objects, a=np.array([{}], dtype=object))
    return [*files, objects.getvalue()]


def _change_zip(random: Random, data: bytes) -> bytes:
    return mutations.mutated_zip(random, data)


def _change_npy(random: Random, _: bytes) -> bytes:
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    names = random.choice((["a.npy"], ["a.npy", "b.npy"], ["", "a"], ["\ud7ff\0.npy"], [f"{n}.npy" for n in range(50)]))
    return mutations.zip_of({name: mutations.npy_of(random, 12) for name in names}, method)


def _change_member(random: Random, _: bytes) -> bytes:
    npy = io.BytesIO()
    np.save(npy, random.choice(list(_arrays().values())))
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    return mutations.zip_of({"a.npy": mutations.mutated_bytes(random, npy.getvalue(), [npy.getvalue()])}, method)


def _change_packed(random: Random, _: bytes) -> bytes:
    """A member whose packed bytes are changed, behind records that are right."""
    npy = io.BytesIO()
    np.save(npy, np.arange(200))
    method = random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    data = bytearray(mutations.zip_of({"a.npy": npy.getvalue()}, method))
    begin, end = 35, data.find(mutations.CENTRAL)
    for _ in range(random.choice((1, 3, 20))):
        data[random.randrange(begin, end)] = random.randrange(256)
    return bytes(data)


# -------------------------------------------------------------------------------------------------------- IDX and MNIST


def _idx(shape: tuple[int, ...], code: int = 8, rank: int | None = None, data: bytes | None = None) -> bytes:
    count = int(np.prod(shape, dtype=object)) if shape else 0
    sizes = b"".join(struct.pack(">I", size % 2**32) for size in shape)
    return bytes((0, 0, code, len(shape) if rank is None else rank)) + sizes + (bytes(count) if data is None else data)


def _idx_seeds() -> list[bytes]:
    plain = [_idx((3,)), _idx((2, 3, 4)), _idx((0, 5)), _idx((1,) * 8)]
    return [*plain, *map(mutations.gzip_of, plain), mutations.gzip_of(plain[0]) + mutations.gzip_of(b"")]


def _change_idx(random: Random, _: bytes) -> bytes:
    rank = random.choice((1, 1, 2, 3, 4, 8, 32, 33, 64, 65, 70, 255))
    sizes = tuple(random.choice((0, 1, 1, 1, 2, 3, 2**16, 2**31, 2**32 - 1)) for _ in range(rank))
    if random.random() < 0.5:
        sizes = tuple(min(size, 1) for size in sizes)
    count = min(int(np.prod(sizes, dtype=object)), 1000)
    code = random.choice((8, 8, 8, 9, 11, 13, 0))
    data = _idx(sizes, code, random.choice((None, None, None, 0, 3, 255)), bytes(count))
    packed = mutations.gzip_of(data) if random.random() < 0.5 else data
    return mutations.mutated_bytes(random, packed, [data]) if random.random() < 0.3 else packed


def _idx_bomb(random: Random) -> bytes:
    size = random.choice((2**28, 2**30, 2**31))
    said = random.choice((size, size, 3, 2**32 - 1))
    return mutations.gzip_bomb(_idx((said,), data=b""), size)


def _mnist_seeds() -> list[bytes]:
    return [
        _idx((20, 28, 28)),
        mutations.gzip_of(_idx((20, 28, 28))),
        _idx((20,)),
        _idx((20, 28, 28, 1)),
        _idx((20,), data=bytes([11] * 20)),
    ]


def _read_mnist(path: Path) -> object:
    """*path* as the images, then as the labels."""
    root = path.parent
    others = {"images": root / "t10k-images-idx3-ubyte", "labels": root / "t10k-labels-idx1-ubyte"}
    good = {"images": _idx((20, 28, 28)), "labels": _idx((20,))}
    failed: Exception | None = None
    for part, file in others.items():
        for other, other_file in others.items():
            other_file.unlink(missing_ok=True)
            if other == part:
                os.link(path, file)
            else:
                other_file.write_bytes(good[other])
        try:
            MNIST(root, train=False)
        except SerializationError as error:
            failed = error
    if failed is not None:
        raise failed
    return None


# ---------------------------------------------------------------------------------------------- cards, tuning, the demo


def _card_seeds() -> list[bytes]:
    row = {"tier": 1, "family": "pointwise", "passed": 3, "kernel": 2, "decomposition": 0, "fallback": 1,
           "unsupported": 0, "failed": 1, "known bug": 0}  # fmt: skip
    card = {
        "format": 1, "device": "cpu", "description": "x", "api_version": [1, 0], "polyad": "0", "seed": 0,
        "families": [], "tiers": [], "expression": "", "allow_fallback": False, "shards": ["1/2"], "complete": False,
        "passed": False, "seconds": 1.5, "totals": {}, "rows": [row], "ops": {"exp": {"kernel": 2, "fallback": 1}},
        "failures": [{"test": "t", "message": "m"}], "known_bugs": ["b"], "unsupported": {"r": 1}, "not_run": 0,
    }  # fmt: skip
    return [json.dumps(card).encode(), json.dumps(card, indent=1).encode()]


def _read_card(path: Path) -> object:
    card = ScoreCard.read(str(path))
    return card.lines(), card.summary(), card.as_dict(), card.passed, card.missing


def _change_json(random: Random, data: bytes) -> bytes:
    return json.dumps(mutations.mutated_json(random, json.loads(data))).encode()


def _large_member(random: Random) -> bytes:
    seed = _card_seeds()[0].decode()
    text = mutations.large_json(random)
    name = random.choice(('"shards": ', '"failures": ', '"device": ', '"ops": ', '"format": '))
    before, _, after = seed.partition(name)
    return random.choice((text, before + name + text + ', "x": ' + after)).encode("utf-8", "surrogatepass")


_KEY, _OFFERED = ("gemm", "device", "1"), ("a", "b")


def _tuning_seeds() -> list[bytes]:
    return [json.dumps({"key": list(_KEY), "chosen": "a", "seconds": {"a": 1.0}}).encode()]


def _read_tuning(path: Path) -> object:
    from polyad_opencl.runtime import tuning_cache

    assert tuning_cache._read(path, _KEY, _OFFERED) in (None, *_OFFERED)
    return None


def _checkpoint_seeds() -> list[bytes]:
    from polyad.demo.model import DigitClassifier

    polyad.manual_seed(0)
    model = DigitClassifier()
    optimizer = polyad.optim.Adam(model.parameters())
    model(polyad.ones(2, 1, 8, 8)).sum().backward()
    optimizer.step()
    entry = {"epoch": 1, "loss": 1.0, "train": 0.5, "held_out": 0.5, "seconds": 1.0}
    shuffling = polyad.Generator().manual_seed(0)
    random = {"default": polyad.get_rng_state(), "shuffling": shuffling.get_state()}
    args = {"data": "digits", "batch_size": 64, "lr": 0.003}
    whole = {"demo": 1, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1,
             "history": [entry], "seed": 0, "random": random, "args": args}  # fmt: skip
    loader = polyad.utils.data.DataLoader(_digits(), batch_size=64, shuffle=True, generator=shuffling)
    next(iter(loader))
    middle = {"loader": loader.state_dict(), "tally": [2.5, 3, 64]}
    return [_saved(whole), _saved({**whole, "demo": 2, "middle": middle})]


@cache
def _digits() -> Any:
    from polyad.datasets import Digits

    return Digits(train=False)


def _read_checkpoint(path: Path) -> object:
    """A demo that goes on from *path*, up to where it would train; what it shows of the run so far."""
    from rich.console import Console

    from polyad.demo import run
    from polyad.demo.screen import Screen

    run._load_data = lambda name, root: (_digits(), _digits())
    demo = run.Demo(run.Options(resume=path, epochs=1, output=path.parent / "output"))
    demo.epochs = demo.epochs_before
    demo.resumed_from = demo.path
    screen = Screen(Console(file=io.StringIO(), highlight=False))
    demo.introduce(screen)
    for item in demo.history:
        screen.epoch_row(item, is_best=False)
    return None


# ------------------------------------------------------------------------------------------- files of other programs

_FILES = Path(__file__).parents[2] / "files"


def _pytorch_seeds() -> list[bytes]:
    whole = (_FILES / "pytorch.pt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
    plain = pickle.dumps({"a": [1, 2.5, None, ("b", b"c")], 3: {True}, "n": 2**80}, 4)
    return [whole, mutations.zip_of({"a/data.pkl": plain}, 0), mutations.zip_of({"a/data.pkl": text[:40] + b"."}, 0)]


def _written_seeds() -> list[bytes]:
    """What `polyad.save` writes in PyTorch's format."""
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    whole = np.arange(6.0).reshape(2, 3)
    values = (
        model.state_dict(),
        [
            polyad.arange(6)[:3],
            {1, "a"},
            deque([1], 2),
            defaultdict(list, a=[1]),
            Counter("aab"),
            slice(1, 2),
            range(3),
        ],
        [whole, whole.T, np.float64(1.5), np.array(["a", "bb"]), np.array(5), Path("a/b"), polyad.device("cuda:1")],
    )
    return [_saved(value, format="torch") for value in values]


class _Sort(Enum):
    ONE = 1


def _whole_seeds() -> list[bytes]:
    """Files for those who trust them: whole models, and objects of classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.LSTM(2, 2))
        values = (model, [Namespace(lr=0.1, sort=_Sort.ONE), {_Sort.ONE: datetime(2020, 1, 1)}], nn.LazyLinear(2))
        return [(_FILES / "pytorch-module.pt").read_bytes(), *[_saved(value, format="torch") for value in values]]


_ran: list[str] = []
_is_watching = False


def _watch(event: str, _: tuple[Any, ...]) -> None:
    if _is_watching and event in ("os.system", "os.exec", "os.fork", "os.mkdir", "os.remove", "subprocess.Popen"):
        _ran.append(event)


@cache
def _watched() -> None:
    sys.addaudithook(_watch)


def _load_trusted(path: Path) -> object:
    """As somebody who trusts the file; what it runs of the system's is a finding."""
    global _is_watching
    _watched()
    _ran.clear()
    _is_watching = True
    try:
        return polyad.load(path, weights_only=False)
    finally:
        _is_watching = False
        if _ran:
            raise AssertionError(f"the file has run {_ran}")


def _pytorch_legacy_seeds() -> list[bytes]:
    return [(_FILES / "pytorch-legacy.pt").read_bytes()]


def _change_pickle(random: Random, data: bytes) -> bytes:
    """The archive with its pickle changed, and a right checksum of it: else nothing behind it would be tested."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith("data.pkl"))
    members[name] = _mutated_pickle(random, members[name])
    return mutations.zip_of(members, zipfile.ZIP_STORED)


def _mutated_pickle(random: Random, text: bytes) -> bytes:
    """With instructions in other places, or with other arguments."""
    if random.random() < 0.5:
        return mutations.mutated_bytes(random, text, [text])
    operations = list(pickletools.genops(text))
    ends = [place for _, _, place in operations[1:]] + [len(text)]
    parts = [text[place:end] for (_, _, place), end in zip(operations, ends, strict=True)]
    for _ in range(random.choice((1, 1, 2, 5))):
        place, other = random.randrange(len(parts)), random.randrange(len(parts))
        change = random.randrange(4)
        if change == 0:
            parts[place] = parts[other]
        elif change == 1:
            parts.insert(place, parts[other])
        elif change == 2:
            del parts[place]
        else:
            parts[place] = random.choice(
                (b"(", b"t", b"R", b"b", b"Q", b"e", b"u", b"s", b"0", b"2", b"]", b"}", b")", b"\x85", b"\x93",
                 b"\x81", b"\x8f", b"\x90", b"\x91", b"h\0", b"q\0", b"\x94", b"cos\nsystem\n", b"cbuiltins\nset\n",
                 b"cos\nmkdir\n", b"csubprocess\nPopen\n", b"cbuiltins\neval\n", b"X\x05\0\0\0fuzzy", b"\x85R",
                 b")\x81", b"}b", b"cnumpy\ndtype\n", b"cnumpy._core.multiarray\nscalar\n", b"ccollections\ndeque\n",
                 b"cpolyad.nn.modules.linear\nLinear\n", b"cpolyad.tensor\nTensor\n", b"cfuzz.files.readers\n_Sort\n",
                 b"J\xff\xff\xff\x7f", b"\x8a\x08" + random.randbytes(8), b"G" + random.randbytes(8))
            )  # fmt: skip
    return b"".join(parts)


def _large_pickle(random: Random) -> bytes:
    count = random.choice((1000, 100_000, 1_000_000))
    text = random.choice(
        (b"]" * count, b"}" * count, b"]q\0" + b"h\0a" * count, b"(" * count, b"]" + b"]" * count + b"a" * count,
         b"(" + b"K\x01" * count + b"t" * count, b")" + b"\x85" * count, b"](" + b"N" * count + b"e",
         b"}(" + b"".join(b"M" + struct.pack("<H", n % 65536) + b"N" for n in range(count)) + b"u",
         b"".join(b"r" + struct.pack("<I", 2**32 - 1 - n) for n in range(count)), b"X\xff\xff\xff\x7f")
    )  # fmt: skip
    return mutations.zip_of({"a/data.pkl": b"\x80\x02" + text + b"."}, 0)


def _change_legacy(random: Random, data: bytes) -> bytes:
    begin = random.randrange(0, 400)
    return data[:begin] + mutations.mutated_bytes(random, data[begin:2000], [data]) + data[2000:]


def _gguf_seeds() -> list[bytes]:
    return [(_FILES / "model.gguf").read_bytes()]


def _program_seeds() -> list[bytes]:
    """TorchScript archives: PyTorch's, and polyad's own."""
    names = ("mlp_traced", "cnn_scripted", "structured_scripted", "attributes_scripted", "classes_scripted")
    traced = polyad.jit.trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.LSTM(2, 2)), polyad.ones(2, 4, 3))
    return [*[(_FILES / "torchscript" / f"{name}.pt").read_bytes() for name in names], traced.save_to_buffer()]


_WORDS = (
    "torch.no_such", "ops.polyad.save", "ops.prim.RaiseException", "__import__", "x.__class__", "CONSTANTS.c0",
    "CONSTANTS.c99", "__torch__.A.B", "getattr(self, '__class__')", "annotate(List[int], [])", "(" * 200, "[" * 300,
    "-" * 500, "not " * 300, "lambda: 0", "9" * 5000, "1e999", "'" + "a" * 1000 + "'", "\0", "\n  ", "Tuple[()]",
    "self", "List[List[List[Tensor]]]", "while True:\n      pass",
    "def f(x):\n  return f(x)", "class A(Module):\n  a : A", "*x",
    "**x", "x := 3", "yield", "await x", "torch.add(x, x)", "if x: pass", "...", "{}", "@torch",
    "import os",
)  # fmt: skip


def _change_program(random: Random, data: bytes) -> bytes:
    """A word of a program exchanged for another of it, or for one that no program has; or a line moved."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice([name for name in members if name.endswith(".py")])
    words = re.findall(r"\w+|\s+|[^\w\s]", members[name].decode())
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(words))
        words[at] = random.choice((random.choice(words), random.choice(_WORDS), ""))
    members[name] = "".join(words).encode("utf-8", "replace")
    return mutations.zip_of(members, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def _large_program(random: Random) -> bytes:
    """A program that is small, and long or deep when it is unpacked or read."""
    text = random.choice(
        ("#" * 2**26, "class A(Module):\n" + "  a : int\n" * 10**5, "x = " + "(" * 10**5,
         "def f():\n" + "  pass\n" * 10**5,
         "class A(Module):\n  def forward(self: __torch__.A, x: Tensor) -> Tensor:\n    return " + "-" * 10**4 + "x\n")
    )  # fmt: skip
    members = {"a/code/__torch__.py": text.encode(), "a/version": b"3", "a/constants.pkl": pickle.dumps((), 2)}
    members["a/data.pkl"] = b"\x80\x02c__torch__\nA\n)\x81}b."
    return mutations.zip_of(members, zipfile.ZIP_DEFLATED)


def _load_program(path: Path) -> object:
    """As anybody; what a file runs of the system's is a finding."""
    global _is_watching
    _watched()
    _ran.clear()
    _is_watching = True
    try:
        return polyad.jit.load(path)
    finally:
        _is_watching = False
        if _ran:
            raise AssertionError(f"the file has run {_ran}")


def _change_gguf(random: Random, data: bytes) -> bytes:
    """A number of the header, changed."""
    changed = bytearray(data)
    at = random.choice((4, 8, 16, random.randrange(24, 500)))
    size = random.choice((4, 8))
    value = random.choice((0, 1, 2, 3, 8, 9, 255, 2**16, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1))
    changed[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(changed)


def _large_gguf(random: Random) -> bytes:
    count = random.choice((1000, 100_000))
    entry = struct.pack("<Q", 1) + b"a" + random.choice(
        (struct.pack("<IB", 0, 1), struct.pack("<IIQ", 9, 8, count) + bytes(8 * count),
         struct.pack("<IIQ", 9, 9, count) + struct.pack("<IQ", 0, 0) * count)
    )  # fmt: skip
    described = b"".join(
        struct.pack("<Q", 4) + struct.pack("<I", n) + struct.pack("<IQIQ", 1, 0, 0, 0) for n in range(count)
    )
    return b"GGUF" + struct.pack("<IQQ", 3, count, 1) + entry + described + bytes(64)


@cache
def _onnx_seeds() -> list[bytes]:
    import onnx.parser

    texts = [
        "f (float[n, 2] x) => (float[n, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {0, 0, 1}> "
        "{h = MatMul(x, w) s = Add(h, b) y = Softmax<axis = -1>(s)}",
        "f (float[n, c, h, w] x) => (float[n, k] y) <int64[1] one = {1}, int64[1] rest = {-1}, int64 zero = {0}> "
        "{p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) s = Shape(p) n1 = Gather(s, zero) "
        "n2 = Unsqueeze(n1, one) t = Concat<axis = 0>(n1, rest) y = Flatten(p)}",
        "f (bool c, float[2] x) => (float[2] y) <float[1] w = {3}> {y = If(c) <then_branch = t () => (float[2] p) "
        "{p = Mul(x, w)}, else_branch = e () => (float[2] q) {q = Add(x, w)}>}",
        "f (uint8[2, 3] a, float s, uint8 z) => (float[2, 2] y) <int8[3, 2] w = {1, 2, 3, 4, 5, 6}> "
        "{i = MatMulInteger(a, w, z) f = Cast<to = 1>(i) y = Mul(f, s)}",
    ]
    opset = '<ir_version: 8, opset_import: ["": 17, "own": 1]> '
    models = [onnx.parser.parse_model(opset + text) for text in texts]
    models.append(
        onnx.parser.parse_model(
            opset + "f (float[2] x) => (float[2] y) {y = own.g<by = 3.0>(x)}\n"
            '<domain: "own", opset_import: ["": 17]> '
            "g <by> (a) => (b) {k = Constant<value_float: float = @by>() b = Mul(a, k)}"
        )
    )
    loop = (
        "f (int64 n, float[1] x) => (float[1] last, float[k, 1] all) {yes = Constant<value = bool {1}>() "
        "last, all = Loop(n, yes, x) <body = b (int64 i, bool c, float[1] v) => (bool c2, float[1] w, float[1] each) "
        "{c2 = Identity(c) w = Add(v, v) each = Identity(w)}>}"
    )
    models.append(onnx.parser.parse_model(opset + loop))
    return [model.SerializeToString() for model in models]


def _messages(message: Any) -> list[Any]:
    """A message of protobuf's, and those in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if hasattr(value, "add") else [value]:
                found += _messages(each)
    return found


def _change_onnx(random: Random, data: bytes) -> bytes:
    """A field of a message, changed, doubled or taken away: what is left is a model still."""
    import onnx

    model = onnx.ModelProto.FromString(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        message = random.choice(_messages(model))
        if not message.ListFields():
            continue
        field, value = random.choice(message.ListFields())
        if hasattr(value, "append") or hasattr(value, "add"):
            _change_list(random, value)
        elif field.message_type is not None or random.random() < 0.1:
            message.ClearField(field.name)
        elif isinstance(value, str):
            setattr(
                message, field.name, random.choice(("", value + "x", "y", "Neg", "Reshape", "Loop", "\0", "..", "x"))
            )
        elif isinstance(value, bytes):
            setattr(message, field.name, mutations.mutated_bytes(random, value, [value]))
        else:
            with suppress(ValueError, TypeError):
                setattr(message, field.name, type(value)(random.choice((-1, 0, 1, 2, 8, 23, 99, 2**31 - 1, 2**62))))
    return bytes(model.SerializeToString())


def _change_list(random: Random, values: Any) -> None:
    """One entry of a list, dropped, doubled, or changed."""
    place = random.randrange(len(values))
    match random.randrange(3):
        case 0:
            del values[place]
        case 1:
            values.append(values[place])
        case _:
            if isinstance(values[place], int):
                values[place] = random.choice((-1, 0, 1, 7, 2**31 - 1, 2**62))
            elif isinstance(values[place], str):
                values[place] = random.choice(("", "x", "y", "nowhere", values[random.randrange(len(values))]))


def _large_onnx(random: Random) -> bytes:
    """Functions that double with each line, deep nesting, or a tensor that says that it is large."""
    import onnx

    model = onnx.ModelProto.FromString(_onnx_seeds()[4])
    match random.randrange(3):
        case 0:
            for index in range(60):
                function = model.functions.add()
                function.CopyFrom(model.functions[0])
                function.name = f"g{index}"
                del function.node[:]
                for made, given in (("m", "a"), ("b", "m")):
                    node = function.node.add(op_type=f"g{index + 1}" if index < 59 else "g", domain="own")
                    node.input.append(given)
                    node.output.append(made)
                function.opset_import.add(domain="own", version=1)
            model.graph.node[0].op_type = "g0"
        case 1:
            for _ in range(random.choice((20, 60))):
                inner = model.graph.node[0].__class__(op_type="If")
                inner.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g.CopyFrom(model.graph)
                model.graph.node[0].CopyFrom(inner)
        case _:
            tensor = model.graph.initializer.add(name="w", data_type=random.choice((1, 7, 8, 22)))
            tensor.dims.extend(random.choice(([2**40], [2**31, 2**31], [2**20] * 3, [-1], [0, 2**62])))
    return bytes(model.SerializeToString())


def _load_onnx(path: Path) -> object:
    """Load it, and call it with what its good forms take; not what may rightly go on for ever or fill the memory."""
    module = polyad.onnx.load(path)
    names = {step.proto.op_type for block, _ in module._plans.values() for step in block.steps}
    inputs = (polyad.ones(2, 2), polyad.ones(2, 3, 4, 4), polyad.tensor(True), polyad.ones(2, 3, dtype=polyad.uint8))
    if names & {"Loop", "Scan", "Expand", "ConstantOfShape", "Range", "Tile", "Pad"} or len(module.input_names) > 3:
        return module
    for given in inputs:
        with suppress(PolyadError):
            module(*(given,) * len(module.input_names))
    return module


def _index_seeds() -> list[bytes]:
    return [
        json.dumps({"metadata": {"total_size": 24}, "weight_map": weight_map}).encode()
        for weight_map in ({"weight": "good.safetensors"}, {}, {"weight": "../mutant", "mask": "good.safetensors"})
    ]


def _read_index(path: Path) -> object:
    (path.parent / "good.safetensors").write_bytes(_safetensors_seeds()[0])
    index = path.with_name("mutant.index.json")
    index.unlink(missing_ok=True)
    os.link(path, index)
    return polyad.load(index)


def _load_mapped(path: Path) -> object:
    return polyad.load(path, mmap=True)


_STRUCTURED = (_change_structure, _change_structure, _change_structure_text, _change_header, _change_header_text,
               _change_data)  # fmt: skip
_ABSENT = (BackendNotFound, BackendUnavailable)

# ------------------------------------------------------------------------------------------------- files of export.save


class _Sized(nn.Module):
    """A model with expressions of sizes, control flow and a call of a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.LSTM(3, 2)

    def forward(self, x: polyad.Tensor) -> Any:
        y = self.net(x)[0].reshape(x.shape[0] * x.shape[1], -1)[: x.shape[0] // 2]
        return polyad.cond(y.sum() > 0, lambda y: y / x.shape[1], lambda y: y + 1, (y,))


class _Selecting(nn.Module):
    """A model in which a size follows from data, and a number is read."""

    def forward(self, x: polyad.Tensor) -> polyad.Tensor:
        found = x[x > 0]
        return polyad.arange(found.shape[0]) + found * x.max().item()


def _export_seeds() -> list[bytes]:
    polyad.manual_seed(0)
    batch, time = export.dims("batch", "time", max=32)
    norm = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten())
    programs = [
        export.export(nn.Linear(3, 2), (polyad.ones(4, 3),)),
        export.export(norm, (polyad.randn(2, 1, 5, 5),), dynamic_shapes=({0: batch},)),
        export.export(
            _Sized(), (polyad.randn(4, 2, 3),), dynamic_shapes=({0: time, 1: batch},),
            preserve_module_call_signature=("net",),
        ),
        export.export(_Selecting(), (polyad.tensor([1.0, -1, 2]),)),
    ]  # fmt: skip
    files = []
    for program in programs:
        files.append(io.BytesIO())
        export.save(program, files[-1])
    return [file.getvalue() for file in files]


def _change_graph(random: Random, data: bytes) -> bytes:
    """The text of the graph is changed, and everything around it is right."""
    header, rest = _taken_apart(data)
    text = header["__metadata__"]["polyad"]
    begin = text.index("graph 3 of") if "graph 3 of" in text else text.index("graph ", text.index('"graph"') + 8)
    end = text.index('"', text.index("return", begin))
    graph = json.loads(f'"{text[begin:end]}"')
    lines = graph.split("\n")
    kind = random.random()
    if kind < 0.2:
        del lines[random.randrange(len(lines))]
    elif kind < 0.4:
        one, other = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    else:
        at = random.randrange(len(lines))
        words = re.split(r"(\W+)", lines[at])
        other = re.split(r"(\W+)", random.choice(lines))
        words[random.randrange(len(words))] = random.choice([*other, "batch*time", "repeat(1, time)", "-1", "9" * 18])
        lines[at] = "".join(words)
    changed = text[:begin] + json.dumps("\n".join(lines))[1:-1] + text[end:]
    return _with_structure(changed, header, rest)


def _large_graph(random: Random) -> bytes:
    """Sizes that no memory holds, said in few words."""
    header, rest = _taken_apart(_export_seeds()[2])
    text = header["__metadata__"]["polyad"]
    huge = random.choice(["repeat(batch, time*time*time*time*time)", "time*" * 200 + "time", "9" * 18])
    return _with_structure(text.replace("repeat(batch, time)", huge), header, rest)


READERS = {
    reader.name: reader
    for reader in (
        Reader("polyad", _polyad_seeds, _load, (SerializationError, *_ABSENT), _STRUCTURED,
               (_large_structure, _large_header, _many_tensors)),
        Reader("stream", _polyad_seeds, _load_stream, (SerializationError,), _STRUCTURED),
        Reader("safetensors", _safetensors_seeds, _load, (SerializationError, *_ABSENT),
               (_change_header, _change_header_text), (_large_header,)),
        Reader("mapped", lambda: _polyad_seeds() + _safetensors_seeds(), _load_mapped,
               (SerializationError, *_ABSENT), (_change_header, _change_header_text)),
        Reader("pytorch", _pytorch_seeds, _load, (SerializationError, *_ABSENT),
               (_change_pickle, _change_pickle, _change_zip), (_large_pickle,)),
        Reader("pytorch-written", _written_seeds, _load, (SerializationError, *_ABSENT),
               (_change_pickle, _change_pickle, _change_zip)),
        Reader("pytorch-trusted", _whole_seeds, _load_trusted, (SerializationError, *_ABSENT),
               (_change_pickle, _change_pickle, _change_pickle), (_large_pickle,)),
        Reader("pytorch-legacy", _pytorch_legacy_seeds, _load, (SerializationError, *_ABSENT), (_change_legacy,)),
        Reader("torchscript", _program_seeds, _load_program, (SerializationError, NotSupported, *_ABSENT),
               (_change_program, _change_program, _change_program, _change_pickle, _change_zip), (_large_program,)),
        Reader("gguf", _gguf_seeds, _load, (SerializationError,), (_change_gguf,), (_large_gguf,)),
        Reader("onnx", _onnx_seeds, _load_onnx, (SerializationError, NotImplementedError),
               (_change_onnx, _change_onnx, _change_onnx), (_large_onnx,)),
        Reader("index", _index_seeds, _read_index, (SerializationError, FileTrouble), (_change_json,),
               (_large_member,), names_the_file=False),
        Reader("npz", _npz_seeds, read_npz, (SerializationError,),
               (_change_zip, _change_zip, _change_npy, _change_member, _change_packed), (mutations.zip_bomb,)),
        Reader("idx", _idx_seeds, read_idx, (SerializationError,), (_change_idx,), (_idx_bomb,)),
        Reader("mnist", _mnist_seeds, _read_mnist, (SerializationError,), (_change_idx,), names_the_file=False),
        Reader("card", _card_seeds, _read_card, (CardsDiffer,), (_change_json,), (_large_member,)),
        Reader("tuning", _tuning_seeds, _read_tuning, (), (_change_json,), (_large_member,)),
        Reader("export", _export_seeds, export.load, (SerializationError, *_ABSENT),
               (*_STRUCTURED, _change_graph, _change_graph), (_large_graph,)),
        Reader("checkpoint", _checkpoint_seeds, _read_checkpoint, (SerializationError,), _STRUCTURED),
    )
}  # fmt: skip
"""All readers by name."""
