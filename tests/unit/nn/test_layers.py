"""Layers against PyTorch's results and gradients; their settings, errors and representations."""

import copy

import pytest

import polyad
from polyad import nn
from polyad_conformance.checks.modules import as_tensors, draw
from polyad_conformance.modules import module_samples


def filled(*shape, scale=1.0):
    """Numbers in [-1, 1] * scale that jump about: (7 i mod 11 - 5) / 5."""
    count = 1
    for size in shape:
        count *= size
    return polyad.tensor([(7 * i % 11 - 5) / 5 * scale for i in range(count)]).reshape(*shape)


# Printed by PyTorch 2.13 (CPU, float32), rounded to 6 digits: shape and values of the result of ``filled(*input)`` by a
# layer whose parameters are ``filled(..., scale=0.5)``, and the gradient of ``(result * filled(*result.shape)).sum()``.
EXPECTED = {
    "Linear": ([2, 2], [0.16, -0.14, -0.84, 0.9], [0.7, -0.16, 0.08, 0.7, 0.02, -0.22]),
    "Conv2d": (
        [1, 2, 2, 2],
        [-1.0, -0.86, -0.02, -1.7, 0.76, 0.16, 0.04, -0.16],
        [-0.6, -0.02, 0.5, 0.16, -0.5, 0.2, -0.6, -0.2, 0.5, 0.02, -0.14, -0.06, -0.04, 0.1, -0.3, 0.08, 0.4, 0.0],
    ),
    "Conv2d same": ([1, 1, 2, 3], [-0.74, 0.86, -0.74, -0.34, -0.84, -0.72], [-0.4, 0.48, -0.16, 0.2, 0.28, -0.32]),
    "Conv2d groups": (
        [2, 2, 1, 1],
        [-0.08, 0.56, 0.36, -0.26],
        [
            0.5,
            0.0,
            -0.2,
            0.2,
            0.0,
            -0.5,
            0.04,
            0.0,
            -0.12,
            0.16,
            0.0,
            0.0,
            0.2,
            0.0,
            -0.08,
            0.08,
            0.0,
            -0.2,
            0.1,
            0.0,
            -0.3,
            0.4,
            0.0,
            0.0,
        ],
    ),
    "Conv2d reflect": (
        [1, 1, 2, 3],
        [-0.46, -0.54, -0.72, -0.84, 0.62, -0.88],
        [0.28, -0.48, -0.4, -0.04, 1.16, -0.44],
    ),
    "Conv2d replicate": ([1, 1, 2, 3], [-0.68, 0.46, -0.1, 0.58, 1.5, -0.16], [-0.7, 0.76, -0.16, 0.94, -0.98, 0.22]),
    "Conv2d circular": ([1, 1, 2, 3], [-0.78, -0.54, -0.78, -1.16, 0.62, -0.28], [0.76, -0.36, -1.0, 0.38, 0.14, 0.16]),
    "Conv2d same reflect": (
        [1, 1, 2, 3],
        [0.08, -0.78, -0.22, -0.96, -0.72, -0.16],
        [0.5, -0.48, 0.28, -0.5, -0.02, 0.34],
    ),
    "BatchNorm1d": (
        [3, 2],
        [0.11236, 0.240406, -0.5, 0.422231, -1.11236, -0.062637],
        [2.5e-05, 1e-06, 0.0, 5e-06, -2.5e-05, -6e-06],
    ),
    "BatchNorm1d 3-d": (
        [2, 2, 2],
        [-1.310536, 1.135798, -1.310536, 1.135798, 0.786322, -0.611584, 0.786322, -0.611583],
        [-4e-05, 3.5e-05, -4e-05, 3.5e-05, 2.4e-05, -1.9e-05, 2.4e-05, -1.9e-05],
    ),
    "BatchNorm2d": (
        [2, 2, 1, 2],
        [0.073539, -0.997067, -0.029416, 0.398827, -0.844124, -0.232348, 0.337649, 0.092939],
        [0.134161, -0.116273, -0.053664, 0.046509, -0.080497, 0.062609, 0.032199, -0.025043],
    ),
    "BatchNorm2d eval": (
        [2, 2, 1, 2],
        [-3e-06, -0.699999, 0.12, 0.399999, -0.599999, -0.200001, 0.359999, 0.2],
        [0.499997, -0.199999, -0.08, 0.199999, -0.1, 0.299999, 0.159999, 0.0],
    ),
    "LayerNorm": (
        [2, 3],
        [0.081229, 0.455741, -0.176751, -1.112365, 0.2, 0.044946],
        [0.158356, 0.118748, -0.277104, -0.117381, 0.23474, -0.117359],
    ),
    "LayerNorm 2-d": (
        [2, 2, 2],
        [-1.301889, 0.520756, -0.520756, 1.301889, 0.196116, -1.372813, 1.372813, -0.196116],
        [-0.022066, 0.008826, -0.008826, 0.022066, 0.007543, -0.0528, 0.0528, -0.007543],
    ),
    "MaxPool2d": (
        [1, 1, 3, 4],
        [-1.0, 0.4, 0.4, -0.4, 1.0, 1.0, 0.4, -0.4, 1.0, 1.0, 0.2, -0.6],
        [-1.0, 0.8, 1.0, -0.6, -0.2, -1.0],
    ),
    "MaxPool2d ceil": ([1, 1, 2, 2], [1.0, -0.4, 0.8, -0.8], [0.0, 0.0, 0.4, -1.0, 0.0, 0.0, -0.4, 0.0, 1.0]),
    "AvgPool2d": (
        [1, 1, 3, 4],
        [-0.25, -0.15, 0.0, -0.1, 0.0, 0.15, -0.1, -0.25, 0.25, 0.3, -0.1, -0.15],
        [-0.25, 0.05, 0.35, -0.15, 0.15, -0.1],
    ),
    "AvgPool2d own count": ([1, 1, 2, 2], [-0.3, -0.4, 0.5, -0.7], [-0.5, -0.5, 0.4, -0.1, -0.1, 0.5, -0.1, -0.1, 0.5]),
    "AvgPool2d divisor": ([1, 1, 1, 1], [0.2], [-0.333333, -0.333333, 0.0, -0.333333, -0.333333, 0.0, 0.0, 0.0, 0.0]),
    "ReLU": ([5], [0.0, 0.4, 0.0, 1.0, 0.2], [0.0, 0.4, 0.0, 1.0, 0.2]),
    "Sigmoid": (
        [5],
        [0.268941, 0.598688, 0.401312, 0.731059, 0.549834],
        [-0.196612, 0.096104, -0.096104, 0.196612, 0.049503],
    ),
    "Tanh": (
        [5],
        [-0.761594, 0.379949, -0.379949, 0.761594, 0.197375],
        [-0.419974, 0.342256, -0.342256, 0.419974, 0.192209],
    ),
    "GELU": (
        [5],
        [-0.158655, 0.262169, -0.137831, 0.841345, 0.115852],
        [0.083315, 0.321092, -0.078908, 1.083315, 0.131494],
    ),
    "GELU tanh": (
        [5],
        [-0.158808, 0.262161, -0.137839, 0.841192, 0.115851],
        [0.082964, 0.321064, -0.078936, 1.082964, 0.131492],
    ),
    "SiLU": (
        [5],
        [-0.268941, 0.239475, -0.160525, 0.731059, 0.109967],
        [-0.072329, 0.277917, -0.122083, 0.927671, 0.119867],
    ),
    "Softmax": (
        [2, 3],
        [0.145406, 0.589648, 0.264946, 0.605611, 0.272118, 0.122271],
        [-0.143148, 0.245013, -0.101865, 0.250316, -0.105221, -0.145095],
    ),
    "LogSoftmax": (
        [2, 3],
        [-1.928229, -0.528229, -1.328229, -0.501518, -1.301518, -2.101518],
        [-0.854594, 0.989648, -0.135054, 0.636633, 0.036729, -0.673362],
    ),
}

