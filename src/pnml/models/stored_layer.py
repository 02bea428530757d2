"""What a file holds of a LastLayerPNML, checked; reading it does not need PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from pnml.core.statistic.row_sample import sample_size
from pnml.errors import InputError, shorten

Arrays = dict[str, npt.NDArray[Any]]

KEY = "last_layer"  # of the document
SETTINGS = {"task", "alpha", "normalize", "bias_column", "scale", "regions", "precision"}
_ADDED = {"regions": False, "precision": "double"}  # what version 0.1 did not write
PARTS = {"settings", "task", "outputs", "scale", "head"}
# Letters are lengths: c of the counts, w of the rows, m of the sample, s of its rows, k of regions.
STATISTIC = {
    "counts": ("c",),
    "xx": ("w", "w"),
    "energy": (),
    "sample_keys": ("m",),
    "sample_rows": ("m", "s"),
    "sample_bound": ("b",),
    "scale": (),
}
# The arrays that rows with regions have besides.
REGIONS = {"region_ids": ("k",), "region_counts": ("k",), "region_means": ("k", "w")}
_WHOLE = {"counts", "region_ids"}  # arrays of whole numbers
_HEAD_DTYPES = ("bfloat16", "float16", "float32", "float64")


@dataclass(frozen=True)
class StoredLayer:
    """Settings and statistic of a LastLayerPNML, and its head if that is the whole network."""

    settings: dict[str, Any]  # the arguments of LastLayerPNML
    task: str  # never "auto"
    outputs: int
    scale: float | None  # as given or chosen from rows; None: features as they are
    statistic: Arrays
    head: Arrays  # weight and perhaps bias; empty if the network is not in the file
    head_dtype: str | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any], tensors: Arrays) -> StoredLayer:
        """The stored layer in a file's JSON document and arrays; raises if these clash."""
        fields = document.get(KEY)
        if type(fields) is not dict or set(fields) != PARTS:
            raise InputError(f"its entry {KEY!r} does not have the keys {', '.join(sorted(PARTS))}")
        settings = _checked_settings(fields)
        statistic = _named(tensors, "statistic.")
        features = _check_statistic(statistic, fields["outputs"])
        head = _named(tensors, "head.")
        if (fields["head"] is not None) != bool(head):
            raise InputError("its head has arrays but no dtype, or a dtype but no arrays")
        if head:
            _check_head(head, (fields["outputs"], features))
        spare = set(tensors) - {f"statistic.{n}" for n in statistic} - {f"head.{n}" for n in head}
        if spare:
            raise InputError(f"nothing in its description uses the array {shorten(min(spare))!r}")
        return cls(
            settings,
            fields["task"],
            fields["outputs"],
            fields["scale"],
            statistic,
            head,
            fields["head"],
        )

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document for the header of the file, with one entry ``last_layer``."""
        fields = {
            "settings": self.settings,
            "task": self.task,
            "outputs": self.outputs,
            "scale": self.scale,
            "head": self.head_dtype,
        }
        return {KEY: fields}

    @property
    def tensors(self) -> Arrays:
        """The arrays of the file by name: ``statistic.…`` and ``head.…``."""
        parts = {"statistic": self.statistic, "head": self.head}
        return {
            f"{part}.{name}": array
            for part, arrays in parts.items()
            for name, array in arrays.items()
        }

    @property
    def rows(self) -> int:
        """Number of training rows that the statistic was computed from."""
        return int(self.statistic["counts"][0])

    @property
    def normalized(self) -> bool:
        """Whether features are scaled to unit norm before the leverage is computed."""
        return bool(self.statistic["counts"][1])

    @property
    def bias(self) -> bool:
        """Whether a column of ones is added after the features."""
        return bool(self.statistic["counts"][2])

    @property
    def regions(self) -> int:
        """Number of regions (predicted labels) with training rows; 0 where regions are not used."""
        return len(self.statistic["region_ids"]) if "region_ids" in self.statistic else 0

    @property
    def features(self) -> int:
        """Number of features, which are the inputs of the last layer."""
        return _features(self.statistic)

    @property
    def sampled(self) -> int:
        """Number of training rows kept as a sample, from which the thresholds of trust come."""
        return len(self.statistic["sample_keys"])


def _named(tensors: Arrays, prefix: str) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in tensors.items()
        if name.startswith(prefix)
    }


def _checked_settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of LastLayerPNML in a document; files of version 0.1 lack some of them."""
    settings, outputs, scale = fields["settings"], fields["outputs"], fields["scale"]
    if type(settings) is not dict or set(settings) | set(_ADDED) != SETTINGS:
        raise InputError(f"its settings are not {', '.join(sorted(SETTINGS))}")
    for name, value in settings.items():
        if type(value) not in (str, float, bool, NoneType):
            raise InputError(f"its setting {name!r} is neither a number nor a word")
    if type(fields["task"]) is not str or type(outputs) is not int or outputs < 1:
        raise InputError("it does not say how many outputs of what task the network has")
    if type(scale) not in (float, NoneType) or fields["head"] not in (None, *_HEAD_DTYPES):
        raise InputError("its scale is no number or its head of no known dtype")
    return _ADDED | settings


