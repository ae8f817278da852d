"""Every declared parameter can be given by its name: a call means the same with all its arguments by name, as a
function and as a method.

The calls are the conformance samples, the first of each function. What names PyTorch has is compared by
tests/oracle/test_keywords.py.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import polyad
from polyad import Tensor
from polyad.base.dtypes import float32
from polyad.dispatch.front import SPREAD
from polyad.dispatch.op import PUBLIC
from polyad_conformance.calls import draw, kwargs_of
from polyad_conformance.sample import Sample
from polyad_conformance.samples import families

POSITIONAL = frozenset(
    {"atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
     "chain_matmul", "einsum", "max", "meshgrid", "min", "to"}
)  # fmt: skip
"""Functions of several things in a row that have no name, as in PyTorch."""


def first_samples() -> dict[str, Sample]:
    """The first sample of each public function."""
    found: dict[str, Sample] = {}
    for samples, _ in families().values():
        for sample in samples:
            if sample.op in PUBLIC and sample.call is None:
                found.setdefault(sample.op, sample)
    return found


SAMPLES = first_samples()


def named(path: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names."""
    bound = inspect.signature(PUBLIC[path].call).bind(*args, **kwargs)
    parameters = bound.signature.parameters
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            assert name in SPREAD, f"{path}: *{name} cannot be given by name; its name belongs into SPREAD"
            found[name] = value[0] if len(value) == 1 and not isinstance(value[0], int) else value
        else:
            found[name] = value
    return found


def results(value: Any) -> list[Any]:
    """The tensors in a result, as lists; what is no tensor as it is."""
    if isinstance(value, Tensor):
        value.data_ptr()  # that it has memory, and is no number
        return [(value.dtype, value.shape, value.numpy(force=True).tobytes())]
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in results(item)]
    return [value]


def fresh(value: Any) -> Any:
    """*value* with clones of its tensors, since some functions write to them."""
    if isinstance(value, Tensor):
        return value.clone()
    return [fresh(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(set(SAMPLES) - POSITIONAL))
def test_all_arguments_by_name(path: str) -> None:
    sample, public = SAMPLES[path], PUBLIC[path]
    dtype = float32 if float32 in sample.dtypes else sample.dtypes[0]
    given = draw(sample, dtype, 0)
    kwargs, _ = kwargs_of(sample, dtype, "cpu", given)
    args = [polyad.tensor(one) if hasattr(one, "dtype") and hasattr(one, "strides") else _made(one) for one in given]

    def called(function: Any, names: dict[str, Any], *first: Any) -> list[Any]:
        polyad.manual_seed(0)
        return results(function(*first, **names))

    polyad.manual_seed(0)
    expected = results(public.call(*fresh(args), **kwargs))
    names = named(path, fresh(args), kwargs)
    if "empty" in path:
        expected = [one[:2] for one in expected]
        assert [one[:2] for one in called(public.call, names)] == expected
        return
    assert called(public.call, names) == expected
    if public.method and args and isinstance(args[0], Tensor):
        names = named(path, fresh(args), kwargs)
        first = names.pop(next(iter(names)))
        assert called(getattr(Tensor, public.name), names, first) == expected


def _made(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(polyad.tensor(one) if hasattr(one, "strides") else _made(one) for one in value)
    return value


@pytest.mark.parametrize("path", [path for path in PUBLIC if path not in POSITIONAL])
def test_what_is_given_in_a_row_has_a_name(path: str) -> None:
    parameters = inspect.signature(PUBLIC[path].call).parameters.values()
    rows = [one.name for one in parameters if one.kind is one.VAR_POSITIONAL]
    assert set(rows) <= SPREAD, f"{path}: {rows} cannot be given by name"


def test_methods_that_are_no_functions() -> None:
    x = polyad.arange(6.0).reshape(2, 3)
    assert x.new_zeros(size=(2,)).shape == (2,)
    assert x.new_ones(size=[1, 2]).shape == (1, 2)
    assert x.new_empty(size=(2,), dtype=polyad.int64).dtype is polyad.int64
    assert x.clone().resize_(size=(3, 2)).shape == (3, 2)
    assert x.clone().unsqueeze_(dim=0).shape == (1, 2, 3)
    assert x.clone().transpose_(dim0=0, dim1=1).shape == (3, 2)
    assert x.clone().as_strided_(size=(2,), stride=(1,), storage_offset=1).tolist() == [1.0, 2.0]


def test_a_size_by_position_and_by_name_is_refused() -> None:
    with pytest.raises(TypeError, match="size was given twice"):
        polyad.zeros(2, size=(3,))


def test_a_size_of_nothing() -> None:
    assert polyad.zeros(size=()).shape == ()
    assert polyad.arange(6).view(size=(2, 3)).shape == (2, 3)
    assert polyad.arange(6).flip(dims=(0,)).tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: polyad.randint(high=3, size=(2, 3)),
        lambda: polyad.randint(3, size=(2, 3)),
        lambda: polyad.randint(low=0, high=3, size=(2, 3)),
        lambda: polyad.randint(3, (2, 3)),
        lambda: polyad.randint(0, 3, (2, 3)),
    ],
)
def test_the_forms_of_randint(call: Any) -> None:
    polyad.manual_seed(0)
    expected = polyad.randint(0, 3, (2, 3))
    polyad.manual_seed(0)
    assert polyad.equal(call(), expected)


