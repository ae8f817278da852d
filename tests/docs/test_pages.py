"""Markdown and docs: examples run, links lead somewhere, and CI runs the command of the README."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN_PAGE = Path(__file__).with_name("run_page.py")
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/**/*.md")]
    if "_build" not in path.parts
)
# What a plug-in's page shows needs the plug-in: `nox -s template` runs it.
WITH_EXAMPLES = [p for p in PAGES if "```py" in p.read_text(encoding="utf-8") and "plugins" not in p.parts]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def run_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN_PAGE), str(page)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=page_id)
def test_examples_run(page: Path, tmp_path: Path) -> None:
    done = run_page(page, tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_the_picture_of_a_model_is_what_the_page_draws(tmp_path: Path) -> None:
    done = run_page(ROOT / "docs" / "examples.md", tmp_path)
    assert done.returncode == 0, done.stderr
    drawn, shown = ((folder / "model.svg").read_text() for folder in (tmp_path, ROOT / "docs" / "pictures"))
    place = r"<title>.*?</title>"  # says in which file an op was called
    assert re.sub(place, "", drawn) == re.sub(place, "", shown), "the page draws another picture: copy model.svg anew"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    missing = [target for target in LINK.findall(prose) if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("```python\nx = 1\n```\nthen\n```python\nassert x == 1\n```\n", False),
        ("```python\nassert False\n```\n", True),
        ("```python\n>>> 1 + 1\n2\n```\n", False),
        ("```python\n>>> y = 1\n```\n```python\n>>> y + 1\n3\n```\n", True),
        ("- a list\n\n  ```python\n  assert False\n  ```\n", True),
        ("<!-- not run: it is a fragment -->\n```python\nassert False\n```\n", False),
        ("<!-- not run: -->\n```python\nassert False\n```\n", True),
        ("```toml\nassert False\n```\n", False),
        ("```python\nx = 1\n", True),
    ],
)
def test_a_wrong_example_is_found(text: str, fails: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert (run_page(page, tmp_path).returncode != 0) is fails


def test_errors_name_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\nraise ValueError(x)\n```\n", encoding="utf-8")
    assert 'page.md", line 5' in run_page(page, tmp_path).stderr


def test_commands_run_in_order_and_end_at_the_first_that_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\nx=1\n```\n<!-- not run: no -->\n```sh\nfalse\n```\n```sh\necho $x > out\nfalse\necho 2 > out\n```\n"
    )
    done = subprocess.run([sys.executable, str(RUN_PAGE), "--shell", str(page)], cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert (tmp_path / "out").read_text() == "1\n"


def test_ci_runs_the_command_of_the_readme() -> None:
    done = subprocess.run([ROOT / ".ci/run", "--print"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pip install '.[dev]' && nox"
