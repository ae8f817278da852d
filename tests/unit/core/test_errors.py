"""The style of errors."""

import pytest

import polyad
from polyad.errors import PolyadError, ShapeError, describe


def test_an_error_names_operands_place_and_fix() -> None:
    error = ShapeError("matmul: no", operands={"input": polyad.zeros(2, 3), "other": 2.5}, fix="transpose it")
    error.add_module("", "Linear 784 -> 10")
    error.add_module("1", "")
    assert str(error).splitlines() == [
        "matmul: no",
        "    input  float32 (2, 3) on cpu",
        "    other  float 2.5",
        "    in     model.1 (Linear 784 -> 10)",
        "    fix    transpose it",
    ]


def test_an_error_keeps_no_tensor_alive() -> None:
    import weakref

    x = polyad.zeros(3)
    seen = weakref.ref(x)
    error = ShapeError("no", operands={"x": x})
    del x
    assert seen() is None
    assert "float32 (3,)" in str(error)


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("ShapeError", RuntimeError), ("DTypeError", RuntimeError), ("DeviceError", RuntimeError),
        ("ArgumentTypeError", TypeError), ("ArgumentError", ValueError), ("IndexOutOfRange", IndexError),
        ("NotSupported", NotImplementedError), ("MissingKernel", NotImplementedError), ("OutOfMemory", MemoryError),
        ("BackendNotFound", RuntimeError), ("AutogradError", RuntimeError), ("KernelFailure", RuntimeError),
    ],
)  # fmt: skip
def test_errors_are_what_pytorch_users_catch(name: str, builtin: type[Exception]) -> None:
    kind = getattr(polyad.errors, name)
    assert issubclass(kind, builtin)
    assert issubclass(kind, PolyadError)


def test_long_values_are_cut() -> None:
    assert len(describe(list(range(1000)))) < 80


def test_the_shape_rule_explains_a_kernels_failure() -> None:
    with pytest.raises(ShapeError) as caught:
        polyad.zeros(2, 3) + polyad.zeros(4)
    text = str(caught.value)
    assert "add: shapes (2, 3) and (4,) do not agree in dimension -1: 3 != 4" in text
    assert "input  float32 (2, 3) on cpu" in text
    assert "fix" in text


def test_a_failed_kernel_is_told_in_the_name_of_the_function_that_was_called(monkeypatch) -> None:
    import polyad
    from polyad.dispatch.catalogue import OPS
    from polyad.dispatch.plan import describe_failure

    x = polyad.ones(2, 2)
    problem = describe_failure(OPS["exp"], (x,), RuntimeError("the device is gone"))
    assert "check shapes" not in problem.fix
    assert "driver" in problem.fix
    assert "check shapes" in describe_failure(OPS["exp"], (x,), ValueError("odd")).fix
    polyad.linalg.svd(x)

    def fail(*_):
        raise RuntimeError("the device is gone")

    for plan in OPS["linalg_svd"].plans.values():
        monkeypatch.setattr(plan, "kernel", fail)
    with pytest.raises(polyad.errors.KernelFailure, match=r"^pinv: the kernel of linalg_svd failed: Runt"):
        polyad.linalg.pinv(x)
