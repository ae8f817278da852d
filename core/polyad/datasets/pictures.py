"""What datasets share whose pictures are in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments import explain
from ..interop.images import picture_of
from ..tensor import Tensor
from ..utils.data import Dataset

__all__ = ["Pictures"]


class Pictures(Dataset[tuple[Any, Any]]):
    """Pictures uint8 (n, channels, height, width) and their labels; a sample's picture is Pillow's, as transforms of
    torchvision's expect it.
    """

    images: Tensor
    targets: Any
    transform: Callable[[Any], Any] | None
    target_transform: Callable[[Any], Any] | None

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        picture, target = picture_of(self.images[index]), int(self.targets[index])
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return len(self.images)


explain(globals())
