"""How the way of a product is chosen: measured once, kept on disk, stable from then on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from polyad.base.dtypes import float32
from polyad.errors import KernelFailure

pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")

from polyad_opencl.kernels.products.gemm import algorithms, clblast, tuning
from polyad_opencl.kernels.products.gemm.product import Product
from polyad_opencl.runtime import tuning_cache

KEY = ("gemm", "a device", "float32")


class Counted:
    """A way that computes nothing, and counts how often."""

    version = "1"

    def __init__(self, name, error=None):
        self.name, self.error, self.runs = name, error, 0

    def run(self, product):
        self.runs += 1
        if self.error:
            raise self.error


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder of this test's own, tuning on."""
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYAD_OPENCL_TUNE", raising=False)
    tuning._known.clear()
    yield tmp_path / "opencl"
    tuning._known.clear()


def large(machine, m=256, n=256, k=256):
    """A product that is worth measuring, of ones."""
    out, a, b = (machine.array(np.ones(shape, np.float32)) for shape in ((m, n), (m, k), (k, n)))
    return Product.of(out, a, b)


def timed(monkeypatch, **seconds):
    """Let ways of these names take so long."""

    def once(product, way):
        way.run(product)
        return seconds[way.name]

    monkeypatch.setattr(tuning, "_once", once)
    monkeypatch.setattr(tuning, "STRETCH", 0)


def kept(folder):
    """The contents of all files."""
    return [json.loads(path.read_text()) for path in folder.glob("*/*.json")]


# ------------------------------------------------------------------------------------------------ measuring


def test_the_fastest_is_measured_once_and_kept(machine, folder, monkeypatch):
    timed(monkeypatch, one=2e-3, two=1e-3, three=3e-3)
    offered = [Counted("one"), Counted("two"), Counted("three")]
    product = large(machine)
    assert tuning.chosen(product, offered).name == "two"
    runs = [way.runs for way in offered]
    assert all(count == 1 + tuning.PASSES * tuning.LEAST for count in runs)
    assert tuning.chosen(product, offered).name == "two"
    assert [way.runs for way in offered] == runs
    (found,) = kept(folder)
    assert found["chosen"] == "two"
    assert found["seconds"] == {"one": 2e-3, "two": 1e-3, "three": 3e-3}
    # In another process nothing is measured, even if it would come out otherwise.
    tuning._known.clear()
    timed(monkeypatch, one=1e-3, two=9e-3, three=3e-3)
    assert tuning.chosen(product, offered).name == "two"
    assert [way.runs for way in offered] == runs


def test_threads_that_meet_in_a_class_measure_it_once(machine, monkeypatch):
    timed(monkeypatch, one=2e-3, two=1e-3)
    offered, found = [Counted("one"), Counted("two")], []
    product = large(machine)
    threads = [threading.Thread(target=lambda: found.append(tuning.chosen(product, offered).name)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["two"] * 4
    assert [way.runs for way in offered] == [1 + tuning.PASSES * tuning.LEAST] * 2


def test_what_is_only_a_little_faster_is_not_preferred(machine, monkeypatch):
    timed(monkeypatch, one=1e-3, two=0.9e-3)
    assert tuning.chosen(large(machine), [Counted("one"), Counted("two")]).name == "one"


def test_a_way_that_fails_is_left_out(machine, monkeypatch):
    timed(monkeypatch, one=1e-3, two=2e-3)
    broken = Counted("one", KernelFailure("too many registers"))
    assert tuning.chosen(large(machine), [broken, Counted("two")]).name == "two"
    assert broken.runs == 1
    tuning._known.clear()
    assert tuning.chosen(large(machine, 512), [broken]) is broken  # nothing else: it says why


def test_a_choice_is_for_its_class(machine, folder, monkeypatch):
    timed(monkeypatch, one=2e-3, two=1e-3)
    offered = [Counted("one"), Counted("two")]
    for sizes in ((256, 256, 256), (256, 256, 300), (300, 256, 256)):  # one class: square, 2**24 and a little more
        tuning.chosen(large(machine, *sizes), offered)
    assert len(kept(folder)) == 1
    tuning.chosen(large(machine, 4, 2048, 2048), offered)
    tuning.chosen(large(machine, 512, 512, 512), offered)
    assert len(kept(folder)) == 3


@pytest.mark.parametrize("why", ["small", "turned off", "nowhere to keep it", "a folder that cannot be written"])
def test_without_measuring_the_first_is_taken(machine, folder, monkeypatch, why):
    timed(monkeypatch, one=2e-3, two=1e-3)
    offered = [Counted("one"), Counted("two")]
    product = large(machine)
    if why == "small":
        product = large(machine, 64, 64, 64)
    elif why == "turned off":
        tuning.chosen(product, offered)  # what was kept is not used either
        tuning._known.clear()
        monkeypatch.setenv("POLYAD_OPENCL_TUNE", "0")
    elif why == "nowhere to keep it":
        monkeypatch.setenv("POLYAD_CACHE_DIR", "")
    else:
        folder.parent.joinpath("file").write_text("no folder")
        monkeypatch.setenv("POLYAD_CACHE_DIR", str(folder.parent / "file"))
    assert tuning.chosen(product, offered).name == "one"


# ------------------------------------------------------------------------------------------------ files


def test_the_first_choice_stands(folder):
    assert tuning_cache.recall(KEY, ["a", "b"]) is None
    assert tuning_cache.keep(KEY, ["a", "b"], "a", {"a": 1.0}) == "a"
    assert tuning_cache.keep(KEY, ["a", "b"], "b", {"b": 1.0}) == "a"
    assert tuning_cache.recall(KEY, ["a", "b"]) == "a"
    assert not list(folder.glob("*/*.part"))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"damaged",
        b"\xff\xfe",
        b"[1]",
        b"null",
        b'{"chosen": "a"}',
        json.dumps({"key": [*KEY], "chosen": "elsewhere"}).encode(),
        json.dumps({"key": ["another", "key"], "chosen": "a"}).encode(),
        json.dumps({"key": [*KEY], "chosen": ["a"]}).encode(),
    ],
)
def test_files_that_are_not_what_they_should_be_are_replaced(folder, text):
    tuning_cache.keep(KEY, ["a", "b"], "a", {})
    (path,) = folder.glob("*/*.json")
    path.write_bytes(text)
    assert tuning_cache.recall(KEY, ["a", "b"]) is None
    assert tuning_cache.keep(KEY, ["a", "b"], "b", {}) == "b"
    assert tuning_cache.recall(KEY, ["a", "b"]) == "b"


