"""The suite's checks of layers find what they are for: each sample here is of a layer that is wrong in one way."""

import copy

import pytest

import polyad
from polyad import nn
from polyad.errors import UndeclaredDType
from polyad_conformance.calls import Target
from polyad_conformance.checks import modules
from polyad_conformance.modules import ModuleSample, module_samples


class Scale(nn.Module):
    """A layer that is right."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(polyad.ones(3))
        self.register_buffer("calls", polyad.zeros(1))

    def forward(self, x):
        return x * self.weight


class WrongGradient(Scale):
    def forward(self, x):
        return x * self.weight.detach() * 2 - x.detach() * self.weight


class OtherInTraining(Scale):
    def forward(self, x):
        return x * self.weight * (polyad.rand(1, dtype=x.dtype) if self.training else 1)


class WritesItsInput(Scale):
    def forward(self, x):
        return x.detach().mul_(self.weight)


class ForgetsABuffer(Scale):
    def __init__(self):
        super().__init__()
        self.hidden = polyad.rand(3)

    def forward(self, x):
        return x * self.weight * self.hidden.to(x.dtype)


class SharesACopy(Scale):
    def __deepcopy__(self, memo):
        twin = Scale.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


class StaysInFloat32(Scale):
    def _apply(self, fn, recurse=True):
        return self


class CountsRefusedCalls(Scale):
    def forward(self, x):
        self.calls += 1
        return x * self.weight


class TakesAnything(Scale):
    def forward(self, x):
        return x.sum() * self.weight


def sample(layer, **rest):
    return ModuleSample(
        layer=layer.__name__,
        build=lambda torch: layer(),
        inputs=lambda make: (make((2, 3)),),
        wrong=[lambda make: (make((2, 4)),)],
        **rest,
    )


TARGET = Target("cpu")


def test_a_layer_that_is_right_passes():
    right = sample(Scale, functional=lambda F, layer, x: x * layer.weight)
    for check in (
        modules.check_forward,
        modules.check_gradient,
        modules.check_modes,
        modules.check_state,
        modules.check_moves,
        modules.check_refusals,
    ):
        check(right, TARGET)


@pytest.mark.parametrize(
    ("check", "wrong", "words"),
    [
        ("forward", sample(Scale, functional=lambda F, layer, x: x * layer.weight * 1.001), "result by functions"),
        ("forward", sample(WritesItsInput), "an input was changed"),
        ("gradient", sample(WrongGradient), "finite differences give"),
        ("modes", sample(OtherInTraining), "draws random numbers: True, expected False"),
        ("modes", sample(Scale, random="training"), "draws random numbers: False, expected True"),
        ("state", sample(ForgetsABuffer), "load_state_dict gives other results"),
        ("state", sample(SharesACopy), "shares"),
        ("moves", sample(StaysInFloat32), "has dtype"),
        ("refusals", sample(CountsRefusedCalls), "calls was changed"),
        ("refusals", sample(TakesAnything), "it was not refused"),
    ],
    ids=lambda value: value.layer if isinstance(value, ModuleSample) else None,
)
def test_what_is_wrong_is_found(check, wrong, words):
    with pytest.raises(AssertionError, match=words):
        getattr(modules, f"check_{check}")(wrong, TARGET)


def test_a_dtype_that_the_device_lacks_is_no_refusal_of_a_shape():
    class AsksForFloat64(Scale):
        def forward(self, x):
            raise UndeclaredDType("no float64", device=x.device, dtype=polyad.float64, notes={}, fix="")

    with pytest.raises(UndeclaredDType):
        modules.check_refusals(sample(AsksForFloat64), TARGET)


def test_inputs_and_weights_follow_from_the_seed():
    first = module_samples()[0]
    one, two = modules.build(first, 0), modules.build(first, 0)
    assert [value.tolist() for value in one.parameters()] == [value.tolist() for value in two.parameters()]
    assert repr(modules.draw(first, first.inputs, 0)) == repr(modules.draw(first, first.inputs, 0))
    assert copy.copy(first).label == first.label
