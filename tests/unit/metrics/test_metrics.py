"""Metrics against counts written out in NumPy, over batches, merged, saved, and fed what does not fit."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import polyad
from polyad import backends, metrics
from polyad.metrics import AUROC, Accuracy, ConfusionMatrix, F1Score, MeanMetric, MeanSquaredError, Precision, Recall

CLASSES = 4


def data(task, seed, count=30, ignored=False):
    random = np.random.default_rng(seed)
    shape = {"binary": (count,), "multiclass": (count, CLASSES), "multilabel": (count, CLASSES)}[task]
    preds = random.random(shape).astype(np.float32)
    target = random.integers(0, CLASSES if task == "multiclass" else 2, shape[:1] if task == "multiclass" else shape)
    if ignored:
        target[random.random(target.shape) < 0.2] = -1
    return preds, target


def tables(task, preds, target):
    """Predicted and true classes as 0 and 1, an element a row, those that count; -1 does not."""
    if task == "multiclass":
        kept = target >= 0
        return np.eye(CLASSES)[preds.argmax(1)][kept], np.eye(CLASSES)[target][kept]
    return np.where(target < 0, np.nan, preds > 0.5), np.where(target < 0, np.nan, target)


def reference(name, task, average, preds, target):
    guess, truth = tables(task, preds, target)
    if task == "binary":
        guess, truth = guess[:, None], truth[:, None]
    tp, fp = np.nansum(guess * truth, 0), np.nansum(guess * (1 - truth), 0)
    fn, tn = np.nansum((1 - guess) * truth, 0), np.nansum((1 - guess) * (1 - truth), 0)
    if average == "micro" or task == "binary":
        tp, fp, fn, tn = (np.array([one.sum()]) for one in (tp, fp, fn, tn))
    top, bottom = {
        "Accuracy": (tp, tp + fn) if task == "multiclass" else (tp + tn, tp + fp + fn + tn),
        "Precision": (tp, tp + fp),
        "Recall": (tp, tp + fn),
        "F1Score": (2 * tp, 2 * tp + fp + fn),
    }[name]
    values = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    if average in ("micro", None) or task == "binary":
        return values if average is None and task != "binary" else values[0]
    weights = tp + fn if average == "weighted" else (tp + fp + fn > 0) if task == "multiclass" else np.ones_like(values)
    return (values * weights).sum() / weights.sum()


def made(name, task, **options):
    count = {"binary": {}, "multiclass": {"num_classes": CLASSES}, "multilabel": {"num_labels": CLASSES}}[task]
    return getattr(metrics, name)(task=task, **count, **options)


def batches(preds, target, at=(0, 7, 8, 30)):
    for begin, end in itertools.pairwise(at):
        yield polyad.tensor(preds[begin:end]), polyad.tensor(target[begin:end])


@pytest.mark.parametrize("ignored", [False, True], ids=["all", "some ignored"])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@pytest.mark.parametrize("name", ["Accuracy", "Precision", "Recall", "F1Score"])
def test_values_of_counts(name, task, average, ignored) -> None:
    preds, target = data(task, 3, ignored=ignored)
    metric = made(name, task, average=average, ignore_index=-1 if ignored else None)
    for batch in batches(preds, target):
        metric.update(*batch)
    np.testing.assert_allclose(metric.compute().numpy(), reference(name, task, average, preds, target), rtol=1e-6)


@pytest.mark.parametrize("top_k", [1, 2, 3, 4])
def test_the_best_k(top_k) -> None:
    preds, target = data("multiclass", 5)
    right = [true in np.argsort(-row)[:top_k] for row, true in zip(preds, target, strict=True)]
    found = made("Accuracy", "multiclass", top_k=top_k)(polyad.tensor(preds), polyad.tensor(target))
    assert found.item() == pytest.approx(np.mean(right))


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_confusion_matrix(normalize) -> None:
    preds, target = data("multiclass", 7)
    wanted = np.zeros((CLASSES, CLASSES))
    for row, true in zip(preds, target, strict=True):
        wanted[true, row.argmax()] += 1
    wanted /= {None: 1, "true": wanted.sum(1, keepdims=True), "pred": wanted.sum(0), "all": wanted.sum()}[normalize]
    metric = made("ConfusionMatrix", "multiclass", normalize=normalize)
    for batch in batches(preds, target):
        metric.update(*batch)
    np.testing.assert_allclose(metric.compute().numpy(), wanted, rtol=1e-6)


def test_confusion_matrix_of_labels() -> None:
    preds, target = data("multilabel", 9)
    found = made("ConfusionMatrix", "multilabel")(polyad.tensor(preds), polyad.tensor(target))
    for label in range(CLASSES):
        alone = ConfusionMatrix(task="binary")(polyad.tensor(preds[:, label]), polyad.tensor(target[:, label]))
        assert found[label].tolist() == alone.tolist()


def area(values, truth):
    """The part of pairs in the right order, ties half."""
    above, below = values[truth == 1], values[truth == 0]
    return np.mean((above[:, None] > below) + 0.5 * (above[:, None] == below))


@pytest.mark.parametrize("task", ["binary", "multilabel", "multiclass"])
def test_area_under_the_curve_with_ties(task) -> None:
    preds, target = data(task, 11, count=60)
    preds = np.round(preds, 1)
    metric = made("AUROC", task, average=None)
    for batch in batches(preds, target, (0, 20, 60)):
        metric.update(*batch)
    if task == "binary":
        wanted = area(preds, target)
    else:
        truth = np.eye(CLASSES)[target] if task == "multiclass" else target
        wanted = [area(preds[:, at], truth[:, at]) for at in range(CLASSES)]
    np.testing.assert_allclose(metric.compute().numpy(), wanted, rtol=1e-6)
    mean = made("AUROC", task)(polyad.tensor(preds), polyad.tensor(target))
    assert mean.item() == pytest.approx(np.mean(wanted), rel=1e-6)


def test_area_at_thresholds_is_exact_for_scores_between_them() -> None:
    preds, target = data("binary", 13, count=80)
    preds = (np.floor(preds * 20) + 0.5) / 20
    found = AUROC(task="binary", thresholds=21)(polyad.tensor(preds), polyad.tensor(target))
    assert found.item() == pytest.approx(area(preds, target), rel=1e-6)


def test_a_class_without_examples_has_no_area() -> None:
    metric = AUROC(task="multiclass", num_classes=3)
    metric.update(polyad.tensor([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]]), polyad.tensor([0, 1]))
    with pytest.warns(UserWarning, match="1 of 3 classes"):
        assert metric.compute().item() == 1.0


def test_logits_are_taken_for_what_they_are() -> None:
    scores, target = polyad.tensor([-3.0, 0.5, 2.0]), polyad.tensor([0, 1, 0])
    assert Accuracy(task="binary")(scores, target).item() == Accuracy(task="binary")(scores.sigmoid(), target).item()


ALL = {
    "accuracy": (lambda: made("Accuracy", "multiclass"), "multiclass"),
    "f1": (lambda: F1Score(task="binary"), "binary"),
    "confusion": (lambda: made("ConfusionMatrix", "multilabel"), "multilabel"),
    "auroc": (lambda: AUROC(task="binary"), "binary"),
    "auroc binned": (lambda: AUROC(task="binary", thresholds=5), "binary"),
}


@pytest.mark.parametrize(("make", "task"), ALL.values(), ids=ALL)
def test_merged_states_are_those_of_all_batches(make, task) -> None:
    preds, target = data(task, 17)
    parts = [make() for _ in range(3)]
    whole = make()
    for part, batch in zip(parts, batches(preds, target), strict=True):
        part.update(*batch)
        whole.update(*batch)
    merged = parts[0] + parts[1] + parts[2]
    assert merged.compute().tolist() == whole.compute().tolist()
    assert parts[0].compute().tolist() != merged.compute().tolist()  # a sum changes none of its terms


@pytest.mark.parametrize(("make", "task"), ALL.values(), ids=ALL)
def test_a_state_goes_on(make, task, tmp_path) -> None:
    preds, target = data(task, 19)
    first, second, third = batches(preds, target)
    metric, again = make(), make()
    metric.update(*first)
    polyad.save(metric.state_dict(), tmp_path / "state")
    again.load_state_dict(polyad.load(tmp_path / "state"))
    for batch in (second, third):
        metric.update(*batch)
        again.update(*batch)
    assert metric.compute().tolist() == again.compute().tolist()
    metric.reset()
    metric.update(*first)
    fresh = make()
    assert fresh(*first).tolist() == metric.compute().tolist()


def test_a_call_gives_the_batch_and_counts_it() -> None:
    metric = MeanMetric()
    assert metric(4.0).item() == 4.0
    assert metric(polyad.tensor([1.0, 2.0, 1.0])).item() == pytest.approx(4 / 3)
    assert metric.compute().item() == 2.0


def test_errors_of_predictions() -> None:
    random = np.random.default_rng(23)
    preds, target = random.random((9, 2)).astype(np.float32), random.random((9, 2)).astype(np.float32)
    pair = polyad.tensor(preds), polyad.tensor(target)
    mean = ((preds - target) ** 2).mean(0)
    np.testing.assert_allclose(MeanSquaredError(num_outputs=2)(*pair).numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(MeanSquaredError(squared=False)(*pair).item(), np.sqrt(mean.mean()), rtol=1e-5)
    assert metrics.MeanAbsoluteError()(*pair).item() == pytest.approx(np.abs(preds - target).mean(), rel=1e-5)


def test_a_weighted_mean() -> None:
    metric = MeanMetric()
    metric.update(polyad.tensor([1.0, 5.0]), polyad.tensor([3.0, 1.0]))
    assert metric.compute().item() == 2.0


def test_nothing_is_recorded() -> None:
    scores = polyad.randn(4, CLASSES, requires_grad=True)
    value = made("Accuracy", "multiclass")(scores, polyad.arange(4))
    assert not value.requires_grad


def test_before_any_batch_it_is_told() -> None:
    with pytest.warns(UserWarning, match=r"Accuracy: compute\(\) before any update"):
        assert Accuracy(task="binary").compute().item() == 0.0


def test_a_collection() -> None:
    preds, target = polyad.tensor([1, 1, 0]), polyad.tensor([1, 0, 0])
    both = metrics.MetricCollection({"p": Precision(task="binary"), "r": Recall(task="binary")}, prefix="val/")
    both.update(preds, target)
    assert {name: value.item() for name, value in both.compute().items()} == {"val/p": 0.5, "val/r": 1.0}
    other = metrics.MetricCollection({"p": Precision(task="binary"), "r": Recall(task="binary")})
    other.load_state_dict(both.state_dict())
    other.merge(both)
    assert other["p"].tp.tolist() == [2, 2]
    with pytest.raises(ValueError, match="same name"):
        metrics.MetricCollection([Recall(task="binary"), Recall(task="binary")])
    with pytest.raises(ValueError, match="the metrics are"):
        both.merge(metrics.MetricCollection([Recall(task="binary")]))


ONES = polyad.ones(4, dtype=polyad.int64)
WRONG = {
    "task": (lambda: Accuracy(task="regression"), ValueError, "unknown task 'regression'"),
    "no classes": (lambda: Accuracy(task="multiclass"), ValueError, "num_classes is None"),
    "threshold": (lambda: Accuracy(task="binary", threshold=2), ValueError, "threshold is 2"),
    "average": (lambda: made("Recall", "multilabel", average="all"), ValueError, "unknown average 'all'"),
    "top_k": (lambda: made("Accuracy", "multiclass", top_k=9), ValueError, "top_k is 9"),
    "normalize": (lambda: made("ConfusionMatrix", "multiclass", normalize=1), ValueError, "normalize must be"),
    "thresholds": (lambda: AUROC(task="binary", thresholds=1), ValueError, "thresholds 1"),
    "no tensor": (lambda: Accuracy(task="binary")([1], [1]), ValueError, "not both tensors"),
    "shapes": (lambda: Accuracy(task="binary")(ONES, ONES[:3]), RuntimeError, r"(?s)target \(3,\).*preds .*target "),
    "scores": (lambda: made("Accuracy", "multiclass")(polyad.ones(4, 3), ONES), RuntimeError, "4 scores"),
    "order of classes": (lambda: made("Accuracy", "multiclass", top_k=2)(ONES, ONES), RuntimeError, "no order"),
    "float target": (lambda: Accuracy(task="binary")(ONES, polyad.ones(4)), RuntimeError, "not of an integer"),
    "class": (lambda: made("Accuracy", "multiclass")(ONES, ONES + 3), ValueError, "target has classes outside 0 to 3"),
    "prediction": (lambda: made("Accuracy", "multiclass")(ONES - 2, ONES), ValueError, "preds has classes outside"),
    "no scores": (lambda: AUROC(task="binary")(ONES, ONES), RuntimeError, "needs scores"),
    "errors": (lambda: MeanSquaredError()(polyad.ones(3), polyad.ones(4)), RuntimeError, r"preds \(3,\)"),
    "outputs": (lambda: MeanSquaredError(num_outputs=0), ValueError, "num_outputs must be an int of at least 1, not 0"),
    "another class": (lambda: Recall(task="binary").merge(MeanMetric()), TypeError, "takes in no MeanMetric"),
    "other options": (
        lambda: made("Recall", "multiclass").merge(Recall(task="multiclass", num_classes=2)), ValueError, "not fit",
    ),
    "another state": (lambda: MeanMetric().load_state_dict({"total": 1}), ValueError, "has the state total, updates"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_refused_batch_leaves_the_state() -> None:
    metric = made("Accuracy", "multiclass")
    metric.update(ONES, ONES)
    before = metric.state_dict()
    with pytest.raises(RuntimeError):
        metric.update(ONES, ONES[:2])
    with pytest.raises(ValueError, match="does not fit"):
        metric.load_state_dict({**before, "tp": polyad.zeros(2)})
    assert metric.compute().item() == 1.0
    assert metric.state_dict()["updates"] == 1


@pytest.mark.parametrize("wide", ["1", "0"], ids=["float64", "no float64"])
def test_on_a_device(wide, monkeypatch) -> None:
    plugin = pytest.importorskip("polyad_fake.plugin")
    monkeypatch.setenv("POLYAD_FAKE_FP64", wide)
    backend = plugin.polyad_create_backend()
    backend.info = dataclasses.replace(plugin.polyad_backend_info(), name="metered")
    preds, target = (polyad.tensor(one) for one in data("multiclass", 29))
    with backends.register("metered", backend):
        for make in (
            lambda: made("F1Score", "multiclass", average="macro"),
            lambda: made("ConfusionMatrix", "multiclass", normalize="all"),
            lambda: made("AUROC", "multiclass"),
            lambda: made("AUROC", "multiclass", thresholds=9),
            lambda: metrics.MetricCollection({"mean": MeanMetric(), "sum": metrics.SumMetric()}),
        ):
            args = (preds, target) if isinstance(make(), metrics.Metric) else (preds,)
            there, here = make(), make()
            found, wanted = there(*[one.to("metered") for one in args]), here(*args)
            for one, other in zip(
                *[value.values() if isinstance(value, dict) else [value] for value in (found, wanted)], strict=True
            ):
                assert one.device.type == "metered"
                np.testing.assert_allclose(one.cpu().numpy(), other.numpy(), rtol=1e-6)
