"""Which layers are tested, with what settings and inputs: a file a family, each with a list ``SAMPLES``.

    SAMPLES = [
        ModuleSample(
            layer="Conv2d", name="stride",                    # the name is unique within the layer
            build=lambda torch: torch.nn.Conv2d(2, 4, 3, stride=2),
            inputs=lambda make: (make((2, 2, 6, 6)),),        # as for a sample of an op, see Maker
            # the same from the layer's parameters, with the settings spelt out; may be left out
            functional=lambda F, layer, x: F.conv2d(x, layer.weight, layer.bias, 2),
            wrong=[lambda make: (make((2, 3, 6, 6)),)],       # inputs of shapes that are refused
        ),
    ]

``build`` gets the library, polyad or PyTorch: the same table is run against PyTorch by polyad's own tests. From a
sample follow: results, changed buffers and gradients, in training and in evaluation; the state's way into another
layer; a deep copy and a pickled one; the representation; moves between devices and dtypes; refused shapes. So layers
are small. A new file is found by being here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..sample import Maker

Inputs = Callable[[Maker], tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class ModuleSample:
    """One layer with its settings and inputs.

    Attributes:
        layer: its name in ``polyad.nn``.
        build: ``build(library)`` makes the layer; tensors that it is given are made by ``library.tensor``.
        inputs: ``inputs(make)`` returns what the layer is called with. Arrays become tensors, nested tuples and lists
            stay what they are.
        name: what is special about this sample; unique within its layer.
        functional: ``functional(F, layer, *inputs)`` gives the same result by functions, from the layer's parameters
            and buffers and with the settings as the sample has them. F is ``polyad.nn.functional``.
        call: ``call(library, layer, *inputs)`` instead of ``layer(*inputs)``, where an input or the result is no
            tensor and no tuple of tensors.
        random: whether it draws random numbers: "training", "always" or "" for never.
        gradient: whether there is a gradient of the parameters and of floating point inputs.
        wrong: inputs that are refused.
        steps: how many roundings lie behind a result, see `polyad_conformance.tolerance`.
    """

    layer: str
    build: Callable[[Any], Any]
    inputs: Inputs
    name: str = ""
    functional: Callable[..., Any] | None = None
    call: Callable[..., Any] | None = None
    random: str = ""
    gradient: bool = True
    wrong: Sequence[Inputs] = ()
    steps: int = 32

    @property
    def label(self) -> str:
        """The sample's name in test ids."""
        return f"{self.layer}: {self.name}" if self.name else self.layer

    def run(self, library: Any, layer: Any, inputs: Any) -> Any:
        """What the layer gives for *inputs*, tensors of *library*."""
        return layer(*inputs) if self.call is None else self.call(library, layer, *inputs)

    def draws(self, training: bool) -> bool:
        """Whether a call in that mode draws random numbers."""
        return self.random == "always" or (training and self.random == "training")


@cache
def module_samples() -> tuple[ModuleSample, ...]:
    """All of them. Raises ValueError for two of one name."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    samples = tuple(one for name in names for one in importlib.import_module(f"{__name__}.{name}").SAMPLES)
    twice = sorted(label for label, count in Counter(one.label for one in samples).items() if count > 1)
    if twice:
        raise ValueError(f"more than one module sample is called {', '.join(twice)}")
    return samples
