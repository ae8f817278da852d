"""Einstein summation. The reference is a loop over all indices, written from the definition."""

from __future__ import annotations

import itertools

import numpy as np

from polyad.base.dtypes import bool_, complex128, float16, float32, float64, int64, uint8

from ...sample import INTEGERS, NUMBERS, ErrorCase, Sample, as_int64, as_sum

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)


def summed(equation, *operands):
    """Every label takes every value; the products are added up at the output's place."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    dots = "αβγ"
    longest = max((operand.ndim - len(term.replace("...", ""))) for term, operand in zip(terms, operands))

    def spelled(term, count):
        return term.replace("...", dots[len(dots) - count :] if count else "")

    terms = [
        spelled(term, operand.ndim - len(term.replace("...", ""))) if "..." in term else term
        for term, operand in zip(terms, operands)
    ]
    if "->" in equation:
        output = spelled(output, longest)
    else:
        every = "".join(terms)
        output = "".join(sorted({one for one in every if one in dots}))
        output += "".join(sorted(one for one in set(every) if one not in dots and every.count(one) == 1))
    sizes = {}
    for term, operand in zip(terms, operands):
        for label, size in zip(term, operand.shape):
            sizes[label] = max(size, sizes.get(label, size)) if size and sizes.get(label, 1) else 0
    made = np.zeros([sizes[label] for label in output], np.result_type(*operands))
    for place in itertools.product(*[range(size) for size in sizes.values()]):
        at = dict(zip(sizes, place))
        value = 1
        for term, operand in zip(terms, operands):
            index = tuple(at[label] if size != 1 else 0 for label, size in zip(term, operand.shape))
            value = value * operand[index]
        made[tuple(at[label] for label in output)] += value
    return made


def magnitude(equation, *operands):
    return summed(equation, *[np.abs(operand) for operand in operands])


def sample(equation, *shapes, name="", dtypes=DIFFERENTIABLE, **fields):
    return Sample(
        op="einsum",
        name=name or equation,
        inputs=lambda make: (equation, *[make(shape) for shape in shapes]),
        reference=summed,
        magnitude=magnitude,
        dtypes=dtypes,
        gradient=True,
        steps=2 * len(shapes),
        length=12,
        **fields,
    )


SAMPLES = [
    sample("ij,jk->ik", (3, 4), (4, 5), dtypes=NUMBERS),
    sample("ij,jk->ki", (3, 4), (4, 2)),
    sample("ji,kj", (4, 3), (2, 4), name="transposed, no output"),
    sample("bij,bjk->bik", (2, 3, 4), (2, 4, 2), dtypes=FEW),
    sample("bqhd,bkhd->bhqk", (2, 2, 2, 3), (2, 3, 2, 3), name="attention"),
    sample("...ij,...jk->...ik", (2, 1, 2, 3), (2, 3, 2), name="ellipses broadcast"),
    sample("ii->i", (3, 3), aliasing="view", dtypes=FEW),
    sample("ij->", (3, 4), dtypes=FEW, result=as_sum),
    sample("iij,jk->k", (2, 2, 3), (3, 2), name="diagonal of a factor"),
    sample("ij,j->ij", (3, 4), (4,), name="nothing summed"),
    sample("ij,ij->j", (3, 1), (3, 4), name="a size of 1 broadcasts"),
    sample("ij,jk,kl,lm->im", (2, 3), (3, 2), (2, 3), (3, 2), name="four factors"),
    sample("ab,bc,cd,de,ef,fg,gh,ha->", *[(2, 2)] * 8, name="a ring of eight", dtypes=(float64,)),
    sample("ij,jk->ik", (2, 0), (0, 3), name="sum of nothing"),
    sample("...j,j->...", (4,), (4,), name="an empty ellipsis"),
    sample(",ij->ji", (), (2, 3), name="0-d"),
    Sample(
        op="einsum",
        name="sublists",
        inputs=lambda make: (make((2, 3)), [0, 1], make((4, 3)), [2, 1], [2, 0]),
        reference=lambda a, _, b, __, ___: b @ a.T,
        magnitude=lambda a, _, b, __, ___: np.abs(b) @ np.abs(a.T),
        dtypes=DIFFERENTIABLE,
        gradient=(0, 2),
        length=3,
    ),
    *[
        Sample(
            op="einsum",
            name=f"{equation} of {alone.name} and another dtype",
            inputs=lambda make, equation=equation, alone=alone, rest=rest: (
                equation,
                make.of(alone)((40,), 1, 100),
                *[make(one) for one in rest],
            ),
            reference=summed,
            magnitude=magnitude,
            dtypes=(float32, float64),
            gradient=tuple(range(2, 2 + len(rest))),
            steps=8,
            length=120,
        )
        for equation, alone, rest in (
            ("i,j->j", bool_, ((2,),)),
            ("i,->", uint8, ((),)),
            ("i,jk,k->j", uint8, ((2, 3), (3,))),
            ("i,i,j->j", uint8, ((40,), (3,))),
        )
    ],
    Sample(
        op="einsum",
        name="integers that are summed alone",
        inputs=lambda make: ("i,j->j", make((40,), 1, 100), make((2,), 1, 100)),
        reference=summed,
        dtypes=INTEGERS,
        result=as_int64,
    ),
]


def wrong(name, match, *given, raises=RuntimeError):
    return ErrorCase(
        op="einsum",
        name=name,
        call=lambda op, tensor: op(*[tensor(*one) if isinstance(one, tuple) else one for one in given]),
        raises=raises,
        match=match,
    )


ERRORS = [
    wrong("sizes", r"einsum: subscript j has size 4 .* 3 before\n.*operand 0 .*\n.*operand 1", "ij,jk", (2, 3), (4, 5)),
    wrong("diagonal", r"einsum: subscript i comes twice in operand 0, with sizes 2 and 3", "ii", (2, 3)),
    wrong("too few subscripts", r"einsum: operand 0 has 2 dimensions, its subscripts 'i' are for 1", "i->i", (2, 3)),
    wrong("unknown output", r"einsum: the output's subscript k is in no operand", "ij->k", (2, 3)),
    wrong("output twice", r"einsum: the output has subscript i more than once", "ij->ii", (2, 3)),
    wrong("number of operands", r"einsum: the equation 'ij,j' is for 2 operands, 1 are given", "ij,j", (2, 3)),
    wrong("no letter", r"einsum: '1' in operand 0 'i1' is no subscript", "i1", (2, 3)),
    wrong("a lonely dot", r"einsum: the '\.' in operand 0", "i.j", (2, 3)),
    wrong("no operand", r"einsum: there is no operand", "ij", raises=ValueError),
    wrong("a number", r"einsum: operand 1 is int", "i,i", (2,), 3, raises=TypeError),
    wrong("subscript out of range", r"einsum: the subscript 52 is not in", (2, 3), [0, 52], raises=ValueError),
]
