"""gpytorch: exact regression, by Cholesky factors and by conjugate gradients; variational regression; kernels."""

from __future__ import annotations

from typing import Any

import gpytorch

from ..job import Run, job

PACKAGE = "gpytorch"


class Exact(gpytorch.models.ExactGP):  # type: ignore[misc]
    def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def exact(run: Run) -> None:
    torch = run.torch
    x = torch.linspace(0, 1, 30)
    y = torch.sin(6 * x) + 0.1 * run.normal(30)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = run.same(Exact(x, y, likelihood))
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    run.train(model, lambda model: -marginal(model(x), y), optimizer="Adam")
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        predicted = likelihood(model(torch.linspace(0, 1, 7)))
    run.record("mean", predicted.mean, depth=64)
    run.record("variance", predicted.variance, depth=64)


@job("exact regression, three steps of Adam, a prediction", factor=30)  # the matrix' condition magnifies rounding
def cholesky(run: Run) -> None:
    exact(run)


@job("exact regression by conjugate gradients", factor=100)  # which end when a tolerance is met
def conjugate(run: Run) -> None:
    settings = gpytorch.settings
    with (
        settings.max_cholesky_size(1),
        settings.cg_tolerance(1e-4),
        settings.max_preconditioner_size(0),
        settings.skip_logdet_forward(True),
        settings.num_trace_samples(0),
    ):
        x = run.torch.linspace(0, 1, 20).unsqueeze(-1)
        covariance = gpytorch.kernels.RBFKernel()(x).add_jitter(0.1)
        run.record("solved", covariance.solve(run.normal(20, 2)), depth=64)


@job("kernels: values and gradients")
def kernels(run: Run) -> None:
    one = run.normal(6, 3).requires_grad_()
    other = run.normal(5, 3, seed=1)
    made = {
        "matern": gpytorch.kernels.MaternKernel(nu=1.5),
        "periodic": gpytorch.kernels.PeriodicKernel(),
        "polynomial": gpytorch.kernels.PolynomialKernel(2),
        "linear": gpytorch.kernels.LinearKernel(),
        "rational": gpytorch.kernels.RQKernel(),
        "cosine": gpytorch.kernels.CosineKernel(),
        "spectral": gpytorch.kernels.SpectralMixtureKernel(num_mixtures=2, ard_num_dims=3),
        "ard": gpytorch.kernels.RBFKernel(ard_num_dims=3),
    }
    for name, kernel in made.items():
        run.same(kernel)
        value = kernel(one, other).to_dense()
        run.record(name, value, depth=8)
        run.record(f"{name}'s gradient", run.torch.autograd.grad(value.square().sum(), one)[0], depth=16)


@job("variational regression on inducing points", factor=1000)  # whose matrix is worse
def variational(run: Run) -> None:
    torch = run.torch
    torch.set_default_dtype(torch.float64)  # of its gradients single precision leaves four digits

    class Approximate(gpytorch.models.ApproximateGP):  # type: ignore[misc]
        def __init__(self, points: Any) -> None:
            distribution = gpytorch.variational.CholeskyVariationalDistribution(points.shape[0])
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.linspace(0, 1, 40).unsqueeze(-1)
    y = torch.sin(6 * x[:, 0])
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Approximate(x[::8].clone())
    model.train()
    model(x)  # starts the variational distribution from the prior, with a little noise
    run.same(model)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=40)
    run.train(model, lambda model: -bound(model(x), y))