def _check_statistic(statistic: Arrays, outputs: int) -> int:
    """Number of features; raises where arrays do not fit together or are not finite."""
    known = STATISTIC | (REGIONS if statistic.keys() & REGIONS.keys() else {})
    if set(statistic) != set(known):
        clash = min(set(statistic) ^ set(known))
        raise InputError(
            f"it lacks the array 'statistic.{shorten(clash)}', or has it for no reason"
        )
    extra, width = "region_ids" in known, len(np.atleast_1d(statistic["xx"]))
    lengths = {"c": 3 + extra, "b": 2, "w": width, "s": width + 1 + extra}
    lengths |= {"m": statistic["sample_keys"].size, "k": extra and statistic["region_ids"].size}
    for name, axes in known.items():
        array, kind = statistic[name], np.int64 if name in _WHOLE else np.float64
        if array.shape != tuple(lengths[axis] for axis in axes) or array.dtype != kind:
            raise InputError(f"its array 'statistic.{name}' does not fit the others")
        if name != "scale" and not np.isfinite(array).all():
            raise InputError(f"its array 'statistic.{name}' holds numbers that are not finite")
    rows, normalized, bias = statistic["counts"][:3].tolist()
    if rows < 1 or {normalized, bias} - {0, 1} or _features(statistic) < 1:
        raise InputError("it counts no rows, or rows of no features")
    size = statistic["sample_bound"][0]
    if not lengths["m"] <= min(size, rows) or not size <= sample_size(width):
        raise InputError("its sample of rows is larger than it says, or than any is")
    if extra:
        _check_regions(statistic, outputs)
    return _features(statistic)


def _check_regions(statistic: Arrays, outputs: int) -> None:
    """Raise unless there is one region for each output and every row is in one of them."""
    ids, counts = statistic["region_ids"], statistic["region_counts"]
    classes, sampled = int(statistic["counts"][3]), statistic["sample_rows"][:, -1]
    rising = bool(np.all(np.diff(ids, prepend=-1) > 0)) and int(ids.max(initial=0)) < outputs
    if classes != outputs or not rising or not bool(np.all(counts >= 1)):
        raise InputError("its regions are not those of the outputs, or have no rows")
    if not np.isin(sampled, np.arange(outputs)).all():
        raise InputError("its sample has rows in regions that no output is of")


def _features(statistic: Arrays) -> int:
    """Number of features: the width of the statistic less the columns for bias and norm."""
    counts = statistic["counts"].tolist()
    return len(statistic["xx"]) - int(counts[2]) - int(len(counts) > 3 and counts[1])


def _check_head(head: Arrays, shape: tuple[int, int]) -> None:
    weight, bias = head.get("weight"), head.get("bias")
    if weight is None or weight.shape != shape or set(head) - {"weight", "bias"}:
        raise InputError("its head does not take the features that were counted")
    if weight.dtype.kind != "f" or (bias is not None and bias.shape != shape[:1]):
        raise InputError("the weight or the bias of its head is no array of numbers of its size")
