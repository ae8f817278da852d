"""Transforms of functions: from a function of tensors to the function that computes its derivative.

transforms.py  grad, grad_and_value, vjp, jvp, linearize
jacobians.py   jacrev, jacfwd, hessian
mapping.py     vmap
modules.py     a module called with other parameters: functional_call, stack_module_state
trees.py       nested dicts, lists and tuples of tensors, which all of these take

Transforms nest in any order. One that works inside another, or on tensors that require a gradient, gives results that
can be differentiated again; otherwise its results have no history. Inputs are never changed: a function that writes
into an input in place gets an error.

>>> import polyad
>>> from polyad.func import grad, jvp
>>> cubed = lambda x: (x**3).sum()
>>> x, v = polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 10.0])
>>> gradient, hessian_times_v = jvp(grad(cubed), (x,), (v,))
>>> hessian_times_v
tensor([  6., 120.])
"""

from __future__ import annotations

from ..transforms.batching.loops import report as loop_report, reset_report as reset_loop_report
from .jacobians import hessian, jacfwd, jacrev
from .mapping import vmap
from .modules import functional_call, stack_module_state
from .transforms import grad, grad_and_value, jvp, linearize, vjp

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "loop_report",
    "reset_loop_report",
    "stack_module_state",
    "vjp",
    "vmap",
]
