"""torchmetrics: every functional metric of classification and regression, and classes that add up batches."""

from __future__ import annotations

import pickle
from typing import Any

import torchmetrics
import torchmetrics.functional as functional

from ..job import Run, job

PACKAGE = "torchmetrics"


def record_all(run: Run, module: Any, prefix: str, *inputs: Any, **options: Any) -> None:
    """What every metric of *module* whose name begins with *prefix* gives, or the builtin exception that it raises."""
    for name in sorted(set(module.__all__)):
        if not name.startswith(prefix):
            continue
        try:
            run.record(name, getattr(module, name)(*inputs, **options))
        except Exception as error:  # metrics of the prefix with other arguments: both sides refuse them alike
            run.record(name, next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"))


@job("functional: classification of two classes, several, several labels")
def classification(run: Run) -> None:
    module = functional.classification
    record_all(run, module, "binary_", run.normal(40).sigmoid(), run.integers(2, 40))
    record_all(run, module, "multiclass_", run.normal(40, 5).softmax(-1), run.integers(5, 40), num_classes=5)
    record_all(run, module, "multilabel_", run.normal(30, 4).sigmoid(), run.integers(2, 30, 4), num_labels=4)


@job("functional: regression", factor=8)  # of sums that cancel
def regression(run: Run) -> None:
    record_all(run, functional.regression, "", run.normal(50).abs() + 0.1, run.normal(50, seed=1).abs() + 0.1)


@job("functional: pictures and sound")
def pictures(run: Run) -> None:
    # Double: what is alike in two pictures of noise is a difference of sums that are nearly equal.
    one, other = (run.normal(2, 3, 48, 48, seed=seed).double().sigmoid() for seed in (0, 1))
    for name in (
        "structural_similarity_index_measure",
        "peak_signal_noise_ratio",
        "spectral_angle_mapper",
        "relative_average_spectral_error",
    ):
        options = {"data_range": 1.0} if name == "peak_signal_noise_ratio" else {}
        run.record(name, getattr(functional.image, name)(one, other, **options), depth=8)
    sounds = run.normal(2, 800), run.normal(2, 800, seed=1)
    run.record("snr", functional.audio.signal_noise_ratio(*sounds), depth=8)
    run.record("sdr", functional.audio.scale_invariant_signal_distortion_ratio(*sounds), depth=32)


@job("MetricCollection over batches: forward, compute, pickle, reset")
def collection(run: Run) -> None:
    options = {"task": "multiclass", "num_classes": 4}
    metrics = torchmetrics.MetricCollection(
        [
            torchmetrics.Accuracy(**options),
            torchmetrics.F1Score(average="macro", **options),
            torchmetrics.AUROC(**options),
            torchmetrics.ConfusionMatrix(**options),
        ]
    )
    for batch in range(3):
        given = run.normal(20, 4, seed=batch).softmax(-1), run.integers(4, 20, seed=batch)
        run.record(f"batch {batch}", metrics(*given))
    run.record("all", metrics.compute())
    run.record("unpickled", pickle.loads(pickle.dumps(metrics)).compute())
    metrics.persistent(True)
    run.record("state", sorted(metrics.state_dict()))
    metrics.reset()
    run.record("again", metrics(run.normal(20, 4).softmax(-1), run.integers(4, 20)))