# ------------------------------------------------------------------------------------------------ really measured


def test_a_measured_product_is_right_and_repeats(machine):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((256, 256)).astype(np.float32) for _ in range(2))
    product = Product.of(machine.array(np.zeros((256, 256), np.float32)), machine.array(a), machine.array(b))
    offered = algorithms.offered(product)
    assert len(offered) > 1
    bits = set()
    for _ in range(3):
        tuning.chosen(product, offered).run(product)
        got = machine.host(product.out)
        bits.add(got.tobytes())
    assert len(bits) == 1
    bound = 256 * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(b))
    assert (np.abs(got - a.astype(np.float64) @ b) <= bound).all()


PROGRAM = """
    import hashlib
    import polyad
    from polyad_opencl.kernels.products.gemm import tuning
    measured, count = tuning.measured, []
    tuning.measured = lambda *arguments: count.append(1) or measured(*arguments)
    polyad.manual_seed(0)
    x = polyad.randn(256, 256, device="opencl")
    print(hashlib.sha256(bytes(memoryview((x @ x).cpu().numpy()))).hexdigest(), len(count))
"""


def test_a_second_process_measures_nothing_and_gives_the_same_bits(opencl, folder):
    def run():
        made = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=240, check=True,
            env={**os.environ, "POLYAD_CACHE_DIR": str(folder.parent)},
        )  # fmt: skip
        return made.stdout.split()

    (bits, count), (again, none) = run(), run()
    assert int(count) <= 1  # GPUs multiply that much without measuring
    assert (again, none) == (bits, "0")


# ------------------------------------------------------------------------------------------------ what is offered


def names(machine, m, n, k, dtype=np.float32):
    product = Product.of(*(machine.array(np.ones(shape, dtype)) for shape in ((m, n), (m, k), (k, n))))
    return [way.name for way in algorithms.offered(product)]


def test_the_hosts_blas_is_offered_where_memory_is_shared(machine):
    assert ("host" in names(machine, 256, 256, 256)) is machine.device.shares_host_memory
    assert "host" not in names(machine, 256, 256, 256, np.int32)
    if machine.device.shares_host_memory:
        assert names(machine, 256, 256, 256)[0] != "host"
        assert names(machine, 512, 512, 256)[0] == "host"
    if machine.device.shares_host_memory and machine.device.is_cpu:
        assert names(machine, 1024, 1024, 1024) == ["host"]


def test_clblast_is_offered_for_large_products_on_devices_of_their_own_memory(machine, monkeypatch):
    monkeypatch.setattr(clblast, "serves", lambda dtype: dtype is float32)
    assert ("CLBlast" in names(machine, 1024, 512, 512)) is not machine.device.shares_host_memory
    assert "CLBlast" not in names(machine, 256, 256, 256)
    assert "CLBlast" not in names(machine, 1024, 512, 512, np.int32)
