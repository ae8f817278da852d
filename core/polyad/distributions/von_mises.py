"""The von Mises distribution: angles around a direction."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import functions as F, special
from ..base.dtypes import float64
from ..history.grad_mode import no_grad
from ..ops.random.poisson import _accepted
from ..ops.reductions.any_all import anywhere
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal, standard_uniform

__all__ = ["VonMises"]

NARROW = 1e8
"""From this concentration on angles are drawn as normal numbers: they differ by less than they are rounded."""


class VonMises(Distribution):
    """Angles in [-pi, pi) around *loc*, the closer, the larger *concentration* (above 0) is.

    Raises ValueError for other concentrations. Drawn by rejection (D. J. Best and N. I. Fisher, "Efficient simulation
    of the von Mises distribution", Applied Statistics 28, 1979).

    >>> import polyad as torch
    >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0)).log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self._parametrize(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            given = self.concentration.to(float64).expand(shape)
            wide = (given > 0) & (given <= NARROW)
            k = F.where(wide, given, 1.0)
            tau = 1 + (1 + 4 * k.pow(2)).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = F.where(k < 1e-5, 1 / k + k, (1 + rho.pow(2)) / (2 * rho))

            def attempt() -> tuple[Tensor, Tensor]:
                u, v, w = (standard_uniform(shape, k) for _ in range(3))
                z = (math.pi * u).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                return (w - 0.5).sign() * f.clamp(-1, 1).acos(), (c * (2 - c) > v) | ((c / v).log() + 1 - c >= 0)

            angle = _accepted(attempt, wide)
            if anywhere(~wide):
                angle = F.where(wide, angle, standard_normal(shape, k) * given.rsqrt())
            turned = (angle + math.pi + self.loc.to(float64)) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        bessel: Tensor = special.i0e(k)
        # cos - 1, because i0e is the Bessel function over exp(k)
        return -2 * k * ((value - self.loc) / 2).sin().pow(2) - math.log(2 * math.pi) - bessel.log()