MAKE = {
    "Linear": ((2, 3), lambda: nn.Linear(3, 2)),
    "Conv2d": ((1, 2, 3, 3), lambda: nn.Conv2d(2, 2, 2, stride=2, padding=1)),
    "Conv2d same": ((1, 1, 2, 3), lambda: nn.Conv2d(1, 1, (2, 3), padding="same")),
    "Conv2d groups": ((2, 2, 2, 3), lambda: nn.Conv2d(2, 2, 2, groups=2, dilation=(1, 2), bias=False)),
    "Conv2d reflect": ((1, 1, 2, 3), lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")),
    "Conv2d replicate": ((1, 1, 2, 3), lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="replicate")),
    "Conv2d circular": ((1, 1, 2, 3), lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular")),
    "Conv2d same reflect": ((1, 1, 2, 3), lambda: nn.Conv2d(1, 1, (1, 2), padding="same", padding_mode="reflect")),
    "BatchNorm1d": ((3, 2), lambda: nn.BatchNorm1d(2)),
    "BatchNorm1d 3-d": ((2, 2, 2), lambda: nn.BatchNorm1d(2, affine=False)),
    "BatchNorm2d": ((2, 2, 1, 2), lambda: nn.BatchNorm2d(2, eps=0.1)),
    "BatchNorm2d eval": ((2, 2, 1, 2), lambda: nn.BatchNorm2d(2).eval()),
    "LayerNorm": ((2, 3), lambda: nn.LayerNorm(3)),
    "LayerNorm 2-d": ((2, 2, 2), lambda: nn.LayerNorm((2, 2), elementwise_affine=False, eps=0.01)),
    "MaxPool2d": ((1, 1, 2, 3), lambda: nn.MaxPool2d(2, stride=1, padding=1)),
    "MaxPool2d ceil": ((1, 1, 3, 3), lambda: nn.MaxPool2d(2, ceil_mode=True)),
    "AvgPool2d": ((1, 1, 2, 3), lambda: nn.AvgPool2d(2, stride=1, padding=1)),
    "AvgPool2d own count": (
        (1, 1, 3, 3),
        lambda: nn.AvgPool2d((2, 3), padding=1, count_include_pad=False, ceil_mode=True),
    ),
    "AvgPool2d divisor": ((1, 1, 3, 3), lambda: nn.AvgPool2d(2, divisor_override=3)),
    "ReLU": ((5,), nn.ReLU),
    "Sigmoid": ((5,), nn.Sigmoid),
    "Tanh": ((5,), nn.Tanh),
    "GELU": ((5,), nn.GELU),
    "GELU tanh": ((5,), lambda: nn.GELU("tanh")),
    "SiLU": ((5,), nn.SiLU),
    "Softmax": ((2, 3), lambda: nn.Softmax(dim=1)),
    "LogSoftmax": ((2, 3), lambda: nn.LogSoftmax(dim=-1)),
}


@pytest.mark.parametrize("case", EXPECTED)
def test_result_and_gradient(case):
    shape, make = MAKE[case]
    expected_shape, values, gradient = EXPECTED[case]
    layer = make()
    with polyad.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(filled(*parameter.shape, scale=0.5))
    input = filled(*shape).requires_grad_()
    result = layer(input)
    (result * filled(*result.shape)).sum().backward()
    assert list(result.shape) == expected_shape
    # Half a unit of the sixth digit, and float32's rounding of sums of at most 16 terms of size up to 2.
    assert result.reshape(-1).tolist() == pytest.approx(values, abs=5e-7 + 16 * 2**-23)
    assert input.grad.reshape(-1).tolist() == pytest.approx(gradient, abs=5e-7 + 16 * 2**-23)


@pytest.mark.parametrize("case", ["Linear", "Conv2d", "BatchNorm2d", "LayerNorm"])
def test_dtype_and_device_of_parameters(case):
    shape, _ = MAKE[case]
    make = {"Linear": (nn.Linear, 3, 2), "Conv2d": (nn.Conv2d, 2, 2, 2), "BatchNorm2d": (nn.BatchNorm2d, 2)}
    kind, *sizes = make.get(case, (nn.LayerNorm, 3))
    layer = kind(*sizes, device="cpu", dtype=polyad.float64)
    assert {parameter.dtype for parameter in layer.parameters()} == {polyad.float64}
    assert layer(filled(*shape).to(polyad.float64)).dtype == polyad.float64


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (lambda: nn.Linear(3, 4, False), "Linear(in_features=3, out_features=4, bias=False)"),
        (lambda: nn.Identity(3, foo=2), "Identity()"),
        (lambda: nn.Conv2d(1, 2, 3), "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))"),
        (
            lambda: nn.Conv2d(2, 2, (3, 1), 2, 1, 2, 2, False, "reflect"),
            "Conv2d(2, 2, kernel_size=(3, 1), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, bias=False, "
            "padding_mode=reflect)",
        ),
        (lambda: nn.Conv2d(1, 2, 3, padding="same"), "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=same)"),
        (nn.ReLU, "ReLU()"),
        (lambda: nn.ReLU(True), "ReLU(inplace=True)"),
        (nn.Sigmoid, "Sigmoid()"),
        (nn.Tanh, "Tanh()"),
        (nn.GELU, "GELU(approximate='none')"),
        (lambda: nn.SiLU(True), "SiLU(inplace=True)"),
        (nn.Softmax, "Softmax(dim=None)"),
        (lambda: nn.LogSoftmax(1), "LogSoftmax(dim=1)"),
        (
            lambda: nn.MaxPool2d((2, 3), 1, 1, 1, True, True),
            "MaxPool2d(kernel_size=(2, 3), stride=1, padding=1, dilation=1, ceil_mode=True)",
        ),
        (lambda: nn.AvgPool2d(2), "AvgPool2d(kernel_size=2, stride=2, padding=0)"),
        (nn.Flatten, "Flatten(start_dim=1, end_dim=-1)"),
        (lambda: nn.Unflatten(1, [2, 3]), "Unflatten(dim=1, unflattened_size=(2, 3))"),
        (nn.Dropout, "Dropout(p=0.5, inplace=False)"),
        (
            lambda: nn.BatchNorm1d(3),
            "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ),
        (
            lambda: nn.BatchNorm2d(3, 1e-3, None, False, False),
            "BatchNorm2d(3, eps=0.001, momentum=None, affine=False, bias=False, track_running_stats=False)",
        ),
        (lambda: nn.LayerNorm((3, 4)), "LayerNorm((3, 4), eps=1e-05, elementwise_affine=True, bias=True)"),
        (lambda: nn.Embedding(3, 4, padding_idx=-1), "Embedding(3, 4, padding_idx=2)"),
        (nn.CrossEntropyLoss, "CrossEntropyLoss()"),
    ],
)
def test_repr(layer, text):
    assert repr(layer()) == text


