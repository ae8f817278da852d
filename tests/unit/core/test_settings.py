"""Switches of the process, and the names that stand in for what is not there."""

import importlib.util
import math
import re
from pathlib import Path
from typing import ClassVar

import pytest

import polyad
from polyad.backend import Backend
from polyad.compatibility.absent import ABSENT
from polyad.devices import registry
from polyad.errors import NotSupported


def find(path: str):
    found = polyad
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.fixture
def threads():
    before = polyad.get_num_threads()
    yield
    polyad.set_num_threads(before)


def test_results_do_not_depend_on_the_number_of_threads(threads) -> None:
    x, w = polyad.randn(32, 8, 28, 28), polyad.randn(8, 8, 3, 3)
    results = []
    for number in (1, 2, 3):
        polyad.set_num_threads(number)
        assert polyad.get_num_threads() == number
        results.append(polyad.nn.functional.conv2d(x, w))
    assert polyad.equal(results[0], results[1])
    assert polyad.equal(results[0], results[2])


@pytest.mark.parametrize("setter", [polyad.set_num_threads, polyad.set_num_interop_threads])
def test_a_number_of_threads_is_a_positive_int(setter) -> None:
    with pytest.raises(RuntimeError, match="0 threads"):
        setter(0)
    with pytest.raises(TypeError, match="not an int"):
        setter(1.5)


def test_switches_read_back_what_they_were_told() -> None:
    try:
        polyad.set_float32_matmul_precision("medium")
        polyad.use_deterministic_algorithms(True, warn_only=True)
        assert polyad.get_float32_matmul_precision() == "medium"
        assert polyad.are_deterministic_algorithms_enabled()
        assert polyad.is_deterministic_algorithms_warn_only_enabled()
    finally:
        polyad.set_float32_matmul_precision("highest")
        polyad.use_deterministic_algorithms(False)
    assert not polyad.is_deterministic_algorithms_warn_only_enabled()
    with pytest.raises(RuntimeError, match="no precision"):
        polyad.set_float32_matmul_precision("lowest")
    with pytest.raises(TypeError, match="not a bool"):
        polyad.use_deterministic_algorithms(1)


@pytest.mark.parametrize("path", ABSENT)
def test_an_absent_name_says_what_to_use_instead(path) -> None:
    with pytest.raises(NotSupported, match=re.escape(ABSENT[path].instead)):
        find(path)()
    assert issubclass(NotSupported, NotImplementedError)


def test_the_site_lists_what_is_absent() -> None:
    page = Path(__file__).parents[3] / "docs/compatibility.md"
    assert "<!-- generated: absent-table -->" in page.read_text()


def test_constants_are_those_of_mathematics() -> None:
    assert (polyad.pi, polyad.e, polyad.inf) == (math.pi, math.e, math.inf)
    assert polyad.newaxis is None
    assert polyad.nan != polyad.nan


def test_inference_mode_records_nothing_and_can_be_turned_off_inside() -> None:
    x = polyad.ones(2, requires_grad=True)

    @polyad.inference_mode
    def double(x):
        return x * 2

    @polyad.inference_mode(False)
    def triple(x):
        return x * 3

    assert not double(x).requires_grad
    with polyad.inference_mode():
        y = x * 2
        assert triple(x).requires_grad
    assert not y.requires_grad
    assert y.is_inference()
    with pytest.raises(TypeError, match="not a bool"):
        polyad.inference_mode(1)


def test_without_a_gpu_cuda_answers_none(monkeypatch) -> None:
    if polyad.cuda.is_available():
        pytest.skip("there is one")
    assert polyad.cuda.device_count() == 0
    polyad.cuda.empty_cache()
    for needs_one in (polyad.cuda.current_device, polyad.cuda.synchronize, polyad.cuda.get_device_name):
        with pytest.raises(RuntimeError, match=r"no installed backend|needs cupy|no NVIDIA driver"):
            needs_one()
    with pytest.raises(RuntimeError, match=r"no installed backend|needs cupy|no NVIDIA driver"):
        polyad.zeros(1).cuda()


class Two(type(registry.get("cpu"))):
    """The cpu backend as one with two devices."""

    waited: ClassVar[list] = []

    def device_count(self) -> int:
        return 2

    def synchronize(self, device) -> None:
        self.waited.append(str(device))


