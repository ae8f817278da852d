"""What may not wait for the device: all but what needs values to know what comes out."""

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
