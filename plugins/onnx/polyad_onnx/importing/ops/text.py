"""What is counted in sequences of words, which are integers here: polyad has no tensors of strings."""

from __future__ import annotations

import numpy as np

import polyad
from polyad import Tensor

from ..elements import to_array
from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node) -> Compute:
    if node.texts("pool_strings", None):
        raise node.refused("attribute pool_strings: strings have no form in polyad", "count integers")
    shortest, longest = node.integer("min_gram_length", REQUIRED), node.integer("max_gram_length", REQUIRED)
    skips, mode = node.integer("max_skip_count", REQUIRED), node.choice("mode", "", "TF", "IDF", "TFIDF")
    pool, starts = node.integers("pool_int64s", REQUIRED), node.integers("ngram_counts", REQUIRED)
    columns, weights = node.integers("ngram_indexes", REQUIRED), node.numbers("weights", None)
    grams: dict[tuple[int, ...], int] = {}
    for index, start in enumerate(starts):
        size, end = index + 1, starts[index + 1] if index + 1 < len(starts) else len(pool)
        for place in range(start, end - size + 1, size):
            grams[tuple(pool[place : place + size])] = len(grams)
    if len(grams) > len(columns):
        raise node.wrong(f"there are {len(grams)} n-grams in the pool and {len(columns)} columns for them")

    def counts(row: np.ndarray) -> np.ndarray:
        made = np.zeros(max(columns, default=-1) + 1, np.float32)
        for size in range(shortest, longest + 1):
            for skip in range(skips + 1) if size > 1 else range(1):
                reach = (size - 1) * (skip + 1) + 1
                for place in range(len(row) - reach + 1):
                    found = grams.get(tuple(row[place : place + reach : skip + 1].tolist()))
                    if found is not None:
                        made[columns[found]] += 1
        return made

    by = None
    if weights is not None:
        by = np.ones(max(columns, default=-1) + 1, np.float32)
        by[columns] = weights

    def call(x: Tensor) -> Tensor:
        rows = to_array(x)
        made = np.stack([counts(row) for row in rows.reshape(-1, rows.shape[-1])]) if rows.ndim > 1 else counts(rows)
        if mode == "IDF":
            made = np.minimum(made, 1)
        if mode != "TF" and by is not None:
            made = made * by
        return polyad.from_numpy(made).to(x.device)

    return call
