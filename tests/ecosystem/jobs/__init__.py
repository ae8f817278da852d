"""The jobs, a module for each library."""

from __future__ import annotations

import sys

import torch


def load_torchvision() -> None:
    """Import torchvision, whose compiled part needs the CUDA of its wheel: beside PyTorch for the CPU alone the ops
    that it asks for while it is imported are made known first. Nothing here calls them.
    """
    try:
        import torchvision
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms(Tensor dets, Tensor scores, float iou_threshold)",
                     "qnms(Tensor dets, Tensor scores, float iou_threshold)"):  # fmt: skip
            library.define(f"{name} -> Tensor")
        _kept.append(library)
        import torchvision  # noqa: F401


_kept: list[object] = []  # a library's ops go with it
