"""safetensors.torch: files that each side writes and the other reads, shared tensors, models."""

from __future__ import annotations

import safetensors
import safetensors.torch as files

from ..job import Run, job

PACKAGE = "safetensors"
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


@job("save_file, load_file, safe_open, slices")
def tensors(run: Run) -> None:
    made = {name: (4 * run.normal(3, 5, seed=1)).to(getattr(run.torch, name)) for name in DTYPES}
    files.save_file(made, run.folder / "tensors.safetensors", metadata={"format": "pt"})
    loaded = files.load_file(run.other / "tensors.safetensors")
    run.record("loaded", loaded, depth=1)
    run.record("equal", [bool((loaded[name] == made[name]).all()) for name in made])
    run.record(
        "bytes", (run.folder / "tensors.safetensors").read_bytes() == (run.other / "tensors.safetensors").read_bytes()
    )
    with safetensors.safe_open(run.other / "tensors.safetensors", framework="pt") as opened:
        run.record("slice", opened.get_slice("float32")[1:, :2], depth=1)
        run.record("metadata", opened.metadata()["format"])


@job("save_model and load_model with tied weights")
def model(run: Run) -> None:
    made = run.same(run.torch.nn.Sequential(run.torch.nn.Linear(6, 6), run.torch.nn.ReLU(), run.torch.nn.Linear(6, 6)))
    made[2].weight = made[0].weight
    files.save_model(made, str(run.folder / "model.safetensors"))
    with run.torch.no_grad():
        made[0].weight.zero_()
    files.load_model(made, str(run.other / "model.safetensors"))
    run.record("output", made(run.normal(2, 6)))
