"""Captured graphs on the stand-in: what is replayed, whose memory it is, and what cannot be captured."""

import gc
import threading

import numpy as np
import pytest
from cupy import simulation
from cupy.cublaslt import Library

import polyad
from polyad.base.device import Device
from polyad.errors import DeviceError, NotSupported
from polyad_cupy.libraries import cublaslt
from polyad_cupy.runtime.device import opened

cuda = polyad.cuda


def captured(work, **settings):
    """A graph of *work*, after a run that makes what is made once, and what *work* gave."""
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        work()
    stream.synchronize()
    graph = cuda.CUDAGraph()
    with cuda.graph(graph, **settings):
        result = work()
    return graph, result


def test_a_replay_computes_with_what_is_there_then():
    x = polyad.arange(5.0, device="cuda")
    graph, y = captured(lambda: ((x * 2).exp() + x).sum())
    for start in (0.0, 1.0, -2.0):
        x.copy_(polyad.arange(5.0, device="cuda") / 4 + start)
        wanted = float(((x * 2).exp() + x).sum())
        graph.replay()
        assert float(y) == pytest.approx(wanted, rel=1e-6)


def test_nothing_is_done_while_work_is_captured():
    x = polyad.zeros(3, device="cuda")
    graph, _ = captured(lambda: x.add_(1))
    assert x.tolist() == [1, 1, 1], "the run before the capture alone"
    graph.replay()
    graph.replay()
    assert x.tolist() == [3, 3, 3]


def test_a_replay_goes_to_the_stream_of_the_thread():
    x = polyad.zeros(3, device="cuda")
    graph, _ = captured(lambda: x.add_(1))
    cuda.synchronize()
    stream = cuda.Stream()
    with cuda.stream(stream):
        graph.replay()
    assert not stream.query()
    assert cuda.default_stream().query()
    stream.synchronize()
    assert x.tolist() == [2, 2, 2]


def test_memory_of_a_graph_stays_its_own():
    x = polyad.arange(64.0, device="cuda")
    graph, y = captured(lambda: ((x + 1) * (x + 2)).sqrt() * 3)  # between these, memory is freed
    wanted = (((x + 1) * (x + 2)).sqrt() * 3).cpu()
    others = [polyad.full((64,), -1.0, device="cuda") for _ in range(50)]
    graph.replay()
    polyad.testing.assert_close(y.cpu(), wanted)
    assert all((other == -1).all() for other in others)
    addresses = {other.data_ptr() for other in others}
    assert y.data_ptr() not in addresses
    cuda.empty_cache()
    graph.replay()
    polyad.testing.assert_close(y.cpu(), wanted)


def test_memory_goes_back_with_the_graph():
    graph, y = captured(lambda: polyad.zeros(1 << 20, device="cuda") + 1)
    cuda.empty_cache()
    held = cuda.memory_reserved()
    assert held >= 8 << 20
    graph.reset()
    assert float(y[5]) != 1, "it was not replayed"
    del graph, y
    gc.collect()
    cuda.empty_cache()
    assert cuda.memory_reserved() <= held - (8 << 20)


def test_graphs_share_memory_if_they_are_told():
    x = polyad.arange(1 << 16, device="cuda", dtype=polyad.float32)
    first, y = captured(lambda: (x + 1).sum())
    before = cuda.memory_reserved()
    second, z = captured(lambda: (x + 2).sum(), pool=first.pool())
    assert cuda.memory_reserved() - before < x.nbytes
    for _ in range(2):
        first.replay()
        total = float(y)
        second.replay()
        assert float(z) - total == pytest.approx(1 << 16, rel=1e-3)
    assert first.pool() == second.pool() != cuda.graph_pool_handle()


def test_streams_that_join_a_capture_are_part_of_it():
    x = polyad.ones(4, device="cuda")
    side = cuda.Stream()

    def work():
        main = cuda.current_stream()
        side.wait_stream(main)
        with cuda.stream(side):
            y = x * 3
        main.wait_stream(side)
        return y + x

    graph, z = captured(work)
    x.fill_(2)
    graph.replay()
    assert z.tolist() == [8, 8, 8, 8]


