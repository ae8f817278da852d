"""Groups, options, state, hooks and representation of optimizers."""

import copy
import warnings

import numpy as np
import pytest

import polyad
from polyad import nn, optim


def parameter(*shape):
    return nn.Parameter(polyad.ones(*shape))


def stepped(make, *params):
    optimizer = make(list(params))
    for param in params:
        param.grad = polyad.ones(*param.shape)
    optimizer.step()
    return optimizer


class TestConstruction:
    def test_groups_take_the_defaults_they_do_not_set(self):
        one, two = parameter(1), parameter(2)
        optimizer = optim.SGD([{"params": one}, {"params": [two], "lr": 0.5, "note": "x"}], lr=0.1, momentum=0.9)
        assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
        assert [group["momentum"] for group in optimizer.param_groups] == [0.9, 0.9]
        assert optimizer.param_groups[0]["params"] == [one]
        assert optimizer.param_groups[1]["note"] == "x"
        assert optimizer.defaults["lr"] == 0.1

    def test_a_given_group_is_not_changed(self):
        group = {"params": parameter(1)}
        optim.SGD([group])
        assert list(group) == ["params"]

    def test_named_parameters(self):
        optimizer = optim.SGD(nn.Linear(1, 1).named_parameters())
        assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
        assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]

    def test_iterators_are_taken(self):
        assert len(optim.SGD(iter([parameter(1), parameter(1)])).param_groups[0]["params"]) == 2

    @pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW])
    @pytest.mark.parametrize(
        ("params", "error", "words"),
        [
            (lambda p: [], ValueError, "empty"),
            (lambda p: iter(()), ValueError, "empty"),
            (lambda p: p, TypeError, "not one tensor"),
            (lambda p: 3, TypeError, "iterable"),
            (lambda p: [3], TypeError, "not a tensor"),
            (lambda p: [p, p], ValueError, "already"),
            (lambda p: [{"params": [p]}, {"params": [p]}], ValueError, "parameter group 0 already"),
            (lambda p: [p * 2], ValueError, "no leaf"),
            (lambda p: [{"params": {p}}], TypeError, "set"),
            (lambda p: [{"parameters": p}], KeyError, "'params'"),
            (lambda p: [("a", p), parameter(1)], ValueError, "names"),
            (lambda p: [{"params": [("a", p)]}, {"params": [parameter(1)]}], ValueError, "names"),
            (lambda p: [polyad.zeros(1).expand(3).requires_grad_()], ValueError, "one place in memory"),
            (lambda p: [{"params": [p]}, 3], TypeError, "dict"),
        ],
    )
    def test_bad_parameters(self, make, params, error, words):
        with pytest.raises(error, match=words):
            make(params(parameter(1)))

    @pytest.mark.parametrize(
        ("make", "options", "error"),
        [
            (optim.SGD, {"lr": -1}, ValueError),
            (optim.SGD, {"lr": "x"}, TypeError),
            (optim.SGD, {"lr": None}, TypeError),
            (optim.SGD, {"lr": float("nan")}, ValueError),
            (optim.SGD, {"lr": polyad.Tensor}, TypeError),
            (optim.SGD, {"momentum": -1}, ValueError),
            (optim.SGD, {"weight_decay": -1}, ValueError),
            (optim.SGD, {"nesterov": True}, ValueError),
            (optim.SGD, {"nesterov": True, "momentum": 0.9, "dampening": 0.1}, ValueError),
            (optim.SGD, {"fused": True, "foreach": True}, RuntimeError),
            (optim.SGD, {"differentiable": True, "fused": True}, RuntimeError),
            (optim.SGD, {"beta": 1}, TypeError),
            (optim.Adam, {"lr": -1}, ValueError),
            (optim.Adam, {"eps": -1}, ValueError),
            (optim.Adam, {"weight_decay": -1}, ValueError),
            (optim.Adam, {"betas": (1.0, 0.9)}, ValueError),
            (optim.Adam, {"betas": (0.9, -0.1)}, ValueError),
            (optim.Adam, {"betas": (0.9,)}, ValueError),
            (optim.Adam, {"betas": 0.9}, TypeError),
            (optim.Adam, {"betas": ("x", 0.9)}, TypeError),
            (optim.AdamW, {"lr": -1}, ValueError),
        ],
    )
    def test_bad_options(self, make, options, error):
        with pytest.raises(error):
            make([parameter(1)], **options)

    def test_options_of_groups_are_checked_too(self):
        with pytest.raises(ValueError, match="lr must be at least 0, not -3"):
            optim.SGD([{"params": parameter(1), "lr": -3}])

    def test_complex_parameters(self):
        for make in (optim.Adafactor, optim.Muon, optim.SparseAdam):
            with pytest.raises((NotImplementedError, ValueError), match=r"complex|real"):
                make([nn.Parameter(polyad.zeros(1, 1, dtype=polyad.complex64))])
        for make, expected in ((optim.SGD, -0.5 - 1j), (optim.Adam, -0.5 - 0.5j)):
            param = nn.Parameter(polyad.zeros(1, dtype=polyad.complex64))
            param.grad = polyad.full((1,), 1 + 2j)
            make([param], lr=0.5).step()
            assert param.tolist() == pytest.approx([expected])

    def test_learning_rate_as_a_tensor(self):
        param = parameter(1)
        param.grad = polyad.ones(1)
        optim.SGD([param], lr=polyad.tensor(0.25)).step()
        assert param.tolist() == [0.75]


