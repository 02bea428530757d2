"""Network families of other makers: tiny, with random weights, and what is taken from them by hand.

Run as a script, it writes the table of docs/guide/network-families.md.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "network-families.md"
PAD, END, ROWS, LENGTH = 1, 2, 24, 8


@dataclass(frozen=True)
class Family:
    """A network, its batch, and where its logits come from: the truth that is taken by hand."""

    name: str
    make: Any  # → network
    batch: Any
    head: str | None = None  # path of the last layer; None: the network is refused
    positions: str = "one"  # one, last (pooled at the last real token) or each
    settings: dict = field(default_factory=dict)
    needs: str | None = None  # package
    note: str = ""


def ids():
    """Tokens (24, 8) of several lengths, each with an end-of-sequence token, then padding."""
    tokens = torch.randint(3, 30, (ROWS, LENGTH), generator=torch.Generator().manual_seed(1))
    for row in range(ROWS):
        tokens[row, 2 + row % 7 :] = PAD
        tokens[row, 1 + row % 7] = END
    return tokens


TEXT = {"input_ids": ids(), "attention_mask": (ids() != PAD).long()}
IMAGES = {"pixel_values": torch.randn(ROWS, 3, 32, 32, generator=torch.Generator().manual_seed(2))}
NUMBERS = torch.randn(60, 6, generator=torch.Generator().manual_seed(3))
PIXELS = torch.randn(30, 3, 6, 6, generator=torch.Generator().manual_seed(4))

_TEXT = {
    "vocab_size": 32,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 20,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": END,
    "num_labels": 3,
}
_DISTIL = {"vocab_size": 32, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}
_BART = {
    "vocab_size": 32,
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": 20,
    "num_labels": 3,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": END,
    "decoder_start_token_id": END,
    "forced_eos_token_id": END,
}
_T5 = {
    "vocab_size": 32,
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 16,
    "num_layers": 1,
    "num_heads": 2,
    "num_labels": 3,
    "pad_token_id": PAD,
    "eos_token_id": END,
    "decoder_start_token_id": PAD,
}
_GPT2 = {
    "vocab_size": 32,
    "n_embd": 16,
    "n_layer": 1,
    "n_head": 2,
    "n_positions": 20,
    "num_labels": 3,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": END,
}
_VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": 32,
    "patch_size": 8,
    "num_labels": 3,
}
_EFFICIENT = {
    "image_size": 32,
    "width_coefficient": 1.0,
    "depth_coefficient": 1.0,
    "num_labels": 3,
    "hidden_dim": 1280,
    "in_channels": [32, 16],
    "out_channels": [16, 24],
    "kernel_sizes": [3, 3],
    "strides": [1, 2],
    "num_block_repeats": [1, 1],
    "expand_ratios": [1, 2],
    "depthwise_padding": [],
}


def made(model: str, config: str, **settings: Any) -> Any:
    """A function that makes a network of transformers from a tiny configuration."""

    def make() -> nn.Module:
        import transformers

        transformers.logging.set_verbosity_error()
        settings_of = getattr(transformers, config + "Config")(**settings)
        return getattr(transformers, config + "For" + model)(settings_of)

    return make


def hugging(name: str, model: str, config: str, settings: dict, head: str | None, **more: Any):
    """A family of transformers; the batch is text unless the model is of images."""
    batch = IMAGES if "Image" in model else TEXT
    make = made(model, config, **settings)
    return Family(name, make, more.pop("batch", batch), head, needs="transformers", **more)


def image(name: str, config: str, settings: dict, head: str | None, model="ImageClassification"):
    return hugging(name, model, config, settings, head)


IMAGE_FAMILIES = [
    image(
        "ResNet",
        "ResNet",
        {
            "embedding_size": 8,
            "hidden_sizes": [8, 16],
            "depths": [1, 1],
            "num_labels": 3,
            "layer_type": "basic",
        },
        "classifier.1",
    ),
    image("ViT", "ViT", _VIT, "classifier"),
    image(
        "ConvNeXt",
        "ConvNext",
        {"hidden_sizes": [8, 8, 8, 16], "depths": [1, 1, 1, 1], "num_labels": 3},
        "classifier",
    ),
    image("EfficientNet", "EfficientNet", _EFFICIENT, "classifier"),
    image(
        "Swin",
        "Swin",
        {
            "image_size": 32,
            "patch_size": 4,
            "embed_dim": 8,
            "depths": [1, 1],
            "num_heads": [1, 2],
            "window_size": 4,
            "num_labels": 3,
        },
        "classifier",
    ),
    image("DeiT", "DeiT", _VIT, "classifier"),
    image("DeiT, distilled", "DeiT", _VIT, None, "ImageClassificationWithTeacher"),
    image(
        "BiT",
        "Bit",
        {"embedding_size": 32, "hidden_sizes": [128, 128], "depths": [1, 1], "num_labels": 3},
        "classifier.1",
    ),
]

_SEQUENCE = "SequenceClassification"
_TOKEN = "TokenClassification"
_LLAMA = {**_TEXT, "num_key_value_heads": 2}
_DISTILLED = {**_DISTIL, "num_labels": 3, "pad_token_id": PAD}

SEQUENCE_FAMILIES = [
    hugging("BERT", _SEQUENCE, "Bert", _TEXT, "classifier"),
    hugging("DistilBERT", _SEQUENCE, "DistilBert", _DISTILLED, "classifier"),
    hugging("RoBERTa", _SEQUENCE, "Roberta", _TEXT, "classifier.out_proj"),
    hugging("ELECTRA", _SEQUENCE, "Electra", _TEXT, "classifier.out_proj"),
    hugging("DeBERTa", _SEQUENCE, "Deberta", _TEXT, "classifier"),
    hugging("DeBERTa v2", _SEQUENCE, "DebertaV2", _TEXT, "classifier"),
    hugging("BART", _SEQUENCE, "Bart", _BART, "classification_head.out_proj"),
    hugging("T5", _SEQUENCE, "T5", _T5, "classification_head.out_proj"),
    hugging("GPT-2", _SEQUENCE, "GPT2", _GPT2, "score", positions="last"),
    hugging("Llama", _SEQUENCE, "Llama", _LLAMA, "score", positions="last"),
]

TOKEN_FAMILIES = [
    hugging(name, _TOKEN, config, settings, head, positions="each")
    for name, config, settings, head in (
        ("BERT", "Bert", _TEXT, "classifier"),
        ("DistilBERT", "DistilBert", _DISTILLED, "classifier"),
        ("RoBERTa", "Roberta", _TEXT, "classifier"),
        ("ELECTRA", "Electra", _TEXT, "classifier"),
        ("DeBERTa v2", "DebertaV2", _TEXT, "classifier"),
        ("T5", "T5", _T5, "classifier"),
        ("GPT-2", "GPT2", _GPT2, "classifier"),
        ("Llama", "Llama", _LLAMA, "score"),
    )
] + [
    hugging("Llama, next token", "CausalLM", "Llama", _LLAMA, "lm_head", positions="each"),
    hugging(
        "BERT, masked token",
        "MaskedLM",
        "Bert",
        _TEXT,
        "cls.predictions.decoder",
        positions="each",
        note="weights tied to the embedding",
    ),
    hugging(
        "BERT, question answering", "QuestionAnswering", "Bert", {**_TEXT, "num_labels": 2}, None
    ),
    hugging(
        "the same, as many tokens as features",
        "QuestionAnswering",
        "Bert",
        {**_TEXT, "hidden_size": LENGTH, "num_labels": 2},
        None,
    ),
]


def plain(head: nn.Module | None = None, outputs: int = 4, *after: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    last = nn.Linear(12, outputs) if head is None else head
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), last, *after)


class Lora(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.base, self.a, self.b = nn.Linear(12, 4), nn.Linear(12, 2), nn.Linear(2, 4)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


class Divided(nn.Module):
    def forward(self, logits):
        return logits / 2.0


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.one, self.two = nn.Linear(6, 12), nn.Linear(12, 4), nn.Linear(12, 4)

    def forward(self, x):
        x = torch.tanh(self.body(x))
        return (self.one(x) + self.two(x)) / 2


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = plain()

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.net(x)


class Tied(nn.Module):
    """Predicts a token from the one before, with the weights of its embedding."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Embedding(32, 12), nn.Linear(12, 32, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.embed(tokens)))


