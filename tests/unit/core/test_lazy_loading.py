"""Families of ops are loaded when one of their names is first wanted, and then whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polyad.dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC, Catalogue
from polyad.ops import index


def fresh(program: str) -> str:
    """What *program* prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FAMILIES = "sorted({m.split('.')[2] for m in sys.modules if m.startswith('polyad.ops.')} - {'index', 'declaring'})"


def test_import_loads_no_family_and_no_numpy() -> None:
    assert fresh(f"import sys, polyad; print({FAMILIES}, 'numpy' in sys.modules)") == "[] False"


def test_an_addition_loads_what_it_needs() -> None:
    program = f"import sys, polyad; polyad.ones(2) + 1; print({FAMILIES})"
    assert fresh(program) == "['creation', 'memory', 'pointwise', 'shaping']"


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


def test_a_missing_name_is_an_attribute_error() -> None:
    for module in ("polyad", "polyad.linalg", "polyad.nn.functional", "polyad.ops"):
        program = f"import {module} as m\ntry: m.no_such\nexcept AttributeError as error: print(error)"
        assert fresh(program) == f"module {module!r} has no attribute 'no_such'"


def test_the_index_says_where_each_name_is_declared() -> None:
    for table, catalogue in ((index.OPS, OPS), (index.FUNCTIONS, PUBLIC), (index.ATTRIBUTES, ATTRIBUTES)):
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
