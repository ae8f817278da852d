"""Schedules: their values against formulas, states, warnings and refusals."""

import copy
import io
import math
import warnings
from collections import Counter

import pytest

import polyad
from polyad import optim
from polyad.optim import lr_scheduler as schedules
from polyad.optim.swa_utils import SWALR


def sgd(*rates, **options):
    params = [polyad.ones(1, requires_grad=True) for _ in rates]
    groups = [{"params": [param], "lr": rate} for param, rate in zip(params, rates, strict=True)]
    return optim.SGD(groups, lr=0.1, **{"momentum": 0.9, **options})


def taken(optimizer, scheduler, steps):
    """The learning rates of the first group, step by step."""
    found = []
    for _ in range(steps):
        found.append(float(scheduler.get_last_lr()[0]))
        assert [float(group["lr"]) for group in optimizer.param_groups] == [float(x) for x in scheduler.get_last_lr()]
        optimizer.step()
        scheduler.step()
    return found


def warm(step):
    lengths = [3, 6, 12, 24]
    for length in lengths:
        if step < length:
            return 0.01 + (0.5 - 0.01) * (1 + math.cos(math.pi * step / length)) / 2
        step -= length
    return None


def cyclic(step, up=3, down=2):
    place = step % (up + down)
    return 0.1 + 0.8 * (place / up if place <= up else (up + down - place) / down)


def cos_between(start, end, share):
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


def one_cycle(step):
    first, most, last = 0.9 / 25, 0.9, 0.9 / 25 / 1e4
    rise = 0.25 * 20 - 1
    return (
        cos_between(first, most, step / rise) if step <= rise else cos_between(most, last, (step - rise) / (19 - rise))
    )


