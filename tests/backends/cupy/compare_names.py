"""Compare what `polyad_cupy` uses of CuPy, cuBLASLt and cuDNN's frontend with the real wheels, which import without a
driver.

    python compare_names.py --standin tests/backends/cupy/src/standin_cupy --backend backends/polyad_cupy

Run it where CuPy is installed and the stand-in is not. These things are looked at:

- every name that a module of the backend imports from CuPy, and every attribute of those names that it reads, by its
  syntax;
- every public name of the stand-in, its classes' members too, because the backend has run on nothing else; with the
  number of parameters that a function is called with at most, where CuPy's own tells;
- the same for the stand-in for cuDNN's frontend, with the names of all parameters, which the frontend's functions tell
  in their docstrings;
- constants, structures and functions of cuBLASLt, by a compiler that reads the headers of NVIDIA's package;
- numbers: kinds of copies from CuPy, launch parameters from the header of NVIDIA's package, and the names of device
  properties, which stand in CuPy's compiled code as texts.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

OWN = {
    "simulation",
    "arrays",
    "linalg",
    "failing",
    "adopted",
    "allocators",
    "launches",
    "pinned",
    "MAGIC",
    "SOURCES",
    "wanted",
    "built",
    "annotations",
}
"""Names of the stand-in that are its own: they are no claim about CuPy."""

_INVENTORY = """
import importlib, inspect, json, sys
found = {}
for name in ("cupy", "cupy.cuda", "cupy.cuda.runtime", "cupy.cuda.driver", "cupy.cuda.nvrtc", "cupy.cuda.memory",
             "cupy.cuda.stream", "cupy.cuda.nvtx"):
    module = importlib.import_module(name)
    for key, value in vars(module).items():
        if key.startswith("_") or inspect.ismodule(value) and not value.__name__.startswith("cupy"):
            continue
        home = getattr(value, "__module__", None) or ""
        if callable(value) and not home.startswith("cupy"):
            continue
        entry = found[f"{name}.{key}"] = {"members": [], "parameters": None}
        if inspect.isclass(value):
            entry["members"] = [member for member in vars(value) if not member.startswith("_")]
        elif inspect.isfunction(value):
            entry["parameters"] = len(inspect.signature(value).parameters)
        elif isinstance(value, int):
            entry["number"] = value
print(json.dumps(found))
"""


_FRONTEND = """
import enum, inspect, json
import cudnn
found = {}
def parameters(function):
    given = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    by_place = inspect.Parameter.POSITIONAL_ONLY
    return [f"arg{at}" if each.kind is by_place else each.name for at, each in enumerate(given)]
for key, value in vars(cudnn).items():
    if key.startswith("_") or inspect.ismodule(value):
        continue
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        found |= {f"{key}.{name}": None for name in value.__members__}
    elif inspect.isclass(value):
        found[key] = None
        found |= {f"{key}.{name}": parameters(member) for name, member in vars(value).items()
                  if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_"))
                  and not (key == "tensor" and name == "__init__")}
    elif callable(value):
        found[key] = parameters(value)
