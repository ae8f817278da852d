"""The packages that bring NVIDIA's libraries, for errors of CuPy that say only which file was not found."""

from __future__ import annotations

import re

from polyad.errors import BackendUnavailable

WHEELS = {
    "nvrtc": "cuda-nvrtc",
    "cudart": "cuda-runtime",
    "cublas": "cublas",
    "cublasLt": "cublas",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "cufft": "cufft",
    "curand": "curand",
    "nvJitLink": "nvjitlink",
}
"""By the library's name in its file's."""

_FILE = re.compile(r"lib(\w+)\.so|\b([A-Za-z]+)64_\w+\.dll")


def wheel(library: str, cuda: int) -> str:
    """The package that brings *library*, for a major version of CUDA.

    >>> wheel("nvrtc", 12), wheel("nvrtc", 13)
    ('nvidia-cuda-nvrtc-cu12', 'nvidia-cuda-nvrtc')
    """
    return f"nvidia-{WHEELS[library]}{'-cu12' if cuda < 13 else ''}"


def missing(error: Exception, what: str, cuda: int) -> BackendUnavailable | None:
    """What to raise for *error* if it says that one of NVIDIA's libraries was not found; None if it does not.

    >>> print(missing(ImportError('Failure finding "libcublas.so.12": No such file'), "matrix product", 12))
    matrix product: NVIDIA's library cublas is not installed
        found  Failure finding "libcublas.so.12": No such file
        fix    pip install nvidia-cublas-cu12; or 'polyad[cuda12]', which brings all that CuPy calls
    """
    said = str(error)
    named = _FILE.search(said)
    library = (named[1] or named[2]) if named else ""
    if library not in WHEELS or not (
        isinstance(error, ImportError) or type(error).__name__ == "DynamicLibNotFoundError"
    ):
        return None
    return BackendUnavailable(
        f"{what}: NVIDIA's library {library} is not installed",
        notes={"found": said.strip()},
        fix=f"pip install {wheel(library, cuda)}; or 'polyad[cuda{cuda}]', which brings all that CuPy calls",
    )
