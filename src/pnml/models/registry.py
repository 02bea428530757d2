"""Registry of the codecs: a model file can hold objects of these classes and no others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pnml.errors import InputError, how_to_install
from pnml.estimators.registry import every_learner
from pnml.models.classifiers import CLASSIFIER_PARTS, CLASSIFIERS
from pnml.models.codec import Codec, derived
from pnml.models.kernels import KERNELS
from pnml.models.pipelines import PIPELINE_PARTS, PIPELINES
from pnml.models.regressors import REGRESSORS
from pnml.models.trees import GROWN_BY, TREE_PARTS, TREES
from pnml.models.trusted import TRUSTED, TRUSTED_PARTS
from pnml.models.values import FUNCTIONS_BY_NAME, VALUES
from pnml.models.wrapped import WRAPPED_CODECS

# Sizes that an object shares with the one it is part of: features, targets, directions, and the
# width of sampled rows. Other letters mean nothing outside the object that uses them.
SHARED_SIZES = frozenset("dkrw")


_ESTIMATORS = [*REGRESSORS, *CLASSIFIERS, *TREES, *TRUSTED, *PIPELINES]
# Models of tables need pyarrow, which the rest does without.
_TABLES = import_module("pnml.models.table_models") if find_spec("pyarrow") else None
_TABLE_NAMES = {"NumberColumn", "CategoryColumn", "Encoder", "TableModel"}
_TABLE_PARTS: list[Codec] = _TABLES.TABLE_PARTS if _TABLES else []
_TABLE_MODELS: list[Codec] = _TABLES.TABLE_MODELS if _TABLES else []

CODECS: dict[str, Codec] = {
    codec.name: codec
    for codec in [
        *VALUES,
        *CLASSIFIER_PARTS,
        *TREE_PARTS,
        *PIPELINE_PARTS,
        *TRUSTED_PARTS,
        *_ESTIMATORS,
        *KERNELS,
        *WRAPPED_CODECS,
        *_TABLE_PARTS,
        *_TABLE_MODELS,
    ]
}


def refuse_without_pyarrow(described: Mapping[str, Any]) -> None:
    """Raise InputError if a file's JSON document has a table model and pyarrow is not installed."""
    objects = described.get("objects")
    for item in objects if isinstance(objects, list) else ():
        name = item.get("class") if isinstance(item, dict) else None
        if isinstance(name, str) and name in _TABLE_NAMES - set(CODECS):
            raise InputError(
                "it is a model of a table, which needs pyarrow; "
                f"{how_to_install('cli')} and load it again."
            )


CODEC_OF: dict[type, Codec] = {codec.cls: codec for codec in CODECS.values()}
MODEL_CLASSES: list[type] = [codec.cls for codec in [*_ESTIMATORS, *_TABLE_MODELS]]
# Classes that a file can hold as its model; the last one has a layout of its own.
MODEL_NAMES = (*(CODEC_OF[cls].name for cls in MODEL_CLASSES), "LastLayerPNML")


def add_registered() -> None:
    """Add a codec for each learner of `pnml.estimators.registry` that has none here yet."""
    for entry in every_learner().values():
        cls = entry.estimator_class
        if cls not in CODEC_OF:
            for codec in derived(cls):
                if codec.cls not in CODEC_OF:
                    CODECS[codec.name] = CODEC_OF[codec.cls] = codec
            MODEL_CLASSES.append(cls)


_USE_KERNELS = (
    "pass the name of a kernel, or an object made of "
    + ", ".join(codec.name for codec in KERNELS)
    + ", and fit again"
)
_USE_MODELS = (
    "use "
    + ", ".join(CODEC_OF[cls].name for cls in MODEL_CLASSES)
    + ", or a LogisticRegression inside a PNMLClassifier, or "
    + ", ".join(cls.__name__ for cls in GROWN_BY)
    + ", not frozen, inside the estimators of trees"
)

_USE_FUNCTIONS = f"use one of {', '.join(FUNCTIONS_BY_NAME)}, and fit again"

# Advice for an argument that no file can hold, by the name of the parameter.
ADVICE: dict[str, str] = {
    "kernel": _USE_KERNELS,
    "k1": _USE_KERNELS,
    "k2": _USE_KERNELS,
    "estimator": _USE_MODELS,
    "estimators": _USE_MODELS,
    "func": _USE_FUNCTIONS,
    "inverse_func": _USE_FUNCTIONS,
    "classes": "turn the labels into int64, float64, bool or text and fit again",
    "random_state": "pass an integer and fit again",
    "cv": "pass a number of folds, or a KFold, StratifiedKFold or GroupKFold, and fit again",
}
