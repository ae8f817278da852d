"""Families of ops are loaded when one of their names is first wanted, and then whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polyad.dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC, Catalogue
from polyad.ops import declared_names
from polyad.ops.declaring.attach import IN_PLACE


def fresh(program: str) -> str:
    """What *program* prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FAMILIES = (
    "sorted({m.split('.')[2] for m in sys.modules if m.startswith('polyad.ops.')} - {'declared_names', 'declaring'})"
)


def test_import_loads_no_family_and_no_numpy() -> None:
    assert fresh(f"import sys, polyad; print({FAMILIES}, 'numpy' in sys.modules)") == "[] False"


def test_an_addition_loads_what_it_needs() -> None:
    program = f"import sys, polyad; polyad.ones(2) + 1; print({FAMILIES})"
    assert fresh(program) == "['creation', 'memory', 'pointwise', 'shaping']"


def test_a_training_step_loads_what_it_needs() -> None:
    program = f"""
import sys, polyad
layer = polyad.nn.Linear(2, 1)
optimizer = polyad.optim.SGD(layer.parameters(), lr=0.1)
layer(polyad.ones(3, 2)).sum().backward()
optimizer.step()
print(set({FAMILIES}) & {{'fft', 'linalg', 'special'}}, 'polyad.transforms.batching' in sys.modules)
"""
    assert fresh(program) == "set() False"


def test_a_function_is_looked_up_once() -> None:
    program = "import polyad; polyad.exp; print('exp' in vars(polyad), polyad.exp is polyad.functions.exp)"
    assert fresh(program) == "True True"


def test_everything_is_listed_and_star_imported_before_it_is_loaded() -> None:
    program = """
import sys, polyad
print({'exp', 'linalg', 'tensor', 'float32'} <= set(dir(polyad)), 'svd' in dir(polyad.linalg), hasattr(polyad, 'svd_'))
print('polyad.ops.linalg.svd' in sys.modules)
from polyad import *
print(exp is polyad.exp, tensor([1.0]).dtype is float32, 'importlib' in globals())
"""
    assert fresh(program) == "True True False\nFalse\nTrue True False"


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("x = polyad.ones(2); x += 1; print(x.tolist())", "[2.0, 2.0]"),
        ("print((2 - polyad.ones(2)).tolist())", "[1.0, 1.0]"),
        ("z = polyad.zeros(1, dtype=polyad.complex64); z.real = polyad.ones(1); print(z.tolist())", "[(1+0j)]"),
        ("print(polyad.Tensor.exp is polyad.Tensor.exp, polyad.Tensor.exp.__name__)", "True exp"),
        ("class T(polyad.Tensor): pass\nprint(T.sum.__name__, isinstance(T.__dict__.get('sum'), object))", "sum True"),
        ("print(callable(polyad.Tensor.__add__), polyad.ones(1).__add__(1).item())", "True 2.0"),
        ("print(hasattr(polyad.Tensor, 'relu_'), hasattr(polyad.Tensor, 'no_such'))", "True False"),
        ("print(bool(polyad.ones(1)), len(polyad.ones(3)), polyad.ones(2)[0].item(), -polyad.ones(()) == -1)",
         "True 3 1.0 tensor(True)"),
        ("print(polyad.nn.functional.relu(polyad.tensor([-1.0])).item())", "0.0"),
    ],
)  # fmt: skip
def test_the_first_use_is_like_any_other(program: str, result: str) -> None:
    assert fresh(f"import polyad\n{program}") == result


@pytest.mark.parametrize(
    ("name", "body", "use", "result"),
    [
        ("mul", "def mul(self, o): return super().mul(o) * 2", "x.mul(3)", "[6.0, 6.0]"),
        ("add_", "def add_(self, o): super().add_(o); return super().add_(o)", "x.add_(1)", "[3.0, 3.0]"),
        ("__mul__", "def __mul__(self, o): return super().__mul__(o).add(1)", "(x * 3)", "[4.0, 4.0]"),
        ("T", "T = property(lambda self: super(S, self).T + 1)", "x.T", "[2.0, 2.0]"),
        (
            "cos",
            "@classmethod\n    def cos(cls): return super().cos.__name__",
            "polyad.tensor([float(len(S.cos()))])",
            "[3.0]",
        ),
    ],
)
def test_super_goes_on_where_it_was_called_at_first_use_too(name: str, body: str, use: str, result: str) -> None:
    program = f"""
import polyad
class S(polyad.Tensor):
    {body}
x = polyad.ones(2).as_subclass(S)
print({use}.tolist())
x = polyad.ones(2).as_subclass(S)
print({use}.tolist())
"""
    assert fresh(program) == f"{result}\n{result}"


