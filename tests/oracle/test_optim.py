"""Optimizers, schedules and averaged models follow PyTorch's trajectories, with groups and a reload in the middle."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import polyad

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"maximize": True}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "t0": 5, "weight_decay": 0.1}),
    ("ASGD", {"maximize": True}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adadelta", {"maximize": True}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("Adagrad", {"maximize": True}),
    ("Adamax", {"weight_decay": 0.1}),
    ("Adamax", {"maximize": True}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"betas": (0.9, 0.5)}),
    ("RMSprop", {"weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"maximize": True, "etas": (0.4, 1.3)}),
    ("Adafactor", {}),
    ("Adafactor", {"weight_decay": 0.1, "eps": (1e-6, 1e-2), "maximize": True}),
    ("Muon", {}),
    ("Muon", {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
    ("SparseAdam", {}),
    ("SparseAdam", {"maximize": True}),
]
REAL_ALONE = {"Adafactor", "Muon", "SparseAdam"}
SHAPES: list[tuple[int, ...]] = [(3, 4), (5,), (), (2, 3, 2)]
LARGE: list[tuple[int, ...]] = [(300, 300), (7,), (20000,)]


def drawn(random: np.random.Generator, shape: tuple[int, ...], imaginary: bool) -> Any:
    return random.normal(size=shape) + (1j * random.normal(size=shape) if imaginary else 0)


def trajectory(
    library: Any, name: str, options: dict[str, Any], shapes: list[tuple[int, ...]], dtype: str, steps: int
) -> tuple[list[Any], Any]:
    random = np.random.default_rng(0)
    imaginary = dtype == "complex128"

    def given(values: Any) -> Any:
        return library.tensor(values.tolist(), dtype=getattr(library, dtype))

    params = [given(np.asarray(drawn(random, shape, imaginary))).requires_grad_() for shape in shapes]

    def make() -> Any:
        half = len(params) // 2
        groups = [{"params": params[:half], "lr": options.get("lr", 0.01) * 2}, {"params": params[half:]}]
        return getattr(library.optim, name)(groups, **options)

    optimizer = make()
    for step in range(steps):
        if step == steps // 2:
            state = optimizer.state_dict()
            optimizer = make()
            optimizer.load_state_dict(state)
        for param, shape in zip(params, shapes, strict=True):
            values = np.asarray(drawn(random, shape, imaginary))
            if name == "SparseAdam":
                if not shape:
                    continue
                rows = np.arange(shape[0]) % 3 == step % 3
                values = values * rows.reshape(-1, *[1] * (len(shape) - 1))
            param.grad = given(values)
            if name == "SparseAdam" and library is torch:
                param.grad = param.grad.to_sparse(1)
        optimizer.step()
    return [np.array(param.detach().tolist()) for param in params], optimizer


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=str)
@pytest.mark.parametrize(
    ("shapes", "dtype", "steps"), [(SHAPES, "float64", 20), (SHAPES, "complex128", 20), (LARGE, "float64", 6)]
)
def test_optimizer(name: str, options: dict[str, Any], shapes: Any, dtype: str, steps: int) -> None:
    if name in REAL_ALONE and dtype == "complex128":
        pytest.skip("real parameters alone")
    if name == "Muon":
        shapes = [(3, 4), (5, 2), (6, 6)]
    theirs, their_optimizer = trajectory(torch, name, options, shapes, dtype, steps)
    ours, our_optimizer = trajectory(polyad, name, options, shapes, dtype, steps)
    # What PyTorch keeps in float32, counts and rates, may round the other way.
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)
    theirs_state, ours_state = their_optimizer.state_dict(), our_optimizer.state_dict()
    assert ours_state["param_groups"] == theirs_state["param_groups"]
    assert {key: set(entry) for key, entry in ours_state["state"].items()} == {
        key: set(entry) for key, entry in theirs_state["state"].items()
    }


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.1},
        {"line_search_fn": "strong_wolfe", "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lbfgs(options: dict[str, Any], dtype: str) -> None:
    results = []
    for library in (torch, polyad):
        random = np.random.default_rng(0)
        imaginary = dtype == "complex128"
        pairs = [
            [library.tensor(drawn(random, shape, imaginary).tolist(), dtype=getattr(library, dtype)) for _ in range(2)]
            for shape in ((3, 4), (5,))
        ]
        params = [start.requires_grad_() for start, _ in pairs]
        optimizer: Any = library.optim.LBFGS(params, **options)

        def closure(library: Any = library, pairs: Any = pairs) -> Any:
            optimizer.zero_grad()  # noqa: B023
            loss = sum(((param - target).abs() ** 2 * (1 + param.abs())).sum() for param, target in pairs)
            loss.backward()
            return loss

        for step in range(6):
            if step == 3:
                state = optimizer.state_dict()
                optimizer = library.optim.LBFGS(params, **options)
                optimizer.load_state_dict(state)
            optimizer.step(closure)
        results.append([np.array(param.detach().tolist()) for param in params])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [("Adam", {}), ("Adagrad", {}), ("Adadelta", {}), ("NAdam", {}), ("RAdam", {}), ("ASGD", {}), ("SGD", {"lr": 0.1})],
)
def test_differentiable(name: str, options: dict[str, Any]) -> None:
    results = []
    for library in (torch, polyad):
        start = library.tensor([1.0, 2.0, 3.0], dtype=library.float64).requires_grad_()
        slope = library.tensor([0.1, -0.2, 0.3], dtype=library.float64).requires_grad_()
        param = start.clone()
        optimizer = getattr(library.optim, name)([param], differentiable=True, **options)
        for step in range(3):
            param.grad = slope * (step + 1)
            optimizer.step()
        (param * param).sum().backward()
        results.append(start.grad.tolist() + slope.grad.tolist())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6, atol=1e-6)


class Falling:
    """A factor that is an object, whose attributes are part of the state."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, step: int) -> float:
        self.calls += 1
        return 0.9**step


