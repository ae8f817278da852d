"""Modules without data: made on device "meta", given memory, loaded; and `polyad.summary`."""

from __future__ import annotations

import warnings

import pytest
import rich.console

import polyad
from polyad import nn
from polyad.errors import NoData

META = polyad.device("meta")


def small() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5))


# ------------------------------------------------------------------------------------------------- from meta to memory


def test_modules_are_made_without_data() -> None:
    with polyad.device("meta"):
        model = small()
    assert {tensor.device for tensor in model.state_dict().values()} == {META}
    assert nn.Linear(10**7, 10**7, device="meta").weight.numel() == 10**14
    assert model(polyad.empty(2, 3, 4, 4, device="meta")).shape == (2, 5)


def test_to_empty_keeps_parameters_and_what_they_are() -> None:
    model = nn.Sequential(nn.Linear(3, 4, device="meta"), nn.BatchNorm1d(4, device="meta"))
    model[0].bias.requires_grad_(False)
    parameters = list(model.parameters())
    assert model.to_empty(device="cpu") is model
    assert [id(one) for one in model.parameters()] == [id(one) for one in parameters]
    assert {str(tensor.device) for tensor in model.state_dict().values()} == {"cpu"}
    assert [one.requires_grad for one in parameters] == [True, False, True, True]
    model.load_state_dict(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).state_dict())
    assert model(polyad.ones(2, 3)).isfinite().all()


def test_to_empty_of_the_module_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 4, device="meta"))
    model.register_buffer("own", polyad.zeros(2, device="meta"))
    model.to_empty(device="cpu", recurse=False)
    assert (str(model.own.device), model[0].weight.device) == ("cpu", META)


def test_moving_a_module_that_has_no_data_says_how() -> None:
    layer = nn.Linear(3, 4, device="meta")
    with pytest.raises(NoData, match=r"to: .*\n(.*\n)*.*to_empty\(device=\.\.\.\)"):
        layer.to("cpu")
    assert layer.weight.is_meta


def test_loading_by_assignment_gives_memory() -> None:
    source, target = small(), small().to("meta")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target.load_state_dict(source.state_dict(), assign=True)
    images = polyad.randn(2, 3, 4, 4)
    assert target.eval()(images).tolist() == source.eval()(images).tolist()
    assert all(isinstance(one, nn.Parameter) and one.requires_grad for one in target.parameters())


def test_loading_by_copying_warns_that_nothing_is_kept() -> None:
    layer = nn.Linear(3, 4, device="meta")
    with pytest.warns(UserWarning, match=r"weight is on device 'meta'.*assign=True"):
        layer.load_state_dict(nn.Linear(3, 4).state_dict())
    assert layer.weight.is_meta


def test_skip_init() -> None:
    layer = nn.utils.skip_init(nn.Linear, 3, 4, bias=False)
    assert (layer.weight.shape, str(layer.weight.device), layer.bias) == ((4, 3), "cpu", None)
    assert nn.utils.skip_init(nn.Linear, 3, 4, device="meta").weight.is_meta
    before = polyad.get_rng_state().tolist()
    nn.utils.skip_init(nn.Linear, 3, 4)
    assert polyad.get_rng_state().tolist() == before
    with pytest.raises(RuntimeError, match=r"skip_init: module_cls is .* not a class of modules"):
        nn.utils.skip_init(print)
    with pytest.raises(RuntimeError, match="skip_init: Identical takes no device"):
        nn.utils.skip_init(Identical)


class Identical(nn.Module):
    def __init__(self) -> None:
        super().__init__()


# ------------------------------------------------------------------------------------------------------------- summary


