"""Backends that were written for a past version of the interface: they load, compute and train as they did."""

import importlib
import warnings
from dataclasses import replace

import pytest

import polyad
from polyad import backends
from polyad.backend import API_VERSION, Backend, Capabilities
from polyad.base.dtypes import float32
from polyad.errors import BackendUnavailable

VERSIONS = [(1, minor) for minor in range(API_VERSION[1])]
LEFT = {(1, 0): "fp64", (1, 1): "atomics, graphs, streams", (1, 2): "fp16, fp64"}


def made(version: tuple[int, int]) -> Backend:
    plugin = importlib.import_module(f"polyad_older.v{version[0]}_{version[1]}.plugin")
    backend = plugin.polyad_create_backend()
    backend.info = plugin.polyad_backend_info()
    assert backend.info.api_version <= version
    return backend


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "{}.{}".format(*version))
def test_a_backend_of_each_past_version_loads_and_trains(version: tuple[int, int]) -> None:
    backend = made(version)
    name = backend.info.name
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        registration = backends.register(name, backend)
    told = [str(one.message) for one in said]
    assert len(told) == (version in LEFT)
    if told:
        assert f"it declares features that left the interface: {LEFT[version]}" in told[0]
    with registration, backends.fallback("allow"):
        polyad.manual_seed(0)
        model = polyad.nn.Sequential(polyad.nn.Linear(4, 8), polyad.nn.Tanh(), polyad.nn.Linear(8, 1)).to(name)
        optimizer = polyad.optim.AdamW(model.parameters(), lr=0.05)
        x = polyad.randn(32, 4, device=name)
        y = x.sum(1, keepdim=True).tanh()
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = polyad.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] / 4
        with polyad.Stream(name), polyad.Stream(name) as stream:  # one queue, whatever the word meant then
            (x + 1).record_stream(stream)
        assert polyad.jit.capture(lambda x: x * 2 + 1, x)(x).tolist() == (x * 2 + 1).tolist()


def test_what_a_device_says_of_itself_is_read_as_of_its_day() -> None:
    backend = made((1, 1))

    class Own(type(backend)):  # type: ignore[misc]
        def capabilities(self, device: object) -> Capabilities:
            return Capabilities(frozenset({float32}), frozenset({"streams", "asynchronous"}))

    own, able = Own(), backend.info.capabilities
    own.info = replace(backend.info, capabilities=replace(able, features=frozenset({"streams", "asynchronous"})))
    with pytest.warns(UserWarning, match="left the interface: streams"):
        registration = backends.register(own.info.name, own)
    with registration:
        device = polyad.device(own.info.name)
        assert own.info.capabilities.features == own.capabilities(device).features == {"asynchronous"}
        assert own.capabilities(device).dtypes == {float32}


@pytest.mark.parametrize("version", [*VERSIONS, API_VERSION])
def test_a_name_that_left_is_ignored_from_every_version_and_one_that_never_was_is_refused(version) -> None:
    backend = made((1, 3))

    def declare(*names: str) -> None:
        able = Capabilities(features=frozenset(names))
        backend.info = replace(backend.info, api_version=version, capabilities=able)

    declare("fp16", "beads")
    with pytest.raises(BackendUnavailable, match="features that do not exist: beads"):
        backends.register(backend.info.name, backend)
    declare("fp16")
    with pytest.warns(UserWarning, match="left the interface: fp16"):
        registration = backends.register(backend.info.name, backend)
    with registration:
        assert backend.info.capabilities.features == frozenset()


@pytest.mark.parametrize("version", [(1, 2), (1, 3)])
def test_a_name_that_came_back_means_what_it_means_to_the_version_that_knows_it(version) -> None:
    backend = made((1, 3))
    able = Capabilities(features=frozenset({"graphs"}))
    backend.info = replace(backend.info, api_version=version, capabilities=able)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with backends.register(backend.info.name, backend):
            assert backend.info.capabilities.features == (set() if version == (1, 2) else {"graphs"})
