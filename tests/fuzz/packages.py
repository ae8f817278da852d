"""What is called outside the ops: layers, optimizers, schedules, distributions, metrics, vision, pytrees.

Classes are made with arguments of every sort, and the methods of objects that are as they should be are called with
them. To have another package called, add its path to `SPACES`; a class that needs particular arguments has a row in
`OBJECTS`, so that its methods are called as well.
"""

from __future__ import annotations

import enum
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import polyad

SPACES = (
    "nn", "nn.init", "nn.utils", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune", "nn.utils.rnn",
    "nn.utils.stateless", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions",
    "distributions.constraints", "distributions.utils", "utils._pytree", "metrics",
    "vision.transforms", "vision.transforms.functional", "vision.utils", "vision.datasets",
)  # fmt: skip
"""The modules whose public functions and classes are called."""

OBJECTS: dict[str, tuple[str, ...]] = {
    "nn": (
        "Linear(3, 2)", "Sequential(nn.Linear(3, 3), nn.ReLU())", "ModuleList([nn.Linear(3, 3)])",
        "ModuleDict({'a': nn.Linear(3, 3)})", "ParameterList([leaf(3)])", "ParameterDict({'a': leaf(3)})",
        "LSTM(3, 2)", "GRUCell(3, 2)", "MultiheadAttention(4, 2)", "TransformerEncoderLayer(4, 2, 4)",
        "Embedding(5, 3)", "EmbeddingBag(5, 3)", "Conv2d(3, 2, 1)", "ConvTranspose1d(2, 3, 1)", "BatchNorm1d(3)",
        "LazyLinear(3)", "CrossEntropyLoss()", "Bilinear(3, 3, 2)", "MaxUnpool2d(2)", "Upsample(scale_factor=2)",
        "AdaptiveLogSoftmaxWithLoss(3, 5, [2])", "TripletMarginLoss()", "CTCLoss()",
    ),
    "optim": (
        "ASGD([leaf(3)])", "LBFGS([leaf(3)])", "SGD([leaf(3)], 0.1)", "Adadelta([leaf(3)])", "Adafactor([leaf(3)])",
        "Adagrad([leaf(3)])", "Adam([leaf(3)])", "AdamW([leaf(3)])", "Adamax([leaf(3)])", "Muon([leaf(3, 3)])",
        "NAdam([leaf(3)])", "RAdam([leaf(3)])", "RMSprop([leaf(3)])", "Rprop([leaf(3)])", "SparseAdam([leaf(3)])",
    ),
    "optim.lr_scheduler": (
        "ConstantLR(optimizer())", "CosineAnnealingLR(optimizer(), 3)", "CosineAnnealingWarmRestarts(optimizer(), 3)",
        "CyclicLR(optimizer(), 0.1, 0.2)", "ExponentialLR(optimizer(), 0.5)", "LambdaLR(optimizer(), float)",
        "LinearLR(optimizer())", "MultiStepLR(optimizer(), [1, 2])", "OneCycleLR(optimizer(), 0.1, 5)",
        "PolynomialLR(optimizer())", "ReduceLROnPlateau(optimizer())", "StepLR(optimizer(), 2)",
        "ChainedScheduler([scheduler()])",
    ),
    "optim.swa_utils": ("AveragedModel(nn.Linear(3, 2))", "SWALR(optimizer(), 0.1)"),
    "distributions": (
        "Bernoulli(0.5)", "Beta(1.0, 2.0)", "Binomial(3, filled('float32', 2, value=0.5))",
        "Categorical(filled('float32', 3, value=1))", "Cauchy(0.0, 1.0)", "Chi2(2.0)", "ContinuousBernoulli(0.3)",
        "Dirichlet(filled('float32', 3, value=1))", "Exponential(1.0)", "FisherSnedecor(1.0, 2.0)", "Gamma(1.0, 2.0)",
        "GeneralizedPareto(0.0, 1.0, 0.1)", "Geometric(0.5)", "Gumbel(0.0, 1.0)", "HalfNormal(1.0)",
        "Independent(normal(2), 1)", "InverseGamma(1.0, 2.0)", "Kumaraswamy(1.0, 2.0)", "LKJCholesky(3)",
        "Laplace(0.0, 1.0)", "LogNormal(0.0, 1.0)", "Multinomial(3, filled('float32', 3, value=1))",
        "MultivariateNormal(filled('float32', 2), torch.eye(2))", "NegativeBinomial(3, 0.5)", "Normal(0.0, 1.0)",
        "OneHotCategorical(filled('float32', 3, value=1))", "Pareto(1.0, 2.0)", "Poisson(2.0)", "StudentT(3.0)",
        "Uniform(0.0, 1.0)", "VonMises(0.0, 1.0)", "Weibull(1.0, 2.0)", "Wishart(3.0, torch.eye(2))",
        "TransformedDistribution(normal(), ExpTransform())", "AffineTransform(0.0, 1.0)", "ExpTransform()",
        "ComposeTransform([ExpTransform()])", "StickBreakingTransform()", "PowerTransform(filled('float32'))",
        "ReshapeTransform((2,), (1, 2))", "SoftmaxTransform()", "CatTransform([ExpTransform()])",
        "MixtureSameFamily(Categorical(filled('float32', 2, value=1)), normal(2))",
    ),
    "distributions.constraints": ("interval(0, 1)", "cat([positive], -1, [3])", "independent(positive, 1)", "simplex"),
    "metrics": (
        "Accuracy('multiclass', num_classes=3)", "Accuracy('binary')", "AUROC('binary')",
        "ConfusionMatrix('multiclass', num_classes=3)", "F1Score('multilabel', num_labels=2)", "MeanAbsoluteError()",
        "MeanMetric()", "MeanSquaredError()", "MetricCollection([MeanSquaredError()])", "SumMetric()", "CatMetric()",
        "CohenKappa('binary')",
        "CosineSimilarity()", "JaccardIndex('multiclass', num_classes=3)", "PearsonCorrCoef()", "R2Score()",
        "ROC('binary')", "SpearmanCorrCoef()", "StatScores('binary')", "AveragePrecision('binary', thresholds=3)",
        "WeightedMeanAbsolutePercentageError()",
    ),
    "vision.transforms": (
        "ColorJitter(0.5)", "GaussianBlur(3)", "RandomAffine(10)",
        "RandomCrop(2)", "RandomErasing(1.0)", "RandomGrayscale()", "RandomHorizontalFlip()", "RandomResizedCrop(2)",
        "RandomRotation(10)", "CenterCrop(2)", "Compose([Grayscale()])", "FiveCrop(2)", "Normalize([0.5], [0.5])",
        "Pad(1)", "RandomApply([Grayscale()])", "Resize(2)", "TenCrop(2)", "ToPILImage()", "ToTensor()",
    ),
}  # fmt: skip
"""Objects that are as they should be, by the module of their classes."""

