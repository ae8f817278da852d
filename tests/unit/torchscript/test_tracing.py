"""Traced functions and modules: values at other sizes, the program's text, training, checks, freezing."""

import copy
import io
import operator
import warnings

import pytest

import polyad
from polyad import jit, nn
from polyad.nn import functional as F
from polyad.testing import assert_close


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.register_buffer("table", polyad.arange(3.0))
        self.shared = nn.Linear(3, 3)

    def forward(self, x, scale=None):
        for layer in self.layers:
            x = layer(x).relu()
        x = self.shared(self.shared(x) + self.table)
        return x if scale is None else x * scale


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = getattr(nn, kind)(3, 4, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


def convolutional():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(16, 3), nn.LogSoftmax(-1),
    ).eval()  # fmt: skip


def shaped(x):
    half = x.reshape(x.shape[0], -1, 2).transpose(1, 2)
    padded = F.pad(half, (0, 1), value=0.5)
    return padded.sum(-1) / x.shape[0], padded[:, :1].expand(-1, 3, -1), polyad.arange(x.shape[1]) + padded.mean()


def written(x):
    y = x.clone()
    y[:, 0] = 1
    y[y > 0.5] = 2
    return y.mul_(2).clamp_(max=3)


def drawn_out(x):
    values, places = x.topk(2, 1)
    return values, places, x.gather(1, places), polyad.cat([x, x[:1]]), polyad.stack([x, x], 1), x.softmax(0).argmax(1)


def transformed(x):
    return polyad.fft.rfft(x).abs(), F.interpolate(x[None], scale_factor=2), F.normalize(x), polyad.cdist(x, x)


MODELS = {
    "branches": (Branches, (2, 3), (5, 3)),
    "convolutional": (convolutional, (1, 2, 8, 8), (3, 2, 8, 8)),
    "lstm": (lambda: Recurrent("LSTM"), (2, 5, 3), (4, 7, 3)),
    "gru": (lambda: Recurrent("GRU"), (2, 5, 3), (4, 7, 3)),
    "rnn": (lambda: Recurrent("RNN"), (2, 5, 3), (4, 7, 3)),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), (2, 5, 4), (3, 5, 4)),
    "shaped": (lambda: shaped, (4, 6), (3, 6)),
    "written": (lambda: written, (3, 4), (5, 2)),
    "drawn out": (lambda: drawn_out, (3, 4), (5, 6)),
    "transformed": (lambda: transformed, (3, 4), (5, 4)),
}


@pytest.mark.parametrize("name", MODELS)
def test_programs_do_the_same_for_other_sizes_and_from_files(name):
    polyad.manual_seed(0)
    make, example, other = MODELS[name]
    function = make()
    traced = jit.trace(function, polyad.randn(*example))
    loaded = jit.load(io.BytesIO(traced.save_to_buffer()))
    for shape in (example, other):
        x = polyad.randn(*shape)
        wanted = function(x)
        assert_close(traced(x), wanted)
        assert_close(loaded(x), wanted)


def test_the_text_has_the_modules_and_their_calls():
    model = Branches()
    traced = jit.trace(model, polyad.ones(2, 3))
    assert list(traced.state_dict()) == list(model.state_dict())
    assert "self.shared).forward(" in traced.code
    assert "self.shared).forward1(" in traced.code  # each call is a method
    assert "torch.linear(" in getattr(traced.layers, "1").code
    assert traced.layers[0].weight is model.layers[0].weight
    assert isinstance(traced, jit.ScriptModule)


def test_traced_modules_train_with_the_module():
    model = Branches()
    traced = jit.trace(model, polyad.ones(2, 3))
    optimizer = polyad.optim.SGD(traced.parameters(), 0.1)
    before = traced(polyad.ones(4, 3)).sum()
    before.backward()
    optimizer.step()
    assert model.shared.weight.grad is traced.shared.weight.grad
    assert_close(traced(polyad.ones(4, 3)), model(polyad.ones(4, 3)))
    assert traced(polyad.ones(4, 3)).sum() < before


def test_batch_norm_in_training_is_one_operator_that_updates_buffers():
    model, other = (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)) for _ in range(2))
    other.load_state_dict(model.state_dict())
    x = polyad.randn(5, 2)
    traced = jit.trace(model, x)
    model.load_state_dict(other.state_dict())
    assert "torch.batch_norm(" in traced[1].code
    assert_close(traced(x), other(x))
    assert_close(dict(model.state_dict()), dict(other.state_dict()))


