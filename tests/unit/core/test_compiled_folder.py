"""Folders of compiled code: a damaged file, a folder of somebody else's, a full disk. None of it costs much."""

import os
import warnings

import pytest

from polyad.files import compiled
from polyad.files.compiled import CompiledFolder

FOLDER = CompiledFolder("somebody")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path / "cache"))
    compiled._warn.cache_clear()
    return tmp_path / "cache"


def test_what_is_read_is_what_was_written_or_nothing(cache):
    name = "ab" * 32
    assert FOLDER.read(name) is None
    FOLDER.write(name, b"contents")
    assert FOLDER.read(name) == b"contents"
    path = cache / "somebody" / "ab" / f"{name}.bin"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        assert FOLDER.read(name) is None
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert FOLDER.read(name) is None
    other = cache / "somebody" / "ab" / f"{'ab' * 31}ac.bin"
    other.write_bytes(whole)
    assert FOLDER.read(other.stem) is None
    assert (cache / "somebody").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are POSIX's")
@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(cache, mode):
    (cache / "somebody").mkdir(parents=True)
    (cache / "somebody").chmod(mode)
    with pytest.warns(UserWarning, match=r"other users may write there.*Fix: chmod go-w .*somebody"):
        assert FOLDER.path() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FOLDER.read("ab" * 32) is None  # said once
        FOLDER.write("ab" * 32, b"contents")
    assert not list(cache.rglob("*.bin"))
    (cache / "somebody").chmod(0o755)
    assert FOLDER.path() == cache / "somebody"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are POSIX's")
def test_a_folder_of_another_user_is_not_used(cache, monkeypatch):
    cache.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: cache.stat().st_uid + 1)
    with pytest.warns(UserWarning, match=r"belongs to another user.*set POLYAD_CACHE_DIR"):
        assert FOLDER.path() is None


def test_a_full_disk_leaves_what_was_there(cache, monkeypatch):
    name = "cd" * 32
    FOLDER.write(name, b"before")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        FOLDER.write(name, b"after")
    assert FOLDER.read(name) == b"before"
    assert not list(cache.rglob("*.part"))
