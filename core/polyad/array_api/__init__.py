"""The Python array API standard's functions for polyad tensors: what ``tensor.__array_namespace__()`` returns.

Source: the standard's 2024.12 revision, https://data-apis.org/array-api/2024.12/. Its arrays are `polyad.Tensor`, its
dtypes polyad's. Names and arguments are the standard's (``axis``, ``keepdims``, ``concat``, ...), so a library written
against the standard runs on polyad tensors of any backend. A chapter of the standard is a module here.

What the standard asks for and polyad does not do: there are no uint16, uint32 and uint64, so sums of uint8 are int64;
``Tensor.size`` is PyTorch's method and not a number.
"""

from __future__ import annotations

from math import e as e, inf as inf, nan as nan, pi as pi

from ..base.dtypes import (
    bool_,
    complex64 as complex64,
    complex128 as complex128,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
)
from . import fft as fft, linalg as linalg
from .creation import (
    arange as arange,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tril as tril,
    triu as triu,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .data_types import (
    astype as astype,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    result_type as result_type,
)
from .elementwise import *
from .inspection import __array_namespace_info__ as __array_namespace_info__
from .linalg import (
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    tensordot as tensordot,
    vecdot as vecdot,
)
from .manipulation import (
    concat as concat,
    expand_dims as expand_dims,
    flip as flip,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    squeeze as squeeze,
    stack as stack,
    tile as tile,
    unstack as unstack,
)
from .searching import (
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    nonzero as nonzero,
    searchsorted as searchsorted,
    take as take,
    take_along_axis as take_along_axis,
    where as where,
)
from .sets import (
    isin as isin,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from .sorting import argsort as argsort, sort as sort
from .statistics import (
    all as all,
    any as any,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diff as diff,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    std as std,
    sum as sum,
    var as var,
)

bool = bool_
newaxis = None

__array_api_version__ = "2024.12"

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The revisions of the standard whose functions are all here."""
