"""Paths and file objects: what a failure leaves, and what is kept of an old file."""

import os
import stat
import sys

import pytest

import polyad
from polyad.files import replacing


def test_paths_and_file_objects(tmp_path):
    for path in (tmp_path / "a", str(tmp_path / "b")):
        polyad.save({"x": polyad.ones(2)}, path)
        assert polyad.load(path)["x"].tolist() == [1.0, 1.0]
    with open(tmp_path / "two", "wb") as file:
        polyad.save("first", file)
        polyad.save(polyad.tensor([2]), file)
    with open(tmp_path / "two", "rb") as file:
        assert polyad.load(file) == "first"
        assert polyad.load(file).tolist() == [2]


def test_pipes():
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        polyad.save(polyad.arange(5), file)
    with os.fdopen(read, "rb", buffering=0) as file:
        assert polyad.load(file).tolist() == [0, 1, 2, 3, 4]


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"load: .*nothing: no such file(.|\n)*fix") as caught:
        polyad.load(tmp_path / "nothing")
    assert caught.value.filename == str(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="the folder must exist"):
        polyad.save(1, tmp_path / "nowhere" / "file")
    with pytest.raises(IsADirectoryError, match="name a file inside the folder"):
        polyad.save(1, tmp_path)
    with pytest.raises(IsADirectoryError):
        polyad.load(tmp_path)


@pytest.fixture
def forbidden(tmp_path):
    """A folder in which this user may make no file, whoever the user is."""
    if os.name == "posix" and os.geteuid() != 0:
        folder = tmp_path / "forbidden"
        folder.mkdir(mode=0o500)
        return folder
    if sys.platform == "linux":
        return type(tmp_path)("/sys/kernel")
    pytest.skip("needs a user who is not root, or Linux")


def test_no_permission_to_write(forbidden):
    with pytest.raises(
        PermissionError, match=r"save: .*model: permission denied\n +fix +choose a folder you may write"
    ):
        polyad.save(1, forbidden / "model")


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "model"
    polyad.save("old", path)
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write any file; other users' answer
    with pytest.raises(PermissionError, match="save: "):
        polyad.save("new", path)
    assert polyad.load(path) == "old"


def fail_after(monkeypatch, writes, error):
    """Let os.fdopen give files whose write fails after some calls."""
    real = os.fdopen

    def fdopen(*arguments, **keywords):
        stream = real(*arguments, **keywords)
        left = [writes]

        class Failing:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                stream.close()

            def write(self, data):
                left[0] -= 1
                if left[0] < 0:
                    raise error
                return stream.write(data)

        return Failing()

    monkeypatch.setattr(os, "fdopen", fdopen)


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch, error, writes):
    path = tmp_path / "model"
    polyad.save({"x": polyad.ones(3), "y": polyad.ones(4)}, path)
    before = path.read_bytes()
    fail_after(monkeypatch, writes, error)
    with pytest.raises(type(error)) as caught:
        polyad.save({"x": polyad.zeros(3), "y": polyad.zeros(4)}, path)
    if isinstance(error, OSError):
        assert "free some space" in str(caught.value)
        assert caught.value.errno == 28
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_an_object_that_cannot_be_saved_leaves_the_old_file(tmp_path):
    polyad.save("old", tmp_path / "model")
    with pytest.raises(TypeError):
        polyad.save([1, lambda: 2], tmp_path / "model")
    assert polyad.load(tmp_path / "model") == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_the_new_file_is_on_the_disk_before_the_old_one_goes(tmp_path, monkeypatch):
    events = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, name=name: (events.append(name), real(*a))[1])
    polyad.save(1, tmp_path / "model")
    assert events[:2] == ["fsync", "replace"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX's")
def test_permissions_links_and_devices_are_kept(tmp_path):
    path = tmp_path / "model"
    polyad.save(1, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~os.umask(os.umask(0o022) and 0o022)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    polyad.save(2, link)
    assert link.is_symlink()
    assert polyad.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    polyad.save(3, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_replacing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(ZeroDivisionError), replacing(path, "test") as stream:
        stream.write(bytes([1 // (stream.write(b"half") - 4)]))
    assert os.listdir(tmp_path) == []
