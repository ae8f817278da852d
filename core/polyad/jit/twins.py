"""Captures without data, on device "meta": of other sizes than the example's, large ones too.

Tensors that the function has from elsewhere are represented by twins on the device, so nothing of theirs changes. Not
every function can be called so, and not each makes the same calls there: a capture of the example tells.
"""

from __future__ import annotations

from typing import Any

from ..base.device import Device
from ..base.state import state
from ..graph.structure import replace
from ..history.grad_mode import no_grad
from ..tensor import Tensor

META = Device("meta")
ASSUMED = (7, 4099, 17, 127)
"""Sizes that are assumed where they follow from data, in one capture after the other."""


class Twins:
    """The tensors without data that stand for those of one capture.

    Attributes:
        pairs: each twin with the tensor for which it stands.
        sizes: those that were assumed.
        by_data: the numbers of the values whose sizes were.

    Args:
        number: how many captures there were before.
    """

    def __init__(self, number: int = 0) -> None:
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
        self.sizes.append(ASSUMED[self.number % len(ASSUMED)] + 2 * len(self.sizes))
        return self.sizes[-1]

    def original(self, tensor: Tensor) -> Tensor:
        """That of which *tensor* is a twin; itself if it is none."""
        return self._originals.get(id(tensor), tensor)
