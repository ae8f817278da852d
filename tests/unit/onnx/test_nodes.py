"""The tests that ONNX has for backends, all of them; `node_failures.py` lists those that fail, with reasons.

ONNX makes its tests when it is asked, all at once; so they are parts here, each of which runs a share of them.
"""

import functools
import re
import warnings
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
from onnx.backend.test.loader import load_model_tests  # noqa: E402
from onnx.backend.test.runner import Runner, _normalize_tensor  # noqa: E402

import polyad  # noqa: E402
from polyad.onnx import backend  # noqa: E402

from .node_failures import EITHER, FAILURES, FAILURES_OF_DEVICE  # noqa: E402

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
PARTS = 8


@functools.cache
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the NumPy with which ONNX computes what it expects
        return [case for kind in KINDS for case in load_model_tests(kind=kind)]


def stored(case):
    """The model of a test that ONNX keeps in files, and what goes in and comes out."""
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    sets = []
    for part in sorted(folder.glob("test_data_set_*")):
        columns = []
        for name, values in (("input", model.graph.input), ("output", model.graph.output)):
            column = []
            for index in range(len(list(part.glob(f"{name}_*.pb")))):
                Runner._load_proto(None, part / f"{name}_{index}.pb", column, values[index].type)
            columns.append(column)
        sets.append(columns)
    return model, sets


def outcome(case, device):
    """What is wrong with polyad's results, or None."""
    polyad.manual_seed(0)
    try:
        model, sets = (case.model, case.data_sets) if case.model is not None else stored(case)
        ready = backend.prepare(model, device)
        for inputs, outputs in sets:
            made = ready.run([_normalize_tensor(each) for each in inputs])
            Runner.assert_similar_outputs([_normalize_tensor(each) for each in outputs], made, case.rtol, case.atol)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("part", range(PARTS))
def test_nodes(part, request):
    device = request.config.getoption("--polyad-backend") or "cpu"
    known = {**FAILURES, **FAILURES_OF_DEVICE.get(device.partition(":")[0], {})}
    wrong = []
    for case in cases()[part::PARTS]:
        found = outcome(case, device)
        listed = any(re.fullmatch(pattern, case.name) for pattern in known)
        either = any(re.fullmatch(pattern, case.name) for pattern in EITHER)
        if found is not None and not listed and not (either and "Not equal to tolerance" in found):
            wrong.append(f"{case.name}: {found}")
        elif found is None and listed:
            wrong.append(f"{case.name}: passes although it is listed in node_failures.py")
    assert not wrong, "\n\n".join(wrong)


def test_most_of_them_pass():
    patterns = {**FAILURES, **EITHER}
    listed = [case.name for case in cases() if any(re.fullmatch(pattern, case.name) for pattern in patterns)]
    assert len(cases()) > 1500
    assert len(listed) < 0.04 * len(cases()), listed
