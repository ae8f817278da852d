"""What may not wait for the device: all but what needs values to know what comes out."""

import gc

import pytest
from cupy import simulation

import polyad

F = polyad.nn.functional


@pytest.fixture
def waits(monkeypatch):
    """A function that says how often the host waits while it calls another, which was called once before."""
    seen = []
    for kind in (simulation.Queue, simulation.Device):
        monkeypatch.setattr(
            kind, "finish", lambda self, *given, finish=kind.finish: seen.append(self) or finish(self, *given)
        )

    def counted(work):
        work()
        polyad.cuda.synchronize()
        seen.clear()
        work()
        return len(seen)

    return counted


def matrix():
    return (polyad.arange(12.0, device="cuda") / 12).reshape(3, 4).requires_grad_()


def chosen(*values):
    return polyad.tensor(values, device="cuda")


def put(*indices, adds=False):
    x = polyad.zeros(3, 4, device="cuda")
    if adds:
        x[indices] += 1.0
    else:
        x[indices] = 1.0


def bag(offsets, **settings):
    settings = {"mode": "sum", **settings}
    F.embedding_bag(chosen(1, 2, 0, 1, 2), matrix(), offsets, **settings).sum().backward()


def ctc(lengths, targets=None, target_lengths=None):
    logs = matrix()[:, None].expand(3, 2, 4).log_softmax(2)
    targets = chosen(1, 2, 1, 3).reshape(2, 2) if targets is None else targets
    F.ctc_loss(logs, targets, lengths, chosen(1, 2) if target_lengths is None else target_lengths).backward()


def spectrum():
    return polyad.stft(
        polyad.arange(32.0, device="cuda"), 8, 2, window=polyad.ones(8, device="cuda"), return_complex=True
    )


def long_lines(index):
    x, values = polyad.zeros(7, device="cuda"), polyad.ones(500, device="cuda")
    return x.index_add(0, index, values), x.scatter(0, index, values), x.scatter_add(0, index, values)


def symmetric():
    return polyad.diag(polyad.tensor([1.0, 2.0, 4.0], device="cuda")).requires_grad_()


