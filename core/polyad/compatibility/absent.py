"""Names that PyTorch has and polyad has not: each is there, and says when it is called what to use instead.

So a program that names such a thing fails where it uses it, with advice, and not at its import. The table in
docs/compatibility.md is generated from `ABSENT`.

To add a name, add a row; to bring the thing itself, delete the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ..errors import NotSupported


class Absence(NamedTuple):
    """Why a name does nothing here, and what to use."""

    reason: str
    instead: str


_SPARSE = Absence(
    "tensors are dense", "a dense tensor; polyad.zeros(size).index_put(indices, values) makes one of parts"
)

_ONE_PROCESS = Absence(
    "a model is trained by a single process",
    "polyad.nn.DataParallel for several devices; scripts ask"
    " polyad.distributed.is_available(), or whether RANK is in the environment",
)

ABSENT: dict[str, Absence] = {
    "compile": Absence("ops run one by one", "the function itself; polyad.jit.trace(f, *inputs) captures a graph"),
    **dict.fromkeys(
        (
            "sparse_bsc_tensor",
            "sparse_bsr_tensor",
            "sparse_compressed_tensor",
            "sparse_coo_tensor",
            "sparse_csc_tensor",
            "sparse_csr_tensor",
        ),
        _SPARSE,
    ),
    "onnx.export": Absence("no ONNX files are written", "polyad.jit.capture(f, *inputs), whose nodes can be read"),
    "fx.symbolic_trace": Absence("graphs are made of ops", "polyad.jit.capture(f, *inputs), whose nodes can be read"),
    **{
        f"hub.{name}": Absence(
            "no code is fetched and run", "the model's own package, and polyad.hub.load_state_dict_from_url"
        )
        for name in ("help", "list", "load")
    },
    "serialization.register_package": Absence(
        "files say where a tensor was by its device", "polyad.load(f, map_location=function)"
    ),
    "serialization.skip_data": Absence("a file has the data of its tensors", "shapes and dtypes in a dict, saved"),
    "jit.load": Absence("there are no files of compiled code", "polyad.load, which reads the tensors of other files"),
    "jit.save": Absence(
        "there are no files of compiled code", "polyad.save(model.state_dict(), f), and the class of the model to load"
    ),
    **dict.fromkeys(("distributed.init_process_group", "nn.parallel.DistributedDataParallel"), _ONE_PROCESS),
    **dict.fromkeys(
        ("cuda.MemPool", "cuda.use_mem_pool"),
        Absence(
            "each device has one allocator", "polyad.cuda.set_per_process_memory_fraction, or polyad.cuda.empty_cache()"
        ),
    ),
    **dict.fromkeys(
        (
            "cuda.clock_rate",
            "cuda.list_gpu_processes",
            "cuda.memory_usage",
            "cuda.power_draw",
            "cuda.temperature",
            "cuda.utilization",
        ),
        Absence(
            "sensors are not read", "nvidia-smi --query-gpu=utilization.gpu,temperature.gpu,power.draw --format=csv"
        ),
    ),
}
"""What is absent, by its name under ``polyad``."""


def stand_in(path: str) -> Callable[..., NoReturn]:
    """What stands at an absent name: a callable that raises NotSupported (a NotImplementedError) with the advice."""
    reason, instead = ABSENT[path]

    def absent(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotSupported(f"{path}: {reason}", fix=f"use {instead}")

    absent.__name__ = absent.__qualname__ = path.rpartition(".")[2]
    absent.__doc__ = f"Not in polyad: {reason}. Use {instead}. Raises NotImplementedError."
    return absent
