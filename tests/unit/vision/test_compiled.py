"""What stands in for torchvision's compiled libraries: against loops in NumPy, and gradients by finite differences."""

import importlib
import io
import math
from importlib.metadata import entry_points

import numpy as np
import pytest

import polyad
from polyad.library.compiled import GROUP
from polyad.vision.compiled import images, ops as compiled_ops

for file in ("_C.so", "image.so"):
    polyad.ops.load_library(f"/site-packages/torchvision/{file}")
OPS = polyad.ops.torchvision
SIZE = (2, 8, 7, 9)
ROIS = [[0, 1.2, 0.7, 6.1, 5.4], [1, -3, -2, 4, 3.5], [1, 5, 4, 20, 20], [0, 3, 3, 3, 3], [0, 2.5, 0.5, 4.5, 6.5]]


def pictures(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SIZE)


def bilinear(plane: np.ndarray, y: float, x: float) -> float:
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = min(int(y), height - 2), min(int(x), width - 2)
    down, right = y - top, x - left
    rows = plane[top : top + 2, left : left + 2] @ [1 - right, right]
    return float(rows @ [1 - down, down])


def aligned(image, rois, scale, height, width, ratio, offset, by_bin):
    out = np.zeros((len(rois), image.shape[1] // (height * width if by_bin else 1), height, width))
    for n, channel, row, column in np.ndindex(*out.shape):
        picture, left, top, right, bottom = rois[n]
        left, top, right, bottom = (edge * scale - offset for edge in (left, top, right, bottom))
        extent = (bottom - top, right - left) if offset else (max(bottom - top, 1), max(right - left, 1))
        step = extent[0] / height, extent[1] / width
        many = [ratio if ratio > 0 else math.ceil(one) for one in step]
        plane = image[int(picture), (channel * height + row) * width + column if by_bin else channel]
        samples = [
            bilinear(
                plane, top + (row + (i + 0.5) / many[0]) * step[0], left + (column + (j + 0.5) / many[1]) * step[1]
            )
            for i in range(many[0])
            for j in range(many[1])
        ]
        out[n, channel, row, column] = sum(samples) / len(samples) if samples else 0.0
    return out


def in_bins(image, rois, scale, height, width, by_bin, of):
    """Bins of whole pixels, by what *of* makes of the pixels of one."""
    more, less = (0, 1) if by_bin else (1, 0)
    out = np.zeros((len(rois), image.shape[1] // (height * width if by_bin else 1), height, width))
    for n, channel, row, column in np.ndindex(*out.shape):
        picture, left, top, right, bottom = (
            rois[n][0],
            *(math.copysign(math.floor(abs(edge * scale) + 0.5), edge) for edge in rois[n][1:]),
        )
        step = max(bottom - top + more, 1) / height, max(right - left + more, 1) / width
        edges = [
            (int(np.clip(math.floor(k * s) + low, 0, end)), int(np.clip(math.ceil((k + 1) * s) + low, 0, end)))
            for k, s, low, end in (
                (row, step[0], top, image.shape[2] - less),
                (column, step[1], left, image.shape[3] - less),
            )
        ]
        plane = image[int(picture), (channel * height + row) * width + column if by_bin else channel]
        pixels = plane[slice(*edges[0]), slice(*edges[1])]
        out[n, channel, row, column] = of(pixels) if pixels.size else 0.0
    return out


CASES = {
    "roi_align": ((0.9, 3, 2, 2, False), lambda x, r: aligned(x, r, 0.9, 3, 2, 2, 0, False)),
    "roi_align of pixels": ((1.0, 2, 2, -1, True), lambda x, r: aligned(x, r, 1.0, 2, 2, -1, 0.5, False)),
    "ps_roi_align": ((0.8, 2, 2, 2), lambda x, r: aligned(x, r, 0.8, 2, 2, 2, 0.5, True)),
    "roi_pool": ((0.9, 3, 2), lambda x, r: in_bins(x, r, 0.9, 3, 2, False, np.max)),
    "ps_roi_pool": ((0.9, 2, 2), lambda x, r: in_bins(x, r, 0.9, 2, 2, True, np.mean)),
}


@pytest.mark.parametrize("case", CASES)
def test_pooling_of_regions(case):
    args, reference = CASES[case]
    op, image = getattr(OPS, case.partition(" ")[0]), pictures()
    found = op(polyad.tensor(image), polyad.tensor(ROIS, dtype=polyad.float64), *args)
    found = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(found.numpy(), reference(image, ROIS), atol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if case != "ps_roi_pool"])
def test_gradients_of_pooling(case):
    args, _ = CASES[case]
    op = getattr(OPS, case.partition(" ")[0])
    rois = polyad.tensor(ROIS[:3], dtype=polyad.float64)
    image = polyad.tensor(pictures(1)[:, :4], requires_grad=True)

    def pooled(x):
        found = op(x, rois, *args)
        return found[0] if isinstance(found, tuple) else found

    assert polyad.autograd.gradcheck(pooled, (image,), fast_mode=True)


@pytest.mark.parametrize("case", CASES)
def test_regions_that_are_none(case):
    op, args, image = getattr(OPS, case.partition(" ")[0]), CASES[case][0], polyad.ones(*SIZE)
    for number, box, error, match in (
        (7, [0, 0, 2, 2], IndexError, r"rois\[1, 0\] is 7.* 2 images"),
        (-1, [0, 0, 2, 2], IndexError, r"rois\[1, 0\] is -1.* 2 images"),
        (1, [0, math.nan, 2, 2], ValueError, r"rois\[1\] has coordinates .*nan"),
        (1, [0, 0, math.inf, 2], ValueError, r"rois\[1\] has coordinates .*inf"),
    ):
        with pytest.raises(error, match=match):
            op(image, polyad.tensor([[0, 0, 0, 2, 2], [number, *box]], dtype=polyad.float32), *args)


def test_regions_too_large_to_be_sampled():
    with pytest.raises(ValueError, match=r"roi_align: rois\[0\] is .* sampling_ratio -1"):
        OPS.roi_align(polyad.ones(*SIZE), polyad.tensor([[0, 0, 0, 1e12, 1e12]]), 1.0, 2, 2, -1, False)
    assert OPS.roi_align(polyad.ones(*SIZE), polyad.tensor([[0, 0, 0, 1e12, 1e12]]), 1.0, 2, 2, 2, False).sum() == 0


def test_regions_in_chunks_and_none_at_all(monkeypatch):
    from polyad.vision.compiled import regions

    image, rois = polyad.tensor(pictures(), dtype=polyad.float32), polyad.tensor(ROIS)
    for case, (args, _) in CASES.items():
        op = getattr(OPS, case.partition(" ")[0])
        whole = op(image, rois, *args)
        monkeypatch.setattr(regions, "_ELEMENTS", 700)
        parts = op(image, rois, *args)
        monkeypatch.undo()
        polyad.testing.assert_close(parts, whole)
        none = op(image, rois[:0], *args)
        assert (none[0] if isinstance(none, tuple) else none).shape[0] == 0


def greedy(boxes, scores, threshold):
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    found = []
    for number in np.argsort(-scores, kind="stable"):
        low = np.maximum(boxes[found, :2], boxes[number, :2])
        side = np.clip(np.minimum(boxes[found, 2:], boxes[number, 2:]) - low, 0, None)
        shared = side[:, 0] * side[:, 1]
        if not (shared / (area[found] + area[number] - shared) > threshold).any():
            found.append(number)
    return found


@pytest.mark.parametrize("count", [0, 1, 90, 700])
def test_nms(count):
    draw = np.random.default_rng(count)
    low = draw.integers(0, 40, (count, 2)).astype(np.float64)
    boxes = np.concatenate([low, low + draw.integers(1, 20, (count, 2))], 1)
    scores = draw.integers(0, 50, count) / 50  # with equal ones
    found = OPS.nms(polyad.tensor(boxes), polyad.tensor(scores, dtype=polyad.float64), 0.4)
    assert found.dtype is polyad.int64
    assert found.tolist() == greedy(boxes, scores, 0.4)


def test_a_deformable_convolution_without_offsets_is_a_convolution():
    draw = polyad.Generator().manual_seed(1)
    x = polyad.randn(2, 4, 6, 5, generator=draw, dtype=polyad.float64)
    weight = polyad.randn(6, 2, 3, 2, generator=draw, dtype=polyad.float64)
    bias = polyad.randn(6, generator=draw, dtype=polyad.float64)
    wanted = polyad.nn.functional.conv2d(x, weight, bias, (2, 1), (1, 2), (1, 2), 2)
    offset = polyad.zeros(2, 2 * 2 * 6, *wanted.shape[2:], dtype=polyad.float64)
    mask = polyad.ones(2, 2 * 6, *wanted.shape[2:], dtype=polyad.float64)
    numbers = (2, 1, 1, 2, 1, 2, 2, 2, True)
    polyad.testing.assert_close(OPS.deform_conv2d(x, weight, offset, mask, bias, *numbers), wanted)
    offset[:, ::2] = 1  # all taps a row lower
    lower = polyad.nn.functional.pad(x, (0, 0, 0, 1))[:, :, 1:]
    moved = polyad.nn.functional.conv2d(lower, weight, bias, (2, 1), (1, 2), (1, 2), 2)
    found = OPS.deform_conv2d(x, weight, offset, mask, bias, *numbers)
    polyad.testing.assert_close(found[:, :, 1:-1], moved[:, :, 1:-1])


def test_gradients_of_a_deformable_convolution():
    draw = polyad.Generator().manual_seed(2)

    def tensor(*shape):
        return polyad.randn(*shape, generator=draw, dtype=polyad.float64, requires_grad=True)

    tensors = tensor(1, 2, 4, 4), tensor(2, 2, 2, 2), tensor(1, 8, 3, 3), tensor(1, 4, 3, 3), tensor(2)
    assert polyad.autograd.gradcheck(lambda *x: OPS.deform_conv2d(*x, 1, 1, 0, 0, 1, 1, 1, 1, True), tensors)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda x: OPS.nms(x(3, 4), x(2), 0.5), r"dets \(3, 4\) and scores \(2,\) do not fit"),
        (lambda x: OPS.nms(x(4), x(4), 0.5), r"dets \(4,\) and scores \(4,\) do not fit"),
        (lambda x: OPS.nms(x(3, 4), x(3).double(), 0.5), "two dtypes"),
        (
            lambda x: OPS.roi_align(x(1, 1, 3, 3), x(3, 4), 1.0, 2, 2, 2, False),
            r"rois must have shape as Tensor\[K, 5\]",
        ),
        (lambda x: OPS.ps_roi_pool(x(1, 3, 3, 3), x(3, 5), 1.0, 2, 2), "multiple of pooling height"),
        (lambda x: OPS.qnms(x(3, 4), x(3), 0.5), "it has no kernel for cpu"),
        (
            lambda x: OPS.deform_conv2d(
                x(1, 2, 4, 4), x(2, 2, 2, 2), x(1, 7, 3, 3), x(0), x(2), 1, 1, 0, 0, 1, 1, 1, 1, False
            ),
            r"offset is \(1, 7, 3, 3\), not \(1, 8, 3, 3\)",
        ),
    ],
)
def test_what_does_not_fit(call, problem):
    with pytest.raises(RuntimeError, match=problem):
        call(polyad.ones)


