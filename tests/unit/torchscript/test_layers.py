"""Scripted layers and functions of `polyad.nn.functional` compute what polyad's own do."""

from __future__ import annotations

import pytest

import polyad as torch
from polyad import nn
from polyad.torchscript.library.functional import FUNCTIONS
from polyad.torchscript.modules.functions import ScriptFunction

LAYERS = {
    "linear": (lambda: nn.Linear(4, 3), (5, 4)),
    "conv1d": (lambda: nn.Conv1d(2, 4, 3, padding=1, groups=2), (2, 2, 7)),
    "conv2d": (lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1), (2, 2, 7, 7)),
    "conv2d_same": (lambda: nn.Conv2d(2, 4, 3, padding="same", bias=False), (2, 2, 5, 5)),
    "conv2d_circular": (lambda: nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"), (2, 2, 5, 5)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), (2, 2, 4, 4)),
    "batch_norm": (lambda: nn.BatchNorm2d(2), (4, 2, 3, 3)),
    "batch_norm_mean": (lambda: nn.BatchNorm1d(2, momentum=None), (4, 2)),
    "batch_norm_untracked": (lambda: nn.BatchNorm1d(2, track_running_stats=False), (4, 2)),
    "instance_norm": (lambda: nn.InstanceNorm2d(2), (2, 2, 3, 3)),
    "layer_norm": (lambda: nn.LayerNorm(4), (3, 4)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (3, 4, 2)),
    "dropout": (lambda: nn.Dropout(0.5), (20,)),
    "dropout2d": (lambda: nn.Dropout2d(0.5), (4, 8, 2, 2)),
    "max_pool": (lambda: nn.MaxPool2d(2), (1, 2, 4, 4)),
    "avg_pool": (lambda: nn.AvgPool2d(3, padding=1), (1, 2, 4, 4)),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d((1, 2)), (1, 2, 4, 4)),
    "adaptive_some": (lambda: nn.AdaptiveAvgPool2d((None, 2)), (1, 2, 4, 4)),
    "adaptive_max1d": (lambda: nn.AdaptiveMaxPool1d(2), (3, 2, 5)),
    "adaptive_max2d": (lambda: nn.AdaptiveMaxPool2d((1, 2)), (3, 2, 4, 4)),
    "adaptive_max3d": (lambda: nn.AdaptiveMaxPool3d(2), (3, 2, 4, 4, 4)),
    "flatten": (lambda: nn.Flatten(), (2, 3, 2)),
    "unflatten": (lambda: nn.Unflatten(1, (2, 3)), (2, 6)),
    "reflect": (lambda: nn.ReflectionPad2d(1), (1, 2, 4, 4)),
    "replicate": (lambda: nn.ReplicationPad1d(2), (1, 2, 4)),
    "sequential": (lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2), nn.Softmax(1)), (5, 4)),
    "lstm": (lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True), (5, 2, 4)),
    "lstm_projected": (lambda: nn.LSTM(4, 3, proj_size=2, batch_first=True), (2, 5, 4)),
    "lstm_unbatched": (lambda: nn.LSTM(4, 3), (5, 4)),
    "gru": (lambda: nn.GRU(4, 3, batch_first=True), (2, 5, 4)),
    "rnn": (lambda: nn.RNN(4, 3, nonlinearity="relu"), (5, 2, 4)),
    "lstm_cell": (lambda: nn.LSTMCell(4, 3), (2, 4)),
    "gru_cell": (lambda: nn.GRUCell(4, 3), (2, 4)),
    "rnn_cell": (lambda: nn.RNNCell(4, 3), (4,)),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 5, 4)),
    "softmax2d": (lambda: nn.Softmax2d(), (1, 2, 3, 3)),
    "threshold": (lambda: nn.Threshold(0.1, 20.0), (6,)),
    "upsample": (lambda: nn.Upsample(scale_factor=2), (1, 2, 3, 3)),
}


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_a_scripted_layer(name: str, training: bool) -> None:
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    model = make().train(training)
    scripted = torch.jit.script(make().train(training))
    scripted.load_state_dict(model.state_dict())
    results = []
    for layer in (model, scripted):
        torch.manual_seed(1)
        x = torch.randn(shape, requires_grad=True)
        out = leaves(layer(x))
        sum(one.sum() for one in out).backward()
        results.append([*out, x.grad, *layer.state_dict().values()])
    for wanted, found in zip(*results, strict=True):
        torch.testing.assert_close(found, wanted)