SCHEDULES: dict[str, Any] = {
    "StepLR": lambda s, w, o, **more: s.StepLR(o, 3, 0.5, **more),
    "MultiStepLR": lambda s, w, o, **more: s.MultiStepLR(o, [2, 2, 7, 12], 0.5, **more),
    "ConstantLR": lambda s, w, o, **more: s.ConstantLR(o, **more),
    "LinearLR": lambda s, w, o, **more: s.LinearLR(o, 0.2, 0.9, 8, **more),
    "ExponentialLR": lambda s, w, o, **more: s.ExponentialLR(o, 0.9, **more),
    "PolynomialLR": lambda s, w, o, **more: s.PolynomialLR(o, 9, 2.0, **more),
    "CosineAnnealingLR": lambda s, w, o, **more: s.CosineAnnealingLR(o, 4, 0.01, **more),
    "CosineAnnealingWarmRestarts": lambda s, w, o, **more: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01, **more),
    "restarts of one length": lambda s, w, o, **more: s.CosineAnnealingWarmRestarts(o, 3, **more),
    "LambdaLR": lambda s, w, o, **more: s.LambdaLR(o, [lambda step: 0.9**step, Falling()], **more),
    "MultiplicativeLR": lambda s, w, o, **more: s.MultiplicativeLR(o, lambda step: 0.9 + step / 100, **more),
    "CyclicLR": lambda s, w, o, **more: s.CyclicLR(o, 0.1, 0.9, 3, 2, **more),
    "triangular2": lambda s, w, o, **more: s.CyclicLR(o, [0.1, 0.2], [0.9, 0.8], 3, mode="triangular2", **more),
    "exp_range": lambda s, w, o, **more: s.CyclicLR(
        o, 0.1, 0.9, 3, mode="exp_range", gamma=0.9, cycle_momentum=False, **more
    ),
    "scale_fn": lambda s, w, o, **more: s.CyclicLR(
        o, 0.1, 0.9, 3, scale_fn=lambda x: 1 / (x + 1), scale_mode="iterations", **more
    ),
    "OneCycleLR": lambda s, w, o, **more: s.OneCycleLR(o, 0.9, 25, **more),
    "three phases": lambda s, w, o, **more: s.OneCycleLR(
        o, [0.9, 0.5], epochs=5, steps_per_epoch=5, three_phase=True, anneal_strategy="linear", **more
    ),
    "SWALR": lambda s, w, o, **more: w.SWALR(o, [0.05, 0.1], 5, **more),
    "SWALR linear": lambda s, w, o, **more: w.SWALR(o, 0.05, 5, "linear", **more),
    "SWALR at once": lambda s, w, o, **more: w.SWALR(o, 0.05, 0, **more),
    "SequentialLR": lambda s, w, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 5)], [4, 9]
    ),
    "warmup": lambda s, w, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 4), s.StepLR(o, 2, 0.7)], [4]),
    "ChainedScheduler": lambda s, w, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
    "nested": lambda s, w, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]), s.StepLR(o, 3)], [6]
    ),
    "ReduceLROnPlateau": lambda s, w, o: s.ReduceLROnPlateau(o, patience=1, cooldown=1, factor=0.5, min_lr=[0.01, 0.2]),
    "plateau of a maximum": lambda s, w, o: s.ReduceLROnPlateau(
        o, "max", patience=1, threshold=0.1, threshold_mode="abs"
    ),
}
UNRESUMED = {"SequentialLR", "warmup", "ChainedScheduler", "nested", "ReduceLROnPlateau", "plateau of a maximum"}


