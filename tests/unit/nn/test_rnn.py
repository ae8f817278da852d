"""Recurrent layers beyond their conformance samples: settings, packing, parameters, errors, derivatives."""

import copy
import math

import pytest

import polyad
from polyad import nn
from polyad.nn.utils import rnn
from polyad.testing import assert_close

LAYERS = (nn.RNN, nn.LSTM, nn.GRU)
CELLS = (nn.RNNCell, nn.LSTMCell, nn.GRUCell)


@pytest.mark.parametrize("cls", LAYERS)
def test_layers_and_directions_have_pytorchs_parameters(cls):
    layer = cls(3, 4, num_layers=2, bidirectional=True)
    gates = {"RNN": 1, "LSTM": 4, "GRU": 3}[cls.__name__] * 4
    shapes = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    assert list(shapes) == [
        f"{kind}_l{number}{way}"
        for number in (0, 1)
        for way in ("", "_reverse")
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    assert shapes["weight_ih_l0"] == (gates, 3)
    assert shapes["weight_ih_l1_reverse"] == (gates, 8)
    assert shapes["weight_hh_l1"] == (gates, 4)
    assert shapes["bias_hh_l0_reverse"] == (gates,)
    assert [[id(one) for one in weights] for weights in layer.all_weights] == [
        [id(layer.get_parameter(name)) for name in list(shapes)[start : start + 4]] for start in (0, 4, 8, 12)
    ]


def test_a_projection_has_a_weight_of_its_own():
    layer = nn.LSTM(3, 4, proj_size=2, bias=False)
    assert {name: tuple(one.shape) for name, one in layer.named_parameters()} == {
        "weight_ih_l0": (16, 3),
        "weight_hh_l0": (16, 2),
        "weight_hr_l0": (2, 4),
    }


@pytest.mark.parametrize("cls", [*LAYERS, *CELLS])
def test_parameters_start_uniform_within_the_bound(cls):
    polyad.manual_seed(0)
    layer = cls(50, 64)
    bound = 1 / math.sqrt(64)
    for name, parameter in layer.named_parameters():
        values = parameter.detach()
        assert values.abs().max() <= bound, name
        count = values.numel()
        # Moments of the uniform distribution, within five standard errors.
        assert abs(values.mean().item()) < 5 * bound / math.sqrt(3 * count), name
        assert abs((values * values).mean().item() - bound**2 / 3) < 5 * bound**2 * math.sqrt(4 / 45 / count), name


def test_a_layer_is_its_cell_step_by_step():
    polyad.manual_seed(0)
    layer, cell = nn.LSTM(3, 4), nn.LSTMCell(3, 4)
    cell.load_state_dict({name.removesuffix("_l0"): one for name, one in layer.state_dict().items()})
    x = polyad.randn(5, 2, 3)
    out, (h, c) = layer(x)
    state = None
    for step in range(5):
        state = cell(x[step], state)
        assert_close(out[step], state[0])
    assert_close((h[0], c[0]), state)


@pytest.mark.parametrize("cls", LAYERS)
@pytest.mark.parametrize("packed", [False, True])
def test_second_derivatives(cls, packed):
    polyad.manual_seed(0)
    layer = cls(2, 3, bidirectional=True, dtype=polyad.float64)
    weights = list(layer.parameters())

    def results(x, *given):
        named = dict(zip((name for name, _ in layer.named_parameters()), given, strict=True))
        data = rnn.pack_padded_sequence(x, [3, 1]) if packed else x
        out, _ = polyad.func.functional_call(layer, named, (data,))
        return out.data if packed else out

    x = polyad.randn(3, 2, 2, dtype=polyad.float64, requires_grad=True)
    assert polyad.autograd.gradcheck(results, (x, *weights), fast_mode=True)
    assert polyad.autograd.gradgradcheck(results, (x, *weights), fast_mode=True)


@pytest.mark.parametrize("cls", LAYERS)
def test_packed_sequences_are_the_sequences_one_by_one(cls):
    polyad.manual_seed(0)
    layer = cls(3, 4, num_layers=2, bidirectional=True)
    sequences = [polyad.randn(length, 3) for length in (2, 4, 1)]
    out, last = layer(rnn.pack_sequence(sequences, enforce_sorted=False))
    last = last[0] if isinstance(last, tuple) else last
    for place, (sequence, got) in enumerate(zip(sequences, rnn.unpack_sequence(out), strict=True)):
        alone, state = layer(sequence)
        assert_close(got, alone)
        assert_close(last[:, place], state[0] if isinstance(state, tuple) else state)


def test_a_padded_end_does_not_matter():
    layer = nn.GRU(3, 4)
    x = polyad.randn(4, 2, 3)
    other = x.clone()
    other[2:, 1] = math.nan
    packed = [rnn.pack_padded_sequence(one, [4, 2]) for one in (x, other)]
    assert_close(*(layer(one)[1] for one in packed))


def test_dropout_is_between_layers_in_training():
    layer = nn.GRU(3, 4, num_layers=2, dropout=1.0)
    x = polyad.randn(3, 2, 3)
    still = copy.deepcopy(layer)
    still.dropout = 0.0
    assert_close(layer.eval()(x), still(x))
    without = copy.deepcopy(still)
    with polyad.no_grad():
        without.weight_ih_l1.zero_()
    assert_close(layer.train()(x)[0], without(x)[0])


def test_dropout_with_one_layer_warns():
    with pytest.warns(UserWarning, match="dropout 0.5 has no effect with num_layers=1"):
        nn.LSTM(3, 4, dropout=0.5)


def test_a_replaced_parameter_is_used():
    layer = nn.RNN(3, 4)
    layer.weight_ih_l0 = nn.Parameter(polyad.zeros(4, 3))
    layer.weight_hh_l0 = nn.Parameter(polyad.zeros(4, 4))
    expected = (layer.bias_ih_l0 + layer.bias_hh_l0).tanh()
    assert_close(layer(polyad.randn(2, 1, 3))[0][1, 0], expected)


def test_a_tied_weight_stays_tied_when_moved():
    model = nn.ModuleDict({"first": nn.LSTM(4, 4), "second": nn.LSTM(4, 4)})
    model["second"].weight_hh_l0 = model["first"].weight_hh_l0
    model.to(polyad.float64)
    assert model["second"].weight_hh_l0 is model["first"].weight_hh_l0
    x = polyad.randn(2, 1, 4, dtype=polyad.float64)
    model["second"](model["first"](x)[0])[0].sum().backward()
    assert model["first"].weight_hh_l0.grad.dtype is polyad.float64


def test_a_tied_weight_moved_by_one_of_its_layers_is_refused_by_the_other():
    model = nn.ModuleDict({"first": nn.LSTM(4, 4), "second": nn.LSTM(4, 4)})
    model["second"].weight_hh_l0 = model["first"].weight_hh_l0
    model["first"].to(polyad.float64)
    with pytest.raises(RuntimeError, match=r"lstm: w_hh is float64 beside input of float32"):
        model["second"](polyad.randn(2, 1, 4))


def test_the_address_of_one_dtype_is_told_for_another():
    with pytest.raises(ValueError, match=r"LSTM: input is float64, the parameters are float32[^$]*input\.to\("):
        nn.LSTM(3, 4)(polyad.randn(2, 1, 3, dtype=polyad.float64))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.LSTM(0, 4), ValueError, "LSTM: input_size must be an int of at least 1, not 0"),
        (lambda: nn.LSTM(3, 4.0), TypeError, "LSTM: hidden_size is float, not an int"),
        (lambda: nn.LSTM(3, 4, bias=1), TypeError, "bias"),
        (lambda: nn.GRU(3, 4, 0), ValueError, "GRU: num_layers must be an int from 1 to 65536, not 0"),
        (lambda: nn.GRU(3, 4, dropout=1.5), ValueError, "GRU: dropout must be a number from 0 to 1, not 1.5"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, r"LSTM: proj_size 4 is not in \[0, 4\)"),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "GRU: proj_size is for LSTM alone"),
        (lambda: nn.RNN(3, 4, nonlinearity="gelu"), ValueError, "RNN: nonlinearity must be 'tanh' or 'relu'"),
        (lambda: nn.RNNBase("ELMAN", 3, 4), ValueError, "RNNBase: unknown mode 'ELMAN'"),
        (lambda: nn.RNNCell(3, 4, nonlinearity="gelu")(polyad.ones(3)), RuntimeError, "RNNCell: unknown nonlinearity"),
        (lambda: nn.LSTM(3, 4)(polyad.ones(3)), ValueError, "LSTM: input must be 2-d or 3-d, not 1-d"),
        (lambda: nn.LSTM(3, 4)(polyad.ones(2, 1, 3), polyad.ones(1, 1, 4)), TypeError, "LSTM: hx is a Tensor, not"),
        (
            lambda: nn.LSTM(3, 4)(polyad.ones(2, 1, 3), (polyad.ones(1, 1, 4), polyad.ones(2, 1, 4))),
            RuntimeError,
            r"LSTM: c_0 \(2, 1, 4\) is not \(1, 1, 4\), for 1 layers in 1 direction\n",
        ),
        (
            lambda: nn.GRU(3, 4, bidirectional=True)(polyad.ones(2, 3), polyad.ones(2, 1, 4)),
            RuntimeError,
            r"GRU: hx \(2, 1, 4\) is not \(2, 4\)",
        ),
        (lambda: nn.LSTMCell(3, 4)(polyad.ones(2, 3), polyad.ones(2, 4)), TypeError, "LSTMCell: hx is a Tensor, not"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ------------------------------------------------------------------------------------------------------------ packing


def test_packing_and_back():
    x = polyad.arange(24).reshape(4, 3, 2)
    packed = rnn.pack_padded_sequence(x, polyad.tensor([2, 4, 1]), enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    padded, lengths = rnn.pad_packed_sequence(packed, padding_value=-1, total_length=5)
    assert lengths.tolist() == [2, 4, 1]
    assert padded.shape == (5, 3, 2)
    for place, length in enumerate(lengths.tolist()):
        assert padded[:length, place].equal(x[:length, place])
        assert (padded[length:, place] == -1).all()


def test_packing_has_gradients():
    x = polyad.ones(3, 2, 1, requires_grad=True)
    rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1]))[0].mul(2).sum().backward()
    assert x.grad.squeeze(2).tolist() == [[2, 2], [2, 0], [2, 0]]


