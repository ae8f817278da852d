"""Layers, optimizers, schedules, distributions, metrics, vision: annotations say what the arguments must be."""

from __future__ import annotations

import pytest

import polyad
from polyad import metrics, nn, optim, vision
from polyad.arguments import Explained, explain
from polyad.base.kinds import Positive, Probability
from polyad.distributions import Dirichlet, Normal, utils
from polyad.errors import PolyadError
from polyad.nn.utils import clip_grad_norm_, rnn

WEIGHT = polyad.ones(2, requires_grad=True)


def sgd() -> optim.SGD:
    return optim.SGD([polyad.ones(1, requires_grad=True)], 0.1)


def an_encoder_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(4, 2, 4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sgd().add_param_group({"params": 5}), TypeError, "SGD.add_param_group: params is int"),
        (lambda: optim.lr_scheduler.SequentialLR(sgd(), 3, [1]), TypeError, "SequentialLR: schedulers is int"),
        (lambda: optim.lr_scheduler.StepLR(3, 2), TypeError, "StepLR: optimizer is int, not an Optimizer"),
        (lambda: sgd().step(3), TypeError, "SGD.step: closure is int, not a function"),
        (lambda: Dirichlet(3), TypeError, "Dirichlet: concentration is int, not a tensor"),
        (lambda: Normal(0.0, 1.0).sample(3), TypeError, "sample_shape is int, not ints"),
        (lambda: Normal(0.0, 1.0).sample((-1,)), RuntimeError, "Normal: sample_shape has a negative size"),
        (lambda: nn.LazyLinear(3)(2.5), TypeError, "LazyLinear: input is float, not a tensor"),
        (lambda: nn.Linear("a", 2), TypeError, "Linear: in_features is str, not an int"),
        (lambda: nn.Linear(2), TypeError, "Linear: missing a required argument: 'out_features'"),
        (lambda: nn.Linear(2, 2).state_dict(destination=0), TypeError, "Linear.state_dict: destination is int"),
        (lambda: nn.ModuleDict()["a"], KeyError, "ModuleDict.__getitem__: there is no 'a'"),
        (lambda: clip_grad_norm_(WEIGHT, "x"), TypeError, "clip_grad_norm_: max_norm is str, not a number"),
        (lambda: rnn.pack_sequence(-2), TypeError, "pack_sequence: sequences is int, not a list"),
        (lambda: vision.utils.make_grid(0), TypeError, "make_grid: tensor is of type int"),
        (lambda: vision.transforms.RandomCrop("0"), TypeError, "RandomCrop: size is str, not an int or a sequence"),
        (lambda: nn.Linear(2, 2).apply(len), TypeError, "Linear.apply: an argument is not of the type"),
        (lambda: nn.Linear(2, 2).type(None), TypeError, "Linear.type: dst_type is NoneType, not a dtype"),
        (lambda: nn.Linear(2, 2).state_dict(None, 3), TypeError, "Linear.state_dict: prefix is int, not a string"),
        (lambda: nn.ConvTranspose1d(2, 3, 1).forward(polyad.ones(1, 2, 2), 0), TypeError, "output_size is int"),
        (lambda: nn.ConstantPad3d(1, 1e308)(polyad.ones(1, 2, 2, 2)), RuntimeError, "pad: 1e.308 is out of the range"),
        (lambda: polyad.amp.GradScaler("cpu", init_scale="x"), TypeError, "GradScaler: init_scale is str, not a num"),
        (lambda: polyad.meshgrid(*[polyad.ones(3)] * 60), MemoryError, "expand: the device has not enough memory"),
        (lambda: optim.lr_scheduler.StepLR(sgd(), polyad.ones(3)), ValueError, "StepLR: step_size is Tensor, not a n"),
        (lambda: optim.swa_utils.AveragedModel(0)(WEIGHT), TypeError, "AveragedModel: an argument is not of the type"),
        (lambda: Normal(0.0, 1.0).expand([], 0), TypeError, "Normal.expand: _instance is int, not a Distribution"),
        (lambda: vision.transforms.functional.resize(None, 2), TypeError, "resize: img is NoneType, not a tensor"),
        (lambda: vision.transforms.CenterCrop(2.5), TypeError, "CenterCrop: size is float, not an int"),
        (lambda: metrics.MeanSquaredError()(WEIGHT), TypeError, "MeanSquaredError.update: missing a required"),
        (lambda: metrics.MeanMetric().load_state_dict(WEIGHT), TypeError, "MeanMetric.load_state_dict: state_dict is"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call, error, words):
    with pytest.raises(PolyadError, match=words) as caught:
        call()
    assert isinstance(caught.value, error)
    assert caught.value.fix
    assert "report a defect" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.LSTM(2, 2, 2**40), "LSTM: num_layers must be an int from 1 to 65536"),
        (lambda: nn.TransformerEncoder(an_encoder_layer(), 2**40), "TransformerEncoder: num_layers must be"),
        (lambda: nn.TransformerDecoder(an_encoder_layer(), -1), "TransformerDecoder: num_layers must be an int from 0"),
        (lambda: nn.Transformer(4, 2, num_decoder_layers=2**40), "Transformer: num_decoder_layers must be"),
        (lambda: nn.Conv2d(1, 1, 1, groups=0), "Conv2d: groups must be an int of at least 1, not 0"),
        (lambda: vision.transforms.RandomHorizontalFlip(2), "RandomHorizontalFlip: p must be a number from 0 to 1"),
    ],
)  # fmt: skip
def test_a_value_outside_its_kind_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_diagonal_far_outside_is_refused_at_once():
    with pytest.raises(RuntimeError, match="memory"):
        utils.vec_to_tril_matrix(polyad.ones(3), -(2**31))


