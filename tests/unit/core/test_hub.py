"""Weights by URL."""

from __future__ import annotations

import hashlib

import pytest

import polyad
from polyad import hub
from polyad.utils import model_zoo


@pytest.fixture
def published(tmp_path):
    """A URL whose name tells the file's hash, and the folder that files are kept in."""
    path = tmp_path / "weights.pth"
    polyad.save({"weight": polyad.arange(3)}, path)
    named = tmp_path / f"net-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.pth"
    path.rename(named)
    return named.as_uri(), tmp_path / "kept"


def test_fetched_once_and_checked(published) -> None:
    url, folder = published
    state = hub.load_state_dict_from_url(url, folder, check_hash=True, progress=False)
    assert state["weight"].tolist() == [0, 1, 2]
    (kept,) = folder.iterdir()
    polyad.save({"weight": polyad.ones(1)}, kept)
    assert model_zoo.load_url(url, folder)["weight"].tolist() == [1.0]


def test_another_file_than_announced(published) -> None:
    url, folder = published
    with pytest.raises(RuntimeError, match="has the hash"):
        hub.download_url_to_file(url, folder.parent / "out", hash_prefix="0" * 8)
    assert not (folder.parent / "out").exists()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda url: hub.load_state_dict_from_url(url, file_name="a.pth", check_hash=True), ValueError, "no hash"),
        (lambda url: hub.load_state_dict_from_url(url, file_name="../a"), ValueError, "no name of a file"),
        (lambda url: hub.download_url_to_file("ftp://x/y", "z"), ValueError, "no URL of a file"),
        (lambda url: hub.download_url_to_file(url + "x", "z"), RuntimeError, "cannot be fetched"),
        (lambda url: hub.load("owner/name", "net"), NotImplementedError, "no code is fetched"),
    ],
)
def test_refused(call, error, match, published, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "_chosen", tmp_path / "empty")
    with pytest.raises(error, match=match):
        call(published[0])


def test_the_folder(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(hub, "_chosen", None)
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir(tmp_path / "mine")
    assert hub.get_dir() == str(tmp_path / "mine")


def test_state_dicts_of_folders(tmp_path) -> None:
    model = polyad.nn.Linear(3, 2)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        hub.load_folder(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="0 safetensors files"):
        hub.load_folder(tmp_path)
    polyad.save({"model": {"weight": polyad.ones(1)}}, tmp_path / "model.pth")
    assert hub.load_folder(tmp_path)["weight"].tolist() == [1.0]
    polyad.save(model.state_dict(), tmp_path / "model.safetensors", format="safetensors", max_shard_size=24)
    assert (tmp_path / "model.safetensors.index.json").is_file()
    assert polyad.equal(hub.load_folder(tmp_path)["weight"], model.weight)


def test_a_model_of_a_folder(tmp_path) -> None:
    model = polyad.nn.Linear(3, 2)
    (tmp_path / "config.json").write_text('{"in_features": 3, "out_features": 9}')
    state = {f"net.{key}": value for key, value in model.state_dict().items()} | {"step": polyad.zeros(1)}
    polyad.save(state, tmp_path / "other.safetensors", format="safetensors")

    def rename(key):
        return None if key == "step" else key.removeprefix("net.")

    made = hub.from_pretrained(polyad.nn.Linear, tmp_path, rename=rename, out_features=2)
    assert polyad.equal(made.weight, model.weight)
    given = polyad.nn.Linear(3, 2)
    assert hub.from_pretrained(given, tmp_path, rename=rename) is given
    with pytest.raises(RuntimeError, match=r"net\.weight"):
        hub.from_pretrained(polyad.nn.Linear(3, 2), tmp_path)


def test_what_is_no_state_dict_is_told(tmp_path, monkeypatch) -> None:
    polyad.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(RuntimeError, match="holds a list and no state dict"):
        hub.load_state_dict_from_file(tmp_path / "list.pth")
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        hub.from_pretrained(polyad.nn.Linear, tmp_path / "absent" / "deep")
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="huggingface_hub is needed"):
        hub.from_pretrained(polyad.nn.Linear, "somebody/model")
