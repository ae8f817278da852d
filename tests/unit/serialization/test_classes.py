"""Which classes files may name, and what malicious files cannot do."""

from __future__ import annotations

import argparse
import io
import os
import pickle
import struct
import zipfile

import pytest

import polyad
from polyad import nn, serialization
from saved_files import loaded, saved


class Mine:
    def __init__(self, value: int = 1) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mine) and self.value == other.value


class Called:
    """Its constructor is called by its pickle."""

    count = 0

    def __init__(self) -> None:
        Called.count += 1

    def __reduce__(self) -> tuple[type[Called], tuple[()]]:
        return Called, ()


class WithState(Mine):
    def __setstate__(self, state: dict[str, int]) -> None:
        self.value = state["value"] + 1


def archive(pickled: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        members.writestr("archive/data.pkl", pickled)
    return file.getvalue()


def naming(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def test_the_list_is_kept() -> None:
    with serialization.safe_globals([Mine, dict]):
        assert serialization.get_safe_globals() == [Mine, dict]
    with pytest.raises(KeyError), serialization.safe_globals([Mine]):
        raise KeyError
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([Mine])
    serialization.add_safe_globals([Mine])
    assert serialization.get_safe_globals() == [Mine]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    with pytest.raises(TypeError, match="no class or function"):
        serialization.add_safe_globals(["os.system"])


def test_what_is_listed_is_made() -> None:
    data = saved([Mine(5), WithState(1)])
    with serialization.safe_globals([Mine, WithState]):
        assert loaded(data) == [Mine(5), Mine(2)]
    with serialization.safe_globals([(Mine, "elsewhere.Old")]):
        old = archive(b"\x80\x02" + naming("elsewhere", "Old") + b")\x81}X\x05\0\0\0valueK\x07sb.")
        assert loaded(old) == Mine(7)


def test_constructors_are_called_only_of_what_is_listed() -> None:
    data = saved(Called())
    with pytest.raises(RuntimeError, match=rf"needs {__name__}\.Called"):
        loaded(data, weights_only=False)
    assert Called.count == 1
    with serialization.safe_globals([Called]):
        assert isinstance(loaded(data), Called)
    assert Called.count == 2


def test_the_error_names_all_that_is_missing_and_the_line_that_allows_it() -> None:
    data = saved([argparse.Namespace(a=1), Mine()])
    with pytest.raises(RuntimeError) as raised:
        loaded(data)
    assert f"needs argparse.Namespace, {__name__}.Mine" in str(raised.value)
    line = f"from {__name__} import Mine; polyad.serialization.add_safe_globals([Mine])"
    assert line in str(raised.value)
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == [
        "argparse.Namespace",
        f"{__name__}.Mine",
    ]


def test_modules_that_are_not_imported_are_named_and_not_imported() -> None:
    with pytest.raises(RuntimeError, match=r"needs antigravity\.Flight(.|\n)*from antigravity import Flight"):
        loaded(archive(b"\x80\x02" + naming("antigravity", "Flight") + b")\x81."), weights_only=False)
    import sys

    assert "antigravity" not in sys.modules


REACHED = [
    ("os", "system"), ("posix", "system"), ("nt", "system"), ("builtins", "eval"), ("__builtin__", "exec"),
    ("builtins", "getattr"), ("builtins", "__import__"), ("subprocess", "Popen"), ("subprocess", "run"),
    ("pickle", "loads"), ("importlib", "import_module"), ("functools", "partial"), ("types", "FunctionType"),
    ("types", "CodeType"), ("builtins", "type"), ("builtins", "map"), ("operator", "attrgetter"),
    ("polyad.hub", "os.system"), ("polyad", "os.system"), ("polyad.serialization", "os.system"), ("torch", "load"),
    ("polyad.tensor.storage", "UntypedStorage"), ("ctypes", "CDLL"), ("numpy", "load"), ("numpy", "fromfile"),
    ("polyad.nn.modules.linear", "Linear.__init__"), ("polyad.nn.modules.linear", "Linear.forward.__globals__"),
    ("torch.nn.modules.linear", "os"), ("tempfile", "TemporaryDirectory"), ("io", "open"), ("codecs", "open"),
]  # fmt: skip


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(("module", "name"), REACHED)
def test_what_runs_code_is_reached_by_no_file(module: str, name: str, trusted: bool, tmp_path: object) -> None:
    text = str(tmp_path).encode() + b"/made"
    argument = b"X" + struct.pack("<I", len(text)) + text
    for call in (b"\x85R", b"\x85\x81", b"0)R", b"0)\x81"):
        data = archive(b"\x80\x02" + naming(module, name) + argument + call + b".")
        with pytest.raises(RuntimeError, match="cannot be read"):
            loaded(data, weights_only=not trusted)
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize("trusted", [False, True])
def test_python_functions_are_not_called(trusted: bool, tmp_path: object) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (f"{tmp_path}/made",)

    for protocol in range(2, 6):
        for value in (Evil(), [Evil()], {"a": Evil()}, (1, Evil())):
            with pytest.raises(RuntimeError, match=r"mkdir, which is code"):
                loaded(archive(pickle.dumps(value, protocol)), weights_only=not trusted)
    assert os.listdir(str(tmp_path)) == []


def test_classes_themselves_take_no_state() -> None:
    """A state given to a class would change it for the whole program."""
    state = b"N}X\x05\0\0\0valueK\x07s\x86b."
    for name in ("Mine", "WithState"):
        assert loaded(archive(b"\x80\x02" + naming(__name__, name) + state), weights_only=False) is globals()[name]
        assert not hasattr(globals()[name], "value")


def test_functions_of_polyad_are_named_and_not_called() -> None:
    relu = naming("polyad.ops.nn.activation.namesakes", "relu")
    assert loaded(archive(b"\x80\x02" + relu + b"."), weights_only=False) is nn.functional.relu
    with pytest.raises(RuntimeError, match="cannot be read"):
        loaded(archive(b"\x80\x02" + relu + b"K\x01\x85R."), weights_only=False)


def test_tensors_are_made_of_storages_alone() -> None:
    data = archive(b"\x80\x02" + naming("polyad.tensor", "Tensor") + b")\x81}b.")
    with pytest.raises(RuntimeError, match="cannot be read"):
        loaded(data, weights_only=False)


def test_nothing_is_made_before_all_was_checked() -> None:
    before = Called.count
    pickled = b"\x80\x02]" + naming(__name__, "Called") + b")Ra" + naming("os", "system") + b"a."
    with serialization.safe_globals([Called]), pytest.raises(RuntimeError, match=r"os\.system"):
        loaded(archive(pickled))
    assert Called.count == before


@pytest.mark.parametrize(
    "pickled",
    [
        b"cnumpy\ndtype\nX\x02\0\0\0|OK\0K\1\x87R.",
        b"cnumpy\ndtype\nX\x0b\0\0\0f8,(999999)O\x85R.",
        b"cnumpy\ndtype\nX\x03\0\0\0>f8\x85R.",
        b"cnumpy._core.multiarray\nscalar\nNN\x86R.",
        b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x05\x85U\1b\x87R.",
        b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R"
        b"(K\1J\0\0\0\x7f\x85cnumpy\ndtype\nX\x02\0\0\0f8\x85R\x89C\x08aaaaaaaatb.",
        b"cnumpy\nndarray\nK\x05\x85R.",
        b"cnumpy\nndarray\nK\x05\x85\x81.",
    ],
)
def test_damaged_arrays_are_refused(pickled: bytes) -> None:
    for trusted in (False, True):
        with pytest.raises(RuntimeError, match="cannot be read"):
            loaded(archive(b"\x80\x02" + pickled), weights_only=not trusted)


def test_polyads_own_files_need_no_trust() -> None:
    assert polyad.load(io.BytesIO(saved([1])), weights_only=False) == [1]
