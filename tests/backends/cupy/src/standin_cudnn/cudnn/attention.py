"""Attention and its gradient by their definition."""

from __future__ import annotations

import numpy as np


def check(sizes, results):
    """Raise if *sizes*, by the frontend's names, are not those of attention, or *results* those of what it gives."""
    query, key, value = sizes["q"], sizes["k"], sizes["v"]
    wanted = (*query[:3], value[3])
    if any(len(each) != 4 for each in sizes.values()) or query[1] % key[1] or key[:3] != value[:3]:
        raise RuntimeError(f"attention of {sizes}")
    if query[0] != key[0] or query[3] != key[3] or query[3] % 8 or value[3] % 8:
        raise RuntimeError(f"attention of {sizes}")
    if "dO" not in sizes:
        expected = [wanted, (*query[:3], 1)]
    else:
        expected = [query, key, value]
        if sizes["o"] != wanted or sizes["dO"] != wanted or sizes["stats"] != (*query[:3], 1):
            raise RuntimeError(f"the gradient of attention of {sizes}")
    if [tuple(each) for each in results] != expected:
        raise RuntimeError(f"results {results} of {sizes}")


def compute(operands, causal, scale):
    """The results, of arrays by the frontend's names."""
    query, key, value = operands["q"], operands["k"], operands["v"]
    batch, heads, rows, _ = query.shape
    group, columns = heads // key.shape[1], key.shape[2]
    weights, sums = np.zeros((batch, heads, rows, columns), np.float32), np.zeros((batch, heads, rows, 1), np.float32)
    for at in np.ndindex(batch, heads):
        scores = np.einsum("le,se->ls", query[at], key[at[0], at[1] // group]) * np.float32(scale)
        for row in range(rows):
            seen = min(row + 1, columns) if causal else columns
            line = scores[row, :seen].astype(np.float64)
            sums[(*at, row, 0)] = line.max() + np.log(np.exp(line - line.max()).sum())
            if "stats" in operands:
                line = line - operands["stats"][(*at, row, 0)]
            else:
                line = line - sums[(*at, row, 0)]
            weights[(*at, row)][:seen] = np.exp(line)
    if "dO" not in operands:
        wide = np.repeat(value, group, axis=1)
        return [np.einsum("bhls,bhsv->bhlv", weights, wide), sums]
    arriving, out = operands["dO"], operands["o"]
    of_query, of_key, of_value = (np.zeros(x.shape, np.float32) for x in (query, key, value))
    for b, h in np.ndindex(batch, heads):
        of_value[b, h // group] += weights[b, h].T @ arriving[b, h]
        share = (arriving[b, h] * out[b, h]).sum(-1, keepdims=True)
        of_scores = weights[b, h] * (arriving[b, h] @ value[b, h // group].T - share) * np.float32(scale)
        of_query[b, h] = of_scores @ key[b, h // group]
        of_key[b, h // group] += of_scores.T @ query[b, h]
    return [of_query, of_key, of_value]