class TestAddParamGroup:
    def test_failure_adds_nothing(self):
        param = parameter(1)
        optimizer = optim.SGD([param])
        for bad in (3, {"params": [param]}, {"params": [parameter(1)], "lr": -1}, {}):
            with pytest.raises((TypeError, ValueError, KeyError)):
                optimizer.add_param_group(bad)
        assert len(optimizer.param_groups) == 1

    def test_added_group_is_trained(self):
        optimizer = optim.SGD([parameter(1)], lr=1.0)
        added = parameter(1)
        optimizer.add_param_group({"params": [added], "lr": 0.5})
        added.grad = polyad.ones(1)
        optimizer.step()
        assert added.tolist() == [0.5]


class TestStep:
    def test_closure(self):
        param = parameter(1)
        optimizer = optim.SGD([param], lr=0.5)

        def closure():
            optimizer.zero_grad()
            loss = (param * 3).sum()
            loss.backward()
            return loss

        with polyad.no_grad():
            assert optimizer.step(closure).item() == 3.0
        assert param.tolist() == [-0.5]
        assert optimizer.step() is None

    def test_parameters_without_gradient_are_left_alone(self):
        with_grad, without = parameter(1), parameter(1)
        optimizer = stepped(optim.Adam, with_grad)
        optimizer.add_param_group({"params": [without]})
        optimizer.step()
        assert without.tolist() == [1.0]
        assert without not in optimizer.state

    def test_parameters_stay_leaves(self):
        param = parameter(2)
        stepped(optim.Adam, param)
        assert param.is_leaf
        assert param.requires_grad

    def test_zero_grad(self):
        param = parameter(1)
        optimizer = stepped(optim.SGD, param)
        optimizer.zero_grad(set_to_none=False)
        assert param.grad.tolist() == [0.0]
        optimizer.zero_grad()
        assert param.grad is None
        optimizer.zero_grad(set_to_none=False)
        assert param.grad is None

    def test_base_class_has_no_step(self):
        with pytest.raises(NotImplementedError, match="step"):
            optim.Optimizer([parameter(1)], {}).step()

    def test_own_optimizer(self):
        class Sign(optim.Optimizer):
            def __init__(self, params, lr):
                super().__init__(params, {"lr": lr})

            @polyad.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for param in group["params"]:
                        param.sub_(param.grad * group["lr"])
                        self.state[param]["steps"] = self.state[param].get("steps", 0) + 1

        param = parameter(1)
        param.grad = polyad.ones(1)
        calls = []
        optimizer = Sign([param], lr=0.25)
        optimizer.register_step_post_hook(lambda *args: calls.append(args))
        optimizer.step()
        assert param.tolist() == [0.75]
        assert len(calls) == 1
        assert optimizer.state_dict()["state"] == {0: {"steps": 1}}


