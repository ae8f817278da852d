"""polyad.metrics: what a model is judged by, over many batches.

    metric.py          `Metric`: update, compute, reset, merge
    collection.py      several metrics that see the same batches
    inputs.py          what predictions and targets may look like, by task
    classification.py  accuracy, precision, recall, F1, confusion matrix: all of counts
    ranking.py         the area under the ROC curve
    aggregation.py     means and sums of values, squared and absolute errors

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

from .aggregation import MeanAbsoluteError, MeanMetric, MeanSquaredError, SumMetric
from .classification import Accuracy, ConfusionMatrix, F1Score, Precision, Recall
from .collection import MetricCollection
from .metric import Metric
from .ranking import AUROC

__all__ = [
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