@pytest.mark.parametrize(
    "sample", [s for s in module_samples() if s.call is None and s.layer != "Identity"], ids=lambda sample: sample.label
)
def test_what_is_no_tensor_is_refused_where_it_is_in_the_model(sample):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = sample.build(polyad)

        def forward(self, *inputs):
            return self.inner(*inputs)

    _, *others = as_tensors(draw(sample, sample.inputs, 0), polyad.float32, "cpu")
    for wrong in (None, "x"):
        with pytest.raises(TypeError, match=r"(?s)a tensor.*\n    in +model\.inner"):
            Model()(wrong, *others)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: nn.Linear(-1, 4), RuntimeError, "-1"),
        (lambda: nn.Linear("x", 4), TypeError, "x"),
        (lambda: nn.Conv2d(1, 2, 3, padding="foo"), ValueError, "padding 'foo'"),
        (lambda: nn.Conv2d(1, 2, 3, padding="same", stride=2), ValueError, "stride of 1"),
        (lambda: nn.Conv2d(1, 2, 3, groups=0), ValueError, "groups"),
        (lambda: nn.Conv2d(3, 2, 3, groups=2), ValueError, "in_channels must be divisible"),
        (lambda: nn.Conv2d(2, 3, 3, groups=2), ValueError, "out_channels must be divisible"),
        (lambda: nn.Conv2d(2, 3, 3, padding_mode="q"), ValueError, "padding_mode must be 'zeros'.*not 'q'"),
        (lambda: nn.Conv2d(2, 3, "x"), TypeError, "kernel_size"),
        (lambda: nn.Conv2d(2, 3, (1, 2, 3)), ValueError, "kernel_size"),
        (lambda: nn.Conv2d(2, 3, 0), ValueError, "kernel_size"),
        (lambda: nn.Conv2d(2, 3, 1, stride=0), ValueError, "stride"),
        (lambda: nn.Conv2d(2, 3, 1, padding=-1), ValueError, "padding"),
        (lambda: nn.Dropout(1.2), ValueError, "p must be a number from 0 to 1, not 1.2"),
        (lambda: nn.Dropout("x"), TypeError, "p is str, not a number"),
        (lambda: nn.Embedding(3, 4, padding_idx=5), ValueError, "padding_idx"),
        (lambda: nn.Embedding.from_pretrained(polyad.zeros(2)), RuntimeError, "2-d"),
        (lambda: nn.BatchNorm2d(3)(polyad.ones(2, 3)), ValueError, "input must be 4-d, not 2-d"),
        (lambda: nn.BatchNorm1d(3)(polyad.ones(2, 3, 4, 5)), ValueError, "2-d or 3-d"),
        (lambda: nn.BatchNorm1d(3)(polyad.ones(1, 3)), ValueError, "one value a channel"),
        (lambda: nn.BatchNorm1d(3)(polyad.ones(2, 4)), RuntimeError, "4"),
        (lambda: nn.LayerNorm(3)(polyad.ones(2, 4)), RuntimeError, "4"),
        (lambda: nn.Linear(2, 2)(polyad.ones(3)), RuntimeError, "2"),
        (lambda: nn.Linear(2, 2)(3), TypeError, "input"),
        (lambda: nn.Conv2d(2, 2, 3)(polyad.ones(1, 3, 5, 5)), RuntimeError, "3"),
        (lambda: nn.GELU("x")(polyad.ones(1)), (RuntimeError, ValueError), "approximate"),
        (lambda: nn.Embedding(3, 4)(polyad.tensor([3])), IndexError, "3"),
    ],
)
def test_errors(make, error, words):
    with pytest.raises(error, match=words):
        make()