NOT_CALLED = frozenset(
    {
        "register_kl", "set_default_validate_args", "register_pytree_node", "register_module_forward_hook",
        "register_module_buffer_registration_hook", "register_module_forward_pre_hook",
        "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
        "register_module_module_registration_hook", "register_module_parameter_registration_hook",
        "share_memory", "share_memory_", "save_image", "initialize_parameters",
    }
)  # fmt: skip
"""What changes the process for good, writes files, or is for polyad alone to call."""

OBJECT_METHODS = ("__call__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__add__", "__len__")


def module_of(space: str) -> Any:
    """The module *space* of polyad's."""
    found = polyad
    for part in space.split("."):
        if not hasattr(found, part):
            importlib.import_module(f"polyad.{space}")
        found = getattr(found, part)
    return found


def _names(module: Any) -> list[str]:
    return sorted(name for name in getattr(module, "__all__", dir(module)) if name[0] != "_")


def called() -> Iterator[tuple[str, Any]]:
    """The paths of public functions and classes, with these."""
    for space in SPACES:
        module = module_of(space)
        for name in _names(module):
            found = getattr(module, name)
            theirs = getattr(found, "__module__", "").partition(".")[0].startswith("polyad")
            error = isinstance(found, type) and issubclass(found, (Exception, enum.Enum))
            abstract = inspect.isabstract(found) or found is polyad.nn.Module
            if callable(found) and theirs and not (error or abstract) and name not in NOT_CALLED:
                yield f"torch.{space}.{name}", found


def source_in(space: str, text: str) -> str:
    """The source *text*, in which names of *space* stand alone."""
    return f"within({space!r}, {text!r})"


def methods(space: str, text: str) -> Iterator[tuple[str, Any]]:
    """The public methods of the object of this source, found in its class."""
    module = module_of(space)
    found = getattr(module, text.partition("(")[0])
    kind = found if isinstance(found, type) else type(found)
    for name in sorted({*dir(kind), *OBJECT_METHODS}):
        method = inspect.getattr_static(kind, name, None)
        if name in NOT_CALLED or (name[0] == "_" and name not in OBJECT_METHODS) or not hasattr(kind, name):
            continue
        if isinstance(method, property) or not callable(getattr(kind, name)):
            continue
        shown = getattr(kind, "forward", None) if name == "__call__" else None
        yield name, shown or getattr(kind, name)
