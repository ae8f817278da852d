"""The steps of random programs: views, ops, writes in place, and what reads and clears gradients.

Values stay small: every op is bounded or shrinks, since what programs are compared by is how tensors share memory and
history, not arithmetic. A step finds the same tensors in every run of its program, whatever library or device it runs
on.

To add a step, write a function of (pool, tensor, numbers) and list it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One step: its name, and numbers from which it takes its choices."""

    name: str
    picks: tuple[int, ...]


@dataclass
class Pool:
    """The tensors of a running program, and what it noted of each step."""

    module: Any
    tensors: list[Any]
    leaves: list[Any]
    notes: list[str] = field(default_factory=list)

    def pick(self, number: int) -> Any:
        """One of the tensors, the latest by a small number."""
        return self.tensors[-1 - number % len(self.tensors)]


def _dim(tensor: Any, number: int) -> int:
    return number % max(tensor.dim(), 1) - (tensor.dim() if number % 7 == 3 else 0)


def _fitting(pool: Pool, target: Any, number: int) -> Any:
    """A tensor that broadcasts to *target*, else a number."""
    shape = tuple(target.shape)
    for place in range(len(pool.tensors)):
        one = pool.tensors[(number + place) % len(pool.tensors)]
        have = tuple(one.shape)
        lead = len(shape) - len(have)
        if lead >= 0 and all(size in (1, want) for size, want in zip(have, shape[lead:])):
            return one
    return 0.5


Action = Callable[[Pool, Any, tuple[int, ...]], Any]