def lightning_module() -> nn.Module:
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = plain()

        def forward(self, x):
            return self.net(x)

    return Classifier()


def quantised() -> nn.Module:
    return torch.ao.quantization.quantize_dynamic(plain(), {nn.Linear})


def pooled() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.Tanh(), nn.Conv2d(8, 5, 1))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def normed() -> nn.Linear:
    return nn.utils.parametrizations.weight_norm(nn.Linear(12, 4))


PLAIN_FAMILIES = [
    Family("LightningModule", lightning_module, NUMBERS, "net.2", needs="lightning"),
    Family("`torch.compile`", lambda: torch.compile(plain(), backend="eager"), NUMBERS, "2"),
    # in bfloat16 logits tie, so that the truth in float32 may name another region
    Family("`torch.autocast`", Autocast, NUMBERS, "net.2", settings={"regions": False}),
    Family("`nn.DataParallel`", lambda: nn.DataParallel(plain()), NUMBERS, "2"),
    Family("`weight_norm`", lambda: plain(normed()), NUMBERS, "2"),
    Family(
        "weights tied to an embedding",
        Tied,
        TEXT["input_ids"],
        "head",
        positions="each",
        settings={"mask": lambda batch: batch != PAD},
        note="padding by `mask=`",
    ),
    Family(
        "independent labels",
        plain,
        NUMBERS,
        "2",
        settings={"task": "multilabel"},
        note='`task="multilabel"`',
    ),
    Family(
        "regression",
        lambda: plain(None, 1),
        NUMBERS,
        "2",
        settings={"task": "regression"},
        note='`task="regression"`',
    ),
    Family("one output and no task", lambda: plain(None, 1), NUMBERS),
    Family("log-softmax after the head", lambda: plain(None, 4, nn.LogSoftmax(1)), NUMBERS, "2"),
    Family(
        "temperature after the head",
        lambda: plain(None, 4, Divided()),
        NUMBERS,
        "2",
        note="the scale becomes part of the head",
    ),
    Family("LoRA beside the head", lambda: plain(Lora()), NUMBERS, "2", note="merged"),
    Family(
        "convolution of one pixel, then global pooling",
        pooled,
        PIXELS,
        "2",
        positions="mean",
        note="features are pooled",
    ),
    Family("two averaged heads", TwoHeads, NUMBERS),
    Family(
        "convolution of 3×3 pixels",
        lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(), nn.Conv2d(4, 5, 3)),
        PIXELS,
    ),
    Family("quantised by `torch.ao`", quantised, NUMBERS),
    Family("scripted by `torch.jit`", lambda: torch.jit.script(plain()), NUMBERS),
    Family("exported by `torch.export`", lambda: torch.export.export(plain(), (NUMBERS,)), NUMBERS),
]