def test_arguments_may_be_nested_and_named():
    def function(pair, named, scale):
        return {"sum": pair[0] + pair[1] * scale, "other": named["a"]}

    x = polyad.ones(2)
    traced = jit.trace(function, ((x, x * 2), {"a": x}, polyad.tensor(3.0)), strict=False)
    found = traced((x * 2, x), {"a": x * 4}, polyad.tensor(2.0))
    assert found["sum"].tolist() == [4.0, 4.0]
    assert found["other"].tolist() == [4.0, 4.0]
    model = Branches()
    by_name = jit.trace(model, example_kwarg_inputs={"x": polyad.ones(2, 3), "scale": polyad.tensor(2.0)})
    assert_close(by_name(x=polyad.ones(5, 3), scale=polyad.tensor(3.0)), model(polyad.ones(5, 3)) * 3)


def test_several_methods():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x)

        def twice(self, x):
            return self.inner(self.inner(x))

    model = Pair()
    traced = jit.trace_module(model, {"forward": polyad.ones(1, 2), "twice": polyad.ones(1, 2)})
    x = polyad.randn(3, 2)
    assert_close(traced.twice(x), model.twice(x))
    loaded = jit.load(io.BytesIO(traced.save_to_buffer()))
    assert_close(loaded.twice(x), model.twice(x))
    with pytest.raises(AttributeError, match="use trace_module"):
        jit.trace(model.twice, polyad.ones(1, 2))
    assert jit.trace(traced, polyad.ones(1, 2)) is traced


@pytest.mark.parametrize(
    ("function", "inputs", "error", "what"),
    [
        (lambda x: {"a": x}, (polyad.ones(1),), RuntimeError, "a dict at the output of the tracer"),
        (lambda x: None, (polyad.ones(1),), RuntimeError, "didn't return any values"),
        (lambda x: (x, ()), (polyad.ones(1),), RuntimeError, "only tensors, lists, tuples of tensors"),
        (lambda x: (x, None), (polyad.ones(1),), RuntimeError, "only tensors, lists, tuples of tensors"),
        (lambda x: 3, (polyad.ones(1),), RuntimeError, "only tensors, lists, tuples of tensors"),
        (lambda x, y: x, (polyad.ones(1), 2), RuntimeError, "Only Tensors and"),
        (lambda x: x, None, ValueError, "pass example_inputs or example_kwarg_inputs"),
        (3, (polyad.ones(1),), TypeError, "3 cannot be called"),
        (lambda x: x * PARAMETER, (polyad.ones(1),), RuntimeError, "requires grad as a constant"),
        (
            lambda x: (x.sum().backward(), x)[1] * 2,
            (polyad.ones(1, requires_grad=True),),
            NotImplementedError,
            "trace the forward pass alone",
        ),
    ],
)
def test_what_no_program_holds_is_refused(function, inputs, error, what):
    with pytest.raises(error, match=what):
        jit.trace(function, inputs)


PARAMETER = nn.Parameter(polyad.ones(1))


def test_decisions_by_data_and_differences_are_warned_of():
    with pytest.warns(jit.TracerWarning, match="reads data"):
        jit.trace(lambda x: x + 1 if x.sum() > 0 else x, polyad.ones(2))
    calls = []

    def counting(x):
        calls.append(1)
        return x + len(calls)

    with pytest.warns(jit.TracerWarning, match="output nr 1 of the traced function does not match"):
        jit.trace(counting, polyad.ones(2))
    with pytest.warns(jit.TracerWarning, match="draws random numbers"):
        jit.trace(nn.Dropout(0.5), polyad.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.trace(nn.Dropout(0.5), polyad.ones(2), check_trace=False)
    with pytest.warns(jit.TracerWarning, match="a list at the output"):
        jit.trace(lambda x: [x, x + 1], polyad.ones(2))


def test_frozen_modules_have_constants_and_folded_norms():
    polyad.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.ConvTranspose2d(4, 3, 2), nn.BatchNorm2d(3),
    )  # fmt: skip
    for _ in range(3):
        model(polyad.randn(4, 2, 6, 6))
    model.eval()
    x = polyad.randn(2, 2, 6, 6)
    traced = jit.trace(model, x)
    plain = jit.freeze(traced, optimize_numerics=False)
    assert (list(plain.parameters()), list(plain.buffers())) == ([], [])
    assert polyad.equal(plain(x), model(x))
    assert "aten::batch_norm" in jit.export_opnames(plain)
    fast = jit.optimize_for_inference(jit.load(io.BytesIO(traced.save_to_buffer())))
    assert not any("batch_norm" in name for name in jit.export_opnames(fast))
    assert_close(fast(x), model(x))
    assert_close(jit.load(io.BytesIO(fast.save_to_buffer()))(x), model(x))
    kept = jit.freeze(traced, preserve_parameters=True, optimize_numerics=False)
    assert [name for name, _ in kept.named_parameters()] == [name for name, _ in model.named_parameters()]
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        jit.freeze(jit.trace(model.train(), x, check_trace=False))
    with pytest.raises(ValueError, match="no attribute other"):
        jit.freeze(traced, preserved_attrs=["other"])
    with pytest.raises(TypeError, match="is no scripted or traced module"):
        jit.freeze(model)


