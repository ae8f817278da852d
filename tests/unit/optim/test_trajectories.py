"""Twenty steps of every optimizer against the formulas in float64, with two groups and a reload of the state."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import polyad
from polyad import optim
from polyad_conformance.samples.optim import (
    adadelta,
    adafactor,
    adagrad,
    adam,
    adamax,
    asgd,
    muon,
    nadam,
    radam,
    rmsprop,
    rprop,
    sgd,
)


def zeros(param):
    return np.zeros_like(param)


def sgd_momentum(param, grad, state, lr):
    first = "buffer" not in state
    buffer = state.get("buffer", zeros(param))
    param, state["buffer"] = sgd.momentum(param, grad, buffer, lr, 0.9, 0.0 if first else 0.1, 0.05, False, False)
    return param


def adam_w(param, grad, state, lr):
    given = state.get("moments", (zeros(param), zeros(param), 0.0))
    param, *state["moments"] = adam.adam(param, grad, *given, lr, 0.9, 0.999, 1e-8, 0.05, True, False)
    return param


def amsgrad(param, grad, state, lr):
    given = state.get("moments", (zeros(param), zeros(param), zeros(param), 0.0))
    param, *state["moments"] = adam.reordered(param, grad, *given, lr, 0.9, 0.999, 1e-8, 0.05, False, False)
    return param


def averaged(param, grad, state, lr):
    size, share = state.get("rates", (lr, 1.0))
    param, state["mean"] = asgd.asgd(param, grad, state.get("mean", zeros(param)), size, share, 0.01, 0.05, False)
    state["step"], *state["rates"] = asgd.rates(state.get("step", 0.0), lr, 0.01, 0.75, 5.0)
    return param


def adagrad_(param, grad, state, lr):
    state["step"], rate = adagrad.rates(state.get("step", 0.0), lr, 0.1)
    param, state["sum"] = adagrad.adagrad(param, grad, state.get("sum", zeros(param) + 0.1), rate, 1e-10, 0.05, False)
    return param


def adadelta_(param, grad, state, lr):
    given = state.get("means", (zeros(param), zeros(param)))
    param, *state["means"] = adadelta.adadelta(param, grad, *given, lr, 0.9, 1e-6, 0.05, False)
    return param


def adamax_(param, grad, state, lr):
    state["step"], rate = adamax.rates(state.get("step", 0.0), lr, 0.9)
    given = state.get("means", (zeros(param), zeros(param)))
    param, *state["means"] = adamax.adamax(param, grad, *given, rate, 0.9, 0.999, 1e-8, 0.05, False)
    return param


def nadam_(param, grad, state, lr):
    count, product = state.get("counts", (0.0, 1.0))
    *state["counts"], grad_rate, average_rate, root = nadam.rates(count, product, lr, 0.9, 0.999, 4e-3)
    given = state.get("means", (zeros(param), zeros(param)))
    options = (lr, 0.9, 0.999, 1e-8, 0.05, False, False)
    param, *state["means"] = nadam.nadam(param, grad, *given, grad_rate, average_rate, root, *options)
    return param


def radam_(param, grad, state, lr):
    state["step"], plain, adaptive = radam.rates(state.get("step", 0.0), lr, 0.9, 0.999)
    given = state.get("means", (zeros(param), zeros(param)))
    param, *state["means"] = radam.radam(param, grad, *given, plain, adaptive, lr, 0.9, 0.999, 1e-8, 0.05, True, False)
    return param


def rmsprop_(param, grad, state, lr):
    given = state.get("means", (zeros(param), zeros(param), zeros(param)))
    param, *state["means"] = rmsprop.full(param, grad, *given, lr, 0.9, 1e-2, 0.5, 0.05, False)
    return param


def rprop_(param, grad, state, lr):
    before, size = state.get("sizes", (zeros(param), zeros(param) + lr))
    param, *state["sizes"] = rprop.rprop(param, grad, before, size, 0.5, 1.2, 1e-6, 50.0, False)
    return param


def adafactor_(param, grad, state, lr):
    options = (lr, -0.8, 2.0**-52, 1e-3, 1.0, 0.05, False)
    if param.ndim < 2:
        given = state.get("means", (zeros(param), 0.0))
        param, *state["means"] = adafactor.of_vectors(param, grad, *given, *options)
    else:
        given = state.get("means", (zeros(param[..., :1]), zeros(param[..., :1, :]), 0.0))
        param, *state["means"] = adafactor.adafactor(param, grad, *given, *options)
    return param


def sparse_adam(param, grad, state, lr):
    state["step"] = state.get("step", 0) + 1
    first, second = state.get("means", (zeros(param), zeros(param)))
    rows = (grad != 0).reshape(len(grad), -1).any(1)
    at = np.nonzero(rows)
    param, first, second = param.copy(), first.copy(), second.copy()
    param[at], first[at], second[at], _ = adam.adam(
        param[at], grad[at], first[at], second[at], state["step"] - 1, lr, 0.9, 0.999, 0.0, 0.0, False, False
    )
    state["means"] = first, second
    return param


CASES = {
    "SGD": (optim.SGD, {"weight_decay": 0.05}, lambda p, g, s, lr: sgd.sgd(p, g, lr, 0.05, False)),
    "momentum": (optim.SGD, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.05}, sgd_momentum),
    "AdamW": (optim.AdamW, {"weight_decay": 0.05}, adam_w),
    "AMSGrad": (optim.Adam, {"weight_decay": 0.05, "amsgrad": True}, amsgrad),
    "ASGD": (optim.ASGD, {"lambd": 0.01, "t0": 5.0, "weight_decay": 0.05}, averaged),
    "Adagrad": (
        optim.Adagrad,
        {"lr_decay": 0.1, "weight_decay": 0.05, "initial_accumulator_value": 0.1},
        adagrad_,
    ),
    "Adadelta": (optim.Adadelta, {"weight_decay": 0.05}, adadelta_),
    "Adamax": (optim.Adamax, {"weight_decay": 0.05}, adamax_),
    "NAdam": (optim.NAdam, {"weight_decay": 0.05}, nadam_),
    "RAdam": (optim.RAdam, {"weight_decay": 0.05, "decoupled_weight_decay": True}, radam_),
    "RMSprop": (
        optim.RMSprop,
        {"alpha": 0.9, "eps": 1e-2, "momentum": 0.5, "centered": True, "weight_decay": 0.05},
        rmsprop_,
    ),
    "Rprop": (optim.Rprop, {}, rprop_),
    "Adafactor": (optim.Adafactor, {"weight_decay": 0.05}, adafactor_),
    "SparseAdam": (optim.SparseAdam, {"eps": 1e-300}, sparse_adam),
}
SHAPES = [(3, 4), (5,), (2, 3, 2), (70000,)]
"""Small parameters, which are packed together, and one that is cut into chunks."""


@pytest.mark.parametrize("name", CASES)
def test_twenty_steps(name):
    make, options, reference = CASES[name]
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in SHAPES]
    params = [polyad.from_numpy(array.copy()).requires_grad_() for array in arrays]
    rates = [0.02, 0.02, 0.01, 0.01]

    def build():
        return make([{"params": params[:2], "lr": 0.02}, {"params": params[2:]}], lr=0.01, **options)

    optimizer = build()
    states = [{} for _ in arrays]
    for step in range(20):
        if step == 10:
            saved = optimizer.state_dict()
            optimizer = build()
            optimizer.load_state_dict(saved)
        for place, param in enumerate(params):
            grad = random.normal(size=arrays[place].shape)
            if name == "SparseAdam":
                grad[step % 2 :: 2] = 0
            param.grad = polyad.from_numpy(grad.copy())
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                arrays[place] = reference(arrays[place], grad, states[place], rates[place])
        optimizer.step()
    for param, array in zip(params, arrays, strict=True):
        np.testing.assert_allclose(param.detach().numpy(), array, rtol=1e-6, atol=1e-6)


def test_muon():
    # Five steps of the iteration with its own coefficients do not settle, so bfloat16's roundings stay visible.
    random = np.random.default_rng(0)
    array = random.normal(size=(6, 4))
    param = polyad.from_numpy(array.copy()).requires_grad_()
    optimizer = optim.Muon([param], lr=0.01, ns_coefficients=(1.5, -0.5, 0.0), ns_steps=8)
    buffer = zeros(array)
    for _ in range(20):
        grad = random.normal(size=array.shape)
        param.grad = polyad.from_numpy(grad.copy())
        optimizer.step()
        rate = 0.01 * math.sqrt(6 / 4)
        array, buffer = muon.muon(array, grad, buffer, rate, 1 - 0.01 * 0.1, 0.95, True, 1.5, -0.5, 0.0, 1e-7, 8)
    np.testing.assert_allclose(param.detach().numpy(), array, atol=20 * rate * 2.0**-7)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_solves_a_quadratic_in_as_many_steps_as_dimensions(search):
    random = np.random.default_rng(0)
    root = random.normal(size=(5, 5))
    matrix, goal = root @ root.T + np.eye(5), random.normal(size=5)
    param = polyad.zeros(5, dtype=polyad.float64, requires_grad=True)
    a, b = polyad.from_numpy(matrix), polyad.from_numpy(matrix @ goal)
    options = {"tolerance_grad": 1e-10, "tolerance_change": 1e-14}
    optimizer = optim.LBFGS([param], lr=1, max_iter=60, line_search_fn=search, **options)

    def closure():
        optimizer.zero_grad()
        loss = (param @ (a @ param)) / 2 - b @ param
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(param.detach().numpy(), goal, atol=1e-6)


def test_lbfgs_minimises_rosenbrocks_function():
    param = polyad.tensor([-1.2, 1.0], dtype=polyad.float64, requires_grad=True)
    optimizer = optim.LBFGS([param], max_iter=100, tolerance_change=1e-15, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - param[0]) ** 2 + 100 * (param[1] - param[0] ** 2) ** 2
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    np.testing.assert_allclose(param.detach().numpy(), [1.0, 1.0], atol=1e-6)


def test_parameters_of_all_sizes_are_stepped_alike():
    # Packed, alone and cut: the same elements get the same values.
    random = np.random.default_rng(0)
    values, grads = random.normal(size=150_000), random.normal(size=150_000)
    whole = polyad.from_numpy(values.copy()).requires_grad_()
    sizes = [1000] * 50 + [30_000, 70_000]
    parts = [part.clone().requires_grad_() for part in polyad.from_numpy(values.copy()).split(sizes)]
    for make in (optim.RMSprop, optim.Adam, optim.NAdam):
        one, several = make([whole]), make(parts)
        for _ in range(3):
            whole.grad = polyad.from_numpy(grads.copy())
            for part, grad in zip(parts, whole.grad.split(sizes), strict=True):
                part.grad = grad.clone()
            one.step()
            several.step()
        np.testing.assert_array_equal(polyad.cat(parts).detach().numpy(), whole.detach().numpy())


def test_only_parameters_with_equal_counts_share_a_pack():
    params = [polyad.ones(10, requires_grad=True) for _ in range(3)]
    alone = [polyad.ones(10, requires_grad=True) for _ in range(3)]
    optimizer = optim.Adam(params)
    others = [optim.Adam([param]) for param in alone]
    for step in range(4):
        for place in range(3):
            grad = polyad.full((10,), float(step + place)) if place <= step else None
            params[place].grad, alone[place].grad = grad, grad
        optimizer.step()
        for other in others:
            other.step()
    for param, other in zip(params, alone, strict=True):
        assert param.tolist() == other.tolist()
    assert [optimizer.state[param]["step"].item() for param in params] == [4.0, 3.0, 2.0]


@pytest.mark.parametrize(("make", "options"), [(optim.SGD, {"momentum": 0.9}), (optim.Adam, {}), (optim.RMSprop, {})])
def test_differentiable(make, options):
    def loss(start, slope):
        param = start.clone()
        optimizer = make([param], lr=0.1, differentiable=True, **options)
        for step in range(3):
            param.grad = slope * (step + 1)
            optimizer.step()
        return (param * param).sum()

    start = polyad.tensor([1.0, 2.0], dtype=polyad.float64, requires_grad=True)
    slope = polyad.tensor([0.3, -0.2], dtype=polyad.float64, requires_grad=True)
    assert polyad.autograd.gradcheck(loss, (start, slope), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "options", "names"),
    [
        (optim.Adam, {}, ("exp_avg", "exp_avg_sq")),
        (optim.Adam, {"amsgrad": True}, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")),
        (optim.NAdam, {}, ("mu_product", "exp_avg", "exp_avg_sq")),
        (optim.RAdam, {}, ("exp_avg", "exp_avg_sq")),
        (optim.RMSprop, {"centered": True, "momentum": 0.9}, ("square_avg", "momentum_buffer", "grad_avg")),
        (optim.Adadelta, {}, ("square_avg", "acc_delta")),
        (optim.Adamax, {}, ("exp_avg", "exp_inf")),
    ],
)
def test_differentiable_in_given_states(make, options, names):
    def results(start, *states):
        param = start.clone()
        optimizer = make([param], lr=0.1, differentiable=True, **options)
        count = polyad.tensor(7.0, dtype=polyad.float64)
        optimizer.state[param] = {"step": count, "mu_product": count / 9}
        optimizer.state[param] |= {name: state.clone() for name, state in zip(names, states, strict=True)}
        for step in range(2):
            param.grad = start * (step + 1)
            optimizer.step()
        return param, *(optimizer.state[param][name] for name in names)

    start = polyad.tensor([1.0, 2.0], dtype=polyad.float64, requires_grad=True)
    states = [
        polyad.tensor(0.5 if name == "mu_product" else [0.4 + n / 20, 0.5], dtype=polyad.float64, requires_grad=True)
        for n, name in enumerate(names)
    ]
    assert polyad.autograd.gradcheck(results, (start, *states), atol=1e-5)
