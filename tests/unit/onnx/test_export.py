"""Models that are exported, checked by onnx's checker and compared with onnxruntime, which `export` does itself."""

import pytest

import polyad as torch

nn = torch.nn

pytest.importorskip("onnx_ir")
pytest.importorskip("onnxruntime")


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(-1))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)
    ).eval()


@pytest.mark.parametrize("opset", [14, 17, 18, 21])
@pytest.mark.parametrize(("make", "shape"), [(mlp, (3, 4)), (cnn, (2, 3, 8, 8))])
def test_a_model_gives_the_same_in_onnxruntime(make, shape, opset, tmp_path):
    torch.manual_seed(0)
    model = make()
    path = tmp_path / "model.onnx"
    program = torch.onnx.export(model, (torch.randn(shape),), path, opset_version=opset)
    x = torch.randn(shape)
    torch.testing.assert_close(program(x)[0], model(x).detach(), rtol=1e-4, atol=1e-5)
    assert path.stat().st_size > sum(p.numel() * 4 for p in model.parameters())


def test_an_op_without_a_form_is_named_with_its_module():
    class Sorts(nn.Module):
        def forward(self, x):
            return torch.linalg.qr(x)[0]

    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="geqrf") as raised:
        torch.onnx.export(nn.Sequential(Sorts()), (torch.randn(3, 3),))
    assert "in 0" in str(raised.value)
