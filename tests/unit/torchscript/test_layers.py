"""Scripted layers and functions of `polyad.nn.functional` compute what polyad's own do."""

from __future__ import annotations

import pytest

import polyad as torch
from polyad import nn
from polyad.torchscript.library.table import FUNCTIONS
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
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


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
    kept = {"conv2d_circular", "adaptive_some"}
    for name, (make, _) in LAYERS.items():
        forward = torch.jit.script(make())._script_type.method("forward")
        assert isinstance(forward, ScriptFunction) == (name not in kept), name


CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)
PADDING = torch.tensor([[False, False, False, True, True], [False] * 5])
ATTENTION = {
    "heads": (lambda: nn.MultiheadAttention(8, 2), lambda x, y: (x, x, x)),
    "masked": (lambda: nn.MultiheadAttention(8, 2, batch_first=True),
               lambda x, y: (*(x.transpose(0, 1),) * 3, PADDING, True, CAUSAL, False)),
    "causal": (lambda: nn.MultiheadAttention(8, 2), lambda x, y: (x, x, x, None, False, CAUSAL, True, True)),
    "separate": (lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=6, bias=False), lambda x, y: (x, y, y)),
    "further": (lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True),
                lambda x, y: (x, x, x, PADDING)),
    "unbatched": (lambda: nn.MultiheadAttention(8, 2), lambda x, y: (x[:, 0], x[:, 0], x[:, 0])),
    "decoder_layer": (lambda: nn.TransformerDecoderLayer(8, 2, 16, 0.0, norm_first=True),
                      lambda x, y: (x, x[:3], CAUSAL)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2),
                lambda x, y: (x.transpose(0, 1), None, PADDING)),
    "transformer": (lambda: nn.Transformer(8, 2, 1, 1, 16, 0.0), lambda x, y: (x[:3], x, None, CAUSAL)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ATTENTION)
def test_scripted_attention(name: str, training: bool) -> None:
    make, inputs = ATTENTION[name]
    torch.manual_seed(0)
    layer = make().train(training)
    scripted = torch.jit.script(layer)
    given = inputs(torch.randn(5, 2, 8), torch.randn(5, 2, 6))
    with torch.set_grad_enabled(training):
        wanted, found = layer(*given), scripted(*given)
    for one, other in zip(leaves(wanted), leaves(found), strict=True):
        torch.testing.assert_close(one, other)
    assert b"ops.polyad" not in scripted.save_to_buffer()


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
    "dropout1d": [("0.5", torch.randn(8, 3)), ("0.5, inplace=True", torch.randn(2, 8, 3))],
    "alpha_dropout": [("0.5, False", torch.randn(5))],
    "feature_alpha_dropout": [("0.5, True", torch.randn(2, 8, 3))],
    "gumbel_softmax": [("", torch.randn(4, 3)), ("0.5, True", torch.randn(4, 3))],
    "local_response_norm": [("3", torch.randn(2, 5, 4)), ("2, 0.1, 0.5, 2.0", torch.randn(2, 5, 4))],
    "multi_head_attention_forward": [
        ("8, 2, t3, None, None, None, False, 0.0, t4, None", *[torch.randn(5, 2, 8)] * 3, torch.randn(24, 8),
         torch.eye(8)),
    ],
    "rms_norm": [("[4]", torch.randn(3, 4)), ("[4], eps=0.1", torch.randn(3, 4))],
    "unfold": [("2", torch.randn(1, 2, 5, 5)), ("(2, 3), 1, 1, 2", torch.randn(1, 2, 5, 5))],
    "fold": [("(3, 3), 2", torch.randn(1, 8, 4))],
    "interpolate": [
        ("scale_factor=2.0", torch.randn(1, 2, 4)),
        ("size=(3, 5), mode='bilinear', align_corners=True", torch.randn(1, 2, 4, 4)),
        ("scale_factor=0.5, mode='bicubic', antialias=True", torch.randn(1, 2, 4, 4)),
        ("size=6, mode='nearest-exact'", torch.randn(1, 2, 4, 4)),
        ("scale_factor=(1.5, 2.0), mode='area', recompute_scale_factor=True", torch.randn(1, 2, 4, 4)),
        ("scale_factor=2.0, mode='trilinear'", torch.randn(1, 1, 2, 2, 2)),
    ],
    "upsample": [("scale_factor=2.0", torch.randn(1, 2, 4))],
    "upsample_nearest": [("scale_factor=2.0", torch.randn(1, 2, 4))],
    "upsample_bilinear": [("size=6", torch.randn(1, 2, 4, 4))],
    "grid_sample": [("", torch.randn(2, 3, 4, 4), torch.rand(2, 3, 3, 2)),
                    ("'nearest', 'border', True", torch.randn(2, 3, 4, 4), torch.rand(2, 3, 3, 2) * 3 - 1)],
    "affine_grid": [("(2, 3, 4, 5)", torch.randn(2, 2, 3)), ("[2, 3, 4, 5], True", torch.randn(2, 2, 3))],
    **{
        f"lp_pool{ndim}d": [("2.0, 2", torch.rand(1, 2, *(4,) * ndim)), ("3.0, 2, 1", torch.rand(1, 2, *(4,) * ndim))]
        for ndim in (1, 2, 3)
    },
    **{
        f"{kind}max_pool{ndim}d{with_indices}": [
            ("2", torch.rand(1, 2, *(4,) * ndim)), ("2, return_indices=True", torch.rand(1, 2, *(4,) * ndim)),
        ]
        for ndim in (1, 2, 3) for kind, with_indices in (("", ""), ("adaptive_", ""), ("", "_with_indices"))
    },
    **{
        f"max_unpool{ndim}d": [("2", torch.rand(1, 2, *(2,) * ndim), torch.arange(2**ndim).expand(1, 2, -1).reshape(
            1, 2, *(2,) * ndim))]
        for ndim in (1, 2, 3)
    },
    "poisson_nll_loss": [("", torch.randn(4), torch.rand(4)),
                         ("full=True, reduction='sum'", torch.randn(4), torch.rand(4) * 4)],
    "gaussian_nll_loss": [("", torch.randn(4), torch.randn(4), torch.rand(4)),
                          ("full=True, reduction='none'", torch.randn(4, 2), torch.randn(4, 2), torch.rand(4)),
                          ("0.5", torch.randn(4), torch.randn(4))],
    "soft_margin_loss": [("size_average=False", torch.randn(4), torch.tensor([1.0, -1, 1, -1]))],
    "multilabel_margin_loss": [("", torch.randn(2, 3), torch.tensor([[0, 2, -1], [1, -1, 0]]))],
    "multilabel_soft_margin_loss": [("", torch.randn(4, 3), torch.rand(4, 3).round()),
                                    ("reduce=False", torch.randn(4, 3), torch.rand(4, 3), torch.rand(3))],
    "multi_margin_loss": [("", torch.randn(4, 3), torch.tensor([0, 2, 1, 1])),
                          ("p=2, margin=0.5, reduction='none'", torch.randn(4, 3), torch.tensor([0, 2, 1, 1]))],
    "margin_ranking_loss": [("0.5", torch.randn(4), torch.randn(4), torch.tensor([1.0, -1, 1, -1]))],
    "hinge_embedding_loss": [("", torch.randn(4), torch.tensor([1.0, -1, 1, -1]))],
    "cosine_embedding_loss": [("0.2", torch.randn(4, 3), torch.randn(4, 3), torch.tensor([1, -1, 1, -1]))],
    "triplet_margin_loss": [("swap=True", torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 3))],
    "ctc_loss": [("[6, 5], [2, 1]", torch.randn(6, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 1]]))],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("nn.")])
