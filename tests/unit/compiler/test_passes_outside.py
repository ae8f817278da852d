"""Backward passes that begin outside of a compiled function find what they find of the function itself."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import polyad as torch
from polyad import nn
from polyad.compiler.regions import region_of
from polyad.nn import functional as F

from .test_same_as_eager import BATCHES, OPTIMIZERS, Tied, bits, normalised, perceptron

pytestmark = pytest.mark.filterwarnings("error:compile:UserWarning")


def recurrent():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.last = nn.LSTM(2, 5, batch_first=True), nn.Linear(5, 3)

        def forward(self, x):
            return self.last(self.inner(x.view(6, 2, 2))[0][:, -1])

    return Last()


def in_place():
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(0.2, inplace=True), nn.Linear(8, 3)
    )


def same(make, scenario):
    """What *scenario* gives of a function or model and its parameters is the same compiled; gives the region."""
    found = []
    for compile in (lambda one: one, torch.compile):
        torch.manual_seed(3)
        model = make()
        called = compile(model)
        params = [*model.parameters()] if isinstance(model, nn.Module) else []
        results = []
        for call in range(5):
            try:
                results.append(bits(scenario(called, params, *BATCHES[call])))
            except RuntimeError as error:
                results.append(str(error)[:30])  # another node may be named
            results.append(bits([one.grad for one in params]))
        found.append((results, bits(params), torch.get_rng_state().tolist()))
    assert found[0] == found[1]
    return region_of(called)


def passages(region):
    """The histories that the tapes of a region leave."""
    return [
        tape.passage
        for program in region.programs.values()
        for recording in program.recordings
        for tape in recording.tapes.values()
        if not isinstance(tape, str) and tape.passage is not None
    ]


def loss_of(net, x, y):
    return F.cross_entropy(net(x), y)


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
@pytest.mark.parametrize("model", [perceptron, normalised, Tied, recurrent, in_place])
def test_training(model, optimizer):
    found = {}

    def scenario(net, params, x, y):
        own = found.setdefault(id(net), OPTIMIZERS[optimizer](params))
        own.zero_grad()
        loss = loss_of(net, x, y)
        loss.backward()
        own.step()
        return loss

    region = same(model, scenario)
    assert passages(region)
    assert all(not end.reason for program in region.programs.values() for end in program.last.ends)


def accumulated(net, params, x, y):
    (loss_of(net, x, y) / 2).backward()


def two_forwards(net, params, x, y):
    (loss_of(net, x, y) + loss_of(net, x * 2, y)).backward()


def retained(net, params, x, y):
    loss = loss_of(net, x, y)
    loss.backward(retain_graph=True)
    loss.backward()
    loss.backward()  # raises


def second_derivatives(net, params, x, y):
    grads = torch.autograd.grad(loss_of(net, x, y), params, create_graph=True)
    sum([(one**2).sum() for one in grads]).backward()


def first_then_second(net, params, x, y):
    out = net(x)
    out.square().sum().backward(retain_graph=True)
    grads = torch.autograd.grad(out.square().sum(), params, create_graph=True)
    sum([(one**3).sum() for one in grads]).backward()


def other_layouts(net, params, x, y):
    out = net(x)
    if float(x[0, 0]) > 0:
        out.sum().backward()
    else:
        (out.t() * torch.arange(18.0).view(3, 6)).sum().backward()


def some_parameters(net, params, x, y):
    loss = loss_of(net, x, y)
    loss.backward(inputs=params[:1], retain_graph=True)
    return torch.autograd.grad(loss, params[1:])


def hooks_of_parameters(net, params, x, y):
    seen = []
    handles = [params[0].register_hook(lambda grad: seen.append(grad.clone()) or grad * 2)]
    handles.append(params[-1].register_post_accumulate_grad_hook(lambda one: seen.append(one.grad.clone())))
    loss_of(net, x, y).backward()
    for handle in handles:
        handle.remove()
    return seen


def late_hooks(net, params, x, y):
    loss, seen = loss_of(net, x, y), []
    handle = params[0].register_hook(lambda grad: seen.append(grad.clone()) or grad * 2)
    loss.backward()
    handle.remove()
    return seen


def hooks_of_the_result(net, params, x, y):
    out, seen = net(x), []
    out.register_hook(lambda grad: seen.append(grad.clone()) or grad * 3)
    out.retain_grad()
    F.cross_entropy(out, y).backward()
    return seen, out.grad, out.grad_fn.name()


def written_result(net, params, x, y):
    out = net(x)
    out.mul_(2)
    F.cross_entropy(out, y).backward()
    return out


def written_parameter(net, params, x, y):
    loss = loss_of(net, x, y)
    with torch.no_grad():
        params[-2].mul_(0.5)
    loss.backward()  # raises


def under_autocast(net, params, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = loss_of(net, x, y)
    loss.backward()
    return loss


def backward_under_autocast(net, params, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss_of(net, x, y).backward()


def in_another_thread(net, params, x, y):
    thread = threading.Thread(target=loss_of(net, x, y).backward)
    thread.start()
    thread.join()


def input_gets_a_gradient(net, params, x, y):
    x = x.clone().requires_grad_()
    loss_of(net, x, y).backward()
    return x.grad


def input_with_history(net, params, x, y):
    w = torch.ones(4, requires_grad=True)
    loss_of(net, x * w, y).backward()
    return w.grad


def under_anomaly_mode(net, params, x, y):
    loss = loss_of(net, x, y)
    with torch.autograd.detect_anomaly(check_nan=False):
        loss.backward()


def given_itself(net, params, x, y):
    out = net(x)
    out.backward(out.detach())
    return out


def function_of_the_node(net, params, x, y):
    out = net(x)
    return type(out.grad_fn).__name__, out.is_leaf, out.requires_grad


SCENARIOS = [
    accumulated, two_forwards, retained, second_derivatives, first_then_second, other_layouts, some_parameters,
    hooks_of_parameters, late_hooks, hooks_of_the_result, written_result, written_parameter, in_another_thread,
    under_autocast, backward_under_autocast, input_gets_a_gradient, input_with_history, given_itself,
    function_of_the_node,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("model", [normalised, in_place])
def test_scenarios(model, scenario):
    region = same(model, scenario)
    if scenario in (accumulated, retained, under_autocast, written_result):
        assert passages(region), "no tape ran"


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_anomaly_mode():
    same(perceptron, under_anomaly_mode)


class Several(nn.Module):
    """Two results, the second of which depends on the first; and one that depends on neither."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.other = nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(4, 3)

    def forward(self, x):
        hidden = self.first(x).relu() * 2
        return {"hidden": hidden, "out": self.last(hidden), "other": self.other(x) ** 2}