@pytest.mark.parametrize("size", range(1, 6))
def test_vectors_become_the_matrices_that_they_came_from(size):
    for diag in range(1 - size, size):
        matrix = polyad.arange(1.0, 1 + size * size).reshape(size, size).tril(diag)
        vec = utils.tril_matrix_to_vec(matrix, diag)
        assert utils.vec_to_tril_matrix(vec, diag).tolist() == matrix.tolist()


class TestErrorsOfTheUsers:
    def test_of_a_function_that_was_passed(self):
        def fail(*args):
            raise ValueError("of the user's")

        for call in (
            lambda: nn.Linear(2, 2).apply(fail),
            lambda: sgd().step(fail),
            lambda: optim.lr_scheduler.LambdaLR(sgd(), fail),
            lambda: vision.transforms.Compose([fail])(WEIGHT),
        ):
            with pytest.raises(ValueError, match=r"^of the user's$") as caught:
                call()
            assert not isinstance(caught.value, PolyadError)

    def test_of_a_class_that_derives(self):
        class Mine(nn.Module):
            def forward(self, x):
                return x.no_such_thing

        with pytest.raises(AttributeError) as caught:
            Mine()(3)
        assert not isinstance(caught.value, PolyadError)

    def test_of_a_member_that_was_taken_away(self):
        layer = nn.Linear(2, 2)
        del layer.weight
        with pytest.raises(AttributeError, match="no attribute 'weight'"):
            layer(polyad.ones(2))


def test_what_is_called_often_has_no_wrapper():
    assert not hasattr(nn.Linear.forward, "__explains__")
    assert not hasattr(nn.Module.__call__, "__explains__")
    assert not hasattr(optim.SGD.step, "__explains__")
    assert hasattr(nn.Linear.__init__, "__explains__")


def test_a_module_declares_its_functions_at_its_end():
    def scaled(count: Positive, share: Probability | None = None, *rest: int) -> int:
        return count + sum(rest)

    namespace = {"__name__": "polyad.somewhere", "scaled": scaled, "other": len}
    scaled.__module__ = "polyad.somewhere"
    scaled.__annotations__ = {"count": "Positive", "share": "Probability | None", "rest": "int"}
    explain(namespace)
    assert namespace["other"] is len
    assert namespace["scaled"](2, None, 3) == 5
    for args in ((0,), (2, 1.5), (2.5,), (True, "x")):
        with pytest.raises(PolyadError):
            namespace["scaled"](*args)


def test_only_classes_of_polyad_explain_themselves():
    class Theirs(Explained):
        def method(self, x):
            return x.nothing

    with pytest.raises(AttributeError) as caught:
        Theirs().method(3)
    assert not isinstance(caught.value, PolyadError)


def test_a_name_is_a_kind_only_where_it_stands_for_one():
    """A type alias of another module may have the name of a kind, and the kind may have another name there."""
    scope = {"__name__": "polyad.elsewhere", "Positive": float, "Share": Probability}
    exec("def scaled(count: Positive, share: Share | None = None): return count", scope)
    explain(scope)
    assert scope["scaled"](-0.5) == -0.5
    with pytest.raises(ValueError, match="scaled: share must be a number from 0 to 1 or None, not 2"):
        scope["scaled"](1, 2)


def test_imports_ask_for_no_signature(monkeypatch):
    monkeypatch.setattr("inspect.signature", None)
    explain({"__name__": __name__, "sgd": sgd})


@pytest.mark.parametrize("name", [name for name in polyad.base.kinds.__all__ if name not in ("Kind", "kind_of")])
def test_every_kind_refuses_something_and_is_a_name_for_annotations(name):
    kind = polyad.base.kinds.kind_of(getattr(polyad.base.kinds, name))
    every = (None, object(), float("nan"), -5, "no such choice")
    refused = {"Sizes": ("no sizes", None), "BelowOne": (None, 1, float("nan")), "Text": every[:-1]}.get(name, every)
    assert not any(kind.fits(value) for value in refused)