class TestBatchNorm:
    # Running values printed by PyTorch 2.13 after the same batches.
    def test_running_values(self):
        layer = nn.BatchNorm2d(2)
        for shift in range(2):
            layer(filled(2, 2, 1, 2) + shift)
        assert layer.running_mean.tolist() == pytest.approx([0.0525, 0.1665], abs=1e-6)
        assert layer.running_var.tolist() == pytest.approx([0.892967, 0.892967], abs=1e-6)
        assert layer.num_batches_tracked.item() == 2

    def test_without_momentum_they_are_plain_means(self):
        layer = nn.BatchNorm2d(2, momentum=None)
        for shift in range(3):
            layer(filled(2, 2, 1, 2) + shift)
        assert layer.running_mean.tolist() == pytest.approx([0.75, 1.35], abs=1e-6)
        assert layer.running_var.tolist() == pytest.approx([0.436667, 0.436667], abs=1e-6)

    def test_evaluation_changes_nothing(self):
        layer = nn.BatchNorm1d(2).eval()
        layer(filled(3, 2))
        assert layer.num_batches_tracked.item() == 0
        assert layer.running_mean.tolist() == [0.0, 0.0]

    def test_a_refused_batch_changes_nothing(self):
        layer = nn.BatchNorm1d(2)
        before = copy.deepcopy(layer.state_dict())
        for bad in (polyad.ones(1, 2), polyad.ones(3, 4), polyad.ones(2)):
            with pytest.raises((ValueError, RuntimeError)):
                layer(bad)
        assert [value.tolist() for value in layer.state_dict().values()] == [
            value.tolist() for value in before.values()
        ]

    def test_untracked_uses_the_batch_always(self):
        layer = nn.BatchNorm1d(2, track_running_stats=False)
        assert list(layer.state_dict()) == ["weight", "bias"]
        assert layer(filled(3, 2)).tolist() == layer.eval()(filled(3, 2)).tolist()

    def test_reset(self):
        layer = nn.BatchNorm1d(2)
        layer(filled(3, 2))
        layer.reset_parameters()
        assert layer.num_batches_tracked.item() == 0
        assert layer.running_var.tolist() == [1.0, 1.0]

    def test_without_bias(self):
        layer = nn.BatchNorm1d(2, bias=False)
        assert layer.bias is None
        assert [name for name, _ in layer.named_parameters()] == ["weight"]