def test_a_function_in_a_program(name: str) -> None:
    for options, *tensors in FUNCTION_CALLS[name.rpartition(".")[2]]:
        names = ", ".join(f"t{k}" for k in range(len(tensors)))
        given = ", ".join([one for one in names.split(", ") if one not in options])
        call = f"torch.{name}({given}{', ' + options if options else ''})"
        unit = torch.jit.CompilationUnit(f"def f({names}):\n    return {call}")
        found = []
        for run in (unit.f, eval(f"lambda {names}: {call}", {"torch": torch})):
            torch.manual_seed(2)
            found.append(run(*[one.clone() for one in tensors]))
        torch.testing.assert_close(*[leaves(one) for one in found])
        assert "ops.polyad" not in unit.f.code


def of_the_main_namespace(x: torch.Tensor, y: torch.Tensor, wave: torch.Tensor):
    return (
        torch.stft(wave, 16, return_complex=True),
        torch.stft(wave, 16, 4, center=False, normalized=True, return_complex=True),
        torch.split(x, 2),
        torch.split(x, [1, 2]),
        torch.split(x, 3, dim=1),
        torch.norm(x),
        torch.norm(x, dim=1),
        torch.norm(x, 1, [0, 1], True),
        torch.norm(x, p="nuc"),
        torch.tensordot(x, y, 1),
        torch.tensordot(x, y, [[1], [0]]),
        torch.cartesian_prod(x[0], x[1]),
        torch.block_diag(x, y),
    )


def test_functions_of_the_main_namespace_in_a_program() -> None:
    torch.manual_seed(0)
    given = torch.randn(3, 4), torch.randn(4, 2), torch.randn(60)
    scripted = torch.jit.script(of_the_main_namespace)
    torch.testing.assert_close(leaves(scripted(*given)), leaves(of_the_main_namespace(*given)))
    assert "ops.polyad" not in scripted.code
