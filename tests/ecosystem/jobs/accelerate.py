"""accelerate: its training loop, with gradients accumulated, clipped, and a state that is saved and loaded."""

from __future__ import annotations

from typing import Any

from ..job import Run, job
from . import load_torchvision

load_torchvision()

import accelerate  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

PACKAGE = "accelerate"


def parts(run: Run, **options: Any) -> tuple[Any, ...]:
    torch = run.torch
    accelerator = accelerate.Accelerator(cpu=True, **options)
    model = run.same(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    data = TensorDataset(run.normal(24, 8), run.normal(24, 1, seed=1))
    return accelerator, *accelerator.prepare(model, optimizer, DataLoader(data, batch_size=4), scheduler)


def epoch(run: Run, accelerator: Any, model: Any, optimizer: Any, loader: Any, scheduler: Any) -> list[Any]:
    losses = []
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = run.torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(loss.detach())
    return losses


@job("a loop with gradients accumulated and clipped, its state saved and loaded")
def loop(run: Run) -> None:
    accelerator, *trained = parts(run, gradient_accumulation_steps=2)
    run.record("losses", epoch(run, accelerator, *trained), depth=24)
    accelerator.save_state(str(run.folder / "state"))
    run.record("files", sorted(path.name for path in (run.folder / "state").iterdir()))
    after = epoch(run, accelerator, *trained)
    accelerator.load_state(str(run.folder / "state"))
    again = epoch(run, accelerator, *trained)
    run.record("after", after, depth=48)
    run.record("resumed", all(bool(one == other) for one, other in zip(after, again, strict=True)))
    run.record("gathered", accelerator.gather_for_metrics(after[0]), depth=48)
    run.time("epoch", lambda: epoch(run, accelerator, *trained))


@job("bfloat16 by autocast")
def mixed(run: Run) -> None:
    accelerator, *trained = parts(run, mixed_precision="bf16")
    run.record("losses", epoch(run, accelerator, *trained), depth=2**19)  # bfloat16 has 16 bits less than float32


@job("a model made without memory, its weights dispatched and offloaded")
def big(run: Run) -> None:
    torch = run.torch
    with accelerate.init_empty_weights():
        empty = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    run.record("devices", sorted({one.device.type for one in empty.parameters()}))
    model = run.same(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)))
    accelerate.Accelerator(cpu=True).save_model(model, str(run.folder / "model"))
    loaded = accelerate.load_checkpoint_and_dispatch(empty, str(run.other / "model"), device_map={"": "cpu"})
    run.record("loaded", loaded(run.normal(2, 8)))
    offloaded = accelerate.cpu_offload(model)
    run.record("offloaded", offloaded(run.normal(2, 8)))
    run.record("sizes", accelerate.utils.compute_module_sizes(model)[""])
