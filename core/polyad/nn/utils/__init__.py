"""Tools for modules and their parameters.

clipping.py   gradients made shorter before a step: `clip_grad_norm_`, `clip_grad_value_`
fusion.py     a layer and the batch normalisation after it as a single layer
init.py       a module whose parameters are not set: `skip_init`
parametrizations.py  weights of a length, a spectrum or an orthogonality: `weight_norm`, `spectral_norm`, `orthogonal`
parametrize.py       parameters computed from others
stateless.py  a module called with other parameters: `functional_call`
vectors.py    all parameters as a single vector, and back
"""

from . import parametrizations as parametrizations, parametrize as parametrize, stateless as stateless
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
from .vectors import parameters_to_vector as parameters_to_vector, vector_to_parameters as vector_to_parameters

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
    "skip_init",
    "stateless",
    "vector_to_parameters",
]