def test_pictures_go_through_files(tmp_path):
    image = polyad.ops.image
    picture = polyad.arange(3 * 4 * 5, dtype=polyad.uint8).view(3, 4, 5)
    data = image.encode_png(picture, 6)
    image.write_file(str(tmp_path / "a.png"), data)
    again = image.read_file(str(tmp_path / "a.png"))
    assert polyad.equal(image.decode_image(again, 0), picture)
    assert polyad.equal(image.decode_png(data, 4)[3], polyad.full((4, 5), 255, dtype=polyad.uint8))
    assert image.decode_png(data, 1).shape == (1, 4, 5)
    grey = picture[:1]
    assert (image.decode_jpeg(image.encode_jpeg(grey, 100), 0).int() - grey.int()).abs().max() <= 3
    with pytest.raises(RuntimeError, match="cannot be read as PNG"):
        image.decode_png(data[:50], 0)
    with pytest.raises(ValueError, match="not uint8 of 1 or 3 channels"):
        image.encode_png(picture.float(), 6)
    with pytest.raises(NotImplementedError, match="nvjpeg"):
        image.decode_jpegs_cuda([data], 0, "cuda")


def test_pictures_of_sixteen_bits_and_of_several_frames():
    from PIL import Image

    file = io.BytesIO()
    pixels = np.arange(6, dtype=np.uint16).reshape(2, 3) * 9000
    Image.fromarray(pixels).save(file, "PNG")
    found = polyad.ops.image.decode_png(polyad.frombuffer(bytearray(file.getvalue()), dtype=polyad.uint8), 0)
    assert found.dtype is polyad.uint16
    assert found.numpy().tolist() == [pixels.tolist()]
    file = io.BytesIO()
    frames = [Image.new("RGB", (3, 2), colour) for colour in ("red", "blue")]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    found = polyad.ops.image.decode_gif(polyad.frombuffer(bytearray(file.getvalue()), dtype=polyad.uint8))
    assert found.shape == (2, 3, 2, 3)
    assert found[1, :, 0, 0].tolist() == [0, 0, 255]


def test_they_stand_for_the_libraries_of_torchvision():
    declared = {point.name: point.value for point in entry_points(group=GROUP)}
    assert declared["torchvision._C"] == compiled_ops.__name__
    assert declared["torchvision.image"] == images.__name__
    for file in ("_C.so", "_C_stable.so", "image.cpython-311-x86_64-linux-gnu.so"):
        polyad.ops.load_library(f"/site-packages/torchvision/{file}")
    for module in (compiled_ops, images):
        importlib.reload(module)  # which registers nothing a second time
    with pytest.raises(OSError, match="compiled against PyTorch"):
        polyad.ops.load_library("/site-packages/torchaudio/_C.so")
