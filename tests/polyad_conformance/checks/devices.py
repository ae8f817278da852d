"""Tensors on different devices: refused with both named, moved when asked."""

from __future__ import annotations

import numpy as np

import polyad
from polyad.errors import DeviceError

from ..calls import Target, UnsupportedByDeclaration
from ..layouts import to_host


def other_device(target: Target) -> str:
    """A second device: another of the same type, else the host's."""
    full = target.full_device
    if target.backend.info.indexed and target.backend.device_count() > 1:
        return f"{full.type}:{1 - min(full.index or 0, 1)}"
    if full.type != "cpu":
        return "cpu"
    raise UnsupportedByDeclaration("there is one device only")


def check_mixed_devices(target: Target) -> None:
    """An op of tensors on two devices raises, names both operands, and changes neither."""
    other = other_device(target)
    here, there = polyad.ones(2, 3, device=target.device), polyad.ones(2, 3, device=other)
    calls = {
        "add": lambda: polyad.add(here, there),
        "matmul": lambda: polyad.matmul(here, there.T),
        "add_": lambda: here.add_(there),
        "add out=": lambda: polyad.add(here, here, out=there),
    }
    for name, call in calls.items():
        try:
            call()
        except DeviceError as error:
            text = str(error)
        else:
            raise AssertionError(f"{name}: tensors on {here.device} and {there.device} were accepted")
        missing = [str(device) for device in (here.device, there.device) if str(device) not in text]
        assert not missing, f"{name}: the error does not name {missing}:\n{text}"
        for one in (here, there):
            assert np.all(to_host(one) == 1), f"{name}: a tensor on {one.device} was changed by the refused call"


def check_transfer(target: Target) -> None:
    """``to(device)`` copies, keeps dtype and values, and a gradient travels back."""
    other = other_device(target)
    there = Target(other).dtypes
    for dtype in sorted(target.dtypes & there, key=lambda dtype: dtype.name):
        values = polyad.tensor([[0, 1, 2], [3, 4, 5]], dtype=dtype, device=other)
        moved = values.T.to(target.device)
        assert moved.device == target.full_device, f"to({target.device}) gives a tensor on {moved.device}"
        assert moved.dtype is dtype, f"to({target.device}) of {dtype.name} gives {moved.dtype}"
        assert np.array_equal(to_host(moved), to_host(values).T), (
            f"to({target.device}) of a transposed {dtype.name} tensor has other values"
        )
    source = polyad.ones(1 << 14, device=other)
    moved = source.to(target.device)
    with polyad.no_grad():
        source.fill_(0)
    assert to_host(moved).min() == 1.0, f"to({target.device}): writes that came later reached the copy"
    leaf = polyad.ones(3, device=other, requires_grad=True)
    (leaf.to(target.device) * 3).sum().backward()
    assert leaf.grad is not None, "no gradient travelled back through to(device)"
    assert leaf.grad.device == leaf.device, f"the gradient is on {leaf.grad.device}, the leaf on {leaf.device}"
    assert to_host(leaf.grad).tolist() == [3.0, 3.0, 3.0], "the gradient that travelled back has other values"