class TestState:
    def test_layout_before_the_first_step(self):
        assert optim.SGD([parameter(1)], lr=0.1, momentum=0.9).state_dict() == {
            "state": {},
            "param_groups": [
                {
                    "lr": 0.1,
                    "momentum": 0.9,
                    "dampening": 0,
                    "weight_decay": 0,
                    "nesterov": False,
                    "maximize": False,
                    "foreach": None,
                    "differentiable": False,
                    "fused": None,
                    "params": [0],
                }
            ],
        }
        assert optim.AdamW([parameter(1)]).state_dict()["param_groups"] == [
            {
                "lr": 0.001,
                "betas": (0.9, 0.999),
                "eps": 1e-08,
                "weight_decay": 0.01,
                "amsgrad": False,
                "maximize": False,
                "foreach": None,
                "capturable": False,
                "differentiable": False,
                "fused": None,
                "decoupled_weight_decay": True,
                "params": [0],
            }
        ]

    def test_layout_after_a_step(self):
        one, two = parameter(1), parameter(2, 3)
        state = stepped(lambda params: optim.Adam(params, amsgrad=True), one, two).state_dict()["state"]
        assert list(state) == [0, 1]
        assert list(state[1]) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
        assert state[1]["exp_avg"].shape == (2, 3)
        assert state[1]["step"].shape == ()
        assert state[1]["step"].dtype == polyad.float32
        assert state[1]["step"].item() == 1.0
        state = stepped(lambda params: optim.SGD(params, momentum=0.9), two).state_dict()["state"]
        assert state[0]["momentum_buffer"].tolist() == [[1.0] * 3] * 2
        assert stepped(optim.SGD, one).state_dict()["state"] == {}

    def test_parameters_are_numbered_through_the_groups(self):
        groups = [{"params": [parameter(1), parameter(1)]}, {"params": [parameter(1)]}]
        assert [group["params"] for group in optim.SGD(groups).state_dict()["param_groups"]] == [[0, 1], [2]]

    def test_load_copies(self):
        one, two = parameter(2), parameter(2)
        source = stepped(lambda params: optim.SGD(params, lr=0.3, momentum=0.9), one)
        target = optim.SGD([two], lr=0.1)
        target.load_state_dict(source.state_dict())
        assert target.param_groups[0]["lr"] == 0.3
        assert target.param_groups[0]["params"] == [two]
        assert target.param_groups[0]["params"][0] is two
        buffer = target.state[two]["momentum_buffer"]
        assert buffer is not source.state[one]["momentum_buffer"]
        source.state[one]["momentum_buffer"].fill_(9.0)
        assert buffer.tolist() == [1.0, 1.0]

    def test_load_casts_to_the_parameter_but_not_the_step(self):
        source = stepped(optim.Adam, parameter(2))
        param = nn.Parameter(polyad.ones(2, dtype=polyad.float64))
        target = optim.Adam([param])
        target.load_state_dict(source.state_dict())
        assert target.state[param]["exp_avg"].dtype == polyad.float64
        assert target.state[param]["step"].dtype == polyad.float32

    def test_step_as_a_number(self):
        source = stepped(optim.Adam, parameter(2)).state_dict()
        source["state"][0]["step"] = 7
        param = parameter(2)
        target = optim.Adam([param])
        target.load_state_dict(source)
        assert target.state[param]["step"].item() == 7.0

    def test_options_missing_in_an_older_state_take_their_defaults(self):
        state = optim.SGD([parameter(1)], lr=0.5).state_dict()
        for option in ("maximize", "fused", "foreach", "differentiable"):
            del state["param_groups"][0][option]
        target = optim.SGD([parameter(1)])
        target.load_state_dict(state)
        assert target.param_groups[0]["maximize"] is False
        assert target.param_groups[0]["lr"] == 0.5

    @pytest.mark.parametrize(
        ("spoil", "error", "words"),
        [
            (lambda state: state.pop("state"), KeyError, "'state'"),
            (lambda state: state.pop("param_groups"), KeyError, "'param_groups'"),
            (lambda state: state["param_groups"].pop(), ValueError, "groups of"),
            (lambda state: state["param_groups"][0]["params"].append(5), ValueError, "groups of"),
            (lambda state: state["state"][0].update(exp_avg=polyad.zeros(7)), ValueError, r"float32 \(7,\)"),
            (lambda state: state["state"][0].update(exp_avg_sq="x"), ValueError, "exp_avg_sq"),
            (lambda state: state["state"][0].pop("step"), ValueError, "no 'step'"),
            (lambda state: state["state"].update({0: 3}), ValueError, "not a dict"),
            (lambda state: state["param_groups"][0].pop("betas"), ValueError, "no 'betas'"),
            (lambda state: state["param_groups"][0].update(lr=-1), ValueError, "lr"),
        ],
    )
    def test_what_does_not_fit_changes_nothing(self, spoil, error, words):
        state = copy.deepcopy(stepped(lambda params: optim.Adam(params, lr=0.5), parameter(2)).state_dict())
        spoil(state)
        param = parameter(2)
        target = stepped(lambda params: optim.Adam(params, lr=0.25), param)
        before = copy.deepcopy(target.state_dict())
        with pytest.raises(error, match=words):
            target.load_state_dict(state)
        assert repr(target.state_dict()) == repr(before)

    def test_state_of_another_class(self):
        with pytest.raises(ValueError, match="betas"):
            optim.Adam([parameter(1)]).load_state_dict(optim.SGD([parameter(1)]).state_dict())

    def test_not_a_dict(self):
        with pytest.raises(TypeError, match="dict"):
            optim.SGD([parameter(1)]).load_state_dict([1])

    def test_deepcopy_trains_its_own_parameters(self):
        param = parameter(2)
        optimizer = stepped(optim.Adam, param)
        twin = copy.deepcopy(optimizer)
        (own,) = twin.param_groups[0]["params"]
        assert own is not param
        assert own in twin.state
        before = param.tolist()
        own.grad = polyad.ones(2)  # a copy of a parameter has no gradient
        twin.step()
        assert param.tolist() == before
        assert own.tolist() != before