class TestDropout:
    def test_scales_what_it_keeps(self):
        polyad.manual_seed(0)
        values = nn.Dropout(0.25)(polyad.ones(10_000)).tolist()
        assert sorted(set(values)) == pytest.approx([0.0, 1 / 0.75])
        # Ten standard deviations of a binomial.
        assert abs(values.count(0.0) - 2500) < 10 * (10_000 * 0.25 * 0.75) ** 0.5

    def test_limits(self):
        input = filled(5)
        assert nn.Dropout(0.0)(input).tolist() == input.tolist()
        assert nn.Dropout(1.0)(input).tolist() == pytest.approx([0.0] * 5)
        assert nn.Dropout(0.9).eval()(input).tolist() == input.tolist()

    def test_seed_decides(self):
        layer = nn.Dropout(0.5)
        polyad.manual_seed(3)
        first = layer(polyad.ones(100)).tolist()
        assert layer(polyad.ones(100)).tolist() != first
        polyad.manual_seed(3)
        assert layer(polyad.ones(100)).tolist() == first

    def test_inplace(self):
        input = polyad.ones(100)
        result = nn.Dropout(0.5, inplace=True)(input)
        assert input.tolist() == result.tolist()
        assert 0.0 in input.tolist()

    def test_gradient_is_the_mask(self):
        input = polyad.ones(50, requires_grad=True)
        result = nn.Dropout(0.5)(input)
        result.sum().backward()
        assert input.grad.tolist() == result.tolist()


