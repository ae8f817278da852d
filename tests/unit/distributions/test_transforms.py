"""Transforms lead back, and their Jacobians are those of autograd."""

from __future__ import annotations

import pickle

import pytest

import polyad as torch
from polyad import distributions as D
from polyad.distributions import constraints


def t(*shape):
    return torch.randn(*shape, dtype=torch.float64)


TRANSFORMS = {
    "Affine": (lambda: D.AffineTransform(1.0, -2.0), lambda: t(3)),
    "Affine of tensors": (lambda: D.AffineTransform(t(3), t(3).exp(), event_dim=1), lambda: t(3)),
    "Exp": (D.ExpTransform, lambda: t(3)),
    "Power": (lambda: D.PowerTransform(torch.tensor(1.5).double()), lambda: t(3).exp()),
    "Sigmoid": (D.SigmoidTransform, lambda: t(3)),
    "Softplus": (D.SoftplusTransform, lambda: t(3)),
    "Tanh": (D.TanhTransform, lambda: t(3)),
    "StickBreaking": (D.StickBreakingTransform, lambda: t(3)),
    "CorrCholesky": (D.CorrCholeskyTransform, lambda: t(6)),
    "Reshape": (lambda: D.ReshapeTransform((6,), (2, 3)), lambda: t(6)),
    "Independent": (lambda: D.IndependentTransform(D.ExpTransform(), 1), lambda: t(3)),
    "Compose": (lambda: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.TanhTransform()]), lambda: t(3)),
    "Compose to vectors": (
        lambda: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.StickBreakingTransform()]),
        lambda: t(3),
    ),
    "Cat": (lambda: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]), lambda: t(3)),
    "Stack": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform()], -1), lambda: t(2)),
    "Cumulative": (lambda: D.CumulativeDistributionTransform(D.Normal(t(1), 1.0)), lambda: t(3)),
    "inverse": (lambda: D.ExpTransform().inv, lambda: t(3).exp()),
    "Softmax": (D.SoftmaxTransform, lambda: t(3).log_softmax(-1)),
    "LowerCholesky": (D.LowerCholeskyTransform, lambda: t(2, 2).tril()),
    "PositiveDefinite": (D.PositiveDefiniteTransform, lambda: t(2, 2).tril()),
    "Abs": (D.AbsTransform, lambda: t(3).exp()),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_there_and_back(name):
    torch.manual_seed(0)
    make, draw = TRANSFORMS[name]
    transform, x = make(), draw()
    y = transform(x)
    assert torch.allclose(transform.inv(y), x, rtol=1e-7)
    assert transform.codomain.check(y).all()
    assert tuple(y.shape) == tuple(transform.forward_shape(x.shape))
    assert tuple(x.shape) == tuple(transform.inverse_shape(y.shape))
    assert transform.inv.inv is transform
    assert transform.inv.domain.event_dim == transform.codomain.event_dim


@pytest.mark.parametrize("name", [name for name, (make, _) in TRANSFORMS.items() if make().bijective])
def test_jacobians(name):
    torch.manual_seed(0)
    make, draw = TRANSFORMS[name]
    transform, x = make(), draw()
    y = transform(x)
    found = transform.log_abs_det_jacobian(x, y).sum()

    def of_free_elements(x):
        y = transform(x)
        if name == "CorrCholesky":
            return D.utils.tril_matrix_to_vec(y, -1)
        return (y[..., : x.shape[-1]] if "ctor" in name or name == "StickBreaking" else y).reshape(-1)

    jacobian = torch.func.jacrev(of_free_elements)(x)
    wanted = torch.linalg.slogdet(jacobian.reshape(jacobian.shape[0], -1)).logabsdet
    assert torch.allclose(found, wanted, rtol=1e-9)
    if not transform.inv.codomain.event_dim:
        assert torch.allclose(transform.inv.log_abs_det_jacobian(y, x).sum(), -wanted)


def test_a_cache_keeps_the_last_value():
    transform = D.TanhTransform(cache_size=1)
    x = torch.tensor([30.0])
    y = transform(x)
    assert transform.inv(y) is x
    assert D.TanhTransform().inv(y).isinf().all()
    assert transform.with_cache(1) is transform
    assert D.ComposeTransform([D.ExpTransform()]).with_cache().parts[0]._cache_size == 1
    assert pickle.loads(pickle.dumps(transform)).inv(y).isinf().all()


def test_equality():
    assert D.ExpTransform() == D.ExpTransform()
    assert D.AffineTransform(0.0, 1.0) == D.AffineTransform(0.0, 1.0)
    assert D.AffineTransform(0.0, 1.0) != D.AffineTransform(0.0, 2.0)
    assert D.ExpTransform() != D.TanhTransform()
    assert D.ExpTransform().inv == D.ExpTransform().inv
    assert D.CorrCholeskyTransform() != D.CorrCholeskyTransform()


@pytest.mark.parametrize(
    ("constraint", "shape"),
    [
        (constraints.real, (3,)),
        (constraints.positive, (3,)),
        (constraints.greater_than(2.0), (3,)),
        (constraints.less_than(torch.tensor([1.0, 2.0, 3.0])), (3,)),
        (constraints.unit_interval, (3,)),
        (constraints.interval(-2.0, 5.0), (3,)),
        (constraints.simplex, (3,)),
        (constraints.corr_cholesky, (3,)),
        (constraints.independent(constraints.positive, 1), (3,)),
        (constraints.cat([constraints.real, constraints.positive], -1, [1, 2]), (3,)),
        (constraints.stack([constraints.real, constraints.positive, constraints.unit_interval], -1), (3,)),
    ],
)
def test_registries(constraint, shape):
    torch.manual_seed(0)
    x = torch.randn(*shape, dtype=torch.float64)
    for registry in (D.biject_to, D.transform_to):
        transform = registry(constraint)
        y = transform(x)
        assert constraint.check(y).all()
    bijection = D.biject_to(constraint)
    assert bijection.bijective
    assert torch.allclose(bijection.inv(bijection(x)), x)


def test_registries_of_matrices():
    x = torch.randn(2, 2)
    for constraint in (constraints.lower_cholesky, constraints.positive_definite, constraints.positive_semidefinite):
        assert constraint.check(D.transform_to(constraint)(x)).all()
    with pytest.raises(TypeError, match="no Constraint"):
        D.biject_to.register(3, D.ExpTransform)


def test_dependent_properties():
    class Mine(D.Distribution):
        @constraints.dependent_property(is_discrete=False, event_dim=2)
        def support(self):
            return constraints.real

    assert constraints.is_dependent(Mine.support)
    assert Mine.support.event_dim == 2
    assert Mine(validate_args=False).support is constraints.real
    with pytest.raises(ValueError, match="depends on other variables"):
        constraints.dependent.check(torch.zeros(1))
    with pytest.raises(NotImplementedError):
        constraints.dependent.event_dim  # noqa: B018