@pytest.fixture
def gpu(monkeypatch):
    if polyad.cuda.is_available():
        pytest.skip("there is one")
    assert issubclass(Two, Backend)
    # The installed backend has no device here, and its name is wanted.
    others = {name: points for name, points in registry.declared(registry.BACKEND_GROUP).items() if name != "cuda"}
    monkeypatch.setattr(registry, "declared", lambda group: others)
    with registry.register("cuda", Two()):
        yield


def test_cuda_is_whatever_backend_serves_the_name(gpu) -> None:
    assert polyad.cuda.is_available()
    assert polyad.cuda.device_count() == 2
    x = polyad.zeros(1).cuda()
    assert (str(x.device), x.is_cuda, x.get_device()) == ("cuda:0", True, 0)
    assert x.cuda() is x
    polyad.cuda.set_device(1)
    assert polyad.cuda.current_device() == 1
    assert str(polyad.zeros(1, device="cuda").device) == "cuda:1"
    assert str(polyad.zeros(1).cuda().device) == "cuda:1"
    assert str(polyad.zeros(1).cuda(0).device) == "cuda:0"
    polyad.cuda.synchronize(0)
    assert Two.waited[-1] == "cuda:0"
    with pytest.raises(RuntimeError, match="no such device"):
        polyad.cuda.set_device(2)
    with pytest.raises(RuntimeError, match="no cuda device"):
        polyad.zeros(1).cuda("cpu")
    with pytest.raises(RuntimeError, match="only memory of the cpu"):
        x.pin_memory()


def test_cuda_seeds_the_generator_that_all_devices_share(gpu) -> None:
    polyad.cuda.manual_seed(7)
    first = polyad.rand(2).tolist()
    state = polyad.cuda.get_rng_state()
    (again, _) = polyad.cuda.get_rng_state_all()
    assert again.tolist() == state.tolist()
    second = polyad.rand(2).tolist()
    polyad.cuda.set_rng_state(state, "cuda:1")
    assert polyad.rand(2).tolist() == second
    polyad.cuda.manual_seed_all(7)
    assert polyad.rand(2).tolist() == first
    assert polyad.cuda.initial_seed() == 7
    polyad.cuda.set_rng_state_all([state, state])
    assert polyad.rand(2).tolist() == second
    polyad.cuda.seed_all()
    assert polyad.cuda.initial_seed() != 7
    with pytest.raises(TypeError, match="seed is 'x'"):
        polyad.cuda.manual_seed("x")


def test_what_cuda_tells_of_a_device(gpu) -> None:
    polyad.cuda.init()
    assert polyad.cuda.is_initialized()
    assert polyad.cuda.is_bf16_supported() is True
    assert issubclass(polyad.cuda.OutOfMemoryError, RuntimeError)
    assert polyad.OutOfMemoryError is polyad.cuda.OutOfMemoryError


def test_cuda_without_a_device() -> None:
    if polyad.cuda.is_available():
        pytest.skip("there is one")
    before = polyad.get_rng_state().tolist()
    polyad.cuda.manual_seed_all(3)
    polyad.cuda.seed()
    assert polyad.get_rng_state().tolist() == before
    assert polyad.cuda.get_rng_state_all() == []
    assert (polyad.cuda.is_initialized(), polyad.cuda.is_bf16_supported()) == (False, False)
    assert (polyad.cuda.max_memory_reserved(), polyad.cuda.memory_stats()) == (0, {})
    for needs_a_device in (polyad.cuda.init, polyad.cuda.initial_seed, polyad.cuda.get_rng_state):
        with pytest.raises(RuntimeError, match="cuda"):
            needs_a_device()


def test_the_accelerator_is_the_first_device_that_is_not_the_cpu(gpu) -> None:
    assert polyad.accelerator.is_available()
    assert polyad.accelerator.current_accelerator() == polyad.device("cuda")
    assert polyad.accelerator.device_count() == 2
    polyad.accelerator.synchronize(1)
    assert Two.waited[-1] == "cuda:1"
    polyad.accelerator.synchronize()
    assert Two.waited[-1] == "cuda:0"


