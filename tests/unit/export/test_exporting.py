"""Exported programs: what goes in, what comes out, what a call must look like, and what files hold."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polyad
from polyad import export, nn
from polyad.errors import BakedSize, SerializationError
from polyad.export import Dim
from polyad.graph.structure import leaves_of
from polyad.nn import functional as F


class Normed(nn.Module):
    """A model with all that a signature names."""

    table: polyad.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.tied = nn.Linear(4, 4, bias=False)
        self.again = nn.Linear(4, 4, bias=False)
        self.again.weight = self.tied.weight
        self.unused = nn.Parameter(polyad.ones(2))
        self.register_buffer("table", polyad.arange(4.0), persistent=False)
        self.scale = polyad.tensor([2.0])

    def forward(self, x: polyad.Tensor, *, by: dict[str, Any]) -> dict[str, Any]:
        y = self.again(self.tied(self.norm(self.first(x)))) * by["factor"] + self.table
        return {"y": y * self.scale, "rows": x.shape[0], "name": "normed"}


BATCH = Dim("batch", min=2, max=64)


def example(rows: int) -> tuple[tuple[polyad.Tensor], dict[str, Any]]:
    return (polyad.randn(rows, 3),), {"by": {"factor": polyad.randn(rows, 1)}}


def program(model: nn.Module) -> export.ExportedProgram:
    args, kwargs = example(4)
    shapes = {"x": {0: BATCH}, "by": {"factor": (BATCH, None)}}
    return export.export(model, args, kwargs, dynamic_shapes=shapes)


def alike(one: Any, other: Any) -> None:
    for a, b in zip(leaves_of(one, polyad.Tensor), leaves_of(other, polyad.Tensor), strict=True):
        polyad.testing.assert_close(a, b)


def test_a_program_says_what_goes_in_and_out() -> None:
    model = Normed()
    buffers = [buffer.clone() for buffer in model.buffers()]
    polyad.manual_seed(3)
    made = program(model)
    drawn = polyad.rand(2)
    polyad.manual_seed(3)
    example(4)
    alike(drawn, polyad.rand(2))
    alike(buffers, list(model.buffers()))  # as before
    signature = made.graph_signature
    assert set(signature.parameters) == {name for name, _ in model.named_parameters(remove_duplicate=False)}
    assert signature.non_persistent_buffers == ("table",)
    assert signature.lifted_tensor_constants == ("scale",)
    assert signature.user_inputs == ("x", "by['factor']")
    assert [*signature.buffers_to_mutate.values()] == [f"norm.{name}" for name, _ in model.norm.named_buffers()]
    assert str(made.range_constraints) == "{batch: VR[2, 64]}"
    assert made.state_dict.keys() == model.state_dict().keys()
    assert {*made.constants} == {"scale", "table"}
    assert [entry.fqn for entry in made.module_call_graph] == [name for name, _ in model.named_modules()]
    assert "x: USER_INPUT" in str(made)
    assert "Range constraints: {batch: VR[2, 64]}" in str(made)
    made.validate()


@pytest.mark.parametrize("way", ["itself", "copied", "loaded", "in primitives"])
def test_a_program_trains_as_the_model_does(way: str) -> None:
    model, twin = Normed(), Normed()
    twin.load_state_dict(model.state_dict())
    made = program(model)
    if way == "loaded":
        file = io.BytesIO()
        export.save(made, file)
        file.seek(0)
        made = export.load(file)
    elif way == "in primitives":
        made = made.run_decompositions()
        assert "linear" not in {node.name for node in made.graph}
    module = made.module()
    if way == "copied":
        module = copy.deepcopy(module)
    for rows in (5, 7):
        args, kwargs = example(rows)
        result, expected = module(*args, **kwargs), twin(*args, **kwargs)
        assert (result["rows"], result["name"]) == (rows, "normed")
        alike(result, expected)
        for one, loss in ((module, result), (twin, expected)):
            loss["y"].square().mean().backward()
            polyad.optim.SGD(one.parameters(), lr=0.1).step()
    alike(module.state_dict(), twin.state_dict())
    named = dict(module.named_parameters(remove_duplicate=False))
    assert named["tied.weight"] is named["again.weight"]


def test_calls_are_checked_by_name() -> None:
    module = program(Normed()).module()
    (x,), kwargs = example(4)
    with pytest.raises(RuntimeError, match=r"batch is 65 \(dim 0 of x\), and must be from 2 to 64"):
        module(polyad.ones(65, 3), by={"factor": polyad.ones(65, 1)})
    with pytest.raises(RuntimeError, match=r"dim 0 of by\['factor'\] is 5, and must be batch = 4"):
        module(x, by={"factor": polyad.ones(5, 1)})
    with pytest.raises(RuntimeError, match="dtype int64"):
        module(x.long(), **kwargs)
    with pytest.raises(TypeError, match=r"by\['factor'\] is missing"):
        module(x)
    for mode in (module.train, module.eval):
        with pytest.raises(NotImplementedError, match="one mode"):
            mode()
    with pytest.raises(RuntimeError, match="cannot be called"):
        program(Normed())(x, **kwargs)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ({"z": {0: BATCH}}, "the arguments are input"),
        (({0: BATCH}, None), "there are 1 arguments, and dynamic_shapes has 2"),
        ({"input": {5: BATCH}}, "has 2 dimensions"),
        ({"input": {0: "batch"}}, "has 'batch' for input, dim 0"),
        ({"input": (BATCH,)}, "has 2 dimensions"),
        ({"input": {0: Dim("rows", min=10)}}, "input, dim 0 is 4 in the example, and rows is from 10"),
        ({"input": {0: 5}}, "input, dim 0 is 4 in the example, and 5 in dynamic_shapes"),
        ({"input": {0: BATCH, 1: Dim("batch")}}, "two Dim 'batch' with two ranges"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        export.export(nn.ReLU(), (polyad.ones(4, 3),), dynamic_shapes=shapes)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda dim: dim // 2, TypeError),
        (lambda dim: dim * dim, NotImplementedError),
        (lambda dim: dim * -1, NotImplementedError),
        (lambda dim: dim + dim, NotImplementedError),
        (lambda dim: 3 - dim, NotImplementedError),
        (lambda dim: Dim("1"), AssertionError),
        (lambda dim: Dim("x", min=5, max=3), AssertionError),
        (lambda dim: Dim.STATIC(max=3), TypeError),
    ],
)
def test_sizes_that_are_none_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make(BATCH)


class Views(nn.Module):
    def forward(self, x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
        return x.view(x.shape[0], -1, 2) + y


def test_dimensions_without_names() -> None:
    args = polyad.randn(3, 4), polyad.randn(3, 2, 2)
    any_size = export.export(Views(), args, dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 2: Dim.AUTO}))
    assert [tuple(map(str, value.sizes)) for value in any_size.graph.inputs] == [("x_0", "4"), ("x_0", "2", "2")]
    others = polyad.randn(5, 4), polyad.randn(5, 2, 2)
    alike(any_size.module()(*others), Views()(*others))
    same = export.export(Views(), args, dynamic_shapes=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))
    alike(same.module()(*others), Views()(*others))
    with pytest.raises(BakedSize, match="fails for size = 3: add"):
        export.export(Views(), args, dynamic_shapes=({0: Dim.STATIC}, {2: Dim.DYNAMIC}))
    with pytest.warns(UserWarning, match="draft_export: fixed are dim 2 of y"):
        draft = export.draft_export(Views(), args, dynamic_shapes=(None, {2: Dim("width")}))
    alike(draft.module()(*args), Views()(*args))


def test_shapes_by_tensors_and_by_examples() -> None:
    args = polyad.randn(3, 4), polyad.randn(3, 2, 2)
    batch = Dim("batch")
    shapes = export.ShapesCollection()
    shapes[args[0]], shapes[args[1]] = {0: batch}, (batch, None, None)
    more = export.AdditionalInputs()
    more.add((polyad.randn(6, 4), polyad.randn(6, 2, 2)))
    for way in (shapes, more):
        made = export.export(Views(), args, dynamic_shapes=way)
        others = polyad.randn(5, 4), polyad.randn(5, 2, 2)
        alike(made.module()(*others), Views()(*others))
    more.verify(made)
    shapes[polyad.ones(2)] = {0: batch}
    with pytest.raises(ValueError, match="not among the inputs"):
        export.export(Views(), args, dynamic_shapes=shapes)


class Decides(nn.Module):
    def __init__(self, by_data: bool) -> None:
        super().__init__()
        self.by_data = by_data

    def forward(self, x: polyad.Tensor) -> Any:
        if self.by_data:
            return x * 2 if x.sum() > 0 else x
        scale = 1 / x.shape[0]
        return polyad.cond(x.sum() > 0, lambda x: x.view(-1) * scale, lambda x: F.pad(x.view(-1)[1:], (0, 1)), (x,))


def test_control_flow_is_recorded_and_decisions_by_data_are_refused() -> None:
    made = export.export(Decides(False), (polyad.ones(4, 2),), dynamic_shapes=({0: BATCH},))
    for x in (polyad.ones(7, 2), -polyad.ones(3, 2)):
        alike(made.module()(x), Decides(False)(x))
    with pytest.raises(NotImplementedError, match="reads data"):
        export.export(Decides(True), (polyad.ones(4, 2),))


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ValueError, match="no module"):
        export.export(lambda x: x, (polyad.ones(2),))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no tuple"):
        export.export(nn.ReLU(), polyad.ones(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no example is a tensor"):
        export.export(nn.ReLU(), (2,))


# --------------------------------------------------------------------------------------------------------------- files


def test_files_hold_programs_without_their_classes(tmp_path: Path) -> None:
    made = program(Normed())
    path = tmp_path / "model.pt2"
    export.save(made, path, extra_files={"labels": "cat", "bytes": b"\x00"})
    found = {"labels": "", "other": ""}
    again = export.load(path, extra_files=found)
    assert found == {"labels": "cat", "other": ""}
    assert str(again) == str(made)
    assert again.call_spec == made.call_spec
    assert b"Normed" not in path.read_bytes().replace(b'of \\\\\\"Normed\\\\\\"', b"")
    args, kwargs = example(9)
    made.module()  # shares the model's tensors
    twin = copy.deepcopy(made.module())
    alike(again.module()(*args, **kwargs), twin(*args, **kwargs))
    polyad.testing.assert_close(polyad.load(path)["tensors"]["first.weight"], made.state_dict["first.weight"])


def damage(content: dict[str, Any], **changes: Any) -> io.BytesIO:
    file = io.BytesIO()
    polyad.save({**content, **changes}, file, format="polyad")
    file.seek(0)
    return file


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"polyad.export": 99}, "of version 99"),
        ({"polyad.export": None}, "of version None"),
        ({"graph": "graph 3 of nothing"}, "a graph that is none: parse: line 1"),
        ({"graph": 5}, "graph is no text"),
        ({"constants": {"first.weight": "nowhere"}}, "the tensor nowhere is missing"),
        (
            {"tensors": {"a": polyad.ones(2), "a.b": polyad.ones(2)}, "same": {}, "order": ["a", "a.b"]},
            "cannot be the name of a tensor",
        ),
        ({"tensors": {}}, "is the same as tied.weight, which is not there"),
        ({"same": ["again.weight"]}, "same is no dict"),
        ({"order": []}, "order does not have each tensor once"),
        ({"modules": [1]}, "modules is no list of names"),
        ({"temporary": ["nothing"]}, "the tensor nothing is missing"),
    ],
)
def test_files_that_hold_no_program_are_refused(changes: dict[str, Any], says: str) -> None:
    file = io.BytesIO()
    export.save(program(Normed()), file)
    file.seek(0)
    content = polyad.load(file)
    with pytest.raises(SerializationError, match=says):
        export.load(damage(content, **changes))
    wrong = {**content["tensors"], "first.weight": polyad.ones(5, 3)}
    with pytest.raises(SerializationError, match=r"first.weight is float32 \(5, 3\)"):
        export.load(damage(content, tensors=wrong))


def test_what_no_file_holds_is_refused(tmp_path: Path) -> None:
    class Doubled(polyad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: polyad.Tensor) -> polyad.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2

    class Own(nn.Module):
        def forward(self, x: polyad.Tensor) -> Any:
            return Doubled.apply(x)

    made = export.export(Own(), (polyad.ones(2, requires_grad=True),))
    with pytest.raises(TypeError, match="no text holds the graph whole"):
        export.save(made, tmp_path / "model.pt2")
    with pytest.raises(TypeError, match="no exported program"):
        export.save(nn.ReLU(), tmp_path / "model.pt2")  # type: ignore[arg-type]
    polyad.save({"a": 1}, tmp_path / "other")
    with pytest.raises(SerializationError, match="holds no exported program"):
        export.load(tmp_path / "other")


def test_decompositions_are_the_users_to_choose() -> None:
    made = export.export(nn.Sequential(nn.Linear(3, 4), nn.Hardswish()), (polyad.ones(2, 3),))
    table = export.default_decompositions()
    calls = []

    def swish(x: polyad.Tensor) -> polyad.Tensor:
        calls.append(x)
        return x * (x + 3).clamp(0, 6) / 6

    del table[polyad.ops.aten.linear.default]
    table[polyad.ops.aten.hardswish.default] = swish
    other = made.run_decompositions(table)
    assert [node.name for node in other.graph] == ["linear", "add", "clamp", "mul", "div"]
    assert calls
    assert [node.modules for node in other.graph][1] == [node.modules for node in made.graph][1]
    x = polyad.randn(2, 3)
    alike(other.module()(x), made.module()(x))
    with pytest.raises(TypeError, match="no overload"):
        made.run_decompositions({"linear": swish})


SELECTIONS: dict[str, Callable[[polyad.Tensor], Any]] = {
    "mask": lambda x: x[x > 0] * 2,
    "indices": lambda x: x.nonzero(),
    "rows": lambda x: polyad.where(x[:, 0] > 0)[0] + x.shape[0],
    "distinct": lambda x: polyad.unique(x.round()),
    "count": lambda x: polyad.arange(x[x > 0].shape[0] + 1),
    "pairs": lambda x: (x[x.sum(1) > 0] @ x[x.sum(1) < 0].t()).flatten(),
    "scaled": lambda x: x / x.abs().max().item() + 2 * x.long().sum().item(),
    "as long as said": lambda x: polyad.ones((x > 0).sum().item(), x.shape[0]),
    "half": lambda x: polyad.cat([x[x > 0], x[x < 0][: x[x < 0].shape[0] // 2]]),
}


@pytest.mark.parametrize("case", SELECTIONS)
@pytest.mark.parametrize("shapes", [None, {"x": {0: Dim("n")}}])
def test_sizes_follow_from_data(case, shapes):
    class Selecting(nn.Module):
        def forward(self, x):
            return SELECTIONS[case](x)

    model, file = Selecting(), io.BytesIO()
    program = export.export(
        model, (polyad.tensor([[1.0, 2, -1], [-1, -2, -2], [1, 1, 0], [0, -3, 1]]),), dynamic_shapes=shapes
    )
    export.save(program, file)
    file.seek(0)
    loaded = export.load(file)
    for seed in range(3):
        polyad.manual_seed(seed)
        x = polyad.randn(4 if shapes is None else 4 + seed, 3)
        for one in (program, loaded, program.run_decompositions()):
            polyad.testing.assert_close(one.module()(x), model(x))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: sum(row for row in x[x > 0]), "sizes of index follow from data|another capture"),
        (lambda x: x * 2 if x.sum().item() > 0 else x, "another capture|item.. reads data"),
        (lambda x: x * 2 if x.sum().long().item() != 0 else x, "does something else where .* is 0"),
        (lambda x: x * 2 if x.sum() > 0 else x, "reads data, by which the program may decide"),
        (lambda x: polyad.cat([x, x])[: x.long().sum().item()], "no expression of the sizes gives its size"),
        (lambda x: x[x > 0] * (2 if x[x > 0].shape[0] > 9 else 1), "no expression of the sizes gives its argument 1"),
    ],
)
def test_decisions_by_sizes_that_follow_from_data_are_refused(function, says):
    class Deciding(nn.Module):
        def forward(self, x):
            return function(x)

    with pytest.raises((RuntimeError, NotImplementedError), match=says):
        export.export(Deciding(), (polyad.tensor([1.0, 2, -1]),))


def test_files_of_earlier_versions_are_read():
    program = export.load(Path(__file__).parents[2] / "files" / "program-3.pt2")
    assert program.graph.text.startswith("graph 3 of ")
    module = program.module()
    polyad.testing.assert_close(module(polyad.ones(2, 3)).detach(), polyad.full((2, 2), 2.5))
    polyad.testing.assert_close(module(-polyad.ones(5, 3)).detach(), polyad.full((5, 2), -1.1))
    assert module.count.item() == 2
    with pytest.raises(RuntimeError, match=r"batch is 65 .* must be from 0 to 64"):
        module(polyad.ones(65, 3))