FORMULAS = {
    "StepLR": (lambda o: schedules.StepLR(o, 3, 0.5), lambda step: 0.5 * 0.5 ** (step // 3)),
    "MultiStepLR": (
        lambda o: schedules.MultiStepLR(o, [2, 2, 7], 0.5),
        lambda step: 0.5 * 0.5 ** sum(step >= at for at in (2, 2, 7)),
    ),
    "ConstantLR": (lambda o: schedules.ConstantLR(o, 0.25, 4), lambda step: 0.5 * (0.25 if step < 4 else 1)),
    "LinearLR": (
        lambda o: schedules.LinearLR(o, 0.2, 0.9, 8),
        lambda step: 0.5 * (0.2 + 0.7 * min(step, 8) / 8),
    ),
    "ExponentialLR": (lambda o: schedules.ExponentialLR(o, 0.9), lambda step: 0.5 * 0.9**step),
    "PolynomialLR": (lambda o: schedules.PolynomialLR(o, 9, 2.0), lambda step: 0.5 * (1 - min(step, 9) / 9) ** 2),
    "CosineAnnealingLR": (
        lambda o: schedules.CosineAnnealingLR(o, 4, 0.01),
        lambda step: cos_between(0.5, 0.01, step / 4),
    ),
    "CosineAnnealingWarmRestarts": (lambda o: schedules.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), warm),
    "LambdaLR": (lambda o: schedules.LambdaLR(o, lambda step: 1 / (step + 1)), lambda step: 0.5 / (step + 1)),
    "MultiplicativeLR": (lambda o: schedules.MultiplicativeLR(o, lambda step: 0.9), lambda step: 0.5 * 0.9**step),
    "CyclicLR": (lambda o: schedules.CyclicLR(o, 0.1, 0.9, 3, 2), cyclic),
    "triangular2": (
        lambda o: schedules.CyclicLR(o, 0.1, 0.9, 3, 2, mode="triangular2"),
        lambda step: 0.1 + (cyclic(step) - 0.1) / 2 ** (step // 5),
    ),
    "exp_range": (
        lambda o: schedules.CyclicLR(o, 0.1, 0.9, 3, 2, mode="exp_range", gamma=0.9),
        lambda step: 0.1 + (cyclic(step) - 0.1) * 0.9**step,
    ),
    "OneCycleLR": (lambda o: schedules.OneCycleLR(o, 0.9, 20, pct_start=0.25), one_cycle),
    "SWALR": (lambda o: SWALR(o, 0.05, 5), lambda step: cos_between(0.5, 0.05, min(step, 5) / 5)),
    "SequentialLR": (
        lambda o: schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.1, 4), schedules.ExponentialLR(o, 0.9)], [4]),
        lambda step: 0.05 if step < 4 else 0.5 * 0.9 ** (step - 4),
    ),
    "ChainedScheduler": (
        lambda o: schedules.ChainedScheduler([schedules.ConstantLR(o, 0.1, 4), schedules.ExponentialLR(o, 0.9)]),
        lambda step: (0.05 if step < 4 else 0.5) * 0.9**step,
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    make, formula = FORMULAS[name]
    optimizer = sgd(0.5, 0.5)
    assert taken(optimizer, make(optimizer), 19) == pytest.approx([formula(step) for step in range(19)], abs=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_reload_in_the_middle(name):
    make, formula = FORMULAS[name]
    optimizer = sgd(0.5, 0.5)
    scheduler = make(optimizer)
    taken(optimizer, scheduler, 9)
    file = io.BytesIO()
    polyad.save([scheduler.state_dict(), optimizer.state_dict()], file)
    file.seek(0)
    states = polyad.load(file)
    other = sgd(0.5, 0.5)
    resumed = make(other)
    other.load_state_dict(states[1])
    resumed.load_state_dict(states[0])
    assert taken(other, resumed, 10) == pytest.approx([formula(step) for step in range(9, 19)], abs=1e-9)


def test_milestones_are_taken_as_either_library_saves_them():
    for saved in ({2: 2, 7: 1}, Counter({2: 2, 7: 1})):
        scheduler = schedules.MultiStepLR(sgd(0.5), [1])
        scheduler.load_state_dict({**scheduler.state_dict(), "milestones": saved})
        assert scheduler.milestones == Counter([2, 2, 7])
        assert type(scheduler.milestones) is Counter
    with pytest.raises(ValueError, match="milestones"):
        scheduler.load_state_dict({**scheduler.state_dict(), "milestones": 3})
    assert scheduler.milestones == Counter([2, 2, 7])


def test_momentum_goes_against_the_rate():
    optimizer = sgd(0.5)
    scheduler = schedules.CyclicLR(optimizer, 0.1, 0.9, 2, base_momentum=0.8, max_momentum=0.9)
    found = []
    for _ in range(4):
        found.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    assert found == pytest.approx([0.9, 0.85, 0.8, 0.85])
    adam = optim.Adam([polyad.ones(1, requires_grad=True)])
    schedules.OneCycleLR(adam, 0.9, 20)
    assert adam.param_groups[0]["betas"] == pytest.approx((0.95, 0.999))


def test_a_tensor_is_written_to():
    rate = polyad.tensor(0.5)
    optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=rate)
    scheduler = schedules.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25
    scheduler.get_last_lr()[0].fill_(7.0)
    assert rate.item() == 0.25


class TestPlateau:
    def test_reduces_after_patience(self):
        optimizer = sgd(1.0, 0.15)
        scheduler = schedules.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, min_lr=[0.2, 0.1], cooldown=1)
        found = []
        for loss in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5):
            scheduler.step(polyad.tensor(loss))
            found.append(scheduler.get_last_lr())
        assert [rates[0] for rates in found] == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2]
        assert found[-1][1] == 0.1

    @pytest.mark.parametrize(
        ("mode", "threshold_mode", "better"),
        [("min", "rel", 0.85), ("min", "abs", 0.85), ("max", "rel", 1.15), ("max", "abs", 1.15)],
    )
    def test_what_is_better(self, mode, threshold_mode, better):
        for metric, rate in ((better, 1.0), (1.0 + (better - 1.0) / 2, 0.1)):
            optimizer = sgd(1.0)
            scheduler = schedules.ReduceLROnPlateau(
                optimizer, mode, patience=0, threshold=0.1, threshold_mode=threshold_mode
            )
            scheduler.step(1.0)
            scheduler.step(metric)
            assert scheduler.get_last_lr() == pytest.approx([rate])

    def test_nan_is_not_better(self):
        optimizer = sgd(1.0)
        scheduler = schedules.ReduceLROnPlateau(optimizer, patience=0)
        scheduler.step(math.nan)
        assert scheduler.get_last_lr() == [0.1]

    def test_groups_that_were_added(self):
        optimizer = sgd(1.0)
        listed = schedules.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.5])
        plain = schedules.ReduceLROnPlateau(optimizer, patience=0, min_lr=0.5)
        optimizer.add_param_group({"params": [polyad.ones(1, requires_grad=True)]})
        with pytest.raises(RuntimeError, match="min_lr has 1 entries, the optimizer 2 groups"):
            listed.step(1.0)
        assert listed.last_epoch == 0
        plain.step(1.0)
        plain.step(1.0)
        assert plain.get_last_lr() == [0.5, 0.1]


