"""polyad.metrics: what a model is judged by, over many batches.

    metric.py          `Metric`: update, compute, reset, merge
    collection.py      several metrics that see the same batches
    inputs.py          what predictions and targets may look like, by task
    classification.py  accuracy, precision, recall, F1, confusion matrix: all of counts
    agreement.py       Jaccard's index, Matthews' correlation, Cohen's kappa and their like: of counts or that matrix
    regression.py      errors of predicted numbers, the part that they explain, correlations
    curves.py          ROC, precision and recall over thresholds
    ranking.py         the area under the ROC curve
    aggregation.py     means, sums and extremes of values, squared and absolute errors

A metric is made once, given each batch, and asked for its value at the end:

>>> import polyad as torch
>>> from polyad.metrics import Accuracy
>>> accuracy = Accuracy(task="multiclass", num_classes=3)
>>> accuracy.update(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1, 1, 2]))
>>> accuracy.update(torch.tensor([0, 0]), torch.tensor([0, 0]))
>>> accuracy.compute()
tensor(0.8333)

Calling a metric does both: it counts the batch, and gives the batch's own value. Names and arguments are those of
torchmetrics. A metric works on the device of the first batch and waits for it only in `compute`, unless it checks
values (``validate_args``).
"""

from .aggregation import CatMetric, MaxMetric, MeanAbsoluteError, MeanMetric, MeanSquaredError, MinMetric, SumMetric
from .agreement import CohenKappa, FBetaScore, HammingDistance, JaccardIndex, MatthewsCorrCoef, Specificity, StatScores
from .classification import Accuracy, ConfusionMatrix, F1Score, Precision, Recall
from .collection import MetricCollection
from .curves import ROC, AveragePrecision, PrecisionRecallCurve
from .metric import Metric
from .ranking import AUROC
from .regression import (
    ConcordanceCorrCoef,
    CosineSimilarity,
    ExplainedVariance,
    LogCoshError,
    MeanAbsolutePercentageError,
    MeanSquaredLogError,
    MinkowskiDistance,
    PearsonCorrCoef,
    R2Score,
    RelativeSquaredError,
    SpearmanCorrCoef,
    SymmetricMeanAbsolutePercentageError,
    WeightedMeanAbsolutePercentageError,
)

__all__ = [
    "CohenKappa",
    "FBetaScore",
    "HammingDistance",
    "JaccardIndex",
    "MatthewsCorrCoef",
    "Specificity",
    "StatScores",
    "ROC",
    "AveragePrecision",
    "PrecisionRecallCurve",
    "ConcordanceCorrCoef",
    "CosineSimilarity",
    "ExplainedVariance",
    "LogCoshError",
    "MeanAbsolutePercentageError",
    "MeanSquaredLogError",
    "MinkowskiDistance",
    "PearsonCorrCoef",
    "R2Score",
    "RelativeSquaredError",
    "SpearmanCorrCoef",
    "SymmetricMeanAbsolutePercentageError",
    "WeightedMeanAbsolutePercentageError",
    "CatMetric",
    "MaxMetric",
    "MinMetric",
    "AUROC",
    "Accuracy",
    "ConfusionMatrix",
    "F1Score",
    "MeanAbsoluteError",
    "MeanMetric",
    "MeanSquaredError",
    "Metric",
    "MetricCollection",
    "Precision",
    "Recall",
    "SumMetric",
]