def test_a_packed_sequence_moves_and_casts():
    packed = rnn.pack_sequence([polyad.ones(2), polyad.ones(3)], enforce_sorted=False)
    assert packed.to(polyad.float64).data.dtype is polyad.float64
    assert packed.half().data.dtype is polyad.float16
    assert packed.long().sorted_indices.equal(packed.sorted_indices)
    assert packed.cpu() is packed
    meta = packed.to("meta")
    assert (meta.data.device.type, meta.batch_sizes.device.type, meta.sorted_indices.device.type) == (
        "meta",
        "cpu",
        "meta",
    )
    twin = copy.deepcopy(packed)
    assert type(twin) is rnn.PackedSequence
    assert all(one is not other and one.equal(other) for one, other in zip(twin, packed, strict=True))


def test_padding_on_either_side():
    sequences = [polyad.tensor([1, 2, 3]), polyad.tensor([4])]
    assert rnn.pad_sequence(sequences).tolist() == [[1, 4], [2, 0], [3, 0]]
    left = rnn.pad_sequence(sequences, batch_first=True, padding_value=9, padding_side="left")
    assert left.tolist() == [[1, 2, 3], [9, 9, 4]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: rnn.pack_padded_sequence(x, [4, 2]),
            RuntimeError,
            r"pack_padded_sequence: lengths\[0\] = 4 is not in \[1, 3\]",
        ),
        (lambda x: rnn.pack_padded_sequence(x, [3, 0]), RuntimeError, r"lengths\[1\] = 0 is not in"),
        (lambda x: rnn.pack_padded_sequence(x, [3]), RuntimeError, "lengths must be 2 numbers"),
        (lambda x: rnn.pack_padded_sequence(x, [1, 3]), RuntimeError, r"lengths\[1\] = 3 is more than the 1 before it"),
        (lambda x: rnn.pack_padded_sequence(x, polyad.tensor([3.0, 1.0])), RuntimeError, "vector of integers"),
        (lambda x: rnn.pad_packed_sequence(x), TypeError, "sequence is Tensor, not a PackedSequence"),
        (
            lambda x: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1]), total_length=2),
            ValueError,
            "total_length 2 is less than 3",
        ),
        (lambda x: rnn.pad_sequence([x, x[..., :0]]), RuntimeError, "differ in more than their lengths"),
        (lambda x: rnn.pad_sequence([]), RuntimeError, "no sequences"),
        (lambda x: rnn.pad_sequence([x], padding_side="top"), RuntimeError, "unknown padding_side 'top'"),
        (lambda x: rnn.unpad_sequence(x, polyad.tensor([4, 1])), RuntimeError, r"lengths \[4, 1\] do not fit 2"),
        (lambda x: rnn.PackedSequence(x, None), TypeError, "PackedSequence: batch_sizes is NoneType, not a tensor"),
        (
            lambda x: nn.LSTM(1, 2)(rnn.PackedSequence(polyad.ones(3, 1), polyad.tensor([1, 2]))),
            RuntimeError,
            r"lstm: batch_sizes must be positive, fall, and add up to the 3 rows of data; they are \[1, 2\]",
        ),
        (
            lambda x: nn.GRU(1, 2)(rnn.PackedSequence(polyad.ones(3, 1), polyad.tensor([2, 2]))),
            RuntimeError,
            "gru: batch_sizes must be positive",
        ),
    ],
)  # fmt: skip
def test_packing_refuses_what_does_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call(polyad.ones(3, 2, 1))


def test_an_error_says_where_the_layer_is():
    model = nn.Sequential(nn.Identity(), nn.GRU(3, 4))
    with pytest.raises(
        RuntimeError, match=r"GRU: input \(2, 1, 5\) has 5 features, not the 3 of input_size[^$]*\(1\)|1"
    ):
        model(polyad.ones(2, 1, 5))


def test_lengths_may_be_numpys():
    import numpy as np

    for lengths in (np.array([3, 1]), list(np.array([3, 1]))):
        assert rnn.pack_padded_sequence(polyad.zeros(3, 2, 1), lengths).batch_sizes.tolist() == [2, 1, 1]