@pytest.mark.parametrize("function", ["hsplit", "vsplit", "tensor_split"])
def test_the_other_names_of_splitting(function: str) -> None:
    x = polyad.arange(8).reshape(4, 2)
    split = getattr(polyad, function)
    assert len(split(x, sections=2)) == len(split(x, indices_or_sections=2)) == 2
    assert len(split(x, indices=[1])) == 2
    assert len(x.split(split_size=2)) == 2


def test_a_result_of_one_element_has_memory() -> None:
    assert polyad.arange(3.0).take(polyad.tensor(1)).data_ptr()


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (lambda x: polyad.pow(self=2, exponent=x), [2.0, 4.0, 8.0]),
        (lambda x: polyad.float_power(self=2, exponent=x), [2.0, 4.0, 8.0]),
        (lambda x: polyad.remainder(self=3, other=x), [0.0, 1.0, 0.0]),
        (lambda x: polyad.bitwise_xor(self=1, other=x.int()), [0, 3, 2]),
        (lambda x: polyad.special.xlogy(self=0, other=x), [0.0, 0.0, 0.0]),
        (lambda x: polyad.special.xlog1py(self=0, other=x), [0.0, 0.0, 0.0]),
        (lambda x: polyad.where(condition=x > 1, self=0.0, other=x), [1.0, 0.0, 0.0]),
        (lambda x: polyad.bucketize(self=2.5, boundaries=x), 2),
        (lambda x: polyad.searchsorted(sorted_sequence=x, self=2.5), 2),
        (lambda x: polyad.isin(elements=x, test_element=2), [False, True, False]),
        (lambda x: polyad.isin(element=2, test_elements=x), True),
        (lambda x: [len(part) for part in polyad.split(tensor=x, split_size_or_sections=2)], [2, 1]),
        (lambda x: polyad.repeat_interleave(repeats=x.int()), [0, 1, 1, 2, 2, 2]),
        (lambda x: polyad.linalg.vector_norm(input=x, ord=1), 6.0),
        (lambda x: polyad.linalg.eigvals(input=x.diag()).real, [1.0, 2.0, 3.0]),
        (lambda x: x.add(2, 3), [7.0, 8.0, 9.0]),
        (lambda x: polyad.result_type(scalar=1, tensor=x), polyad.float32),
        (lambda x: polyad.result_type(tensor=x.int(), other=1.0), polyad.float32),
        (lambda x: polyad.result_type(scalar1=1, scalar2=1.0), polyad.float32),
        (lambda x: x.clone().uniform_(**{"from": 0.0, "to": 0.0}), [0.0, 0.0, 0.0]),
        (lambda x: x.clone().random_(**{"from": 4, "to": 5}), [4.0, 4.0, 4.0]),
    ],
)  # fmt: skip
def test_the_names_of_overloads(called: Any, expected: Any) -> None:
    """What PyTorch calls a parameter in one of its overloads."""
    value = called(polyad.tensor([1.0, 2.0, 3.0]))
    assert (value.tolist() if isinstance(value, Tensor) else value) == expected


def test_a_name_of_an_overload_for_what_is_given_already_is_refused() -> None:
    with pytest.raises(TypeError, match="bitwise_and: got an unexpected keyword argument 'self'"):
        polyad.bitwise_and(polyad.tensor(1), polyad.tensor(1), self=2)
    with pytest.raises(TypeError, match="bitwise_and: missing required argument 'other'"):
        polyad.bitwise_and(polyad.tensor(1))


def test_the_order_of_dimensions_may_be_asked_to_be_the_only_one() -> None:
    x = polyad.ones(2, 3, 1)
    assert x.dim_order() == (0, 1, 2)
    assert x.transpose(0, 1)[..., 0].dim_order(ambiguity_check=True) == (1, 0)
    with pytest.raises(RuntimeError, match="dim_order: more than one order fits"):
        x.dim_order(ambiguity_check=True)
    assert x.dim_order(ambiguity_check=[polyad.contiguous_format]) == (0, 1, 2)