CALLS = {
    "x[i]": lambda: matrix()[chosen(0, -1)].sum().backward(),
    "x[i, j]": lambda: matrix()[chosen(0, -1), chosen(1, 2)].sum().backward(),
    "x[:, j]": lambda: matrix()[:, chosen(-2, 1)].sum().backward(),
    "x[i] = 1": lambda: put(chosen(0, -1)),
    "x[i, j] = 1": lambda: put(chosen(0, 1), chosen(2, -2)),
    "x[i, j] += 1": lambda: put(chosen(0, 1), chosen(2, -2), adds=True),
    "x[mask] = 1": lambda: put(matrix() > 0.5),
    "x[:, mask] = 1": lambda: put(slice(None), chosen(1, 0, 0, 1) > 0),
    "take": lambda: matrix().take(chosen(-1, 5)).sum().backward(),
    "put_": lambda: matrix().detach().put_(chosen(-1, 5), polyad.ones(2, device="cuda")),
    "gather": lambda: matrix().gather(1, chosen(1, 2, 0)[:, None]).sum().backward(),
    "scatter_add": lambda: matrix().scatter_add(1, chosen(1, 2, 0)[:, None], polyad.ones(3, 1, device="cuda")),
    "index_add": lambda: matrix().index_add(0, chosen(1, 2), polyad.ones(2, 4, device="cuda")),
    "masked_fill": lambda: matrix().masked_fill(matrix() > 0.5, 0.0).sum().backward(),
    "embedding": lambda: F.embedding(chosen(1, 2), matrix()).sum().backward(),
    "cross_entropy": lambda: F.cross_entropy(matrix(), chosen(1, 2, 0)).backward(),
    "layer_norm": lambda: F.layer_norm(matrix(), (4,)).sum().backward(),
    "batch_norm": lambda: F.batch_norm(matrix(), None, None, training=True).sum().backward(),
    "dropout": lambda: F.dropout(matrix()).sum().backward(),
    "topk": lambda: matrix().topk(2)[0].sum().backward(),
    "cumsum": lambda: matrix().cumsum(0).sum().backward(),
    "attention": lambda: F.scaled_dot_product_attention(*[matrix()[None, None]] * 3).sum().backward(),
    "normal": lambda: polyad.randn(5, device="cuda"),
    "randperm": lambda: polyad.randperm(5, device="cuda"),
    "bernoulli": lambda: polyad.bernoulli(matrix().detach()),
    "multinomial": lambda: [polyad.multinomial(matrix().detach(), 2, replacement=again) for again in (True, False)],
    "//": lambda: [chosen(7, -7) // chosen(2, 2), chosen(7, -7) % chosen(2, 2), chosen(7, -7).fmod(chosen(2, 2))],
    "//=": lambda: chosen(7, -7).floor_divide_(chosen(2, 2)),
    "gcd": lambda: [polyad.gcd(chosen(6, 4), chosen(9, 6)), polyad.lcm(chosen(6, 4), chosen(9, 6))],
    "one_hot": lambda: F.one_hot(chosen(1, 0), 3),
    "embedding_bag": lambda: bag(chosen(0, 3)),
    "embedding_bag, padding": lambda: bag(chosen(0, 3), padding_idx=1),
    "embedding_bag, last offset": lambda: bag(chosen(0, 3, 4), mode="mean", include_last_offset=True),
    "ctc_loss": lambda: ctc(chosen(3, 2)),
    "ctc_loss, lengths on the host": lambda: ctc(polyad.tensor([3, 2])),
    "ctc_loss, targets in a row": lambda: ctc([3, 2], chosen(1, 2, 1), [2, 1]),
    "gaussian_nll_loss": lambda: F.gaussian_nll_loss(matrix(), matrix().detach(), matrix().detach() + 1).backward(),
    "quantile": lambda: matrix().quantile(polyad.tensor([0.5, 0.1], device="cuda"), 1).sum().backward(),
    "masked_scatter": lambda: matrix().masked_scatter(matrix() > 0.5, matrix() * 2).sum().backward(),
    "repeat_interleave": lambda: matrix().repeat_interleave(chosen(1, 0, 2), 0, output_size=3).sum().backward(),
    "tril_indices": lambda: [f(3, 4, device="cuda") for f in (polyad.tril_indices, polyad.triu_indices)],
    "index_add, long lines": lambda: long_lines(chosen(*range(500)) % 7),
    "istft": lambda: spectrum().istft(8, 2, window=polyad.ones(8, device="cuda")),
    "eigh": lambda: polyad.linalg.eigh(symmetric())[1].abs().sum().backward(),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_host_does_not_wait(waits, name):
    assert waits(CALLS[name]) == 0


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "LBFGS"])
def test_a_step_of_training_does_not_wait(waits, optimizer):
    model = polyad.nn.Linear(4, 4, device="cuda")
    rule = getattr(polyad.optim, optimizer)(model.parameters())
    x = polyad.ones(2, 4, device="cuda")

    def loss():
        rule.zero_grad()
        found = model(x).square().sum()
        found.backward()
        return found

    def step():
        loss()
        polyad.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rule.step(loss)

    assert (waits(step) == 0) == (optimizer != "LBFGS"), "LBFGS alone decides by values when it ends"


@pytest.mark.parametrize("values", [lambda: matrix().sum().item(), lambda: matrix()[matrix() > 0.5]])
def test_what_needs_values_is_seen_to_wait(waits, values):
    assert waits(values) > 0


def test_indexing_can_be_captured_and_a_wrong_index_in_it_is_told():
    x, index = polyad.arange(12.0, device="cuda").reshape(3, 4), chosen(0, -1)
    side = polyad.cuda.Stream()
    side.wait_stream(polyad.cuda.current_stream())
    with polyad.cuda.stream(side):
        x[index, index] * 2
    polyad.cuda.synchronize()
    graph = polyad.cuda.CUDAGraph()
    with polyad.cuda.graph(graph):
        y = x[index, index] * 2
    graph.replay()
    assert y.tolist() == [0, 22]
    index.copy_(chosen(1, 2))
    graph.replay()
    assert y.tolist() == [10, 20]
    index.copy_(chosen(1, 7))
    graph.replay()
    with pytest.raises(IndexError, match=r"indices\[0\]\[1\] = 7"):
        y.tolist()