print(json.dumps(found))
"""


def inventory(standin: Path, code: str = _INVENTORY) -> dict:
    """What *code* says of the stand-ins' public names."""
    places = [str(standin), str(standin.parent / "standin_cudnn"), str(standin.parent), *sys.path]
    code = f"import sys; sys.path[:0] = {places!r}\n{code}"
    environment = {**os.environ, "STANDIN_CUDNN": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def used(folder: Path) -> dict[str, set[str]]:
    """CuPy's names by the module that uses them: ``cupy.cuda.runtime.memcpyAsync``."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text())
        names: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {one.asname or one.name.split(".")[0]: one.name for one in node.names if _is_cupy(one.name)}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_cupy(node.module or ""):
                names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        uses = set(names.values())
        for node in ast.walk(tree):
            chain: list[str] = []
            at: ast.expr = node if isinstance(node, ast.Attribute) else ast.Constant(None)
            while isinstance(at, ast.Attribute):
                chain.insert(0, at.attr)
                at = at.value
            if chain and isinstance(at, ast.Name) and at.id in names:
                uses.add(".".join((names[at.id], *chain)))
        if uses:
            found[str(path.relative_to(folder))] = uses
    return found


def _is_cupy(module: str) -> bool:
    return module == "cupy" or module.startswith(("cupy.", "cupyx"))


def real(path: str):
    """The object that CuPy has under *path*; raises LookupError."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part):
                raise LookupError(path)
            value = getattr(value, part)
        return value
    raise LookupError(path)


def takes(function) -> int | None:
    """How many parameters CuPy's *function* has; None if nothing tells."""
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        said = re.match(r"[\w.]+\((.*?)\)", (function.__doc__ or "").strip(), re.DOTALL)
        if not said or "..." in said[1]:
            return None
        return len([one for one in said[1].split(",") if one.strip() not in ("", "*")])


def problems(standin: Path, backend: Path) -> list[str]:
    """What is said of CuPy and is not so."""
    wrong = []
    for module, names in used(backend).items():
        for name in sorted(names):
            try:
                real(name)
            except LookupError:
                wrong.append(f"{module} uses {name}, which CuPy does not have")
    for name, entry in inventory(standin).items():
        if name.rpartition(".")[2] in OWN:
            continue
        try:
            value = real(name)
        except LookupError:
            wrong.append(f"the stand-in has {name}, CuPy does not")
            continue
        wrong += [
            f"the stand-in's {name} has {member}, CuPy's does not"
            for member in entry["members"]
            if member not in OWN and not hasattr(value, member)
        ]
        count = takes(value) if entry["parameters"] is not None else None
        if count is not None and entry["parameters"] > count:
            wrong.append(f"the stand-in's {name} takes {entry['parameters']} arguments, CuPy's {count}")
        if "number" in entry and name.startswith("cupy.cuda.runtime.") and value != entry["number"]:
            wrong.append(f"the stand-in's {name} is {entry['number']}, CuPy's {value}")
    return wrong + _frontend(standin) + _launch_parameters(backend) + _properties(backend) + _cublaslt(backend)


def _frontend(standin: Path) -> list[str]:
    """What the stand-in for cuDNN's frontend has, and the frontend has not."""
    wrong = []
    for name, parameters in inventory(standin, _FRONTEND).items():
        try:
            value = real(f"cudnn.{name}")
        except LookupError:
            wrong.append(f"the stand-in has cudnn.{name}, the frontend does not")
            continue
        if parameters is None:
            continue
        known = _forms(value)
        if not any(set(parameters) <= set(form) for form in known):
            wrong.append(f"the stand-in's cudnn.{name} takes {parameters}, the frontend's {known}")
    return wrong


def _forms(function) -> list[list[str]]:
    """The names of the parameters of each form of a function: from its signature, or as its docstring tells them."""
    try:
        found = [list(inspect.signature(function).parameters)]
    except (TypeError, ValueError):
        heads = re.findall(r"^(?:\d+\. )?\w+\((.*)\) -> ", function.__doc__ or "", re.MULTILINE)
        found = [re.findall(r"(?:^|, )(\w+): ", head) for head in heads]
    # pybind11 calls parameters without names arg0, arg1; the stand-in has them by place alone.
    return [[name for name in form if name != "self"] for form in found if "*args" not in form]


def _launch_parameters(backend: Path) -> list[str]:
    """The numbers by which arguments are passed, against the header of the package nvidia-cuda-runtime."""
    header = next((p for place in sys.path for p in Path(place).glob("nvidia/*/include/cuda.h")), None)
    if header is None:
        return ["there is no cuda.h: install nvidia-cuda-runtime-cu12"]
    text = header.read_text()
    own = (backend / "runtime" / "device.py").read_text()
    given = re.search(r"_POINTER, _SIZE, _END = (\d+), (\d+), (\d+)", own)
    if given is None:
        return ["device.py does not say how arguments are passed"]
    wrong = []
    for name, number in zip(("BUFFER_POINTER", "BUFFER_SIZE", "END"), given.groups(), strict=True):
        said = re.search(rf"#define CU_LAUNCH_PARAM_{name}_AS_INT\s+0x(\w+)", text)
        if said is None or int(said[1], 16) != int(number):
            wrong.append(f"CU_LAUNCH_PARAM_{name} is {said and said[1]}, device.py says {number}")
    return wrong


def _properties(backend: Path) -> list[str]:
    """The keys of a device's properties that the backend reads: they are texts in CuPy's compiled module."""
    import cupy_backends.cuda.api.runtime as module

    compiled = Path(module.__file__).read_bytes()
    keys = set()
    for path in backend.rglob("*.py"):
        keys |= set(re.findall(r"(?:found|properties)\[['\"](\w+)['\"]\]", path.read_text()))
    return [f"CuPy's device properties have no {key}" for key in sorted(keys) if key.encode() not in compiled]


_CHECK = """
#include <cstddef>
// The half types' own headers need more packages, and nothing here.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
struct __half;
struct __nv_bfloat16;
#include <cublasLt.h>
template <class R, class... A> constexpr int parameters(R (*)(A...)) { return sizeof...(A); }
"""


def _cublaslt(backend: Path) -> list[str]:
    """Constants, structures and functions of `libraries/cublaslt.py`, by a compiler that reads NVIDIA's headers."""
    tree = ast.parse((backend / "libraries" / "cublaslt.py").read_text())
    claims = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [target.id for target in node.targets[0].elts if isinstance(target, ast.Name)]
            if names[0].startswith("CU"):
                values = ast.literal_eval(node.value)
                claims += [f"{name} == {value}" for name, value in zip(names, values, strict=True)]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.startswith("CUBLAS"):
                claims.append(f"{name} == {ast.literal_eval(node.value)}")
    from polyad_cupy.libraries import cublaslt

    for structure in (cublaslt.cublasLtMatmulAlgo_t, cublaslt.cublasLtMatmulHeuristicResult_t):
        name = structure.__name__
        claims.append(f"sizeof({name}) == {ctypes.sizeof(structure)}")
        claims += [
            f"offsetof({name}, {field}) == {getattr(structure, field).offset}" for field, _ in structure._fields_
        ]
    claims += [f"parameters(&{name}) == {len(types)}" for name, types in cublaslt._SIGNATURES.items()]
    includes = [str(p) for place in sys.path for p in Path(place).glob("nvidia/*/include")]
    lines = "".join(f'static_assert({claim}, "{claim}");\n' for claim in claims)
    done = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", "-x", "c++", "-", *[f"-I{place}" for place in includes]],
        input=_CHECK + lines,
        capture_output=True,
        text=True,
    )
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return errors if done.returncode else []


def main() -> int:
    """Print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--standin", type=Path, required=True)
    parser.add_argument("--backend", type=Path, required=True)
    given = parser.parse_args()
    import cupy

    wrong = problems(given.standin, given.backend)
    print("\n".join(wrong) or f"CuPy {cupy.__version__} has all that is used")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