def waiting(x):
    return {
        "item": lambda: x.sum().item(),
        "cpu": x.cpu,
        "print": lambda: repr(x),
        "nonzero": lambda: x.nonzero(),
        "mask": lambda: x[x > 0],
        "synchronize": cuda.synchronize,
        "stream": lambda: cuda.current_stream().synchronize(),
        "query": lambda: cuda.current_stream().query(),
        "event": lambda: cuda.current_stream().record_event().synchronize(),
        "timing": lambda: cuda.Event(enable_timing=True).query() and x.sum().item(),
    }


@pytest.mark.parametrize("name", list(waiting(polyad.ones(1))))
def test_what_waits_raises_and_leaves_the_device_as_it_was(name):
    x = polyad.arange(4.0, device="cuda")
    _ = x.sum().item()
    graph = cuda.CUDAGraph()
    with pytest.raises(DeviceError, match="is capturing this thread's work into a graph") as caught, cuda.graph(graph):
        waiting(x)[name]()
    assert "take what waits for values out of the capture" in str(caught.value)
    assert not cuda.is_current_stream_capturing()
    with pytest.raises(DeviceError, match="holds no captured work"):
        graph.replay()
    assert x.tolist() == [0, 1, 2, 3]
    graph, y = captured(lambda: x + 1)
    graph.replay()
    assert y.tolist() == [1, 2, 3, 4]


def test_what_comes_from_the_host_is_refused():
    graph = cuda.CUDAGraph()
    with pytest.raises(DeviceError, match="keeps no memory of the host") as caught, cuda.graph(graph):
        polyad.tensor([1.0, 2.0], device="cuda")
    assert "create the tensor before the capture" in str(caught.value)


def state():
    return polyad.get_rng_state().tolist()


def draws(x, generator=None):
    """Numbers of all distributions, of sizes that are and are no multiples of four."""
    return [
        polyad.nn.functional.dropout(x, 0.5),
        polyad.rand(3, 7, device="cuda", generator=generator),
        polyad.randn(8, device="cuda", generator=generator),
        polyad.randint(0, 1000, (5,), device="cuda", generator=generator),
        polyad.empty(6, device="cuda").exponential_(generator=generator),
        polyad.randperm(9, device="cuda", generator=generator),
        polyad.bernoulli(x.clamp(0, 1) / 2),
    ]


def test_each_replay_draws_what_the_work_would_draw_then():
    x = polyad.arange(1.0, 12.0, device="cuda")
    graph, found = captured(lambda: draws(x))
    polyad.manual_seed(3)
    wanted = [[each.tolist() for each in draws(x)] + [polyad.rand(2).tolist()] for _ in range(3)]
    polyad.manual_seed(3)
    for want in wanted:
        graph.replay()
        assert [each.tolist() for each in found] + [polyad.rand(2).tolist()] == want
    assert wanted[0] != wanted[1]


def test_a_replay_draws_from_where_the_generator_is():
    polyad.manual_seed(2**63 + 11)
    own = polyad.Generator().manual_seed(5)
    graph, found = captured(lambda: (polyad.rand(5, device="cuda", generator=own), polyad.rand(3, device="cuda")))
    for offset in (0, 2**32 - 1, 2**63, 2**64 - 1):
        placed = (5).to_bytes(8, "little") + offset.to_bytes(8, "little")
        for generator in (own, polyad.default_generator):
            generator.set_state(polyad.tensor(list(placed), dtype=polyad.uint8))
        wanted = polyad.rand(5, generator=own).tolist()
        own.set_state(polyad.tensor(list(placed), dtype=polyad.uint8))
        graph.replay()
        assert found[0].tolist() == wanted
        assert found[1].tolist() == wanted[:3]
        assert int.from_bytes(bytes(own.get_state().tolist()[8:]), "little") == (offset + 2) % 2**64


