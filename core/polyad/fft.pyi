"""Discrete Fourier transforms, under PyTorch's path ``polyad.fft``, one import a name.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""

from .ops.fft.frequencies import fftfreq as fftfreq
from .ops.fft.frequencies import fftshift as fftshift
from .ops.fft.frequencies import ifftshift as ifftshift
from .ops.fft.frequencies import rfftfreq as rfftfreq
from .ops.fft.transforms import fft as fft
from .ops.fft.transforms import fft2 as fft2
from .ops.fft.transforms import fftn as fftn
from .ops.fft.transforms import hfft as hfft
from .ops.fft.transforms import hfft2 as hfft2
from .ops.fft.transforms import hfftn as hfftn
from .ops.fft.transforms import ifft as ifft
from .ops.fft.transforms import ifft2 as ifft2
from .ops.fft.transforms import ifftn as ifftn
from .ops.fft.transforms import ihfft as ihfft
from .ops.fft.transforms import ihfft2 as ihfft2
from .ops.fft.transforms import ihfftn as ihfftn
from .ops.fft.transforms import irfft as irfft
from .ops.fft.transforms import irfft2 as irfft2
from .ops.fft.transforms import irfftn as irfftn
from .ops.fft.transforms import rfft as rfft
from .ops.fft.transforms import rfft2 as rfft2
from .ops.fft.transforms import rfftn as rfftn
