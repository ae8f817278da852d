"""What happens to ops for which a device has no kernel, on a backend of tier 0 alone."""

from __future__ import annotations

import threading
import warnings

import pytest

import polyad
from polyad import backends
from polyad.backend import Capabilities
from polyad.base.dtypes import float32, float64
from polyad.errors import ArgumentError, DeviceError, MissingKernel


def test_policy_error_is_the_default_and_names_op_device_and_dtypes(toy) -> None:
    x = polyad.ones(2, 3, device="toy")
    with pytest.raises(MissingKernel, match=r"add: toy:0 has no kernel for it with dtypes float32, float32") as caught:
        x + x
    assert 'set_fallback("allow")' in caught.value.fix
    assert caught.value.lines["input"] == "float32 (2, 3) on toy:0"
    assert isinstance(caught.value, NotImplementedError)
    assert len(backends.fallback_report()) == 0


def test_tier_0_works_without_fallback(toy) -> None:
    x = polyad.tensor([[1.0, 2.0], [3.0, 4.0]], device="toy")
    y = polyad.zeros(2, 2, device="toy").copy_(x.T)
    y[0].fill_(7)
    assert y.tolist() == [[7.0, 7.0], [2.0, 4.0]]
    assert x.to("cpu").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert str(x.cpu().to("toy:1").device) == "toy:1"
    assert len(backends.fallback_report()) == 0


def test_policy_allow_computes_what_the_host_computes(toy) -> None:
    data = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]

    def work(device: str) -> tuple:
        x = polyad.tensor(data, device=device, requires_grad=True)
        w = polyad.ones(4, 3, device=device, requires_grad=True)
        y = polyad.linear(x * 2 + 1, w, None).sum()
        y.backward()
        return y.item(), x.grad.tolist(), w.grad.tolist(), polyad.arange(3, device=device).tolist()

    with backends.fallback("allow"):
        assert work("toy:1") == work("cpu")


def test_calls_bytes_and_lines_are_counted(toy) -> None:
    x = polyad.ones(4, device="toy")
    with backends.fallback("allow"):
        for _ in range(3):
            x * x
        x + 1
    report = backends.fallback_report()
    assert [(record.op, record.device, record.calls, record.bytes) for record in report] == [
        ("mul", "toy:0", 3, 3 * 3 * 16),
        ("add", "toy:0", 1, 2 * 16),
    ]
    assert all(record.call_site.startswith("test_fallback.py:") for record in report)
    assert (report.calls, report.bytes) == (4, 11 * 16)
    assert "mul" in str(report)
    assert "test_fallback.py" in str(report)
    report[0].calls = 99  # a copy: the count itself is not touched
    assert backends.fallback_report()[0].calls == 3
    backends.reset_fallback_report()
    assert len(backends.fallback_report()) == 0


def test_policy_warn_warns_once_a_line_and_points_at_it(toy) -> None:
    x = polyad.ones(2, device="toy")
    with backends.fallback("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            x + 1
        x + 1
    assert [warning.category for warning in caught] == [backends.FallbackWarning] * 2
    assert all(warning.filename == __file__ for warning in caught)
    assert caught[0].lineno != caught[1].lineno
    assert "add: ran on the host, toy:0 has no kernel" in str(caught[0].message)


def test_the_policy_is_the_process_and_its_context_the_threads(toy) -> None:
    x = polyad.ones(2, device="toy")
    results: list = []

    def work() -> None:
        try:
            results.append((x + 1).tolist())
        except MissingKernel:
            results.append("refused")

    def in_thread() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with backends.fallback("allow"):
        in_thread()
        assert backends.get_fallback() == "allow"
    assert backends.get_fallback() == "error"
    backends.set_fallback("allow")
    try:
        in_thread()
        with backends.fallback("error"), pytest.raises(MissingKernel):
            x + 1
    finally:
        backends.set_fallback("error")
    assert results == ["refused", [2.0, 2.0]]


def test_the_policy_returns_after_an_error(toy) -> None:
    with pytest.raises(ZeroDivisionError), backends.fallback("allow"):
        _ = 1 / 0
    assert backends.get_fallback() == "error"


@pytest.mark.parametrize("policy", ["", "Allow", None, 1])
def test_unknown_policies(policy) -> None:
    with pytest.raises(ArgumentError, match="is not known"):
        backends.set_fallback(policy)
    with pytest.raises(ArgumentError, match="is not known"):
        backends.fallback(policy)
    assert backends.get_fallback() == "error"


def test_an_error_on_the_host_is_explained_as_on_the_device(toy) -> None:
    x, y = polyad.ones(2, 3, device="toy"), polyad.ones(4, device="toy")
    with backends.fallback("allow"), pytest.raises(RuntimeError, match="add:") as caught:
        x + y
    assert caught.value.lines["input"] == "float32 (2, 3) on toy:0"


# ------------------------------------------------------------------------------------------------------- two at once


def test_two_backends_at_once(toy, make_toy) -> None:
    with backends.register("other", make_toy()), backends.fallback("allow"):
        a, b, c = (polyad.ones(2, device=device, requires_grad=True) for device in ("toy", "other", "cpu"))
        total = (a * 2).cpu() + (b * 3).cpu() + c
        total.sum().backward()
        assert [x.grad.tolist() for x in (a, b, c)] == [[2.0, 2.0], [3.0, 3.0], [1.0, 1.0]]
        assert [str(x.grad.device) for x in (a, b, c)] == ["toy:0", "other:0", "cpu"]
        assert {record.device for record in backends.fallback_report()} == {"toy:0", "other:0"}


def test_mixed_devices_are_refused_by_argument_name(toy) -> None:
    a, b = polyad.ones(2, device="toy"), polyad.ones(2, 1)
    for call, first, second in ((a.__add__, a, b), (b.__mul__, b, a)):
        with pytest.raises(DeviceError, match="operands are on different devices") as caught:
            call(second)
        assert caught.value.lines == {
            "input": f"float32 {tuple(first.shape)} on {first.device}",
            "other": f"float32 {tuple(second.shape)} on {second.device}",
        }
        assert ".to(device)" in caught.value.fix
    with pytest.raises(DeviceError, match="operands are on different devices"):
        polyad.ones(1, device="toy:0") + polyad.ones(1, device="toy:1")
    with pytest.raises(DeviceError, match=r"^matmul: operands are on different devices"):
        polyad.ones(2, 2, device="toy") @ polyad.ones(2, 2)
    with pytest.raises(DeviceError, match=r"add_|different devices"):
        a.add_(polyad.ones(2))
    with backends.fallback("allow"):
        assert (a + 1).tolist() == [2.0, 2.0]  # the failed calls left nothing behind


def test_a_dtype_that_one_device_lacks(make_toy) -> None:
    class Small(make_toy):
        def capabilities(self, device) -> Capabilities:
            return Capabilities(dtypes=frozenset({float32} | ({float64} if device.index else set())))

    with backends.register("small", Small()):
        assert polyad.ones(1, device="small:1", dtype=float64).tolist() == [1.0]
        with pytest.raises(RuntimeError, match="small:0 has no float64"):
            polyad.ones(1, device="small:0", dtype=float64)
        with pytest.raises(RuntimeError, match="small:0 has no float64"):
            polyad.ones(1, dtype=float64).to("small:0")
