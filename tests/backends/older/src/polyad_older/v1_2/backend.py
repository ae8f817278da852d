"""Tier 0: memory. With these ten methods alone everything runs, by way of the host."""

import numpy as np

from polyad.backend import Backend

from .kernels import KERNELS
from .memory import Buffer


class TemplateBackend(Backend):
    """Shapes, strides and offsets that arrive here count elements; a Buffer's own strides count bytes."""

    kernels = KERNELS

    def device_count(self):
        return 1

    def empty(self, shape, dtype, device):
        return Buffer.new(shape, dtype)  # raise MemoryError where there is no room

    def from_host(self, data, dtype, device):
        made = Buffer.new(data.shape, dtype)
        made.values()[...] = data
        return made

    def to_host(self, array):
        return array.values().copy()  # wait for the device first, if it works on its own

    def copy(self, target, source):
        with np.errstate(all="ignore"):
            target.values()[...] = source.values().copy()  # any strides and dtypes; the two may overlap

    def fill(self, target, value):
        target.values()[...] = value

    def root(self, array):
        return array.memory

    def as_strided(self, root, dtype, shape, strides, offset):
        return Buffer(root, dtype, shape, strides, offset)

    def data_ptr(self, array):
        return array.values().__array_interface__["data"][0]