def test_frozen_modules_read_what_was_of_others():
    model = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    x = polyad.randn(2, 3, 4)
    frozen = jit.freeze(jit.trace(model, x))
    assert list(frozen.parameters()) == []
    assert_close(frozen(x), model(x))


def test_a_function_that_is_nobody_elses_is_written_for_readers_without_it():
    traced = jit.trace(Recurrent("LSTM"), polyad.randn(2, 5, 3))
    program = traced.save_to_buffer()
    assert b"def lstm_sequence(" in program
    assert b"ops.polyad" not in program


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod"])
def test_augmented_assignments_of_numbers(name):
    _check_augmented(getattr(operator, name), polyad.tensor([[5.0, 6], [7, 8]]), polyad.tensor([[3.0, 1.5], [2, 1]]))


@pytest.mark.parametrize("name", ["iand", "ior", "ixor", "ilshift", "irshift"])
def test_augmented_assignments_of_bits(name):
    _check_augmented(getattr(operator, name), polyad.tensor([[5, 6], [7, 8]]), polyad.tensor([[3, 1], [2, 1]]))


def _check_augmented(change, x, y):
    def function(x, y):
        z = x.clone()
        z[:, 1] = change(z[:, 1], y[:, 0])
        z = change(z, y)
        return change(z, 2)

    traced = jit.trace(function, (x, y))
    assert_close(traced(x + 1, y), function(x + 1, y))


@pytest.mark.parametrize("make", [jit.script, lambda module: jit.trace(module, polyad.ones(1, 3))])
def test_a_deep_copy_has_its_own_parameters(make):
    x = polyad.ones(2, 3)
    made = make(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)))
    before = made(x).detach()
    copied = copy.deepcopy(made)
    assert_close(copied(x), before)
    with polyad.no_grad():
        for parameter in copied.parameters():
            parameter.zero_()
    assert_close(copied(x), polyad.zeros(2, 2))
    assert_close(made(x), before)


class Halves(nn.Module):
    def forward(self, pair):
        a, b = pair
        assert a.shape[0] % 2 == 0
        return polyad.cat(tuple(a.split(2)), 1), b * 2


@pytest.mark.parametrize(
    ("function", "example", "other"),
    [
        (lambda x: x.split(4), (10, 3), (12, 3)),
        (lambda x: sum(x.unbind(0)), (3, 2), (4, 2)),
        (lambda x: x * 2 if x.shape[1] > 3 else x, (3, 3), (3, 4)),
    ],
)
def test_programs_raise_for_sizes_for_which_they_are_wrong(function, example, other, tmp_path):
    with pytest.warns(jit.TracerWarning, match="the program raises for other sizes of dim"):
        traced = jit.trace(function, polyad.randn(*example))
    traced.save(tmp_path / "program.pt")
    for program in (traced, jit.load(tmp_path / "program.pt")):
        assert_close(program(x := polyad.randn(*example)), function(x))
        dim = next(dim for dim, size in enumerate(example) if other[dim] != size)
        with pytest.raises(RuntimeError, match=rf"dim {dim} of x is {other[dim]}, .* traced with {example[dim]} "):
            program(polyad.randn(*other))


def test_methods_check_tensors_within_arguments_and_leave_the_rest_open():
    with pytest.warns(jit.TracerWarning, match=r"other sizes of dim 0 of pair\[0\] \(4\): "):
        traced = jit.trace(Halves(), ((polyad.ones(4, 3), polyad.ones(2)),))
    assert [tuple(one.shape) for one in traced((polyad.ones(4, 5), polyad.ones(7)))] == [(2, 10), (7,)]
    with pytest.raises(RuntimeError, match=r"dim 0 of pair\[0\] is 6"):
        traced((polyad.ones(6, 3), polyad.ones(2)))
    assert "RaiseException" not in jit.trace(nn.Linear(3, 2), polyad.ones(2, 3)).code  # which fails by itself
