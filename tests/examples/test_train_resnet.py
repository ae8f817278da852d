"""examples/train_resnet.py."""

import polyad
from polyad.datasets import Digits
from polyad.vision import datasets


def test_files_of_digits_are_those_of_cifar_10(train_resnet, tmp_path):
    train_resnet.write_digits(tmp_path)
    for train, names in ((True, [f"data_batch_{n}.bin" for n in range(1, 6)]), (False, ["test_batch.bin"])):
        digits, read = Digits(train), datasets.CIFAR10(tmp_path, train=train)
        assert sum((tmp_path / name).stat().st_size for name in names) == len(digits) * 3073
        assert (read.targets, read.classes) == (digits.labels.tolist(), list("0123456789"))
        assert (read.images.shape, read.images.dtype) == ((len(digits), 3, 32, 32), polyad.uint8)
    large = polyad.nn.functional.interpolate(digits.images, size=32, mode="bilinear").flatten(1)
    for channel in read.images.float().flatten(2).unbind(1):  # between ink and paper, as the digit is
        both = polyad.stack([polyad.corrcoef(polyad.stack(pair))[0, 1] for pair in zip(channel[:20], large[:20])])
        assert both.abs().min().item() > 0.99


def test_a_trial_writes_what_the_page_shows(train_resnet, tmp_path, capsys):
    train_resnet.main(["--output", str(tmp_path), "--epochs", "1", "--pictures", "8", "--batch-size", "4"])
    printed = capsys.readouterr().out
    assert "waiting for data" in printed
    assert "accuracy: " in printed
    assert (tmp_path / "pictures.png").stat().st_size > 1000
    assert "val_accuracy" in (tmp_path / "metrics.csv").read_text()