def rates(library: Any, name: str, reload: bool, tensors: bool, adam: bool) -> tuple[list[float], Any]:
    def make() -> Any:
        params = [library.ones(2).requires_grad_() for _ in range(2)]
        first, second = (library.tensor(0.5), library.tensor(0.3)) if tensors else (0.5, 0.3)
        groups = [{"params": [params[0]], "lr": first}, {"params": [params[1]]}]
        return library.optim.Adam(groups, lr=second) if adam else library.optim.SGD(groups, lr=second, momentum=0.9)

    build, schedules, averages = SCHEDULES[name], library.optim.lr_scheduler, library.optim.swa_utils
    optimizer = make()
    scheduler = build(schedules, averages, optimizer)
    found: list[float] = []
    for step in range(22):
        if reload and step == 9:
            states = optimizer.state_dict(), scheduler.state_dict()
            optimizer = make()
            scheduler = build(schedules, averages, optimizer)
            optimizer.load_state_dict(states[0])
            scheduler.load_state_dict(states[1])
        found += [float(rate) for rate in scheduler.get_last_lr()]
        for group in optimizer.param_groups:
            found += [float(group["lr"]), group["betas"][0] if adam else group["momentum"]]
        optimizer.step()
        scheduler.step(*[1 / (step + 1) if step < 5 else 0.2] * (type(scheduler).__name__ == "ReduceLROnPlateau"))
    return found, scheduler


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("reload", [False, True])
@pytest.mark.parametrize(("tensors", "adam"), [(False, False), (True, False), (False, True)])
def test_schedule(name: str, reload: bool, tensors: bool, adam: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, their_scheduler = rates(torch, name, reload, tensors, adam)
        ours, our_scheduler = rates(polyad, name, reload, tensors, adam)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert set(our_scheduler.state_dict()) == set(their_scheduler.state_dict())


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name not in UNRESUMED])
def test_schedule_from_a_later_step(name: str) -> None:
    found = []
    for library in (torch, polyad):
        options = {"initial_lr": 0.5, "max_lr": 0.9, "min_lr": 0.1, "swa_lr": 0.1}
        options |= {"base_momentum": 0.8, "max_momentum": 0.9}
        groups = [{"params": [library.ones(2).requires_grad_()], "lr": 0.5, **options} for _ in range(2)]
        optimizer = library.optim.SGD(groups, lr=0.3, momentum=0.9)
        scheduler = SCHEDULES[name](library.optim.lr_scheduler, library.optim.swa_utils, optimizer, last_epoch=5)
        taken = []
        for _ in range(6):
            taken += [float(rate) for rate in scheduler.get_last_lr()]
            optimizer.step()
            scheduler.step()
        found.append(taken)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


@pytest.mark.parametrize("average", ["swa", "ema", "multi swa", "multi ema"])
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_model(average: str, use_buffers: bool) -> None:
    if use_buffers and average == "multi swa":
        pytest.skip("PyTorch's function refuses the integers among the buffers")
    found = []
    for library in (torch, polyad):
        averages: Any = library.optim.swa_utils
        functions = {
            "swa": {"avg_fn": averages.get_swa_avg_fn()},
            "ema": {"avg_fn": averages.get_ema_avg_fn(0.9)},
            "multi swa": {"multi_avg_fn": averages.get_swa_multi_avg_fn()},
            "multi ema": {"multi_avg_fn": averages.get_ema_multi_avg_fn(0.9)},
        }
        random = np.random.default_rng(0)
        model = library.nn.Sequential(library.nn.Linear(3, 3), library.nn.BatchNorm1d(3))
        averaged = averages.AveragedModel(model, use_buffers=use_buffers, **functions[average])
        for _ in range(3):
            with library.no_grad():
                for param in model.parameters():
                    param.copy_(library.tensor(random.normal(size=tuple(param.shape)).tolist()))
            model(library.tensor(random.normal(size=(4, 3)).tolist()))
            averaged.update_parameters(model)
        batches = [library.tensor(random.normal(size=(4, 3)).tolist()) for _ in range(2)]
        state = {name: np.array(value.tolist()) for name, value in averaged.state_dict().items()}
        averages.update_bn(batches, averaged)
        state["mean"] = np.array(averaged.module[1].running_mean.tolist())
        state["variance"] = np.array(averaged.module[1].running_var.tolist())
        found.append(state)
    assert found[0].keys() == found[1].keys()
    for name in found[0]:
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-5, atol=1e-6, err_msg=name)


