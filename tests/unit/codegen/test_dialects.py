"""What is one language's stands in its table, and nowhere else in the generator."""

import dataclasses
import re
from pathlib import Path

import pytest

import polyad
from polyad import codegen
from polyad.codegen import CUDA_C, DIALECTS, GPU, OPENCL_C, C, DeviceDescription, Operand, apply, cast, reduction
from polyad.codegen.variants import Variant

FOLDER = Path(codegen.__file__).parent
WORDS = re.compile(
    r"vload|vstore|convert_|\bas_(?:u?int|float)|get_global|get_local|__global|__local|threadIdx|\buchar|\bushort"
)


def test_words_of_a_language_stand_in_its_table() -> None:
    for path in FOLDER.glob("*.py"):
        if path.name != "dialects.py":
            assert not WORDS.findall(path.read_text()), path.name


@pytest.mark.parametrize("name", DIALECTS)
def test_bfloat16_is_rounded_in_one_place(name: str) -> None:
    """Whatever a kernel does with bfloat16 calls the functions that the dialect's table gives."""
    dialect = DIALECTS[name]
    x = Operand(0, polyad.bfloat16)
    for device in (DeviceDescription(), DeviceDescription(GPU, 8)):
        text = codegen.elementwise([x + x], dialect, device).text
        lanes = {int(found) for found in re.findall(r"to_bfloat_(\d+)\(", text)}
        assert lanes
        assert text.count("0x7fff)") == len(lanes)
        assert all(codegen.bfloat_functions(dialect, n)[f"to_bfloat_{n}"] in text for n in lanes)


def test_a_language_is_a_table() -> None:
    """A dialect with other words for everything: they all occur, and nothing of the language that it was made from."""
    other = dataclasses.replace(
        OPENCL_C, name="Other", types={dtype: f"T{dtype.name}" for dtype in OPENCL_C.types}, wide="Wide", word="Word",
        kernel="Kernel ", function="Function ", address="Address ", worker="WORKER", workers="WORKERS", member="MEMBER",
        group="GROUP", groups="GROUPS", shared="Shared ", barrier="MEET;", vector="Vector{n}_{type}",
        packed="Packed_{name} {type};\n", convert="Convert<{type}>({value})", bits="Bits{n}({value})",
        floats="Floats{n}({value})", loads={polyad.float16: "Load{n}({place})"},
        stores={polyad.float16: "Store{n}({place}, {value})"},
    )  # fmt: skip
    half, brain, number = Operand(0, polyad.float16), Operand(1, polyad.bfloat16), Operand(2, polyad.float32)
    total = cast(half, polyad.float32) + cast(brain, polyad.float32) + number
    device, gpu = DeviceDescription(), DeviceDescription(GPU, 8, 64)
    stages = [codegen.Stage(total, "sum", polyad.float32)]
    whole = codegen.RowValue(0, polyad.float32)
    texts = [
        codegen.elementwise([cast(total, polyad.float16), cast(apply("exp", total), polyad.bfloat16)], other).text,
        reduction(total, "amax", other, result=polyad.bfloat16).text,
        codegen.rowwise(stages, [total / whole], [cast(whole, polyad.float16)], other, device).text,
        codegen.rowwise(stages, [total / whole], [whole], other, gpu, variant=Variant(row_items=64, group=64)).text,
    ]
    text = "".join(texts)
    for word in (
        *("Wide ", "Word)", "Kernel ", "Function ", "Address ", "WORKER ", "WORKERS", "MEMBER", "GROUP", "GROUPS"),
        *("Shared ", "MEET;", "Vector8_Tfloat32", "Packed_", "Convert<", "Bits8(", "Floats8(", "Load8(", "Store8("),
        *("Load(", "Tbfloat16"),
    ):
        assert word in text, word
    assert not WORDS.findall(text)
    assert not re.findall(r"\b(float|long|unsigned|short|half)\b", text)


def test_c_kernels_are_called_by_one_signature() -> None:
    x = Operand(0, polyad.float32)
    signature = (
        "kernel__entry(void *const *arrays, const void *const *numbers, const void *geometry, long long worker, "
        "long long workers)"
    )
    for source in (codegen.elementwise([x], C), reduction(x, "sum", C), codegen.rowwise([], [x], [], C)):
        assert source.entry == "kernel__entry"
        assert f"void {signature}" in source.text
    assert codegen.elementwise([x], CUDA_C).entry == codegen.elementwise([x], OPENCL_C).entry == ""