def test_a_capture_draws_nothing():
    graph, _ = captured(lambda: polyad.rand(5, device="cuda"))
    before = state()
    with cuda.graph(cuda.CUDAGraph()):
        polyad.rand(5, device="cuda")
    assert state() == before
    with pytest.raises(DeviceError, match="keeps no memory of the host"), cuda.graph(cuda.CUDAGraph()):
        polyad.rand(5, device="cuda") + polyad.tensor([1.0, 2.0], device="cuda")
    assert state() == before
    assert graph.register_generator_state(polyad.default_generator) is None


def test_what_another_thread_draws_meanwhile_stays_drawn():
    polyad.manual_seed(4)
    captured(lambda: polyad.rand(5, device="cuda"))
    others = []
    with cuda.graph(graph := cuda.CUDAGraph()):
        found = polyad.rand(5, device="cuda")
        thread = threading.Thread(target=lambda: others.append(polyad.rand(4).tolist()))
        thread.start()
        thread.join()
    graph.replay()
    assert len({*found.tolist(), *others[0], *polyad.rand(4).tolist()}) == 13


def test_a_training_step_with_dropout_is_replayed_as_it_is_computed():
    def trained(steps):
        polyad.manual_seed(0)
        layer = polyad.nn.Linear(6, 6).cuda()
        optimizer = polyad.optim.Adam(layer.parameters(), lr=0.1, capturable=True)
        x = polyad.linspace(-1, 1, 24, device="cuda").reshape(4, 6)

        def step():
            optimizer.zero_grad(set_to_none=False)
            loss = (polyad.nn.functional.dropout(x, 0.3) * layer.weight[0] + layer.bias).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        return step, [float(step()) for _ in range(steps)]

    _, wanted = trained(5)
    step, losses = trained(1)
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        losses.append(float(step()))
    cuda.current_stream().wait_stream(stream)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        loss = step()
    for _ in range(3):
        graph.replay()
        losses.append(float(loss))
    assert losses == pytest.approx(wanted, rel=1e-6)


def test_replays_of_one_graph_in_a_row_draw_different_numbers():
    total = polyad.zeros(64, device="cuda")
    graph, _ = captured(lambda: total.add_(polyad.rand(64, device="cuda")))
    polyad.manual_seed(1)
    total.zero_()
    for _ in range(3):
        graph.replay()  # nothing waits between them
    found = total.cpu()
    polyad.manual_seed(1)
    polyad.testing.assert_close(found, sum(polyad.rand(64) for _ in range(3)))


def test_graphed_callables_drop_anew():
    class Dropping(polyad.nn.Module):
        def forward(self, x):
            return polyad.nn.functional.dropout(x, 0.5) * 2

    x = polyad.ones(64, device="cuda", requires_grad=True)
    call = cuda.make_graphed_callables(Dropping(), (x.detach().clone().requires_grad_(),))
    seen = []
    for _ in range(3):
        out = call(x)
        (grad,) = polyad.autograd.grad(out.sum(), x)
        assert polyad.equal(grad, out.detach())
        seen.append(out.tolist())
    assert seen[0] != seen[1] != seen[2] != seen[0]


def test_random_numbers_of_another_device_are_refused():
    with (
        pytest.raises(NotSupported, match="numbers for another device would be drawn now"),
        cuda.graph(cuda.CUDAGraph()),
    ):
        polyad.rand(3)
    assert polyad.rand(3).shape == (3,)


def test_a_generator_that_is_started_anew_meanwhile_is_refused():
    def work():
        polyad.rand(3, device="cuda")
        polyad.manual_seed(7)
        polyad.rand(3, device="cuda")

    with pytest.raises(NotSupported, match="the generator was started anew"), cuda.graph(cuda.CUDAGraph()):
        work()


