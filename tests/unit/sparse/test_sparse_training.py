"""Sparse gradients of embeddings: how they add up, and what optimizers make of them."""

from __future__ import annotations

from typing import Any

import pytest

import polyad
from polyad import nn, optim

F = nn.functional


def table() -> Any:
    return (polyad.arange(8.0).reshape(4, 2) / 10).requires_grad_()


def looked_up(weight: Any, index: Any, **options: Any) -> Any:
    return (F.embedding(polyad.tensor(index), weight, **options) ** 2).sum()


@pytest.mark.parametrize(
    "options",
    [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}, {"padding_idx": 3, "scale_grad_by_freq": True}],
)
@pytest.mark.parametrize("index", [[1, 1, 3], [[0, 3], [3, 3]], []])
def test_the_gradient_is_that_of_a_dense_one(options: Any, index: Any) -> None:
    sparse, dense = table(), table()
    index = polyad.tensor(index, dtype=polyad.int64).tolist()
    for weight in (sparse, dense):
        places = polyad.tensor(index, dtype=polyad.int64)
        (F.embedding(places, weight, sparse=weight is sparse, **options) ** 2).sum().backward()
    assert sparse.grad.is_sparse
    assert sparse.grad.sparse_dim() == 1
    polyad.testing.assert_close(sparse.grad.to_dense(), dense.grad)


@pytest.mark.parametrize("options", [{"mode": "sum"}, {"mode": "mean"}, {"mode": "sum", "padding_idx": 2}])
def test_bags(options: Any) -> None:
    sparse, dense = table(), table()
    for weight in (sparse, dense):
        bags = F.embedding_bag(
            polyad.tensor([1, 2, 1, 0]), weight, polyad.tensor([0, 3]), sparse=weight is sparse, **options
        )
        (bags * bags).sum().backward()
    assert sparse.grad.is_sparse
    polyad.testing.assert_close(sparse.grad.to_dense(), dense.grad)


def test_sparse_and_dense_gradients_add_up() -> None:
    weight, dense = table(), table()
    (looked_up(weight, [1], sparse=True) + looked_up(weight, [1, 2], sparse=True)).backward()
    assert weight.grad.is_sparse
    (looked_up(weight, [2], sparse=True)).backward()
    assert weight.grad.is_sparse
    (weight.sum() + looked_up(weight, [0], sparse=True)).backward()
    assert not weight.grad.is_sparse
    looked_up(weight, [3], sparse=True).backward()
    (looked_up(dense, [1, 1, 2, 2, 0, 3]) + dense.sum()).backward()
    polyad.testing.assert_close(weight.grad, dense.grad)


def test_a_result_of_ops_gets_a_dense_gradient() -> None:
    weight = table()
    looked_up(weight * 2, [1], sparse=True).backward()
    assert not weight.grad.is_sparse


def test_an_index_out_of_range() -> None:
    with pytest.raises(IndexError, match=r"embedding: input\[1\] = 4"):
        F.embedding(polyad.tensor([0, 4]), table(), sparse=True)


OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda params: optim.SGD(params, lr=0.1),
    "uphill": lambda params: optim.SGD(params, lr=0.1, maximize=True),
    "momentum": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
    "dampening": lambda params: optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5),
    "nesterov": lambda params: optim.SGD(params, lr=0.1, momentum=0.9, nesterov=True),
    "Adagrad": lambda params: optim.Adagrad(params, lr=0.1, lr_decay=0.1),
    "SparseAdam": lambda params: optim.SparseAdam(params, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_dense_gradients(name: str) -> None:
    sparse, dense, beside = table(), table(), polyad.ones(2, requires_grad=True)
    for weight in (sparse, dense):
        optimizer = OPTIMIZERS[name]([weight, beside] if weight is sparse else [weight])
        for index in ([0, 1, 1], [2, 1], [3, 0, 0]):
            optimizer.zero_grad()
            looked_up(weight, index, sparse=weight is sparse).backward()
            optimizer.step()
    polyad.testing.assert_close(sparse.detach(), dense.detach())


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "NAdam", "Rprop"])
def test_optimizers_for_dense_gradients_refuse_sparse_ones(name: str) -> None:
    weight = table()
    looked_up(weight, [1], sparse=True).backward()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        getattr(optim, name)([weight]).step()


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_decay_is_refused(name: str) -> None:
    weight = table()
    looked_up(weight, [1], sparse=True).backward()
    with pytest.raises(RuntimeError, match="weight_decay is not compatible"):
        getattr(optim, name)([weight], weight_decay=0.1).step()


def test_zeroing_and_hooks() -> None:
    weight, seen = table(), []
    weight.register_hook(lambda gradient: seen.append(gradient.layout))
    optimizer = optim.SGD([weight], lr=0.1)
    looked_up(weight, [1], sparse=True).backward()
    assert seen == [polyad.sparse_coo]
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad.is_sparse
    assert weight.grad._nnz() == 0


def test_a_layer_trains_on_other_devices(device: Any) -> None:
    layer = nn.Embedding(4, 2, sparse=True).to(device)
    before = layer.weight.detach().clone()
    optimizer = optim.SparseAdam(layer.parameters(), lr=0.1)
    layer(polyad.tensor([1, 1, 2], device=device)).sum().backward()
    optimizer.step()
    changed = (layer.weight.detach() != before).any(1)
    assert changed.tolist() == [False, True, True, False]


def test_a_scaler_divides_sparse_gradients() -> None:
    scaler = polyad.amp.GradScaler("cpu", init_scale=8.0)
    weight = table()
    optimizer = optim.SGD([weight], lr=1.0)
    before = weight.detach().clone()
    scaler.scale(F.embedding(polyad.tensor([1, 1]), weight, sparse=True).sum()).backward()
    scaler.step(optimizer)
    assert (before - weight.detach()).tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]
    scaler.update()
    optimizer.zero_grad()
    scaler.scale(F.embedding(polyad.tensor([1]), weight, sparse=True).sum() * float("inf")).backward()
    stepped = weight.detach().clone()
    scaler.step(optimizer)
    assert weight.detach().equal(stepped)


def test_a_module_holds_sparse_buffers(device: Any) -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("edges", polyad.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], polyad.ones(3), (3, 3)))
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.edges @ self.linear(x)

    model, other = Graph().to(device), Graph()
    x = polyad.ones(3, 2, device=device)
    other.edges.zero_()
    other.load_state_dict(model.state_dict())
    polyad.testing.assert_close(other(x.cpu()), model(x).cpu())
    model(x).sum().backward()
    assert model.linear.weight.grad.shape == (2, 2)
    assert model.double().edges.dtype is polyad.float64


def test_a_parameter_may_be_sparse() -> None:
    weight = nn.Parameter(polyad.eye(3).to_sparse())
    assert isinstance(weight, nn.Parameter)
    (weight @ polyad.ones(3, 1)).sum().backward()
    optim.SGD([weight], lr=0.5).step()
    polyad.testing.assert_close(weight.detach().to_dense(), polyad.eye(3) * 0.5)