class Spoilt(Several):
    """One result comes from a tensor that is saved and then written to."""

    def forward(self, x):
        saved = self.first(x).exp()
        out = self.last(saved * 2)
        saved.mul_(2)
        return {"out": saved, "spoilt": out, "other": self.other(x) ** 2}


def test_saved_and_written():
    def scenario(net, params, x, y):
        found = net(x)
        found["other"].sum().backward()
        found["spoilt"].sum().backward()  # raises, as eagerly: exp needs its result

    same(Spoilt, scenario)


WANTED = {
    "the last": lambda found, y: [F.cross_entropy(found["out"], y)],
    "both": lambda found, y: [F.cross_entropy(found["out"], y) + found["hidden"].square().sum()],
    "apart": lambda found, y: [F.cross_entropy(found["out"], y), found["other"].exp().sum()],
    "twice": lambda found, y: [F.cross_entropy(found["out"], y), found["hidden"].square().sum()],  # raises
    "by turns": lambda found, y: [F.cross_entropy(found["out" if int(y[0]) else "other"], y)],
}


@pytest.mark.parametrize("wanted", WANTED)
def test_several_results(wanted):
    def scenario(net, params, x, y):
        found = net(x)
        for loss in WANTED[wanted](found, y):
            loss.backward()
        return [one.grad_fn.name() for one in found.values()]

    region = same(Several, scenario)
    if wanted in ("the last", "both"):
        assert passages(region)


def test_what_a_pass_used_is_freed():
    net = torch.compile(perceptron())
    for x, y in BATCHES:
        x = x.clone()
        loss = loss_of(net, x, y)
        loss.backward()
        gone = weakref.ref(x)
        del x
        assert gone() is None, "a loss that is kept keeps the input"
    assert passages(region_of(net))


@pytest.mark.parametrize("model", [perceptron, Several])
def test_what_no_pass_used_is_freed(model):
    net = torch.compile(model())
    gc.disable()
    try:
        for number, (x, y) in enumerate([*BATCHES, *BATCHES]):
            x = x.clone()
            out = net(x)
            if 3 <= number < 8:
                F.cross_entropy(out["out"] if isinstance(out, dict) else out, y).backward()
            gone = weakref.ref(x)
            del x, out
            assert gone() is None, f"call {number} holds itself"
    finally:
        gc.enable()
    assert passages(region_of(net))


def test_a_pass_is_carried_out_once(monkeypatch):
    """A pass of the recorded kind calls no op of the function anew."""
    from polyad.compiler.passes import Memory

    net = torch.compile(perceptron())
    for x, y in BATCHES[:2]:
        loss_of(net, x, y).backward()
    monkeypatch.setattr(Memory, "unfold", lambda *args: pytest.fail("the function's ops were called anew"))
    for x, y in BATCHES:
        loss_of(net, x, y).backward()


@pytest.mark.parametrize("scenario", [second_derivatives, other_layouts, None])
def test_what_gains_nothing_is_called_directly(scenario):
    net = perceptron()
    params, net = [*net.parameters()], torch.compile(net)
    for number in range(24):
        x, y = BATCHES[number % 6]
        x = x * (1 if number % 2 else -1) * x[0, 0].sign()
        if scenario is None:
            net(x)
        else:
            scenario(net, params, x, y)
    (program,) = region_of(net).programs.values()
    assert program.plain