WRONG = {
    "//": (lambda: chosen(7, -7) // chosen(2, 0), ZeroDivisionError, "floor_divide: an integer is divided by zero"),
    "one_hot": (lambda: F.one_hot(chosen(1, 3), 3), IndexError, r"one_hot: tensor\[1\] = 3 is not in \[0, 3\)"),
    "embedding_bag": (lambda: bag(chosen(0, 9)), IndexError, r"offsets\[1\] = 9 is not in \[offsets\[0\], 5\]"),
    "embedding_bag, start": (lambda: bag(chosen(1, 2)), RuntimeError, r"offsets\[0\] = 1 is not 0"),
    "ctc_loss": (lambda: ctc(chosen(3, 9)), RuntimeError, r"input_lengths\[1\] = 9 is not in \[0, 3\]"),
    "gaussian_nll_loss": (lambda: F.gaussian_nll_loss(*[-matrix()] * 3), ValueError, "a variance is negative"),
    "multinomial": (lambda: (-matrix().detach()).multinomial(2), RuntimeError, "weights must be 0 or more"),
    "quantile": (
        lambda: matrix().quantile(polyad.tensor([0.5, 2.0], device="cuda"), 1),
        RuntimeError,
        r"an element of q is not in \[0, 1\]",
    ),
    "masked_scatter": (
        lambda: matrix().masked_scatter(matrix() > 0.5, polyad.ones(2, device="cuda")),
        RuntimeError,
        "mask names 5 elements, source has 2",
    ),
    "repeat_interleave": (
        lambda: matrix().repeat_interleave(chosen(1, -1, 2), 0, output_size=2),
        RuntimeError,
        "repeats must be 3 integers of 0 or more",
    ),
    "repeat_interleave, size": (
        lambda: matrix().repeat_interleave(chosen(1, 0, 2), 0, output_size=2),
        RuntimeError,
        "repeats add up to 3, output_size is 2",
    ),
    "poisson": (lambda: polyad.poisson(-matrix()), RuntimeError, "means must be 0 or more"),
}


@pytest.mark.parametrize("name", [name for name in WRONG if name != "poisson"])
def test_what_is_refused_is_told_by_the_next_call_that_waits(name):
    work, error, message = WRONG[name]
    work()
    with pytest.raises(error, match=message) as raised:
        polyad.cuda.synchronize()
    assert "fix" in str(raised.value)
    assert matrix().sum().item() == 5.5, "what is computed afterwards is right"


def test_what_is_refused_is_told_inside_an_op_that_waits_in_any_case():
    work, error, message = WRONG["poisson"]
    with pytest.raises(error, match=message):
        work()


@pytest.mark.parametrize("name", CALLS)
def test_what_is_told_late_keeps_no_memory_until_then(name):
    CALLS[name]()
    polyad.cuda.synchronize()
    gc.collect()
    before = polyad.cuda.memory_allocated()
    CALLS[name]()
    gc.collect()
    assert polyad.cuda.memory_allocated() == before


def test_what_checks_can_be_captured_and_tells_of_each_replay():
    x, y = chosen(7, -7), chosen(2, 3)
    side = polyad.cuda.Stream()
    side.wait_stream(polyad.cuda.current_stream())
    with polyad.cuda.stream(side):
        F.one_hot(x // y + 3, 7)
    polyad.cuda.synchronize()
    graph = polyad.cuda.CUDAGraph()
    with polyad.cuda.graph(graph):
        quotient = x // y
        classes = F.one_hot(quotient + 3, 7)
    graph.replay()
    assert (quotient.tolist(), classes.argmax(1).tolist()) == ([3, -3], [6, 0])
    y.copy_(chosen(0, 3))
    graph.replay()
    with pytest.raises(ZeroDivisionError, match="an integer is divided by zero"):
        quotient.tolist()
    y.copy_(chosen(1, 7))
    graph.replay()
    with pytest.raises(IndexError, match=r"one_hot: tensor\[0\] = 10 is not in \[0, 7\)"):
        classes.tolist()
    y.copy_(chosen(7, 7))
    graph.replay()
    assert quotient.tolist() == [1, -1]


@pytest.mark.parametrize("wait", [lambda side: side.synchronize(), lambda side: polyad.cuda.synchronize()])
def test_what_goes_wrong_in_another_stream_is_told_when_that_is_waited_for(wait):
    x, wrong = polyad.arange(3.0, device="cuda"), chosen(1, 7)
    polyad.cuda.synchronize()
    side = polyad.cuda.Stream()
    with polyad.cuda.stream(side):
        y = x[wrong]
    assert x.sum().item() == 3, "it is not done yet, which is no reason to forget it"
    with pytest.raises(IndexError, match=r"indices\[0\]\[1\] = 7"):
        wait(side)
    polyad.cuda.synchronize()
    assert y[0].item() == 1


def test_what_went_wrong_before_an_event_is_told_behind_it():
    x, wrong = polyad.arange(3.0, device="cuda"), chosen(1, 7)
    polyad.cuda.synchronize()
    side = polyad.cuda.Stream()
    with polyad.cuda.stream(side):
        y = x[wrong]
    polyad.cuda.current_stream().wait_stream(side)
    with pytest.raises(IndexError, match=r"indices\[0\]\[1\] = 7"):
        y.sum().item()
    polyad.cuda.synchronize()
