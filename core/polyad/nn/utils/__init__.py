"""Tools for modules and their parameters.

clipping.py          gradients made shorter before a step: `clip_grad_norm_`, `clip_grad_value_`
fusion.py            a layer and the batch normalisation after it as a single layer
init.py              a module whose parameters are not set: `skip_init`
parametrize.py       parameters computed from others
parametrizations.py  weights of a length, a largest singular value, or orthogonal
prune.py             elements or channels set to zero
recomputed.py        what pruning and the older forms of weight_norm.py and spectral_norm.py have in common
stateless.py         a module called with other parameters: `functional_call`
vectors.py           all parameters as a single vector, and back
"""

from . import (
    parametrizations as parametrizations,
    parametrize as parametrize,
    prune as prune,
    stateless as stateless,
)
from .clipping import (
    clip_grad_norm as clip_grad_norm,
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    clip_grads_with_norm_ as clip_grads_with_norm_,
    get_total_norm as get_total_norm,
)
from .fusion import (
    fuse_conv_bn_eval as fuse_conv_bn_eval,
    fuse_conv_bn_weights as fuse_conv_bn_weights,
    fuse_linear_bn_eval as fuse_linear_bn_eval,
    fuse_linear_bn_weights as fuse_linear_bn_weights,
)
from .init import skip_init as skip_init
from .spectral_norm import remove_spectral_norm as remove_spectral_norm, spectral_norm as spectral_norm
from .vectors import parameters_to_vector as parameters_to_vector, vector_to_parameters as vector_to_parameters
from .weight_norm import remove_weight_norm as remove_weight_norm, weight_norm as weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