VIEWS: dict[str, Action] = {
    "transpose": lambda pool, x, n: x.transpose(_dim(x, n[1]), _dim(x, n[2])),
    "T": lambda pool, x, n: x.T if x.dim() == 2 else x.mT if x.dim() > 2 else x.view_as(x),
    "select": lambda pool, x, n: x.select(_dim(x, n[1]), n[2] % 3),
    "narrow": lambda pool, x, n: x.narrow(_dim(x, n[1]), n[2] % 2, 1 + n[3] % 2),
    "slice": lambda pool, x, n: x[n[1] % 2 :: 1 + n[2] % 2],
    "index": lambda pool, x, n: x[..., n[1] % 2],
    "None": lambda pool, x, n: x[None] if n[1] % 2 else x.unsqueeze(_dim(x, n[2])),
    "squeeze": lambda pool, x, n: x.squeeze() if n[1] % 2 else x.squeeze(_dim(x, n[2])),
    "expand": lambda pool, x, n: x.expand(1 + n[1] % 2, *x.shape),
    "reshape": lambda pool, x, n: x.reshape(-1) if n[1] % 2 else x.reshape(*reversed(tuple(x.shape))),
    "view": lambda pool, x, n: x.view(-1) if n[1] % 2 else x.view(tuple(reversed(tuple(x.shape)))),
    "flatten": lambda pool, x, n: x.flatten(),
    "diagonal": lambda pool, x, n: x.diagonal(n[1] % 3 - 1),
    "unfold": lambda pool, x, n: x.unfold(_dim(x, n[1]), 1 + n[2] % 2, 1 + n[3] % 2),
    "movedim": lambda pool, x, n: x.movedim(_dim(x, n[1]), _dim(x, n[2])),
    "unbind": lambda pool, x, n: x.unbind(_dim(x, n[1]))[0],
    "split": lambda pool, x, n: x.split(1 + n[1] % 2, _dim(x, n[2]))[-1],
    "chunk": lambda pool, x, n: x.chunk(2, _dim(x, n[2]))[0],
    "as_strided": lambda pool, x, n: x.as_strided((2,), (1 + n[1] % 2,)),
    "detach": lambda pool, x, n: x.detach(),
    "alias": lambda pool, x, n: x[...],
    "detached view": lambda pool, x, n: x.detach().transpose(_dim(x, n[1]), _dim(x, n[2])),
}
OPS: dict[str, Action] = {
    "add": lambda pool, x, n: x + _fitting(pool, x, n[1]),
    "mul": lambda pool, x, n: x * _fitting(pool, x, n[1]) * 0.5,
    "rsub": lambda pool, x, n: 1.0 - x,
    "sin": lambda pool, x, n: x.sin(),
    "tanh": lambda pool, x, n: x.tanh(),
    "sigmoid": lambda pool, x, n: x.sigmoid(),
    "relu": lambda pool, x, n: x.relu(),
    "square": lambda pool, x, n: x * x * 0.25,
    "clone": lambda pool, x, n: x.clone(),
    "contiguous": lambda pool, x, n: x.contiguous(),
    "sum": lambda pool, x, n: x.sum() if n[1] % 3 == 0 else x.sum(_dim(x, n[2]), keepdim=bool(n[3] % 2)),
    "mean": lambda pool, x, n: x.mean(_dim(x, n[2]), keepdim=bool(n[3] % 2)),
    "amax": lambda pool, x, n: x.amax(_dim(x, n[2])),
    "cat": lambda pool, x, n: pool.module.cat([x, x * 0.5], _dim(x, n[2])),
    "stack": lambda pool, x, n: pool.module.stack([x, x], _dim(x, n[2])),
    "where": lambda pool, x, n: pool.module.where(x > 0, x, _fitting(pool, x, n[1])),
    "masked_fill": lambda pool, x, n: x.masked_fill(x > 0.5, 0.25),
    "index_select": lambda pool, x, n: x.index_select(_dim(x, n[2]), pool.module.tensor([0, 0], device=x.device)),
    "flip": lambda pool, x, n: x.flip(_dim(x, n[2])),
    "cumsum": lambda pool, x, n: x.cumsum(_dim(x, n[2])) * 0.5,
    "softmax": lambda pool, x, n: x.softmax(_dim(x, n[2])),
    "float": lambda pool, x, n: x.float() if n[1] % 2 else x.double(),
    "matmul": lambda pool, x, n: x @ x.mT * 0.25 if x.dim() >= 2 else x @ x,
    "mask": lambda pool, x, n: x[x > 0],
}
WRITES: dict[str, Action] = {
    "add_": lambda pool, x, n: x.add_(_fitting(pool, x, n[1])),
    "mul_": lambda pool, x, n: x.mul_(_fitting(pool, x, n[1])),
    "sub_": lambda pool, x, n: x.sub_(_fitting(pool, x, n[1]), alpha=0.5),
    "copy_": lambda pool, x, n: x.copy_(_fitting(pool, x, n[1])) if n[2] % 2 else x.copy_(_fitting(pool, x, n[1]) * 1),
    "fill_": lambda pool, x, n: x.fill_(0.25),
    "zero_": lambda pool, x, n: x.zero_(),
    "sin_": lambda pool, x, n: x.sin_(),
    "tanh_": lambda pool, x, n: x.tanh_(),
    "relu_": lambda pool, x, n: x.relu_(),
    "clamp_": lambda pool, x, n: x.clamp_(-0.5, 0.5),
    "setitem": lambda pool, x, n: _set(x, n[1] % 2, 0.125),
    "setitem of a tensor": lambda pool, x, n: _set(x, slice(0, 1), _fitting(pool, x[0:1], n[1])),
    "setitem by mask": lambda pool, x, n: _set(x, x > 0.5, 0.5),
    "augmented": lambda pool, x, n: _augmented(x, n[1]),
    "masked_fill_": lambda pool, x, n: x.masked_fill_(x > 0.5, 0.25),
    "unsqueeze_": lambda pool, x, n: _unless_leaf(pool, x).unsqueeze_(_dim(x, n[1])),
    "t_": lambda pool, x, n: _unless_leaf(pool, x).t_(),
    "squeeze_": lambda pool, x, n: _unless_leaf(pool, x).squeeze_(),
    "transpose_": lambda pool, x, n: _unless_leaf(pool, x).transpose_(_dim(x, n[1]), _dim(x, n[2])),
    "out": lambda pool, x, n: pool.module.add(_fitting(pool, x, n[1]), x.detach(), out=x) if x.dim() else x,
    "data": lambda pool, x, n: x.data.mul_(0.5),
}
STATE: dict[str, Action] = {
    "retain_grad": lambda pool, x, n: _done(x.retain_grad()),
    "backward": lambda pool, x, n: _done((x * x).sum().backward(retain_graph=bool(n[1] % 3))),
    "zero the gradient": lambda pool, x, n: _done(x.grad.zero_()),
    "use the gradient": lambda pool, x, n: x.grad * 1.0,
}


def _unless_leaf(pool: Pool, tensor: Any) -> Any:
    """Without gradients, a leaf can change its shape in place; PyTorch's backward fails then."""
    return tensor * 1 if tensor.is_leaf and tensor.requires_grad and not pool.module.is_grad_enabled() else tensor


def _set(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def _augmented(target: Any, number: int) -> Any:
    if number % 2:
        target += 0.25
    else:
        target *= 0.5
    return target


def _done(_: Any) -> None:
    return None


STEPS: dict[str, Action] = {**VIEWS, **OPS, **WRITES, **STATE}
NO_GRAD = " without gradients"