REFUSED: dict[str, dict[str, list[Any]]] = {
    "ASGD": {"lr": [-1.0], "weight_decay": [-1.0]},
    "Adadelta": {"lr": [-1.0], "rho": [-0.1, 1.1], "eps": [-1.0], "weight_decay": [-1.0]},
    "Adafactor": {
        "lr": [-1.0],
        "beta2_decay": [0.1],
        "eps": [(-1.0, 1e-3), (1e-6, -1.0)],
        "d": [0.5],
        "weight_decay": [-1.0],
    },
    "Adagrad": {
        "lr": [-1.0],
        "lr_decay": [-1.0],
        "weight_decay": [-1.0],
        "initial_accumulator_value": [-1.0],
        "eps": [-1.0],
    },
    "Adam": {"lr": [-1.0], "eps": [-1.0], "betas": [(1.0, 0.9), (0.9, 1.0), (-0.1, 0.9)], "weight_decay": [-1.0]},
    "AdamW": {"lr": [-1.0], "eps": [-1.0], "betas": [(1.0, 0.9), (0.9, 1.0)], "weight_decay": [-1.0]},
    "Adamax": {"lr": [-1.0], "eps": [-1.0], "betas": [(1.0, 0.9), (0.9, 1.0)], "weight_decay": [-1.0]},
    "LBFGS": {"lr": [-1.0]},
    "Muon": {"lr": [-1.0], "momentum": [-1.0], "weight_decay": [-1.0], "adjust_lr_fn": ["x"]},
    "NAdam": {
        "lr": [-1.0],
        "eps": [-1.0],
        "betas": [(1.0, 0.9), (0.9, 1.0)],
        "weight_decay": [-1.0],
        "momentum_decay": [-1.0],
    },
    "RAdam": {"lr": [-1.0], "eps": [-1.0], "betas": [(1.0, 0.9), (0.9, 1.0)], "weight_decay": [-1.0]},
    "RMSprop": {"lr": [-1.0], "eps": [-1.0], "momentum": [-1.0], "weight_decay": [-1.0], "alpha": [-1.0]},
    "Rprop": {"lr": [-1.0], "etas": [(1.1, 1.2), (0.5, 0.9), (0.0, 1.2)]},
    "SGD": {"lr": [-1.0], "momentum": [-1.0], "weight_decay": [-1.0]},
    "SparseAdam": {"lr": [0.0, -1.0], "eps": [0.0, -1.0], "betas": [(1.0, 0.9), (0.9, 1.0)]},
}


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [(name, option, value) for name, rows in REFUSED.items() for option, values in rows.items() for value in values],
)
def test_ranges_of_options(name, option, value) -> None:
    """What PyTorch refuses is refused, in words that name the option, in the constructor as in a group."""
    with pytest.raises(ValueError, match=r"Invalid|must|should|Tensor|adjust|not supported|learning rate|lr"):
        getattr(torch.optim, name)([torch.zeros(2, 2, requires_grad=True)], **{option: value})
    parameter = polyad.zeros(2, 2, requires_grad=True)
    make = getattr(polyad.optim, name)
    with pytest.raises(ValueError, match=option):
        make([parameter], **{option: value})
    assert parameter.grad is None
    if name != "LBFGS":
        with pytest.raises(ValueError, match=option):
            make([{"params": [parameter], option: value}])


def test_every_optimizer_has_refused_options() -> None:
    optimizers = {
        name for name in polyad.optim.__all__ if isinstance(getattr(polyad.optim, name), type) and name != "Optimizer"
    }
    assert optimizers == set(REFUSED)
