"""The demo's pictures and rows, in a terminal with colours, without, and in a file."""

import io

import pytest
from rich.console import Console

from polyad.demo.screen import Screen, picture

STEP = [[0.0] * 4 + [1.0] * 4] * 8


def shown(pictures, width=80, **options):
    file = io.StringIO()
    Screen(Console(file=file, width=width, highlight=False, **options)).gallery(pictures)
    return file.getvalue()


def test_small_pictures_are_doubled_and_two_pixels_share_a_character():
    lines = picture(STEP, colours=False)
    assert [line.plain for line in lines] == [" " * 8 + "█" * 8] * 8
    assert [line.plain for line in picture([[0.5] * 28] * 28, colours=False)] == ["▒" * 28] * 14


def test_shades_grow_with_ink():
    [line] = picture([[0.0, 0.25, 0.5, 0.75, 1.0]] * 2, colours=False, ink=" .:+#")[:1]
    assert line.plain == "  ..::++##"


def test_colours_show_both_pixels_of_a_character():
    line = picture([[0.0] * 16, [1.0] * 16] * 8, colours=True)[0]
    assert line.plain == "▀" * 16
    [style] = {span.style for span in line.spans}
    assert (style.color.triplet.hex, style.bgcolor.triplet.hex) == ("#181818", "#ffffff")


def test_as_many_pictures_as_fit_side_by_side():
    text = shown([(STEP, f"{n}, read 0") for n in range(9)], width=60)
    lines = text.splitlines()
    assert len(lines) == 9 + 1 + 9  # two rows of pictures with captions, and a line between them
    assert [text.split("   ")[0] for text in (lines[8], lines[-1])] == ["0, read 0", "3, read 0"]
    assert lines[-1].count("read") == 3  # 3 x 16 characters and 2 gaps of 3 in 60
    assert max(map(len, lines)) <= 60
    assert shown([(STEP, "0, read 0")], width=5).count("read") == 1


def test_no_control_characters_without_a_terminal():
    assert "\x1b" not in shown([(STEP, "1, read 2")])


def test_terminals_get_half_blocks_unless_they_have_no_colours():
    terminal = {"force_terminal": True, "legacy_windows": False}
    assert "▀" in shown([(STEP, "a")], color_system="truecolor", **terminal)
    assert "▀" not in shown([(STEP, "a")], color_system="truecolor", no_color=True, **terminal)
    assert "▀" not in shown([(STEP, "a")], color_system="standard", **terminal)


def test_an_ascii_file_gets_ascii():
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    Screen(Console(file=file, width=80)).gallery([(STEP, "1, read 2")])
    file.flush()
    assert b"########" in raw.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_is_for_terminals_only(terminal):
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80, force_terminal=terminal))
    with screen.progress(1, 2, 10) as after_batch:
        for _ in range(10):
            after_batch()
    assert ("10/10" in file.getvalue()) is terminal
