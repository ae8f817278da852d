"""Under autocast every function gives the dtype that it gives in PyTorch, on the cpu, and of either dtype."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import polyad

# Each is called with the library and a function that makes tensors of a shape.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda p, t: t(2, 3) @ t(3, 2),
    "linalg.matmul": lambda p, t: p.linalg.matmul(t(2, 3), t(3, 2)),
    "matmul of vectors": lambda p, t: t(3) @ t(3),
    "matrix times vector": lambda p, t: t(2, 3) @ t(3),
    "mm": lambda p, t: p.mm(t(2, 3), t(3, 2)),
    "bmm": lambda p, t: p.bmm(t(2, 2, 3), t(2, 3, 2)),
    "mv": lambda p, t: p.mv(t(2, 3), t(3)),
    "dot": lambda p, t: p.dot(t(3), t(3)),
    "addmm": lambda p, t: p.addmm(t(2, 2), t(2, 3), t(3, 2)),
    "addmv": lambda p, t: p.addmv(t(2), t(2, 3), t(3)),
    "addbmm": lambda p, t: p.addbmm(t(2, 2), t(2, 2, 3), t(2, 3, 2)),
    "baddbmm": lambda p, t: p.baddbmm(t(2, 2, 2), t(2, 2, 3), t(2, 3, 2)),
    "einsum": lambda p, t: p.einsum("ij,jk->ik", t(2, 3), t(3, 2)),
    "tensordot": lambda p, t: p.tensordot(t(2, 3), t(3, 2), 1),
    "chain_matmul": lambda p, t: p.chain_matmul(t(2, 3), t(3, 2), t(2, 3)),
    "multi_dot": lambda p, t: p.linalg.multi_dot([t(2, 3), t(3, 2), t(2, 3)]),
    "vecdot": lambda p, t: p.linalg.vecdot(t(2, 3), t(2, 3)),
    "linear": lambda p, t: p.nn.functional.linear(t(2, 3), t(4, 3), t(4)),
    "bilinear": lambda p, t: p.nn.functional.bilinear(t(2, 3), t(2, 3), t(4, 3, 3)),
    "conv1d": lambda p, t: p.nn.functional.conv1d(t(1, 2, 5), t(3, 2, 2)),
    "conv2d": lambda p, t: p.nn.functional.conv2d(t(1, 2, 5, 5), t(3, 2, 2, 2), t(3)),
    "conv_transpose2d": lambda p, t: p.nn.functional.conv_transpose2d(t(1, 2, 5, 5), t(2, 3, 2, 2)),
    "prelu": lambda p, t: p.nn.functional.prelu(t(2, 3), t(1)),
    "attention": lambda p, t: p.nn.functional.scaled_dot_product_attention(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
    "relu": lambda p, t: p.relu(t(3)),
    "add": lambda p, t: t(3) + t(3),
    "exp": lambda p, t: p.exp(t(3)),
    "log": lambda p, t: p.log(t(3)),
    "pow": lambda p, t: t(3) ** 2,
    "sum": lambda p, t: p.sum(t(3)),
    "prod": lambda p, t: p.prod(t(3)),
    "cumsum": lambda p, t: p.cumsum(t(3), 0),
    "norm": lambda p, t: p.linalg.norm(t(3)),
    "softmax": lambda p, t: p.softmax(t(3), 0),
    "softmax in float32": lambda p, t: p.softmax(t(3), 0, dtype=p.float32),
    "log_softmax": lambda p, t: p.log_softmax(t(3), 0),
    "layer_norm": lambda p, t: p.nn.functional.layer_norm(t(2, 3), (3,), t(3), t(3)),
    "batch_norm": lambda p, t: p.nn.functional.batch_norm(t(2, 3), None, None, training=True),
    "gelu": lambda p, t: p.nn.functional.gelu(t(3)),
    "max_pool2d": lambda p, t: p.nn.functional.max_pool2d(t(1, 1, 4, 4), 2),
    "max_pool3d": lambda p, t: p.nn.functional.max_pool3d(t(1, 1, 4, 4, 4), 2),
    "avg_pool3d": lambda p, t: p.nn.functional.avg_pool3d(t(1, 1, 4, 4, 4), 2),
    "adaptive_avg_pool2d": lambda p, t: p.nn.functional.adaptive_avg_pool2d(t(1, 1, 4, 4), 2),
    "mse_loss": lambda p, t: p.nn.functional.mse_loss(t(3), t(3)),
    "l1_loss": lambda p, t: p.nn.functional.l1_loss(t(3), t(3)),
    "smooth_l1_loss": lambda p, t: p.nn.functional.smooth_l1_loss(t(3), t(3)),
    "huber_loss": lambda p, t: p.nn.functional.huber_loss(t(3), t(3)),
    "kl_div": lambda p, t: p.nn.functional.kl_div(t(2, 3), t(2, 3), reduction="batchmean"),
    "cross_entropy": lambda p, t: p.nn.functional.cross_entropy(t(2, 3), p.tensor([0, 1])),
    "nll_loss": lambda p, t: p.nn.functional.nll_loss(t(2, 3), p.tensor([0, 1])),
    "poisson_nll_loss": lambda p, t: p.nn.functional.poisson_nll_loss(t(3), t(3)),
    "binary_cross_entropy": lambda p, t: p.nn.functional.binary_cross_entropy(t(3), t(3)),
    "with logits": lambda p, t: p.nn.functional.binary_cross_entropy_with_logits(t(3), t(3)),
    "hinge": lambda p, t: p.nn.functional.hinge_embedding_loss(t(3), t(3)),
    "cosine": lambda p, t: p.nn.functional.cosine_embedding_loss(t(2, 3), t(2, 3), t(2)),
    "margin": lambda p, t: p.nn.functional.margin_ranking_loss(t(3), t(3), t(3)),
    "triplet": lambda p, t: p.nn.functional.triplet_margin_loss(t(2, 3), t(2, 3), t(2, 3)),
    "soft_margin": lambda p, t: p.nn.functional.soft_margin_loss(t(3), t(3)),
    "multi_margin": lambda p, t: p.nn.functional.multi_margin_loss(t(2, 3), p.tensor([0, 1])),
    "cdist": lambda p, t: p.cdist(t(2, 3), t(2, 3)),
    "trace": lambda p, t: p.trace(t(3, 3)),
    "quantile": lambda p, t: p.quantile(t(3), 0.5),
    "inv": lambda p, t: p.linalg.inv(t(1, 1)),
    "cholesky": lambda p, t: p.linalg.cholesky(t(1, 1)),
    "solve": lambda p, t: p.linalg.solve(t(1, 1), t(1, 1)),
    "svdvals": lambda p, t: p.linalg.svdvals(t(2, 3)),
    "eigvalsh": lambda p, t: p.linalg.eigvalsh(t(2, 2)),
    "qr": lambda p, t: p.linalg.qr(t(2, 2))[0],
    "pinverse": lambda p, t: p.pinverse(t(2, 3)),
    "fft": lambda p, t: p.fft.fft(t(4)),
    "rfft": lambda p, t: p.fft.rfft(t(4)),
    "grid_sample": lambda p, t: p.nn.functional.grid_sample(t(1, 1, 2, 2), t(1, 1, 1, 2), align_corners=False),
    "cat": lambda p, t: p.cat([t(3), p.ones(3, dtype=p.float32)]),
    "stack": lambda p, t: p.stack([t(3), p.ones(3, dtype=p.float32)]),
    "index_copy": lambda p, t: p.index_copy(t(3), 0, p.tensor([0]), t(1)),
    "product of float64": lambda p, t: p.ones(2, 2, dtype=p.float64) @ p.ones(2, 2, dtype=p.float64),
    "product of integers": lambda p, t: p.ones(2, 2, dtype=p.int64) @ p.ones(2, 2, dtype=p.int64),
    "Linear": lambda p, t: p.nn.Linear(3, 2)(t(2, 3)),
    "Conv2d": lambda p, t: p.nn.Conv2d(1, 2, 2)(t(1, 1, 3, 3)),
}


def dtype_of(library: Any, name: str, inputs: str, fast: str, enabled: bool = True) -> str:
    def make(*shape: int) -> Any:
        return library.full(shape, 0.5, dtype=getattr(library, inputs))

    with warnings.catch_warnings(), library.autocast("cpu", dtype=getattr(library, fast), enabled=enabled):
        warnings.simplefilter("ignore")
        try:
            return str(CALLS[name](library, make).dtype).partition(".")[2]
        except (RuntimeError, NotImplementedError):
            return "refused"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("inputs", ["float32", "fast"])
@pytest.mark.parametrize("fast", ["bfloat16", "float16"])
def test_dtype(name: str, inputs: str, fast: str) -> None:
    given = fast if inputs == "fast" else inputs
    theirs, ours = dtype_of(torch, name, given, fast), dtype_of(polyad, name, given, fast)
    if theirs != "refused":
        assert ours == theirs
