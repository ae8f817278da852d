"""Whether training keeps memory: ``python benchmarks/gpu_leaks.py [--device cuda] [--steps 1000]``.

Trains a small network with dropout, in two streams by turns, and compares what is allocated after a tenth of the steps
with what is at the end. Ends with status 1 if the device's memory has grown.
"""

from __future__ import annotations

import argparse
import resource
import sys

import polyad as torch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    nn, cuda = torch.nn, torch.cuda
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(8 * 36, 10)
    ).to(arguments.device)
    optimizer = torch.optim.Adam(model.parameters())
    streams = [cuda.current_stream(arguments.device), cuda.Stream(arguments.device)]
    images, labels = torch.randn(32, 1, 8, 8), torch.arange(32) % 10
    allocated, resident = [], []
    for step in range(arguments.steps):
        with cuda.stream(streams[step // 50 % 2]):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images.to(arguments.device)), labels.to(arguments.device))
            loss.backward()
            optimizer.step()
        if step % 50 == 49:
            cuda.synchronize(arguments.device)
        if step in (arguments.steps // 10 // 100 * 100 + 99, arguments.steps - 1):
            cuda.synchronize(arguments.device)
            allocated.append(cuda.memory_allocated(arguments.device))
            resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(
        f"{arguments.steps} steps: {allocated[-1] - allocated[0]:+d} bytes on the device, "
        f"{resident[-1] - resident[0]:+.1f} MB on the host, loss {loss.item():.2f}"
    )
    return int(allocated[-1] > allocated[0])


if __name__ == "__main__":
    sys.exit(main())
