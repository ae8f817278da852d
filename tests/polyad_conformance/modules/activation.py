"""Activations: elementwise, and along a dimension."""

from __future__ import annotations

from . import ModuleSample


def elementwise(layer, build, functional, name="", **rest):
    """Of inputs on both sides of every place where these functions have a corner, none of them near it."""
    return ModuleSample(
        layer=layer,
        name=name,
        build=build,
        inputs=lambda make: (make((2, 17), -8, 8),),
        functional=functional,
        **rest,
    )


SAMPLES = [
    elementwise("ReLU", lambda torch: torch.nn.ReLU(), lambda F, layer, x: F.relu(x)),
    elementwise("LeakyReLU", lambda torch: torch.nn.LeakyReLU(0.3), lambda F, layer, x: F.leaky_relu(x, 0.3)),
    elementwise(
        "RReLU", lambda torch: torch.nn.RReLU(0.1, 0.5), lambda F, layer, x: F.rrelu(x, 0.1, 0.5), random="training"
    ),
    elementwise("PReLU", lambda torch: torch.nn.PReLU(), lambda F, layer, x: F.prelu(x, layer.weight)),
    elementwise(
        "PReLU",
        lambda torch: torch.nn.PReLU(17, init=0.5),
        lambda F, layer, x: F.prelu(x, layer.weight),
        "channels",
        wrong=[lambda make: (make((2, 4)),)],
    ),
    elementwise("ELU", lambda torch: torch.nn.ELU(1.5), lambda F, layer, x: F.elu(x, 1.5)),
    elementwise("CELU", lambda torch: torch.nn.CELU(1.5), lambda F, layer, x: F.celu(x, 1.5)),
    elementwise("SELU", lambda torch: torch.nn.SELU(), lambda F, layer, x: F.selu(x)),
    elementwise("SiLU", lambda torch: torch.nn.SiLU(), lambda F, layer, x: F.silu(x)),
    elementwise("Mish", lambda torch: torch.nn.Mish(), lambda F, layer, x: F.mish(x)),
    elementwise(
        "Threshold", lambda torch: torch.nn.Threshold(1.0, -4.0), lambda F, layer, x: F.threshold(x, 1.0, -4.0)
    ),
    elementwise("Hardtanh", lambda torch: torch.nn.Hardtanh(-1.5, 2.5), lambda F, layer, x: F.hardtanh(x, -1.5, 2.5)),
    elementwise("ReLU6", lambda torch: torch.nn.ReLU6(), lambda F, layer, x: F.relu6(x)),
    elementwise("Hardsigmoid", lambda torch: torch.nn.Hardsigmoid(), lambda F, layer, x: F.hardsigmoid(x)),
    elementwise("Hardswish", lambda torch: torch.nn.Hardswish(), lambda F, layer, x: F.hardswish(x)),
    elementwise("Hardshrink", lambda torch: torch.nn.Hardshrink(1.5), lambda F, layer, x: F.hardshrink(x, 1.5)),
    elementwise("Softshrink", lambda torch: torch.nn.Softshrink(1.5), lambda F, layer, x: F.softshrink(x, 1.5)),
    elementwise("Tanhshrink", lambda torch: torch.nn.Tanhshrink(), lambda F, layer, x: F.tanhshrink(x)),
    elementwise("Softsign", lambda torch: torch.nn.Softsign(), lambda F, layer, x: F.softsign(x)),
    elementwise("Softplus", lambda torch: torch.nn.Softplus(2.0, 3.0), lambda F, layer, x: F.softplus(x, 2.0, 3.0)),
    elementwise("Sigmoid", lambda torch: torch.nn.Sigmoid(), lambda F, layer, x: F.sigmoid(x)),
    elementwise("LogSigmoid", lambda torch: torch.nn.LogSigmoid(), lambda F, layer, x: F.logsigmoid(x)),
    elementwise("Tanh", lambda torch: torch.nn.Tanh(), lambda F, layer, x: F.tanh(x)),
    elementwise("GELU", lambda torch: torch.nn.GELU(), lambda F, layer, x: F.gelu(x)),
    elementwise("GELU", lambda torch: torch.nn.GELU("tanh"), lambda F, layer, x: F.gelu(x, approximate="tanh"), "tanh"),
    ModuleSample(
        layer="GLU",
        build=lambda torch: torch.nn.GLU(0),
        inputs=lambda make: (make((4, 3)),),
        functional=lambda F, layer, x: F.glu(x, 0),
        wrong=[lambda make: (make((3, 4)),)],
    ),
    elementwise("Softmax", lambda torch: torch.nn.Softmax(1), lambda F, layer, x: F.softmax(x, 1)),
    elementwise(
        "LogSoftmax",
        lambda torch: torch.nn.LogSoftmax(1),
        lambda F, layer, x: F.log_softmax(x, 1),
        wrong=[lambda make: (make((3,)),)],
    ),
    elementwise("Softmin", lambda torch: torch.nn.Softmin(0), lambda F, layer, x: F.softmin(x, 0)),
    ModuleSample(
        layer="Softmax2d",
        build=lambda torch: torch.nn.Softmax2d(),
        inputs=lambda make: (make((2, 3, 2, 2)),),
        functional=lambda F, layer, x: F.softmax(x, 1),
        wrong=[lambda make: (make((3, 4)),)],
    ),
]
