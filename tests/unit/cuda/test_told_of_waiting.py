"""`polyad.cuda.set_sync_debug_mode`, and by it what docs/cuda.md says: which ops wait for the device.

By default every 24th sample is looked at; ``POLYAD_ALL_SAMPLES=1`` looks at all, in half a minute.
"""

import os
import re
import warnings
from pathlib import Path

import pytest

import polyad
from polyad.base.dtypes import float32, int64
from polyad.cuda import set_sync_debug_mode
from polyad_conformance.calls import Target, draw, function_of, kwargs_of, outputs_of
from polyad_conformance.checks.gradients import gradient_dtypes, prepare
from polyad_conformance.checks.modules import as_tensors, build, draw as draw_inputs, tensors_in
from polyad_conformance.layouts import contiguous, place
from polyad_conformance.modules import module_samples
from polyad_conformance.samples import families

PAGE = Path(__file__).parents[3] / "docs" / "cuda.md"
STEP = 1 if os.environ.get("POLYAD_ALL_SAMPLES") else 24
WAITS = "called a synchronizing CUDA operation"


@pytest.fixture(autouse=True)
def said_nothing():
    yield
    set_sync_debug_mode("default")


# ------------------------------------------------------------------------------------------------ the modes


def ones():
    return polyad.ones(3, device="cuda")


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: x.tolist(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: bool(x.any()),
        lambda x: print(x),
        lambda x: polyad.empty(0, device="cuda").cpu(),
        lambda x: polyad.linalg.cholesky(polyad.eye(2, device="cuda")),
        lambda x: polyad.ones(3).pin_memory().to("cuda"),
    ],
)
def test_what_waits_is_told_or_refused(read):
    x = ones()
    set_sync_debug_mode("warn")
    with pytest.warns(UserWarning, match=WAITS) as told:
        read(x)
    assert {warning.filename for warning in told} == {__file__}
    set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match=WAITS):
        read(x)
    set_sync_debug_mode("default")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(x)


def test_waiting_by_name_is_not_told():
    x, stream, event = ones(), polyad.cuda.Stream(), polyad.cuda.Event()
    set_sync_debug_mode("error")
    event.record()
    event.synchronize()
    stream.synchronize()
    polyad.cuda.synchronize()
    set_sync_debug_mode("default")
    assert x.tolist() == [1, 1, 1]


def test_what_does_not_wait_is_not_told():
    set_sync_debug_mode("error")
    x = polyad.tensor([1.0, 2.0, 4.0], device="cuda", requires_grad=True)
    (x * x).sum().backward()
    host = x.grad.detach().to("cpu", non_blocking=True)
    polyad.cuda.synchronize()
    assert host.tolist() == [2, 4, 8]


def test_a_library_is_tried_without_a_word(library):
    set_sync_debug_mode("error")
    x = polyad.ones(1, 4, 8, 8, device="cuda")
    y = polyad.nn.functional.conv2d(x, x[:, :, :3, :3])
    assert library, "the library was not asked for"
    set_sync_debug_mode("default")
    assert y[0, 0, 0, 0].item() == 36


# ------------------------------------------------------------------------------------------------ which ops wait


def waits(work):
    """Whether *work* waits; it is called once before, since what is done once is none of its affair."""
    set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError as error:
        if WAITS not in str(error):
            raise
        return True
    finally:
        set_sync_debug_mode("default")
    return False


def forward(sample, dtype):
    args = draw(sample, dtype, 0)
    kwargs, _ = kwargs_of(sample, dtype, "cuda", args)
    tensors, _, _ = place(args, (contiguous,), "cuda")
    return waits(lambda: function_of(sample)(*tensors, **kwargs))


def backward(sample, dtype):
    tensors, _, _, _, kwargs, _ = prepare(sample, dtype, Target("cuda"))
    results = [one for one in outputs_of(function_of(sample)(*tensors, **kwargs)) if one.requires_grad]
    given = [polyad.ones_like(one) for one in results]
    return waits(lambda: polyad.autograd.backward(results, given))


def found_in(sample):
    """What waits of an op: nothing, the op, its gradient."""
    name = sample.op.removeprefix("_")
    for dtype in {float32, int64} & set(sample.dtypes) or set(sample.dtypes[-1:]):
        if forward(sample, dtype):
            yield name
        if dtype in gradient_dtypes(sample) and backward(sample, dtype):
            yield f"the gradient of {name}"


def layer_waits(sample):
    """Whether a layer waits, forwards or backwards."""
    layer = build(sample, 0).to("cuda", float32)
    given = as_tensors(draw_inputs(sample, sample.inputs, 0), float32, "cuda", requires_grad=True)
    if waits(lambda: sample.run(polyad, layer, given)):
        return True
    results = [one for one in tensors_in(sample.run(polyad, layer, given)) if one.requires_grad]
    weights = [polyad.ones_like(one) for one in results]
    return bool(results) and waits(lambda: polyad.autograd.backward(results, weights))


def declared(what=""):
    """What the page's table names, in its first column; a name may end in * for all that begin so."""
    table = PAGE.read_text().partition("| what waits |")[2].partition("\n\n")[0]
    names = []
    for row in table.splitlines()[2:]:
        column = row.split("|")[1].strip()
        of_gradients = "the gradient of " if column.startswith("gradients of") else ""
        if column.startswith("layers") == (what == "layers"):
            names += [of_gradients + name for name in re.findall(r"`([^`]+)`", column)]
    return names


def covers(declaration, name):
    """What is said of an op is said of its gradient, too, but not the other way round."""
    named = (name, name.removeprefix("the gradient of "))
    return any(one.startswith(declaration[:-1]) if declaration[-1] == "*" else one == declaration for one in named)


SAMPLES = [sample for samples, _ in families().values() for sample in samples]


@pytest.mark.filterwarnings("ignore")
def test_the_page_names_all_that_waits():
    names = declared()
    found = {name for sample in SAMPLES[::STEP] for name in found_in(sample)}
    unsaid = sorted(name for name in found if not any(covers(one, name) for one in names))
    assert not unsaid, f"these wait, and {PAGE.name} does not say so: {unsaid}"


@pytest.mark.filterwarnings("ignore")
def test_the_page_names_the_layers_that_wait():
    names, samples = declared("layers"), module_samples()
    named = [one for one in samples if any(covers(name, f"nn.{one.layer}") for name in names)]
    found = {f"nn.{sample.layer}" for sample in [*named, *samples[::STEP]] if layer_waits(sample)}
    assert sorted(one for one in found if not any(covers(name, one) for name in names)) == []
    assert sorted(name for name in names if not any(covers(name, one) for one in found)) == []


@pytest.mark.parametrize("name", declared())
def test_what_the_page_names_waits(name):
    ops = [sample for sample in SAMPLES if covers(name.removeprefix("the gradient of "), sample.op.removeprefix("_"))]
    assert ops, "no sample is for this op"
    assert any(covers(name, one) for sample in ops for one in found_in(sample))
