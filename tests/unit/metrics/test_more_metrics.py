"""The metrics of agreement, regression and curves, against formulas written out in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import polyad
from polyad import metrics

CLASSES = 4
TASKS = {"binary": {}, "multiclass": {"num_classes": CLASSES}, "multilabel": {"num_labels": CLASSES}}


def numbers(seed=0, count=40, outputs=None):
    random = np.random.default_rng(seed)
    target = random.normal(5, 2, (count,) if outputs is None else (count, outputs))
    return target + random.normal(0.3, 1, target.shape), target


def classes(task, seed=0, count=60):
    random = np.random.default_rng(seed)
    shape = (count,) if task == "binary" else (count, CLASSES)
    scores = np.round(random.random(shape), 1).astype(np.float32)  # with ties
    target = random.integers(0, CLASSES if task == "multiclass" else 2, shape[:1] if task == "multiclass" else shape)
    return scores, target


def in_batches(metric, preds, target):
    """The value after three batches, of which the last came by merging and the first through a saved state."""
    first, last = metric.clone(), metric.clone()
    cuts = [0, len(preds) // 5, len(preds) // 2, len(preds)]
    parts = [[polyad.tensor(one[a:b]) for one in (preds, target)] for a, b in itertools.pairwise(cuts)]
    first.update(*parts[0])
    metric.load_state_dict(first.state_dict())
    metric.update(*parts[1])
    last.update(*parts[2])
    return metric.merge(last).compute()


def ranks(values):
    return np.array([((values < one).sum() + (values <= one).sum() - 1) / 2 for one in values])


def deviations(p, t):
    return ((t - p) ** 2).sum(0), ((t - t.mean(0)) ** 2).sum(0)


REGRESSION = {
    "PearsonCorrCoef": lambda p, t: np.corrcoef(p, t)[0, 1],
    "SpearmanCorrCoef": lambda p, t: np.corrcoef(ranks(p), ranks(t))[0, 1],
    "ConcordanceCorrCoef": lambda p, t: (
        2 * np.cov(p, t)[0, 1] / (p.var(ddof=1) + t.var(ddof=1) + (p.mean() - t.mean()) ** 2)
    ),
    "R2Score": lambda p, t: 1 - deviations(p, t)[0] / deviations(p, t)[1],
    "ExplainedVariance": lambda p, t: 1 - (t - p).var() / t.var(),
    "RelativeSquaredError": lambda p, t: deviations(p, t)[0] / deviations(p, t)[1],
    "MeanAbsolutePercentageError": lambda p, t: (abs(p - t) / abs(t)).mean(),
    "SymmetricMeanAbsolutePercentageError": lambda p, t: (2 * abs(p - t) / (abs(p) + abs(t))).mean(),
    "WeightedMeanAbsolutePercentageError": lambda p, t: abs(p - t).sum() / abs(t).sum(),
    "LogCoshError": lambda p, t: np.log(np.cosh(p - t)).mean(),
}


@pytest.mark.parametrize("name", REGRESSION)
def test_regression(name):
    preds, target = numbers()
    value = in_batches(getattr(metrics, name)(), preds, target)
    assert value.shape == ()
    assert value.dtype is polyad.float32
    np.testing.assert_allclose(value.item(), REGRESSION[name](preds, target), rtol=1e-6)


def test_squared_logarithms():
    preds, target = (abs(one) for one in numbers())
    expected = ((np.log1p(preds) - np.log1p(target)) ** 2).mean()
    np.testing.assert_allclose(in_batches(metrics.MeanSquaredLogError(), preds, target).item(), expected, rtol=1e-6)


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_minkowski(p):
    preds, target = numbers()
    value = in_batches(metrics.MinkowskiDistance(p), preds, target)
    np.testing.assert_allclose(value.item(), (abs(preds - target) ** p).sum() ** (1 / p), rtol=1e-6)


@pytest.mark.parametrize("reduction", ["sum", "mean", "none", None])
def test_cosines(reduction):
    preds, target = numbers(outputs=3)
    rows = (preds * target).sum(1) / np.sqrt((preds**2).sum(1) * (target**2).sum(1))
    expected = {"sum": rows.sum(), "mean": rows.mean()}.get(reduction, rows)
    value = in_batches(metrics.CosineSimilarity(reduction), preds, target)
    np.testing.assert_allclose(value.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("how", ["raw_values", "uniform_average", "variance_weighted"])
@pytest.mark.parametrize("name", ["R2Score", "ExplainedVariance"])
def test_several_outputs(name, how):
    preds, target = numbers(outputs=3)
    each = np.array([REGRESSION[name](preds[:, at], target[:, at]) for at in range(3)])
    expected = {"raw_values": each, "uniform_average": each.mean()}.get(how, np.average(each, weights=target.var(0)))
    value = in_batches(getattr(metrics, name)(multioutput=how), preds, target)
    np.testing.assert_allclose(value.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["PearsonCorrCoef", "SpearmanCorrCoef", "ConcordanceCorrCoef", "LogCoshError"])
def test_correlations_of_several_outputs(name):
    preds, target = numbers(outputs=3)
    value = in_batches(getattr(metrics, name)(num_outputs=3), preds, target)
    expected = [REGRESSION[name](preds[:, at], target[:, at]) for at in range(3)]
    np.testing.assert_allclose(value.numpy(), expected, rtol=1e-6)


def test_large_means_lose_nothing():
    preds, target = (one + 1e8 for one in numbers())
    value = in_batches(metrics.PearsonCorrCoef(), preds, target).item()
    np.testing.assert_allclose(value, np.corrcoef(preds - 1e8, target - 1e8)[0, 1], rtol=1e-6)


def test_edges_of_r2():
    score = metrics.R2Score()
    constant = polyad.ones(4)
    assert score(constant, constant).item() == 1
    assert score(constant + 1, constant).item() == 0
    with pytest.raises(ValueError, match="one pair"):
        metrics.R2Score()(polyad.ones(1), polyad.ones(1))
    preds, target = numbers()
    plain = REGRESSION["R2Score"](preds, target)
    adjusted = in_batches(metrics.R2Score(adjusted=3), preds, target).item()
    np.testing.assert_allclose(adjusted, 1 - (1 - plain) * 39 / 36, rtol=1e-6)


def tables(task, scores, target):
    if task == "multiclass":
        guess, truth = np.eye(CLASSES)[scores.argmax(1)], np.eye(CLASSES)[target]
    else:
        guess, truth = (scores > 0.5).astype(float), target.astype(float)
    return (guess[:, None], truth[:, None]) if task == "binary" else (guess, truth)


VALUES = {
    "Specificity": lambda task, tp, fp, fn, tn: tn / (tn + fp),
    "JaccardIndex": lambda task, tp, fp, fn, tn: tp / (tp + fp + fn),
    "HammingDistance": lambda task, tp, fp, fn, tn: (
        fn / (tp + fn) if task == "multiclass" else (fp + fn) / (tp + fp + fn + tn)
    ),
    "FBetaScore": lambda task, tp, fp, fn, tn: 5 * tp / (5 * tp + 4 * fn + fp),
    "StatScores": lambda task, tp, fp, fn, tn: np.stack([tp, fp, tn, fn, tp + fn], -1),
}


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", VALUES)
def test_counts(name, task, average):
    scores, target = classes(task)
    guess, truth = tables(task, scores, target)
    counts = [
        (a * b).sum(0) for a, b in ((guess, truth), (guess, 1 - truth), (1 - guess, truth), (1 - guess, 1 - truth))
    ]
    if task == "binary" or average == "micro":
        counts = [one.sum() for one in counts]
    expected = VALUES[name](task, *counts)
    if task != "binary" and average in ("macro", "weighted"):
        weights = counts[0] + counts[2] if average == "weighted" else None
        expected = np.average(expected, axis=0, weights=weights)
    options = {"beta": 2.0} if name == "FBetaScore" else {}
    metric = getattr(metrics, name)(task=task, average=average, **TASKS[task], **options)
    np.testing.assert_allclose(in_batches(metric, scores, target).numpy(), expected, rtol=1e-6)


def matrix(task, scores, target):
    guess, truth = tables(task, scores, target)
    if task == "multiclass":
        return truth.T @ guess
    return np.array([[((truth == a) & (guess == b)).sum() for b in (0, 1)] for a in (0, 1)], float)


@pytest.mark.parametrize("task", TASKS)
def test_matthews_is_a_correlation(task):
    scores, target = classes(task)
    guess, truth = tables(task, scores, target)
    if task == "multiclass":  # the covariances of the tables, summed over classes
        g, t = guess - guess.mean(0), truth - truth.mean(0)
        expected = (g * t).sum() / np.sqrt((g * g).sum() * (t * t).sum())
    else:
        expected = np.corrcoef(guess.ravel(), truth.ravel())[0, 1]
    value = in_batches(metrics.MatthewsCorrCoef(task=task, **TASKS[task]), scores, target)
    np.testing.assert_allclose(value.item(), expected, rtol=1e-6)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_kappa(task, weights):
    scores, target = classes(task)
    counts = matrix(task, scores, target)
    size = len(counts)
    cost = np.array(
        [[abs(a - b) ** {"linear": 1, "quadratic": 2, None: 0}[weights] for b in range(size)] for a in range(size)]
    )
    cost = cost * (1 - np.eye(size))
    chance = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    metric = metrics.CohenKappa(task=task, weights=weights, **TASKS[task])
    expected = 1 - (cost * counts).sum() / (cost * chance).sum()
    np.testing.assert_allclose(in_batches(metric, scores, target).item(), expected, rtol=1e-6)


@pytest.mark.parametrize(("target", "value"), [([0, 1, 1], 1), ([1, 0, 0], -1), ([1, 1, 1], 0)])
def test_matthews_at_its_ends(target, value):
    found = metrics.MatthewsCorrCoef(task="binary")(polyad.tensor([0, 1, 1]), polyad.tensor(target))
    assert found.item() == value


def one_class(scores, target, at):
    if scores.ndim == 1:
        return scores, target
    # Scores of multiclass are probabilities here only if they are in [0, 1], as these are.
    return scores[:, at], (target == at).astype(int) if target.ndim == 1 else target[:, at]


def above(scores, target, threshold):
    there = scores >= np.float32(threshold)
    return (there & (target == 1)).sum(), (there & (target == 0)).sum()


@pytest.mark.parametrize("thresholds", [None, 6, [0.2, 0.5, 0.9]])
@pytest.mark.parametrize("task", TASKS)
def test_curves(task, thresholds):
    scores, target = classes(task)
    roc = in_batches(metrics.ROC(task=task, thresholds=thresholds, **TASKS[task]), scores, target)
    curve = in_batches(metrics.PrecisionRecallCurve(task=task, thresholds=thresholds, **TASKS[task]), scores, target)
    areas = in_batches(
        metrics.AveragePrecision(task=task, thresholds=thresholds, average=None, **TASKS[task]), scores, target
    )
    for at in range(1 if task == "binary" else CLASSES):
        of_class, truth = one_class(scores, target, at)
        steps = (
            {None: sorted({*of_class.tolist()}), 6: np.linspace(0, 1, 6)}.get(
                thresholds if isinstance(thresholds, int) else None, thresholds
            )
            if not isinstance(thresholds, list)
            else thresholds
        )
        counts = np.array([above(of_class, truth, step) for step in steps])
        everything = np.array([(truth == 1).sum(), (truth == 0).sum()])
        true, false = (counts / everything).T
        precision = np.divide(counts[:, 0], counts.sum(1), out=np.zeros(len(counts)), where=counts.sum(1) > 0)

        def part(found, number, at=at):
            if task == "binary":
                return found[number].numpy()
            return found[number][at].numpy() if thresholds is None or number < 2 else found[number].numpy()

        start = [0.0] if thresholds is None else []
        np.testing.assert_allclose(part(roc, 0), [*start, *false[::-1]], rtol=1e-6)
        np.testing.assert_allclose(part(roc, 1), [*start, *true[::-1]], rtol=1e-6)
        np.testing.assert_allclose(part(roc, 2), [*([1.0] if thresholds is None else []), *steps[::-1]], rtol=1e-6)
        np.testing.assert_allclose(part(curve, 0), [*precision, 1], rtol=1e-6)
        np.testing.assert_allclose(part(curve, 1), [*true, 0], rtol=1e-6)
        np.testing.assert_allclose(part(curve, 2), steps, rtol=1e-6)
        area = ((true - np.append(true[1:], 0)) * precision).sum()
        np.testing.assert_allclose(areas.item() if task == "binary" else areas[at].item(), area, rtol=1e-6)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_averages_of_areas_leave_out_classes_that_do_not_occur(average):
    scores, target = classes("multiclass")
    target[target == 3] = 0
    options = {"task": "multiclass", "num_classes": CLASSES}
    each = in_batches(metrics.AveragePrecision(average=None, **options), scores, target).numpy()
    assert np.isnan(each[3])
    weights = np.bincount(target, minlength=CLASSES)[:3] if average == "weighted" else None
    value = in_batches(metrics.AveragePrecision(average=average, **options), scores, target)
    np.testing.assert_allclose(value.item(), np.average(each[:3], weights=weights), rtol=1e-6)


class TestValues:
    def test_extremes(self):
        greatest, least, every = metrics.MaxMetric(), metrics.MinMetric(), metrics.CatMetric()
        for value in (polyad.tensor([1.0, -3.0]), 7, polyad.tensor([[2.0]])):
            for metric in (greatest, least, every):
                metric.update(value)
        assert (greatest.compute().item(), least.compute().item()) == (7, -3)
        assert every.compute().tolist() == [1, -3, 7, 2]
        assert metrics.MaxMetric().merge(greatest).compute().item() == 7

    @pytest.mark.parametrize(("how", "expected"), [("ignore", [1]), (0.5, [1, 0.5])])
    def test_nan_is_left_out_or_replaced(self, how, expected):
        metric = metrics.CatMetric(nan_strategy=how)
        metric.update(polyad.tensor([1.0, float("nan")]))
        assert metric.compute().tolist() == expected

    def test_nan_is_told_of(self):
        with pytest.warns(UserWarning, match="MaxMetric: values that are NaN are left out"):
            metrics.MaxMetric().update(float("nan"))
        with pytest.raises(ValueError, match="MinMetric: a value is NaN"):
            metrics.MinMetric("error").update(float("nan"))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: metrics.R2Score(multioutput="mean"), ValueError, "multioutput must be 'raw_values'"),
        (lambda: metrics.R2Score()(polyad.ones(3), polyad.ones(4)), RuntimeError, r"preds \(3,\) and target \(4,\)"),
        (lambda: metrics.PearsonCorrCoef(2)(polyad.ones(3), polyad.ones(3)), RuntimeError, r"are not both \(N, 2\)"),
        (lambda: metrics.CohenKappa("multilabel"), ValueError, "task must be 'binary' or 'multiclass'"),
        (lambda: metrics.ROC("binary", thresholds=1), ValueError, "thresholds is 1"),
        (lambda: metrics.AveragePrecision("binary", average="micro"), ValueError, "unknown average 'micro'"),
        (lambda: metrics.MinkowskiDistance(0.5), ValueError, "p is 0.5"),
        (lambda: metrics.FBetaScore("binary", beta=0), ValueError, "beta must be a number above 0"),
        (lambda: metrics.MaxMetric("no"), ValueError, "unknown nan_strategy 'no'"),
        (lambda: metrics.CosineSimilarity()(polyad.ones(3), polyad.ones(3)), RuntimeError, r"must be 2-d, not 1-d"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
