"""Objects and files that cannot be saved."""

from collections import namedtuple

import pytest

import polyad
from polyad import nn
from saved_files import saved, through

Pair = namedtuple("Pair", "a b")


class Odd(dict):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {2}]}, r"the object\['a'\]\[1\] is of type builtins.set"),
        (Pair(1, 2), "Pair"),
        (Odd(), "Odd"),
        (print, "builtin_function_or_method"),
        (polyad, "module"),
        (nn.ReLU(), r"(.|\n)*state_dict\(\)"),
        ({polyad.zeros(1): 1}, "the key"),
        ({Pair(1, 2): 1}, "the key Pair"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_refused_with_the_place(value, message):
    with pytest.raises(TypeError, match=message):
        saved(value, format="polyad")


def test_numpy_values_are_refused_with_advice():
    import numpy

    with pytest.raises(TypeError, match=r"numpy.float64(.|\n)*\.item\(\)"):
        saved({"lr": numpy.float64(1)}, format="polyad")


def test_cycles_and_depths_are_refused():
    cycle = []
    cycle.append({"again": cycle})
    with pytest.raises(RuntimeError, match=r"the object\[0\]\['again'\] contains itself"):
        saved(cycle)
    deep = []
    for _ in range(99):
        deep = [deep]
    assert through(deep) == deep
    with pytest.raises(RuntimeError, match="nested more than 100 levels"):
        saved([deep])
    shared = [1]
    assert through([shared, shared]) == [[1], [1]]


def test_huge_integers_are_refused():
    assert through(2**4000) == 2**4000
    with pytest.raises(RuntimeError, match="more than 4096 bits"):
        saved(2**5000)


@pytest.mark.parametrize("function", [lambda f: polyad.save(1, f), polyad.load])
def test_f_must_be_a_path_or_a_file(function):
    with pytest.raises(TypeError, match="f is int, neither a path nor a file"):
        function(3)


def test_text_files_are_refused(tmp_path):
    with open(tmp_path / "a", "w") as file, pytest.raises(TypeError, match='mode "wb"'):
        polyad.save(1, file)
    polyad.save("plain", tmp_path / "b")
    with open(tmp_path / "b") as file, pytest.raises(RuntimeError, match='mode "rb"'):
        polyad.load(file)
