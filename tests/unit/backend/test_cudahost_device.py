"""Kernels that are generated for GPUs, on a device that runs CUDA C on the host, on three schedules."""

import dataclasses
from contextlib import contextmanager

import pytest

import polyad
from polyad import backends, optim
from polyad.codegen.kernels.tables import TableKernel
from polyad.devices import registry
from polyad.optim import update

host = pytest.importorskip("polyad_cuda_on_host")
pytestmark = pytest.mark.skipif(host.compiler() is None, reason="no g++ on PATH, or the machine is no x86-64 of a Unix")


NAME = "generatedcuda"
"""Not "cudahost", which whoever has installed the package has besides."""


@pytest.fixture(scope="module")
def device():
    """The name of a device that runs generated CUDA C."""
    from polyad_cudahost.device import HostBackend
    from polyad_cudahost.plugin import polyad_backend_info

    backend = HostBackend()
    backend.info = dataclasses.replace(polyad_backend_info(), name=NAME)
    with backends.register(NAME, backend):
        yield NAME


def close(got, wanted, rtol=1e-5, atol=1e-5):
    polyad.testing.assert_close(got.cpu(), wanted, rtol=rtol, atol=atol)


@pytest.mark.parametrize("shape", [(3, 700), (5, 7), (2, 9001), (300, 12), (1, 64), (40, 1)])
def test_rows_of_all_lengths(device, shape) -> None:
    polyad.manual_seed(0)
    x = polyad.randn(*shape)
    y = x.to(device)
    for dim in (0, 1):
        close(y.sum(dim), x.sum(dim), atol=1e-3)
        close(y.amax(dim), x.amax(dim))
        assert polyad.equal(y.argmax(dim).cpu(), x.argmax(dim))
        close(polyad.softmax(y, dim), polyad.softmax(x, dim))
    close(y.sum(), x.sum(), atol=1e-2)
    close(y[:, 1:].sum(1), x[:, 1:].sum(1), atol=1e-3)


def test_places_that_are_not_aligned_are_taken_one_by_one(device) -> None:
    x = polyad.arange(67, dtype=polyad.float32)
    y = x.to(device)
    for begin in range(5):
        assert polyad.equal((y[begin:] * 2).cpu(), x[begin:] * 2)
        assert y[begin:].sum().item() == x[begin:].sum().item()


@contextmanager
def one_by_one(monkeypatch):
    """Each parameter by launches of its own."""
    with monkeypatch.context() as changed:
        changed.setattr(update, "_together", lambda op, plan, rows, *rest: rows)
        yield


OPTIMIZERS = {
    "adam": lambda params: optim.Adam(params, lr=0.1, weight_decay=0.1),
    "sgd": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_takes_its_parameters_together(device, name, monkeypatch) -> None:
    launches, call = [], TableKernel.__call__
    monkeypatch.setattr(TableKernel, "__call__", lambda self, *given: (launches.append(self.what), call(self, *given)))
    first = [polyad.randn(shape) for shape in ((3, 5), (7,), (20, 31), (64,), (8, 16), (), (33, 3))]

    def trained() -> list[polyad.Tensor]:
        params = [start.to(device).requires_grad_() for start in first]
        params[4] = params[4].detach().t().contiguous().t().requires_grad_()
        optimizer = OPTIMIZERS[name](params)
        for turn in range(3):
            for param in params:
                param.grad = param.detach() * 2 + turn
            if turn == 1:
                params[0].grad = None
            optimizer.step()
        return [param.detach().cpu() for param in params]

    together = trained()
    assert launches
    count = len(launches)
    with one_by_one(monkeypatch):
        alone = trained()
    assert len(launches) == count
    assert all(polyad.equal(a, b) for a, b in zip(together, alone, strict=True))
    assert not any(polyad.equal(a, b) for a, b in zip(together, first, strict=True))


def test_many_parameters_take_several_launches(device) -> None:
    params = [polyad.full((3,), float(n)).to(device).requires_grad_() for n in range(260)]
    for param in params:
        param.grad = polyad.ones(3).to(device)
    optim.SGD(params, lr=1.0).step()
    assert [param[0].item() for param in params] == [n - 1 for n in range(260)]


def test_a_gradient_that_is_a_parameter_is_read_in_order(device) -> None:
    first, second = (polyad.full((4,), n).to(device).requires_grad_() for n in (1.0, 10.0))
    first.grad, second.grad = second.detach(), polyad.ones(4).to(device)
    optim.SGD([first, second], lr=1.0).step()
    assert (first[0].item(), second[0].item()) == (-9.0, 9.0)


def test_what_races_is_told(device) -> None:
    runtime = registry.get(device).runtime(None)
    source = polyad.codegen.elementwise([polyad.codegen.Operand(0, polyad.float32)], runtime.dialect)
    changed = source.text.replace("(out0 + at0 + j * s0)", "(out0 + at0)")
    assert changed != source.text
    racing = runtime.compile(dataclasses.replace(source, text=changed), "a race")
    x = polyad.arange(64, dtype=polyad.float32).to(device)
    plan = polyad.codegen.elementwise_plan(1, runtime.description, (64,), [(1,), (1,)], [0, 0])
    with pytest.raises(RuntimeError, match="order of threads"):
        runtime.launcher(racing, plan.instances, plan.geometry)([polyad.zeros(64).to(device)._array, x._array], ())
