"""Pyro: stochastic variational inference, Hamiltonian dynamics, distributions and enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyro
import pyro.distributions as distributions
from pyro import infer, optim, poutine

from ..job import Run, job

PACKAGE = "pyro-ppl"


@job("SVI: a mean-field guide without draws, and a point")
def svi(run: Run) -> None:
    torch = run.torch
    data = run.normal(50) + 3

    def model(data: Any) -> None:
        place = pyro.sample("place", distributions.Normal(0.0, 10.0))
        scale = pyro.sample("scale", distributions.LogNormal(0.0, 1.0))
        with pyro.plate("data", len(data)):
            pyro.sample("seen", distributions.Normal(place, scale), obs=data)

    pyro.clear_param_store()
    guide = infer.autoguide.AutoDelta(model, init_loc_fn=infer.autoguide.init_to_value(
        values={"place": torch.tensor(1.0), "scale": torch.tensor(2.0)}
    ))  # fmt: skip
    inference = infer.SVI(model, guide, optim.Adam({"lr": 0.1}), loss=infer.Trace_ELBO())
    run.record("losses", np.array([inference.step(data) for _ in range(5)], np.float32), depth=16)
    run.record("parameters", dict(pyro.get_param_store().items()), depth=16)


@job("enumeration: a mixture's evidence and its gradients")
def enumeration(run: Run) -> None:
    torch = run.torch
    data = run.normal(20)
    pyro.clear_param_store()

    @infer.config_enumerate
    def model(data: Any) -> None:
        weights = pyro.param("weights", torch.tensor([0.3, 0.7]), constraint=distributions.constraints.simplex)
        places = pyro.param("places", torch.tensor([-1.0, 1.0]))
        with pyro.plate("data", len(data)):
            which = pyro.sample("which", distributions.Categorical(weights))
            pyro.sample("seen", distributions.Normal(places[which], 1.0), obs=data)

    loss = infer.TraceEnum_ELBO(max_plate_nesting=1).differentiable_loss(model, lambda data: None, data)
    loss.backward()
    run.record("loss", loss, depth=8)
    run.record("gradient", {n: p.unconstrained().grad for n, p in pyro.get_param_store().items()}, depth=16)


@job("NUTS: runs, and its potential energy")
def nuts(run: Run) -> None:
    torch = run.torch
    data = run.normal(10) + 1

    def model() -> None:
        place = pyro.sample("place", distributions.Normal(0.0, 1.0))
        pyro.sample("seen", distributions.Normal(place, 1.0).expand([10]).to_event(1), obs=data)

    pyro.set_rng_seed(0)
    sampler = infer.MCMC(infer.NUTS(model), num_samples=40, warmup_steps=20, disable_progbar=True)
    sampler.run()
    drawn = sampler.get_samples()["place"]
    expected = float(data.sum()) / 11
    run.record("shape", tuple(drawn.shape))
    run.record("near", abs(float(drawn.mean()) - expected) < 0.5)  # the two draw different numbers
    trace = poutine.trace(poutine.condition(model, {"place": torch.tensor(0.5)})).get_trace()
    run.record("log density", trace.log_prob_sum(), depth=8)


@job("distributions: log densities, divergences, transforms")
def densities(run: Run) -> None:
    torch = run.torch
    x = run.normal(5)
    made = {
        "student": distributions.MultivariateStudentT(4.0, torch.zeros(5), torch.eye(5)),
        "masked": distributions.Normal(0.0, 1.0).expand([5]).mask(x > 0).to_event(1),
        "delta": distributions.Delta(x).to_event(1),
        "stable": distributions.Normal(torch.zeros(5), 2.0).to_event(1),
        "diagonal": distributions.MultivariateNormal(torch.zeros(5), 2 * torch.eye(5)),
        "low rank": distributions.LowRankMultivariateNormal(torch.zeros(5), torch.ones(5, 1), torch.ones(5)),
        "horseshoe": distributions.Laplace(0.0, torch.ones(5)).to_event(1),
    }
    for name, distribution in made.items():
        run.record(name, distribution.log_prob(x), depth=4)
    flow = distributions.transforms.spline(5, count_bins=4)
    run.same(flow)
    y = flow(x * 0.5)
    run.record("spline", [y, flow.log_abs_det_jacobian(x * 0.5, y)], depth=16)
    run.record("kl", torch.distributions.kl_divergence(made["stable"], made["diagonal"]), depth=4)
