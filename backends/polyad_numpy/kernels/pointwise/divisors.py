"""Greatest common divisors and least common multiples of integers."""

from __future__ import annotations

import numpy as np

from ...ufunc import ufunc

KERNELS = {"gcd": ufunc(np.gcd, warns=False), "lcm": ufunc(np.lcm, warns=False)}