@pytest.mark.parametrize("kind", [nn.ReLU, nn.SiLU])
def test_inplace_activation(kind):
    input = filled(5)
    expected = kind()(input).tolist()
    result = kind(inplace=True)(input)
    assert input.tolist() == result.tolist() == expected


def test_max_pool_indices():
    values, indices = nn.MaxPool2d(2, return_indices=True)(filled(1, 1, 2, 4))
    assert indices.tolist() == [[[[5, 2]]]] or indices.dtype == polyad.int64
    flat = filled(8).tolist()
    assert [flat[index] for index in indices.reshape(-1).tolist()] == values.reshape(-1).tolist()


def test_unbatched_images():
    assert nn.Conv2d(1, 2, 3)(polyad.zeros(1, 5, 5)).shape == (2, 3, 3)
    assert nn.MaxPool2d(2)(polyad.zeros(1, 4, 4)).shape == (1, 2, 2)


def test_flatten_and_unflatten():
    input = polyad.zeros(2, 3, 4)
    assert nn.Flatten()(input).shape == (2, 12)
    assert nn.Flatten(0, 1)(input).shape == (6, 4)
    assert nn.Unflatten(1, (3, 4))(nn.Flatten()(input)).shape == (2, 3, 4)


class TestEmbedding:
    def test_looks_up(self):
        layer = nn.Embedding.from_pretrained(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
        assert layer(polyad.tensor([[1, 0]])).tolist() == [[[3.0, 4.0], [1.0, 2.0]]]
        assert not layer.weight.requires_grad
        assert nn.Embedding.from_pretrained(polyad.zeros(1, 1), freeze=False).weight.requires_grad

    def test_padding_is_zero_and_untrained(self):
        layer = nn.Embedding(3, 2, padding_idx=-1)
        assert layer.weight[2].tolist() == [0.0, 0.0]
        assert 0.0 not in layer.weight[0].tolist()
        layer(polyad.tensor([2, 0, 2])).sum().backward()
        assert layer.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


class TestStartingValues:
    @pytest.mark.parametrize(
        ("layer", "fan_in"), [(lambda: nn.Linear(100, 50), 100), (lambda: nn.Conv2d(6, 64, 4, groups=2), 3 * 16)]
    )
    def test_uniform_by_fan_in(self, layer, fan_in):
        polyad.manual_seed(0)
        layer = layer()
        bound = fan_in**-0.5
        for parameter, fill in ((layer.weight, 0.98), (layer.bias, 0.7)):
            largest = max(map(abs, parameter.detach().reshape(-1).tolist()))
            assert fill * bound < largest <= bound

    def test_without_inputs(self):
        with pytest.warns(UserWarning, match="without elements"):
            layer = nn.Linear(0, 2)
        assert layer.bias.tolist() == [0.0, 0.0]

    def test_normalisation_starts_as_the_identity(self):
        for layer in (nn.BatchNorm1d(2), nn.LayerNorm(2)):
            assert layer.weight.tolist() == [1.0, 1.0]
            assert layer.bias.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "also"),
    [
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError),
        (lambda: nn.EmbeddingBag(3, 2, padding_idx=-4), ValueError),
        (lambda: nn.Embedding(3, 2, _weight=polyad.ones(2, 2)), RuntimeError),
        (lambda: nn.Embedding.from_pretrained(polyad.ones(3)), RuntimeError),
        (lambda: nn.EmbeddingBag.from_pretrained(polyad.ones(3)), RuntimeError),
        (lambda: nn.Hardtanh(1, -1), ValueError),
        (lambda: nn.MultiheadAttention(7, 2), ValueError),
        (lambda: nn.utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)), ValueError),
        (lambda: nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(2).eval()), ValueError),
        (lambda: nn.MultiheadAttention(8, 2)(*[polyad.ones(3, 2, 4)] * 3), RuntimeError),
        (lambda: nn.MultiheadAttention(8, 2)(polyad.ones(3, 8), *[polyad.ones(3, 2, 8)] * 2), RuntimeError),
        (lambda: nn.TransformerEncoderLayer(4, 2)(polyad.ones(3, 2, 8)), RuntimeError),
    ],
)
def test_what_pytorch_asserts_is_an_assertion_error_too(call, also):
    with pytest.raises(AssertionError) as caught:
        call()
    assert isinstance(caught.value, also)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_by_themselves(dims):
    convolve = getattr(nn.functional, f"conv{dims}d")
    input = filled(2, 4, *[5] * dims).requires_grad_()
    weight = filled(2, 2, *[3] * dims).requires_grad_()
    settings = {"stride": 2, "padding": 1, "groups": 2}
    result = convolve(input, weight, **settings)
    g = filled(*result.shape).requires_grad_()
    result.backward(g)
    by_input = getattr(nn.grad, f"conv{dims}d_input")(input.shape, weight, g, **settings)
    by_weight = getattr(nn.grad, f"conv{dims}d_weight")(input, list(weight.shape), g, **settings)
    polyad.testing.assert_close(by_input.detach(), input.grad)
    polyad.testing.assert_close(by_weight.detach(), weight.grad)
    assert by_input.requires_grad  # they are functions of the other operand and of g
    assert by_weight.requires_grad
    with polyad.no_grad():
        assert not getattr(nn.grad, f"conv{dims}d_input")(input.shape, weight, g, **settings).requires_grad
    with pytest.raises(RuntimeError, match=f"conv{dims}d"):
        getattr(nn.grad, f"conv{dims}d_input")((2, 3, *[5] * dims), weight, g, **settings)
    with pytest.raises(RuntimeError, match=f"conv{dims}d_weight: grad_output is"):
        getattr(nn.grad, f"conv{dims}d_weight")(input, weight.shape, g[:1], **settings)
    with polyad.profiler.profile() as profile:
        getattr(nn.grad, f"conv{dims}d_input")(input.shape, weight, g, **settings)
        getattr(nn.grad, f"conv{dims}d_weight")(input, weight.shape, g, **settings)
    names = sorted(one.key for one in profile.key_averages())
    assert [name for name in names if "convolution" in name] == ["convolution_transposed", "convolution_weight_grad"]


