"""``polyad port``: imports of torch become imports of polyad, and back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from polyad.cli.main import main
from polyad.compatibility import porting

PROGRAM = '''\
# -*- coding: utf-8 -*-
"""import torch: this stays."""
import os, torch, torch.nn as nn, torch.utils.data
é = 1; import torch.nn.functional as F; import torch as th
from torch.utils.data import (DataLoader,
    TensorDataset)
from torch \\
    import optim
def f():
    try:
        import torch.optim.lr_scheduler
    except ImportError:
        pass
    from torch.nn import Linear
    return th.is_tensor(f), nn.Linear, F.relu, torch.utils.data.Dataset, Linear, optim.SGD, torch.Tensor.add_
from .torch import mine
import torchish
'''


def test_a_program_is_rewritten_and_restored() -> None:
    ported = porting.port(PROGRAM)
    assert ported.findings == []
    assert ported.changed == 9
    statements = [line.strip() for line in ported.text.splitlines() if "import" in line]
    assert statements == [
        '"""import torch: this stays."""',
        "import os, polyad as torch, polyad.nn as nn, polyad as torch, polyad.utils.data",
        "é = 1; import polyad.nn.functional as F; import polyad as th",
        "from polyad.utils.data import (DataLoader,",
        "import optim",
        "import polyad as torch, polyad.optim.lr_scheduler",
        "from polyad.nn import Linear",
        "from .torch import mine",
        "import torchish",
    ]
    assert porting.restore(ported.text).text == PROGRAM
    assert porting.port(ported.text).changed == 0


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_stay(end: str) -> None:
    text = end.join(["x = '\x0c'", "import torch", "import torch.nn"])
    ported = porting.port(text).text
    assert ported == end.join(["x = '\x0c'", "import polyad as torch", "import polyad as torch, polyad.nn"])
    assert porting.restore(ported).text == text


def test_the_rewritten_program_runs() -> None:
    imports = "import torch\nimport torch.nn.functional as F\nfrom torch.nn import Linear\n"
    text = f"{imports}x = F.relu(Linear(2, 1)(torch.ones(3, 2)))"
    names: dict[str, object] = {}
    exec(porting.port(text).text, names)
    assert names["x"].shape == (3, 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from torch._six import inf", "torch._six.inf"),
        ("import torch.nn as nn\nnn.Linearr(2)", "torch.nn.Linearr"),
        ("import torch\ntorch.Tensor.softmx", "torch.Tensor.softmx"),
        ("from torch.ao.quantization import QConfig", "torch.ao.quantization.QConfig"),
        ("import torch\ntorch.nested.nested_tensor([])", "torch.nested.nested_tensor"),
    ],
)
def test_what_is_missing_is_named_with_its_line(text: str, name: str) -> None:
    (found,) = porting.port(text).findings
    assert (found.name, found.line, found.missing) == (name, text.count("\n") + 1, True)


def test_names_that_mean_something_else_say_nothing() -> None:
    text = "from torch import nn\ndef f(nn):\n    return nn.nothing\n"
    assert porting.port(text).findings == []


def test_what_cannot_be_rewritten_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        porting,
        "metadata",
        SimpleNamespace(packages_distributions=lambda: {"seers": ["seers"]}, requires=lambda name: ["torch>=2"]),
    )
    porting._imports_torch.cache_clear()
    found = porting.port("import seers.models\nimport importlib\nimportlib.import_module('torch.nn')").findings
    assert [(one.line, one.name, one.missing) for one in found] == [(1, "seers", False), (3, "'torch.nn'", False)]
    porting._imports_torch.cache_clear()


@pytest.mark.parametrize("text", ['{"worksheets": []}', "[]", '{"cells": [{"cell_type": "code", "source": 1}]}', "{"])
def test_a_file_that_is_no_notebook_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    assert main(["port", str(path)]) == 1
    assert "a.ipynb: cannot be read" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named_and_the_others_are_ported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.py").write_text("import torch")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "a.py")
    assert main(["port", str(tmp_path)]) == 1
    assert "a.py: permission denied" in capsys.readouterr().err
    assert [(tmp_path / f"{name}.py").read_text() for name in "ab"] == ["import torch", "import polyad as torch"]


def test_folders_notebooks_and_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["import torch"]},
        {"cell_type": "code", "source": ["!pip install torch\n", "import torch\n", "%time torch.ones(1)"]},
        {"cell_type": "code", "source": "%%bash\nfor x in 1; do echo; done"},
        {"cell_type": "code", "source": ["torch.softmx"]},
    ]
    notebook, program = tmp_path / "a.ipynb", tmp_path / "deep" / "b.py"
    notebook.write_text(json.dumps({"cells": cells}))
    program.parent.mkdir()
    program.write_bytes("# coding: latin-1\nimport torch  # é\n".encode("latin-1"))
    (tmp_path / "deep" / "old.py").write_text("print 'import torch'")
    before = notebook.read_bytes()
    assert main(["port", str(tmp_path), "--diff"]) == 1
    assert notebook.read_bytes() == before
    assert "+import polyad as torch" in capsys.readouterr().out
    assert main(["port", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "a.ipynb: 1 import rewritten" in told.out
    assert "a.ipynb:6: torch.softmx: polyad has no such name" in told.out
    assert "old.py: cannot be read" in told.err
    after = json.loads(notebook.read_text())["cells"]
    assert after[1]["source"] == ["!pip install torch\n", "import polyad as torch\n", "%time torch.ones(1)"]
    assert [after[0], after[2], after[3]] == [cells[0], cells[2], cells[3]]
    assert program.read_bytes() == "# coding: latin-1\nimport polyad as torch  # é\n".encode("latin-1")
    assert main(["port", "--undo", str(notebook), str(program)]) == 0
    assert json.loads(notebook.read_text())["cells"] == cells
    assert "torch" not in sys.modules