def test_no_layer_is_run_as_python_that_has_a_program() -> None:
    kept = {"conv2d_circular", "adaptive_some", "transformer"}
    for name, (make, _) in LAYERS.items():
        forward = torch.jit.script(make())._script_type.method("forward")
        assert isinstance(forward, ScriptFunction) == (name not in kept), name


FUNCTION_CALLS = {
    "cross_entropy": [("", torch.randn(4, 3), torch.tensor([0, 2, 1, 1])),
                      ("label_smoothing=0.1, reduction='sum'", torch.randn(4, 3), torch.tensor([0, 2, 1, 1]))],
    "nll_loss": [("ignore_index=1", torch.randn(4, 3), torch.tensor([0, 2, 1, 1]))],
    "mse_loss": [("", torch.randn(4, 3), torch.randn(4, 3))],
    "l1_loss": [("reduction='none'", torch.randn(4, 3), torch.randn(4, 3))],
    "smooth_l1_loss": [("beta=0.5", torch.randn(4, 3), torch.randn(4, 3))],
    "huber_loss": [("delta=0.5", torch.randn(4, 3), torch.randn(4, 3))],
    "binary_cross_entropy": [("", torch.rand(4), torch.rand(4))],
    "binary_cross_entropy_with_logits": [("", torch.randn(4), torch.rand(4))],
    "kl_div": [("reduction='batchmean'", torch.randn(4, 3), torch.rand(4, 3)),
               ("log_target=True", torch.randn(4, 3), torch.randn(4, 3))],
    "embedding": [("padding_idx=1", torch.tensor([[0, 1], [2, 2]]), torch.randn(3, 4))],
    "embedding_bag": [("", torch.tensor([[0, 1], [2, 2]]), torch.randn(3, 4)),
                      ("mode=\"sum\", padding_idx=1", torch.tensor([[0, 1], [2, 2]]), torch.randn(3, 4))],
    "batch_norm": [("training=True", torch.randn(4, 3), torch.zeros(3), torch.ones(3))],
    "layer_norm": [("[3]", torch.randn(4, 3))],
    "group_norm": [("2", torch.randn(4, 6))],
    "threshold": [("0.5, 1.0", torch.randn(5))],
    **{
        name: [("", torch.randn(3, 4)), *([("inplace=True", torch.randn(3, 4))] if "inplace" in arguments else [])]
        for name, arguments in {
            "relu": "inplace", "relu6": "inplace", "hardtanh": "inplace", "leaky_relu": "inplace", "elu": "inplace",
            "celu": "inplace", "selu": "inplace", "silu": "inplace", "mish": "inplace", "hardswish": "inplace",
            "hardsigmoid": "inplace", "rrelu": "inplace", "glu": "", "tanhshrink": "", "softsign": "", "softmax": "",
            "log_softmax": "", "softmin": "", "normalize": "", "instance_norm": "",
        }.items()
        if name != "instance_norm"
    },
    "instance_norm": [("", torch.randn(2, 3, 4))],
    "dropout": [("0.5, False", torch.randn(5)), ("0.5", torch.randn(50))],
    "dropout2d": [("0.5", torch.randn(2, 8, 3, 3))],
    "dropout3d": [("0.5", torch.randn(2, 8, 2, 2, 2))],
    "alpha_dropout": [("0.5, False", torch.randn(5))],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_in_a_program(name: str) -> None:
    for options, *tensors in FUNCTION_CALLS[name]:
        names = ", ".join(f"t{k}" for k in range(len(tensors)))
        call = f"torch.nn.functional.{name}({names}{', ' + options if options else ''})"
        unit = torch.jit.CompilationUnit(f"def f({names}):\n    return {call}")
        found = []
        for run in (unit.f, eval(f"lambda {names}: {call}", {"torch": torch})):
            torch.manual_seed(2)
            found.append(run(*[one.clone() for one in tensors]))
        torch.testing.assert_close(*found)
