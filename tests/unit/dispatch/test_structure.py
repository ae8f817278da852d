"""What a declaration of structure gives and refuses; whether declarations are true is tested in
tests/unit/conformance.
"""

from __future__ import annotations

import pytest

import polyad
from polyad import Tensor
from polyad.dispatch.forward import reduction
from polyad.dispatch.op import OPS, composite, op_of, primitive
from polyad.dispatch.structure import ALL, Last, Pointwise, Reduction, Rowwise, creation, opaque, pointwise, shaping

pytestmark = pytest.mark.usefixtures("scratch")


def declared(structure=opaque, *params: str, operands: int = 1, outputs: tuple[str, ...] = ()):
    """An op of that structure."""
    names = [f"input{number}: Tensor" for number in range(operands)]
    scope = {"Tensor": Tensor, "__name__": __name__}
    exec(f"def test_op({', '.join([*names, *params])}): ...", scope)
    return op_of(composite(structure=structure, outputs=outputs)(scope["test_op"]))


def test_an_op_claims_nothing_unless_it_says_more() -> None:
    assert declared().structure is opaque
    assert OPS["permute"].structure is shaping
    assert OPS["exp"].structure == Pointwise()
    assert OPS["tanh_backward"].structure == Pointwise(broadcasts=False)


@pytest.mark.parametrize(
    ("dims", "params", "given", "expected"),
    [
        ("dim", ("dim",), (1,), (1,)),
        ("dim", ("dim",), (None,), (0, 1, 2)),
        ("axes", ("order", "axes"), (7, (0, 2)), (0, 2)),
        (ALL, (), (), (0, 1, 2)),
        (Last(2), (), (), (1, 2)),
        (Last("count"), ("count",), (1,), (2,)),
    ],
)
def test_dimensions_are_those_of_the_call(dims, params, given, expected) -> None:
    op = declared(Rowwise(dims), *params)
    assert op.structure.along(op, given, 3) == expected


def test_of_a_pointwise_op_the_shape_follows() -> None:
    op = declared(pointwise, "sizes", operands=3, outputs=("one", "other"))
    assert op.shape((3, 1), None, (4,), (9, 9)) == ((3, 4), (3, 4))


def test_of_a_reduction_the_shape_follows() -> None:
    op = declared(Reduction("axes"), "axes", "keepdim")
    assert op.shape((2, 3, 4), (0, 2), False) == (3,)
    assert op.shape((2, 3, 4), (0, 2), True) == (1, 3, 1)


def test_of_no_elements_there_is_no_extreme() -> None:
    op = declared(Reduction(ALL, "max"))
    assert op.shape((2, 3)) == ()
    with pytest.raises(IndexError, match="dimension 1 has no elements"):
        op.shape((2, 0))


@pytest.mark.parametrize(
    ("structure", "operands", "words"),
    [
        (Rowwise("dim"), 1, "'dim' is no parameter"),
        (Rowwise(Last("count")), 1, "'count' is no parameter"),
        (Reduction(ALL), 2, "a reduction has one operand"),
        (Reduction(), 1, "says over which dimensions"),
        (creation, 1, "a creation has no operands"),
    ],
)
def test_a_structure_that_the_op_cannot_have_is_refused(structure, operands: int, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        declared(structure, operands=operands)
    assert "test_op" not in OPS


def test_a_primitive_needs_a_shape() -> None:
    with pytest.raises(TypeError, match="give shape="):

        @primitive()
        def test_shapeless(input: Tensor) -> Tensor: ...


def test_a_forward_rule_of_reductions_needs_one() -> None:
    with pytest.raises(TypeError, match="its structure is no reduction"):
        reduction(polyad.exp)