class TestOrder:
    def test_a_step_before_the_optimizers_first_is_warned_of(self):
        optimizer = sgd(1.0)
        scheduler = schedules.ExponentialLR(optimizer, 0.5)
        with pytest.warns(UserWarning, match=r"before the first optimizer.step\(\)"):
            scheduler.step()

    def test_the_right_order_is_not(self):
        optimizer = sgd(1.0)
        scheduler = schedules.ExponentialLR(optimizer, 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            optimizer.step()
            scheduler.step()
            scheduler.step()

    def test_asking_for_the_next_rate_is_warned_of(self):
        with pytest.warns(UserWarning, match="get_last_lr"):
            schedules.LambdaLR(sgd(1.0), lambda step: 1.0).get_lr()

    def test_an_epoch_is_warned_of_and_used(self):
        optimizer = sgd(1.0)
        scheduler = schedules.StepLR(optimizer, 2, 0.5)
        optimizer.step()
        with pytest.warns(UserWarning, match="epoch is deprecated"):
            scheduler.step(5)
        assert scheduler.get_last_lr() == [0.25]

    def test_restarts_go_to_fractions(self):
        optimizer = sgd(1.0)
        scheduler = schedules.CosineAnnealingWarmRestarts(optimizer, 2, 2)
        scheduler.step(3.5)
        assert scheduler.get_last_lr() == pytest.approx([cos_between(1.0, 0.0, 1.5 / 4)])
        with pytest.raises(ValueError, match="negative"):
            scheduler.step(-1)


class TestRefusals:
    @pytest.mark.parametrize(
        ("make", "error"),
        [
            (lambda o: schedules.StepLR(3, 2), TypeError),
            (lambda o: schedules.ReduceLROnPlateau(3), TypeError),
            (lambda o: schedules.CyclicLR(3, 0.1, 0.2), TypeError),
            (lambda o: schedules.StepLR(o, 0), ValueError),
            (lambda o: schedules.StepLR(o, 2, last_epoch=3), KeyError),
            (lambda o: schedules.ConstantLR(o, 1.5), ValueError),
            (lambda o: schedules.LinearLR(o, 0.0), ValueError),
            (lambda o: schedules.LinearLR(o, 0.5, 2.0), ValueError),
            (lambda o: schedules.LambdaLR(o, [lambda step: 1.0] * 3), ValueError),
            (lambda o: schedules.LambdaLR(o, 0.5), TypeError),
            (lambda o: schedules.MultiplicativeLR(o, 0.5), TypeError),
            (lambda o: schedules.CosineAnnealingWarmRestarts(o, 0), ValueError),
            (lambda o: schedules.CosineAnnealingWarmRestarts(o, 2, 0), ValueError),
            (lambda o: schedules.CosineAnnealingWarmRestarts(o, 2, 1, "x"), ValueError),
            (lambda o: schedules.CyclicLR(o, 0.1, 0.9, mode="square"), ValueError),
            (lambda o: schedules.CyclicLR(o, [0.1], 0.9), ValueError),
            (lambda o: schedules.CyclicLR(optim.Adagrad([polyad.ones(1).requires_grad_()]), 0.1, 0.9), ValueError),
            (lambda o: schedules.OneCycleLR(o, 0.9), ValueError),
            (lambda o: schedules.OneCycleLR(o, 0.9, 0), ValueError),
            (lambda o: schedules.OneCycleLR(o, 0.9, epochs=2.5, steps_per_epoch=2), ValueError),
            (lambda o: schedules.OneCycleLR(o, 0.9, 10, pct_start=1.5), ValueError),
            (lambda o: schedules.OneCycleLR(o, 0.9, 10, anneal_strategy="square"), ValueError),
            (lambda o: schedules.ReduceLROnPlateau(o, factor=1.0), ValueError),
            (lambda o: schedules.ReduceLROnPlateau(o, "least"), ValueError),
            (lambda o: schedules.ReduceLROnPlateau(o, threshold_mode="x"), ValueError),
            (lambda o: schedules.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError),
            (lambda o: schedules.SequentialLR(o, [], []), ValueError),
            (lambda o: schedules.SequentialLR(o, [schedules.StepLR(o, 2)], [3]), ValueError),
            (lambda o: schedules.SequentialLR(o, [schedules.StepLR(sgd(1.0), 2)], []), ValueError),
            (lambda o: schedules.SequentialLR(o, [schedules.ReduceLROnPlateau(o)], []), ValueError),
            (lambda o: schedules.SequentialLR(o, [3], []), TypeError),
            (lambda o: schedules.ChainedScheduler([]), ValueError),
            (lambda o: SWALR(o, 0.1, -1), ValueError),
            (lambda o: SWALR(o, 0.1, anneal_strategy="x"), ValueError),
            (lambda o: SWALR(o, [0.1]), ValueError),
        ],
    )
    def test_options(self, make, error):
        optimizer = sgd(0.5, 0.25)
        before = [dict(group) for group in optimizer.param_groups]
        with pytest.raises(error):
            make(optimizer)
        if error is not KeyError:
            kept = [{key: group[key] for key in group if key != "initial_lr"} for group in optimizer.param_groups]
            assert kept == before

    @pytest.mark.parametrize(
        ("state", "error"),
        [
            (3, TypeError),
            ({}, ValueError),
            (lambda: schedules.ExponentialLR(sgd(0.5, 0.25), 0.9).state_dict(), ValueError),
            (lambda: schedules.StepLR(sgd(0.5), 2).state_dict(), ValueError),
        ],
    )
    def test_states_that_do_not_fit_change_nothing(self, state, error):
        scheduler = schedules.StepLR(sgd(0.5, 0.25), 2)
        before = copy.deepcopy(scheduler.state_dict())
        with pytest.raises(error):
            scheduler.load_state_dict(state() if callable(state) else state)
        assert scheduler.state_dict() == before

    def test_a_part_that_does_not_fit_changes_nothing(self):
        def make(*parts):
            optimizer = sgd(0.5)
            return schedules.ChainedScheduler([part(optimizer) for part in parts])

        step = lambda o: schedules.StepLR(o, 2)  # noqa: E731
        decay = lambda o: schedules.ExponentialLR(o, 0.9)  # noqa: E731
        mine, other = make(decay, step), make(decay, decay)
        other.optimizer.step()
        other.step()
        before = copy.deepcopy(mine.state_dict())
        with pytest.raises(ValueError, match="nothing was changed"):
            mine.load_state_dict(other.state_dict())
        assert mine.state_dict() == before

    def test_more_steps_than_there_are(self):
        optimizer = sgd(0.5)
        scheduler = schedules.OneCycleLR(optimizer, 0.9, 3)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        state = scheduler.state_dict()
        with pytest.raises(ValueError, match="all of them are taken"):
            scheduler.step()
        assert scheduler.state_dict() == state

    def test_base_class_has_no_rates(self):
        with pytest.raises(NotImplementedError, match="get_lr"):
            schedules.LRScheduler(sgd(0.5))