class TestHooks:
    def test_step_hooks(self):
        seen = []
        optimizer = optim.SGD([parameter(1)])
        pre = optimizer.register_step_pre_hook(lambda opt, args, kwargs: seen.append(("pre", opt, args, kwargs)))
        optimizer.register_step_post_hook(lambda opt, args, kwargs: seen.append(("post", opt, args, kwargs)))
        optimizer.step()
        assert seen == [("pre", optimizer, (optimizer,), {}), ("post", optimizer, (optimizer,), {})]
        pre.remove()
        optimizer.step()
        assert [entry[0] for entry in seen] == ["pre", "post", "post"]

    def test_pre_hook_replaces_arguments(self):
        optimizer = optim.SGD([parameter(1)])
        optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: 5), {}))
        assert optimizer.step() == 5
        optimizer.register_step_pre_hook(lambda *args: 3)
        with pytest.raises(ValueError, match="pre-hook"):
            optimizer.step()

    def test_hooks_run_once_in_a_subclass(self):
        class Louder(optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        seen = []
        optimizer = Louder([parameter(1)])
        optimizer.register_step_pre_hook(lambda *args: seen.append(1))
        optimizer.step()
        assert seen == [1]

    def test_state_hooks(self):
        optimizer = optim.SGD([parameter(1)])
        order = []
        optimizer.register_state_dict_pre_hook(lambda opt: order.append("save pre"))
        optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "note": 1})
        optimizer.register_load_state_dict_pre_hook(lambda opt, state: order.append(state["note"]))
        optimizer.register_load_state_dict_post_hook(lambda opt: order.append("load post"))
        optimizer.register_load_state_dict_post_hook(lambda opt: order.append("first"), prepend=True)
        optimizer.load_state_dict(optimizer.state_dict())
        assert order == ["save pre", 1, "first", "load post"]


def test_repr():
    optimizer = optim.SGD([{"params": [parameter(1)]}, {"params": [parameter(1)], "lr": 0.5}], momentum=0.9)
    assert repr(optimizer) == (
        "SGD (\n"
        "Parameter Group 0\n"
        "    dampening: 0\n"
        "    differentiable: False\n"
        "    foreach: None\n"
        "    fused: None\n"
        "    lr: 0.001\n"
        "    maximize: False\n"
        "    momentum: 0.9\n"
        "    nesterov: False\n"
        "    weight_decay: 0\n"
        "\n"
        "Parameter Group 1\n"
        "    dampening: 0\n"
        "    differentiable: False\n"
        "    foreach: None\n"
        "    fused: None\n"
        "    lr: 0.5\n"
        "    maximize: False\n"
        "    momentum: 0.9\n"
        "    nesterov: False\n"
        "    weight_decay: 0\n"
        ")"
    )


class TestOrphans:
    """A module replaced after the optimizer was made leaves parameters that only the optimizer holds."""

    @pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.RMSprop, optim.Adafactor])
    @pytest.mark.parametrize("named", [False, True])
    def test_are_named(self, make, named):
        model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1, bias=False))
        optimizer = make(model.named_parameters() if named else model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            model(polyad.ones(1, 2)).sum().backward()
            optimizer.step()

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            step()
        model[1] = nn.Linear(3, 1, bias=False)
        with pytest.warns(UserWarning, match=r"parameter (1\.weight|2 of group 0), float32 \(1, 3\).*held by this"):
            step()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            step()

    def test_frozen_parameters_are_none(self):
        model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        model[0].requires_grad_(False)
        optimizer = optim.Adam(model.parameters())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                model(polyad.ones(1, 2)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
            optimizer.step()


@pytest.mark.parametrize("size", [5, 100_000])
@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.RMSprop], ids=lambda make: make.__name__)
def test_read_only_memory_is_refused_before_anything_is_written(make, size):
    memory = np.ones(size, np.float32)
    memory.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frozen = nn.Parameter(polyad.from_numpy(memory))
    other = nn.Parameter(polyad.ones(size))
    for parameter in (other, frozen):
        parameter.grad = polyad.ones(size)
    with pytest.raises(ValueError, match="memory of another library that is read-only"):
        make([other, frozen], lr=0.1).step()
    assert (memory == 1).all()
    assert (other == 1).all()


