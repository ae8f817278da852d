"""tensorboard: what SummaryWriter writes is read by TensorBoard's own reader."""

from __future__ import annotations

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ..job import Run, job

PACKAGE = "tensorboard"


@job("scalars, histograms, pictures, text, a graph, curves")
def events(run: Run) -> None:
    torch = run.torch
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(run.folder)) as writer:
        for step in range(3):
            writer.add_scalar("a/b", step / 2, step)
        writer.add_histogram("histogram", run.normal(100), 0)
        writer.add_image("picture", run.normal(3, 8, 8).sigmoid(), 0)
        writer.add_images("pictures", run.normal(2, 3, 8, 8).sigmoid(), 0)
        writer.add_text("text", "words", 0)
        writer.add_pr_curve("curve", run.integers(2, 50), run.normal(50).sigmoid(), 0)
        writer.add_graph(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), run.normal(2, 3))
    reader = EventAccumulator(str(run.folder), size_guidance={"tensors": 0})
    reader.Reload()
    tags = reader.Tags()
    run.record("tags", {name: sorted(tags[name]) for name in ("images", "histograms", "scalars", "tensors")})
    run.record("graph", tags["graph"])
    run.record("scalars", [event.value for event in reader.Scalars("a/b")])
    histogram = reader.Histograms("histogram")[0].histogram_value
    run.record("buckets", [list(histogram.bucket), histogram.num, histogram.sum])
    picture = reader.Images("picture")[0]
    run.record("picture", [picture.width, picture.height])