@pytest.mark.parametrize(
    "layer",
    [
        nn.BatchNorm2d(4),
        nn.BatchNorm2d(4).eval(),
        nn.GroupNorm(2, 4),
        nn.Conv2d(4, 4, 3),
        nn.MaxPool2d(2),
        nn.AvgPool2d(2),
        nn.PReLU(4),
        nn.ReLU(),
        nn.Upsample(scale_factor=2),
    ],
    ids=repr,
)
def test_channels_stay_innermost_in_memory(layer):
    x = filled(2, 4, 6, 6)
    there = layer(x)
    here = layer(x.contiguous(memory_format=polyad.channels_last))
    assert here.is_contiguous(memory_format=polyad.channels_last)
    assert not there.is_contiguous(memory_format=polyad.channels_last)
    polyad.testing.assert_close(here, there, check_stride=False)


def test_instance_norm_takes_no_eps():
    assert nn.InstanceNorm1d(2, eps=0)(polyad.tensor([[[1.0, 3.0], [2.0, 6.0]]])).tolist() == [[[-1, 1], [-1, 1]]]


@pytest.mark.parametrize(("dim", "sizes"), [("a", (2, 3)), (1, (2.0, 3)), (1, (("a", 2), ("b", 3))), (1, 6)])
def test_unflatten_wants_whole_numbers(dim, sizes):
    with pytest.raises(TypeError, match="Unflatten: "):
        nn.Unflatten(dim, sizes)