class TestLBFGS:
    def closure(self, optimizer, loss):
        def evaluate():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        return evaluate

    def test_zero_gradient_that_may_be_exceeded(self):
        param = parameter(2)
        optimizer = optim.LBFGS([param], tolerance_grad=-1)
        before = param.tolist()
        optimizer.step(self.closure(optimizer, lambda: (param * 0).sum()))
        assert param.tolist() == before
        assert optimizer.state_dict()["state"][0]["t"] == 1.0

    def test_state_has_pytorchs_entries(self):
        param = nn.Parameter(polyad.tensor([1.0, 2.0]))
        optimizer = optim.LBFGS([param], max_iter=3, history_size=4)
        optimizer.step(self.closure(optimizer, lambda: (param**4).sum() + param[0] * param[1]))
        state = optimizer.state_dict()["state"][0]
        assert sorted(state) == sorted(
            ["func_evals", "n_iter", "al", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad",
             "prev_loss"]
        )  # fmt: skip
        assert [share is None for share in state["al"]] == [False, True, True, True]
        assert state["t"] == 1
        assert type(state["t"]) is int

    def test_a_search_has_the_evaluations_that_are_left(self):
        param = nn.Parameter(polyad.tensor([-1.2, 1.0]))
        optimizer = optim.LBFGS([param], max_eval=3, line_search_fn="strong_wolfe")
        hard = lambda: (param - 1e3).abs().sqrt().sum()  # noqa: E731
        optimizer.step(self.closure(optimizer, hard))
        assert optimizer.state_dict()["state"][0]["func_evals"] <= 4

    def test_history_is_cast_to_the_parameter(self):
        param = nn.Parameter(polyad.tensor([1.0, 2.0]))
        optimizer = optim.LBFGS([param], max_iter=3)
        optimizer.step(self.closure(optimizer, lambda: (param**4).sum()))
        other = optim.LBFGS([nn.Parameter(param.detach().double())])
        other.load_state_dict(optimizer.state_dict())
        assert other.state_dict()["state"][0]["old_dirs"][0].dtype == polyad.float64

    def test_groups_put_in_by_hand_are_refused(self):
        optimizer = optim.LBFGS([parameter(1)])
        optimizer.param_groups.extend(optimizer.param_groups)
        with pytest.raises(AssertionError, match="2 groups"):
            optimizer.step(lambda: polyad.tensor(0.0))


class TestParametersTwice:
    def test_a_group_extended_by_itself(self):
        params = [nn.Parameter(polyad.ones(2)), nn.Parameter(polyad.ones(1))]
        optimizer = optim.SGD(params, lr=0.1)
        optimizer.param_groups[0]["params"].extend(params)
        for param in params:
            param.grad = param.detach().clone()
        optimizer.step()
        assert params[0].tolist() == pytest.approx([0.8, 0.8])

    def test_groups_extended_by_themselves(self):
        optimizer = optim.SGD([parameter(1), parameter(1)])
        optimizer.param_groups.extend(optimizer.param_groups)
        state = optimizer.state_dict()
        assert [group["params"] for group in state["param_groups"]] == [[0, 1], [0, 1]]
        optimizer.load_state_dict(state)


def test_hooks_of_all_optimizers():
    from polyad.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    seen = []
    param = parameter(1)
    optimizer = optim.SGD([param])
    optimizer.register_step_pre_hook(lambda *_: seen.append("own pre"))
    optimizer.register_step_post_hook(lambda *_: seen.append("own post"))
    with (
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: seen.append("pre")),
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: seen.append("post")),
    ):
        optimizer.step()
        optim.Adam([param]).step()
    optimizer.step()
    assert seen == ["pre", "own pre", "own post", "post", "pre", "post", "own pre", "own post"]


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (polyad.optim.Adagrad, {"lr_decay": -0.5}),
        (polyad.optim.Adadelta, {"rho": 1.1}),
        (polyad.optim.NAdam, {"betas": (1.0, 0.9)}),
        (polyad.optim.SGD, {"momentum": -0.5}),
    ],
)
def test_options_are_looked_at_before_parameters(make, options):
    with pytest.raises(ValueError, match=make.__name__):
        make(None, **options)
