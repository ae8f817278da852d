"""The domain ai.onnx.ml without its trees: linear models, and what prepares features."""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad import Tensor

from ..elements import array_of
from ..operators import ML, REQUIRED, Compute, Node, operator
from .scores import labelled, transformed

__all__: list[str] = []


def _in_dtype_of(numbers: Any, x: Tensor) -> Tensor:
    return polyad.tensor(numbers, dtype=x.dtype, device=x.device)


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(node: Node) -> Compute:
    def call(x: Tensor, places: Tensor) -> Tensor:
        rows = x if x.ndim > 1 else x.reshape(1, -1)
        return rows.index_select(-1, places.reshape(-1).to(polyad.int64))

    return call


@operator("Binarizer", domain=ML)
def binarizer(node: Node) -> Compute:
    threshold = node.number("threshold", 0.0)
    return lambda x: (x > threshold).to(x.dtype)


@operator("Scaler", domain=ML)
def scaler(node: Node) -> Compute:
    offset, scale = node.numbers("offset", [0.0]), node.numbers("scale", [1.0])

    def call(x: Tensor) -> Tensor:
        wide = x.to(polyad.float32)
        return (wide - _in_dtype_of(offset, wide)) * _in_dtype_of(scale, wide)

    return call


@operator("Normalizer", domain=ML)
def normalizer(node: Node) -> Compute:
    norm = node.choice("norm", "MAX", "MAX", "L1", "L2")

    def call(x: Tensor) -> Tensor:
        wide = x.to(polyad.float32)
        size = wide.abs()
        if norm == "MAX":
            by = size.amax(-1, keepdim=True)
        else:
            by = size.sum(-1, keepdim=True) if norm == "L1" else (wide * wide).sum(-1, keepdim=True).sqrt()
        return polyad.where(by == 0, wide, wide / by)

    return call


@operator("Imputer", domain=ML)
def imputer(node: Node) -> Compute:
    whole = node.integers("imputed_value_int64s", None)
    filled = whole or node.numbers("imputed_value_floats", REQUIRED)
    gap = node.integer("replaced_value_int64", 0) if whole else node.number("replaced_value_float", 0.0)

    def call(x: Tensor) -> Tensor:
        lacking = x.isnan() if gap != gap else x == gap
        return polyad.where(lacking, _in_dtype_of(filled, x), x)

    return call


@operator("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: Node) -> Compute:
    sizes = node.integers("inputdimensions", None)

    def call(*xs: Tensor) -> Tensor:
        parts = [(x if x.ndim > 1 else x.reshape(1, -1)).to(polyad.float32) for x in xs]
        return polyad.cat([part[:, : sizes[index]] if sizes else part for index, part in enumerate(parts)], 1)

    return call


@operator("OneHotEncoder", domain=ML)
def one_hot_encoder(node: Node) -> Compute:
    if node.texts("cats_strings", None):
        raise node.refused("attribute cats_strings: strings have no form in polyad", "encode integers")
    kinds = node.integers("cats_int64s", REQUIRED)
    return lambda x: (x.unsqueeze(-1) == _in_dtype_of(kinds, x)).to(polyad.float32)


@operator("LabelEncoder", domain=ML)
def label_encoder(node: Node) -> Compute:
    keys, values = _column(node, "keys"), _column(node, "values")
    if keys is None or values is None or len(keys) != len(values):
        raise node.refused("keys and values are no numbers", "encode numbers; strings have no form in polyad")
    default = node.tensor("default_tensor", None)
    if default is not None:
        other: Any = array_of(default).reshape(-1)[0]
    else:
        other = node.integer("default_int64", -1) if values.dtype.kind == "i" else node.number("default_float", -0.0)

    def call(x: Tensor) -> Tensor:
        table = polyad.from_numpy(values).to(x.device)
        match = x.unsqueeze(-1) == polyad.from_numpy(keys).to(x.device)
        if keys.dtype.kind == "f":
            match = match | (x.isnan().unsqueeze(-1) & polyad.from_numpy(np.isnan(keys)).to(x.device))
        found = table[match.to(polyad.int64).argmax(-1)]
        return polyad.where(match.any(-1), found, polyad.tensor(other, dtype=found.dtype, device=x.device))

    return call


def _column(node: Node, name: str) -> np.ndarray | None:
    """One side of a table of labels, if it is one of numbers."""
    whole, numbers, tensor = (
        node.integers(f"{name}_int64s", None),
        node.numbers(f"{name}_floats", None),
        node.tensor(f"{name}_tensor", None),
    )
    if whole is not None:
        return np.array(whole, np.int64)
    if numbers is not None:
        return np.array(numbers, np.float32)
    return None if tensor is None else array_of(tensor).reshape(-1)


@operator("ZipMap", domain=ML)
def zip_map(node: Node) -> Compute:
    labels = node.integers("classlabels_int64s", None) or node.texts("classlabels_strings", REQUIRED)
    return lambda x: [dict(zip(labels, row, strict=True)) for row in x]


@operator("LinearRegressor", domain=ML)
def linear_regressor(node: Node) -> Compute:
    targets, weights = node.integer("targets", 1), node.numbers("coefficients", REQUIRED)
    shift, transform = node.numbers("intercepts", None), node.text("post_transform", "NONE")

    def call(x: Tensor) -> Tensor:
        wide = x.to(polyad.float32)
        made = wide @ _in_dtype_of(weights, wide).reshape(targets, -1).t()
        return transformed(made if shift is None else made + _in_dtype_of(shift, wide), transform)

    return call


@operator("LinearClassifier", domain=ML)
def linear_classifier(node: Node) -> Compute:
    labels = labelled(node, "classlabels_ints", "classlabels_strings")
    weights, shift = node.numbers("coefficients", REQUIRED), node.numbers("intercepts", None)
    transform = node.text("post_transform", "NONE")
    rows = len(shift) if shift else max(len(labels), 1)

    def call(x: Tensor) -> tuple[Tensor, Tensor]:
        wide = x.to(polyad.float32)
        made = wide @ _in_dtype_of(weights, wide).reshape(rows, -1).t()
        made = made if shift is None else made + _in_dtype_of(shift, wide)
        if rows == 1 and len(labels) == 2:
            place = (made[:, 0] > 0).to(polyad.int64)
            score = transformed(made, transform)
            made = polyad.cat([1 - score if transform == "LOGISTIC" else -score, score], 1)
        else:
            place, made = made.argmax(1), transformed(made, transform)
        return polyad.tensor(labels, device=x.device)[place], made

    return call
