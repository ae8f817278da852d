"""The style of errors."""

import ast
from pathlib import Path

import numpy as np
import pytest

import polyad
from polyad import errors
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


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_what_cannot_be_shown_is_described() -> None:
    nested: list[object] = []
    for _ in range(200_000):
        nested = [nested]
    assert describe(Unshowable()) == "Unshowable (its repr() fails: RuntimeError)"
    assert describe(nested) == "list (its repr() fails: RecursionError)"
    assert describe(polyad.Tensor).startswith("type <class")
    assert describe(polyad).startswith("module ")  # it has a dtype and a device, and no shape


@pytest.mark.parametrize("wrong", [polyad.Tensor, polyad, Unshowable(), np.array([0, 1]), np.array(["a"]), [1, None]])
def test_whatever_stands_for_a_tensor_or_a_dimension_is_named(wrong: object) -> None:
    x = polyad.ones(2, 2)
    calls = {
        "exp": lambda: polyad.exp(wrong),
        "sum": lambda: x.sum(dim=wrong),
        "flip": lambda: x.flip(wrong),
        "roll": lambda: x.roll(1, wrong),
        "split": lambda: x.split(wrong),
        "zeros": lambda: polyad.zeros(wrong),
        "index_put": lambda: x.index_put([wrong], x),
        "select": lambda: x.select(wrong, 0),
        "grad": lambda: polyad.autograd.grad(wrong, wrong),
        "new_ones": lambda: x.new_ones(2, device=wrong),
    }
    for name, call in calls.items():
        with pytest.raises(PolyadError) as raised:
            call()
        assert "\n    fix " in str(raised.value), name
        assert "report a defect" not in str(raised.value), name


def raised_without_a_fix(path: Path) -> list[str]:
    """Where a module makes an error of polyad's that says nothing of what to do."""
    ours = {name for name in dir(errors) if isinstance(getattr(errors, name), type)}
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            keywords = [keyword.arg for keyword in node.exc.keywords]
            if node.exc.func.id in ours and "fix" not in keywords and None not in keywords:
                found.append(f"{path.name}:{node.lineno} {node.exc.func.id}")
    return found


def test_each_error_says_what_to_do() -> None:
    root = Path(polyad.__file__).parent
    assert [line for path in sorted(root.rglob("*.py")) for line in raised_without_a_fix(path)] == []
