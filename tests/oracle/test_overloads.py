"""Every overload of every function and method that both libraries have: calls that PyTorch takes, by position and by
name, do the same in polyad, and each parameter has its name.

The overloads are those that PyTorch itself lists, so that a form which no sample has and no signature of polyad's shows
is met too.
"""

from __future__ import annotations

import pytest

from .accuracy import Bound
from .calls import Call
from .differences import deliberate
from .libraries import POLYAD, TORCH
from .outcomes import Mismatch, compare, observe
from .overloads import LEFT_OUT, Parameter, calls, overloads, paths, signature_of
from .templates import is_random
from .undefined import undefined

KINDS = frozenset({"refused", "structure", "dtype", "shape", "value"})
"""What is compared; everything else is, of the same functions, in test_samples."""

DIFFERS: dict[str, str] = {
    "nn.functional.bilinear": "a bias of another shape than (out,) is refused",
    "bilinear": "a bias of another shape than (out,) is refused",
    "nn.functional.elu_": "scale and input_scale are no parameters of elu",
    "nn.functional.embedding_bag": "input and weight in the old, exchanged order",
    "linalg.lstsq": "gelsy tells the rank by other numbers than singular values where rcond is large",
    "blackman_window": "rounds otherwise where the window is 0",
    "logit": "eps above 1/2 leaves no range to clamp to",
    "special.logit": "eps above 1/2 leaves no range to clamp to",
    "Tensor.logit": "eps above 1/2 leaves no range to clamp to",
    **dict.fromkeys(
        (
            "margin_ranking_loss",
            "triplet_margin_loss",
        ),
        "losses of elements do not broadcast, and numbers that stand for no reduction are refused",
    ),
    "batch_norm": "an eps of 0 is refused in training",
    "embedding": "padding_idx must name a row",
    "feature_dropout_": "a tensor without channels is refused",
    "tensordot": "a bool is no count of dimensions",
    **dict.fromkeys(
        ("nn.functional.upsample", "nn.functional.upsample_bilinear", "nn.functional.upsample_nearest"),
        "a bool is no scale_factor",
    ),
    **dict.fromkeys(
        (f"Tensor.to_sparse{layout}" for layout in ("", "_bsc", "_bsr", "_coo", "_csc", "_csr")),
        "makes a sparse tensor, which is not compared here",
    ),
    "histogramdd": "a range that is not used, since the edges are given, is checked",
    "to": "a bool is no dtype",
    "Tensor.to": "a bool is no dtype",
    "Tensor.addbmm_": "writes beyond self where self would have to broadcast",
    "Tensor.copy_": "src is called other, against the documentation",
    "Tensor.set_": "beyond the end of the source, and another dtype",
    "Tensor.storage": "is of a class of polyad's",
    "Tensor.storage_type": "is of a class of polyad's",
}
"""Where polyad's answer is another, with what PyTorch does."""

PATHS = paths()


def _without_values(path: str) -> bool:
    name = path.rpartition(".")[2]
    return (
        is_random(name)
        or is_random(name.removesuffix("_"))
        or any(
            part in name
            for part in ("empty", "resize", "gumbel", "geometric", "normal_", "cauchy", "dropout", "lowrank")
        )
    )


def disagreements(path: str, call: Call) -> list[Mismatch]:
    """What polyad does otherwise than PyTorch in *call*, which PyTorch takes."""
    bound = Bound(steps=10**6, sums=True, values=not _without_values(path))
    ours, theirs = observe(POLYAD, call), observe(TORCH, call)
    found = [one for one in compare(call, ours, theirs, bound) if one.kind in KINDS]
    return [one for one in found if not undefined(call, one, ours, theirs) and not deliberate(call, one, ours, theirs)]


def different(path: str) -> list[str]:
    """The calls of *path* that do something else here."""
    found = []
    for form in overloads(path):
        for by_name in (False, True):
            for call in calls(path, form, by_name):
                found += [f"{call}\n    {mismatch}" for mismatch in disagreements(path, call)]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [path for path in PATHS if path not in DIFFERS])
def test_calls(path: str) -> None:
    found = different(path)
    assert not found, f"{len(found)} calls of {path} differ:\n" + "\n".join(sorted(found, key=len)[:6])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", DIFFERS)
def test_the_list_is_up_to_date(path: str) -> None:
    assert different(path), f"delete {path} from DIFFERS"


def nameless(path: str) -> set[str]:
    """Names of PyTorch's parameters that polyad's function does not know, of overloads that PyTorch lets be called."""
    names, in_a_row = signature_of(path)
    found: set[str] = set()
    for form in overloads(path):
        wanted = {one.name for one in form} - LEFT_OUT
        if wanted - names and any(True for _ in calls(path, form, True)):
            found |= wanted - names
    return set() if in_a_row else found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [path for path in PATHS if path not in DIFFERS])
def test_parameters_have_their_names(path: str) -> None:
    assert not nameless(path)


@pytest.mark.filterwarnings("ignore")
def test_most_overloads_are_called() -> None:
    """So that a change of PyTorch's schemas does not leave nothing to compare."""
    forms: list[tuple[str, list[Parameter]]] = [(path, form) for path in PATHS for form in overloads(path)]
    called = [path for path, form in forms if any(True for _ in calls(path, form, False))]
    assert len(called) > 0.95 * len(forms) > 1000
