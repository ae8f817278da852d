"""Programs as modules in modules."""

from __future__ import annotations

import io
from typing import Any

import pytest

import polyad
from polyad import export, nn
from polyad.base.trees import Tree


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.linear = nn.Linear(4, 4)

    def forward(self, x: polyad.Tensor, skip: polyad.Tensor, *, scale: float) -> tuple[polyad.Tensor, polyad.Tensor]:
        y = self.linear(self.norm(x)) * scale
        return y + skip, y


class Net(nn.Module):
    """A model whose submodules share a parameter, and one of which is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.act = nn.GELU()
        self.blocks[1].linear.weight = self.blocks[0].linear.weight

    def forward(self, x: polyad.Tensor) -> Any:
        for block in self.blocks:
            x, y = block(x, skip=self.act(x), scale=0.5)
        return self.act(x) + y


def exported(model: nn.Module, *preserved: str) -> export.ExportedProgram:
    batch = export.Dim("batch")
    shapes = {"x": {0: batch}}
    return export.export(model, (polyad.randn(3, 4),), dynamic_shapes=shapes, preserve_module_call_signature=preserved)


def test_submodules_are_where_they_were_and_train() -> None:
    model, x = Net(), polyad.randn(7, 4)
    modules = export.unflatten(exported(model))
    assert {name for name, _ in modules.named_parameters()} == {name for name, _ in model.named_parameters()}
    assert {"blocks.0.linear", "act", "act@1", "act@2"} <= {name for name, _ in modules.named_modules()}
    seen = []
    modules.get_submodule("blocks.1.norm").register_forward_hook(lambda *_: seen.append(1))
    result = modules(x)
    assert seen == [1]
    polyad.testing.assert_close(result, model(x))
    result.sum().backward()
    assert model.blocks[0].linear.weight.grad is not None  # the parameters are the model's
    new = nn.Parameter(polyad.zeros(4))
    modules.get_submodule("blocks.0.norm").bias = new
    model.blocks[0].norm.bias = nn.Parameter(polyad.zeros(4))
    polyad.testing.assert_close(modules(x), model(x))


@pytest.mark.parametrize("saved", [False, True])
def test_a_submodule_is_replaced_where_its_signature_is_preserved(saved: bool) -> None:
    class Other(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4, bias=False)
            self.norm = nn.Linear(2, 2)  # under a name that the submodule has, of other sizes

        def forward(self, x: polyad.Tensor, skip: polyad.Tensor, *, scale: float) -> Any:
            return x + skip, self.linear(x) * scale

    model, x = Net(), polyad.randn(2, 4)
    program = exported(model, "blocks.1")
    if saved:
        file = io.BytesIO()
        export.save(program, file)
        file.seek(0)
        program = export.load(file)
    entry = next(one for one in program.module_call_graph if one.fqn == "blocks.1")
    assert entry.signature is not None
    assert len(entry.signature.inputs) == 3
    assert [type(one).__name__ for one in entry.signature.outputs] == ["TensorArgument"] * 2
    modules = export.unflatten(program)
    polyad.testing.assert_close(modules(x), model(x))
    model.blocks[1] = Other()
    modules.set_submodule("blocks.1", model.blocks[1])
    polyad.testing.assert_close(modules(x), model(x))
    modules.set_submodule("blocks.0", Other())
    with pytest.raises(NotImplementedError, match=r"blocks\.0: another module is in its place"):
        modules(x)


def test_parts_are_called_by_the_whole() -> None:
    modules = export.unflatten(exported(Net()))
    with pytest.raises(NotImplementedError, match="called by the whole"):
        modules.get_submodule("act")(polyad.ones(2, 4))
    with pytest.raises(ValueError, match="where there is no submodule"):
        exported(Net(), "nowhere")


def test_arguments_of_another_structure_are_adapted() -> None:
    class Listed(export.FlatArgsAdapter):
        def adapt(self, target_spec: Tree, input_spec: Tree, input_args: list[Any], *others: Any) -> list[Any]:
            return input_args[: target_spec.num_leaves]

    model, x = Net(), polyad.randn(2, 4)
    modules = export.unflatten(exported(model), Listed())
    polyad.testing.assert_close(modules([x, x]), model(x))
    polyad.testing.assert_close(modules(x), model(x))
