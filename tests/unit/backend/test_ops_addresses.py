"""Where ops are computed, as `polyad ops NAME --device D` and `polyad.backends.locate_op` tell it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import polyad
from polyad import backends
from polyad.backend import Kernel, KernelAddress
from polyad.backend.addresses import addresses_of
from polyad.cli import main
from polyad.devices import registry
from polyad.dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC

NAMES = sorted({*OPS.names(), *PUBLIC.names(), *(f"Tensor.{name}" for name in ATTRIBUTES.names())})
SHARDS = 25


def native() -> bool:
    """Whether kernels in C are used here at the sizes that they are made for."""
    from polyad.devices import plugins

    return any(kernel.origin == "native" for kernel in plugins.candidate_kernels(registry.get("cpu"), "add"))


def check(found: backends.OpLocation) -> None:
    assert Path(found.declaration.file).is_file(), found.name
    assert found.declaration.text, found.name
    assert not [reason for reason in found.reasons if "could not be written out" in reason], found
    for kernel in found.kernels:
        if kernel.form == "handwritten":
            lines = Path(kernel.file).read_text(encoding="utf-8").splitlines()
            assert 0 < kernel.line <= len(lines), kernel
        else:
            assert kernel.name, found.name
    if found.path in ("kernel", "override", "lowered") and found.call:
        assert any(kernel.serves for kernel in found.kernels), found
    json.dumps(found.as_dict())
    assert found.name in str(found)


@pytest.mark.parametrize("name", NAMES[::SHARDS])
def test_every_name_has_an_address_on_cpu(name: str) -> None:
    """One in 25 of all names: the whole takes 15 seconds."""
    check(backends.locate_op(name))


def test_c_is_found_by_file_and_line() -> None:
    if not native():
        return
    found = backends.locate_op("mm")
    first = found.kernels[0]
    assert (first.form, first.language, first.name, first.serves) == ("handwritten", "C", "product", True)
    assert "Object *product(" in Path(first.file).read_text(encoding="utf-8").splitlines()[first.line - 1]


def test_generated_c_is_written_out() -> None:
    if not native():
        return
    found = backends.locate_op("gelu")
    assert found.path == "override"
    assert found.origin == "native"
    (kernel,) = (each for each in found.kernels if each.serves)
    assert (kernel.form, kernel.language) == ("generated", "C")
    assert "erf" in kernel.text
    assert "#include" not in kernel.text
    assert kernel.text.splitlines()[0] in str(found)


def test_what_computes_depends_on_size_and_the_condition_is_told() -> None:
    if not native():
        return
    limits = {each.when for each in backends.locate_op("add", shape=(4, 4)).kernels}
    if "" in limits:  # a run with native kernels at all sizes
        return
    assert limits == {"from 1,024 elements on", "below 1,024 elements"}
    for shape, language in (((4, 4), "Python"), ((64, 64), "C")):
        serving = [each.language for each in backends.locate_op("add", shape=shape).kernels if each.serves]
        assert serving == [language]


def test_numpys_kernel_and_the_table_that_names_it() -> None:
    found = backends.locate_op("linalg_det")
    assert found.kernels[0].file.endswith("kernels/linalg/determinants.py") or found.origin == "polyad_numpy"
    table, line = found.tables[0].rsplit(":", 1)
    assert '"linalg_det"' in Path(table).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_a_body_is_composed_where_nobody_has_a_kernel() -> None:
    found = backends.locate_op("softmax", "meta")
    assert (found.path, found.kernels) == ("decomposition", ())
    assert {"exp", "sum"} <= set(found.uses)
    assert "def _softmax(" in found.declaration.text
    assert found.gradients["input"].line > found.declaration.line


def test_a_device_without_kernels_falls_back_to_the_hosts(toy) -> None:
    found = backends.locate_op("sort", "toy")
    assert found.path == "fallback"
    assert any("policy" in reason for reason in found.reasons)
    assert found.kernels[0].file.endswith("sort.py")


ELSEWHERE = ("add", "softmax", "gemm", "sum", "sort", "convolution", "cat", "linalg_det", "adam_step", "arange")


def test_a_device_with_a_queue_of_its_own(fake) -> None:
    for name in ELSEWHERE:
        check(backends.locate_op(name, "fake"))
    assert backends.locate_op("gemm", "fake").kernels[0].file


def test_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "plugins" / "template" / "src"))
    from polyad_template.backend import TemplateBackend
    from polyad_template.plugin import polyad_backend_info

    backend = TemplateBackend()
    backend.info = polyad_backend_info()
    with backends.register("template", backend), backends.fallback("allow"):
        for name in ELSEWHERE:
            check(backends.locate_op(name, "template"))
        assert "polyad_template" in backends.locate_op("gemm", "template").kernels[0].file


def test_generated_cuda_is_written_out_and_not_compiled() -> None:
    pytest.importorskip("polyad_cuda_on_host")
    from polyad_cudahost.device import HostBackend
    from polyad_cudahost.plugin import polyad_backend_info

    backend = HostBackend()
    backend.info = dataclasses.replace(polyad_backend_info(), name="addressedcuda")
    with backends.register("addressedcuda", backend), backends.fallback("allow"):
        for name in ELSEWHERE:
            check(backends.locate_op(name, "addressedcuda"))
        found = backends.locate_op("softmax", "addressedcuda")
    assert found.path == "lowered"
    assert found.kernels[0].language == "CUDA C"
    assert "__global__" in found.kernels[0].text


def test_a_kernel_says_where_it_is(toy) -> None:
    """Third parties use the hook that polyad's own packages use; without it, inspect finds the function."""

    def negative(array):
        return array

    here = Kernel(negative)
    found = addresses_of(here, ())
    assert (found[0].file, found[0].line) == (__file__, negative.__code__.co_firstlineno)
    assert addresses_of(Kernel(abs), ())[0].form == "library"
    told = KernelAddress("handwritten", "assembly", "negative", "neg.s", 3)
    elsewhere = Kernel(negative, addresses=lambda types, args: (told,))
    type(toy).kernels = property(lambda self: {"neg": elsewhere})
    try:
        location = backends.locate_op("neg", "toy:1")
    finally:
        del type(toy).kernels
    assert location.kernels == (told,)
    assert location.device == "toy:1"
    assert "handwritten assembly negative, neg.s:3" in str(location)


