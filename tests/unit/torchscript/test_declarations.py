"""What carries out an operator takes the arguments of its declaration, in the declaration's order."""

from __future__ import annotations

import inspect

import pytest

from polyad.torchscript.operators.schemas import NO_DEFAULT, Argument, Schema, _declarations, schemas_of
from polyad.torchscript.running.operators import _holds_tensor, implementation

BY_KIND = {
    "arange", "backward", "copy_", "gru", "lstm", "nuclear_norm", "randint", "randint_like", "random_", "result_type",
    "rnn_relu", "rnn_tanh", "std", "std_mean", "var", "var_mean",
}  # fmt: skip
"""Functions that look at what kinds of arguments they are given, of which a declaration is one."""

SAME = {
    ("train", "training"), ("other", "src"), ("value", "src"), ("b", "other"), ("label_smoothing", "smoothing"),
    ("test_element", "test_elements"), ("element", "elements"), ("from", "from_"), ("el", "indices"), ("t", "data"),
    ("sections", "indices_or_sections"), ("indices", "indices_or_sections"), ("split_size", "split_size_or_sections"),
    ("split_sizes", "split_size_or_sections"), ("tensor_indices_or_sections", "indices_or_sections"), ("input2", "L"),
    ("input2", "tau"), ("input3", "other"), ("b", "B"), ("other", "B"), ("input", "A"), ("key", "index"),
    ("key", "element"), ("dict", "self"), ("l", "container"), ("idx", "key"), ("v", "value"), ("inputs", "values"),
    ("input", "values"), ("a", "real"), ("a", "x"), ("a", "value"), ("self", "input"),
}  # fmt: skip
"""Names of one argument: the declaration's, and the function's."""

CHECKED = [
    schema
    for name in sorted(_declarations())
    if name.startswith("aten::")
    for schema in schemas_of(name)
    if any(_holds_tensor(one.type) for one in schema.arguments) or _holds_tensor(schema.result)
]


def mismatch(schema: Schema) -> str | None:
    """How the function of *schema* takes other arguments; None if it takes the same."""
    function = implementation(schema)
    if function is None:
        return None
    signature = inspect.signature(function)
    positional = [one for one in schema.arguments if not one.keyword_only]
    named = [one for one in schema.arguments if one.keyword_only and one.name not in ("layout", "pin_memory")]
    try:
        signature.bind(
            *[one for one in positional if one.default is NO_DEFAULT],
            **{one.name: one for one in named if one.default is NO_DEFAULT},
        )
        bound = signature.bind(*positional, **{one.name: one for one in named})
    except TypeError as error:
        return f"{schema}: {error}: {signature}"
    for name, value in bound.arguments.items():
        alike = not isinstance(value, Argument) or name == value.name or (value.name, name) in SAME
        first = isinstance(value, Argument) and value is positional[0]
        if not (alike or first or schema.name.partition("::")[2] in BY_KIND):
            return f"{schema}: {value.name} is {name} of {signature}"
    return None


def test_every_operator_takes_what_its_declaration_says() -> None:
    assert len(CHECKED) > 1000
    assert [found for schema in CHECKED if (found := mismatch(schema)) is not None] == []


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("torch.stft(x.flatten(), 4, 2, 4, None, False, True, True)", (3, 5)),
        ("torch.index_copy(x, 0, torch.tensor([1]), x[0:1])", (3, 4)),
        ("torch.fractional_max_pool2d(x[None], [2, 2], [2, 2], torch.rand(1, 1, 2))[0]", (1, 2, 2)),
        ("torch.randint(high=3, size=[2])", (2,)),
        ("torch.expand(x, [2, 3, 4], implicit=True)", (2, 3, 4)),
        ("torch.add(x, 1, out=torch.zeros(0))", (3, 4)),
        ("torch.tensordot(x, x, [0], [0], out=torch.zeros(0))", (4, 4)),
        ("torch._pack_padded_sequence(x, torch.tensor([3, 3, 1, 1]), False)[0]", (8,)),
    ],
)
def test_calls_by_declarations(text: str, shape: tuple[int, ...]) -> None:
    import polyad as torch

    unit = torch.jit.CompilationUnit(f"def f(x: Tensor) -> Tensor:\n    return {text}")
    assert tuple(unit.f(torch.randn(3, 4)).shape) == shape
