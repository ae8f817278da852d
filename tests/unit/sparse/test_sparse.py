"""Sparse tensors against dense ones: whatever is computed is what the dense tensor gives, and so are gradients."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
from tests.unit.sparse.conftest import elements

import polyad
from polyad.autograd import gradcheck

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def close(ours: Any, wanted: Any) -> None:
    """Compare, where sparse tensors become dense."""
    polyad.testing.assert_close(ours.to_dense().cpu(), wanted.cpu())


def in_layout(dense: Any, layout: str) -> Any:
    blocks = {"blocksize": (2, 1)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    return dense.to_sparse(layout=getattr(polyad, layout), **blocks)


def repeated(dense: Any) -> Any:
    """An uncoalesced tensor that stands for *dense*: each element in two parts, in reverse order."""
    whole = dense.to_sparse()
    indices, values = whole.indices().flip(1), whole.values().flip(0)
    return polyad.sparse_coo_tensor(
        polyad.cat([indices, indices], 1), polyad.cat([values / 4, values * 3 / 4]), dense.shape
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_layouts(layout: str, other: str, device: Any) -> None:
    dense = elements((4, 3)).float().to(device)
    one = in_layout(dense, layout)
    assert one.layout is getattr(polyad, layout)
    assert one.shape == (4, 3)
    assert one.device == dense.device
    close(one, dense)
    blocks = {"blocksize": (1, 3)} if other in ("sparse_bsr", "sparse_bsc") else {}
    found = one.to_sparse(layout=getattr(polyad, other), **blocks)
    assert found.layout is getattr(polyad, other)
    close(found, dense)


def test_hybrid() -> None:
    dense = elements((4, 3, 2))
    one = dense.to_sparse(1)
    assert (one.sparse_dim(), one.dense_dim(), one._values().shape[1:]) == (1, 2, (3, 2))
    close(one, dense)
    close(one + one, dense * 2)
    close(polyad.sparse.sum(one, 0), dense.sum(0))
    close(polyad.sparse.sum(one, 2), dense.sum(2))
    close(one.transpose(1, 2), dense.transpose(1, 2))


def test_coalescing_adds_up_and_orders() -> None:
    dense = elements((3, 4))
    one = repeated(dense)
    assert not one.is_coalesced()
    with pytest.raises(RuntimeError, match=r"call .coalesce\(\) first"):
        one.indices()
    found = one.coalesce()
    assert found.is_coalesced()
    assert found.coalesce() is found
    assert found.indices().tolist() == dense.nonzero().t().tolist()
    close(found, dense)


UNARY = ("abs", "asin", "atan", "ceil", "erf", "expm1", "floor", "log1p", "neg", "relu", "round", "sgn", "sign", "sin",
         "sinh", "square", "tan", "tanh", "trunc")  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_functions_that_keep_zero(name: str, layout: str) -> None:
    dense = elements((4, 3)) / 3
    one = in_layout(dense, layout)
    result = getattr(polyad, name)(one)
    assert result.layout is one.layout
    close(result, getattr(polyad, name)(dense))
    close(getattr(one, name)(), getattr(polyad, name)(dense))
    close(getattr(polyad, name)(repeated(dense)), getattr(polyad, name)(dense))


BINARY: dict[str, Any] = {
    "sum": lambda a, b, x: a + b,
    "difference": lambda a, b, x: a - b,
    "product": lambda a, b, x: a * b,
    "alpha": lambda a, b, x: polyad.add(a, b, alpha=3),
    "dense plus": lambda a, b, x: x + a,
    "plus dense": lambda a, b, x: a + x,
    "dense minus": lambda a, b, x: x - a,
    "times dense": lambda a, b, x: a * x,
    "dense times": lambda a, b, x: x * a,
    "times row": lambda a, b, x: a * x[0],
    "times number": lambda a, b, x: 2 * a * 3,
    "by number": lambda a, b, x: a / 4,
    "power": lambda a, b, x: a**3,
    "matmul": lambda a, b, x: a @ x.t(),
    "from the left": lambda a, b, x: x.t() @ a,
    "of sparse": lambda a, b, x: a @ b.t(),
    "vector": lambda a, b, x: a @ x[0],
    "mm": lambda a, b, x: polyad.mm(a, x.t()),
    "addmm": lambda a, b, x: polyad.addmm(x[:, :1] @ x[:1, :1], a, x.t()[:, :1], beta=2, alpha=3),
    "t": lambda a, b, x: a.t(),
    "transpose": lambda a, b, x: a.transpose(-1, 0),
    "linear": lambda a, b, x: polyad.nn.functional.linear(a, x),
    "total": lambda a, b, x: a.sum(),
    "norm": lambda a, b, x: a.norm(),
    "trace": lambda a, b, x: (a @ b.t()).to_dense().trace(),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("form", ["sparse_coo", "sparse_csr", "repeated"])
def test_arithmetic(name: str, form: str, device: Any) -> None:
    dense = [elements((4, 3), seed).float().to(device) for seed in range(3)]
    a, b = (repeated(one) if form == "repeated" else in_layout(one, form) for one in dense[:2])
    close(BINARY[name](a, b, dense[2] + 1), BINARY[name](dense[0], dense[1], dense[2] + 1))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("form", ["sparse_coo", "sparse_csr", "sparse_bsr"])
def test_gradients(name: str, form: str) -> None:
    """Of the values and of a dense operand, against those of dense tensors, at the places that there are."""
    dense = [elements((4, 3), seed) for seed in range(3)]
    leaves = [one.clone().requires_grad_() for one in dense]
    a, b = (in_layout(one, form) for one in leaves[:2])
    if form == "sparse_bsr":
        a, b = a.to_sparse(), b.to_sparse()
    result = BINARY[name](a, b, leaves[2]).to_dense()
    (result * result).sum().backward()
    wanted = [one.clone().requires_grad_() for one in dense]
    result = BINARY[name](*wanted)
    (result * result).sum().backward()
    for ours, theirs, values in zip(leaves, wanted, dense, strict=True):
        if theirs.grad is None:
            assert ours.grad is None or not ours.grad.any()
            continue
        held = polyad.ones_like(values) if ours is leaves[2] else (values != 0).double()
        polyad.testing.assert_close(ours.grad * held, theirs.grad * held)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_the_gradient_of_a_sparse_leaf_is_sparse(layout: str) -> None:
    dense = elements((4, 3))
    leaf = in_layout(dense, layout).requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.is_leaf
    assert leaf.grad.layout is leaf.layout
    close(leaf.grad, dense * 2)
    (leaf.to_dense() * 3).sum().backward()
    close(leaf.grad, dense * 2 + (dense != 0) * 3)
    (first,) = polyad.autograd.grad((leaf * leaf * leaf).sum(), leaf, create_graph=True)
    (second,) = polyad.autograd.grad(first.sum(), leaf)
    close(second, dense * 6)


def test_gradcheck_of_values() -> None:
    places = polyad.tensor([[0, 2, 2, 1], [1, 0, 0, 2]])
    values, other = elements((4,), 1, 1.0).requires_grad_(), elements((3, 2), 2, 1.0).requires_grad_()

    def product(values: Any, other: Any) -> Any:
        return polyad.sparse.mm(polyad.sparse_coo_tensor(places, values, (3, 3)), other)

    def softmax(values: Any, other: Any) -> Any:
        return polyad.sparse.softmax(polyad.sparse_coo_tensor(places, values, (3, 3)), 1).to_dense() @ other

    assert gradcheck(product, (values, other))
    assert gradcheck(softmax, (values, other))
    assert polyad.autograd.gradgradcheck(product, (values, other))


def test_reductions(device: Any) -> None:
    dense = elements((4, 3, 2)).float().to(device)
    one = dense.to_sparse()
    for dim in (0, 2, (0, 1), (0, 1, 2), -1):
        close(polyad.sparse.sum(one, dim), dense.sum(dim))
    close(one.sum(1, keepdim=True), dense.sum(1, keepdim=True))
    for function in ("softmax", "log_softmax"):
        wanted = getattr(dense.masked_fill(dense == 0, -float("inf")), function)(1).masked_fill(dense == 0, 0)
        close(getattr(polyad.sparse, function)(one, 1), wanted)


def test_shaping(device: Any) -> None:
    dense = elements((4, 3, 2)).float().to(device)
    one = dense.to_sparse()
    close(one.permute(2, 0, 1), dense.permute(2, 0, 1))
    close(one[1], dense[1])
    close(one[..., -1], dense[..., -1])
    close(one[1, :, 0], dense[1, :, 0])
    close(one.narrow(0, 1, 2), dense.narrow(0, 1, 2))
    index = polyad.tensor([3, 0, 3], device=device)
    close(one.index_select(0, index), dense.index_select(0, index))
    close(polyad.cat([one, one], 1), polyad.cat([dense, dense], 1))
    close(polyad.stack([one, one], -1), polyad.stack([dense, dense], -1))
    close(one.unsqueeze(1).squeeze(1), dense)
    close(polyad.bmm(one, dense.transpose(1, 2)), dense @ dense.transpose(1, 2))
    assert [part.shape for part in one] == [(3, 2)] * 4


def test_masks() -> None:
    dense, mask = elements((4, 3), 1, 1.0), elements((4, 3))
    for layout in LAYOUTS:
        found = dense.sparse_mask(in_layout(mask, layout))
        assert found.layout is getattr(polyad, layout)
    close(dense.sparse_mask(mask.to_sparse()), dense * (mask != 0))
    close(elements((4, 3), 2).to_sparse().sparse_mask(mask.to_sparse()), elements((4, 3), 2) * (mask != 0))
    places = in_layout(mask, "sparse_csr")
    product = polyad.sparse.sampled_addmm(places, dense, dense.t()[:, :3], beta=0.5, alpha=2.0)
    close(product, (mask * 0.5 + dense @ dense.t()[:, :3] * 2) * (mask != 0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_pickles_and_copies(layout: str) -> None:
    one = in_layout(elements((4, 3)), layout).requires_grad_()
    file = io.BytesIO()
    polyad.save({"matrix": one}, file)
    file.seek(0)
    loaded = polyad.load(file)["matrix"]
    assert not loaded.requires_grad  # the format has no place for it
    for found in (loaded.requires_grad_(), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert found.layout is one.layout
        assert found.requires_grad
        assert found.dtype is polyad.float64
        close(found.detach(), elements((4, 3)))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "too large": (lambda: polyad.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), RuntimeError, "= 5 is not in"),
    "negative": (lambda: polyad.sparse_coo_tensor([[-1]], [1.0], (3,)), IndexError, r"= -1 is not"),
    "negative without a size": (lambda: polyad.sparse_coo_tensor([[-1, 1]], [1.0, 2.0]), RuntimeError, r"= -1 is not"),
    "counts": (lambda: polyad.sparse_coo_tensor([[0]], [1.0, 2.0], (3,)), RuntimeError, "for 1 elements"),
    "dtype": (lambda: polyad.sparse_coo_tensor([[0.5j]], [1.0], (3,)), RuntimeError, "not integers"),
    "dims": (lambda: polyad.sparse_coo_tensor([0], [1.0], (3,)), RuntimeError, "dimensions, not 2"),
    "size": (lambda: polyad.sparse_coo_tensor([[0]], [1.0], (3, 3)), RuntimeError, r"size \(3, 3\) has 2 dimensions"),
    "dense size": (lambda: polyad.sparse_coo_tensor([[0]], [[1.0]], (3, 2)), RuntimeError, "dense dimensions"),
    "columns": (lambda: polyad.sparse_csr_tensor([0, 1], [4], [1.0], (1, 3)), RuntimeError, r"col_indices\[0\] = 4"),
    "falling": (lambda: polyad.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0]), RuntimeError, "falls from 2 to 1"),
    "end": (lambda: polyad.sparse_csr_tensor([0, 1], [0, 1], [1.0, 2.0]), RuntimeError, "ends with 1, not 2"),
    "begin": (lambda: polyad.sparse_csc_tensor([1, 2], [0, 1], [1.0, 2.0]), RuntimeError, "begins with 1"),
    "rows": (lambda: polyad.sparse_csr_tensor([0, 1], [0], [1.0], (3, 3)), RuntimeError, "crow_indices of 2 elements"),
    "batches": (lambda: polyad.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]]), NotImplementedError, "batches"),
    "blocks": (lambda: polyad.ones(4, 3).to_sparse_bsr((3, 1)), ValueError, "do not tile"),
    "vector": (lambda: polyad.ones(4).to_sparse_csr(), RuntimeError, "is no matrix"),
    "mm": (lambda: polyad.ones(2, 3).to_sparse() @ polyad.ones(2, 3), RuntimeError, "3 != 2"),
    "unknown": (lambda: polyad.exp(polyad.ones(2).to_sparse()), NotImplementedError, r"exp: .* sparse tensors"),
    "plus a number": (lambda: polyad.ones(2).to_sparse() + 1, NotImplementedError, "dense tensor"),
    "sspaddmm": (
        lambda: polyad.sspaddmm(polyad.ones(2, 2), polyad.eye(2).to_sparse(), polyad.ones(2, 2)),
        NotImplementedError,
        "sspaddmm: input and mat1 are not both sparse",
    ),
    "sspaddmm of no tensor": (
        lambda: polyad.sspaddmm(polyad.ones(2, 2), (0, 1), polyad.ones(2, 2)),
        TypeError,
        "sspaddmm: mat1 is tuple, not a tensor",
    ),
    "numpy": (lambda: polyad.ones(2).to_sparse().numpy(), TypeError, "no array"),
    "shapes": (lambda: polyad.ones(2).to_sparse() + polyad.ones(3).to_sparse(), RuntimeError, "shapes"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()


def test_invariants_are_checked_where_they_are_asked_for() -> None:
    unordered: Any = ([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    polyad.sparse_csr_tensor(*unordered)
    with polyad.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="do not rise"):
        polyad.sparse_csr_tensor(*unordered)
    with pytest.raises(RuntimeError, match="do not rise"):
        polyad.sparse_csr_tensor(*unordered, check_invariants=True)
    assert polyad.sparse_coo_tensor([[5]], [1.0], (3,), check_invariants=False).shape == (3,)


def test_printing() -> None:
    assert repr(polyad.sparse_coo_tensor([[0], [1]], polyad.tensor([2.0]).double(), (2, 3))) == (
        "tensor(indices=tensor([[0],\n                       [1]]),\n       values=tensor([2.]),\n"
        "       size=(2, 3), nnz=1, dtype=polyad.float64, layout=polyad.sparse_coo)"
    )
    assert repr(polyad.ones(1, 2).to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 2]),\n       col_indices=tensor([0, 1]),\n"
        "       values=tensor([1., 1.]), size=(1, 2), nnz=2, layout=polyad.sparse_csr)"
    )


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradcheck_takes_sparse_inputs_and_outputs(layout: str) -> None:
    leaf, other = in_layout(elements((4, 3)), layout).requires_grad_(), elements((3, 2)).requires_grad_()
    assert gradcheck(lambda a, b: (a * 2, polyad.mm(a, b)), (leaf, other))
    with pytest.raises(RuntimeError, match="gradient"):
        gradcheck(lambda a: (a.detach() * 2 + a).to_dense(), (leaf,))


def test_broadcasting() -> None:
    dense, row = elements((4, 3)), elements((2, 1, 3), 1)
    close(dense.to_sparse() * row.to_sparse(), dense * row)
    close(dense.to_sparse() * row, dense * row)
    close(row[0].to_sparse().broadcast_to((2, 4, 3)), row[0].expand(2, 4, 3))


def test_out_and_in_place() -> None:
    dense = elements((4, 3))
    one, out = dense.to_sparse(), polyad.zeros(4, 3, dtype=polyad.float64, layout=polyad.sparse_coo)
    assert polyad.mul(one, 2, out=out) is out
    close(out, dense * 2)
    close(one.clone().mul_(3).add_(one), dense * 4)
    close(one.clone().t_(), dense.t())
    target = elements((4, 3), 1)
    assert target.clone().add_(one, alpha=2).equal(target + 2 * dense)
    leaf = one.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.mul_(2)


def test_equality_is_told_by_layout_and_places() -> None:
    one = elements((4, 3)).to_sparse()
    polyad.testing.assert_close(one, one.clone())
    with pytest.raises(AssertionError, match="layouts differ"):
        polyad.testing.assert_close(one, one.to_sparse_csr())
    polyad.testing.assert_close(one, one.to_sparse_csr(), check_layout=False)
    with pytest.raises(AssertionError, match="values"):
        polyad.testing.assert_close(one, one * 2)
    assert polyad.equal(one, one.clone())
    assert not polyad.equal(one, one * 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: polyad.sparse_coo_tensor([[5]], [1.0], (3,), check_invariants=False),
        lambda: polyad.sparse_coo_tensor([[2, 0]], [1.0, 2.0], (3,), is_coalesced=True),
        lambda: polyad.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2), check_invariants=False),
    ],
)
def test_a_file_with_wrong_indices_is_refused(wrong: Any) -> None:
    file = io.BytesIO()
    polyad.save([wrong()], file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="it has a sparse tensor that is wrong"):
        polyad.load(file)


def test_indices_are_converted():
    assert polyad.sparse_coo_tensor(polyad.ones(1, 2), [2.0, 3.0]).to_dense().tolist() == [0.0, 5.0]
