"""peft: adapters on a small Llama: training, merging, files."""

from __future__ import annotations

import copy
from typing import Any

from ..job import Run, job
from . import load_torchvision

load_torchvision()

import peft  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

PACKAGE = "peft"
CONFIG = {
    "vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip
ATTENTION = ["q_proj", "v_proj"]
FEED = ["down_proj"]

ADAPTERS: dict[str, Any] = {
    "LoRA": lambda: peft.LoraConfig(r=4, lora_alpha=8, target_modules=ATTENTION, lora_dropout=0.0),
    "LoRA, rank stabilised, with biases": lambda: peft.LoraConfig(
        r=4, use_rslora=True, bias="all", target_modules="all-linear"
    ),
    "DoRA": lambda: peft.LoraConfig(r=4, use_dora=True, target_modules=ATTENTION),
    "IA3": lambda: peft.IA3Config(target_modules=[*ATTENTION, *FEED], feedforward_modules=FEED),
    "LoHa": lambda: peft.LoHaConfig(r=4, target_modules=ATTENTION),
    "LoKr": lambda: peft.LoKrConfig(r=4, target_modules=ATTENTION),
    "OFT": lambda: peft.OFTConfig(oft_block_size=8, target_modules=ATTENTION),
    "VeRA": lambda: peft.VeraConfig(r=4, target_modules=["q_proj"]),
    "AdaLoRA": lambda: peft.AdaLoraConfig(init_r=4, target_r=2, total_step=10, tinit=1, tfinal=1, deltaT=1,
                                          target_modules=ATTENTION, orth_reg_weight=0.1),
    "prompt tuning": lambda: peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
    "prefix tuning": lambda: peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4),
}  # fmt: skip
MERGED = ("LoRA", "LoRA, rank stabilised, with biases", "DoRA", "IA3", "LoHa", "LoKr", "OFT")


def adapted(name: str) -> Any:
    def run_adapter(run: Run) -> None:
        base = LlamaForCausalLM(LlamaConfig(**CONFIG)).eval()
        model = peft.get_peft_model(base, ADAPTERS[name]()).eval()
        run.same(model)
        words = run.integers(99, 2, 12, seed=3, low=4)
        run.record("trainable", model.get_nb_trainable_parameters())
        run.train(model, lambda model: model(input_ids=words, labels=words).loss, optimizer="SGD", rate=0.02)
        model.save_pretrained(run.folder / "adapter")
        names = sorted(path.name for path in (run.folder / "adapter").iterdir())
        run.record("files", [one for one in names if one != "README.md"])
        with run.torch.no_grad():
            run.record("adapted", model(input_ids=words).logits, depth=4 * run.depth)
            if name in MERGED:
                run.record(
                    "merged", copy.deepcopy(model).merge_and_unload()(input_ids=words).logits, depth=4 * run.depth
                )

    return run_adapter


for name in ADAPTERS:
    job(name)(adapted(name))


@job("an adapter that PyTorch wrote")
def read(run: Run) -> None:
    base = run.same(LlamaForCausalLM(LlamaConfig(**CONFIG)).eval())
    if run.side == "pytorch":
        run.torch.manual_seed(1)
        config = peft.LoraConfig(r=4, target_modules=ATTENTION, init_lora_weights=False)
        made = peft.get_peft_model(base, config)
        made.save_pretrained(run.folder / "adapter")
        base = made.unload()
    model = peft.PeftModel.from_pretrained(base, run.other / "adapter")
    words = run.integers(99, 2, 12, seed=3, low=4)
    with run.torch.no_grad():
        run.record("read", model(input_ids=words).logits)
        with model.disable_adapter():
            run.record("without", model(input_ids=words).logits)