GROUPS = {
    "Images (`transformers`)": IMAGE_FAMILIES,
    "Texts, one prediction each (`transformers`)": SEQUENCE_FAMILIES,
    "Texts, a prediction for each token (`transformers`)": TOKEN_FAMILIES,
    "PyTorch": PLAIN_FAMILIES,
}


def network_of(family: Family) -> Any:
    """The network with random weights, in eval mode."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PyTorch and transformers say of their own ways
        net = family.make()
    if not isinstance(net, nn.Module) or isinstance(net, torch.jit.ScriptModule):
        return net
    return net.requires_grad_(False).eval()


def installed(family: Family) -> bool:
    return family.needs is None or find_spec(family.needs) is not None


def written(group: str, rows: dict[str, str]) -> str:
    """One table of the page: a family, and "right" or the sentence that refuses it."""
    lines = [f"## {group}", "", "| network | |", "|---|---|"]
    lines += [f"| {name} | {verdict} |" for name, verdict in rows.items()]
    return "\n".join(lines) + "\n"


def printed(group: str) -> dict[str, str]:
    """The rows of a table as the page has them."""
    text = PAGE.read_text().partition(f"## {group}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (?!network|-)(.*?) \| (.*) \|$", text, re.M))


if __name__ == "__main__":
    from nn.test_network_families import verdict

    head = PAGE.read_text().partition("\n## ")[0]
    tables = []
    for group, families in GROUPS.items():
        before = printed(group)
        rows = {f.name: verdict(f) if installed(f) else before.get(f.name, "") for f in families}
        tables.append(written(group, rows))
    PAGE.write_text(head.rstrip() + "\n\n" + "\n".join(tables))