def test_public_names_and_methods_resolve() -> None:
    for name, op in (
        ("nn.functional.gelu", "gelu"),
        ("polyad.softmax", "softmax"),
        ("torch.exp", "exp"),
        ("Tensor.add_", "add"),
        ("linalg.det", "linalg_det"),
        ("special.entr", "special_entr"),
    ):
        assert backends.locate_op(name, "meta").op == op
    for _ in range(2):  # the second time after a call, when its callers have been generated
        norm = backends.locate_op("linalg.norm")
        assert (norm.op, norm.path) == ("", "functions")
        assert {"norm", "norm2", "linalg_svdvals"} <= {*norm.uses}
        polyad.linalg.norm(polyad.ones(2))
    assert backends.locate_op("Tensor.copy_").path == "functions"


def test_functions_say_which_ops_they_reach() -> None:
    for name, op in (("matmul", "gemm"), ("nn.functional.conv2d", "convolution"), ("lstm", "linear")):
        found = backends.locate_op(name, "meta")
        assert op in found.uses, found.uses
        assert name.rpartition(".")[2] not in found.uses


def test_the_example_is_a_call_that_the_public_function_takes() -> None:
    for name in ("gelu", "gelu_backward"):
        assert backends.locate_op(name, "meta").call.endswith("none)")


def test_dtypes_choose_the_signature() -> None:
    assert "int32" in backends.locate_op("add", dtype=polyad.int32).call
    cast = backends.locate_op("exp", dtype=polyad.int64)
    assert any("brought to one dtype" in reason for reason in cast.reasons)


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no op or function 'sofmax'\n    fix  did you mean .*softmax"):
        backends.locate_op("sofmax")
    with pytest.raises(RuntimeError, match="warp"):
        backends.locate_op("add", "warp")
    with pytest.raises(ValueError, match=r"no call of mm with \(2, 3, 4\) was found"):
        backends.locate_op("mm", shape=(2, 3, 4))


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "softmax", "--device", "meta", "--shape", "2,3", "--dtype", "float64"]) == 0
    text = capsys.readouterr().out
    assert "softmax on meta: composed of other ops" in text
    assert "float64 (2, 3)" in text
    assert main(["ops", "exp", "--device", "cpu", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert set(found) == set(backends.OpLocation.__dataclass_fields__)
    assert main(["ops", "exp", "--device", "warp"]) == 2
    assert "warp" in capsys.readouterr().err
    assert main(["ops", "exp", "--device", "cpu", "--dtype", "float7"]) == 2
    assert "there is no dtype 'float7'" in capsys.readouterr().err
    assert main(["ops", "--device", "cpu"]) == 2
    assert "say for which call" in capsys.readouterr().err
