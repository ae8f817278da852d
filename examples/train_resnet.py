"""Train ResNet-18 on small colour pictures of digits, in CIFAR-10's file format.

    pip install 'polyad[plot,vision]'
    python train_resnet.py

The digits are those that come with polyad, in colours drawn by chance, 32 x 32 as CIFAR-10's pictures are.
`write_digits` writes them as the files of CIFAR-10's binary version. To train on CIFAR-10 itself, pass its folder:

    python train_resnet.py --data folder-of-cifar-10-batches-bin --epochs 30
"""

import argparse
from pathlib import Path

import polyad as torch
from polyad import nn
from polyad.datasets import Digits
from polyad.metrics import Accuracy
from polyad.trackers import CSVTracker, learning_curve
from polyad.trainer import Trainer
from polyad.utils.data import DataLoader, Subset
from polyad.vision import datasets, models, transforms as T, utils

MEAN, STD = [0.5, 0.5, 0.5], [0.25, 0.25, 0.25]


def colored(digits):
    """Grey digits (n, 1, 8, 8) as uint8 (n, 3, 32, 32): each with ink and paper of colours that are well apart."""
    large = nn.functional.interpolate(digits, size=32, mode="bilinear")
    ink, paper = torch.rand(2, len(digits), 3, 1, 1)
    lighter = torch.rand(len(digits), 1, 1, 1) < 0.5
    ink, paper = torch.where(lighter, 0.6 + 0.4 * ink, 0.4 * ink), torch.where(lighter, 0.4 * paper, 0.6 + 0.4 * paper)
    return ((large * ink + (1 - large) * paper) * 255).round().to(torch.uint8)


def write_digits(folder):
    """The digits as CIFAR-10's files: for each picture a byte for the class and 3 x 32 x 32 bytes, red first."""
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    for train in (True, False):
        digits = Digits(train)
        pictures = colored(digits.images).flatten(1)
        records = torch.cat([digits.labels.to(torch.uint8).unsqueeze(1), pictures], 1)
        names = [f"data_batch_{number}.bin" for number in range(1, 6)] if train else ["test_batch.bin"]
        for name, part in zip(names, records.tensor_split(len(names))):
            (folder / name).write_bytes(part.numpy().tobytes())
    (folder / "batches.meta.txt").write_text("\n".join(Digits.classes) + "\n")


def loaders(folder, batch_size, pictures=None, flip=False):
    """Of the pictures for training, changed by chance, and of those held out; *pictures* takes the first so many."""
    plain = [T.ToTensor(), T.Normalize(MEAN, STD)]
    augment = [T.RandomCrop(32, padding=4), *([T.RandomHorizontalFlip()] if flip else [])]
    train = datasets.CIFAR10(folder, train=True, transform=T.Compose(augment + plain))
    held_out = datasets.CIFAR10(folder, train=False, transform=T.Compose(plain))
    if pictures is not None:
        train, held_out = (Subset(data, range(min(pictures, len(data)))) for data in (train, held_out))
    return DataLoader(train, batch_size, shuffle=True), DataLoader(held_out, 4 * batch_size)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Train ResNet-18 on pictures in CIFAR-10's file format.")
    parser.add_argument("--data", type=Path, help="a folder of CIFAR-10's; by default coloured digits are written")
    parser.add_argument("--output", type=Path, default=Path("resnet"), help="the folder for what is written")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--pictures", type=int, help="use so many, for a trial")
    given = parser.parse_args(arguments)

    torch.manual_seed(0)
    if given.data is None:
        write_digits(given.output / "data")
    train, held_out = loaders(given.data or given.output / "data", given.batch_size, given.pictures, bool(given.data))

    torch.manual_seed(1)
    model = models.resnet18(num_classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    steps = given.epochs * len(train)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=steps)
    trainer = Trainer(
        model,
        {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}},
        nn.CrossEntropyLoss(label_smoothing=0.05),
        metrics={"accuracy": Accuracy(task="multiclass", num_classes=10)},
        max_epochs=given.epochs,
        logger=CSVTracker(given.output),
        log_every_n_steps=5,
        default_root_dir=given.output,
    )
    trainer.fit(train, held_out)

    tracker = trainer.logger
    print(learning_curve(tracker.path, given.output / "curve.png", ["loss_step", "val_accuracy"], "ResNet-18"))
    pictures, labels = next(iter(held_out))
    with torch.inference_mode():
        found = model.eval()(pictures[:40]).argmax(1)
    grid = utils.make_grid(pictures[:40] * STD[0] + MEAN[0], nrow=10)
    utils.save_image(grid, given.output / "pictures.png")
    print(f"found: {' '.join(map(str, found.tolist()))}")
    print(f"right: {' '.join(map(str, labels[:40].tolist()))}")
    print(f"accuracy: {trainer.callback_metrics['val_accuracy']:.4f}")


if __name__ == "__main__":
    main()