def test_attributes_are_deleted_and_set_as_on_any_class() -> None:
    program = """
import polyad
x = polyad.ones(1)
try: del x.cos
except AttributeError as error: print("no cos of its own")
x.sin = 5
from polyad.tensor.methods import TensorMethods
print(x.sin, vars(x), polyad.Tensor.sin(polyad.zeros(1)).item(), repr(vars(TensorMethods)["tan"]))
"""
    assert fresh(program) == "no cos of its own\n5 {'sin': 5} 0.0 <the attribute tan of Tensor, not used yet>"


@pytest.mark.parametrize("module", ["linalg", "fft", "special", "nn.functional", "functions"])
def test_a_namespace_is_star_imported_whole(module: str) -> None:
    program = f"from polyad.{module} import *\nprint(sorted(n for n in globals() if n[0] != '_'))"
    prefix = "" if module == "functions" else f"{module}."
    paths = [path.removeprefix(prefix) for path in PUBLIC if path.startswith(prefix)]
    more = {
        "linalg": {"LinAlgError"},
        "functions": IN_PLACE,
        "nn.functional": {"ScalingType", "SwizzleType"},
    }.get(module, set())
    shown = {path for path in paths if "." not in path and path[0] != "_"} | more
    assert fresh(program) == str(sorted(shown))


def test_polyad_is_reloaded() -> None:
    assert fresh("import polyad, importlib; print(importlib.reload(polyad).tensor([1.0]).item())") == "1.0"


def test_an_op_of_somebody_else_is_a_method_too() -> None:
    program = """
import polyad
from polyad import Tensor
from polyad.dispatch.op import composite
from polyad.dispatch.structure import pointwise
@composite(structure=pointwise)
def log_cosh(input: Tensor) -> Tensor:
    return input.cosh().log()
print(polyad.zeros(1).log_cosh().item(), polyad.log_cosh is log_cosh)
try:
    @composite(structure=pointwise)
    def fill_diagonal_(input: Tensor) -> Tensor: ...
except TypeError as error:
    print(error)
print("fill_diagonal_" in polyad.dispatch.catalogue.OPS.names())
"""
    lines = fresh(program).splitlines()
    assert lines[0] == "0.0 True"
    assert lines[1].startswith("fill_diagonal_ is declared twice: in polyad.ops.")
    assert lines[2] == "False"


def test_a_missing_name_is_an_attribute_error() -> None:
    for module in ("polyad", "polyad.linalg", "polyad.nn.functional"):
        program = f"import {module} as m\ntry: m.no_such\nexcept AttributeError as error: print(error)"
        assert fresh(program) == f"module {module!r} has no attribute 'no_such'"


def test_the_index_says_where_each_name_is_declared() -> None:
    for table, catalogue in (
        (declared_names.OPS, OPS),
        (declared_names.FUNCTIONS, PUBLIC),
        (declared_names.ATTRIBUTES, ATTRIBUTES),
    ):
        homes = {name: f"polyad.ops.{module}" for module, names in table.items() for name in names.split()}
        assert {name: catalogue[name].module for name in homes} == homes


def test_a_thread_never_gets_half_a_family() -> None:
    # The gradient of an op is declared below it: another thread must not find the op in between.
    program = """
import sys, threading
import polyad
from polyad.dispatch.catalogue import OPS
sys.setswitchinterval(1e-6)
names = ["exp", "sigmoid", "log1p", "sin", "tanh", "sqrt", "gemm", "cumsum", "gather", "softmax", "linalg_qr"]
found, barrier = [], threading.Barrier(8)
def look():
    barrier.wait()
    for name in names:
        found.append((name, len(OPS[name].formulas)))
threads = [threading.Thread(target=look) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(found), len(set(found)), min(count for _, count in found))
"""
    assert fresh(program) == "88 11 1"


class Entry:
    """What a catalogue holds, as far as it looks."""

    def __init__(self, module: str) -> None:
        self.module = module


def test_a_name_is_declared_once() -> None:
    catalogue: Catalogue[Entry] = Catalogue()
    catalogue.index({"known": "a.module"})
    with pytest.raises(TypeError, match=r"known is declared twice: in a\.module and another"):
        catalogue.declare("known", Entry("another"))
    catalogue.declare("new", Entry("a"))
    with pytest.raises(TypeError, match="new is declared twice: in a and b"):
        catalogue.declare("new", Entry("b"))


def test_an_index_that_is_wrong_does_not_go_unnoticed() -> None:
    catalogue: Catalogue[Entry] = Catalogue()
    catalogue.index({"lost": "math"})
    assert "lost" in catalogue
    with pytest.raises(KeyError, match="lost"):
        catalogue["lost"]
    assert catalogue.get("no_such") is None
