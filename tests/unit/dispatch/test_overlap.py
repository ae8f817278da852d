"""Operands that share the memory which is written to: refused where they are another part of it, else read first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polyad
from polyad import Tensor

REFUSED: dict[str, Callable[[Tensor], object]] = {
    "shifted": lambda x: x[1:].add_(x[:-1]),
    "shifted back": lambda x: x[:-1].mul_(x[1:]),
    "an element": lambda x: x.div_(x[0]),
    "as a keyword": lambda x: x[1:].add_(other=x[:-1]),
    "the second operand": lambda x: x[1:].addcmul_(polyad.ones(5), x[:-1]),
    "turned": lambda x: x[:4].view(2, 2).sub_(x[:4].view(2, 2).t()),
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "another dtype": lambda x: x[1:].copy_(x.view(polyad.int32)[:-1]),
    "data": lambda x: x.data[1:].add_(x[:-1]),
    "detach": lambda x: x.detach()[1:].add_(x[:-1]),
    "a slice": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "places": lambda x: x.__setitem__(polyad.tensor([0, 1]), x[1:3]),
    "a mask": lambda x: x.__setitem__(x > 2, x[:4]),
    "a list of indices": lambda x: x.view(polyad.int32)[:2].index_put_((polyad.tensor([0]),), x.view(polyad.int32)[1]),
    "index_add_": lambda x: x[1:].index_add_(0, polyad.arange(5), x[:-1]),
    "scatter_": lambda x: x[1:].scatter_(0, polyad.arange(5), x[:-1]),
    "out": lambda x: polyad.exp(x[:-1], out=x[1:]),
    "out of a function that fronts an op": lambda x: polyad.add(x[:-1], 1, out=x[1:]),
}

READ_FIRST: dict[str, tuple[Callable[[Tensor], object], list[float]]] = {
    "itself": (lambda x: x.add_(x), [2, 4, 6, 8, 10, 12]),
    "the same places": (lambda x: x[:3].mul_(x[:3]), [1, 4, 9, 4, 5, 6]),
    "neighbours": (lambda x: x[:3].add_(x[3:]), [5, 7, 9, 4, 5, 6]),
    "gaps that do not meet": (lambda x: x[::2].add_(x[1::2]), [3, 2, 7, 4, 11, 6]),
    "gaps that meet": (lambda x: x[::2].add_(x[:3]), [2, 2, 5, 4, 8, 6]),
    "copy_ into gaps": (lambda x: x[::2].copy_(x[:3]), [1, 2, 2, 4, 3, 6]),
    "an element to fill with": (lambda x: x.fill_(x[1]), [2] * 6),
    "an element for a slice": (lambda x: x.__setitem__(slice(None), x[1]), [2] * 6),
    "an element for a mask": (lambda x: x.__setitem__(x > 2, x[2]), [1, 2, 3, 3, 3, 3]),
    "masked_fill_": (lambda x: x.masked_fill_(x > 2, x[2]), [1, 2, 3, 3, 3, 3]),
    "index_add_ of itself": (
        lambda x: x.index_add_(0, polyad.tensor([1, 0, 2, 3, 4, 5], device=x.device), x),
        [3, 3, 6, 8, 10, 12],
    ),
    "a product": (
        lambda x: x[:4].view(2, 2).addmm_(x[:4].view(2, 2), x[2:].view(2, 2), beta=0),
        [13, 16, 29, 36, 5, 6],
    ),
    "a product into out": (
        lambda x: polyad.mm(x[:4].view(2, 2), x[:4].view(2, 2), out=x[2:].view(2, 2)),
        [1, 2, 7, 10, 15, 22],
    ),
    "sums into out": (lambda x: polyad.sum(x.view(2, 3), 0, out=x[:3]), [5, 7, 9, 4, 5, 6]),
    "running sums into out": (lambda x: polyad.cumsum(x[:-1], 0, out=x[1:]), [1, 1, 3, 6, 10, 15]),
}


@pytest.mark.parametrize("device", ["cpu", "opencl"])
@pytest.mark.parametrize("name", REFUSED)
def test_another_part_of_the_memory_is_refused(name: str, device: str) -> None:
    x = on(device)
    with pytest.raises(RuntimeError, match="another part of the memory"):
        REFUSED[name](x)
    assert x.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("device", ["cpu", "opencl"])
@pytest.mark.parametrize("name", READ_FIRST)
def test_what_may_share_memory_is_read_first(name: str, device: str) -> None:
    x = on(device)
    write, wanted = READ_FIRST[name]
    write(x)
    assert x.tolist() == wanted


def on(device: str) -> Tensor:
    if device == "opencl":
        pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")
        if not polyad.backends.is_available("opencl"):
            pytest.skip("there is no OpenCL device")
    return polyad.arange(1.0, 7.0, device=device)


def test_recorded_writes_are_looked_at_too() -> None:
    x = polyad.ones(4, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="another part of the memory"):
        x[1:].add_(x[:-1])
    x[:2].add_(x[2:])
    assert x.tolist() == [2, 2, 1, 1]


def test_a_conjugated_tensor_does_not_miss_a_write() -> None:
    z = polyad.tensor([1 + 2j, 3 + 4j])
    for write in (
        lambda: z.conj().mul_(2),
        lambda: z.conj().imag.__setitem__(0, 1),
        lambda: polyad.view_as_real(z.conj()).zero_(),
        lambda: z.conj()[0].fill_(1),
        lambda: z.view(1, 2).mH.zero_(),
        lambda: z.view(1, 2).H.zero_(),
        lambda: z.view(1, 2).adjoint().zero_(),
        lambda: z.conj().detach().zero_(),
        lambda: z.conj().data.zero_(),
    ):
        with pytest.raises(RuntimeError, match="would miss the write"):
            write()
    assert z.tolist() == [1 + 2j, 3 + 4j]


def test_conjugates_that_nobody_else_has_are_written_to() -> None:
    z = polyad.tensor([1 + 2j])
    alone = (z * 1).conj()
    assert alone.mul_(2).tolist() == [2 - 4j]
    assert z.conj().resolve_conj().mul_(2).tolist() == [2 - 4j]
    assert z.conj().clone().mul_(2).tolist() == z.conj_physical().mul_(2).tolist() == [2 - 4j]
    survivor = z.conj()
    del z
    assert survivor.mul_(2).tolist() == [2 - 4j]
    x = polyad.ones(2)
    assert x.conj().mul_(2) is x


def test_a_gradient_of_conjugates_is_added_to() -> None:
    z = polyad.tensor([1 + 2j], requires_grad=True)
    g = polyad.tensor([1 - 1j])
    z.backward(g.conj())
    z.backward(g)
    assert z.grad is not None
    assert z.grad.tolist() == [2]