def test_many_generators_are_refused():
    many = [polyad.Generator() for _ in range(17)]

    def work():
        for generator in many:
            polyad.rand(3, device="cuda", generator=generator)

    with pytest.raises(NotSupported, match="more than 16 generators"), cuda.graph(cuda.CUDAGraph()):
        work()


def test_products_of_cublas_are_refused():
    x = polyad.ones(3, 3, device="cuda")
    with pytest.raises(DeviceError, match="does not let cuBLAS be captured") as caught, cuda.graph(cuda.CUDAGraph()):
        x @ x
    assert "multiply once before the capture" in str(caught.value)


def test_products_of_the_proved_library_have_a_workspace_of_the_graphs_own(device, monkeypatch):
    library = Library()
    monkeypatch.setattr(cublaslt, "library", lambda: library)
    x = polyad.rand(4, 4, device="cuda")
    graph, y = captured(lambda: x @ x)
    assert "proved" in device.description
    assert library.products
    x.copy_(polyad.rand(4, 4, device="cuda"))
    graph.replay()
    np.testing.assert_allclose(y.cpu().numpy(), x.cpu().numpy() @ x.cpu().numpy(), rtol=1e-5)


def test_nothing_is_proved_during_a_capture(device, monkeypatch):
    library = Library()
    monkeypatch.setattr(cublaslt, "library", lambda: library)
    x = polyad.rand(4, 4, device="cuda")
    with pytest.raises(DeviceError, match="cuBLAS"), cuda.graph(cuda.CUDAGraph()):
        x @ x
    assert not library.products
    x @ x
    assert "products by cuBLASLt: proved" in device.description


def test_a_wrong_index_in_a_replay_is_told():
    table, index = polyad.arange(6.0, device="cuda"), polyad.tensor([1, 5], device="cuda")
    graph, y = captured(lambda: table.index_select(0, index))
    for numbers in ([2, 3], [0, 1]):
        index.copy_(polyad.tensor(numbers, device="cuda"))
        graph.replay()
        assert y.tolist() == numbers
    index.copy_(polyad.tensor([0, 9], device="cuda"))
    graph.replay()
    with pytest.raises(IndexError, match="9"):
        y.tolist()
    index.copy_(polyad.tensor([0, 4], device="cuda"))
    graph.replay()
    assert y.tolist() == [0, 4]
    del graph
    with pytest.raises(IndexError, match="7"):
        table.index_select(0, polyad.tensor([7], device="cuda")).tolist()


def test_the_default_stream_and_second_captures_are_refused():
    graph = cuda.CUDAGraph()
    with pytest.raises(DeviceError, match="default stream"):
        graph.capture_begin()
    with pytest.raises(DeviceError, match="nothing is captured"):
        graph.capture_end()
    with pytest.raises(DeviceError, match="already"), cuda.graph(graph):
        cuda.CUDAGraph().capture_begin()
    with pytest.raises(ValueError, match="capture_error_mode 'none' is unknown"):
        graph.capture_begin(capture_error_mode="none")
    graph, _ = captured(lambda: polyad.ones(2, device="cuda"))
    with pytest.raises(DeviceError, match="holds captured work"), cuda.stream(cuda.Stream()):
        graph.capture_begin()
    with pytest.raises(TypeError, match="not a CUDAGraph"):
        cuda.graph(3)


def test_an_error_of_the_work_is_what_is_raised():
    x = polyad.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match=r"\(3,\)"), cuda.graph(cuda.CUDAGraph()):
        x + polyad.ones(4, device="cuda")
    assert not cuda.is_current_stream_capturing()


def test_whether_a_stream_is_captured_can_be_asked():
    with cuda.graph(cuda.CUDAGraph()):
        assert cuda.is_current_stream_capturing()
    assert not cuda.is_current_stream_capturing()