def test_the_processor_by_another_name_is_no_accelerator_unless_it_is_chosen(gpu, monkeypatch) -> None:
    monkeypatch.setattr(registry, "names", lambda: ["cpu", "cuda"])
    monkeypatch.setattr(Two, "runs_on_host", lambda self, device: device.index == 1)
    assert polyad.accelerator.device_count() == 1
    assert polyad.accelerator.is_available()
    monkeypatch.setattr(Two, "runs_on_host", lambda self, device: True)
    assert not polyad.accelerator.is_available()
    assert polyad.accelerator.current_accelerator() is None
    assert polyad.accelerator.device_count() == 0
    polyad.accelerator.synchronize()  # a program that computes there by name waits for it
    assert Two.waited[-1] == "cuda:0"
    monkeypatch.setattr(registry, "get_default_device", lambda: polyad.device("cuda"))
    assert polyad.accelerator.device_count() == 2
    assert polyad.accelerator.is_available()


def test_a_forgotten_backend_forgets_its_current_device(gpu) -> None:
    polyad.cuda.set_device(1)
    registry.unregister("cuda")
    registry.register("cuda", Two())
    assert polyad.cuda.current_device() == 0


def test_tensor_like_objects_bring_torch_function() -> None:
    class Like:
        def __torch_function__(self) -> None: ...

    assert polyad.overrides.is_tensor_like(Like())
    assert polyad.overrides.is_tensor_like(polyad.nn.Parameter(polyad.zeros(1)))
    assert not polyad.overrides.is_tensor_like(1.0)


@pytest.mark.filterwarnings("ignore:set_default_tensor_type")
@pytest.mark.skipif(polyad.cuda.is_available(), reason="there is a cuda device")
def test_what_is_said_of_cuda_where_there_is_none() -> None:
    assert (polyad.version.cuda, polyad.version.hip) == (None, None)
    assert polyad.cuda.get_arch_list() == []
    assert not polyad.cuda.is_bf16_supported()
    assert not polyad.backends.cudnn.is_available()
    assert polyad.cuda.memory_allocated() == polyad.cuda.max_memory_allocated() == 0
    if not polyad.backends.cuda.is_built():
        for call in (
            lambda: polyad.cuda.FloatTensor(2),
            lambda: polyad.zeros(2, device="cpu").type("torch.cuda.FloatTensor"),
            lambda: polyad.set_default_tensor_type("torch.cuda.FloatTensor"),
            lambda: polyad.cuda.nvtx.range_push("step"),
            lambda: polyad.cuda.nvtx.range("step").__enter__(),
            polyad.cuda.profiler.start,
            polyad.cuda.cudart,
            polyad.autograd.profiler.emit_nvtx,
        ):
            with pytest.raises(RuntimeError, match="backend 'cuda': it needs cupy"):
                call()
    with pytest.raises(AttributeError, match="no attribute 'cudnn'"):
        polyad.version.cudnn  # noqa: B018


def test_switches_of_libraries_can_be_set() -> None:
    cudnn = polyad.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic, cudnn.enabled
    with cudnn.flags(enabled=False, benchmark=True, deterministic=True):
        assert (cudnn.benchmark, cudnn.deterministic, cudnn.enabled) == (True, True, False)
    assert (cudnn.benchmark, cudnn.deterministic, cudnn.enabled) == before == (False, False, True)
    assert not cudnn.is_available()
    assert cudnn.version() is None
    assert polyad.backends.cuda.matmul.allow_tf32 is False
    assert polyad.backends.cuda.is_built() == (importlib.util.find_spec("cupy") is not None)
    assert not polyad.backends.mps.is_available()
    assert not polyad.backends.mps.is_built()


def test_waiting_for_a_gpu_is_told_as_asked() -> None:
    get, choose = polyad.cuda.get_sync_debug_mode, polyad.cuda.set_sync_debug_mode
    try:
        for mode, number in [("warn", 1), ("error", 2), ("default", 0), (1, 1), (2, 2), (0, 0)]:
            choose(mode)
            assert get() == number
        for wrong in ("never", 3, -1):
            with pytest.raises(RuntimeError, match="is no mode"):
                choose(wrong)
        with pytest.raises(TypeError, match="debug_mode is"):
            choose(None)
        choose("error")
        assert polyad.ones(2).sum().item() == 2, "the cpu is not waited for"
    finally:
        choose("default")


def test_deterministic_debug_mode():
    try:
        for number, word in enumerate(("default", "warn", "error")):
            for mode in (number, word):
                polyad.set_deterministic_debug_mode(mode)
                assert polyad.get_deterministic_debug_mode() == number
                assert polyad.are_deterministic_algorithms_enabled() == (number > 0)
        with pytest.raises(RuntimeError, match="is no mode"):
            polyad.set_deterministic_debug_mode("loud")
    finally:
        polyad.use_deterministic_algorithms(False)
