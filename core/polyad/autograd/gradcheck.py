"""Gradients compared with finite differences: `gradcheck`, and `gradgradcheck` for second derivatives.

The default is to compare each element of the Jacobian, which takes two calls of the function for each element of the
inputs. Fast mode compares one random combination of rows and columns. What it misses has probability zero in exact
arithmetic, yet an error in a few of many elements may drown in the tolerance.

How the comparison goes is in comparison.py.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.arguments import explaining
from ..errors import ArgumentError
from ..ops.pointwise.complex_numbers import view_as_complex
from ..ops.random.sampling import randn
from ..random import Generator
from ..tensor import Tensor
from .comparison import SEED, Check, GradcheckError, Settings, as_tuple, by_values, call, differentiable, is_checked
from .gradients import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


@explaining
def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of *func* at *inputs* with finite differences; True if they agree.

    Args:
        func: returns a tensor or a tuple or list of tensors; only floating and complex tensors are compared.
        inputs: a tensor or a sequence of arguments. Those tensors that require a gradient are checked; they should be
            float64 or complex128.
        eps: by how much an element is changed.
        atol, rtol: an entry of the Jacobian may be off by ``atol + rtol * |finite difference|``.
        raise_exception: raise GradcheckError on disagreement; otherwise return False.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: check that backward does without the gradients of some outputs.
        check_grad_dtypes: check that formulas give gradients of their input's precision, before the engine casts them.
        check_forward_ad: check forward mode (`polyad.autograd.forward_ad`) too.
        check_backward_ad: check gradients.
        fast_mode: compare one random combination of the Jacobian's entries, and all of them only if that is wrong.
        check_batched_grad, check_batched_forward_grad: check that a batch of incoming gradients, or of tangents, gives
            under `polyad.func.vmap` what one after the other gives.
        masked: makes no difference: of sparse tensors the values are changed, and no other elements.

    Raises GradcheckError (a RuntimeError) that names the input, the output and the element that is worst, ValueError if
    no input requires a gradient, RuntimeError for an input that overlaps itself.

    >>> import polyad
    >>> x = polyad.tensor([0.5, 1.0], dtype=polyad.float64, requires_grad=True)
    >>> polyad.autograd.gradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise ArgumentError(
            "gradcheck: check_forward_ad and check_backward_ad are both False", fix="set one of them to True"
        )
    for name, value, needed, given in (
        ("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad),
        ("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad),
    ):
        if value and not given:
            raise ArgumentError(f"gradcheck: {name} is of what {needed} checks", fix=f"pass {needed}=True too")
    settings = Settings(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_forward_ad,
        check_backward_ad, fast_mode, check_batched_grad, check_batched_forward_grad,
    )  # fmt: skip
    try:
        Check(settings, *by_values(func, inputs)).run()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


@explaining
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the gradients of the gradients of *func* with finite differences of its gradients.

    Args:
        grad_outputs: the gradients that arrive at the outputs, which are differentiated too if they require a gradient;
            random tensors if they are left out, not contiguous with *gen_non_contig_grad_outputs*.
        check_fwd_over_rev, check_rev_over_rev: whether to differentiate the gradients by forward mode, and by backward.

    The other arguments, and what is raised, are those of `gradcheck`.

    >>> import polyad
    >>> x = polyad.tensor([0.5, 1.0], dtype=polyad.float64, requires_grad=True)
    >>> polyad.autograd.gradgradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise ArgumentError(
            "gradgradcheck: check_fwd_over_rev and check_rev_over_rev are both False", fix="set one of them to True"
        )
    func, args = by_values(func, inputs)
    outputs = differentiable(call("gradgradcheck", func, args))
    if grad_outputs is None:
        cotangents: tuple[Any, ...] = _random_cotangents(outputs, gen_non_contig_grad_outputs)
    else:
        cotangents = as_tuple(grad_outputs)
    if len(cotangents) != len(outputs):
        raise ArgumentError(
            f"gradgradcheck: the function has {len(outputs)} differentiable outputs, grad_outputs {len(cotangents)}",
            fix="give a gradient for each output",
        )
    count = len(args)

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        entries = [value for value in values[:count] if is_checked(value)]
        results = differentiable(call("gradgradcheck", func, values[:count]))
        found = grad(results, entries, list(values[count:]), create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    return gradcheck(
        gradients,
        args + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_cotangents(outputs: Sequence[Tensor], spread: bool) -> tuple[Tensor, ...]:
    generators: dict[Any, Generator] = {}
    cotangents = []
    for output in outputs:
        generator = generators.setdefault(output.device, Generator(output.device).manual_seed(SEED))
        shape = (*output.shape, 2 if spread else 1, 2 if output.dtype.is_complex else 1)
        draw = randn(shape, generator=generator, dtype=output.dtype.to_real(), device=output.device)
        cotangent = view_as_complex(draw) if output.dtype.is_complex else draw[..., 0]
        cotangents.append(cotangent[..., 0].requires_grad_())
    return tuple(cotangents)


class _Callable(types.ModuleType):
    """This module, when it is imported before ``polyad.autograd.gradcheck`` is asked for: both have the same name."""

    __call__ = staticmethod(gradcheck)


sys.modules[__name__].__class__ = _Callable
sys.modules[__name__].__signature__ = inspect.signature(gradcheck)  # type: ignore[attr-defined]
gradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined]
