"""Pictures of noise: to try a program without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polyad
from polyad.arguments import explain
from polyad.errors import IndexOutOfRange
from polyad.utils.data import Dataset

from ..transforms.functional import to_pil_image

__all__ = ["FakeData"]


class FakeData(Dataset[tuple[Any, Any]]):
    """Pictures of random pixels with random classes, the same in every run; a sample's picture is Pillow's.

    Args:
        size: how many.
        image_size: (channels, height, width).
        num_classes: classes are numbered from 0.
        transform: called with the picture.
        target_transform: called with the class.
        random_offset: added to a sample's number to seed its noise: another offset gives other pictures.

    >>> from polyad.vision.datasets import FakeData
    >>> picture, target = FakeData(size=3, image_size=(3, 4, 5), num_classes=10)[2]
    >>> picture.size, 0 <= target < 10
    ((5, 4), True)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: Sequence[int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        self.size, self.image_size, self.num_classes = size, image_size, num_classes
        self.transform, self.target_transform, self.random_offset = transform, target_transform, random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexOutOfRange(f"FakeData: index {index} of {self.size} samples", fix="pass a smaller index")
        random = polyad.Generator().manual_seed(index + self.random_offset)
        pixels = polyad.randn(*self.image_size, generator=random)
        target: Any = int(polyad.randint(0, self.num_classes, (1,), generator=random))
        picture = to_pil_image(pixels)
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return self.size


explain(globals())