def test_a_summary_has_shapes_parameters_and_arithmetic() -> None:
    model = small()
    before = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
    found = polyad.summary(model, (2, 3, 4, 4))
    assert {name: tensor.tolist() for name, tensor in model.state_dict().items()} == before
    assert [row.kind for row in found.rows] == ["Sequential", "Conv2d", "BatchNorm2d", "ReLU", "Flatten", "Linear"]
    assert [tuple(row.shapes[0]) for row in found.rows] == [(2, 5), *[(2, 4, 4, 4)] * 3, (2, 64), (2, 5)]
    assert [row.parameters for row in found.rows] == [445, 112, 8, 0, 0, 325]
    conv, linear = found.rows[1].flops, found.rows[5].flops
    assert (conv, linear) == (2 * 2 * 64 * 27, 2 * 2 * 64 * 5 + 2 * 5)
    assert found.flops == found.rows[0].flops == sum(row.flops for row in found.rows[1:])
    assert (found.parameters, found.trainable, found.bytes) == (445, 445, 4 * 445 + 4 * 8 + 8)
    model(polyad.ones(2, 3, 4, 4))
    assert [row.calls for row in found.rows] == [1] * 6  # no hook was left behind


def test_a_summary_counts_memory_where_it_is_first_returned() -> None:
    twice = nn.ReLU()
    model = nn.Sequential(nn.Linear(4, 8), twice, nn.Unflatten(1, (2, 4)), nn.Identity(), twice, nn.ReLU(inplace=True))
    found = polyad.summary(model, (2, 4))
    assert [row.bytes for row in found.rows] == [192, 64, 128, 0, 0, 0]
    assert found.results == 192


def test_a_summary_of_a_model_that_no_memory_holds() -> None:
    model = nn.Linear(10**6, 10**6, device="meta")
    assert polyad.summary(model, (10**6, 10**6)).flops == 2 * 10**18 + 10**12


def test_shared_repeated_and_unused_modules() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.twin = nn.Linear(4, 4)
            self.twin.weight = self.first.weight
            self.unused = nn.ReLU()

        def forward(self, x: polyad.Tensor, y: polyad.Tensor) -> dict[str, polyad.Tensor]:
            return {"a": self.first(self.first(x)), "b": self.twin(y)}

    found = polyad.summary(Odd(), [(2, 4), (3, 4)])
    rows = {row.name: row for row in found.rows}
    assert [tuple(shape) for shape in rows[""].shapes] == [(2, 4), (3, 4)]
    assert (rows["first"].calls, rows["first"].flops) == (2, 2 * (2 * 2 * 16 + 8))
    assert (rows["first"].parameters, rows["twin"].parameters, found.parameters) == (20, 4, 24)
    assert "not called" in repr(found)
    assert ", 2 calls" in repr(found)


def test_inputs_of_other_dtypes_and_kinds() -> None:
    model = nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4))
    assert tuple(polyad.summary(model, (2, 3), dtypes=[polyad.int64]).rows[0].shapes[0]) == (2, 3, 4)
    assert tuple(polyad.summary(model, input_data=polyad.tensor([1, 2])).rows[0].shapes[0]) == (2, 4)
    assert len(polyad.summary(small(), (2, 3, 4, 4), depth=0).rows) == 1
    with pytest.raises(TypeError, match="model is int"):
        polyad.summary(3, (2,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="input_size and input_data are ways to say the same"):
        polyad.summary(model)
    with pytest.raises(TypeError, match="dtypes must be 1 dtypes, one for each input, not 2"):
        polyad.summary(model, (2, 3), dtypes=[polyad.int64] * 2)
    with pytest.raises(TypeError, match="input_size is int, not a shape"):
        polyad.summary(model, 7)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"do not agree"):
        polyad.summary(nn.Linear(3, 4), (2, 5))


def test_a_model_that_keeps_plain_tensors_is_told_to_register_them() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = polyad.ones(3)

        def forward(self, x: polyad.Tensor) -> polyad.Tensor:
            return x * self.scale

    with pytest.raises(RuntimeError, match="register_buffer"):
        polyad.summary(Plain(), (2, 3))


def test_a_summary_is_a_rich_table() -> None:
    console = rich.console.Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(polyad.summary(small(), (2, 3, 4, 4)))
    shown = console.export_text()
    assert "0: Conv2d" in shown
    assert "6,912" in shown
    assert "445 trainable" in shown
