"""Packages that an installed distribution shows under polyad's name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def install(folder: Path, name: str, package: str, files: dict[str, str]) -> None:
    """Write a distribution that shows *package* as ``polyad.<name>``."""
    for file, text in files.items():
        path = folder / package / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[polyad.modules]\n{name} = {package}\n")


def run(folder: Path, code: str) -> str:
    """What a new Python prints that has *folder* on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SOUND = {
    "__init__.py": "from .player import Player\n",
    "player.py": "class Player:\n    pass\n",
}


def test_a_package_is_a_module_of_polyad(tmp_path):
    install(tmp_path, "sound", "sound_for_polyad", SOUND)
    code = "import polyad.sound; from polyad.sound.player import Player; print(Player is polyad.sound.Player, Player)"
    assert run(tmp_path, code) == "True <class 'polyad.sound.player.Player'>"


def test_it_is_an_attribute_and_in_dir_but_loaded_by_nothing_else(tmp_path):
    install(tmp_path, "sound", "sound_for_polyad", SOUND)
    code = (
        "import sys, polyad; print('sound' in dir(polyad), 'sound' in polyad.__all__, 'polyad.sound' in sys.modules, "
        "polyad.sound.Player.__name__)"
    )
    assert run(tmp_path, code) == "True False False Player"


def test_nothing_is_read_until_a_name_is_missing():
    code = "import polyad, polyad.nn; print(polyad.devices.entry_points.declared.cache_info().currsize)"
    assert run(Path(), code) == "0"


@pytest.mark.parametrize("statement", ["import polyad.sound", "polyad.sound"])
def test_two_packages_of_a_name_are_refused(tmp_path, statement):
    install(tmp_path, "sound", "sound_for_polyad", SOUND)
    install(tmp_path, "sound", "other_sound", SOUND)
    code = f"import polyad\ntry:\n    {statement}\nexcept ImportError as error:\n    print(error)"
    shown = run(tmp_path, code)
    assert "2 installed packages declare this module" in shown
    assert "pip uninstall" in shown


def test_a_package_that_is_gone_is_named(tmp_path):
    install(tmp_path, "sound", "sound_for_polyad", {})
    shown = run(tmp_path, "try:\n    import polyad.sound\nexcept ImportError as error:\n    print(error)")
    assert "sound_for_polyad 1.0 declares it as sound_for_polyad, which cannot be imported" in shown


def test_an_unknown_module_is_not_found():
    code = "import polyad\ntry:\n    import polyad.no_such\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert run(Path(), code).startswith("polyad.no_such: there is no such module")
