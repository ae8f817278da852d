"""captum: attributions by gradients, by perturbation, of layers and of embeddings."""

from __future__ import annotations

import captum.attr as attribution
from captum.metrics import infidelity

from ..job import Run, job

PACKAGE = "captum"


@job("attributions of a convolutional network")
def pictures(run: Run) -> None:
    nn = run.torch.nn
    model = run.same(nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 4)))
    x = run.normal(2, 1, 8, 8).requires_grad_()
    baseline = run.torch.zeros_like(x)
    for name in (
        "IntegratedGradients",
        "Saliency",
        "InputXGradient",
        "Deconvolution",
        "GuidedBackprop",
        "DeepLift",
        "FeatureAblation",
    ):
        run.record(name, getattr(attribution, name)(model).attribute(x, target=1))
    run.record("Occlusion", attribution.Occlusion(model).attribute(x, (1, 3, 3), target=1, strides=(1, 2, 2)))
    run.record("DeepLiftShap", attribution.DeepLiftShap(model).attribute(x, baselines=baseline, target=1))
    for name in ("LayerConductance", "LayerGradCam", "LayerGradientXActivation", "LayerIntegratedGradients"):
        run.record(name, getattr(attribution, name)(model, model[0]).attribute(x, target=1))
    run.record("GuidedGradCam", attribution.GuidedGradCam(model, model[0]).attribute(x, target=1))
    run.record("NeuronConductance", attribution.NeuronConductance(model, model[0]).attribute(x, (0, 1, 1), target=1))
    moved = infidelity(model, lambda x: (x * 0.1, x * 0.9), x, x.sign(), target=1, n_perturb_samples=2)
    run.record("infidelity", moved)


@job("attributions of an embedding")
def words(run: Run) -> None:
    nn = run.torch.nn

    class Classifier(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = nn.Embedding(10, 4), nn.Linear(4, 2)

        def forward(self, words: object) -> object:
            return self.head(self.embedding(words).mean(1)).tanh()

    model = run.same(Classifier())
    words = run.integers(10, 3, 5)
    found = attribution.LayerIntegratedGradients(model, model.embedding)
    run.record("attribution", found.attribute(words, baselines=words * 0, target=0))
    layer = attribution.configure_interpretable_embedding_layer(model, "embedding")
    vectors = layer.indices_to_embeddings(words)
    run.record("saliency", attribution.Saliency(model).attribute(vectors, target=1))
    attribution.remove_interpretable_embedding_layer(model, layer)