def test_a_step_of_training_is_captured_with_its_optimizer():
    def model():
        weight = polyad.linspace(-1, 1, 6, device="cuda").requires_grad_()
        return weight, polyad.optim.Adam([weight], lr=0.1)

    def loss(weight, x, optimizer):
        optimizer.zero_grad(set_to_none=False)
        value = ((weight * x).tanh() - 0.5).square().sum()
        value.backward()
        optimizer.step()
        return value.detach()

    x = polyad.ones(6, device="cuda")
    data = [polyad.linspace(0, shift, 6, device="cuda") for shift in (1, 2, 3, 4, 5)]
    weight, optimizer = model()
    wanted = [float(loss(weight, x.copy_(batch), optimizer)) for batch in data]
    last = weight.tolist()
    weight, optimizer = model()
    got = [float(loss(weight, x.copy_(data[0]), optimizer))]
    stream = cuda.Stream()
    x.copy_(data[1])
    cuda.synchronize()
    with cuda.stream(stream):
        got.append(float(loss(weight, x, optimizer)))
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        value = loss(weight, x, optimizer)
    for batch in data[2:]:
        x.copy_(batch)
        graph.replay()
        got.append(float(value))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    np.testing.assert_allclose(weight.tolist(), last, rtol=1e-5)


class Layer(polyad.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = polyad.nn.Parameter(polyad.arange(1.0, 4.0))

    def forward(self, x):
        return (x * self.scale).sin()


def test_graphed_callables_compute_what_the_callables_did():
    def double(x, y):
        return {"sum": x * 2 + y, "product": x * y}

    plain, layer = Layer().cuda(), Layer().cuda()
    sample = [polyad.zeros(3, device="cuda", requires_grad=True) for _ in range(3)]
    function, layer = cuda.make_graphed_callables((double, layer), ((sample[0], sample[1]), (sample[2],)))
    for shift in (0.5, 1.5):
        results = []
        for first, second in ((double, plain), (function, layer)):
            x, y = (polyad.full((3,), value, device="cuda", requires_grad=True) for value in (shift, 2 * shift))
            second.zero_grad()
            out = first(x, y)
            second(out["sum"] * out["product"]).sum().backward()
            results.append([part.tolist() for part in (x.grad, y.grad, second.scale.grad)])
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5)
    layer.eval()
    x = polyad.ones(5, 3, device="cuda")
    assert layer(x).shape == (5, 3), "in the other state it computes as before"
    with pytest.raises(ValueError, match="differs from that of its capture"):
        function(polyad.ones(4, device="cuda"), polyad.ones(4, device="cuda"))
    with pytest.raises(TypeError, match="no tensor"):
        cuda.make_graphed_callables(double, (1.0, 2.0))


def test_other_devices_capture_nothing():
    from polyad.backend.streams import OneStream

    manager = OneStream(None, polyad.device("cpu"))
    for ask in (lambda: manager.begin_capture(0, 0), manager.end_capture, lambda: manager.replay(None, 0)):
        with pytest.raises(NotSupported, match="captures no work into graphs"):
            ask()
    assert not manager.capturing(0)


def test_the_stand_in_refuses_what_the_driver_refuses():
    from cupy.cuda import Event, Stream
    from cupy.cuda.runtime import CUDARuntimeError

    opened(Device("cuda", 0)).enter()
    stream, other = Stream(non_blocking=True), Stream(non_blocking=True)
    before = Event()
    before.record(other)
    with pytest.raises(CUDARuntimeError, match="StreamCaptureUnsupported"):
        Stream.null.begin_capture()
    for wrong in (stream.synchronize, lambda: stream.done, lambda: stream.wait_event(before)):
        stream.begin_capture()
        with pytest.raises(CUDARuntimeError, match="StreamCapture"):
            wrong()
        with pytest.raises(CUDARuntimeError, match="StreamCaptureInvalidated"):
            stream.end_capture()
    stream.begin_capture()
    other.wait_event(stream.record())
    simulation.queue_of(other.ptr).put(lambda: None)
    with pytest.raises(CUDARuntimeError, match="StreamCaptureUnjoined"):
        stream.end_capture()
