"""Captures without data, on device "meta": of other sizes than the example's, large ones too.

Tensors that the function has from elsewhere are represented by twins on the device, so nothing of theirs changes. Not
every function can be called so, and not each makes the same calls there: a capture of the example tells.
"""

from __future__ import annotations

from typing import Any

from ..base.device import Device
from ..base.dtypes import bool_
from ..base.state import state
from ..errors import NoData
from ..graph.structure import replace
from ..history.grad_mode import no_grad
from ..tensor import Tensor

META = Device("meta")
ASSUMED = (3, 4099, 18, 7, 1009, 52, 11, 263)
"""Sizes that are assumed where they follow from data, in captures number 1, 2 and so on; in number 0 it is 0."""


class Twins:
    """The tensors without data that stand for those of one capture.

    Attributes:
        pairs: each twin with the tensor for which it stands.
        sizes: those that were assumed.
        by_data: the numbers of the values whose sizes were.

    Args:
        number: of the capture.
    """

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self.sizes: list[int] = []
        self.by_data: set[int] = set()
        self.pairs: list[tuple[Tensor, Tensor]] = []
        self._twins: dict[int, Tensor] = {}
        self._originals: dict[int, Tensor] = {}

    def stand_in(self, structure: Any) -> Any:
        """Arguments with twins in the tensors' places."""
        return replace(structure, (Tensor, Device), lambda one: META if isinstance(one, Device) else self.of(one))

    def of(self, tensor: Tensor) -> Tensor:
        """The tensor that stands for *tensor*, which stands for itself if it has no data."""
        if tensor.device == META:
            return tensor
        found = self._twins.get(id(tensor))
        if found is None:
            modes, state.modes = state.modes, state.no_modes
            try:
                with no_grad():
                    found = tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
            finally:
                state.modes = modes
            self.pairs.append((found, tensor))
            self._twins[id(tensor)], self._originals[id(found)] = found, tensor
        return found

    def assume(self) -> int:
        """A size that follows from data: another one each time."""
        self.sizes.append(self.number and ASSUMED[(self.number - 1) % len(ASSUMED)] + 2 * len(self.sizes))
        return self.sizes[-1]

    def item(self, tensor: Tensor) -> int | float:
        """A number that is assumed to be the element of *tensor*. Raises NoData for a truth value or complex number."""
        if tensor.dtype is bool_ or tensor.dtype.is_complex:
            raise NoData("an element of a tensor without data is read", fix="decide with polyad.cond")
        if not tensor.dtype.is_floating_point:
            return self.assume()
        return (self.assume() + 0.25) * (-1 if self.number % 2 else 1)

    def original(self, tensor: Tensor) -> Tensor:
        """That of which *tensor* is a twin; itself if it is none."""
        return self._originals.get(id(tensor), tensor)
