"""A compiled function does what the function does: results, gradients, versions, random numbers, effects, errors."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
import weakref

import pytest

import polyad as torch
from fuzz import compiled as fuzzing
from polyad import nn
from polyad.compiler.regions import region_of
from polyad.nn import functional as F

pytestmark = pytest.mark.filterwarnings("error:compile:UserWarning")


def bits(value):
    """What is to be the same of a result."""
    if isinstance(value, torch.Tensor):
        found = (value.dtype, tuple(value.shape), value.stride(), value.requires_grad, value._version)
        return (*found, value.grad_fn.name() if value.grad_fn is not None else None, value.detach().numpy().tobytes())
    if isinstance(value, (list, tuple)):
        return [bits(one) for one in value]
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    return value


def both(make, *calls):
    """Run what *make* makes, a function and what it leaves, eagerly and compiled, for each of *calls* in turn."""
    found = []
    for compile in (lambda function: function, torch.compile):
        torch.manual_seed(3)
        function, left = make()
        called, results = compile(function), []
        for args in calls:
            try:
                results.append(bits(called(*args)))
            except Exception as error:
                results.append((type(error), str(error).partition("\n")[0]))
        found.append((results, bits(left()), torch.get_rng_state().tolist()))
    assert found[0] == found[1]
    return region_of(called)


def stretches(region):
    """The stretches of the last run."""
    (program,) = region.programs.values()
    return program.last.ends


def trained(model, optimizer, loss_of):
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    def left():
        states = [value for state in optimizer.state.values() for value in state.values()]
        return [*model.parameters(), *model.buffers(), *[p.grad for p in model.parameters()], *states]

    return step, left


BATCHES = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(6)]


def perceptron():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


def normalised():
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3)
    )


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4, bias=False), nn.Linear(4, 3)

    def forward(self, x):
        return self.last(torch.tanh(self.first(torch.tanh(self.first(x)))).t().t())


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", [perceptron, normalised, Tied])
def test_training(model, optimizer):
    def make():
        net = model()
        return trained(net, OPTIMIZERS[optimizer](net.parameters()), F.cross_entropy)

    region = both(make, *BATCHES)
    assert stretches(region)[-1].rows, "no tape ran"


def test_convolutions():
    def make():
        net = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
        )
        return trained(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), F.cross_entropy)

    batches = [(torch.randn(2, 1, 8, 8), torch.randint(0, 3, (2,))) for _ in range(4)]
    assert stretches(both(make, *batches))[-1].rows


def test_memory_that_is_known_later():
    """The first step gives buffers a storage, which is no other way through the program."""

    def make():
        net = normalised()
        return trained(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), F.cross_entropy)

    (program,) = both(make, *BATCHES).programs.values()
    assert (program.tries, program.differed) == (2, {"update": 1})


class TestPrograms:
    """Programs of all kinds."""

    def test_python_runs(self):
        def make():
            seen, count = [], [0]

            def step(x):
                count[0] += 1
                y = (x * 2).relu()
                seen.append(y)
                if count[0] % 3 == 0:
                    y = y.exp()
                return y.sum()

            return step, lambda: [seen, count]

        both(make, *[(torch.randn(3),) for _ in range(12)])

    def test_data_decides(self):
        def make():
            def step(x):
                y = x.sin()
                if y.sum() > 0:
                    return y * 2
                return y - 1

            return step, lambda: None

        both(make, *[(torch.randn(3),) for _ in range(16)])

    def test_what_fails_after_a_write_is_not_done_again(self):
        def make():
            seen, table = torch.zeros(3), torch.randn(4, 3)

            def step(places):
                seen.add_(1)
                return F.embedding(places, table) * 2

            return step, lambda: seen

        places = torch.tensor([1, 3])
        both(make, (places,), (places,), (places + 1,), (places,))

    @pytest.mark.parametrize("write", ["mul_", "__imul__", "relu_"])
    def test_writes_to_what_was_read(self, write):
        """What is computed already and written to later shows the write where no op asks for it."""

        def make():
            def step(x):
                y = x * 2
                y.sum().item()
                getattr(y, write)(*([3] if "mul" in write else []))
                return y._version, y.grad_fn and y.grad_fn.name(), y

            return step, lambda: None

        for grad in (False, True):
            both(make, *[(torch.randn(3, requires_grad=grad),) for _ in range(4)])

    @pytest.mark.parametrize(
        "read", ["item", "tolist", "numpy", "print", "bool", "float", "data_ptr", "version", "grad_fn"]
    )
    def test_reads_in_between(self, read, capsys):
        def look(y):
            if read == "print":
                return print(y)
            if read == "data_ptr":
                return y.data_ptr() != 0
            if read == "version":
                return y._version
            if read == "grad_fn":
                return y.grad_fn.name()
            if read == "numpy":
                return y.detach().numpy().tobytes()
            if read in ("bool", "float"):
                return {"bool": bool, "float": float}[read](y.sum())
            return y.tolist() if read == "tolist" else y.sum().item()

        def make():
            w = torch.randn(3, requires_grad=True)

            def step(x):
                w.grad = None
                y = (x * w).tanh()
                seen = look(y)
                y.square().sum().backward()
                with torch.no_grad():
                    w.sub_(0.1 * w.grad)
                return seen, y, look(w.detach() * 1.0 if read != "grad_fn" else (w * 1))

            return step, lambda: [w, w.grad]

        both(make, *[(torch.randn(3),) for _ in range(5)])

    def test_numbers_that_change(self):
        def make():
            w = torch.randn(3, requires_grad=True)

            def step(x, rate):
                w.grad = None
                (w * x).square().sum().backward()
                with torch.no_grad():
                    w.add_(w.grad, alpha=-rate)
                return w * rate

            return step, lambda: [w, w.grad]

        both(make, *[(torch.randn(3), 0.1 / (1 + number)) for number in range(12)])

    def test_numbers_that_are_sizes(self):
        def make():
            def step(x, scale):
                y = F.interpolate(x, scale_factor=scale, mode="bilinear")
                return y.shape, y, torch.arange(0.0, 1.0, 0.5 / scale), x * scale

            return step, lambda: None

        both(make, *[(torch.randn(1, 1, 4, 4), scale) for scale in (1.5, 2.0, 2.5, 1.5, 2.0)])

    def test_schedules(self):
        def make():
            net = perceptron()
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
            step, left = trained(net, optimizer, F.cross_entropy)

            def scheduled(x, y):
                loss = step(x, y)
                schedule.step()
                return loss

            return scheduled, left

        region = both(make, *BATCHES)
        assert stretches(region)[-1].rows
        (program,) = region.programs.values()
        assert len(program.recordings) <= 2, "each learning rate was recorded anew"

    def test_accumulation_and_clipping(self):
        def make():
            net = perceptron()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            count = [0]

            def step(x, y):
                count[0] += 1
                (F.cross_entropy(net(x), y) / 2).backward()
                if count[0] % 2 == 0:
                    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                    optimizer.step()
                    optimizer.zero_grad()
                    return norm
                return None

            return step, lambda: [*net.parameters(), *[p.grad for p in net.parameters()]]

        both(make, *BATCHES, *BATCHES)

    def test_views_and_writes(self):
        def make():
            buffer = torch.zeros(4, 3)

            def step(x):
                y = x * 2
                row = y[0]
                row.add_(1)
                z = y.t()
                buffer[1].copy_(row)
                buffer.mul_(0.5)
                w = z.reshape(-1)[2:]
                y[1:].zero_()
                return y, row, z, w, buffer.sum(0)

            return step, lambda: [buffer]

        both(make, *[(torch.randn(4, 3),) for _ in range(5)])

    def test_writes_that_are_recorded(self):
        def make():
            w = torch.randn(4, 3, requires_grad=True)

            def step(x):
                y = w * x
                y[0].mul_(2)
                y.relu_()
                y.sum().backward()
                return y

            return step, lambda: [w, w.grad]

        both(make, *[(torch.randn(4, 3),) for _ in range(5)])

    def test_results_share_memory_as_eagerly(self):
        def step(x):
            y = x.exp()
            return y, y.t(), y.detach(), y[0]

        compiled = torch.compile(step)
        for _ in range(4):
            y, transposed, detached, row = compiled(torch.ones(2, 3))
            assert transposed._base is y
            y.zero_()
            assert transposed.sum() == detached.sum() == row.sum() == 0
            assert transposed._version == detached._version == row._version == 1

    def test_arguments_come_back(self):
        def step(x):
            return x, x.contiguous(), x.to(torch.float32), x.detach()

        compiled = torch.compile(step)
        for _ in range(4):
            x = torch.randn(3)
            same, contiguous, converted, detached = compiled(x)
            assert same is contiguous is converted is x
            assert detached.data_ptr() == x.data_ptr()

    def test_random_numbers(self):
        def make():
            own = torch.Generator().manual_seed(1)

            def step(x):
                a = torch.rand(3) + F.dropout(x, 0.5)
                torch.manual_seed(7)
                b = torch.randn(3, generator=own)
                c = torch.bernoulli(x.sigmoid())
                d = torch.randperm(5)
                return a, b, c, d

            return step, lambda: [own.get_state()]

        both(make, *[(torch.randn(3),) for _ in range(5)])

    def test_sizes_that_follow_from_data(self):
        def make():
            def step(x):
                return x[x > 0] * 2, x.nonzero(), torch.unique(x.round())

            return step, lambda: None

        both(make, *[(torch.randn(8),) for _ in range(6)])

    def test_second_derivatives_and_grad(self):
        def make():
            w = torch.randn(3, requires_grad=True)

            def step(x):
                (slope,) = torch.autograd.grad((w * x).pow(3).sum(), w, create_graph=True)
                (plain,) = torch.autograd.grad((w * x).exp().sum(), w)
                slope.square().sum().backward()
                return slope, plain

            return step, lambda: [w, w.grad]

        both(make, *[(torch.randn(3),) for _ in range(5)])

    def test_hooks(self):
        def make():
            net = perceptron()
            seen = []
            net[0].register_forward_hook(lambda module, given, out: seen.append(out.sum().item()))
            step, left = trained(net, torch.optim.SGD(net.parameters(), lr=0.1), F.cross_entropy)
            calls = [0]

            def hooked(x, y):
                calls[0] += 1
                if calls[0] == 3:
                    net[0].weight.register_hook(lambda grad: seen.append(grad.sum().item()))
                return step(x, y)

            return hooked, lambda: [seen, left()]

        both(make, *BATCHES)

    def test_saved_tensor_hooks(self):
        def make():
            w, seen = torch.randn(3, requires_grad=True), []

            def step(x):
                with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
                    y = (w * x).sum()
                y.backward()
                return y

            return step, lambda: [w.grad, seen]

        both(make, *[(torch.randn(3),) for _ in range(4)])

    def test_autocast(self):
        def make():
            net = perceptron()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

            def step(x, y):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss

            return step, lambda: [*net.parameters()]

        both(make, *BATCHES)

    def test_errors_of_the_function(self):
        def make():
            w, count = torch.randn(3, requires_grad=True), [0]

            def step(x):
                count[0] += 1
                y = w * x
                y.sum().backward()
                if count[0] == 3:
                    raise KeyError("mine")
                return y

            return step, lambda: [w, w.grad, count]

        both(make, *[(torch.randn(3),) for _ in range(5)])

    @pytest.mark.parametrize("caught", [False, True])
    def test_errors_of_calls(self, caught):
        def make():
            table = torch.randn(4, 3, requires_grad=True)

            def step(x, at):
                y = x * 2
                try:
                    rows = F.embedding(at, table)
                    return (rows.sum() + y.sum()) * 1
                except IndexError:
                    if not caught:
                        raise
                    return y
                except RuntimeError:
                    return y

            return step, lambda: [table.grad]

        good = torch.tensor([0, 3])
        with torch.no_grad():
            both(make, *[(torch.randn(3), good)] * 3)
        both(make, *[(torch.randn(3), good)] * 3)

    def test_shapes_dtypes_strides_and_requires_grad_change(self):
        def make():
            def step(x):
                y = (x * 2).sum(-1)
                return y, x.requires_grad

            return step, lambda: None

        given = torch.randn(3, 4)
        arguments = [given, given.t(), given.double(), given[:, ::2], given[1:], given.clone().requires_grad_(), given]
        both(make, *[(one,) for one in arguments * 3])

    def test_inputs_that_alias(self):
        def step(x, y):
            x.add_(1)
            return y * 2, x

        compiled = torch.compile(step)
        for number in range(8):
            found = []
            for function in (step, compiled):
                base = torch.arange(6.0)
                y = base[2:5] if number % 3 else torch.ones(3)
                found.append(bits([function(base[:3], y), base, y]))
            assert found[0] == found[1]

    def test_globals_closures_flags_and_swapped_parts(self):
        def make(compile):
            net, factor = perceptron(), [2.0]

            @compile
            def step(x):
                with torch.no_grad():
                    return net(x) * factor[0]

            def program(x, number):
                if number == 3:
                    net.eval()
                if number == 5:
                    net[0] = nn.Linear(4, 8)
                if number == 7:
                    net[3].weight = nn.Parameter(torch.ones(3, 8))
                if number == 9:
                    factor[0] = 3.0
                if number == 11:
                    net[1] = nn.Tanh()
                if number == 13:
                    net[3].weight.data = torch.zeros(3, 8)
                return step(x)

            return program

        found = []
        for compile in (lambda function: function, torch.compile):
            torch.manual_seed(0)
            program = make(compile)
            found.append([bits(program(torch.ones(2, 4), number)) for number in range(16)])
        assert found[0] == found[1]

    def test_generators_and_recursion(self):
        def numbers(x):
            for _ in range(2):
                x = x * 2
                yield x

        @torch.compile
        def down(x, n):
            return x if n == 0 else down(x * 2, n - 1) + 1

        for _ in range(4):
            assert [one.item() for one in torch.compile(numbers)(torch.ones(1))] == [2.0, 4.0]
            assert down(torch.ones(1), 3).item() == 11.0

    @pytest.mark.parametrize("inference", [torch.no_grad, torch.inference_mode])
    def test_inference(self, inference):
        def make():
            net = normalised().eval()

            def step(x):
                with inference():
                    return net(x).softmax(-1)

            return step, lambda: None

        region = both(make, *[(torch.randn(2, 4),) for _ in range(4)])
        assert stretches(region)[-1].rows

    def test_what_inference_mode_leaves(self):
        @torch.compile
        def step(x):
            with torch.inference_mode():
                y = x * 2
            return y

        for _ in range(4):
            y = step(torch.ones(2))
            assert y.is_inference()
            with pytest.raises(RuntimeError, match="inference_mode"):
                y.add_(1)

    def test_func_transforms(self):
        step = torch.compile(lambda x: (x * x).sum())
        for _ in range(4):
            assert torch.func.grad(step)(torch.ones(2)).tolist() == [2.0, 2.0]
            assert torch.vmap(step)(torch.ones(3, 2)).tolist() == [2.0] * 3
        inner = torch.compile(lambda x: torch.func.grad(lambda y: y.sin().sum())(x) * 2)
        for _ in range(4):
            x = torch.randn(3)
            assert torch.equal(inner(x), x.cos() * 2)

    def test_subclasses(self):
        class Logged(torch.Tensor):
            seen: list = []  # noqa: RUF012

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.seen.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs)

        step = torch.compile(lambda x: torch.exp(x) + 1)
        for _ in range(3):
            assert type(step(torch.zeros(2).as_subclass(Logged))) is Logged
        assert "exp" in Logged.seen

    def test_types_inside(self):
        kinds = []
        step = torch.compile(lambda x: kinds.append((type(x * 2), isinstance(x + 1, torch.Tensor))) or x * 3)
        for _ in range(3):
            step(torch.ones(2))
        assert set(kinds) == {(torch.Tensor, True)}


def test_views_of_views():
    def make():
        net = nn.Linear(4, 6)

        def step(x):
            net.zero_grad()
            first, second = net(x).reshape(2, 3, 6).chunk(2, -1)
            loss = (first.transpose(1, 2).reshape(2, -1) * second[:, :, 1:].reshape(2, -1)[:, :1]).sum()
            loss.backward()
            return loss

        return step, lambda: [p.grad for p in net.parameters()]

    region = both(make, *[(torch.randn(6, 4),) for _ in range(4)])
    assert stretches(region)[-1].rows


class TestGraphs:
    def test_a_loss_says_that_its_graph_was_freed(self):
        def make():
            w = torch.randn(3, requires_grad=True)

            def step(x):
                loss = (w * x).square().sum()
                loss.backward()
                return loss

            return step, lambda: [w.grad]

        step, _ = make()
        compiled = torch.compile(step)
        for _ in range(4):
            loss = compiled(torch.ones(3))
            assert loss.requires_grad
            with pytest.raises(RuntimeError, match="freed"):
                loss.backward()

    def test_history_goes_on_outside(self):
        def make():
            net = perceptron().eval()
            step = torch.compile(net)

            def program(x):
                net.zero_grad()
                step(x).square().sum().backward()
                return [p.grad for p in net.parameters()]

            return net, program

        net, program = make()
        for _ in range(4):
            x = torch.randn(2, 4)
            found = bits(program(x))
            net.zero_grad()
            net(x).square().sum().backward()
            assert found == bits([p.grad for p in net.parameters()])

    def test_retained_graphs(self):
        def make():
            w = torch.randn(3, requires_grad=True)

            def step(x):
                loss = (w * x).square().sum()
                loss.backward(retain_graph=True)
                loss.backward()
                return loss

            return step, lambda: [w.grad]

        both(make, *[(torch.randn(3),) for _ in range(4)])

    def test_two_losses(self):
        def make():
            w, v = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)

            def step(x):
                w.grad = v.grad = None
                shared = w * x
                first, second = (shared * v).sum(), shared.exp().sum()
                first.backward(retain_graph=True)
                grown = w.grad.clone()
                second.backward()
                return first, second, grown, shared

            return step, lambda: [w.grad, v.grad]

        both(make, *[(torch.randn(3),) for _ in range(4)])


class TestThreads:
    def test_one_function_in_many(self):
        def step(x, w):
            w.grad = None
            loss = (x @ w).tanh().sum()
            loss.backward()
            return loss

        compiled, wrong = torch.compile(step), []

        def work(seed):
            generator = torch.Generator().manual_seed(seed)
            w = torch.randn(4, 4, generator=generator).requires_grad_()
            other = w.detach().clone().requires_grad_()
            for _ in range(20):
                x = torch.randn(2, 4, generator=generator)
                if bits(compiled(x, w)) != bits(step(x, other)) or bits(w.grad) != bits(other.grad):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_another_thread_reads_what_is_pending(self):
        found = []

        def step(x):
            y = x * 2 + 1
            for read in (lambda: y.tolist(), lambda: (y + y).tolist(), lambda: y.t().sum().item()):
                thread = threading.Thread(target=lambda read=read: found.append(read()))
                thread.start()
                thread.join()
            return y

        compiled = torch.compile(step)
        for _ in range(4):
            found.clear()
            compiled(torch.ones(2))
            assert found == [[3.0, 3.0], [6.0, 6.0], 6.0]


class TestMemory:
    def test_nothing_is_held(self):
        def step(x):
            y = x * 2
            return y.exp().sum()

        compiled = torch.compile(step)
        for _ in range(4):
            x = torch.randn(3)
            seen = weakref.ref(x)
            compiled(x)
            del x
            assert seen() is None

    def test_runs_leave_no_cycles(self):
        w = torch.randn(3, requires_grad=True)

        def step(x):
            w.grad = None
            loss = (w * x).sum()
            loss.backward()
            return loss

        compiled = torch.compile(step)
        for _ in range(4):
            compiled(torch.ones(3))
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                compiled(torch.ones(3))
            assert gc.collect() == 0
        finally:
            gc.enable()

    def test_results_are_new_each_time(self):
        compiled = torch.compile(lambda x: x * 2)
        results = [compiled(torch.full((2,), float(number))) for number in range(5)]
        assert [one.tolist() for one in results] == [[2.0 * number] * 2 for number in range(5)]


def test_pickled_and_copied_inside():
    def make():
        def step(x):
            y = x * 2
            return pickle.loads(pickle.dumps(y)), copy.deepcopy(y), copy.copy(y)

        return step, lambda: None

    both(make, *[(torch.randn(3),) for _ in range(4)])


def test_too_many_ways_warn_once_and_run():
    @torch.compile(recompile_limit=2)
    def step(x, n):
        return (x * n).sum()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = [step(torch.ones(2, requires_grad=True), number).item() for number in range(12)]
    assert results == [2.0 * number for number in range(12)]
    assert len([one for one in seen if "ever other ways" in str(one.message)]) == 1


class TestRandomPrograms:
    """A slice: `python -m fuzz.compiled` runs hundreds."""

    def test_as_they_are(self):
        found = [one for number in range(12) for one in fuzzing.differences(number, seed=2026)]
        assert not found


@pytest.mark.parametrize("trained", [1, 9])
def test_ways_that_take_turns_are_all_recorded(trained):
    """Whatever turn the other way has come to when the next run is recorded."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
    model = copy.deepcopy(plain)
    compiled = torch.compile(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            for training in [True] * trained + [False]:
                x = torch.randn(6, 4)
                results = []
                for one, module in ((plain, plain), (compiled, model)):
                    module.train(training)
                    results.append(one(x))
                    if training:
                        module.zero_grad()
                        results[-1].sum().backward()
                assert torch.equal(*results)
                assert all(
                    map(torch.equal, [one.grad for one in plain.parameters()], [one.grad for one in model.parameters()])
                )
    (program,) = region_of(compiled).programs.values()
    assert (len(program.recordings), program.plain) == (2, "")
    assert program.runs - program.differed.total() > 10 * trained


def test_the_warning_names_the_class_of_a_model():
    class Scaled(nn.Module):
        def forward(self, x, n):
            return (x * n).sum()

    compiled = torch.compile(Scaled(), recompile_limit=2)
    with pytest.warns(UserWarning, match="compile: .*Scaled takes ever other ways"):
        _ = [compiled(torch.ones(2, requires_grad=True), number) for number in range(12)]
